/* Binary search. */
#ifndef PTXOPT_BASE_SEARCH_H
#define PTXOPT_BASE_SEARCH_H

#include "base/types.h"

/* The first k of low .. high - 1 for which `before`, an expression in k, is false; high if there is none. `before` must be
 * true up to some place, and false after it. */
#define partition_point(k, low, high, before)  \
    ({                                         \
        u32 low_ = (low), high_ = (high);      \
        while (low_ < high_) {                 \
            u32 k = low_ + (high_ - low_) / 2; \
            if (before)                        \
                low_ = k + 1;                  \
            else                               \
                high_ = k;                     \
        }                                      \
        low_;                                  \
    })

#endif
