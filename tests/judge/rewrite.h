/* Rewrites of machine code that change nothing, or next to nothing. What they compute does not matter: nobody runs it.
 *   drop     one instruction is dropped
 *   swap     two that follow each other are swapped
 *   invert   a branch is inverted, and the arm that it skips moved to the end
 *   arms     a branch is inverted, and its two arms are swapped
 *   split    a block is split in two: code that nobody reaches jumps into it
 *   move     two stretches of code are swapped that control neither falls into nor out of
 *   rename   registers are renamed
 *   boards   scoreboards are renamed */
#ifndef PTXOPT_TESTS_JUDGE_REWRITE_H
#define PTXOPT_TESTS_JUDGE_REWRITE_H

#include "judge/machine/unit.h"

typedef enum Rewrite { DROP, SWAP, INVERT, ARMS, SPLIT, MOVE, RENAME, BOARDS, REWRITES } Rewrite;

extern const char *const rewrite_names[REWRITES];

/* A unit whose code can be put together anew: it branches by no table, and into itself, or it calls functions behind it. */
bool can_rewrite(const Unit *unit);

/* The unit's functions with that rewrite of instruction `at` of the first one, their code in the arena; NULL where it cannot be
 * made there. */
CubinFunction *rewrite(Arena *arena, const Unit *unit, Rewrite kind, size_t at);

#endif
