// Matrix transpose: padded shared tiles (32 x 8 threads move 32 x 32), and an
// in-place version for square matrices that swaps pairs of tiles.

constexpr int kTile = 32;
constexpr int kRows = 8;

extern "C" __global__ void transpose(const float *__restrict__ in,
                                     float *__restrict__ out, int width,
                                     int height)
{
    __shared__ float tile[kTile][kTile + 1];
    int x = blockIdx.x * kTile + threadIdx.x;
    int y = blockIdx.y * kTile + threadIdx.y;

#pragma unroll
    for (int j = 0; j < kTile; j += kRows)
        if (x < width && y + j < height)
            tile[threadIdx.y + j][threadIdx.x] = in[(y + j) * width + x];
    __syncthreads();

    x = blockIdx.y * kTile + threadIdx.x;
    y = blockIdx.x * kTile + threadIdx.y;
#pragma unroll
    for (int j = 0; j < kTile; j += kRows)
        if (x < height && y + j < width)
            out[(y + j) * height + x] = tile[threadIdx.x][threadIdx.y + j];
}

extern "C" __global__ void transpose_in_place(int *a, int n)
{
    __shared__ int upper[16][17];
    __shared__ int lower[16][17];
    int bx = blockIdx.x;
    int by = blockIdx.y;

    if (bx < by)
        return;
    int tx = threadIdx.x;
    int ty = threadIdx.y;
    int ux = bx * 16 + tx, uy = by * 16 + ty;
    int lx = by * 16 + tx, ly = bx * 16 + ty;
    bool off_diagonal = bx != by;

    if (ux < n && uy < n)
        upper[ty][tx] = a[uy * n + ux];
    if (off_diagonal) {
        if (lx < n && ly < n)
            lower[ty][tx] = a[ly * n + lx];
    }
    __syncthreads();
    if (off_diagonal) {
        if (ux < n && uy < n)
            a[uy * n + ux] = lower[tx][ty];
    }
    if (lx < n && ly < n)
        a[ly * n + lx] = upper[tx][ty];
    __syncthreads();
}
