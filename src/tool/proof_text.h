/* Texts of a module, printed and read again. */
#ifndef PTXOPT_TOOL_PROOF_TEXT_H
#define PTXOPT_TOOL_PROOF_TEXT_H

#include <stdio.h>

#include "base/diag.h"
#include "pipeline/options.h"

typedef struct Reading {
    Arena arena;
    Diag diag;
    FILE *messages;
    char *said;
    size_t said_len;
    Module *module; /* with errors in diag where the text does not parse */
} Reading;

void reading_init(Reading *r, const char *file, Str text);
void reading_free(Reading *r);
/* NUL-terminated, to be freed; NULL where there is no memory for it. */
char *print_text(const Options *options, Module *m, Str *text);
/* The definition that stands where function k of m does, and has its name; NULL: there is none. */
Function *same_function(const Module *m, const Reading *other, u32 k);

#endif
