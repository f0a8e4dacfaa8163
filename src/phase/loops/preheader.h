/* Integers that are computed in front of a loop: a test, and how far the loop's counter goes. */
#ifndef PTXOPT_PHASE_LOOPS_PREHEADER_H
#define PTXOPT_PHASE_LOOPS_PREHEADER_H

#include "analysis/loop_compares.h"
#include "phase/loops/sum_builder.h"

/* A comparison that ends the loop where it fails: of a value that goes in even steps towards a bound. The distance is how
 * far it goes at most from the first iteration to the last one. It is a multiple of the step where that is a constant. */
typedef struct LoopCounter {
    SumCompare compare;
    const Block *block; /* whose branch the comparison decides */
    LinearId step;      /* its magnitude */
    u64 constant;       /* the step, if it is a constant; otherwise 0 */
    bool down;
    bool alone; /* no other comparison decides that branch */
} LoopCounter;

/* Whether the comparison, which decides the branch of the block, counts. */
bool loop_counter_read(LoopSums *s, const SumCompare *compare, const Block *block, LoopCounter *counter);

/* The most iterations of the loop, if they are known to be few: at most `most`; otherwise UINT64_MAX. counter: NULL: none. */
u64 loop_counter_most_trips(Analyses *an, LoopSums *s, const LoopCounter *counter, u64 most);

enum {
    APART = 1 << 16, /* constants and multiples of less than that are added to a distance */
    ROOM = 2 * APART
};

typedef struct Preheader {
    SumBuilder sums;
    const LoopCounter *counter; /* NULL: none */
    Operand all;                /* all conditions so far; kind OPND_IMM: there is none */
    bool never;                 /* one of them cannot hold */
    Operand distance[2];        /* by `early`: in 32 bits */
    bool known[2], roomy[2];    /* roomy: it is less than 2^32 - ROOM */
} Preheader;

/* at: where it is written; NULL: only its cost is found out, in sums.cost, or its words are made. */
Preheader preheader_new(LoopSums *sums, const LoopCounter *counter, const Builder *at, struct TestWords *words);
void preheader_free(Preheader *t);

static inline Operand preheader_number(u64 value, u32 bits, bool is_signed)
{
    return build_integer(value, bits, is_signed);
}
static inline u64 preheader_greatest(u32 bits, bool is_signed) { return is_signed ? sem_max(bits) >> 1 : sem_max(bits); }
static inline u64 preheader_least(u32 bits, bool is_signed) { return is_signed ? sem_sign(bits) : 0; }

/* Add a condition to the test. */
void preheader_require(Preheader *t, Operand x, Cmp cmp, Operand y, u32 bits, bool is_signed);
void preheader_require_predicate(Preheader *t, RegId reg, bool holds);
/* x opcode y of unsigned numbers. */
Operand preheader_apply(Preheader *t, Opcode opcode, u32 bits, Operand x, Operand y);
/* Extends 32 bits to 64. */
Operand preheader_widen(Preheader *t, Operand x, bool is_signed);
Operand preheader_low_half(Preheader *t, Operand x);

/* The counter's distance in 32 bits, where the test passes. early: up to the last comparison that holds or, in the iteration after
 * it, precedes the counter's. */
Operand preheader_distance(Preheader *t, bool early);

/* How far the bound is from what the counter begins with, without constants; it may wrap. *least: what it is at least if it does not, and
 * the loop runs so often; 0: that is not known, and nothing is answered. */
Operand preheader_way(Preheader *t, u32 trips, u64 *least);
/* How far the bound is from what the counter begins with; it may wrap. */
Operand preheader_whole_way(Preheader *t);

#endif
