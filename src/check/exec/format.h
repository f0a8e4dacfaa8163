/* Binary floating-point formats in software: one rounding routine that is exact for every format and rounding mode. */
#ifndef PTXRUN_FORMAT_H
#define PTXRUN_FORMAT_H

#include "check/exec/opcode.h"

typedef enum Round { ROUND_NEAREST_EVEN, ROUND_ZERO, ROUND_DOWN, ROUND_UP, ROUND_NEAREST_AWAY } Round;

typedef struct Format {
    u8 exponent, mantissa; /* bits */
    bool infinite;         /* the largest exponent holds infinities and NaNs (e4m3: only one NaN) */
    u64 nan;               /* the canonical NaN */
} Format;

const Format *format_of(ElemType type); /* of one element; NULL when the type is not floating point */

u64 format_from_double(const Format *f, double x, Round round, bool saturate);
u64 format_from_integer(const Format *f, bool negative, u64 magnitude, Round round);
double format_to_double(const Format *f, u64 bits); /* exact */
bool format_is_nan(const Format *f, u64 bits);
/* x*y + z, correctly rounded, for formats of at most 32 bits given as doubles. */
u64 format_fma(const Format *f, double x, double y, double z, Round round);

union FloatBits {
    u32 u;
    float f;
};
union DoubleBits {
    u64 u;
    double f;
};

static inline float bits_to_float(u64 bits) { return (union FloatBits){.u = (u32)bits}.f; }
static inline u64 float_to_bits(float value) { return (union FloatBits){.f = value}.u; }
static inline double bits_to_double(u64 bits) { return (union DoubleBits){.u = bits}.f; }
static inline u64 double_to_bits(double value) { return (union DoubleBits){.f = value}.u; }

#endif
