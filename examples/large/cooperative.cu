// Cooperative groups: tiled partitions of several sizes, coalesced groups in
// divergent code, labelled partitions, group reduce and scan, and memcpy_async.

#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>

namespace cg = cooperative_groups;

// Appends the elements that pass to a list, one atomic per coalesced group.
extern "C" __global__ void filter(const int *in, int n, int threshold,
                                  int *out, unsigned *count)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    int v = in[i];
    if (v > threshold) {
        cg::coalesced_group group = cg::coalesced_threads();
        unsigned base = 0;
        if (group.thread_rank() == 0)
            base = atomicAdd(count, group.size());
        out[group.shfl(base, 0) + group.thread_rank()] = v;
    }
}

template <int kSize>
__device__ int tile_sum(cg::thread_block block, int v)
{
    auto tile = cg::tiled_partition<kSize>(block);
    int sum = cg::reduce(tile, v, cg::plus<int>());
    int before = cg::exclusive_scan(tile, v, cg::plus<int>());
    return tile.thread_rank() == tile.size() - 1 ? sum : before;
}

extern "C" __global__ void tiles(const int *in, int *out, int size)
{
    cg::thread_block block = cg::this_thread_block();
    int i = block.group_index().x * block.size() + block.thread_rank();
    int v = in[i];
    switch (size) {
    case 2: v = tile_sum<2>(block, v); break;
    case 4: v = tile_sum<4>(block, v); break;
    case 8: v = tile_sum<8>(block, v); break;
    case 16: v = tile_sum<16>(block, v); break;
    case 32: v = tile_sum<32>(block, v); break;
    default: break;
    }
    block.sync();
    out[i] = v;
}

// Counts per label within a warp, by a labelled partition.
extern "C" __global__ void labels(const int *label, int *leaders)
{
    cg::thread_block block = cg::this_thread_block();
    auto warp = cg::tiled_partition<32>(block);
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    auto same = cg::labeled_partition(warp, label[i]);
    int most = cg::reduce(same, i, cg::greater<int>());
    leaders[i] = same.thread_rank() == 0 ? (int)same.size() : -most;
}

extern "C" __global__ void staged(const float *in, float *out, int n)
{
    __shared__ float tile[256];
    cg::thread_block block = cg::this_thread_block();

    for (int base = 0; base < n; base += 256) {
        int count = min(256, n - base);
        cg::memcpy_async(block, tile, in + base, sizeof(float) * count);
        cg::wait(block);
        for (int i = block.thread_rank(); i < count; i += block.size())
            out[base + i] = tile[count - 1 - i];
        block.sync();
    }
}
