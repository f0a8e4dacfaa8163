/* Makes IR from text. The lexer (grammar/ptx.re) and parser (grammar/ptx.y) call the builders of lower.h. */
#ifndef PTXOPT_PARSE_PARSE_H
#define PTXOPT_PARSE_PARSE_H

#include "base/diag.h"
#include "ir/ir.h"

/* Parses a whole module. Errors go to diag; if diag->errors > 0, the module must not be used. `text` must be followed by a
 * NUL byte, and must stay until the module is freed. Everything is allocated in `arena`. */
Module *parse_module(Arena *arena, const char *file, Str text, Diag *diag);

/* Does the same, but directives, types and `%names` that no PTX ISA known here has are errors. Otherwise they make their
 * function, or the module, untouchable. */
Module *parse_module_strict(Arena *arena, const char *file, Str text, Diag *diag);

#endif
