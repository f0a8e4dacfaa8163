/* Fully unrolls a loop, and the loops in it. */
#ifndef PTXOPT_TRANSFORM_UNROLL_H
#define PTXOPT_TRANSFORM_UNROLL_H

#include "analysis/analyses.h"

enum { UNROLL_BLOCKS = 32 /* the most blocks of a loop that is written out */ };

/* A block of the loop where it is executed once. */
typedef struct UnrollStep {
    u32 place; /* of the block in Unroll.block */
    Block *to; /* where control goes next, if that is known; otherwise NULL */
} UnrollStep;

typedef struct Unroll {
    Block *block[UNROLL_BLOCKS]; /* all of the loop */
    u32 blocks;
    VEC(UnrollStep) step; /* in the order of execution; each block has one */
} Unroll;

/* Whether i does in several places, one after the other, what it does in one. */
bool unroll_may_repeat(Analyses *an, const Instr *i);

/* The block's place; u->blocks: it is not in the loop. */
u32 unroll_place(const Unroll *u, const Block *b);

/* Lays the steps out after the block that enters the loop. An edge leads to the next step of its block, or else out of the loop. The
 * last step of a block is the block itself, and the others are clones. of[k] becomes what stands for step k. */
void unroll_write_out(const Unroll *u, Block *entry, Block **of);

#endif
