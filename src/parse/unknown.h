/* Unknown text is left as it was, and words that a newer PTX may have are not errors. They make their function untouchable,
 * or the module where a function cannot be named, and their text is skipped. With Lower.strict they are errors. */
#ifndef PTXOPT_PARSE_UNKNOWN_H
#define PTXOPT_PARSE_UNKNOWN_H

#include "parse/syntax_error.h"
#include "parser.h"

/* Whether a syntax error may come from a newer syntax: an unknown directive, type, state space or trait, or an operand of
 * an unknown instruction. If so, it has been noted, and the next token comes from unknown_skip. */
bool unknown_syntax(Lower *p, const SyntaxError *error);

/* The token after the text that is skipped. */
int unknown_skip(YYSTYPE *value, Span *where, Lower *p);

#endif
