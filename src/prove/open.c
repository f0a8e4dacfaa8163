/* Branches that are open on a path: passed, and not yet joined. What a path passes, joins and closes goes into lists that are only
 * taken over, never changed; where paths meet in a node, or too many pass a branch, their lists are united.
 *
 * A successor that is not 0 is that of all paths: each of them has the branch open, and went there. */
#include <string.h>

#include "prove/prover.h"

enum { PASSINGS_MAX = 96 /* of one branch, that differ and are kept apart */ };

/* ---- groups of numbers: blocks, or passings --------------------------------------------------------------------------------- */

/* The list, which is copied. */
GroupId prove_group(Prover *p, const u32 *v, u32 n)
{
    u64 hash = 0xcbf29ce484222325u;
    if (n == 0)
        return 0;
    for (u32 k = 0; k < n; k++)
        hash = (hash ^ v[k]) * 0x100000001b3u;
    for (u64 *found; (found = fnvmap_at(&p->group_of, hash)); hash++) {
        const VecU32 *old = &p->groups.v[*found];
        if (*found && old->n == n && memcmp(old->v, v, n * sizeof *v) == 0)
            return (GroupId)*found;
        if (*found)
            continue;
        VecU32 made = {0};
        for (u32 k = 0; k < n; k++)
            vec_push(&made, v[k]);
        *found = p->groups.n;
        vec_push(&p->groups, made);
        break;
    }
    return p->groups.n - 1;
}

bool prove_group_has(const Prover *p, GroupId id, u32 member)
{
    const VecU32 *g = &p->groups.v[id];
    for (u32 k = 0; k < g->n; k++)
        if (g->v[k] == member)
            return true;
    return false;
}

static GroupId group_of(Prover *p, VecU32 *list)
{
    GroupId made = prove_group(p, list->v, list->n);
    vec_free(list);
    return made;
}

static GroupId group_and(Prover *p, GroupId a, GroupId b)
{
    VecU32 both = {0};
    if (a == b)
        return a;
    for (u32 k = 0; k < p->groups.v[a].n; k++)
        if (prove_group_has(p, b, p->groups.v[a].v[k]))
            vec_push(&both, p->groups.v[a].v[k]);
    return group_of(p, &both);
}

/* Ascending, as both are. */
static GroupId group_or(Prover *p, GroupId a, GroupId b)
{
    VecU32 all = {0};
    if (a == b || b == 0)
        return a;
    const VecU32 *x = &p->groups.v[a], *y = &p->groups.v[b];
    for (u32 i = 0, k = 0; i < x->n || k < y->n;) {
        u32 least = i == x->n || (k < y->n && y->v[k] < x->v[i]) ? y->v[k] : x->v[i];
        i += i < x->n && x->v[i] == least;
        k += k < y->n && y->v[k] == least;
        vec_push(&all, least);
    }
    return group_of(p, &all);
}

static GroupId group_without(Prover *p, GroupId a, u32 member)
{
    VecU32 kept = {0};
    if (!prove_group_has(p, a, member))
        return a;
    for (u32 k = 0; k < p->groups.v[a].n; k++)
        if (p->groups.v[a].v[k] != member)
            vec_push(&kept, p->groups.v[a].v[k]);
    return group_of(p, &kept);
}

static GroupId group_of_open(Prover *p, const Opens *o, bool joined)
{
    VecU32 block = {0};
    for (u32 k = 0; k < o->n; k++)
        if (!o->v[k].joined == !joined)
            vec_push(&block, o->v[k].block);
    return group_of(p, &block);
}

/* ---- lists ------------------------------------------------------------------------------------------------------------------ */

const Open *prove_find_open(const Opens *o, u32 block)
{
    for (u32 k = 0; k < o->n; k++)
        if (o->v[k].block == block)
            return &o->v[k];
    return NULL;
}

static bool is_open(const Opens *o, u32 block)
{
    const Open *found = prove_find_open(o, block);
    return found && !found->joined;
}

static Open *copy(Prover *p, const Opens *from)
{
    Open *v = arena_array(p->arena, Open, from->n);
    if (from->n)
        memcpy(v, from->v, from->n * sizeof *v);
    return v;
}

/* With this one, instead of an older one of its block. */
static Opens with(Prover *p, Opens to, Open o)
{
    Open *v = arena_array(p->arena, Open, to.n + 1);
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

/* What both say who have it: those that do not have it say nothing of it. */
static Open unite_open(Prover *p, const Open *a, const Open *b)
{
    Open o = a ? *a : *b; /* cppcheck-suppress nullPointerRedundantCheck ; one of the two is there */
    if (!a || !b || a->went != b->went || a->joined != b->joined)
        o.went = 0;
    if (!a || !b || a->cond != b->cond)
        o.cond = 0;
    if (!a || !b)
        return o;
    o.joined = a->joined && b->joined;
    o.moved = a->moved == b->moved ? a->moved : PROVE_MAY_HAVE_MOVED;
    o.ahead = a->ahead || b->ahead;
    o.past = !a->moved ? b->past : !b->moved ? a->past : group_and(p, a->past, b->past);
    o.closes = a->closes || b->closes;
    o.passed = group_or(p, a->passed, b->passed);
    o.newer = group_or(p, a->newer, b->newer);
    o.shut = group_or(p, a->shut, b->shut);
    o.early = group_or(p, a->early, b->early);
    return o;
}

/* A branch of BEFORE is covered if it is on each side where it is open. */
static GroupId unite_covers(Prover *p, const Open *a, const Open *b, const Opens *before_a, const Opens *before_b)
{
    VecU32 block = {0};
    GroupId x = a ? a->covers : 0, y = b ? b->covers : 0, all = group_or(p, x, y);
    for (u32 k = 0; k < p->groups.v[all].n; k++) {
        u32 id = p->groups.v[all].v[k];
        if ((prove_group_has(p, x, id) || !is_open(before_a, id)) && (prove_group_has(p, y, id) || !is_open(before_b, id)))
            vec_push(&block, id);
    }
    return group_of(p, &block);
}

static Opens unite_side(Prover *p, const Opens *a, const Opens *b, const Opens *before_a, const Opens *before_b)
{
    Open *v = arena_array(p->arena, Open, a->n + b->n);
    u32 n = 0;
    for (u32 i = 0, k = 0; i < a->n || k < b->n; n++) {
        bool from_a = k == b->n || (i < a->n && a->v[i].block <= b->v[k].block);
        bool from_b = i == a->n || (k < b->n && b->v[k].block <= a->v[i].block);
        const Open *x = from_a ? &a->v[i] : NULL, *y = from_b ? &b->v[k] : NULL;
        v[n] = unite_open(p, x, y);
        v[n].covers = unite_covers(p, x, y, before_a, before_b);
        i += from_a;
        k += from_b;
    }
    return (Opens){n, v};
}

void prove_unite_opens(Prover *p, Opens to[2], const Opens from[2])
{
    Opens old[2] = {to[0], to[1]};
    if (old[0].v == from[0].v && old[1].v == from[1].v && old[0].n == from[0].n && old[1].n == from[1].n)
        return;
    for (u32 side = 0; side < 2; side++)
        to[side] = unite_side(p, &old[side], &from[side], &old[PROVE_BEFORE], &from[PROVE_BEFORE]);
}

bool prove_same_opens(const Opens *a, const Opens *b)
{
    return a->n == b->n && (a->n == 0 || a->v == b->v || memcmp(a->v, b->v, a->n * sizeof *a->v) == 0);
}

/* ---- passing a branch ------------------------------------------------------------------------------------------------------- */

/* What the questions of threads.c need of a list. */
static Opens essence(Prover *p, const Opens *from)
{
    Open *v = copy(p, from);
    for (u32 k = 0; k < from->n; k++) {
        v[k].cond = 0;
        v[k].closes = v[k].newer = v[k].shut = v[k].early = 0;
    }
    return (Opens){from->n, v};
}

/* Another of the branch, or, beyond the limit, the one that stands for many on the way to the successor. */
static u32 new_passing(Prover *p, u32 block, u32 went)
{
    u32 count = 0;
    for (u32 id = p->newest_passing.v[block]; id; id = p->passings.v[id].older, count++)
        if (p->passings.v[id].of_many && p->passings.v[id].went == went)
            return id;
    Passing made = {.block = block, .went = went, .of_many = count >= PASSINGS_MAX, .older = p->newest_passing.v[block]};
    p->newest_passing.v[block] = p->passings.n;
    vec_push(&p->passings, made);
    return p->passings.n - 1;
}

/* A path that is taken again, with less that is known, passes the branch as before. */
static u32 note_passing(Prover *p, u32 block, u32 went)
{
    u64 key = (p->trail ^ block) * 0x9e3779b97f4a7c15u + went, *found;
    for (; *(found = fnvmap_at(&p->passing_of, key)); key++)
        if (p->passings.v[*found].block == block && p->passings.v[*found].went == went)
            break;
    if (!*found)
        *found = new_passing(p, block, went);
    u32 id = (u32)*found;
    Passing *made = &p->passings.v[id];
    Opens open[2];
    for (u32 side = 0; side < 2; side++)
        open[side] = essence(p, &p->open[side]);
    if (!made->is_known)
        memcpy(made->open, open, sizeof open);
    else if (!prove_same_opens(&made->open[0], &open[0]) || !prove_same_opens(&made->open[1], &open[1]))
        prove_unite_opens(p, made->open, open);
    made->is_known = true;
    return id;
}

/* BEFORE comes to the branch: no more is it what it was to those that are open. */
static void forget_older(Prover *p, u32 block)
{
    GroupId own = prove_group(p, &block, 1);
    for (u32 side = 0; side < 2; side++) {
        Open *v = copy(p, &p->open[side]);
        for (u32 k = 0; k < p->open[side].n; k++) {
            v[k].past = group_without(p, v[k].past, block);
            v[k].covers = group_without(p, v[k].covers, block);
            if (side == PROVE_AFTER)
                v[k].newer = group_or(p, v[k].newer, own);
        }
        p->open[side].v = v;
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
    const Open *old = prove_find_open(&p->open[PROVE_BEFORE], block);
    Open o = {.block = block, .went = went, .cond = cond, .moved = PROVE_MOVED};
    o.past = group_of_open(p, &p->open[PROVE_BEFORE], true);
    if (old && old->moved)
        o.past = group_and(p, o.past, old->past);
    if ((old && old->moved) || is_ahead(&p->open[PROVE_BEFORE]))
        o.moved = PROVE_MAY_HAVE_MOVED;
    forget_older(p, block);
    o.past = group_without(p, o.past, block);
    p->open[PROVE_BEFORE] = with(p, p->open[PROVE_BEFORE], o);
}

/* Once more, in a loop: threads that part now may have parted the times before. */
void prove_pass_after(Prover *p, u32 block, u32 went)
{
    const Opens *before = &p->open[PROVE_BEFORE];
    const Open *old = prove_find_open(&p->open[PROVE_AFTER], block);
    u32 id = note_passing(p, block, went);
    Open o = {.block = block, .went = went, .passed = prove_group(p, &id, 1)};
    o.covers = group_of_open(p, before, false);
    o.shut = group_of_open(p, before, true);
    if (old) {
        o.closes = old->closes;
        o.passed = group_or(p, o.passed, old->passed);
        o.newer = old->newer;
        o.shut = group_or(p, o.shut, old->shut);
        o.early = old->early;
    }
    p->open[PROVE_AFTER] = with(p, p->open[PROVE_AFTER], o);
}

/* ---- joining ---------------------------------------------------------------------------------------------------------------- */

static void join(Prover *p, ProveSide side, u32 at)
{
    Open *v = copy(p, &p->open[side]), *a;
    v[at].joined = true;
    v[at].closes = side == PROVE_AFTER;
    p->open[side].v = v;
    if (side == PROVE_AFTER)
        return;
    a = copy(p, &p->open[PROVE_AFTER]);
    for (u32 k = 0; k < p->open[PROVE_AFTER].n; k++) {
        a[k].shut = group_or(p, a[k].shut, prove_group(p, &v[at].block, 1));
        a[k].covers = group_without(p, a[k].covers, v[at].block);
    }
    p->open[PROVE_AFTER].v = a;
}

/* A loop's next round. What BEFORE passed in the round that AFTER now leaves is not of this one; what it passes ahead of AFTER may be
 * of the next one. */
static void begin_round(Prover *p, ProveSide side)
{
    Open *v = copy(p, &p->open[PROVE_BEFORE]);
    for (u32 k = 0; k < p->open[PROVE_BEFORE].n; k++) {
        v[k].ahead = side == PROVE_BEFORE;
        if (side == PROVE_AFTER)
            v[k].moved = v[k].moved ? PROVE_MAY_HAVE_MOVED : PROVE_NOT_MOVED;
    }
    p->open[PROVE_BEFORE].v = v;
}

void prove_enter(Prover *p, ProveSide side, const Block *to)
{
    if (p->side[side].g.is_join[to->id] == JOIN_LOOP)
        begin_round(p, side);
    for (u32 k = 0; k < p->open[side].n; k++)
        if (p->side[side].g.postdom[p->open[side].v[k].block] == to->id && !p->open[side].v[k].joined)
            join(p, side, k);
}

void prove_catch_up(Prover *p)
{
    for (u32 side = 0; side < 2; side++) {
        Opens from = p->open[side];
        Open *v = arena_array(p->arena, Open, from.n);
        u32 n = 0;
        for (u32 k = 0; k < from.n; k++) {
            if (from.v[k].joined)
                continue;
            v[n] = from.v[k];
            v[n].moved = v[n].ahead = v[n].past = v[n].closes = 0;
            v[n].early = v[n].shut;
            n++;
        }
        if (n != from.n || (n && memcmp(v, from.v, n * sizeof *v) != 0))
            p->open[side] = (Opens){n, v};
    }
}
