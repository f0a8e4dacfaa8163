// Five-point heat stencil on a 2-D grid: shared tile with a halo, insulated
// borders (the outer neighbour is the cell itself), two steps by ping-pong.

constexpr int kTileX = 16;
constexpr int kTileY = 8;

__device__ __forceinline__ int clamp(int v, int lo, int hi)
{
    return v < lo ? lo : v > hi ? hi : v;
}

extern "C" __global__ void heat_step(const float *__restrict__ in,
                                     float *__restrict__ out, int width,
                                     int height, float rate)
{
    __shared__ float tile[kTileY + 2][kTileX + 2];
    int x = blockIdx.x * kTileX + threadIdx.x;
    int y = blockIdx.y * kTileY + threadIdx.y;
    int cx = clamp(x, 0, width - 1);
    int cy = clamp(y, 0, height - 1);
    int lx = threadIdx.x + 1;
    int ly = threadIdx.y + 1;

    tile[ly][lx] = in[cy * width + cx];
    if (threadIdx.x == 0)
        tile[ly][0] = in[cy * width + clamp(x - 1, 0, width - 1)];
    if (threadIdx.x == kTileX - 1)
        tile[ly][kTileX + 1] = in[cy * width + clamp(x + 1, 0, width - 1)];
    if (threadIdx.y == 0)
        tile[0][lx] = in[clamp(y - 1, 0, height - 1) * width + cx];
    if (threadIdx.y == kTileY - 1)
        tile[kTileY + 1][lx] = in[clamp(y + 1, 0, height - 1) * width + cx];
    __syncthreads();

    if (x < width && y < height) {
        float here = tile[ly][lx];
        float left = x > 0 ? tile[ly][lx - 1] : here;
        float right = x < width - 1 ? tile[ly][lx + 1] : here;
        float up = y > 0 ? tile[ly - 1][lx] : here;
        float down = y < height - 1 ? tile[ly + 1][lx] : here;
        out[y * width + x] =
            here + rate * (left + right + up + down - 4.0f * here);
    }
    __syncthreads();
}

// The same step in one dimension and without shared memory; the borders are
// handled by a peeled first and last cell.
extern "C" __global__ void heat_rows(const float *in, float *out, int width,
                                     int height, float rate)
{
    int y = blockIdx.x * blockDim.x + threadIdx.x;
    if (y >= height)
        return;
    const float *row = in + y * width;
    float *dst = out + y * width;
    if (width == 1) {
        dst[0] = row[0];
        return;
    }
    dst[0] = row[0] + rate * (row[1] - row[0]);
    for (int x = 1; x < width - 1; x++)
        dst[x] = row[x] + rate * (row[x - 1] - 2.0f * row[x] + row[x + 1]);
    dst[width - 1] =
        row[width - 1] + rate * (row[width - 2] - row[width - 1]);
}
