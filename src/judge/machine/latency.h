/* Estimates for operations without a fixed number of cycles: `latencies.def` has the numbers with their sources. */
#ifndef PTXOPT_JUDGE_MACHINE_LATENCY_H
#define PTXOPT_JUDGE_MACHINE_LATENCY_H

#include <stdbool.h>

typedef enum LatencyKind {
    LATENCY_NONE, /* as many cycles as the schedule says */
    LATENCY_GLOBAL,
    LATENCY_GLOBAL_ATOMIC,
    LATENCY_SHARED,
    LATENCY_SHARED_ATOMIC,
    LATENCY_LOCAL,
    LATENCY_CONSTANT,
    LATENCY_TEXTURE,
    LATENCY_SPECIAL, /* the unit of special functions: those, conversions, counts of bits; shuffles, moves to uniform registers */
    LATENCY_REDUCTION,
    LATENCY_FP64,
    LATENCY_SYSTEM, /* special registers */
    LATENCY_OTHER,
    LATENCY_OPERANDS, /* until an instruction's operands are read */
    LATENCY_BARRIER,
    LATENCY_CLUSTER_BARRIER,
    LATENCY_FENCE_CTA,
    LATENCY_FENCE_GPU,
    LATENCY_FENCE_SYSTEM,
    LATENCY_SLEEP,
    LATENCY_KINDS
} LatencyKind;

typedef enum LatencyEnd { LATENCY_LEAST, LATENCY_TAKEN, LATENCY_MOST } LatencyEnd;

/* Cycles by kind. */
typedef struct Latencies {
    unsigned cycles[LATENCY_KINDS];
} Latencies;

/* The latencies that `latencies.def` states for the architecture, as in sm_90. */
Latencies latency_table(unsigned sm);

/* Sets a kind to that end of what its sources say. */
void latency_move(Latencies *latencies, LatencyKind kind, unsigned sm, LatencyEnd end);

/* "GLOBAL", ...; NULL for LATENCY_NONE. */
const char *latency_name(LatencyKind kind);

#endif
