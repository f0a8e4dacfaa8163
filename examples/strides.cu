// Grid-stride loops: every thread takes each element that lies a whole grid behind its last one.

extern "C" __global__ void sum(const float *__restrict__ a, float *__restrict__ out, int n)
{
    int thread = blockIdx.x * blockDim.x + threadIdx.x;
    float total = 0;
    for (int i = thread; i < n; i += blockDim.x * gridDim.x)
        total += a[i];
    out[thread] = total;
}

extern "C" __global__ void dot(const float *__restrict__ a, const float *__restrict__ b, float *__restrict__ out, size_t n)
{
    size_t thread = blockIdx.x * blockDim.x + threadIdx.x, stride = blockDim.x * gridDim.x;
    float total = 0;
    for (size_t i = thread; i < n; i += stride)
        total = fmaf(a[i], b[i], total);
    out[thread] = total;
}

// The two arrays may be one, so that no load is made before the store in front of it.
extern "C" __global__ void axpy(const float *x, float *y, float factor, unsigned n)
{
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x)
        y[i] = factor * x[i] + y[i];
}

extern "C" __global__ void largest(const int *__restrict__ a, int *__restrict__ out, int n)
{
    int thread = blockIdx.x * blockDim.x + threadIdx.x, most = 0;
    for (int i = thread; i < n; i += blockDim.x * gridDim.x)
        if (a[i] > most)
            most = a[i];
    out[thread] = most;
}
