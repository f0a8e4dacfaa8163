/* Nested branches that can become one. Liveness, effects and loops decide that, and what ptxas would lose (site_profit.c). */
#include "phase/nested/site.h"

#include "base/bound.h"
#include "ir/cfg.h"
#include "ir/inspect.h"
#include "transform/condition.h"
#include "target/ptxas.h"

enum { INNER_LOOKED_AT = 64 /* the most instructions of an inner block that are looked at for the reason in a remark */ };

/* The most instructions that are searched for readers of a value. */
enum { LOOK_BELOW = 256 };

static const struct {
    const char *counter, *words;
} reason_row[] = {{"", ""},
#define ROW(id, counter, words) {counter, words},
                  REASONS(ROW)
#undef ROW
};

const char *site_reason_counter(Reason why) { return reason_row[why].counter; }
const char *site_reason_words(Reason why) { return reason_row[why].words; }

/* ---- conditions ------------------------------------------------------------------------------------------------- */

TruthTerm site_condition_to(const Nested *n, const Block *b, const Block *to, Truth *leaf)
{
    const Instr *branch = block_terminator(b);
    TruthTerm taken = n->combined[b->id];
    if (!taken.truth) {
        *leaf = (Truth){.kind = TRUTH_LEAF, .leaves = 1, .reg = branch->guard};
        taken = (TruthTerm){leaf, branch->guard_not};
    }
    return branch_target(branch) == to ? taken : term_not(taken);
}

bool nested_decides(const Nested *n, const Block *b, RegId reg)
{
    Truth *t = n->combined[b->id].truth;
    return t ? truth_uses(t, reg) != 0 : block_terminator(b)->guard == reg;
}

/* The comparison for equality that decides the term, or NULL. *holds becomes true where the term says that the two are equal. */
static Instr *equality(const Instr *at, TruthTerm t, bool *holds)
{
    Instr *setp = t.truth->kind == TRUTH_LEAF ? truth_leaf_definition(at, t.truth) : NULL;
    bool compares =
        setp && setp->op->opcode == OPC_SETP && setp->opnd[0].kind == OPND_REG && setp->op->bool_op == BOOL_NONE;
    if (!compares || (setp->op->cmp != CMP_EQ && setp->op->cmp != CMP_NE) || setp->opnd[1].kind != OPND_REG)
        return NULL;
    *holds = (setp->op->cmp == CMP_EQ) != t.inverted;
    return setp;
}

static bool is_dead(const DomTree *dom, u32 place) { return place <= dom->count && dom->by_pre[place]->dead; }

/* The first place, from this one on, whose block is not dead, or one after the last. Places are in the order of the
 * dominator tree; paths are halved as they are walked, since whole chains die. */
static u32 living_place(const Nested *n, const DomTree *dom, u32 place)
{
    u32 *skip = n->skip;
    while (is_dead(dom, place)) {
        u32 next = place + 1 + skip[place];
        skip[place] += is_dead(dom, next) ? 1 + skip[next] : 0;
        place += 1 + skip[place];
    }
    return place;
}

/* Whether reg is read in a block that `top` dominates. After LOOK_BELOW instructions the answer is true if it is live there. */
static bool read_below(const Nested *n, const Block *top, RegId reg)
{
    const DomTree *dom = an_dom(n->an);
    if (!live_in(an_live(n->an), top, reg))
        return false;
    u32 last = dom->last[top->id], seen = 0;
    for (u32 k = living_place(n, dom, dom->pre[top->id]); k <= last; k = living_place(n, dom, k + 1))
        for_each_instr(i, dom->by_pre[k])
            if (BEYOND(LOOK_BELOW, seen++ == LOOK_BELOW) || (i->kind == INSTR_OP && instr_reads(i, reg)))
                return true;
    return false;
}

/* Whether ptxas can use, in `to` or a block that it dominates, what follows from t being true. That is a predicate that is
 * read there, or a register that equals another one or a constant. */
static bool tells(const Nested *n, const Block *b, TruthTerm t, const Block *to)
{
    if (t.truth->kind == TRUTH_AND)
        return !t.inverted && (tells(n, b, t.truth->of[0], to) || tells(n, b, t.truth->of[1], to));
    if (t.truth->kind != TRUTH_LEAF)
        return false;
    bool holds;
    const Instr *setp = equality(b->last, t, &holds);
    if (read_below(n, to, t.truth->reg))
        return true;
    if (!setp || !holds || type_class(setp->op->sem.compared) == TC_FLOAT)
        return false;
    const Operand *y = &setp->opnd[2];
    return read_below(n, to, setp->opnd[1].id) || (y->kind == OPND_REG && read_below(n, to, y->id));
}

/* The register that the block's branch compares with a constant for equality; 0: none. */
static RegId case_selector(const Nested *n, const Block *b)
{
    bool holds;
    Truth leaf;
    const Instr *branch = block_two_way_branch(b);
    if (!branch || n->combined[b->id].truth)
        return 0;
    Instr *setp = equality(branch, site_condition_to(n, b, branch_target(branch), &leaf), &holds);
    return setp && setp->opnd[2].kind == OPND_IMM ? setp->opnd[1].id : 0;
}

/* Whether the site's two branches test cases of a switch, with a third case next to them: two alone are no switch. */
static bool are_cases(const Nested *n, const Site *s)
{
    RegId selector = case_selector(n, s->outer);
    if (!selector || case_selector(n, s->inner) != selector)
        return false;
    const Block *above = cfg_single_pred(n->fn, s->outer);
    return case_selector(n, s->rest) == selector || (above && case_selector(n, above) == selector);
}

/* ---- the inner block -------------------------------------------------------------------------------------------- */

/* The machine instructions that i costs, or more than any limit. A load of a parameter costs nothing, as ptxas makes it a
 * constant operand; comparisons of doubles are slow on most GPUs. */
static u32 cost_of(const Instr *i)
{
    if (instr_loads_parameter(i))
        return 0;
    const Sem *sem = &i->op->sem;
    bool wide_compare = sem->op == OPC_SETP && sem->from == 64 && type_class(sem->compared) != TC_FLOAT;
    return op_has(i->op, OPF_CHEAP) || wide_compare ? ptxas_cost(i) : UINT32_MAX / 2;
}

bool site_is_load(const Instr *i) { return i->kind == INSTR_OP && i->op->mem == MEM_READ && !instr_loads_parameter(i); }

bool site_reads_special_register(const Instr *i)
{
    for_each_slot(o, i)
        if (o->kind == OPND_SREG)
            return true;
    return false;
}

/* Whether no other block uses what the inner block writes to reg. That block must write all of reg before it reads it,
 * and `rest` must not read it. */
static bool is_private(const Nested *n, const Site *s, RegId reg)
{
    if (live_in(an_live(n->an), s->rest, reg) || fn_reg(n->fn, reg)->vector != 1)
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
        bool decides = nested_decides(n, s->outer, w.reg) || nested_decides(n, s->inner, w.reg);
        bool guarded = s->guards && !decides;
        if ((live_in(an_live(n->an), s->other, w.reg) && !guarded) || !w.kills)
            return REASON_LIVE;
        if (nested_decides(n, s->outer, w.reg) && !is_private(n, s, w.reg))
            return REASON_RELATED;
    }
    return REASON_NONE;
}

/* Why i may not be executed in front of the outer branch. It reads a register that decides that branch, and that the
 * inner block has not written before. */
static Reason check_reads(const Nested *n, const Site *s, const Instr *i)
{
    for (RegWalk w = reg_walk(i); next_read(&w);)
        if (nested_decides(n, s->outer, w.reg) && !is_private(n, s, w.reg))
            return REASON_RELATED;
    return REASON_NONE;
}

/* Whether b's branch is decided by a comparison, or stands for several, so that another branch's predicate fits in. */
static bool compares(const Nested *n, const Block *b)
{
    const Instr *branch = block_terminator(b), *setp = local_definition(branch, branch->guard);
    return n->combined[b->id].truth || (setp && setp->op->opcode == OPC_SETP && setp->op->bool_op == BOOL_NONE);
}

/* The number of loads in b, all of them plain. UINT32_MAX: some are not, or b is too long to look at. */
static u32 plain_loads(const Block *b)
{
    u32 loads = 0, looked_at = 0;
    for (const Instr *i = b->first; i; i = i->next) {
        loads += site_is_load(i);
        if (BEYOND(INNER_LOOKED_AT, looked_at++ == INNER_LOOKED_AT) ||
            (site_is_load(i) && !op_has(i->op, OPF_PLAIN_ACCESS)))
            return UINT32_MAX;
    }
    return loads;
}

/* Whether b only computes and makes plain accesses, and costs so little that ptxas guards it together with a load in front. */
static bool is_light_arm(const Block *b)
{
    u32 cost = 0;
    for (const Instr *i = b->first; i && cost <= PTXAS_GUARDED_ARM; i = i->next) {
        if (i->kind == INSTR_OP && !op_is_pure(i->op) && !op_has(i->op, OPF_PLAIN_ACCESS) && i != block_terminator(b))
            return false;
        cost += i->kind == INSTR_OP ? ptxas_cost(i) : 0;
    }
    return cost <= PTXAS_GUARDED_ARM;
}

/* Whether the outer branch's predicate may guard instructions of the inner block, and that pays. Only inner leads to
 * `rest`; if inner loads, it loads once, and `rest` is light and leads to `other`, where only these three blocks lead. */
static bool may_guard(const Nested *n, const Site *s)
{
    if (n->combined[s->outer->id].truth || cfg_single_pred(n->fn, s->rest) != s->inner || !compares(n, s->inner) ||
        live_words(an_live(n->an), s->inner, PTXAS_GUARDED_WORDS + 1) > PTXAS_GUARDED_WORDS)
        return false;
    u32 loads = plain_loads(s->inner);
    CfgList succs = cfg_succs(n->fn, s->rest);
    bool is_arm = succs.n == 1 && succs.v[0].block == s->other && cfg_pred_count(n->fn, s->other) == 3;
    return !loads || (loads == 1 && is_arm && is_light_arm(s->rest));
}

bool site_guards(const Nested *n, const Site *s, const Instr *i)
{
    bool live = false;
    if (!s->guards || i == s->inner->last || i->kind != INSTR_OP)
        return false;
    for (RegWalk w = reg_walk(i); next_write(&w);)
        live |= w.reg < n->registers && live_in(an_live(n->an), s->other, w.reg);
    return live || site_is_load(i);
}

static Reason check_instr(const Nested *n, const Site *s, const Instr *i)
{
    if (i->kind == INSTR_LOC)
        return REASON_NONE;
    if (i->kind != INSTR_OP)
        return REASON_PLACE;
    if (i != s->inner->last) {
        bool parameter = instr_loads_parameter(i);
        if (site_is_load(i) && !s->guards)
            return REASON_LOAD;
        if ((!op_is_pure(i->op) && !parameter && !site_is_load(i)) || site_reads_special_register(i))
            return REASON_EFFECT;
        if (i->guard)
            return REASON_GUARD;
    }
    Reason why = check_reads(n, s, i);
    return why ? why : check_writes(n, s, i);
}

/* Why a block that computes too much is declined. If it holds a load, that is the reason, whatever the limit is. */
static Reason why_too_much(const Block *b)
{
    u32 looked_at = 0;
    for (const Instr *i = b->first; i && WITHIN(INNER_LOOKED_AT, looked_at < INNER_LOOKED_AT); i = i->next, looked_at++)
        if (site_is_load(i))
            return REASON_LOAD;
    return REASON_COST;
}

static Reason check_inner(const Nested *n, const Site *s)
{
    i64 limit = n->knobs->nested_cond_max_speculated, cost = 0;
    if (block_is_pinned(s->inner) || s->inner->scope != s->outer->scope)
        return REASON_PLACE;
    for_each_instr(i, s->inner) {
        Reason why = check_instr(n, s, i);
        if (why)
            return why;
        if (i->kind == INSTR_OP && i != s->inner->last)
            cost += site_is_load(i) ? ptxas_cost(i) : cost_of(i);
        if (cost > limit)
            return why_too_much(s->inner);
    }
    return REASON_NONE;
}

ReconvergeGate *nested_gate(Nested *n)
{
    if (!n->gate)
        n->gate = reconverge_new(n->an->scratch, n->an);
    return n->gate;
}

/* Whether merging the branches lets other threads than before come together at `to`, which they reached over both branches.
 * What is executed between the branches is pure. */
static bool joins_others(Nested *n, const Site *s, Block *to)
{
    if (!reconverge_matters(nested_gate(n)))
        return false;
    const BitSet *uniform = &an_uniform(n->an)->branch_warp;
    if (!n->combined[s->outer->id].truth && uniform_has(uniform, s->outer->id))
        return false; /* all lanes of a warp take one edge there */
    return reconverge_after_pure(n->gate, to, reconvergence_point(n->gate, s->outer)) != RECONVERGE_SAFE;
}

/* ---- chains ----------------------------------------------------------------------------------------------------- */

/* Whether `to` is in the innermost loop of b and is not its header, or b is in no loop. */
static bool stays_inside(const Nested *n, const Block *b, const Block *to)
{
    const Loops *loops = an_loops(n->an);
    const Loop *loop = loop_of(loops, b);
    return !loop || (to != loop->header && loop_contains(loops, loop, to));
}

static bool decides_loop(const Nested *n, const Site *s)
{
    const Loops *loops = an_loops(n->an);
    bool irreducible = loop_is_around_irreducible(loops, s->outer) || loop_is_around_irreducible(loops, s->inner);
    return irreducible || loop_of(loops, s->inner) != loop_of(loops, s->outer) || !stays_inside(n, s->outer, s->other) ||
           !stays_inside(n, s->outer, s->rest) || s->rest == s->outer || s->other == s->outer;
}

/* Whether `outer` is the only predecessor of `inner`, which ends in a branch. Sets the site's outer and inner. */
static bool is_inner(const Nested *n, Block *outer, Block *inner, Site *s)
{
    *s = (Site){.outer = outer, .inner = inner};
    return inner != outer && inner != n->fn->entry && cfg_single_pred(n->fn, inner) == outer && block_two_way_branch(inner);
}

bool site_find_chain(const Nested *n, Block *outer, u32 edge, Site *s)
{
    const Instr *branch = block_two_way_branch(outer);
    if (!branch)
        return false;
    Block *inner = edge ? branch_target(branch) : outer->fall, *other = edge ? outer->fall : branch_target(branch);
    if (!is_inner(n, outer, inner, s))
        return false;
    Block *taken = branch_target(block_terminator(inner)), *fall = inner->fall;
    s->other = other;
    s->rest = taken == other ? fall : taken;
    return (taken == other || fall == other) && other != inner;
}

Reason site_check_chain(Nested *n, Site *s)
{
    Truth leaf[2];
    TruthTerm in = site_condition_to(n, s->outer, s->inner, &leaf[0]),
              on = site_condition_to(n, s->inner, s->rest, &leaf[1]);
    if (decides_loop(n, s))
        return REASON_LOOP;
    if (BEYOND(TRUTH_LEAVES, in.truth->leaves + on.truth->leaves > TRUTH_LEAVES))
        return REASON_LARGE;
    s->guards = may_guard(n, s);
    Reason why = check_inner(n, s);
    if (why)
        return why;
    /* The condition is known in `rest` only where no other block leads to it. */
    bool known = cfg_single_pred(n->fn, s->rest) == s->inner;
    if (known && (tells(n, s->outer, in, s->rest) || tells(n, s->inner, on, s->rest)))
        return REASON_EQUAL;
    if (joins_others(n, s, s->other))
        return REASON_RECONVERGE;
    return are_cases(n, s) ? REASON_CASES : REASON_NONE;
}

/* ---- diamonds --------------------------------------------------------------------------------------------------- */

bool site_find_diamond(const Nested *n, Block *outer, Site *yes, Site *no)
{
    const Instr *branch = block_two_way_branch(outer);
    if (!branch || !is_inner(n, outer, branch_target(branch), yes) || !is_inner(n, outer, outer->fall, no))
        return false;
    Block *a = branch_target(block_terminator(yes->inner)), *b = yes->inner->fall;
    Block *c = branch_target(block_terminator(no->inner)), *d = no->inner->fall;
    yes->other = no->other = a;
    yes->rest = no->rest = b;
    return (a == c && b == d) || (a == d && b == c);
}

/* Whether a value computed in the inner block is read in `rest`. What one arm computes is wasted when control takes the
 * other, so it may not be. */
static bool writes_live(const Nested *n, const Site *s)
{
    for_each_instr(i, s->inner)
        if (i->kind == INSTR_OP)
            for (RegWalk w = reg_walk(i); next_write(&w);)
                if (live_in(an_live(n->an), s->rest, w.reg))
                    return true;
    return false;
}

static bool touches(const Nested *n, const Block *b, RegId reg)
{
    for_each_instr(i, b)
        if (i->kind == INSTR_OP && (instr_reads(i, reg) || instr_writes(i, reg)))
            return true;
    return nested_decides(n, b, reg);
}

/* Whether one arm writes what the other reads or writes, so that they cannot be executed one after the other. */
static bool arms_conflict(const Nested *n, const Block *one, const Block *two)
{
    for_each_instr(i, one)
        if (i->kind == INSTR_OP)
            for (RegWalk w = reg_walk(i); next_write(&w);)
                if (touches(n, two, w.reg))
                    return true;
    return false;
}

Reason site_check_diamond(Nested *n, const Site *yes, const Site *no)
{
    Truth leaf[3];
    TruthTerm which = site_condition_to(n, yes->outer, yes->inner, &leaf[0]);
    TruthTerm a = site_condition_to(n, yes->inner, yes->rest, &leaf[1]),
              b = site_condition_to(n, no->inner, yes->rest, &leaf[2]);
    if (decides_loop(n, yes) || decides_loop(n, no))
        return REASON_LOOP;
    if (BEYOND(TRUTH_LEAVES, which.truth->leaves + a.truth->leaves + b.truth->leaves > TRUTH_LEAVES))
        return REASON_LARGE;
    Reason why = check_inner(n, yes);
    why = why ? why : check_inner(n, no);
    if (why)
        return why;
    if (writes_live(n, yes) || writes_live(n, no))
        return REASON_LIVE;
    if (joins_others(n, yes, yes->other) || joins_others(n, yes, yes->rest))
        return REASON_RECONVERGE;
    return arms_conflict(n, yes->inner, no->inner) || arms_conflict(n, no->inner, yes->inner) ? REASON_RELATED
                                                                                              : REASON_NONE;
}
