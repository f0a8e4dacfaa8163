/* Decisions of --tune, as text: a line for each function,
 *     NAME HASH: OPTIONS
 * with options of phases: -O, --disable, --enable, knobs, and --guard for what a ptxas has judged. `#` begins a comment. */
#ifndef PTXOPT_PIPELINE_TUNED_H
#define PTXOPT_PIPELINE_TUNED_H

#include "pipeline/options.h"

/* A hash of the text of a function and its module's .target. It ignores what changes with the rest of the file. That is blanks,
 * comments, directives for debuggers, and the numbers in labels and in the names of stack frames. */
u64 tuned_hash_text(u32 target_sm, Str text);
/* Whether the hash of a text holds a number for the name, as for labels and stack frames, which are numbered through a file. */
bool tuned_numbers(Str name);

/* Continues a hash with text outside of functions. It ignores blanks, comments and what is for debuggers. */
u64 tuned_hash_rest(u64 hash, Str text);

/* The decision about the function of that name and hash; NULL: none. */
const Tuned *tuned_by_hash(const VecTuned *tuned, const char *name, u64 hash);

/* The decision about fn; NULL: none. */
const PipelineConfig *tuned_find(const PipelineConfig *config, const Function *fn);

/* Adds the decisions of a file to options->pipeline.tuned; false after a message. Where two differ about one function, a warning says
 * so. One that leaves the function alone counts, otherwise the last one. */
bool tuned_read(Options *options, const char *path, FILE *messages);

/* The line that stands before remembered decisions: it holds a key, and a checksum and the length in bytes of the text
 * after it. */
char *tuned_seal(Arena *arena, u64 key, Str text);

#endif
