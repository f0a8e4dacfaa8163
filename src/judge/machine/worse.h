/* What it means that a kernel got worse: the one definition, for users (ptxopt --guard), reports and tests.
 *
 * A unit of machine code is worse than it was where any of these holds:
 *   wrong          ptxas uses one uniform counter for lanes that went different ways, and did not before
 *                  (judge/machine/uniform_counter.h);
 *   spills         more bytes are spilled and filled;
 *   warps          fewer warps fit on a multiprocessor, by registers, shared memory and barriers, for blocks of the size that
 *                  .reqntid or .maxntid says, or else for one of 128, 256, 512 and 1024 threads;
 *   cycles         a warp takes more than 1 % more cycles: stall counts and waits for scoreboards, by how often a block runs
 *                  (loops, branches), each loop that was newly unrolled by its original iterations;
 *   instructions   no fewer cycles, and more instructions.
 * Cycles are fewer where they are by more than 0.1 %. */
#ifndef PTXOPT_JUDGE_MACHINE_WORSE_H
#define PTXOPT_JUDGE_MACHINE_WORSE_H

#include "judge/machine/unit.h"

typedef enum WorseRule {
    WORSE_WRONG = 1,
    WORSE_SPILLS = 2,
    WORSE_WARPS = 4,
    WORSE_CYCLES = 8,
    WORSE_INSTRUCTIONS = 16,
} WorseRule;
enum { WORSE_RULES = 5 };

/* What moved: before and after. */
typedef struct Moved {
    unsigned long instructions[2], spilled[2], registers[2], shared[2], barriers[2];
    unsigned long uniform_counters[2]; /* that serve lanes of different ways */
    unsigned warps[2]; /* for the size of block that loses most of them */
    unsigned threads;  /* of that block */
    double cycles[2];
    int unrolled; /* loops newly unrolled */
} Moved;

typedef struct Judgement {
    bool changed;   /* the machine code did */
    bool better;    /* not worse, and something of it is better */
    unsigned worse; /* set of WorseRule */
    Moved moved;
} Judgement;

void worse_judge(Judgement *judgement, const Unit *before, const Unit *after);

/* Of the function of that name, which has a section of its own; false where one is missing, or is too large. */
bool worse_judge_function(Judgement *judgement, const Cubin *before, const Cubin *after, const char *name);

/* Which of two versions is to be preferred: 1: the second, -1: the first, 0: neither. `forth` judges the second beside the first,
 * `back` the first beside the second. The rule that comes first decides, and where none holds, fewer cycles. */
int worse_order(const Judgement *forth, const Judgement *back);

/* "spills", "warps", ...; `rule` is one of WorseRule. */
const char *worse_name(unsigned rule);

/* What moved, in words, in the arena: "registers 32 to 40, warps 64 to 48 (blocks of 128)". */
const char *worse_describe(Arena *arena, const Judgement *judgement);

#endif
