/* Reports in words what the parser expected. */
#ifndef PTXOPT_PARSE_SYNTAX_ERROR_H
#define PTXOPT_PARSE_SYNTAX_ERROR_H

#include "parse/lower.h"

#define EXPECTED_MAX 32

typedef struct SyntaxError {
    Span at;           /* the token that does not fit */
    const char *found; /* the names of tokens, as grammar/ptx.y declares them */
    const char *expected[EXPECTED_MAX];
    int count; /* 0 when there are more than EXPECTED_MAX */
} SyntaxError;

/* Reports the error, unless one in this statement was reported before. */
void syntax_error_report(Lower *p, const SyntaxError *error);

/* Reports that the text ends at `at`, within the header or body of p->fn. */
void syntax_error_end_inside_function(Lower *p, Span at);

#endif
