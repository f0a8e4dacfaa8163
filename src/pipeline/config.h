/* What a run of the pipeline is asked to do. */
#ifndef PTXOPT_PIPELINE_CONFIG_H
#define PTXOPT_PIPELINE_CONFIG_H

#include "base/vec.h"
#include "pipeline/phases.h"
#include "pipeline/remarks.h"

#define BISECT_OFF INT64_MIN /* no limit, and no report */
#define BISECT_ALL (-1)      /* no limit, but a report */

typedef VEC(const char *) VecGlob;

/* Phases that run neither over the function of that name (NULL: any) nor over one that it may call; or, with a limit, that may do
 * so many rewrites together in the function itself. */
typedef struct Withheld {
    const char *function;
    u32 limit; /* 0: they do not run */
    bool phase[PHASE_COUNT];
} Withheld;
typedef VEC(Withheld) VecWithheld;

typedef struct PipelineConfig PipelineConfig;

/* A decision of --tune: the function of that name and text (pipeline/tuned.h) is run over as `config` says. */
typedef struct Tuned {
    const char *name;
    u64 hash;
    const PipelineConfig *config; /* its sequence, disabled, level and knobs count */
} Tuned;
typedef VEC(Tuned) VecTuned;

struct PipelineConfig {
    const PhaseTable *table;    /* no more than PHASE_COUNT phases */
    u32 level;                  /* 0 .. 3: of -O; the phases see at least 1 */
    VecU32 sequence;            /* phases to run, by index into the table; some more than once maybe */
    bool named_phases;          /* the sequence was asked for by name */
    bool disabled[PHASE_COUNT]; /* these run nowhere, not even as phases of the clean-up */
    VecGlob only, skip;         /* names of functions: if there are any in `only`, no others run; none that `skip` names */
    VecWithheld withheld;
    VecTuned tuned; /* the last one that is about a function counts; one without any is remarked if there are some */
    Knobs knobs;
    bool print_before[PHASE_COUNT], print_after[PHASE_COUNT];
    i64 bisect_limit;    /* rewrites allowed, BISECT_ALL or BISECT_OFF */
    bool verify_each;    /* builds with PTXOPT_DEBUG always do */
    bool reprint;        /* how --print-before and --print-after print */
    bool optimize_debug; /* modules for debuggers, too */
    bool ignore_exits;   /* also where the exit that ptxas takes for the end decides who waits for whom */
    void (*after_step)(void *user, Function *fn,
                       const char *phase); /* called when a step changed the function; NULL: nothing */
    void *user;
    const RemarkTaker *remark_taker; /* beside the file of remarks; NULL: nobody */
    const char *dump_cfg;            /* directory, made if need be; NULL: none */
};

#endif
