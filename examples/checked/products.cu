// Products of matrices and vectors, whose indices are checked.
#include "slice.h"

extern "C" __global__ void gemm(float *a, float *b, float *c, unsigned n, unsigned la, unsigned lb, unsigned lc)
{
    Floats A = {a, la}, B = {b, lb}, C = {c, lc};
    unsigned row = blockIdx.y * blockDim.y + threadIdx.y, col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= n || col >= n)
        return;
    float sum = 0;
    for (unsigned k = 0; k < n; k++)
        sum += A[row * n + k] * B[k * n + col];
    C[row * n + col] = sum;
}

extern "C" __global__ void gemm_wide(float *a, float *b, float *c, unsigned n, unsigned la, unsigned lb, unsigned lc)
{
    FloatsWide A = {a, la}, B = {b, lb}, C = {c, lc};
    unsigned long long size = n, row = blockIdx.y * blockDim.y + threadIdx.y, col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= size || col >= size)
        return;
    float sum = 0;
    for (unsigned long long k = 0; k < size; k++)
        sum += A[row * size + k] * B[k * size + col];
    C[row * size + col] = sum;
}

extern "C" __global__ void gemm_signed(float *a, float *b, float *c, unsigned n, unsigned la, unsigned lb, unsigned lc)
{
    FloatsWide A = {a, la}, B = {b, lb}, C = {c, lc};
    int size = n, row = blockIdx.y * blockDim.y + threadIdx.y, col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= size || col >= size)
        return;
    float sum = 0;
    for (int k = 0; k < size; k++)
        sum += A[row * size + k] * B[k * size + col];
    C[row * size + col] = sum;
}

// The matrices are stored by columns.
extern "C" __global__ void gemm_columns(float *a, float *b, float *c, unsigned n, unsigned la, unsigned lb, unsigned lc)
{
    Floats A = {a, la}, B = {b, lb}, C = {c, lc};
    unsigned row = blockIdx.y * blockDim.y + threadIdx.y, col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= n || col >= n)
        return;
    float sum = 0;
    for (unsigned k = 0; k < n; k++)
        sum += A[k * n + row] * B[col * n + k];
    C[col * n + row] = sum;
}

extern "C" __global__ void matvec(float *a, float *b, float *c, unsigned n, unsigned la, unsigned lb, unsigned lc)
{
    Floats A = {a, la}, X = {b, lb}, Y = {c, lc};
    unsigned row = blockIdx.x * blockDim.x + threadIdx.x + blockDim.x * threadIdx.y;
    if (row >= n)
        return;
    float sum = 0;
    for (unsigned k = 0; k < n; k++)
        sum += A[row * n + k] * X[k];
    Y[row] = sum;
}

extern "C" __global__ void vecmat(float *a, float *b, float *c, unsigned n, unsigned la, unsigned lb, unsigned lc)
{
    FloatsWide A = {a, la}, X = {b, lb}, Y = {c, lc};
    unsigned long long col = blockIdx.x * blockDim.x + threadIdx.x + blockDim.x * threadIdx.y;
    if (col >= n)
        return;
    float sum = 0;
    for (unsigned long long k = 0; k < n; k++)
        sum += A[k * n + col] * X[k];
    Y[col] = sum;
}
