/* What an instruction does, seen from outside: the interpreter runs it with inputs that differ in one thing, and what differs
 * afterwards depends on that. What the tables of isa/ say of an opcode is not asked, except by the parser: where a block ends. */
#ifndef PTXOPT_TESTS_OPCODES_OBSERVE_H
#define PTXOPT_TESTS_OPCODES_OBSERVE_H

#include "kernel.h"

typedef struct Observed {
    Value value[VALUES_MAX];
    u32 values;
    /* by value, and of the carry */
    bool reads[VALUES_MAX]; /* something else depends on it, or what it holds afterwards if it is written */
    bool writes[VALUES_MAX];
    bool shows[VALUES_MAX]; /* what it holds afterwards depends on what it held */
    bool reads_carry, writes_carry, shows_carry;
    u32 memory_read, memory_written; /* bit for each Memory */
    u32 widest;        /* bytes from the address on within which everything lies that was written; of an own piece */
    bool crosses;      /* what a thread gets depends on another thread's registers */
    bool sees_absence; /* ... on whether another lane has exited */
    bool copy_differs; /* ... on whether all execute the instruction at one place */
    bool waits_lane;   /* it waits for another lane of the warp */
    bool waits_warp;   /* ... for another warp */
    bool arrives;      /* a barrier waits for it */
    bool repeats_differ;
    bool uniform_differs; /* where all operands and all memory are equal, results of a warp are not */
    bool lanes_differ;    /* ... with any operands but masks, which name all lanes */
    bool masks_differ;    /* ... with masks that name half of them */
    bool is_strong;       /* its accesses do not race with strong ones */
    bool orders;          /* what a thread wrote before is seen by a thread that sees what it writes after */
    bool goes_on, goes_to_target, returns, ends;
    bool swaps_differ; /* results are not the same with the first two sources exchanged */
    u64 source[2][THREADS],
        result[THREADS]; /* of one run: operands 1 and 2, and 0, where these are the first registers named */
} Observed;

/* False: the interpreter cannot run it; `why` says what it says. */
bool observe(const char *instr, Observed *o, char *why, size_t size);

#endif
