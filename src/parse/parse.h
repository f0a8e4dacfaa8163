/* Text to IR. The lexer (grammar/ptx.re) and parser (grammar/ptx.y) call the builders of lower.h. */
#ifndef PTXOPT_PARSE_PARSE_H
#define PTXOPT_PARSE_PARSE_H

#include "base/diag.h"
#include "ir/ir.h"

/* Parses a whole module. Errors go to diag (diag->errors > 0: the module must not be used further). `text` must be
 * followed by a NUL byte, and must stay until the module is freed. Everything is allocated in `arena`. */
Module *parse_module(Arena *arena, const char *file, Str text, Diag *diag);

/* The same, but directives, types and `%names` that no PTX ISA known here has are errors. Else they make their function, or
 * the module, untouchable. */
Module *parse_module_strict(Arena *arena, const char *file, Str text, Diag *diag);

#endif
