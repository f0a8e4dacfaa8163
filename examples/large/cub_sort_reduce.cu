// CUB at work: a block radix sort of keys and values, a block scan and a block
// reduction with several items per thread, and the kernels that
// cub::DeviceReduce and cub::DeviceScan launch.

#include <cub/block/block_load.cuh>
#include <cub/block/block_radix_sort.cuh>
#include <cub/block/block_reduce.cuh>
#include <cub/block/block_scan.cuh>
#include <cub/block/block_store.cuh>
#include <cub/device/device_reduce.cuh>
#include <cub/device/device_scan.cuh>

constexpr int kThreads = 128;
constexpr int kItems = 4;

extern "C" __global__ void __launch_bounds__(kThreads)
    sort_tiles(const unsigned *keys_in, const unsigned *values_in,
               unsigned *keys_out, unsigned *values_out, int n)
{
    using Load = cub::BlockLoad<unsigned, kThreads, kItems,
                                cub::BLOCK_LOAD_TRANSPOSE>;
    using Store = cub::BlockStore<unsigned, kThreads, kItems,
                                  cub::BLOCK_STORE_TRANSPOSE>;
    using Sort = cub::BlockRadixSort<unsigned, kThreads, kItems, unsigned>;
    __shared__ union {
        typename Load::TempStorage load;
        typename Store::TempStorage store;
        typename Sort::TempStorage sort;
    } shared;
    int base = blockIdx.x * kThreads * kItems;
    int valid = min(n - base, kThreads * kItems);
    unsigned key[kItems];
    unsigned value[kItems];

    Load(shared.load).Load(keys_in + base, key, valid, 0xffffffffu);
    __syncthreads();
    Load(shared.load).Load(values_in + base, value, valid, 0u);
    __syncthreads();
    Sort(shared.sort).Sort(key, value);
    __syncthreads();
    Store(shared.store).Store(keys_out + base, key, valid);
    __syncthreads();
    Store(shared.store).Store(values_out + base, value, valid);
}

struct Longest {
    __device__ int2 operator()(int2 a, int2 b) const
    {
        return b.x > a.x || (b.x == a.x && b.y < a.y) ? b : a;
    }
};

extern "C" __global__ void __launch_bounds__(kThreads)
    scan_and_reduce(const int *in, int *prefix, int2 *longest, int n)
{
    using Scan = cub::BlockScan<int, kThreads, cub::BLOCK_SCAN_WARP_SCANS>;
    using Reduce = cub::BlockReduce<int2, kThreads>;
    __shared__ typename Scan::TempStorage scan;
    __shared__ typename Reduce::TempStorage reduce;
    int i = blockIdx.x * kThreads + threadIdx.x;
    int v = i < n ? in[i] : 0;
    int sum;

    Scan(scan).InclusiveSum(v, sum);
    if (i < n)
        prefix[i] = sum;
    int2 best = Reduce(reduce).Reduce(make_int2(v, i), Longest());
    if (threadIdx.x == 0)
        longest[blockIdx.x] = best;
}

// Called by the host so that the device-wide kernels are instantiated.
cudaError_t device_wide(void *storage, size_t &bytes, const float *in,
                        float *out, const int *counts, int *offsets, int n)
{
    cudaError_t error = cub::DeviceReduce::Sum(storage, bytes, in, out, n);
    if (error != cudaSuccess)
        return error;
    return cub::DeviceScan::ExclusiveSum(storage, bytes, counts, offsets, n);
}
