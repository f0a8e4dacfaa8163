// Indices that come from memory, checked by assert().
#include "slice.h"

using Values = AssertedSlice<float, unsigned>;
using Indices = AssertedSlice<unsigned, unsigned>;

extern "C" __global__ void spmv_csr(unsigned *rows, unsigned *cols, float *values, float *x, float *y, unsigned n, unsigned lr,
                                    unsigned lc, unsigned lv, unsigned lx, unsigned ly)
{
    Indices Rows = {rows, lr}, Cols = {cols, lc};
    Values V = {values, lv}, X = {x, lx}, Y = {y, ly};
    unsigned row = threadIdx.x + blockDim.x * blockIdx.x;
    if (row >= n)
        return;
    float sum = 0;
    for (unsigned k = Rows[row], end = Rows[row + 1]; k < end; k++)
        sum += V[k] * X[Cols[k]];
    Y[row] = sum;
}

extern "C" __global__ void spmv_ell(unsigned *rows, unsigned *cols, float *values, float *x, float *y, unsigned n, unsigned lr,
                                    unsigned lc, unsigned lv, unsigned lx, unsigned ly)
{
    Indices Cols = {cols, lc};
    Values V = {values, lv}, X = {x, lx}, Y = {y, ly};
    unsigned row = threadIdx.x + blockDim.x * blockIdx.x, width = lr;
    if (row >= n)
        return;
    float sum = 0;
    for (unsigned k = 0; k < width; k++)
        sum += V[k * n + row] * X[Cols[k * n + row]];
    Y[row] = sum;
}

// The edges of a vertex on the frontier: whoever reaches a vertex first puts it on the next frontier.
extern "C" __global__ void bfs_step(unsigned *rows, unsigned *cols, unsigned *frontier, unsigned *level, unsigned *next, unsigned n,
                                    unsigned lr, unsigned lc, unsigned lf, unsigned ll, unsigned ln)
{
    Indices Rows = {rows, lr}, Cols = {cols, lc}, Frontier = {frontier, lf}, Level = {level, ll}, Next = {next, ln};
    unsigned i = threadIdx.x + blockDim.x * blockIdx.x;
    if (i >= n)
        return;
    unsigned vertex = Frontier[i], depth = Level[vertex] + 1;
    for (unsigned e = Rows[vertex], end = Rows[vertex + 1]; e < end; e++) {
        unsigned to = Cols[e];
        if (atomicCAS(&Level[to], ~0u, depth) == ~0u)
            Next[to] = 1;
    }
}

extern "C" __global__ void histogram(unsigned char *data, unsigned *bins, unsigned n, unsigned ld, unsigned lb)
{
    AssertedSlice<unsigned char, unsigned> Data = {data, ld};
    Indices Bins = {bins, lb};
    unsigned threads = blockDim.x * gridDim.x;
    for (unsigned i = threadIdx.x + blockDim.x * blockIdx.x; i < n; i += threads)
        atomicAdd(&Bins[Data[i]], 1);
}
