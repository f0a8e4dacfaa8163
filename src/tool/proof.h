/* --prove: what leaves the program is proved against what came in, and what is not goes back to its own bytes. */
#ifndef PTXOPT_TOOL_PROOF_H
#define PTXOPT_TOOL_PROOF_H

#include <stdio.h>

#include "tool/proof_steps.h"

/* Proves every function that changed, by the text that would be printed, and says so: in remarks (NULL: nowhere), in the
 * statistics, and for what is not proved on standard error. Functions that --prove sends back are unchanged afterwards.
 * steps: what --prove-each found, or NULL. */
void tool_prove(const Options *options, Module *m, const ProofSteps *steps, Diag *diag, FILE *remarks, Stats *stats);

#endif
