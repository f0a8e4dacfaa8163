#include "phase/thread/body.h"

#include "base/bound.h"
#include "ir/inspect.h"
#include "target/ptxas.h"
#include "transform/slice.h"

const char *body_why_not(Analyses *an, const Block *b, bool explains)
{
    const Instr *end = block_terminator(b);
    u32 instrs = 0;
    for_each_instr(i, b) {
        if (i->kind == INSTR_PRAGMA)
            return "the block has a pragma";
        if (i->kind == INSTR_SCOPE_BEGIN || i->kind == INSTR_SCOPE_END)
            return "the block has a scope of its own";
        if (i->kind != INSTR_OP)
            continue;
        if (BEYOND(BODY, ++instrs > BODY))
            return "the block is too long";
        if (i != end && !instr_may_be_copied(i, an->summaries))
            return !explains ? "it must not be duplicated"
                             : arena_printf(an->scratch, "'%s' must not be duplicated", i->op->text->text);
    }
    return NULL;
}

bool body_is_live_on(Analyses *an, const Block *to, const Block *otherwise, RegId reg)
{
    const Live *live = an_live(an);
    return live_in(live, to, reg) || (otherwise && live_in(live, otherwise, reg));
}

/* Whether i must be kept although nobody reads its result. A load can fault, unless it is of a kernel's parameters. */
static bool accesses_memory(Analyses *an, const Instr *i)
{
    return !op_is_pure(i->op) && !(i->op->opcode == OPC_LD && i->op->space == SPACE_PARAM && an->fn->is_entry);
}

bool body_collect(Analyses *an, const Block *b, const Block *to, const Block *otherwise, Body *body)
{
    RegId needed[4 * BODY], killed[4 * BODY];
    const Block *targets[2] = {to, otherwise};
    Slice slice = {an_live(an), targets, otherwise ? 2 : 1, needed, killed, COUNT_OF(needed), 0, 0};
    body->n = 0;
    for (Instr *i = block_terminator(b)->prev; i; i = i->prev) {
        if (i->kind != INSTR_OP || (!accesses_memory(an, i) && !slice_reads_result(&slice, i)))
            continue;
        body->v[body->n++] = i;
        if (!slice_take(&slice, i))
            return false;
    }
    for (u32 k = 0; k < body->n / 2; k++)
        SWAP(body->v[k], body->v[body->n - 1 - k]);
    return true;
}

u32 body_cost(const Body *body)
{
    u32 cost = 0;
    for (u32 k = 0; k < body->n; k++)
        cost += ptxas_cost(body->v[k]);
    return cost;
}

u32 body_accesses(const Body *body)
{
    u32 n = 0;
    for (u32 k = 0; k < body->n; k++)
        n += !op_is_pure(body->v[k]->op);
    return n;
}

bool body_steps_a_counter(const Body *body)
{
    for (u32 k = 0; k < body->n; k++)
        for (RegWalk w = reg_walk(body->v[k]); next_write(&w);)
            if (instr_reads(body->v[k], w.reg))
                return true;
    return false;
}

bool body_writes(const Body *body, RegId reg)
{
    for (u32 k = 0; k < body->n; k++)
        if (instr_writes(body->v[k], reg))
            return true;
    return false;
}
