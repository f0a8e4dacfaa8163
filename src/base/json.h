/* Strings as JSON has them. */
#ifndef PTXOPT_BASE_JSON_H
#define PTXOPT_BASE_JSON_H

#include <stdio.h>

/* Writes the text in quotes, null where it is NULL. A byte that is no UTF-8 is written as the character of its number. */
void json_put_string(FILE *out, const char *text);

#endif
