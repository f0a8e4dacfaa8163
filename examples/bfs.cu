// Breadth-first search, level by level, on a CSR graph: the frontier is a
// queue in global memory, built per block in shared memory first. Which slot
// a vertex gets depends on the schedule; its level does not.

constexpr int kBlockQueue = 64;

extern "C" __global__ void bfs_start(int *level, int n, int source,
                                     int *queue, int *queue_size)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        level[i] = i == source ? 0 : -1;
    if (i == 0) {
        queue[0] = source;
        queue_size[0] = 1;
    }
}

extern "C" __global__ void bfs_level(const int *edge_start, const int *edge,
                                     int *level, int depth, const int *queue,
                                     const int *queue_size, int *next,
                                     int *next_size)
{
    __shared__ int found[kBlockQueue];
    __shared__ int found_count;
    __shared__ int base;
    int size = *queue_size;

    if (threadIdx.x == 0)
        found_count = 0;
    __syncthreads();

    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < size) {
        int u = queue[i];
        for (int e = edge_start[u]; e < edge_start[u + 1]; e++) {
            int v = edge[e];
            if (atomicCAS(&level[v], -1, depth) != -1)
                continue;
            int slot = atomicAdd(&found_count, 1);
            if (slot < kBlockQueue)
                found[slot] = v;
            else
                next[atomicAdd(next_size, 1)] = v;  // shared queue is full
        }
    }
    __syncthreads();

    int count = min(found_count, kBlockQueue);
    if (threadIdx.x == 0 && count > 0)
        base = atomicAdd(next_size, count);
    __syncthreads();
    for (int k = threadIdx.x; k < count; k += blockDim.x)
        next[base + k] = found[k];
}
