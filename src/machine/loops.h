/* The natural loops of machine code: a step of sass_read. */
#ifndef PTXOPT_MACHINE_LOOPS_H
#define PTXOPT_MACHINE_LOOPS_H

#include "machine/flow.h"

/* Blocks, order and dominators are known; sets the loops and each block's innermost one. */
void sass_find_loops(SassCode *code);

#endif
