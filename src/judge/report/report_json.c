/* Reports as JSON; man/ptxopt-report.1 describes the members. */
#include "base/json.h"
#include "judge/report/report.h"
#include "version.h"

/* `before`: what stands between it and the member before. */
static void put_member(FILE *out, const char *before, const char *name, const char *text)
{
    fprintf(out, "%s\"%s\": ", before, name);
    json_put_string(out, text);
}

static void put_pair(FILE *out, const char *name, const unsigned long value[2])
{
    fprintf(out, ", \"%s\": [%lu, %lu]", name, value[0], value[1]);
}

static void put_result(FILE *out, const ReportResult *result, u32 run)
{
    const Judgement *j = &result->judgement;
    fprintf(out, "{\"run\": %u, \"verdict\": \"%s\", \"changed\": %s, \"worse\": [", run,
            report_verdict_name(result->verdict), j->changed ? "true" : "false");
    for (u32 rule = 1, any = 0; rule < 1u << WORSE_RULES; rule <<= 1)
        if (j->worse & rule)
            fprintf(out, "%s\"%s\"", any++ ? ", " : "", worse_name(rule));
    fputc(']', out);
    put_pair(out, "instructions", j->moved.instructions);
    fprintf(out, ", \"cycles\": [%.1f, %.1f]", j->moved.cycles[0], j->moved.cycles[1]);
    put_pair(out, "spilled_bytes", j->moved.spilled);
    fprintf(out, ", \"compile_ms\": [%.3f, %.3f]", result->compile_ms[0], result->compile_ms[1]);
    put_pair(out, "registers", j->moved.registers);
    put_pair(out, "shared_bytes", j->moved.shared);
    put_pair(out, "barriers", j->moved.barriers);
    fprintf(out, ", \"warps\": [%u, %u], \"block\": %u, \"unrolled\": %d}", j->moved.warps[0], j->moved.warps[1],
            j->moved.threads, j->moved.unrolled);
}

static void put_remark(FILE *out, const StoryRemark *remark)
{
    fprintf(out, "{\"passed\": %s", remark->kind == REMARK_PASSED ? "true" : "false");
    put_member(out, ", ", "phase", remark->pass);
    put_member(out, ", ", "name", remark->name);
    put_member(out, ", ", "source", remark->source);
    fprintf(out, ", \"line\": %u", remark->line);
    put_member(out, ", ", "message", remark->message);
    fputc('}', out);
}

static void put_kernel(FILE *out, Report *report, const ReportKernel *kernel)
{
    put_member(out, "      {", "name", kernel->name);
    fprintf(out, ", \"kernel\": %s, \"text_changed\": %s", kernel->is_entry ? "true" : "false",
            kernel->changed ? "true" : "false");
    put_member(out, ", ", "source", kernel->source);
    put_member(out, ",\n       ", "story", report_story(report, kernel));
    fputs(",\n       \"remarks\": [", out);
    for (u32 i = 0; i < kernel->remarks.n; i++) {
        fputs(i ? ",\n        " : "\n        ", out);
        put_remark(out, &kernel->remarks.v[i]);
    }
    fputs("],\n       \"results\": [", out);
    for (u32 r = 0, any = 0; r < report->runs.n; r++) {
        if (!kernel->results[r].known)
            continue;
        fputs(any++ ? ",\n        " : "\n        ", out);
        put_result(out, &kernel->results[r], r);
    }
    fputs("]}", out);
}

static void put_file(FILE *out, Report *report, const ReportFile *file)
{
    put_member(out, "    {", "path", file->path);
    fputs(", \"runs\": [", out);
    for (u32 r = 0; r < report->runs.n; r++) {
        put_member(out, r ? ", {" : "{", "arch", file->arch[r]);
        put_member(out, ", ", "trouble", file->trouble[r]);
        fputc('}', out);
    }
    fputs("],\n     \"functions\": [\n", out);
    for (u32 k = 0, any = 0; k < file->kernels.n; k++) {
        if (!report_shows(report, &file->kernels.v[k]))
            continue;
        fputs(any++ ? ",\n" : "", out);
        put_kernel(out, report, &file->kernels.v[k]);
    }
    fputs("]}", out);
}

static void put_run(FILE *out, Report *report, u32 run)
{
    const ReportRun *r = &report->runs.v[run];
    ReportSum sum = report_sum(report, run);
    put_member(out, "    {", "ptxas", r->ptxas);
    put_member(out, ", ", "release", r->release);
    put_member(out, ", ", "arch", r->arch);
    fprintf(out, ", \"functions\": %u, \"changed\": %u", sum.functions, sum.changed);
    for (u32 v = REPORT_SAME; v <= (report->guards ? REPORT_REVERTED : REPORT_WORSE); v++)
        fprintf(out, ", \"%s\": %u", report_verdict_name((ReportVerdict)v), sum.verdict[v]);
    put_pair(out, "instructions", sum.instructions);
    fprintf(out, ", \"cycles\": %.4f}", sum.cycles);
}

void report_print_json(FILE *out, Report *report)
{
    put_member(out, "{\n  ", "version", PTXOPT_VERSION);
    put_member(out, ", ", "options", report->words);
    fputs(",\n  \"runs\": [\n", out);
    for (u32 r = 0; r < report->runs.n; r++) {
        fputs(r ? ",\n" : "", out);
        put_run(out, report, r);
    }
    fputs("],\n  \"files\": [\n", out);
    for (u32 f = 0; f < report->files.n; f++) {
        fputs(f ? ",\n" : "", out);
        put_file(out, report, &report->files.v[f]);
    }
    fputs("]\n}\n", out);
}
