// C = alpha * A * B + beta * C, row major, any M, N, K: 16 x 16 tiles in
// shared memory, each thread two rows of C, bounds checked everywhere.

constexpr int kTile = 16;

extern "C" __global__ void gemm_tiled(const float *__restrict__ a,
                                      const float *__restrict__ b, float *c,
                                      int m, int n, int k, float alpha,
                                      float beta)
{
    __shared__ float as[kTile][kTile + 1];
    __shared__ float bs[kTile][kTile];
    int tx = threadIdx.x;
    int ty = threadIdx.y;  // 0..7
    int row = blockIdx.y * kTile + ty;
    int col = blockIdx.x * kTile + tx;
    float sum0 = 0.0f;
    float sum1 = 0.0f;

    for (int k0 = 0; k0 < k; k0 += kTile) {
#pragma unroll
        for (int half = 0; half < kTile; half += kTile / 2) {
            int ar = row + half;
            int ac = k0 + tx;
            int br = k0 + ty + half;
            as[ty + half][tx] = ar < m && ac < k ? a[ar * k + ac] : 0.0f;
            bs[ty + half][tx] = br < k && col < n ? b[br * n + col] : 0.0f;
        }
        __syncthreads();
#pragma unroll
        for (int i = 0; i < kTile; i++) {
            float bv = bs[i][tx];
            sum0 = fmaf(as[ty][i], bv, sum0);
            sum1 = fmaf(as[ty + kTile / 2][i], bv, sum1);
        }
        __syncthreads();
    }

    if (col >= n)
        return;
    if (row < m) {
        float old = beta == 0.0f ? 0.0f : beta * c[row * n + col];
        c[row * n + col] = alpha * sum0 + old;
    }
    row += kTile / 2;
    if (row < m) {
        float old = beta == 0.0f ? 0.0f : beta * c[row * n + col];
        c[row * n + col] = alpha * sum1 + old;
    }
}

// What everybody writes first: one dot product per thread.
extern "C" __global__ void gemm_naive(const float *a, const float *b, float *c,
                                      int m, int n, int k)
{
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    int row = blockIdx.y * blockDim.y + threadIdx.y;

    if (row >= m || col >= n)
        return;
    float sum = 0.0f;
    for (int i = 0; i < k; i++)
        sum += a[row * k + i] * b[i * n + col];
    c[row * n + col] = sum;
}
