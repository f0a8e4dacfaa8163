// Mandelbrot set with cardioid and bulb tests, a period check, and a palette
// switch; and a Burning Ship variant with a coarser loop.

__device__ __forceinline__ bool in_main_body(float x, float y)
{
    float q = (x - 0.25f) * (x - 0.25f) + y * y;
    return q * (q + (x - 0.25f)) <= 0.25f * y * y ||
           (x + 1.0f) * (x + 1.0f) + y * y <= 0.0625f;
}

__device__ unsigned palette(int iterations, int limit)
{
    if (iterations >= limit)
        return 0;
    switch (iterations & 7) {
    case 0: return 0x421e0f;
    case 1: return 0x19071a;
    case 2: return 0x09012f;
    case 3: return 0x040449;
    case 4: return 0x000764;
    case 5: return 0x0c2c8a;
    case 6: return 0x1852b1;
    default: return 0x397dd1;
    }
}

extern "C" __global__ void mandelbrot(unsigned *image, int width, int height,
                                      float left, float top, float step,
                                      int limit)
{
    int px = blockIdx.x * blockDim.x + threadIdx.x;
    int py = blockIdx.y * blockDim.y + threadIdx.y;
    if (px >= width || py >= height)
        return;

    float cx = left + step * px;
    float cy = top - step * py;
    int i = 0;

    if (in_main_body(cx, cy)) {
        i = limit;
    } else {
        float x = 0.0f, y = 0.0f;
        float old_x = 0.0f, old_y = 0.0f;
        int since = 0;
        int period = 8;
        for (; i < limit; i++) {
            float xx = x * x;
            float yy = y * y;
            if (xx + yy > 4.0f)
                break;
            y = 2.0f * x * y + cy;
            x = xx - yy + cx;
            if (x == old_x && y == old_y) {
                i = limit;  // periodic: it never escapes
                break;
            }
            if (++since == period) {
                since = 0;
                period *= 2;
                old_x = x;
                old_y = y;
            }
        }
    }
    image[py * width + px] = palette(i, limit);
}

extern "C" __global__ void burning_ship(unsigned char *image, int width,
                                        int height, float left, float top,
                                        float step, int limit)
{
    int pixels = width * height;
    for (int p = blockIdx.x * blockDim.x + threadIdx.x; p < pixels;
         p += gridDim.x * blockDim.x) {
        float cx = left + step * (p % width);
        float cy = top + step * (p / width);
        float x = 0.0f, y = 0.0f;
        int i = 0;
        while (i < limit && x * x + y * y <= 4.0f) {
            float t = x * x - y * y + cx;
            y = fabsf(2.0f * x * y) + cy;
            x = t;
            i++;
        }
        image[p] = (unsigned char)(i == limit ? 0 : 255 - i * 255 / limit);
    }
}
