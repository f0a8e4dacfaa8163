#include "gen.h"

/* Latch forms: those that ptxas unrolls, and those that it does not. */
typedef enum Latch {
    LATCH_BRANCH,  /* setp.ne p; @p bra TOP */
    LATCH_NEGATED, /* setp.eq p; @!p bra TOP */
    LATCH_EXIT,    /* setp.eq p; @p bra EXIT; bra TOP */
    LATCH_NOT,     /* setp.eq p; not.pred q, p; @q bra TOP */
    LATCH_UNIFORM, /* @p bra.uni TOP */
    LATCH_LOGIC,   /* or.pred of two exits */
    LATCH_FLOAT,   /* bounded by a float comparison too */
    LATCH_FLOAT_NEGATED,
    TEST_AT_TOP,      /* bra.uni TOP at the bottom */
    TEST_AT_TOP_EXIT, /* @!p bra EXIT at the top */
    ENTERED_AT_TEST,  /* bra TEST before the body */
    LATCH_AFFINE,     /* compares an affine function of what is stepped: see write_affine */
    LATCH_FORMS
} Latch;

typedef struct Loop {
    Latch form;
    Level level;
    Label top, test, next, exit;
    Reg count, bound;
    bool two_latches;
    Label second_latch;
    /* LATCH_AFFINE */
    bool wide, old, unequal; /* 64 bits are stepped; the value before the step is compared; the comparison is ne */
    i64 start, step, factor;
    Reg stepped, limit, addend;
} Loop;

static Pool count_pool(Level level) { return level == CTA_UNIFORM ? P_CTA32 : level == WARP_UNIFORM ? P_WARP32 : P_32; }

static Reg loop_pred(Gen *g, Level level)
{
    return fresh(g, level == CTA_UNIFORM ? P_CTAPRED : level == WARP_UNIFORM ? P_WARPPRED : P_PRED);
}

static void set_bound(Gen *g, Loop *l)
{
    Pool pool = count_pool(l->level);
    l->count = fresh(g, pool);
    l->bound = fresh(g, pool);
    line(g, "mov.u32 %s, 0;", NAME(l->count));
    if (percent(g, 45)) {
        line(g, "mov.u32 %s, %u;", NAME(l->bound), 1 + below(g, 5));
    } else {
        line(g, "and.b32 %s, %s, 3;", NAME(l->bound), NAME(pick_defined(g, pool)));
        line(g, "add.s32 %s, %s, 1;", NAME(l->bound), NAME(l->bound));
    }
}

/* The counter goes from start, which may be where it wraps, in steps; its low half times a factor, plus something, is compared
 * with the value that it has after `bound` iterations. */
static void set_affine(Gen *g, Loop *l)
{
    static const i64 steps[] = {1, 1, 1, 2, 3, -1, -1, -4, 16}, factors[] = {1, 1, 1, 1, -1, 2, 12};
    l->step = steps[below(g, COUNT_OF(steps))];
    l->factor = factors[below(g, COUNT_OF(factors))];
    l->wide = percent(g, 50);
    l->old = percent(g, 35);
    l->unequal = percent(g, 50);
    l->start = l->unequal ? (percent(g, 50) ? 0x7fffffff : 0xffffffff) - below(g, 8) : between(g, -40, 40);
    l->stepped = fresh_number(g, l->wide);
    l->limit = fresh(g, P_TEMP32);
    l->addend = fresh(g, P_TEMP32);
    if (l->wide)
        line(g, "mov.u64 %s, %lld;", NAME(l->stepped), (long long)l->start);
    else
        line(g, "mov.u32 %s, %u;", NAME(l->stepped), (u32)l->start);
    line(g, "mov.u32 %s, %%ctaid.x;", NAME(l->addend));
    line(g, "mad.lo.s32 %s, %s, %lld, %d;", NAME(l->limit), NAME(l->bound), (long long)l->step,
         (i32)(l->start - (l->old ? l->step : 0)));
    line(g, "mad.lo.s32 %s, %s, %lld, %s;", NAME(l->limit), NAME(l->limit), (long long)l->factor, NAME(l->addend));
}

static void step_affine(Gen *g, const Loop *l)
{
    line(g, "add.s%u %s, %s, %lld;", l->wide ? 64 : 32, NAME(l->stepped), NAME(l->stepped), (long long)l->step);
}

/* How it is compared: so that it stays for `bound` iterations. */
static const char *affine_cmp(const Loop *l, bool swapped)
{
    bool up = (l->step > 0) == (l->factor > 0);
    return l->unequal ? "ne" : up == swapped ? "gt" : "lt";
}

static void write_affine(Gen *g, const Loop *l, Reg p)
{
    Reg low = fresh(g, P_TEMP32), value = fresh(g, P_TEMP32);
    bool swapped = percent(g, 30);
    if (!l->old)
        step_affine(g, l);
    line(g, l->wide ? "cvt.u32.u64 %s, %s;" : "mov.u32 %s, %s;", NAME(low), NAME(l->stepped));
    line(g, "mad.lo.s32 %s, %s, %lld, %s;", NAME(value), NAME(low), (long long)l->factor, NAME(l->addend));
    line(g, "setp.%s.s32 %s, %s, %s;", affine_cmp(l, swapped), NAME(p), NAME(swapped ? l->limit : value),
         NAME(swapped ? value : l->limit));
    if (l->old)
        step_affine(g, l);
    line(g, "@%s bra %s;", NAME(p), l->top.name);
}

static void compare_count(Gen *g, const Loop *l, const char *cmp, Reg p)
{
    line(g, "setp.%s.%s %s, %s, %s;", cmp, strcmp(cmp, "eq") == 0 || strcmp(cmp, "ne") == 0 ? "s32" : "u32", NAME(p),
         NAME(l->count), NAME(l->bound));
}

static void count_up(Gen *g, const Loop *l) { line(g, "add.s32 %s, %s, 1;", NAME(l->count), NAME(l->count)); }

static void write_latch(Gen *g, const Loop *l)
{
    Reg p = loop_pred(g, l->level), q = loop_pred(g, l->level);
    const char *top = l->top.name;
    switch (l->form) {
    case LATCH_BRANCH:
    case ENTERED_AT_TEST:
        compare_count(g, l, percent(g, 50) ? "lt" : "ne", p);
        line(g, "@%s bra %s;", NAME(p), top);
        break;
    case LATCH_NEGATED:
        compare_count(g, l, percent(g, 50) ? "eq" : "ge", p);
        line(g, "@!%s bra %s;", NAME(p), top);
        break;
    case LATCH_EXIT: {
        Label exit = via(g, &l->exit);
        compare_count(g, l, percent(g, 50) ? "eq" : "ge", p);
        line(g, "@%s bra %s;", NAME(p), exit.name);
        line(g, percent(g, 50) ? "bra.uni %s;" : "bra %s;", top);
        break;
    }
    case LATCH_NOT:
        compare_count(g, l, "eq", p);
        line(g, "not.pred %s, %s;", NAME(q), NAME(p));
        line(g, "@%s bra %s;", NAME(q), top);
        break;
    case LATCH_UNIFORM:
        compare_count(g, l, "lt", p);
        line(g, "@%s bra%s %s;", NAME(p), l->level > DIVERGENT ? ".uni" : "", top);
        break;
    case LATCH_LOGIC: {
        Reg r = loop_pred(g, l->level);
        Cond c = cond_make(g, l->level);
        compare_count(g, l, "ge", p);
        line(g, "%s.pred %s, %s, %s;", "or", NAME(r), NAME(p), NAME(c.pred));
        line(g, "@!%s bra %s;", NAME(r), top);
        break;
    }
    case LATCH_FLOAT:
    case LATCH_FLOAT_NEGATED: {
        static const char *const cmp[] = {"lt", "ge", "ltu", "neu", "eq", "gt", "leu"};
        Reg x = pick_defined(g, P_F32);
        Label exit = via(g, &l->exit);
        compare_count(g, l, "ge", p);
        line(g, "@%s bra %s;", NAME(p), exit.name);
        line(g, "setp.%s.f32 %s, %s, %s;", cmp[below(g, COUNT_OF(cmp))], NAME(q), NAME(x), NAME(pick_defined(g, P_F32)));
        line(g, "@%s%s bra %s;", l->form == LATCH_FLOAT ? "" : "!", NAME(q), top);
        break;
    }
    case LATCH_AFFINE: write_affine(g, l, p); break;
    default: jump(g, &l->top);
    }
}

static void write_second_latch(Gen *g, const Loop *l)
{
    Reg p = loop_pred(g, l->level);
    Aside aside;
    aside_begin(g, &aside);
    label_here(g, &l->second_latch);
    count_up(g, l);
    compare_count(g, l, "lt", p);
    line(g, "@%s bra %s;", NAME(p), l->top.name);
    jump(g, &l->exit);
    aside_end(g, &aside);
}

static void top_test(Gen *g, const Loop *l)
{
    Reg p = loop_pred(g, l->level);
    Label exit = via(g, &l->exit);
    bool positive = l->form == TEST_AT_TOP;
    compare_count(g, l, positive ? "ge" : "lt", p);
    line(g, "@%s%s bra %s;", positive ? "" : "!", NAME(p), exit.name);
}

static void write_body(Gen *g, const Loop *l)
{
    if (percent(g, 30)) {
        Reg x = pick_result(g, P_32);
        line(g, "add.s32 %s, %s, %s;", NAME(x), NAME(pick_defined(g, P_32)), NAME(l->count));
        mark_defined(g, x);
    }
    if (percent(g, 40))
        straight_line(g, 1 + below(g, 5)); /* a small loop, as ptxas unrolls them */
    else
        arm(g, l->level, 1 + below(g, 2));
    if (l->two_latches) {
        Cond c = cond_make(g, l->level);
        branch_if(g, &c, true, &l->second_latch, l->level);
        straight_line(g, 1 + below(g, 2));
    }
}

static Loop loop_make(Gen *g)
{
    Loop l = {.form = percent(g, 20) ? LATCH_AFFINE : below(g, LATCH_FORMS), .level = pick_level(g)};
    bool is_float = l.form == LATCH_FLOAT || l.form == LATCH_FLOAT_NEGATED;
    if (is_float && (l.level > DIVERGENT || !has(g, GEN_FLOAT)))
        l.form = LATCH_BRANCH;
    l.top = label_fresh(g);
    l.test = label_fresh(g);
    l.next = label_fresh(g);
    l.exit = label_fresh(g);
    l.two_latches =
        l.form != LATCH_AFFINE && l.form != TEST_AT_TOP && l.form != TEST_AT_TOP_EXIT && may_defer(g) && percent(g, 15);
    if (l.two_latches)
        l.second_latch = label_fresh(g);
    return l;
}

/* Before the loop nothing is known of what another iteration did; afterwards it depends on who could synchronise in it. */
static void meet_after(Gen *g, const State *start, Level level)
{
    for (u32 i = 0; i < POOLS; i++)
        g->state.pool[i] = start->pool[i];
    for (u32 i = 0; i < ARRAYS; i++) {
        bool may_touch = level == CTA_UNIFORM || (i == ARRAY_WARP && level == WARP_UNIFORM);
        g->state.pending[i] = may_touch ? EVERY_ACCESS : start->pending[i];
    }
}

void statement_loop(Gen *g)
{
    if (g->loops == LOOPS_MAX - 1)
        return;
    Loop l = loop_make(g);
    Frozen before = frozen_now(g);
    Level level = g->level;
    bool at_top = l.form == TEST_AT_TOP || l.form == TEST_AT_TOP_EXIT, nounroll = percent(g, 15);
    set_bound(g, &l);
    if (l.form == LATCH_AFFINE)
        set_affine(g, &l);
    State start = g->state;
    if (l.form == ENTERED_AT_TEST)
        jump(g, &l.test);
    label_here(g, &l.top);
    if (nounroll && percent(g, 50)) {
        line(g, ".pragma \"nounroll\";");
        nounroll = false;
    }
    memset(g->state.pending, EVERY_ACCESS, sizeof g->state.pending);
    if (at_top)
        top_test(g, &l);
    g->loop[g->loops++] = (LoopFrame){l.exit, l.next, l.level, g->scope_depth};
    g->level = l.level;
    write_body(g, &l);
    g->loops--;
    for (u32 i = 0; i < POOLS; i++) /* `continue` comes from anywhere in the body */
        g->state.pool[i].defined = start.pool[i].defined;
    label_here(g, &l.next);
    count_up(g, &l);
    if (l.form == ENTERED_AT_TEST)
        label_here(g, &l.test);
    if (nounroll)
        line(g, ".pragma \"nounroll\";");
    write_latch(g, &l);
    if (l.two_latches)
        write_second_latch(g, &l);
    label_here(g, &l.exit);
    g->level = level;
    meet_after(g, &start, l.level);
    unfreeze(g, &before);
}

/* break or continue, of the innermost loop or of one around it. */
void statement_loop_exit(Gen *g)
{
    if (!g->loops)
        return;
    const LoopFrame *f = &g->loop[percent(g, 75) ? g->loops - 1 : below(g, g->loops)];
    if (g->level < f->level)
        return;
    Cond c = cond_make(g, f->level);
    const Label *to = percent(g, 50) ? &f->exit : &f->next;
    if (percent(g, 60)) {
        branch_if(g, &c, true, to, f->level);
    } else { /* with work before it leaves */
        Label on = label_fresh(g);
        State start = g->state;
        branch_if(g, &c, false, &on, f->level);
        straight_line(g, 2);
        jump(g, to);
        label_here(g, &on);
        g->state = start;
    }
}
