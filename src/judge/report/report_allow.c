/* Functions that may be worse: lines
 *     FILE:FUNCTION TARGET RULE REASON...
 * FILE is a path's last part without .ptx, TARGET sm_NN or * for all, RULE one of worse.h's names. `#` begins a comment. */
#include <errno.h>
#include <string.h>

#include "base/args.h"
#include "judge/report/report.h"

typedef struct Allowance {
    const char *name, *target, *rule;
    u32 line;
    bool used;    /* it was needed */
    bool in_view; /* its file is in the report */
} Allowance;

typedef VEC(Allowance) VecAllowance;

static bool take_line(Report *report, VecAllowance *list, char *text, u32 line, FILE *messages)
{
    char *word[4] = {NULL}, *saved = NULL;
    u32 count = 0;
    if (text[strspn(text, " \t\r")] == '\0' || text[strspn(text, " \t")] == '#')
        return true;
    for (char *at = strtok_r(text, " \t\r", &saved); at && count < COUNT_OF(word); at = strtok_r(NULL, " \t\r", &saved))
        word[count++] = at;
    bool known = false;
    for (unsigned rule = 1; count == COUNT_OF(word) && rule < 1u << WORSE_RULES; rule <<= 1)
        known |= strcmp(worse_name(rule), word[2]) == 0;
    if (known)
        vec_push(list, ((Allowance){word[0], word[1], word[2], line, false, false}));
    else
        fprintf(messages,
                "%s:%u:1: error: an allowance is FILE:FUNCTION TARGET RULE REASON, the rule spills, warps, cycles or "
                "instructions\n",
                report->allowed, line);
    return known;
}

/* Whether the function may break the rule; marks the allowance that says so. */
static bool may(const VecAllowance *list, const char *name, const char *target, const char *rule)
{
    bool found = false;
    for (u32 i = 0; i < list->n; i++) {
        Allowance *a = &list->v[i];
        if (strcmp(a->name, name) != 0 || strcmp(a->rule, rule) != 0 ||
            (strcmp(a->target, "*") != 0 && strcmp(a->target, target) != 0))
            continue;
        a->used = true;
        found = true;
    }
    return found;
}

static void allow_file(Report *report, ReportFile *file, const VecAllowance *list)
{
    const char *base = strrchr(file->path, '/') ? strrchr(file->path, '/') + 1 : file->path;
    int stem = (int)(strstr(base, ".ptx") ? (size_t)(strstr(base, ".ptx") - base) : strlen(base));
    for (u32 i = 0; i < list->n; i++)
        list->v[i].in_view |= strncmp(list->v[i].name, base, (size_t)stem) == 0 && list->v[i].name[stem] == ':';
    for (u32 k = 0; k < file->kernels.n; k++) {
        ReportKernel *kernel = &file->kernels.v[k];
        const char *name = arena_printf(&report->arena, "%.*s:%s", stem, base, kernel->name);
        for (u32 r = 0; r < report->runs.n; r++) {
            ReportResult *result = &kernel->results[r];
            bool all = result->verdict == REPORT_WORSE;
            for (unsigned rule = 1; rule < 1u << WORSE_RULES; rule <<= 1)
                if (result->known && result->judgement.worse & rule)
                    all &= may(list, name, file->arch[r], worse_name(rule));
            if (all)
                result->verdict = REPORT_ALLOWED;
        }
    }
}

bool report_allow(Report *report, FILE *messages)
{
    VecAllowance list = {0};
    char *text = args_read_file(&report->arena, report->allowed);
    bool good = text;
    if (!text)
        fprintf(messages, "ptxopt-report: error: cannot read '%s': %s\n", report->allowed, strerror(errno));
    u32 number = 1;
    for (char *line = text, *next; line && good; line = next, number++) {
        next = strchr(line, '\n');
        if (next)
            *next++ = '\0';
        good = take_line(report, &list, line, number, messages);
    }
    for (u32 f = 0; good && f < report->files.n; f++)
        allow_file(report, &report->files.v[f], &list);
    for (u32 i = 0; good && i < list.n; i++)
        if (list.v[i].in_view && !list.v[i].used)
            fprintf(messages, "%s:%u: warning: nothing of %s needs this\n", report->allowed, list.v[i].line,
                    list.v[i].name);
    vec_free(&list);
    return good;
}
