/* A unit of machine code that is judged as a whole. It is a kernel, or a function with a section of its own, with the functions that
 * ptxas put into that section. */
#ifndef PTXOPT_JUDGE_MACHINE_UNIT_H
#define PTXOPT_JUDGE_MACHINE_UNIT_H

#include "judge/machine/flow.h"

typedef struct Unit {
    const CubinFunction *function;
    unsigned sm;
    const CubinFunction **parts; /* the function itself, then those inside its section */
    SassCode *code;              /* of each */
    size_t count;
    unsigned long instructions;
    unsigned long spilled_stores, spilled_loads; /* bytes */
    unsigned long local;                         /* bytes of all accesses to local memory, those too */
    unsigned uniform_counters;                   /* judge/machine/uniform_counter.h */
    unsigned resizes;                            /* USETMAXREG: setmaxnreg that ptxas obeys */
} Unit;

/* `index` is that of a function of the cubin that is not inner. Everything in `unit` is owned by it but for what belongs to the
 * cubin; false as of sass_read (nothing to free then). */
bool unit_read(Unit *unit, const Cubin *cubin, size_t index);
void unit_free(Unit *unit);

/* Adds the bytes that the code spills and fills. Without ptxas's notes (before 12.9) a spill cannot be distinguished from an
 * access to an array in local memory: both count. So they do in code of so many accesses that notes may be lost. */
void sass_add_spills(const SassCode *code, const CubinFunction *function, unsigned sm, unsigned long *stores,
                     unsigned long *loads);

/* Whether the machine code is the same, byte for byte. */
bool unit_same_code(const Unit *a, const Unit *b);

/* The part of `other` that is the same function as this one of `unit`, by its name without the kernel's and ptxas's numbers;
 * `other->count`: none. */
size_t unit_same_part(const Unit *unit, const Unit *other, size_t part);

/* Iterations that each loop of each part is thought to run: one of those that wait for lanes. By part, then loop. */
typedef struct Iterations {
    double **of;
    int **twin;      /* the loop of the other version that is the same and runs as often; SASS_NONE */
    bool **remade;   /* it, or one around it, has another number of iterations than what it was made of */
    double **rounds; /* iterations that the other version has in a row; 1 where it has none */
} Iterations;
enum { LOOP_ITERATIONS = 64 };
Iterations iterations_make(Arena *arena, const Unit *unit);

/* How often each block of each part runs, a call of the part. By part, then block. */
typedef struct Frequencies {
    double **of;
    unsigned **wait; /* for the slowest warp at the barriers of a block */
    const Iterations *iterations;
} Frequencies;
Frequencies unit_frequencies(Arena *arena, const Unit *unit, const Iterations *iterations);

/* The time of one thread's warp, by how often the blocks run, with the functions that are called. It is cycles from its
 * first issue to its last, and instructions. */
typedef struct UnitTime {
    double cycles, instructions;
} UnitTime;
UnitTime unit_time(const Unit *unit, const Frequencies *frequencies);

#endif
