/* Remarks as the report tells them. */
#define _GNU_SOURCE
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "tool/report.h"

/* ---- reading the records ------------------------------------------------------------------------------------------ */

/* The scalar at `at`, unquoted; `*end` is after it. */
static char *read_scalar(Report *report, const char *at, const char **end)
{
    char quote = *at;
    if (quote != '\'' && quote != '"') {
        *end = at + strcspn(at, "\n");
        return arena_copy(&report->arena, at, (size_t)(*end - at));
    }
    char *text = arena_alloc(&report->arena, strlen(at) + 1 < 4096 ? strlen(at) + 1 : 4096), *to = text;
    for (at++; *at && *at != '\n' && to < text + 4000; at++) {
        if (*at == quote && (quote == '"' || at[1] != '\''))
            break;
        if (quote == '"' && *at == '\\' && at[1] == 'x') {
            *to++ = ' '; /* a control character */
            at += 3;
            continue;
        }
        at += *at == quote || (quote == '"' && *at == '\\');
        *to++ = *at;
    }
    *to = '\0';
    *end = *at ? at + 1 : at;
    return text;
}

/* The value of the key in a record; NULL. */
static char *value_of(Report *report, const char *record, const char *key)
{
    const char *at = strstr(record, key), *end;
    return at ? read_scalar(report, at + strlen(key), &end) : NULL;
}

static ReportKernel *find_kernel(ReportFile *file, const char *name)
{
    for (u32 k = 0; k < file->kernels.n; k++)
        if (strcmp(file->kernels.v[k].name, name) == 0)
            return &file->kernels.v[k];
    return NULL;
}

static const char *without_folders(const char *path) { return path && strrchr(path, '/') ? strrchr(path, '/') + 1 : path; }

static void take_record(Report *report, ReportFile *file, const char *record)
{
    const char *function = value_of(report, record, "\nFunction:        "), *line = strstr(record, ", Line: ");
    ReportKernel *kernel = function ? find_kernel(file, function) : NULL;
    if (!kernel)
        return;
    ReportRemark remark = {
        .passed = strncmp(record, "!Passed", 7) == 0,
        .pass = value_of(report, record, "\nPass:            "),
        .name = value_of(report, record, "\nName:            "),
        .message = value_of(report, record, "\n  - String: "),
        .source = without_folders(value_of(report, record, "\n  - Source: ")),
        .line = line ? (u32)strtoul(line + strlen(", Line: "), NULL, 10) : 0,
    };
    if (strncmp(record, "!Analysis", 9) == 0)
        kernel->source = remark.source;
    else
        vec_push(&kernel->remarks, remark);
}

void report_take_remarks(Report *report, ReportFile *file, const char *yaml)
{
    static const char mark[] = "--- ";
    for (const char *at = yaml, *next; (at = strstr(at, mark)); at = next) {
        at += sizeof mark - 1;
        const char *end = strstr(at, "\n...\n");
        next = end ? end : at + strlen(at);
        take_record(report, file, arena_copy(&report->arena, at, (size_t)(next - at)));
    }
}

/* ---- a paragraph -------------------------------------------------------------------------------------------------- */

typedef struct RemarkWords {
    const char *name, *one, *many;
} RemarkWords;

static const RemarkWords words[] = {
#define WORDS(name, one, many) {name, one, many},
#include "tool/report_words.def"
};

static const RemarkWords *words_of(const char *name)
{
    for (u32 i = 0; i < COUNT_OF(words); i++)
        if (strcmp(words[i].name, name) == 0)
            return &words[i];
    return NULL;
}

/* A paragraph that grows. */
typedef struct Story {
    Report *report;
    char *text;
    bool any;
} Story;

static void __attribute__((format(printf, 2, 3))) tell(Story *story, const char *format, ...)
{
    va_list arguments;
    char part[1024];
    va_start(arguments, format);
    vsnprintf(part, sizeof part, format, arguments);
    va_end(arguments);
    story->text = arena_printf(&story->report->arena, "%s%s%s", story->text, story->any ? "; " : "", part);
    story->any = true;
}

/* Where it is: in the source, else in the PTX. Columns are left out. */
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
        places = arena_printf(&story->report->arena, "%s%s%s", places, shown > 1 ? ", " : "", place);
        last = place;
    }
    const char *what = !known ? first->name : count == 1 ? known->one : known->many;
    tell(story, "%s%u %s (%s%s%s%s)", before, count, what, places, shown > PLACES ? ", ..." : "", first->passed ? "" : ": ",
         first->passed ? "" : reason_of(story, first));
}

char *report_story(Report *report, const ReportKernel *kernel)
{
    Story story = {report, arena_printf(&report->arena, "%s", ""), false};
    const char *kept = "kept: ";
    for (u32 i = 0; i < kernel->remarks.n; i++)
        if (is_switch(&kernel->remarks.v[i]))
            tell_switch(&story, &kernel->remarks.v[i]);
    for (u32 i = 0; i < kernel->remarks.n; i++)
        if (kernel->remarks.v[i].passed && !is_switch(&kernel->remarks.v[i]) && is_first_of_its_name(kernel, i))
            tell_name(&story, kernel, i, "");
    if (!story.any)
        tell(&story, "nothing was done");
    for (u32 i = 0; i < kernel->remarks.n; i++)
        if (!kernel->remarks.v[i].passed && is_first_of_its_name(kernel, i)) {
            tell_name(&story, kernel, i, kept);
            kept = "";
        }
    story.text[0] = (char)(story.text[0] >= 'a' && story.text[0] <= 'z' ? story.text[0] - 'a' + 'A' : story.text[0]);
    return arena_printf(&report->arena, "%s.", story.text);
}
