/* Loops with a step in a register that load and store memory of the thread, and loops whose counter is shifted. */
#include "gen.h"

enum { OWN_WORDS = 80, TRIPS_MAX = 40, TRIES_MAX = 60 };

/* A loop whose counter may wrap on its way: what it begins with, and its steps and bounds, which threads choose from. */
typedef struct Stride {
    u32 bits;
    bool is_signed, inclusive;
    u64 start, step[2], bound[2];
} Stride;

static u64 mask_of(const Stride *s) { return s->bits == 64 ? UINT64_MAX : UINT32_MAX; }

static bool goes_on(const Stride *s, u64 i, u64 bound)
{
    if (s->is_signed && s->bits == 32)
        return s->inclusive ? (i32)i <= (i32)bound : (i32)i < (i32)bound;
    if (s->is_signed)
        return s->inclusive ? (i64)i <= (i64)bound : (i64)i < (i64)bound;
    return s->inclusive ? i <= bound : i < bound;
}

static bool ends_soon(const Stride *s, u64 step, u64 bound)
{
    u64 i = s->start;
    for (u32 k = 0; k < TRIPS_MAX; k++) {
        i = (i + step) & mask_of(s);
        if (!goes_on(s, i, bound))
            return true;
    }
    return false;
}

/* A number that is small, or near to where numbers of so many bits wrap, or any. */
static u64 pick_number(Gen *g, const Stride *s)
{
    u64 top = percent(g, 50) ? mask_of(s) : mask_of(s) >> 1, any = (u64)below(g, UINT32_MAX) << 32 | below(g, UINT32_MAX);
    switch (below(g, 4)) {
    case 0: return (top - below(g, 40)) & mask_of(s);
    case 1: return (top + 1 + below(g, 40)) & mask_of(s);
    case 2: return any & mask_of(s);
    default: return below(g, 40);
    }
}

static u64 pick_step(Gen *g, const Stride *s)
{
    switch (below(g, 5)) {
    case 0: return (u64)1 << below(g, s->bits);
    case 1: return pick_number(g, s);
    default: return 1 + below(g, 6);
    }
}

/* False: none was found that ends soon for all threads. */
static bool pick_stride(Gen *g, Stride *s)
{
    for (u32 tries = 0; tries < TRIES_MAX; tries++) {
        *s = (Stride){.bits = percent(g, 35) ? 64 : 32, .is_signed = percent(g, 60), .inclusive = percent(g, 30)};
        s->start = pick_number(g, s);
        bool good = true;
        for (u32 k = 0; k < 2; k++) {
            s->step[k] = pick_step(g, s);
            s->bound[k] =
                percent(g, 50) ? (s->start + s->step[k] * below(g, 11) + below(g, 2)) & mask_of(s) : pick_number(g, s);
        }
        for (u32 k = 0; k < 4; k++)
            good &= ends_soon(s, s->step[k & 1], s->bound[k >> 1]);
        if (good)
            return true;
    }
    return false;
}

static Reg constant(Gen *g, const Stride *s, u64 value)
{
    Reg r = fresh_number(g, s->bits == 64);
    set_number(g, s->bits == 64, r, (i64)value);
    return r;
}

/* One of two numbers, as the thread has it. */
static Reg one_of(Gen *g, const Stride *s, const u64 *value)
{
    Reg first = constant(g, s, value[0]), second = constant(g, s, value[1]), p = fresh(g, P_PRED), bit = fresh(g, P_TEMP32);
    if (percent(g, 30))
        return first;
    line(g, "and.b32 %s, %s, 1;", NAME(bit), NAME(pick_defined(g, P_32)));
    line(g, "setp.ne.s32 %s, %s, 0;", NAME(p), NAME(bit));
    line(g, "selp.b%u %s, %s, %s, %s;", s->bits, NAME(first), NAME(first), NAME(second), NAME(p));
    return first;
}

/* The address of one of eight words of the thread, by a register. */
static Reg own_word(Gen *g, Reg by)
{
    Reg word = fresh(g, P_TEMP32), address = fresh(g, P_TEMP64);
    line(g, "and.b32 %s, %s, 7;", NAME(word), NAME(by));
    line(g, "mul.wide.u32 %s, %s, 4;", NAME(address), NAME(word));
    line(g, "add.s64 %s, %s, %%out;", NAME(address), NAME(address));
    return address;
}

/* Loads and stores of few words, so that stores write what later iterations load. */
static void write_accesses(Gen *g, Reg sum, Reg turn)
{
    u32 stores = 0;
    for (u32 n = 1 + below(g, 4); n > 0; n--) {
        Reg x = fresh(g, P_TEMP32), at = own_word(g, percent(g, 50) ? turn : sum);
        if (stores < 2 && percent(g, 35)) {
            line(g, "st.global.u32 [%s+%u], %s;", NAME(at), OWN_WORDS, NAME(sum));
            stores++;
            continue;
        }
        line(g, percent(g, 20) ? "ld.u32 %s, [%s+%u];" : "ld.global.u32 %s, [%s+%u];", NAME(x), NAME(at), OWN_WORDS);
        line(g, "mad.lo.s32 %s, %s, 3, %s;", NAME(sum), NAME(sum), NAME(x));
    }
}

void statement_wrapping_stride(Gen *g)
{
    Stride s;
    if (g->loops == LOOPS_MAX - 1 || g->in_function || !pick_stride(g, &s))
        return;
    Frozen before = frozen_now(g);
    Label top = label_fresh(g), skip = label_fresh(g);
    Reg sum = fresh(g, P_TEMP32), turn = fresh(g, P_TEMP32), p = fresh(g, P_PRED), x;
    Reg i = constant(g, &s, s.start), step = one_of(g, &s, s.step), bound = one_of(g, &s, s.bound);
    line(g, "mov.b32 %s, %s;", NAME(sum), NAME(pick_defined(g, P_32)));
    line(g, "mov.u32 %s, 0;", NAME(turn));
    label_here(g, &top);
    write_accesses(g, sum, turn);
    if (percent(g, 25)) {
        line(g, "setp.lt.s32 %s, %s, 0;", NAME(p), NAME(sum));
        line(g, "@%s bra %s;", NAME(p), skip.name);
        write_accesses(g, sum, turn);
        label_here(g, &skip);
    }
    line(g, "add.s32 %s, %s, 1;", NAME(turn), NAME(turn));
    line(g, "add.s%u %s, %s, %s;", s.bits, NAME(i), NAME(i), NAME(step));
    line(g, "setp.%s.%c%u %s, %s, %s;", s.inclusive ? "le" : "lt", s.is_signed ? 's' : 'u', s.bits, NAME(p), NAME(i),
         NAME(bound));
    line(g, "@%s bra %s;", NAME(p), top.name);
    x = pick_result(g, P_32);
    line(g, "mad.lo.s32 %s, %s, 7, %s;", NAME(x), NAME(turn), NAME(sum));
    mark_defined(g, x);
    unfreeze(g, &before);
}

/* ---- shifts ----------------------------------------------------------------------------------------------------------------- */

static void write_round(Gen *g, Reg sum, Reg i)
{
    Reg x = fresh(g, P_TEMP32);
    if (g->level >= WARP_UNIFORM && g->may_sync && !g->left && percent(g, 60)) {
        line(g, "shfl.sync.bfly.b32 %s, %s, %s, %%wlast, %s;", NAME(x), NAME(sum), NAME(i), "%wmask");
        line(g, "add.s32 %s, %s, %s;", NAME(sum), NAME(sum), NAME(x));
    } else {
        write_accesses(g, sum, i);
    }
}

/* Halves or doubles a counter from a constant on; its value before or after the shift is compared. */
void statement_shifted_loop(Gen *g)
{
    if (g->loops == LOOPS_MAX - 1 || g->in_function)
        return;
    bool doubles = percent(g, 40), old = percent(g, 40), leaves = percent(g, 20);
    u32 log = below(g, 8), shift = 1 + below(g, 2);
    Frozen before = frozen_now(g);
    Label top = label_fresh(g), end = label_fresh(g);
    Reg i = fresh(g, P_TEMP32), next = fresh(g, P_TEMP32), sum = fresh(g, P_TEMP32), p = fresh(g, P_PRED), x;
    line(g, "mov.b32 %s, %s;", NAME(sum), NAME(pick_defined(g, P_32)));
    line(g, "mov.u32 %s, %u;", NAME(i), doubles ? 1 + below(g, 3) : 1u << log);
    label_here(g, &top);
    write_round(g, sum, i);
    line(g, doubles ? "shl.b32 %s, %s, %u;" : "shr.u32 %s, %s, %u;", NAME(next), NAME(i), shift);
    const char *cmp = doubles ? leaves ? "ge" : "lt" : leaves ? "le" : "gt";
    line(g, "setp.%s.u32 %s, %s, %u;", cmp, NAME(p), old ? NAME(i) : NAME(next),
         doubles ? 2u << log
         : old   ? (1u << shift) - 1
                 : 0);
    line(g, "mov.u32 %s, %s;", NAME(i), NAME(next));
    line(g, "@%s bra %s;", NAME(p), leaves ? end.name : top.name);
    if (leaves)
        line(g, "bra %s;", top.name);
    label_here(g, &end);
    x = pick_result(g, P_32);
    line(g, "add.s32 %s, %s, %s;", NAME(x), NAME(sum), NAME(i));
    mark_defined(g, x);
    unfreeze(g, &before);
}
