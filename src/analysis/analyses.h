/* The analyses of one function, computed together on demand and dropped when a phase has made them stale. */
#ifndef PTXOPT_ANALYSIS_ANALYSES_H
#define PTXOPT_ANALYSIS_ANALYSES_H

#include "analysis/control.h"
#include "analysis/dom.h"
#include "analysis/effects.h"
#include "analysis/live.h"
#include "analysis/facts.h"
#include "analysis/loop.h"
#include "analysis/order.h"
#include "analysis/uniform.h"

enum { ANALYSES = 8 };

enum AnalysisBit {
    AN_ORDER = 1 << 0,
    AN_DOM = 1 << 1,
    AN_POSTDOM = 1 << 2,
    AN_LOOPS = 1 << 3,
    AN_LIVE = 1 << 4,
    AN_UNIFORM = 1 << 5,
    AN_CONTROL = 1 << 6,
    AN_FACTS = 1 << 7,
    AN_NONE = 0,
    AN_ALL = (1 << ANALYSES) - 1
};

typedef struct Analyses {
    Function *fn;  /* a definition: it has blocks */
    const Summaries *summaries; /* of the module, owned by the runner; NULL: every call does anything */
    u32 valid; /* AnalysisBits */
    Arena arena[ANALYSES]; /* of each, by the number of its bit */
    Order *order;
    DomTree *dom, *postdom;
    Loops *loops;
    Live *live;
    Uniform *uniform;
    Control *control;
    Facts *facts;
} Analyses;

void analyses_init(Analyses *an, Function *fn);
/* Computes those of `bits` (and what they rest on) that are not valid; builds fn->cfg first. */
void analyses_require(Analyses *an, u32 bits);
/* Forgets all but `keep` (and what these rest on). */
void analyses_drop(Analyses *an, u32 keep);
/* In a function whose analyses take megabytes, forgets all but `bits` (and what these rest on): there the memory is worth
 * more than the time to compute some of them again. */
void analyses_make_room(Analyses *an, u32 bits);
void analyses_free(Analyses *an);
/* For the checker: what the first of the valid analyses is called that is not what would be computed now; NULL if all are. */
const char *analyses_stale(const Analyses *an);

#endif
