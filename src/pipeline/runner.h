/* What pipeline.c, step.c and sink.c share. */
#ifndef PTXOPT_PIPELINE_RUNNER_H
#define PTXOPT_PIPELINE_RUNNER_H

#include "pipeline/advice.h"
#include "pipeline/choice.h"
#include "pipeline/original.h"
#include "pipeline/pipeline.h"
#include "pipeline/remarks.h"

/* Fixed points nest: calls of a phase and the clean-up between them, rounds of the sequence, passes over the module. At
 * most MOST_CALLS calls of phases make a pass over a function, and MOST_PASSES passes a run. A function of more than
 * CALLS_OF instructions gets fewer, so that its cost stays linear, and at least LEAST_CALLS (3,747 real functions need at most 70). */
enum { MOST_CALLS = 1000, LEAST_CALLS = 150, CALLS_OF = 1000, MOST_PASSES = 8 };

/* A remark that waits for the end of the function. */
typedef struct KeptRemark {
    const char *pass, *name, *message; /* message: NULL: there is nothing to report */
    Span at;
} KeptRemark;

typedef struct KeptRemarks {
    Arena arena;
    FnvMap by_origin; /* by Instr.origin: the place in `remark`, plus 1 */
    VEC(KeptRemark) remark;
} KeptRemarks;

/* What holds for the function that the phases run over. */
typedef struct CurrentFunction {
    const PipelineConfig *own; /* its configuration: knobs, level, sequence */
    u32 level;                 /* what `own` and comments in the text ask for */
    VecU32 sequence;           /* phases that run over it */
    VecU32 cleanup;            /* phases of the clean-up that are called where a phase asks for it */
    Analyses *an;
    Original *original; /* what it was; NULL: nothing is compared with that */
    u32 *unchanged;     /* by phase: the state in which it last had nothing to do; 0: none (step.c) */
    u32 *vain;          /* by phase: the number of the call in which it last had nothing to do; 0: none */
    u32 *changed;       /* by phase: the number of the call in which it, or the runner after it, last changed something */
    bool lied;          /* a phase changed it in a state in which that phase had had nothing to do */
    u32 *spent;         /* by phase: what it has spent of its budget */
    u32 copied;         /* machine instructions of the copies of its loops */
    u32 calls;          /* calls of phases in this pass */
    bool rewrote[PHASE_COUNT]; /* by phase: it changed something, in this pass */
    bool is_chosen;     /* phases run over it, unless a guard withholds it */
    UncountedLoops uncounted;
    KeptRemarks kept;
} CurrentFunction;

/* One run over a module, which the phases' reports go to. */
typedef struct Runner {
    const PipelineConfig *config;
    FILE *messages;
    Stats *stats;
    RemarkWriter remarks;
    PhaseSink sink;
    Choices choices;
    CurrentFunction current;
    const Summaries *summaries;   /* of the module's functions */
    const Summaries *believed[2]; /* the summaries with which other functions [0] and entries [1] were run over last */
    u32 phase;                    /* the phase that runs */
    u32 pass;                     /* number of the pass over the module */
    bool cleans_up;               /* the clean-up runs for another phase; its misses were reported before */
    bool first_round;             /* the sequence runs over the current function for the first time, in the first pass */
    bool went_back;               /* some function was reverted */
    FnvMap said;                  /* by place and text: how often a remark came */
    VEC(Function *) later;        /* functions that were run over with summaries of changed functions */
    i64 rewrites;                 /* rewrites that phases have asked for, for --opt-bisect-limit */
    u32 *limited;                 /* by index into config->withheld: rewrites that counted against its limit */
} Runner;

/* ---- reports of the phases (sink.c) ------------------------------------------------------------------------------- */

PhaseSink sink_of(Runner *runner, bool wants_remarks);
/* Reports the remarks that were kept until the end of the function, and frees their memory. */
void sink_report_kept(Runner *runner, const Function *fn);
/* Whether no rewrite will be allowed any more. */
bool sink_is_over(const Runner *runner);

/* ---- one step on one function: a phase, or the phases of the clean-up (step.c) ------------------------------------- */

/* Phases that are called in turn, by index into the table. */
typedef struct Step {
    const u32 *phase;
    u32 phases;
} Step;

/* What a step did to a function. */
typedef enum Outcome {
    OUTCOME_NONE,    /* nothing */
    OUTCOME_SETTLED, /* the function was changed until nothing was left to do */
    OUTCOME_CHANGED  /* the function was changed; the step may do more, since the code differs from what it left, or it
                     * knew too little */
} Outcome;

static inline const PhaseInfo *step_phase(const Runner *runner, u32 phase) { return &runner->config->table->phase[phase]; }

static inline const PhaseInfo *step_first(const Runner *runner, Step step) { return step_phase(runner, step.phase[0]); }

/* False: the step broke the function, and a message has been printed. */
bool step_run(Runner *runner, Step step, Function *fn, Analyses *an, Outcome *outcome);
/* Checks once, before the first phase, that what the parser made is in order. */
bool step_verify_parsed(Runner *runner, Function *fn);
void step_start_analyses(const Runner *runner, Analyses *an, Function *fn);

#endif
