#include "phase/tail/ends.h"

#include <string.h>

#include "ir/cfg.h"
#include "ir/inspect.h"
#include "transform/condition.h"

typedef enum EndKind { END_NONE, END_RETURN, END_EXIT, END_JUMP, END_BRANCH, END_TABLE, END_GUARDED_LEAVE } EndKind;

static EndKind end_kind(const Function *fn, const Block *b)
{
    const Instr *end = block_terminator(b);
    if (!end)
        return b->fall ? END_JUMP : b->falls_off ? END_RETURN : END_NONE;
    if (branch_table(end))
        return END_TABLE;
    if (branch_target(end))
        return END_BRANCH;
    if (end->guard)
        return b->fall ? END_GUARDED_LEAVE : END_NONE;
    return op_has(end->op, OPF_ENDS_THREAD) && !fn->is_entry ? END_EXIT : END_RETURN;
}

/* Whether both blocks branch to the same successors by guards of the same sense, or to exchanged ones by guards of opposite
 * sense. */
static bool branches_alike(const Block *a, const Block *b)
{
    const Instr *of_a = block_terminator(a), *of_b = block_terminator(b);
    const Block *to_a = branch_target(of_a), *to_b = branch_target(of_b);
    if (of_a->guard_not == of_b->guard_not)
        return to_a == to_b && a->fall == b->fall;
    return to_a == b->fall && a->fall == to_b;
}

static bool tables_alike(const Block *a, const Block *b)
{
    const Instr *of_a = block_terminator(a), *of_b = block_terminator(b);
    const Table *one = branch_table(of_a), *two = branch_table(of_b);
    if (of_a->op != of_b->op || of_a->guard_not != of_b->guard_not || !of_a->guard != !of_b->guard || a->fall != b->fall)
        return false;
    const Operand *x = of_a->opnd, *y = of_b->opnd;
    if (x->kind != OPND_REG || y->kind != OPND_REG || x->sub != y->sub || x->value != y->value)
        return false;
    return one->targets.n == two->targets.n && !memcmp(one->targets.v, two->targets.v, one->targets.n * sizeof(u32));
}

bool ends_alike(const Function *fn, const Block *a, const Block *b)
{
    EndKind kind = end_kind(fn, a);
    if (kind == END_NONE || kind != end_kind(fn, b))
        return false;
    switch (kind) {
    case END_JUMP: return a->fall == b->fall;
    case END_BRANCH: return branches_alike(a, b);
    case END_TABLE: return tables_alike(a, b);
    case END_GUARDED_LEAVE:
        return a->fall == b->fall && block_terminator(a)->op->opcode == block_terminator(b)->op->opcode &&
               block_terminator(a)->guard_not == block_terminator(b)->guard_not;
    default: return true;
    }
}

static bool leaves_at_once(const Block *b)
{
    const Instr *i = b->first, *end = block_terminator(b);
    while (i && i->kind == INSTR_LOC)
        i = i->next;
    return i == end && (end ? !end->guard : b->falls_off);
}

bool ends_leave(const Function *fn, const Block *b)
{
    CfgList succs = cfg_succs(fn, b);
    bool only = succs.n == 1 && fn->is_entry && !cfg_succs(fn, succs.v[0].block).n;
    return !succs.n || (only && leaves_at_once(succs.v[0].block));
}

u64 ends_key(const Function *fn, const Block *b)
{
    EndKind kind = end_kind(fn, b);
    u64 key = kind;
    for (u32 k = 0; k < block_edge_count(b); k++)
        key += (u64)(block_edge_target(b, k)->id + 1) * 0x9e3779b97f4a7c15u; /* a sum: the order does not matter */
    return kind == END_NONE ? 0 : key | 1;
}

bool ends_loop_test(const Loops *loops, const Block *b, const Instr **compare)
{
    const Instr *end = block_terminator(b);
    const Loop *loop = loop_of(loops, b);
    *compare = NULL;
    if (!loop || !end || !end->guard || branch_table(end))
        return false;
    const Block *to = branch_target(end);
    bool stays = to && loop_contains(loops, loop, to), falls = b->fall && loop_contains(loops, loop, b->fall);
    if (stays == falls && to != loop->header && b->fall != loop->header)
        return false;
    *compare = local_definition(end, end->guard);
    return true;
}
