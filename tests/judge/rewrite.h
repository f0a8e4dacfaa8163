/* Rewrites of machine code that change nothing, or next to nothing: one instruction is dropped, two are swapped, a branch is inverted
 * and its arm moved to the end, registers are renamed. What they compute does not matter: nobody runs it. */
#ifndef PTXOPT_TESTS_JUDGE_REWRITE_H
#define PTXOPT_TESTS_JUDGE_REWRITE_H

#include "judge/machine/unit.h"

typedef enum Rewrite { DROP, SWAP, INVERT, RENAME, REWRITES } Rewrite;

extern const char *const rewrite_names[REWRITES];

/* A unit whose code can be put together anew: of one function, whose branches all lead into it. */
bool can_rewrite(const Unit *unit);

/* The function with that rewrite of instruction `at`, its code in the arena; NULL where it cannot be made there. */
const CubinFunction *rewrite(Arena *arena, const Unit *unit, Rewrite kind, size_t at);

#endif
