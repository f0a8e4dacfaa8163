/* The command line while it is read, shared by options.c and the files option_*.c. */
#ifndef PTXOPT_PIPELINE_OPTION_PARSER_H
#define PTXOPT_PIPELINE_OPTION_PARSER_H

#include "base/args.h"
#include "pipeline/options.h"

enum OptionId {
#define OPTION(id, ...) OPTION_##id,
#include "pipeline/options.def"
    OPTION_COUNT
};

/* What args_next answers for long options: OPTION_FIRST + OptionId, KNOB_FIRST + 2 * knob (+ 1: --no-), or NUMBERED_FIRST + row of
 * old_names.def. */
enum { OPTION_FIRST = 0x100, KNOB_FIRST = OPTION_FIRST + OPTION_COUNT, NUMBERED_FIRST = 0x10000 };

enum { COMPLAINT_BYTES = 400 };

typedef struct OptionParser {
    Options *options;
    FILE *out, *messages;
    bool failed, done;
    bool said_why; /* an error in a file, about which the usage says nothing */
    bool foreign;  /* a word was taken for an option of nvcc or ptxas */
    bool words;    /* the words are options only, and name no input */
    bool library;  /* the options are given to the library, which writes no files and asks no ptxas */
    VEC(struct option) known;
    ArgReader args;
    VecGlob tuned; /* the files of decisions */
    bool varies;   /* for options_vary: the first complaint is kept, and none is printed */
    char fault[COMPLAINT_BYTES];
} OptionParser;

/* Frees what the parser holds, except its options. */
void option_collect_known(OptionParser *parser);
void option_parser_free(OptionParser *parser);

/* Reports what is wrong with the command line. */
void option_complain(OptionParser *parser, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Whether code, an answer of args_next, is an error; if so, it has been reported. */
bool option_take_error(OptionParser *parser, int code);
/* Reports the first word that is an option of nvcc or ptxas, and no other, since the words after it may be its arguments. */
void option_find_foreign(OptionParser *parser, int argc, char **argv);

/* option_old.c: names of earlier releases. They are collected before the known ones, which end the list. */
void option_collect_old(OptionParser *parser);
void option_take_numbered(OptionParser *parser, u32 row, const char *argument); /* row: the code, less NUMBERED_FIRST */

u32 option_of(int code); /* the OptionId of an answer below KNOB_FIRST */
void option_take_level(OptionParser *parser, const char *text);
void option_take_knob(OptionParser *parser, int code, const char *argument); /* code: of a knob */
/* Runs or leaves out the phases of a list: the last word about a phase counts. */
void option_take_enable(OptionParser *parser, const char *list);
void option_take_disable(OptionParser *parser, const char *list);
/* Marks the phases of a list like "switch,layout"; `all` stands for all of them where that is allowed. */
void option_mark_phases(OptionParser *parser, const char *option, const char *list, bool all_allowed, bool *marked);
/* Chooses the phases and their order, by all options that concern them. */
void option_choose_phases(OptionParser *parser);

#endif
