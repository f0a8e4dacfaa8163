/* What a run of the pipeline is asked to do. */
#ifndef PTXOPT_PIPELINE_CONFIG_H
#define PTXOPT_PIPELINE_CONFIG_H

#include "base/vec.h"
#include "pipeline/phases.h"
#include "pipeline/remarks.h"

#define BISECT_OFF INT64_MIN /* no limit, and no report */
#define BISECT_ALL (-1)      /* no limit, but a report */

typedef VEC(const char *) VecGlob;

/* Phases that run neither over the function of this name (NULL: any) nor over one that it may call. With a limit, they run,
 * but may do only this many rewrites together in the function itself. */
typedef struct Withheld {
    const char *function;
    u32 limit; /* 0: the phases do not run */
    bool itself; /* and no other function: the phases do run over what it may call */
    bool phase[PHASE_COUNT];
} Withheld;
typedef VEC(Withheld) VecWithheld;

/* Whether the threads of a function are together, and wait for one another, as before a step. --verify-each asks a
 * prover, which the program hands over if it links one. */
typedef struct ThreadsCheck {
    void (*begin)(void *user); /* before the first step of a function; NULL: there is no prover */
    const char *(*fault)(void *user, const Function *fn); /* after a step that changed fn: NULL, or what is wrong */
    void *user;
} ThreadsCheck;

typedef struct PipelineConfig PipelineConfig;

/* A decision of --tune: `config` holds for the function of this name and text (pipeline/tuned.h). */
typedef struct Tuned {
    const char *name;
    u64 hash;
    const PipelineConfig *config; /* only its sequence, disabled, enabled, judged, level and knobs count */
    const char *words;            /* options that make it, as of options_words(); NULL: no file holds them */
} Tuned;
typedef VEC(Tuned) VecTuned;

/* What a ptxas was seen to spill of the function of this name. */
typedef struct Spilled {
    const char *function;
    u64 bytes;
    const char *advice; /* what is said of it where the function's text is not at hand */
} Spilled;
typedef VEC(Spilled) VecSpilled;

struct PipelineConfig {
    const PhaseTable *table;    /* of at most PHASE_COUNT phases */
    u32 level;                  /* of -O: 0 .. 3; the phases see at least 1 */
    VecU32 sequence;            /* phases to run, by index into the table; some may appear more than once */
    bool named_phases;          /* the sequence was asked for by name */
    bool disabled[PHASE_COUNT]; /* these run nowhere, not even as phases of the clean-up */
    bool enabled[PHASE_COUNT];  /* these run whatever the level */
    VecGlob only, skip;         /* patterns of names: only functions that `only` matches run, if it has any; none that
                                 * `skip` matches */
    VecWithheld withheld;
    VecTuned tuned; /* the last decision about a function counts; if there are any, a function without one gets a remark */
    VecSpilled spills; /* for remarks only */
    Knobs knobs;
    bool print_before[PHASE_COUNT], print_after[PHASE_COUNT];
    i64 bisect_limit;    /* the number of rewrites allowed, or BISECT_ALL or BISECT_OFF */
    bool verify_each;    /* builds with PTXOPT_DEBUG always verify, except `threads` */
    u64 file_time;       /* of --reproducible: of each .file directive without a time; 0: it stays without */
    bool reprint;        /* how --print-before and --print-after print */
    bool optimize_debug; /* also optimize modules for debuggers */
    bool no_gates;       /* builds with PTXOPT_DEBUG only: see Summaries.ungated */
    bool ignore_exits;   /* also rewrite where the exit that ptxas takes for the end decides who waits for whom */
    bool judged;         /* ptxas judges what is made, and what got worse is left alone: --guard */
    bool thrifty;        /* large kernels are left alone if what was done gains little in such kernels (pipeline/little.h) */
    void (*after_step)(void *user, Function *fn,
                       const char *phase); /* called when a step has changed the function, or NULL */
    void *user;
    ThreadsCheck threads;            /* with verify_each */
    const RemarkTaker *remark_taker; /* gets remarks in addition to the file; NULL: nobody */
    const char *build_name;          /* RemarkWriter.build_name */
    const char *dump_cfg;            /* a directory, made if need be; NULL: none */
    int rewrites; /* a descriptor that takes a line PHASE NAME for each function that a phase changes; 0: nobody asks */
};

#endif
