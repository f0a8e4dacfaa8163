/* The table on top of a page: every function that is shown, for every run, the worst first. */
#include <stdlib.h>

#include "judge/report/report_page.h"

typedef struct ReportRow {
    const ReportFile *file;
    const ReportKernel *kernel;
    u32 run, rank;
    double cycles; /* after by before */
    u32 order;     /* in the report */
} ReportRow;
typedef VEC(ReportRow) ReportRows;

static const u32 rank[] = {[REPORT_WORSE] = 0, [REPORT_REVERTED] = 1, [REPORT_ALLOWED] = 2,
                           [REPORT_SAME] = 3,  [REPORT_UNROLLED] = 4, [REPORT_BETTER] = 5};

static int by_rank(const void *a, const void *b)
{
    const ReportRow *x = a, *y = b;
    if (x->rank != y->rank)
        return x->rank < y->rank ? -1 : 1;
    if (x->cycles != y->cycles)
        return x->cycles > y->cycles ? -1 : 1;
    return x->order < y->order ? -1 : 1;
}

static void add_rows(ReportRows *rows, const Report *report, const ReportFile *file, const ReportKernel *kernel)
{
    for (u32 r = 0; r < report->runs.n; r++) {
        const ReportResult *result = &kernel->results[r];
        const double *cycles = result->judgement.moved.cycles;
        ReportRow row = {file, kernel, r, rank[result->verdict], cycles[0] > 0 ? cycles[1] / cycles[0] : 1, rows->n};
        if (result->known)
            vec_push(rows, row);
    }
}

/* A change in per cent: green where there is less. */
static void put_share(FILE *out, const char *label, double before, double after)
{
    if (before <= 0 || before == after)
        fprintf(out, "<td class=\"n dim\" data-l=\"%s\">0</td>", label);
    else
        fprintf(out, "<td class=\"n %s\" data-l=\"%s\">%+.1f %%</td>", after < before ? "down" : "up", label,
                100 * (after / before - 1));
}

static void put_time(FILE *out, const double ms[2])
{
    fputs("<td class=\"n dim\" data-l=\"ptxas took\">", out);
    if (ms[0] > 0)
        fprintf(out, "%.0f → %.0f ms", ms[0], ms[1]);
    fputs("</td>", out);
}

static void put_row(FILE *out, Report *report, const ReportRow *row, const PageColumns *columns)
{
    const ReportResult *result = &row->kernel->results[row->run];
    const Moved *m = &result->judgement.moved;
    fputs("<tr><td class=\"name\" data-l=\"function\"><a href=\"#", out);
    report_page_text(out, report_id(report, row->file, row->kernel));
    fputs("\">", out);
    report_page_text(out, report_plain_name(report, row->kernel->name));
    fputs("</a></td>", out);
    if (report->runs.n > 1)
        report_page_between(out, "<td data-l=\"ptxas\">", report_run_name(report, row->file, row->run), "</td>");
    report_page_verdict(out, result->verdict);
    put_share(out, "instructions", (double)m->instructions[0], (double)m->instructions[1]);
    put_share(out, "cycles", m->cycles[0], m->cycles[1]);
    report_page_change(out, "registers", (double)m->registers[0], (double)m->registers[1], false);
    if (columns->spilled)
        report_page_change(out, "spilled bytes", (double)m->spilled[0], (double)m->spilled[1], false);
    if (columns->times)
        put_time(out, result->compile_ms);
    fputs("</tr>\n", out);
}

void report_page_table(FILE *out, Report *report, const PageColumns *columns)
{
    ReportRows rows = {0};
    for (u32 f = 0; f < report->files.n; f++)
        for (u32 k = 0; k < report->files.v[f].kernels.n; k++)
            if (report_shows(report, &report->files.v[f].kernels.v[k]))
                add_rows(&rows, report, &report->files.v[f], &report->files.v[f].kernels.v[k]);
    if (rows.n) {
        qsort(rows.v, rows.n, sizeof *rows.v, by_rank);
        fprintf(out,
                "<table><tr><th>function%s<th>verdict<th class=\"n\">instructions<th class=\"n\">cycles"
                "<th class=\"n\">registers%s%s</tr>\n",
                report->runs.n > 1 ? "<th>ptxas" : "", columns->spilled ? "<th class=\"n\">spilled bytes" : "",
                columns->times ? "<th class=\"n\">ptxas took" : "");
        for (u32 i = 0; i < rows.n; i++)
            put_row(out, report, &rows.v[i], columns);
        fputs("</table>\n", out);
    }
    vec_free(&rows);
}
