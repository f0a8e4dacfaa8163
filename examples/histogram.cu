// 64-bin histogram of bytes: a private histogram per block in shared memory,
// four bytes per load, a scalar head and tail where the data are unaligned.

constexpr int kBins = 64;

__device__ void count_byte(unsigned *bins, unsigned byte)
{
    atomicAdd(&bins[byte >> 2], 1u);
}

extern "C" __global__ void histogram(const unsigned char *data, unsigned n,
                                     unsigned *bins)
{
    __shared__ unsigned local[kBins];

    for (int i = threadIdx.x; i < kBins; i += blockDim.x)
        local[i] = 0;
    __syncthreads();

    unsigned tid = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned threads = gridDim.x * blockDim.x;
    unsigned head = (4u - ((unsigned long long)data & 3u)) & 3u;

    if (head > n)
        head = n;
    if (tid < head)
        count_byte(local, data[tid]);

    unsigned words = (n - head) >> 2;
    const unsigned *body = (const unsigned *)(data + head);
    for (unsigned i = tid; i < words; i += threads) {
        unsigned w = body[i];
        count_byte(local, w & 0xff);
        count_byte(local, (w >> 8) & 0xff);
        count_byte(local, (w >> 16) & 0xff);
        count_byte(local, w >> 24);
    }

    unsigned done = head + 4 * words;
    if (done + tid < n)
        count_byte(local, data[done + tid]);

    __syncthreads();
    for (int i = threadIdx.x; i < kBins; i += blockDim.x) {
        unsigned c = local[i];
        if (c != 0)
            atomicAdd(&bins[i], c);
    }
}

// Bounds of the occupied bins and the index of the fullest one (the first of
// equals), found by one warp.
extern "C" __global__ void histogram_peak(const unsigned *bins, int *result)
{
    int lane = threadIdx.x;
    unsigned a = bins[lane];
    unsigned b = bins[lane + 32];
    unsigned low = __ballot_sync(0xffffffffu, a != 0);
    unsigned high = __ballot_sync(0xffffffffu, b != 0);

    unsigned best = a >= b ? a : b;
    int where = a >= b ? lane : lane + 32;
    for (int offset = 16; offset > 0; offset >>= 1) {
        unsigned other = __shfl_xor_sync(0xffffffffu, best, offset);
        int other_where = __shfl_xor_sync(0xffffffffu, where, offset);
        if (other > best || (other == best && other_where < where)) {
            best = other;
            where = other_where;
        }
    }
    if (lane == 0) {
        result[0] = low ? __ffs(low) - 1 : high ? __ffs(high) + 31 : -1;
        result[1] = high ? 63 - __clz(high) : low ? 31 - __clz(low) : -1;
        result[2] = where;
    }
}
