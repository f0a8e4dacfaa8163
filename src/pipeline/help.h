/* The texts of --help, the options that most people need, and of --help-hidden: all of options.def and knobs.def. */
#ifndef PTXOPT_PIPELINE_HELP_H
#define PTXOPT_PIPELINE_HELP_H

#include <stdio.h>

void help_print(FILE *out);
void help_print_all(FILE *out);

/* Breaks the text at blanks. `column` characters of the line are written already. Each line of the text begins at `indent`,
 * and ends before column `width` where it has a blank. */
void help_put_wrapped(FILE *out, int column, int indent, int width, const char *text);

#endif
