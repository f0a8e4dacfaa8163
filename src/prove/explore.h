/* Explores the product of both functions until it is proved, or the proof has failed. */
#ifndef PTXOPT_PROVE_EXPLORE_H
#define PTXOPT_PROVE_EXPLORE_H

#include <stdio.h>

#include "prove/prover.h"

typedef struct Explorer {
    Prover *p;
    const u32 *to_after, *to_before; /* by Block.id: the block of the same label on the other side, plus 1 */
} Explorer;

void prove_explore(Prover *p);
/* Executes both sides on the numbers of p->t.seed, for so many events: whether they came to differ. */
bool prove_replay(Prover *p, u32 events, const char **why);
/* Where the side stands: file, line, opcode. */
void prove_describe(const Prover *p, ProveSide side, char *text, u32 size);

#endif
