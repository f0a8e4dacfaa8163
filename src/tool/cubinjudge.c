/* cubinjudge: which kernels of a cubin got worse, beside another one made of the same source. */
#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "judge/machine/worse.h"

enum { EXIT_WORSE = 1, EXIT_TROUBLE = 2 };

typedef struct JudgeOptions {
    const char *kernel;
    bool tsv, all;
} JudgeOptions;

static void print_help(void)
{
    puts("usage: cubinjudge [options] BEFORE.cubin AFTER.cubin\n"
         "Says which kernels and functions got worse; exit status 1 if one did, 2 if they cannot be judged.\n\n"
         "  --all            also those that did not change\n"
         "  --tsv            one line a function that changed, tab separated, under no header: name, verdict (same, "
         "better, worse),\n"
         "                   rules, instructions, cycles, spilled bytes, registers and warps before and after, loops newly "
         "unrolled\n"
         "  --kernel=NAME    that function only\n"
         "  --help           this text");
}

static void print_rules(unsigned worse)
{
    if (!worse)
        putchar('-');
    for (unsigned rule = 1, any = 0; rule < 1u << WORSE_RULES; rule <<= 1)
        if (worse & rule)
            printf("%s%s", any++ ? "+" : "", worse_name(rule));
}

static void print_judgement(const char *name, const Judgement *j, const JudgeOptions *options)
{
    const char *verdict = j->worse ? "worse" : j->better ? "better" : "same";
    const Moved *m = &j->moved;
    if (!j->changed && !options->all)
        return;
    if (!options->tsv) {
        Arena arena = {0};
        printf("%s: %s", name, verdict);
        if (j->worse) {
            fputs(" by ", stdout);
            print_rules(j->worse);
        }
        printf(": %s\n", worse_describe(&arena, j));
        arena_free(&arena);
        return;
    }
    printf("%s\t%s\t", name, j->changed ? verdict : "unchanged");
    print_rules(j->worse);
    printf("\t%lu\t%lu\t%.1f\t%.1f\t%lu\t%lu\t%lu\t%lu\t%u\t%u\t%d\n", m->instructions[0], m->instructions[1], m->cycles[0],
           m->cycles[1], m->spilled[0], m->spilled[1], m->registers[0], m->registers[1], m->warps[0], m->warps[1],
           m->unrolled);
}

static int judge_pair(const Cubin *before, const Cubin *after, const char *name, const JudgeOptions *options)
{
    Judgement judgement;
    if (!worse_judge_function(&judgement, before, after, name)) {
        fprintf(stderr, "cubinjudge: %s is only in the first cubin, or too large\n", name);
        return EXIT_TROUBLE;
    }
    print_judgement(name, &judgement, options);
    return judgement.worse ? EXIT_WORSE : 0;
}

static bool open_cubin(Cubin *cubin, const char *path)
{
    const char *fault = cubin_open(cubin, path);
    if (fault)
        fprintf(stderr, "cubinjudge: %s: %s\n", path, fault);
    return !fault;
}

static int judge_files(const char *old_path, const char *new_path, const JudgeOptions *options)
{
    Cubin before = {0}, after = {0};
    if (!open_cubin(&before, old_path) || !open_cubin(&after, new_path)) {
        cubin_close(&before);
        return EXIT_TROUBLE;
    }
    int status = 0;
    for (size_t i = 0; i < before.count; i++) {
        const CubinFunction *function = &before.functions[i];
        if (function->inner || (options->kernel && strcmp(options->kernel, function->name) != 0))
            continue;
        int one = judge_pair(&before, &after, function->name, options);
        status = one > status ? one : status;
    }
    cubin_close(&before);
    cubin_close(&after);
    return status;
}

int main(int argc, char **argv)
{
    static const struct option known[] = {
        {"all", no_argument, NULL, 'a'},
        {"tsv", no_argument, NULL, 't'},
        {"kernel", required_argument, NULL, 'k'},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    JudgeOptions options = {0};
    for (int option; (option = getopt_long(argc, argv, "", known, NULL)) != -1;) {
        switch (option) {
        case 'a': options.all = true; break;
        case 't': options.tsv = true; break;
        case 'k': options.kernel = optarg; break;
        case 'h': print_help(); return 0;
        default: return EXIT_TROUBLE;
        }
    }
    if (optind + 2 != argc) {
        fprintf(stderr, "usage: cubinjudge [options] BEFORE.cubin AFTER.cubin (see --help)\n");
        return EXIT_TROUBLE;
    }
    return judge_files(argv[optind], argv[optind + 1], &options);
}
