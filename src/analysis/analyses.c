#include "analysis/analyses.h"

#include <string.h>

/* What an analysis is computed from, directly or not. */
static u32 with_bases(u32 bits)
{
    if (bits & AN_UNIFORM)
        bits |= AN_POSTDOM | AN_LOOPS | AN_LIVE;
    if (bits & AN_CONTROL)
        bits |= AN_POSTDOM;
    if (bits & AN_FACTS)
        bits |= AN_LOOPS;
    if (bits & AN_LOOPS)
        bits |= AN_DOM;
    return bits ? bits | AN_ORDER : bits;
}

void analyses_init(Analyses *an, Function *fn)
{
    memset(an, 0, sizeof *an);
    an->fn = fn;
}

void analyses_require(Analyses *an, u32 bits)
{
    u32 missing = with_bases(bits) & ~an->valid;
    Arena *arena = &an->arena;
    cfg_build(an->fn);
    if (missing & AN_ORDER)
        an->order = order_compute(arena, an->fn);
    if (missing & AN_DOM)
        an->dom = dom_compute(arena, an->fn, an->order);
    if (missing & AN_POSTDOM)
        an->postdom = postdom_compute(arena, an->fn, an->order);
    if (missing & AN_LOOPS)
        an->loops = loops_compute(arena, an->fn, an->order, an->dom);
    if (missing & AN_LIVE)
        an->live = live_compute(arena, an->fn, an->order);
    if (missing & AN_UNIFORM)
        an->uniform = uniform_compute(arena, an->fn, an->order, an->postdom, an->loops, an->live);
    if (missing & AN_CONTROL)
        an->control = control_compute(arena, an->fn, an->order, an->postdom);
    if (missing & AN_FACTS)
        an->facts = facts_compute(arena, an->fn, an->order, an->dom, an->loops);
    an->valid |= missing;
}

void analyses_drop(Analyses *an, u32 keep)
{
    u32 dropped = an->valid & ~with_bases(keep);
    if (dropped & AN_CONTROL)
        control_free(an->control);
    if (dropped & AN_FACTS)
        facts_free(an->facts);
    an->valid &= ~dropped;
    if (!an->valid)
        arena_free(&an->arena);
}

void analyses_make_room(Analyses *an, u32 bits)
{
    enum { LARGE = 1 << 20 };
    if (an->arena.reserved > LARGE && (an->valid & ~with_bases(bits)))
        analyses_drop(an, AN_NONE);
}

void analyses_free(Analyses *an)
{
    analyses_drop(an, AN_NONE);
    arena_free(&an->arena);
}
