/* Which memory accesses of a function may conflict: touch a common byte in two different threads of the CTA.
 *
 * Accesses are put into at most 64 classes, so that sets of them are words. A class stands for the accesses through one
 * function of the thread (thread_value.h) with one offset, or for all of a state space. Two classes do not conflict
 *   - if they lie in different state spaces (generic ones lie in both);
 *   - if each provably stays inside its variable, and the variables differ;
 *   - if they are of two .shared variables, and the user says that none goes beyond its own (--assume-in-bounds);
 *   - if they are disjoint pieces of one variable, or of what one pointer, the same in all threads, points to;
 *   - if the block is one thread;
 *   - if both address the same injective function of the thread, and the bytes around it that either touches fit between
 *     two threads: then what a thread touches, no other one does.
 * Strong operations conflict with everything that any thread does. */
#ifndef PTXOPT_PHASE_BARRIER_ALIAS_H
#define PTXOPT_PHASE_BARRIER_ALIAS_H

#include "analysis/effects.h"
#include "analysis/thread_value.h"

enum {
    CLASS_STRONG,     /* conflicts with everything */
    CLASS_CONVERGENT, /* no access, conflicts with nothing: depends on which threads of the warp are together */
    CLASS_TIME,       /* no access, conflicts with nothing: reads the time, or counts events */
    CLASS_SHARED,     /* anywhere in a state space */
    CLASS_GLOBAL,
    CLASS_GENERIC,
    CLASS_PROVEN, /* this and later ones: an address of which something is known */
    CLASS_LIMIT = 64
};

typedef struct AccessClass {
    u8 spaces;   /* EffectSpaces */
    u8 space;    /* Space of the instructions */
    u8 bits;     /* of the address, as the state space counts */
    bool inside; /* of the variable, always */
    bool ranged, uniform;
    SymId symbol;       /* 0: of no variable that is known */
    SymId through;      /* .shared variable from whose address on it counts; 0: not known, or not asked for */
    i64 lo, hi;         /* bytes from the symbol on, if ranged: lo <= . < hi */
    u32 function;       /* 0: unknown */
    i64 from, to;       /* bytes from the function's value on */
    u64 spread, extent; /* as in ThreadValue; spread 0: not injective over all threads */
} AccessClass;

typedef struct AccessClasses {
    AccessClass v[CLASS_LIMIT];
    u32 n;
    u64 conflicts[CLASS_LIMIT]; /* by class: those with which it conflicts in another thread; see alias_classes_compare */
    ThreadValues *values;
    bool in_bounds; /* --assume-in-bounds */
} AccessClasses;

/* The register, symbol or constant in the brackets, if there is one and the extent of the access is known. */
const Operand *alias_address(const Instr *i);

/* values: those of the registers in the accesses' addresses may be asked for. */
AccessClasses *alias_classes_new(Arena *arena, ThreadValues *values, bool assume_in_bounds);

/* The class of an access of these spaces (not none), by i. */
u32 alias_class_of(AccessClasses *classes, const Instr *i, u8 spaces);

/* The class of all of these spaces. */
u32 alias_class_anywhere(u8 spaces);

/* The classes that lie, or may lie, in one of these spaces. */
u64 alias_classes_in(const AccessClasses *classes, u8 spaces);

/* Fills `conflicts` in; to be called when all classes are known. */
void alias_classes_compare(AccessClasses *classes);

#endif
