#include "check/prove/number.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "isa/isa.h"

/* Mostly small, as sizes and indices are; sometimes anything. */
static u64 plausible(u64 random, u32 bits)
{
    u64 value = random_mix(random);
    switch (random >> 5 & 7) {
    case 0:
    case 1:
    case 2: return value & 15;
    case 3:
    case 4: return value & 255;
    case 5: return 0 - (value & 15);
    default: return value & prove_mask(bits);
    }
}

static void note_input(Terms *t, SymKindOf kind, u32 detail, u32 part, u32 bits, u64 value)
{
    for (u32 k = 0; k + 4 < t->inputs.n; k += 6)
        if (t->inputs.v[k] == (u32)kind && t->inputs.v[k + 1] == detail && t->inputs.v[k + 2] == part)
            return;
    u32 item[] = {kind, detail, part, bits, (u32)value, (u32)(value >> 32)};
    for (u32 k = 0; k < COUNT_OF(item); k++)
        vec_push(&t->inputs, item[k]);
}

Term prove_number_of(Terms *t, SymKindOf kind, u32 detail, u32 part, u32 bits)
{
    u64 random = random_mix(t->seed ^ (u64)kind << 56 ^ (u64)detail << 24 ^ part);
    u64 value;
    if (kind == PROVE_SYM_EVENT)
        value = plausible(random_mix(random ^ (u64)t->moment << 32), bits);
    else if (kind == PROVE_SYM_ADDRESS)
        value = random_mix(random) << 12;
    else if (kind == PROVE_SYM_SREG) {
        u64 least, most;
        prove_sreg_bounds(t, detail, part, &least, &most);
        value = least + random_mix(random) % ((most - least > 31 ? 31 : most - least) + 1);
        if (strcmp(sreg_info(detail)->name, "%ntid") == 0) { /* more than any %tid */
            value = 32 * (1 + random_mix(random) % 4);
            value = value > most ? most : value < least ? least : value;
        }
    } else
        value = bits == 64 ? random_mix(random) & ~(u64)0xff : plausible(random, bits);
    if (kind == PROVE_SYM_PARAM || kind == PROVE_SYM_SREG)
        note_input(t, kind, detail, part, bits, value & prove_mask(bits));
    return prove_const(t, value, bits);
}

/* ---- applications --------------------------------------------------------------------------------------------------------- */

static bool begins(const char *text, const char *with) { return strncmp(text, with, strlen(with)) == 0; }

/* Computes the operations that compute.c names itself: carries, whose operands are as wide as the name says, and the upper
 * half of a product. */
static bool compute_wide(const char *op, const u64 *v, u32 n, u64 *made)
{
    const char *blank = strrchr(op, ' ');
    u32 bits = blank ? (u32)strtoul(blank, NULL, 10) : 0;
    if (bits == 0 || bits > 64 || n < 2)
        return false;
    unsigned __int128 in = n > 2 ? v[2] : 0, a = v[0], b = v[1], end = (unsigned __int128)1 << bits;
    if (begins(op, "carry"))
        *made = a + b + in >= end;
    else if (begins(op, "borrow"))
        *made = a < b + in;
    else if (begins(op, "mul.hi") && op[strlen(op) - 1] == 's')
        *made = (u64)(((__int128)prove_signed(v[0], bits) * prove_signed(v[1], bits)) >> bits);
    else if (begins(op, "mul.hi"))
        *made = (u64)((a * b) >> bits);
    else
        return false;
    return true;
}

/* Division, extremes and the like; false: not one of them. */
static bool compute(const char *op, const u64 *v, u32 n, u32 bits, u64 *made)
{
    bool is_signed = strstr(op, ".s") != NULL;
    u64 mask = prove_mask(bits), a = v[0] & mask, b = n > 1 ? v[1] & mask : 0;
    i64 x = prove_signed(a, bits), y = prove_signed(b, bits);
    if (compute_wide(op, v, n, made))
        return true;
    if (begins(op, "cvta"))
        *made = a;
    else if (strchr(op, 'f') || n > 2)
        return false;
    else if (begins(op, "min."))
        *made = is_signed ? (u64)(x < y ? x : y) : a < b ? a : b;
    else if (begins(op, "max."))
        *made = is_signed ? (u64)(x > y ? x : y) : a > b ? a : b;
    else if ((begins(op, "div.") || begins(op, "rem.")) && n == 2 && b != 0 && !(is_signed && y == -1)) {
        u64 quotient = is_signed ? (u64)(x / y) : a / b;
        *made = op[0] == 'd' ? quotient : a - quotient * b;
    } else if (begins(op, "abs.s"))
        *made = (u64)(x < 0 ? -(u64)x : (u64)x);
    else if (begins(op, "popc.") && bits == 32 && strstr(op, "b32"))
        *made = (u64)__builtin_popcount((u32)v[0]);
    else
        return false;
    return true;
}

Term prove_number_from(Terms *t, u32 name, u32 bits, const Term *kids, u32 n)
{
    u64 value[64], random = t->seed * 3 + name;
    if (n == 0 || n > COUNT_OF(value))
        return 0;
    for (u32 k = 0; k < n; k++) {
        if (!prove_is_const(t, kids[k]))
            return 0;
        value[k] = prove_node(t, kids[k])->value;
        random = random_mix(random ^ value[k]) + k;
    }
    u64 made;
    if (!compute(t->name.v[name]->text, value, n, bits, &made)) {
        t->guessed = true;
        made = plausible(random, bits);
    }
    return prove_const(t, made, bits);
}

u32 prove_float_relation(Terms *t, u32 name, Term a, Term b)
{
    u64 x = prove_node(t, a)->value, y = prove_node(t, b)->value;
    const char *type = t->name.v[name]->text;
    double u, v;
    if (begins(type, ".f64")) {
        memcpy(&u, &x, sizeof u);
        memcpy(&v, &y, sizeof v);
    } else if (strcmp(type, ".f32") == 0) {
        float f, g;
        memcpy(&f, &x, sizeof f);
        memcpy(&g, &y, sizeof g);
        u = (double)f;
        v = (double)g;
    } else {
        t->guessed = true;
        return (u32)(random_mix(t->seed ^ (x * 3 + y)) & 3);
    }
    return isnan(u) || isnan(v) ? PROVE_FUN : u < v ? PROVE_FLT : u > v ? PROVE_FGT : PROVE_FEQ;
}
