#include "gen.h"

/* Branches that a selp, a set, or a constant decides, each on one of the edges to them. */

static Pool value_pool(Level level) { return level == CTA_UNIFORM ? P_CTA32 : level == WARP_UNIFORM ? P_WARP32 : P_32; }

static Pool pred_pool(Level level)
{
    return level == CTA_UNIFORM ? P_CTAPRED : level == WARP_UNIFORM ? P_WARPPRED : P_PRED;
}

static void choose(Gen *g, Reg to, Level level)
{
    u32 form = below(g, 10);
    if (form < 5) {
        Cond c = cond_make(g, level);
        line(g, "selp.b32 %s, %u, %u, %s;", NAME(to), below(g, 3), below(g, 3), NAME(c.pred));
        if (percent(g, 15)) /* the predicate is gone: the selp must stay what it is */
            line(g, "setp.gt.s32 %s, %s, 3;", NAME(c.pred), NAME(pick_defined(g, value_pool(level))));
    } else if (form < 8) {
        line(g, "mov.u32 %s, %u;", NAME(to), below(g, 3));
    } else if (form < 9) {
        line(g, "set.gt.u32.s32 %s, %s, 5;", NAME(to), NAME(pick_defined(g, value_pool(level))));
    } else {
        line(g, "and.b32 %s, %s, 1;", NAME(to), NAME(pick_defined(g, value_pool(level))));
    }
}

static void choosing_arm(Gen *g, Reg to, Level level)
{
    straight_line(g, 1 + below(g, 10));
    choose(g, to, level);
}

/* The condition on what was chosen, perhaps through a copy or with one that always holds. */
static Cond on_choice(Gen *g, Reg chosen, Level level)
{
    static const char *const compare[] = {"eq", "ne", "lt", "gt", "ge"};
    Reg value = chosen, p = fresh(g, pred_pool(level));
    if (percent(g, 25)) {
        value = fresh(g, P_TEMP32);
        line(g, "mov.u32 %s, %s;", NAME(value), NAME(chosen));
    }
    line(g, "setp.%s.s32 %s, %s, %u;", compare[below(g, COUNT_OF(compare))], NAME(p), NAME(value), below(g, 3));
    if (percent(g, 20)) {
        Reg always = fresh(g, pred_pool(level)), both = fresh(g, pred_pool(level));
        line(g, "setp.%s.s32 %s, %s, %s;", percent(g, 70) ? "eq" : "ne", NAME(always), NAME(value), NAME(value));
        line(g, "%s.pred %s, %s, %s;", percent(g, 50) ? "and" : "or", NAME(both), NAME(p), NAME(always));
        p = both;
    }
    return (Cond){.pred = p, .negated = percent(g, 30)};
}

/* `if (c) first else second`, each written by `body`. */
typedef void Body(Gen *g, Reg chosen, Level level);

static void both_ways(Gen *g, const Cond *c, Reg chosen, Level level, Body *body)
{
    Label otherwise = label_fresh(g), join = label_fresh(g);
    State start = g->state;
    Level around = g->level;
    g->level = level;
    branch_if(g, c, true, &otherwise, level);
    body(g, chosen, level);
    jump(g, &join);
    State first = g->state;
    for (u32 k = 0; k < POOLS; k++)
        g->state.pool[k] = start.pool[k];
    for (u32 k = 0; k < ARRAYS; k++) /* a barrier of the first arm is none of the second */
        g->state.pending[k] |= start.pending[k];
    label_here(g, &otherwise);
    body(g, chosen, level);
    label_here(g, &join);
    label_done(g, &join);
    label_done(g, &otherwise);
    state_meet(&g->state, &first);
    g->level = around;
}

static void long_arm(Gen *g, Reg chosen, Level level)
{
    (void)chosen;
    if (percent(g, 70))
        straight_line(g, 6 + below(g, 10));
    if (percent(g, 30))
        arm(g, level, 1);
}

void statement_select(Gen *g)
{
    Level level = pick_level(g);
    Reg chosen = fresh(g, P_TEMP32);
    Cond first = cond_make(g, level);
    both_ways(g, &first, chosen, level, choosing_arm);
    if (percent(g, 15))
        straight_line(g, 1 + below(g, 3));
    Cond second = on_choice(g, chosen, level);
    both_ways(g, &second, chosen, level, long_arm);
}
