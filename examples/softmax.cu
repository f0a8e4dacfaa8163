// Row-wise softmax: one block per row with two block reductions, and one warp
// per row for short rows. -inf masks an element; a fully masked row gives 0.

__device__ __forceinline__ float warp_all_max(float v)
{
#pragma unroll
    for (int mask = 16; mask > 0; mask >>= 1)
        v = fmaxf(v, __shfl_xor_sync(0xffffffffu, v, mask));
    return v;
}

__device__ __forceinline__ float warp_all_sum(float v)
{
#pragma unroll
    for (int mask = 16; mask > 0; mask >>= 1)
        v += __shfl_xor_sync(0xffffffffu, v, mask);
    return v;
}

template <bool kMax>
__device__ float block_all(float v, float *scratch)
{
    int lane = threadIdx.x & 31;
    int warp = threadIdx.x >> 5;
    int warps = blockDim.x >> 5;

    v = kMax ? warp_all_max(v) : warp_all_sum(v);
    __syncthreads();
    if (lane == 0)
        scratch[warp] = v;
    __syncthreads();
    float neutral = kMax ? -INFINITY : 0.0f;
    v = lane < warps ? scratch[lane] : neutral;
    return kMax ? warp_all_max(v) : warp_all_sum(v);
}

extern "C" __global__ void softmax_block(const float *__restrict__ in,
                                         float *__restrict__ out, int columns,
                                         float scale)
{
    __shared__ float scratch[32];
    const float *row = in + (size_t)blockIdx.x * columns;
    float *dst = out + (size_t)blockIdx.x * columns;

    float top = -INFINITY;
    for (int i = threadIdx.x; i < columns; i += blockDim.x)
        top = fmaxf(top, row[i] * scale);
    top = block_all<true>(top, scratch);

    if (top == -INFINITY) {
        for (int i = threadIdx.x; i < columns; i += blockDim.x)
            dst[i] = 0.0f;
        return;
    }

    float sum = 0.0f;
    for (int i = threadIdx.x; i < columns; i += blockDim.x) {
        float e = __expf(row[i] * scale - top);
        dst[i] = e;
        sum += e;
    }
    sum = block_all<false>(sum, scratch);
    float inv = 1.0f / sum;
    for (int i = threadIdx.x; i < columns; i += blockDim.x)
        dst[i] *= inv;
}

// Up to 128 columns, held in four registers per lane; log-softmax on request.
extern "C" __global__ void softmax_warp(const float *in, float *out, int rows,
                                        int columns, bool logarithm)
{
    int row = (blockIdx.x * blockDim.x + threadIdx.x) >> 5;
    int lane = threadIdx.x & 31;
    if (row >= rows)
        return;

    float v[4];
    float top = -INFINITY;
#pragma unroll
    for (int k = 0; k < 4; k++) {
        int i = lane + 32 * k;
        v[k] = i < columns ? in[row * columns + i] : -INFINITY;
        top = fmaxf(top, v[k]);
    }
    top = warp_all_max(top);
    float sum = 0.0f;
#pragma unroll
    for (int k = 0; k < 4; k++) {
        if (lane + 32 * k < columns)
            sum += __expf(v[k] - top);
    }
    sum = warp_all_sum(sum);
    float log_sum = logarithm ? __logf(sum) : 0.0f;
#pragma unroll
    for (int k = 0; k < 4; k++) {
        int i = lane + 32 * k;
        if (i >= columns)
            break;
        out[row * columns + i] =
            logarithm ? v[k] - top - log_sum : __expf(v[k] - top) / sum;
    }
}
