#include <string.h>

#include "print.h"

/* A number before and after, or once if it stayed. */
static void print_change(FILE *out, unsigned long before, unsigned long after)
{
    if (before == after)
        fprintf(out, "%lu", before);
    else
        fprintf(out, "%lu to %lu", before, after);
}

static void print_percent(FILE *out, unsigned long before, unsigned long after)
{
    if (before && before != after)
        fprintf(out, " (%+.1f %%)", 100.0 * ((double)after - (double)before) / (double)before);
}

static unsigned changed_kernels(const Table *table, const char *producer)
{
    unsigned count = 0;
    for (size_t i = 0; i < table->count; i++)
        count += table->kernel[i].changed && !strcmp(table->kernel[i].producer, producer);
    return count;
}

static void print_totals(FILE *out, const Table *table)
{
    fputs(
        "| producer | target | kernels | text changed | better | unrolled | same | worse | listed | loops newly unrolled |"
        " instructions there |",
        out);
    for (int f = 0; f < FIG_COUNT; f++)
        fprintf(out, " %s |", figure_title((Figure)f));
    fputs("\n|---|---|---|---|---|---|---|---|---|---|---|", out);
    for (int f = 0; f < FIG_COUNT; f++)
        fputs("---|", out);
    fputc('\n', out);
    for (const char *const *producer = table_producers(); *producer; producer++) {
        for (int t = 0; t < TARGETS; t++) {
            Sum sum = table_sum(table, *producer, t);
            const unsigned *v = sum.verdict;
            if (!sum.kernels)
                continue;
            fprintf(out, "| %s | sm_%u | %u | %u | %u | %u | %u | %u | %u | %u | ", *producer, target_sm[t], sum.kernels,
                    changed_kernels(table, *producer), v[VERDICT_BETTER], v[VERDICT_UNROLLED], v[VERDICT_SAME],
                    v[VERDICT_WORSE], v[VERDICT_LISTED], sum.unrolled);
            print_change(out, sum.grown_before, sum.grown_after);
            fputs(" |", out);
            for (int f = 0; f < FIG_COUNT; f++) {
                fputc(' ', out);
                print_change(out, sum.before[f], sum.after[f]);
                print_percent(out, sum.before[f], sum.after[f]);
                fputs(" |", out);
            }
            fputc('\n', out);
        }
    }
}

static void print_rewrites(FILE *out, const Table *table)
{
    Fired total[256];
    size_t count = 0;
    for (size_t i = 0; i < table->count; i++) {
        for (size_t f = 0; f < table->kernel[i].fired_count; f++) {
            const Fired *fired = &table->kernel[i].fired[f];
            size_t at = 0;
            while (at < count && (strcmp(total[at].phase, fired->phase) || strcmp(total[at].name, fired->name)))
                at++;
            if (at == sizeof total / sizeof *total)
                continue;
            if (at == count)
                total[count++] = (Fired){fired->phase, fired->name, 0};
            total[at].count += fired->count;
        }
    }
    fputs("| phase | rewrite | times |\n|---|---|---|\n", out);
    for (size_t at = 0; at < count; at++)
        fprintf(out, "| `%s` | %s | %u |\n", total[at].phase, total[at].name, total[at].count);
}

/* Mangled names are cut. */
static void print_kernel_name(FILE *out, const Kernel *k)
{
    size_t length = strlen(k->name);
    fprintf(out, "%s.%s `%.48s%s`", k->example, k->producer, k->name, length > 48 ? "..." : "");
}

/* The phases that changed the kernel, each once. */
static void print_phases(FILE *out, const Kernel *k)
{
    for (size_t i = 0; i < k->fired_count; i++) {
        size_t first = 0;
        while (strcmp(k->fired[first].phase, k->fired[i].phase))
            first++;
        if (first == i)
            fprintf(out, "%s%s", i ? ", " : "", k->fired[i].phase);
    }
}

static void print_cell(FILE *out, const Result *r)
{
    static const char *const mark[] = {"", "", "**better** ", "**unrolled** ", "*listed* ", "**WORSE** "};
    if (r->verdict == VERDICT_NONE) {
        fputs(" - |", out);
        return;
    }
    fprintf(out, " %s", mark[r->verdict]);
    print_change(out, r->before.figure[FIG_INSTR], r->after.figure[FIG_INSTR]);
    for (int f = FIG_INSTR + 1; f < FIG_COUNT; f++) {
        if (r->before.figure[f] == r->after.figure[f])
            continue;
        fprintf(out, ", %s ", figure_title((Figure)f));
        print_change(out, r->before.figure[f], r->after.figure[f]);
    }
    if (r->unrolled > 1)
        fprintf(out, ", %u loops", r->unrolled);
    fputs(" |", out);
}

static void print_kernels(FILE *out, const Table *table)
{
    fputs("| kernel | phases |", out);
    for (int t = 0; t < TARGETS; t++)
        fprintf(out, " sm_%u |", target_sm[t]);
    fputs("\n|---|---|---|---|---|---|---|\n", out);
    for (size_t i = 0; i < table->count; i++) {
        const Kernel *k = &table->kernel[i];
        if (!k->changed)
            continue;
        fputs("| ", out);
        print_kernel_name(out, k);
        fputs(" | ", out);
        print_phases(out, k);
        fputs(" |", out);
        for (int t = 0; t < TARGETS; t++)
            print_cell(out, &k->result[t]);
        fputc('\n', out);
    }
}

static void print_costs(FILE *out, const Table *table)
{
    fputs("| kernel | warp instructions | without jumps |\n|---|---|---|\n", out);
    for (size_t i = 0; i < table->count; i++) {
        const Kernel *k = &table->kernel[i];
        unsigned long before = k->issued[0] - k->jumps[0], after = k->issued[1] - k->jumps[1];
        if (!k->ran || (k->issued[0] == k->issued[1] && before == after))
            continue;
        fputs("| ", out);
        print_kernel_name(out, k);
        fputs(" | ", out);
        print_change(out, k->issued[0], k->issued[1]);
        print_percent(out, k->issued[0], k->issued[1]);
        fputs(" | ", out);
        print_change(out, before, after);
        print_percent(out, before, after);
        fprintf(out, "%s |\n", k->cost_grew ? " **more**" : "");
    }
}

static void print_worse(FILE *out, const Table *table)
{
    for (size_t i = 0; i < table->count; i++) {
        const Kernel *k = &table->kernel[i];
        for (int t = 0; t < TARGETS; t++) {
            const Result *r = &k->result[t];
            if (r->verdict < VERDICT_LISTED)
                continue;
            fputs("- ", out);
            print_kernel_name(out, k);
            fprintf(out, ", sm_%u: %s%s\n", target_sm[t], r->why, r->verdict == VERDICT_LISTED ? " (listed)" : "");
        }
    }
}

void print_markdown(FILE *out, const Table *table, const char *level)
{
    fprintf(out, "# What ptxas makes of the examples, before and after ptxopt %s\n\n", level);
    fputs("![kernels by target](report.svg)\n\n", out);
    fputs("`unrolled` kernels hold a loop that ptxas newly unrolls: their instructions are in a column of their own, and "
          "all\n"
          "columns to the right of it are sums over the other kernels. What counts as worse is said in\n"
          "`src/machine/worse.h`; `listed` is worse, with a reason in `tests/ptxas/allowed.txt`.\n\n## Totals\n\n",
          out);
    print_totals(out, table);
    fputs("\n## Worse\n\n", out);
    print_worse(out, table);
    fputs("\n## Rewrites\n\n", out);
    print_rewrites(out, table);
    fputs("\n## Kernels whose text changed\n\nInstructions, and what else changed.\n\n", out);
    print_kernels(out, table);
    fputs("\n## Warp instructions issued in the interpreter\n\n"
          "Summed over the launches of the example; kernels whose count changed.\n\n",
          out);
    print_costs(out, table);
}
