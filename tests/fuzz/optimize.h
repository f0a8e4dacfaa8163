/* ptxopt in this process. Apart from judge.c, because the interpreter and the analyses each have their own `Compare`. */
#ifndef PTXOPT_TESTS_FUZZ_OPTIMIZE_H
#define PTXOPT_TESTS_FUZZ_OPTIMIZE_H

#include "text.h"

enum { FLAGS_BYTES = 1024 };

typedef enum Optimized { OPTIMIZED, BAD_FLAGS, BAD_TEXT, BROKE_FUNCTION } Optimized;

/* Text in, text out, with flags of the command line; what is said on the way goes to `messages`. ptx[len] is NUL.
 * *went_back: whether a function was changed and then restored; the pointer may be NULL. */
extern bool optimize_asks_prover; /* as the program's, --verify-each asks the prover about each step */
Optimized optimize_text(const char *flags, const char *ptx, u32 len, Text *out, Text *messages, bool *went_back);

/* The phases that some -O runs, in their order; NULL after the last one. */
const char *optimize_phase(u32 n);

/* Random phases in a random order, some of them twice, with random knobs of theirs: none that assumes something of the kernel. */
void optimize_random_flags(Random *random, char flags[FLAGS_BYTES]);

#endif
