/* ptxopt-report: what ptxas makes of texts before and after ptxopt, for people and for CI. */
#define _GNU_SOURCE
#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/args.h"
#include "judge/ptxas/child.h"
#include "base/source.h"
#include "pipeline/knobs.h"
#include "pipeline/options.h"
#include "pipeline/output.h"
#include "tool/process.h"
#include "judge/report/report.h"
#include "version.h"

enum ExitStatus { EXIT_DONE = 0, EXIT_TROUBLE = 1, EXIT_USAGE = 2, EXIT_WORSE = 3 };
enum { MOST_JOBS = 128, MOST_SECONDS = 1000000, DEFAULT_SECONDS = 300 };

static const char usage[] = "usage: ptxopt-report [options] FILE.ptx... [-- OPTIONS-OF-PTXOPT]\n"
                            "       ptxopt-report [-o FILE] --log=LOG\n"
                            "\n"
                            "Optimizes each file, has ptxas assemble it before and after, and says of each\n"
                            "function what was done, and whether its machine code got better or worse.\n"
                            "\n"
                            "  --ptxas=A,B        the assemblers, paths or names; default: the one that is found\n"
                            "  --arch=sm_80,...   the targets; default: the one that each file names\n"
                            "  --format=WORD      text (default), markdown, html or json\n"
                            "  -o FILE            write the report to FILE; default: standard output\n"
                            "  --all              functions whose text did not change, too\n"
                            "  --allow=FILE       functions that may be worse; a line each:\n"
                            "                     FILE-WITHOUT-.ptx:FUNCTION TARGET RULE REASON\n"
                            "  --guard            revert what is worse, as the guard of the front does\n"
                            "  --fail-if-worse    exit status 3 where a function is worse that is not allowed\n"
                            "  --log=LOG          sum up the build whose PTXOPT_LOG is LOG; no file is read\n"
                            "  --jobs=N           processes at a time; default: one for each core\n"
                            "  --limit=SECONDS    how long ptxas may take for one text (default: 300)\n"
                            "  --version          print the version, and exit\n"
                            "  --help             print this help, and exit\n"
                            "\n"
                            "Exit status: 0 done; 1 a file could not be read, or a text not be judged; 2 bad\n"
                            "usage, or no ptxas; 3 worse, with --fail-if-worse.\n";

typedef struct Request {
    const char *ptxas, *arch, *format, *output, *log;
    bool fail_if_worse;
    ArgReader args; /* whose operands are the files */
} Request;

static void (*printer_of(const char *format))(FILE *out, Report *report)
{
    static const struct {
        const char *format;
        void (*print)(FILE *out, Report *report);
    } printers[] = {{"text", report_print_text},
                    {"markdown", report_print_markdown},
                    {"html", report_print_html},
                    {"json", report_print_json}};
    for (u32 i = 0; i < COUNT_OF(printers); i++)
        if (strcmp(printers[i].format, format) == 0)
            return printers[i].print;
    return NULL;
}

static int complain(const char *what, const char *word)
{
    fprintf(stderr, "ptxopt-report: error: %s '%s' (--help lists the options)\n", what, word);
    return EXIT_USAGE;
}

static bool take_number(const char *text, i64 most, u32 *place)
{
    i64 number = 0;
    bool good = knob_parse_number(text, 1, most, &number);
    *place = (u32)number;
    return good;
}

/* The words after `--` are ptxopt's. */
static int take_words(Report *report, int count, char **words)
{
    Words taken = {0};
    report->words = count ? "" : "-O2";
    for (int i = 0; i < count; i++) {
        vec_push(&taken, words[i]);
        report->words = arena_printf(&report->arena, "%s%s%s", report->words, i ? " " : "", words[i]);
    }
    OptionsResult result = options_parse_words(&report->options, &taken, stdout, stderr);
    vec_free(&taken);
    const Options *o = &report->options;
    if (result == OPTIONS_DONE)
        exit(EXIT_DONE);
    if (result == OPTIONS_RUN && (o->guard_by || o->tune_by || o->tune_read || o->remarks || o->pipeline.dump_cfg))
        return complain("the report assembles for itself, and writes what it is asked for: not with", report->words);
    return result == OPTIONS_RUN ? EXIT_DONE : EXIT_USAGE;
}

static int parse_request(Report *report, Request *request, int argc, char **argv)
{
    static const struct option known[] = {
        {"ptxas", required_argument, NULL, 'p'},
        {"arch", required_argument, NULL, 'a'},
        {"format", required_argument, NULL, 'f'},
        {"all", no_argument, NULL, 'A'},
        {"allow", required_argument, NULL, 'w'},
        {"guard", no_argument, NULL, 'g'},
        {"fail-if-worse", no_argument, NULL, 'F'},
        {"log", required_argument, NULL, 'L'},
        {"jobs", required_argument, NULL, 'j'},
        {"limit", required_argument, NULL, 'l'},
        {"version", no_argument, NULL, 'V'},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    int own = 1;
    while (own < argc && strcmp(argv[own], "--") != 0)
        own++;
    request->args = args_start(own, argv, "o:hV", known);
    const ArgReader *args = &request->args;
    int status = EXIT_DONE;
    for (int code; status == EXIT_DONE && (code = args_next(&request->args)) != -1;) {
        switch (code) {
        case 'o': request->output = args->argument; break;
        case 'p': request->ptxas = args->argument; break;
        case 'a': request->arch = args->argument; break;
        case 'f': request->format = args->argument; break;
        case 'L': request->log = args->argument; break;
        case 'A': report->all = true; break;
        case 'w': report->allowed = args->argument; break;
        case 'g': report->guards = true; break;
        case 'F': request->fail_if_worse = true; break;
        case 'j':
            status = take_number(args->argument, MOST_JOBS, &report->jobs)
                         ? status
                         : complain("--jobs takes a number, not", args->argument);
            break;
        case 'l':
            status = take_number(args->argument, MOST_SECONDS, &report->limit)
                         ? status
                         : complain("--limit takes a number of seconds, not", args->argument);
            break;
        case 'V': puts("ptxopt-report " PTXOPT_VERSION " (commit " PTXOPT_COMMIT ")"); exit(EXIT_DONE);
        case 'h': fputs(usage, stdout); exit(EXIT_DONE);
        default: status = complain(code == ':' ? "an argument is missing of" : "unknown option", args->word);
        }
    }
    if (status == EXIT_DONE && !printer_of(request->format))
        status = complain("--format takes text, markdown, html or json, not", request->format);
    if (status == EXIT_DONE && request->log)
        return args->operands.n ? complain("--log reads no PTX: not with", args->operands.v[0]) : EXIT_DONE;
    if (status == EXIT_DONE && !args->operands.n) {
        fputs(
            "ptxopt-report: error: no input file; usage: ptxopt-report [options] FILE.ptx... (--help lists the options)\n",
            stderr);
        status = EXIT_USAGE;
    }
    return status != EXIT_DONE ? status : take_words(report, argc - own - (own < argc), argv + own + (own < argc));
}

/* ---- runs --------------------------------------------------------------------------------------------------------- */

/* The release that `ptxas --version` names; "?": it names none. */
static const char *release_of(Report *report, const char *ptxas)
{
    static char option[] = "--version";
    Scratch out = {.fd = -1};
    const char *release = "?";
    size_t bytes = 0;
    if (!scratch_open(&out))
        return release;
    child_run(ptxas, (char *[]){arena_copy(&report->arena, ptxas, strlen(ptxas)), option, NULL}, out.fd, -1);
    char *said = scratch_read(&out, &bytes), *at = said ? strstr(said, "release ") : NULL;
    if (at)
        release = arena_copy(&report->arena, at + 8, strspn(at + 8, "0123456789."));
    free(said);
    scratch_close(&out);
    return release;
}

/* Takes the next of words with commas between them; NULL at the end. */
static char *next_word(Report *report, const char **list)
{
    if (!*list)
        return NULL;
    size_t len = strcspn(*list, ",");
    char *word = arena_copy(&report->arena, *list, len);
    *list = (*list)[len] ? *list + len + 1 : NULL;
    return word;
}

static int add_runs(Report *report, const Request *request)
{
    const char *names = request->ptxas ? request->ptxas : "", *why = NULL;
    for (char *name; (name = next_word(report, &names));) {
        const char *ptxas = assemble_find(&report->arena, "--ptxas", name, &why), *archs = request->arch;
        if (!ptxas) {
            fprintf(stderr, "ptxopt-report: error: %s\n", why);
            return EXIT_USAGE;
        }
        const char *release = release_of(report, ptxas);
        if (!archs)
            vec_push(&report->runs, ((ReportRun){ptxas, release, NULL}));
        for (char *arch; (arch = next_word(report, &archs));) {
            if (!option_is_target(arch))
                return complain("--arch takes targets from sm_75 on, like sm_90, not", arch);
            vec_push(&report->runs, ((ReportRun){ptxas, release, arch}));
        }
    }
    return EXIT_DONE;
}

/* ---- the whole ---------------------------------------------------------------------------------------------------- */

static int write_report(Report *report, const Request *request)
{
    Output output;
    if (output_open(&output, request->output)) {
        if (!request->log) {
            printer_of(request->format)(output.file, report);
        } else if (!report_print_log(output.file, &report->arena, request->log)) {
            fprintf(stderr, "ptxopt-report: error: cannot read '%s': %s\n", request->log, strerror(errno));
            output_discard(&output);
            return EXIT_TROUBLE;
        }
        if (output_commit(&output))
            return EXIT_DONE;
    }
    fprintf(stderr, "ptxopt-report: error: cannot write '%s': %s\n", request->output, strerror(errno));
    return EXIT_TROUBLE;
}

static int judge_report(Report *report, const Request *request)
{
    int status = EXIT_DONE;
    for (u32 f = 0; f < report->files.n; f++)
        for (u32 r = 0; r < report->runs.n; r++) {
            const ReportFile *file = &report->files.v[f];
            if (!file->trouble[r])
                continue;
            fprintf(stderr, "ptxopt-report: warning: %s, %s: %s\n", file->path, report_run_name(report, file, r),
                    file->trouble[r]);
            status = EXIT_TROUBLE;
        }
    for (u32 r = 0; r < report->runs.n && request->fail_if_worse; r++)
        if (report_sum(report, r).verdict[REPORT_WORSE])
            status = EXIT_WORSE;
    return status;
}

static void free_report(Report *report)
{
    for (u32 f = 0; f < report->files.n; f++) {
        for (u32 k = 0; k < report->files.v[f].kernels.n; k++) {
            ReportKernel *kernel = &report->files.v[f].kernels.v[k];
            for (int side = 0; side < 2; side++) {
                for (u32 b = 0; b < kernel->graph[side].block.n; b++)
                    vec_free(&kernel->graph[side].block.v[b].to);
                vec_free(&kernel->graph[side].block);
            }
            vec_free(&kernel->remarks);
        }
        vec_free(&report->files.v[f].kernels);
    }
    vec_free(&report->files);
    vec_free(&report->runs);
    options_free(&report->options);
    arena_free(&report->arena);
}

int main(int argc, char **argv)
{
    process_begin();
    child_end_on_signals();
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    Report report = {.jobs = cores > 0 ? (u32)cores : 1, .limit = DEFAULT_SECONDS};
    Request request = {.format = "text", .output = "-"};
    report.command = "ptxopt-report";
    for (int i = 1; i < argc; i++)
        report.command = arena_append(&report.arena, report.command, " ", "%s", argv[i]);
    int status = parse_request(&report, &request, argc, argv);
    if (status == EXIT_DONE && !request.log)
        status = add_runs(&report, &request);
    bool all_read = true;
    for (u32 i = 0; status == EXIT_DONE && i < request.args.operands.n; i++)
        all_read &= report_gather(&report, request.args.operands.v[i]);
    if (status == EXIT_DONE && report.allowed && !report_allow(&report, stderr))
        status = EXIT_USAGE;
    if (status == EXIT_DONE)
        status = write_report(&report, &request);
    if (status == EXIT_DONE)
        status = judge_report(&report, &request);
    free_report(&report);
    args_free(&request.args);
    return status == EXIT_DONE && !all_read ? EXIT_TROUBLE : status;
}
