// Tiles in shared memory, and what threads do in groups.
#include "slice.h"

constexpr unsigned TILE = 8;

extern "C" __global__ void gemm_tiled(float *a, float *b, float *c, unsigned n, unsigned la, unsigned lb, unsigned lc)
{
    __shared__ float left[TILE * TILE], right[TILE * TILE];
    Floats A = {a, la}, B = {b, lb}, C = {c, lc}, L = {left, TILE * TILE}, R = {right, TILE * TILE};
    unsigned x = threadIdx.x, y = threadIdx.y, row = blockIdx.y * TILE + y, col = blockIdx.x * TILE + x;
    float sum = 0;
    for (unsigned k = 0; k < n; k += TILE) {
        L[y * TILE + x] = A[row * n + k + x];
        R[y * TILE + x] = B[(k + y) * n + col];
        __syncthreads();
        for (unsigned i = 0; i < TILE; i++)
            sum += L[y * TILE + i] * R[i * TILE + x];
        __syncthreads();
    }
    C[row * n + col] = sum;
}

// One stage of a transform of complex numbers: each thread combines the two halves of a group.
extern "C" __global__ void fft(float *a, float *b, float *c, unsigned half, unsigned la, unsigned lb, unsigned lc)
{
    Slice<float2, unsigned> A = {(float2 *)a, la}, W = {(float2 *)b, lb}, C = {(float2 *)c, lc};
    unsigned base = (threadIdx.x + blockDim.x * blockIdx.x) * 2 * half, stride = lb / half;
    for (unsigned j = 0; j < half; j++) {
        float2 u = A[base + j], v = A[base + j + half], w = W[j * stride];
        float re = v.x * w.x - v.y * w.y, im = v.x * w.y + v.y * w.x;
        C[base + j] = make_float2(u.x + re, u.y + im);
        C[base + j + half] = make_float2(u.x - re, u.y - im);
    }
}

// Bodies come to shared memory by tiles.
extern "C" __global__ void nbody(float *a, float *b, float *c, unsigned n, unsigned la, unsigned lb, unsigned lc)
{
    __shared__ float4 near[32];
    Slice<float4, unsigned> A = {(float4 *)a, la}, C = {(float4 *)c, lc}, Near = {near, blockDim.x};
    unsigned x = threadIdx.x, threads = blockDim.x, i = blockIdx.x * threads + x;
    float4 own = A[i], force = make_float4(0, 0, 0, 0);
    for (unsigned tile = 0; tile < n; tile += threads) {
        Near[x] = A[tile + x];
        __syncthreads();
        for (unsigned j = 0; j < threads; j++) {
            float4 other = Near[j];
            float dx = other.x - own.x, dy = other.y - own.y, dz = other.z - own.z;
            float inverse = rsqrtf(dx * dx + dy * dy + dz * dz + 0.01f), weight = other.w * inverse * inverse * inverse;
            force.x += dx * weight;
            force.y += dy * weight;
            force.z += dz * weight;
        }
        __syncthreads();
    }
    C[i] = force;
}
