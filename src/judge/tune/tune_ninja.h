/* A folder of texts and the build.ninja that has ptxas assemble them: --tune-ninja and --tune-read. */
#ifndef PTXOPT_JUDGE_TUNE_TUNE_NINJA_H
#define PTXOPT_JUDGE_TUNE_TUNE_NINJA_H

#include "pipeline/output.h"
#include "judge/trial/trial.h"

typedef struct NinjaFolder {
    Arena *arena;
    const char *path;
    Output file; /* build.ninja; not open where `path` is NULL */
} NinjaFolder;

/* Name of a text's file there: what it says, then ".ptx" or ".cubin". */
const char *ninja_name(Arena *arena, const char *folder, const Scratch *text, const char *extension);

/* Begins a build.ninja that has the assembler's ptxas called; continues the one that is there where `assembler` is NULL. False with
 * errno set. */
bool ninja_open(NinjaFolder *ninja, Arena *arena, const char *path, const Assembler *assembler);
bool ninja_add(NinjaFolder *ninja, const Scratch *text);

/* Writes build.ninja if `good`. False with errno set, and build.ninja as it was. */
bool ninja_close(NinjaFolder *ninja, bool good);

#endif
