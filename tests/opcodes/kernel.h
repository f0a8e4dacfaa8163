/* A kernel around one instruction: every register that the instruction names is loaded, it executes, and every register and every
 * byte that it can reach is stored. What each thread does at the instruction is data of the run.
 *
 * The name of a register says what it holds: %p1 a predicate, %h1 16 bits, %r1 32, %d1 64, %q1 128; %n1 a number below 32, %i1 one below 2, %b1 the number of a barrier, %k1 of its
 * threads, %m1 a mask
 * of lanes; and an address: %g1 of the thread's piece of global memory, %s1 shared, %l1 local, %c1 constant memory, %e1 of the
 * global piece and %o1 of the shared piece as generic addresses, %w1 global and %v1 shared memory as a whole. */
#ifndef PTXOPT_TESTS_OPCODES_KERNEL_H
#define PTXOPT_TESTS_OPCODES_KERNEL_H

#include "../fuzz/text.h"

enum {
    THREADS = 64, /* two warps */
    VALUES_MAX = 40,
    VALUE_BYTES = 16,
    PIECE = 64, /* bytes of each memory that a thread has */
    HALF = 32   /* an address names the one or the other */
};

/* A register that the instruction names. */
typedef struct Value {
    char kind;
    u32 number;
} Value;

/* What a thread does instead of the instruction. */
typedef enum Part {
    DOES_IT,
    LEAVES, /* it has exited */
    POLLS,  /* it waits in a loop until thread 0 has executed the instruction, and looks at what thread 0 wrote before */
    DOES_A_COPY,    /* it executes the same instruction elsewhere */
    PASSES_BARRIER, /* it waits at barrier 1, for 64 threads */
    DOES_NOTHING,
    WRITES_STRONGLY /* it writes thread 0's pieces of global and shared memory, strongly; nobody looks at its own */
} Part;

/* What the kernel has as parameters, in this order. */
typedef enum Memory {
    MEMORY_REGISTERS, /* before; by thread, then value; then the carry and the Part */
    MEMORY_RESULTS,   /* after; then the carry and where control went on */
    MEMORY_AGAIN,     /* the results of a second execution */
    MEMORY_GLOBAL,
    MEMORY_SHARED,
    MEMORY_LOCAL,
    MEMORY_PARAM, /* of calls */
    MEMORY_FLAG,
    MEMORY_MESSAGE, /* what thread 0 wrote before; then whether nobody stores what memory holds; then which thread reads the message */
    MEMORY_CONST, /* part of the text */
    MEMORY_KERNEL_PARAM,
    MEMORIES
} Memory;

/* Where control went on. */
enum { WENT_NOWHERE, WENT_ON, WENT_TO_TARGET };
enum { RETURNED = 7, WENT_ON_IN_FUNCTION = 9 };

typedef struct Kernel {
    Value value[VALUES_MAX];
    u32 values;
    Text text;
} Kernel;

static inline u32 value_stride(const Kernel *k) { return (k->values + 2) * VALUE_BYTES; }

/* `instr` may be `function: INSTR`: it executes in a function that the kernel calls, and TARGET is a label of the kernel or function.
 * constants: PIECE bytes. */
void kernel_make(Kernel *k, const char *instr, const u8 *constants, bool twice);
void kernel_free(Kernel *k);

#endif
