#include "phase/tail/lanes.h"

#include "base/fnvmap.h"
#include "phase/tail/instr_match.h"

enum { KINDS = 3 /* of EffectWaits */ };

struct TailLanes {
    Analyses *an;
    ReconvergeGate *gate; /* NULL until the first question */
    const Instr *item[2]; /* by block: the first item of those that were added, but not yet looked at ... */
    u32 items;            /* ... and their number */
    bool begun;           /* the blocks have been looked at */
    bool after_known;
    bool leave;             /* the threads of the blocks leave the function, and reconverge nowhere */
    ReconvergeRegion after; /* the code between the end of the blocks and the point where their threads reconverged */
    Block *kept, *other;
    bool divides_known, risk_known, explains;
    ReconvergeRisk risk;          /* of the tail so far */
    bool divides;                 /* some branch on the paths to the two blocks, from where these part, may divide a warp */
    FnvMap between;               /* by the ids of two blocks: EffectWaits on these paths, plus 1 */
    const Instr *first[2][KINDS]; /* by block and EffectWait: the first instruction of the block with that wait */
    u8 waits[2];                  /* by block: EffectWaits in front of the tail */
    u8 waits_inside,
        ends_inside; /* EffectWaits of calls in the tail, where threads may diverge; WaitEnds of these, and of the tail after them */
    u8 ends; /* WaitEnds of the tail */
};

TailLanes *tail_lanes_new(Analyses *an)
{
    TailLanes *l = arena_new(an->scratch, TailLanes);
    l->an = an;
    return l;
}

void tail_lanes_free(TailLanes *lanes)
{
    if (lanes->gate)
        reconverge_free(lanes->gate);
    fnvmap_free(&lanes->between);
}

bool tail_lanes_matter(TailLanes *lanes)
{
    if (!lanes->gate)
        lanes->gate = reconverge_new(lanes->an->scratch, lanes->an);
    return reconverge_matters(lanes->gate);
}

void tail_lanes_set_end(TailLanes *lanes) { lanes->after_known = false; }

/* Finds the first instruction of b with each of the waits that b has. */
static void find_first(TailLanes *l, u32 which, const Block *b)
{
    u8 left = l->waits[which] = reconverge_waits(l->gate)->waits[b->id];
    for (const Instr *i = b->first; i && left; i = i->next) {
        u8 waits = i->kind == INSTR_OP ? instr_effects(i, l->an->summaries).waits & left : 0;
        for (u32 k = 0; k < KINDS; k++)
            if (waits >> k & 1)
                l->first[which][k] = i;
        left &= (u8)~waits;
    }
}

void tail_lanes_begin(TailLanes *l, Block *kept, Block *other)
{
    l->kept = kept;
    l->other = other;
    l->divides_known = l->risk_known = l->begun = false;
    l->waits_inside = l->ends_inside = l->ends = 0;
    l->items = 0;
}

/* Takes the waits into the tail whose first instruction is first_of_tail. They no longer stand in front of the tail. */
static void take_waits(TailLanes *l, u32 which, const Instr *first_of_tail)
{
    for (u32 k = 0; k < KINDS; k++)
        if (l->waits[which] >> k & 1 && l->first[which][k] == first_of_tail) {
            l->waits[which] &= (u8) ~(1u << k);
            l->risk_known = false;
        }
}

void tail_lanes_add(TailLanes *l, const Instr *of_kept, const Instr *of_other)
{
    if (!l->items++) {
        l->item[0] = of_kept;
        l->item[1] = of_other;
    }
}

static void look_at_pair(TailLanes *l, const Instr *of_kept, const Instr *of_other)
{
    if (of_kept->kind != INSTR_OP)
        return;
    if (l->waits[0] | l->waits[1]) {
        take_waits(l, 0, of_kept);
        take_waits(l, 1, of_other);
    }
    u8 inside = instr_is(of_kept, OPF_CALL) ? instr_effects(of_kept, l->an->summaries).waits : 0;
    u8 ends = instr_ends(of_kept, l->an->summaries);
    l->risk_known &= !inside && !(ends & ~l->ends);
    l->waits_inside |= inside;
    l->ends |= ends;
    /* includes what the callee itself does after a point in it where threads reconverge */
    l->ends_inside |= inside ? l->ends : 0;
}

/* Looks at all items of the tail so far. Few tails get so long that somebody asks for that. False: no tail can be refused. */
static bool look_at_tail(TailLanes *l)
{
    if (!tail_lanes_matter(l))
        return false;
    if (!l->begun) {
        find_first(l, 0, l->kept);
        find_first(l, 1, l->other);
    }
    l->begun = true;
    for (; l->items; l->items--) {
        look_at_pair(l, l->item[0], l->item[1]);
        l->item[0] = match_item_before(l->item[0]);
        l->item[1] = match_item_before(l->item[1]);
    }
    return true;
}

/* The same blocks are compared again for the length of their tail, and for shorter tails. */
static u8 waits_between(TailLanes *l)
{
    u64 key = (u64)l->kept->id << 32 | l->other->id, *found = fnvmap_find(&l->between, key);
    if (l->explains && !found)
        return reconverge_waits_before(l->gate, l->kept, l->other);
    u64 *known = found ? found : fnvmap_at(&l->between, key);
    if (!*known)
        *known = 1 + reconverge_waits_before(l->gate, l->kept, l->other);
    return (u8)(*known - 1);
}

static bool divides(TailLanes *l)
{
    if (!l->divides_known)
        l->divides = reconverge_divides(l->gate, l->kept, l->other);
    l->divides_known = true;
    return l->divides;
}

static void find_after(TailLanes *l)
{
    const Block *point = reconvergence_point(l->gate, l->kept);
    l->after = reconverge_after(l->gate, l->kept, point);
    l->leave = !point || reconverge_only_leaves(point);
    l->after_known = true;
}

/* Whether merging may make ptxas take another exit for the function's end while some instruction sees which lanes come
 * together. ptxas chooses the end by the number of blocks that lead to it. */
static bool may_move_end(const TailLanes *l) { return l->leave && reconverge_waits(l->gate)->any_active_set; }

static ReconvergeRisk judge(TailLanes *l)
{
    if (!l->after_known)
        find_after(l);
    ReconvergeRegion after = l->after;
    after.waits |= l->waits_inside;
    after.later_ends |= l->waits_inside ? l->ends_inside | after.ends : 0;
    after.ends |= l->ends;
    ReconvergeRisk risk = reconverge_judge(l->gate, waits_between(l) | l->waits[0] | l->waits[1], &after);
    if (risk == RECONVERGE_SAFE && may_move_end(l))
        risk = RECONVERGE_ACTIVE_SET;
    return risk != RECONVERGE_SAFE && divides(l) ? risk : RECONVERGE_SAFE;
}

ReconvergeRisk tail_lanes_risk(TailLanes *l)
{
    if (!look_at_tail(l))
        return RECONVERGE_SAFE;
    if (!l->risk_known)
        l->risk = judge(l);
    l->risk_known = true;
    return l->risk;
}

ReconvergeRisk tail_lanes_explain(TailLanes *l)
{
    if (!look_at_tail(l))
        return RECONVERGE_SAFE;
    u64 left = reconverge_budget(l->gate);
    bool divides_known = l->divides_known, after_known = l->after_known, risk_known = l->risk_known;
    l->explains = true;
    ReconvergeRisk risk = tail_lanes_risk(l);
    l->explains = false;
    l->divides_known = divides_known;
    l->after_known = after_known;
    l->risk_known = risk_known;
    reconverge_set_budget(l->gate, left);
    return risk;
}
