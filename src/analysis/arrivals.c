#include "analysis/arrivals.h"

#include <stdlib.h>

#include "analysis/convergence.h"
#include "base/marks.h"
#include "base/sorted.h"
#include "ir/inspect.h"

enum {
    WORK = 1 << 20, /* blocks of all walks, and branches of all lists */
    EDGES = 64,     /* into a block that are looked at */
    CLIMB = 256,    /* dominators of a block likewise */
    GONE = 16,      /* blocks of which nothing remains that are passed over */
    HOPS = 8        /* blocks after a point in which an instruction is sought that was there before */
};

/* An instruction that depends on which lanes execute it, and does not name them, or a branch that promises to be uniform. */
typedef struct Seer {
    u32 origin;
    u32 first, n; /* origins of the branches that it depends on: Arrivals.branches, sorted */
} Seer;

/* The function before the phase, by position in its order. */
struct Arrivals {
    Seer *seers; /* by origin */
    u32 n, origins;
    VecU32 branches;
    Graph succ, pred;
    u32 *idom, *point; /* positions, of points after empty blocks; GRAPH_NONE */
    u32 *branch;       /* Instr.origin of a branch; 0: the block does not branch */
    bool *uniform, *empty;
    u32 *at;        /* by Instr.origin: position + 1 */
    u32 *same;      /* position + 1 of another block whose terminator has the same origin */
    RegId *decides; /* register that the branch tests */
    u32 *entries;   /* of a block that ends in a table: where its positions begin in `targets` */
    VecU32 targets; /* by entry */
    bool *copied; /* by Instr.origin of a branch: it stands in several blocks, or in a place where it divides no threads */
};

static int compare_seers(const void *a, const void *b)
{
    return sorted_compare(&((const Seer *)a)->origin, &((const Seer *)b)->origin);
}

static RegId decided_by(const Instr *branch) { return branch->guard ? branch->guard : branch->opnd[0].id; }

/* Whether i promises of those that come to it together what is not proven of all threads of the warp. */
static bool promises(Analyses *an, const Instr *i)
{
    bool decides = instr_is(i, OPF_BRANCH) && op_has(i->op, OPF_UNIFORM_HINT) && (i->guard || branch_table(i));
    return decides && !uniform_has(&an_uniform(an)->warp, decided_by(i));
}

static bool sees(Analyses *an, const Instr *i)
{
    if (i->kind == INSTR_OP && promises(an, i))
        return true;
    return i->kind == INSTR_OP && !(i->op->known && op_is_pure(i->op)) && instr_effects(i, an->summaries).active_set;
}

static bool is_empty(const Block *b) { return !block_first_op(b) && b->fall; }

/* ---- snapshot ----------------------------------------------------------------------------------------------------- */

static u32 count_seers(Analyses *an)
{
    u32 n = 0;
    for (u32 p = 0; p < an_order(an)->count; p++)
        for_each_instr(i, an_order(an)->rpo[p])
            n += sees(an, i);
    return n;
}

/* Appends the branches that b depends on; false: they are too many. */
static bool add_branches(Analyses *an, const Block *b, VecU32 *out)
{
    BlockVec on = {0};
    u32 from = out->n;
    bool within = out->n < WORK && control_closure_within(an_control(an), b, WORK - out->n, &on);
    for (u32 k = 0; within && k < on.n; k++)
        if (block_terminator(on.v[k]))
            vec_push(out, block_terminator(on.v[k])->origin);
    if (out->n > from)
        qsort(out->v + from, out->n - from, sizeof(u32), sorted_compare);
    vec_free(&on);
    return within;
}

static void add_seers(Arrivals *a, Analyses *an, const Block *b)
{
    u32 first = a->branches.n;
    bool asked = false;
    for_each_instr(i, b) {
        if (!sees(an, i))
            continue;
        if (!asked && !add_branches(an, b, &a->branches))
            return;
        asked = true;
        a->seers[a->n++] = (Seer){i->origin, first, a->branches.n - first};
    }
}

static u32 position_of(const Order *order, const Block *b) { return b ? order->index[b->id] : GRAPH_NONE; }

static void copy_block(Arrivals *a, Analyses *an, u32 p)
{
    const Order *order = an_order(an);
    const Block *b = order->rpo[p];
    a->idom[p] = position_of(order, an_dom(an)->idom[b->id]);
    a->point[p] = position_of(order, block_skip_empty(dom_parent(an_postdom(an), b), HOPS));
    a->empty[p] = is_empty(b);
    const Instr *end = block_terminator(b);
    a->same[p] = end ? a->at[end->origin] : 0;
    if (block_branches(an->fn, b)) {
        a->copied[end->origin] = a->at[end->origin] != 0;
        a->branch[p] = end->origin;
        a->decides[p] = decided_by(end);
        a->uniform[p] = uniform_has(&an_uniform(an)->branch_warp, b->id);
    }
    for_each_instr(i, b)
        if (i->kind == INSTR_OP)
            a->at[i->origin] = p + 1;
    const Table *table = end ? branch_table(end) : NULL;
    a->entries[p] = a->targets.n;
    for (u32 k = 0; table && k < table->targets.n; k++)
        vec_push(&a->targets, order->index[table->targets.v[k]]);
}

Arrivals *arrivals_snapshot(Arena *arena, Analyses *an)
{
    u32 seers = count_seers(an), count = an_order(an)->count;
    if (!seers || an_loops(an)->irreducible)
        return NULL;
    Arrivals *a = arena_new(arena, Arrivals);
    a->origins = an->fn->origins;
    a->seers = arena_array(arena, Seer, seers);
    a->pred = graph_reverse(arena, &an_order(an)->succ);
    a->succ = graph_reverse(arena, &a->pred);
    a->idom = arena_array(arena, u32, count);
    a->point = arena_array(arena, u32, count);
    a->branch = arena_array(arena, u32, count);
    a->uniform = arena_array(arena, bool, count);
    a->empty = arena_array(arena, bool, count);
    a->at = arena_array(arena, u32, a->origins + 1);
    a->same = arena_array(arena, u32, count);
    a->entries = arena_array(arena, u32, (size_t)count + 1);
    a->decides = arena_array(arena, RegId, count);
    a->copied = arena_array(arena, bool, a->origins + 1);
    for (u32 p = 0; p < count; p++) {
        copy_block(a, an, p);
        add_seers(a, an, an_order(an)->rpo[p]);
    }
    a->entries[count] = a->targets.n;
    if (a->n)
        qsort(a->seers, a->n, sizeof *a->seers, compare_seers);
    return a;
}

void arrivals_free(Arrivals *arrivals)
{
    if (!arrivals)
        return;
    vec_free(&arrivals->branches);
    vec_free(&arrivals->targets);
}

/* ---- comparison --------------------------------------------------------------------------------------------------- */

typedef struct ArrivalsChecker {
    const Arrivals *before;
    Analyses *an;
    Arena *arena;
    bool *is_there;             /* by Instr.origin: a branch, or another that stands for it, is somewhere */
    bool *remains;              /* by position before: an instruction of the block is somewhere */
    Marks old;                  /* by position before: where threads were together; a walk ends there */
    u32 *seen, *depends, stamp; /* by position now: leads to the instruction, it depends on it */
    u32 *asked;                 /* by position now: Block.id + 1 of the branch that leads there */
    u32 *entry;                 /* by position now: where an entry of the table led, + 1; 0 */
    u32 *came, comings;         /* by position now: found by may_reach() */
    u32 *climbed, climbs;       /* by position before */
    VecU32 paths, work, edges, sources;
    u32 budget;
    const char *wrong;
} ArrivalsChecker;

static bool may_look(ArrivalsChecker *c)
{
    if (c->budget == 0)
        return false;
    c->budget--;
    return true;
}

static bool depended(const ArrivalsChecker *c, const Seer *seer, u32 branch)
{
    return sorted_has(c->before->branches.v + seer->first, seer->n, branch);
}

static void add_preds(ArrivalsChecker *c, u32 position)
{
    const Graph *pred = &an_order(c->an)->pred;
    for_each_edge(e, pred, position)
        if (c->seen[pred->to[e]] != c->stamp) {
            c->seen[pred->to[e]] = c->stamp;
            vec_push(&c->paths, pred->to[e]);
        }
}

/* Finds the branches of before the phase that the end of b stands for. */
static void find_sources(ArrivalsChecker *c, const Block *b)
{
    vec_clear(&c->sources);
    if (block_terminator(b))
        origin_sources_since(c->an->fn, block_terminator(b)->origin, c->before->origins, &c->sources);
}

/* Finds the blocks that lead to b, and the branches that it depends on; false: they are too many. */
static bool find_paths(ArrivalsChecker *c, const Block *b)
{
    const Order *order = an_order(c->an);
    BlockVec on = {0};
    c->stamp++;
    vec_clear(&c->paths);
    add_preds(c, order->index[b->id]);
    for (u32 k = 0; k < c->paths.n; k++) {
        if (!may_look(c))
            return false;
        add_preds(c, c->paths.v[k]);
    }
    c->seen[order->index[b->id]] = c->stamp;
    bool within = control_closure_within(an_control(c->an), b, c->budget, &on);
    for (u32 k = 0; within && k < on.n; k++)
        c->depends[order->index[on.v[k]->id]] = c->stamp;
    c->budget -= within ? on.n : 0;
    vec_free(&on);
    return within;
}

static bool was_uniform(const ArrivalsChecker *c, u32 origin)
{
    u32 at = c->before->at[origin];
    return at && c->before->uniform[at - 1];
}

/* The position + 1 that the code of `to` had before the phase; 0: it is not found. */
static u32 place_before(const ArrivalsChecker *c, const Block *to)
{
    for (u32 hops = 0; to && hops < HOPS; to = block_terminator(to) ? NULL : to->fall, hops++)
        for_each_instr(i, to)
            if (i->kind == INSTR_OP && i->origin <= c->before->origins && c->before->at[i->origin])
                return c->before->at[i->origin];
    return 0;
}

static bool was_old(const ArrivalsChecker *c, const Block *b)
{
    u32 was = place_before(c, b);
    return was && marks_has(&c->old, was - 1);
}

/* Whether some path from `to` leads to the instruction and passes neither `point` nor a block whose code stood at a position in c->old
 * before the phase. */
static bool may_reach(ArrivalsChecker *c, const Block *to, const Block *point, const Block *goal)
{
    const Order *order = an_order(c->an);
    vec_clear(&c->work);
    c->came[order->index[to->id]] = ++c->comings;
    vec_push(&c->work, order->index[to->id]);
    for (u32 k = 0; k < c->work.n && may_look(c); k++) {
        const Block *b = order->rpo[c->work.v[k]];
        if (b == point || was_old(c, b))
            continue;
        if (b == goal)
            return true;
        for_each_edge(e, &order->succ, c->work.v[k])
            if (c->seen[order->succ.to[e]] == c->stamp && c->came[order->succ.to[e]] != c->comings) {
                c->came[order->succ.to[e]] = c->comings;
                vec_push(&c->work, order->succ.to[e]);
            }
    }
    return false;
}

/* Marks the position in c->old, or, where nothing of its block remains, those of its successors, and so on: threads that were together
 * there come to each of them together. False: there are too many. */
static bool find_old(ArrivalsChecker *c, u32 position)
{
    const Graph *succ = &c->before->succ;
    marks_clear(&c->old);
    marks_add(&c->old, position);
    vec_clear(&c->work);
    vec_push(&c->work, position);
    for (u32 k = 0; k < c->work.n; k++) {
        u32 p = c->work.v[k];
        if (c->remains[p])
            continue;
        if (k == GONE || !may_look(c))
            return false;
        for_each_edge(e, succ, p)
            if (marks_add(&c->old, succ->to[e]))
                vec_push(&c->work, succ->to[e]);
    }
    return true;
}

/* Whether every path from b to the instruction passes the point where the threads of the branch s reconverged before the phase: from
 * there on they were together. */
static bool reconverges_as_before(ArrivalsChecker *c, const Block *b, u32 s, const Block *goal)
{
    const Arrivals *a = c->before;
    const Block *point = dom_parent(an_postdom(c->an), b);
    u32 old = a->at[s] ? a->point[a->at[s] - 1] : GRAPH_NONE;
    return point && old != GRAPH_NONE && (!find_old(c, old) || !may_reach(c, point, NULL, goal));
}

/* Complains if threads that diverge at the end of b now come to the instruction together, and did not before. */
static void check_reconverged(ArrivalsChecker *c, const Block *b, const Seer *seer, const Instr *i)
{
    find_sources(c, b);
    for (u32 k = 0; k < c->sources.n && !c->wrong; k++) {
        u32 s = c->sources.v[k];
        if (depended(c, seer, s) && !was_uniform(c, s) && !c->before->copied[s] &&
            !reconverges_as_before(c, b, s, i->block))
            c->wrong = arena_printf(
                c->arena, "block %u: threads that diverge in block %u now come together to '%s', which sees who is there",
                i->block->id, b->id, i->op->text->text);
    }
}

/* ---- branches that a phase made ------------------------------------------------------------------------------------ */

/* Whether no block that ended in a branch of this origin tested its register. */
static bool is_made(ArrivalsChecker *c, const Instr *branch)
{
    const Arrivals *a = c->before;
    u32 at = branch->origin <= a->origins ? a->at[branch->origin] : 0;
    for (; at; at = a->same[at - 1])
        if (!may_look(c) || a->decides[at - 1] == decided_by(branch))
            return false;
    return true;
}

static bool is_source(const ArrivalsChecker *c, u32 branch)
{
    for (u32 k = 0; k < c->sources.n; k++)
        if (c->sources.v[k] == branch)
            return true;
    return false;
}

/* Whether the block at p is a source, or is gone and dominated by one. */
static bool is_below_source(ArrivalsChecker *c, u32 p)
{
    const Arrivals *a = c->before;
    for (u32 n = 0; p != GRAPH_NONE && n < CLIMB && may_look(c); p = a->idom[p], n++) {
        if (a->branch[p] && is_source(c, a->branch[p]))
            return true;
        if (a->branch[p] && c->is_there[a->branch[p]])
            return false;
    }
    return false;
}

/* Finds the sources, and the blocks that are gone below them, from which an edge led to this position, perhaps past empty blocks. */
static void find_edges_before(ArrivalsChecker *c, u32 position)
{
    const Arrivals *a = c->before;
    vec_clear(&c->work);
    vec_clear(&c->edges);
    for_each_edge(e, &a->pred, position)
        vec_push(&c->work, a->pred.to[e]);
    for (u32 k = 0; k < c->work.n && k < EDGES; k++) {
        u32 p = c->work.v[k];
        if (a->empty[p])
            for_each_edge(e, &a->pred, p)
                vec_push(&c->work, a->pred.to[e]);
        else if (a->branch[p] && is_below_source(c, p))
            vec_push(&c->edges, p);
    }
}

/* The number of groups in which threads came over the edges that find_edges_before() found. */
static u32 groups_before(ArrivalsChecker *c, u32 position)
{
    const Arrivals *a = c->before;
    u32 groups = 1;
    c->climbs++;
    for (u32 k = 0; k < c->edges.n; k++)
        for (u32 p = c->edges.v[k], n = 0; p != GRAPH_NONE && n < CLIMB && may_look(c); p = a->idom[p], n++) {
            if (c->climbed[p] == c->climbs) { /* it divides what comes over this edge and an earlier one */
                groups += a->branch[p] && !a->uniform[p] && a->point[p] != position && is_below_source(c, p);
                break;
            }
            c->climbed[p] = c->climbs;
        }
    return groups;
}

/* The number of edges that now lead to `to`, perhaps past empty blocks, from branches of this origin. */
static u32 edges_now(ArrivalsChecker *c, const Block *to, u32 origin)
{
    const Order *order = an_order(c->an);
    u32 n = 0;
    vec_clear(&c->work);
    for_each_edge(e, &order->pred, order->index[to->id])
        vec_push(&c->work, order->pred.to[e]);
    for (u32 k = 0; k < c->work.n && k < EDGES; k++) {
        const Block *b = order->rpo[c->work.v[k]];
        if (is_empty(b))
            for_each_edge(e, &order->pred, c->work.v[k])
                vec_push(&c->work, order->pred.to[e]);
        else
            n += block_terminator(b) && block_terminator(b)->origin == origin;
    }
    return c->work.n > EDGES ? UINT32_MAX : n;
}

/* Complains if threads that a new branch at the end of b divides come to the instruction in fewer groups than before the phase. */
static void check_made(ArrivalsChecker *c, const Block *b, const Instr *i)
{
    const Order *order = an_order(c->an);
    u32 origin = block_terminator(b)->origin;
    marks_clear(&c->old);
    find_sources(c, b);
    for (u32 k = 0; k < block_edge_count(b) && may_look(c) && !c->wrong; k++) {
        const Block *to = block_skip_empty(block_edge_target(b, k), HOPS);
        u32 position = order->index[to->id], was = c->seen[position] == c->stamp ? place_before(c, to) : 0;
        if (!was || c->asked[position] == b->id + 1)
            continue;
        c->asked[position] = b->id + 1;
        find_edges_before(c, was - 1);
        u32 groups = groups_before(c, was - 1);
        if (groups > 1 && groups > edges_now(c, to, origin) && may_reach(c, to, dom_parent(an_postdom(c->an), b), i->block))
            c->wrong =
                arena_printf(c->arena, "block %u: threads come together on the path to '%s', which sees who is there",
                             to->id, i->op->text->text);
    }
}

/* ---- tables -------------------------------------------------------------------------------------------------------- */

/* Complains if threads of two entries of the table that ends b were in two groups before, and are in one on a path to the
 * instruction. */
static void check_table(ArrivalsChecker *c, const Block *b, const Instr *i)
{
    const Arrivals *a = c->before;
    const Order *order = an_order(c->an);
    const Table *table = branch_table(block_terminator(b));
    u32 origin = block_terminator(b)->origin, at = origin <= a->origins ? a->at[origin] : 0;
    if (!at || a->copied[origin] || a->entries[at] - a->entries[at - 1] != table->targets.n)
        return;
    const u32 *was = a->targets.v + a->entries[at - 1];
    marks_clear(&c->old);
    for (u32 k = 0; k < table->targets.n && !c->wrong; k++) {
        const Block *to = fn_block(c->an->fn, table->targets.v[k]);
        u32 now = order->index[to->id];
        if (!may_look(c))
            return;
        if (c->entry[now] && c->entry[now] != was[k] + 1 && (to == i->block || c->seen[now] == c->stamp) &&
            may_reach(c, to, dom_parent(an_postdom(c->an), b), i->block))
            c->wrong = arena_printf(
                c->arena,
                "block %u: threads of two entries of a table come together on the path to '%s', which sees who is there",
                to->id, i->op->text->text);
        c->entry[now] = was[k] + 1;
    }
    for (u32 k = 0; k < table->targets.n; k++)
        c->entry[order->index[table->targets.v[k]]] = 0;
}

static void check_instr(ArrivalsChecker *c, const Instr *i, const Seer *seer)
{
    for (u32 k = 0; k < c->paths.n && !c->wrong; k++) {
        const Block *b = an_order(c->an)->rpo[c->paths.v[k]];
        if (!block_branches(c->an->fn, b) || uniform_has(&an_uniform(c->an)->branch_warp, b->id))
            continue;
        if (branch_table(block_terminator(b)))
            check_table(c, b, i);
        if (c->depends[c->paths.v[k]] != c->stamp)
            check_reconverged(c, b, seer, i);
        else if (is_made(c, block_terminator(b)))
            check_made(c, b, i);
    }
}

static void check_block(ArrivalsChecker *c, const Block *b)
{
    bool asked = false;
    for_each_instr(i, b) {
        Seer key = {.origin = i->origin};
        const Seer *seer = sees(c->an, i) ? bsearch(&key, c->before->seers, c->before->n, sizeof key, compare_seers) : NULL;
        if (!seer)
            continue;
        if (!asked && !find_paths(c, b))
            return;
        asked = true;
        memset(c->asked, 0, an_order(c->an)->count * sizeof *c->asked);
        check_instr(c, i, seer);
    }
}

static void note_block(ArrivalsChecker *c, const Block *b)
{
    for_each_instr(i, b)
        if (i->kind == INSTR_OP && i->origin <= c->before->origins && c->before->at[i->origin])
            c->remains[c->before->at[i->origin] - 1] = true;
    if (!block_branches(c->an->fn, b))
        return;
    find_sources(c, b);
    for (u32 k = 0; k < c->sources.n; k++)
        c->is_there[c->sources.v[k]] = true;
}

const char *arrivals_compare(const Arrivals *before, Analyses *an, Arena *arena)
{
    if (!before || !before->n || an_loops(an)->irreducible)
        return NULL;
    const Order *order = an_order(an);
    ArrivalsChecker c = {.before = before, .an = an, .arena = arena, .budget = WORK};
    c.is_there = arena_array(arena, bool, an->fn->origins + 1);
    c.seen = arena_array(arena, u32, order->count);
    c.depends = arena_array(arena, u32, order->count);
    c.asked = arena_array(arena, u32, order->count);
    c.came = arena_array(arena, u32, order->count);
    c.entry = arena_array(arena, u32, order->count);
    c.remains = arena_array(arena, bool, before->pred.nodes);
    c.climbed = arena_array(arena, u32, before->pred.nodes);
    c.old = marks_new(arena, before->pred.nodes);
    for (u32 p = 0; p < order->count; p++)
        note_block(&c, order->rpo[p]);
    for (u32 p = 0; p < order->count && !c.wrong; p++)
        check_block(&c, order->rpo[p]);
    vec_free(&c.paths);
    vec_free(&c.work);
    vec_free(&c.edges);
    vec_free(&c.sources);
    return c.wrong;
}
