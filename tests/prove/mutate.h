/* One random change of one instruction: an operand, an opcode, a label, a guard, an offset, or the instruction itself. */
#ifndef PTXOPT_TESTS_PROVE_MUTATE_H
#define PTXOPT_TESTS_PROVE_MUTATE_H

#include "../fuzz/text.h"

/* Appends the changed text to `to`, and what was changed, as a line, to `what`. False: nothing could be changed there. */
bool mutate(const char *ptx, u32 len, u64 *random, Text *to, Text *what);

#endif
