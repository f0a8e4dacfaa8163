#include "phase/thread/decide.h"

#include "base/bound.h"
#include "analysis/values.h"
#include "ir/cfg.h"
#include "ir/inspect.h"

static Given nothing_given(const Knobs *knobs)
{
    i64 compares = knobs->jump_threading_implication_search_threshold;
    return (Given){.compares = compares ? (u32)compares : GIVEN_NO_COMPARES};
}

/* Whether a selp of constants decides the edge from edge->from into b: to one block if its predicate holds, and to another
 * if not. The selp stands in edge->from, or in b where that is NULL. selp: NULL if no selp left the branch undecided. */
static bool decide_by_select(Analyses *an, const Knobs *knobs, Block *b, Instr *selp, InEdge *edge)
{
    Given given = nothing_given(knobs);
    Instr *undecided;
    if (!knobs->jump_threading_select_unfolding || !selp || selp->guard ||
        selp->block != (edge->from ? edge->from : b))
        return false;
    const Operand *by = instr_operand(selp, 3);
    if (by->kind != OPND_REG || by->sub != SUB_NONE || instr_writes_between(selp, NULL, by->id))
        return false;
    given.selects = 1;
    given.select[0].selp = selp;
    given.select[0].first = !(by->flags & OPNDF_NOT);
    Block *to = value_of_branch_given(an_facts(an), edge->from, b, &given, &undecided);
    if (!to || to == b)
        return false;
    given.select[0].first = !given.select[0].first;
    Block *otherwise = value_of_branch_given(an_facts(an), edge->from, b, &given, &undecided);
    if (!otherwise || otherwise == b)
        return false;
    *edge = (InEdge){edge->from, to, to == otherwise ? NULL : otherwise, to == otherwise ? NULL : selp};
    return true;
}

bool decide_ends(Analyses *an, const Block *b)
{
    const Instr *end = block_terminator(b);
    if (b->dead || !end || !order_reachable(an_order(an), b) || block_is_pinned(b))
        return false;
    return branch_table(end) ? !end->guard : block_two_way_branch(b) != NULL;
}

void decide_edges(Analyses *an, const Knobs *knobs, Block *b, bool all_or_none, Candidate *c)
{
    CfgList preds = cfg_preds(an->fn, b);
    Given given = nothing_given(knobs);
    Instr *undecided;
    c->b = b;
    c->edges = c->decided = c->cost = 0; /* the edges are filled in one by one */
    if (BEYOND(DECIDE_PREDS, preds.n > DECIDE_PREDS))
        return;
    for (u32 k = 0; k < preds.n; k++) {
        InEdge edge = {.from = preds.v[k].block};
        if (edge.from != b && order_reachable(an_order(an), edge.from)) {
            edge.to = value_of_branch_given(an_facts(an), edge.from, b, &given, &undecided);
            if (!edge.to)
                decide_by_select(an, knobs, b, undecided, &edge);
        }
        if (edge.to && (edge.to == b || !order_reachable(an_order(an), edge.to)))
            edge.to = NULL;
        c->edge[c->edges++] = edge;
        c->decided += edge.to != NULL;
        if (all_or_none && !edge.to) {
            c->decided = 0;
            return;
        }
    }
}

bool decide_is_first(const Candidate *c, u32 edge)
{
    for (u32 k = 0; k < edge; k++)
        if (!c->edge[k].select && c->edge[k].to == c->edge[edge].to)
            return false;
    return c->edge[edge].to && !c->edge[edge].select;
}

bool decide_makes_clones(const Candidate *c, u32 edge) { return c->edge[edge].select || decide_is_first(c, edge); }

Block *decide_branch(Analyses *an, const Knobs *knobs, Block *b)
{
    Given given = nothing_given(knobs);
    Instr *undecided;
    return value_of_branch_given(an_facts(an), NULL, b, &given, &undecided);
}

bool decide_by_own_select(Analyses *an, const Knobs *knobs, Block *b, InEdge *edge)
{
    Given given = nothing_given(knobs);
    Instr *undecided;
    *edge = (InEdge){.from = NULL};
    value_of_branch_given(an_facts(an), NULL, b, &given, &undecided);
    return decide_by_select(an, knobs, b, undecided, edge) && edge->select;
}
