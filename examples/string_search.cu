// String search: Knuth-Morris-Pratt per chunk, with the failure table made
// once per block, and Boyer-Moore-Horspool with its skip table.

constexpr int kMaxPattern = 32;
constexpr int kSymbols = 128;

extern "C" __global__ void search_kmp(const char *text, int length,
                                      const char *pattern, int m, int chunk,
                                      int *first, unsigned *count)
{
    __shared__ int fail[kMaxPattern];

    if (threadIdx.x == 0) {
        fail[0] = 0;
        int k = 0;
        for (int i = 1; i < m; i++) {
            while (k > 0 && pattern[i] != pattern[k])
                k = fail[k - 1];
            if (pattern[i] == pattern[k])
                k++;
            fail[i] = k;
        }
    }
    __syncthreads();

    int begin = (blockIdx.x * blockDim.x + threadIdx.x) * chunk;
    // Matches that start in the chunk may end after it.
    int end = min(length, begin + chunk + m - 1);
    int k = 0;
    unsigned found = 0;
    int earliest = 0x7fffffff;
    for (int i = begin; i < end; i++) {
        char c = text[i];
        while (k > 0 && c != pattern[k])
            k = fail[k - 1];
        if (c == pattern[k])
            k++;
        if (k == m) {
            if (found++ == 0)
                earliest = i - m + 1;
            k = fail[k - 1];
        }
    }
    __syncthreads();
    if (found) {
        atomicAdd(count, found);
        atomicMin(first, earliest);
    }
}

extern "C" __global__ void search_horspool(const char *text, int length,
                                           const char *pattern, int m,
                                           int chunk, int *first,
                                           unsigned *count)
{
    __shared__ int skip[kSymbols];

    for (int s = threadIdx.x; s < kSymbols; s += blockDim.x) {
        int last = -1;
        for (int i = 0; i < m - 1; i++)
            if (pattern[i] == s)
                last = i;
        skip[s] = m - 1 - last;
    }
    __syncthreads();

    int at = (blockIdx.x * blockDim.x + threadIdx.x) * chunk;
    int stop = min(length - m + 1, at + chunk);
    while (at < stop) {
        char tail = text[at + m - 1];
        if (tail == pattern[m - 1]) {
            int i = m - 2;
            while (i >= 0 && text[at + i] == pattern[i])
                i--;
            if (i < 0) {
                atomicAdd(count, 1u);
                atomicMin(first, at);
            }
        }
        at += skip[tail & (kSymbols - 1)];
    }
}
