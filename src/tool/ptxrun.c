/* ptxrun: runs the kernels of a PTX file as a launch description says, and watches them.
 *
 *     ptxrun [options] FILE.ptx NAME.launch            run, and report
 *     ptxrun [options] --compare A.ptx B.ptx NAME.launch   run both under the same seeds, and compare
 *     ptxrun --coverage FILE.ptx...                    list the instructions that it cannot run
 *
 *     --seed=N    first seed of the schedule (default 1)     --seeds=N   how many (default 1)
 *     --only=LABEL  this launch alone                        --limit=N   warp instructions per launch (default 20 million)
 *     --unreached   list, after all launches, the instructions that none has reached
 *     --brief     findings without counts, and the outputs' values
 *     --model=NAME  where lanes reconverge (reconverge.h): early-exits (the default) or strict; --compare tries both
 *
 * Exit status: 0 clean (compare: the same outputs, nothing new found, or it hangs before); 1 findings or differences; 2
 * usage, or input that cannot be read; 3 an instruction that is not supported was reached. */
#include "check/exec/run.h"
#include "tool/process.h"
#include "parse/reading.h"
#include "base/source.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct RunCommand {
    u64 seed, seeds;
    RunOptions run;
    const char *only;
    bool compare, coverage, brief, unreached, one_model;
    const char *file[256];
    u32 files;
} RunCommand;

enum { EXIT_HANGS_BEFORE = -1, EXIT_CLEAN, EXIT_FINDINGS, EXIT_USAGE, EXIT_UNSUPPORTED };

static const char *const model_name[RECONVERGE_MODELS] = {"early-exits", "strict"};

typedef struct Input {
    Reading reading;
    Str text;
    Program *program;
} Input;

static bool open_program(Input *in, const char *file)
{
    memset(in, 0, sizeof *in);
    if (!source_read(file, &in->text)) {
        perror(file);
        return false;
    }
    if (!reading_init(&in->reading, file, in->text, parse_module_strict, stderr))
        return false;
    in->program = program_new(&in->reading.arena, in->reading.module, file);
    return true;
}

static void close_program(Input *in)
{
    if (in->program)
        program_free(in->program);
    reading_free(&in->reading);
    source_free(&in->text);
}

/* ---- reports -------------------------------------------------------------------------------------------------- */

static void print_counters(const char *what, const Counters *c)
{
    printf("%s kernel=%s issued=%" PRIu64 " threads=%" PRIu64 " branches=%" PRIu64 " divergent=%" PRIu64 " jumps=%" PRIu64
           " barriers=%" PRIu64 "\n",
           what, c->kernel, c->issued, c->threads, c->branches, c->divergent, c->jumps, c->barriers);
}

static void print_finding(const char *what, const Finding *f)
{
    printf("%s kind=%s kernel=%s subject=%s count=%" PRIu64 "\n", what, finding_name(f->kind), f->kernel, f->subject,
           f->count);
    for (u32 i = 0; i < COUNT_OF(f->where) && f->where[i]; i++)
        printf("    at %s\n", f->where[i]);
}

/* ---- running -------------------------------------------------------------------------------------------------- */

static int failed(const RunResult *r, const char *file, const char *label, bool quiet)
{
    if (r->error) {
        fprintf(stderr, "%s: launch %s: %s\n", file, label, r->error);
        return EXIT_USAGE;
    }
    if (r->unsupported) {
        if (!quiet)
            printf("unsupported %s\n", r->unsupported);
        return EXIT_UNSUPPORTED;
    }
    return EXIT_CLEAN;
}

/* Prints what does not depend on counts or places: the text that the tests compare. */
static void print_brief(const Launch *launch, const RunResult *r)
{
    u32 n = 0;
    printf("launch %s\n", launch->label);
    if (r->unsupported)
        printf("unsupported\n");
    for (u32 i = 0; i < r->findings.n; i++)
        printf("%s %s %s\n", finding_name(r->findings.v[i].kind), r->findings.v[i].kernel, r->findings.v[i].subject);
    for (u32 i = 0; i < launch->buffers.n && !r->unsupported; i++)
        if (launch->buffers.v[i].output)
            launch_print_values(&launch->buffers.v[i], r->outputs.v[n++].data);
}

static void print_report(const Launch *launch, u64 seed, const RunResult *r)
{
    printf("run launch=%s seed=%" PRIu64 " hash=%016" PRIx64 " findings=%u\n", launch->label, seed, run_hash(r),
           r->findings.n);
    for (u32 k = 0; k < r->counters.n; k++)
        print_counters("count", &r->counters.v[k]);
    Counters total = run_total(r);
    print_counters("count", &total);
    for (u32 k = 0; k < r->findings.n; k++)
        print_finding("finding", &r->findings.v[k]);
}

static int run_and_report(const RunCommand *o, Input *in, const char *file, const Launch *launch)
{
    int status, worst = EXIT_CLEAN;
    for (u64 i = 0; i < o->seeds && worst < EXIT_USAGE; i++) {
        RunOptions run = o->run;
        Arena arena = {0};
        run.seed = o->seed + i;
        RunResult r = run_launch(&arena, in->program, launch, &run);
        if (o->brief && !r.error)
            print_brief(launch, &r);
        status = failed(&r, file, launch->label, o->brief);
        if (!status) {
            if (!o->brief)
                print_report(launch, run.seed, &r);
            status = r.findings.n ? EXIT_FINDINGS : EXIT_CLEAN;
        }
        worst = status > worst ? status : worst;
        run_result_free(&r);
        arena_free(&arena);
    }
    return worst;
}

/* ---- comparing ------------------------------------------------------------------------------------------------ */

static u32 compare_outputs(const RunResult *a, const RunResult *b, const char *label, const RunOptions *run)
{
    u32 differences = 0;
    for (u32 i = 0; i < a->outputs.n; i++) {
        const Object *x = &a->outputs.v[i], *y = i < b->outputs.n ? &b->outputs.v[i] : NULL;
        u64 at = 0;
        while (y && at < x->bytes && at < y->bytes && x->data[at] == y->data[at])
            at++;
        if (y && at == x->bytes && at == y->bytes && !strcmp(x->name, y->name))
            continue;
        differences++;
        printf("difference launch=%s seed=%" PRIu64 " model=%s output=%s byte=%" PRIu64 "\n", label, run->seed,
               model_name[run->model], x->name, at);
        for (u32 k = 0; y && at < x->bytes && k < 4 && (at & ~(u64)3) + k < x->bytes; k++)
            printf("    %02x before, %02x after\n", x->data[(at & ~(u64)3) + k], y->data[(at & ~(u64)3) + k]);
    }
    return differences + (b->outputs.n > a->outputs.n);
}

static void print_costs(const char *what, const Counters *a, const Counters *b)
{
    printf("%s issued=%" PRIu64 "/%" PRIu64 " jumps=%" PRIu64 "/%" PRIu64 " divergent=%" PRIu64 "/%" PRIu64
           " barriers=%" PRIu64 "/%" PRIu64 "\n",
           what, a->issued, b->issued, a->jumps, b->jumps, a->divergent, b->divergent, a->barriers, b->barriers);
}

/* Prints what each kernel cost, before/after. */
static void compare_costs(const Launch *launch, u64 seed, const RunResult *a, const RunResult *b)
{
    for (u32 i = 0; i < a->counters.n && i < b->counters.n; i++) {
        printf("cost launch=%s seed=%" PRIu64 " kernel=%s", launch->label, seed, a->counters.v[i].kernel);
        print_costs("", &a->counters.v[i], &b->counters.v[i]);
    }
}

/* One schedule under one model. A kernel that hangs as it is judges nothing. */
static int compare_run(const RunCommand *o, Input *a, Input *b, const Launch *launch, RunOptions run, Counters total[2])
{
    Arena arena = {0};
    u64 seed = run.seed;
    RunResult before = run_launch(&arena, a->program, launch, &run);
    int status = failed(&before, o->file[0], launch->label, false);
    if (!status && run_hangs(&before)) {
        printf("unjudged launch=%s seed=%" PRIu64 " model=%s: hangs before\n", launch->label, seed, model_name[run.model]);
        status = EXIT_HANGS_BEFORE;
    }
    if (status) {
        run_result_free(&before);
        arena_free(&arena);
        return status;
    }
    u64 limit = run_limit_after(&before);
    run.limit = limit < run.limit ? limit : run.limit;
    RunResult after = run_launch(&arena, b->program, launch, &run);
    status = failed(&after, o->file[1], launch->label, false);
    if (!status) {
        bool bad = compare_outputs(&before, &after, launch->label, &run) > 0;
        for (u32 i = 0; i < after.findings.n; i++)
            if (!run_found(&before, &after.findings.v[i])) {
                print_finding("new", &after.findings.v[i]);
                bad = true;
            }
        if (before.stopped != after.stopped)
            bad = true;
        if (run.model == o->run.model)
            compare_costs(launch, seed, &before, &after);
        total[0] = run_total(&before);
        total[1] = run_total(&after);
        status = bad ? EXIT_FINDINGS : EXIT_CLEAN;
    }
    run_result_free(&before);
    run_result_free(&after);
    arena_free(&arena);
    return status;
}

static int compare(const RunCommand *o, Input *a, Input *b, const Launch *launch)
{
    int worst = EXIT_CLEAN;
    Counters total[2] = {{0}, {0}};
    u64 judged = 0;
    for (u64 i = 0; i < o->seeds && worst < EXIT_USAGE; i++)
        for (u32 m = o->one_model ? o->run.model : 0; m < RECONVERGE_MODELS && worst < EXIT_USAGE; m++) {
            RunOptions run = o->run;
            run.seed = o->seed + i;
            run.model = (ReconvergeModel)m;
            int status = compare_run(o, a, b, launch, run, total);
            judged += status != EXIT_HANGS_BEFORE;
            worst = status > worst ? status : worst;
            if (o->one_model)
                break;
        }
    if (worst >= EXIT_USAGE)
        return worst;
    printf("compare launch=%s result=%s", launch->label, worst > 0 ? "different" : judged ? "same" : "unjudged");
    print_costs("", &total[0], &total[1]);
    return worst > 0 ? worst : EXIT_CLEAN;
}

/* ---- the command line ----------------------------------------------------------------------------------------- */

static int coverage(const RunCommand *o)
{
    int status = EXIT_CLEAN;
    for (u32 i = 0; i < o->files; i++) {
        Input in;
        if (!open_program(&in, o->file[i])) {
            close_program(&in);
            return EXIT_USAGE;
        }
        u64 codes = 0;
        for (u32 k = 0; k < in.program->functions.n; k++) {
            program_decode(in.program, in.program->functions.v[k]);
            codes += in.program->functions.v[k]->code.n;
        }
        for (u32 k = 0; k < in.program->unsupported.n; k++)
            printf("unsupported %s\n", in.program->unsupported.v[k]);
        printf("coverage file=%s instructions=%" PRIu64 " unsupported=%u\n", o->file[i], codes, in.program->unsupported.n);
        if (in.program->unsupported.n)
            status = EXIT_UNSUPPORTED;
        close_program(&in);
    }
    return status;
}

static bool option_value(const char *arg, const char *name, const char **value)
{
    size_t len = strlen(name);
    if (strncmp(arg, name, len) != 0 || arg[len] != '=')
        return false;
    *value = arg + len + 1;
    return true;
}

static bool parse_options(int argc, char **argv, RunCommand *o)
{
    *o = (RunCommand){.seed = 1, .seeds = 1, .run = {.limit = 20000000}};
    for (int i = 1; i < argc; i++) {
        const char *v;
        if (!strcmp(argv[i], "--compare"))
            o->compare = true;
        else if (!strcmp(argv[i], "--coverage"))
            o->coverage = true;
        else if (!strcmp(argv[i], "--brief"))
            o->brief = true;
        else if (!strcmp(argv[i], "--unreached"))
            o->unreached = true;
        else if (option_value(argv[i], "--seed", &v))
            o->seed = strtoull(v, NULL, 0);
        else if (option_value(argv[i], "--seeds", &v))
            o->seeds = strtoull(v, NULL, 0);
        else if (option_value(argv[i], "--limit", &v))
            o->run.limit = strtoull(v, NULL, 0);
        else if (option_value(argv[i], "--model", &v)) {
            o->one_model = true;
            while (strcmp(v, model_name[o->run.model]) != 0)
                if (++o->run.model == RECONVERGE_MODELS)
                    return false;
        } else if (option_value(argv[i], "--only", &v))
            o->only = v;
        else if (argv[i][0] == '-' || o->files == COUNT_OF(o->file))
            return false;
        else
            o->file[o->files++] = argv[i];
    }
    return o->coverage ? o->files > 0 : o->files == (o->compare ? 3u : 2u);
}

/* Prints the instructions that were not reached in the kernels that were launched, and in what they call. */
static void print_unreached(const Program *p)
{
    u32 reached = 0, total = 0;
    for (u32 i = 0; i < p->functions.n; i++) {
        const FnCode *f = p->functions.v[i];
        for (u32 pc = 0; f->decoded && pc < f->code.n; pc++) {
            if (!f->code.v[pc].instr)
                continue;
            total++;
            reached += f->reached[pc];
            if (!f->reached[pc])
                printf("unreached %s\n", code_location(p, &f->code.v[pc]));
        }
    }
    printf("reached file=%s instructions=%u of=%u\n", p->file, reached, total);
}

static int run_all(const RunCommand *o, Input *in, Arena *arena)
{
    const char *path = o->file[o->files - 1];
    Str text;
    LaunchFile launches = {0};
    int worst = EXIT_CLEAN;
    if (!source_read(path, &text)) {
        perror(path);
        return EXIT_USAGE;
    }
    if (!launch_parse(arena, path, text, &launches))
        worst = EXIT_USAGE;
    for (u32 i = 0; i < launches.launches.n && worst < EXIT_USAGE; i++) {
        const Launch *launch = &launches.launches.v[i];
        if (o->only && strcmp(o->only, launch->label) != 0)
            continue;
        int status = o->compare ? compare(o, &in[0], &in[1], launch) : run_and_report(o, &in[0], o->file[0], launch);
        worst = status > worst ? status : worst;
    }
    if (o->unreached && !o->compare)
        print_unreached(in[0].program);
    launch_free(&launches);
    source_free(&text);
    return worst;
}

int main(int argc, char **argv)
{
    RunCommand o;
    Input in[2] = {0};
    Arena arena = {0};
    process_begin();
    if (!parse_options(argc, argv, &o)) {
        fprintf(stderr, "usage: ptxrun [options] FILE.ptx NAME.launch\n"
                        "       ptxrun [options] --compare BEFORE.ptx AFTER.ptx NAME.launch\n"
                        "       ptxrun --coverage FILE.ptx...\n"
                        "options: --seed=N --seeds=N --only=LABEL --limit=N --brief --unreached "
                        "--model=early-exits|strict\n");
        return EXIT_USAGE;
    }
    if (o.coverage)
        return coverage(&o);
    int status = EXIT_USAGE;
    if (open_program(&in[0], o.file[0]) && (!o.compare || open_program(&in[1], o.file[1])))
        status = run_all(&o, in, &arena);
    close_program(&in[0]);
    if (o.compare)
        close_program(&in[1]);
    arena_free(&arena);
    return status;
}
