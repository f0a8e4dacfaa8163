/* The proof of one function, from the inside: path facts, product nodes, and what its parts ask of one another.
 *
 * The product of BEFORE and AFTER is explored from the pair of entries. A path runs both sides until each stands at an event
 * (what others can observe) or at a join; branches that the path's facts do not decide fork it. Where both stand at events
 * these must match. Where one stands at a join, the path ends in a product node: a pair of program points, whose state says
 * which terms the live registers of both sides hold in every execution that comes there. A state is made of all arrivals:
 * registers that have equal terms in each of them share a symbol. Nodes are explored anew until their states hold.
 *
 * What a node's state means: there are values for its symbols so that all registers hold their terms and all facts are
 * true. So the symbols of a node may not stand in its own state for what they were at an earlier visit. */
#ifndef PTXOPT_CHECK_PROVE_PROVER_H
#define PTXOPT_CHECK_PROVE_PROVER_H

#include "check/prove/machine.h"
#include "check/prove/prove.h"
#include "check/prove/iterations.h"
#include "check/prove/shape.h"
#include "check/prove/waits.h"

typedef u32 GroupId; /* an interned list of block ids; 0 is the empty one */

enum { PROVE_ALL = -1 }; /* a group of all */

typedef struct Fact {
    Term term;
    SetId set;  /* its value is in it, by this fact and the older ones */
    u32 before; /* the older fact about the same term, plus 1; 0: none */
} Fact;

/* The values that a term can have, by what was known at a moment. */
typedef struct Range {
    Term term;
    u32 depth, moment;
    SetId set;
} Range;

/* Whether a branch of BEFORE was passed since the last event: surely, once only, and in this iteration of its loops, if that is said. */
enum { PROVE_NOT_MOVED, PROVE_MAY_HAVE_MOVED, PROVE_MOVED };

/* A branch, passed and not yet joined, or joined since the last event. */
typedef struct Open {
    u32 block;  /* id */
    u32 went;   /* id of the block that control went to, plus 1; 0: not the same on all paths */
    u32 joined; /* its threads have joined since the last event */
    /* of BEFORE's */
    Term cond;     /* the condition, or the index of a table; 0: none that all paths share */
    u32 moved;     /* PROVE_..MOVED */
    u32 ahead;     /* BEFORE may have begun an iteration of a loop that AFTER has not */
    u32 iteration; /* of its loop in which it was passed, counted from that of AFTER: see ITERATION_SAME; 0: not known */
    GroupId again; /* branches of AFTER that are open and were passed between any two times of it; PROVE_ALL: one time */
    GroupId past;  /* branches whose threads had joined since the last event, each time that it was passed since */
    /* of AFTER's */
    u32 closes;         /* its threads may have joined since the last event; they may have diverged again */
    GroupId divided;    /* passings of it that the path may have come by, since which its threads have not joined */
    GroupId rejoined;   /* likewise, since which they have joined, after the last event unless it is late */
    GroupId newer;      /* branches of BEFORE that may have been passed since */
    GroupId may_join;   /* branches of BEFORE whose threads may have joined since, or, if after the last event, before */
    GroupId early;      /* those of them whose threads may have joined before the last event */
    GroupId all_joined; /* those whose threads have all joined since each of `rejoined`, or before the last event */
    GroupId may_join_divided;   /* as may_join, but since one of `divided` */
    GroupId all_joined_divided; /* as all_joined, but since each of `divided` */
    GroupId covers; /* branches of BEFORE of which is known: if they are open, it was last passed since they were */
    u32 late; /* its threads may have joined before an event that is asked about later, and nobody has been asked since */
} Open;

/* Threads that diverge at a branch of AFTER wait for one another before an event that no other thread sees, and may not in BEFORE:
 * what they wait for does not depend on it, and it is asked again at the next event that others see. */
typedef struct ProveLate {
    const Instr *after;
    u32 block;
} ProveLate;

typedef struct Opens {
    u32 n;
    const Open *v; /* ascending by block */
} Opens;

/* What a path knew when it passed a branch of AFTER. */
typedef struct Passing {
    u32 block, went; /* as in Open, and went is never 0 */
    bool is_known;   /* else nothing is known of `open` yet */
    bool of_many;    /* it stands for several paths */
    Opens open[2];   /* without what only an open branch needs */
    u32 older;       /* of this branch; 0: none */
} Passing;

/* What is open at an event. */
typedef struct OpenAtEvent {
    const Instr *before, *after; /* NULL: the end */
    bool returns;                /* to a caller, at the end */
    Opens open[2];
} OpenAtEvent;

/* A part of a parameter variable of a call that was written, or, without bits, all that a call returned in it. */
typedef struct Cell Cell;
struct Cell {
    SymId sym;
    u32 offset, bits;
    Term term;
    u32 owner, call, result; /* of what was returned: node, number of the call, and which of its results */
    const Cell *next;        /* older */
};

/* A branch of BEFORE that the path passed since the node, and its condition. */
typedef struct Passed Passed;
struct Passed {
    u32 block;
    Term cond;
    const Passed *next; /* the one before */
};

/* An access of BEFORE in one context. */
typedef struct Access {
    const Instr *at;
    Term address;
    u32 bytes, facts;
    const Term *fact; /* conditions that hold there */
} Access;

typedef struct Arrival {
    u32 from;          /* node */
    u32 version;       /* of that node's state */
    const Term *value; /* by slot of the node */
    u32 facts;
    const Fact *fact;
    Opens open[2];
    const Iteration *iterations;
} Arrival;

typedef struct Place {
    Block *block;
    Instr *at;
    bool joins; /* stands at the beginning of a join, and has not been there yet on this path */
} Place;

/* Where a path came into the block in which it is. */
typedef struct Entered {
    Block *block;
    u32 undo; /* of the machine */
    const Cell *cells;
    Term written;
} Entered;

typedef struct Node {
    Place place[2];
    u32 id;
    u32 slots[2]; /* registers of BEFORE, then of AFTER */
    const RegId *reg;
    VEC(Arrival) arrivals;
    Term *value; /* the state; NULL: not explored yet */
    u32 facts;
    Fact *fact;
    Opens open[2];
    const Iteration *iterations;
    u32 version, visits, moves, opened; /* moves: visits that changed values; opened: visits since the states were final */
    bool queued;
    bool in_doubt; /* on a path from its state, as it is now, the sides differed */
    VecU32 next;   /* nodes it leads to: 4 * node + sides that moved */
    BitSet broken; /* slots that changed too often: each has a symbol of its own */
} Node;

struct Prover {
    Arena *arena;
    Intern names;
    Terms t;
    Machine side[2];
    const ProveOptions *options;
    ProveVerdict *verdict;
    Arena *verdict_arena;
    VEC(Fact) facts;
    VecU32 fact_of; /* by term: index of its newest fact, plus 1 */
    VecU32 learned; /* by index of a fact: the moment when it was learned, which stands for all facts up to it */
    u32 moments;
    Range *ranges;     /* by hash; NULL: none was asked for yet */
    VEC(Node *) nodes; /* [0] unused */
    FnvMap node_of;
    VecU32 queue;                /* heap of node ids */
    Node *at;                    /* that is explored */
    Place place[2];              /* of the path */
    Entered entered[2];          /* of the path; no block: an event came since, or the node */
    const Passed *branches;      /* of BEFORE, on the path */
    const Cell *cells[2];        /* of the path, the newest first */
    Opens open[2];               /* of the path; only taken over, never changed */
    const Iteration *iterations; /* likewise; NULL: none are counted */
    CountedLoops loops[2];
    u8 *one_way;        /* by block of BEFORE: answers of prove_returns_one_way: 1 no, 2 yes */
    VEC(VecU32) groups; /* by GroupId */
    FnvMap group_of, group_ops;
    VEC(Passing) passings; /* [0] unused */
    VecU32 newest_passing; /* by Block.id of AFTER */
    VEC(OpenAtEvent) at_events;
    FnvMap passing_of, at_event_of; /* by trail */
    u64 trail;                      /* hash of the path: the node, and what it has passed since */
    FnvMap answers;                 /* questions about passings, by group: 1 no, 2 yes */
    FnvMap edge_answers;            /* answers of tells_edge: 1 no, 2 yes */
    u32 moved[2];                   /* since the node, in steps */
    u32 passed, pass_limit;         /* lone joins, since the node */
    u32 passed_most;                /* on any path */
    bool follows;                   /* past joins to what the other side asks */
    bool restores;                  /* looks again for the values of slots that changed in between */
    bool counts;                    /* looks for counters of AFTER that BEFORE has not; values keep their choices */
    double solver_until;            /* of clock_now; 0: not asked yet */
    bool solver_fails;              /* it is not asked any more */
    u32 steps, step_limit, depth;
    BitSet skipped, stays; /* barriers of BEFORE by origin: left out, or not; empty: none was left out */
    BitSet early;          /* barriers of BEFORE by origin that are left out as soon as it comes to them; empty: none */
    BitSet weakened;       /* barriers of BEFORE, by origin, that are of the warp in AFTER */
    ProveGraph of_block;   /* of BEFORE, without the promises of .uni, which are a warp's; made for prove_barriers */
    BitSet polling;        /* blocks of BEFORE in loops that may wait; likewise */
    bool polls;            /* there are such loops */
    bool sees_clusters;    /* other blocks of a cluster may see its shared memory; likewise */
    VEC(Access) accesses;
    bool values_hold;     /* the states are final: what is left is which threads are together */
    u32 *went_to;         /* by block of BEFORE: that to which a path went on, plus 1; 0: none did */
    BitSet parted;        /* blocks of BEFORE from which paths went on to several ones, or may leave the function */
    const Instr *promise; /* of AFTER, to be uniform, where BEFORE made none on some path; NULL: there is none */
    bool only_threads;    /* each thread does the same in both texts, but not with the same others */
    bool callers_see;     /* which threads return together; see prove_callers_see_threads */
    bool gathers;         /* something depends on who happens to be there: activemask, elect, vote without .sync */
    Callees callees;
    Waits waits; /* where a thread may wait for another one in AFTER */
    VEC(VecU32)
    waiting; /* by Block.id of AFTER what waits when it has passed that: Open.divided, Open.may_join_divided, and so on */
    BitSet unaligned;      /* regions of BEFORE; see threads.c */
    const ProveLate *late; /* found by an earlier attempt */
    u32 lates;
    VEC(ProveLate) more_late;
    bool same_shape;  /* of both texts; see prove_same_shape */
    u32 *same_branch; /* of texts of one shape, by block of AFTER that ends in a branch: that of BEFORE, plus 1 */
    VEC(ProveMatched) matched;
    bool failed;
};

/* ---- values (ranges.c) ---- */

/* The values that x can have on this path: never 0. Not for more than 64 bits. */
SetId prove_known(Prover *p, Term x);
/* Whether x is in the set: 1, 0, or -1. */
int prove_is_in(Prover *p, Term x, SetId asked);

/* ---- facts (facts.c) ---- */

/* Index of the newest fact about the term, plus 1; 0: there is none. */
static inline u32 prove_newest_fact(const Prover *p, Term x) { return x < p->fact_of.n ? p->fact_of.v[x] : 0; }
/* Whether the condition holds on this path: 1, 0, or -1 and an atom that would decide something. */
int prove_decide(Prover *p, Term cond, Term *atom);
/* Whether the relation of a counter and its bound is among those asked about, since AFTER has asked for several steps: 1, 0, or -1
 * (strides.c). */
int prove_strided(Prover *p, Term rel, SetId asked);
/* The same of a counter whose bound is a number. */
int prove_strided_number(Prover *p, Term x, SetId asked);
/* Takes it that the atom is so. False: the path cannot be. prove_forget takes back what came after facts.n was `mark`. */
bool prove_assume(Prover *p, Term atom, bool value);
bool prove_learn(Prover *p, Term x, SetId set);
/* False: no values of the symbols make all that was assumed true. */
bool prove_is_possible(Prover *p);
void prove_forget(Prover *p, u32 mark);

/* ---- terms by what is known (simplify.c) ---- */

/* The term with what the path decides in it decided. */
Term prove_simplify(Prover *p, Term x);
bool prove_equal(Prover *p, Term a, Term b);

/* ---- nodes (node.c) ---- */

/* Ends the path in the node of both places; false: out of bounds. */
bool prove_arrive(Prover *p, const Place place[2]);
Node *prove_next_node(Prover *p); /* NULL: none is left */
/* Nodes that these edges led to from earlier states of n, and that n does not come to now, are merged again. */
void prove_outdate(Prover *p, const Node *n, const VecU32 *edges);

/* ---- states (merge.c) ---- */

/* The state of a node from its arrivals; false: as it was. */
bool prove_merge(Prover *p, Node *n);

/* ---- events (match.c) ---- */

/* Whether both sides execute the same event, whose guards hold alike; then what it returned is in their registers. `why` says
 * what differs. */
bool prove_match(Prover *p, const Instr *before, const Instr *after, const char **why);
/* Whether both leave the function alike: with these terminators, NULL where control runs off its end. */
bool prove_match_end(Prover *p, const Instr *before, const Instr *after, const char **why);

/* ---- branches that are open (open.c) ---- */

GroupId prove_group(Prover *p, const u32 *v, u32 n);
bool prove_group_has(const Prover *p, GroupId id, u32 member);
const Open *prove_find_open(const Opens *o, u32 block); /* NULL: it is not there */
/* What both lists of BEFORE and AFTER have in common is known in `to`. */
void prove_unite_opens(Prover *p, Opens to[2], const Opens from[2]);
bool prove_same_opens(const Opens *a, const Opens *b);
void prove_pass_before(Prover *p, u32 block, u32 went, Term cond);
void prove_pass_after(Prover *p, u32 block, u32 went);
/* The side enters a block. */
void prove_enter(Prover *p, ProveSide side, const Block *from, const Block *to);
/* Both sides have come to the same event, `after` where others do not see it: branches whose threads have joined are open no more. */
void prove_catch_up(Prover *p, const Instr *after);
bool prove_is_late(const Prover *p, const Instr *after, u32 block);

/* ---- threads on a path (paths.c) ---- */

/* Whether the branch may divide threads. */
static inline bool prove_divides(const Prover *p, ProveSide side, u32 block)
{
    return bitset_has(&p->side[side].g.splits, block);
}

/* Of a branch of BEFORE, once all paths are known: whether it may have divided threads. Where every path goes on to one block, no
 * thread takes another edge. */
static inline bool prove_has_divided(const Prover *p, u32 block)
{
    return prove_divides(p, PROVE_BEFORE, block) && bitset_has(&p->parted, block);
}

/* The side passes the terminator of its block on the way to `to`. */
void prove_pass_branch(Prover *p, ProveSide side, Term cond, const Block *to);
/* Both sides stand at a matched event; NULL: at the end of the thread. */
void prove_at_event(Prover *p, const Instr *before, const Instr *after);

/* ---- threads (threads.c) ---- */

/* Whether anything in the functions depends on other threads. */
bool prove_threads_matter(Prover *p);
void prove_threads_init(Prover *p);
/* Whether those execute together who did, once all paths are known. */
void prove_threads_done(Prover *p);

/* ---- the verdict (verdict.c) ---- */

u32 prove_line(const Function *fn, const Instr *i); /* in its text; of NULL, where the function ends */
u32 prove_branch_line(const Prover *p, ProveSide side, u32 block);
/* Where the side stands: file, line, opcode. */
const char *prove_describe(const Prover *p, ProveSide side);

/* Whether an attempt holds more memory than one may. */
static inline bool prove_is_large(const Arena *arena) { return arena->reserved > (u64)1 << 30; }
/* Ends the proof. The first one counts. */
void prove_fail(Prover *p, ProveAnswer answer, const char *format, ...) __attribute__((format(printf, 3, 4)));

#endif
