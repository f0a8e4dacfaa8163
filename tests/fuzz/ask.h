/* What the prover says of two texts. */
#ifndef PTXOPT_TESTS_FUZZ_ASK_H
#define PTXOPT_TESTS_FUZZ_ASK_H

#include "check/prove/prove.h"
#include "text.h"

/* The worst verdict about all functions; PROVE_UNKNOWN where a text does not parse. `said`, unless NULL, gets a line for each
 * function that is not proved. Both texts end with NUL. */
ProveAnswer ask_prover(const ProveOptions *options, const Text *before, const Text *after, Text *said);

#endif
