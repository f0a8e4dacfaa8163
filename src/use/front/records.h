/* What a call says for people of a build. It is remarks of many calls in one file, or in a folder, and the name of what
 * it compiles. */
#ifndef PTXOPT_USE_FRONT_RECORDS_H
#define PTXOPT_USE_FRONT_RECORDS_H

#include "base/arena.h"
#include "judge/ptxas/scratch.h"

/* The name of a file for people: that which nvcc would keep it under, if it is one of its temporary files. In the arena. */
const char *records_name(Arena *arena, const char *path);

/* Appends the records to the file in one write, so that those of parallel calls do not mix. False with errno set. */
bool records_append(const char *path, const Scratch *records);

/* Writes the records to a file of their own in `folder`, which is made if need be. It is NAME.HASH.opt.yaml, by the hash
 * of the text at `input`. The same text has the same file. False with errno set. */
bool records_write(Arena *arena, const char *folder, const char *name, const char *input, const Scratch *records);

#endif
