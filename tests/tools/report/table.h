/* What `make report` and `make check-ptxas` know about each kernel, before and after ptxopt. tests/report.sh gathers it as
 * lines of columns between tabs:
 *
 *     columns NAME...                                       of the figures that follow: cubinstat --tsv's
 *     figures EXAMPLE PRODUCER before|after VALUE...        one row of cubinstat
 *     judged  EXAMPLE PRODUCER SM KERNEL VERDICT RULES ...  one row of cubinjudge --tsv: kernels whose machine code changed
 *     changed EXAMPLE PRODUCER                              the text changed; without it there are no figures after
 *     fired   EXAMPLE PRODUCER KERNEL PHASE NAME COUNT      rewrites, from the remarks
 *     cost    EXAMPLE PRODUCER KERNEL B A BJ AJ             warp instructions, and the jumps among them, before and after
 */
#ifndef PTXOPT_TESTS_REPORT_TABLE_H
#define PTXOPT_TESTS_REPORT_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* FIGURE(id, title, cubinstat's columns that are added up) */
#define FIGURES(FIGURE)                      \
    FIGURE(INSTR, "instructions", "instr")   \
    FIGURE(BRANCHES, "branches", "bra brx")  \
    FIGURE(SYNC, "BSSY+BSYNC", "bssy bsync") \
    FIGURE(BAR, "BAR", "bar")                \
    FIGURE(REGS, "registers", "regs")        \
    FIGURE(SPILLS, "spilled bytes", "spill_st spill_ld")

typedef enum Figure {
#define FIGURE_ID(id, title, columns) FIG_##id,
    FIGURES(FIGURE_ID)
#undef FIGURE_ID
        FIG_COUNT
} Figure;

typedef struct Code {
    bool known;
    unsigned long figure[FIG_COUNT]; /* functions that ptxas put behind the kernel included; of registers the most */
} Code;

enum { TARGETS = 5 };
extern const unsigned target_sm[TARGETS];

typedef enum Verdict {
    VERDICT_NONE,
    VERDICT_SAME,
    VERDICT_BETTER,
    VERDICT_UNROLLED,
    VERDICT_LISTED,
    VERDICT_WORSE
} Verdict;

/* One kernel for one target. */
typedef struct Result {
    Code before, after; /* `after` is `before` where the text did not change; unknown where ptxas refuses the module */
    bool better;        /* what cubinjudge says, of the kernel */
    char *rules;        /* by which it is worse: "spills+cycles"; NULL: it is not */
    char *moved;        /* what they are about: "cycles 100.0 to 120.0" and so on, in the order of the rules */
    unsigned unrolled;  /* loops that ptxas newly unrolls */
    Verdict verdict;    /* from here on: judge.c */
    char why[160];      /* of VERDICT_WORSE and VERDICT_LISTED */
} Result;

typedef struct Fired {
    char *phase, *name;
    unsigned count;
} Fired;

typedef struct Kernel {
    char *example, *producer, *name; /* bfs, clang, bfs_level */
    bool changed;                    /* some rewrite fired in it */
    Result result[TARGETS];
    Fired *fired;
    size_t fired_count;
    bool ran;                          /* the interpreter's counts are there */
    unsigned long issued[2], jumps[2]; /* before, after */
    bool cost_grew;                    /* more warp instructions that are no jumps: judge.c */
} Kernel;

typedef struct Table {
    Kernel *kernel; /* by example, producer, name */
    size_t count;
} Table;

const char *figure_title(Figure figure);
/* Reads the lines; on an error prints it and returns false. Nothing is freed: the program ends with the report. */
bool table_read(Table *table, const char *path);
/* malloc and realloc that end the program when memory is short. */
void *grow(void *memory, size_t count, size_t size);

#endif
