// Passes over one or two arrays, whose indices are checked.
#include "slice.h"

extern "C" __global__ void stencil(float *a, float *b, float *c, unsigned n, unsigned la, unsigned lb, unsigned lc)
{
    FloatsWide A = {a, la}, B = {b, lb};
    int w = n, x = threadIdx.x + blockDim.x * threadIdx.y;
    if (x < 1 || x >= w - 1)
        return;
    for (int y = 1; y < w - 1; y++)
        B[y * w + x] = 0.2f * (A[y * w + x] + A[y * w + x - 1] + A[y * w + x + 1] + A[(y - 1) * w + x] + A[(y + 1) * w + x]);
}

extern "C" __global__ void reduce(float *a, float *b, float *c, unsigned n, unsigned la, unsigned lb, unsigned lc)
{
    Floats A = {a, la}, C = {c, lc};
    unsigned thread = threadIdx.x + blockDim.x * threadIdx.y, threads = blockDim.x * blockDim.y;
    float sum = 0;
    for (unsigned i = thread; i < n * n; i += threads)
        sum += A[i];
    C[thread] = sum;
}

extern "C" __global__ void scan_rows(float *a, float *b, float *c, unsigned n, unsigned la, unsigned lb, unsigned lc)
{
    Floats A = {a, la}, B = {b, lb};
    unsigned row = threadIdx.x + blockDim.x * threadIdx.y;
    if (row >= n)
        return;
    float sum = 0;
    for (unsigned k = 0; k < n; k++) {
        sum += A[row * n + k];
        B[row * n + k] = sum;
    }
}

extern "C" __global__ void transpose(float *a, float *b, float *c, unsigned n, unsigned la, unsigned lb, unsigned lc)
{
    Floats A = {a, la}, B = {b, lb};
    unsigned row = threadIdx.x + blockDim.x * threadIdx.y;
    if (row >= n)
        return;
    for (unsigned k = 0; k < n; k++)
        B[k * n + row] = A[row * n + k];
}

extern "C" __global__ void convolve(float *a, float *b, float *c, unsigned n, unsigned la, unsigned lb, unsigned lc)
{
    Floats A = {a, la}, W = {b, lb}, C = {c, lc};
    unsigned x = threadIdx.x + blockDim.x * threadIdx.y;
    float sum = 0;
    for (unsigned k = 0; k < n; k++)
        sum += A[x + k] * W[k];
    C[x] = sum;
}

// Backwards, with a sum that depends on the one before.
extern "C" __global__ void horner(float *a, float *b, float *c, unsigned n, unsigned la, unsigned lb, unsigned lc)
{
    Floats A = {a, la}, B = {b, lb}, C = {c, lc};
    unsigned thread = threadIdx.x + blockDim.x * threadIdx.y;
    float x = B[thread], sum = 0;
    for (int k = (int)n - 1; k >= 0; k--)
        sum = sum * x * 0.125f + A[k];
    C[thread] = sum;
}

// A row of a panel is eliminated: a[row] -= factor * a[pivot].
extern "C" __global__ void eliminate(float *a, float *b, float *c, unsigned n, unsigned la, unsigned lb, unsigned lc)
{
    Floats A = {a, la}, B = {b, lb};
    unsigned row = threadIdx.x + blockDim.x * threadIdx.y;
    if (row >= n)
        return;
    float factor = A[row * n];
    for (unsigned k = 1; k < n; k++)
        B[row * n + k] = A[row * n + k] - factor * A[k];
}

// What is counted is loaded: its check stays.
extern "C" __global__ void gather(float *a, float *b, float *c, unsigned n, unsigned la, unsigned lb, unsigned lc)
{
    Floats A = {a, la}, C = {c, lc};
    Floats B = {b, lb};
    unsigned row = threadIdx.x + blockDim.x * threadIdx.y;
    if (row >= n)
        return;
    float sum = 0;
    for (unsigned k = 0; k < n; k++) {
        unsigned at = (unsigned)(int)(A[row * n + k] * 4.0f) & 31;
        sum += B[at];
    }
    C[row] = sum;
}
