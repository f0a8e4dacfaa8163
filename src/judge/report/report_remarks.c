/* Remarks as the report tells them. */
#include <string.h>

#include "judge/report/report.h"

const char report_pass[] = "report";

ReportKernel *report_kernel_named(const ReportFile *file, const char *name)
{
    for (u32 k = 0; k < file->kernels.n; k++)
        if (strcmp(file->kernels.v[k].name, name) == 0)
            return &file->kernels.v[k];
    return NULL;
}

void report_take_remark(void *user, const Remark *remark)
{
    const ReportTaker *taker = user;
    ReportKernel *kernel = report_kernel_named(taker->file, remark->function);
    if (!kernel)
        return;
    StoryRemark kept = story_keep(&taker->report->arena, remark);
    if (strcmp(remark->pass, report_pass) == 0)
        kernel->source = kept.source;
    else
        vec_push(&kernel->remarks, kept);
}

char *report_story(Report *report, const ReportKernel *kernel)
{
    Arena *arena = &report->arena;
    char *text = story_done(arena, &kernel->remarks);
    const char *left = story_left(arena, &kernel->remarks, UINT32_MAX), *advice = story_advice(arena, &kernel->remarks);
    if (!*text)
        text = arena_printf(arena, "nothing was done");
    if (*left)
        text = arena_printf(arena, "%s; kept: %s", text, left);
    text[0] = (char)(text[0] >= 'a' && text[0] <= 'z' ? text[0] - 'a' + 'A' : text[0]);
    return *advice ? arena_printf(arena, "%s. For ptxas: %s.", text, advice) : arena_printf(arena, "%s.", text);
}
