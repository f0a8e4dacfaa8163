/* Launch descriptions (tests/exec/LAUNCH.md) of a counterexample: exact first, and then ever freer, since what loads returned
 * there is in no memory. */
#ifndef PTXOPT_CHECK_PROOF_REPLAY_LAUNCH_H
#define PTXOPT_CHECK_PROOF_REPLAY_LAUNCH_H

#include "check/prove/prove.h"

/* The launch number `attempt`, freed by the caller; NULL: out of memory. */
char *replay_launch(const Function *kernel, const ProveVerdict *v, u32 attempt);

#endif
