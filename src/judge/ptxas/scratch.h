/* A file without a name: nothing is left of it when the last process that has it open ends, however it ends. */
#ifndef PTXOPT_JUDGE_PTXAS_SCRATCH_H
#define PTXOPT_JUDGE_PTXAS_SCRATCH_H

#include "base/types.h"

typedef struct Scratch {
    int fd;        /* stays open across exec; -1: not open */
    char path[32]; /* under which this process and its children can open it anew */
} Scratch;

/* Opens a file in memory; if the system has no such files, in $TMPDIR or /tmp. False: it cannot be had, or has no path. */
bool scratch_open(Scratch *scratch);
void scratch_close(Scratch *scratch);

/* Empties it. */
bool scratch_clear(Scratch *scratch);

/* Writes at the end of what has been written. False with errno set. */
bool scratch_write(Scratch *scratch, const char *bytes, size_t count);
/* Whole contents, owned by the caller (free), NUL-terminated; NULL on failure. */
char *scratch_read(const Scratch *scratch, size_t *bytes);

#endif
