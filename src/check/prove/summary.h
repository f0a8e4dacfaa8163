/* Makes prove_callee's answers. */
#ifndef PTXOPT_CHECK_PROVE_SUMMARY_H
#define PTXOPT_CHECK_PROVE_SUMMARY_H

#include "check/prove/callees.h"

/* Adds all that the function may call, directly or not; a body that calls itself may do anything. */
void prove_summarize(Callees *c, const Function *fn);

#endif
