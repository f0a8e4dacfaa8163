#include "gen.h"

/* Counted loops with bounds checks that leave them. What a check compares starts anywhere, the ends of the range included, goes
 * up or down, and may wrap; the latch ends the loop after a few iterations. */
typedef struct Count {
    bool wide, is_signed;
    i64 start, step, more; /* value + more is compared */
    const char *cmp;       /* value + more cmp bound, and the loop goes on */
    Reg value, bound;
} Count;

enum { CHECKS_MAX = 3, TRIPS = 8 };

typedef struct CheckedLoop {
    Label top, exit, end;
    Count latch, check[CHECKS_MAX];
    u32 checks;
    bool at_top, old;
    Reg trips, left;
} CheckedLoop;

static void step(Gen *g, const Count *c)
{
    line(g, "add.s%u %s, %s, %lld;", number_bits(c->wide), NAME(c->value), NAME(c->value), (long long)c->step);
}

static Count count_make(Gen *g)
{
    static const i64 steps[] = {1, 1, 1, 1, -1, -1, 2, 4, -2, 3};
    Count c = {.wide = percent(g, 40), .is_signed = percent(g, 50), .step = steps[below(g, COUNT_OF(steps))]};
    c.value = fresh_number(g, c.wide);
    c.bound = fresh_number(g, c.wide);
    return c;
}

/* Where nothing wraps in the next iterations, unless only `ne` is asked. */
static void make_latch(Gen *g, CheckedLoop *l)
{
    static const i64 anywhere[] = {0, 1, 0x7ffffffc, 0x80000002, 0xfffffffd, -3};
    static const i64 safe[] = {0x100, 0x7fffff00, 0x80000100, 0xffffff00};
    Count *c = &l->latch;
    *c = count_make(g);
    bool up = c->step > 0;
    if (percent(g, 40)) {
        c->cmp = "ne";
        c->start = anywhere[below(g, COUNT_OF(anywhere))];
    } else {
        c->cmp = up ? "lt" : "gt";
        c->start = percent(g, 50) ? 100 : safe[below(g, COUNT_OF(safe))];
    }
    set_number(g, c->wide, c->value, c->start);
    line(g, "and.b32 %s, %s, %u;", NAME(l->trips), NAME(pick_defined(g, P_32)), percent(g, 70) ? 3 : TRIPS - 1);
    if (!l->at_top || percent(g, 50))
        line(g, "add.s32 %s, %s, 1;", NAME(l->trips), NAME(l->trips));
    i64 before = l->old ? c->step : 0;
    c->more = percent(g, 25) ? between(g, -9, 9) : 0;
    set_number(g, c->wide, c->bound, c->start - before + c->more);
    line(g, c->wide ? "mad.wide.s32 %s, %s, %lld, %s;" : "mad.lo.s32 %s, %s, %lld, %s;", NAME(c->bound), NAME(l->trips),
         (long long)c->step, NAME(c->bound));
}

static void make_check(Gen *g, CheckedLoop *l)
{
    static const i64 ends[] = {0, 0, 0, 0, 0x7fffffff, 0x80000000, 0xffffffff, -1};
    static const i64 wide_ends[] = {INT64_MAX, INT64_MIN, -1};
    static const char *const cmps[] = {"lt", "lt", "lt", "le", "gt", "ge", "ne", "ne"};
    Count *c = &l->check[l->checks++];
    *c = count_make(g);
    c->cmp = cmps[below(g, COUNT_OF(cmps))];
    u64 end = (u64)(c->wide && percent(g, 30) ? wide_ends[below(g, COUNT_OF(wide_ends))] : ends[below(g, COUNT_OF(ends))]);
    c->start = (i64)(end + (u64)between(g, -8, 8));
    set_number(g, c->wide, c->value, c->start);
    set_number(g, c->wide, c->bound,
               (i64)((u64)c->start + (u64)(c->step * between(g, -1, TRIPS)) + (u64)between(g, -1, 1)));
}

/* Where a failed check leads: out of the loop, after something that is seen or at once. */
static void write_check(Gen *g, const CheckedLoop *l, const Count *c)
{
    Reg p = fresh(g, P_PRED), value = c->value;
    bool wide = c->wide, opposite = percent(g, 50), apart = percent(g, 40);
    if (percent(g, 25))
        value = added_number(g, wide, c->value, between(g, -2, 2));
    line(g, "setp.%s.%s %s, %s, %s;", opposite ? cmp_opposite(c->cmp) : c->cmp, number_type(c->wide, c->is_signed), NAME(p),
         NAME(value), NAME(c->bound));
    if (!apart) {
        line(g, "@%s%s bra %s;", opposite ? "" : "!", NAME(p), l->exit.name);
        return;
    }
    Label on = label_fresh(g);
    line(g, "@%s%s bra %s;", opposite ? "!" : "", NAME(p), on.name);
    line(g, "mov.u32 %s, %u;", NAME(l->left), below(g, 99));
    jump(g, percent(g, 50) ? &l->exit : &l->end);
    label_here(g, &on);
}

static void write_body(Gen *g, const CheckedLoop *l)
{
    for (u32 k = 0; k < l->checks; k++) {
        if (percent(g, 40))
            straight_line(g, 1 + below(g, 2));
        write_check(g, l, &l->check[k]);
        if (percent(g, 30))
            step(g, &l->check[k]);
        if (percent(g, 20))
            step(g, &l->check[k]);
    }
    if (percent(g, 70))
        straight_line(g, 1 + below(g, 3));
    else
        arm(g, DIVERGENT, 1);
    if (percent(g, 12)) {
        Cond c = cond_make(g, DIVERGENT);
        branch_if(g, &c, true, &l->exit, DIVERGENT);
    }
    for (u32 k = 0; k < l->checks; k++)
        step(g, &l->check[k]);
}

static void write_test(Gen *g, const CheckedLoop *l)
{
    const Count *c = &l->latch;
    Reg p = fresh(g, P_PRED);
    bool opposite = l->at_top || percent(g, 40);
    Reg value = c->more ? added_number(g, c->wide, c->value, c->more) : c->value;
    line(g, "setp.%s.%s %s, %s, %s;", opposite ? cmp_opposite(c->cmp) : c->cmp,
         strcmp(c->cmp, "ne") ? number_type(c->wide, c->is_signed)
         : c->wide            ? "b64"
                              : "s32",
         NAME(p), NAME(value), NAME(c->bound));
    if (l->old)
        step(g, c);
    if (opposite)
        line(g, "@%s bra %s;", NAME(p), l->exit.name);
    else
        line(g, "@%s bra %s;", NAME(p), l->top.name);
    if (opposite && !l->at_top)
        line(g, "bra.uni %s;", l->top.name);
}

/* What is left in the counters is seen. */
static void show(Gen *g, const CheckedLoop *l)
{
    Reg sum = pick_result(g, P_32);
    line(g, "mov.u32 %s, %s;", NAME(sum), NAME(l->left));
    for (u32 k = 0; k <= l->checks; k++) {
        const Count *c = k < l->checks ? &l->check[k] : &l->latch;
        Reg low = low_number(g, c->wide, c->value);
        if (percent(g, 70))
            line(g, "mad.lo.s32 %s, %s, 5, %s;", NAME(sum), NAME(sum), NAME(low));
    }
    mark_defined(g, sum);
}

void statement_checked_loop(Gen *g)
{
    if (g->loops == LOOPS_MAX - 1)
        return;
    CheckedLoop l = {.top = label_fresh(g), .exit = label_fresh(g), .end = label_fresh(g)};
    Frozen before = frozen_now(g);
    Level level = g->level;
    l.at_top = percent(g, 25);
    l.old = !l.at_top && percent(g, 20);
    l.trips = fresh(g, P_TEMP32);
    l.left = fresh(g, P_TEMP32);
    line(g, "mov.u32 %s, 0;", NAME(l.left));
    make_latch(g, &l);
    for (u32 checks = 1 + below(g, CHECKS_MAX); l.checks < checks;)
        make_check(g, &l);
    g->level = DIVERGENT;
    if (percent(g, 20)) { /* a second edge into the loop */
        Cond c = cond_make(g, DIVERGENT);
        branch_if(g, &c, true, &l.top, DIVERGENT);
        step(g, &l.check[0]);
    }
    State start = g->state;
    label_here(g, &l.top);
    if (percent(g, 8))
        line(g, ".pragma \"nounroll\";");
    if (l.at_top)
        write_test(g, &l);
    g->loop[g->loops++] = (LoopFrame){l.exit, l.exit, DIVERGENT, g->scope_depth};
    write_body(g, &l);
    g->loops--;
    if (!l.old)
        step(g, &l.latch);
    if (l.at_top)
        jump(g, &l.top);
    else
        write_test(g, &l);
    label_here(g, &l.exit);
    line(g, "add.s32 %s, %s, 7;", NAME(l.left), NAME(l.left));
    label_here(g, &l.end);
    for (u32 i = 0; i < POOLS; i++)
        g->state.pool[i] = start.pool[i];
    show(g, &l);
    g->level = level;
    unfreeze(g, &before);
}

/* Threads that fail the first check call a function and go on, all that fail the second one, which is uniform, leave the loop by a
 * barrier: it depends on the second check only. */
void statement_checked_barrier(Gen *g)
{
    if (g->level < CTA_UNIFORM || !g->may_sync || g->left || !g->callees || g->loops == LOOPS_MAX - 1)
        return;
    Frozen before = frozen_now(g);
    Label top = label_fresh(g), inside = label_fresh(g), fail = label_fresh(g), end = label_fresh(g);
    Reg i = fresh(g, P_TEMP32), mine = fresh(g, P_TEMP32), all = fresh(g, P_TEMP32), trips = fresh(g, P_TEMP32),
        p = fresh(g, P_PRED);
    line(g, "and.b32 %s, %s, 7;", NAME(mine), NAME(pick_defined(g, P_32)));
    line(g, "and.b32 %s, %s, 7;", NAME(all), NAME(pick_defined(g, P_CTA32)));
    line(g, "and.b32 %s, %s, 7;", NAME(trips), NAME(pick_defined(g, P_CTA32)));
    line(g, "mov.u32 %s, 0;", NAME(i));
    State start = g->state;
    g->level = DIVERGENT;
    label_here(g, &top);
    line(g, "setp.lt.u32 %s, %s, %s;", NAME(p), NAME(i), NAME(mine));
    line(g, "@%s bra %s;", NAME(p), inside.name);
    statement_call(g);
    g->state = start;
    label_here(g, &inside);
    line(g, "setp.ge.u32 %s, %s, %s;", NAME(p), NAME(i), NAME(all));
    line(g, "@%s bra %s;", NAME(p), fail.name);
    straight_line(g, 1 + below(g, 3));
    line(g, "add.s32 %s, %s, 1;", NAME(i), NAME(i));
    line(g, "setp.lt.s32 %s, %s, %s;", NAME(p), NAME(i), NAME(trips));
    line(g, "@%s bra %s;", NAME(p), top.name);
    jump(g, &end);
    label_here(g, &fail);
    line(g, "bar.sync 0;");
    label_here(g, &end);
    g->state = start;
    g->level = CTA_UNIFORM;
    unfreeze(g, &before);
}

/* A loop whose step is in a register: from 1 to much, so that three steps may wrap, or more than it has to go. No value on the
 * way to the bound wraps. */
void statement_strided_loop(Gen *g)
{
    static const u32 sizes[] = {1, 1, 3, 50, 0x10000000, 0x28000000};
    if (g->loops == LOOPS_MAX - 1)
        return;
    Frozen before = frozen_now(g);
    Level level = g->level;
    Label top = label_fresh(g), exit = label_fresh(g);
    bool is_signed = percent(g, 60), wide = percent(g, 30), inclusive = percent(g, 25), swapped = percent(g, 20);
    const char *type = number_type(wide, is_signed);
    u32 size = sizes[below(g, COUNT_OF(sizes))], most = size > 50 ? 2 : 13;
    i64 from = is_signed && percent(g, 30) ? -(i64)size * below(g, 4) : below(g, 3);
    Reg i = fresh_number(g, wide), step = fresh_number(g, wide);
    Reg bound = fresh_number(g, wide), narrow = fresh(g, P_TEMP32), p = fresh(g, P_PRED);
    line(g, "and.b32 %s, %s, 1;", NAME(narrow), NAME(pick_defined(g, P_32)));
    line(g, "mad.lo.s32 %s, %s, %u, %u;", NAME(narrow), NAME(narrow), percent(g, 50) ? 1 : size / 2, size);
    line(g, wide ? "cvt.u64.u32 %s, %s;" : "mov.b32 %s, %s;", NAME(step), NAME(narrow));
    set_number(g, wide, i, from);
    line(g, "rem.u32 %s, %s, %u;", NAME(narrow), NAME(pick_defined(g, P_32)), most * (size > 50 ? 1 : size) + 1);
    if (size > 50)
        line(g, "mul.lo.u32 %s, %s, %u;", NAME(narrow), NAME(narrow), size / 2 + below(g, 3));
    line(g, wide ? "cvt.u64.u32 %s, %s;" : "mov.b32 %s, %s;", NAME(bound), NAME(narrow));
    g->level = DIVERGENT;
    State start = g->state;
    label_here(g, &top);
    g->loop[g->loops++] = (LoopFrame){exit, exit, DIVERGENT, g->scope_depth};
    if (percent(g, 75))
        straight_line(g, 1 + below(g, 3));
    else
        arm(g, DIVERGENT, 1);
    g->loops--;
    line(g, "add.s%u %s, %s, %s;", number_bits(wide), NAME(i), NAME(i), NAME(step));
    if (swapped)
        line(g, "setp.%s.%s %s, %s, %s;", inclusive ? "ge" : "gt", type, NAME(p), NAME(bound), NAME(i));
    else
        line(g, "setp.%s.%s %s, %s, %s;", inclusive ? "le" : "lt", type, NAME(p), NAME(i), NAME(bound));
    line(g, "@%s bra %s;", NAME(p), top.name);
    label_here(g, &exit);
    for (u32 k = 0; k < POOLS; k++)
        g->state.pool[k] = start.pool[k];
    Reg x = pick_result(g, P_32);
    line(g, wide ? "cvt.u32.u64 %s, %s;" : "mov.b32 %s, %s;", NAME(x), NAME(i));
    mark_defined(g, x);
    g->level = level;
    unfreeze(g, &before);
}
