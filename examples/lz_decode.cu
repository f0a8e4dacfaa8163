// Decoder for an LZ77 byte format, one independent chunk per thread. A token
// byte holds a literal count (high nibble) and a match length - 3 (low
// nibble); 15 means that bytes follow which add up, until one is not 255.
// Then come the literals and a little-endian 16-bit distance. A chunk ends
// after literals where no input is left.

constexpr int kErrorInput = -1;     // ran out of input in mid-token
constexpr int kErrorOutput = -2;    // output is full
constexpr int kErrorDistance = -3;  // match before the start of the chunk

__device__ bool extend(const unsigned char *&in, const unsigned char *end,
                       int &length)
{
    unsigned b;
    do {
        if (in >= end)
            return false;
        b = *in++;
        length += b;
    } while (b == 255);
    return true;
}

extern "C" __global__ void lz_decode(const unsigned char *input,
                                     const int *chunk_start,
                                     unsigned char *output, int capacity,
                                     int *sizes, int chunks)
{
    int chunk = blockIdx.x * blockDim.x + threadIdx.x;
    if (chunk >= chunks)
        return;

    const unsigned char *in = input + chunk_start[chunk];
    const unsigned char *end = input + chunk_start[chunk + 1];
    unsigned char *const first = output + chunk * capacity;
    unsigned char *const limit = first + capacity;
    unsigned char *out = first;
    int error = 0;

    while (in < end) {
        unsigned token = *in++;
        int literals = token >> 4;
        int match = token & 15;

        if (literals == 15 && !extend(in, end, literals)) {
            error = kErrorInput;
            break;
        }
        if (literals > end - in) {
            error = kErrorInput;
            break;
        }
        if (literals > limit - out) {
            error = kErrorOutput;
            break;
        }
        for (int i = 0; i < literals; i++)
            *out++ = *in++;
        if (in == end)
            break;  // the last token has no match

        if (end - in < 2) {
            error = kErrorInput;
            break;
        }
        int distance = in[0] | in[1] << 8;
        in += 2;
        if (match == 15 && !extend(in, end, match)) {
            error = kErrorInput;
            break;
        }
        match += 3;
        if (distance == 0 || distance > out - first) {
            error = kErrorDistance;
            break;
        }
        if (match > limit - out) {
            error = kErrorOutput;
            break;
        }
        const unsigned char *from = out - distance;
        if (distance == 1) {
            unsigned char b = *from;  // a run
            for (; match > 0; match--)
                *out++ = b;
        } else {
            do {
                *out++ = *from++;
            } while (--match > 0);
        }
    }
    sizes[chunk] = error ? error : (int)(out - first);
}
