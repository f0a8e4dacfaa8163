/* A text read into a module of its own. */
#ifndef PTXOPT_PARSE_READING_H
#define PTXOPT_PARSE_READING_H

#include "parse/parse.h"

typedef struct Reading {
    Arena arena;
    Diag diag;
    Module *module;
} Reading;

typedef Module *ParseFn(Arena *arena, const char *file, Str text, Diag *diag);

/* By parse_module or parse_module_strict; errors go to `messages`, NULL: nowhere. False: there are some. */
bool reading_init(Reading *r, const char *file, Str text, ParseFn *parse, FILE *messages);
/* Also of one that is zeroed. */
void reading_free(Reading *r);

#endif
