// k-means on fixed-point points: assignment with an early-out distance, sums
// by integer atomics in shared memory, and the update of the centres.

constexpr int kMaxClusters = 8;
constexpr int kDims = 3;

extern "C" __global__ void kmeans_assign(const int *point, int n,
                                         const int *centre, int k,
                                         int *assignment, int *sums,
                                         int *counts, unsigned *changed)
{
    __shared__ int centres[kMaxClusters][kDims];
    __shared__ int local_sum[kMaxClusters][kDims];
    __shared__ int local_count[kMaxClusters];

    for (int i = threadIdx.x; i < k * kDims; i += blockDim.x) {
        (&centres[0][0])[i] = centre[i];
        (&local_sum[0][0])[i] = 0;
    }
    if (threadIdx.x < k)
        local_count[threadIdx.x] = 0;
    __syncthreads();

    int i = blockIdx.x * blockDim.x + threadIdx.x;
    bool moved = false;
    if (i < n) {
        int best = 0x7fffffff;
        int nearest = 0;
        for (int c = 0; c < k; c++) {
            int d2 = 0;
#pragma unroll
            for (int d = 0; d < kDims; d++) {
                int diff = point[i * kDims + d] - centres[c][d];
                d2 += diff * diff;
                if (d2 >= best)
                    break;
            }
            if (d2 < best) {
                best = d2;
                nearest = c;
            }
        }
        moved = assignment[i] != nearest;
        if (moved)
            assignment[i] = nearest;
        for (int d = 0; d < kDims; d++)
            atomicAdd(&local_sum[nearest][d], point[i * kDims + d]);
        atomicAdd(&local_count[nearest], 1);
    }
    // Also a barrier for the sums.
    int any = __syncthreads_or(moved);
    if (threadIdx.x == 0 && any)
        atomicOr(changed, 1u);
    for (int j = threadIdx.x; j < k * kDims; j += blockDim.x)
        atomicAdd(&sums[j], (&local_sum[0][0])[j]);
    if (threadIdx.x < k && local_count[threadIdx.x] != 0)
        atomicAdd(&counts[threadIdx.x], local_count[threadIdx.x]);
}

// An empty cluster keeps its centre. Clears the sums for the next round.
extern "C" __global__ void kmeans_update(int *centre, int *sums, int *counts,
                                         int k)
{
    int c = threadIdx.x;
    if (c >= k)
        return;
    int count = counts[c];
    for (int d = 0; d < kDims; d++) {
        int s = sums[c * kDims + d];
        if (count > 0)
            centre[c * kDims + d] =
                (s + (s < 0 ? -count : count) / 2) / count;
        sums[c * kDims + d] = 0;
    }
    counts[c] = 0;
}
