// One merge pass of a bottom-up merge sort: every thread finds its share of
// the output by a binary search along its diagonal (merge path), then merges
// serially. The sort runs it log2(n) times with doubling widths. Stable.

constexpr int kPerThread = 4;

// How many of the first `diagonal` outputs come from a.
__device__ int merge_path(const int *a, int a_count, const int *b, int b_count,
                          int diagonal)
{
    int low = diagonal > b_count ? diagonal - b_count : 0;
    int high = diagonal < a_count ? diagonal : a_count;

    while (low < high) {
        int mid = (low + high) >> 1;
        if (a[mid] <= b[diagonal - 1 - mid])
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

extern "C" __global__ void merge_pass(const int *__restrict__ in, int *out,
                                      int n, int width)
{
    int start = (blockIdx.x * blockDim.x + threadIdx.x) * kPerThread;
    if (start >= n)
        return;

    // A thread's outputs may span several pairs of runs when width is small.
    int end = min(start + kPerThread, n);
    while (start < end) {
        int pair = start / (2 * width) * (2 * width);
        int a_count = min(width, n - pair);
        int b_count = min(width, max(0, n - pair - width));
        const int *a = in + pair;
        const int *b = a + a_count;
        int diagonal = start - pair;
        int i = merge_path(a, a_count, b, b_count, diagonal);
        int j = diagonal - i;
        int stop = min(end, pair + a_count + b_count);

        for (; start < stop; start++) {
            if (j >= b_count || (i < a_count && a[i] <= b[j]))
                out[start] = a[i++];
            else
                out[start] = b[j++];
        }
    }
}

// Counts the places where the order is wrong: 0 after a sort.
extern "C" __global__ void count_descents(const int *in, int n,
                                          unsigned *descents)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    bool bad = i + 1 < n && in[i] > in[i + 1];
    unsigned votes = __ballot_sync(0xffffffffu, bad);

    if ((threadIdx.x & 31) == 0 && votes)
        atomicAdd(descents, __popc(votes));
}
