/* PTXOPT_LIMIT: how much CPU time the optimizer may take for a text, before the original goes on. */
#ifndef PTXOPT_USE_FRONT_LIMIT_H
#define PTXOPT_USE_FRONT_LIMIT_H

#include "base/arena.h"
#include "base/types.h"

/* Seconds for a text of so many bytes; 0: as many as it takes. Where `value`, which may be NULL, makes no sense, `*warning` says so,
 * and the seconds are those without it. `slow`: options ask for what takes much longer. */
double limit_seconds(const char *value, u64 bytes, bool slow, const char **warning);

/* PTXOPT_PTXAS_LIMIT: the seconds that ptxas may take for a kernel at the level asked for. 0: as many as it takes. */
double limit_of_ptxas(const char *value, const char **warning);

/* The kernels that the text defines or declares, by what it says: how many, and their names with blanks between them, in the arena. */
u32 limit_kernels(Arena *arena, Str text, const char **names);

#endif
