#include "judge.h"

#include <stdlib.h>
#include <string.h>

/* ---- newly unrolled loops ---------------------------------------------------------------------------------------- */

static bool alike(unsigned a, unsigned b)
{
    unsigned more = a > b ? a : b, less = a > b ? b : a, slack = more / 10 > 3 ? more / 10 : 3;
    return more - less <= slack;
}

static int by_size(const void *a, const void *b)
{
    unsigned x = *(const unsigned *)a, y = *(const unsigned *)b;
    return (x > y) - (x < y);
}

/* Drops the pairs of alike loops from both (sorted) lists. */
static void drop_pairs(unsigned *a, size_t *as, unsigned *b, size_t *bs)
{
    size_t i = 0, j = 0, left_a = 0, left_b = 0;
    while (i < *as && j < *bs) {
        if (alike(a[i], b[j]))
            i++, j++;
        else if (a[i] < b[j])
            a[left_a++] = a[i++];
        else
            b[left_b++] = b[j++];
    }
    while (i < *as)
        a[left_a++] = a[i++];
    while (j < *bs)
        b[left_b++] = b[j++];
    *as = left_a;
    *bs = left_b;
}

static unsigned *sorted(const Code *code)
{
    unsigned *sizes = grow(NULL, code->loops, sizeof *sizes);
    if (code->loops)
        memcpy(sizes, code->loop, code->loops * sizeof *sizes);
    qsort(sizes, code->loops, sizeof *sizes, by_size);
    return sizes;
}

/* The number of loops that ptxas unrolls now and did not before; only asked where there are more instructions. */
static unsigned newly_unrolled(const Code *before, const Code *after)
{
    unsigned *old = sorted(before), *new = sorted(after), smallest = before->loops ? old[0] : 0, count = 0;
    size_t olds = before->loops, news = after->loops;
    drop_pairs(old, &olds, new, &news);
    for (size_t i = 0; i < news && before->loops; i++)
        count += new[i] >= smallest + (smallest + 1) / 2;
    if (olds > news)
        count += (unsigned)(olds - news);
    free(old);
    free(new);
    return count;
}

/* Warps that fit on a multiprocessor with so many registers a thread: 64 K registers, given out 256 a warp. */
static unsigned warps(unsigned sm, unsigned long registers)
{
    unsigned long most = sm == 75 ? 32 : sm == 120 ? 48 : 64, each = (registers + 7) / 8 * 8 * 32;
    unsigned long fit = each ? 65536 / each : most;
    return (unsigned)(fit < most ? fit : most);
}

static bool occupancy_holds(unsigned sm, unsigned long before, unsigned long after)
{
    unsigned half = warps(sm, 0) / 2, old = warps(sm, before), new = warps(sm, after);
    return new >= old || new >= half;
}

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

static void complain(Result *r, AllowedList *list, const Kernel *k, const char *target, const char *what, Figure figure)
{
    bool listed = is_allowed(list, k, target, what);
    size_t used = strlen(r->why);
    snprintf(r->why + used, sizeof r->why - used, "%s%s %lu to %lu", used ? ", " : "", what, r->before.figure[figure],
             r->after.figure[figure]);
    if (r->verdict != VERDICT_WORSE)
        r->verdict = listed ? VERDICT_LISTED : VERDICT_WORSE;
}

static void judge_result(const Kernel *k, Result *r, unsigned sm, AllowedList *list)
{
    const unsigned long *old = r->before.figure, *new = r->after.figure;
    char target[16];
    if (!r->before.known || !r->after.known)
        return;
    snprintf(target, sizeof target, "sm_%u", sm);
    r->verdict = VERDICT_SAME;
    if (new[FIG_INSTR] > old[FIG_INSTR])
        r->unrolled = newly_unrolled(&r->before, &r->after);
    if (new[FIG_REGS] >= old[FIG_REGS] + 2 && !(r->unrolled && occupancy_holds(sm, old[FIG_REGS], new[FIG_REGS])))
        complain(r, list, k, target, "registers", FIG_REGS);
    if (new[FIG_SPILLS] > old[FIG_SPILLS])
        complain(r, list, k, target, "spills", FIG_SPILLS);
    if (new[FIG_INSTR] > old[FIG_INSTR] && !r->unrolled)
        complain(r, list, k, target, "instructions", FIG_INSTR);
    if (r->verdict != VERDICT_SAME)
        return;
    if (r->unrolled)
        r->verdict = VERDICT_UNROLLED;
    for (int f = 0; f < FIG_COUNT && r->verdict == VERDICT_SAME; f++)
        if (new[f] < old[f])
            r->verdict = VERDICT_BETTER;
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
