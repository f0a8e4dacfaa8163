#include "pipeline/phases.h"

#include <string.h>

#include "pipeline/suggest.h"

#define PHASE(function, ...) Phase function;
#define BEFORE(...)
#include "pipeline/pipeline.def"
#undef PHASE
#undef BEFORE

static const PhaseInfo phase_row[] = {
#define ROUNDS(n) n
#define PHASE(function, name, level, rounds, after, purpose, place) {function, name, level, rounds, after, purpose, place},
#define BEFORE(...)
#include "pipeline/pipeline.def"
#undef PHASE
#undef BEFORE
};

/* Ends with an empty row, so that a table without orders is an array too. */
static const PhaseOrder order_row[] = {
#define PHASE(...)
#define BEFORE(first, then, reason) {first, then, reason},
#include "pipeline/pipeline.def"
#undef PHASE
#undef BEFORE
    {NULL, NULL, NULL},
};

const PhaseTable phase_table = {phase_row, COUNT_OF(phase_row), order_row, COUNT_OF(order_row) - 1};

u32 phase_find(const PhaseTable *table, const char *name, size_t len)
{
    for (u32 i = 0; i < table->phases; i++)
        if (strlen(table->phase[i].name) == len && memcmp(table->phase[i].name, name, len) == 0)
            return i;
    return PHASE_NONE;
}

const char *phase_suggest(const PhaseTable *table, const char *name, size_t len)
{
    Suggestion nearest = suggestion_for(name, len);
    for (u32 i = 0; i < table->phases; i++)
        suggestion_offer(&nearest, table->phase[i].name);
    return nearest.name;
}

static u32 find_cstr(const PhaseTable *table, const char *name)
{
    return phase_find(table, name, strlen(name));
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
        u32 first = first_run(find_cstr(table, order->first), sequence, count);
        u32 then = first_run(find_cstr(table, order->then), sequence, count);
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
        if (find_cstr(table, table->phase[i].name) != i)
            return arena_printf(arena, "phase '%s' stands twice in the table", table->phase[i].name);
    }
    for (const PhaseOrder *order = table->order; order < table->order + table->orders; order++)
        if (find_cstr(table, order->first) == PHASE_NONE || find_cstr(table, order->then) == PHASE_NONE)
            return arena_printf(arena, "the order of '%s' before '%s' names an unknown phase", order->first, order->then);
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
