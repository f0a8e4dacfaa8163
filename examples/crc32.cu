// CRC-32 (reflected, polynomial 0xedb88320): by table in shared memory, by
// bits, and the combination of chunk CRCs by multiplication in GF(2).

constexpr unsigned kPolynomial = 0xedb88320u;

__device__ unsigned crc_bits(unsigned crc, unsigned byte)
{
    crc ^= byte;
    for (int b = 0; b < 8; b++) {
        if (crc & 1)
            crc = crc >> 1 ^ kPolynomial;
        else
            crc >>= 1;
    }
    return crc;
}

// a * b modulo the polynomial, both reflected.
__device__ __noinline__ unsigned gf2_multiply(unsigned a, unsigned b)
{
    unsigned product = 0;
    for (unsigned bit = 1u << 31; a; bit >>= 1) {
        if (a & bit) {
            product ^= b;
            a &= ~bit;
        }
        b = b & 1 ? b >> 1 ^ kPolynomial : b >> 1;
    }
    return product;
}

// x^(8 * bytes) by squaring.
__device__ unsigned gf2_shift(unsigned bytes)
{
    unsigned result = 1u << 31;
    unsigned square = 1u << 23;
    while (bytes) {
        if (bytes & 1)
            result = gf2_multiply(square, result);
        square = gf2_multiply(square, square);
        bytes >>= 1;
    }
    return result;
}

extern "C" __global__ void crc32_chunks(const unsigned char *data, int length,
                                        int chunk, unsigned *crcs)
{
    __shared__ unsigned table[256];

    for (int i = threadIdx.x; i < 256; i += blockDim.x)
        table[i] = crc_bits(0, i);
    __syncthreads();

    int t = blockIdx.x * blockDim.x + threadIdx.x;
    int begin = t * chunk;
    if (begin >= length)
        return;
    int end = min(begin + chunk, length);
    unsigned crc = 0xffffffffu;
    int i = begin;
    for (; i + 4 <= end; i += 4) {
        crc = crc >> 8 ^ table[(crc ^ data[i]) & 0xff];
        crc = crc >> 8 ^ table[(crc ^ data[i + 1]) & 0xff];
        crc = crc >> 8 ^ table[(crc ^ data[i + 2]) & 0xff];
        crc = crc >> 8 ^ table[(crc ^ data[i + 3]) & 0xff];
    }
    for (; i < end; i++)
        crc = crc >> 8 ^ table[(crc ^ data[i]) & 0xff];
    crcs[t] = ~crc;
}

extern "C" __global__ void crc32_combine(const unsigned *crcs, int length,
                                         int chunk, unsigned *result)
{
    if (threadIdx.x != 0)
        return;
    unsigned crc = 0;
    unsigned shift = gf2_shift(chunk);
    for (int begin = 0; begin < length; begin += chunk) {
        int size = min(chunk, length - begin);
        unsigned by = size == chunk ? shift : gf2_shift(size);
        crc = gf2_multiply(by, crc) ^ crcs[begin / chunk];
    }
    *result = crc;
}

// The whole by bits, to compare with.
extern "C" __global__ void crc32_serial(const unsigned char *data, int length,
                                        unsigned *result)
{
    if (blockIdx.x * blockDim.x + threadIdx.x > 0)
        return;
    unsigned crc = 0xffffffffu;
    for (int i = 0; i < length; i++)
        crc = crc_bits(crc, data[i]);
    *result = ~crc;
}
