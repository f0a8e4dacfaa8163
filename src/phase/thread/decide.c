#include "phase/thread/decide.h"

#include "analysis/values.h"
#include "ir/cfg.h"
#include "ir/inspect.h"

/* The successor of b where control goes that came from `from`, or from anywhere if it is NULL; NULL: not known. given, *undecided: see
 * analysis/values.h. */
static Block *decided_target(Analyses *an, const Block *from, Block *b, const Given *given, Instr **undecided)
{
    const Facts *facts = an_facts(an);
    Instr *end = block_terminator(b);
    ProgramPoint place = {from, b, end};
    *undecided = NULL;
    const Table *table = branch_table(end);
    if (table) {
        const Operand *index = instr_operand(end, 0);
        if (end->guard || !operand_register(index))
            return NULL;
        Range r = value_of_register_given(facts, place, index->id, 32, given, undecided);
        return range_is_constant(&r) && r.lo < table->targets.n ? fn_block(an->fn, table->targets.v[r.lo]) : NULL;
    }
    FactValue v = value_of_predicate_given(facts, place, end->guard, given, undecided);
    if (v == FACT_UNKNOWN)
        return NULL;
    return (v == FACT_TRUE) != end->guard_not ? branch_target(end) : b->fall;
}

static bool writes_after(const Instr *at, RegId reg)
{
    for (const Instr *i = at->next; i; i = i->next)
        if (i->kind == INSTR_OP && instr_writes(i, reg))
            return true;
    return false;
}

static Given nothing_given(const Knobs *knobs)
{
    i64 compares = knobs->jump_threading_implication_search_threshold;
    return (Given){.compares = compares ? (u32)compares : GIVEN_NO_COMPARES};
}

/* Whether a selp of constants decides the edge from edge->from into b: control goes to one block if its predicate holds, and to another
 * one if not. The selp stands in edge->from, or in b where that is NULL; NULL: no selp left the branch undecided. */
static bool decide_by_select(Analyses *an, const Knobs *knobs, Block *b, Instr *selp, InEdge *edge)
{
    Given given = nothing_given(knobs);
    Instr *undecided;
    if (knobs->jump_threading_disable_select_unfolding || !selp || selp->guard ||
        selp->block != (edge->from ? edge->from : b))
        return false;
    const Operand *by = instr_operand(selp, 3);
    if (by->kind != OPND_REG || by->sub != SUB_NONE || writes_after(selp, by->id))
        return false;
    given.selects = 1;
    given.select[0].selp = selp;
    given.select[0].first = !(by->flags & OPNDF_NOT);
    Block *to = decided_target(an, edge->from, b, &given, &undecided);
    if (!to || to == b)
        return false;
    given.select[0].first = !given.select[0].first;
    Block *otherwise = decided_target(an, edge->from, b, &given, &undecided);
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
    *c = (Candidate){.b = b};
    if (preds.n > DECIDE_PREDS)
        return;
    for (u32 k = 0; k < preds.n; k++) {
        InEdge edge = {.from = preds.v[k].block};
        if (edge.from != b && order_reachable(an_order(an), edge.from)) {
            edge.to = decided_target(an, edge.from, b, &given, &undecided);
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
    return decided_target(an, NULL, b, &given, &undecided);
}

bool decide_by_own_select(Analyses *an, const Knobs *knobs, Block *b, InEdge *edge)
{
    Given given = nothing_given(knobs);
    Instr *undecided;
    *edge = (InEdge){.from = NULL};
    decided_target(an, NULL, b, &given, &undecided);
    return decide_by_select(an, knobs, b, undecided, edge) && edge->select;
}
