#include "judge.h"

#include <stdlib.h>
#include <string.h>

/* ---- what is accepted -------------------------------------------------------------------------------------------- */

bool allowed_read(AllowedList *list, const char *path)
{
    char line[1200];
    FILE *in = fopen(path, "r");
    if (!in) {
        perror(path);
        return false;
    }
    for (int number = 1; fgets(line, sizeof line, in); number++) {
        Allowed entry = {.line = number};
        if (line[strspn(line, " \t\n")] == 0 || line[0] == '#')
            continue;
        if (sscanf(line, "%511s %15s %31s %511[^\n]", entry.kernel, entry.target, entry.what, entry.reason) != 4) {
            fprintf(stderr, "%s:%d: not KERNEL TARGET WHAT REASON\n", path, number);
            fclose(in);
            return false;
        }
        list->v = grow(list->v, list->n + 1, sizeof *list->v);
        list->v[list->n++] = entry;
    }
    fclose(in);
    return true;
}

static bool is_allowed(AllowedList *list, const Kernel *k, const char *target, const char *what)
{
    char name[2048];
    bool found = false;
    snprintf(name, sizeof name, "%s.%s:%s", k->example, k->producer, k->name);
    for (size_t i = 0; i < list->n; i++) {
        Allowed *entry = &list->v[i];
        bool for_target = !strcmp(entry->target, "*") || !strcmp(entry->target, target);
        if (for_target && !strcmp(entry->kernel, name) && !strcmp(entry->what, what))
            found = entry->used = true;
    }
    return found;
}

/* ---- verdicts ---------------------------------------------------------------------------------------------------- */

static void judge_result(const Kernel *k, Result *r, unsigned sm, AllowedList *list)
{
    char target[16], rules[64];
    if (!r->before.known || !r->after.known)
        return;
    r->verdict = r->rules ? VERDICT_LISTED : r->unrolled ? VERDICT_UNROLLED : r->better ? VERDICT_BETTER : VERDICT_SAME;
    if (!r->rules)
        return;
    snprintf(target, sizeof target, "sm_%u", sm);
    snprintf(rules, sizeof rules, "%s", r->rules);
    snprintf(r->why, sizeof r->why, "%s", r->moved);
    for (char *rule = strtok(rules, "+"); rule; rule = strtok(NULL, "+"))
        if (!is_allowed(list, k, target, rule))
            r->verdict = VERDICT_WORSE;
}

void judge(Table *table, AllowedList *list)
{
    for (size_t i = 0; i < table->count; i++) {
        Kernel *k = &table->kernel[i];
        for (int t = 0; t < TARGETS; t++)
            judge_result(k, &k->result[t], target_sm[t], list);
        k->cost_grew = k->ran && k->issued[1] - k->jumps[1] > k->issued[0] - k->jumps[0];
    }
}

/* ---- pass and fail ----------------------------------------------------------------------------------------------- */

static void print_failures(const Kernel *k)
{
    for (int t = 0; t < TARGETS; t++)
        if (k->result[t].verdict == VERDICT_WORSE)
            printf("fail %s.%s:%s sm_%u: %s\n", k->example, k->producer, k->name, target_sm[t], k->result[t].why);
}

void print_verdicts(const Table *table, const AllowedList *list, const char *list_path)
{
    for (size_t i = 0; i < table->count; i++) {
        const Kernel *k = &table->kernel[i];
        bool worse = false;
        for (int t = 0; t < TARGETS; t++)
            worse |= k->result[t].verdict == VERDICT_WORSE;
        if (worse)
            print_failures(k);
        else
            printf("pass %s.%s:%s\n", k->example, k->producer, k->name);
    }
    for (size_t i = 0; i < list->n; i++)
        if (!list->v[i].used && strcmp(list->v[i].target, "exec"))
            printf("fail %s:%d: nothing of %s needs this\n", list_path, list->v[i].line, list->v[i].kernel);
}
