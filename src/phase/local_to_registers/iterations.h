/* Loops that run a constant number of times, with the loops in them, followed iteration by iteration. Their counters are constants
 * then, and so are the addresses that they make. */
#ifndef PTXOPT_PHASE_LOCAL_TO_REGISTERS_ITERATIONS_H
#define PTXOPT_PHASE_LOCAL_TO_REGISTERS_ITERATIONS_H

#include "phase/local_to_registers/variables.h"
#include "transform/unroll.h"

/* An instruction that computes a constant in one step. */
typedef struct LocalConstant {
    u32 step;
    Instr *i;
    u64 value;
} LocalConstant;

typedef struct LocalLoop {
    const Loop *loop;
    u32 trips;
    Unroll as;                    /* blocks in reverse post-order; a loop is left at the last one of its own */
    u32 size[UNROLL_BLOCKS];      /* of these, in machine instructions */
    VEC(LocalConstant) constants; /* in the order of execution */
} LocalLoop;

typedef struct LocalLoops {
    LocalLoop *v;
    u32 n, cap;
} LocalLoops;

/* Its place in AN_LOOPS. */
static inline u32 local_loop_place(Analyses *an, const Loop *loop) { return an_loops(an)->of[loop->header->id] - 1; }

/* Whether the iterations of a loop, and of those in it, can be written out, since their numbers are known. *why becomes the reason if
 * only their size, above `most` machine instructions, is against it; otherwise NULL. To be freed with local_loop_free(), in any case. */
bool local_loop_find(LocalVariables *l, const Loop *loop, u32 most, LocalLoop *found, const char **why);
void local_loop_free(LocalLoop *w);

/* Calls look_at for each instruction of each step, in turn. */
void local_loop_walk(LocalVariables *l, const LocalLoop *w, void (*look_at)(LocalVariables *l, Instr *i));

/* Writes the iterations out. What computes a constant moves it. */
void local_loop_write_out(Analyses *an, const LocalLoop *w);

#endif
