// Integer tensor-core GEMM: 8-bit inputs, mma.sync m8n8k16, fragments loaded
// straight from global memory, requantised to 8 bits with saturation. A is
// row major, B column major; M and N are multiples of 8, K of 16.

__device__ __forceinline__ int requantize(int v, int multiplier, int shift,
                                          int zero)
{
    // Round half away from zero.
    long long p = (long long)v * multiplier;
    long long half = 1ll << (shift - 1);
    p = p >= 0 ? (p + half) >> shift : -((-p + half) >> shift);
    p += zero;
    if (p > 127)
        return 127;
    if (p < -128)
        return -128;
    return (int)p;
}

// One warp makes one 8 x 8 tile.
extern "C" __global__ void gemm_int8(const signed char *a,
                                     const signed char *b, const int *bias,
                                     signed char *c, int m, int n, int k,
                                     int multiplier, int shift, int zero,
                                     int relu)
{
    int warp = (blockIdx.x * blockDim.x + threadIdx.x) >> 5;
    int lane = threadIdx.x & 31;
    int tiles_n = n / 8;
    if (warp >= tiles_n * (m / 8))
        return;
    int row = warp / tiles_n * 8 + (lane >> 2);
    int col = warp % tiles_n * 8 + (lane & 3) * 2;
    const signed char *pa = a + row * k + (lane & 3) * 4;
    const signed char *pb =
        b + (warp % tiles_n * 8 + (lane >> 2)) * k + (lane & 3) * 4;
    int d0 = bias ? bias[col] : 0;
    int d1 = bias ? bias[col + 1] : 0;

    for (int k0 = 0; k0 < k; k0 += 16) {
        int fa = *(const int *)(pa + k0);
        int fb = *(const int *)(pb + k0);
        asm volatile("mma.sync.aligned.m8n8k16.row.col.satfinite.s32.s8.s8.s32"
                     " {%0, %1}, {%2}, {%3}, {%0, %1};"
                     : "+r"(d0), "+r"(d1)
                     : "r"(fa), "r"(fb));
    }
    int q0 = requantize(d0, multiplier, shift, zero);
    int q1 = requantize(d1, multiplier, shift, zero);
    if (relu) {
        q0 = q0 < zero ? zero : q0;
        q1 = q1 < zero ? zero : q1;
    }
    c[row * n + col] = (signed char)q0;
    c[row * n + col + 1] = (signed char)q1;
}
