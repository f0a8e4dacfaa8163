// Canonical Huffman decoding of independent bit streams: a table for short
// codes, a bit-by-bit walk for long ones. The code lengths come first as
// counts per length, then the symbols in order.

constexpr int kMaxBits = 12;
constexpr int kFastBits = 5;

extern "C" __global__ void huffman(const unsigned char *bits,
                                   const int *stream_start,
                                   const unsigned short *length_count,
                                   const unsigned char *symbols,
                                   unsigned char *out, int capacity,
                                   int *produced, int streams)
{
    __shared__ unsigned short fast[1 << kFastBits];  // symbol << 4 | length

    for (int i = threadIdx.x; i < 1 << kFastBits; i += blockDim.x) {
        int code = 0, first = 0, index = 0;
        unsigned short entry = 0;
        for (int length = 1; length <= kFastBits; length++) {
            code |= i >> (kFastBits - length) & 1;
            int count = length_count[length];
            if (code - count < first) {
                entry = (unsigned short)(symbols[index + code - first] << 4 |
                                         length);
                break;
            }
            index += count;
            first = (first + count) << 1;
            code <<= 1;
        }
        fast[i] = entry;
    }
    __syncthreads();

    int s = blockIdx.x * blockDim.x + threadIdx.x;
    if (s >= streams)
        return;
    int at = stream_start[s] * 8;
    int end = stream_start[s + 1] * 8;
    unsigned char *dst = out + s * capacity;
    int n = 0;

    while (n < capacity) {
        if (end - at >= kFastBits) {
            int window = bits[at >> 3] << 8;
            if ((at >> 3) + 1 < end >> 3)
                window |= bits[(at >> 3) + 1];
            int entry =
                fast[window >> (16 - kFastBits - (at & 7)) &
                     ((1 << kFastBits) - 1)];
            if (entry) {
                at += entry & 15;
                dst[n++] = (unsigned char)(entry >> 4);
                continue;
            }
        }
        int code = 0, first = 0, index = 0, length = 1;
        int symbol = -1;
        for (; length <= kMaxBits && at < end; length++, at++) {
            code |= bits[at >> 3] >> (7 - (at & 7)) & 1;
            int count = length_count[length];
            if (code - count < first) {
                symbol = symbols[index + code - first];
                at++;
                break;
            }
            index += count;
            first = (first + count) << 1;
            code <<= 1;
        }
        if (symbol < 0 || symbol == 0)
            break;  // no such code, out of bits, or the end symbol
        dst[n++] = (unsigned char)symbol;
    }
    produced[s] = n;
}
