/* PTXOPT_LIMIT: how much CPU time the optimizer may take for a text, before the original goes on. */
#ifndef PTXOPT_USE_FRONT_LIMIT_H
#define PTXOPT_USE_FRONT_LIMIT_H

#include "base/types.h"

/* Seconds for a text of so many bytes; 0: as many as it takes. Where `value`, which may be NULL, makes no sense, `*warning` says so,
 * and the seconds are those without it. `slow`: options ask for what takes much longer. */
double limit_seconds(const char *value, u64 bytes, bool slow, const char **warning);

#endif
