/* Passings of one branch of AFTER: which threads were together there, and whether branches of BEFORE divided them. */
#include "check/prove/together.h"

#include <string.h>

/* ---- two passings of one branch ------------------------------------------------------------------------------------------------- */

bool prove_can_be_together(const Passing *a, const Passing *b)
{
    for (u32 from = 0; from < 2; from++) {
        const Opens *x = &(from ? b : a)->open[PROVE_AFTER], *y = &(from ? a : b)->open[PROVE_AFTER];
        for (u32 k = 0; k < x->n; k++) {
            const Open *other = prove_find_open(y, x->v[k].block);
            if (x->v[k].went && !x->v[k].joined &&
                (!other || other->joined || (other->went && other->went != x->v[k].went)))
                return false;
        }
    }
    return true;
}

bool prove_is_aligned(const Prover *p, u32 block)
{
    u32 region = p->side[PROVE_BEFORE].g.region[block];
    return region && !bitset_has(&p->threads.unaligned, region);
}

bool prove_is_same_time(const Prover *p, const Open *x, const Open *y)
{
    return !p->side[PROVE_BEFORE].g.region[x->block] ||
           (prove_is_aligned(p, x->block) && x->moved == PROVE_MOVED && y->moved == PROVE_MOVED);
}

bool prove_were_divided_at(const Prover *p, const Open *x, const Open *y)
{
    return x->went && y->went && x->went != y->went && prove_is_same_time(p, x, y);
}

bool prove_were_parted_before(Prover *p, u32 after, const Open *x, const Open *y)
{
    return x->went && y->went && x->went != y->went &&
           (prove_is_same_time(p, x, y) || prove_is_same_iteration(p, after, x->block, x->iteration, y->iteration));
}

/* Whether two things hold each time that a path passed the branch of AFTER. That of BEFORE was open, passed in the same
 * iteration. The edge of the first one says which edge of the other one it took. */
static bool look_for_edge(Prover *p, u32 after, u32 before, u32 iteration)
{
    for (u32 a = p->notes.newest.v[after]; a; a = p->notes.passings.v[a].older) {
        const Open *x = prove_find_open(&p->notes.passings.v[a].open[PROVE_BEFORE], before);
        if (!x || !x->went || x->iteration != iteration)
            return false;
        for (u32 b = p->notes.passings.v[a].older; b; b = p->notes.passings.v[b].older) {
            const Open *y = prove_find_open(&p->notes.passings.v[b].open[PROVE_BEFORE], before);
            if (p->notes.passings.v[a].went == p->notes.passings.v[b].went && y && x->went != y->went)
                return false;
        }
    }
    return true;
}

static bool tells_edge(Prover *p, u32 after, u32 before, u32 iteration)
{
    u64 *known = fnvmap_at(&p->threads.edge_answers, ((u64)after << 32 | before) * (2 * ITERATION_SAME) + iteration);
    if (!*known)
        *known = 1 + look_for_edge(p, after, before, iteration);
    return *known == 2;
}

/* Whether the branch of BEFORE has not parted the threads at an earlier visit either. They would have parted at that of AFTER, which each
 * of them passed in between, by other edges, and not be together there now. */
static bool went_together_earlier(Prover *p, u32 after, const Open *x, const Open *y)
{
    bool is_first = x->again == (GroupId)PROVE_ALL, follows = is_first || prove_group_has(p, x->again, after);
    follows &= y->again == (GroupId)PROVE_ALL || prove_group_has(p, y->again, after);
    return is_first || prove_returns_one_way(p, x->block) ||
           (follows && prove_keeps_parted(p, after, x->block) && tells_edge(p, after, x->block, x->iteration));
}

bool prove_went_together(Prover *p, const Passing *a, const Passing *b, u32 before)
{
    const Open *x = prove_find_open(&a->open[PROVE_BEFORE], before), *y = prove_find_open(&b->open[PROVE_BEFORE], before);
    if (prove_is_aligned(p, before) && !x->moved && (!y || !y->moved))
        return true;
    if (!y || !x->went || x->went != y->went)
        return false;
    return prove_is_same_time(p, x, y) || (prove_is_same_iteration(p, a->block, before, x->iteration, y->iteration) &&
                                           went_together_earlier(p, a->block, x, y));
}

bool prove_all_pairs(Prover *p, const OpenAtEvent *m, const Open *open, PairTest *test)
{
    for (u32 i = 0; i < p->groups.all.v[open->rejoined.passings].n; i++) {
        u32 a = p->groups.all.v[open->rejoined.passings].v[i];
        for (u32 b = p->notes.newest.v[open->block]; b; b = p->notes.passings.v[b].older)
            if (p->notes.passings.v[a].went != p->notes.passings.v[b].went &&
                prove_can_be_together(&p->notes.passings.v[a], &p->notes.passings.v[b]) && !test(p, m, open, a, b))
                return false;
    }
    return true;
}

/* ---- branches that cover others ----------------------------------------------------------------------------------------------- */

static bool look_for_together(Prover *p, const Open *after, u32 before)
{
    for (u32 i = 0; i < p->groups.all.v[after->divided.passings].n; i++) {
        const Passing *a = &p->notes.passings.v[p->groups.all.v[after->divided.passings].v[i]];
        const Open *x = prove_find_open(&a->open[PROVE_BEFORE], before);
        if (!x || x->joined || (after->went && a->went != after->went))
            continue;
        for (u32 id = p->notes.newest.v[after->block]; id; id = p->notes.passings.v[id].older) {
            const Passing *b = &p->notes.passings.v[id];
            if (a->went == b->went && prove_can_be_together(a, b) && !prove_went_together(p, a, b, before))
                return false;
        }
    }
    return true;
}

/* Whether threads that are together since they passed the branch of AFTER were not divided at that of BEFORE. */
static bool covers(Prover *p, const Open *after, u32 before)
{
    u32 question[] = {after->block, after->went, after->divided.passings, before, 1};
    if (after->joined || !prove_group_has(p, after->covers, before))
        return false;
    u32 key = prove_group(p, question, COUNT_OF(question));
    if (!*fnvmap_at(&p->threads.answers, key)) {
        u64 answer = 1 + look_for_together(p, after, before);
        *fnvmap_at(&p->threads.answers, key) = answer;
    }
    return *fnvmap_at(&p->threads.answers, key) == 2;
}

bool prove_is_covered(Prover *p, const Opens *after, u32 before)
{
    for (u32 k = 0; k < after->n; k++)
        if (covers(p, &after->v[k], before))
            return true;
    return false;
}

const Open *prove_not_covered(Prover *p, const OpenAtEvent *m)
{
    for (u32 k = 0; k < m->open[PROVE_BEFORE].n; k++) {
        const Open *o = &m->open[PROVE_BEFORE].v[k];
        if (prove_has_divided(p, o->block) && !prove_is_covered(p, &m->open[PROVE_AFTER], o->block))
            return o;
    }
    return NULL;
}

/* ---- texts that are aligned ----------------------------------------------------------------------------------------------------- */

/* Whether threads that diverged so were divided in BEFORE at their last event, and are not any more. */
static bool join_in_both(Prover *p, const OpenAtEvent *m, const Open *closed, u32 a, u32 b)
{
    const Opens *x = &p->notes.passings.v[a].open[PROVE_BEFORE], *y = &p->notes.passings.v[b].open[PROVE_BEFORE];
    for (u32 k = 0; k < x->n; k++) {
        const Open *other = prove_find_open(y, x->v[k].block);
        if (other && prove_were_divided_at(p, &x->v[k], other) && !prove_group_has(p, closed->early, other->block) &&
            !prove_find_open(&m->open[PROVE_BEFORE], other->block))
            return true;
    }
    return false;
}

/* Whether an iteration of a loop may begin before the threads that diverge there join again. */
static bool is_around_a_loop(ProveGraph *g, u32 block)
{
    const BitSet *between = prove_influence(g, fn_block(g->fn, block));
    for_each_bit(id, between)
        if (g->is_join[id] == JOIN_LOOP)
            return true;
    return false;
}

/* Branches of AFTER that are open at some event, or while an iteration begins: others make nobody be ahead. */
static BitSet lasting_branches(Prover *p)
{
    ProveGraph *g = &p->side[PROVE_AFTER].g;
    BitSet found = bitset_new(p->arena, g->n);
    for (u32 i = 0; i < p->notes.events.n; i++) {
        const Opens *o = &p->notes.events.v[i].open[PROVE_AFTER];
        for (u32 k = 0; k < o->n; k++)
            if (!o->v[k].joined)
                bitset_add(&found, o->v[k].block);
    }
    for (u32 id = 0; id < g->n; id++)
        if (p->notes.newest.v[id] && is_around_a_loop(g, id))
            bitset_add(&found, id);
    return found;
}

static u32 region_of(const Prover *p, ProveSide side, const Instr *at)
{
    return at ? p->side[side].g.region[at->block->id] : 0;
}

/* Compares regions: the threads at one place of AFTER must be in the same loops of BEFORE, or in none. */
static void compare_regions(Prover *p)
{
    u32 *before = arena_array(p->arena, u32, p->side[PROVE_AFTER].g.n + 1); /* by region of AFTER that of BEFORE, plus 1 */
    before[0] = 1;
    for (u32 again = 0; again < 2; again++)
        for (u32 i = 0; i < p->notes.events.n; i++) {
            const OpenAtEvent *m = &p->notes.events.v[i];
            u32 region = region_of(p, PROVE_BEFORE, m->before), *other = &before[region_of(p, PROVE_AFTER, m->after)];
            if (!*other)
                *other = region + 1;
            if (*other == region + 1)
                continue;
            *other = UINT32_MAX;
            bitset_add(&p->threads.unaligned, region);
        }
}

/* False: nothing new was found. */
static bool find_unaligned(Prover *p, const BitSet *lasting)
{
    u32 count = bitset_count(&p->threads.unaligned);
    fnvmap_clear(&p->threads.answers);
    for (u32 i = 0; i < p->notes.events.n; i++) {
        const OpenAtEvent *m = &p->notes.events.v[i];
        const Opens *before = &m->open[PROVE_BEFORE], *after = &m->open[PROVE_AFTER];
        u32 region = region_of(p, PROVE_BEFORE, m->before);
        for (u32 k = 0; k < before->n; k++)
            if (prove_is_aligned(p, before->v[k].block) && prove_has_divided(p, before->v[k].block) &&
                !prove_is_covered(p, after, before->v[k].block))
                bitset_add(&p->threads.unaligned, p->side[PROVE_BEFORE].g.region[before->v[k].block]);
        for (u32 k = 0; k < after->n; k++)
            if (after->v[k].closes && bitset_has(lasting, after->v[k].block) &&
                !bitset_has(&p->threads.unaligned, region) && !prove_all_pairs(p, m, &after->v[k], join_in_both))
                bitset_add(&p->threads.unaligned, region);
    }
    return bitset_count(&p->threads.unaligned) > count;
}

void prove_align(Prover *p)
{
    BitSet lasting = lasting_branches(p);
    p->threads.unaligned = bitset_new(p->arena, p->side[PROVE_BEFORE].g.n + 1);
    bitset_add(&p->threads.unaligned, 0);
    compare_regions(p);
    while (find_unaligned(p, &lasting)) {
    }
    fnvmap_clear(&p->threads.answers);
}
