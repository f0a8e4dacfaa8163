/* The frame of a function: its code is collected first, because only then it is known what to declare. */
#ifndef PTXOPT_TESTS_FUZZ_GEN_FUNCTION_H
#define PTXOPT_TESTS_FUZZ_GEN_FUNCTION_H

#include "gen.h"

void function_begin(Gen *g);
/* Braces, `declarations`, registers and the code, after the header that the module ends with. */
void function_end(Gen *g, Text *module, const char *declarations);

#endif
