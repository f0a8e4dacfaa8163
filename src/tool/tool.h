/* The programs in one binary: which one runs is decided by the name that it is called by (ptxopt.c). */
#ifndef PTXOPT_TOOL_TOOL_H
#define PTXOPT_TOOL_TOOL_H

#include "pipeline/options.h"

typedef enum ToolStatus { TOOL_OK = 0, TOOL_BAD_INPUT = 1, TOOL_INTERNAL = 70 } ToolStatus;

/* Optimizes the file that the options name into the one that they name; messages go to standard error. */
ToolStatus tool_optimize(const Options *options);

/* Says why a file cannot be read or written, by errno. */
ToolStatus tool_file_error(const char *what, const char *path);

/* As tool_optimize under --guard; whatever the options withhold is replaced. */
ToolStatus tool_optimize_guarded(Options *options);

/* The same under --tune or --tune-read; with --tune-ninja nothing is optimized. */
ToolStatus tool_optimize_tuned(Options *options);

/* ptxopt-ptxas, ptxopt-cicc, ptxas, ptxas-blackwell: whether `name`, without folders, is one of theirs, and the program. */
bool tool_is_front(const char *name);
int tool_front(int argc, char **argv);

#endif
