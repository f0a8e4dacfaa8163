/* Remarks as the report tells them. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "judge/report/report.h"

/* ---- taking them -------------------------------------------------------------------------------------------------- */

static ReportKernel *find_kernel(ReportFile *file, const char *name)
{
    for (u32 k = 0; k < file->kernels.n; k++)
        if (strcmp(file->kernels.v[k].name, name) == 0)
            return &file->kernels.v[k];
    return NULL;
}

void report_take_remark(void *user, const Remark *remark)
{
    const ReportTaker *taker = user;
    Arena *arena = &taker->report->arena;
    ReportKernel *kernel = find_kernel(taker->file, remark->function);
    if (!kernel)
        return;
    const char *slash = remark->source ? strrchr(remark->source, '/') : NULL, *source = slash ? slash + 1 : remark->source;
    source = source ? arena_copy(arena, source, strlen(source)) : NULL;
    if (remark->kind == REMARK_ANALYSIS)
        kernel->source = source;
    else
        vec_push(&kernel->remarks,
                 ((ReportRemark){remark->kind == REMARK_PASSED, remark->pass, remark->name,
                                 arena_copy(arena, remark->message, strlen(remark->message)), source, remark->line}));
}

/* ---- a paragraph -------------------------------------------------------------------------------------------------- */

typedef struct RemarkWords {
    const char *name, *one, *many;
} RemarkWords;

static const RemarkWords words[] = {
#define WORDS(name, one, many) {name, one, many},
#include "judge/report/report_words.def"
};

static const RemarkWords *words_of(const char *name)
{
    for (u32 i = 0; i < COUNT_OF(words); i++)
        if (strcmp(words[i].name, name) == 0)
            return &words[i];
    return NULL;
}

/* A paragraph that grows: parts with semicolons between them. */
typedef struct Story {
    Report *report;
    char *text;
} Story;

#define tell(story, ...) ((story)->text = arena_append(&(story)->report->arena, (story)->text, "; ", __VA_ARGS__))

/* The place of the remark: in the source, else in the PTX. Columns are left out. */
static const char *place_of(Report *report, const ReportRemark *remark)
{
    if (!remark->source)
        return arena_printf(&report->arena, "line %u", remark->line);
    const char *colon = strchr(remark->source, ':');
    size_t len = colon ? (size_t)(colon - remark->source) + 1 + strcspn(colon + 1, ":") : strlen(remark->source);
    return arena_copy(&report->arena, remark->source, len);
}

static bool is_switch(const ReportRemark *remark) { return remark->passed && strncmp(remark->name, "Switch", 6) == 0; }

static void tell_switch(Story *story, const ReportRemark *remark)
{
    unsigned cases, branches, before, tables, entries, after;
    const char *place = place_of(story->report, remark);
    if (sscanf(remark->message,
               "%u cases in %u branches, %u on the longest path: now %u jump %*[a-z] of %u entries in all, %u", &cases,
               &branches, &before, &tables, &entries, &after) == 6)
        tell(story, "switch of %u cases at %s: longest path %u branches to %u, %s", cases, place, before, after,
             tables ? "by a jump table" : "by a binary search");
    else
        tell(story, "switch at %s: %s", place, remark->message);
}

/* How many things a remark is about: "3 blocks end with the same 4 instructions" is two tails less. */
static u32 things_of(const ReportRemark *remark)
{
    unsigned blocks = 0;
    bool tails = strcmp(remark->name, "TailMerged") == 0 && sscanf(remark->message, "%u blocks end", &blocks) == 1;
    return tails && blocks > 1 ? blocks : 1;
}

static bool is_first_of_its_name(const ReportKernel *kernel, u32 at)
{
    for (u32 i = 0; i < at; i++)
        if (kernel->remarks.v[i].passed == kernel->remarks.v[at].passed &&
            strcmp(kernel->remarks.v[i].name, kernel->remarks.v[at].name) == 0)
            return false;
    return true;
}

/* The reason without what the sentence says anyway: "Kept synch: WHY, in function NAME". */
static char *reason_of(Story *story, const ReportRemark *remark)
{
    static const char kept[] = "Kept synch: ";
    const char *from = remark->message + (strncmp(remark->message, kept, sizeof kept - 1) == 0 ? sizeof kept - 1 : 0);
    const char *end = strstr(from, ", in function ");
    return arena_copy(&story->report->arena, from, end ? (size_t)(end - from) : strlen(from));
}

/* "9 tails merged (a.cu:12, a.cu:40, ...)", or, of what was kept, with the first reason. */
static void tell_name(Story *story, const ReportKernel *kernel, u32 at, const char *before)
{
    enum { PLACES = 3 };
    const ReportRemark *first = &kernel->remarks.v[at];
    const RemarkWords *known = words_of(first->name);
    const char *places = "", *last = "";
    u32 count = 0, shown = 0;
    for (u32 i = at; i < kernel->remarks.n; i++) {
        const ReportRemark *remark = &kernel->remarks.v[i];
        if (remark->passed != first->passed || strcmp(remark->name, first->name) != 0)
            continue;
        const char *place = place_of(story->report, remark);
        count += things_of(remark);
        if (strcmp(place, last) == 0 || ++shown > PLACES)
            continue;
        places = arena_append(&story->report->arena, places, ", ", "%s", place);
        last = place;
    }
    const char *what = !known ? first->name : count == 1 ? known->one : known->many;
    tell(story, "%s%u %s (%s%s%s%s)", before, count, what, places, shown > PLACES ? ", ..." : "", first->passed ? "" : ": ",
         first->passed ? "" : reason_of(story, first));
}

char *report_story(Report *report, const ReportKernel *kernel)
{
    Story story = {report, arena_printf(&report->arena, "%s", "")};
    const char *kept = "kept: ";
    for (u32 i = 0; i < kernel->remarks.n; i++)
        if (is_switch(&kernel->remarks.v[i]))
            tell_switch(&story, &kernel->remarks.v[i]);
    for (u32 i = 0; i < kernel->remarks.n; i++)
        if (kernel->remarks.v[i].passed && !is_switch(&kernel->remarks.v[i]) && is_first_of_its_name(kernel, i))
            tell_name(&story, kernel, i, "");
    if (!*story.text)
        tell(&story, "nothing was done");
    for (u32 i = 0; i < kernel->remarks.n; i++)
        if (!kernel->remarks.v[i].passed && is_first_of_its_name(kernel, i)) {
            tell_name(&story, kernel, i, kept);
            kept = "";
        }
    story.text[0] = (char)(story.text[0] >= 'a' && story.text[0] <= 'z' ? story.text[0] - 'a' + 'A' : story.text[0]);
    return arena_printf(&report->arena, "%s.", story.text);
}
