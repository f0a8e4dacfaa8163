#include "phase/loops/sum_builder.h"

#include "phase/loops/test_words.h"

static void keep(SumBuilder *b, LinearId id, Operand operand)
{
    vec_push(&b->operand, operand);
    *fnvmap_at(&b->made, id) = b->operand.n;
}

void sum_builder_init(SumBuilder *b, LoopSums *sums, const Builder *at)
{
    *b = (SumBuilder){.sums = sums, .at = at};
    for (u32 k = 0; k < sums->entered.n; k++) {
        LinearId id = (LinearId)*fnvmap_find(&sums->entries, sums->entered.v[k]);
        if (!loop_sum_is_constant(sums, id) && !fnvmap_find(&b->made, id))
            keep(b, id, register_operand(sums->entered.v[k]));
    }
}

void sum_builder_free(SumBuilder *b)
{
    fnvmap_free(&b->made);
    vec_free(&b->operand);
}

Operand sum_emit(SumBuilder *b, SumOp op, const Operand *sources, u32 count)
{
    b->cost += op.cost;
    if (b->words)
        return test_words_value(b->words, &op, sources);
    if (!b->at)
        return register_operand(0);
    const OpInfo *info = isa_op(b->at->fn->module->isa, op.opcode, op.parts);
    return register_operand(build_value(b->at, info, op.type, sources, count));
}

static Operand emit_binary(SumBuilder *b, u32 cost, Opcode opcode, u32 bits, Operand x, Operand y)
{
    bool bitwise = opcode == OPC_SHL;
    OpParts parts = {.type = {bitwise ? bits_type(bits) : signed_type(bits)}, .low = opcode == OPC_MUL};
    SumOp op = {opcode, parts, bits_type(bits), bits == 64 && opcode != OPC_MUL ? 2 * cost : cost};
    return sum_emit(b, op, (Operand[]){x, y}, 2);
}

static Operand build_term(SumBuilder *b, TermId id)
{
    LinearTerm t = b->sums->exprs->terms.v[id];
    OpParts widen = {.type = {TYPE_U64, TYPE_U32}}, low = {.type = {TYPE_U32, TYPE_U64}};
    Operand x;
    switch (t.kind) {
    case TERM_VALUE: return register_operand(t.operand[0]);
    case TERM_SIGNED: widen = (OpParts){.type = {TYPE_S64, TYPE_S32}}; /* fallthrough */
    case TERM_UNSIGNED:
        x = sum_build(b, t.operand[0]);
        return sum_emit(b, (SumOp){OPC_CVT, widen, TYPE_B64, t.kind == TERM_SIGNED}, &x, 1);
    case TERM_LOW:
        x = sum_build(b, linear_term(b->sums->exprs, t.operand[0]));
        return sum_emit(b, (SumOp){OPC_CVT, low, TYPE_B32, 0}, &x, 1);
    default:
        x = sum_build(b, t.operand[0]);
        return emit_binary(b, t.bits == 64 ? 3 : 1, OPC_MUL, t.bits, x, sum_build(b, t.operand[1]));
    }
}

static Operand build_scaled(SumBuilder *b, Operand x, u64 scale, u32 bits)
{
    if (scale == 1)
        return x;
    if (!(scale & (scale - 1)))
        return emit_binary(b, 1, OPC_SHL, bits, x, build_integer((u64)__builtin_ctzll(scale), 32, false));
    return emit_binary(b, bits == 64 ? 3 : 1, OPC_MUL, bits, x, build_integer(scale, bits, true));
}

/* Adds the terms whose scales have this sign to the sum. */
static void build_terms(SumBuilder *b, const LinearExpr *e, bool negative, Operand *sum)
{
    for (u32 k = 0; k < e->terms; k++) {
        i64 scale = sem_signed(e->term[k].scale, e->bits);
        if ((scale < 0) != negative)
            continue;
        Operand x = build_scaled(b, build_term(b, e->term[k].term), negative ? 0 - (u64)scale : (u64)scale, e->bits);
        bool first = sum->kind == OPND_IMM && sum->value == 0;
        *sum = first && !negative ? x : emit_binary(b, 1, negative ? OPC_SUB : OPC_ADD, e->bits, *sum, x);
    }
}

Operand sum_build(SumBuilder *b, LinearId id)
{
    u64 *known = fnvmap_find(&b->made, id);
    if (known)
        return b->operand.v[*known - 1];
    const LinearExpr *e = linear_at(b->sums->exprs, id);
    Operand sum = build_integer(e->terms ? 0 : e->constant, e->bits, true);
    build_terms(b, e, false, &sum);
    build_terms(b, e, true, &sum);
    if (e->terms && e->constant)
        sum = emit_binary(b, 1, OPC_ADD, e->bits, sum, build_integer(e->constant, e->bits, true));
    keep(b, id, sum);
    return sum;
}
