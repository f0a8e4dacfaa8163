// Loops whose indices are checked: by an assertion, by a view that stops the thread, and by a window that is cut off.
#include <assert.h>

struct View {
    float *data;
    unsigned length;
    __device__ float &operator[](unsigned i) const
    {
        if (i >= length)
            __trap();
        return data[i];
    }
};

// out[row] = sum of a row of `columns` elements; `length` are there.
extern "C" __global__ void row_sums(const float *a, float *out, int rows, int columns, int length)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows)
        return;
    float sum = 0;
    for (int i = 0; i < columns; i++) {
        int at = row * columns + i;
        assert(at < length);
        sum += a[at];
    }
    out[row] = sum;
}

// Each thread scales `count` elements of its own.
extern "C" __global__ void scale(float *a, float *b, unsigned length, float factor, unsigned count)
{
    View from = {a, length}, to = {b, length};
    unsigned first = (blockIdx.x * blockDim.x + threadIdx.x) * count;
    for (unsigned i = 0; i < count; i++)
        to[first + i] = from[first + i] * factor;
}

// Sums of `radius` elements to both sides, as far as there are any.
extern "C" __global__ void window(const float *a, float *out, int length, int radius)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0;
    for (int k = 0; k <= radius; k++) {
        if (x + k >= length)
            break;
        sum += a[x + k];
    }
    for (int k = 1; k <= radius; k++) {
        if (x - k < 0)
            break;
        sum += a[x - k] * 0.5f;
    }
    out[x] = sum;
}
