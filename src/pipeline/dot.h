/* The control-flow graph of a function as a Graphviz picture. Blocks show their instructions, loops are nested boxes, and
 * edges are labelled T and F. Blocks whose branch may diverge within a warp have another colour than those proven uniform. */
#ifndef PTXOPT_PIPELINE_DOT_H
#define PTXOPT_PIPELINE_DOT_H

#include <stdio.h>

#include "analysis/analyses.h"

/* Writes text within double quotes of Graphviz. */
void dot_put_text(FILE *out, const char *text, size_t len);

/* The name of the file for a function: its name with everything but letters, digits, `_`, `-` and `.` as %XX, ending in
 * .dot. Long names are cut and get a hash. */
char *dot_file_name(Arena *arena, const Name *function);

/* Writes DIR/NAME.dot. False with errno set. */
bool dot_write(const char *dir, const Function *fn, Analyses *an);

#endif
