/* ptxopt-prove: whether one text is a right rewrite of another. */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "parse/reading.h"
#include "base/source.h"
#include "check/prove/prove.h"
#include "tool/process.h"
#include "check/proof/replay.h"
#include "version.h"

enum ExitStatus { EXIT_PROVED = 0, EXIT_BAD_INPUT = 1, EXIT_UNKNOWN = 2, EXIT_REFUTED = 3 };

typedef struct ProveCommand {
    ProveOptions prove;
    bool verbose, failed;
    const char *launch;
    ReplayText text[2];
} ProveCommand;

static const char usage[] = "usage: ptxopt-prove [options] BEFORE.ptx AFTER.ptx\n"
                            "\n"
                            "Prints for each function whose bytes differ whether AFTER does what BEFORE does:\n"
                            "proved, refuted with a counterexample, or unknown with the reason.\n"
                            "\n"
                            "  --solver=CMD       decide what is left by z3, cvc5, boolector, bitwuzla, or a\n"
                            "                     command that reads SMT-LIB 2 (default: none)\n"
                            "  --time-limit=N     milliseconds that the solver may take for a function\n"
                            "                     (default: 10000)\n"
                            "  --assume-in-bounds no access by the address of a .shared variable goes\n"
                            "                     beyond that variable\n"
                            "  --launch=FILE      write a launch description for ptxrun that shows a\n"
                            "                     refutation\n"
                            "  --limit=N          steps for each instruction of a function (default: 400)\n"
                            "  --verbose          print how much was explored\n"
                            "  --version          print the version, and exit\n"
                            "  --help             print this help, and exit\n"
                            "\n"
                            "Exit status: 0 all are proved; 1 bad input or usage; 2 some are unknown; 3 some\n"
                            "are refuted.\n";

static bool read_text(ReplayText *t, Reading *reading)
{
    if (source_read(t->path, &t->text))
        return reading_init(reading, t->path, t->text, parse_module, stderr);
    fprintf(stderr, "ptxopt-prove: error: cannot read '%s'\n", t->path);
    return false;
}

static void report(void *user, const char *name, const ProveVerdict *v)
{
    ProveCommand *options = user;
    printf("%s: %s%s%s\n", name, prove_answer_name(v->answer), v->answer == PROVE_PROVED ? "" : ": ",
           v->answer == PROVE_PROVED ? "" : v->why);
    if (options->verbose)
        printf("  %u nodes, %u steps, %u terms, %u queries\n", v->nodes, v->steps, v->work, v->queries);
    if (v->answer == PROVE_REFUTED && !replay_refutation(options->text, name, v, options->launch)) {
        fprintf(stderr, "ptxopt-prove: error: cannot write '%s'\n", options->launch);
        options->failed = true;
    }
}

static enum ExitStatus prove(ProveCommand *options)
{
    static const enum ExitStatus status[] = {
        [PROVE_PROVED] = EXIT_PROVED, [PROVE_UNKNOWN] = EXIT_UNKNOWN, [PROVE_REFUTED] = EXIT_REFUTED};
    Reading reading[2] = {{.module = NULL}, {.module = NULL}};
    enum ExitStatus result = EXIT_BAD_INPUT;
    if (read_text(&options->text[0], &reading[0]) && read_text(&options->text[1], &reading[1]))
        result = status[prove_modules(reading[0].module, reading[1].module, &options->prove, report, options)];
    for (u32 side = 0; side < 2; side++) {
        reading_free(&reading[side]);
        source_free(&options->text[side].text);
    }
    return options->failed ? EXIT_BAD_INPUT : result;
}

static bool number(const char *text, u32 *value)
{
    char *end;
    unsigned long n = strtoul(text, &end, 10);
    *value = (u32)n;
    return *text >= '0' && *text <= '9' && *end == '\0' && n <= 1000000000;
}

static int bad_usage(void)
{
    fputs("ptxopt-prove: error: bad usage; see ptxopt-prove --help\n", stderr);
    return EXIT_BAD_INPUT;
}

int main(int argc, char **argv)
{
    enum { SOLVER = 256, TIME_LIMIT, IN_BOUNDS, LAUNCH, LIMIT, VERBOSE, VERSION, HELP };
    static const struct option long_options[] = {{"solver", required_argument, NULL, SOLVER},
                                                 {"time-limit", required_argument, NULL, TIME_LIMIT},
                                                 {"assume-in-bounds", no_argument, NULL, IN_BOUNDS},
                                                 {"launch", required_argument, NULL, LAUNCH},
                                                 {"limit", required_argument, NULL, LIMIT},
                                                 {"verbose", no_argument, NULL, VERBOSE},
                                                 {"version", no_argument, NULL, VERSION},
                                                 {"help", no_argument, NULL, HELP},
                                                 {0}};
    ProveCommand options = {.prove = {.solver_ms = 10000}};
    process_begin();
    opterr = 0;
    for (int c; (c = getopt_long(argc, argv, "", long_options, NULL)) != -1;) {
        bool ok = true;
        switch (c) {
        case SOLVER: options.prove.solver = optarg; break;
        case TIME_LIMIT: ok = number(optarg, &options.prove.solver_ms); break;
        case IN_BOUNDS: options.prove.assume_in_bounds = true; break;
        case LAUNCH: options.launch = optarg; break;
        case LIMIT: ok = number(optarg, &options.prove.limit); break;
        case VERBOSE: options.verbose = true; break;
        case VERSION: puts("ptxopt-prove " PTXOPT_VERSION " (commit " PTXOPT_COMMIT ")"); return 0;
        case HELP: fputs(usage, stdout); return 0;
        default: ok = false;
        }
        if (!ok)
            return bad_usage();
    }
    if (argc - optind != 2)
        return bad_usage();
    if (options.prove.solver && !prove_solver_is_there(options.prove.solver)) {
        fprintf(stderr, "ptxopt-prove: error: --solver: '%s' cannot be found\n", options.prove.solver);
        return EXIT_BAD_INPUT;
    }
    options.text[0].path = argv[optind];
    options.text[1].path = argv[optind + 1];
    enum ExitStatus status = prove(&options);
    if (fflush(stdout) != 0)
        return EXIT_BAD_INPUT;
    return status;
}
