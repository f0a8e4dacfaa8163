/* What it means that a kernel got worse: the one definition, for users (ptxopt --guard), reports and tests.
 *
 * A unit of machine code is worse than it was if any of these holds:
 *   wrong          ptxas uses one uniform counter for lanes that went different ways, and did not before
 *                  (judge/machine/uniform_counter.h);
 *   setmaxnreg     ptxas ignores setmaxnreg, and did not before;
 *   spills         more bytes are spilled and filled;
 *   warps          fewer warps fit on a multiprocessor, by registers, shared memory and barriers, for blocks of the size that
 *                  .reqntid or .maxntid says, or else for one of 128, 256, 512 and 1024 threads;
 *   cycles         a warp takes more than 1 % more cycles, by how often a block runs (frequency.h, match.h, unroll.h). These are
 *                  stall counts, and waits: for scoreboards (latencies.def), for the slowest warp at barriers (spread.h);
 *   instructions   no fewer cycles, and more instructions.
 * "Fewer cycles" there means by more than 0.1 %. A unit is better if it is not worse, and has fewer cycles by more than the dead
 * band and 0.5 %, or fewer spills. It is also better with fewer instructions, or as many and fewer registers, and at most 0.5 %
 * more cycles. So of two versions, at most one is better than the other, and at most one is worse.
 *
 * If one rule gains and another loses, the two are weighed into one answer:
 *   Warps and cycles are one figure. If not as many warps fit of both, cycles are divided by the root of the warps, and that figure
 *   is compared. (The geometric mean over the sizes of block, if none is known.) Warps that wait hide each other's latency, and
 *   warps that issue do not. So the truth lies between the cycles of a warp and its share of the cycles of all, and the root is the
 *   mean of these bounds. On an H100, a matrix product with half the cycles and half the warps took 0.65 of the time where the
 *   figure says 0.71. A version of which some size of block no longer fits at all is worse, and the other is not.
 *   Spills may be traded for at least 10 % of that figure. A version that saves less than that by more spills is worse, and the
 *   other is not.
 *   Fewer wrong counters make nothing worse, whatever they cost.
 *
 * If ptxas ignored setmaxnreg before and obeys it now, a block takes the registers that the author has divided among its warps.
 * Only wrong counters and spills make that worse. Ignoring setmaxnreg is no loss if ptxas then spills less.
 *
 * If one of local memory and warps gains and the other loses, a scheduler's cycles decide. The version that loses is worse if a
 * scheduler takes more than 1 % longer per warp, and the other is better if it takes 0.5 % less. Local memory holds spills, and
 * variables that may become registers. For one warp of w, a scheduler takes what its instructions need to issue, or a w-th of its
 * cycles if that is more.
 *
 * It is unknown how many warps of a kernel with dynamic shared memory fit: only a launch says how much there is. No rule asks for
 * warps then. (A cubin does not show it beside static shared memory; then only the static part is counted.)
 *
 * Dead band: up to 16 cycles in all are not fewer cycles and, with as many instructions or fewer, not more, whatever the share. The
 * sources of the best known latencies differ by 7 or 8 cycles. When code is rescheduled, one wait gains what another loses. Less
 * than two of these is not resolved. From 1600 cycles on the 1 % is more, so the band covers no loop. */
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
    unsigned warps[2];                 /* for the size of block that moves most of them */
    unsigned threads;                  /* of that block */
    double times_warps;                /* how many times the warps fit, in the mean of all sizes; 0: some blocks no longer fit */
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

/* Applies the rules to what moved: sets whether it is worse or better, and whether that is in the dead band. */
void worse_weigh(Judgement *judgement);

/* Which of two versions is to be preferred: 1: the second, -1: the first, 0: neither. `forth` judges the second beside the first,
 * `back` the first beside the second. The one that is worse is not; where none is, fewer cycles decide. */
int worse_order(const Judgement *forth, const Judgement *back);

/* "spills", "warps", ...; `rule` is one of WorseRule. */
const char *worse_name(unsigned rule);

/* Says in words, in the arena, what moved: "registers 32 to 40, warps 64 to 48 (blocks of 128)". */
const char *worse_describe(Arena *arena, const Judgement *judgement);

#endif
