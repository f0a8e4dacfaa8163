// Open-addressing hash table: insertion with atomicCAS, duplicates add their
// values, then look-ups and a removal pass that leaves tombstones. Where a key
// lands depends on the schedule; what a look-up answers does not.

constexpr unsigned kEmpty = 0xffffffffu;
constexpr unsigned kTombstone = 0xfffffffeu;
constexpr unsigned kMissing = 0xffffffffu;

__device__ __forceinline__ unsigned mix(unsigned h)
{
    h ^= h >> 16;
    h *= 0x7feb352du;
    h ^= h >> 15;
    h *= 0x846ca68bu;
    h ^= h >> 16;
    return h;
}

__device__ __noinline__ int find(const unsigned *keys, unsigned mask,
                                 unsigned key)
{
    unsigned slot = mix(key) & mask;
    for (unsigned probes = 0; probes <= mask; probes++) {
        unsigned k = keys[slot];
        if (k == key)
            return (int)slot;
        if (k == kEmpty)
            return -1;
        slot = (slot + 1) & mask;
    }
    return -1;
}

extern "C" __global__ void hash_insert(unsigned *keys, unsigned *values,
                                       unsigned mask, const unsigned *in_key,
                                       const unsigned *in_value, int n,
                                       unsigned *failed)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    unsigned key = in_key[i];
    unsigned slot = mix(key) & mask;

    for (unsigned probes = 0; probes <= mask; probes++) {
        unsigned old = atomicCAS(&keys[slot], kEmpty, key);
        if (old == kEmpty || old == key) {
            atomicAdd(&values[slot], in_value[i]);
            return;
        }
        slot = (slot + 1) & mask;
    }
    atomicAdd(failed, 1u);
}

extern "C" __global__ void hash_remove(unsigned *keys, unsigned mask,
                                       unsigned divisor)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i > mask)
        return;
    unsigned k = keys[i];
    if (k != kEmpty && k != kTombstone && k % divisor == 0)
        keys[i] = kTombstone;
}

extern "C" __global__ void hash_lookup(const unsigned *keys,
                                       const unsigned *values, unsigned mask,
                                       const unsigned *query, unsigned *answer,
                                       int n)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n;
         i += gridDim.x * blockDim.x) {
        int slot = find(keys, mask, query[i]);
        answer[i] = slot < 0 ? kMissing : values[slot];
    }
}
