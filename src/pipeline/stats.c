#include "pipeline/stats.h"

#include <inttypes.h>
#include <string.h>

#include "base/clock.h"
#include "base/json.h"

double stats_clock(const Stats *stats) { return stats->timed ? clock_now() : 0; }

void stats_count(Stats *stats, u32 phase, const char *what, u32 amount)
{
    PhaseStats *of = &stats->phase[phase];
    for (Counter *counter = of->counters.v; counter < of->counters.v + of->counters.n; counter++)
        if (strcmp(counter->what, what) == 0) {
            counter->amount += amount;
            return;
        }
    size_t size = strlen(what) + 1;
    char *copy = mem_alloc(size);
    memcpy(copy, what, size);
    vec_push(&of->counters, ((Counter){copy, amount}));
}

static void print_title(FILE *out, const char *title)
{
    static const char rule[] = "===-------------------------------------------------------------------------===";
    int indent = (int)(sizeof rule - 1 - strlen(title)) / 2;
    fprintf(out, "%s\n%*s%s\n%s\n", rule, indent, "", title, rule);
}

static void print_line(FILE *out, u64 amount, const char *who, const char *what)
{
    fprintf(out, "%8" PRIu64 " %s - %s\n", amount, who, what);
}

void stats_print(FILE *out, const Stats *stats)
{
    print_title(out, "... Statistics Collected ...");
    print_line(out, stats->functions, "ptxopt", "functions");
    print_line(out, stats->changed, "ptxopt", "functions changed");
    print_line(out, stats->untouchable, "ptxopt", "functions that no phase may touch");
    print_line(out, stats->went_back, "ptxopt", "functions that went back to what they were");
    if (stats->proves) {
        print_line(out, stats->proof[0], "prove", "functions proved");
        print_line(out, stats->proof[1], "prove", "functions not proved");
        print_line(out, stats->proof[2], "prove", "functions refuted");
        print_line(out, stats->reverted, "prove", "functions that stay as they were");
    }
    if (stats->proves_steps) {
        print_line(out, stats->step_proof[0], "prove", "steps proved");
        print_line(out, stats->step_proof[1], "prove", "steps not proved");
        print_line(out, stats->step_proof[2], "prove", "steps refuted");
    }
    for (u32 i = 0; i < PHASE_COUNT; i++) {
        const PhaseStats *of = &stats->phase[i];
        const char *name = phase_table.phase[i].name;
        if (of->functions == 0 && of->counters.n == 0)
            continue;
        print_line(out, of->functions, name, "functions seen");
        print_line(out, of->changed, name, "functions changed");
        for (u32 k = 0; k < of->counters.n; k++)
            print_line(out, of->counters.v[k].amount, name, of->counters.v[k].what);
    }
}

static void print_json_phase(FILE *out, const char *name, const PhaseStats *of)
{
    fputs("    ", out);
    json_put_string(out, name);
    fprintf(out, ": {\n      \"functions\": %" PRIu64 ",\n      \"changed\": %" PRIu64 ",\n      \"counters\": {",
            of->functions, of->changed);
    for (u32 k = 0; k < of->counters.n; k++) {
        fputs(k ? ",\n        " : "\n        ", out);
        json_put_string(out, of->counters.v[k].what);
        fprintf(out, ": %" PRIu64, of->counters.v[k].amount);
    }
    fputs(of->counters.n ? "\n      }\n    }" : "}\n    }", out);
}

void stats_print_json(FILE *out, const Stats *stats)
{
    fprintf(out,
            "{\n  \"functions\": %" PRIu64 ",\n  \"changed\": %" PRIu64 ",\n  \"untouchable\": %" PRIu64
            ",\n  \"went_back\": %" PRIu64 ",\n",
            stats->functions, stats->changed, stats->untouchable, stats->went_back);
    if (stats->proves)
        fprintf(out,
                "  \"proved\": %" PRIu64 ",\n  \"unknown\": %" PRIu64 ",\n  \"refuted\": %" PRIu64
                ",\n  \"reverted\": %" PRIu64 ",\n",
                stats->proof[0], stats->proof[1], stats->proof[2], stats->reverted);
    if (stats->proves_steps)
        fprintf(out, "  \"steps\": {\"proved\": %" PRIu64 ", \"unknown\": %" PRIu64 ", \"refuted\": %" PRIu64 "},\n",
                stats->step_proof[0], stats->step_proof[1], stats->step_proof[2]);
    fputs("  \"phases\": {", out);
    const char *separator = "\n";
    for (u32 i = 0; i < PHASE_COUNT; i++) {
        if (stats->phase[i].functions == 0 && stats->phase[i].counters.n == 0)
            continue;
        fputs(separator, out);
        print_json_phase(out, phase_table.phase[i].name, &stats->phase[i]);
        separator = ",\n";
    }
    fputs(*separator == ',' ? "\n  }\n}\n" : "}\n}\n", out);
}

typedef struct TimeRow {
    const char *name;
    double seconds;
    const PhaseStats *phase; /* NULL: it is none */
} TimeRow;

static int longest_first(const void *a, const void *b)
{
    double x = ((const TimeRow *)a)->seconds, y = ((const TimeRow *)b)->seconds;
    return (x < y) - (x > y);
}

/* Prints a row; of a phase also how often it was called, and how often it then changed nothing. */
static void print_time(FILE *out, const TimeRow *row, double total)
{
    fprintf(out, "  %8.4f (%5.1f%%) ", row->seconds, total > 0 ? 100 * row->seconds / total : 0.0);
    if (row->phase)
        fprintf(out, "%8" PRIu64 " %9" PRIu64, row->phase->calls, row->phase->in_vain);
    else
        fprintf(out, "%18s", "");
    fprintf(out, "  %s\n", row->name);
}

void stats_print_times(FILE *out, const Stats *stats)
{
    static const char *const step_name[STEP_COUNT] = {
        [STEP_READ] = "(read)",     [STEP_PARSE] = "(parse)", [STEP_ANALYSES] = "(analyses)",
        [STEP_VERIFY] = "(verify)", [STEP_PRINT] = "(print)",
    };
    TimeRow row[STEP_COUNT + PHASE_COUNT];
    u32 rows = 0;
    double total = 0;
    for (u32 i = 0; i < STEP_COUNT; i++)
        row[rows++] = (TimeRow){step_name[i], stats->step[i], NULL};
    for (u32 i = 0; i < PHASE_COUNT; i++)
        if (stats->phase[i].functions > 0)
            row[rows++] = (TimeRow){phase_table.phase[i].name, stats->phase[i].seconds, &stats->phase[i]};
    for (u32 i = 0; i < rows; i++)
        total += row[i].seconds;
    qsort(row, rows, sizeof row[0], longest_first);

    print_title(out, "ptxopt timing report");
    fprintf(out, "  Total Execution Time: %.4f seconds wall clock\n\n   ---Wall Time---     Calls Unchanged  --- Name ---\n", total);
    for (u32 i = 0; i < rows; i++)
        print_time(out, &row[i], total);
    fprintf(out, "  %8.4f (%5.1f%%) %8s %9s  Total\n", total, 100.0, "", "");
}

void stats_free(Stats *stats)
{
    for (u32 i = 0; i < PHASE_COUNT; i++) {
        for (u32 k = 0; k < stats->phase[i].counters.n; k++)
            mem_free(stats->phase[i].counters.v[k].what);
        vec_free(&stats->phase[i].counters);
    }
}
