// Smith-Waterman local alignment with affine gaps: one block per pair of
// sequences, anti-diagonals in lock-step, three rolling diagonals in shared
// memory, then a block-wide maximum.

constexpr int kMaxQuery = 64;
constexpr int kNegative = -(1 << 28);

__device__ __forceinline__ int substitution(char a, char b)
{
    if (a == b)
        return 5;
    // Transitions cost less than transversions.
    bool purines = (a == 'A' || a == 'G') && (b == 'A' || b == 'G');
    bool pyrimidines = (a == 'C' || a == 'T') && (b == 'C' || b == 'T');
    return purines || pyrimidines ? -2 : -4;
}

extern "C" __global__ void smith_waterman(const char *query, int query_stride,
                                          const int *query_length,
                                          const char *target,
                                          int target_stride,
                                          const int *target_length,
                                          int gap_open, int gap_extend,
                                          int *score, int *end)
{
    __shared__ int h[3][kMaxQuery + 1];
    __shared__ int f[2][kMaxQuery + 1];
    __shared__ int e[2][kMaxQuery + 1];
    __shared__ int best[kMaxQuery];
    __shared__ int where[kMaxQuery];
    int t = threadIdx.x;  // row of the matrix, from 0
    int m = query_length[blockIdx.x];
    int n = target_length[blockIdx.x];
    const char *q = query + blockIdx.x * query_stride;
    const char *s = target + blockIdx.x * target_stride;
    char mine = t < m ? q[t] : 0;
    int top = 0;
    int top_at = -1;

    for (int i = t; i <= kMaxQuery; i += blockDim.x) {
        h[0][i] = h[1][i] = h[2][i] = 0;
        f[0][i] = f[1][i] = kNegative;
        e[0][i] = e[1][i] = kNegative;
    }
    __syncthreads();

    int now = 2, prev = 1, prev2 = 0;
    for (int diagonal = 0; diagonal < m + n - 1; diagonal++) {
        int column = diagonal - t;
        if (t < m && column >= 0 && column < n) {
            int p = diagonal & 1;
            // Left is (t, column - 1): my row on the previous diagonal.
            int left = column > 0 ? h[prev][t + 1] : 0;
            int gap_left = column > 0 ? e[p ^ 1][t + 1] : kNegative;
            int up = h[prev][t];
            int gap_up = f[p ^ 1][t];
            int corner = column > 0 ? h[prev2][t] : 0;
            int from_left = max(left - gap_open, gap_left - gap_extend);
            int from_up = max(up - gap_open, gap_up - gap_extend);
            int v = corner + substitution(mine, s[column]);

            if (from_left > v)
                v = from_left;
            if (from_up > v)
                v = from_up;
            if (v < 0)
                v = 0;
            h[now][t + 1] = v;
            e[p][t + 1] = from_left;
            f[p][t + 1] = from_up;
            if (v > top) {
                top = v;
                top_at = column;
            }
        }
        __syncthreads();
        int free = prev2;
        prev2 = prev;
        prev = now;
        now = free;
    }

    if (t < kMaxQuery) {
        best[t] = top;
        where[t] = top_at;
    }
    __syncthreads();
    if (t == 0) {
        int winner = 0;
        for (int i = 1; i < m; i++)
            if (best[i] > best[winner])
                winner = i;
        score[blockIdx.x] = best[winner];
        end[2 * blockIdx.x] = winner;
        end[2 * blockIdx.x + 1] = where[winner];
    }
}
