// One-dimensional wave equation, many time steps inside one block, written
// with a barrier wherever one might be needed. Compiled with line
// information.

constexpr int kCells = 128;

enum Boundary { kFixed, kFree, kPeriodic, kAbsorbing };

__device__ float neighbour(const float *u, int i, int n, Boundary boundary)
{
    if (i >= 0 && i < n)
        return u[i];
    switch (boundary) {
    case kFixed: return 0.0f;
    case kFree: return u[i < 0 ? 0 : n - 1];
    case kPeriodic: return u[i < 0 ? n - 1 : 0];
    default: return 0.5f * u[i < 0 ? 0 : n - 1];
    }
}

extern "C" __global__ void wave(float *state, float *velocity, int n,
                                int steps, float c, int boundary,
                                int *clipped)
{
    __shared__ float now[kCells];
    __shared__ float next[kCells];
    __shared__ int clips;
    int i = threadIdx.x;
    float v = 0.0f;

    __syncthreads();
    if (i == 0)
        clips = 0;
    __syncthreads();
    if (i < n) {
        now[i] = state[i];
        v = velocity[i];
    }
    __syncthreads();

    for (int step = 0; step < steps; step++) {
        __syncthreads();
        if (i < n) {
            float left = neighbour(now, i - 1, n, (Boundary)boundary);
            float right = neighbour(now, i + 1, n, (Boundary)boundary);
            v += c * (left - 2.0f * now[i] + right);
            float u = now[i] + v;
            if (u > 1.0f) {
                u = 1.0f;
                v = 0.0f;
                atomicAdd(&clips, 1);
            } else if (u < -1.0f) {
                u = -1.0f;
                v = 0.0f;
                atomicAdd(&clips, 1);
            }
            next[i] = u;
        }
        __syncthreads();
        if (i < n)
            now[i] = next[i];
        __syncthreads();
        __syncthreads();
    }

    if (i < n) {
        state[i] = now[i];
        velocity[i] = v;
    }
    __syncthreads();
    if (i == 0)
        *clipped = clips;
    __syncthreads();
}
