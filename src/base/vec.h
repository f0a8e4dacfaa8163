/* Growable arrays of any type: `VEC(Instr *) work = {0}; vec_push(&work, insn); ... vec_free(&work);`
 * Elements are work.v[0 .. work.n-1]; they move when the array grows. */
#ifndef PTXOPT_BASE_VEC_H
#define PTXOPT_BASE_VEC_H

#include "base/arena.h"

#define VEC(T)      \
    struct {        \
        T *v;       \
        u32 n, cap; \
    }

typedef VEC(u32) VecU32;
typedef VEC(char *) Words; /* of a command line */

/* Large elements begin with few: a module may have very many functions and scopes, with one of a kind each. */
#define VEC_FIRST(vec) (sizeof *(vec)->v > 48 ? 2 : sizeof *(vec)->v > 8 ? 8 : 32)

#define vec_reserve(vec, count)                                                                  \
    do {                                                                                         \
        u32 vec_need_ = (count);                                                                 \
        if (vec_need_ > (vec)->cap) {                                                            \
            u32 vec_cap_ = (vec)->cap ? (vec)->cap * ((vec)->cap < 64 ? 4 : 2) : VEC_FIRST(vec); \
            (vec)->cap = vec_cap_ < vec_need_ ? vec_need_ : vec_cap_;                            \
            (vec)->v = mem_realloc((vec)->v, (size_t)(vec)->cap * sizeof *(vec)->v);             \
        }                                                                                        \
    } while (0)

#define vec_push(vec, item)               \
    do {                                  \
        vec_reserve((vec), (vec)->n + 1); \
        (vec)->v[(vec)->n++] = (item);    \
    } while (0)

/* Gives spare capacity back. */
#define vec_shrink(vec)                                                            \
    do {                                                                           \
        if ((vec)->n < (vec)->cap) {                                               \
            (vec)->cap = (vec)->n;                                                 \
            (vec)->v = mem_shrink((vec)->v, (size_t)(vec)->cap * sizeof *(vec)->v); \
        }                                                                          \
    } while (0)

#define vec_pop(vec) ((vec)->v[--(vec)->n])
#define vec_last(vec) ((vec)->v[(vec)->n - 1])
#define vec_clear(vec) ((vec)->n = 0)
#define vec_free(vec) (mem_free((vec)->v), (vec)->v = NULL, (vec)->n = (vec)->cap = 0)

#include <stdlib.h>

#endif
