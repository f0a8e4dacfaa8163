/* An output file that appears whole or not at all. It is written to a temporary file beside its target, which it replaces
 * when it is committed. Standard output, devices and pipes are written directly. Signals that would end the program wait
 * while the temporary file exists, so that none is left behind. */
#ifndef PTXOPT_PIPELINE_OUTPUT_H
#define PTXOPT_PIPELINE_OUTPUT_H

#include <signal.h>
#include <stdio.h>

#include "base/types.h"

typedef struct Output {
    FILE *file;
    char *target, *temporary; /* NULL: written directly */
    bool holds_signals;
    sigset_t old_signals;
} Output;

/* A stream for text that is written as it comes. A file that the process has open under that name (standard output and
 * error, /dev/fd/N) is continued where it stands. A device or pipe is opened as it is. Any other file is replaced. For
 * standard output the answer is stdout itself. NULL with errno set. */
FILE *output_stream(const char *path);

/* Opens an output; "-" is standard output. False with errno set: nothing is open. */
bool output_open(Output *output, const char *path);
/* Either of these ends the output. Commit answers false with errno set when not everything could be written; the target is
 * then unchanged, unless it is written directly. */
bool output_commit(Output *output);
void output_discard(Output *output);

#endif
