/* --prove: what leaves the program is proved against what came in, and what is not goes back to its own bytes. */
#ifndef PTXOPT_CHECK_PROOF_PROOF_H
#define PTXOPT_CHECK_PROOF_PROOF_H

#include "pipeline/optimize.h"

/* Optimizes a file and proves what the options ask for. Every function that changed is proved, by the text that would be printed.
 * Verdicts go to the remarks and the statistics, and for what is not proved to standard error. Functions that --prove sends back
 * are unchanged afterwards. */
ToolStatus proof_optimize_file(const Options *options);

#endif
