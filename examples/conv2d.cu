// Direct 2-D convolution, channels first: any stride and padding, fused bias
// and activation chosen by a switch; and a fixed blur from constant memory.

struct Shape {
    int channels, height, width;
    int filters, size, stride, pad;
    int out_height, out_width;
};

enum Activation { kNone, kRelu, kLeaky, kClip, kHardSwish };

__device__ __forceinline__ float activate(float v, int kind)
{
    switch (kind) {
    case kRelu: return v > 0.0f ? v : 0.0f;
    case kLeaky: return v > 0.0f ? v : 0.01f * v;
    case kClip: return v < 0.0f ? 0.0f : v > 6.0f ? 6.0f : v;
    case kHardSwish: return v * fminf(fmaxf(v + 3.0f, 0.0f), 6.0f) / 6.0f;
    default: return v;
    }
}

extern "C" __global__ void conv2d(const float *__restrict__ in,
                                  const float *__restrict__ weight,
                                  const float *bias, float *out, Shape s,
                                  int activation)
{
    int pixels = s.out_height * s.out_width;
    int p = blockIdx.x * blockDim.x + threadIdx.x;
    int filter = blockIdx.y;
    if (p >= pixels)
        return;

    int oy = p / s.out_width;
    int ox = p % s.out_width;
    const float *w = weight + filter * s.channels * s.size * s.size;
    float sum = bias ? bias[filter] : 0.0f;

    for (int c = 0; c < s.channels; c++) {
        const float *plane = in + c * s.height * s.width;
        for (int ky = 0; ky < s.size; ky++) {
            int y = oy * s.stride - s.pad + ky;
            if (y < 0 || y >= s.height) {
                w += s.size;
                continue;
            }
            for (int kx = 0; kx < s.size; kx++, w++) {
                int x = ox * s.stride - s.pad + kx;
                if (x >= 0 && x < s.width)
                    sum += plane[y * s.width + x] * *w;
            }
        }
    }
    out[filter * pixels + p] = activate(sum, activation);
}

__constant__ float blur[3][3] = {{1 / 16.0f, 2 / 16.0f, 1 / 16.0f},
                                 {2 / 16.0f, 4 / 16.0f, 2 / 16.0f},
                                 {1 / 16.0f, 2 / 16.0f, 1 / 16.0f}};

// A fixed 3 x 3 filter whose interior needs no bounds checks.
extern "C" __global__ void blur3x3(const float *in, float *out, int width,
                                   int height)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height)
        return;

    float sum = 0.0f;
    if (x > 0 && x < width - 1 && y > 0 && y < height - 1) {
#pragma unroll
        for (int dy = -1; dy <= 1; dy++)
#pragma unroll
            for (int dx = -1; dx <= 1; dx++)
                sum += in[(y + dy) * width + x + dx] * blur[dy + 1][dx + 1];
    } else {
        float weights = 0.0f;
        for (int dy = -1; dy <= 1; dy++) {
            for (int dx = -1; dx <= 1; dx++) {
                if (y + dy < 0 || y + dy >= height || x + dx < 0 ||
                    x + dx >= width)
                    continue;
                sum += in[(y + dy) * width + x + dx] * blur[dy + 1][dx + 1];
                weights += blur[dy + 1][dx + 1];
            }
        }
        sum /= weights;
    }
    out[y * width + x] = sum;
}
