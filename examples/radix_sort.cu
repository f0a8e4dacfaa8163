// One pass of a least-significant-digit radix sort, four bits at a time:
// count digits per block, scan the counts (digit-major), scatter stably.

constexpr int kDigits = 16;
constexpr int kThreads = 64;

extern "C" __global__ void radix_count(const unsigned *key, int n, int shift,
                                       unsigned *counts)
{
    __shared__ unsigned local[kDigits];
    int t = threadIdx.x;
    if (t < kDigits)
        local[t] = 0;
    __syncthreads();

    int i = blockIdx.x * kThreads + t;
    if (i < n)
        atomicAdd(&local[key[i] >> shift & (kDigits - 1)], 1u);
    __syncthreads();
    if (t < kDigits)
        counts[t * gridDim.x + blockIdx.x] = local[t];
}

// Exclusive scan of any count by one warp, in place.
extern "C" __global__ void radix_scan(unsigned *counts, int count)
{
    int lane = threadIdx.x;
    unsigned carry = 0;

    for (int base = 0; base < count; base += 32) {
        unsigned v = base + lane < count ? counts[base + lane] : 0;
        unsigned sum = v;
        for (int d = 1; d < 32; d <<= 1) {
            unsigned below = __shfl_up_sync(0xffffffffu, sum, d);
            if (lane >= d)
                sum += below;
        }
        if (base + lane < count)
            counts[base + lane] = carry + sum - v;
        carry += __shfl_sync(0xffffffffu, sum, 31);
    }
}

extern "C" __global__ void radix_scatter(const unsigned *key, int n, int shift,
                                         const unsigned *offsets,
                                         unsigned *out)
{
    __shared__ unsigned warp_count[kThreads / 32][kDigits];
    int t = threadIdx.x;
    int lane = t & 31;
    int warp = t >> 5;

    if (lane < kDigits)
        warp_count[warp][lane] = 0;
    __syncthreads();

    int i = blockIdx.x * kThreads + t;
    bool valid = i < n;
    unsigned k = valid ? key[i] : 0xffffffffu;
    unsigned digit = k >> shift & (kDigits - 1);

    // The lanes of the warp that hold the same digit, by one ballot per bit.
    unsigned peers = __ballot_sync(0xffffffffu, valid);
#pragma unroll
    for (int b = 0; b < 4; b++) {
        unsigned votes = __ballot_sync(0xffffffffu, digit >> b & 1);
        peers &= digit >> b & 1 ? votes : ~votes;
    }
    unsigned rank = __popc(peers & ((1u << lane) - 1));
    if (valid && rank == 0)
        warp_count[warp][digit] = __popc(peers);
    __syncthreads();

    if (!valid)
        return;
    unsigned at = offsets[digit * gridDim.x + blockIdx.x] + rank;
    for (int w = 0; w < warp; w++)
        at += warp_count[w][digit];
    out[at] = k;
}
