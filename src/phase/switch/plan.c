#include "phase/switch/plan.h"

#include <stdlib.h>

#include "target/ptxas.h"

/* Costs are those of target/limits.def. A plan costs what Decision counts when the new code is recovered again; otherwise a
 * second run would change what the first one wrote. */
enum {
    TABLE_PIECES = 4,  /* the fewest pieces that make a table */
    RANGE_VALUES = 16, /* a longer range counts in a table as this many cases, since a range needs no table */
    BITS_PIECES = 3
};

/* An interval of keys that lead to one leaf. */
typedef struct Piece {
    u64 lo, hi;
    u32 leaf;
} Piece;

typedef struct Cluster {
    u32 first, last; /* pieces, including default ones in between */
    PlanKind kind;
} Cluster;

typedef struct SwitchPlanner {
    Arena *arena;  /* holds the plan */
    Arena scratch; /* holds everything below */
    const Decision *d;
    const PlanLimits *limits;
    SwitchPlan *p;
    const Piece *piece; /* the domain, ascending; neighbours differ in leaf unless impossible values lie between them */
    u32 pieces;
    u64 lo, hi; /* the smallest and the largest possible key */
    u32 *cases; /* indices of the pieces that do not lead to the default, ascending */
    u32 case_count;
    Cluster *clusters;
    u32 cluster_count;
    u32 linear; /* the most clusters that are tested one after the other */
} SwitchPlanner;

/* ---- pieces ---------------------------------------------------------------------------------------------------- */

static int compare_pieces(const void *a, const void *b)
{
    u64 x = ((const Piece *)a)->lo, y = ((const Piece *)b)->lo;
    return x < y ? -1 : x > y;
}

/* Appends a piece after the last one. Keys between the two are impossible. They go to a neighbour that leads to the
 * default or has several values. Otherwise they become a piece of the default. */
static u32 append_piece(Piece *v, u32 n, Piece next, u32 fallback)
{
    Piece *last = n ? &v[n - 1] : NULL;
    if (last && last->leaf == next.leaf) {
        last->hi = next.hi;
        return n;
    }
    if (last && last->hi + 1 < next.lo) {
        if (next.leaf == fallback || (next.lo < next.hi && last->leaf != fallback))
            next.lo = last->hi + 1;
        else if (last->leaf == fallback || last->lo < last->hi)
            last->hi = next.lo - 1;
        else
            v[n++] = (Piece){last->hi + 1, next.lo - 1, fallback};
    }
    v[n] = next;
    return n + 1;
}

/* Appends the keys of a leaf's values. sign: the sign bit, or 0. */
static u32 append_keys(Piece *v, u32 n, ValueSet values, u64 sign, u32 leaf)
{
    for (u32 k = 0; k < values.n; k++) {
        Interval one = values.v[k];
        bool crosses = one.lo < sign && one.hi >= sign; /* inverting the sign bit makes it two intervals */
        v[n++] = (Piece){one.lo ^ sign, crosses ? 2 * sign - 1 : one.hi ^ sign, leaf};
        if (crosses)
            v[n++] = (Piece){0, one.hi ^ sign, leaf};
    }
    return n;
}

/* The number of places where keys are missing, each of which may need another piece. */
static u32 count_gaps(const Piece *v, u32 n)
{
    u32 gaps = 0;
    for (u32 k = 1; k < n; k++)
        gaps += v[k - 1].hi + 1 < v[k].lo;
    return gaps;
}

/* Makes pieces of the decision's map, from the smallest possible key to the largest. */
static void make_pieces(SwitchPlanner *q)
{
    const Decision *d = q->d;
    u32 room = 1, n = 0; /* at most one interval holds both the smallest and the largest key */
    for (u32 l = 0; l < d->leaf_count; l++)
        room += d->leaves[l].values.n;
    Piece *v = arena_alloc_raw(&q->scratch, sizeof(Piece) * room);
    for (u32 l = 0; l < d->leaf_count; l++)
        n = append_keys(v, n, d->leaves[l].values, q->p->is_signed ? sem_sign(d->bits) : 0, l);
    qsort(v, n, sizeof *v, compare_pieces);
    u32 gaps = count_gaps(v, n);
    Piece *pieces =
        gaps ? arena_alloc_raw(&q->scratch, sizeof(Piece) * ((size_t)n + gaps)) : v; /* the number can only shrink */
    for (u32 k = 0; k < n; k++)
        q->pieces = append_piece(pieces, q->pieces, v[k], q->p->fallback);
    q->piece = pieces;
    q->lo = pieces[0].lo;
    q->hi = pieces[q->pieces - 1].hi;
}

static void list_cases(SwitchPlanner *q)
{
    q->cases = arena_alloc_raw(&q->scratch, q->pieces * sizeof *q->cases);
    for (u32 k = 0; k < q->pieces; k++)
        if (q->piece[k].leaf != q->p->fallback)
            q->cases[q->case_count++] = k;
    q->p->cases = q->case_count;
}

/* The leaf to which most values lead. */
static u32 find_fallback(const Decision *d)
{
    u32 best = 0;
    u64 best_size = value_set_size(d->leaves[0].values);
    for (u32 l = 1; l < d->leaf_count; l++) {
        u64 size = value_set_size(d->leaves[l].values);
        if (size > best_size) {
            best = l;
            best_size = size;
        }
    }
    return best;
}

/* ---- clusters -------------------------------------------------------------------------------------------------- */

static const Piece *case_piece(const SwitchPlanner *q, u32 c) { return &q->piece[q->cases[c]]; }

/* The cost of converting the selector, or its distance from a constant, to 32 bits. */
static u32 word_cost(const Decision *d) { return d->bits == 32 ? 0 : PTXAS_SWITCH_WORD; }

static u32 single_cost(const SwitchPlanner *q, const Piece *piece)
{
    bool touches_end = piece->lo == q->lo || piece->hi == q->hi;
    return piece->lo == piece->hi || touches_end ? PTXAS_SWITCH_TEST : PTXAS_SWITCH_TEST + PTXAS_SWITCH_OFFSET;
}

/* Whether `pieces` cases with `values` of the keys lo .. hi are dense enough for a table. */
static bool is_dense(const SwitchPlanner *q, u32 pieces, u64 values, u64 lo, u64 hi)
{
    u64 span = hi - lo;
    if (span >= (u64)q->limits->table || values * 100 < (span + 1) * (u64)q->limits->density)
        return false;
    return pieces >= PTXAS_SWITCH_SPARSE || values * 100 >= (span + 1) * PTXAS_SWITCH_DENSE;
}

/* Whether cases first .. last, with `values` values, may become a table. */
static bool may_be_table(const SwitchPlanner *q, u32 first, u32 last, u64 values)
{
    u32 pieces = last - first + 1;
    return q->limits->may_table && pieces >= TABLE_PIECES &&
           is_dense(q, pieces, values, case_piece(q, first)->lo, case_piece(q, last)->hi);
}

static bool may_be_bits(const SwitchPlanner *q, u32 first, u32 last, bool one_leaf)
{
    u64 span = case_piece(q, last)->hi - case_piece(q, first)->lo;
    return one_leaf && last - first + 1 >= BITS_PIECES && span < 32 && q->d->bits <= 32;
}

/* The number of cases that a piece counts for in a table. */
static u64 piece_values(const Piece *piece)
{
    u64 span = piece->hi - piece->lo;
    return span < RANGE_VALUES ? span + 1 : RANGE_VALUES;
}

/* The cheapest cuts of the first c cases into clusters, for each c, while they are found. */
typedef struct Cuts {
    u32 *best;   /* by c: the cost of the cheapest cut */
    u32 *least;  /* by block: the smallest `best` of its BLOCK values of c */
    u32 *from;   /* by c: the case with which the last cluster begins */
    u8 *kind;    /* by c: the PlanKind of the last cluster */
    u64 *values; /* by c: the sum of piece_values() of these cases */
    u32 table_cost, bits_cost;
    u32 window, bits_window; /* by the span of keys: the first cases with which a cluster that ends here may begin */
    u32 same_leaf;           /* the first case from which on all lead to the current one's leaf */
} Cuts;

enum { BLOCK = 64, BITS_REACH = 32 };

/* The kind of the cheapest cluster of cases first .. end - 1 with which the first `end` cases cost less than *cost, which
 * becomes that cost. PLAN_RANGE: none is cheaper. */
static PlanKind cheaper_cluster(const SwitchPlanner *q, const Cuts *c, u32 first, u32 end, u32 *cost)
{
    u32 bits = c->best[first] + c->bits_cost, table = c->best[first] + c->table_cost;
    if (bits < *cost && may_be_bits(q, first, end - 1, first >= c->same_leaf)) {
        *cost = bits;
        return PLAN_BITS;
    }
    if (table < *cost && may_be_table(q, first, end - 1, c->values[end] - c->values[first])) {
        *cost = table;
        return PLAN_TABLE;
    }
    return PLAN_RANGE;
}

/* Whether no cluster that begins with a case of this block of cases, and ends with case end - 1, can cost less than that. */
static bool is_dear(const Cuts *c, u32 block, u32 cost)
{
    bool may_be_bits = (block + 1) * BLOCK > c->bits_window;
    return c->least[block] + (may_be_bits ? c->bits_cost : c->table_cost) >= cost;
}

/* Finds the cheapest cut of the first `end` cases. Of equally cheap ones, it takes a last cluster of one case, or else the
 * shortest. The search begins with the longest clusters, whose cost rules out most blocks of shorter ones. */
static void cut_before(const SwitchPlanner *q, Cuts *c, u32 end)
{
    u32 one = c->best[end - 1] + single_cost(q, case_piece(q, end - 1)) + PTXAS_SWITCH_TEST, cost = one;
    for (u32 first = c->window; first < end; first++) {
        if (first % BLOCK == 0 && first + BLOCK <= end && is_dear(c, first / BLOCK, cost))
            first += BLOCK - 1;
        else
            cheaper_cluster(q, c, first, end, &cost);
    }
    c->best[end] = cost;
    c->from[end] = end - 1;
    PlanKind kind = PLAN_RANGE;
    for (u32 first = end; cost < one && first-- > c->window;) {
        u32 limit = cost + 1;
        if (first % BLOCK == BLOCK - 1 && first - (BLOCK - 1) >= c->window && is_dear(c, first / BLOCK, limit)) {
            first -= BLOCK - 1;
            continue;
        }
        kind = cheaper_cluster(q, c, first, end, &limit);
        c->from[end] = first;
        if (kind != PLAN_RANGE)
            break;
    }
    c->kind[end] = (u8)kind;
    u32 *least = &c->least[end / BLOCK];
    *least = end % BLOCK == 0 || cost < *least ? cost : *least;
}

static void list_clusters(SwitchPlanner *q, const Cuts *c)
{
    u32 n = q->case_count;
    for (u32 end = n; end; end = c->from[end])
        q->cluster_count++;
    q->clusters = arena_array(&q->scratch, Cluster, q->cluster_count);
    for (u32 end = n, k = q->cluster_count; end; end = c->from[end])
        q->clusters[--k] = (Cluster){q->cases[c->from[end]], q->cases[end - 1], (PlanKind)c->kind[end]};
}

/* Moves *first to the first case from which the keys up to case `last` span less than `reach`; to last + 1 if there is none. */
static void move_window(const SwitchPlanner *q, u32 *first, u32 last, u64 reach)
{
    while (*first <= last && case_piece(q, last)->hi - case_piece(q, *first)->lo >= reach)
        ++*first;
}

/* Finds the cheapest cut of the cases into clusters, and answers its cost. */
static u32 find_clusters(SwitchPlanner *q)
{
    u32 n = q->case_count, word = PTXAS_SWITCH_OFFSET + word_cost(q->d) + PTXAS_SWITCH_TEST;
    u64 reach = q->limits->may_table && q->limits->table > BITS_REACH ? (u64)q->limits->table : BITS_REACH;
    Arena arena = {0};
    Cuts c = {.best = arena_array(&arena, u32, n + 1),
              .least = arena_array(&arena, u32, n / BLOCK + 1),
              .from = arena_array(&arena, u32, n + 1),
              .kind = arena_array(&arena, u8, n + 1),
              .values = arena_array(&arena, u64, n + 1),
              .table_cost = PTXAS_SWITCH_TABLE + word + PTXAS_SWITCH_TEST,
              .bits_cost = PTXAS_SWITCH_BITS + word};
    for (u32 end = 1; end <= n; end++) {
        const Piece *last = case_piece(q, end - 1);
        move_window(q, &c.window, end - 1, reach);
        move_window(q, &c.bits_window, end - 1, BITS_REACH);
        if (end > 1 && case_piece(q, end - 2)->leaf != last->leaf)
            c.same_leaf = end - 1;
        c.values[end] = c.values[end - 1] + piece_values(last);
        cut_before(q, &c, end);
    }
    list_clusters(q, &c);
    u32 cost = c.best[n];
    arena_free(&arena);
    return cost;
}

/* ---- the tree -------------------------------------------------------------------------------------------------- */

static SearchPlan *new_plan(SwitchPlanner *q, PlanKind kind, u64 lo, u64 hi)
{
    SearchPlan *plan = arena_new(q->arena, SearchPlan);
    plan->kind = kind;
    plan->lo = lo;
    plan->hi = hi;
    return plan;
}

static const SearchPlan *go(SwitchPlanner *q, u32 leaf)
{
    SearchPlan *plan = new_plan(q, PLAN_GO, 0, 0);
    plan->leaf = leaf;
    return plan;
}

static const u32 *table_entries(SwitchPlanner *q, const Cluster *c, u64 lo, u64 hi)
{
    u32 *entry = arena_array(q->arena, u32, hi - lo + 1);
    for (u64 k = 0; k <= hi - lo; k++)
        entry[k] = q->p->fallback;
    for (u32 k = c->first; k <= c->last; k++) {
        const Piece *piece = &q->piece[k];
        for (u64 key = piece->lo; key <= piece->hi && key >= piece->lo; key++)
            entry[key - lo] = piece->leaf;
    }
    return entry;
}

static u64 bit_mask(const SwitchPlanner *q, const Cluster *c)
{
    u64 mask = 0, lo = q->piece[c->first].lo;
    for (u32 k = c->first; k <= c->last; k++) {
        const Piece *piece = &q->piece[k];
        if (piece->leaf != q->p->fallback)
            mask |= sem_max((u32)(piece->hi - piece->lo + 1)) << (piece->lo - lo);
    }
    return mask;
}

static const SearchPlan *build(SwitchPlanner *q, u32 first, u32 count, u64 lo, u64 hi);

/* A plan that tests the lowest cluster, then the others in turn; keys are in lo .. hi. */
static const SearchPlan *build_next(SwitchPlanner *q, u32 first, u32 count, u64 lo, u64 hi)
{
    const Cluster *c = &q->clusters[first];
    u64 from = q->piece[c->first].lo, to = q->piece[c->last].hi;
    u32 leaf = q->piece[c->first].leaf;
    bool is_whole = from == lo && to == hi;
    if (c->kind == PLAN_TABLE) {
        SearchPlan *table = new_plan(q, PLAN_TABLE, from, to);
        table->entry = table_entries(q, c, from, to);
        table->no = is_whole ? NULL : build(q, first + 1, count - 1, lo, hi);
        return table;
    }
    if (c->kind == PLAN_BITS) {
        SearchPlan *bits = new_plan(q, PLAN_BITS, from, to);
        bits->mask = bit_mask(q, c);
        bits->yes = go(q, leaf);
        bits->no = build(q, first + 1, count - 1, lo, hi);
        return bits;
    }
    if (is_whole)
        return go(q, leaf);
    SearchPlan *test = new_plan(q, from == to ? PLAN_EQUAL : PLAN_RANGE, from, to);
    test->yes = go(q, leaf);
    if (from == lo && from != to) {
        test->kind = PLAN_LESS;
        test->lo = to + 1;
    }
    if (from == lo)
        test->no = build(q, first + 1, count - 1, to + 1, hi);
    else if (to == hi && count == 1) {
        test->kind = PLAN_LESS;
        test->no = test->yes;
        test->yes = go(q, q->p->fallback);
    } else
        test->no = build(q, first + 1, count - 1, lo, hi);
    return test;
}

static const SearchPlan *build(SwitchPlanner *q, u32 first, u32 count, u64 lo, u64 hi)
{
    if (count == 0)
        return go(q, q->p->fallback);
    if (count <= q->linear)
        return build_next(q, first, count, lo, hi);
    u32 half = count / 2;
    u64 pivot = q->piece[q->clusters[first + half].first].lo;
    SearchPlan *search = new_plan(q, PLAN_LESS, pivot, pivot);
    search->yes = build(q, first, half, lo, pivot - 1);
    search->no = build(q, first + half, count - half, pivot, hi);
    return search;
}

static u32 larger(u32 a, u32 b) { return a > b ? a : b; }

static PlanCost cost_of(const Decision *d, const SearchPlan *plan)
{
    PlanCost cost = {0};
    if (plan->kind == PLAN_GO)
        return cost;
    PlanCost yes = plan->yes ? cost_of(d, plan->yes) : cost, no = plan->no ? cost_of(d, plan->no) : cost;
    cost.code = yes.code + no.code;
    cost.depth = larger(yes.depth, no.depth) + 1;
    cost.tables = yes.tables + no.tables + (plan->kind == PLAN_TABLE);
    cost.entries = yes.entries + no.entries;
    switch (plan->kind) {
    case PLAN_TABLE:
        cost.entries += (u32)(plan->hi - plan->lo + 1);
        cost.code +=
            PTXAS_SWITCH_TABLE + (plan->lo ? PTXAS_SWITCH_OFFSET : 0) + word_cost(d) + (plan->no ? PTXAS_SWITCH_TEST : 0);
        cost.depth = larger(cost.depth, plan->no ? 2 : 1);
        break;
    case PLAN_BITS: cost.code += PTXAS_SWITCH_BITS + (plan->lo ? PTXAS_SWITCH_OFFSET : 0) + word_cost(d); break;
    case PLAN_RANGE: cost.code += PTXAS_SWITCH_TEST + PTXAS_SWITCH_OFFSET; break;
    default: cost.code += PTXAS_SWITCH_TEST; break;
    }
    return cost;
}

/* Counts the branches and tables that lead to each leaf. seen: by leaf, the last table that was counted for it. */
static void count_edges(const SearchPlan *plan, u32 *edges, const SearchPlan **seen)
{
    if (plan->kind == PLAN_GO)
        edges[plan->leaf]++;
    for (u64 k = 0; plan->kind == PLAN_TABLE && k <= plan->hi - plan->lo; k++) {
        u32 leaf = plan->entry[k];
        edges[leaf] += seen[leaf] != plan;
        seen[leaf] = plan;
    }
    if (plan->yes)
        count_edges(plan->yes, edges, seen);
    if (plan->no)
        count_edges(plan->no, edges, seen);
}

/* Whether no test of the plan divides a warp. Where the region's branches are .uni, all threads of a warp take one edge out
 * of the region, but their selectors may differ. A test that leads to this leaf on both sides may then divide them. */
static bool is_uniform(const Decision *d, const u32 *edges)
{
    for (u32 l = 0; l < d->leaf_count; l++)
        if (edges[l] > 1)
            return false;
    return d->uniform;
}

static u64 case_values(const SwitchPlanner *q)
{
    u64 values = 0;
    for (u32 c = 0; c < q->case_count; c++)
        values += piece_values(case_piece(q, c));
    return values;
}

/* Plans one table for all possible keys, which needs no check of bounds, if it is cheaper than `found`. */
static void consider_whole_table(SwitchPlanner *q, u32 found)
{
    u32 cost = PTXAS_SWITCH_TABLE + (q->lo ? PTXAS_SWITCH_OFFSET : 0) + word_cost(q->d);
    if (q->limits->may_table && q->pieces >= TABLE_PIECES && cost < found &&
        is_dense(q, q->case_count, case_values(q), q->lo, q->hi)) {
        q->clusters[0] = (Cluster){0, q->pieces - 1, PLAN_TABLE};
        q->cluster_count = 1;
    }
}

/* Whether the cases would make a table that is not allowed. ptxas makes several, worse tables of the chains of a search. */
static bool is_dense_search(const SwitchPlanner *q)
{
    if (q->cluster_count <= q->linear || q->p->cost.tables)
        return false;
    u64 lo = case_piece(q, 0)->lo, hi = case_piece(q, q->case_count - 1)->hi;
    return hi - lo < UINT32_MAX && case_values(q) * 100 >= (hi - lo + 1) * (u64)q->limits->density;
}

/* The cost of the instructions that a leaf carries. Copies cost nothing, because ptxas mostly gives both ends one register. */
static u32 carry_cost(const Leaf *leaf)
{
    u32 cost = 0;
    for (u32 k = 0; k < leaf->carried; k++)
        cost += leaf->carry[k]->op->opcode != OPC_MOV;
    return cost ? cost + PTXAS_SWITCH_JUMP : 0;
}

/* The longest path that pays. A search replaces a chain only if its path is shorter: log2 of the clusters, and a test for
 * equality. */
static u32 wanted_depth(const SwitchPlanner *q)
{
    if (!decision_is_chain(q->d))
        return q->d->depth;
    u32 log2 = 0;
    while ((u64)1 << log2 < q->cluster_count)
        log2++;
    return log2 + 1;
}

static SwitchPlan plan_in_order(Arena *arena, const Decision *d, const PlanLimits *limits, bool is_signed, u32 fallback)
{
    SwitchPlan p = {.is_signed = is_signed, .fallback = fallback};
    SwitchPlanner q = {.arena = arena, .d = d, .limits = limits, .p = &p};
    make_pieces(&q);
    list_cases(&q);
    u32 found = find_clusters(&q);
    consider_whole_table(&q, found);
    for (q.linear = 4; q.linear >= 3; q.linear--) { /* fewer tests in a row give a shorter path, and larger code */
        p.plan = build(&q, 0, q.cluster_count, q.lo, q.hi);
        p.cost = cost_of(d, p.plan);
        if (p.cost.depth <= wanted_depth(&q))
            break;
    }
    p.dense_search = is_dense_search(&q);
    for (u32 l = 0; l < d->leaf_count; l++)
        p.cost.code += carry_cost(&d->leaves[l]);
    p.edges = arena_array(arena, u32, d->leaf_count);
    count_edges(p.plan, p.edges, arena_array(&q.scratch, const SearchPlan *, d->leaf_count));
    p.uniform = is_uniform(d, p.edges);
    arena_free(&q.scratch);
    return p;
}

SwitchPlan switch_plan(Arena *arena, const Decision *d, const PlanLimits *limits)
{
    u32 fallback = find_fallback(d);
    SwitchPlan first = plan_in_order(arena, d, limits, d->is_signed, fallback);
    SwitchPlan other = plan_in_order(arena, d, limits, !d->is_signed, fallback);
    return other.cost.code < first.cost.code ? other : first;
}
