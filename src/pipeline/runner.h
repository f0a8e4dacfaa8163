/* What the runner's files share: pipeline.c, step.c, and sink.c. */
#ifndef PTXOPT_PIPELINE_RUNNER_H
#define PTXOPT_PIPELINE_RUNNER_H

#include "pipeline/choice.h"
#include "pipeline/pipeline.h"
#include "pipeline/remarks.h"

/* Fixed points nest: calls of a phase and the clean-up between them, rounds of the sequence, passes over the module. Whatever they do,
 * so many calls of phases end a pass over a function, of which 3,747 real ones need at most 70, and so many passes end the run. */
enum { MOST_CALLS = 1000, MOST_PASSES = 8 };

/* One run over a module: what the phases' reports go to. */
typedef struct Runner {
    const PipelineConfig *config;
    FILE *messages;
    Stats *stats;
    RemarkWriter remarks;
    PhaseSink sink;
    Choices choices;
    const PipelineConfig *own;    /* that holds for the function that is run over: knobs, level, sequence */
    VecU32 sequence;              /* phases that run over the function */
    VecU32 cleanup;               /* phases of the clean-up that are called where a phase asks for it */
    bool cleans_up;               /* they are called for another phase, and have said before what they miss */
    const Summaries *summaries;   /* of the module's functions */
    u32 *spent;                   /* of the budgets that phases have for the function that is run over */
    u32 phase;                    /* the one that runs */
    u32 calls;                    /* of phases, on the function that is run over, in this pass */
    u32 pass;                     /* over the module */
    bool first_round;             /* of the sequence, on the function that is run over, in the first pass */
    const Summaries *believed[2]; /* of other functions, of entries: when they were run over last */
    bool went_back;               /* some function did */
    VEC(Function *) later;        /* those that later passes ran over */
    i64 rewrites;                 /* asked for so far, for --opt-bisect-limit */
    u32 *limited;                 /* by place among what is withheld: rewrites that counted against its limit */
} Runner;

/* ---- reports of the phases (sink.c) ------------------------------------------------------------------------------- */

PhaseSink sink_of(Runner *runner, bool wants_remarks);
/* Whether no rewrite will be allowed any more. */
bool sink_bisect_is_over(const Runner *runner);

/* ---- one step on one function: a phase, or the phases of the clean-up (step.c) ------------------------------------- */

/* Phases that are called in turn, by index into the table. */
typedef struct Step {
    const u32 *phase;
    u32 phases;
} Step;

/* What a step did to a function. */
typedef enum Outcome {
    OUTCOME_NONE,    /* nothing */
    OUTCOME_SETTLED, /* it changed it until there was nothing more to do */
    OUTCOME_CHANGED /* it changed it, and may do so again: instructions or blocks are no longer those that it left, or it knew too little */
} Outcome;

static inline const PhaseInfo *step_phase(const Runner *runner, u32 phase) { return &runner->config->table->phase[phase]; }

static inline const PhaseInfo *step_first(const Runner *runner, Step step) { return step_phase(runner, step.phase[0]); }

/* False if the step broke the function; a message has been printed then. */
bool step_run(Runner *runner, Step step, Function *fn, Analyses *an, Outcome *outcome);
/* Once, before the first phase: whether what the parser made is in order. */
bool step_verify_parsed(Runner *runner, Function *fn);
void step_start_analyses(const Runner *runner, Analyses *an, Function *fn);

#endif
