/* Branches that are open on a path: passed, and not yet joined. What a path passes, joins and closes goes into lists that
 * are shared, never changed. Where paths join in a node, or too many pass a branch, their lists are merged.
 *
 * A successor that is not 0 is that of all paths: each of them has the branch open, and went there. */
#include <string.h>

#include "base/search.h"
#include "check/prove/prover.h"

typedef enum GroupOp { GROUP_AND, GROUP_OR, GROUP_LESS, GROUP_OPS } GroupOp;

/* ---- groups of numbers: blocks, or passings --------------------------------------------------------------------------------- */

/* The id of a group of these numbers, which are copied. */
GroupId prove_group(Prover *p, const u32 *v, u32 n)
{
    u64 hash = FNV_BASIS;
    if (n == 0)
        return 0;
    for (u32 k = 0; k < n; k++)
        hash = (hash ^ v[k]) * FNV_PRIME;
    HashWalk w = index_walk(&p->groups.index, hash_fold(hash));
    for (GroupId id; (id = index_next(&w)) != 0;)
        if (p->groups.all.v[id].n == n && memcmp(p->groups.all.v[id].v, v, n * sizeof *v) == 0)
            return id;
    u32 *made = arena_array(p->arena, u32, n);
    memcpy(made, v, n * sizeof *v);
    index_put(&w, p->groups.all.n);
    vec_push(&p->groups.all, ((Group){n, made}));
    return p->groups.all.n - 1;
}

bool prove_group_has(const Prover *p, GroupId id, u32 member)
{
    const Group *g = &p->groups.all.v[id];
    u32 at = partition_point(k, 0, g->n, g->v[k] < member);
    return at < g->n && g->v[at] == member;
}

static GroupId group_of(Prover *p, VecU32 *list)
{
    GroupId made = prove_group(p, list->v, list->n);
    vec_free(list);
    return made;
}

/* The groups and the result are ascending. */
static GroupId compute(Prover *p, GroupOp op, GroupId a, GroupId b)
{
    VecU32 made = {0};
    const Group *x = &p->groups.all.v[a], *y = &p->groups.all.v[b];
    p->groups.work += x->n + y->n;
    for (u32 i = 0, k = 0; i < x->n || k < y->n;) {
        bool from_x = k == y->n || (i < x->n && x->v[i] <= y->v[k]), from_y = i == x->n || (k < y->n && y->v[k] <= x->v[i]);
        u32 least = from_x ? x->v[i] : y->v[k];
        if (op == GROUP_OR || (from_x && from_y == (op == GROUP_AND)))
            vec_push(&made, least);
        i += from_x;
        k += from_y;
    }
    return group_of(p, &made);
}

/* Answers as compute() does, and keeps the results. */
static GroupId combine(Prover *p, GroupOp op, GroupId a, GroupId b)
{
    u64 key = ((u64)a << 32 | b) * GROUP_OPS + op, *found = fnvmap_at(&p->groups.results, key);
    if (!*found) {
        u64 made = 1 + compute(p, op, a, b);
        *found = made;
    }
    return (GroupId)(*found - 1);
}

static GroupId group_and(Prover *p, GroupId a, GroupId b)
{
    return a == b ? a : a == 0 || b == 0 ? 0 : combine(p, GROUP_AND, a, b);
}

static GroupId group_or(Prover *p, GroupId a, GroupId b)
{
    return a == b || b == 0 ? a : a == 0 ? b : combine(p, GROUP_OR, a, b);
}

static GroupId group_less(Prover *p, GroupId a, GroupId b)
{
    return a == b || a == 0 ? 0 : b == 0 ? a : combine(p, GROUP_LESS, a, b);
}

static GroupId group_without(Prover *p, GroupId a, u32 member)
{
    return prove_group_has(p, a, member) ? group_less(p, a, prove_group(p, &member, 1)) : a;
}

static GroupId group_of_open(Prover *p, const Opens *o, bool joined)
{
    VecU32 block = {0};
    for (u32 k = 0; k < o->n; k++)
        if (!o->v[k].joined == !joined)
            vec_push(&block, o->v[k].block);
    return group_of(p, &block);
}

void prove_groups_init(Groups *g) { vec_push(&g->all, ((Group){0})); }

void prove_groups_free(Groups *g)
{
    vec_free(&g->all);
    index_free(&g->index);
    fnvmap_free(&g->results);
}

/* ---- lists ------------------------------------------------------------------------------------------------------------------ */

const Open *prove_find_open(const Opens *o, u32 block)
{
    u32 at = partition_point(k, 0, o->n, o->v[k].block < block);
    return at < o->n && o->v[at].block == block ? &o->v[at] : NULL;
}

static Open *copy(Prover *p, const Opens *from)
{
    p->groups.work += from->n;
    Open *v = arena_array(p->arena, Open, from->n);
    if (from->n)
        memcpy(v, from->v, from->n * sizeof *v);
    return v;
}

/* The list with `o` in place of an older entry of its block. */
static Opens with(Prover *p, Opens to, Open o)
{
    Open *v = arena_array(p->arena, Open, to.n + 1);
    p->groups.work += to.n;
    u32 n = 0;
    for (; n < to.n && to.v[n].block < o.block; n++)
        v[n] = to.v[n];
    bool again = n < to.n && to.v[n].block == o.block;
    v[n] = o;
    for (u32 k = n + again; k < to.n; k++)
        v[++n] = to.v[k];
    return (Opens){n + 1, v};
}

/* ---- uniting ------------------------------------------------------------------------------------------------------------------ */

static GroupId group_and_all(Prover *p, GroupId a, GroupId b)
{
    return a == (GroupId)PROVE_ALL ? b : b == (GroupId)PROVE_ALL ? a : group_and(p, a, b);
}

static Since unite_since(Prover *p, const Since *a, const Since *b)
{
    GroupId all = !a->passings ? b->all_joined : !b->passings ? a->all_joined : group_and(p, a->all_joined, b->all_joined);
    return (Since){group_or(p, a->passings, b->passings), group_or(p, a->may_join, b->may_join), all};
}

/* Knowledge of a branch where two paths join. If it is open on one of them only (the other one is NULL), the edge, the
 * condition and the iteration are not known. */
static Open unite_open(Prover *p, const Open *a, const Open *b)
{
    Open o = a ? *a : *b; /* cppcheck-suppress nullPointerRedundantCheck ; one of the two is there */
    if (!a || !b || a->went != b->went || a->joined != b->joined)
        o.went = 0;
    if (!a || !b || a->cond != b->cond)
        o.cond = 0;
    if (!a || !b || a->iteration != b->iteration)
        o.iteration = 0;
    if (!a || !b)
        return o;
    o.joined = a->joined && b->joined;
    o.moved = a->moved == b->moved ? a->moved : PROVE_MAY_HAVE_MOVED;
    o.ahead = a->ahead || b->ahead;
    o.past = !a->moved ? b->past : !b->moved ? a->past : group_and(p, a->past, b->past);
    o.again = group_and_all(p, a->again, b->again);
    o.closes = a->closes || b->closes;
    o.rejoined = unite_since(p, &a->rejoined, &b->rejoined);
    o.divided = unite_since(p, &a->divided, &b->divided);
    o.newer = group_or(p, a->newer, b->newer);
    o.early = group_or(p, a->early, b->early);
    o.late = a->late || b->late;
    return o;
}

/* A branch of BEFORE is covered where paths join if it is on each path on which it is open. */
static GroupId unite_covers(Prover *p, const Open *a, const Open *b, const GroupId open[2])
{
    GroupId x = a ? a->covers : 0, y = b ? b->covers : 0;
    return x == y ? x : group_or(p, group_and(p, x, y), group_or(p, group_less(p, x, open[1]), group_less(p, y, open[0])));
}

/* `open`: branches of BEFORE that are open on the path of `a`, and on that of `b`. */
static Opens unite_side(Prover *p, const Opens *a, const Opens *b, const GroupId open[2])
{
    VEC(Open) all = {0};
    for (u32 i = 0, k = 0; i < a->n || k < b->n;) {
        bool from_a = k == b->n || (i < a->n && a->v[i].block <= b->v[k].block);
        bool from_b = i == a->n || (k < b->n && b->v[k].block <= a->v[i].block);
        const Open *x = from_a ? &a->v[i] : NULL, *y = from_b ? &b->v[k] : NULL;
        Open o = x && y && memcmp(x, y, sizeof *x) == 0 ? *x : unite_open(p, x, y);
        o.covers = unite_covers(p, x, y, open);
        vec_push(&all, o);
        i += from_a;
        k += from_b;
    }
    Opens made = {all.n, all.v};
    made = prove_same_opens(&made, a) ? *a : (Opens){all.n, copy(p, &made)};
    vec_free(&all);
    return made;
}

void prove_unite_opens(Prover *p, Opens to[2], const Opens from[2])
{
    Opens old[2] = {to[0], to[1]};
    if (prove_same_opens(&old[0], &from[0]) && prove_same_opens(&old[1], &from[1]))
        return;
    GroupId open[2] = {group_of_open(p, &old[PROVE_BEFORE], false), group_of_open(p, &from[PROVE_BEFORE], false)};
    for (u32 side = 0; side < 2; side++)
        to[side] = unite_side(p, &old[side], &from[side], open);
}

bool prove_same_opens(const Opens *a, const Opens *b)
{
    return a->n == b->n && (a->n == 0 || a->v == b->v || memcmp(a->v, b->v, a->n * sizeof *a->v) == 0);
}

/* ---- passing a branch ------------------------------------------------------------------------------------------------------- */

/* Branches of AFTER that are open and were passed since that one of BEFORE was. */
static GroupId passed_since(Prover *p, u32 block)
{
    const Opens *after = &p->path.open[PROVE_AFTER];
    VecU32 found = {0};
    for (u32 k = 0; k < after->n; k++)
        if (!after->v[k].joined && prove_group_has(p, after->v[k].covers, block))
            vec_push(&found, after->v[k].block);
    return group_of(p, &found);
}

/* BEFORE passes the branch anew: what open branches knew of its older passing is forgotten, and to those of AFTER it is newer. */
static void forget_older(Prover *p, u32 block)
{
    GroupId own = prove_group(p, &block, 1);
    for (u32 side = 0; side < 2; side++) {
        Open *v = copy(p, &p->path.open[side]);
        for (u32 k = 0; k < p->path.open[side].n; k++) {
            v[k].past = group_without(p, v[k].past, block);
            v[k].covers = group_without(p, v[k].covers, block);
            if (side == PROVE_AFTER)
                v[k].newer = group_or(p, v[k].newer, own);
        }
        p->path.open[side].v = v;
    }
}

static bool is_ahead(const Opens *before)
{
    for (u32 k = 0; k < before->n; k++)
        if (before->v[k].ahead)
            return true;
    return false;
}

void prove_pass_before(Prover *p, u32 block, u32 went, Term cond)
{
    const Open *old = prove_find_open(&p->path.open[PROVE_BEFORE], block);
    Open o = {.block = block, .went = went, .cond = cond, .moved = PROVE_MOVED, .iteration = prove_iteration_of(p, block)};
    o.again = old && !old->joined ? group_and_all(p, old->again, passed_since(p, block)) : (GroupId)PROVE_ALL;
    o.past = group_of_open(p, &p->path.open[PROVE_BEFORE], true);
    if (old && old->moved)
        o.past = group_and(p, o.past, old->past);
    if ((old && old->moved) || is_ahead(&p->path.open[PROVE_BEFORE]))
        o.moved = PROVE_MAY_HAVE_MOVED;
    forget_older(p, block);
    o.past = group_without(p, o.past, block);
    p->path.open[PROVE_BEFORE] = with(p, p->path.open[PROVE_BEFORE], o);
}

/* Once more, in a loop: threads that diverge now may have diverged the times before. */
void prove_pass_after(Prover *p, u32 block, u32 went, u32 passing)
{
    const Opens *before = &p->path.open[PROVE_BEFORE];
    const Open *old = prove_find_open(&p->path.open[PROVE_AFTER], block);
    GroupId joined = group_of_open(p, before, true);
    Open o = {.block = block, .went = went, .covers = group_of_open(p, before, false)};
    o.divided = (Since){prove_group(p, &passing, 1), joined, joined};
    o.rejoined.may_join = joined;
    if (old) {
        o.closes = old->closes;
        o.divided = unite_since(p, &o.divided, &old->divided);
        o.rejoined = unite_since(p, &o.rejoined, &old->rejoined);
        o.newer = old->newer;
        o.early = old->early;
        o.late = old->late;
    }
    p->path.open[PROVE_AFTER] = with(p, p->path.open[PROVE_AFTER], o);
}

/* ---- joining ---------------------------------------------------------------------------------------------------------------- */

/* The threads of the branch of BEFORE have joined. */
static void add_joined(Prover *p, Since *to, GroupId branch)
{
    to->may_join = group_or(p, to->may_join, branch);
    to->all_joined = group_or(p, to->all_joined, branch);
}

static void join(Prover *p, ProveSide side, u32 at)
{
    Open *v = copy(p, &p->path.open[side]), *a;
    v[at].joined = true;
    v[at].closes = side == PROVE_AFTER;
    v[at].rejoined = unite_since(p, &v[at].rejoined, &v[at].divided);
    v[at].divided = (Since){0};
    v[at].covers = 0;
    p->path.open[side].v = v;
    if (side == PROVE_AFTER)
        return;
    a = copy(p, &p->path.open[PROVE_AFTER]);
    GroupId own = prove_group(p, &v[at].block, 1);
    for (u32 k = 0; k < p->path.open[PROVE_AFTER].n; k++) {
        add_joined(p, &a[k].divided, own);
        add_joined(p, &a[k].rejoined, own);
        a[k].covers = group_without(p, a[k].covers, v[at].block);
    }
    p->path.open[PROVE_AFTER].v = a;
}

/* The next iteration of a loop. What BEFORE passed in the iteration that AFTER now leaves is not of this one. What it
 * passes ahead of AFTER may be of the next one. */
static void begin_iteration(Prover *p, ProveSide side)
{
    Open *v = copy(p, &p->path.open[PROVE_BEFORE]);
    for (u32 k = 0; k < p->path.open[PROVE_BEFORE].n; k++) {
        v[k].ahead = side == PROVE_BEFORE;
        if (side == PROVE_AFTER)
            v[k].moved = v[k].moved ? PROVE_MAY_HAVE_MOVED : PROVE_NOT_MOVED;
    }
    p->path.open[PROVE_BEFORE].v = v;
}

void prove_enter(Prover *p, ProveSide side, const Block *from, const Block *to)
{
    prove_count_iteration(p, side, from, to);
    if (p->side[side].g.is_join[to->id] == JOIN_LOOP)
        begin_iteration(p, side);
    for (u32 k = 0; k < p->path.open[side].n; k++)
        if (p->side[side].g.postdom[p->path.open[side].v[k].block] == to->id && !p->path.open[side].v[k].joined)
            join(p, side, k);
}

bool prove_is_late(const Prover *p, const Instr *after, u32 block)
{
    for (u32 k = 0; k < p->plan.lates; k++)
        if (p->plan.late[k].after == after && p->plan.late[k].block == block)
            return true;
    return false;
}

void prove_catch_up(Prover *p, const Instr *after)
{
    for (u32 side = 0; side < 2; side++) {
        Opens from = p->path.open[side];
        Open *v = arena_array(p->arena, Open, from.n);
        u32 n = 0;
        for (u32 k = 0; k < from.n; k++) {
            u32 late = after && (from.v[k].late || (from.v[k].closes && prove_is_late(p, after, from.v[k].block)));
            if (from.v[k].joined && !late)
                continue;
            v[n] = from.v[k];
            v[n].late = late;
            v[n].rejoined.passings = late ? v[n].rejoined.passings : 0;
            v[n].moved = v[n].ahead = v[n].past = v[n].closes = 0;
            v[n].early = v[n].rejoined.may_join;
            n++;
        }
        if (n != from.n || (n && memcmp(v, from.v, n * sizeof *v) != 0))
            p->path.open[side] = (Opens){n, v};
    }
}
