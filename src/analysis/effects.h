/* What instructions and functions do to memory that other threads see, and to the threads around them.
 *
 * Generic accesses are shared and global; local, parameter and constant memory never counts. Textures and surfaces are
 * global memory. A strong operation (volatile, relaxed ... atomic, fence, mbarrier, asynchronous copy and its wait) reads
 * and writes everything. A barrier is not an access. Clocks, timers, sleeps, traps and the like access no memory, but what
 * they do, or see, depends on what was done before. A call does what its callee's summary says. Indirect calls do
 * anything, and so do callees without a body here. So does a callee that another module may replace (.weak, .common or
 * .extern on any declaration). */
#ifndef PTXOPT_ANALYSIS_EFFECTS_H
#define PTXOPT_ANALYSIS_EFFECTS_H

#include "base/bitset.h"
#include "ir/ir.h"

enum EffectSpace { EFFECT_SHARED = 1 << 0, EFFECT_GLOBAL = 1 << 1, EFFECT_ALL = EFFECT_SHARED | EFFECT_GLOBAL };

typedef enum BarrierKind {
    BARRIER_NONE,
    BARRIER_WARP, /* bar.warp.sync */
    BARRIER_CTA,  /* bar.sync and its other spellings: constant id, no thread count: all threads of the CTA */
    BARRIER_OTHER /* thread count, id in a register, arrive, red, cluster; in a summary: more than one kind */
} BarrierKind;

/* The things that a waiting thread may be waiting for. */
enum EffectWait {
    WAIT_LANES = 1 << 0,   /* lanes of its warp that a mask names */
    WAIT_ALIGNED = 1 << 1, /* the threads of its block or cluster; the lanes of its warp all wait with it, or have left */
    /* anything that another thread does: a value in memory, a barrier that a part of a warp comes to */
    WAIT_OTHERS = 1 << 2
};

typedef struct Effects {
    u8 reads, writes; /* EffectSpaces */
    u8 barrier;       /* BarrierKind */
    u8 waits;         /* EffectWaits */
    bool strong : 1;
    bool event : 1;          /* reads a clock or another volatile register, sleeps, stops: what comes before it matters */
    bool times : 1;          /* some of that reads the time, or counts events: other threads' progress also matters */
    bool convergent : 1;     /* depends on which threads execute it together */
    bool active_set : 1;     /* and does not name them: activemask, elect, votes and shuffles without .sync */
    bool may_not_return : 1; /* some thread may end there: exit, trap, .noreturn */
    bool known : 1;          /* false: may do anything, all of the above is set */
} Effects;

/* The effects of every function of a module, from one walk over its text. Phases never add effects, so that summaries stay safe, if
 * not exact, while phases run; an infinite loop does not count as may_not_return. */
typedef struct Summaries {
    Effects *of; /* by SymId: of what the module calls; any other function may do anything */
    u32 syms;
    /* Known where the module defines functions other than entries: */
    bool active_set; /* some function of the module, entries included, has the effect of this name, or may have it */
    BitSet external; /* by SymId: functions that another module may call: by name, by an alias, or by an address */
    bool ungated;    /* --no-gates of debug builds: phases are told that nobody waits, and nobody sees others */
} Summaries;

/* Whether a declaration with this text lets another module provide what is declared. */
bool effects_is_replaceable(Str text);

Summaries *summaries_compute(Arena *arena, const Module *m);
Effects effects_of_function(const Summaries *summaries, SymId function);
/* Whether what follows a return from fn may depend on which lanes execute it together, without naming them. */
bool effects_callers_see_lanes(const Summaries *summaries, const Function *fn);

/* Whether summaries from `before` and `after` a change differ for fn. They may in what a call in fn does, or in what may
 * follow a return from fn. */
bool summaries_differ(const Function *fn, const Summaries *before, const Summaries *after);

/* Whether other threads may see what op writes, which is a plain access (OPF_PLAIN_ACCESS). */
bool effects_op_writes(const OpInfo *op);
/* summaries may be NULL: then every call does anything. */
Effects instr_effects(const Instr *i, const Summaries *summaries);
/* Whether each path to i may get a copy of its own: i only computes, or is a plain load or store. */
bool instr_may_be_copied(const Instr *i, const Summaries *summaries);
bool instr_is_convergent(const Instr *i, const Summaries *summaries);
/* Whether some instruction of b is. */
bool block_is_convergent(const Block *b, const Summaries *summaries);
/* Whether i reads what another thread may write, and reads it anew each time: a loop around it may be one that waits. */
bool instr_polls(const Instr *i, const Summaries *summaries);
/* Whether i is a weak load of what another thread may write, a surface's too. */
bool instr_reads_weakly(const Instr *i);

#endif
