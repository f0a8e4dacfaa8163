/* Natural loops with latches and exits, nesting, and reducibility. A back edge is an edge to a dominator. The cycles that
 * are left without back edges are irreducible regions (Hecht and Ullman, 1974): cycles that control enters at more than
 * one place. Neither depends on the order in which the graph was searched. */
#ifndef PTXOPT_ANALYSIS_LOOP_H
#define PTXOPT_ANALYSIS_LOOP_H

#include "analysis/dom.h"
#include "base/bitset.h"

/* What one loop writes, kept until another loop is asked about, or the code changes. */
typedef struct LoopWrites LoopWrites;

typedef struct Loop {
    Block *header;
    struct Loop *parent; /* innermost loop around, NULL */
    u32 depth;           /* outermost: 1 */
    u32 height;          /* levels of loops, itself included: 1 without a loop inside */
    Block **latches;     /* blocks with an edge to the header from inside, in reverse post-order */
    u32 latch_count;
    Block **blocks; /* all members, header first, then the others of its own, then inner loops' */
    u32 block_count;
    Block *preheader;   /* the only reachable block outside that goes to the header, if it goes nowhere else; or NULL */
    bool nounroll;      /* holds .pragma "nounroll" directly */
    u32 first;          /* blocks[k] has number first + k in Loops.number */
    LoopWrites *writes; /* the same of all loops of a function */
} Loop;

typedef struct Loops {
    Loop **v;                  /* outer loops before inner ones */
    u32 n, deepest;            /* deepest: the greatest depth */
    u32 *of;                   /* by Block.id: the innermost loop's place in v, plus 1; 0: none */
    u32 *number;               /* by Block.id, for loop_contains; UINT32_MAX outside of loops */
    u32 irreducible;           /* irreducible regions */
    BitSet in_irreducible;     /* blocks of them, by Block.id; no bits when there is none */
    BitSet around_irreducible; /* these, and the blocks on paths to a region from where all its entries are decided */
    u32 *stays; /* by Block.id, in `epoch`: depth of the innermost loop that control does not leave there; 0: none */
    u32 epoch;  /* of the edges, when loops were found */
    u32 blocks; /* ids below this one are known; none where no edge leads upwards */
} Loops;

/* The height of a loop up to which its blocks are walked. A block is then in at most so many loops that are walked. */
enum { LOOP_HEIGHT_WALKED = 32 };

Loops *loops_compute(Arena *arena, const Function *fn, const Order *order, const DomTree *dom);

/* NULL too for a block made since. */
static inline Loop *loop_of(const Loops *l, const Block *b)
{
    return b->id < l->blocks && l->of[b->id] ? l->v[l->of[b->id] - 1] : NULL;
}

/* The loop whose header b is, or NULL. */
static inline Loop *loop_headed_by(const Loops *l, const Block *b)
{
    Loop *loop = loop_of(l, b);
    return loop && loop->header == b ? loop : NULL;
}

/* Whether b is in an irreducible region. */
static inline bool loop_is_irreducible(const Loops *l, const Block *b)
{
    return l->irreducible && bitset_has(&l->in_irreducible, b->id);
}

/* Whether b is in an irreducible region, or helps to decide by which of its blocks control enters one. These are the
 * blocks on the way to the region from its entries' nearest common dominator, which counts too. What edges and branches
 * there look like stays as it is. ptxas compiles some spellings of one graph wrongly, with a uniform counter for threads
 * of different entries (TWO_ENTRIES of target/bugs.def). */
static inline bool loop_is_around_irreducible(const Loops *l, const Block *b)
{
    return l->irreducible && b->id < l->blocks && bitset_has(&l->around_irreducible, b->id);
}

static inline bool loop_contains(const Loops *l, const Loop *loop, const Block *b)
{
    return b->id < l->blocks && l->number[b->id] - loop->first < loop->block_count;
}

bool loop_has_latch(const Loop *loop, const Block *b);
/* The block outside the loop to which the only latch, which ends with a branch, leads. */
Block *loop_exit_of_latch(const Loop *loop);
/* The block from which the loop is entered, if there is only one; otherwise NULL. */
Block *loop_only_entry(const Function *fn, const Loop *loop);
/* Whether control can leave the loop at the end of b, which is in it, or the function. */
bool loop_is_left_at(const Loops *l, const Loop *loop, const Block *b);
/* The last instruction of the loop, in its order of blocks, that writes reg, or NULL; *writes: how many do. Linear in the loop, but one
 * question after the other about a loop takes constant time. */
Instr *loop_last_write(const Loop *loop, RegId reg, u32 *writes);
bool loop_is_invariant(const Loop *loop, RegId reg); /* the loop does not write it */
/* The only instruction of the loop that writes reg, if it is unguarded and writes all of it; otherwise NULL. */
Instr *loop_only_write(const Loop *loop, RegId reg);
/* Whether o is a constant, or a register that the loop does not write; loop NULL: only a constant. */
bool loop_is_fixed(const Loop *loop, const Operand *o);
/* Whether b executes exactly once in every iteration that comes to a latch. */
bool loop_passes_once(const Loops *l, const DomTree *dom, const Loop *loop, const Block *b);

static inline bool edge_is_back(const DomTree *dom, const Block *from, const Block *to) { return dominates(dom, to, from); }

#endif
