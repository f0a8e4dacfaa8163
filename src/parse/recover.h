/* After a syntax error: where the parser goes on. */
#ifndef PTXOPT_PARSE_RECOVER_H
#define PTXOPT_PARSE_RECOVER_H

#include "parse/lower.h"
#include "parser.h"

/* Sees to it that one of the grammar's rules with `error` can end with the next token. at: the token that did not fit. */
void recover(Lower *p, Span at);

/* While Lower.recovering: the next token after what is skipped, or one that is made up. */
int recover_token_after(YYSTYPE *value, Span *where, Lower *p);

#endif
