// cuRAND's device generators: XORWOW with its skip-ahead at set-up, Philox,
// MRG32k3a, and uniform, normal, log-normal and Poisson draws from them.

#include <curand_kernel.h>

extern "C" __global__ void xorwow_setup(curandStateXORWOW_t *state,
                                        unsigned long long seed, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        curand_init(seed, i, 0, &state[i]);
}

extern "C" __global__ void xorwow_draw(curandStateXORWOW_t *state, float *out,
                                       int n, int draws)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    curandStateXORWOW_t local = state[i];
    float sum = 0.0f;
    for (int d = 0; d < draws; d++)
        sum += d & 1 ? curand_normal(&local) : curand_uniform(&local);
    out[i] = sum;
    state[i] = local;
}

extern "C" __global__ void philox_draw(float4 *out, unsigned long long seed,
                                       unsigned long long offset, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    curandStatePhilox4_32_10_t state;
    curand_init(seed, i, offset, &state);
    float4 u = curand_uniform4(&state);
    float4 v = curand_normal4(&state);
    out[i] = make_float4(u.x + v.x, u.y + v.y, u.z + v.z, u.w + v.w);
}

extern "C" __global__ void mrg_draw(double *out, unsigned long long seed,
                                    int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    curandStateMRG32k3a_t state;
    curand_init(seed, i, 0, &state);
    out[i] = curand_uniform_double(&state) *
             curand_log_normal_double(&state, 0.0, 0.5);
}

extern "C" __global__ void poisson_draw(unsigned *out, unsigned long long seed,
                                        double lambda, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    curandStatePhilox4_32_10_t state;
    curand_init(seed, i, 0, &state);
    out[i] = curand_poisson(&state, lambda);
}
