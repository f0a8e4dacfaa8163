#include "phase/tail/names.h"

#include "ir/inspect.h"
#include "transform/condition.h"

static const Instr *only_write(TailNames *n, RegId reg)
{
    if (!n->write) {
        n->write = instr_only_writes(n->an->scratch, n->an->fn);
        n->regs = n->an->fn->regs.n;
    }
    return reg < n->regs ? n->write[reg] : NULL;
}

/* Whether reg is the same in all threads that come to either copy. */
static bool is_same(TailNames *n, RegId reg)
{
    if (!n->uniform && !n->edited)
        n->uniform = an_uniform(n->an);
    return n->uniform && only_write(n, reg) && uniform_has(&n->uniform->warp, reg);
}

static bool constant_of(TailNames *n, const Instr *at, const Operand *o, u32 *value)
{
    RegId reg = operand_plain_register(o);
    const Instr *def = reg ? local_definition(at, reg) : NULL;
    def = def || !reg ? def : only_write(n, reg);
    if (def && !def->guard && def->op->opcode == OPC_MOV)
        o = instr_operand(def, 1);
    *value = (u32)o->value;
    return o->kind == OPND_IMM;
}

static bool operands_alike(TailNames *n, const Instr *a, const Operand *of_a, const Instr *b, const Operand *of_b)
{
    u32 one, two;
    if (constant_of(n, a, of_a, &one) && constant_of(n, b, of_b, &two))
        return one == two;
    RegId reg = operand_plain_register(of_a);
    return reg && reg == operand_plain_register(of_b) && is_same(n, reg);
}

/* Whether operand o of i says which threads take part. last: o is the last operand. */
static bool names_threads(const Instr *i, const Operand *o, bool last)
{
    if (i->op->sync == SYNC_LANES || i->op->sync == SYNC_WARP)
        return last;
    bool is_data = o->kind == OPND_REG && fn_reg(i->block->fn, o->id)->type == TYPE_PRED;
    return o->role != ROLE_DEF && !is_data;
}

bool tail_names_alike(TailNames *n, const Instr *a, const Instr *b)
{
    if (a->op->sync == SYNC_NONE || op_has(a->op, OPF_ALIGNED))
        return true;
    if (a->guard && (a->guard != b->guard || !is_same(n, a->guard)))
        return false;
    for (u32 k = 0; k < a->slots; k += operand_slots(&a->opnd[k])) {
        bool last = k + operand_slots(&a->opnd[k]) >= a->slots;
        if (names_threads(a, &a->opnd[k], last) && !operands_alike(n, a, &a->opnd[k], b, &b->opnd[k]))
            return false;
    }
    return true;
}
