/* The rewrite of tail-merge removes duplicates of a tail; their blocks then branch to the one that is kept. */
#ifndef PTXOPT_PHASE_TAIL_SPLICE_H
#define PTXOPT_PHASE_TAIL_SPLICE_H

#include "phase/tail/match.h"

typedef struct DuplicateTail {
    Block *block;
    Instr *begin;     /* where the block's tail begins */
    RegPair *renamed; /* registers that live into the tail under two names */
    u32 n;
} DuplicateTail;

/* Orders the copies kept <- other so that none destroys a register that another still reads. False: no order does. */
bool splice_copies_order(RegPair *renamed, u32 n);

/* Whether the block of i executes nothing before i. */
bool splice_begins_block(const Instr *i);

/* The block that is to hold the tail that begins at `begin`. That is the block of `begin` if it holds nothing else and is
 * neither the entry nor a loop's header; otherwise a new, empty block. loops: of the function as it is. */
Block *tail_block(const Loops *loops, const Instr *begin);

void splice_tails(Function *fn, Instr *begin, Block *tail, DuplicateTail *duplicates, u32 n);

#endif
