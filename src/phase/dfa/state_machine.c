#include "phase/dfa/state_machine.h"

#include "analysis/affine.h"
#include "base/bound.h"
#include "ir/inspect.h"
#include "phase/dfa/plan_graph.h"
#include "target/ptxas.h"

enum { SELECTORS_ASKED = 64 /* the most registers of one loop that are asked about */ };

typedef struct MachineFinder {
    const Knobs *knobs;
    Analyses *an;
    const Loop *loop;
    MachinePlan *plan;
    bool separate; /* each edge into the machine gets copies of its own */
    u32 group;     /* if separate, the number of the edge whose copies are made */
    bool too_many; /* there are more paths than the limit */
    bool too_long; /* some path is longer than the limit */
} MachineFinder;

/* ---- state registers -------------------------------------------------------------------------------------------- */

/* Whether the loop copies or selects a value into the register. */
static bool loop_sets(const Loop *loop, RegId reg)
{
    for (u32 k = 0; k < loop->block_count; k++)
        for_each_instr(i, loop->blocks[k])
            if (i->kind == INSTR_OP && (i->op->opcode == OPC_MOV || i->op->opcode == OPC_SELP) && instr_writes(i, reg))
                return true;
    return false;
}

/* The register that the branch at the end of b compares with a constant, or indexes its table with; 0: none. */
static RegId selector_of(const Block *b)
{
    Instr *end = block_terminator(b);
    if (!end || !op_has(end->op, OPF_BRANCH))
        return 0;
    if (branch_table(end))
        return operand_plain_register(instr_operand(end, 0));
    Instr *i = end->guard ? instr_last_write(end, end->guard) : NULL;
    if (!i || i->op->opcode != OPC_SETP)
        return 0;
    const Operand *a = instr_operand(i, 1), *with = instr_operand(i, 2);
    return operand_plain_register(a) && with && with->kind == OPND_IMM ? a->id : 0;
}

u32 state_selectors(const Loop *loop, RegId *out, u32 limit)
{
    RegId asked[SELECTORS_ASKED];
    u32 n = 0, n_asked = 0;
    for (u32 k = 0;
         k < loop->block_count && WITHIN(SELECTORS, n < limit) && WITHIN(SELECTORS_ASKED, n_asked < SELECTORS_ASKED); k++) {
        RegId reg = selector_of(loop->blocks[k]);
        if (!reg || regs_have(asked, n_asked, reg))
            continue;
        asked[n_asked++] = reg;
        if (loop_sets(loop, reg))
            out[n++] = reg;
    }
    return n;
}

static void add_state_reg(MachineFinder *p, const Operand *o)
{
    MachinePlan *plan = p->plan;
    if (operand_plain_register(o) && !regs_have(plan->reg, plan->regs, o->id) && !loop_is_invariant(p->loop, o->id) &&
        WITHIN(STATE_REGS, plan->regs < STATE_REGS))
        plan->reg[plan->regs++] = o->id;
}

/* Finds the state registers: the selector, and the registers that the loop copies into it. False: one of them is a counter. */
static bool find_state_regs(MachineFinder *p, RegId selector)
{
    p->plan->reg[p->plan->regs++] = selector;
    for (u32 r = 0; r < p->plan->regs; r++)
        for (u32 k = 0; k < p->loop->block_count; k++)
            for_each_instr(i, p->loop->blocks[k]) {
                if (i->kind != INSTR_OP || !instr_writes(i, p->plan->reg[r]))
                    continue;
                if (i->op->opcode != OPC_SELP && instr_reads(i, p->plan->reg[r]))
                    return false;
                if (i->op->opcode == OPC_MOV || i->op->opcode == OPC_SELP)
                    add_state_reg(p, instr_operand(i, 1));
                if (i->op->opcode == OPC_SELP)
                    add_state_reg(p, instr_operand(i, 2));
            }
    return true;
}

/* ---- values ----------------------------------------------------------------------------------------------------- */

static u32 bits_of(const MachineFinder *p, u32 r) { return type_bits(fn_reg(p->an->fn, p->plan->reg[r])->type); }

static Given given_state(const MachineFinder *p, const Block *b, const StateValues *s)
{
    Given g = {.top = b};
    for (u32 r = 0; r < p->plan->regs; r++)
        if (s->known >> r & 1) {
            g.reg[g.regs].reg = p->plan->reg[r];
            g.reg[g.regs++].value = s->value[r];
        }
    return g;
}

/* The known values of the state registers at the point. *undecided becomes a selp that leaves one of them unknown. */
static StateValues state_at(const MachineFinder *p, ProgramPoint place, const Given *given, Instr **undecided)
{
    StateValues s = {.known = 0};
    *undecided = NULL;
    for (u32 r = 0; r < p->plan->regs; r++) {
        Instr *by;
        Range range = value_of_register_given(an_facts(p->an), place, p->plan->reg[r], bits_of(p, r), given, &by);
        if (range_is_constant(&range)) {
            s.known |= 1u << r;
            s.value[r] = range.lo;
        } else if (!*undecided) {
            *undecided = by;
        }
    }
    return s;
}

/* Forgets registers that nobody reads from b on, and those whose values are known there on every path. */
static void prune_state(const MachineFinder *p, StateValues *s, const Block *b)
{
    Instr *undecided;
    StateValues anyway = state_at(p, (ProgramPoint){NULL, b, b->first}, &(Given){.selects = 0}, &undecided);
    for (u32 r = 0; r < p->plan->regs; r++)
        if (!live_in(an_live(p->an), b, p->plan->reg[r]) || anyway.known >> r & 1)
            s->known &= ~(1u << r);
}

/* The known values on the edge from b, whose end has `out`, to `to`. */
static StateValues state_on_edge(const MachineFinder *p, const Block *b, const StateValues *out, const Block *to)
{
    Instr *undecided;
    StateValues s = state_at(p, (ProgramPoint){b, to, to->first}, &(Given){.selects = 0}, &undecided);
    for (u32 r = 0; r < p->plan->regs; r++)
        if (out->known >> r & 1) {
            s.known |= 1u << r;
            s.value[r] = out->value[r];
        }
    prune_state(p, &s, to);
    return s;
}

/* ---- nodes ------------------------------------------------------------------------------------------------------ */

static bool block_may_be_copied(const MachineFinder *p, const Block *b)
{
    const Instr *end = block_terminator(b);
    const Loop *header_of = loop_headed_by(an_loops(p->an), b);
    u32 n = 0;
    if (b == p->an->fn->entry || (header_of && header_of != p->loop) || (end && !op_has(end->op, OPF_BRANCH)) ||
        (!end && !b->fall))
        return false;
    if (block_is_pinned(b))
        return false;
    for_each_instr(i, b)
        if ((i != end && i->kind != INSTR_LOC && !instr_may_be_copied(i, p->an->summaries)) ||
            BEYOND(NODE_ITEMS, ++n > NODE_ITEMS))
            return false;
    return true;
}

/* The node for b with this state; NO_NODE: b itself is used. */
static i32 find_node(MachineFinder *p, Block *b, const StateValues *s, u32 depth)
{
    MachinePlan *plan = p->plan;
    const Knobs *knobs = p->knobs;
    if (!s->known || !loop_contains(an_loops(p->an), p->loop, b) || !block_may_be_copied(p, b))
        return NO_NODE;
    if (depth > (u32)knobs->dfa_max_path_length) {
        p->too_long = true;
        return NO_NODE;
    }
    for (u32 k = 0; k < plan->node.n; k++) {
        const PlanNode *node = &plan->node.v[k];
        bool same = node->b == b && node->at_entry.known == s->known && node->group == p->group;
        for (u32 r = 0; r < plan->regs && same; r++)
            same = !(s->known >> r & 1) || node->at_entry.value[r] == s->value[r];
        if (same)
            return (i32)k;
    }
    if (plan->node.n >= (u32)knobs->dfa_max_num_paths) {
        p->too_many = true;
        return NO_NODE;
    }
    vec_push(&plan->node, ((PlanNode){.b = b, .at_entry = *s, .depth = depth, .group = p->group}));
    return (i32)plan->node.n - 1;
}

static void add_way(MachineFinder *p, u32 k, Block *to, const StateValues *out)
{
    Block *b = p->plan->node.v[k].b;
    StateValues s = state_on_edge(p, b, out, to);
    i32 node = find_node(p, to, &s, p->plan->node.v[k].depth + 1);
    vec_push(&p->plan->target, ((PlanTarget){to, node}));
    p->plan->node.v[k].targets++;
}

static void expand_node(MachineFinder *p, u32 k)
{
    Block *b = p->plan->node.v[k].b, *to = b->fall;
    Instr *end = block_terminator(b);
    Given given = given_state(p, b, &p->plan->node.v[k].at_entry);
    Instr *undecided;
    StateValues out = state_at(p, (ProgramPoint){NULL, b, NULL}, &given, &undecided);
    p->group = p->plan->node.v[k].group;
    p->plan->node.v[k].first = p->plan->target.n;
    if (end) {
        to = value_of_branch_given(an_facts(p->an), NULL, b, &given, &undecided);
        p->plan->node.v[k].decided = to != NULL;
        if (!to && branch_table(end))
            return; /* a table for each copy would cost more than it saves */
    }
    if (to) {
        add_way(p, k, to, &out);
        return;
    }
    for (u32 w = 0; w < block_edge_count(b); w++)
        add_way(p, k, block_edge_target(b, w), &out);
}

/* ---- edges into the machine -------------------------------------------------------------------------------------- */

/* Whether the end of `from` may branch on the predicate of the selp. That must not divide a warp, unless the option asks
 * for it. */
static bool may_branch_on(const MachineFinder *p, const Instr *selp, const Block *from)
{
    const Operand *by = instr_operand(selp, 3);
    if (selp->block != from || selp->guard || by->kind != OPND_REG || by->sub != SUB_NONE ||
        instr_writes_between(selp, NULL, by->id))
        return false;
    return p->knobs->dfa_where == DFA_ANYWHERE || uniform_has(&an_uniform(p->an)->warp, by->id);
}

/* Appends a leaf for each outcome of the selps that are not given yet. False: the state is unknown in one of them. */
static bool add_leaves(MachineFinder *p, const Block *from, Block *to, Given *given)
{
    Instr *undecided;
    PlanLeaf leaf = {.selects = given->selects};
    StateValues s = state_at(p, (ProgramPoint){NULL, from, NULL}, given, &undecided);
    if (undecided && WITHIN(STATE_SELECTS, given->selects < STATE_SELECTS) && !block_terminator(from) &&
        may_branch_on(p, undecided, from)) {
        const Operand *by = instr_operand(undecided, 3);
        u32 k = given->selects++;
        given->select[k].selp = undecided;
        given->select[k].first = !(by->flags & OPNDF_NOT);
        bool both = add_leaves(p, from, to, given);
        given->select[k].first = !given->select[k].first;
        both = both && add_leaves(p, from, to, given);
        given->selects--;
        return both;
    }
    s = state_on_edge(p, from, &s, to);
    for (u32 k = 0; k < given->selects; k++) {
        const Operand *by = instr_operand(given->select[k].selp, 3);
        leaf.select[k] = given->select[k].selp;
        leaf.holds[k] = given->select[k].first != !!(by->flags & OPNDF_NOT);
    }
    leaf.target = (PlanTarget){to, find_node(p, to, &s, 1)};
    vec_push(&p->plan->leaf, leaf);
    return leaf.target.node != NO_NODE;
}

static void add_edges_into(MachineFinder *p, Block *b)
{
    for_each_cfg_edge(pred, cfg_preds(p->an->fn, b)) {
        Block *from = pred.v->block;
        if (!order_reachable(an_order(p->an), from))
            continue;
        Given given = {.selects = 0};
        p->group += p->separate;
        PlanEdge edge = {.from = from, .to = b, .first = p->plan->leaf.n};
        if (!add_leaves(p, from, b, &given)) {
            p->plan->leaf.n = edge.first;
            continue;
        }
        edge.leaves = p->plan->leaf.n - edge.first;
        vec_push(&p->plan->edge, edge);
    }
}

/* ---- what the plan is worth -------------------------------------------------------------------------------------- */

static bool leads_to_used(const MachinePlan *plan, const PlanNode *node)
{
    for (u32 w = node->first; w < node->first + node->targets; w++)
        if (plan->target.v[w].node != NO_NODE && plan->node.v[plan->target.v[w].node].used)
            return true;
    return false;
}

/* Marks the nodes from which a decision is reached as used, and lets no target name another one. */
static void keep_used(MachinePlan *plan)
{
    bool more = true;
    for (u32 k = 0; k < plan->node.n; k++)
        plan->node.v[k].used = plan->node.v[k].decided;
    while (more) {
        more = false;
        for (u32 k = 0; k < plan->node.n; k++)
            if (!plan->node.v[k].used && leads_to_used(plan, &plan->node.v[k]))
                more = plan->node.v[k].used = true;
    }
    for (u32 e = 0; e < plan->edge.n; e++) {
        PlanEdge *edge = &plan->edge.v[e];
        edge->used = true;
        for (u32 k = edge->first; k < edge->first + edge->leaves; k++)
            edge->used &= plan->node.v[plan->leaf.v[k].target.node].used;
    }
    for (u32 w = 0; w < plan->target.n; w++)
        if (plan->target.v[w].node != NO_NODE && !plan->node.v[plan->target.v[w].node].used)
            plan->target.v[w].node = NO_NODE;
}

static void reach(BitSet *seen, VecU32 *work, i32 node)
{
    if (node != NO_NODE && bitset_add(seen, (u32)node))
        vec_push(work, (u32)node);
}

static void drop_unreached(MachineFinder *p)
{
    MachinePlan *plan = p->plan;
    BitSet seen = bitset_new(p->an->scratch, plan->node.n);
    VecU32 work = {0};
    for (u32 e = 0; e < plan->edge.n; e++)
        for (u32 k = 0; plan->edge.v[e].used && k < plan->edge.v[e].leaves; k++)
            reach(&seen, &work, plan->leaf.v[plan->edge.v[e].first + k].target.node);
    while (work.n) {
        const PlanNode *node = &plan->node.v[vec_pop(&work)];
        for (u32 w = node->first; w < node->first + node->targets; w++)
            reach(&seen, &work, plan->target.v[w].node);
    }
    for (u32 k = 0; k < plan->node.n; k++)
        plan->node.v[k].used &= bitset_has(&seen, k);
    vec_free(&work);
}

/* Counts the states and instructions of the plan. */
static void weigh(MachineFinder *p)
{
    MachinePlan *plan = p->plan;
    BitSet reached = bitset_new(p->an->scratch, p->an->fn->blocks.n);
    for (u32 k = 0; k < plan->node.n; k++) {
        const PlanNode *node = &plan->node.v[k];
        const Instr *end = block_terminator(node->b);
        if (!node->used)
            continue;
        for_each_instr(i, node->b)
            plan->cost += i == end && node->decided ? 0 : ptxas_cost(i);
        if (!node->decided || plan->target.v[node->first].node != NO_NODE)
            continue;
        plan->table |= branch_table(end) != NULL;
        plan->at = end;
        bitset_add(&reached, plan->target.v[node->first].to->id);
    }
    plan->states = bitset_count(&reached);
}

static u32 log2_ceil(u32 n)
{
    u32 bits = 1;
    while (n > (1u << bits))
        bits++;
    return bits;
}

/* Whether a block of the loop, reachable once the plan is carried out, still leads to a dispatch that other edges bypass. */
static bool stays_unknown(const MachineFinder *p, const PlanGraph *graph)
{
    for (u32 e = 0; e < p->plan->edge.n; e++) {
        const PlanEdge *edge = &p->plan->edge.v[e];
        CfgList preds = cfg_preds(p->an->fn, edge->to);
        for (u32 k = 0; edge->used && k < preds.n; k++)
            if (loop_contains(an_loops(p->an), p->loop, preds.v[k].block) &&
                plan_graph_has_edge(graph, preds.v[k].block, edge->to))
                return true;
    }
    return false;
}

/* Whether none of the decided branches divides a warp. */
static bool dispatch_is_uniform(const MachineFinder *p)
{
    for (u32 k = 0; k < p->plan->node.n; k++) {
        const PlanNode *node = &p->plan->node.v[k];
        if (node->used && node->decided && !uniform_has(&an_uniform(p->an)->branch_warp, node->b->id))
            return false;
    }
    return true;
}

static const char reducible_no_more[] = "a loop would get a second entry";
static const char too_many_blocks[] = "more blocks would be copied than --dfa-jump-threading-max-num-paths allows";

static const char *why_not(MachineFinder *p)
{
    MachinePlan *plan = p->plan;
    const Knobs *knobs = p->knobs;
    bool asked_for = knobs->dfa_where == DFA_ANYWHERE;
    u32 shared = plan->table ? plan->states : log2_ceil(plan->states);
    if (!asked_for && !dispatch_is_uniform(p))
        return "the threads of a warp may be in different states";
    if (p->too_many)
        return too_many_blocks;
    if (plan->cost > (u64)knobs->dfa_cost_threshold * shared)
        return "more instructions would be copied than --dfa-jump-threading-cost-threshold allows";
    PlanGraph *graph = plan_graph_make(p->an, p->knobs, plan);
    if (knobs->dfa_early_exit_heuristic && stays_unknown(p, graph))
        return "the next state is not known everywhere";
    if (!plan_graph_is_reducible(graph))
        return reducible_no_more;
    if (plan_graph_reconverges_as_before(graph) || (asked_for && !plan_graph_convergent(graph)))
        return NULL;
    return "threads of a warp that diverge at a branch would no longer reconverge";
}

/* A branch of the loop that the register decides. */
static const Instr *dispatch_on(const Loop *loop, RegId selector)
{
    for (u32 k = 0; k < loop->block_count; k++)
        if (selector_of(loop->blocks[k]) == selector)
            return block_terminator(loop->blocks[k]);
    return NULL;
}

/* The limit that was reached before any branch was decided; NULL: none was. */
static const char *why_stopped(const MachineFinder *p)
{
    if (p->too_many)
        return too_many_blocks;
    return p->too_long
               ? "the next state is decided farther away than --dfa-jump-threading-max-path-length allows, if at all"
               : NULL;
}

static bool make_plan(MachineFinder p, RegId selector, const char **why)
{
    MachinePlan *plan = p.plan;
    const Loop *loop = p.loop;
    *plan = (MachinePlan){.regs = 0};
    *why = NULL;
    if (!find_state_regs(&p, selector))
        return false;
    for (u32 k = 0; k < loop->block_count; k++)
        add_edges_into(&p, loop->blocks[k]);
    for (u32 k = 0; k < plan->node.n; k++)
        expand_node(&p, k);
    keep_used(plan);
    drop_unreached(&p);
    weigh(&p);
    if (!plan->at) {
        *why = why_stopped(&p);
        plan->at = *why ? dispatch_on(loop, selector) : NULL;
        return false;
    }
    *why = why_not(&p);
    return !*why;
}

bool plan_make(Analyses *an, const Knobs *knobs, const Loop *loop, RegId selector, MachinePlan *plan, const char **why)
{
    MachineFinder p = {.an = an, .knobs = knobs, .loop = loop, .plan = plan};
    const Reg *reg = fn_reg(an->fn, selector);
    *plan = (MachinePlan){.regs = 0};
    *why = NULL;
    if (type_class(reg->type) == TC_PRED || reg->vector > 1)
        return false;
    if (make_plan(p, selector, why) || *why != reducible_no_more)
        return *why == NULL && plan->at;
    /* A loop gets two entries by a state that one arm falls into and others enter through copies. It does not if the arms
     * in it have their own copies. */
    plan_free(plan);
    p.separate = true;
    return make_plan(p, selector, why);
}

void plan_free(MachinePlan *plan)
{
    vec_free(&plan->node);
    vec_free(&plan->target);
    vec_free(&plan->edge);
    vec_free(&plan->leaf);
}
