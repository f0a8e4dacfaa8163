// Grids and images as spans of libcu++.
#include <cuda/std/span>

using Span = cuda::std::span<float>;

extern "C" __global__ void stencil3d(float *a, float *b, float *c, unsigned n, unsigned la, unsigned lb, unsigned lc)
{
    Span A{a, la}, B{b, lb};
    unsigned x = threadIdx.x + 1, y = threadIdx.y + 1, plane = n * n;
    if (x >= n - 1 || y >= n - 1)
        return;
    for (unsigned z = 1; z < n - 1; z++) {
        unsigned at = z * plane + y * n + x;
        B[at] = A[at] * -2.0f + A[at - 1] + A[at + 1] + A[at - n] + A[at + n] + A[at - plane] + A[at + plane];
    }
}

__device__ inline int clamp(int value, int most) { return min(max(value, 0), most); }

// A line of an image is made of every second point of lines twice as long, smoothed.
extern "C" __global__ void resize(float *a, float *b, float *c, unsigned n, unsigned la, unsigned lb, unsigned lc)
{
    Span A{a, la}, B{b, lb};
    int width = n, y = threadIdx.x + blockDim.x * threadIdx.y, out = width / 2;
    if (y >= out)
        return;
    for (int x = 0; x < out; x++) {
        int left = clamp(2 * x - 1, width - 1), right = clamp(2 * x + 1, width - 1);
        B[y * out + x] = 0.25f * A[2 * y * width + left] + 0.5f * A[2 * y * width + 2 * x] + 0.25f * A[2 * y * width + right];
    }
}

// Columns of a panel are eliminated one after another; each thread has a row.
extern "C" __global__ void lu_panel(float *a, float *b, float *c, unsigned n, unsigned la, unsigned lb, unsigned lc)
{
    Span A{a, la};
    unsigned row = threadIdx.x;
    for (unsigned k = 0; k + 1 < n; k++) {
        if (row > k && row < n) {
            float factor = A[row * n + k] / A[k * n + k];
            A[row * n + k] = factor;
            for (unsigned j = k + 1; j < n; j++) {
                float above = A[k * n + j];
                A[row * n + j] = A[row * n + j] - factor * above;
            }
        }
        __syncthreads();
    }
}
