/* Remarks of the pass `ptxas`. They name what a text says, or leaves out, that makes ptxas do worse than it could, and
 * what to do about it. */
#ifndef PTXOPT_PIPELINE_ADVICE_H
#define PTXOPT_PIPELINE_ADVICE_H

#include "pipeline/config.h"

extern const char advice_pass[];

/* What is said of a function that ptxas spills so many bytes of. many_ctas: .minnctapersm is more than 1. */
char *advice_of_spill(Arena *arena, u64 bytes, bool many_ctas);

/* Loops of a function that ptxas does not count: how many, and where the first one's test stands. */
typedef struct UncountedLoops {
    u32 count;
    Span first;
} UncountedLoops;

/* Notes a remark of a phase about such a loop; others do not matter. */
void advice_note_loop(UncountedLoops *loops, const char *remark, Span at);

void advice_on_function(RemarkWriter *writer, const PipelineConfig *config, const Function *fn,
                        const UncountedLoops *loops);
void advice_on_module(RemarkWriter *writer, const PipelineConfig *config, const Module *m);

#endif
