// Rows of an image as columns of a matrix, for a convolution by a product, and
// the way back: each is a loop along a row whose ends are padding.

struct Window {
    int height, width;
    int size_y, size_x, pad;
    int out_height, out_width;
};

extern "C" __global__ void unfold(const float *__restrict__ image,
                                  float *__restrict__ columns, Window w)
{
    int p = blockIdx.x * blockDim.x + threadIdx.x;
    if (p >= w.out_height * w.out_width)
        return;
    int oy = p / w.out_width, ox = p % w.out_width;
    float *to = columns + p;
    for (int ky = 0; ky < w.size_y; ky++)
        for (int kx = 0; kx < w.size_x; kx++) {
            int y = oy + ky - w.pad, x = ox + kx - w.pad;
            bool inside = y >= 0 && x >= 0 && y < w.height && x < w.width;
            *to = inside ? image[y * w.width + x] : 0.0f;
            to += w.out_height * w.out_width;
        }
}

// One thread a pixel: the sum of what unfold() made of it.
extern "C" __global__ void fold(const float *__restrict__ columns,
                                float *__restrict__ image, Window w)
{
    int p = blockIdx.x * blockDim.x + threadIdx.x;
    if (p >= w.height * w.width)
        return;
    int y = p / w.width, x = p % w.width;
    int places = w.out_height * w.out_width;
    float sum = 0.0f;
    for (int ky = 0; ky < w.size_y; ky++)
        for (int kx = 0; kx < w.size_x; kx++) {
            int oy = y + w.pad - ky, ox = x + w.pad - kx;
            if (oy >= 0 && oy < w.out_height && ox >= 0 && ox < w.out_width)
                sum += columns[(ky * w.size_x + kx) * places + oy * w.out_width +
                               ox];
        }
    image[p] = sum;
}
