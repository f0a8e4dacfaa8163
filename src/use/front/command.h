/* The command lines of ptxas and cicc: what they ask for. */
#ifndef PTXOPT_USE_FRONT_COMMAND_H
#define PTXOPT_USE_FRONT_COMMAND_H

#include "base/arena.h"

typedef struct FrontCommand {
    const char *bypass; /* why ptxas gets the call as it is, in words; NULL: it assembles argv[input] */
    bool asks_version;
    bool decides_registers;   /* an option, or a later link, says how many registers there are */
    int input;                /* index into argv; 0: none */
    const char *output;       /* name of the output file; NULL: none is given */
    int level;                /* of -O; 3 where none is given */
    int level_from, level_to; /* the words that say so: argv[level_from .. level_to - 1] */
    int output_at;            /* index of the word that ends with it; 0: none */
} FrontCommand;

/* argv[0] is the program. The names point into argv. */
FrontCommand front_ptxas_command(int argc, char **argv);

/* A hash of what the options say, in whatever order and spelling: of an option that is given more than once the order counts. Input and
 * output are left out. 0: some option is not known. */
u64 front_ptxas_meaning(Arena *arena, int argc, char **argv, int input);

/* Reads the command line of cicc: `output` is the PTX that it writes. */
FrontCommand front_cicc_command(int argc, char **argv);

#endif
