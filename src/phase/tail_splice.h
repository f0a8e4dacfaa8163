/* The surgery of tail-merge: several blocks give up their tails, and go to the one that is kept. */
#ifndef PTXOPT_PHASE_TAIL_SPLICE_H
#define PTXOPT_PHASE_TAIL_SPLICE_H

#include "phase/tail_match.h"

typedef struct TailGiver {
    Block *block;
    Instr *begin;      /* where its tail begins */
    RegPair *renamed;  /* what lives into the tail under two names */
    u32 n;
} TailGiver;

/* Puts the copies kept <- other into an order in which none destroys what another still reads; false: there is none. */
bool copies_order(RegPair *renamed, u32 n);

/* Whether a block has nothing to execute before i. */
bool begins_block(const Instr *i);

/* `begin`: where the tail begins in the block that keeps it. loops: of the function before anything changed. */
void splice_tails(Function *fn, const Loops *loops, Instr *begin, TailGiver *givers, u32 n);

#endif
