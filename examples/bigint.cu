// 256-bit arithmetic as cryptography does it: carry chains in inline assembly,
// Montgomery multiplication and a modular power by square and multiply.

constexpr int kLimbs = 8;

struct Big {
    unsigned v[kLimbs];
};

// r = a + b, returns the carry.
__device__ __forceinline__ unsigned big_add(Big &r, const Big &a, const Big &b)
{
    unsigned carry;
    asm("add.cc.u32 %0, %9, %17;\n\t"
        "addc.cc.u32 %1, %10, %18;\n\t"
        "addc.cc.u32 %2, %11, %19;\n\t"
        "addc.cc.u32 %3, %12, %20;\n\t"
        "addc.cc.u32 %4, %13, %21;\n\t"
        "addc.cc.u32 %5, %14, %22;\n\t"
        "addc.cc.u32 %6, %15, %23;\n\t"
        "addc.cc.u32 %7, %16, %24;\n\t"
        "addc.u32 %8, 0, 0;"
        : "=r"(r.v[0]), "=r"(r.v[1]), "=r"(r.v[2]), "=r"(r.v[3]),
          "=r"(r.v[4]), "=r"(r.v[5]), "=r"(r.v[6]), "=r"(r.v[7]), "=r"(carry)
        : "r"(a.v[0]), "r"(a.v[1]), "r"(a.v[2]), "r"(a.v[3]), "r"(a.v[4]),
          "r"(a.v[5]), "r"(a.v[6]), "r"(a.v[7]), "r"(b.v[0]), "r"(b.v[1]),
          "r"(b.v[2]), "r"(b.v[3]), "r"(b.v[4]), "r"(b.v[5]), "r"(b.v[6]),
          "r"(b.v[7]));
    return carry;
}

// r = a - b, returns the borrow as 0 or 0xffffffff.
__device__ __forceinline__ unsigned big_sub(Big &r, const Big &a, const Big &b)
{
    unsigned borrow;
    asm("sub.cc.u32 %0, %9, %17;\n\t"
        "subc.cc.u32 %1, %10, %18;\n\t"
        "subc.cc.u32 %2, %11, %19;\n\t"
        "subc.cc.u32 %3, %12, %20;\n\t"
        "subc.cc.u32 %4, %13, %21;\n\t"
        "subc.cc.u32 %5, %14, %22;\n\t"
        "subc.cc.u32 %6, %15, %23;\n\t"
        "subc.cc.u32 %7, %16, %24;\n\t"
        "subc.u32 %8, 0, 0;"
        : "=r"(r.v[0]), "=r"(r.v[1]), "=r"(r.v[2]), "=r"(r.v[3]),
          "=r"(r.v[4]), "=r"(r.v[5]), "=r"(r.v[6]), "=r"(r.v[7]), "=r"(borrow)
        : "r"(a.v[0]), "r"(a.v[1]), "r"(a.v[2]), "r"(a.v[3]), "r"(a.v[4]),
          "r"(a.v[5]), "r"(a.v[6]), "r"(a.v[7]), "r"(b.v[0]), "r"(b.v[1]),
          "r"(b.v[2]), "r"(b.v[3]), "r"(b.v[4]), "r"(b.v[5]), "r"(b.v[6]),
          "r"(b.v[7]));
    return borrow;
}

// (high, low) = a * b + c + d, which cannot overflow.
__device__ __forceinline__ void multiply_add(unsigned &high, unsigned &low,
                                             unsigned a, unsigned b,
                                             unsigned c, unsigned d)
{
    asm("{\n\t"
        ".reg .u32 t;\n\t"
        "mad.lo.cc.u32 t, %2, %3, %4;\n\t"
        "madc.hi.u32 %1, %2, %3, 0;\n\t"
        "add.cc.u32 %0, t, %5;\n\t"
        "addc.u32 %1, %1, 0;\n\t"
        "}"
        : "=&r"(low), "=&r"(high)
        : "r"(a), "r"(b), "r"(c), "r"(d));
}

// a * b / 2^256 modulo m (odd); m_inverse = -1/m modulo 2^32; a, b < m.
__device__ __noinline__ Big montgomery(const Big &a, const Big &b,
                                       const Big &m, unsigned m_inverse)
{
    unsigned t[kLimbs + 2] = {};

    for (int i = 0; i < kLimbs; i++) {
        unsigned carry = 0;
#pragma unroll
        for (int j = 0; j < kLimbs; j++)
            multiply_add(carry, t[j], a.v[j], b.v[i], t[j], carry);
        t[kLimbs] += carry;
        t[kLimbs + 1] = t[kLimbs] < carry;

        unsigned q = t[0] * m_inverse;
        unsigned unused;
        multiply_add(carry, unused, q, m.v[0], t[0], 0);
#pragma unroll
        for (int j = 1; j < kLimbs; j++)
            multiply_add(carry, t[j - 1], q, m.v[j], t[j], carry);
        t[kLimbs - 1] = t[kLimbs] + carry;
        t[kLimbs] = t[kLimbs + 1] + (t[kLimbs - 1] < carry);
    }
    Big r, reduced;
#pragma unroll
    for (int j = 0; j < kLimbs; j++)
        r.v[j] = t[j];
    unsigned borrow = big_sub(reduced, r, m);
    if (t[kLimbs] || !borrow)
        return reduced;
    return r;
}

extern "C" __global__ void big_add_mod(const Big *a, const Big *b,
                                       const Big *modulus, Big *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    Big m = *modulus;
    Big sum, reduced;
    unsigned carry = big_add(sum, a[i], b[i]);
    unsigned borrow = big_sub(reduced, sum, m);
    out[i] = carry || !borrow ? reduced : sum;
}

// base^exponent modulo m, all in Montgomery form; `one` is 2^256 modulo m.
extern "C" __global__ void big_power(const Big *base, const unsigned *exponent,
                                     const Big *modulus, const Big *one,
                                     Big *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    Big m = *modulus;
    Big result = *one;
    Big square = base[i];

    // Newton: each step doubles the number of right bits.
    unsigned inverse = m.v[0];
    for (int k = 0; k < 4; k++)
        inverse *= 2 - m.v[0] * inverse;
    unsigned m_inverse = 0u - inverse;

    for (unsigned e = exponent[i]; e; e >>= 1) {
        if (e & 1)
            result = montgomery(result, square, m, m_inverse);
        square = montgomery(square, square, m, m_inverse);
    }
    out[i] = result;
}
