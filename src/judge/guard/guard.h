/* --guard: ptxas itself is asked whether its machine code got worse, and what made it worse is left out. */
#ifndef PTXOPT_JUDGE_GUARD_GUARD_H
#define PTXOPT_JUDGE_GUARD_GUARD_H

#include "judge/trial/trial.h"

/* What is to be delivered. */
typedef struct GuardResult {
    const char *trouble; /* why nothing could be judged, in words; NULL */
    u32 held_back;       /* kernels and functions that are optimized less, or not at all */
    char *cubin; /* path of the machine code that is not worse, in a folder that guard_end removes. NULL: trouble, or it
                         * is the original's, part of which has not been assembled, or it is not to be delivered */
    Scratch out, error; /* what ptxas said of it */
    char *input;        /* as which ptxas knew the text; NULL: by the original's name */
    Assembler assembler;
} GuardResult;

/* Optimizes options->input as the options say, has both texts assembled, two jobs at a time, and withholds phases from what got
 * worse: options->pipeline.withheld is what to optimize with. What did not change is assembled only if the machine code is to be
 * delivered. On trouble everything is withheld. Kernels that are optimized less are said to `notes`, if not NULL. To be ended
 * with guard_end. */
GuardResult guard_run(Arena *arena, Options *options, const AssembleCommand *command, bool delivers, FILE *notes);
void guard_end(GuardResult *result);

/* Optimizes the file that the options name under --guard. What the options withhold is replaced. */
ToolStatus guard_optimize_file(Options *options);

#endif
