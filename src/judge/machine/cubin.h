/* Reads a cubin of ptxas 11.8 to 13.5: its functions, their code, and what ptxas wrote about them in .nv.info.
 *
 * Every offset and size is checked: a truncated file, or one that ptxas did not make, is refused with a message. */
#ifndef PTXOPT_JUDGE_MACHINE_CUBIN_H
#define PTXOPT_JUDGE_MACHINE_CUBIN_H

#include "base/arena.h"
#include "judge/machine/latency.h"

typedef struct CubinFunction {
    const char *name;
    bool kernel;         /* an .entry; else a function that was not inlined */
    bool inner;          /* a function inside the section of another one, whose registers and calls cover it */
    const uint8_t *code; /* start of its section; offsets below count from here */
    uint32_t begin, end; /* bytes; a function inside a kernel's section is cut out of the kernel */
    const uint8_t *info; /* the kernel's .nv.info attributes, or NULL */
    size_t info_bytes;
    bool notes_spills;   /* what ptxas before 12.9 wrote may hold spills without a note of them */
    unsigned registers;  /* 0 for functions inside a kernel's section: the kernel's number covers them */
    unsigned stack;      /* bytes of its own frame */
    unsigned barriers;   /* named barriers used */
    unsigned threads;    /* of a block, by .reqntid or .maxntid; 0: not known */
    uint64_t shared;     /* bytes of static shared memory, without what the driver reserves */
    bool dynamic_shared; /* it has a section for shared memory that holds none: how much there is, only a launch says */
} CubinFunction;

typedef struct Cubin {
    unsigned sm;              /* 90 for sm_90 and sm_90a */
    CubinFunction *functions; /* by section and offset; kernels and functions with code only */
    size_t count;
    uint8_t *bytes;      /* the file */
    Latencies latencies; /* to be reckoned with: those of the architecture, until somebody moves one */
} Cubin;

/* NULL, or why it cannot be used, in words: nothing then needs closing. Everything that a Cubin points to lives until cubin_close. */
const char *cubin_open(Cubin *cubin, const char *path);

/* Does the same with bytes, which come from mem_alloc() and are the Cubin's from then on, also on failure. NULL: not
 * read. */
const char *cubin_read(Cubin *cubin, uint8_t *bytes, size_t size);
void cubin_close(Cubin *cubin);

/* Section offsets of the spill stores and refills that ptxas noted, in ascending order of the notes; `offsets` may be
 * NULL. Returns how many there are. */
size_t cubin_spills(const CubinFunction *function, uint32_t *offsets);

/* Calls `visit` for each target of the indirect branch at section offset `branch`. */
void cubin_branch_targets(const CubinFunction *function, uint32_t branch, void (*visit)(void *context, uint32_t target),
                          void *context);

#endif
