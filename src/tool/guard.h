/* --guard: ptxas itself is asked whether its machine code got worse, and what made it worse is left out. */
#ifndef PTXOPT_TOOL_GUARD_H
#define PTXOPT_TOOL_GUARD_H

#include "front/scratch.h"
#include "tool/tool.h"

/* A call of ptxas: words, of which input and output are replaced. */
typedef struct GuardCommand {
    const char *ptxas;
    char **argv; /* ends with NULL */
    int count;
    int input, output; /* indices; output 0: none is named. The word at `output` may be `--output-file=NAME`. */
} GuardCommand;

/* What is to be delivered. */
typedef struct GuardResult {
    const char *trouble; /* why nothing could be judged, in words; NULL */
    bool refused;        /* trouble: ptxas takes the original and not the optimized text */
    bool is_original;    /* `cubin` was made of the original text */
    u32 held_back;       /* kernels and functions that are optimized less, or not at all */
    u32 runs;            /* of ptxas */
    char *cubin;         /* path of the machine code that is not worse; in a folder that guard_end removes; NULL: trouble */
    Scratch out, error;  /* what ptxas said of it */
    char *input;         /* as which ptxas knew the text */
    char *folder;
} GuardResult;

/* Optimizes options->input as the options say, has both texts assembled, two jobs at a time, and withholds phases from what got worse:
 * options->pipeline.withheld is what to optimize with. On trouble everything is withheld. Kernels that are optimized less are
 * said to `notes`, if not NULL. To be ended with guard_end. */
GuardResult guard_run(Arena *arena, Options *options, const GuardCommand *command, FILE *notes);
void guard_end(GuardResult *result);

/* The call of ptxas that --guard=PTXAS --guard-arch=ARCH of the options mean for the text; NULL in `ptxas` and a reason in `*why` where
 * there is none. */
GuardCommand guard_command(Arena *arena, const Options *options, const char **why);

#endif
