// Causal attention with an online softmax: keys and values stream through
// shared memory in tiles, one warp owns one query, the running maximum is
// rescaled only when it moves, and whole tiles above the diagonal are skipped.

constexpr int kDim = 32;    // head size: one lane per component
constexpr int kTile = 16;   // keys per tile
constexpr int kWarps = 4;   // queries per block

extern "C" __global__ void attention(const float *__restrict__ q,
                                     const float *__restrict__ k,
                                     const float *__restrict__ v, float *out,
                                     int length, float scale, int causal)
{
    __shared__ float ks[kTile][kDim];
    __shared__ float vs[kTile][kDim];
    int lane = threadIdx.x;
    int warp = threadIdx.y;
    int query = blockIdx.x * kWarps + warp;
    bool active = query < length;
    float qv = active ? q[query * kDim + lane] * scale : 0.0f;
    float top = -INFINITY;
    float sum = 0.0f;
    float acc = 0.0f;
    int last = min(blockIdx.x * kWarps + kWarps, length);
    int keys = causal ? last : length;

    for (int start = 0; start < keys; start += kTile) {
        __syncthreads();
        for (int r = warp; r < kTile; r += kWarps) {
            bool inside = start + r < length;
            int at = (start + r) * kDim + lane;
            ks[r][lane] = inside ? k[at] : 0.0f;
            vs[r][lane] = inside ? v[at] : 0.0f;
        }
        __syncthreads();
        if (!active)
            continue;

        int count = min(kTile, length - start);
        for (int j = 0; j < count; j++) {
            if (causal && start + j > query)
                break;
            float score = qv * ks[j][lane];
#pragma unroll
            for (int mask = 16; mask > 0; mask >>= 1)
                score += __shfl_xor_sync(0xffffffffu, score, mask);
            if (score > top) {
                float shrink = __expf(top - score);
                sum *= shrink;
                acc *= shrink;
                top = score;
            }
            float p = __expf(score - top);
            sum += p;
            acc += p * vs[j][lane];
        }
    }
    if (active)
        out[query * kDim + lane] = acc / sum;
}
