/* The state of one computation of uniformity, which its files share (uniform.h). */
#ifndef PTXOPT_ANALYSIS_UNIFORM_SOLVER_H
#define PTXOPT_ANALYSIS_UNIFORM_SOLVER_H

#include "analysis/uniform.h"

typedef enum Level { LEVEL_WARP, LEVEL_CTA } Level;

/* How the propagation from a divergent branch came to a block. */
typedef struct Reach {
    u32 propagation, join; /* the last propagation that came there, and the last one of which paths join there */
    u32 label;             /* of the path that came there */
} Reach;

/* A position of a list: a list is the place of its first one in `listed`, plus 1; 0: it is empty. */
typedef struct Listed {
    u32 position, next;
} Listed;

/* What a block writes of Live.listed, by place there: UniformWalk.writes[first .. end - 1]. */
typedef struct Written {
    u32 first, end;
    u32 instrs; /* of the block, plus 1; 0: nobody asked yet */
} Written;

/* The instructions that read each register. */
typedef struct UniformReaders {
    u32 *reads;           /* by register: how often what was visited so far reads it */
    bool visited_all;
    u32 *first_reader;    /* by register: those that read it are reader[first_reader[reg]] .. */
    const Instr **reader; /* .. reader[first_reader[reg + 1] - 1], in order; NULL: not asked for yet */
} UniformReaders;

/* The positions where paths may join, except those at which nothing uniform is live any more. */
typedef struct UniformPlaces {
    VEC(Listed) listed;
    u32 *joins_below; /* by position: the list of those that it dominates immediately; at the entry, that too */
    u32 *exits; /* by place in `loops`, plus 1: to where edges lead out of it, and of none around it; first: of many */
    u32 *open;  /* by position: of what is live there, nothing before this index is uniform */
} UniformPlaces;

/* The propagation from one branch, by position. */
typedef struct UniformWalk {
    u32 propagation;
    Reach *reach;
    u32 *written_mark; /* by place in Live.listed: the propagation in whose region the register is written */
    Written *written;  /* by position */
    VecU32 writes;     /* places in Live.listed, of the blocks one after the other */
    BitSet pending;
    u32 *region, region_size;
    VecU32 joins;
    const Block *stop; /* NULL: the paths may never all join */
    u32 cursor;
} UniformWalk;

typedef struct Solver {
    const Function *fn;
    const Order *order;
    const DomTree *dom, *postdom;
    const Loops *loops;
    const Live *live;
    Level level;
    bool asks_level;                /* what was visited last may be uniform within a warp only */
    VEC(const Instr *) within_warp; /* what asked for the level when it was visited first */
    BitSet *uniform, *branch;       /* of the result, at this level */
    BitSet listed;                  /* what is uniform of Live.listed */
    VEC(const Block *) divided;     /* blocks whose branches are divergent */
    VecU32 work;                    /* registers that have become divergent after something that reads them was visited */
    UniformReaders readers;
    BitSet leaving; /* positions with an edge out of their innermost loop */
    UniformPlaces places;
    UniformWalk walk;
    u64 steps, step_limit;
    bool limit_known; /* unset: the limit is that of blocks and edges alone so far */
    bool gave_up;
    Arena *scratch;
} Solver;

static inline void uniform_make_divergent(Solver *s, RegId reg)
{
    if (!bitset_has(s->uniform, reg))
        return;
    bitset_del(s->uniform, reg);
    if (s->live->number[reg])
        bitset_del(&s->listed, s->live->number[reg] - 1);
    if (s->readers.visited_all || s->readers.reads[reg])
        vec_push(&s->work, reg);
}

/* Notes where paths may join, before the first branch diverges. */
void uniform_find_joins(Solver *s);
/* The branch at the end of b divides threads: so is what is written on its paths and live where they join. */
void uniform_diverge_branch(Solver *s, const Block *b);

#endif
