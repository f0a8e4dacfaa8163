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
    CLASS_STRONG, /* conflicts with everything */
    CLASS_CONVERGENT, /* depends on which threads of the warp execute it together; accesses nothing and conflicts with nothing */
    CLASS_TIME,       /* reads the time, or counts events; accesses nothing and conflicts with nothing */
    CLASS_SHARED, /* any address of a state space */
    CLASS_GLOBAL,
    CLASS_GENERIC,
    CLASS_PROVEN, /* this and later ones: accesses whose address is partly known */
    CLASS_LIMIT = 64
};

typedef struct AccessClass {
    u8 spaces;   /* EffectSpaces */
    u8 space;    /* Space of the instructions */
    u8 bits;     /* of the address, as wide as the state space addresses */
    bool inside; /* the access always stays in the variable */
    bool ranged, uniform;
    SymId symbol;       /* 0: no variable is known */
    SymId through;      /* the .shared variable from whose address the access counts; 0: unknown, or not asked for */
    i64 lo, hi;         /* bytes from the symbol on, if ranged: from lo to before hi */
    u32 function;       /* 0: unknown */
    i64 from, to;       /* bytes from the function's value on: from `from` to before `to` */
    u64 spread, extent; /* see ThreadValue; spread 0: not injective over all threads */
} AccessClass;

typedef struct AccessClasses {
    AccessClass v[CLASS_LIMIT];
    u32 n;
    u64 conflicts
        [CLASS_LIMIT]; /* by class: the classes that it conflicts with in another thread; see alias_classes_compare */
    ThreadValues *values;
    bool in_bounds; /* --assume-in-bounds */
} AccessClasses;

/* The register, symbol or constant in the brackets. NULL: there is none, or the extent of the access is unknown. */
const Operand *alias_address(const Instr *i);

/* The values of the registers in the accesses' addresses must be among those that `values` may be asked for. */
AccessClasses *alias_classes_new(Arena *arena, ThreadValues *values, bool assume_in_bounds);

/* The class of the access that i makes to these spaces, of which there is at least one. */
u32 alias_class_of(AccessClasses *classes, const Instr *i, u8 spaces);

/* The class of an access to any address in all of these spaces. */
u32 alias_class_anywhere(u8 spaces);

/* The classes whose accesses may lie in one of these spaces. */
u64 alias_classes_in(const AccessClasses *classes, u8 spaces);

/* Fills in `conflicts`; to be called when all classes are known. */
void alias_classes_compare(AccessClasses *classes);

#endif
