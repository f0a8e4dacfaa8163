// Sum and maximum of an integer array: grid-stride loop, warp shuffles, one
// shared-memory exchange, and a second pass over the partial results.

__device__ int warp_sum(int v)
{
    for (int offset = 16; offset > 0; offset >>= 1)
        v += __shfl_down_sync(0xffffffffu, v, offset);
    return v;
}

__device__ int warp_max(int v)
{
    for (int offset = 16; offset > 0; offset >>= 1)
        v = max(v, __shfl_xor_sync(0xffffffffu, v, offset));
    return v;
}

// The block must be a multiple of 32 threads.
__device__ void block_reduce(int &sum, int &top)
{
    __shared__ int sums[32];
    __shared__ int tops[32];
    int lane = threadIdx.x & 31;
    int warp = threadIdx.x >> 5;

    sum = warp_sum(sum);
    top = warp_max(top);
    __syncthreads();
    if (lane == 0) {
        sums[warp] = sum;
        tops[warp] = top;
    }
    __syncthreads();
    if (warp == 0) {
        int warps = (blockDim.x + 31) >> 5;
        sum = lane < warps ? sums[lane] : 0;
        top = lane < warps ? tops[lane] : (int)0x80000000;
        sum = warp_sum(sum);
        top = warp_max(top);
    }
    __syncthreads();
}

extern "C" __global__ void reduce_partial(const int *__restrict__ in, int n,
                                          int *partial_sum, int *partial_max)
{
    int sum = 0;
    int top = (int)0x80000000;

    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n;
         i += gridDim.x * blockDim.x) {
        int v = in[i];
        sum += v;
        if (v > top)
            top = v;
    }
    block_reduce(sum, top);
    if (threadIdx.x == 0) {
        partial_sum[blockIdx.x] = sum;
        partial_max[blockIdx.x] = top;
    }
}

extern "C" __global__ void reduce_final(const int *partial_sum,
                                        const int *partial_max, int count,
                                        int *result)
{
    int sum = 0;
    int top = (int)0x80000000;

    for (int i = threadIdx.x; i < count; i += blockDim.x) {
        sum += partial_sum[i];
        top = max(top, partial_max[i]);
    }
    block_reduce(sum, top);
    if (threadIdx.x == 0) {
        result[0] = sum;
        result[1] = top;
    }
}
