/* Nested branches that can become one. What decides is liveness, effects, loops, and what ptxas would lose. */
#include "phase/nested_site.h"

#include "ir/cfg.h"
#include "phase/condition.h"

/* How far the readers of a value are looked for: keeps the phase linear. */
#define LOOK_BELOW 256
/* How many ways into a block are looked at. */
#define WAYS_IN 16

static const struct { const char *counter, *words; } reason_row[] = {
    {"", ""},
#define ROW(id, counter, words) {counter, words},
    REASONS(ROW)
#undef ROW
};

const char *reason_counter(Reason why) { return reason_row[why].counter; }
const char *reason_words(Reason why) { return reason_row[why].words; }

/* ---- conditions ------------------------------------------------------------------------------------------------- */

static Instr *conditional_branch(const Block *b)
{
    Instr *end = block_terminator(b);
    return end && end->guard && branch_target(end) && b->fall && branch_target(end) != b->fall ? end : NULL;
}

Term condition_to(const Nested *n, const Block *b, const Block *to, Truth *leaf)
{
    const Instr *branch = block_terminator(b);
    Term taken = n->combined[b->id];
    if (!taken.truth) {
        *leaf = (Truth){.kind = TRUTH_LEAF, .leaves = 1, .reg = branch->guard};
        taken = (Term){leaf, branch->guard_not};
    }
    return branch_target(branch) == to ? taken : term_not(taken);
}

bool decides(const Nested *n, const Block *b, RegId reg)
{
    Truth *t = n->combined[b->id].truth;
    return t ? truth_uses(t, reg) != 0 : block_terminator(b)->guard == reg;
}

/* The comparison of a register for equality behind a term, or NULL. holds: the term says that they are equal. */
static Instr *equality(const Instr *at, Term t, bool *holds)
{
    Instr *setp = t.truth->kind == TRUTH_LEAF ? leaf_definition(at, t.truth) : NULL;
    bool compares = setp && setp->op->opcode == OPC_SETP && setp->opnd[0].kind == OPND_REG && setp->op->bool_op == BOOL_NONE;
    if (!compares || (setp->op->cmp != CMP_EQ && setp->op->cmp != CMP_NE) || setp->opnd[1].kind != OPND_REG)
        return NULL;
    *holds = (setp->op->cmp == CMP_EQ) != t.not;
    return setp;
}

/* Whether reg is read in a block that `top` dominates; after LOOK_BELOW instructions, whether it is live there. */
static bool read_below(const Nested *n, const Block *top, RegId reg)
{
    const DomTree *dom = n->run->an->dom;
    if (!live_in(n->run->an->live, top, reg))
        return false;
    for (u32 k = dom->pre[top->id], seen = 0; k <= dom->last[top->id]; k++) {
        const Block *b = dom->by_pre[k];
        if (b->dead)
            continue;
        for_each_instr(i, b)
            if (seen++ == LOOK_BELOW || (i->kind == INSTR_OP && instr_reads(i, reg)))
                return true;
    }
    return false;
}

/* Whether something that must be true when t is, is of use in block `to`: a value that ptxas would put in a register's
 * place, or a predicate that is read again. */
static bool tells(const Nested *n, const Block *b, Term t, const Block *to)
{
    if (t.truth->kind == TRUTH_AND)
        return !t.not && (tells(n, b, t.truth->of[0], to) || tells(n, b, t.truth->of[1], to));
    if (t.truth->kind != TRUTH_LEAF)
        return false;
    bool holds;
    const Instr *setp = equality(b->last, t, &holds);
    if (read_below(n, to, t.truth->reg))
        return true;
    if (!setp || !holds || type_class((Type)setp->op->type[0]) == TC_FLOAT)
        return false;
    const Operand *y = &setp->opnd[2];
    return read_below(n, to, setp->opnd[1].id) || (y->kind == OPND_REG && read_below(n, to, y->id));
}

/* Whether a predicate of t, which block b reads and does not write, is known on a way into the outer block: on that way, the
 * branch decides nothing. */
static bool decided_before(const Nested *n, const Block *outer, const Block *b, Term t)
{
    if (t.truth->kind != TRUTH_LEAF) {
        for (u32 k = 0; k < truth_parts(t.truth); k++)
            if (decided_before(n, outer, b, t.truth->of[k]))
                return true;
        return false;
    }
    if (leaf_definition(b->last, t.truth))
        return false;
    CfgList preds = cfg_preds(n->fn, outer);
    for (u32 k = 0; k < preds.n && k < WAYS_IN; k++)
        if (facts_on_edge(n->run->an->facts, preds.v[k].block, outer, t.truth->reg) != FACT_UNKNOWN)
            return true;
    return false;
}

/* The register that a block's branch compares with a constant for equality; 0. */
static RegId case_selector(const Nested *n, const Block *b)
{
    bool holds;
    Truth leaf;
    const Instr *branch = conditional_branch(b);
    if (!branch || n->combined[b->id].truth)
        return 0;
    Instr *setp = equality(branch, condition_to(n, b, branch_target(branch), &leaf), &holds);
    return setp && setp->opnd[2].kind == OPND_IMM ? setp->opnd[1].id : 0;
}

/* Two cases and a third one around them. Where there are only two, they are no switch. */
static bool are_cases(const Nested *n, const Site *s)
{
    RegId selector = case_selector(n, s->outer);
    if (!selector || case_selector(n, s->inner) != selector)
        return false;
    const Block *above = cfg_single_pred(n->fn, s->outer);
    return case_selector(n, s->rest) == selector || (above && case_selector(n, above) == selector);
}

/* ---- the inner block -------------------------------------------------------------------------------------------- */

/* Issue slots, or more than any limit. */
static u32 cost_of(const Instr *i)
{
    if (op_has(i->op, OPF_CHEAP))
        return 1;
    /* Two 32-bit comparisons. Those of doubles are slow on most GPUs. */
    Type type = (Type)i->op->type[0];
    bool wide_compare = i->op->opcode == OPC_SETP && type_bits(type) == 64 && type_class(type) != TC_FLOAT;
    return wide_compare ? 2 : UINT32_MAX / 2;
}

static bool reads_special_register(const Instr *i)
{
    for_each_slot(o, (Instr *)i)
        if (o->kind == OPND_SREG)
            return true;
    return false;
}

/* Whether b alone computes and reads reg: it writes all of it before it reads it, and nobody behind does. */
static bool is_private(const Nested *n, const Site *s, RegId reg)
{
    if (live_in(n->run->an->live, s->rest, reg) || fn_reg(n->fn, reg)->vector != 1)
        return false;
    for_each_instr(i, s->inner) {
        if (i->kind != INSTR_OP || (!instr_reads(i, reg) && !instr_writes(i, reg)))
            continue;
        return !instr_reads(i, reg) && !i->guard;
    }
    return false;
}

static Reason check_writes(const Nested *n, const Site *s, const Instr *i)
{
    for (RegWalk w = reg_walk(i); next_write(&w);) {
        if (live_in(n->run->an->live, s->other, w.reg) || !w.kills)
            return REASON_LIVE;
        if (decides(n, s->outer, w.reg) && !is_private(n, s, w.reg))
            return REASON_RELATED;
    }
    return REASON_NONE;
}

/* Reads of what decides the outer branch, unless the block has written it by then. */
static Reason check_reads(const Nested *n, const Site *s, const Instr *i)
{
    for (RegWalk w = reg_walk(i); next_read(&w);)
        if (decides(n, s->outer, w.reg) && !is_private(n, s, w.reg))
            return REASON_RELATED;
    return REASON_NONE;
}

static Reason check_instr(const Nested *n, const Site *s, const Instr *i)
{
    if (i->kind == INSTR_LOC)
        return REASON_NONE;
    if (i->kind != INSTR_OP)
        return REASON_PLACE;
    if (i != s->inner->last) {
        if (i->op->mem == MEM_READ)
            return REASON_LOAD;
        if (!op_is_pure(i->op) || reads_special_register(i))
            return REASON_EFFECT;
        if (i->guard)
            return REASON_GUARD;
    }
    Reason why = check_reads(n, s, i);
    return why ? why : check_writes(n, s, i);
}

static Reason check_inner(const Nested *n, const Site *s)
{
    i64 limit = n->run->knobs->nested_cond_max_speculated, cost = 0;
    for (const Label *l = s->inner->labels; l; l = l->next)
        if (l->pinned)
            return REASON_PLACE;
    if (s->inner->scope != s->outer->scope)
        return REASON_PLACE;
    for_each_instr(i, s->inner) {
        Reason why = check_instr(n, s, i);
        if (why)
            return why;
        if (i->kind == INSTR_OP && i != s->inner->last)
            cost += cost_of(i);
        if (cost > limit)
            return REASON_COST;
    }
    return REASON_NONE;
}

/* Whether threads that came to `to` over both branches, and come over one now, meet something there for which they must not
 * come together if they did not. */
static bool gets_company(const Nested *n, const Block *outer, Block *to)
{
    if (n->company < COMPANY_SAME)
        return false;
    const DomTree *postdom = n->run->an->postdom;
    const Block *meeting = dom_has(postdom, outer) ? postdom->idom[outer->id] : NULL;
    return company_before(n->run->an, to, meeting) == COMPANY_SAME;
}

/* ---- chains ----------------------------------------------------------------------------------------------------- */

/* Whether `to` is in the same loop, and does not begin its next round. */
static bool stays_inside(const Nested *n, const Block *b, const Block *to)
{
    const Loops *loops = n->run->an->loops;
    const Loop *loop = loop_of(loops, b);
    return !loop || (to != loop->header && loop_contains(loops, loop, to));
}

static bool decides_loop(const Nested *n, const Site *s)
{
    const Loops *loops = n->run->an->loops;
    bool irreducible = loops->irreducible && bitset_has(&loops->in_irreducible, s->outer->id);
    return irreducible || loop_of(loops, s->inner) != loop_of(loops, s->outer) || !stays_inside(n, s->outer, s->other) ||
           !stays_inside(n, s->outer, s->rest) || s->rest == s->outer || s->other == s->outer;
}

/* Whether `inner` hangs on `outer` alone and ends in a branch; fills in the site except for `other` and `rest`. */
static bool is_inner(const Nested *n, Block *outer, Block *inner, Site *s)
{
    *s = (Site){.outer = outer, .inner = inner};
    return inner != outer && inner != n->fn->entry && cfg_single_pred(n->fn, inner) == outer && conditional_branch(inner);
}

bool find_chain(const Nested *n, Block *outer, u32 way, Site *s)
{
    const Instr *branch = conditional_branch(outer);
    if (!branch)
        return false;
    Block *inner = way ? branch_target(branch) : outer->fall, *other = way ? outer->fall : branch_target(branch);
    if (!is_inner(n, outer, inner, s))
        return false;
    Block *taken = branch_target(block_terminator(inner)), *fall = inner->fall;
    s->other = other;
    s->rest = taken == other ? fall : taken;
    return (taken == other || fall == other) && other != inner;
}

Reason check_chain(const Nested *n, const Site *s)
{
    Truth leaf[2];
    Term in = condition_to(n, s->outer, s->inner, &leaf[0]), on = condition_to(n, s->inner, s->rest, &leaf[1]);
    if (decides_loop(n, s))
        return REASON_LOOP;
    if (in.truth->leaves + on.truth->leaves > TRUTH_LEAVES)
        return REASON_LARGE;
    Reason why = check_inner(n, s);
    if (why)
        return why;
    /* Where other blocks lead there too, nothing is known for certain. */
    bool known = cfg_single_pred(n->fn, s->rest) == s->inner;
    if (known && (tells(n, s->outer, in, s->rest) || tells(n, s->inner, on, s->rest)))
        return REASON_EQUAL;
    if (decided_before(n, s->outer, s->outer, in) || decided_before(n, s->outer, s->inner, on))
        return REASON_DECIDED;
    if (gets_company(n, s->outer, s->other))
        return REASON_COMPANY;
    return are_cases(n, s) ? REASON_CASES : REASON_NONE;
}

/* ---- diamonds --------------------------------------------------------------------------------------------------- */

bool find_diamond(const Nested *n, Block *outer, Site *yes, Site *no)
{
    const Instr *branch = conditional_branch(outer);
    if (!branch || !is_inner(n, outer, branch_target(branch), yes) || !is_inner(n, outer, outer->fall, no))
        return false;
    Block *a = branch_target(block_terminator(yes->inner)), *b = yes->inner->fall;
    Block *c = branch_target(block_terminator(no->inner)), *d = no->inner->fall;
    yes->other = no->other = a;
    yes->rest = no->rest = b;
    return (a == c && b == d) || (a == d && b == c);
}

/* What one arm computes is done in vain when control takes the other: nothing of it may be read behind either. */
static bool writes_live(const Nested *n, const Site *s)
{
    for_each_instr(i, s->inner)
        if (i->kind == INSTR_OP)
            for (RegWalk w = reg_walk(i); next_write(&w);)
                if (live_in(n->run->an->live, s->rest, w.reg))
                    return true;
    return false;
}

static bool touches(const Nested *n, const Block *b, RegId reg)
{
    for_each_instr(i, b)
        if (i->kind == INSTR_OP && (instr_reads(i, reg) || instr_writes(i, reg)))
            return true;
    return decides(n, b, reg);
}

/* Whether one arm writes what the other reads or writes: then they cannot be done one behind the other. */
static bool arms_meet(const Nested *n, const Block *one, const Block *two)
{
    for_each_instr(i, one)
        if (i->kind == INSTR_OP)
            for (RegWalk w = reg_walk(i); next_write(&w);)
                if (touches(n, two, w.reg))
                    return true;
    return false;
}

Reason check_diamond(const Nested *n, const Site *yes, const Site *no)
{
    Truth leaf[3];
    Term which = condition_to(n, yes->outer, yes->inner, &leaf[0]);
    Term a = condition_to(n, yes->inner, yes->rest, &leaf[1]), b = condition_to(n, no->inner, yes->rest, &leaf[2]);
    if (decides_loop(n, yes) || decides_loop(n, no))
        return REASON_LOOP;
    if (which.truth->leaves + a.truth->leaves + b.truth->leaves > TRUTH_LEAVES)
        return REASON_LARGE;
    Reason why = check_inner(n, yes);
    why = why ? why : check_inner(n, no);
    if (why)
        return why;
    if (writes_live(n, yes) || writes_live(n, no))
        return REASON_LIVE;
    if (decided_before(n, yes->outer, yes->outer, which) || decided_before(n, yes->outer, yes->inner, a) ||
        decided_before(n, yes->outer, no->inner, b))
        return REASON_DECIDED;
    if (gets_company(n, yes->outer, yes->other) || gets_company(n, yes->outer, yes->rest))
        return REASON_COMPANY;
    return arms_meet(n, yes->inner, no->inner) || arms_meet(n, no->inner, yes->inner) ? REASON_RELATED : REASON_NONE;
}

