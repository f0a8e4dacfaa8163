// Radix-2 FFT of one signal per block in shared memory: bit reversal, log2(n)
// butterfly stages with twiddles from sincospi, forward or inverse.

constexpr int kMaxPoints = 256;

extern "C" __global__ void fft(const float2 *__restrict__ in, float2 *out,
                               int log2_points, int inverse)
{
    __shared__ float2 x[kMaxPoints];
    int points = 1 << log2_points;
    const float2 *signal = in + blockIdx.x * points;
    float2 *spectrum = out + blockIdx.x * points;

    for (int i = threadIdx.x; i < points; i += blockDim.x) {
        int j = (int)(__brev((unsigned)i) >> (32 - log2_points));
        x[j] = signal[i];
    }

    for (int stage = 1; stage <= log2_points; stage++) {
        int half = 1 << (stage - 1);
        __syncthreads();
        for (int t = threadIdx.x; t < points / 2; t += blockDim.x) {
            int k = t & (half - 1);
            int lo = ((t >> (stage - 1)) << stage) + k;
            int hi = lo + half;
            float s, c;
            sincospif((float)k / (float)half, &s, &c);
            if (!inverse)
                s = -s;
            float2 a = x[lo];
            float2 b = x[hi];
            float2 w;
            w.x = b.x * c - b.y * s;
            w.y = b.x * s + b.y * c;
            x[lo] = make_float2(a.x + w.x, a.y + w.y);
            x[hi] = make_float2(a.x - w.x, a.y - w.y);
        }
    }
    __syncthreads();

    float scale = inverse ? 1.0f / (float)points : 1.0f;
    for (int i = threadIdx.x; i < points; i += blockDim.x)
        spectrum[i] = make_float2(x[i].x * scale, x[i].y * scale);
}
