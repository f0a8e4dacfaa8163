/* Warp operations with a mask: lanes wait for those that the mask names, and act together with all that have come.
 *
 * Lanes come that execute the same operation with the same mask, be it at two places of the text. Those that have exited
 * are not waited for. */
#include "check/exec/machine.h"

#include <string.h>

static bool same_operation(const Code *a, const Code *b)
{
    return a == b || !strcmp(a->instr->op->text->text, b->instr->op->text->text);
}

/* The lanes of the mask `named` that are not here and have not exited. */
static u32 awaited(const Warp *w, u32 here, u32 named) { return named & w->lanes & ~w->exited & ~here; }

/* Reads the operands of the lanes of all splits, before any of them stores a result. */
static void gather(Warp *w, Split *const *split, u32 splits)
{
    memset(w->come_known, 0, sizeof w->come_known);
    for (u32 i = 0; i < splits; i++) {
        Split *s = split[i];
        const Code *c = s->waiting_at;
        for (u32 k = 0; k < c->args && k < SYNC_ARGS; k++) {
            u64 buffer[LANES];
            const u64 *v = arg_peek(w, s, &c->arg[k], buffer);
            for_each_lane(lane, s->mask)
                w->come_value[k][lane] = v[lane];
            w->come_known[k] |= arg_known(s, &c->arg[k]) & s->mask;
        }
    }
}

/* Runs the operation for all that wait at it with this mask, if nobody is missing any more. */
static void try_complete(Warp *w, const Code *c, u32 named)
{
    Split *split[LANES];
    u32 splits = 0, come = 0;
    for (u32 i = 0; i < LANES; i++) {
        Split *s = &w->split[i];
        if (s->state != SPLIT_SYNCS || s->named != named || !same_operation(s->waiting_at, c))
            continue;
        split[splits++] = s;
        come |= s->mask;
    }
    if (!splits || awaited(w, come, named))
        return;
    gather(w, split, splits);
    w->come = come;
    for (u32 i = 0; i < splits; i++)
        split[i]->waiting_at->run(w, split[i], split[i]->waiting_at, split[i]->mask);
    w->come = 0;
    for (u32 i = 0; i < splits; i++) {
        split[i]->state = SPLIT_RUNS;
        w->runnable++;
    }
    for (u32 i = 0; i < splits; i++)
        split_go(w, split[i], split[i]->pc);
}

static void wait_here(Warp *w, Split *s, const Code *c, u32 named)
{
    s->state = SPLIT_SYNCS;
    s->waiting_at = c;
    s->named = named;
    w->runnable--;
}

/* Lets each group of lanes with equal masks wait by itself. The groups, and lanes whose guard does not hold, reconverge after the
 * operation. */
static void park(Warp *w, Split *s, const Code *c, const u64 *named, u32 mask)
{
    u32 left = mask, masks[LANES], groups = 0, first = sync_next_group(named, &left);
    if (first != s->mask) {
        Join *after = join_new(w, s->frame, s->pc, s->mask, s->join);
        after->waiting = s->mask & ~mask;
        s->join = after;
        s->mask = first;
    }
    masks[groups++] = (u32)named[__builtin_ctz(first)];
    wait_here(w, s, c, masks[0]);
    for (u32 group; (group = sync_next_group(named, &left));) {
        masks[groups] = (u32)named[__builtin_ctz(group)];
        wait_here(w, split_new(w, group, s->pc, s->frame, s->join), c, masks[groups]);
        groups++;
    }
    for (u32 i = 0; i < groups; i++)
        try_complete(w, c, masks[i]);
}

u32 sync_next_group(const u64 *named, u32 *left)
{
    u32 group = 0;
    if (!*left)
        return 0;
    u64 first = named[__builtin_ctz(*left)] & mask_bits(32);
    for_each_lane(lane, *left)
        if ((named[lane] & mask_bits(32)) == first)
            group |= 1u << lane;
    *left &= ~group;
    return group;
}

/* Lanes that exited long ago are no surprise to the hardware, but a value that comes from them is garbage. */
void sync_check(Warp *w, const Code *c, u32 mask, u32 named)
{
    u32 missing = named & w->lanes & ~mask;
    const char *opcode = c->instr->op->text->text;
    if (missing & ~w->exited)
        finding_add(w->m, FIND_PARTIAL_SYNC, opcode, c, "a lane of the mask is elsewhere");
    if (missing & w->exited)
        finding_add(w->m, FIND_EXITED_LANE, opcode, c, "a lane of the mask has exited");
}

bool sync_arrive(Warp *w, Split *s, const Code *c, u32 mask, const u64 *named)
{
    u32 left = mask;
    bool waits = false;
    if (w->come)
        return true;
    for (u32 group; (group = sync_next_group(named, &left));) {
        u32 names = (u32)named[__builtin_ctz(group)];
        sync_check(w, c, group, names);
        if (group & ~names)
            finding_add(w->m, FIND_PARTIAL_SYNC, c->instr->op->text->text, c, "a lane executes that is not in the mask");
        waits |= awaited(w, group, names) != 0;
    }
    if (waits)
        park(w, s, c, named, mask);
    return !waits;
}

void sync_lanes_exited(Warp *w)
{
    for (u32 i = 0; i < LANES; i++)
        if (w->split[i].state == SPLIT_SYNCS)
            try_complete(w, w->split[i].waiting_at, w->split[i].named);
}
