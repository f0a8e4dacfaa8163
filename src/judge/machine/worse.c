#include "judge/machine/worse.h"

#include <math.h>
#include <string.h>

#include "judge/machine/match.h"

#define CYCLES_WORSE 1.01
#define CYCLES_EQUAL 0.999
#define CYCLES_SAME 1.005
#define CYCLES_TRADED 0.9 /* what spills may be given for */
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

/* The size of blocks that both versions know; 0: neither does. What one text alone says was promised, and holds for both. */
static unsigned threads_of(const Unit *before, const Unit *after)
{
    unsigned a = before->function->threads, b = after->function->threads;
    return a > b ? a : b;
}

/* How many times the warps; what fits in neither version does not tell. */
static double times_warps(unsigned was, unsigned is) { return was == is ? 1 : (double)is / was; }

/* Counts warps for the size of block that moves most of them, whichever version comes first; for the first one if none does. */
static void count_warps(Moved *moved, const Unit *before, const Unit *after)
{
    static const unsigned sizes[] = {128, 256, 512, 1024};
    unsigned known = threads_of(before, after), count = known ? 1 : sizeof sizes / sizeof *sizes, most = 0;
    double product = 1;
    for (unsigned i = 0; i < count; i++) {
        unsigned threads = known ? known : sizes[i];
        unsigned old = resident_warps(before->function, before->sm, threads);
        unsigned new = resident_warps(after->function, after->sm, threads);
        unsigned moves = old > new ? old - new : new - old;
        product *= times_warps(old, new);
        if (i && moves <= most)
            continue;
        most = moves;
        moved->threads = threads;
        moved->warps[0] = old;
        moved->warps[1] = new;
    }
    moved->times_warps = pow(product, 1.0 / count);
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

static double quotient(double a, double b) { return a == b ? 1 : a / b; }

static bool has_other_warps(const Moved *m) { return !m->warps_unknown && m->times_warps != 1; }

/* How many times the cycles the second version takes, each with the root of the warps that fit. resolved: up to DEAD_BAND cycles are
 * no difference. */
static double times_cycles(const Moved *m, bool resolved)
{
    double times = quotient(m->cycles[1], m->cycles[0]);
    if ((resolved || has_other_warps(m)) && fabs(m->cycles[1] - m->cycles[0]) <= DEAD_BAND)
        times = 1;
    return has_other_warps(m) ? times / sqrt(m->times_warps) : times;
}

static unsigned weigh_cycles(const Moved *m)
{
    bool fewer_warps = has_other_warps(m) && m->times_warps < 1;
    bool more_instructions = m->instructions[1] > m->instructions[0];
    unsigned worse = !(times_cycles(m, false) < CYCLES_EQUAL) && more_instructions ? WORSE_INSTRUCTIONS : 0u;
    if (times_cycles(m, !more_instructions) <= CYCLES_WORSE)
        return worse;
    bool more_cycles = m->cycles[1] > CYCLES_WORSE * m->cycles[0];
    return worse | (fewer_warps ? WORSE_WARPS : 0u) | (more_cycles ? WORSE_CYCLES : 0u);
}

/* The rules that are broken where local memory is traded for warps. */
static unsigned weigh_trade(const Moved *m)
{
    if (m->scheduler[1] <= CYCLES_WORSE * m->scheduler[0])
        return 0;
    unsigned worse = (m->spilled[1] > m->spilled[0] ? WORSE_SPILLS : 0u) | (m->warps[1] < m->warps[0] ? WORSE_WARPS : 0u);
    return worse ? worse : WORSE_CYCLES;
}

/* The rules that are broken in a version that spills more than the other one, or less. */
static unsigned weigh_spills(const Moved *m)
{
    double times = times_cycles(m, true);
    if (m->spilled[1] > m->spilled[0])
        return times < CYCLES_TRADED ? 0 : WORSE_SPILLS | weigh_cycles(m);
    return times * CYCLES_TRADED > 1 ? weigh_cycles(m) : 0;
}

static unsigned weigh_code(const Moved *m)
{
    if (trades_local_for_warps(m))
        return weigh_trade(m);
    return m->spilled[0] != m->spilled[1] ? weigh_spills(m) : weigh_cycles(m);
}

static bool obeys_now(const Moved *m) { return m->resizes[1] && !m->resizes[0]; }

static bool obeyed_before(const Moved *m) { return m->resizes[0] && !m->resizes[1]; }

/* Whether the code is smaller, in cycles that are the same. */
static bool saves_code(const Moved *m)
{
    return times_cycles(m, false) <= CYCLES_SAME &&
           (m->instructions[1] < m->instructions[0] ||
            (m->instructions[1] == m->instructions[0] && m->registers[1] < m->registers[0]));
}

static bool is_better(const Moved *m)
{
    if (obeys_now(m))
        return true;
    if (trades_local_for_warps(m))
        return CYCLES_SAME * m->scheduler[1] < m->scheduler[0];
    return CYCLES_SAME * times_cycles(m, true) < 1 || m->spilled[1] < m->spilled[0] || saves_code(m);
}

/* The rules that are broken, whatever uniform counters do. */
static unsigned weigh_resizes(const Moved *m)
{
    bool more_spills = m->spilled[1] > m->spilled[0], fewer_spills = m->spilled[1] < m->spilled[0];
    if (obeys_now(m))
        return more_spills ? WORSE_SPILLS : 0;
    if (obeyed_before(m))
        return fewer_spills ? 0 : WORSE_SETMAXNREG | weigh_code(m);
    return weigh_code(m);
}

void worse_weigh(Judgement *j)
{
    Moved *m = &j->moved;
    unsigned long was = m->uniform_counters[0], is = m->uniform_counters[1];
    bool more_cycles = m->cycles[1] > CYCLES_WORSE * m->cycles[0];
    m->is_in_dead_band =
        more_cycles && m->instructions[1] <= m->instructions[0] && m->cycles[1] <= m->cycles[0] + DEAD_BAND;
    j->worse = is < was ? 0 : weigh_resizes(m);
    j->worse |= is > was ? WORSE_WRONG : 0u;
    j->better = !j->worse && is_better(m);
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
    worse_weigh(j);
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

int worse_order(const Judgement *forth, const Judgement *back)
{
    if (forth->worse || back->worse)
        return forth->worse ? -1 : 1;
    double times = times_cycles(&forth->moved, false);
    return times < CYCLES_EQUAL ? 1 : times * CYCLES_EQUAL > 1 ? -1 : 0;
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
