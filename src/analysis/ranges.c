#include "analysis/ranges.h"

static i64 most_of(u32 bits) { return (i64)(sem_max(bits) >> 1); }
static i64 least_of(u32 bits) { return -most_of(bits) - 1; }

/* ---- making ---------------------------------------------------------------------------------------------------- */

Range range_full(u32 bits) { return (Range){bits, 0, sem_max(bits), least_of(bits), most_of(bits)}; }

static bool is_empty(const Range *r) { return r->lo > r->hi || r->least > r->most; }

/* Bounds the unsigned and the signed interval by each other where one stays on one side of the sign. False: no value is left, which
 * happens only in unreachable code, where any range will do. */
static bool tighten(Range *r)
{
    u64 sign = (u64)1 << (r->bits - 1);
    if (is_empty(r))
        return false;
    if (r->hi < sign || r->lo >= sign) {
        i64 least = sem_signed(r->lo, r->bits), most = sem_signed(r->hi, r->bits);
        r->least = r->least > least ? r->least : least;
        r->most = r->most < most ? r->most : most;
    }
    if (r->least >= 0 || r->most < 0) {
        u64 lo = (u64)r->least & sem_max(r->bits), hi = (u64)r->most & sem_max(r->bits);
        r->lo = r->lo > lo ? r->lo : lo;
        r->hi = r->hi < hi ? r->hi : hi;
    }
    return !is_empty(r);
}

Range range_unsigned(u32 bits, u64 lo, u64 hi)
{
    Range r = {bits, lo, hi, least_of(bits), most_of(bits)};
    return tighten(&r) ? r : range_full(bits);
}

Range range_signed(u32 bits, i64 least, i64 most)
{
    Range r = {bits, 0, sem_max(bits), least, most};
    return tighten(&r) ? r : range_full(bits);
}

Range range_constant(u32 bits, u64 value)
{
    i64 read_signed = sem_signed(value, bits);
    value &= sem_max(bits);
    return (Range){bits, value, value, read_signed, read_signed};
}

bool range_is_constant(const Range *r) { return r->lo == r->hi; }

Range range_union(Range a, Range b)
{
    Range r = {a.bits, a.lo < b.lo ? a.lo : b.lo, a.hi > b.hi ? a.hi : b.hi, a.least < b.least ? a.least : b.least,
               a.most > b.most ? a.most : b.most};
    return r;
}

/* The values that are in both ranges; one of the two where that is none, since the code cannot be reached. */
static Range intersection(Range a, Range b)
{
    Range r = {a.bits, a.lo > b.lo ? a.lo : b.lo, a.hi < b.hi ? a.hi : b.hi, a.least > b.least ? a.least : b.least,
               a.most < b.most ? a.most : b.most};
    return tighten(&r) ? r : a;
}

Range range_extend(Range a, u32 bits, bool is_signed)
{
    return is_signed ? range_signed(bits, a.least, a.most) : range_unsigned(bits, a.lo, a.hi);
}

Range range_truncate(Range a, u32 bits)
{
    Range r = range_full(bits);
    if (a.hi <= r.hi)
        return range_unsigned(bits, a.lo, a.hi);
    if (a.least >= r.least && a.most <= r.most)
        return range_signed(bits, a.least, a.most);
    return r;
}

/* ---- operations ------------------------------------------------------------------------------------------------ */

/* The signed bounds of a sum or difference, where no pair of operands wraps. */
static bool signed_bounds(Opcode opcode, Range a, Range b, i64 *least, i64 *most)
{
    bool low_wraps, high_wraps;
    if (opcode == OPC_ADD) {
        low_wraps = __builtin_add_overflow(a.least, b.least, least);
        high_wraps = __builtin_add_overflow(a.most, b.most, most);
    } else {
        low_wraps = __builtin_sub_overflow(a.least, b.most, least);
        high_wraps = __builtin_sub_overflow(a.most, b.least, most);
    }
    return !low_wraps && !high_wraps && *least >= least_of(a.bits) && *most <= most_of(a.bits);
}

static bool unsigned_bounds(Opcode opcode, Range a, Range b, u64 *lo, u64 *hi)
{
    bool low_wraps, high_wraps;
    if (opcode == OPC_ADD) {
        low_wraps = __builtin_add_overflow(a.lo, b.lo, lo);
        high_wraps = __builtin_add_overflow(a.hi, b.hi, hi);
    } else {
        low_wraps = __builtin_sub_overflow(a.lo, b.hi, lo);
        high_wraps = __builtin_sub_overflow(a.hi, b.lo, hi);
    }
    return !low_wraps && !high_wraps && *hi <= sem_max(a.bits);
}

static Range sum(Opcode opcode, Range a, Range b)
{
    Range r = range_full(a.bits);
    if (range_is_constant(&a) && range_is_constant(&b))
        return range_constant(a.bits, opcode == OPC_ADD ? a.lo + b.lo : a.lo - b.lo);
    if (!unsigned_bounds(opcode, a, b, &r.lo, &r.hi)) {
        r.lo = 0;
        r.hi = sem_max(a.bits);
    }
    if (!signed_bounds(opcode, a, b, &r.least, &r.most)) {
        r.least = least_of(a.bits);
        r.most = most_of(a.bits);
    }
    return tighten(&r) ? r : range_full(a.bits);
}

static Range product(Range a, Range b)
{
    u64 hi;
    if (range_is_constant(&a) && range_is_constant(&b))
        return range_constant(a.bits, a.lo * b.lo);
    if (__builtin_mul_overflow(a.hi, b.hi, &hi) || hi > sem_max(a.bits))
        return range_full(a.bits);
    return range_unsigned(a.bits, a.lo * b.lo, hi);
}

/* All ones below the highest bit of x, and that bit. */
static u64 filled(u64 x) { return x ? UINT64_MAX >> __builtin_clzll(x) : 0; }

static Range least_or_greatest(Opcode opcode, bool is_signed, Range a, Range b)
{
    bool is_min = opcode == OPC_MIN;
    if (is_signed)
        return range_signed(a.bits, (a.least < b.least) == is_min ? a.least : b.least,
                            (a.most < b.most) == is_min ? a.most : b.most);
    return range_unsigned(a.bits, (a.lo < b.lo) == is_min ? a.lo : b.lo, (a.hi < b.hi) == is_min ? a.hi : b.hi);
}

/* The range of a shifted by a constant; amounts of the width and more count as the width. */
static Range shifted(Opcode opcode, bool is_signed, Range a, Range b)
{
    if (opcode == OPC_SHR && !is_signed)
        return b.lo >= a.bits ? range_constant(a.bits, 0)
                              : range_unsigned(a.bits, b.hi >= a.bits ? 0 : a.lo >> b.hi, a.hi >> b.lo);
    if (!range_is_constant(&b))
        return range_full(a.bits);
    u32 by = b.lo >= a.bits ? a.bits : (u32)b.lo;
    if (opcode == OPC_SHR) {
        by = by >= a.bits ? a.bits - 1 : by;
        return range_signed(a.bits, a.least >> by, a.most >> by);
    }
    if (by == a.bits)
        return range_constant(a.bits, 0);
    return a.hi > sem_max(a.bits) >> by ? range_full(a.bits) : range_unsigned(a.bits, a.lo << by, a.hi << by);
}

/* The range of a quotient or remainder by a positive constant; any other divisor: full. */
static Range divided(Opcode opcode, bool is_signed, Range a, Range b)
{
    if (!range_is_constant(&b) || b.lo == 0 || (is_signed && b.least < 0))
        return range_full(a.bits);
    if (opcode == OPC_REM) {
        u64 most = b.lo - 1;
        if (!is_signed || a.least >= 0)
            return range_unsigned(a.bits, 0, a.hi < most ? a.hi : most);
        return range_signed(a.bits, -(i64)most, a.most < 0 ? 0 : (i64)most);
    }
    if (is_signed)
        return range_signed(a.bits, a.least / b.least, a.most / b.least);
    return range_unsigned(a.bits, a.lo / b.lo, a.hi / b.lo);
}

static bool is_full(const Range *r)
{
    return r->lo == 0 && r->hi == sem_max(r->bits) && r->least == least_of(r->bits) && r->most == most_of(r->bits);
}

bool range_binary_says(Opcode opcode, const Range *b)
{
    switch (opcode) {
    case OPC_ADD:
    case OPC_SUB: return !b || !is_full(b);
    case OPC_SHL:
    case OPC_REM:
    case OPC_DIV: return !b || range_is_constant(b);
    case OPC_SHR:
    case OPC_MUL:
    case OPC_MIN:
    case OPC_MAX:
    case OPC_AND:
    case OPC_OR: return true;
    default: return false;
    }
}

Range range_binary(Opcode opcode, bool is_signed, Range a, Range b)
{
    switch (opcode) {
    case OPC_ADD:
    case OPC_SUB: return sum(opcode, a, b);
    case OPC_MUL: return product(a, b);
    case OPC_MIN:
    case OPC_MAX: return least_or_greatest(opcode, is_signed, a, b);
    case OPC_AND:
        if (range_is_constant(&a) && range_is_constant(&b))
            return range_constant(a.bits, a.lo & b.lo);
        return range_unsigned(a.bits, 0, a.hi < b.hi ? a.hi : b.hi);
    case OPC_OR:
        if (range_is_constant(&a) && range_is_constant(&b))
            return range_constant(a.bits, a.lo | b.lo);
        return range_unsigned(a.bits, a.lo > b.lo ? a.lo : b.lo, filled(a.hi | b.hi));
    case OPC_SHL:
    case OPC_SHR: return shifted(opcode, is_signed, a, b);
    case OPC_REM:
    case OPC_DIV: return divided(opcode, is_signed, a, b);
    default: return range_full(a.bits);
    }
}

/* ---- comparisons ----------------------------------------------------------------------------------------------- */

enum { LESS = CMP_IF_LESS, EQUAL = CMP_IF_EQUAL, GREATER = CMP_IF_GREATER };

static FactValue decided(u32 possible, u32 asked)
{
    if (!possible || !asked)
        return FACT_UNKNOWN;
    if ((possible & ~asked) == 0)
        return FACT_TRUE;
    return (possible & asked) == 0 ? FACT_FALSE : FACT_UNKNOWN;
}

bool compare_is_signed(Cmp cmp, Type type)
{
    bool unsigned_name = cmp == CMP_LO || cmp == CMP_LS || cmp == CMP_HI || cmp == CMP_HS;
    return type_class(type) == TC_SIGNED && !unsigned_name;
}

FactValue range_compare(Cmp cmp, bool is_signed, Range a, Range b)
{
    u32 possible = 0;
    bool apart = a.hi < b.lo || b.hi < a.lo || a.most < b.least || b.most < a.least;
    if (is_signed)
        possible = (a.least < b.most ? LESS : 0) | (a.most > b.least ? GREATER : 0);
    else
        possible = (a.lo < b.hi ? LESS : 0) | (a.hi > b.lo ? GREATER : 0);
    return decided(possible | (apart ? 0 : EQUAL), cmp_outcomes(cmp));
}

FactValue range_compare_numbers(Cmp cmp, Type type, u64 a, u64 b)
{
    u32 bits = type_bits(type);
    return range_compare(cmp, compare_is_signed(cmp, type), range_constant(bits, a), range_constant(bits, b));
}

/* The range a without the constant b: one less at the end that b is. */
static Range without(Range a, Range b)
{
    if (!range_is_constant(&b) || range_is_constant(&a))
        return a;
    Range r = a;
    r.lo += a.lo == b.lo;
    r.hi -= a.hi == b.lo;
    r.least += a.least == b.least;
    r.most -= a.most == b.least;
    return tighten(&r) ? r : a;
}

Range range_assume(Range a, Cmp cmp, bool is_signed, Range b)
{
    u32 set = cmp_outcomes(cmp) & (LESS | EQUAL | GREATER);
    Range r = a;
    if (set == EQUAL)
        return intersection(a, b);
    if (set == (LESS | GREATER))
        return without(a, b);
    bool less = (set & LESS) != 0, strict = (set & EQUAL) == 0;
    if (set == 0 || set == (LESS | EQUAL | GREATER))
        return a;
    if (is_signed && less && !(strict && b.most == INT64_MIN))
        r.most = a.most < b.most - strict ? a.most : b.most - strict;
    else if (is_signed && !less && !(strict && b.least == INT64_MAX))
        r.least = a.least > b.least + strict ? a.least : b.least + strict;
    else if (!is_signed && less && !(strict && b.hi == 0))
        r.hi = a.hi < b.hi - strict ? a.hi : b.hi - strict;
    else if (!is_signed && !less && !(strict && b.lo == UINT64_MAX))
        r.lo = a.lo > b.lo + strict ? a.lo : b.lo + strict;
    return tighten(&r) ? r : a;
}

FactValue compare_implies(Cmp known, Type known_type, Cmp asked, Type asked_type)
{
    u32 have = cmp_outcomes(known), want = cmp_outcomes(asked);
    if (!type_is_integer(known_type) || !type_is_integer(asked_type))
        return known_type == asked_type ? decided(have, want) : FACT_UNKNOWN;
    if (type_bits(known_type) != type_bits(asked_type))
        return FACT_UNKNOWN;
    bool sign_matters = have != EQUAL && want != EQUAL && want != (LESS | GREATER);
    if (sign_matters && compare_is_signed(known, known_type) != compare_is_signed(asked, asked_type))
        return FACT_UNKNOWN;
    return decided(have, want);
}
