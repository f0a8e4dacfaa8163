// Two loops of the other files with the other forms of checks: assert(), and the span of libcu++, whose size has 64 bits.
#include "slice.h"

#include <cuda/std/span>

using Asserted = AssertedSlice<float, unsigned>;
using Span = cuda::std::span<float>;

template <class Array> __device__ void product(Array A, Array B, Array C, unsigned n)
{
    unsigned row = blockIdx.y * blockDim.y + threadIdx.y, col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= n || col >= n)
        return;
    float sum = 0;
    for (unsigned k = 0; k < n; k++)
        sum += A[row * n + k] * B[k * n + col];
    C[row * n + col] = sum;
}

template <class Array> __device__ void sums(Array A, Array B, unsigned n)
{
    unsigned row = threadIdx.x + blockDim.x * threadIdx.y;
    if (row >= n)
        return;
    float sum = 0;
    for (unsigned k = 0; k < n; k++) {
        sum += A[row * n + k];
        B[row * n + k] = sum;
    }
}

extern "C" __global__ void gemm_assert(float *a, float *b, float *c, unsigned n, unsigned la, unsigned lb, unsigned lc)
{
    product(Asserted{a, la}, Asserted{b, lb}, Asserted{c, lc}, n);
}

extern "C" __global__ void gemm_span(float *a, float *b, float *c, unsigned n, unsigned la, unsigned lb, unsigned lc)
{
    product(Span{a, la}, Span{b, lb}, Span{c, lc}, n);
}

extern "C" __global__ void scan_assert(float *a, float *b, float *c, unsigned n, unsigned la, unsigned lb, unsigned lc)
{
    sums(Asserted{a, la}, Asserted{b, lb}, n);
}

extern "C" __global__ void scan_span(float *a, float *b, float *c, unsigned n, unsigned la, unsigned lb, unsigned lc)
{
    sums(Span{a, la}, Span{b, lb}, n);
}

// A view of a row is taken once; its size is what the loop runs to.
extern "C" __global__ void rows_span(float *a, float *b, float *c, unsigned n, unsigned la, unsigned lb, unsigned lc)
{
    unsigned row = threadIdx.x + blockDim.x * threadIdx.y;
    if (row >= n)
        return;
    Span A = Span{a, la}.subspan(row * n, n), X{b, lb}, Y{c, lc};
    float sum = 0;
    for (size_t k = 0; k < A.size(); k++)
        sum += A[k] * X[k];
    Y[row] = sum;
}
