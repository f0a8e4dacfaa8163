/* After a syntax error: finds the place where the parser continues. */
#ifndef PTXOPT_PARSE_RECOVER_H
#define PTXOPT_PARSE_RECOVER_H

#include "parse/lower.h"
#include "parser.h"

/* Makes sure that one of the grammar's rules with `error` can end with the next token. at: the token that did not fit. */
void recover(Lower *p, Span at);

/* The next token while Lower.recovering: the one after the skipped text, or an inserted one. */
int recover_token_after(YYSTYPE *value, Span *where, Lower *p);

#endif
