/* mutants: whether the prover ever proves a wrong rewrite.
 *
 *     mutants [-n CASES] [--first=SEED] [-m MUTANTS] [-j JOBS] [--folder=DIR] [--solver=CMD] [--flags=FLAGS]
 *     mutants [options] FILE.ptx FILE.launch
 *
 * Random kernels, or one file, are optimized, with these flags or at one of three levels; in each output one thing is changed,
 * MUTANTS times. Those that the interpreter sees as different from the input must not be proved. A case is one process. The kernel
 * of a file may trap: then so must what it became. */
#include <getopt.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../fuzz/ask.h"
#include "../fuzz/judge.h"
#include "../fuzz/optimize.h"
#include "../fuzz/ptxgen.h"
#include "mutate.h"
#include "base/source.h"

enum { CASE_SECONDS = 60 };

typedef struct Counts { /* shared by all processes */
    u64 next, mutants, different, refuted, wrong, same, same_proved, originals, originals_proved, crashed;
} Counts;

typedef struct Driver {
    u64 first, cases;
    u32 mutants, jobs;
    const char *folder, *flags; /* flags: NULL: the levels in turn */
    ProveOptions prove;
    Counts *counts;
} Driver;

static void write_file(const char *folder, u64 number, u32 mutant, const char *suffix, const Text *t)
{
    char path[400];
    snprintf(path, sizeof path, "%s/%llu-%u.%s", folder, (unsigned long long)number, mutant, suffix);
    FILE *f = fopen(path, "w");
    if (!f)
        return;
    fwrite(t->v, 1, t->n, f);
    fclose(f);
}

static void count(u64 *place) { __atomic_fetch_add(place, 1, __ATOMIC_RELAXED); }

static void try_mutant(const Driver *d, Judge *j, Text *before, const Text *good, u64 number, u32 mutant)
{
    u64 random = number * 1000003 + mutant;
    Text made = {0}, what = {0};
    if (!mutate(good->v, good->n, &random, &made, &what))
        return;
    Verdict verdict = judge_compare(j, &made);
    if (verdict == BROKEN)
        goto done;
    count(&d->counts->mutants);
    ProveAnswer answer = ask_prover(&d->prove, before, &made, NULL);
    if (verdict == CLEAN || (verdict == FINDING && j->only_garbage)) {
        count(&d->counts->same);
        if (answer == PROVE_PROVED)
            count(&d->counts->same_proved);
    } else {
        count(&d->counts->different);
        if (answer == PROVE_REFUTED)
            count(&d->counts->refuted);
        if (answer == PROVE_PROVED) {
            count(&d->counts->wrong);
            printf("fail case %llu, mutant %u: proved, and %s; %s; %s\n", (unsigned long long)number, mutant,
                   verdict_name(verdict), text_str(&what), text_str(&j->message));
            write_file(d->folder, number, mutant, "before.ptx", before);
            write_file(d->folder, number, mutant, "after.ptx", &made);
        }
    }
done:
    vec_free(&made);
    vec_free(&what);
}

/* What ptxopt itself makes of the kernel is right, and is mutated; so is the kernel where that is the same. */
static void run_case(const Driver *d, u64 number, Text *ptx, Text *launch, bool traps)
{
    static const char *const levels[] = {"-O2", "-O3", "-O1"};
    JudgeOptions options = {.seeds = 2, .no_verify = true, .once = true, .traps = traps};
    Judge j;
    Text good = {0}, messages = {0};
    if (judge_open(&j, &options, ptx->v, ptx->n, text_str(launch), launch->n) == CLEAN &&
        optimize_text(d->flags ? d->flags : levels[number % 3], ptx->v, ptx->n, &good, &messages, NULL) == OPTIMIZED) {
        text_str(&good);
        count(&d->counts->originals);
        if (ask_prover(&d->prove, ptx, &good, NULL) == PROVE_PROVED)
            count(&d->counts->originals_proved);
        for (u32 k = 0; k < d->mutants; k++)
            try_mutant(d, &j, ptx, &good, number, k);
    }
    judge_close(&j);
    vec_free(&good);
    vec_free(&messages);
}

static void run_generated(const Driver *d, u64 number)
{
    GenOptions options = {.seed = number, .size = 10 + (u32)(number % 5) * 10, .features = GEN_ALL, .mix = true};
    Text ptx = {0}, launch = {0};
    ptxgen(&options, &ptx, &launch);
    text_str(&ptx);
    run_case(d, number, &ptx, &launch, false);
    vec_free(&ptx);
    vec_free(&launch);
}

/* Of the processor: other work on the machine does not count. */
static void limit_time(void)
{
    struct rlimit limit = {CASE_SECONDS, CASE_SECONDS};
    setrlimit(RLIMIT_CPU, &limit);
}

static void work(const Driver *d)
{
    for (u64 k; (k = __atomic_fetch_add(&d->counts->next, 1, __ATOMIC_RELAXED)) < d->cases;) {
        fflush(stdout);
        pid_t child = fork();
        if (child == 0) {
            limit_time();
            run_generated(d, d->first + k);
            fflush(stdout);
            _exit(0);
        }
        int status;
        waitpid(child, &status, 0);
        if (status != 0) {
            count(&d->counts->crashed);
            printf("fail case %llu: ended with status %d\n", (unsigned long long)(d->first + k), status);
        }
    }
    fflush(stdout);
}

static void run_jobs(const Driver *d)
{
    fflush(stdout);
    for (u32 k = 0; k < d->jobs; k++)
        if (fork() == 0) {
            work(d);
            _exit(0);
        }
    while (wait(NULL) > 0)
        ;
}

static bool run_file(const Driver *d, const char *ptx_path, const char *launch_path)
{
    Str ptx, launch;
    Text text[2] = {{0}, {0}};
    if (!source_read(ptx_path, &ptx) || !source_read(launch_path, &launch))
        return false;
    text_append(&text[0], ptx.p, ptx.len);
    text_append(&text[1], launch.p, launch.len);
    text_str(&text[0]);
    run_case(d, d->first, &text[0], &text[1], true);
    vec_free(&text[0]);
    vec_free(&text[1]);
    source_free(&ptx);
    source_free(&launch);
    return true;
}

static int report(const Driver *d)
{
    const Counts *c = d->counts;
    printf("mutants: %llu tried, %llu different: %llu refuted, %llu wrongly proved; %llu not different: %llu proved; "
           "%llu of %llu outputs proved; %llu crashes\n",
           (unsigned long long)c->mutants, (unsigned long long)c->different, (unsigned long long)c->refuted,
           (unsigned long long)c->wrong, (unsigned long long)c->same, (unsigned long long)c->same_proved,
           (unsigned long long)c->originals_proved, (unsigned long long)c->originals, (unsigned long long)c->crashed);
    printf("mutants: %llu passed, %llu failed\n", (unsigned long long)(c->different - c->wrong),
           (unsigned long long)(c->wrong + c->crashed));
    return c->wrong || c->crashed;
}

int main(int argc, char **argv)
{
    static const struct option long_options[] = {{"first", required_argument, NULL, 'f'},
                                                 {"folder", required_argument, NULL, 'd'},
                                                 {"solver", required_argument, NULL, 's'},
                                                 {"flags", required_argument, NULL, 'o'},
                                                 {0}};
    Driver d = {.first = 1, .cases = 100, .mutants = 20, .jobs = 2, .folder = ".", .prove = {.solver_ms = 2000}};
    for (int c; (c = getopt_long(argc, argv, "n:m:j:", long_options, NULL)) != -1;)
        switch (c) {
        case 'n': d.cases = strtoull(optarg, NULL, 10); break;
        case 'm': d.mutants = (u32)strtoul(optarg, NULL, 10); break;
        case 'j': d.jobs = (u32)strtoul(optarg, NULL, 10); break;
        case 'f': d.first = strtoull(optarg, NULL, 10); break;
        case 'd': d.folder = optarg; break;
        case 's': d.prove.solver = optarg; break;
        case 'o': d.flags = optarg; break;
        default: return 2;
        }
    d.counts = mmap(NULL, sizeof *d.counts, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (d.counts == MAP_FAILED)
        return 2;
    if (argc - optind == 2) {
        if (!run_file(&d, argv[optind], argv[optind + 1]))
            return 2;
    } else {
        run_jobs(&d);
    }
    return report(&d);
}
