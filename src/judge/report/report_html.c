/* Reports as one HTML file: nothing is fetched, light and dark, and no script. */
#include <time.h>

#include "judge/report/report_page.h"
#include "version.h"

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
    "table{border-collapse:collapse;font-size:.875rem;width:100%;margin:1rem 0}\n"
    "th,td{text-align:left;padding:.25rem .75rem .25rem "
    "0;border-top:1px solid var(--line);white-space:nowrap;vertical-align:top}"
    "th{color:var(--dim);font-weight:400;border:0}\n"
    ".n{text-align:right;font-variant-numeric:tabular-nums}.n:last-child{padding-right:0}"
    ".name{white-space:normal;overflow-wrap:anywhere}a{color:var(--new)}\n"
    ".better,.down{color:var(--good)}.worse,.up{color:var(--bad)}.unrolled{color:var(--new)}.allowed{color:var(--warn)}"
    ".better,.worse,.unrolled,.allowed{font-weight:600}\n"
    "summary{cursor:pointer;color:var(--dim)}.graphs{display:flex;flex-wrap:wrap;gap:1rem;align-items:flex-start}\n"
    "figure{margin:0;overflow:auto;max-width:100%;max-height:80vh;flex:0 1 auto}figcaption{color:var(--dim)}\n"
    "footer{margin-top:3rem;border-top:1px solid var(--line);color:var(--dim);font-size:.875rem}"
    "dl{font-size:.875rem;display:grid;grid-template-columns:max-content 1fr;gap:0 1rem}dd{margin:0;color:var(--dim)}\n"
    ".cfg{max-width:100%;height:auto}.nowrap{white-space:nowrap}details{margin-top:.75rem}\n"
    ".cfg text{fill:var(--ink)}.cfg .node polygon{stroke:var(--dim);fill:var(--back)}\n"
    ".cfg .edge path{stroke:var(--dim);fill:none}.cfg .edge polygon{stroke:var(--dim);fill:var(--dim)}\n"
    ".cfg .back path{stroke:var(--new)}.cfg .back polygon{stroke:var(--new);fill:var(--new)}\n"
    ".before .fresh polygon{stroke:var(--bad)}.after .fresh polygon{stroke:var(--good)}.fresh polygon{stroke-width:2}\n"
    "@media(max-width:40rem){table,tbody,tr,td{display:block}tr:first-child{display:none}"
    "tr{border-top:1px solid var(--line);padding:.25rem 0}td,.n{border:0;padding:0;display:flex;gap:1rem;"
    "justify-content:space-between;white-space:normal;text-align:right}"
    "td::before{content:attr(data-l);color:var(--dim);font-weight:400;flex:none}.name::before{content:none}"
    ".cfg{min-width:0!important}}\n";

static void put_count(FILE *out, const char *class, const char *label, u32 count)
{
    fprintf(out, "<td class=\"n %s\" data-l=\"%s\">%u</td>", count ? class : "dim", label, count);
}

/* Verdicts that some run has; that nothing is worse is said, too. */
static u32 used_verdicts(const Report *report, ReportVerdict *used)
{
    static const ReportVerdict order[] = {REPORT_BETTER,  REPORT_UNROLLED, REPORT_SAME,
                                          REPORT_ALLOWED, REPORT_WORSE,    REPORT_REVERTED};
    u32 count = 0;
    for (u32 i = 0; i < COUNT_OF(order); i++) {
        bool any = order[i] == REPORT_WORSE;
        for (u32 r = 0; r < report->runs.n; r++)
            any |= report_sum(report, r).verdict[order[i]] > 0;
        if (any)
            used[count++] = order[i];
    }
    return count;
}

static void put_totals(FILE *out, Report *report)
{
    ReportVerdict used[REPORT_REVERTED + 1];
    u32 verdicts = used_verdicts(report, used);
    fputs("<table><tr><th>ptxas<th class=\"n\">functions<th class=\"n\">changed", out);
    for (u32 i = 0; i < verdicts; i++)
        fprintf(out, "<th class=\"n\">%s", report_verdict_name(used[i]));
    fputs("<th class=\"n\">instructions<th class=\"n\">cycles</tr>\n", out);
    for (u32 r = 0; r < report->runs.n; r++) {
        ReportSum sum = report_sum(report, r);
        report_page_between(out, "<tr><td data-l=\"ptxas\">", report_run_name(report, NULL, r), "</td>");
        put_count(out, "", "functions", sum.functions);
        put_count(out, "", "changed", sum.changed);
        for (u32 i = 0; i < verdicts; i++)
            put_count(out, report_verdict_name(used[i]), report_verdict_name(used[i]), sum.verdict[used[i]]);
        report_page_change(out, "instructions", (double)sum.instructions[0], (double)sum.instructions[1], false);
        fprintf(out, "<td class=\"n\" data-l=\"cycles\">× %.3f</td></tr>\n", sum.cycles);
    }
    fputs("</table>\n<p class=\"dim\">Instructions of functions without a newly unrolled loop; cycles of a warp, "
          "estimated from the schedule, geometric mean over changed functions.</p>\n",
          out);
}

static void put_legend(FILE *out, const Report *report)
{
    fputs("<dl><dt class=\"better\">better<dd>not worse, and fewer cycles or spills, more warps, or less code\n"
          "<dt class=\"unrolled\">unrolled<dd>not worse, and ptxas unrolls a loop that it did not unroll: more "
          "instructions are "
          "expected\n"
          "<dt class=\"worse\">worse<dd>by spills, warps, estimated cycles or instructions\n",
          out);
    if (report->allowed)
        fputs("<dt class=\"allowed\">allowed<dd>worse, as the file of --allow expects\n", out);
    if (report->guards)
        fputs("<dt>reverted<dd>would be worse: the guard delivers the original\n", out);
    fputs("</dl>\n", out);
}

static void put_results(FILE *out, Report *report, const ReportFile *file, const ReportKernel *kernel,
                        const PageColumns *columns)
{
    fprintf(out,
            "<table><tr><th>ptxas<th>verdict<th class=\"n\">instructions<th class=\"n\">cycles%s<th "
            "class=\"n\">registers%s%s%s</tr>\n",
            columns->spilled ? "<th class=\"n\">spilled bytes" : "", columns->warps ? "<th class=\"n\">warps" : "",
            columns->shared ? "<th class=\"n\">shared bytes" : "",
            columns->unrolled ? "<th class=\"n\">newly unrolled" : "");
    for (u32 r = 0; r < report->runs.n; r++) {
        const ReportResult *result = &kernel->results[r];
        const Moved *m = &result->judgement.moved;
        if (!result->known)
            continue;
        report_page_between(out, "<tr><td data-l=\"ptxas\">", report_run_name(report, file, r), "</td>");
        report_page_verdict(out, result->verdict);
        report_page_change(out, "instructions", (double)m->instructions[0], (double)m->instructions[1], false);
        report_page_change(out, "cycles", m->cycles[0], m->cycles[1], false);
        if (columns->spilled)
            report_page_change(out, "spilled bytes", (double)m->spilled[0], (double)m->spilled[1], false);
        report_page_change(out, "registers", (double)m->registers[0], (double)m->registers[1], false);
        if (columns->warps)
            report_page_change(out, "warps", m->warps[0], m->warps[1], true);
        if (columns->shared)
            report_page_change(out, "shared bytes", (double)m->shared[0], (double)m->shared[1], false);
        if (columns->unrolled)
            put_count(out, "", "newly unrolled", (u32)m->unrolled);
        fputs("</tr>\n", out);
    }
    fputs("</table>\n", out);
}

static void put_graphs(FILE *out, Report *report, const ReportKernel *kernel)
{
    if (!kernel->graph[0].block.n)
        return;
    fprintf(out, "<details><summary>Control flow: %u blocks before, %u after</summary><div class=\"graphs\">\n",
            kernel->graph[0].block.n, kernel->graph[1].block.n);
    for (int side = 0; side < 2; side++) {
        const char *when = side ? "after" : "before";
        fprintf(out, "<figure class=\"%s\"><figcaption>%s</figcaption>\n", when, when);
        report_put_graph(out, report, &kernel->graph[side]);
        fputs("</figure>\n", out);
    }
    fputs("</div></details>\n", out);
}

static void put_kernel(FILE *out, Report *report, const ReportFile *file, const ReportKernel *kernel,
                       const PageColumns *columns)
{
    bool any = false;
    report_page_between(out, "<section id=\"", report_id(report, file, kernel), "\">\n");
    report_page_between(out, "<h3>", report_plain_name(report, kernel->name), "</h3>\n");
    if (report_plain_name(report, kernel->name) != kernel->name)
        report_page_between(out, "<p class=\"dim\">", kernel->name, "</p>\n");
    if (kernel->source)
        report_page_between(out, "<p class=\"dim\">", kernel->source, "</p>\n");
    report_page_between(out, "<p>", report_story(report, kernel), "</p>\n");
    for (u32 r = 0; r < report->runs.n; r++)
        any |= kernel->results[r].known;
    if (any)
        put_results(out, report, file, kernel, columns);
    put_graphs(out, report, kernel);
    fputs("</section>\n", out);
}

static PageColumns columns_of(const Report *report)
{
    PageColumns columns = {0};
    for (u32 f = 0; f < report->files.n; f++)
        for (u32 k = 0; k < report->files.v[f].kernels.n; k++)
            for (u32 r = 0; r < report->runs.n; r++) {
                const ReportResult *result = &report->files.v[f].kernels.v[k].results[r];
                const Moved *m = &result->judgement.moved;
                columns.spilled |= m->spilled[0] || m->spilled[1];
                columns.warps |= m->warps[0] || m->warps[1];
                columns.shared |= m->shared[0] || m->shared[1];
                columns.unrolled |= m->unrolled != 0;
                columns.times |= result->compile_ms[0] > 0;
            }
    return columns;
}

static void put_file(FILE *out, Report *report, const ReportFile *file, const PageColumns *columns)
{
    report_page_between(out, "<h2>", file->path, "</h2>\n");
    for (u32 r = 0; r < report->runs.n; r++) {
        if (!file->trouble[r])
            continue;
        report_page_between(out, "<p class=\"worse\">", report_run_name(report, file, r), ": nothing is judged: ");
        report_page_between(out, "", file->trouble[r], "</p>\n");
    }
    for (u32 k = 0; k < file->kernels.n; k++)
        if (report_shows(report, &file->kernels.v[k]))
            put_kernel(out, report, file, &file->kernels.v[k], columns);
}

/* The date is that of SOURCE_DATE_EPOCH where it is set. */
static void put_footer(FILE *out, const Report *report)
{
    u64 seconds = 0;
    if (!options_source_date(&seconds) || !seconds)
        seconds = (u64)time(NULL);
    time_t now = (time_t)seconds;
    struct tm utc;
    char date[64] = "";
    if (gmtime_r(&now, &utc))
        (void)strftime(date, sizeof date, "%Y-%m-%d %H:%M UTC", &utc);
    report_page_between(out, "<footer><p><code>", report->command,
                        "</code></p>\n<p>ptxopt " PTXOPT_VERSION " (commit " PTXOPT_COMMIT ")");
    for (u32 r = 0; r < report->runs.n; r++)
        if (r == 0 || report->runs.v[r].ptxas != report->runs.v[r - 1].ptxas)
            report_page_between(out, ", ptxas ", report->runs.v[r].release, "");
    fprintf(out, "; %s</p></footer>\n", date);
}

void report_print_html(FILE *out, Report *report)
{
    PageColumns columns = columns_of(report);
    fprintf(
        out,
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n<meta name=\"viewport\" "
        "content=\"width=device-width,initial-scale=1\">\n<title>ptxopt-report</title>\n<style>\n%s</style></head><body>\n",
        style);
    report_page_between(out, "<h1>What ptxas makes of it before and after <span class=\"nowrap\">ptxopt ", report->words,
                        "</span></h1>\n");
    report_page_table(out, report, &columns);
    put_legend(out, report);
    put_totals(out, report);
    for (u32 f = 0; f < report->files.n; f++)
        put_file(out, report, &report->files.v[f], &columns);
    if (!report_has_dot(report))
        fputs("<p class=\"dim\">Graphs are drawn as columns of blocks: Graphviz's dot is not installed.</p>\n", out);
    put_footer(out, report);
    fputs("</body></html>\n", out);
}
