/* Decoding of machine instructions, sm_75 to sm_120: enough to judge code quality, not a disassembler.
 *
 * An instruction is 16 bytes, little endian. Bits 0-8 are the operation, bits 9-11 the form of its operands,
 * bits 12-15 the guard predicate (7: always), bit 15 its negation. Everything here was measured against nvdisasm;
 * tests/tools/cubinstat_check.sh measures it again where nvdisasm is available. */
#ifndef PTXOPT_JUDGE_MACHINE_SASS_H
#define PTXOPT_JUDGE_MACHINE_SASS_H

#include <stdbool.h>
#include <stdint.h>

#include "judge/machine/latency.h"

enum { SASS_BYTES = 16 };

typedef enum SassClass {
#define SASS_CLASS(id, column, text) SASS_##id,
#include "judge/machine/sass_classes.def"
    SASS_CLASS_COUNT
} SassClass;

enum { SASS_NO_BARRIER = 7, SASS_REGISTERS = 256, SASS_NO_REGISTER = 255, SASS_OPERATIONS = 512 };

/* The schedule that the compiler wrote for the issue unit: bits 105-125 of the instruction. */
typedef struct SassSchedule {
    uint8_t stall;    /* cycles until the next instruction may issue */
    bool yield;       /* the bit as it stands */
    uint8_t result;   /* scoreboard (0 to 5) that is free once the result is written; SASS_NO_BARRIER: none */
    uint8_t operands; /* that is free once the operands are read */
    uint8_t waits;    /* set of those that it waits for */
} SassSchedule;

typedef struct SassInstr {
    uint32_t offset; /* in bytes, from the start of the section */
    SassClass class;
    bool conditional; /* may fall through: guarded, or a branch with a predicate operand of its own */
    bool rare;        /* a branch that only a warp takes whose lanes have diverged: BRA.DIV, BRA.CONV */
    bool has_target;  /* `target` is valid: direct BRA, BSSY and CALL.REL */
    int64_t target;   /* byte offset in the section */
    unsigned barrier; /* convergence barrier number of BSSY, BSYNC, BREAK, BMOV and BSAVE */
    uint8_t saved;    /* register that BSAVE writes and BMOV reads; SASS_NO_REGISTER: none, or one that is not known */
    unsigned width;   /* bytes moved a thread: LDL and STL only */
    SassSchedule schedule;
    LatencyKind latency; /* of its result */
    LatencyKind issue;   /* of what holds up the next instruction; LATENCY_NONE: the schedule alone */
    uint16_t operation;  /* what it does: bits 0-8 */
    uint64_t key;        /* that, and the constants in it; the same whatever registers it uses, and wherever it stands */
} SassInstr;

/* `code` holds SASS_BYTES bytes; `sm` is the architecture as in sm_90. */
SassInstr sass_decode(const uint8_t *code, uint32_t offset, unsigned sm);

/* Cycles until the next instruction may issue: at least one, and more for what waits for other threads or for memory. */
unsigned sass_issue_cycles(const SassInstr *instr, const Latencies *latencies);

/* It only directs control: what is left of a block without it is what the block does. */
bool sass_is_control(const SassInstr *instr);

/* A barrier of the block or the cluster. */
static inline bool sass_is_barrier(const SassInstr *instr)
{
    return instr->class == SASS_BAR || instr->class == SASS_CLUSTER_BAR;
}

/* True where control never continues with the next instruction. */
bool sass_ends_block(const SassInstr *instr);

/* The `BRA .` that ptxas puts after the last instruction of a section. */
bool sass_is_self_branch(const SassInstr *instr);

#endif
