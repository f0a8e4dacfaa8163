#include "check/exec/format.h"

#include <math.h>

static const Format format_f16 = {5, 10, true, 0x7fff};
static const Format format_bf16 = {8, 7, true, 0x7fff};
static const Format format_f32 = {8, 23, true, 0x7fffffff};
static const Format format_f64 = {11, 52, true, 0x7ff8000000000000};
static const Format format_tf32 = {8, 10, true, 0x3ffff}; /* its bits stand at the top of 32: see cvt */
static const Format format_e4m3 = {4, 3, false, 0x7f};
static const Format format_e5m2 = {5, 2, true, 0x7f};

const Format *format_of(ElemType type)
{
    switch (type.kind) {
    case EK_FLOAT: return type.bits == 16 ? &format_f16 : type.bits == 32 ? &format_f32 : &format_f64;
    case EK_BF16: return &format_bf16;
    case EK_TF32: return &format_tf32;
    case EK_E4M3: return &format_e4m3;
    case EK_E5M2: return &format_e5m2;
    default: return NULL;
    }
}

static bool rounds_up(Round round, bool negative, bool odd, u64 rest, u64 half, bool sticky)
{
    switch (round) {
    case ROUND_NEAREST_EVEN: return rest > half || (rest == half && (sticky || odd));
    case ROUND_NEAREST_AWAY: return rest >= half;
    case ROUND_DOWN: return negative && (rest || sticky);
    case ROUND_UP: return !negative && (rest || sticky);
    default: return false;
    }
}

static u64 overflow(const Format *f, u64 sign, bool negative, Round round, bool saturate)
{
    u64 top = mask_bits(f->exponent) << f->mantissa;
    u64 largest = f->infinite ? top - 1 : f->nan - 1;
    bool to_largest =
        saturate || round == ROUND_ZERO || (round == ROUND_DOWN && !negative) || (round == ROUND_UP && negative);
    if (to_largest)
        return sign | largest;
    return f->infinite ? sign | top : sign | f->nan;
}

/* (-1)^negative * significand * 2^exponent. A value too large becomes infinite, or the largest finite one under `saturate` or as the mode says. */
static u64 pack(const Format *f, bool negative, u64 significand, int exponent, Round round, bool saturate)
{
    bool sticky = false; /* something is cut off */
    u64 sign = (u64)negative << (f->exponent + f->mantissa);
    if (!significand)
        return sign; /* callers never cut a value off to nothing */
    int shift = __builtin_clzll(significand);
    significand <<= shift;
    exponent += 63 - shift; /* of the leading bit */
    int bias = (1 << (f->exponent - 1)) - 1, biased = exponent + bias;
    int drop = 63 - f->mantissa + (biased < 1 ? 1 - biased : 0);
    u64 kept, rest, half;
    if (drop > 64) {
        kept = rest = 0;
        half = 1;
        sticky = true;
    } else if (drop == 64) {
        kept = 0;
        rest = significand;
        half = (u64)1 << 63;
    } else {
        kept = significand >> drop;
        rest = significand & mask_bits((u32)drop);
        half = (u64)1 << (drop - 1);
    }
    kept += rounds_up(round, negative, kept & 1, rest, half, sticky);
    /* A carry out of the mantissa moves into the exponent by itself. */
    u64 bits = biased < 1 ? kept : kept + ((u64)(biased - 1) << f->mantissa);
    u64 first_over = f->infinite ? mask_bits(f->exponent) << f->mantissa : f->nan;
    return biased > 4096 || bits >= first_over ? overflow(f, sign, negative, round, saturate) : sign | bits;
}

u64 format_from_double(const Format *f, double x, Round round, bool saturate)
{
    u64 bits = double_to_bits(x), mantissa = bits & mask_bits(52);
    bool negative = bits >> 63;
    int exponent = (int)(bits >> 52 & 0x7ff);
    if (exponent == 0x7ff) {
        if (mantissa)
            return f->nan;
        if (saturate || !f->infinite)
            return overflow(f, (u64)negative << (f->exponent + f->mantissa), negative, ROUND_NEAREST_EVEN, saturate);
        return ((u64)negative << (f->exponent + f->mantissa)) | mask_bits(f->exponent) << f->mantissa;
    }
    u64 significand = exponent ? mantissa | (u64)1 << 52 : mantissa;
    return pack(f, negative, significand, (exponent ? exponent : 1) - 1075, round, saturate);
}

u64 format_from_integer(const Format *f, bool negative, u64 magnitude, Round round)
{
    return pack(f, negative && magnitude, magnitude, 0, round, false);
}

bool format_is_nan(const Format *f, u64 bits)
{
    u64 magnitude = bits & mask_bits(f->exponent + f->mantissa);
    return f->infinite ? magnitude > mask_bits(f->exponent) << f->mantissa : magnitude == f->nan;
}

double format_to_double(const Format *f, u64 bits)
{
    bool negative = bits >> (f->exponent + f->mantissa) & 1;
    int exponent = (int)(bits >> f->mantissa & mask_bits(f->exponent));
    u64 mantissa = bits & mask_bits(f->mantissa);
    int bias = (1 << (f->exponent - 1)) - 1;
    double x;
    if (format_is_nan(f, bits))
        return NAN;
    if (f->infinite && exponent == (int)mask_bits(f->exponent))
        x = INFINITY;
    else if (exponent)
        x = ldexp((double)(mantissa | (u64)1 << f->mantissa), exponent - bias - f->mantissa);
    else
        x = ldexp((double)mantissa, 1 - bias - f->mantissa);
    return negative ? -x : x;
}

u64 format_fma(const Format *f, double x, double y, double z, Round round)
{
    double product = x * y; /* exact: at most 48 bits */
    double sum = product + z;
    if (isinf(sum) || isnan(sum))
        return format_from_double(f, sum, round, false);
    if (sum == 0 && round == ROUND_DOWN && (signbit(product) || signbit(z)))
        sum = -0.0;
    /* Knuth's two-sum gives what the addition lost. Where it lost something, the sum is made odd (Boldo, Melquiond,
     * 2008), after which rounding a second time is the same as rounding once. */
    double back = sum - product;
    double lost = (product - (sum - back)) + (z - back);
    u64 bits = double_to_bits(sum);
    if (lost != 0 && !(bits & 1)) {
        bool away = (lost > 0) == (sum > 0);
        bits = away ? bits + 1 : bits - 1;
    }
    return format_from_double(f, bits_to_double(bits), round, false);
}
