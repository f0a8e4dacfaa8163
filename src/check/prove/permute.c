/* The bytes that prmt takes from its operands, as shifts and masks of these. */
#include "check/prove/permute.h"

/* The operands of prmt: eight bytes, of which each digit of the selector takes one, or its sign. */
typedef struct Permute {
    Term source[2];
    u32 selector;
} Permute;

static u32 selected_byte(const Permute *p, u32 k) { return p->selector >> 4 * k & 7; }
static bool selects_sign(const Permute *p, u32 k) { return p->selector >> 4 * k & 8; }

/* Bytes of one operand that follow each other, extended by its last one's sign, or by zeros from b; 0: something else. */
static Term extracted(Terms *t, const Permute *p)
{
    u32 from = selected_byte(p, 0), n = 1;
    while (n < 4 && !selects_sign(p, n) && selected_byte(p, n) == from + n && (from ^ selected_byte(p, n)) < 4)
        n++;
    bool is_signed = n < 4 && selects_sign(p, n),
         is_zero = prove_is_const(t, p->source[1]) && prove_node(t, p->source[1])->value == 0;
    if (selects_sign(p, 0) || from > 3)
        return 0;
    for (u32 k = n; k < 4; k++)
        if (is_signed ? !selects_sign(p, k) || selected_byte(p, k) != from + n - 1
                      : !is_zero || selects_sign(p, k) || selected_byte(p, k) < 4)
            return 0;
    Term x = prove_shift(t, TERM_SHR, p->source[0], prove_const(t, 8 * from, 32));
    return prove_resize(t, prove_trunc(t, x, 8 * n), 32, is_signed);
}

/* The bytes of the result that come from one operand by one shift, in place; 0: there are none. */
static Term shifted_bytes(Terms *t, const Permute *p, u32 source, int shift)
{
    u64 mask = 0;
    for (u32 k = 0; k < 4; k++)
        if (selected_byte(p, k) / 4 == source && (int)k - (int)(selected_byte(p, k) % 4) == shift)
            mask |= (u64)0xff << 8 * k;
    if (!mask)
        return 0;
    Term by = prove_const(t, 8 * (u32)(shift < 0 ? -shift : shift), 32);
    if (shift <= 0)
        return prove_and(t, prove_shift(t, TERM_SHR, p->source[source], by), prove_const(t, mask, 32));
    return prove_shift(t, TERM_SHL, prove_and(t, p->source[source], prove_const(t, mask >> 8 * shift, 32)), by);
}

static Term gathered(Terms *t, const Permute *p)
{
    Term all = 0;
    for (u32 source = 0; source < 2; source++)
        for (int shift = -3; shift <= 3; shift++) {
            Term some = shifted_bytes(t, p, source, shift);
            all = !some ? all : all ? prove_or(t, all, some) : some;
        }
    return all;
}

Term prove_permuted(Terms *t, Term a, Term b, u32 selector)
{
    Permute p = {{a, b}, selector};
    Term whole = extracted(t, &p);
    return whole ? whole : selector & 0x8888 ? 0 : gathered(t, &p);
}
