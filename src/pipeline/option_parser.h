/* The command line while it is read: what options.c and the files option_*.c share. */
#ifndef PTXOPT_PIPELINE_OPTION_PARSER_H
#define PTXOPT_PIPELINE_OPTION_PARSER_H

#include "base/args.h"
#include "pipeline/options.h"

enum OptionId {
#define OPTION(id, ...) OPTION_##id,
#include "pipeline/options.def"
    OPTION_COUNT
};

/* What args_next answers of long options: OPTION_FIRST + OptionId, or KNOB_FIRST + 2 * knob (+ 1: --no-). */
enum { OPTION_FIRST = 0x100, KNOB_FIRST = OPTION_FIRST + OPTION_COUNT };

enum { COMPLAINT_BYTES = 400 };

typedef struct OptionParser {
    Options *options;
    FILE *out, *messages;
    bool failed, done;
    bool said_why; /* an error in a file, which the usage says nothing of */
    bool foreign;  /* a word was taken for an option of nvcc or ptxas */
    bool words;    /* options alone: there is no input among them */
    bool library;  /* they are given to the library, which writes no files, and asks nobody */
    VEC(struct option) known;
    ArgReader args;
    VecGlob tuned; /* files of decisions */
    bool varies;   /* options_vary: the first complaint is kept, and none printed */
    char fault[COMPLAINT_BYTES];
} OptionParser;

/* What the parser holds, but not its options, is freed with it. */
void option_collect_known(OptionParser *parser);
void option_parser_free(OptionParser *parser);

/* Says what is wrong with the command line. */
void option_complain(OptionParser *parser, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Whether args_next's answer is an error; it has been complained about then. */
bool option_take_error(OptionParser *parser, int code);
/* Complains about the first word that is an option of nvcc or ptxas, and about no other: what follows may be its argument. */
void option_find_foreign(OptionParser *parser, int argc, char **argv);

u32 option_of(int code); /* the OptionId of an answer below KNOB_FIRST */
void option_take_level(OptionParser *parser, const char *text);
void option_take_knob(OptionParser *parser, u32 code, const char *argument); /* code: args_next's answer, less KNOB_FIRST */
/* The phases of a list like "switch,layout" are marked; `all` stands for all of them where that is allowed. */
void option_mark_phases(OptionParser *parser, const char *option, const char *list, bool all_allowed, bool *marked);
/* Which phases run in which order, by all options that say so. */
void option_choose_phases(OptionParser *parser);

#endif
