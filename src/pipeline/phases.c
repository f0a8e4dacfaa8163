#include "pipeline/phases.h"

#include <string.h>

#include "pipeline/suggest.h"

#define PHASE(function, ...) Phase function;
#include "pipeline/pipeline.def"

/* Defines phase_x_runs(), by the column `when`. */
#define ALWAYS (knobs != NULL)
#define IF(knob) (knobs->knob != 0)
#define UNLESS(knob) (knobs->knob == 0)
#define PHASE(function, name, level, iterations, after, when, ...) \
    static bool function##_runs(const Knobs *knobs) { return when; }
#include "pipeline/pipeline.def"

/* Defines phase_x_switch_on(). */
#undef ALWAYS
#undef IF
#undef UNLESS
#define ALWAYS (void)knobs
#define IF(knob) knobs->knob = knobs->knob ? knobs->knob : 1
#define UNLESS(knob) knobs->knob = 0
#define PHASE(function, name, level, iterations, after, when, ...) \
    static void function##_switch_on(Knobs *knobs) { when; }
#include "pipeline/pipeline.def"

static const PhaseInfo phase_row[] = {
#define ITERATIONS(n) n
#define PHASE(function, name, level, iterations, after, when, purpose, place) \
    {function, function##_runs, name, level, iterations, after, purpose, place, function##_switch_on},
#include "pipeline/pipeline.def"
};

/* The table ends with an empty row, so that it is an array even without orders. */
static const PhaseOrder order_row[] = {
#define BEFORE(first, then, reason) {first, then, reason},
#include "pipeline/pipeline.def"
    {NULL, NULL, NULL},
};

static const PhaseAlias alias_row[] = {
#define ALIAS(name, first, last) {name, first, last},
#include "pipeline/pipeline.def"
};

static const PhaseSpares spares_row[] = {
#define SPARES(change, spared, reason) {PHASE_NUMBER_##change, PHASE_NUMBER_##spared},
#include "pipeline/pipeline.def"
};

_Static_assert(COUNT_OF(phase_row) == PHASE_COUNT, "a number for each phase");

const PhaseTable phase_table = {phase_row, COUNT_OF(phase_row), order_row,  COUNT_OF(order_row) - 1,
                                alias_row, COUNT_OF(alias_row), spares_row, COUNT_OF(spares_row)};

static PhaseRange find_cstr(const PhaseTable *table, const char *name) { return phase_find(table, name, strlen(name)); }

PhaseRange phase_find(const PhaseTable *table, const char *name, size_t len)
{
    Str asked = {name, (u32)len};
    for (u32 i = 0; i < table->phases; i++)
        if (str_is(asked, table->phase[i].name))
            return (PhaseRange){i, 1};
    for (const PhaseAlias *alias = table->alias; alias < table->alias + table->aliases; alias++)
        if (str_is(asked, alias->name)) {
            u32 first = find_cstr(table, alias->first).first;
            return (PhaseRange){first, find_cstr(table, alias->last).first - first + 1};
        }
    return (PhaseRange){0, 0};
}

const char *phase_suggest(const PhaseTable *table, const char *name, size_t len)
{
    Suggestion nearest = suggestion_for(name, len);
    for (u32 i = 0; i < table->phases; i++)
        suggestion_offer(&nearest, table->phase[i].name);
    for (u32 i = 0; i < table->aliases; i++)
        suggestion_offer(&nearest, table->alias[i].name);
    return nearest.name;
}

static u32 first_run(u32 phase, const u32 *sequence, u32 count)
{
    u32 at = 0;
    while (at < count && sequence[at] != phase)
        at++;
    return at;
}

const PhaseOrder *phase_order_broken(const PhaseTable *table, const u32 *sequence, u32 count)
{
    for (const PhaseOrder *order = table->order; order < table->order + table->orders; order++) {
        u32 first = first_run(find_cstr(table, order->first).first, sequence, count);
        u32 then = first_run(find_cstr(table, order->then).first, sequence, count);
        if (first < count && then < first)
            return order;
    }
    return NULL;
}

const char *phase_table_fault(const PhaseTable *table, Arena *arena)
{
    u32 *sequence = arena_array(arena, u32, table->phases);
    for (u32 i = 0; i < table->phases; i++) {
        sequence[i] = i;
        if (find_cstr(table, table->phase[i].name).first != i)
            return arena_printf(arena, "phase '%s' stands twice in the table", table->phase[i].name);
    }
    for (const PhaseOrder *order = table->order; order < table->order + table->orders; order++)
        if (!find_cstr(table, order->first).count || !find_cstr(table, order->then).count)
            return arena_printf(arena, "the order of '%s' before '%s' names an unknown phase", order->first, order->then);
    for (const PhaseAlias *alias = table->alias; alias < table->alias + table->aliases; alias++)
        if (!find_cstr(table, alias->first).count || !find_cstr(table, alias->last).count)
            return arena_printf(arena, "'%s' is the name of an unknown phase", alias->name);
    const PhaseOrder *broken = phase_order_broken(table, sequence, table->phases);
    if (broken)
        return arena_printf(arena, "'%s' must stand before '%s': %s", broken->first, broken->then, broken->reason);
    return NULL;
}

void phase_list(FILE *out, const PhaseTable *table)
{
    for (const PhaseInfo *phase = table->phase; phase < table->phase + table->phases; phase++)
        fprintf(out, "%-20s -O%u  %s\n", phase->name, phase->level, phase->purpose);
}
