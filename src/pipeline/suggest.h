/* "Did you mean": the nearest of several names to a mistyped one. */
#ifndef PTXOPT_PIPELINE_SUGGEST_H
#define PTXOPT_PIPELINE_SUGGEST_H

#include "base/types.h"

typedef struct Suggestion {
    const char *word; /* what was typed, len bytes */
    size_t len;
    const char *name; /* the nearest so far; NULL: none is near */
    u32 distance;
} Suggestion;

Suggestion suggestion_for(const char *word, size_t len);
void suggestion_offer(Suggestion *s, const char *name);

#endif
