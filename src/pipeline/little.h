/* Large kernels that gain little. Under the guard, ptxas also assembles the original of each changed kernel, and the whole
 * text once more if the kernel got worse. That is not worth a kind of rewrite that was never seen to gain 1 % in large kernels. */
#ifndef PTXOPT_PIPELINE_LITTLE_H
#define PTXOPT_PIPELINE_LITTLE_H

#include "ir/ir.h"
#include "pipeline/phases.h"

/* Whether fn is a large kernel, and only phases changed it that gain little in such kernels; `changed` is by phase of the table. */
bool little_is_gained(const PhaseTable *table, const Function *fn, const bool *changed);

#endif
