// N queens by bit masks: every thread takes one placement of the first two
// rows and searches the rest by backtracking, first with an explicit stack,
// then, to compare, by recursion.

constexpr int kMaxQueens = 10;

extern "C" __global__ void queens_stack(int n, unsigned *solutions)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t >= n * n)
        return;
    int first = t / n;
    int second = t % n;
    if (first - second <= 1 && second - first <= 1)
        return;

    unsigned all = (1u << n) - 1;
    unsigned columns[kMaxQueens], left[kMaxQueens], right[kMaxQueens];
    unsigned open[kMaxQueens];
    int row = 2;
    columns[2] = 1u << first | 1u << second;
    left[2] = (1u << first << 2 | 1u << second << 1) & all;
    right[2] = 1u << first >> 2 | 1u << second >> 1;
    open[2] = all & ~(columns[2] | left[2] | right[2]);
    unsigned found = 0;

    while (row >= 2) {
        if (open[row] == 0) {
            row--;  // backtrack
            continue;
        }
        unsigned bit = open[row] & (0u - open[row]);
        open[row] ^= bit;
        if (row + 1 == n) {
            found++;
            continue;
        }
        columns[row + 1] = columns[row] | bit;
        left[row + 1] = (left[row] | bit) << 1 & all;
        right[row + 1] = (right[row] | bit) >> 1;
        row++;
        open[row] = all & ~(columns[row] | left[row] | right[row]);
    }
    if (found)
        atomicAdd(solutions, found);
}

__device__ __noinline__ unsigned place(unsigned all, unsigned columns,
                                       unsigned left, unsigned right)
{
    if (columns == all)
        return 1;
    unsigned found = 0;
    for (unsigned open = all & ~(columns | left | right); open;) {
        unsigned bit = open & (0u - open);
        open ^= bit;
        found += place(all, columns | bit, (left | bit) << 1,
                       (right | bit) >> 1);
    }
    return found;
}

extern "C" __global__ void queens_recursive(int n, unsigned *solutions)
{
    int t = threadIdx.x;
    if (t >= n)
        return;
    unsigned bit = 1u << t;
    unsigned found = place((1u << n) - 1, bit, bit << 1, bit >> 1);
    atomicAdd(solutions, found);
}
