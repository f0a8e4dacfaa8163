/* Reading input files. */
#ifndef PTXOPT_BASE_SOURCE_H
#define PTXOPT_BASE_SOURCE_H

#include "base/types.h"

/* Reads a whole file, or standard input for "-". The text is NUL-terminated after the last byte, and belongs to the caller
 * (source_free). Answers false with errno set when it cannot be read, or EFBIG above 4 GiB - 1. */
bool source_read(const char *path, Str *text);
void source_free(Str *text);

#endif
