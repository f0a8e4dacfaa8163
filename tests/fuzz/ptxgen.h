/* Random kernels. The text is a function of the options alone.
 *
 * A kernel is valid by construction: ptxas takes it; every register is written before it is read on every path; accesses
 * are in bounds; loops are bounded; two threads touch the same memory only across a barrier, or by reductions that
 * commute; barriers stand under control that is uniform in the CTA, warp operations where all lanes that they name come
 * (split barriers, one in either arm, are the exception that the ISA allows). Lanes wait for others, which
 * come, leave or set a flag without waiting for them, wherever early exits move reconvergence points to. Only the variables flags
 * and posted are raced for: by weak polls. Its output does
 * not depend on how warps interleave. */
#ifndef PTXOPT_TESTS_FUZZ_PTXGEN_H
#define PTXOPT_TESTS_FUZZ_PTXGEN_H

#include "text.h"

enum GenFeature {
#define FEATURE(id, name, what) GEN_##id,
#include "features.def"
#undef FEATURE
    GEN_FEATURES
};
#define GEN_ALL (UINT64_MAX >> (64 - GEN_FEATURES))

typedef struct GenOptions {
    u64 seed;
    u32 size;     /* statements, roughly */
    u64 features; /* bits 1 << GenFeature */
    bool mix;     /* leave out some of the features, by the seed: fewer of them come closer to one another */
} GenOptions;

/* Appends the module to ptx, and its launch description (tests/exec/LAUNCH.md) to launch unless that is NULL. */
void ptxgen(const GenOptions *options, Text *ptx, Text *launch);

/* GenFeature by name, GEN_FEATURES if there is none. */
u32 ptxgen_feature(const char *name, size_t len);
/* A list with commas to a set; false, with a message, where a name is none. */
bool ptxgen_features(const char *list, u64 *set);

#endif
