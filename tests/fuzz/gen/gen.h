/* Inside of the generator: the state while a function is written, and what its files offer to one another.
 *
 * Registers stand in pools of one type. A pool has a few named registers, which statements read and write, and fresh ones
 * above them for intermediate values. `defined` says which of the named ones are written on every path to here; arms of a
 * branch start with a copy and end with the intersection. `frozen` ones keep their value for the statement that froze
 * them. Registers of the uniform pools are written only where control is uniform, from uniform values.
 *
 * `level` says how uniform control is here. A loop fixes its level when it begins; what leaves it early must be decided
 * by a condition of at least that level, so that its body runs for all threads of the CTA (or warp) or for none. */
#ifndef PTXOPT_TESTS_FUZZ_GEN_H
#define PTXOPT_TESTS_FUZZ_GEN_H

#include "../ptxgen.h"

typedef enum Level { DIVERGENT, WARP_UNIFORM, CTA_UNIFORM } Level;

typedef enum Pool {
    P_NONE,
    P_PRED,
    P_16,
    P_32,
    P_64,
    P_F32,
    P_F64,
    P_CTA32,
    P_CTAPRED,
    P_WARP32,
    P_WARPPRED, /* uniform */
    P_TEMP32,
    P_TEMP64, /* addresses and the like: no named ones */
    POOLS
} Pool;

typedef struct Reg {
    u8 pool;
    u16 number;
} Reg;

typedef struct Value { /* of an operand */
    bool is_text;      /* a constant or a special name */
    Reg reg;
    char text[24];
} Value;

typedef struct Label {
    char name[20];
} Label;

typedef struct PoolState {
    u32 defined, frozen;
} PoolState;

/* Shared arrays: what happened since the last barrier. */
enum Access { OWN_READ = 1, OWN_WRITE = 2, CROSS_READ = 4, SINGLE_WRITE = 8, EVERY_ACCESS = 15 };
enum { ARRAYS = 4, ARRAY_WARP = 3 }; /* two shared ones, one global; one that only lanes of a warp exchange */

typedef struct State {
    PoolState pool[POOLS];
    u8 pending[ARRAYS];
} State;

/* Where `break`, `continue` and the like may go. */
typedef struct LoopFrame {
    Label exit, next;
    Level level;
    u32 scope_depth;
} LoopFrame;

enum { LOOPS_MAX = 4, SCOPES_MAX = 3, DONE_LABELS = 16, FUNCTIONS_MAX = 4 };

typedef struct Callee {
    bool in_registers; /* parameters and result */
    u32 args;          /* b32 ones, before a b64 one: the input buffer */
} Callee;

typedef struct Shape {
    u32 grid, x, y; /* CTAs; threads of one */
} Shape;

typedef struct Gen {
    Random random;
    u64 features;
    Text *text;    /* of the code being written */
    Text deferred; /* blocks that stand after the end of the function */
    i32 budget;    /* statements left */
    u32 depth;     /* of nested statements */
    u32 labels, line, target;
    u32 next[POOLS]; /* fresh register numbers */
    State state;
    Level level;
    bool in_function;                  /* a .func: no output, nothing shared */
    bool result_in_register, may_exit; /* of the .func; whether the kernel's threads may leave in it */
    bool may_sync;                     /* barriers and warp operations are allowed at all */
    bool whole_warps;                  /* every launch has only full warps */
    bool plain_barriers;               /* all have the id 0 and no count, and none carries data: any may go */
    Shape block;                       /* grid and block of every launch, from .reqntid; x is 0 where they differ */
    LoopFrame loop[LOOPS_MAX];
    u32 loops;
    u32 scope_depth, scope_label[SCOPES_MAX + 1];
    Label done[DONE_LABELS]; /* labels that nothing refers to any more: inner scopes may use their names */
    u32 dones;
    Callee callee[FUNCTIONS_MAX];
    u32 callees;
    bool warp_callees; /* there is a function that holds a warp operation */
    bool has_flags;    /* %flags and %epoch: see wait.c */
    bool has_spun;
    bool callee_sets;                 /* wait_function sets the flag that it waits for */
    bool left;                        /* lanes may have left, none of which is a warp's first */
    bool old_isa;                     /* PTX 6.3: vote without .sync */
    u32 local_escapes, local_indexed; /* local variables, by bit: their address escapes; an index is no constant */
} Gen;

/* ---- base.c: names, registers, lines ---------------------------------------------------------------------- */

static inline u32 below(Gen *g, u32 n) { return random_below(&g->random, n); }
static inline bool percent(Gen *g, u32 p) { return random_percent(&g->random, p); }
static inline i64 between(Gen *g, i64 low, i64 high) { return random_between(&g->random, low, high); }
static inline bool has(const Gen *g, enum GenFeature f) { return g->features >> f & 1; }

extern const char *const pool_stem[POOLS], *const pool_type[POOLS];
extern const u8 pool_named[POOLS]; /* how many named registers */

/* One line of code; `%` conversions as of printf. Register names are put in by the caller: see name(). */
void line(Gen *g, const char *format, ...) __attribute__((format(printf, 2, 3)));

typedef struct RegName {
    char text[16];
} RegName;
RegName reg_name(Reg r);
#define NAME(reg) (reg_name(reg).text)

Reg fresh(Gen *g, Pool pool);
bool any_defined(const Gen *g, Pool pool);
Reg pick_defined(Gen *g, Pool pool); /* a named one; there is one */
/* A named one to write: not frozen, a fresh one where all are. The caller marks it defined once it is written. */
Reg pick_result(Gen *g, Pool pool);
void mark_defined(Gen *g, Reg r);
void freeze(Gen *g, Reg r); /* until the caller puts back the frozen set that it kept */
typedef struct Frozen {
    u32 set[POOLS];
} Frozen;
Frozen frozen_now(const Gen *g);
void unfreeze(Gen *g, const Frozen *before);

/* An integer has 32 bits, or 64 where it is wide. */
u32 number_bits(bool wide);
const char *number_type(bool wide, bool is_signed);
Reg fresh_number(Gen *g, bool wide);
void set_number(Gen *g, bool wide, Reg r, i64 value);
/* Computes r + more in a fresh register. */
Reg added_number(Gen *g, bool wide, Reg r, i64 more);
/* Takes the low half of r into a fresh register if r is wide; otherwise answers r. */
Reg low_number(Gen *g, bool wide, Reg r);
/* Now and then extends r, of 32 bits, and takes its low half again; otherwise answers r. */
Reg narrowed_number(Gen *g, Reg r);

/* What is known where two paths join. */
void state_meet(State *a, const State *b);

Label label_fresh(Gen *g);
void label_here(Gen *g, const Label *label);
void label_done(Gen *g, const Label *label);
/* `bra` to it, directly or through blocks that only jump. */
void jump(Gen *g, const Label *to);
/* A label that leads to it. */
Label via(Gen *g, const Label *to);

/* Text between these two stands after the function's end, where control must come by a branch and leave by one; the two do
 * nothing but remember where the text goes. Only outside of inner scopes. */
typedef struct Aside {
    Text text, *outer;
} Aside;
bool may_defer(const Gen *g);
void aside_begin(Gen *g, Aside *aside);
void aside_end(Gen *g, Aside *aside);

/* ---- value.c: straight-line code ---------------------------------------------------------------------------- */

typedef struct OpRow OpRow;
typedef struct Inst {
    const OpRow *row;
    Value result, source[4];
    i32 guard; /* named predicate, -1: none */
    bool guard_not;
    u32 slot; /* rows that access memory */
} Inst;
enum { TEMPLATE_MAX = 12 };
/* A sequence that can be written out several times, with its intermediate registers renamed and operands commuted. */
typedef struct Template {
    Inst inst[TEMPLATE_MAX];
    u32 n;
} Template;

Template template_make(Gen *g, u32 n);
void template_write(Gen *g, const Template *t);
void straight_line(Gen *g, u32 n);
void carry_chain(Gen *g);
void uniform_update(Gen *g);

/* ---- address.c: addresses of elements -------------------------------------------------------------------------- */

void address_group(Gen *g);

/* ---- cond.c: conditions ------------------------------------------------------------------------------------- */

typedef struct Cond {
    Reg pred;
    bool negated; /* holds when the predicate does not */
    bool known;   /* made by comparing `subject` with `bound` (32 bits, signed) */
    const char *cmp;
    Reg subject;
    i64 bound;
} Cond;

/* A condition at least that uniform. */
Cond cond_make(Gen *g, Level level);
/* One that has to do with an earlier one: itself, its complement, implied by it, or on the same value. */
Cond cond_related(Gen *g, const Cond *c);
/* The level to decide on here: that of control, or a lower one. */
Level pick_level(Gen *g);
/* `@p bra to`, or with the opposite sense. */
void branch_if(Gen *g, const Cond *c, bool sense, const Label *to, Level level);
const char *cmp_opposite(const char *cmp);

/* ---- flow.c, switch.c, select.c, loop.c, sync.c, call.c: statements ----------------------------------- */

void statements(Gen *g, u32 n);
typedef void Statement(Gen *g);
Statement statement_if, statement_short_circuit, statement_correlated, statement_unreachable, statement_scope,
    statement_irreducible, statement_return, statement_bounds_check, statement_jump_cycle, statement_carry_blocks;
Statement statement_switch, statement_nested_switch, statement_state, statement_select;
Statement statement_loop, statement_loop_exit, statement_checked_loop, statement_checked_barrier, statement_strided_loop,
    statement_divided_loop, statement_wrapping_stride, statement_shifted_loop, statement_version, statement_ranged,
    statement_adjoining;
Statement statement_barrier, statement_shared, statement_guarded_accesses, statement_split_barrier, statement_warp,
    statement_sub_warp, statement_warp_exchange;
Statement statement_call;
Statement statement_spin, statement_leave, statement_partner, statement_observe, statement_seen, statement_seen_switch,
    statement_uniform_chain, statement_local, statement_warp_call, statement_wait_call, statement_masks;
void wait_declarations(Gen *g, Text *module);
void wait_prologue(Gen *g);
void local_declarations(Gen *g, Text *module);
void local_prologue(Gen *g);
/* A loop that ends when the flag, so many bytes from %flags on, is %epoch or more. */
void poll_flag(Gen *g, u32 offset);
void poll_declarations(Text *module);
void poll_prologue(Gen *g);
/* Goes to one of the leaves by the value, which is at most `most`; 0 leads to the first leaf. */
void switch_on(Gen *g, Reg value, u32 most, const Label *leaf, u32 leaves);
void write_callees(Gen *g, Text *module);
/* Runs `body` as an arm at a lower level, then puts level and depth back. The state goes on from there. */
void arm(Gen *g, Level level, u32 n);

#endif
