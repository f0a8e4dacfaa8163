#include "judge/machine/unit.h"

#include <string.h>

#include "judge/machine/frequency.h"
#include "judge/machine/uniform_counter.h"

static void add_spill(const SassInstr *instr, unsigned long *stores, unsigned long *loads)
{
    if (instr->class == SASS_STL)
        *stores += instr->width;
    else if (instr->class == SASS_LDL)
        *loads += instr->width;
}

void sass_add_spills(const SassCode *code, const CubinFunction *function, unsigned sm, unsigned long *stores,
                     unsigned long *loads)
{
    if (!function->notes_spills) {
        for (size_t i = 0; i < code->count; i++)
            add_spill(&code->instrs[i], stores, loads);
        return;
    }
    size_t count = cubin_spills(function, NULL);
    uint32_t *offsets = mem_alloc((count + 1) * sizeof *offsets);
    cubin_spills(function, offsets);
    for (size_t i = 0; i < count; i++) {
        if (offsets[i] < function->begin || offsets[i] >= function->end || offsets[i] % SASS_BYTES)
            continue;
        SassInstr instr = sass_decode(function->code + offsets[i], offsets[i], sm);
        add_spill(&instr, stores, loads);
    }
    mem_free(offsets);
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
        if (!sass_read(code, part, cubin->sm)) {
            unit_free(unit);
            return false;
        }
        unit->count++;
        unit->instructions += code->count;
        unit->uniform_counters += sass_uniform_counters(code, part, cubin->sm);
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

Iterations iterations_make(Arena *arena, const Unit *unit)
{
    Iterations iterations = {arena_array(arena, double *, unit->count)};
    for (size_t p = 0; p < unit->count; p++) {
        size_t loops = unit->code[p].loop_count;
        iterations.of[p] = arena_array(arena, double, loops);
        for (size_t l = 0; l < loops; l++)
            iterations.of[p][l] = unit->code[p].loops[l].gathers ? 1 : LOOP_ITERATIONS;
    }
    return iterations;
}

/* ---- cycles ------------------------------------------------------------------------------------------------------- */

typedef struct Sum {
    const Unit *unit;
    const Iterations *iterations;
    double *cycles; /* by part; negative: not known yet */
    bool *running;  /* by part: a call of it is being summed up */
    Arena arena;
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

static double part_cycles(Sum *sum, size_t part);

static double block_cycles(Sum *sum, const SassCode *code, const SassBlock *block)
{
    size_t called = called_part(sum->unit, &code->instrs[block->last]);
    bool inside = sass_target_block(code, &code->instrs[block->last]) != SASS_NONE;
    return block->cycles + (called < sum->unit->count && !inside ? part_cycles(sum, called) : 0);
}

static double sum_part(Sum *sum, size_t part)
{
    const SassCode *code = &sum->unit->code[part];
    size_t blocks = (size_t)code->block_count;
    bool *cold = arena_array(&sum->arena, bool, blocks);
    double *frequency = arena_array(&sum->arena, double, blocks), cycles = 0;
    for (size_t b = 0; b < blocks; b++) {
        size_t called = called_part(sum->unit, &code->instrs[code->blocks[b].last]);
        cold[b] = called < sum->unit->count && is_slow_path(sum->unit->parts[called]);
    }
    sass_frequencies(code, sum->iterations->of[part], cold, frequency);
    for (size_t b = 0; b < blocks; b++)
        if (frequency[b] > 0)
            cycles += frequency[b] * block_cycles(sum, code, &code->blocks[b]);
    return cycles;
}

static double part_cycles(Sum *sum, size_t part)
{
    if (sum->cycles[part] >= 0 || sum->running[part])
        return sum->running[part] ? 0 : sum->cycles[part];
    sum->running[part] = true;
    sum->cycles[part] = sum_part(sum, part);
    sum->running[part] = false;
    return sum->cycles[part];
}

double unit_cycles(const Unit *unit, const Iterations *iterations)
{
    Sum sum = {.unit = unit, .iterations = iterations};
    sum.cycles = arena_array(&sum.arena, double, unit->count);
    sum.running = arena_array(&sum.arena, bool, unit->count);
    for (size_t p = 0; p < unit->count; p++)
        sum.cycles[p] = -1;
    double cycles = part_cycles(&sum, 0);
    arena_free(&sum.arena);
    return cycles;
}
