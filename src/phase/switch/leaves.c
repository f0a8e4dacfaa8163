#include "ir/cfg.h"

#include "base/bound.h"
#include "ir/inspect.h"
#include "phase/switch/region.h"
#include "transform/slice.h"

/* ---- blocks that may be members --------------------------------------------------------------------------------- */

/* Whether i is pure, unguarded and simple, as copies and the computation of conditions are. */
static bool is_helper(Instr *i)
{
    if (!i->op->known || !op_is_pure(i->op) || i->guard)
        return false;
    for_each_slot(o, i)
        if (o->kind == OPND_SREG || o->kind == OPND_VEC || o->sub || o->role == ROLE_DEF_USE)
            return false;
    return true;
}

static bool has_only_helpers(const Block *b)
{
    const Instr *end = block_terminator(b);
    for_each_instr(i, b)
        if (i->kind != INSTR_LOC && i != end && (i->kind != INSTR_OP || !is_helper(i)))
            return false;
    return true;
}

bool region_only_helpers(BlockKinds *kinds, const Block *b) { return block_is(kinds, b, KNOWN_HELPERS, has_only_helpers); }

/* ---- instructions that an edge out carries ---------------------------------------------------------------------- */

/* Lists the region's instructions on the path whose results `target` needs, from the last to the first. False: there are
 * too many. */
static bool collect_needed(const SwitchRegion *g, const Env *env, const Block *target, Leaf *leaf)
{
    RegId needed[CARRY_LIMIT * 4], killed[CARRY_LIMIT * 4];
    Instr *kept[CARRY_LIMIT];
    Slice slice = {an_live(g->r->an), &target, 1, needed, killed, COUNT_OF(needed), 0, 0};
    u32 n = 0;
    while (env) {
        Instr *i = env->instr;
        while (env && env->instr == i) /* one instruction may write several registers */
            env = env->before;
        if (!slice_reads_result(&slice, i))
            continue;
        if (BEYOND(CARRY_LIMIT, n == CARRY_LIMIT) || !slice_take(&slice, i))
            return false;
        kept[n++] = i;
    }
    leaf->carried = n;
    leaf->carry = n ? arena_array(g->arena, Instr *, n) : NULL;
    for (u32 k = 0; k < n; k++)
        leaf->carry[k] = kept[n - 1 - k];
    return true;
}

/* ---- leaves ---------------------------------------------------------------------------------------------------- */

static bool same_instr(const Instr *a, const Instr *b)
{
    return a == b || (a->op == b->op && a->slots == b->slots && !memcmp(a->opnd, b->opnd, a->slots * sizeof(Operand)));
}

static bool same_leaf(const Leaf *a, const Leaf *b)
{
    if (a->target != b->target || a->carried != b->carried)
        return false;
    for (u32 k = 0; k < a->carried; k++)
        if (!same_instr(a->carry[k], b->carry[k]))
            return false;
    return true;
}

/* Moves an arrival from its node to the leaf. */
static void add_part(SwitchRegion *g, u32 leaf, Arrival *part)
{
    part->next = g->parts[leaf];
    g->parts[leaf] = part;
}

/* All values that lead to a leaf, in the decision's memory. */
static ValueSet unite_parts(SwitchRegion *g, u32 leaf)
{
    u32 n = 0;
    for (const Arrival *part = g->parts[leaf]; part; part = part->next)
        n++;
    ValueSet *sets = arena_array(&g->scratch, ValueSet, n);
    n = 0;
    for (const Arrival *part = g->parts[leaf]; part; part = part->next)
        sets[n++] = part->values;
    return value_set_union(g->arena, sets, n);
}

static void add_leaf(SwitchRegion *g, const Leaf *leaf, Arrival *part)
{
    Decision *d = g->d;
    u32 *last = &g->r->leaf_of[leaf->target->id];
    for (u32 k = *last; k; k = d->leaves[k - 1].sibling)
        if (same_leaf(&d->leaves[k - 1], leaf)) {
            d->leaves[k - 1].value_edges += leaf->value_edges;
            add_part(g, k - 1, part);
            return;
        }
    d->leaves[d->leaf_count] = *leaf;
    d->leaves[d->leaf_count].sibling = *last;
    add_part(g, d->leaf_count++, part);
    *last = d->leaf_count;
}

/* Whether the node's block is no member of the region, or is its root, to which a path leads back. */
static bool is_exit(const SwitchRegion *g, const Node *node)
{
    return node->arrivals && (!node->member || node->b == g->d->root);
}

/* Adds leaves for the edges to one block that the region leads to. False: an edge needs too many instructions. */
static bool collect_successors(SwitchRegion *g, const Node *node)
{
    Decision *d = g->d;
    d->targets[d->target_count++] = node->b;
    for (Arrival *a = node->arrivals, *next; a; a = next) {
        next = a->next;
        Leaf leaf = {.target = node->b, .value_edges = a->several ? 2 * a->valued : a->valued};
        d->depth = a->depth > d->depth ? a->depth : d->depth;
        if (!a->values.n)
            continue;
        if (!collect_needed(g, a->env, node->b, &leaf))
            return false;
        add_leaf(g, &leaf, a);
    }
    return true;
}

/* Counts, for each target, the blocks of the region that lead to it, in its last leaf. */
static void count_edges(SwitchRegion *g)
{
    for (u32 n = 0; n < g->nodes.n; n++) {
        const Node *node = &g->nodes.v[n];
        u32 leaf = is_exit(g, node) ? g->r->leaf_of[node->b->id] : 0;
        if (leaf)
            g->d->leaves[leaf - 1].edges += node->from;
        g->d->has_untaken |= is_exit(g, node) && !leaf;
    }
}

/* The arrivals that may become leaves. */
static u32 count_arrivals(const SwitchRegion *g)
{
    u32 count = 0;
    for (u32 n = 0; n < g->nodes.n; n++)
        for (const Arrival *a = is_exit(g, &g->nodes.v[n]) ? g->nodes.v[n].arrivals : NULL; a; a = a->next)
            count += a->values.n > 0;
    return count;
}

bool region_collect_leaves(SwitchRegion *g)
{
    Decision *d = g->d;
    u32 most = count_arrivals(g);
    d->targets = arena_array(g->arena, Block *, g->nodes.n);
    d->leaves = arena_array(g->arena, Leaf, most);
    g->parts = arena_array(&g->scratch, Arrival *, most);
    bool done = true;
    for (u32 n = 0; n < g->nodes.n && done; n++)
        done = !is_exit(g, &g->nodes.v[n]) || collect_successors(g, &g->nodes.v[n]);
    count_edges(g);
    for (u32 l = 0; l < d->leaf_count; l++) {
        d->leaves[l].values = unite_parts(g, l);
        g->r->leaf_of[d->leaves[l].target->id] = 0;
    }
    return done;
}
