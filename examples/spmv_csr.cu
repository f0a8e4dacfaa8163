// Sparse matrix (CSR) times vector: one row per thread, and one row per warp
// with a shuffle reduction.

extern "C" __global__ void spmv_scalar(const int *row_start, const int *column,
                                       const float *value, const float *x,
                                       float *y, int rows)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows)
        return;
    float sum = 0.0f;
    int end = row_start[row + 1];
    for (int i = row_start[row]; i < end; i++)
        sum += value[i] * x[column[i]];
    y[row] = sum;
}

extern "C" __global__ void spmv_vector(const int *__restrict__ row_start,
                                       const int *__restrict__ column,
                                       const float *__restrict__ value,
                                       const float *__restrict__ x,
                                       float *__restrict__ y, int rows,
                                       float alpha, float beta)
{
    int lane = threadIdx.x & 31;
    int warp = (blockIdx.x * blockDim.x + threadIdx.x) >> 5;
    int warps = (gridDim.x * blockDim.x) >> 5;

    for (int row = warp; row < rows; row += warps) {
        int begin = row_start[row];
        int end = row_start[row + 1];
        float sum = 0.0f;

        if (end - begin > 32) {
            // Long row: an aligned start first, so that later loads coalesce.
            int i = begin - (begin & 31) + lane;
            if (i >= begin && i < end)
                sum += value[i] * x[column[i]];
            for (i += 32; i < end; i += 32)
                sum += value[i] * x[column[i]];
        } else {
            for (int i = begin + lane; i < end; i += 32)
                sum += value[i] * x[column[i]];
        }
        for (int offset = 16; offset > 0; offset >>= 1)
            sum += __shfl_xor_sync(0xffffffffu, sum, offset);
        if (lane == 0)
            y[row] = beta == 0.0f ? alpha * sum : alpha * sum + beta * y[row];
    }
}
