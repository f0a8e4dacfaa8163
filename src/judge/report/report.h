/* ptxopt-report: what ptxas makes of texts before and after ptxopt, function by function. */
#ifndef PTXOPT_JUDGE_REPORT_REPORT_H
#define PTXOPT_JUDGE_REPORT_REPORT_H

#include <stdio.h>

#include "judge/trial/trial.h"
#include "pipeline/story.h"

/* A block of a control-flow graph, in the order of the text. */
typedef struct ReportBlock {
    u32 instructions, line; /* line: of the source, 0: not known */
    const char *label;      /* NULL: it has none */
    const char *text;       /* its instructions, a line each; the first ones of many */
    Str last;               /* its last instruction */
    u64 hash;               /* of all instructions */
    bool is_new;            /* no block of the other version says the same */
    VecU32 to;              /* successors, the one it falls through to last */
    bool falls;             /* there is such a one */
} ReportBlock;
typedef struct ReportGraph {
    VEC(ReportBlock) block;
} ReportGraph;

/* A ptxas, for one target. */
typedef struct ReportRun {
    const char *ptxas, *release; /* "13.0" */
    const char *arch;            /* NULL: each text's own */
} ReportRun;

typedef enum ReportVerdict {
    REPORT_SAME,
    REPORT_BETTER,
    REPORT_UNROLLED,
    REPORT_ALLOWED,
    REPORT_WORSE,
    REPORT_REVERTED
} ReportVerdict;

/* One function, by one run. */
typedef struct ReportResult {
    bool known;
    Judgement judgement;
    ReportVerdict verdict;
    double compile_ms[2]; /* what ptxas says that it took, before and after; 0: it says nothing */
} ReportResult;

typedef struct ReportKernel {
    const char *name;
    const char *source; /* of its first .loc; NULL */
    bool is_entry;
    bool changed; /* its text */
    VecStoryRemark remarks;
    ReportGraph graph[2];  /* before, after; of what changed */
    ReportResult *results; /* by run */
} ReportKernel;

typedef struct ReportFile {
    const char *path;
    const char **arch;    /* by run: the target that it was assembled for */
    const char **trouble; /* by run: why there are no results; NULL */
    VEC(ReportKernel) kernels;
} ReportFile;

/* Sums over functions of all files by one run. */
typedef struct ReportSum {
    u32 functions, changed, verdict[REPORT_REVERTED + 1];
    unsigned long instructions[2]; /* of those without a newly unrolled loop */
    double cycles;                 /* geometric mean of after by before, of what changed */
} ReportSum;

typedef struct Report {
    Arena arena;
    Options options;   /* of ptxopt */
    const char *words; /* the same, as they were given: "-O2" */
    VEC(ReportRun) runs;
    VEC(ReportFile) files;
    bool all;            /* functions whose text did not change, too */
    bool guards;         /* what is worse is reverted, as the guard does */
    const char *allowed; /* file of what may be worse; NULL */
    u32 jobs, limit;
    const char *command;                                                            /* line of the report */
    char *(*demangle)(const char *name, char *buffer, size_t *length, int *status); /* NULL: none is installed */
    bool looked_for_demangler;
} Report;

/* Optimizes a file, assembles and judges it. False after a message: it cannot be read. */
bool report_gather(Report *report, const char *path);

/* The pass of the remarks that only say where a function begins. */
extern const char report_pass[];
ReportKernel *report_kernel_named(const ReportFile *file, const char *name); /* NULL: there is none */

/* Takes a remark about a function of the file; of RemarkTaker. */
typedef struct ReportTaker {
    Report *report;
    ReportFile *file;
} ReportTaker;
void report_take_remark(void *user, const Remark *remark);

/* Tells what the phases did, for a person: "switch of 21 cases at bytecode.cu:163: longest path 6 branches to 2; 9 tails
 * merged; kept: ...". */
char *report_story(Report *report, const ReportKernel *kernel);

/* Marks what the file of allowances names. False after a message. An allowance that nothing needs is said to `messages`. */
bool report_allow(Report *report, FILE *messages);

ReportSum report_sum(const Report *report, u32 run);
bool report_shows(const Report *report, const ReportKernel *kernel);
const char *report_verdict_name(ReportVerdict verdict);
/* "ptxas 13.0 sm_80". */
char *report_run_name(Report *report, const ReportFile *file, u32 run);
/* A function's value before and after: "30 to 28", or "30". */
char *report_change(Report *report, unsigned long before, unsigned long after);

/* The name in C++, where it is one and a demangler is installed; else the name itself. */
const char *report_plain_name(Report *report, const char *name);
/* The id of the function's box on a page: PATH:NAME. */
const char *report_id(Report *report, const ReportFile *file, const ReportKernel *kernel);

/* The graph as SVG, for a page whose colors are CSS variables: by dot(1) where it is at hand, or blocks in a column. */
void report_put_graph(FILE *out, Report *report, const ReportGraph *graph);
bool report_has_dot(Report *report);

/* Sums up the build of which the front has kept a log (PTXOPT_LOG). False with errno set: it cannot be read. */
bool report_print_log(FILE *out, Arena *arena, const char *path);

void report_print_text(FILE *out, Report *report);
void report_print_markdown(FILE *out, Report *report);
void report_print_html(FILE *out, Report *report);
void report_print_json(FILE *out, Report *report);

#endif
