/* When a kernel is worse, for one target: as src/machine/worse.h defines it, by what cubinjudge found. Better is what it finds better.
 *
 * The interpreter's count is worse when a kernel issues more warp instructions that are no unconditional jumps; where those
 * stand is a matter of layout, which ptxas does anew. tests/exec.sh fails on these; here they are only shown.
 *
 * tests/ptxas/allowed.txt lists what is accepted, with the reason:  EXAMPLE.PRODUCER:KERNEL TARGET WHAT REASON...
 * TARGET is sm_NN, or * for all; WHAT is spills, warps, cycles, instructions, or issued (TARGET is then exec). A line that
 * nothing needs any more is a failure too. */
#ifndef PTXOPT_TESTS_REPORT_JUDGE_H
#define PTXOPT_TESTS_REPORT_JUDGE_H

#include "table.h"

typedef struct Allowed {
    char kernel[512], target[16], what[32], reason[512];
    int line;
    bool used;
} Allowed;

typedef struct AllowedList {
    Allowed *v;
    size_t n;
} AllowedList;

/* False, with a message, when the file cannot be read or a line is not of that form. */
bool allowed_read(AllowedList *list, const char *path);
/* Sets every verdict. */
void judge(Table *table, AllowedList *list);
/* One `pass` or `fail` line a kernel, one `fail` line for each entry of the list that nothing needed. */
void print_verdicts(const Table *table, const AllowedList *list, const char *list_path);

#endif
