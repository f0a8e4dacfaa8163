#include "transform/unroll.h"

#include "ir/edit.h"
#include "ir/inspect.h"

bool unroll_may_repeat(Analyses *an, const Instr *i)
{
    if (instr_reads_volatile_register(i))
        return false;
    if (i->kind != INSTR_OP || op_is_pure(i->op))
        return true;
    if (op_has(i->op, OPF_TERMINATOR))
        return branch_target(i) != NULL;
    Effects e = instr_effects(i, an->summaries);
    return e.known && !e.active_set && !e.event && !e.may_not_return && !op_has(i->op, OPF_CALL);
}

u32 unroll_place(const Unroll *u, const Block *b)
{
    u32 k = 0;
    while (k < u->blocks && u->block[k] != b)
        k++;
    return k;
}

/* Clones the blocks, except for the last step of each. */
static void make_steps(const Unroll *u, Block *entry, Block **of)
{
    u32 last[UNROLL_BLOCKS];
    for (u32 k = 0; k < u->step.n; k++)
        last[u->step.v[k].place] = k;
    for (u32 k = 0; k < u->step.n; k++) {
        Block *b = u->block[u->step.v[k].place];
        of[k] = last[u->step.v[k].place] == k ? b : block_clone(b);
        block_move_after(of[k], k ? of[k - 1] : entry);
    }
}

/* The next step of the block b; NULL: there is none. next: by place. */
static Block *next_of(const Unroll *u, Block *const *next, const Block *b)
{
    u32 place = unroll_place(u, b);
    return place < u->blocks ? next[place] : NULL;
}

/* Lets the edges of a step lead to the next ones. */
static void lead_on(const Unroll *u, const UnrollStep *step, Block *made, Block *const *next)
{
    Block *to;
    if (step->to) {
        to = next_of(u, next, step->to);
        block_remove_terminator(made);
        block_set_fall(made, to ? to : step->to);
        return;
    }
    for (u32 k = 0; k < u->blocks; k++) {
        to = next[k];
        if (to && to != u->block[k])
            block_redirect(made, u->block[k], to);
    }
}

void unroll_write_out(const Unroll *u, Block *entry, Block **of)
{
    Block *next[UNROLL_BLOCKS] = {NULL};
    make_steps(u, entry, of);
    for (u32 k = u->step.n; k-- > 0;) {
        lead_on(u, &u->step.v[k], of[k], next);
        next[u->step.v[k].place] = of[k];
    }
    block_set_fall(entry, of[0]);
}
