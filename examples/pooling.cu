// Average and maximum pooling of rows with padding: windows reach past both
// ends of a row, so every step of a window asks whether it is inside.

extern "C" __global__ void average_pool(const float *__restrict__ in,
                                        float *__restrict__ out, int width,
                                        int out_width, int size, int stride,
                                        int pad)
{
    int ox = blockIdx.x * blockDim.x + threadIdx.x;
    if (ox >= out_width)
        return;
    const float *row = in + blockIdx.y * width;
    int start = ox * stride - pad;
    float sum = 0.0f;
    for (int k = 0; k < size; k++) {
        int x = start + k;
        if (x >= 0 && x < width)
            sum += row[x];
    }
    out[blockIdx.y * out_width + ox] = sum / (float)size;
}

// The padding counts as the value -1, and the place of the maximum is kept.
extern "C" __global__ void max_pool(const float *__restrict__ in,
                                    float *__restrict__ out,
                                    int *__restrict__ place, int width,
                                    int out_width, int size, int stride,
                                    int pad)
{
    int ox = blockIdx.x * blockDim.x + threadIdx.x;
    if (ox >= out_width)
        return;
    const float *row = in + blockIdx.y * width;
    int start = ox * stride - pad;
    float best = -1.0f;
    int at = -1;
    for (int k = 0; k < size; k++) {
        int x = start + k;
        if ((unsigned)x < (unsigned)width && row[x] > best) {
            best = row[x];
            at = x;
        }
    }
    out[blockIdx.y * out_width + ox] = best;
    place[blockIdx.y * out_width + ox] = at;
}
