/* Reports as one HTML file: nothing is fetched, light and dark, and no script. */
#include "judge/report/report.h"

static const char style[] =
    ":root{color-scheme:light dark;--back:#fff;--panel:#f6f7f9;--ink:#1f2328;--dim:#59636e;--line:#d1d9e0;--good:#1a7f37;"
    "--bad:#cf222e;--new:#0969da;--warn:#9a6700}\n"
    "@media (prefers-color-scheme:dark){:root{--back:#0d1117;--panel:#161b22;--ink:#e6edf3;--dim:#9198a1;--line:#3d444d;"
    "--good:#3fb950;--bad:#f85149;--new:#4493f8;--warn:#d29922}}\n"
    "*{box-sizing:border-box}\n"
    "body{margin:0 auto;max-width:70rem;padding:1rem;background:var(--back);color:var(--ink);font:16px/1.5 "
    "system-ui,sans-serif}\n"
    "h1{font-size:1.5rem;line-height:1.25}h2{font-size:1.2rem;margin-top:2.5rem;border-bottom:1px solid "
    "var(--line);overflow-wrap:anywhere}\n"
    "h3{font:600 1rem/1.4 ui-monospace,monospace;margin:0;overflow-wrap:anywhere}\n"
    "section{background:var(--panel);border:1px solid var(--line);border-radius:.5rem;padding:1rem;margin:1rem 0}\n"
    "p{margin:.5rem 0;overflow-wrap:anywhere}.dim{color:var(--dim)}\n"
    ".scroll{overflow-x:auto}table{border-collapse:collapse;font-size:.875rem;width:100%}\n"
    "th,td{text-align:left;padding:.25rem .75rem .25rem "
    "0;border-top:1px solid var(--line);white-space:nowrap}th{color:var(--dim);font-weight:400;border:0}\n"
    ".better,.down{color:var(--good)}.worse,.up{color:var(--bad)}.unrolled{color:var(--new)}.allowed{color:var(--warn)}"
    ".better,.worse,.unrolled,.allowed{font-weight:600}\n"
    "summary{cursor:pointer;color:var(--dim)}.graphs{display:flex;flex-wrap:wrap;gap:1rem}\n"
    "figure{margin:0;overflow:auto;max-width:100%;max-height:40rem;flex:1 1 20rem}figcaption{color:var(--dim)}\n"
    ".cfg{max-width:100%;height:auto}.nowrap{white-space:nowrap}details{margin-top:.75rem}\n"
    ".cfg text{fill:var(--ink)}.cfg .node polygon{stroke:var(--dim);fill:var(--back)}\n"
    ".cfg .edge path{stroke:var(--dim);fill:none}.cfg .edge polygon{stroke:var(--dim);fill:var(--dim)}\n"
    ".cfg .back path{stroke:var(--new)}.cfg .back polygon{stroke:var(--new);fill:var(--new)}\n";

static void put_text(FILE *out, const char *text)
{
    for (; *text; text++)
        switch (*text) {
        case '<': fputs("&lt;", out); break;
        case '>': fputs("&gt;", out); break;
        case '&': fputs("&amp;", out); break;
        case '"': fputs("&quot;", out); break;
        default: putc((unsigned char)*text < 0x20 ? ' ' : *text, out);
        }
}

static void put_between(FILE *out, const char *before, const char *text, const char *after)
{
    fputs(before, out);
    put_text(out, text);
    fputs(after, out);
}

static void put_verdict(FILE *out, ReportVerdict verdict)
{
    const char *name = report_verdict_name(verdict);
    fprintf(out, "<td class=\"%s\">%s</td>", name, name);
}

/* A cell that is green where less has become of it, or more if that is good. */
static void put_change(FILE *out, double before, double after, bool more_is_good)
{
    const char *class = before == after ? "dim" : (after < before) != more_is_good ? "down" : "up";
    if (before == after)
        fprintf(out, "<td class=\"%s\">%.0f</td>", class, before);
    else
        fprintf(out, "<td class=\"%s\">%.0f → %.0f</td>", class, before, after);
}

static void put_totals(FILE *out, Report *report)
{
    fputs("<div "
          "class=\"scroll\"><table><tr><th>ptxas<th>functions<th>changed<th>better<th>unrolled<th>same<th>allowed<th>worse"
          "<th>instructions<th>cycles",
          out);
    fputs(report->guards ? "<th>reverted</tr>\n" : "</tr>\n", out);
    for (u32 r = 0; r < report->runs.n; r++) {
        ReportSum sum = report_sum(report, r);
        const u32 *v = sum.verdict;
        put_between(out, "<tr><td>", report_run_name(report, NULL, r), "</td>");
        fprintf(out, "<td>%u</td><td>%u</td>", sum.functions, sum.changed);
        static const ReportVerdict order[] = {REPORT_BETTER, REPORT_UNROLLED, REPORT_SAME, REPORT_ALLOWED, REPORT_WORSE};
        for (u32 i = 0; i < COUNT_OF(order); i++)
            fprintf(out, "<td class=\"%s\">%u</td>", v[order[i]] ? report_verdict_name(order[i]) : "dim", v[order[i]]);
        put_change(out, (double)sum.instructions[0], (double)sum.instructions[1], false);
        fprintf(out, "<td>× %.3f</td>", sum.cycles);
        if (report->guards)
            fprintf(out, "<td>%u</td>", v[REPORT_REVERTED]);
        fputs("</tr>\n", out);
    }
    fputs("</table></div>\n<p class=\"dim\">Instructions of functions without a newly unrolled loop; cycles of a warp, "
          "estimated "
          "from the schedule, geometric mean over changed functions.</p>\n",
          out);
}

static void put_results(FILE *out, Report *report, const ReportFile *file, const ReportKernel *kernel)
{
    fputs("<div class=\"scroll\"><table><tr><th>ptxas<th>verdict<th>instructions<th>cycles<th>spilled "
          "bytes<th>registers<th>warps"
          "<th>shared bytes<th>loops newly unrolled</tr>\n",
          out);
    for (u32 r = 0; r < report->runs.n; r++) {
        const ReportResult *result = &kernel->results[r];
        const Moved *m = &result->judgement.moved;
        if (!result->known)
            continue;
        put_between(out, "<tr><td>", report_run_name(report, file, r), "</td>");
        put_verdict(out, result->verdict);
        put_change(out, (double)m->instructions[0], (double)m->instructions[1], false);
        put_change(out, m->cycles[0], m->cycles[1], false);
        put_change(out, (double)m->spilled[0], (double)m->spilled[1], false);
        put_change(out, (double)m->registers[0], (double)m->registers[1], false);
        put_change(out, m->warps[0], m->warps[1], true);
        put_change(out, (double)m->shared[0], (double)m->shared[1], false);
        fprintf(out, "<td%s>%d</td></tr>\n", m->unrolled ? "" : " class=\"dim\"", m->unrolled);
    }
    fputs("</table></div>\n", out);
}

static void put_graphs(FILE *out, Report *report, const ReportKernel *kernel)
{
    if (!kernel->graph[0].block.n)
        return;
    fprintf(out, "<details><summary>Control flow: %u blocks before, %u after</summary><div class=\"graphs\">\n",
            kernel->graph[0].block.n, kernel->graph[1].block.n);
    for (int side = 0; side < 2; side++) {
        fprintf(out, "<figure><figcaption>%s</figcaption>\n", side ? "after" : "before");
        report_put_graph(out, report, &kernel->graph[side]);
        fputs("</figure>\n", out);
    }
    fputs("</div></details>\n", out);
}

static void put_kernel(FILE *out, Report *report, const ReportFile *file, const ReportKernel *kernel)
{
    bool any = false;
    put_between(out, "<section>\n<h3>", kernel->name, "</h3>\n");
    if (kernel->source)
        put_between(out, "<p class=\"dim\">", kernel->source, "</p>\n");
    put_between(out, "<p>", report_story(report, kernel), "</p>\n");
    for (u32 r = 0; r < report->runs.n; r++)
        any |= kernel->results[r].known;
    if (any)
        put_results(out, report, file, kernel);
    put_graphs(out, report, kernel);
    fputs("</section>\n", out);
}

void report_print_html(FILE *out, Report *report)
{
    fprintf(
        out,
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n<meta name=\"viewport\" "
        "content=\"width=device-width,initial-scale=1\">\n<title>ptxopt-report</title>\n<style>\n%s</style></head><body>\n",
        style);
    put_between(out, "<h1>What ptxas makes of it before and after <span class=\"nowrap\">ptxopt ", report->words,
                "</span></h1>\n");
    put_totals(out, report);
    for (u32 f = 0; f < report->files.n; f++) {
        const ReportFile *file = &report->files.v[f];
        put_between(out, "<h2>", file->path, "</h2>\n");
        for (u32 r = 0; r < report->runs.n; r++) {
            if (!file->trouble[r])
                continue;
            put_between(out, "<p class=\"worse\">", report_run_name(report, file, r), ": nothing is judged: ");
            put_between(out, "", file->trouble[r], "</p>\n");
        }
        for (u32 k = 0; k < file->kernels.n; k++)
            if (report_shows(report, &file->kernels.v[k]))
                put_kernel(out, report, file, &file->kernels.v[k]);
    }
    if (!report_has_dot(report))
        fputs("<p class=\"dim\">Graphs are drawn as columns of blocks: Graphviz's dot is not installed.</p>\n", out);
    fputs("</body></html>\n", out);
}
