/* Inside of unroll.h: the loops of both versions, with what they do. */
#ifndef PTXOPT_JUDGE_MACHINE_UNROLL_INSIDE_H
#define PTXOPT_JUDGE_MACHINE_UNROLL_INSIDE_H

#include "judge/machine/unroll.h"

enum { NONE = SASS_NONE, ALONE = -2, WORK_CLASSES = 11, LOOP_OVERHEAD = 3 };

/* The work of a loop, or of a whole part, without the loops inside. */
typedef struct Work {
    unsigned of[WORK_CLASSES], all, instructions;
    unsigned inner;       /* loops directly inside */
    uint64_t code;        /* of all keys together */
    unsigned size;        /* instructions that do more than direct control */
    uint16_t *operations; /* how many of each */
    uint16_t *kept;       /* those of them that every copy of the work has */
} Work;

typedef struct Side {
    const SassCode *code;
    double *iterations, *rounds;
    Work *work; /* by loop; then what stands in no loop */
    int *mate; /* by loop: the one that does the same in the other version, NONE; ALONE: it waits for lanes, and has none */
    unsigned *copies; /* by loop: how often it was unrolled beside the other version; 0: it was not */
    bool *gone;       /* by loop: no loop of the other version was made of it, or it of one */
    int first;        /* that loops of both versions are numbered from: families have such numbers */
    int *family;      /* by loop: the first of those that do the same work */
    double *units;    /* by loop: how often an iteration does the work of the one that its family goes back to */
    int *beside;      /* by loop without a mate: another one beside it that does its work; NONE */
    double *part;     /* how much of that one's work it does in an iteration */
} Side;

/* Whether a loop of `side` was made of this one of the other version. */
bool unroll_is_original(const Side *side, size_t loop);

/* Sets the iterations of both versions' loops, once it is known which were made of which. */
void unroll_share(Arena *arena, Side *old, Side *new);

#endif
