/* What it means that a kernel got worse: the one definition, for users (ptxopt --guard), reports and tests.
 *
 * A unit of machine code is worse than it was where any of these holds:
 *   wrong          ptxas uses one uniform counter for lanes that went different ways, and did not before
 *                  (judge/machine/uniform_counter.h);
 *   setmaxnreg     ptxas ignores setmaxnreg, and did not before;
 *   spills         more bytes are spilled and filled;
 *   warps          fewer warps fit on a multiprocessor, by registers, shared memory and barriers, for blocks of the size that
 *                  .reqntid or .maxntid says, or else for one of 128, 256, 512 and 1024 threads;
 *   cycles         a warp takes more than 1 % more cycles, by how often a block runs (frequency.h, match.h, unroll.h). These are
 *                  stall counts, and waits: for scoreboards (latencies.def), for the slowest warp at barriers (spread.h);
 *   instructions   no fewer cycles, and more instructions.
 * Cycles are fewer there if they are by more than 0.1 %. A unit is better if it is not worse, and has fewer cycles by more than the
 * dead band and 0.5 %, fewer spills or more warps. It is also better with fewer instructions, or as many and fewer registers,
 * and at most 0.5 % more cycles. So of two versions, one at most is better than the other one.
 *
 * Where ptxas did not obey setmaxnreg before, and does now, a block takes the registers that the author has shared out among its warps.
 * Only wrong counters and spills make that worse.
 *
 * If one of local memory and warps gains and the other loses, cycles decide. The one that loses is worse if a
 * scheduler takes more than 1 % longer for each warp, and the other one better if it takes 0.5 % less. Local memory holds spills, and
 * variables that may become registers. A scheduler takes for one warp of w what its instructions need to issue, or a w-th of its
 * cycles if that is more.
 *
 * If fewer warps fit of one version, and a warp takes at least 10 % fewer cycles there, cycles for each warp decide: that version is
 * worse if these are more by over a fifth. What the instructions need to issue does not count there: waits for memory may be longer
 * than the estimate, and need warps. The fifth is for what more warps do not gain: on an H100, a matrix product with half the cycles
 * and half the warps took 0.65 of the time (docs/results.md), where cycles for each warp are 0.98 to 1.05, by the latency of memory.
 *
 * It is not known how many warps of a kernel with dynamic shared memory fit: only a launch says how much there is. No rule asks
 * for warps then. (A cubin does not tell of it beside static shared memory, which is reckoned with alone.)
 *
 * Dead band: up to 16 cycles in all are no fewer cycles and, with as many instructions or fewer, no more, whatever the share. The
 * sources of the latencies that are known best differ by 7 or 8 cycles. If code is scheduled anew, one wait gains what another
 * one loses. Less than two of these is not resolved. From 1600 cycles on the 1 % is more, so that no loop is covered by the band. */
#ifndef PTXOPT_JUDGE_MACHINE_WORSE_H
#define PTXOPT_JUDGE_MACHINE_WORSE_H

#include "judge/machine/unit.h"

typedef enum WorseRule {
    WORSE_WRONG = 1,
    WORSE_SETMAXNREG = 2,
    WORSE_SPILLS = 4,
    WORSE_WARPS = 8,
    WORSE_CYCLES = 16,
    WORSE_INSTRUCTIONS = 32,
} WorseRule;
enum { WORSE_RULES = 6 };

/* The figures that may move: before and after. */
typedef struct Moved {
    unsigned long instructions[2], spilled[2], local[2], registers[2], shared[2], barriers[2];
    unsigned long uniform_counters[2]; /* that serve lanes of different ways */
    unsigned long resizes[2];          /* instructions of setmaxnreg */
    unsigned warps[2];                 /* for the size of block that loses most of them */
    unsigned threads;                  /* of that block */
    bool warps_unknown;                /* shared memory is dynamic: `warps` are what fits at most */
    double cycles[2];                  /* of a warp */
    double scheduler[2];               /* cycles of one for each of its warps */
    bool is_in_dead_band;              /* more than 1 % more cycles, which are not resolved */
    int unrolled;                      /* loops newly unrolled */
} Moved;

typedef struct Judgement {
    bool changed;   /* the machine code did */
    bool better;    /* not worse, and something of it is better */
    unsigned worse; /* set of WorseRule */
    Moved moved;
} Judgement;

void worse_judge(Judgement *judgement, const Unit *before, const Unit *after);

/* Judges the function of that name, which has a section of its own. False: one is missing, or is too large. */
bool worse_judge_function(Judgement *judgement, const Cubin *before, const Cubin *after, const char *name);

/* Which of two versions is to be preferred: 1: the second, -1: the first, 0: neither. `forth` judges the second beside the first,
 * `back` the first beside the second. The rule that comes first decides, and where none holds, fewer cycles. */
int worse_order(const Judgement *forth, const Judgement *back);

/* "spills", "warps", ...; `rule` is one of WorseRule. */
const char *worse_name(unsigned rule);

/* Says in words, in the arena, what moved: "registers 32 to 40, warps 64 to 48 (blocks of 128)". */
const char *worse_describe(Arena *arena, const Judgement *judgement);

#endif
