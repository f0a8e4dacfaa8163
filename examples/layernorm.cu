// Layer normalisation (Welford, merged across the warp and the block), and
// RMS normalisation of half-precision rows with a fused residual.

#include <cuda_fp16.h>

struct Moments {
    float mean;
    float m2;
    float count;
};

__device__ __forceinline__ Moments merge(Moments a, Moments b)
{
    if (b.count == 0.0f)
        return a;
    if (a.count == 0.0f)
        return b;
    float count = a.count + b.count;
    float delta = b.mean - a.mean;
    Moments r;
    r.mean = a.mean + delta * (b.count / count);
    r.m2 = a.m2 + b.m2 + delta * delta * (a.count * b.count / count);
    r.count = count;
    return r;
}

__device__ Moments warp_merge(Moments v)
{
    for (int offset = 16; offset > 0; offset >>= 1) {
        Moments other;
        other.mean = __shfl_down_sync(0xffffffffu, v.mean, offset);
        other.m2 = __shfl_down_sync(0xffffffffu, v.m2, offset);
        other.count = __shfl_down_sync(0xffffffffu, v.count, offset);
        v = merge(v, other);
    }
    return v;
}

extern "C" __global__ void layernorm(const float *__restrict__ in,
                                     const float *gamma, const float *beta,
                                     float *out, int columns, float epsilon)
{
    __shared__ Moments partial[32];
    __shared__ float mean, inverse;
    const float *row = in + blockIdx.x * columns;
    int lane = threadIdx.x & 31;
    int warp = threadIdx.x >> 5;
    Moments v = {0.0f, 0.0f, 0.0f};

    for (int i = threadIdx.x; i < columns; i += blockDim.x) {
        float x = row[i];
        v.count += 1.0f;
        float delta = x - v.mean;
        v.mean += delta / v.count;
        v.m2 += delta * (x - v.mean);
    }
    v = warp_merge(v);
    if (lane == 0)
        partial[warp] = v;
    __syncthreads();
    if (warp == 0) {
        Moments none = {0.0f, 0.0f, 0.0f};
        v = lane < (int)(blockDim.x >> 5) ? partial[lane] : none;
        v = warp_merge(v);
        if (lane == 0) {
            mean = v.mean;
            inverse = rsqrtf(v.m2 / v.count + epsilon);
        }
    }
    __syncthreads();
    for (int i = threadIdx.x; i < columns; i += blockDim.x) {
        float y = (row[i] - mean) * inverse;
        if (gamma)
            y *= gamma[i];
        if (beta)
            y += beta[i];
        out[blockIdx.x * columns + i] = y;
    }
}

// One warp per row.
extern "C" __global__ void rmsnorm_half(const __half *in, __half *residual,
                                        const __half *weight, __half *out,
                                        int rows, int columns, float epsilon)
{
    int row = blockIdx.x * blockDim.y + threadIdx.y;
    int lane = threadIdx.x;
    if (row >= rows)
        return;
    in += row * columns;
    out += row * columns;
    if (residual)
        residual += row * columns;

    float sum = 0.0f;
    for (int i = lane; i < columns; i += 32) {
        float x = __half2float(in[i]);
        if (residual) {
            x += __half2float(residual[i]);
            residual[i] = __float2half_rn(x);
        }
        sum += x * x;
    }
#pragma unroll
    for (int mask = 16; mask > 0; mask >>= 1)
        sum += __shfl_xor_sync(0xffffffffu, sum, mask);
    float scale = rsqrtf(sum / columns + epsilon);

    for (int i = lane; i < columns; i += 32) {
        float x = __half2float(residual ? residual[i] : in[i]) * scale;
        out[i] = __hmul(__float2half_rn(x), weight[i]);
    }
}
