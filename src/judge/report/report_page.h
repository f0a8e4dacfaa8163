/* Inside of the HTML report: what its parts are written with. */
#ifndef PTXOPT_JUDGE_REPORT_REPORT_PAGE_H
#define PTXOPT_JUDGE_REPORT_REPORT_PAGE_H

#include "judge/report/report.h"

/* Columns that hold something other than zero in some row of the report. */
typedef struct PageColumns {
    bool spilled, warps, shared, unrolled, times;
} PageColumns;

void report_page_text(FILE *out, const char *text);
void report_page_between(FILE *out, const char *before, const char *text, const char *after);
void report_page_verdict(FILE *out, ReportVerdict verdict);
/* A cell, with its label for narrow pages. It is green where less has become of it, or more if that is good. */
void report_page_change(FILE *out, const char *label, double before, double after, bool more_is_good);

/* One row a function and run, the worst first, linked to the box of the function (report_table.c). */
void report_page_table(FILE *out, Report *report, const PageColumns *columns);

#endif
