/* Barriers of the block that AFTER lacks. A barrier may go unless two threads of a block access one byte, and one of them writes
 * it: one above the barrier, the other below, with no barrier that stays in between. Two symbolic threads stand for all, as in
 * GPUVerify. */
#ifndef PTXOPT_CHECK_PROVE_BARRIER_H
#define PTXOPT_CHECK_PROVE_BARRIER_H

#include "check/prove/machine.h"

typedef struct Prover Prover;

/* An access of BEFORE in one context. */
typedef struct Access {
    const Instr *at;
    Term address;
    u32 bytes, facts;
    const Term *fact; /* conditions that hold there */
} Access;

/* Changed by barrier.c alone. Barriers are those of BEFORE, by origin. */
typedef struct Barriers {
    BitSet skipped, stays; /* left out, or not; empty: none was left out */
    BitSet weakened;       /* of the warp in AFTER */
    ProveGraph of_block;   /* of BEFORE, without the promises of .uni, which are a warp's; made for prove_barriers */
    BitSet polling;        /* blocks of BEFORE in loops that may wait; likewise */
    bool polls;            /* there are such loops */
    bool sees_clusters;    /* other blocks of a cluster may see its shared memory; likewise */
    VEC(Access) accesses;
} Barriers;

/* BEFORE stands at this event, and AFTER at another one: whether it is a barrier that may be left out, for now. */
bool prove_skip_barrier(Prover *p, const Instr *i);
/* Whether `after` is a bar.warp.sync of exactly the threads of a block of one warp, in place of a barrier of the block. */
bool prove_weaken_barrier(Prover *p, const Instr *before, const Instr *after);
/* Notes an event of BEFORE that was matched: barriers that stay, and what accesses memory under which conditions. */
void prove_note_event(Prover *p, const Instr *i);
/* Whether all barriers that were left out may go, and no thread is missing at those of a warp; else the proof fails. */
void prove_barriers(Prover *p);

#endif
