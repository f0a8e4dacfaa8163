#include "analysis/ranges.h"

#include "base/bound.h"
#include "ir/cfg.h"
#include "ir/inspect.h"
#include "phase/switch/region.h"

enum {
    UNREAD_LIMIT =
        8 /* the most instructions of a block that are checked for readers, each by a walk over the block's rest */
};

Recovery *recovery_new(Analyses *an, PhaseRun *run, Arena *arena, BlockKinds *kinds)
{
    Recovery *r = arena_new(arena, Recovery);
    r->run = run;
    r->an = an;
    r->arena = arena;
    r->kinds = kinds;
    r->blocks = an->fn->blocks.n;
    r->node_of = arena_array(arena, u32, r->blocks);
    r->leaf_of = arena_array(arena, u32, r->blocks);
    r->seen = arena_array(arena, u8, r->blocks);
    r->in_edges = arena_array(arena, u32, r->blocks);
    for_each_block(b, an->fn)
        r->in_edges[b->id] = cfg_pred_count(an->fn, b);
    return r;
}

/* ---- membership ------------------------------------------------------------------------------------------------ */

static bool is_region_branch(const Block *b)
{
    const Instr *end = block_terminator(b);
    if (end && branch_table(end))
        return !end->guard;
    return end && end->op->opcode == OPC_BRA && end->guard && b->fall;
}

/* Whether nobody reads the results of i, a pure instruction. */
static bool is_unread(const SwitchRegion *g, const Instr *i)
{
    for (RegWalk w = reg_walk(i); next_write(&w);)
        if (live_after(an_live(g->r->an), i, w.reg))
            return false;
    return true;
}

/* Adds the writes of the block's instructions to the state *env. False: a result is read that is unknown, and not of a
 * copy, or the state is too long. */
static bool walk_block(SwitchRegion *g, const Block *b, const Env **env)
{
    u32 unread = 0;
    for_each_instr(i, b) {
        if (i->kind != INSTR_OP || i == block_terminator(b))
            continue;
        const Env *before = *env;
        *env = region_write(g, before, i);
        bool is_known = *env != before && (*env)->value.kind != VALUE_UNKNOWN;
        if (*env && BEYOND(ENV_LIMIT, (*env)->length > ENV_LIMIT)) {
            phase_missed_once(g->r->run, "SwitchCut", i,
                              "a switch is looked at up to here: its branches are more than %u written registers apart",
                              (u32)ENV_LIMIT);
            return false;
        }
        if (i->op->opcode != OPC_MOV && !is_known && (BEYOND(UNREAD_LIMIT, ++unread > UNREAD_LIMIT) || !is_unread(g, i)))
            return false;
    }
    return true;
}

static bool branch_truth(SwitchRegion *g, const Instr *branch, const Env *env, ValueSet *truth)
{
    g->env = env;
    Value value = region_value(g, branch->guard);
    if (value.kind != VALUE_TRUTH)
        return false;
    *truth = branch->guard_not ? value_set_not(&g->scratch, value.truth, g->d->bits) : value.truth;
    return true;
}

static bool table_index(SwitchRegion *g, Instr *branch, const Env *env, Value *index)
{
    RegId reg = operand_plain_register(branch->opnd);
    g->env = env;
    *index = reg ? region_value(g, reg) : (Value){.kind = VALUE_UNKNOWN};
    return index->kind == VALUE_LINEAR && index->width == 32;
}

static const Env *common_state(const Env *a, const Env *b)
{
    while (a != b) {
        bool a_is_longer = a && (!b || a->length >= b->length);
        if (a_is_longer)
            a = a->before;
        else
            b = b->before;
    }
    return a;
}

/* The state that all in-edges of the node have in common. False: its block needs a register that was written on some of the
 * paths after that state. */
static bool join_states(const SwitchRegion *g, const Node *node, const Env **env)
{
    const Env *common = node->arrivals->env;
    for (const Arrival *a = node->arrivals->next; a; a = a->next)
        common = common_state(common, a->env);
    for (const Arrival *a = node->arrivals; a; a = a->next)
        for (const Env *e = a->env; e != common; e = e->before)
            if (live_in(an_live(g->r->an), node->b, e->reg))
                return false;
    *env = common;
    return true;
}

/* Whether b may belong to the region, as far as its header and branch say. Every edge to it comes from the region. */
static bool looks_like_member(const SwitchRegion *g, const Block *b)
{
    const Block *root = g->d->root;
    if (b->dead || b->id >= g->r->blocks || g->r->seen[b->id] || b == root || block_is_pinned(b))
        return false;
    if (loop_headed_by(an_loops(g->r->an), b) || /* its back edge may be one that is never taken */
        loop_is_around_irreducible(an_loops(g->r->an), b))
        return false;
    return is_region_branch(b);
}

/* Whether b may be a member. A block that post-dominates the root may not: it is executed whatever the root's branch decides. */
static bool may_be_member(const SwitchRegion *g, const Block *b)
{
    return looks_like_member(g, b) && !dominates(g->r->postdom, b, g->d->root);
}

/* ---- growth ---------------------------------------------------------------------------------------------------- */

static Node *node_of(SwitchRegion *g, Block *b)
{
    u32 *at = &g->r->node_of[b->id];
    if (!*at) {
        vec_push(&g->nodes, ((Node){.b = b}));
        *at = g->nodes.n;
    }
    return &g->nodes.v[*at - 1];
}

/* Adds values that come to `to` from the member of index `from`. */
static Arrival *arrive(SwitchRegion *g, u32 from, Block *to, const Env *env, ValueSet values, u32 depth)
{
    Node *node = node_of(g, to);
    if (node->last_from != from + 1) {
        node->last_from = from + 1;
        node->from++;
    }
    Arrival *a = arena_new(&g->scratch, Arrival);
    const Arrival *in = g->nodes.v[from].arrivals;
    *a =
        (Arrival){.next = node->arrivals, .env = env, .values = values, .depth = depth, .edges = 1, .valued = values.n > 0};
    a->several = in && (in->next || in->edges > 1 || in->several);
    node->arrivals = a;
    return a;
}

/* The arrival at a block of what the table of the member `from` sends there. */
static Arrival *arrive_by_table(SwitchRegion *g, u32 from, Block *to, const Env *env, u32 depth)
{
    Node *node = node_of(g, to);
    if (node->last_from == from + 1)
        return node->arrivals;
    Arrival *a = arrive(g, from, to, env, (ValueSet){0}, depth);
    a->edges = 0;
    return a;
}

/* The values that were counted get their place in memory with the first of them. */
static void collect(SwitchRegion *g, Arrival *a, ValueSet there)
{
    if (!a->sent) {
        a->sent = arena_alloc_raw(&g->scratch, a->values.n * sizeof *a->sent);
        a->values.n = 0;
    }
    for (u32 k = 0; k < there.n; k++)
        a->sent[a->values.n++] = there.v[k];
}

enum { TABLE_COUNT, TABLE_COLLECT, TABLE_UNITE, TABLE_STEPS };

/* Follows the edges of a table, in three steps over its entries, since it may have very many. A larger index is undefined. */
static void leave_by_table(SwitchRegion *g, u32 from, const Table *table, const Value *index, const Env *env,
                           ValueSet values, u32 depth)
{
    Arena one = {0};
    ValueScope scope = g->scope;
    scope.arena = &one;
    for (u32 step = 0; step < TABLE_STEPS; step++)
        for (u32 k = 0, next; k < table->targets.n; k = next, arena_free(&one)) {
            for (next = k + 1; next < table->targets.n && table->targets.v[next] == table->targets.v[k];)
                next++;
            Arrival *a = arrive_by_table(g, from, fn_block(g->r->an->fn, table->targets.v[k]), env, depth + 1);
            if (step == TABLE_UNITE) {
                a->values = a->sent ? value_set_of(a->sent, a->values.n) : a->values;
                a->sent = NULL;
                continue;
            }
            ValueSet there = value_set_and(&one, values, value_preimage(&scope, index, value_set_range(&one, k, next - 1)));
            if (step == TABLE_COLLECT) {
                collect(g, a, there);
                continue;
            }
            a->edges++;
            a->valued += there.n > 0;
            a->values.n += there.n;
        }
}

/* Follows the edges out of b, a member or the root. False: its branch does not decide by the selector. */
static bool leave(SwitchRegion *g, u32 from, Block *b, const Env *env, ValueSet values, u32 depth)
{
    Instr *end = block_terminator(b);
    Arena *arena = &g->scratch;
    ValueSet truth;
    Value index;
    if (op_has(end->op, OPF_UNIFORM_HINT) != g->d->uniform)
        return false; /* a branch that stands for both kinds could promise nothing */
    if (branch_table(end)) {
        const Table *table = branch_table(end);
        if (!table_index(g, end, env, &index))
            return false;
        leave_by_table(g, from, table, &index, env, values, depth);
        g->d->tables++;
        g->d->entries += table->targets.n;
    } else {
        if (!branch_truth(g, end, env, &truth))
            return false;
        arrive(g, from, branch_target(end), env, value_set_and(arena, values, truth), depth + 1);
        arrive(g, from, b->fall, env, value_set_minus(arena, values, truth), depth + 1);
    }
    g->d->branches++;
    return true;
}

static void add_member(SwitchRegion *g, u32 index)
{
    g->nodes.v[index].member = true;
    vec_push(&g->members, index);
    const Block *b = g->nodes.v[index].b;
    g->r->seen[b->id] = 1;
    for_each_instr(i, b)
        if (b != g->d->root && i->kind == INSTR_OP && i != block_terminator(b))
            region_count(g->d, i);
}

static ValueSet arrived_values(SwitchRegion *g, const Node *node)
{
    u32 n = 0;
    for (const Arrival *a = node->arrivals; a; a = a->next)
        n++;
    if (n == 1)
        return node->arrivals->values;
    ValueSet *sets = arena_array(&g->scratch, ValueSet, n);
    n = 0;
    for (const Arrival *a = node->arrivals; a; a = a->next)
        sets[n++] = a->values;
    return value_set_union(&g->scratch, sets, n);
}

/* Makes the node's block a member if all its in-edges come from the region. It may hold only copies, values that are known,
 * and a branch on the selector. */
static void try_member(SwitchRegion *g, u32 index)
{
    Node *node = &g->nodes.v[index];
    Block *b = node->b;
    const Env *env;
    u32 depth = 0;
    if (node->tried || b->id >= g->r->blocks || node->from != g->r->in_edges[b->id] || !may_be_member(g, b))
        return;
    node->tried = true; /* no other edge leads to it */
    if (!region_only_helpers(g->r->kinds, b) || !join_states(g, node, &env) || !walk_block(g, b, &env))
        return;
    for (const Arrival *a = node->arrivals; a; a = a->next)
        depth = a->depth > depth ? a->depth : depth;
    if (leave(g, index, b, env, arrived_values(g, node), depth))
        add_member(g, index);
}

/* Lets the region grow until no successor of a member can become one. */
static void grow(SwitchRegion *g)
{
    for (u32 m = 0; m < g->members.n && g->members.n < REGION_LIMIT; m++) {
        const Block *b = g->nodes.v[g->members.v[m]].b;
        for_each_cfg_edge(succ, cfg_succs(g->r->an->fn, b)) {
            u32 index = g->r->node_of[succ.v->block->id] - 1;
            if (!g->nodes.v[index].member)
                try_member(g, index);
        }
    }
    if (BEYOND(REGION_LIMIT, g->members.n >= REGION_LIMIT))
        phase_missed_once(g->r->run, "SwitchCut", block_terminator(g->nodes.v[g->members.v[0]].b),
                          "of a switch of more than %u blocks each part is looked at by itself", (u32)REGION_LIMIT);
}

/* Whether the branch may test what a switch tests. A setp in its own block that writes its guard must compare integers, and
 * with_constant a constant; another block may write the guard. */
static bool may_compare(const Instr *branch, bool with_constant)
{
    Instr *i = instr_last_write(branch, branch->guard);
    if (!i || i->op->opcode != OPC_SETP)
        return !i || i->op->sem.bits == 1;
    const Operand *a = instr_operand(i, 1), *b = instr_operand(i, 2);
    return a && b && type_is_integer(i->op->sem.compared) && (!with_constant || a->kind == OPND_IMM || b->kind == OPND_IMM);
}

static bool ends_in_compare(const Block *b) { return may_compare(block_terminator(b), false); }

/* The number of branches, at most `wanted`, in blocks from b on that could be members; a table counts as `wanted`. */
static u32 branches_ahead(BlockKinds *kinds, const Block *b, u32 wanted)
{
    const Instr *end = block_terminator(b);
    if (!is_region_branch(b) || !region_only_helpers(kinds, b))
        return 0;
    if (branch_table(end))
        return wanted;
    if (!block_is(kinds, b, KNOWN_COMPARE, ends_in_compare))
        return 0;
    u32 found = 1;
    found += found < wanted ? branches_ahead(kinds, branch_target(end), wanted - found) : 0;
    return found + (found < wanted ? branches_ahead(kinds, b->fall, wanted - found) : 0);
}

bool region_may_decide(BlockKinds *kinds, const Block *root, u32 branches)
{
    const Instr *end = block_terminator(root);
    if (!is_region_branch(root))
        return false;
    if (branch_table(end))
        return true;
    return may_compare(end, true) &&
           branches_ahead(kinds, branch_target(end), branches - 1) + branches_ahead(kinds, root->fall, branches - 1) >=
               branches - 1;
}

/* Forgets the region's nodes, so that another region can begin. */
static void clear_region(SwitchRegion *g)
{
    for (u32 n = 0; n < g->nodes.n; n++)
        g->r->node_of[g->nodes.v[n].b->id] = 0;
    vec_clear(&g->nodes);
    vec_clear(&g->members);
    marks_clear(&g->r->written);
}

/* Whether the region could get this many branches, or a jump table, whatever its blocks compare. It is asked before the
 * function's values are computed. */
static bool may_grow(SwitchRegion *g, u32 branches)
{
    const Recovery *r = g->r;
    node_of(g, g->d->root)->member = true;
    vec_push(&g->members, 0);
    u32 found = 0;
    for (u32 m = 0; m < g->members.n && found < branches; m++) {
        const Block *b = g->nodes.v[g->members.v[m]].b;
        const Instr *end = block_terminator(b);
        CfgList succs = cfg_succs(r->an->fn, b);
        found += branch_table(end) ? branches : 1;
        for (u32 k = 0; k < succs.n; k++) {
            Node *node = node_of(g, succs.v[k].block);
            node->from++;
            if (node->member || node->b->id >= r->blocks || node->from != r->in_edges[node->b->id])
                continue;
            node->member = looks_like_member(g, node->b) && region_only_helpers(r->kinds, node->b);
            if (node->member)
                vec_push(&g->members, r->node_of[node->b->id] - 1);
        }
    }
    clear_region(g);
    return found >= branches;
}

/* ---- the decision ---------------------------------------------------------------------------------------------- */

static void require_analyses(Recovery *r)
{
    if (r->facts)
        return;
    r->facts = an_facts(r->an);
    r->ssa = an_ssa(r->an);
    r->postdom = an_postdom(r->an);
    r->registers = r->an->fn->regs.n;
    r->written = marks_new(r->arena, r->registers);
}

static RecoverResult recover(SwitchRegion *g, Instr *branch, u32 branches)
{
    Decision *d = g->d;
    d->uniform = op_has(branch->op, OPF_UNIFORM_HINT);
    if (!region_find_selector(g, branch))
        return RECOVER_NONE;
    Node *root = node_of(g, d->root);
    root->member = true;
    if (!leave(g, 0, d->root, NULL, region_domain(g), 0))
        return RECOVER_NONE;
    add_member(g, 0);
    grow(g);
    if (d->branches < branches && !d->tables)
        return RECOVER_NONE;
    d->count = g->members.n;
    d->blocks = arena_array(g->arena, Block *, d->count);
    for (u32 k = 0; k < d->count; k++)
        d->blocks[k] = g->nodes.v[g->members.v[k]].b;
    if (!region_collect_leaves(g))
        return RECOVER_CARRY;
    if (!d->leaf_count) /* no value is possible: control never comes here */
        return RECOVER_NONE;
    return RECOVER_DONE;
}

void recovery_forget(Recovery *r, const Decision *d)
{
    for (u32 k = 1; k < d->count; k++)
        r->seen[d->blocks[k]->id] = 0;
}

RecoverResult recover_decision(Recovery *r, Arena *arena, Block *root, u32 branches, Decision *decision)
{
    SwitchRegion g = {.r = r, .arena = arena, .d = decision};
    Instr *end = block_terminator(root);
    *decision = (Decision){.root = root};
    g.scope = (ValueScope){&g.scratch, r->an->fn, 0, region_value, &g};
    if (root->id >= r->blocks || r->seen[root->id] || !is_region_branch(root))
        return RECOVER_NONE;
    RecoverResult result = RECOVER_NONE;
    if (may_grow(&g, branches)) {
        require_analyses(r);
        result = recover(&g, end, branches);
        clear_region(&g);
    }
    vec_free(&g.nodes);
    vec_free(&g.members);
    arena_free(&g.scratch);
    return result;
}
