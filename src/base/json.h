/* Strings in JSON. */
#ifndef PTXOPT_BASE_JSON_H
#define PTXOPT_BASE_JSON_H

#include <stdio.h>

/* Writes the text in quotes, or null for NULL. A byte that is not UTF-8 is written as the character of its number. */
void json_put_string(FILE *out, const char *text);

#endif
