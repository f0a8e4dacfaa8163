/* The report as text and as a picture. */
#ifndef PTXOPT_TESTS_REPORT_PRINT_H
#define PTXOPT_TESTS_REPORT_PRINT_H

#include "table.h"

/* Sums over the kernels of one producer (NULL: all) for one target. */
typedef struct Sum {
    unsigned kernels, verdict[VERDICT_WORSE + 1], unrolled;
    unsigned long before[FIG_COUNT], after[FIG_COUNT]; /* of kernels without a newly unrolled loop */
    unsigned long grown_before, grown_after;           /* instructions of the others */
} Sum;

Sum table_sum(const Table *table, const char *producer, int target);
/* The producers that occur, in their order of interest; NULL behind the last. */
const char *const *table_producers(void);

void print_markdown(FILE *out, const Table *table, const char *level);
void print_svg(FILE *out, const Table *table, const char *level);

#endif
