/* Large kernels that gain little. Under the guard each kernel that changes costs what ptxas takes for its original, and, where it gets
 * worse, for the whole text once more. That is not worth a rewrite of a kind that was never seen to gain 1 % there. */
#ifndef PTXOPT_PIPELINE_LITTLE_H
#define PTXOPT_PIPELINE_LITTLE_H

#include "ir/ir.h"
#include "pipeline/phases.h"

/* Whether fn is a large kernel, and only phases changed it that gain little in such kernels; `changed` is by phase of the table. */
bool little_is_gained(const PhaseTable *table, const Function *fn, const bool *changed);

#endif
