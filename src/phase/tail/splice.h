/* The rewrite of tail-merge: duplicates of a tail are removed, and their blocks branch to the one that is kept. */
#ifndef PTXOPT_PHASE_TAIL_SPLICE_H
#define PTXOPT_PHASE_TAIL_SPLICE_H

#include "phase/tail/match.h"

typedef struct DuplicateTail {
    Block *block;
    Instr *begin;     /* where its tail begins */
    RegPair *renamed; /* what lives into the tail under two names */
    u32 n;
} DuplicateTail;

/* Puts the copies kept <- other into an order in which none destroys what another still reads; false: there is none. */
bool splice_copies_order(RegPair *renamed, u32 n);

/* Whether a block has nothing to execute before i. */
bool splice_begins_block(const Instr *i);

/* The block that the tail becomes; `begin`: where it begins in the block that keeps it. That block itself, unless something
 * else is there or a loop begins there: then a new one, still empty. loops: of the function as it is. */
Block *tail_block(const Loops *loops, const Instr *begin);

void splice_tails(Function *fn, Instr *begin, Block *tail, DuplicateTail *duplicates, u32 n);

#endif
