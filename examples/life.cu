// Game of Life: one cell per thread on a torus with a rule switch, and a
// bit-parallel version, 32 cells per word, with full adders.

extern "C" __global__ void life_cells(const unsigned char *in,
                                      unsigned char *out, int width,
                                      int height)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height)
        return;

    int alive = 0;
    for (int dy = -1; dy <= 1; dy++) {
        for (int dx = -1; dx <= 1; dx++) {
            if (dx == 0 && dy == 0)
                continue;
            int nx = x + dx;
            int ny = y + dy;
            if (nx < 0)
                nx = width - 1;
            else if (nx >= width)
                nx = 0;
            if (ny < 0)
                ny = height - 1;
            else if (ny >= height)
                ny = 0;
            alive += in[ny * width + nx];
        }
    }
    unsigned char next;
    switch (alive) {
    case 2: next = in[y * width + x]; break;
    case 3: next = 1; break;
    default: next = 0; break;
    }
    out[y * width + x] = next;
}

// Rows of `words` words; cells outside the board are dead.
extern "C" __global__ void life_words(const unsigned *in, unsigned *out,
                                      int words, int height)
{
    int cells = words * height;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < cells;
         i += gridDim.x * blockDim.x) {
        int x = i % words;
        int y = i / words;
        unsigned ones = 0, twos = 0, fours = 0;

        for (int dy = -1; dy <= 1; dy++) {
            if (y + dy < 0 || y + dy >= height)
                continue;
            const unsigned *row = in + (y + dy) * words;
            unsigned here = row[x];
            unsigned left = x > 0 ? row[x - 1] : 0;
            unsigned right = x + 1 < words ? row[x + 1] : 0;
            unsigned term[3] = {__funnelshift_l(left, here, 1),
                                dy == 0 ? 0 : here,
                                __funnelshift_r(here, right, 1)};
#pragma unroll
            for (int k = 0; k < 3; k++) {
                unsigned carry = ones & term[k];
                ones ^= term[k];
                unsigned carry2 = twos & carry;
                twos ^= carry;
                fours |= carry2;
            }
        }
        out[i] = twos & ~fours & (ones | in[i]);
    }
}
