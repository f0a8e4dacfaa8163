/* The command line, read into the form that main and the pipeline use. */
#ifndef PTXOPT_PIPELINE_OPTIONS_H
#define PTXOPT_PIPELINE_OPTIONS_H

#include <stdio.h>

#include "pipeline/pipeline.h"

typedef enum StatsForm { STATS_NONE, STATS_TEXT, STATS_JSON } StatsForm;

/* What becomes of changed functions that --prove does not prove. */
typedef enum Proving { PROVING_NOT, PROVING_REPORT, PROVING_REVERT, PROVING_STRICT } Proving;

/* What became of a file's functions. */
typedef struct FunctionCounts {
    u32 functions, changed;
} FunctionCounts;

typedef struct Options {
    const char *input, *output;         /* "-": standard input, standard output; input NULL: not named yet */
    const char *input_name;             /* the name of the input in messages; NULL: its path */
    bool has_output;                    /* the output was named */
    bool explain, explain_to_messages;  /* --explain; to standard error, not standard output */
    const char *remarks;                /* a file, or "-" for standard output; NULL: none */
    const char *shadow, *cuda;          /* the folders of --install-shadow and --cuda; NULL: not given */
    const char *guard_by;               /* the ptxas of --guard; "": any that is found; NULL: no guard */
    bool guard_off, guard_search;       /* --guard=off, --guard=search */
    bool guard_all;                     /* --guard=all: also about large kernels that gain little */
    FunctionCounts *counts;             /* are set after each run that ended well; NULL: nobody asks */
    bool wants_spills;                  /* the guard notes what ptxas spills */
    const char *guard_arch;             /* NULL: the target that the text names */
    u32 guard_limit;                    /* the seconds that ptxas may take; 0: not given */
    double cpu_limit;                   /* seconds for each process that optimizes on behalf of others; 0: no limit */
    const char *tune_by;                /* the ptxas of --tune; "" and NULL as for guard_by */
    const char *tune_out;               /* a file for the decisions of --tune; NULL: none */
    const char *tune_ninja, *tune_read; /* folders to write candidates to, and to read results from; NULL: none */
    u32 tune_jobs, tune_budget;         /* processes at a time, 0: one a core; seconds, 0: no limit */
    const char *phases, *phases_option; /* the list of --phases, and the spelling of the option; NULL: not given */
    const char *stop_after;             /* NULL: not given */
    StatsForm stats;
    Proving prove;
    bool prove_each;    /* prove after every phase as well */
    const char *solver; /* the prover's solver; NULL: none */
    bool time;
    bool strict;          /* unknown words are errors */
    bool warns_unmatched; /* patterns that match no function get a warning: they were meant for this one file */
    PipelineConfig pipeline;
    u64 said; /* a hash of all options except the name of the output */
    int argc; /* the command line as given, for reports */
    char **argv;
    Arena arena; /* holds words from files of options */
} Options;

typedef enum OptionsResult {
    OPTIONS_RUN,    /* there is a module to optimize */
    OPTIONS_SHADOW, /* --install-shadow: nothing is read */
    OPTIONS_DONE,   /* an option asked for a text, which has been printed to `out` */
    OPTIONS_BAD,    /* a message has been printed to `messages` */
} OptionsResult;

/* Parses the command line. Strings of the options are words of argv, or live as long as the options. */
OptionsResult options_parse(Options *options, int argc, char **argv, FILE *out, FILE *messages);
/* Parses words that are all options; the caller sets the input. */
OptionsResult options_parse_words(Options *options, const Words *words, FILE *out, FILE *messages);
/* Parses words like options_parse_words(), but reports options that write files, ask another program or end this one. */
OptionsResult options_parse_library(Options *options, const Words *words, FILE *messages);
/* Has a ptxas judge what the options make. */
void options_judge(Options *options);
void options_free(Options *options);
/* The time in SOURCE_DATE_EPOCH, at least 1, which ptxas takes for a time; 0: it is not set. False: it is no number. */
bool options_source_date(u64 *seconds);
/* Prints the statistics and times that the options ask for. */
void options_print_stats(const Options *options, const Stats *stats, FILE *out);

/* The configuration that the words (-O, --disable, --enable, --guard, knobs) make of that of the options. It lives as long as these.
 * NULL: words[*at] is wrong, and *why says how. --guard stands for what only a guard allows: ptxas has judged it. */
const PipelineConfig *options_vary(Options *options, int count, char **words, int *at, const char **why);

/* Words that make that configuration of it, the same ones for all that say the same. */
const char *options_words(Options *options, const PipelineConfig *varied);

/* Whether the text names a target whose machine code can be judged, like sm_90 or sm_90a. */
bool option_is_target(const char *text);

#endif
