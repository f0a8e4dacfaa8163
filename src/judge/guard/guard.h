/* --guard: ptxas itself shows whether its machine code got worse, and code that did is left alone. */
#ifndef PTXOPT_JUDGE_GUARD_GUARD_H
#define PTXOPT_JUDGE_GUARD_GUARD_H

#include "judge/trial/trial.h"

/* A kernel or function that ptxas made worse, and what is done about it. It is "left alone", with those that may call it
 * or that it may call, or, by a search, "optimized without" some phases. */
typedef struct HeldBack {
    const char *name, *how, *why;
} HeldBack;

typedef struct GuardResult {
    const char *trouble; /* why nothing could be judged, in words; NULL */
    VEC(HeldBack) held_back;
    VecSpilled spills; /* of the text to deliver, where the options want it and there is no delivery; names in the arena */
    bool is_judged;    /* the delivery holds machine code of its text */
    bool is_original;  /* that is the input itself */
} GuardResult;

/* The delivery, in files that the caller opens. */
typedef struct GuardDelivery {
    Scratch text;              /* holds what the options make of the input; then what of it is to be delivered */
    Scratch cubin, out, error; /* its machine code, if that has been judged, and what ptxas said of it */
    Scratch rewrites;          /* lines PHASE NAME, as of PipelineConfig, of that text; not open: not known */
} GuardDelivery;

/* Judges what the options make of options->input: options->pipeline.withheld is then what to optimize with. Of kernels
 * that changed, those of which nothing is remembered are assembled as they were and as they are, side by side. With a
 * delivery, the optimized text is assembled as a whole. On trouble everything is withheld. */
GuardResult guard_run(Arena *arena, Options *options, const AssembleCommand *command, GuardDelivery *delivery);
void guard_end(GuardResult *result);

/* Withholds at once what is remembered of options->input as a whole; the result says what that is. *made is a hash of the text
 * that is made then, without which it means nothing. False: nothing is remembered, or there is no folder for cubins, without
 * which guard_run() uses the original. */
bool guard_recall(Arena *arena, Options *options, const AssembleCommand *command, GuardResult *result, u64 *made);
bool guard_recalled(const Scratch *text, u64 made);

/* Adds what functions of the machine code at `path` spill; nothing if it cannot be read. Names are in the arena. */
void guard_find_spills(Arena *arena, const char *path, VecSpilled *spills);

/* Optimizes the file that the options name under --guard. What the options withhold is replaced. */
ToolStatus guard_optimize_file(Options *options);

#endif
