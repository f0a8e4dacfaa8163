// Monte Carlo with its own counter-based generator: pi by hit counting, and
// European option payoffs in fixed point, so that the sums do not depend on
// the order of the additions.

struct Rng {
    unsigned key;
    unsigned counter;

    __device__ unsigned next()
    {
        // Squares-like: two multiplies and rotations of the counter.
        unsigned long long x = (unsigned long long)counter++ * 0x9e3779b97f4aull
                               + key;
        unsigned long long y = x;
        x = x * x + y;
        x = x >> 32 | x << 32;
        x = x * x + y + key;
        x = x >> 32 | x << 32;
        return (unsigned)((x * x + y) >> 32);
    }

    // In [0, 1).
    __device__ float uniform() { return (next() >> 8) * (1.0f / 16777216.0f); }

    // Box-Muller by rejection (polar form).
    __device__ float normal()
    {
        float u, v, s;
        do {
            u = 2.0f * uniform() - 1.0f;
            v = 2.0f * uniform() - 1.0f;
            s = u * u + v * v;
        } while (s >= 1.0f || s == 0.0f);
        return u * sqrtf(-2.0f * __logf(s) / s);
    }
};

extern "C" __global__ void pi_hits(unsigned seed, int samples, unsigned *hits)
{
    int tid = blockIdx.x * blockDim.x + threadIdx.x;
    Rng rng = {seed ^ (unsigned)tid * 0x85ebca6bu, 0};
    unsigned inside = 0;

    for (int i = 0; i < samples; i++) {
        float x = rng.uniform();
        float y = rng.uniform();
        if (x * x + y * y < 1.0f)
            inside++;
    }
#if __CUDA_ARCH__ >= 800
    inside = __reduce_add_sync(0xffffffffu, inside);
#else
    for (int offset = 16; offset > 0; offset >>= 1)
        inside += __shfl_down_sync(0xffffffffu, inside, offset);
#endif
    if ((threadIdx.x & 31) == 0)
        atomicAdd(hits, inside);
}

extern "C" __global__ void option_price(unsigned seed, int paths, int steps,
                                        float spot, float strike,
                                        float barrier, float drift,
                                        float volatility,
                                        unsigned long long *payoff)
{
    int path = blockIdx.x * blockDim.x + threadIdx.x;
    if (path >= paths)
        return;
    Rng rng = {seed, (unsigned)path << 12};
    float price = spot;
    bool out = false;

    for (int s = 0; s < steps; s++) {
        price *= __expf(drift + volatility * rng.normal());
        if (price <= barrier) {
            out = true;  // down-and-out
            break;
        }
    }
    if (out || price <= strike)
        return;
    atomicAdd(payoff, (unsigned long long)((price - strike) * 65536.0f));
}
