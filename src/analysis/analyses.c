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

static Arena *arena_of(Analyses *an, u32 bit) { return &an->arena[__builtin_ctz(bit)]; }

void analyses_require(Analyses *an, u32 bits)
{
    Function *fn = an->fn;
    u32 missing = with_bases(bits) & ~an->valid;
    cfg_build(fn);
    if (missing & AN_ORDER)
        an->order = order_compute(arena_of(an, AN_ORDER), fn);
    if (missing & AN_DOM)
        an->dom = dom_compute(arena_of(an, AN_DOM), fn, an->order);
    if (missing & AN_POSTDOM)
        an->postdom = postdom_compute(arena_of(an, AN_POSTDOM), fn, an->order);
    if (missing & AN_LOOPS)
        an->loops = loops_compute(arena_of(an, AN_LOOPS), fn, an->order, an->dom);
    if (missing & AN_LIVE)
        an->live = live_compute(arena_of(an, AN_LIVE), fn, an->order);
    if (missing & AN_UNIFORM)
        an->uniform = uniform_compute(arena_of(an, AN_UNIFORM), fn, an->order, an->postdom, an->loops, an->live);
    if (missing & AN_CONTROL)
        an->control = control_compute(arena_of(an, AN_CONTROL), fn, an->order, an->postdom);
    if (missing & AN_FACTS)
        an->facts = facts_compute(arena_of(an, AN_FACTS), fn, an->order, an->dom, an->loops);
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
    for (; dropped; dropped &= dropped - 1)
        arena_free(arena_of(an, dropped));
}

void analyses_make_room(Analyses *an, u32 bits)
{
    enum { LARGE = 1 << 20 };
    u64 reserved = 0;
    for (u32 k = 0; k < ANALYSES; k++)
        reserved += an->arena[k].reserved;
    if (reserved > LARGE)
        analyses_drop(an, bits);
}

void analyses_free(Analyses *an) { analyses_drop(an, AN_NONE); }
