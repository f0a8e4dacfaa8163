/* A text that is read into a module of its own. */
#ifndef PTXOPT_PARSE_READING_H
#define PTXOPT_PARSE_READING_H

#include "parse/parse.h"

typedef struct Reading {
    Arena arena;
    Diag diag;
    Module *module;
} Reading;

typedef Module *ParseFn(Arena *arena, const char *file, Str text, Diag *diag);

/* Reads the text with parse_module or parse_module_strict. Errors go to `messages`; NULL: nowhere. False: there are errors. */
bool reading_init(Reading *r, const char *file, Str text, ParseFn *parse, FILE *messages);
/* Frees a reading, which may be a zeroed one. */
void reading_free(Reading *r);

#endif
