/* Reads a command line as getopt_long does, without its static state: several threads may, and one may within another. */
#ifndef PTXOPT_BASE_ARGS_H
#define PTXOPT_BASE_ARGS_H

#include <getopt.h> /* struct option and the names of its has_arg */

#include "base/vec.h"

typedef struct ArgReader {
    const char *letters;        /* as for getopt: a colon follows those that take an argument */
    const struct option *known; /* ends with one without a name; of an option, name, has_arg and val count */
    int argc, at;               /* words, and the next one */
    char **argv;
    const char *cluster; /* rest of a word of several letters; NULL */
    bool ended;          /* `--` stood before */
    /* Of the option that was read last: */
    const char *word, *argument; /* as it stands on the command line; NULL: it has no argument */
    char letter;                 /* '\0': a long one */
    Words operands;              /* all words so far that are no options; owned */
} ArgReader;

/* argv[0] is the program. */
ArgReader args_start(int argc, char **argv, const char *letters, const struct option *known);
/* The option's val or letter; '?' for one that is unknown, ambiguous or has an argument that it does not take; ':' where the
 * argument is missing; -1 at the end. */
int args_next(ArgReader *reader);
/* The command line with each `@FILE` before a `--` replaced by the words of that file, which may name others: blanks and line ends
 * stand between words, quotes and backslashes are the shell's, `#` begins a comment. All is in `arena`; argv ends with NULL. NULL,
 * or what is wrong with a file. */
const char *args_expand(Arena *arena, int *argc, char ***argv);
/* What a file holds, up to its first NUL; NULL with errno set. */
char *args_read_file(Arena *arena, const char *path);
void args_free(ArgReader *reader);

#endif
