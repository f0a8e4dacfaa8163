#include "transform/loop_entry.h"

#include "base/vec.h"
#include "ir/cfg.h"
#include "ir/edit.h"

Block *loop_entry_block(Function *fn, const Loop *loop)
{
    Block *header = loop->header, *from = loop_only_entry(fn, loop);
    if (from && !block_terminator(from) && from->fall == header)
        return from;
    Block *b = block_new_like(header, header->loc);
    block_move_after(b, header->prev);
    block_set_fall(b, header);
    VEC(Block *) entries = {0};
    for_each_cfg_edge(pred, cfg_preds(fn, header))
        if (!loop_has_latch(loop, pred.v->block) && pred.v->block != b)
            vec_push(&entries, pred.v->block);
    for (u32 k = 0; k < entries.n; k++)
        block_redirect(entries.v[k], header, b);
    vec_free(&entries);
    return b;
}

/* ---- sums -------------------------------------------------------------------------------------------------------------- */

bool loop_entry_has_sum(const Affine *v)
{
    for (u32 k = 0; k < v->terms; k++) {
        i64 factor = sem_signed(v->term[k].factor, v->bits);
        u64 size = factor < 0 ? 0 - (u64)factor : (u64)factor;
        if (size & (size - 1))
            return false;
    }
    return true;
}

/* The low bits of a term, times its factor. */
static Operand build_term(const Builder *at, const AffineTerm *t, u32 bits)
{
    Operand x = register_operand(t->reg);
    i64 factor = sem_signed(t->factor, bits);
    if (type_bits(fn_reg(at->fn, t->reg)->type) > bits)
        x = register_operand(build_unary(at, OPC_CVT, (OpParts){.type = {TYPE_U32, TYPE_U64}}, TYPE_B32, x));
    if (factor == 1)
        return x;
    u64 size = factor < 0 ? 0 - (u64)factor : (u64)factor;
    OpParts shift = {.type = {bits_type(bits)}};
    x = size == 1 ? x
                  : register_operand(build_binary(at, OPC_SHL, shift, bits_type(bits), x,
                                                  build_integer((u64)__builtin_ctzll(size), 32, false)));
    return factor > 0 ? x
                      : register_operand(build_binary(at, OPC_SUB, (OpParts){.type = {signed_type(bits)}}, bits_type(bits),
                                                      build_integer(0, bits, true), x));
}

Operand loop_entry_sum(const Builder *at, const Affine *v, u64 more)
{
    Operand sum = build_integer(more, v->bits, true);
    for (u32 k = 0; k < v->terms; k++) {
        if (!(v->term[k].factor & sem_max(v->bits)))
            continue;
        Operand x = build_term(at, &v->term[k], v->bits);
        bool nothing = sum.kind == OPND_IMM && sum.value == 0;
        sum = nothing ? x
                      : register_operand(build_binary(at, OPC_ADD, (OpParts){.type = {signed_type(v->bits)}},
                                                      bits_type(v->bits), x, sum));
    }
    return sum;
}
