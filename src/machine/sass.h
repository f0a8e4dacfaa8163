/* Decoding of machine instructions, sm_75 to sm_120: what a judge of code quality needs, not a disassembler.
 *
 * An instruction is 16 bytes, little endian. Bits 0-8 are the operation, bits 9-11 the form of its operands,
 * bits 12-15 the guard predicate (7: always), bit 15 its negation. Everything here was measured against nvdisasm;
 * tests/tools/cubinstat_check.sh measures it again wherever nvdisasm is at hand. */
#ifndef PTXOPT_TESTS_SASS_H
#define PTXOPT_TESTS_SASS_H

#include <stdbool.h>
#include <stdint.h>

enum { SASS_BYTES = 16 };

typedef enum SassClass {
#define SASS_CLASS(id, column, text) SASS_##id,
#include "machine/sass_classes.def"
#undef SASS_CLASS
    SASS_CLASS_COUNT
} SassClass;

typedef struct SassInstr {
    uint32_t offset;     /* in bytes, from the start of the section */
    SassClass class;
    bool conditional;    /* may fall through: guarded, or a branch with a predicate operand of its own */
    bool has_target;     /* `target` is valid: direct BRA and BSSY */
    int64_t target;      /* byte offset in the section */
    unsigned barrier;    /* convergence barrier number of BSSY, BSYNC, BREAK and BMOV */
    unsigned width;      /* bytes moved a thread: LDL and STL only */
} SassInstr;

/* `code` holds SASS_BYTES bytes; `sm` is the architecture as in sm_90. */
SassInstr sass_decode(const uint8_t *code, uint32_t offset, unsigned sm);

/* True where control never continues with the next instruction. */
bool sass_ends_block(const SassInstr *instr);

/* The `BRA .` that ptxas puts behind the last instruction of a section. */
bool sass_is_self_branch(const SassInstr *instr);

#endif
