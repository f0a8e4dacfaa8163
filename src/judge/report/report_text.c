/* Reports as plain text and as Markdown. */
#include <string.h>

#include "pipeline/help.h"
#include "judge/report/report.h"

enum { LINE = 78 };

static const char *describe(Report *report, const ReportResult *result)
{
    return result->known ? worse_describe(&report->arena, &result->judgement) : "it has no machine code of its own";
}

/* "10 functions, machine code of 3 changed: 2 better, ...". */
static char *sum_up(Report *report, u32 run)
{
    ReportSum sum = report_sum(report, run);
    if (!sum.functions)
        return arena_printf(&report->arena, "no function was judged");
    char *text = arena_printf(&report->arena, "%u function%s, machine code of %u changed:", sum.functions,
                              sum.functions == 1 ? "" : "s", sum.changed);
    for (u32 v = REPORT_BETTER; v <= (report->guards ? REPORT_REVERTED : REPORT_WORSE); v++)
        text = arena_printf(&report->arena, "%s %u %s,", text, sum.verdict[v], report_verdict_name((ReportVerdict)v));
    text = arena_printf(&report->arena, "%s instructions %s", text,
                        report_change(report, sum.instructions[0], sum.instructions[1]));
    return sum.changed
               ? arena_printf(&report->arena, "%s, changed kernels: cycles x %.3f (geometric mean)", text, sum.cycles)
               : text;
}

static void text_kernel(FILE *out, Report *report, const ReportFile *file, const ReportKernel *kernel)
{
    fprintf(out, "\n%s%s%s%s\n", kernel->name, kernel->source ? " (" : "", kernel->source ? kernel->source : "",
            kernel->source ? ")" : "");
    help_put_wrapped(out, 0, 4, LINE, report_story(report, kernel));
    for (u32 r = 0; r < report->runs.n; r++) {
        if (file->trouble[r])
            continue;
        fprintf(out, "    %s: %s: %s\n", report_run_name(report, file, r), report_verdict_name(kernel->results[r].verdict),
                describe(report, &kernel->results[r]));
        if (kernel->results[r].compile_ms[0] > 0)
            fprintf(out, "        compiled in %.0f ms before and %.0f ms after\n", kernel->results[r].compile_ms[0],
                    kernel->results[r].compile_ms[1]);
    }
}

void report_print_text(FILE *out, Report *report)
{
    for (u32 f = 0; f < report->files.n; f++) {
        const ReportFile *file = &report->files.v[f];
        fprintf(out, "%s%s\n", f ? "\n" : "", file->path);
        for (u32 r = 0; r < report->runs.n; r++)
            if (file->trouble[r])
                fprintf(out, "    %s: nothing is judged: %s\n", report_run_name(report, file, r), file->trouble[r]);
        for (u32 k = 0; k < file->kernels.n; k++)
            if (report_shows(report, &file->kernels.v[k]))
                text_kernel(out, report, file, &file->kernels.v[k]);
    }
    putc('\n', out);
    for (u32 r = 0; r < report->runs.n; r++)
        fprintf(out, "%s, ptxopt %s: %s\n", report_run_name(report, NULL, r), report->words, sum_up(report, r));
}

/* ---- Markdown ----------------------------------------------------------------------------------------------------- */

/* Escapes what Markdown would take for more than text. */
static void put_escaped(FILE *out, const char *text)
{
    for (; *text; text++) {
        if (strchr("\\`*_{}[]<>|#~$&", *text))
            putc('\\', out);
        putc(*text, out);
    }
}

static void markdown_row(FILE *out, Report *report, const ReportFile *file, u32 run, const ReportResult *result)
{
    const Moved *m = &result->judgement.moved;
    fprintf(out, "| %s | %s%s%s |", report_run_name(report, file, run), result->verdict == REPORT_WORSE ? "**" : "",
            report_verdict_name(result->verdict), result->verdict == REPORT_WORSE ? "**" : "");
    fprintf(out, " %s |", report_change(report, m->instructions[0], m->instructions[1]));
    fprintf(out, m->cycles[0] == m->cycles[1] ? " %.0f" : " %.0f to %.0f", m->cycles[0], m->cycles[1]);
    fputs(m->is_in_dead_band ? " (below what is resolved) |" : " |", out);
    fprintf(out, " %s |", report_change(report, m->spilled[0], m->spilled[1]));
    fprintf(out, " %s |", report_change(report, m->registers[0], m->registers[1]));
    fprintf(out, " %s |", m->warps_unknown ? "unknown" : report_change(report, m->warps[0], m->warps[1]));
    fprintf(out, " %d | %.0f to %.0f |\n", m->unrolled, result->compile_ms[0], result->compile_ms[1]);
}

static void markdown_kernel(FILE *out, Report *report, const ReportFile *file, const ReportKernel *kernel)
{
    fprintf(out, "\n### `%s`%s%s\n\n", kernel->name, kernel->source ? ", " : "", kernel->source ? kernel->source : "");
    put_escaped(out, report_story(report, kernel));
    bool any = false;
    for (u32 r = 0; r < report->runs.n; r++) {
        if (!kernel->results[r].known)
            continue;
        if (!any)
            fputs("\n\n| ptxas | verdict | instructions | cycles | spilled bytes | registers | warps | loops newly "
                  "unrolled | compile time, ms |\n"
                  "|---|---|---|---|---|---|---|---|---|\n",
                  out);
        any = true;
        markdown_row(out, report, file, r, &kernel->results[r]);
    }
    if (!any)
        fputs("\n", out);
}

void report_print_markdown(FILE *out, Report *report)
{
    fputs("# What ptxas makes of it before and after ptxopt ", out);
    put_escaped(out, report->words);
    fputs("\n\n| ptxas | functions | machine code changed | better | unrolled | same | allowed | worse | instructions | "
          "cycles, "
          "geometric mean |\n|---|---|---|---|---|---|---|---|---|---|\n",
          out);
    for (u32 r = 0; r < report->runs.n; r++) {
        ReportSum sum = report_sum(report, r);
        const u32 *v = sum.verdict;
        fprintf(out, "| %s | %u | %u | %u | %u | %u | %u | %u | %s | %.3f |\n", report_run_name(report, NULL, r),
                sum.functions, sum.changed, v[REPORT_BETTER], v[REPORT_UNROLLED], v[REPORT_SAME], v[REPORT_ALLOWED],
                v[REPORT_WORSE], report_change(report, sum.instructions[0], sum.instructions[1]), sum.cycles);
    }
    fputs("\nInstructions are those of functions without a newly unrolled loop, cycles those of changed functions.\n", out);
    if (report->guards)
        fputs("What is reverted would be worse: the guard delivers it as it came in.\n", out);
    for (u32 f = 0; f < report->files.n; f++) {
        const ReportFile *file = &report->files.v[f];
        fputs("\n## ", out);
        put_escaped(out, file->path);
        fputs("\n", out);
        for (u32 r = 0; r < report->runs.n; r++) {
            if (!file->trouble[r])
                continue;
            fprintf(out, "\n%s: nothing is judged: ", report_run_name(report, file, r));
            put_escaped(out, file->trouble[r]);
            fputs("\n", out);
        }
        for (u32 k = 0; k < file->kernels.n; k++)
            if (report_shows(report, &file->kernels.v[k]))
                markdown_kernel(out, report, file, &file->kernels.v[k]);
    }
}
