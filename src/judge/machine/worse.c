#include "judge/machine/worse.h"

#include <string.h>

#include "judge/machine/match.h"

#define CYCLES_WORSE 1.01
#define CYCLES_EQUAL 0.999
#define CYCLES_SAME 1.005
#define CYCLES_TRADED 0.9 /* what warps may be given for */
#define WARPS_TRADED 1.2
#define DEAD_BAND 16.0 /* cycles */

/* The resources of a multiprocessor. All have 64 K registers, given out to a quarter of it in 256 a warp. */
typedef struct Multiprocessor {
    unsigned sm, warps, blocks;
    unsigned long shared;
} Multiprocessor;

enum { KIB = 1024, WARP = 32, QUARTERS = 4, REGISTERS = 65536, REGISTER_UNIT = 8 };

static const Multiprocessor multiprocessors[] = {
    {75, 32, 16, 64 * KIB},   {80, 64, 32, 164 * KIB},  {86, 48, 16, 100 * KIB},  {87, 48, 16, 164 * KIB},
    {88, 48, 16, 100 * KIB},  {89, 48, 24, 100 * KIB},  {90, 64, 32, 228 * KIB},  {100, 64, 32, 228 * KIB},
    {101, 64, 32, 228 * KIB}, {103, 64, 32, 228 * KIB}, {110, 48, 24, 228 * KIB}, {120, 48, 24, 100 * KIB},
    {121, 48, 24, 100 * KIB},
};

static const Multiprocessor *multiprocessor(unsigned sm)
{
    size_t i = 0;
    while (i + 1 < sizeof multiprocessors / sizeof *multiprocessors && multiprocessors[i].sm < sm)
        i++;
    return &multiprocessors[i];
}

static unsigned long smaller(unsigned long a, unsigned long b) { return a < b ? a : b; }

/* Warps that fit on a multiprocessor, in whole blocks. */
static unsigned resident_warps(const CubinFunction *function, unsigned sm, unsigned threads)
{
    const Multiprocessor *mp = multiprocessor(sm);
    unsigned warps = (threads + WARP - 1) / WARP;
    unsigned long registers = (function->registers + REGISTER_UNIT - 1) / REGISTER_UNIT * REGISTER_UNIT * WARP;
    unsigned long reserved = sm >= 80 ? KIB : 0, unit = sm >= 80 ? 128 : 256;
    unsigned long shared = (function->shared + reserved + unit - 1) / unit * unit;
    unsigned long fit = registers ? REGISTERS / QUARTERS / registers * QUARTERS : mp->warps;
    unsigned long blocks = smaller(smaller(fit, mp->warps) / warps, mp->blocks);
    if (shared)
        blocks = smaller(blocks, mp->shared / shared);
    if (function->barriers)
        blocks = smaller(blocks, 2 * mp->blocks / function->barriers);
    return (unsigned)blocks * warps;
}

/* Counts warps for the size of block that loses most; for the first one if none does. */
static void count_warps(Moved *moved, const Unit *before, const Unit *after)
{
    static const unsigned sizes[] = {128, 256, 512, 1024};
    unsigned threads_before = before->function->threads;
    unsigned known = threads_before ? threads_before : after->function->threads,
             count = known ? 1 : sizeof sizes / sizeof *sizes;
    for (unsigned i = 0; i < count; i++) {
        unsigned threads = known ? known : sizes[i];
        unsigned old = resident_warps(before->function, before->sm, threads);
        unsigned new = resident_warps(after->function, after->sm, threads);
        if (i && (int)(old - new) <= (int)(moved->warps[0] - moved->warps[1]))
            continue;
        moved->threads = threads;
        moved->warps[0] = old;
        moved->warps[1] = new;
    }
    moved->warps_unknown = before->function->dynamic_shared || after->function->dynamic_shared;
}

/* A warp's instructions take a cycle each to issue, and its other cycles are those of all warps of the scheduler. */
static double scheduler_cycles(UnitTime time, unsigned warps)
{
    double each = warps ? QUARTERS * time.cycles / warps : time.cycles;
    return each > time.instructions ? each : time.instructions;
}

static void count_cycles(Moved *moved, const Unit *before, const Unit *after)
{
    Arena arena = {0};
    Iterations old = iterations_make(&arena, before), new = iterations_make(&arena, after);
    moved->unrolled = unroll_match(before, after, &old, &new);
    Frequencies was = unit_frequencies(&arena, before, &old), is = unit_frequencies(&arena, after, &new);
    match_frequencies(before, after, &old, &new, &was, &is);
    UnitTime time[2] = {unit_time(before, &was), unit_time(after, &is)};
    for (int i = 0; i < 2; i++) {
        moved->cycles[i] = time[i].cycles;
        moved->scheduler[i] = scheduler_cycles(time[i], moved->warps[i]);
    }
    arena_free(&arena);
}

/* Whether one of local memory and warps gains and the other loses. */
static bool trades_local_for_warps(const Moved *m)
{
    if (m->warps_unknown || m->warps[0] == m->warps[1] || m->local[0] == m->local[1])
        return false;
    return (m->local[1] < m->local[0]) == (m->warps[1] < m->warps[0]);
}

/* The version of which fewer warps fit. */
static int one_of_fewer_warps(const Moved *m) { return m->warps[1] < m->warps[0]; }

/* Whether the version of which fewer warps fit takes much fewer cycles. */
static bool trades_cycles_for_warps(const Moved *m)
{
    int few = one_of_fewer_warps(m);
    return !m->warps_unknown && m->warps[0] != m->warps[1] && m->cycles[few] < CYCLES_TRADED * m->cycles[!few];
}

static bool trades_for_warps(const Moved *m) { return trades_local_for_warps(m) || trades_cycles_for_warps(m); }

static bool loses_by_trade(const Moved *m)
{
    if (trades_local_for_warps(m))
        return m->scheduler[1] > CYCLES_WORSE * m->scheduler[0];
    int few = one_of_fewer_warps(m);
    bool few_loses = m->cycles[few] * m->warps[!few] > WARPS_TRADED * m->cycles[!few] * m->warps[few];
    return few_loses == (few == 1);
}

/* Those of the two rules that are broken. */
static unsigned weigh_spills_and_warps(const Moved *m)
{
    bool decides = !trades_for_warps(m) || loses_by_trade(m);
    bool more_spills = m->spilled[1] > m->spilled[0], fewer_warps = !m->warps_unknown && m->warps[1] < m->warps[0];
    return (decides && more_spills ? WORSE_SPILLS : 0u) | (decides && fewer_warps ? WORSE_WARPS : 0u);
}

static unsigned weigh_cycles_and_instructions(Moved *m)
{
    bool fewer_cycles = m->cycles[1] < CYCLES_EQUAL * m->cycles[0];
    bool more_cycles = m->cycles[1] > CYCLES_WORSE * m->cycles[0];
    bool more_instructions = m->instructions[1] > m->instructions[0];
    m->is_in_dead_band = more_cycles && !more_instructions && m->cycles[1] <= m->cycles[0] + DEAD_BAND;
    return (more_cycles && !m->is_in_dead_band ? WORSE_CYCLES : 0u) |
           (!fewer_cycles && more_instructions ? WORSE_INSTRUCTIONS : 0u);
}

/* Whether the cycles that were saved are resolved: more than the dead band, and more than half of a per cent. */
static bool saves_cycles(const Moved *m)
{
    return m->cycles[0] > m->cycles[1] + DEAD_BAND && m->cycles[0] > CYCLES_SAME * m->cycles[1];
}

/* Whether the code is smaller, in cycles that are the same. */
static bool saves_code(const Moved *m)
{
    return m->cycles[1] <= CYCLES_SAME * m->cycles[0] &&
           (m->instructions[1] < m->instructions[0] ||
            (m->instructions[1] == m->instructions[0] && m->registers[1] < m->registers[0]));
}

static bool is_better(const Moved *m)
{
    bool more_warps = !m->warps_unknown && m->warps[1] > m->warps[0];
    if (trades_local_for_warps(m))
        return CYCLES_SAME * m->scheduler[1] < m->scheduler[0];
    return saves_cycles(m) || m->spilled[1] < m->spilled[0] || more_warps || saves_code(m);
}

static void apply_rules(Judgement *j)
{
    Moved *m = &j->moved;
    bool obeys = m->resizes[1] && !m->resizes[0];
    unsigned cycles = weigh_cycles_and_instructions(m);
    j->worse = weigh_spills_and_warps(m);
    if (!trades_for_warps(m) || (!j->worse && loses_by_trade(m)))
        j->worse |= cycles;
    if (obeys)
        j->worse = m->spilled[1] > m->spilled[0] ? WORSE_SPILLS : 0;
    if (m->resizes[0] && !m->resizes[1])
        j->worse |= WORSE_SETMAXNREG;
    if (m->uniform_counters[1] > m->uniform_counters[0])
        j->worse |= WORSE_WRONG;
    j->better = !j->worse && (obeys || is_better(m));
}

void worse_judge(Judgement *j, const Unit *before, const Unit *after)
{
    const Unit *const unit[2] = {before, after};
    *j = (Judgement){.changed = !unit_same_code(before, after)};
    for (int i = 0; i < 2; i++) {
        j->moved.instructions[i] = unit[i]->instructions;
        j->moved.uniform_counters[i] = unit[i]->uniform_counters;
        j->moved.resizes[i] = unit[i]->resizes;
        j->moved.spilled[i] = unit[i]->spilled_stores + unit[i]->spilled_loads;
        j->moved.local[i] = unit[i]->local;
        j->moved.registers[i] = unit[i]->function->registers;
        j->moved.shared[i] = (unsigned long)unit[i]->function->shared;
        j->moved.barriers[i] = unit[i]->function->barriers;
    }
    count_warps(&j->moved, before, after);
    count_cycles(&j->moved, before, after);
    apply_rules(j);
}

/* Reads the function of that name. The unit is empty if there is none, or if it cannot be read. */
static Unit read_unit(const Cubin *cubin, const char *name)
{
    Unit unit = {0};
    for (size_t i = 0; i < cubin->count; i++)
        if (!cubin->functions[i].inner && strcmp(cubin->functions[i].name, name) == 0)
            return unit_read(&unit, cubin, i) ? unit : (Unit){0};
    return unit;
}

bool worse_judge_function(Judgement *judgement, const Cubin *before, const Cubin *after, const char *name)
{
    Unit old = read_unit(before, name), new = read_unit(after, name);
    bool known = old.function && new.function;
    if (known)
        worse_judge(judgement, &old, &new);
    unit_free(&old);
    unit_free(&new);
    return known;
}

/* The first rule of a set; one after all of them where it is empty. */
static unsigned first_rule(unsigned worse) { return worse ? worse & -worse : 1u << WORSE_RULES; }

int worse_order(const Judgement *forth, const Judgement *back)
{
    unsigned loss = first_rule(forth->worse), gain = first_rule(back->worse);
    const double *cycles = forth->moved.cycles;
    if (loss != gain)
        return gain < loss ? 1 : -1;
    if (forth->worse || cycles[0] == cycles[1])
        return 0;
    return cycles[1] < CYCLES_EQUAL * cycles[0] ? 1 : cycles[0] < CYCLES_EQUAL * cycles[1] ? -1 : 0;
}

const char *worse_name(unsigned rule)
{
    switch (rule) {
    case WORSE_WRONG: return "wrong";
    case WORSE_SETMAXNREG: return "setmaxnreg";
    case WORSE_SPILLS: return "spills";
    case WORSE_WARPS: return "warps";
    case WORSE_CYCLES: return "cycles";
    case WORSE_INSTRUCTIONS: return "instructions";
    default: return "nothing";
    }
}

static const char *add_moved(Arena *arena, const char *text, const char *what, const unsigned long value[2])
{
    if (value[0] == value[1])
        return text;
    return arena_append(arena, text, ", ", "%s %lu to %lu", what, value[0], value[1]);
}

const char *worse_describe(Arena *arena, const Judgement *j)
{
    const Moved *m = &j->moved;
    const char *text = add_moved(arena, "", "instructions", m->instructions);
    if (m->cycles[0] != m->cycles[1])
        text = arena_append(arena, text, ", ", "cycles %.0f to %.0f (%+.1f %%%s)", m->cycles[0], m->cycles[1],
                            m->cycles[0] > 0 ? 100 * (m->cycles[1] / m->cycles[0] - 1) : 0,
                            m->is_in_dead_band ? ", below what is resolved" : "");
    text = add_moved(arena, text, "spilled bytes", m->spilled);
    text = add_moved(arena, text, "wrong uniform counters", m->uniform_counters);
    text = add_moved(arena, text, "setmaxnreg obeyed", m->resizes);
    text = add_moved(arena, text, "registers", m->registers);
    text = add_moved(arena, text, "shared bytes", m->shared);
    text = add_moved(arena, text, "barriers", m->barriers);
    if (m->warps[0] != m->warps[1] && m->warps_unknown)
        text = arena_append(arena, text, ", ", "warps unknown (dynamic shared memory)");
    else if (m->warps[0] != m->warps[1])
        text = arena_append(arena, text, ", ", "warps %u to %u (blocks of %u)", m->warps[0], m->warps[1], m->threads);
    if (m->unrolled)
        text = arena_append(arena, text, ", ", "%d loop%s newly unrolled", m->unrolled, m->unrolled == 1 ? "" : "s");
    return *text ? text : j->changed ? "nothing that counts" : "nothing";
}
