/* Random changes of a PTX text, most of which leave it valid: instructions go, come twice, change places; registers, labels,
 * guards, opcodes and numbers are exchanged for others of their kind; blocks are split, joined and copied. */
#ifndef PTXOPT_TESTS_FUZZ_MUTATE_H
#define PTXOPT_TESTS_FUZZ_MUTATE_H

#include "text.h"

/* Appends the text with this many changes, or fewer where no place for one is found. */
void mutate_ptx(Random *random, const Text *ptx, u32 changes, Text *to);

/* Appends a launch of the first kernel: buffers of small numbers for parameters of 64 bits, small numbers for others. */
void mutate_launch(Random *random, const Text *ptx, Text *launch);

#endif
