/* The analyses of one function (analysis.def). Each is computed when it is asked for and not up to date. An edit
 * (ir/edit.h) moves the function to a new epoch of its edges or its code. Results for the old epoch are then out of
 * date. A phase that wants the answers from before its rewrites freezes them. A result is read through its
 * accessor only. No pointer to it outlives the next thaw, or the next edit if it is not frozen. */
#ifndef PTXOPT_ANALYSIS_ANALYSES_H
#define PTXOPT_ANALYSIS_ANALYSES_H

#include "analysis/control.h"
#include "analysis/dom.h"
#include "analysis/effects.h"
#include "analysis/facts.h"
#include "analysis/live.h"
#include "analysis/loop.h"
#include "analysis/order.h"
#include "analysis/ssa.h"
#include "analysis/uniform.h"
#include "analysis/wait.h"

typedef enum AnalysisIndex {
#define ANALYSIS(NAME, ...) ANALYSIS_##NAME,
#include "analysis/analysis.def"
    ANALYSES
} AnalysisIndex;

enum AnalysisBit {
#define ANALYSIS(NAME, ...) AN_##NAME = 1 << ANALYSIS_##NAME,
#include "analysis/analysis.def"
    AN_NONE = 0,
    AN_ALL = (1 << ANALYSES) - 1
};

/* The result of one analysis; only analyses.c, stale.c and the accessors below use it. */
typedef struct AnalysisSlot {
    void *result; /* NULL: not computed */
    u32 epoch;    /* of the function, when it was */
    Arena arena;
} AnalysisSlot;

typedef struct Analyses {
    Function *fn;               /* a definition: it has blocks */
    const Summaries *summaries; /* of the module, owned by the runner; NULL: every call does anything */
    double (*clock)(void);      /* seconds; NULL: nobody wants to know them */
    double seconds;             /* spent on computing, by that clock */
    u32 frozen;                 /* AnalysisBits */
    Arena *scratch;             /* for what the phase that runs finds out itself; gone when it returns */
    bool computing;             /* the clock runs */
    AnalysisSlot slot[ANALYSES];
} Analyses;

void analyses_init(Analyses *an, Function *fn);
void analyses_free(Analyses *an);

/* Until an_thaw() the analyses of `bits`, and those that they rest on, answer for the function as it is now. One that is
 * not up to date is computed when it is first asked for. That must be before the first edit if it rests on another one, and
 * an_compute_frozen() sees to it. In a function whose analyses take megabytes the others are forgotten. The memory is worth
 * more there than the time to compute some of them again. */
void an_freeze(Analyses *an, u32 bits);
/* Those of `bits` are frozen no longer (but for what a frozen one rests on); what is out of date is forgotten. */
void an_thaw(Analyses *an, u32 bits);
/* Computes those of `bits` that are neither up to date nor frozen, before an edit that they are not to see. */
void an_compute(Analyses *an, u32 bits);
/* Computes all that are frozen. For a phase that asks them between its edits, to be called before the first one: an analysis
 * of the edited function cannot be made from frozen bases, which know nothing of what the edit has added. */
void an_compute_frozen(Analyses *an);
/* The computed analyses that are still true of the function, as bits. */
u32 an_valid(const Analyses *an);

/* The checker asks this: the name of the first valid analysis that differs from what would be computed now; NULL: none
 * does. */
const char *analyses_stale(const Analyses *an);

/* ---- accessors: an_order(an), an_dom(an), ... ------------------------------------------------------------------- */

/* Computes it anew, the slow path of an accessor. */
void *analysis_compute(Analyses *an, AnalysisIndex k);

static inline bool analysis_is_up_to_date(const Analyses *an, AnalysisIndex k, Epoch epoch)
{
    return an->slot[k].result && an->slot[k].epoch == an->fn->epoch[epoch];
}

static inline void *analysis_result(Analyses *an, AnalysisIndex k, Epoch epoch)
{
    if (analysis_is_up_to_date(an, k, epoch) || (an->slot[k].result && an->frozen >> k & 1))
        return an->slot[k].result;
    return analysis_compute(an, k);
}

#define ANALYSIS(NAME, name, Type, rests, epoch, ...) \
    static inline Type *an_##name(Analyses *an) { return analysis_result(an, ANALYSIS_##NAME, epoch); }
#include "analysis/analysis.def"

/* Whether nobody reads what `def` writes to reg but, perhaps, `reader` (NULL: nobody at all). The caller knows that
 * nothing else writes reg between def and `end` (NULL: the end of the block). Where the block does not tell, AN_LIVE is
 * asked for. */
bool an_is_only_reader(Analyses *an, const Instr *def, const Instr *end, const Instr *reader, RegId reg);

#endif
