/* Reads a command line as getopt_long does, but without its static state: several threads may read one, and one reader may
 * run within another. */
#ifndef PTXOPT_BASE_ARGS_H
#define PTXOPT_BASE_ARGS_H

#include <getopt.h> /* struct option and the names of its has_arg */

#include "base/vec.h"

typedef struct ArgReader {
    const char *letters;        /* as for getopt: a colon follows letters that take an argument */
    const struct option *known; /* ends with one without a name; only name, has_arg and val count */
    int argc, at;               /* the number of words, and the next one */
    char **argv;
    const char *cluster; /* the rest of a word of several letters, or NULL */
    bool ended;          /* `--` came before */
    /* The option that was read last: */
    const char *word, *argument; /* as it was written; NULL: it has no argument */
    char letter;                 /* '\0': a long option */
    Words operands;              /* all words so far that are not options; owned */
} ArgReader;

/* argv[0] is the program. */
ArgReader args_start(int argc, char **argv, const char *letters, const struct option *known);
/* Reads the next option. Answers its val or letter; '?' if it is unknown, ambiguous or has an argument that it does not
 * take; ':' if its argument is missing; -1 at the end. */
int args_next(ArgReader *reader);
/* Replaces each `@FILE` of the command line before a `--` by the words of that file, which may name others. Blanks and line
 * ends separate words, quotes and backslashes work as in the shell, and `#` begins a comment. All is in `arena`, and argv
 * ends with NULL. Answers NULL, or what is wrong with a file. */
const char *args_expand(Arena *arena, int *argc, char ***argv);
/* The contents of a file up to its first NUL, or NULL with errno set. */
char *args_read_file(Arena *arena, const char *path);
void args_free(ArgReader *reader);

#endif
