#include "phase/latches/unrolled.h"

#include "base/bound.h"
#include "ir/cfg.h"
#include "ir/inspect.h"

enum {
    LOOKED_AT = 24, /* the most values that a start is followed through */
    ROUNDED_BITS = 24
};

/* ---- the remainder loop of one that was unrolled ------------------------------------------------------------------------- */

typedef struct UnrolledSearch {
    const Ssa *ssa;
    const Function *fn;
    u32 left; /* how many values may still be looked at */
} UnrolledSearch;

/* Whether the mask rounds down to a multiple of a small power of two, as 0xfffffffc and 0x7ffffffc do. */
static bool rounds_down(const Operand *o)
{
    if (o->kind != OPND_IMM || !o->value)
        return false;
    u64 value = (u64)o->value, ones = value >> __builtin_ctzll(value);
    return !(value & 1) && !(ones & (ones + 1)) && __builtin_popcountll(value) >= ROUNDED_BITS;
}

static bool is_rounded(UnrolledSearch *s, const Block *b, const Instr *before, RegId reg);

static bool comes_rounded(UnrolledSearch *s, const Block *b, RegId reg)
{
    for_each_cfg_edge(pred, cfg_preds(s->fn, b))
        if (is_rounded(s, pred.v->block, NULL, reg))
            return true;
    return false;
}

static bool result_is_rounded(UnrolledSearch *s, const Instr *def)
{
    bool carries = def->op->opcode == OPC_MOV || def->op->opcode == OPC_CVT || def->op->opcode == OPC_ADD;
    for (u32 k = 1; carries && k < def->slots && k <= 2; k++) {
        RegId reg = operand_plain_register(instr_operand(def, k));
        if (reg && is_rounded(s, def->block, def, reg))
            return true;
    }
    return def->op->opcode == OPC_AND && rounds_down(instr_operand(def, 2));
}

/* Whether the value of reg at this point may be a sum with a number that was rounded down to a multiple. before: in b;
 * NULL: at b's end. */
static bool is_rounded(UnrolledSearch *s, const Block *b, const Instr *before, RegId reg)
{
    ValueId value = WITHIN(LOOKED_AT, s->left) ? ssa_at(s->ssa, b, before, reg) : 0;
    if (!value)
        return false;
    s->left--;
    const Instr *def = ssa_definition(s->ssa, value, reg);
    if (def)
        return result_is_rounded(s, def);
    const SsaValue *v = &s->ssa->values[value];
    return v->phi && comes_rounded(s, s->ssa->dom->by_pre[v->pre], reg);
}

/* Whether the loop begins at a number that was rounded down. Compilers round the number of iterations down for the loop
 * that they unroll, and begin a remainder loop there. */
static bool is_rest(Analyses *an, const Loop *loop, const LoopTest *test)
{
    UnrolledSearch s = {an_ssa(an), an->fn, LOOKED_AT};
    for_each_cfg_edge(pred, cfg_preds(an->fn, loop->header))
        for (u32 t = 0; pred.v->block != loop->latches[0] && t < test->value.terms; t++)
            if (is_rounded(&s, pred.v->block, NULL, test->value.term[t].reg))
                return true;
    return false;
}

/* ---- loops that were unrolled ---------------------------------------------------------------------------------------------- */

/* Whether the loop makes at least as many accesses as its step. ptxas would copy the copies: of nine such kernels four got
 * worse, by up to 55 % of their cycles. */
static bool was_unrolled(const LoopTest *test, u32 accesses)
{
    i64 by = sem_signed(test->value.step, test->value.bits);
    u64 size = by < 0 ? 0 - (u64)by : (u64)by;
    return size > 1 && accesses >= size;
}

const char *latch_unrolled_before(Analyses *an, const Loop *loop, const LoopTest *test, u32 trips, u32 accesses)
{
    if (is_rest(an, loop, test))
        return "it does the rest of a loop that was unrolled before";
    if (!trips && was_unrolled(test, accesses))
        return "it was unrolled before, and it is not known how often it runs";
    return NULL;
}
