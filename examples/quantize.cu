// Block quantisation of floats to signed 8 and 4 bits with one scale per 32
// values (a warp each), dequantisation, and an integer dot product.

constexpr int kGroup = 32;

extern "C" __global__ void quantize8(const float *in, signed char *q,
                                     float *scale, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float x = i < n ? in[i] : 0.0f;
    float top = fabsf(x);

    for (int mask = 16; mask > 0; mask >>= 1)
        top = fmaxf(top, __shfl_xor_sync(0xffffffffu, top, mask));
    float s = top / 127.0f;
    int v = 0;
    if (s > 0.0f) {
        v = __float2int_rn(x / s);
        if (v > 127)
            v = 127;
        else if (v < -127)
            v = -127;
    }
    if (i < n)
        q[i] = (signed char)v;
    if ((threadIdx.x & 31) == 0 && i < n)
        scale[i / kGroup] = s;
}

// Two values per byte, the low nibble first, offset by 8.
extern "C" __global__ void quantize4(const float *in, unsigned char *q,
                                     float *scale, int groups)
{
    int g = blockIdx.x * blockDim.x + threadIdx.x;
    if (g >= groups)
        return;
    const float *x = in + g * kGroup;
    float top = 0.0f;
    float extreme = 0.0f;

    for (int i = 0; i < kGroup; i++) {
        float a = fabsf(x[i]);
        if (a > top) {
            top = a;
            extreme = x[i];
        }
    }
    float s = extreme / -8.0f;
    float inverse = s != 0.0f ? 1.0f / s : 0.0f;
    scale[g] = s;
    for (int i = 0; i < kGroup; i += 2) {
        int lo = (int)(x[i] * inverse + 8.5f);
        int hi = (int)(x[i + 1] * inverse + 8.5f);
        lo = lo > 15 ? 15 : lo;
        hi = hi > 15 ? 15 : hi;
        q[(g * kGroup + i) / 2] = (unsigned char)(lo | hi << 4);
    }
}

extern "C" __global__ void dequantize(const unsigned char *q,
                                      const float *scale, float *out, int n,
                                      int bits)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    float s = scale[i / kGroup];
    int v;
    if (bits == 8) {
        v = (signed char)q[i];
    } else if (bits == 4) {
        v = i & 1 ? q[i / 2] >> 4 : q[i / 2] & 15;
        v -= 8;
    } else {
        return;
    }
    out[i] = s * v;
}

// One dot product of two 8-bit vectors per warp, four values per step.
extern "C" __global__ void dot8(const int *a, const float *a_scale,
                                const int *b, const float *b_scale, float *out,
                                int groups)
{
    int lane = threadIdx.x & 31;
    float sum = 0.0f;

    for (int g = lane; g < groups; g += 32) {
        int acc = 0;
#pragma unroll
        for (int k = 0; k < kGroup / 4; k++)
            acc = __dp4a(a[g * (kGroup / 4) + k], b[g * (kGroup / 4) + k],
                         acc);
        sum += a_scale[g] * b_scale[g] * acc;
    }
    for (int mask = 16; mask > 0; mask >>= 1)
        sum += __shfl_xor_sync(0xffffffffu, sum, mask);
    if (lane == 0)
        *out = sum;
}
