/* splitmix64 (Steele, Lea, Flood, 2014): numbers that are the same on every machine. */
#ifndef PTXOPT_BASE_RANDOM_H
#define PTXOPT_BASE_RANDOM_H

#include "base/types.h"

/* A number that shows no relation to z, and differs for each z. */
static inline u64 random_mix(u64 z)
{
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

/* The next number of the sequence; *state begins as a seed. */
static inline u64 splitmix64(u64 *state) { return random_mix(*state += 0x9e3779b97f4a7c15u); }

#endif
