/* Bounds on effort and size, which keep the program linear. tests/limits/limits.txt says of each what it bounds, and what the
 * answer beyond it is; `make limits` counts how often each is reached. Other builds ask the condition, and nothing else. */
#ifndef PTXOPT_BASE_BOUND_H
#define PTXOPT_BASE_BOUND_H

#include "base/types.h"

#ifdef PTXOPT_LIMITS
typedef struct __attribute__((aligned(32))) Bound { /* so that they are an array */
    const char *name, *file;
    u64 reached;
} Bound;
#define BOUND_COUNT(text, condition, beyond)                                                             \
    ({                                                                                                   \
        static Bound bound_ __attribute__((section("bounds"), used)) = {.name = text, .file = __FILE__}; \
        bool holds_ = (condition);                                                                       \
        bound_.reached += holds_ == (beyond);                                                            \
        holds_;                                                                                          \
    })
#define BEYOND(bound, condition) BOUND_COUNT(#bound, condition, true)
#define WITHIN(bound, condition) BOUND_COUNT(#bound, condition, false)
#else
/* The condition, which is true if the bound of that name is reached. */
#define BEYOND(bound, condition) (condition)
/* The condition, which is false then. */
#define WITHIN(bound, condition) (condition)
#endif

#endif
