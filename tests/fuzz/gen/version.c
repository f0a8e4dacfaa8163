#include "gen.h"

/* Counted loops whose bounds checks lead to what stops the thread, or calls a function and goes on. What counts, and what is checked,
 * starts anywhere, the ends of the range included; steps are constants, registers, and products; values are computed from the counter
 * or stepped beside it, and extended to 64 bits or not. Bounds let a check fail in the first, the last, or another iteration. */
typedef struct Counted {
    bool wide, is_signed, down;
    const char *cmp; /* value cmp bound, and the loop goes on */
    i64 start;
    u32 step; /* its magnitude, where it is a constant; otherwise 0 */
    Reg by;   /* the magnitude, in a register as wide, where it is none */
    Reg value, bound;
} Counted;

typedef enum Made { MADE_COUNTER, MADE_STEPPED, MADE_PRODUCT, MADE_INVARIANT, MADE_BOUNDED, MADE_FORMS } Made;

typedef enum Clamp {
    CLAMP_MASK,
    CLAMP_SMALLER,
    CLAMP_REMAINDER,
    CLAMP_REMAINDER_SIGNED,
    CLAMP_COUNTER,
    CLAMP_BELOW_FIRST,
    CLAMP_ABOVE_FIRST,
    CLAMPS
} Clamp;

typedef struct Guarded {
    Made made;
    bool wide, is_signed;    /* of the comparison */
    int extended;            /* the value has 32 bits, the comparison 64: 1 signed, 2 unsigned */
    Counted own;             /* stepped beside the counter */
    Reg factor, base, bound; /* bounded: at most the factor, and the base is added */
    u32 clamp;               /* how it is bounded */
    i64 more;
    const char *cmp;
} Guarded;

enum { GUARDS_MAX = 6, TRIPS = 8 };

typedef struct VersionLoop {
    Label top, exit;
    Counted counter;
    Guarded guard[GUARDS_MAX];
    u32 guards;
    bool at_top;
    i64 more; /* is added to what the counter compares */
    Reg trips, seen;
} VersionLoop;

/* r = value + k * step */
static void set_after(Gen *g, const Counted *c, Reg r, i64 value, Reg k)
{
    set_number(g, c->wide, r, value);
    Reg by = c->by;
    if (c->step) {
        by = fresh_number(g, c->wide);
        set_number(g, c->wide, by, c->step);
    }
    Reg way = fresh_number(g, c->wide), wide = k;
    if (c->wide) {
        wide = fresh(g, P_TEMP64);
        line(g, "cvt.s64.s32 %s, %s;", NAME(wide), NAME(k));
    }
    line(g, "mul.lo.s%u %s, %s, %s;", number_bits(c->wide), NAME(way), NAME(wide), NAME(by));
    line(g, "%s.s%u %s, %s, %s;", c->down ? "sub" : "add", number_bits(c->wide), NAME(r), NAME(r), NAME(way));
}

static void step(Gen *g, const Counted *c)
{
    const char *value = NAME(c->wide ? c->value : narrowed_number(g, c->value));
    if (c->step)
        line(g, "add.s%u %s, %s, %lld;", number_bits(c->wide), NAME(c->value), value,
             c->down ? -(long long)c->step : (long long)c->step);
    else
        line(g, "%s.s%u %s, %s, %s;", c->down ? "sub" : "add", number_bits(c->wide), NAME(c->value), value, NAME(c->by));
}

static Counted counted_make(Gen *g, bool wide)
{
    static const u32 steps[] = {1, 1, 1, 2, 3, 4, 4, 8};
    Counted c = {.wide = wide, .is_signed = percent(g, 50), .down = percent(g, 25)};
    c.value = fresh_number(g, wide);
    c.bound = fresh_number(g, wide);
    if (percent(g, 65)) {
        c.step = steps[below(g, COUNT_OF(steps))];
        return c;
    }
    Reg low = fresh(g, P_TEMP32);
    line(g, "and.b32 %s, %s, 1;", NAME(low), NAME(pick_defined(g, P_32)));
    line(g, "mad.lo.s32 %s, %s, %u, %u;", NAME(low), NAME(low), 1 + below(g, 9), percent(g, 95) ? 1 + below(g, 5) : 0);
    c.by = low;
    if (wide) {
        c.by = fresh(g, P_TEMP64);
        line(g, "cvt.u64.u32 %s, %s;", NAME(c.by), NAME(low));
    }
    return c;
}

/* A number near an end of the range. */
static i64 near_end(Gen *g, bool wide)
{
    static const i64 ends[] = {0, 0, 0, 0x7fffffff, 0x80000000, 0xffffffff, -1};
    static const i64 wide_ends[] = {INT64_MAX, INT64_MIN, -1, 0x100000000};
    u64 end = (u64)(wide && percent(g, 40) ? wide_ends[below(g, COUNT_OF(wide_ends))] : ends[below(g, COUNT_OF(ends))]);
    return (i64)(end + (u64)between(g, -9, 9));
}

/* Where nothing wraps in the next iterations, unless only `ne` is asked. */
static void make_counter(Gen *g, VersionLoop *l)
{
    static const i64 safe[] = {0, 0, 0, 1, 100, 0x7ffffe00, 0x80000100, 0xfffffe00};
    Counted *c = &l->counter;
    *c = counted_make(g, percent(g, 35));
    bool exact = c->step && percent(g, 40), strict = percent(g, 70);
    c->cmp = exact ? "ne" : c->down ? (strict ? "gt" : "ge") : strict ? "lt" : "le";
    c->start = exact ? near_end(g, c->wide) : c->down ? 1000 : safe[below(g, COUNT_OF(safe))];
    line(g, "and.b32 %s, %s, %u;", NAME(l->trips), NAME(pick_defined(g, P_32)), percent(g, 60) ? 3 : TRIPS - 1);
    bool runs = !l->at_top || percent(g, 60);
    if (runs)
        line(g, "add.s32 %s, %s, 1;", NAME(l->trips), NAME(l->trips));
    if (!c->step) /* a step of zero ends the loop by the bound, or not at all */
        line(g, "max.u%u %s, %s, 1;", number_bits(c->wide), NAME(c->by), NAME(c->by));
    set_number(g, c->wide, c->value, c->start);
    set_after(g, c, c->bound, c->start, l->trips);
    l->more = exact && percent(g, 40) ? between(g, -9, 9) : 0;
    if (l->more)
        line(g, "add.s%u %s, %s, %lld;", number_bits(c->wide), NAME(c->bound), NAME(c->bound), (long long)l->more);
    if (runs && !exact && c->step > 1 && percent(g, 50))
        line(g, "%s.s%u %s, %s, %u;", c->down ? "add" : "sub", number_bits(c->wide), NAME(c->bound), NAME(c->bound),
             below(g, c->step));
}

/* The bound of a check that fails in some iteration, or near it. */
static void make_bound(Gen *g, Guarded *c, const Counted *of, i64 start, Reg trips)
{
    Reg k = fresh(g, P_TEMP32), near = fresh_number(g, of->wide);
    if (percent(g, 60))
        line(g, "add.s32 %s, %s, %d;", NAME(k), NAME(trips), (int)between(g, -1, 1));
    else
        line(g, "mov.u32 %s, %d;", NAME(k), (int)between(g, -1, TRIPS + 3));
    set_after(g, of, near, (i64)((u64)start + (u64)between(g, -1, 1)), k);
    c->bound = near;
    if (c->wide == of->wide)
        return;
    c->bound = fresh(g, P_TEMP64);
    if (percent(g, 10))
        set_number(g, true, c->bound, near_end(g, true));
    else
        line(g, "cvt.%s %s, %s;", c->extended == 1 ? "s64.s32" : "u64.u32", NAME(c->bound), NAME(near));
}

static bool is_divisor(const Guarded *c) { return c->clamp == CLAMP_REMAINDER || c->clamp == CLAMP_REMAINDER_SIGNED; }

/* A check of a masked or clamped number, and a base that is added to it: their sum fails it in some iteration, or nearly does. */
static void make_bounded(Gen *g, Guarded *c)
{
    static const char *const cmps[] = {"lt", "lt", "lt", "lt", "le", "gt", "ge"};
    u32 most = percent(g, 80) ? below(g, 40) : (u32)near_end(g, false), base = percent(g, 60) ? 0 : (u32)near_end(g, false);
    c->clamp = below(g, CLAMPS);
    c->factor = fresh(g, P_TEMP32);
    c->base = fresh(g, P_TEMP32);
    c->bound = fresh_number(g, c->wide = percent(g, 35));
    c->extended = c->wide ? 1 + (int)below(g, 2) : 0;
    c->cmp = cmps[below(g, COUNT_OF(cmps))];
    bool plain = c->clamp == CLAMP_REMAINDER_SIGNED && percent(g, 70); /* fails only where the dividend is negative */
    if (plain) {
        c->cmp = "lt";
        c->is_signed = false;
        base = 0;
    }
    c->more = base;
    set_number(g, false, c->factor, is_divisor(c) && !most ? 1 : most);
    set_number(g, false, c->base, base);
    u32 near = most + base + (u32)between(g, plain ? 1 : -2, 2);
    set_number(g, c->wide, c->bound, c->extended == 1 ? (i64)(int32_t)near : (i64)near);
}

static void make_guard(Gen *g, VersionLoop *l)
{
    static const char *const rising[] = {"lt", "lt", "lt", "le", "ge", "gt", "ne"}, *const falling[] = {"gt", "ge", "ge",
                                                                                                        "lt", "le"};
    Guarded *c = &l->guard[l->guards++];
    *c = (Guarded){.made = (Made)below(g, MADE_FORMS), .is_signed = percent(g, 40)};
    if (c->made == MADE_BOUNDED) {
        make_bounded(g, c);
        return;
    }
    Counted of = l->counter;
    if (c->made == MADE_INVARIANT && percent(g, 60))
        c->made = MADE_STEPPED;
    if (c->made == MADE_STEPPED || c->made == MADE_INVARIANT) {
        c->own = counted_make(g, percent(g, 35));
        c->own.start = near_end(g, c->own.wide);
        set_number(g, c->own.wide, c->own.value, c->own.start);
        of = c->own;
    }
    i64 start = of.start;
    c->more = c->made != MADE_PRODUCT && percent(g, 50) ? between(g, -3, 3) : 0;
    if (c->made == MADE_PRODUCT) {
        c->factor = fresh_number(g, of.wide);
        c->base = fresh_number(g, of.wide);
        u32 factor = 1 + below(g, 5);
        set_number(g, of.wide, c->factor, factor);
        start = near_end(g, of.wide);
        set_number(g, of.wide, c->base, (i64)((u64)start - (u64)of.start * factor));
        of.step *= factor;
    }
    c->wide = of.wide;
    if (!of.wide && percent(g, 35)) {
        c->wide = true;
        c->extended = 1 + (int)below(g, 2);
    }
    c->cmp = of.down ? falling[below(g, COUNT_OF(falling))] : rising[below(g, COUNT_OF(rising))];
    make_bound(g, c, &of, (i64)((u64)start + (u64)c->more), l->trips);
}

/* r = x, masked or clamped by a number that does not change. */
static void write_bounded(Gen *g, const Guarded *c, Reg r, Reg x, Reg counter)
{
    const char *most = NAME(c->factor);
    switch (c->clamp) {
    case CLAMP_MASK: line(g, "and.b32 %s, %s, %s;", NAME(r), NAME(x), most); break;
    case CLAMP_SMALLER: line(g, "min.u32 %s, %s, %s;", NAME(r), most, NAME(x)); break;
    case CLAMP_REMAINDER: line(g, "rem.u32 %s, %s, %s;", NAME(r), NAME(x), most); break;
    case CLAMP_REMAINDER_SIGNED: line(g, "rem.s32 %s, %s, %s;", NAME(r), NAME(x), most); break;
    case CLAMP_COUNTER: line(g, "min.s32 %s, %s, %s;", NAME(r), NAME(counter), most); break;
    case CLAMP_BELOW_FIRST:
        line(g, "max.s32 %s, %s, 0;", NAME(r), NAME(x));
        line(g, "min.s32 %s, %s, %s;", NAME(r), NAME(r), most);
        break;
    default: line(g, "min.s32 %s, %s, %s;", NAME(r), NAME(x), most); line(g, "max.s32 %s, %s, 0;", NAME(r), NAME(r));
    }
}

static Reg bounded_value(Gen *g, const VersionLoop *l, const Guarded *c)
{
    Reg x = fresh(g, P_TEMP32), r = fresh(g, P_TEMP32), extended;
    Reg counter = l->counter.wide ? low_number(g, true, l->counter.value) : l->counter.value;
    if (c->clamp == CLAMP_REMAINDER_SIGNED) { /* from -2 on, or a few more */
        line(g, "sub.s32 %s, %s, %d;", NAME(x), NAME(counter), (int)((u32)l->counter.start + 2));
        line(g, "add.s32 %s, %s, %s;", NAME(x), NAME(x), NAME(l->trips));
    } else {
        line(g, "mad.lo.s32 %s, %s, 77, %s;", NAME(x), NAME(counter), NAME(pick_defined(g, P_32)));
    }
    write_bounded(g, c, r, x, counter);
    if (c->more)
        line(g, "add.s32 %s, %s, %s;", NAME(r), NAME(r), NAME(c->base));
    if (!c->extended)
        return r;
    extended = fresh(g, P_TEMP64);
    line(g, "cvt.%s %s, %s;", c->extended == 1 ? "s64.s32" : "u64.u32", NAME(extended), NAME(r));
    return extended;
}

/* The value that the check compares. */
static Reg write_value(Gen *g, const VersionLoop *l, const Guarded *c)
{
    if (c->made == MADE_BOUNDED)
        return bounded_value(g, l, c);
    bool own = c->made == MADE_STEPPED || c->made == MADE_INVARIANT, wide = own ? c->own.wide : l->counter.wide;
    Reg value = own ? c->own.value : l->counter.value, made = fresh_number(g, wide);
    if (c->made == MADE_PRODUCT)
        line(g, "mad.lo.s%u %s, %s, %s, %s;", number_bits(wide), NAME(made), NAME(value), NAME(c->factor), NAME(c->base));
    else if (c->more)
        line(g, "add.s%u %s, %s, %lld;", number_bits(wide), NAME(made), NAME(value), (long long)c->more);
    else
        made = value;
    if (!c->extended)
        return made;
    Reg extended = fresh(g, P_TEMP64);
    line(g, "cvt.%s %s, %s;", c->extended == 1 ? "s64.s32" : "u64.u32", NAME(extended), NAME(made));
    return extended;
}

static void write_failure(Gen *g, const VersionLoop *l, u32 number)
{
    State start = g->state;
    line(g, "mov.u32 %s, %u;", NAME(l->seen), 1 + number);
    bool exits = !g->may_sync && percent(g, 60);
    if (percent(g, 50))
        line(g, "st.global.u32 [%%out+%u], %s;", 64 + 4 * below(g, 16), NAME(l->seen));
    if (exits || !g->callees)
        line(g, percent(g, 50) ? "exit;" : "ret;");
    else
        statement_call(g);
    g->state = start;
}

static void write_guard(Gen *g, const VersionLoop *l, const Guarded *c, u32 number)
{
    Reg p = fresh(g, P_PRED), value = write_value(g, l, c);
    bool opposite = percent(g, 50), swapped = percent(g, 20), both = percent(g, 10);
    const char *cmp = opposite ? cmp_opposite(c->cmp) : c->cmp;
    if (swapped)
        cmp = cmp[0] == 'l' ? (cmp[1] == 't' ? "gt" : "ge") : cmp[0] == 'g' ? (cmp[1] == 't' ? "lt" : "le") : cmp;
    line(g, "setp.%s.%s %s, %s, %s;", cmp, number_type(c->wide, c->is_signed), NAME(p), NAME(swapped ? c->bound : value),
         NAME(swapped ? value : c->bound));
    if (both) { /* with a condition that holds, as far as is known */
        Reg q = fresh(g, P_PRED), r = fresh(g, P_PRED);
        line(g, "setp.%s.u32 %s, %s, 77;", opposite ? "ge" : "lt", NAME(q), NAME(l->trips));
        line(g, "%s.pred %s, %s, %s;", opposite ? "or" : "and", NAME(r), NAME(p), NAME(q));
        p = r;
    }
    Label on = label_fresh(g);
    line(g, "@%s%s bra %s;", opposite ? "!" : "", NAME(p), on.name);
    write_failure(g, l, number);
    label_here(g, &on);
}

static void write_body(Gen *g, const VersionLoop *l)
{
    for (u32 k = 0; k < l->guards; k++) {
        const Guarded *c = &l->guard[k];
        write_guard(g, l, c, k);
        if (percent(g, 50))
            straight_line(g, 1 + below(g, 2));
        if (percent(g, 25))
            line(g, "st.%sglobal.u32 [%%out+%u], %s;", percent(g, 50) ? "volatile." : "", 64 + 4 * below(g, 16),
                 NAME(l->trips));
        if (c->made == MADE_STEPPED && percent(g, 20))
            step(g, &c->own);
    }
    if (percent(g, 20))
        arm(g, DIVERGENT, 1);
    if (percent(g, 12)) {
        Cond c = cond_make(g, DIVERGENT);
        branch_if(g, &c, true, &l->exit, DIVERGENT);
    }
    for (u32 k = 0; k < l->guards; k++)
        if (l->guard[k].made == MADE_STEPPED)
            step(g, &l->guard[k].own);
}

static void write_test(Gen *g, const VersionLoop *l)
{
    const Counted *c = &l->counter;
    Reg p = fresh(g, P_PRED);
    bool opposite = l->at_top || percent(g, 30);
    Reg value = l->more ? added_number(g, c->wide, c->value, l->more) : c->value;
    line(g, "setp.%s.%s %s, %s, %s;", opposite ? cmp_opposite(c->cmp) : c->cmp, number_type(c->wide, c->is_signed), NAME(p),
         NAME(value), NAME(c->bound));
    line(g, "@%s bra %s;", NAME(p), opposite ? l->exit.name : l->top.name);
    if (opposite && !l->at_top)
        line(g, "bra.uni %s;", l->top.name);
}

/* What is left in the counters is seen. */
static void show(Gen *g, const VersionLoop *l)
{
    Reg sum = pick_result(g, P_32);
    line(g, "mov.u32 %s, %s;", NAME(sum), NAME(l->seen));
    for (u32 k = 0; k <= l->guards; k++) {
        const Counted *c = k < l->guards ? &l->guard[k].own : &l->counter;
        if ((k < l->guards && l->guard[k].made != MADE_STEPPED) || percent(g, 40))
            continue;
        Reg low = low_number(g, c->wide, c->value);
        line(g, "mad.lo.s32 %s, %s, 5, %s;", NAME(sum), NAME(sum), NAME(low));
    }
    mark_defined(g, sum);
}

static void write_loop(Gen *g)
{
    VersionLoop l = {.top = label_fresh(g), .exit = label_fresh(g), .at_top = percent(g, 30)};
    l.trips = fresh(g, P_TEMP32);
    l.seen = fresh(g, P_TEMP32);
    line(g, "mov.u32 %s, 0;", NAME(l.seen));
    make_counter(g, &l);
    for (u32 guards = 1 + below(g, GUARDS_MAX); l.guards < guards;)
        make_guard(g, &l);
    State start = g->state;
    label_here(g, &l.top);
    if (percent(g, 10))
        line(g, ".pragma \"nounroll\";");
    if (l.at_top)
        write_test(g, &l);
    g->loop[g->loops++] = (LoopFrame){l.exit, l.exit, DIVERGENT, g->scope_depth};
    write_body(g, &l);
    g->loops--;
    step(g, &l.counter);
    if (l.at_top)
        jump(g, &l.top);
    else
        write_test(g, &l);
    label_here(g, &l.exit);
    for (u32 i = 0; i < POOLS; i++)
        g->state.pool[i] = start.pool[i];
    show(g, &l);
}

void statement_version(Gen *g)
{
    if (g->loops >= LOOPS_MAX - 2 || g->in_function || (!g->callees && g->may_sync))
        return;
    Frozen before = frozen_now(g);
    Level level = g->level;
    g->level = DIVERGENT;
    if (percent(g, 75)) {
        write_loop(g);
    } else { /* in another loop */
        Label top = label_fresh(g), exit = label_fresh(g);
        Reg k = fresh(g, P_TEMP32), p = fresh(g, P_PRED);
        line(g, "and.b32 %s, %s, 3;", NAME(k), NAME(pick_defined(g, P_32)));
        State start = g->state;
        label_here(g, &top);
        g->loop[g->loops++] = (LoopFrame){exit, exit, DIVERGENT, g->scope_depth};
        write_loop(g);
        g->loops--;
        line(g, "add.s32 %s, %s, -1;", NAME(k), NAME(k));
        line(g, "setp.gt.s32 %s, %s, 0;", NAME(p), NAME(k));
        line(g, "@%s bra %s;", NAME(p), top.name);
        label_here(g, &exit);
        state_meet(&g->state, &start);
    }
    g->level = level;
    unfreeze(g, &before);
}
