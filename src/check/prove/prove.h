/* Whether AFTER, a rewritten text, does what BEFORE does: function by function, by a proof that knows nothing of who rewrote it. */
#ifndef PTXOPT_CHECK_PROVE_PROVE_H
#define PTXOPT_CHECK_PROVE_PROVE_H

#include "base/arena.h"
#include "base/vec.h"
#include "ir/ir.h"

typedef enum ProveAnswer { PROVE_PROVED, PROVE_UNKNOWN, PROVE_REFUTED } ProveAnswer;

/* "proved", "unknown", "refuted". */
const char *prove_answer_name(ProveAnswer answer);

typedef struct ProveOptions {
    const char *solver;    /* a command that reads SMT-LIB 2; NULL: none */
    u32 solver_ms;         /* for each function */
    bool assume_in_bounds; /* no access by the address of a .shared variable goes beyond it */
    bool threads_alone;    /* barriers that AFTER lacks count only beside polls, and which exit is the end is not asked */
    u32 limit;             /* steps for each instruction of the function; 0: as usual */
} ProveOptions;

/* A special register, or a part of a parameter: `argument NAME+OFFSET`. */
typedef struct ProveInput {
    const char *name;
    u32 bits;
    u64 value;
} ProveInput;

typedef struct ProveVerdict {
    ProveAnswer answer;
    const char *why;                 /* of what is not proved: one line, in the arena */
    bool is_suspect;                 /* PROVE_UNKNOWN, and not because an opcode of BEFORE is not known */
    bool of_threads;                 /* PROVE_UNKNOWN: each thread does the same, but not with the same others */
    u32 nodes, steps, work, queries; /* work: terms made */
    const ProveInput *input;         /* PROVE_REFUTED: those that were read, in the arena */
    u32 inputs;
} ProveVerdict;

/* Whether the solver of that name, or the program that the command begins with, can be found. */
bool prove_solver_is_there(const char *name);

/* What functions of two texts do when they are called, found out as it is asked for: one for all proofs of these texts. */
typedef struct Callees Callees;
Callees *prove_callees(Arena *arena, const Module *before, const Module *after);

/* The verdict about two functions with a body. Memory from the arena. */
ProveVerdict prove_function(Function *before, Function *after, Callees *callees, const ProveOptions *options, Arena *arena);

/* Everything outside of functions with a body must be the same, byte by byte, and the functions in the same order. NULL:
 * it is; otherwise in what the texts differ. */
const char *prove_differs_outside(const Module *before, const Module *after);

/* Calls `report` for each function of BEFORE whose bytes differ in AFTER, and for what else the texts differ in. Answers the
 * worst verdict. */
typedef void ProveReport(void *user, const char *name, const ProveVerdict *verdict);
ProveAnswer prove_modules(Module *before, Module *after, const ProveOptions *options, ProveReport *report, void *user);

#endif
