// Searches in texts and tables.
#include "slice.h"

using Text = Slice<unsigned char, unsigned>;
using Words = Slice<unsigned, unsigned>;

// The best local alignment of a pattern with a text; each thread has a pattern and a row of scores.
extern "C" __global__ void smith_waterman(unsigned char *text, unsigned char *patterns, int *scores, int *best, unsigned n, unsigned m,
                                          unsigned lt, unsigned lp, unsigned ls, unsigned lb)
{
    Text T = {text, lt}, P = {patterns, lp};
    Ints Row = {scores, ls}, Best = {best, lb};
    unsigned thread = threadIdx.x + blockDim.x * blockIdx.x, base = thread * n;
    int most = 0;
    for (unsigned i = 0; i < m; i++) {
        int diagonal = 0, left = 0;
        unsigned letter = P[thread * m + i];
        for (unsigned j = 0; j < n; j++) {
            int above = Row[base + j], score = max(diagonal + (T[j] == letter ? 2 : -1), max(max(above, left) - 1, 0));
            diagonal = above;
            Row[base + j] = left = score;
            most = max(most, score);
        }
    }
    Best[thread] = most;
}

// Keys of one table are looked up in the hash table of another, by linear probing; 0 is no key.
extern "C" __global__ void hash_probe(unsigned *probe, unsigned *keys, unsigned *values, unsigned *out, unsigned n, unsigned mask,
                                      unsigned lp, unsigned lk, unsigned lv, unsigned lo)
{
    Words Probe = {probe, lp}, Keys = {keys, lk}, Values = {values, lv}, Out = {out, lo};
    unsigned thread = threadIdx.x + blockDim.x * blockIdx.x, threads = blockDim.x * gridDim.x;
    for (unsigned i = thread; i < n; i += threads) {
        unsigned key = Probe[i], slot = key * 0x9e3779b1u & mask;
        while (Keys[slot] != key && Keys[slot] != 0)
            slot = (slot + 1) & mask;
        Out[i] = Keys[slot] == key ? Values[slot] : 0;
    }
}

// Where each thread's part of a text has a pattern.
extern "C" __global__ void find(unsigned char *text, unsigned char *pattern, unsigned *out, unsigned n, unsigned m, unsigned lt,
                                unsigned lp, unsigned lo)
{
    Text T = {text, lt}, P = {pattern, lp};
    Words Out = {out, lo};
    unsigned thread = threadIdx.x + blockDim.x * blockIdx.x, count = 0;
    for (unsigned i = thread * n; i < thread * n + n; i++) {
        bool equal = true;
        for (unsigned j = 0; j < m && equal; j++)
            equal = T[i + j] == P[j];
        count += equal;
    }
    Out[thread] = count;
}

// Words of a text: letters that follow a blank.
extern "C" __global__ void words(unsigned char *text, unsigned char *pattern, unsigned *out, unsigned n, unsigned m, unsigned lt,
                                 unsigned lp, unsigned lo)
{
    Text T = {text, lt};
    Words Out = {out, lo};
    unsigned thread = threadIdx.x + blockDim.x * blockIdx.x, count = 0;
    for (unsigned i = thread * n; i < thread * n + n; i++)
        count += T[i] == ' ' && T[i + 1] != ' ';
    Out[thread] = count;
}
