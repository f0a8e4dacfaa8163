/* What instructions and functions do to memory that other threads see, and to the threads around them.
 *
 * Generic accesses are shared and global; local, parameter and constant memory never counts. Textures and surfaces are
 * global memory. A strong operation (volatile, relaxed ... atomic, fence, mbarrier, asynchronous copy and its wait) reads
 * and writes everything. A barrier is not an access. A call does what its callee's summary says; indirect calls, callees
 * without a body here, and those that the linker may replace (.weak) do anything. */
#ifndef PTXOPT_ANALYSIS_EFFECTS_H
#define PTXOPT_ANALYSIS_EFFECTS_H

#include "ir/ir.h"

enum EffectSpace { EFFECT_SHARED = 1 << 0, EFFECT_GLOBAL = 1 << 1, EFFECT_ALL = EFFECT_SHARED | EFFECT_GLOBAL };

typedef enum BarrierKind {
    BARRIER_NONE,
    BARRIER_WARP,  /* bar.warp.sync */
    BARRIER_CTA,   /* bar.sync and its other spellings: constant id, no thread count: all threads of the CTA */
    BARRIER_OTHER  /* thread count, id in a register, arrive, red, cluster; in a summary: more than one kind */
} BarrierKind;

typedef struct Effects {
    u8 reads, writes;    /* EffectSpaces */
    u8 barrier;          /* BarrierKind */
    bool strong;
    bool convergent;     /* depends on which threads execute it together */
    bool may_not_return; /* some thread may end there: exit, trap, .noreturn */
    bool known;          /* false: may do anything, all of the above is set */
} Effects;

/* Of every function of a module, from one walk over its text. Phases never add effects, so summaries stay safe, if not
 * sharp, while phases run. Recursion is fine; endless loops are not may_not_return. */
typedef struct Summaries {
    Effects *of; /* by SymId */
    u32 syms;
} Summaries;

Summaries *summaries_compute(Arena *arena, const Module *m);
Effects function_effects(const Summaries *summaries, SymId function);

/* Whether some call in the function does something else by `after` than by `before`, summaries of one module. */
bool calls_differ(const Function *fn, const Summaries *before, const Summaries *after);

/* summaries may be NULL: then every call does anything. */
Effects instr_effects(const Instr *i, const Summaries *summaries);
bool instr_is_convergent(const Instr *i, const Summaries *summaries);

#endif
