#include "phase/tail/loads.h"

#include "base/bound.h"
#include "ir/reg_walk.h"
#include "target/ptxas.h"

/* Whether i is a load with a long latency. */
static bool is_load(const Instr *i)
{
    return i->kind == INSTR_OP && i->op->mem == MEM_READ && i->op->strength == STRENGTH_WEAK &&
           (i->op->space == SPACE_GLOBAL || i->op->space == SPACE_GENERIC);
}

/* Whether ptxas moves no such load up across i. */
static bool holds_loads(const Instr *i)
{
    if (i->kind != INSTR_OP)
        return false;
    if (i->op->sync != SYNC_NONE || op_has(i->op, OPF_CALL) || op_has(i->op, OPF_FENCE))
        return true;
    bool writes = i->op->mem == MEM_WRITE || i->op->mem == MEM_READ_WRITE;
    return writes && i->op->space != SPACE_SHARED && i->op->space != SPACE_LOCAL && i->op->space != SPACE_PARAM;
}

/* Bounds the instructions looked at in front of a tail, and twice as many from the first load on; the phase stays linear. */
enum { LOADS_LOOKED_AT = 256 };

/* The first of the loads in front of `begin` that may be in flight there; NULL: there are too few. */
static const Instr *first_load(const Instr *begin)
{
    const Instr *first = NULL;
    u32 loads = 0, left = LOADS_LOOKED_AT;
    for (const Instr *i = begin->prev; i && !holds_loads(i) && WITHIN(LOADS_LOOKED_AT, left); i = i->prev, left--)
        if (is_load(i)) {
            loads++;
            first = i;
        }
    return loads >= PTXAS_LOADS_PARTED ? first : NULL;
}

static bool reads_any(const Instr *i, const BitSet *registers)
{
    for (RegWalk w = reg_walk(i); next_read(&w);)
        if (bitset_has(registers, w.reg))
            return true;
    return false;
}

bool loads_parted(const Instr *begin, BitSet *late)
{
    const Instr *first = first_load(begin), *i;
    bool in_tail = false, parted = false;
    u32 left = 2 * LOADS_LOOKED_AT;
    for (i = first; i && !parted && !holds_loads(i) && WITHIN(LOADS_LOOKED_AT, left); i = i->next, left--) {
        in_tail |= i == begin;
        if (i->kind != INSTR_OP)
            continue;
        bool waits = reads_any(i, late);
        parted = in_tail && is_load(i) && !waits;
        if (waits || (!in_tail && is_load(i)))
            for (RegWalk w = reg_walk(i); next_write(&w);)
                bitset_add(late, w.reg);
    }
    for (const Instr *seen = first; seen != i; seen = seen->next)
        if (seen->kind == INSTR_OP)
            for (RegWalk w = reg_walk(seen); next_write(&w);)
                bitset_del(late, w.reg);
    return parted;
}
