/* The state of a run: machine > CTA > warp > split. A split is a group of lanes of one warp that execute together. A
 * divergent branch makes several of one. They wait for each other at the branch's immediate post-dominator, held by a Join.
 * Before that they take turns, as since Volta, so that lanes which wait for one another make progress. */
#ifndef PTXRUN_MACHINE_H
#define PTXRUN_MACHINE_H

#include "base/fnvmap.h"
#include "check/exec/launch.h"
#include "check/exec/program.h"

typedef struct Machine Machine;
typedef struct Cta Cta;
typedef struct Warp Warp;
typedef struct Split Split;
typedef struct Join Join;
typedef struct Frame Frame;

/* ---- findings and counters ------------------------------------------------------------------------------------ */

typedef enum FindingKind {
    FIND_RACE,
    FIND_PARTIAL_SYNC,
    FIND_EXITED_LANE,
    FIND_BARRIER_DIVERGENCE,
    FIND_DEADLOCK,
    FIND_OUT_OF_BOUNDS,
    FIND_MISALIGNED,
    FIND_UNINITIALIZED,
    FIND_NONUNIFORM,
    FIND_TRAP,
    FIND_TIMEOUT,
    FIND_BAD_CALL,
    FIND_KINDS
} FindingKind;
const char *finding_name(FindingKind kind);

/* Findings with equal kind, kernel and subject are one. The subject means the same before and after a rewrite (a
 * variable, an opcode); the location need not. */
typedef struct Finding {
    FindingKind kind;
    const char *kernel, *subject;
    u64 count;
    const char *where[3]; /* first different places */
} Finding;

typedef struct Counters {
    const char *kernel;
    u64 issued;              /* warp instructions */
    u64 threads;             /* thread instructions: active lanes of them */
    u64 branches, divergent; /* conditional branches executed, and those that split a warp */
    u64 jumps;               /* unconditional ones that go anywhere (also counted in issued) */
    u64 barriers;            /* warp arrivals at CTA barriers */
} Counters;

/* Records one occurrence at c (NULL: at no instruction). `detail` may be NULL. */
void finding_add(Machine *m, FindingKind kind, const char *subject, const Code *c, const char *detail);

/* ---- memory --------------------------------------------------------------------------------------------------- */

/* The threads that touched a byte last, for the race watch. A thread is its CTA's index and its number in the CTA; times
 * count synchronisations. */
typedef struct Shadow {
    u32 writer, write_time;
    u32 reader[2], read_time[2];
} Shadow;
#define SHADOW_STRONG 0x80000000u

typedef struct Object {
    const char *name;
    u64 address, bytes;
    u8 *data;
    Shadow *shadow;
} Object;

typedef struct SyncRelease {
    u32 thread, time;
} SyncRelease;
typedef struct SyncVar {
    VEC(SyncRelease) releases;
} SyncVar;

/* ---- warps ---------------------------------------------------------------------------------------------------- */

struct Join {
    Join *parent;
    Frame *frame;
    u32 pc; /* NO_PC: the return of the frame */
    u32 expected, waiting;
};

struct Frame {
    Frame *parent, *next_free;
    FnCode *fn;
    u64 *slot; /* [slots][LANES] */
    u32 *slot_written, *pred, *pred_written;
    u32 carry, carry_written;
    u32 local_base, depth;
    const Code *call; /* NULL for an entry */
    u32 return_pc;
    Join *return_join;
};

/* SPLIT_WAITS: at a barrier of the CTA; SPLIT_SYNCS: at a warp operation, for lanes that its mask names. */
typedef enum SplitState { SPLIT_FREE, SPLIT_RUNS, SPLIT_WAITS, SPLIT_SYNCS } SplitState;

struct Split {
    u32 mask, pc;
    Frame *frame;
    Join *join;
    u8 state;
    const Code *waiting_at; /* the barrier or warp operation */
    u32 arrived_at;         /* SPLIT_WAITS: barrier number */
    u32 named;              /* SPLIT_SYNCS: the mask */
};

typedef struct AsyncCopy {
    u32 shared; /* destination */
    u8 bytes, lane;
    u8 data[16];
    u32 group; /* number of the group that it belongs to */
    const Code *code;
} AsyncCopy;

enum { SYNC_ARGS = 4 };

struct Warp {
    Machine *m;
    Cta *cta;
    u32 index;
    u32 lanes; /* mask of threads that exist */
    u32 exited;
    u32 left;     /* those of them that have exited by the instruction that runs: who waits has not been asked yet */
    u32 absent;   /* lanes without which others wait at an aligned barrier: they may only leave */
    u32 runnable; /* splits in state SPLIT_RUNS */
    Split split[LANES];
    Split *running;
    u32 tid[3][LANES];
    u8 *local; /* LANES stretches of local_bytes */
    u32 local_bytes;
    u32 known[LANES][LANES]; /* [a][b]: lane a is ordered after b's accesses before this time */
    u32 fence_time[LANES];
    u64 clock;
    VEC(AsyncCopy) async;
    u32 async_group[LANES];
    u32 come; /* while a warp operation runs at which lanes have waited: all lanes that take part; else 0 */
    u64 come_value[SYNC_ARGS][LANES]; /* their operands */
    u32 come_known[SYNC_ARGS];
};

typedef struct Barrier {
    u32 arrived;  /* threads, exited ones not counted */
    u32 expected; /* 0: all threads of the CTA */
    u32 warps;    /* that arrived */
    u32 arrive_time[LANES];
    u32 popc; /* of bar.red */
} Barrier;

#define BARRIERS 16

struct Cta {
    Machine *m;
    u32 index, ctaid[3];
    u32 threads, exited;
    u32 warps;
    Warp *warp;
    u8 *shared;
    Shadow *shared_shadow;
    u32 shared_bytes;

    u32 full_time;           /* all threads of the CTA know everything before it */
    u32 known[LANES][LANES]; /* between warps */
    Barrier barrier[BARRIERS];
};

/* An access of a thread to memory that others may see, or write. `name` is the variable's, and `at` the place in it; NULL:
 * it is at address `at`, where there is none. `data` is what is written; NULL: it is read, or an atomic operation. */
typedef struct MemoryAccess {
    const Code *code;
    u32 cta, thread;
    const char *name;
    u64 at;
    const u8 *data;
    u32 bytes;
} MemoryAccess;
typedef void AccessWatch(void *user, const MemoryAccess *access);

/* Times count synchronisations. */
typedef struct RaceState {
    u32 time, kernel_time;
    FnvMap sync_vars; /* where the bytes lie -> index */
    VEC(SyncVar) sync;
    FnvMap cta_known; /* reader CTA << 32 | writer CTA -> time */
} RaceState;

struct Machine {
    Arena *arena; /* of this run */
    Program *program;
    const LaunchKernel *kernel;
    FnCode *entry;
    u64 random;
    u64 garbage; /* what registers and memory hold before they are written */
    RaceState race;
    VEC(Object) objects; /* by address */
    u32 last_object;
    u8 *bank;    /* parameters of the entry */
    FnvMap heap; /* thread of the grid + 1 -> bytes that it has taken */
    VEC(Cta *) resident;
    Frame **free_frames; /* by function index */
    VEC(Join *) free_joins;
    u64 budget;              /* warp instructions left */
    u8 model;                /* ReconvergeModel */
    bool stopped;            /* trap, deadlock, timeout: the kernel ends, and no further one starts */
    const char *unsupported; /* what was met that cannot run: "file:line: text" */
    VEC(Finding) findings;
    VEC(Counters) counters; /* per kernel name */
    Counters *count;        /* of the running kernel */
    AccessWatch *watch;     /* NULL: nobody */
    void *watch_user;
};

/* ---- interfaces ----------------------------------------------------------------------------------------------- */

/* One access of one lane. */
typedef struct LaneAccess {
    Warp *w;
    const Code *c;
    u32 lane, bytes;
    MemSpace space;
    u64 address;
    const u8 *data; /* what is written; NULL */
    bool strong;
} LaneAccess;

/* memory.c: resolve, check, watch. NULL after a finding. Addresses are in `space`, generic ones are resolved. */
const u8 *memory_read(LaneAccess a);
bool memory_write(LaneAccess a);
/* An asynchronous write begins: others may not touch the place from now on. */
bool memory_will_write(LaneAccess a);
u8 *memory_atomic(LaneAccess a);                         /* a strong one */
MemSpace memory_resolve(const Machine *m, u64 *address); /* generic -> space and its address */
void memory_add_object(Machine *m, const GlobalVar *v);

/* race.c */
void race_read(const LaneAccess *a, Shadow *shadow, const char *name);
void race_write(const LaneAccess *a, Shadow *shadow, const u8 *old, const char *name); /* old: what was there; NULL */
void race_fence(Warp *w, u32 mask);
void race_release(Warp *w, u32 lane, const u8 *place, bool is_release, bool read_too);
void race_acquire(Warp *w, u32 lane, const u8 *place);
void race_warp_sync(Warp *w, u32 mask);

/* operands.c. The values of an operand in all lanes, in place if possible, else in the buffer. Those of lanes outside the
 * mask are meaningless. `fetch` reports lanes of the mask whose register was never written. `peek` does not: what only
 * computes with such a value passes the lack on to its result (arg_known, arg_forget). It is then found where the value
 * decides something: an address, a guard, what is stored. */
const u64 *arg_fetch(Warp *w, Split *s, const Code *c, const Arg *a, u32 mask, u64 *buffer);
const u64 *arg_peek(Warp *w, Split *s, const Arg *a, u64 *buffer);
u32 arg_fetch_pred(Warp *w, Split *s, const Code *c, const Arg *a, u32 mask);
u32 arg_peek_pred(Warp *w, Split *s, const Arg *a);
void arg_store(Split *s, const Arg *a, ElemType type, const u64 *value, u32 mask);
void arg_store_pred(Split *s, const Arg *a, u32 bits, u32 mask);
u32 arg_known(const Split *s, const Arg *a);        /* lanes in which it was written */
void arg_forget(Split *s, const Arg *a, u32 lanes); /* counts it as not written in these lanes */

/* splits.c */
void warp_start(Warp *w, FnCode *entry);
Split *split_new(Warp *w, u32 mask, u32 pc, Frame *frame, Join *join);
Join *join_new(Warp *w, Frame *frame, u32 pc, u32 expected, Join *parent);
void split_go(Warp *w, Split *s, u32 pc); /* to a block: reconverges if it is where the lanes do */
void split_exit(Warp *w, Split *s,
                u32 mask); /* these lanes end; lanes and threads that wait for that go on after the instruction */
void split_call(Warp *w, Split *s, const Code *c, u32 mask, FnCode *callee);
void split_return(Warp *w, Split *s, u32 mask);

/* barrier.c */
void cta_lanes_exited(Cta *cta, u32 lanes);

/* cta.c */
void machine_run_kernel(Machine *m, const LaunchKernel *kernel);

/* warp_sync.c */
/* A sync instruction names `named` (a mask of lanes): finds those that do not execute it now. */
void sync_check(Warp *w, const Code *c, u32 mask, u32 named);
/* Lanes of `left` that name the same mask: takes the next ones out of it; 0 when none is left. */
u32 sync_next_group(const u64 *named, u32 *left);
/* The lanes of `mask` come to c, each naming a mask. True: everybody is there, so c runs for these lanes. Else they wait,
 * unless they are the last: then c has been run for them and those that waited. */
bool sync_arrive(Warp *w, Split *s, const Code *c, u32 mask, const u64 *named);
void sync_lanes_exited(Warp *w);

static inline void machine_stop(Machine *m) { m->stopped = true; }

static inline u32 next_lane(u32 *mask)
{
    u32 lane = (u32)__builtin_ctz(*mask);
    *mask &= *mask - 1;
    return lane;
}
#define for_each_lane(lane, mask) for (u32 lane##_m = (mask), lane = 0; lane##_m && (lane = next_lane(&lane##_m), true);)

#endif
