// Tensor-core GEMM: half-precision inputs, float accumulators. Tiles go to
// shared memory by cp.async in two stages, to registers by ldmatrix, and are
// multiplied by mma.sync (m16n8k16). Four warps make 32 x 32 of C, which is
// M x N with M, N multiples of 32 and K of 16.

#include <cuda_fp16.h>

constexpr int kM = 32;
constexpr int kN = 32;
constexpr int kK = 16;
constexpr int kPad = 8;  // halves, against bank conflicts

__device__ __forceinline__ unsigned shared_address(const void *p)
{
    return (unsigned)__cvta_generic_to_shared(p);
}

__device__ __forceinline__ void copy_async(void *shared, const void *global)
{
    asm volatile("cp.async.ca.shared.global [%0], [%1], 16;" ::"r"(
                     shared_address(shared)),
                 "l"(global)
                 : "memory");
}

__device__ __forceinline__ void load_a(unsigned *r, const __half *p)
{
    asm volatile(
        "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
        : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
        : "r"(shared_address(p))
        : "memory");
}

__device__ __forceinline__ void load_b(unsigned *r, const __half *p)
{
    asm volatile(
        "ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];"
        : "=r"(r[0]), "=r"(r[1])
        : "r"(shared_address(p))
        : "memory");
}

__device__ __forceinline__ void multiply(float *d, const unsigned *a,
                                         const unsigned *b)
{
    asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
        "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

extern "C" __global__ void __launch_bounds__(128)
    gemm_mma(const __half *__restrict__ a, const __half *__restrict__ b,
             float *__restrict__ c, int m, int n, int k, float alpha,
             int accumulate)
{
    __shared__ __align__(16) __half as[2][kM][kK + kPad];
    __shared__ __align__(16) __half bs[2][kK][kN + kPad];
    int t = threadIdx.x;
    int lane = t & 31;
    int warp = t >> 5;
    int warp_m = (warp >> 1) * 16;
    int warp_n = (warp & 1) * 16;
    int row0 = blockIdx.y * kM;
    int col0 = blockIdx.x * kN;
    float sum[2][4] = {};

    // Threads 0-63 copy the tile of A, 64-127 that of B: 16 bytes each.
    auto stage = [&](int buffer, int k0) {
        if (t < 64) {
            int r = t >> 1;
            int q = (t & 1) * 8;
            copy_async(&as[buffer][r][q], a + (row0 + r) * k + k0 + q);
        } else {
            int r = (t - 64) >> 2;
            int q = (t & 3) * 8;
            copy_async(&bs[buffer][r][q], b + (k0 + r) * n + col0 + q);
        }
        asm volatile("cp.async.commit_group;" ::: "memory");
    };

    stage(0, 0);
    int buffer = 0;
    for (int k0 = 0; k0 < k; k0 += kK) {
        if (k0 + kK < k) {
            stage(buffer ^ 1, k0 + kK);
            asm volatile("cp.async.wait_group 1;" ::: "memory");
        } else {
            asm volatile("cp.async.wait_group 0;" ::: "memory");
        }
        __syncthreads();

        unsigned fa[4], fb[2];
        load_a(fa, &as[buffer][warp_m + (lane & 15)][(lane >> 4) * 8]);
#pragma unroll
        for (int j = 0; j < 2; j++) {
            load_b(fb, &bs[buffer][lane & 15][warp_n + j * 8]);
            multiply(sum[j], fa, fb);
        }
        __syncthreads();
        buffer ^= 1;
    }

    int row = row0 + warp_m + (lane >> 2);
#pragma unroll
    for (int j = 0; j < 2; j++) {
        int col = col0 + warp_n + j * 8 + (lane & 3) * 2;
#pragma unroll
        for (int half = 0; half < 2; half++) {
            float2 *out = (float2 *)(c + (row + half * 8) * n + col);
            float2 v = make_float2(alpha * sum[j][2 * half],
                                   alpha * sum[j][2 * half + 1]);
            if (accumulate) {
                float2 old = *out;
                v.x += old.x;
                v.y += old.y;
            }
            *out = v;
        }
    }
}
