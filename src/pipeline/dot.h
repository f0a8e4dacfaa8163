/* The control-flow graph of a function as a Graphviz picture: blocks with their instructions, loops as nested boxes, edges
 * labelled T and F, blocks whose branch may diverge within a warp in another colour than those proven uniform. */
#ifndef PTXOPT_PIPELINE_DOT_H
#define PTXOPT_PIPELINE_DOT_H

#include "analysis/analyses.h"

/* Name of the file for a function: its name with everything but letters, digits, `_`, `-` and `.` as %XX, long ones cut and
 * given a hash; ends in .dot. */
char *dot_file_name(Arena *arena, const Name *function);

/* Writes DIR/NAME.dot. False with errno set. */
bool dot_write(const char *dir, const Function *fn, Analyses *an);

#endif
