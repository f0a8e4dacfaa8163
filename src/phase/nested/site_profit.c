/* What ptxas would lose if the branches of a chain became one. */
#include "phase/nested/site.h"

#include "base/bound.h"
#include "ir/cfg.h"
#include "ir/inspect.h"
#include "transform/condition.h"
#include "target/ptxas.h"

/* The most blocks that are searched for loads that only one arm reads: the outer one and those above it. Then the most
 * instructions in all. */
enum { LOAD_ABOVE = 4, LOAD_LOOKED_AT = 1024 };

/* ---- branches that divide no warp ------------------------------------------------------------------------------------ */

/* Whether reg holds one value while the loop runs. */
static bool is_invariant(const Nested *n, const Loop *loop, RegId reg)
{
    const Instr *write = reg < n->registers ? n->only_write[reg] : NULL;
    return write && !loop_contains(an_loops(n->an), loop, write->block);
}

/* Whether the outer branch goes the same way in each iteration. */
static bool is_decided_before_loop(const Nested *n, const Loop *loop, const Instr *branch)
{
    const Instr *setp = local_definition(branch, branch->guard);
    if (!setp)
        return is_invariant(n, loop, branch->guard);
    if (setp->op->opcode != OPC_SETP || site_reads_special_register(setp))
        return false;
    for (RegWalk w = reg_walk(setp); next_read(&w);)
        if (!is_invariant(n, loop, w.reg))
            return false;
    return true;
}

/* Whether all threads of a warp take one edge at each branch, and the outer one takes the same in all iterations of its
 * loop. One instruction then skips the inner block, or lets none wait. */
static bool is_uniform_chain(const Nested *n, const Site *s)
{
    const Loop *loop = loop_of(an_loops(n->an), s->outer);
    if (!loop || n->combined[s->outer->id].truth || n->combined[s->inner->id].truth ||
        !is_decided_before_loop(n, loop, block_terminator(s->outer)))
        return false;
    const BitSet *uniform = &an_uniform(n->an)->branch_warp;
    return uniform_has(uniform, s->outer->id) && uniform_has(uniform, s->inner->id);
}

/* Whether the site guards something, and its outer branch, which then skips the inner block, divides no warp. */
static bool guards_uniformly(const Nested *n, const Site *s)
{
    bool some = false;
    for_each_instr(i, s->inner)
        some |= site_guards(n, s, i);
    return some && uniform_has(&an_uniform(n->an)->branch_warp, s->outer->id);
}

/* ---- latency ---------------------------------------------------------------------------------------------------- */

/* The length, at most `most`, of the longest chain of instructions in at's block that compute reg. */
static u32 chain_length(const Instr *at, RegId reg, u32 most)
{
    const Instr *def = most ? local_definition(at, reg) : NULL;
    u32 longest = 0;
    if (!def)
        return 0;
    for (RegWalk w = reg_walk(def); longest + 1 < most && next_read(&w);) {
        u32 length = chain_length(def, w.reg, most - 1);
        longest = length > longest ? length : longest;
    }
    return longest + !(ptxas_costs_nothing(def) || instr_loads_parameter(def));
}

/* Whether, in a loop, a short arm of an `if` without `else` would wait in each iteration for a chain of instructions. The
 * machine now computes that chain beside others. */
static bool delays_arm(const Nested *n, const Site *s)
{
    CfgList succs = cfg_succs(n->fn, s->rest);
    if (!loop_of(an_loops(n->an), s->outer) || succs.n != 1 || succs.v[0].block != s->other ||
        ptxas_block_cost(s->rest, PTXAS_DELAYED_ARM) > PTXAS_DELAYED_ARM)
        return false;
    const Instr *branch = block_terminator(s->inner);
    return chain_length(branch, branch->guard, PTXAS_DELAYING_CHAIN) == PTXAS_DELAYING_CHAIN;
}

/* ---- loads for one arm ------------------------------------------------------------------------------------------ */

/* A search for loads that only one arm reads. */
typedef struct LoadSearch {
    const Nested *n;
    const Site *s;
    const Block *arm;
    u32 left; /* instructions that may still be looked at */
} LoadSearch;

/* Whether i, or an instruction after it in its block, reads or writes reg; true once *left instructions were looked at. */
static bool is_touched_from(const Instr *i, RegId reg, u32 *left)
{
    for (; i; i = i->next, --*left)
        if (!*left || (i->kind == INSTR_OP && (instr_reads(i, reg) || instr_writes(i, reg))))
            return true;
    return false;
}

/* Whether reg is live into another successor of b than `to`. */
static bool is_read_beside(const Nested *n, const Block *b, const Block *to, RegId reg)
{
    for_each_cfg_edge(succ, cfg_succs(n->fn, b))
        if (succ.v->block != to && live_in(an_live(n->an), succ.v->block, reg))
            return true;
    return false;
}

/* Whether reg, which `load` in `from` writes, is read only in the arm and what follows it. Each block from `from` to the
 * outer one is the only predecessor of the next. */
static bool is_for_arm(LoadSearch *q, const Block *from, const Instr *load, RegId reg)
{
    const Nested *n = q->n;
    const Site *s = q->s;
    const Live *live = an_live(n->an);
    if (!live_in(live, q->arm, reg) || live_in(live, q->arm == s->rest ? s->other : s->rest, reg) ||
        is_touched_from(load->next, reg, &q->left) || is_touched_from(s->inner->first, reg, &q->left))
        return false;
    for (const Block *b = s->outer, *above; b != from; b = above) {
        above = cfg_single_pred(n->fn, b);
        if (is_touched_from(b->first, reg, &q->left) || is_read_beside(n, above, b, reg))
            return false;
    }
    return true;
}

/* Whether the load writes something, and all of it is for the arm. */
static bool loads_for_arm(LoadSearch *q, const Block *from, const Instr *load)
{
    bool some = false;
    for (RegWalk w = reg_walk(load); next_write(&w); some = true)
        if (!is_for_arm(q, from, load, w.reg))
            return false;
    return some;
}

/* Whether the combined branch would alone lead to the arm, and a load in front of it is read in that arm only. */
static bool sinks_load(const Nested *n, const Site *s, const Block *arm)
{
    for_each_cfg_edge(pred, cfg_preds(n->fn, arm))
        if (pred.v->block != s->outer && pred.v->block != s->inner)
            return false;
    LoadSearch q = {n, s, arm, LOAD_LOOKED_AT};
    u32 above = 0;
    for (const Block *b = s->outer; b && WITHIN(LOAD_ABOVE, above < LOAD_ABOVE); b = cfg_single_pred(n->fn, b), above++)
        for (const Instr *i = b->last; i && WITHIN(LOAD_LOOKED_AT, q.left); i = i->prev, q.left -= q.left != 0)
            if (site_is_load(i) && loads_for_arm(&q, b, i))
                return true;
    return false;
}

Reason site_check_profit(const Nested *n, const Site *s)
{
    if (is_uniform_chain(n, s) || guards_uniformly(n, s))
        return REASON_UNIFORM;
    if (sinks_load(n, s, s->rest) || sinks_load(n, s, s->other))
        return REASON_SINKS;
    return delays_arm(n, s) ? REASON_CHAIN : REASON_NONE;
}
