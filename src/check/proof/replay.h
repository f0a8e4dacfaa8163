/* Shows a refutation by the interpreter, which shares nothing with the prover but how texts are read. */
#ifndef PTXOPT_CHECK_PROOF_REPLAY_H
#define PTXOPT_CHECK_PROOF_REPLAY_H

#include "check/prove/prove.h"

typedef struct ReplayText {
    const char *path;
    Str text;
} ReplayText;

/* Runs the function of BEFORE and AFTER on launches made of the counterexample. Prints the first event that differs, or why
 * none is shown. Writes the launch to the file `launch` if that is not NULL. False: that file cannot be written. */
bool replay_refutation(const ReplayText text[2], const char *function, const ProveVerdict *v, const char *launch);

#endif
