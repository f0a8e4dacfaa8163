// Exclusive prefix sum in three kernels: every block scans its tile in shared
// memory (work-efficient up- and down-sweep), one block scans the tile totals,
// and the offsets are added back.

constexpr int kTile = 256;  // elements per block of kTile / 2 threads

extern "C" __global__ void scan_tiles(const unsigned *in, unsigned *out,
                                      unsigned *totals, int n)
{
    __shared__ unsigned tile[kTile];
    int t = threadIdx.x;
    int base = blockIdx.x * kTile;
    int a = base + 2 * t;

    tile[2 * t] = a < n ? in[a] : 0u;
    tile[2 * t + 1] = a + 1 < n ? in[a + 1] : 0u;

    int stride = 1;
    for (int d = kTile >> 1; d > 0; d >>= 1) {
        __syncthreads();
        if (t < d) {
            int lo = stride * (2 * t + 1) - 1;
            int hi = stride * (2 * t + 2) - 1;
            tile[hi] += tile[lo];
        }
        stride <<= 1;
    }
    __syncthreads();
    if (t == 0) {
        if (totals)
            totals[blockIdx.x] = tile[kTile - 1];
        tile[kTile - 1] = 0;
    }
    for (int d = 1; d < kTile; d <<= 1) {
        stride >>= 1;
        __syncthreads();
        if (t < d) {
            int lo = stride * (2 * t + 1) - 1;
            int hi = stride * (2 * t + 2) - 1;
            unsigned v = tile[lo];
            tile[lo] = tile[hi];
            tile[hi] += v;
        }
    }
    __syncthreads();
    if (a < n)
        out[a] = tile[2 * t];
    if (a + 1 < n)
        out[a + 1] = tile[2 * t + 1];
}

extern "C" __global__ void scan_add(unsigned *out, const unsigned *offsets,
                                    int n)
{
    if (blockIdx.x == 0)
        return;
    unsigned offset = offsets[blockIdx.x];
    int end = min(n, (int)(blockIdx.x + 1) * kTile);
    for (int i = blockIdx.x * kTile + threadIdx.x; i < end; i += blockDim.x)
        out[i] += offset;
}
