/* Control flow of machine code: instructions of one function, its blocks and its natural loops.
 *
 * Loops are found by dominance, not by backward branches alone: ptxas moves blocks out of line, so a backward branch
 * may close no loop. BSYNC continues at the targets of the BSSYs that reach it; BRX at those that the cubin lists; a
 * call is followed by what stands behind it. */
#ifndef PTXOPT_TESTS_FLOW_H
#define PTXOPT_TESTS_FLOW_H

#include "machine/cubin.h"
#include "machine/sass.h"

typedef struct SassLoop {
    uint32_t header;         /* byte offset of its first instruction in the section */
    unsigned latches;        /* back edges */
    unsigned depth;          /* 1: outermost */
    bool innermost;
    unsigned instructions;   /* with those of the loops inside */
    unsigned classes[SASS_CLASS_COUNT];
} SassLoop;

typedef struct SassCode {
    SassInstr *instrs;       /* without the padding */
    size_t count;
    size_t padding;          /* instructions behind the last one that can run: `BRA .` and NOPs */
    SassLoop *loops;         /* by header */
    size_t loop_count;
    unsigned irreducible;    /* edges back to a block that does not dominate their start */
} SassCode;

/* Everything in `code` is owned by it; false when memory is short (nothing to free then). */
bool sass_read(SassCode *code, const CubinFunction *function, unsigned sm);
void sass_free(SassCode *code);

#endif
