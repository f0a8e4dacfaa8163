#include "gen.h"

/* Counted loops with guards on what is counted: a store, or more, is executed while numbers lie between two bounds, or the loop is left
 * where they do not. These are near the first, a middle, or the last iteration, before and after all of them, or at an end of the
 * numbers, where what is compared may wrap. Of two loops that adjoin the first computes bounds of the second. */
typedef struct Line {
    bool wide;
    i64 start, step;
    Reg by; /* where it is one: `step` is multiplied by it */
    Reg value;
} Line;

typedef struct Between {
    Line own;     /* stepped beside the counter */
    i64 factor;   /* not 0: the counter times this plus `start` of own is compared instead */
    i64 more;     /* is added to what is compared */
    int extended; /* the value has 32 bits, the comparison 64: 1 signed, 2 unsigned */
    bool is_signed, leaves;
    const char *cmp[2];  /* the guard holds where all do; the second may be NULL */
    Reg bound[2], other; /* other: a number whose sign is asked for with the value's */
} Between;

enum { BETWEEN_MAX = 4, TRIPS = 32 };

typedef struct RangedLoop {
    Label top, exit;
    Line counter;
    bool is_signed, old;
    const char *cmp;
    Reg bound, trips, seen;
    Between guard[BETWEEN_MAX];
    u32 guards;
} RangedLoop;

static void step(Gen *g, const Line *l)
{
    Reg from = l->wide ? l->value : narrowed_number(g, l->value);
    if (l->by.pool != P_NONE)
        line(g, "%s.s%u %s, %s, %s;", l->step < 0 ? "sub" : "add", number_bits(l->wide), NAME(l->value), NAME(from),
             NAME(l->by));
    else
        line(g, "add.s%u %s, %s, %lld;", number_bits(l->wide), NAME(l->value), NAME(from), (long long)l->step);
}

/* r = start + k * step */
static void set_after(Gen *g, const Line *l, Reg r, i64 start, Reg k)
{
    set_number(g, l->wide, r, start);
    if (l->by.pool != P_NONE) {
        Reg way = fresh_number(g, l->wide), wide = k;
        if (l->wide) {
            wide = fresh(g, P_TEMP64);
            line(g, "cvt.s64.s32 %s, %s;", NAME(wide), NAME(k));
        }
        line(g, "mul.lo.s%u %s, %s, %s;", number_bits(l->wide), NAME(way), NAME(wide), NAME(l->by));
        line(g, "mad.lo.s%u %s, %s, %lld, %s;", number_bits(l->wide), NAME(r), NAME(way), (long long)l->step, NAME(r));
        return;
    }
    line(g, l->wide ? "mad.wide.s32 %s, %s, %lld, %s;" : "mad.lo.s32 %s, %s, %lld, %s;", NAME(r), NAME(k),
         (long long)l->step, NAME(r));
}

static i64 pick_step(Gen *g)
{
    static const i64 steps[] = {1, 1, 1, 1, 2, 4, 4, 8, -1, -1, -2, -4, 3, 7, -5, 0x1000};
    return steps[below(g, COUNT_OF(steps))];
}

static i64 near_end(Gen *g, bool wide);

/* Now and then puts the step into a register. counts: it is more than 0. Others may go around in a few iterations. */
static void make_register_step(Gen *g, Line *l, bool counts)
{
    static const i64 large[] = {0x10000001, 0x22222222, 0x2aaaaaab, 0x40000003, 0x55555556};
    if (!percent(g, 25))
        return;
    Reg low = fresh(g, P_TEMP32);
    l->step = percent(g, 70) ? 1 : -1;
    line(g, "and.b32 %s, %s, 1;", NAME(low), NAME(pick_defined(g, P_32)));
    line(g, "mad.lo.s32 %s, %s, %u, %u;", NAME(low), NAME(low), 1 + below(g, 9),
         percent(g, 95) || counts ? 1 + below(g, 5) : 0);
    if (!counts && percent(g, 20))
        set_number(g, false, low, percent(g, 60) ? large[below(g, COUNT_OF(large))] : near_end(g, false));
    l->by = low;
    if (!l->wide)
        return;
    l->by = fresh(g, P_TEMP64);
    line(g, "cvt.%s %s, %s;", percent(g, 50) ? "s64.s32" : "u64.u32", NAME(l->by), NAME(low));
}

static i64 near_end(Gen *g, bool wide)
{
    static const i64 ends[] = {0, 0, 0, 0, 1, 0x7fffffff, 0x80000000, 0xffffffff, -1};
    static const i64 wide_ends[] = {INT64_MAX, INT64_MIN, -1, 0x7fffffff, 0x100000000};
    u64 end = (u64)(wide && percent(g, 30) ? wide_ends[below(g, COUNT_OF(wide_ends))] : ends[below(g, COUNT_OF(ends))]);
    return (i64)(end + (u64)between(g, -40, 9));
}

static void make_counter(Gen *g, RangedLoop *l)
{
    static const i64 safe[] = {0, 0, 0, 1, 100, 0x7ff00000, 0x80100000, 0xfff00000};
    Line *c = &l->counter;
    *c = (Line){.wide = percent(g, 25), .step = pick_step(g)};
    make_register_step(g, c, true);
    bool in_register = c->by.pool != P_NONE;
    c->value = fresh_number(g, c->wide);
    l->bound = fresh_number(g, c->wide);
    l->is_signed = percent(g, 60);
    bool exact = !in_register && percent(g, 40), strict = percent(g, 70), down = c->step < 0;
    l->cmp = exact ? "ne" : down ? (strict ? "gt" : "ge") : strict ? "lt" : "le";
    c->start = exact ? near_end(g, c->wide) : down ? 0x60000 : safe[below(g, COUNT_OF(safe))];
    line(g, "and.b32 %s, %s, %u;", NAME(l->trips), NAME(pick_defined(g, P_32)), percent(g, 25) ? 7 : TRIPS - 1);
    line(g, "add.s32 %s, %s, 1;", NAME(l->trips), NAME(l->trips));
    set_number(g, c->wide, c->value, c->start);
    set_after(g, c, l->bound, l->old && exact ? (i64)((u64)c->start - (u64)c->step) : c->start, l->trips);
    if (!exact && !in_register && percent(g, 40))
        line(g, "add.s%u %s, %s, %lld;", number_bits(c->wide), NAME(l->bound), NAME(l->bound),
             (long long)(c->step > 1    ? -(i64)below(g, 2)
                         : c->step < -1 ? (i64)below(g, 2)
                                        : 0));
}

/* A bound that the value passes in some iteration, or near it. */
static Reg make_bound(Gen *g, const RangedLoop *l, const Between *b, const Line *of, i64 start)
{
    Reg k = fresh(g, P_TEMP32), near = fresh_number(g, of->wide);
    if (percent(g, 30)) {
        line(g, "add.s32 %s, %s, %d;", NAME(k), NAME(l->trips), (int)between(g, -2, 1));
    } else if (percent(g, 50)) {
        line(g, "and.b32 %s, %s, %u;", NAME(k), NAME(pick_defined(g, P_32)), percent(g, 50) ? 3 : TRIPS - 1);
        line(g, "add.s32 %s, %s, %d;", NAME(k), NAME(k), (int)between(g, -2, 2));
    } else {
        line(g, "mov.u32 %s, %d;", NAME(k), (int)between(g, -3, TRIPS + 3));
    }
    if (percent(g, 12))
        set_number(g, of->wide, near, near_end(g, of->wide));
    else
        set_after(g, of, near, (i64)((u64)start + (u64)between(g, -1, 1)), k);
    if (!b->extended)
        return near;
    Reg wide = fresh(g, P_TEMP64);
    line(g, "cvt.%s %s, %s;", b->extended == 1 ? "s64.s32" : "u64.u32", NAME(wide), NAME(near));
    return wide;
}

static void make_guard(Gen *g, RangedLoop *l)
{
    static const char *const above[] = {"ge", "ge", "gt"}, *const under[] = {"lt", "lt", "le"};
    Between *b = &l->guard[l->guards++];
    *b = (Between){.is_signed = percent(g, 65), .leaves = percent(g, 12), .more = percent(g, 50) ? between(g, -3, 3) : 0};
    Line of = b->own = (Line){.wide = percent(g, 20), .step = pick_step(g), .start = near_end(g, false)};
    if (percent(g, 50)) {
        static const i64 factors[] = {1, 1, 1, 2, 4, -1, 3};
        b->factor = factors[below(g, COUNT_OF(factors))];
        of = (Line){.wide = l->counter.wide, .by = l->counter.by, .step = (i64)((u64)l->counter.step * (u64)b->factor)};
        of.start = (i64)((u64)b->own.start + (u64)l->counter.start * (u64)b->factor);
    } else {
        make_register_step(g, &b->own, false);
        b->own.value = fresh_number(g, b->own.wide);
        set_number(g, b->own.wide, b->own.value, b->own.start);
        of = b->own;
    }
    b->extended = of.wide || percent(g, 75) ? 0 : 1 + (int)below(g, 2);
    u32 form = below(g, 4);
    b->cmp[0] = form == 0 ? above[below(g, COUNT_OF(above))] : under[below(g, COUNT_OF(under))];
    b->cmp[1] = form >= 2 ? above[below(g, COUNT_OF(above))] : NULL;
    for (u32 k = 0; k < 2; k++)
        if (b->cmp[k])
            b->bound[k] = make_bound(g, l, b, &of, (i64)((u64)of.start + (u64)b->more));
    if (!of.wide && !b->extended && percent(g, 25)) {
        b->other = fresh(g, P_TEMP32);
        line(g, "shr.s32 %s, %s, %u;", NAME(b->other), NAME(pick_defined(g, P_32)), 1 + below(g, 2));
        if (percent(g, 60))
            line(g, "and.b32 %s, %s, 2147483647;", NAME(b->other), NAME(b->other));
    }
}

static Reg write_value(Gen *g, const RangedLoop *l, const Between *b, i64 more)
{
    const Line *of = b->factor ? &l->counter : &b->own;
    Reg value = of->value;
    if (b->factor) {
        value = fresh_number(g, of->wide);
        line(g, "mul.lo.s%u %s, %s, %lld;", number_bits(of->wide), NAME(value), NAME(of->value), (long long)b->factor);
        more = (i64)((u64)more + (u64)b->own.start);
    }
    if (more)
        value = added_number(g, of->wide, value, of->wide ? more : (i32)more);
    if (!b->extended)
        return value;
    Reg extended = fresh(g, P_TEMP64);
    line(g, "cvt.%s %s, %s;", b->extended == 1 ? "s64.s32" : "u64.u32", NAME(extended), NAME(value));
    return extended;
}

/* The predicate of the guard, or of its opposite. */
static Reg write_condition(Gen *g, const RangedLoop *l, const Between *b, i64 more, bool opposite)
{
    bool wide = b->extended || (b->factor ? l->counter.wide : b->own.wide);
    Reg value = write_value(g, l, b, more), all = {P_NONE, 0};
    for (u32 k = 0; k < 3; k++) {
        Reg p = fresh(g, P_PRED), made = p;
        if (k == 2 && b->other.pool != P_NONE) {
            Reg both = fresh(g, P_TEMP32);
            line(g, "or.b32 %s, %s, %s;", NAME(both), NAME(value), NAME(b->other));
            line(g, "setp.%s.s32 %s, %s, 0;", opposite ? "lt" : "ge", NAME(p), NAME(both));
        } else if (k < 2 && b->cmp[k]) {
            line(g, "setp.%s.%s %s, %s, %s;", opposite ? cmp_opposite(b->cmp[k]) : b->cmp[k],
                 number_type(wide, b->is_signed), NAME(p), NAME(value), NAME(b->bound[k]));
        } else {
            continue;
        }
        if (all.pool != P_NONE) {
            made = fresh(g, P_PRED);
            line(g, "%s.pred %s, %s, %s;", opposite ? "or" : "and", NAME(made), NAME(all), NAME(p));
        }
        all = made;
    }
    return all;
}

static void write_guard(Gen *g, const RangedLoop *l, const Between *b, i64 more)
{
    bool opposite = percent(g, 60), otherwise = percent(g, 25);
    Label skip = label_fresh(g), on = label_fresh(g);
    Reg p = write_condition(g, l, b, b->more + more, opposite);
    State start = g->state;
    line(g, "@%s%s bra %s;", opposite ? "" : "!", NAME(p), b->leaves ? l->exit.name : skip.name);
    if (b->leaves)
        return;
    if (percent(g, 70))
        line(g, "st.%sglobal.u32 [%%out+%u], %s;", percent(g, 20) ? "volatile." : "", 64 + 4 * below(g, 16),
             NAME(l->trips));
    line(g, "mad.lo.s32 %s, %s, 3, %d;", NAME(l->seen), NAME(l->seen), (int)(more + 5));
    if (percent(g, 20))
        arm(g, DIVERGENT, 1);
    if (otherwise)
        line(g, "bra %s;", on.name);
    label_here(g, &skip);
    if (otherwise) {
        line(g, "add.s32 %s, %s, 17;", NAME(l->seen), NAME(l->seen));
        label_here(g, &on);
    }
    state_meet(&g->state, &start);
}

static void write_body(Gen *g, const RangedLoop *l)
{
    line(g, "mad.lo.s32 %s, %s, 7, 1;", NAME(l->seen), NAME(l->seen));
    for (u32 k = 0; k < l->guards; k++) {
        const Between *b = &l->guard[k];
        for (i64 more = 0; more == 0 || (more < 4 && percent(g, 25)); more++)
            write_guard(g, l, b, more);
        if (percent(g, 30))
            straight_line(g, 1 + below(g, 2));
        if (!b->factor && percent(g, 20))
            step(g, &b->own);
    }
    if (percent(g, 15))
        arm(g, DIVERGENT, 1);
    if (percent(g, 40))
        line(g, "st.global.u32 [%%out+%u], %s;", 64 + 4 * below(g, 16), NAME(l->seen));
    if (percent(g, 5)) {
        Cond c = cond_make(g, DIVERGENT);
        branch_if(g, &c, true, &l->exit, DIVERGENT);
    }
    for (u32 k = 0; k < l->guards; k++)
        if (!l->guard[k].factor)
            step(g, &l->guard[k].own);
}

static void write_test(Gen *g, const RangedLoop *l)
{
    const Line *c = &l->counter;
    Reg p = fresh(g, P_PRED);
    bool opposite = percent(g, 20);
    if (!l->old)
        step(g, c);
    line(g, "setp.%s.%s %s, %s, %s;", opposite ? cmp_opposite(l->cmp) : l->cmp, number_type(c->wide, l->is_signed), NAME(p),
         NAME(c->value), NAME(l->bound));
    if (l->old)
        step(g, c);
    line(g, "@%s bra %s;", NAME(p), opposite ? l->exit.name : l->top.name);
    if (opposite)
        line(g, "bra.uni %s;", l->top.name);
}

/* What is left in the counters is seen. */
static void show(Gen *g, const RangedLoop *l)
{
    Reg sum = pick_result(g, P_32);
    line(g, "mov.u32 %s, %s;", NAME(sum), NAME(l->seen));
    for (u32 k = 0; k <= l->guards; k++) {
        const Line *c = k < l->guards ? &l->guard[k].own : &l->counter;
        if ((k < l->guards && l->guard[k].factor) || percent(g, 40))
            continue;
        Reg low = low_number(g, c->wide, c->value);
        line(g, "mad.lo.s32 %s, %s, 5, %s;", NAME(sum), NAME(sum), NAME(low));
    }
    mark_defined(g, sum);
}

static bool may_write_loop(const Gen *g) { return g->loops < LOOPS_MAX - 2 && !g->in_function; }

static RangedLoop make_loop(Gen *g)
{
    RangedLoop l = {.top = label_fresh(g), .exit = label_fresh(g), .old = percent(g, 15)};
    l.trips = fresh(g, P_TEMP32);
    l.seen = fresh(g, P_TEMP32);
    line(g, "mov.u32 %s, 1;", NAME(l.seen));
    make_counter(g, &l);
    for (u32 guards = 1 + below(g, BETWEEN_MAX); l.guards < guards;)
        make_guard(g, &l);
    return l;
}

/* Computes bounds of a loop that follows anew: of its counter, and of some of its guards. */
static void write_bounds(Gen *g, const RangedLoop *l, const RangedLoop *next)
{
    line(g, "and.b32 %s, %s, %u;", NAME(next->trips), NAME(l->seen), TRIPS - 1);
    line(g, "add.s32 %s, %s, 1;", NAME(next->trips), NAME(next->trips));
    i64 start = next->counter.start;
    if (next->old && !strcmp(next->cmp, "ne"))
        start = (i64)((u64)start - (u64)next->counter.step);
    set_after(g, &next->counter, next->bound, start, next->trips);
    for (u32 k = 0; k < next->guards; k++) {
        const Between *b = &next->guard[k];
        if (!b->factor && !b->extended && b->cmp[0] && percent(g, 50))
            set_after(g, &b->own, b->bound[0], b->own.start, next->trips);
    }
}

/* next: the loop that follows at once; NULL: anything may. */
static void write_loop(Gen *g, const RangedLoop *l, const RangedLoop *next)
{
    State start = g->state;
    label_here(g, &l->top);
    g->loop[g->loops++] = (LoopFrame){l->exit, l->exit, DIVERGENT, g->scope_depth};
    write_body(g, l);
    if (next)
        write_bounds(g, l, next);
    g->loops--;
    write_test(g, l);
    label_here(g, &l->exit);
    for (u32 i = 0; i < POOLS; i++)
        g->state.pool[i] = start.pool[i];
}

void statement_ranged(Gen *g)
{
    if (!may_write_loop(g))
        return;
    Frozen before = frozen_now(g);
    Level level = g->level;
    g->level = DIVERGENT;
    RangedLoop l = make_loop(g);
    write_loop(g, &l, NULL);
    show(g, &l);
    g->level = level;
    unfreeze(g, &before);
}

void statement_adjoining(Gen *g)
{
    if (!may_write_loop(g))
        return;
    Frozen before = frozen_now(g);
    Level level = g->level;
    g->level = DIVERGENT;
    RangedLoop first = make_loop(g), second = make_loop(g);
    write_loop(g, &first, &second);
    write_loop(g, &second, NULL);
    show(g, &first);
    show(g, &second);
    g->level = level;
    unfreeze(g, &before);
}
