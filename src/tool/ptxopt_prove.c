/* ptxopt-prove: whether one text is a right rewrite of another. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/args.h"
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
    fprintf(stderr, "ptxopt-prove: error: cannot read '%s': %s\n", t->path, strerror(errno));
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
        fprintf(stderr, "ptxopt-prove: error: cannot write '%s': %s\n", options->launch, strerror(errno));
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

enum { SOLVER = 256, TIME_LIMIT, IN_BOUNDS, LAUNCH, LIMIT, VERBOSE, VERSION, HELP };
enum { MOST = 1000000000 };

static bool complain(const char *what, const char *word)
{
    fprintf(stderr, "ptxopt-prove: error: %s '%s' (--help lists the options)\n", what, word);
    return false;
}

static bool take_number(const char *option, const char *text, u32 *value)
{
    char what[64], *end;
    unsigned long n = strtoul(text, &end, 10);
    *value = (u32)n;
    snprintf(what, sizeof what, "%s takes a number up to %d, not", option, MOST);
    return (*text >= '0' && *text <= '9' && *end == '\0' && n <= MOST) || complain(what, text);
}

/* Reads the options. Those that only print something exit. */
static bool take_options(ProveCommand *options, ArgReader *args)
{
    bool ok = true;
    for (int code; ok && (code = args_next(args)) != -1;) {
        switch (code) {
        case SOLVER: options->prove.solver = args->argument; break;
        case TIME_LIMIT: ok = take_number("--time-limit", args->argument, &options->prove.solver_ms); break;
        case IN_BOUNDS: options->prove.assume_in_bounds = true; break;
        case LAUNCH: options->launch = args->argument; break;
        case LIMIT: ok = take_number("--limit", args->argument, &options->prove.limit); break;
        case VERBOSE: options->verbose = true; break;
        case VERSION: puts("ptxopt-prove " PTXOPT_VERSION " (commit " PTXOPT_COMMIT ")"); exit(EXIT_PROVED);
        case HELP: fputs(usage, stdout); exit(EXIT_PROVED);
        default: ok = complain(code == ':' ? "an argument is missing of" : "unknown option", args->word);
        }
    }
    return ok;
}

static bool take_files(ProveCommand *options, const ArgReader *args)
{
    if (args->operands.n > 2)
        return complain("two files are compared: not with", args->operands.v[2]);
    if (args->operands.n < 2) {
        fprintf(stderr,
                "ptxopt-prove: error: %s; usage: ptxopt-prove [options] BEFORE.ptx AFTER.ptx (--help lists the options)\n",
                args->operands.n ? "no file to compare with" : "no input file");
        return false;
    }
    for (u32 side = 0; side < 2; side++)
        options->text[side].path = args->operands.v[side];
    return true;
}

static bool find_solver(const char *solver)
{
    if (!solver || prove_solver_is_there(solver))
        return true;
    fprintf(stderr, "ptxopt-prove: error: --solver: '%s' cannot be found\n", solver);
    return false;
}

int main(int argc, char **argv)
{
    static const struct option known[] = {{"solver", required_argument, NULL, SOLVER},
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
    ArgReader args = args_start(argc, argv, "", known);
    enum ExitStatus status = EXIT_BAD_INPUT;
    if (take_options(&options, &args) && take_files(&options, &args) && find_solver(options.prove.solver))
        status = prove(&options);
    args_free(&args);
    if (fflush(stdout) != 0)
        status = EXIT_BAD_INPUT;
    return status;
}
