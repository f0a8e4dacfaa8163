#include "judge/machine/unit.h"

#include <string.h>

#include "judge/machine/frequency.h"
#include "judge/machine/spread.h"
#include "judge/machine/uniform_counter.h"

static void add_local(const SassInstr *instr, unsigned long *stores, unsigned long *loads)
{
    if (instr->class == SASS_STL)
        *stores += instr->width;
    else if (instr->class == SASS_LDL)
        *loads += instr->width;
}

/* Notes take eight bytes each. The size of all is written with sixteen bits, and wraps: of 8703 notes 511 were in the cubin. */
static bool may_have_lost_notes(const SassCode *code)
{
    enum { MOST_NOTES = 65536 / 8 };
    size_t count = 0;
    for (size_t i = 0; i < code->count; i++)
        count += code->instrs[i].class == SASS_STL || code->instrs[i].class == SASS_LDL;
    return count >= MOST_NOTES;
}

void sass_add_spills(const SassCode *code, const CubinFunction *function, unsigned sm, unsigned long *stores,
                     unsigned long *loads)
{
    if (!function->notes_spills || may_have_lost_notes(code)) {
        for (size_t i = 0; i < code->count; i++)
            add_local(&code->instrs[i], stores, loads);
        return;
    }
    size_t count = cubin_spills(function, NULL);
    uint32_t *offsets = mem_alloc((count + 1) * sizeof *offsets);
    cubin_spills(function, offsets);
    for (size_t i = 0; i < count; i++) {
        if (offsets[i] < function->begin || offsets[i] >= function->end || offsets[i] % SASS_BYTES)
            continue;
        SassInstr instr = sass_decode(function->code + offsets[i], offsets[i], sm);
        add_local(&instr, stores, loads);
    }
    mem_free(offsets);
}

static unsigned long count_local(const SassCode *code)
{
    unsigned long bytes = 0;
    for (size_t i = 0; i < code->count; i++)
        add_local(&code->instrs[i], &bytes, &bytes);
    return bytes;
}

static unsigned count_resizes(const SassCode *code)
{
    enum { USETMAXREG = 0x1c8 };
    unsigned count = 0;
    for (size_t i = 0; i < code->count; i++)
        count += code->instrs[i].operation == USETMAXREG;
    return count;
}

bool unit_read(Unit *unit, const Cubin *cubin, size_t index)
{
    const CubinFunction *function = &cubin->functions[index];
    size_t parts = 1;
    *unit = (Unit){.function = function, .sm = cubin->sm};
    for (size_t i = 0; i < cubin->count; i++)
        parts += cubin->functions[i].inner && cubin->functions[i].code == function->code;
    unit->parts = mem_zalloc(parts * sizeof *unit->parts);
    unit->code = mem_zalloc(parts * sizeof *unit->code);
    for (size_t i = 0; i <= cubin->count; i++) { /* the function itself first */
        const CubinFunction *part = i ? &cubin->functions[i - 1] : function;
        if (i && (!part->inner || part->code != function->code))
            continue;
        SassCode *code = &unit->code[unit->count];
        unit->parts[unit->count] = part;
        if (!sass_read_with(code, part, cubin->sm, &cubin->latencies)) {
            unit_free(unit);
            return false;
        }
        unit->count++;
        unit->instructions += code->count;
        unit->uniform_counters += sass_uniform_counters(code, part, cubin->sm);
        unit->local += count_local(code);
        unit->resizes += count_resizes(code);
        sass_add_spills(code, part, cubin->sm, &unit->spilled_stores, &unit->spilled_loads);
    }
    return true;
}

void unit_free(Unit *unit)
{
    for (size_t i = 0; i < unit->count; i++)
        sass_free(&unit->code[i]);
    mem_free(unit->parts);
    mem_free(unit->code);
    *unit = (Unit){.count = 0};
}

bool unit_same_code(const Unit *a, const Unit *b)
{
    if (a->count != b->count)
        return false;
    for (size_t i = 0; i < a->count; i++) {
        const CubinFunction *x = a->parts[i], *y = b->parts[i];
        if (x->end - x->begin != y->end - y->begin ||
            memcmp(x->code + x->begin, y->code + y->begin, x->end - x->begin) != 0)
            return false;
    }
    return true;
}

/* Functions inside a section are recognized by their names without the kernel's and ptxas's numbers. */
static const char *part_name(const CubinFunction *function)
{
    const char *dollar = strrchr(function->name, '$');
    return dollar ? dollar + 1 : function->name;
}

size_t unit_same_part(const Unit *unit, const Unit *other, size_t part)
{
    size_t k = part ? 1 : 0;
    while (part && k < other->count && strcmp(part_name(unit->parts[part]), part_name(other->parts[k])) != 0)
        k++;
    return k;
}

Iterations iterations_make(Arena *arena, const Unit *unit)
{
    Iterations iterations = {arena_array(arena, double *, unit->count), arena_array(arena, int *, unit->count),
                             arena_array(arena, bool *, unit->count), arena_array(arena, double *, unit->count)};
    for (size_t p = 0; p < unit->count; p++) {
        size_t loops = unit->code[p].loop_count;
        iterations.of[p] = arena_array(arena, double, loops);
        iterations.twin[p] = arena_array(arena, int, loops);
        iterations.remade[p] = arena_array(arena, bool, loops);
        iterations.rounds[p] = arena_array(arena, double, loops);
        for (size_t l = 0; l < loops; l++) {
            iterations.of[p][l] = unit->code[p].loops[l].gathers ? 1 : LOOP_ITERATIONS;
            iterations.twin[p][l] = SASS_NONE;
            iterations.rounds[p][l] = 1;
        }
    }
    return iterations;
}

/* ---- cycles ------------------------------------------------------------------------------------------------------- */

typedef struct Sum {
    const Unit *unit;
    const Frequencies *frequencies;
    UnitTime *time; /* by part; negative cycles: not known yet */
    bool *running;  /* by part: a call of it is being summed up */
} Sum;

/* The part that a call leads to; NULL's index, `count`, if it is none of this unit. */
static size_t called_part(const Unit *unit, const SassInstr *instr)
{
    size_t part = 0;
    if (instr->class != SASS_CALL || !instr->has_target)
        return unit->count;
    while (part < unit->count && unit->parts[part]->begin != instr->target)
        part++;
    return part;
}

/* Slow paths of divisions and roots: hardly ever taken. */
static bool is_slow_path(const CubinFunction *function) { return strstr(function->name, "__cuda_sm") != NULL; }

Frequencies unit_frequencies(Arena *arena, const Unit *unit, const Iterations *iterations)
{
    Frequencies frequencies = {arena_array(arena, double *, unit->count), arena_array(arena, unsigned *, unit->count),
                               iterations};
    for (size_t p = 0; p < unit->count; p++) {
        const SassCode *code = &unit->code[p];
        bool *cold = arena_array(arena, bool, code->block_count);
        frequencies.of[p] = arena_array(arena, double, code->block_count);
        for (int b = 0; b < code->block_count; b++) {
            const SassBlock *end = &code->blocks[code->blocks[b].line_end];
            size_t called = called_part(unit, &code->instrs[end->last]);
            cold[b] = called < unit->count && is_slow_path(unit->parts[called]);
        }
        frequencies.wait[p] = arena_array(arena, unsigned, code->block_count);
        sass_frequencies(code, iterations->of[p], cold, frequencies.of[p]);
        sass_barrier_waits(code, iterations->rounds[p], frequencies.wait[p]);
    }
    return frequencies;
}

static UnitTime part_time(Sum *sum, size_t part);

/* One of as many runs as its loop has iterations is the first one. */
static UnitTime block_time(Sum *sum, size_t part, const SassBlock *block)
{
    const SassCode *code = &sum->unit->code[part];
    double iterations = block->loop == SASS_NONE ? 1 : sum->frequencies->iterations->of[part][block->loop];
    size_t called = called_part(sum->unit, &code->instrs[block->last]);
    bool inside = sass_target_block(code, &code->instrs[block->last]) != SASS_NONE;
    double first = block->loop == SASS_NONE ? 0 : iterations > 1 ? 1 / iterations : 1;
    double wait = (double)sum->frequencies->wait[part][block - code->blocks] - block->wait;
    UnitTime own = {block->cycles * (1 - first) + block->once * first + wait, (double)(block->last - block->first + 1)};
    UnitTime more = called < sum->unit->count && !inside ? part_time(sum, called) : (UnitTime){0, 0};
    return (UnitTime){own.cycles + more.cycles, own.instructions + more.instructions};
}

static UnitTime sum_part(Sum *sum, size_t part)
{
    const SassCode *code = &sum->unit->code[part];
    const double *frequency = sum->frequencies->of[part];
    UnitTime time = {0, 0};
    for (int b = 0; b < code->block_count; b++) {
        UnitTime block = frequency[b] > 0 ? block_time(sum, part, &code->blocks[b]) : (UnitTime){0, 0};
        time.cycles += frequency[b] * block.cycles;
        time.instructions += frequency[b] * block.instructions;
    }
    return time;
}

static UnitTime part_time(Sum *sum, size_t part)
{
    if (sum->time[part].cycles < 0 && !sum->running[part]) {
        sum->running[part] = true;
        sum->time[part] = sum_part(sum, part);
        sum->running[part] = false;
    }
    return sum->running[part] ? (UnitTime){0, 0} : sum->time[part];
}

UnitTime unit_time(const Unit *unit, const Frequencies *frequencies)
{
    Arena arena = {0};
    Sum sum = {unit, frequencies, arena_array(&arena, UnitTime, unit->count), arena_array(&arena, bool, unit->count)};
    for (size_t p = 0; p < unit->count; p++)
        sum.time[p].cycles = -1;
    UnitTime time = part_time(&sum, 0);
    arena_free(&arena);
    return time;
}
