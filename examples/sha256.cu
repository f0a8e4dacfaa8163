// SHA-256 of many short messages, one per thread: padding on the fly, the
// message schedule in a rolling window of 16 words.

__constant__ unsigned round_constant[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1,
    0x923f82a4, 0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3,
    0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786,
    0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147,
    0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13,
    0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b,
    0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a,
    0x5b9cca4f, 0x682e6ff3, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208,
    0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

__device__ __forceinline__ unsigned rotr(unsigned x, int n)
{
    return __funnelshift_r(x, x, n);
}

__device__ __noinline__ void sha256_block(unsigned *state, unsigned *w)
{
    unsigned a = state[0], b = state[1], c = state[2], d = state[3];
    unsigned e = state[4], f = state[5], g = state[6], h = state[7];

    for (int i = 0; i < 64; i++) {
        if (i >= 16) {
            unsigned w15 = w[(i + 1) & 15];
            unsigned w2 = w[(i + 14) & 15];
            unsigned s0 = rotr(w15, 7) ^ rotr(w15, 18) ^ (w15 >> 3);
            unsigned s1 = rotr(w2, 17) ^ rotr(w2, 19) ^ (w2 >> 10);
            w[i & 15] += s0 + w[(i + 9) & 15] + s1;
        }
        unsigned e1 = rotr(e, 6) ^ rotr(e, 11) ^ rotr(e, 25);
        unsigned ch = (e & f) ^ (~e & g);
        unsigned t1 = h + e1 + ch + round_constant[i] + w[i & 15];
        unsigned a0 = rotr(a, 2) ^ rotr(a, 13) ^ rotr(a, 22);
        unsigned maj = (a & b) ^ (a & c) ^ (b & c);
        h = g;
        g = f;
        f = e;
        e = d + t1;
        d = c;
        c = b;
        b = a;
        a = t1 + a0 + maj;
    }
    state[0] += a;
    state[1] += b;
    state[2] += c;
    state[3] += d;
    state[4] += e;
    state[5] += f;
    state[6] += g;
    state[7] += h;
}

// The byte at `i` of the padded message.
__device__ unsigned padded_byte(const unsigned char *message, unsigned length,
                                unsigned total, unsigned i)
{
    if (i < length)
        return message[i];
    if (i == length)
        return 0x80;
    if (i >= total - 4)
        return (length * 8) >> (8 * (total - 1 - i)) & 0xff;
    return 0;
}

extern "C" __global__ void sha256(const unsigned char *data,
                                  const unsigned *start, unsigned *digest,
                                  unsigned messages)
{
    unsigned m = blockIdx.x * blockDim.x + threadIdx.x;
    if (m >= messages)
        return;

    const unsigned char *message = data + start[m];
    unsigned length = start[m + 1] - start[m];
    unsigned total = (length + 9 + 63) & ~63u;
    unsigned state[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                         0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    unsigned w[16];

    for (unsigned at = 0; at < total; at += 64) {
        for (int i = 0; i < 16; i++) {
            unsigned word = 0;
            for (int b = 0; b < 4; b++)
                word = word << 8 |
                       padded_byte(message, length, total, at + 4 * i + b);
            w[i] = word;
        }
        sha256_block(state, w);
    }
    for (int i = 0; i < 8; i++)
        digest[8 * m + i] = state[i];
}
