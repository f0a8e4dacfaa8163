/* The natural loops of machine code: a step of sass_read. */
#ifndef PTXOPT_JUDGE_MACHINE_LOOPS_H
#define PTXOPT_JUDGE_MACHINE_LOOPS_H

#include "judge/machine/flow.h"

/* Blocks, order and dominators are known; sets the loops and each block's innermost one. */
void sass_find_loops(SassCode *code);

#endif
