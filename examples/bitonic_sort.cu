// Bitonic sort of one tile per block in shared memory, keys with values.
// Ragged tiles are padded with the greatest key.

constexpr unsigned kTile = 128;

__device__ __forceinline__ void order(unsigned &ka, unsigned &va, unsigned &kb,
                                      unsigned &vb, bool ascending)
{
    // Ties go by value, so that the result is unique.
    bool greater = ka > kb || (ka == kb && va > vb);
    if (greater == ascending) {
        unsigned k = ka;
        unsigned v = va;
        ka = kb;
        va = vb;
        kb = k;
        vb = v;
    }
}

extern "C" __global__ void bitonic_sort(unsigned *keys, unsigned *values,
                                        unsigned n, int descending)
{
    __shared__ unsigned key[kTile];
    __shared__ unsigned value[kTile];
    unsigned base = blockIdx.x * kTile;
    unsigned end = base + kTile < n ? base + kTile : n;
    unsigned pad = descending ? 0u : 0xffffffffu;

    for (unsigned i = threadIdx.x; i < kTile; i += blockDim.x) {
        bool inside = base + i < end;
        key[i] = inside ? keys[base + i] : pad;
        value[i] = inside ? values[base + i] : pad;
    }

    for (unsigned size = 2; size <= kTile; size <<= 1) {
        for (unsigned stride = size / 2; stride > 0; stride >>= 1) {
            __syncthreads();
            for (unsigned t = threadIdx.x; t < kTile / 2; t += blockDim.x) {
                unsigned lo = 2 * t - (t & (stride - 1));
                bool ascending = ((lo & size) == 0) != (descending != 0);
                order(key[lo], value[lo], key[lo + stride],
                      value[lo + stride], ascending);
            }
        }
    }
    __syncthreads();

    for (unsigned i = threadIdx.x; base + i < end; i += blockDim.x) {
        keys[base + i] = key[i];
        values[base + i] = value[i];
    }
}
