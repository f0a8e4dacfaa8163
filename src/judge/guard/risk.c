/* Kernels that are likely to get worse are judged by themselves, before the whole text is assembled. The record says how many
 * kernels of the corpora each phase changed, and how many it made worse; `make corpus RECORD=1` writes it. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "judge/guard/guard_inside.h"
#include "pipeline/knobs.h"

static const struct {
    const char *phase;
    u32 changed, worse;
} record[] = {
#define RECORD(phase, changed, better, worse) {phase, changed, worse},
#include "judge/guard/record.def"
};

/* How many of the kernels that the phase changes are expected to get worse, as if the next one were. All, without a record. */
static double chance_of(const char *phase)
{
    for (u32 i = 0; i < COUNT_OF(record); i++)
        if (strcmp(record[i].phase, phase) == 0 && record[i].worse < record[i].changed)
            return (record[i].worse + 1.0) / record[i].changed;
    return 1;
}

/* The record is of the phases as they are called by default. */
static bool is_of_record(const Options *options)
{
    const PipelineConfig *config = &options->pipeline;
    return config->level == 2 && !options->phases && !config->tuned.n && !config->ignore_exits &&
           knobs_are_initial(&config->knobs) && !options->guard_all;
}

/* Takes a line PHASE NAME. */
static void take_rewrite(Guard *guard, const char *phase, const char *name)
{
    double chance = chance_of(phase);
    for (u32 i = 0; i < guard->parts.part.n; i++)
        if (strcmp(guard->parts.part.v[i].name, name) == 0) {
            u32 group = guard->parts.part.v[i].group;
            guard->chance[group] = chance > guard->chance[group] ? chance : guard->chance[group];
        }
}

void risk_find(Guard *guard)
{
    size_t bytes = 0;
    bool known = guard->rewrites.fd >= 0 && is_of_record(guard->options);
    char *lines = known ? scratch_read(&guard->rewrites, &bytes) : NULL, *saved = NULL;
    guard->chance = arena_array(guard->arena, double, guard->parts.groups);
    for (char *line = lines ? strtok_r(lines, "\n", &saved) : NULL; line; line = strtok_r(NULL, "\n", &saved)) {
        char *blank = strchr(line, ' ');
        if (!blank)
            continue;
        *blank = '\0';
        take_rewrite(guard, line, blank + 1);
    }
    free(lines);
}

enum { START_PRICE = 150 /* instructions that ptxas assembles in the time in which it starts */ };

/* A group that ptxas is asked about. */
typedef struct AskedGroup {
    u32 group;
    double price, chance;
} AskedGroup;

static int likely_and_cheap_first(const void *a, const void *b)
{
    const AskedGroup *x = a, *y = b;
    double left = x->chance * y->price, right = y->chance * x->price;
    return left > right ? -1 : left < right ? 1 : x->group < y->group ? -1 : 1;
}

/* The groups that are asked about, and the price of all of the text. */
static u32 list_asked(const Guard *guard, AskedGroup *asked, double *whole)
{
    double *price = arena_array(guard->arena, double, guard->parts.groups);
    u32 count = 0;
    *whole = START_PRICE;
    for (u32 i = 0; i < guard->made.part.n; i++)
        price[guard->parts.part.v[i].group] += (double)guard->made.part.v[i].price;
    for (u32 g = 0; g < guard->parts.groups; g++) {
        asked[count] = (AskedGroup){g, price[g] + 1, guard->chance[g]};
        count += guard->asked[g];
        *whole += price[g];
    }
    qsort(asked, count, sizeof *asked, likely_and_cheap_first);
    return count;
}

/* Of the first `probed` ones their new texts are assembled first; the whole is assembled twice if one of the others is worse. */
static double cost_of(const AskedGroup *asked, u32 count, u32 probed, double whole)
{
    double cost = probed ? START_PRICE : 0, all_good = 1;
    for (u32 i = 0; i < count; i++)
        if (i < probed)
            cost += asked[i].price;
        else
            all_good *= 1 - asked[i].chance;
    return cost + (1 - all_good) * whole;
}

enum { MOST_PROBED = 64 };

bool risk_find_probes(const Guard *guard, bool *probed)
{
    AskedGroup *asked = mem_zalloc(sizeof *asked * (guard->parts.groups + 1));
    double whole;
    u32 count = list_asked(guard, asked, &whole), best = 0, most = count < MOST_PROBED ? count : MOST_PROBED;
    for (u32 i = 1; i <= most; i++)
        best = cost_of(asked, count, i, whole) < cost_of(asked, count, best, whole) ? i : best;
    for (u32 i = 0; i < best; i++)
        probed[asked[i].group] = true;
    mem_free(asked);
    return best > 0 && is_of_record(guard->options) && guard->parts.groups > 1 && !parts_are_whole(&guard->parts);
}
