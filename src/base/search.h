/* Binary search. */
#ifndef PTXOPT_BASE_SEARCH_H
#define PTXOPT_BASE_SEARCH_H

#include "base/types.h"

/* The first k of low .. high - 1 of which `before`, an expression in k, does not hold; high if it holds of all. It holds of all
 * numbers up to some place, and of none after it. */
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
