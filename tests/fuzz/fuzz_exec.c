/* fuzz-exec: generates kernels, optimizes them in many ways, and judges each way (judge.h).
 *
 *     fuzz-exec [-n CASES] [--first=SEED] [-j JOBS] [--configs=FLAGS;FLAGS...] [--stop] [--no-verify] [--once] [--quick]
 *               [--features=LIST] [--prover=always|wrong|never|steps] [--orders=N]
 *     fuzz-exec --mutate=LIST [as above]
 *     fuzz-exec --check=FLAGS [--launch=FILE] FILE.ptx
 *
 * --stop: at the first failure; --no-verify: without --verify-each; --once: ptxopt runs once, not twice; --quick: failures
 * are only named; --features=LIST: with these features of ptxgen only; --prover: whether the prover is asked about each output,
 * about those that the interpreter finds wrong, or about none. What is wrong must not be proved, nor what is right refuted. With
 * --prover=steps --verify-each asks it about threads after each step: it may refuse what is right, so this is for planted faults.
 * --orders=N: N random orders of phases with random knobs (3; none beside --configs).
 *
 * --mutate: texts to begin with, `FILE.ptx` or `FILE.ptx FILE.launch` in each line; these, or a generated kernel, are changed at
 * random (mutate.h). What can run is judged as a kernel is, anything else must be refused, or taken and left alone by a second run.
 *
 * The first form prints every failure with the guilty rewrite (a binary search with --opt-bisect-limit), a reduced kernel,
 * and the command that shows it, which is of the last form: its exit status is the Verdict. With $PTXAS one case in eight
 * is assembled before and after, all with PTXAS_CASES=all. A case is one process: whatever happens to it is one failure. */
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "judge.h"
#include "mutate.h"
#include "optimize.h"
#include "base/source.h"
#include "ptxgen.h"

enum {
    CASE_SECONDS = 90, /* the prover gives up some functions after 5 s only, and is asked about each output */
    JOBS_MAX = 64,
    SHOWN_MAX = 20,
    INVESTIGATED_MAX = 3,
    REDUCE_SECONDS = 90,
    MUTANT_INSTRUCTIONS = 100000,
    MUTANT_DOUBTS = 24
};

/* Shared by all processes. */
typedef struct Shared {
    u64 next, cases, failed, runs, rewritten, proved, assembled, unassembled;
    bool stop;
    char flags[JOBS_MAX][FLAGS_BYTES]; /* what the worker's case is at */
    bool is_text[JOBS_MAX];            /* and that it cannot run */
} Shared;

typedef struct Driver {
    u64 first, cases;
    u32 jobs, orders;
    const char *configs; /* NULL: all */
    const char *program, *folder;
    bool stop_first, no_verify, once, quick, ptxas_all, has_ptxas, is_check;
    AskProver ask;
    Words sources; /* to be mutated */
    Shared *shared;
} Driver;

/* ---- ways to optimize ------------------------------------------------------------------------------------------- */

typedef struct Configs {
    char flags[64][FLAGS_BYTES];
    u32 n;
} Configs;

__attribute__((format(printf, 2, 3))) static void add_config(Configs *c, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    if (c->n < COUNT_OF(c->flags))
        vsnprintf(c->flags[c->n++], FLAGS_BYTES, format, arguments);
    va_end(arguments);
}

/* Phases in their order, each with this probability. */
static void add_subset(Configs *c, Random *random, u32 chance)
{
    char list[FLAGS_BYTES / 2] = "";
    const char *name;
    for (u32 i = 0; (name = optimize_phase(i)); i++)
        if (random_percent(random, chance)) {
            size_t len = strlen(list);
            snprintf(list + len, sizeof list - len, "%s%s", len ? "," : "", name);
        }
    if (*list)
        add_config(c, "--passes=%s", list);
}

static void add_listed(Configs *c, const char *list)
{
    while (*list) {
        size_t len = strcspn(list, ";");
        add_config(c, "%.*s", (int)len, list);
        list += len + (list[len] == ';');
    }
}

static void add_usual(Configs *c, Random *random, u64 seed)
{
    const char *name;
    add_config(c, "-O2");
    add_config(c, "-O1");
    add_config(c, "-O3");
    add_config(c, "-O3 --enable-dfa-jump-thread=1 --dfa-cost-threshold=1000 --no-dfa-early-exit-heuristic "
                  "--enable-stride-unroll --range-split-always");
    for (u32 i = 0; (name = optimize_phase(i)); i++)
        add_config(c, "--passes=%s", name);
    add_subset(c, random, 30);
    add_subset(c, random, 60);
    add_config(c, seed % 2 ? "-O2 --reprint" : "-O0 --reprint");
}

static Configs configs_of(const Driver *d, u64 seed)
{
    Configs c = {.n = 0};
    Random random = {seed ^ 0x5bd1e995};
    if (d->configs)
        add_listed(&c, d->configs);
    else
        add_usual(&c, &random, seed);
    for (u32 i = 0; i < d->orders && c.n < COUNT_OF(c.flags); i++)
        optimize_random_flags(&random, c.flags[c.n++]);
    return c;
}

/* ---- one case, in a process of its own -------------------------------------------------------------------------- */

static void case_path(const Driver *d, u64 seed, const char *name, char *path, size_t size)
{
    snprintf(path, size, "%s/%llu%s%s", d->folder, (unsigned long long)seed, *name ? "/" : "", name);
}

static void write_case_file(const Driver *d, u64 seed, const char *name, const Text *t)
{
    char path[512];
    case_path(d, seed, "", path, sizeof path);
    mkdir(path, 0777);
    case_path(d, seed, name, path, sizeof path);
    FILE *out = fopen(path, "w");
    if (out) {
        fwrite(t->v, 1, t->n, out);
        fclose(out);
    }
}

static u64 features = GEN_ALL; /* of the kernels */

static void generate(u64 seed, Text *ptx, Text *launch)
{
    GenOptions options = {.seed = seed, .size = 6 + (u32)(seed * 7 % 40), .features = features, .mix = true};
    ptxgen(&options, ptx, launch);
    text_str(ptx);
    text_str(launch);
}

/* One of the lines of --mutate. False: a file cannot be read. */
static bool read_source(const char *line, Text *ptx, Text *launch)
{
    char path[2][512] = {"", ""};
    Text *const to[] = {ptx, launch};
    sscanf(line, "%511s %511s", path[0], path[1]);
    for (u32 k = 0; k < 2 && *path[k]; k++) {
        Str text;
        if (!source_read(path[k], &text))
            return false;
        text_append(to[k], text.p, text.len);
        source_free(&text);
    }
    return true;
}

static void make_case(const Driver *d, u64 seed, Text *ptx, Text *launch)
{
    static const u32 most[] = {2, 2, 5, 5, 5, 25}; /* changes */
    Random random = {seed ^ 0x6d757461};
    Text original = {0};
    if (!d->sources.n) {
        generate(seed, ptx, launch);
        return;
    }
    if (random_percent(&random, 30))
        generate(seed, &original, launch);
    else if (!read_source(d->sources.v[random_below(&random, d->sources.n)], &original, launch))
        _exit(USAGE);
    text_str(&original);
    if (!launch->n)
        mutate_launch(&random, &original, launch);
    mutate_ptx(&random, &original, 1 + random_below(&random, most[random_below(&random, COUNT_OF(most))]), ptx);
    text_str(launch);
    vec_free(&original);
}

static JudgeOptions judge_options(const Driver *d, u64 seed, char *work, size_t size)
{
    case_path(d, seed, "", work, size);
    strncat(work, ".assemble", size - strlen(work) - 1);
    bool ptxas = d->has_ptxas && (d->ptxas_all || seed % 8 == 0);
    return (JudgeOptions){.seeds = 2,
                          .no_verify = d->no_verify,
                          .once = d->once,
                          .ptxas = ptxas,
                          .ask = d->ask,
                          .limit = d->sources.n ? MUTANT_INSTRUCTIONS : 0,
                          .doubts = d->sources.n || d->is_check ? MUTANT_DOUBTS : 0,
                          .work = work};
}

/* What a failure leaves behind: kernel, launches, output, what was said, and the flags. */
static void leave_case(const Driver *d, u64 seed, const Text *ptx, const Text *launch, const Text *after, Text *message,
                       const char *flags)
{
    Text flag_text = {0};
    text_printf(&flag_text, "%s", flags);
    write_case_file(d, seed, "case.ptx", ptx);
    write_case_file(d, seed, "case.launch", launch);
    if (after)
        write_case_file(d, seed, "after.ptx", after);
    if (message)
        write_case_file(d, seed, "message", message);
    write_case_file(d, seed, "flags", &flag_text);
    vec_free(&flag_text);
}

static void count_case(Shared *s, const Judge *j)
{
    __atomic_add_fetch(&s->runs, j->runs, __ATOMIC_RELAXED);
    __atomic_add_fetch(&s->rewritten, j->rewritten, __ATOMIC_RELAXED);
    __atomic_add_fetch(&s->proved, j->proved, __ATOMIC_RELAXED);
    if (j->options.ptxas)
        __atomic_add_fetch(j->assembles ? &s->assembled : &s->unassembled, 1, __ATOMIC_RELAXED);
}

static Verdict run_case(const Driver *d, u64 seed, char *current, bool *is_text)
{
    char work[512];
    Text ptx = {0}, launch = {0}, after = {0};
    Judge j;
    JudgeOptions options = judge_options(d, seed, work, sizeof work);
    make_case(d, seed, &ptx, &launch);
    snprintf(current, FLAGS_BYTES, "(before)");
    Verdict verdict = judge_open(&j, &options, ptx.v, ptx.n, launch.v, launch.n);
    bool runs = !d->sources.n || (verdict == CLEAN && launch.n);
    if (!runs) {
        vec_clear(&launch);
        *is_text = true;
        verdict = CLEAN;
    }
    Configs c = configs_of(d, seed);
    for (u32 i = 0; verdict == CLEAN && i < c.n; i++) {
        snprintf(current, FLAGS_BYTES, "%s", c.flags[i]);
        vec_clear(&after);
        verdict = runs ? judge_check(&j, c.flags[i], &after) : judge_text(&j, c.flags[i], &after);
    }
    if (verdict != CLEAN)
        leave_case(d, seed, &ptx, &launch, &after, &j.message, current);
    count_case(d->shared, &j);
    judge_close(&j);
    vec_free(&ptx);
    vec_free(&launch);
    vec_free(&after);
    return verdict;
}

/* Runs it in a child; a signal or running out of time is a verdict too. */
static Verdict isolate(Verdict (*work)(void *), void *user)
{
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        setitimer(ITIMER_PROF, &(struct itimerval){.it_value = {CASE_SECONDS, 0}}, NULL); /* other work does not count */
        Verdict verdict = work(user);
        fflush(NULL);
        _exit((int)verdict);
    }
    int status = 0;
    if (child < 0 || waitpid(child, &status, 0) < 0)
        return USAGE;
    if (WIFEXITED(status))
        return (Verdict)WEXITSTATUS(status) < VERDICTS ? (Verdict)WEXITSTATUS(status) : CRASHED;
    return WTERMSIG(status) == SIGPROF ? HANGS : CRASHED;
}

typedef struct CaseJob {
    const Driver *driver;
    u64 seed;
    char *current;
    bool *is_text; /* shared: it cannot run */
} CaseJob;

static Verdict case_job(void *user)
{
    CaseJob *job = user;
    return run_case(job->driver, job->seed, job->current, job->is_text);
}

/* ---- finding the guilty rewrite --------------------------------------------------------------------------------- */

typedef struct CheckJob {
    const Driver *driver;
    const Text *ptx, *launch;
    char flags[FLAGS_BYTES + 40];
    bool print;
} CheckJob;

static Verdict check_job(void *user)
{
    CheckJob *job = user;
    Text after = {0};
    Judge j;
    char work[512];
    JudgeOptions options = judge_options(job->driver, 0, work, sizeof work);
    Verdict verdict = judge_open(&j, &options, job->ptx->v, job->ptx->n, job->launch->v, job->launch->n);
    if (!job->launch->n)
        verdict = judge_text(&j, job->flags, &after);
    else if (verdict == CLEAN)
        verdict = judge_check(&j, job->flags, &after);
    if (job->print && verdict != CLEAN) {
        fwrite(j.message.v, 1, j.message.n, stdout);
        printf("%s\n", verdict_name(verdict));
    }
    vec_free(&after);
    judge_close(&j);
    return verdict;
}

/* The last line that --opt-bisect-limit prints about a rewrite that runs. */
static void describe_rewrite(const Text *ptx, const char *flags, char *line, size_t size)
{
    Text out = {0}, said = {0};
    optimize_text(flags, ptx->v, ptx->n, &out, &said, NULL);
    snprintf(line, size, "unknown rewrite");
    char *at = text_str(&said);
    while ((at = strstr(at, "BISECT: running "))) {
        at += strlen("BISECT: running ");
        snprintf(line, size, "%.*s", (int)strcspn(at, "\n"), at);
    }
    vec_free(&out);
    vec_free(&said);
}

/* The smallest number of rewrites that fails in this way; 0 when the search says nothing. */
static u32 bisect(CheckJob *job, const char *flags, Verdict verdict)
{
    enum { REWRITES_MAX = 1 << 14 };
    u32 good = 0, bad = REWRITES_MAX;
    snprintf(job->flags, sizeof job->flags, "%s --opt-bisect-limit=%u", flags, bad);
    if (isolate(check_job, job) != verdict)
        return 0;
    while (bad - good > 1) {
        u32 middle = good + (bad - good) / 2;
        snprintf(job->flags, sizeof job->flags, "%s --opt-bisect-limit=%u", flags, middle);
        if (isolate(check_job, job) == verdict)
            bad = middle;
        else
            good = middle;
    }
    return bad;
}

/* ---- reports ---------------------------------------------------------------------------------------------------- */

static bool read_case_file(const Driver *d, u64 seed, const char *name, Text *t)
{
    char path[512];
    Str text;
    case_path(d, seed, name, path, sizeof path);
    if (!source_read(path, &text))
        return false;
    text_append(t, text.p, text.len);
    text_str(t);
    source_free(&text);
    return true;
}

static void reduce_case(const Driver *d, const char *kernel, const char *launch, const char *flags)
{
    char command[8192], folder[512];
    snprintf(folder, sizeof folder, "%.*s", (int)(strrchr(d->program, '/') ? strrchr(d->program, '/') - d->program : 1),
             strrchr(d->program, '/') ? d->program : ".");
    snprintf(command, sizeof command,
             "'%s/ptxopt-reduce' --seconds=%d --test=\"'%s' %s '--check=%s' --launch='%s' {}\" '%s/case.ptx' -o '%s/small.ptx'",
             folder, REDUCE_SECONDS, d->program, d->no_verify ? "--no-verify" : "", flags, launch, kernel, kernel);
    fflush(stdout);
    if (system(command) != 0)
        printf("    (not reduced)\n");
}

static void investigate(const Driver *d, u64 seed, Verdict verdict)
{
    char kernel[512], launch[600], rewrite[256];
    Text ptx = {0}, launches = {0}, flags = {0}, message = {0};
    read_case_file(d, seed, "case.ptx", &ptx);
    read_case_file(d, seed, "case.launch", &launches);
    read_case_file(d, seed, "flags", &flags);
    read_case_file(d, seed, "message", &message);
    case_path(d, seed, "", kernel, sizeof kernel);
    snprintf(launch, sizeof launch, "%s/case.launch", kernel);
    printf("%s", message.n ? message.v : "");
    if (verdict != BAD_INPUT) {
        CheckJob job = {.driver = d, .ptx = &ptx, .launch = &launches};
        u32 guilty = verdict == UNSTABLE ? 0 : bisect(&job, flags.v, verdict);
        if (guilty) {
            describe_rewrite(&ptx, job.flags, rewrite, sizeof rewrite);
            printf("    guilty: %s\n", rewrite);
        }
        reduce_case(d, kernel, launch, flags.v);
        printf("    show it: %s%s --check='%s' --launch=%s %s/small.ptx\n", d->program, d->no_verify ? " --no-verify" : "",
               flags.v, launch, kernel);
    }
    vec_free(&ptx);
    vec_free(&launches);
    vec_free(&flags);
    vec_free(&message);
}

typedef struct Failure {
    u64 seed;
    Verdict verdict;
} Failure;

/* A case that crashed could not leave anything itself. */
static void leave_crash(const CaseJob *job)
{
    Text ptx = {0}, launch = {0};
    make_case(job->driver, job->seed, &ptx, &launch);
    if (*job->is_text)
        vec_clear(&launch);
    leave_case(job->driver, job->seed, &ptx, &launch, NULL, NULL, job->current);
    vec_free(&ptx);
    vec_free(&launch);
}

/* ---- many cases ------------------------------------------------------------------------------------------------- */

static void work(const Driver *d, u32 worker, int report)
{
    Shared *s = d->shared;
    for (u64 n; !s->stop && (n = __atomic_fetch_add(&s->next, 1, __ATOMIC_RELAXED)) < d->cases;) {
        s->is_text[worker] = false;
        CaseJob job = {d, d->first + n, s->flags[worker], &s->is_text[worker]};
        Failure failure = {job.seed, isolate(case_job, &job)};
        __atomic_add_fetch(&s->cases, 1, __ATOMIC_RELAXED);
        if (failure.verdict == CLEAN)
            continue;
        if (failure.verdict == CRASHED || failure.verdict == HANGS)
            leave_crash(&job);
        __atomic_add_fetch(&s->failed, 1, __ATOMIC_RELAXED);
        s->stop |= d->stop_first;
        if (write(report, &failure, sizeof failure) != sizeof failure)
            _exit(2);
    }
}

static void report_failures(const Driver *d, int failures)
{
    Failure f;
    for (u32 n = 0; read(failures, &f, sizeof f) == sizeof f; n++) {
        if (n >= SHOWN_MAX)
            continue;
        Text flags = {0};
        read_case_file(d, f.seed, "flags", &flags);
        printf("fail case %llu: %s (%s)\n", (unsigned long long)f.seed, verdict_name(f.verdict), flags.n ? flags.v : "");
        if (n < INVESTIGATED_MAX && !d->quick)
            investigate(d, f.seed, f.verdict);
        vec_free(&flags);
    }
}

static int run_many(Driver *d)
{
    int failures[2];
    struct timespec begin, end;
    d->shared = mmap(NULL, sizeof *d->shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (d->shared == MAP_FAILED || pipe(failures) != 0)
        return USAGE;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    fflush(NULL);
    for (u32 i = 0; i < d->jobs; i++)
        if (fork() == 0) {
            close(failures[0]);
            work(d, i, failures[1]);
            _exit(0);
        }
    close(failures[1]);
    report_failures(d, failures[0]);
    while (wait(NULL) > 0)
        ;
    clock_gettime(CLOCK_MONOTONIC, &end);
    Shared *s = d->shared;
    if (s->cases < d->cases && !s->stop) {
        printf("fail: a worker ended early\n");
        s->failed++;
    }
    printf(
        "fuzz-exec: cases %llu to %llu, %llu runs, %llu outputs that differ from their input, %llu proved, %llu assembled",
        (unsigned long long)d->first, (unsigned long long)(d->first + d->cases - 1), (unsigned long long)s->runs,
        (unsigned long long)s->rewritten, (unsigned long long)s->proved, (unsigned long long)s->assembled);
    if (s->unassembled)
        printf(" (ptxas takes %llu kernels in no form)", (unsigned long long)s->unassembled);
    printf(", %.1f s\n", (double)(end.tv_sec - begin.tv_sec) + 1e-9 * (double)(end.tv_nsec - begin.tv_nsec));
    printf("fuzz-exec: %llu passed, %llu failed\n", (unsigned long long)(s->cases > s->failed ? s->cases - s->failed : 0),
           (unsigned long long)s->failed);
    return s->failed > 0;
}

/* ---- the command line ------------------------------------------------------------------------------------------- */

static int check_one(const Driver *d, const char *flags, const char *launch_file, const char *file)
{
    Str ptx, launch = {0};
    if (!source_read(file, &ptx) || (launch_file && !source_read(launch_file, &launch))) {
        fprintf(stderr, "fuzz-exec: %s: %s\n", file, strerror(errno));
        return USAGE;
    }
    Text ptx_text = {0}, launch_text = {0};
    text_append(&ptx_text, ptx.p, ptx.len);
    text_append(&launch_text, launch.p, launch.len);
    text_str(&ptx_text);
    text_str(&launch_text);
    CheckJob job = {.driver = d, .ptx = &ptx_text, .launch = &launch_text, .print = true};
    snprintf(job.flags, sizeof job.flags, "%s", flags);
    Verdict verdict = isolate(check_job, &job);
    vec_free(&ptx_text);
    vec_free(&launch_text);
    source_free(&ptx);
    if (launch_file)
        source_free(&launch);
    return (int)verdict;
}

static int usage(void)
{
    fputs("usage: fuzz-exec [-n CASES] [--first=SEED] [-j JOBS] [--configs=FLAGS;FLAGS...] [--stop] [--no-verify] [--once] "
          "[--quick]\n"
          "                 [--features=LIST] [--prover=always|wrong|never|steps] [--orders=N]\n"
          "       fuzz-exec --mutate=LIST [as above]\n"
          "       fuzz-exec [--no-verify] --check=FLAGS [--launch=FILE] FILE.ptx\n",
          stderr);
    return USAGE;
}

static bool read_list(const char *file, Words *lines)
{
    Str text; /* stays */
    if (!source_read(file, &text))
        return false;
    for (u32 at = 0; at < text.len;) {
        u32 len = (u32)strcspn(text.p + at, "\n");
        if (len)
            vec_push(lines, strndup(text.p + at, len));
        at += len + 1;
    }
    return lines->n > 0;
}

static bool when_to_ask(const char *word, AskProver *ask)
{
    static const char *const words[] = {"always", "wrong", "never", "steps"};
    for (u32 k = 0; k < COUNT_OF(words); k++)
        if (strcmp(word, words[k]) == 0) {
            *ask = (AskProver)k;
            optimize_asks_prover = *ask == ASK_STEPS;
            return true;
        }
    return false;
}

int main(int argc, char **argv)
{
    enum { FIRST = 1, CONFIGS, STOP, NO_VERIFY, ONCE, QUICK, CHECK, LAUNCH, FOLDER, FEATURES, PROVER, MUTATE, ORDERS };
    static const struct option known[] = {{"first", 1, NULL, FIRST},
                                          {"configs", 1, NULL, CONFIGS},
                                          {"stop", 0, NULL, STOP},
                                          {"no-verify", 0, NULL, NO_VERIFY},
                                          {"once", 0, NULL, ONCE},
                                          {"quick", 0, NULL, QUICK},
                                          {"check", 1, NULL, CHECK},
                                          {"launch", 1, NULL, LAUNCH},
                                          {"folder", 1, NULL, FOLDER},
                                          {"features", 1, NULL, FEATURES},
                                          {"prover", 1, NULL, PROVER},
                                          {"mutate", 1, NULL, MUTATE},
                                          {"orders", 1, NULL, ORDERS},
                                          {0}};
    long orders = -1;
    const char *check = NULL, *launch = NULL, *ptxas = getenv("PTXAS"), *all = getenv("PTXAS_CASES");
    Driver d = {.first = 1, .cases = 1000, .jobs = 2, .program = argv[0], .folder = "build/fuzz"};
    d.has_ptxas = ptxas && *ptxas;
    d.ptxas_all = all && strcmp(all, "all") == 0;
    for (int code; (code = getopt_long(argc, argv, "n:j:", known, NULL)) != -1;)
        switch (code) {
        case 'n': d.cases = strtoull(optarg, NULL, 10); break;
        case 'j': d.jobs = (u32)strtoul(optarg, NULL, 10); break;
        case FIRST: d.first = strtoull(optarg, NULL, 10); break;
        case CONFIGS: d.configs = optarg; break;
        case STOP: d.stop_first = true; break;
        case NO_VERIFY: d.no_verify = true; break;
        case ONCE: d.once = true; break;
        case QUICK: d.quick = true; break;
        case CHECK: check = optarg; break;
        case LAUNCH: launch = optarg; break;
        case ORDERS: orders = atol(optarg); break;
        case FOLDER: d.folder = optarg; break;
        case PROVER:
            if (!when_to_ask(optarg, &d.ask))
                return usage();
            break;
        case MUTATE:
            if (!read_list(optarg, &d.sources))
                return usage();
            break;
        case FEATURES:
            if (!ptxgen_features(optarg, &features))
                return usage();
            break;
        default: return usage();
        }
    if (d.jobs < 1 || d.jobs > JOBS_MAX || optind + (check != NULL) != argc)
        return usage();
    d.is_check = check != NULL;
    d.orders = orders >= 0 ? (u32)orders : d.configs ? 0 : 3;
    if (check)
        return check_one(&d, check, launch, argv[optind]);
    mkdir(d.folder, 0777);
    return run_many(&d);
}
