/* How long each block of machine code takes, by its schedule and its waits: a step of sass_read. */
#ifndef PTXOPT_JUDGE_MACHINE_CYCLES_H
#define PTXOPT_JUDGE_MACHINE_CYCLES_H

#include "judge/machine/flow.h"

/* Blocks, order and dominators are known. */
void sass_count_cycles(SassCode *code, const Latencies *latencies);

#endif
