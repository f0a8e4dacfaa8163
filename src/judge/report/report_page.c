/* What the parts of the HTML report are written with. */
#include "judge/report/report_page.h"

void report_page_text(FILE *out, const char *text)
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

void report_page_between(FILE *out, const char *before, const char *text, const char *after)
{
    fputs(before, out);
    report_page_text(out, text);
    fputs(after, out);
}

void report_page_verdict(FILE *out, ReportVerdict verdict)
{
    const char *name = report_verdict_name(verdict);
    fprintf(out, "<td data-l=\"verdict\" class=\"%s\">%s</td>", name, name);
}

void report_page_change(FILE *out, const char *label, double before, double after, bool more_is_good)
{
    const char *class = before == after ? "dim" : (after < before) != more_is_good ? "down" : "up";
    fprintf(out,
            before == after ? "<td class=\"n %s\" data-l=\"%s\">%.0f</td>"
                            : "<td class=\"n %s\" data-l=\"%s\">%.0f → %.0f</td>",
            class, label, before, after);
}
