/* Texts of a module, printed and read again. */
#ifndef PTXOPT_TOOL_PROOF_TEXT_H
#define PTXOPT_TOOL_PROOF_TEXT_H

#include "parse/reading.h"
#include "pipeline/options.h"

/* NUL-terminated, to be freed; NULL where there is no memory for it. */
char *print_text(const Options *options, Module *m, Str *text);
/* The definition that stands where function k of m does, and has its name; NULL: there is none. */
Function *same_function(const Module *m, const Reading *other, u32 k);

#endif
