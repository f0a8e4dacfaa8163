// Look-ups in ordered structures: a binary search tree in arrays (floor and
// range sums by a stack walk), and lower_bound with and without branches.

constexpr int kMaxDepth = 32;

// Builds a balanced tree over sorted keys: node i of the tree in-order is
// key i; children are the middles of the halves. One thread per node finds its
// place by descending from the root interval.
extern "C" __global__ void tree_build(int n, int *left, int *right)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    int lo = 0, hi = n;  // the interval whose middle is i, in the end
    for (;;) {
        int mid = (lo + hi) >> 1;
        if (i == mid)
            break;
        if (i < mid)
            hi = mid;
        else
            lo = mid + 1;
    }
    left[i] = lo < i ? (lo + i) >> 1 : -1;
    right[i] = i + 1 < hi ? (i + 1 + hi) >> 1 : -1;
}

// Greatest key <= query, and how many comparisons that took.
extern "C" __global__ void tree_floor(const int *key, const int *left,
                                      const int *right, int n,
                                      const int *query, int *floor_key,
                                      int *steps, int queries)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t >= queries)
        return;
    int q = query[t];
    int node = n > 0 ? n >> 1 : -1;
    int best = (int)0x80000000;
    int count = 0;

    while (node >= 0) {
        int k = key[node];
        count++;
        if (k == q) {
            best = k;
            break;
        }
        if (k < q) {
            best = k;
            node = right[node];
        } else {
            node = left[node];
        }
    }
    floor_key[t] = best;
    steps[t] = count;
}

// Sum of the keys in [low, high], by an in-order walk that prunes.
extern "C" __global__ void tree_range_sum(const int *key, const int *left,
                                          const int *right, int n,
                                          const int *low, const int *high,
                                          long long *sum, int queries)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t >= queries)
        return;
    int stack[kMaxDepth];
    int sp = 0;
    int node = n >> 1;
    long long total = 0;

    while (node >= 0 || sp > 0) {
        if (node >= 0) {
            if (key[node] < low[t]) {
                node = right[node];  // nothing to the left can count
                continue;
            }
            stack[sp++] = node;
            node = left[node];
        } else {
            node = stack[--sp];
            if (key[node] > high[t])
                break;
            total += key[node];
            node = right[node];
        }
    }
    sum[t] = total;
}

// Branch-free descent in a sorted array of 2^k - 1 keys, and the usual
// lower_bound; both give the same index.
extern "C" __global__ void lower_bounds(const int *key, int n,
                                        const int *query, int *index,
                                        int queries, unsigned *mismatches)
{
    for (int t = blockIdx.x * blockDim.x + threadIdx.x; t < queries;
         t += blockDim.x * gridDim.x) {
        int q = query[t];
        int base = 0;
        for (int half = (n + 1) >> 1; half > 0; half >>= 1)
            base += key[base + half - 1] < q ? half : 0;

        int lo = 0, hi = n;
        while (lo < hi) {
            int mid = lo + (hi - lo) / 2;
            if (key[mid] < q)
                lo = mid + 1;
            else
                hi = mid;
        }
        index[t] = lo;
        if (lo != base)
            atomicAdd(mismatches, 1u);
    }
}
