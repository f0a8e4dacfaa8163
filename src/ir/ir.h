/* The program as the phases see it: Module > Function > Block > Instr > Operand, all on this one page.
 *
 * Text.      Every object remembers the source text it came from. A function that no phase changed is printed as its
 *            own bytes. So is each instruction of a changed one whose `changed` is unset.
 * Registers  are numbered per function after scope resolution: two `%p` of two scopes are two RegIds. Not SSA.
 * Blocks     end after a terminator (guarded or not) or before a label. Control continues at `fall`, whatever the
 *            layout: `@p bra L;` at the end of a block goes to L or to `fall`. An unconditional `bra` is not in the
 *            instruction list: it is the block's `jump` (kept for its text), and its target is `fall`. A block whose
 *            `fall` is not next in layout has a jump; edit_layout() makes them where phases omitted them.
 * Scopes     A `{ }` without labels or branches inside lives in one block, as SCOPE_BEGIN .. SCOPE_END items. Every
 *            other scope begins and ends between blocks (Block.scope). The printer writes its braces. It flattens the
 *            scope, and renames what would clash, when the layout or a branch no longer respects it.
 * Edges      live in the Cfg (ir/cfg.h), computed from terminator and `fall`; phases change control flow
 *            through ir/edit.h only, which keeps the edges. */
#ifndef PTXOPT_IR_IR_H
#define PTXOPT_IR_IR_H

#include <assert.h>

#include "base/arena.h"
#include "base/intern.h"
#include "base/vec.h"
#include "isa/isa.h"

typedef struct Block Block;
typedef struct Instr Instr;
typedef struct Function Function;
typedef struct Module Module;
typedef struct Cfg Cfg;

typedef u32 RegId;   /* index into Function.regs; 0 is none */
typedef u32 ScopeId; /* index into Function.scopes; 0 is the function's body (parameters included) */
typedef u32 SymId;   /* index into Module.syms; 0 is none */

/* ---- operands ------------------------------------------------------------------------------------------------- */

typedef enum OperandKind {
    OPND_REG,   /* id: RegId; value: constant added (`%r1+4`); sub: .x .y .z .w .b0..b3 .h0 .h1; SUB_OTHER (a video
                 * instruction's .b3210): value: index into Module.other_names of the text after the dot */
    OPND_SREG,  /* id: special register; sub: component */
    OPND_IMM,   /* value: the integer's 64 bits */
    OPND_FLOAT, /* value: the bits; FLOAT_SINGLE: an 0f literal, else those of a double */
    OPND_SYM,   /* id: SymId (variable, parameter, function); value: byte offset */
    OPND_LABEL, /* id: Block.id; value: which of the block's labels was written, from 1 (0: any will do) */
    OPND_TABLE, /* id: index into Function.tables */
    OPND_SINK,  /* _ */
    OPND_NAME,  /* a name in an unknown instruction that is none of these: id: index into Module.other_names */
    /* aggregates: `id` members follow, each with its own members; `value` counts all operand slots below */
    OPND_MEM,   /* [base], [base+offset], [tex, {x, y}], [symbol], [1]: the offset is in the first member's value */
    OPND_VEC,   /* {a, b} */
    OPND_PAIR,  /* p|q */
    OPND_LIST,  /* (a, b): of call */
    OPND_INDEX, /* array[index]: the element, by constant or register; its address where no memory is accessed */
} OperandKind;

enum OperandFlag {
    OPNDF_NOT = 1 << 0,     /* !p */
    OPNDF_NEG = 1 << 1,     /* -r */
    OPNDF_SINGLE = 1 << 2,  /* OPND_FLOAT of 32 bits */
    OPNDF_UNSIGNED = 1 << 3 /* OPND_IMM written with U, or too large for a signed one */
};

typedef enum SubReg {
    SUB_NONE,
    SUB_X,
    SUB_Y,
    SUB_Z,
    SUB_W,
    SUB_B0,
    SUB_B1,
    SUB_B2,
    SUB_B3,
    SUB_H0,
    SUB_H1,
    SUB_OTHER
} SubReg;

typedef struct Operand {
    u8 kind;  /* OperandKind */
    u8 flags; /* OperandFlag */
    u8 sub;   /* SubReg */
    u8 role;  /* Role, of isa/isa.h, on every slot; members carry their own: registers of an address are uses */
    u32 id;
    i64 value;
} Operand;

static inline bool operand_is_aggregate(const Operand *o) { return o->kind >= OPND_MEM; }
/* The slots that the operand takes, including itself: `o += operand_slots(o)` is the next sibling. */
static inline u32 operand_slots(const Operand *o) { return operand_is_aggregate(o) ? 1 + (u32)o->value : 1; }

/* ---- instructions --------------------------------------------------------------------------------------------- */

typedef enum InstrKind {
    INSTR_OP,          /* executes: op is set */
    INSTR_LOC,         /* .loc: debug position of what follows */
    INSTR_PRAGMA,      /* .pragma: stays right before the next instruction; without a text: "nounroll" */
    INSTR_SCOPE_BEGIN, /* { of a scope inside this block: id in `scope`; its declarations print after it */
    INSTR_SCOPE_END,   /* } */
} InstrKind;

struct Instr {
    Instr *prev, *next;
    const OpInfo *op; /* INSTR_OP only */
    Block *block;
    Span text;          /* its own text with guard and `;`; empty when a phase made it */
    u32 lead;           /* where its own text begins with the blanks and comments before it (<= text.beg) */
    RegId guard : 31;   /* 0: it is always executed */
    bool guard_not : 1; /* @!p */
    ScopeId scope : 31; /* the innermost scope, including in-block scopes; SCOPE_BEGIN/END: the scope itself */
    bool changed : 1;   /* it prints from its operands, not from its text */
    u32 order : 29;     /* see instr_precedes */
    InstrKind kind : 3;
    u32 origin;    /* the number of the instruction that this one is, or stands for; clones share it */
    u16 slots;     /* operand slots */
    u16 def_slots; /* how many of them, from the first on, hold every operand that is written */
    Operand opnd[];
};
_Static_assert(sizeof(Instr) == 64, "instructions are most of what a function holds");

/* ---- registers, symbols, scopes ------------------------------------------------------------------------------- */

typedef struct Reg {
    const Name *name; /* as printed; for a member of `%r<10>` the name's stem, and `number` */
    i32 number;       /* the name as printed; for a member of `%r<10>`, the name's stem */
    Type type;
    u8 vector;     /* 1, or 2, 4 for `.reg .v2` */
    bool renamed;  /* the name differs from the source's, so instructions that hold it print from operands */
    bool is_param; /* a `.reg` parameter or result of a .func, which the caller writes or reads */
    ScopeId scope;
    u32 decl; /* index into Scope.decls */
} Reg;

typedef enum SymKind {
    SYM_VAR,   /* also .param in a body: the arguments and results of calls there */
    SYM_PARAM, /* of a function */
    SYM_FUNC,
    SYM_REG_PARAM /* `.reg` parameter of a .func: see Reg */
} SymKind;

typedef struct Sym {
    const Name *name;
    u8 kind;   /* SymKind */
    u8 space;  /* Space */
    Type type; /* of an element */
    bool renamed;
    bool is_extern;
    bool escapes; /* an alias, an initialiser or debug data names it */
    u32 align;
    ScopeId scope;      /* inside owner */
    i64 bytes;          /* the size; -1: unknown (extern arrays, opaque types) */
    Function *owner;    /* of a local variable or parameter; NULL at module level */
    Function *function; /* SYM_FUNC */
    Span text;          /* the declaration */
} Sym;

typedef enum DeclKind { DECL_REG, DECL_VAR, DECL_OTHER } DeclKind;

/* A declaration statement: `.reg .b32 %r<10>, %x;`, `.shared .align 4 .b8 buf[64];`. */
typedef struct Decl {
    u8 kind;
    bool early; /* it stands, or may stand, before the first instruction of its scope; it prints where the scope starts */
    u32 lead;
    Span text;       /* empty: a phase made it */
    Str renamed;     /* prints instead of the text when names in it had to change */
    RegId first_reg; /* of a phase: registers of one type and stem, from this one on ... */
    u32 regs;        /* ... with the numbers 0 to regs - 1 */
    SymId sym;       /* DECL_VAR: the first of .. */
    u32 syms;
    u32 removed; /* how many of these are gone; if all are, it does not print */
} Decl;

typedef struct Scope {
    ScopeId parent; /* of scope 0: 0 */
    u32 depth;
    ScopeId jump;     /* an ancestor further out, which makes scope_encloses() fast; of scope 0: 0 */
    bool in_block;    /* straight-line: see SCOPE_BEGIN */
    bool flattened;   /* it prints without braces, and its declarations print in the parent */
    Span open, close; /* text of `{` and `}` */
    u32 lead_open, lead_close;
    VEC(Decl) decls;
} Scope;

/* `.branchtargets`, `.callprototype`, `.calltargets`: lists with a label, which print before their first user. */
typedef enum TableKind { TABLE_BRANCH, TABLE_PROTO, TABLE_CALL } TableKind;
typedef struct Table {
    u8 kind;
    bool changed; /* it prints from its targets */
    bool renamed;
    const Name *name;
    ScopeId scope;
    u32 lead;
    Span text;        /* label to `;` */
    VEC(u32) targets; /* TABLE_BRANCH: Block.id, in order; TABLE_CALL: SymId */
} Table;

/* ---- blocks and functions ------------------------------------------------------------------------------------- */

typedef struct Label {
    struct Label *next;
    const Name *name;
    ScopeId scope : 30;
    bool pinned : 1; /* debug sections or unknown operands name it, so the block must stay */
    bool renamed : 1;
    u32 lead;
    Span text; /* `name:`; empty when a phase made it */
} Label;
_Static_assert(sizeof(Label) == 32, "a text may be nearly all labels");

struct Block {
    u32 id;             /* index into Function.blocks */
    ScopeId scope : 29;
    bool falls_off : 1; /* control runs off the end of the function's text, which is like ret */
    bool dead : 1;      /* unlinked */
    bool ordered : 1;   /* the `order` of the instructions is ascending */
    Function *fn;
    Block *prev, *next;  /* layout */
    Label *labels;       /* in source order */
    Instr *first, *last; /* the terminator, if any, is the last */
    Block *fall;         /* where control continues when no terminator takes it elsewhere; NULL: nowhere */
    Instr *jump;         /* the unconditional `bra` to fall, if the text has one, or needs one */
    const Instr *loc;    /* the .loc in force where the block starts; NULL: none */
};
_Static_assert(sizeof(Block) == 80, "a text may be nearly all blocks");

/* The terminator: bra with a label or guarded, brx, ret, exit; NULL when the block only goes to `fall`. */
static inline Instr *block_terminator(const Block *b)
{
    return b->last && b->last->kind == INSTR_OP && op_has(b->last->op, OPF_TERMINATOR) ? b->last : NULL;
}

/* The origin of a branch that a phase made from others, whose work it does: see instr_inherit_origin. */
typedef struct OriginLink {
    u32 made, source; /* Instr.origin; source < made */
} OriginLink;

/* What an edit changes. Results computed from it are out of date in its next epoch. */
typedef enum Epoch {
    EPOCH_EDGES, /* blocks, edges, where control leaves, pragmas */
    EPOCH_CODE,  /* all of these, and instructions and registers */
    EPOCHS
} Epoch;

/* A directive for ptxas in front of a kernel's body. */
typedef struct Directive {
    u32 value : 31; /* 0: there is none */
    bool made : 1;  /* by edit_set_directive: it prints with this value */
    Span text;      /* empty: the source has none */
} Directive;

/* What its performance-tuning directives say. */
typedef struct Tuning {
    i32 block_shape[3]; /* .reqntid, or .maxntid; 0: unknown */
    bool shape_exact;   /* from .reqntid */
    bool has_noreturn;
    bool spills_to_shared;    /* a phase made .pragma "enable_smem_spilling" */
    Directive most_threads;   /* .maxntid, if a phase made it: no analysis reads it */
    Directive least_ctas;     /* .minnctapersm */
    Directive most_registers; /* .maxnreg */
} Tuning;

/* What src/ir notes while a function is made and changed. */
typedef struct FunctionEdits {
    u32 new_names;                /* counter for the names of fresh labels and registers */
    u32 origins;                  /* the last Instr.origin given out, counted from 1 */
    VEC(OriginLink) origin_links; /* by `made`, ascending */
    VecU32 lost_readers;          /* registers that an edit removed a reader of; see edit_remove_unread */
    u64 parsed_code;              /* see ir/code_hash.h */
    u32 parsed_count;             /* of instructions, likewise */
    u32 flat_epoch, legal_epoch;  /* its epoch of the code when scopes_flatten() and scopes_legalize() last ran */
    u32 flattenings;              /* how often scopes were flattened: no epoch tells that */
} FunctionEdits;

/* Why no phase may touch a function or a module; NULL: they may. */
typedef struct Untouchable {
    const char *why;
    Span at;
} Untouchable;

struct Function {
    Module *module;
    const Name *name;
    SymId sym;
    bool is_entry, is_definition;
    bool has_calls; /* call instructions were made in it */
    bool verbatim;  /* it always prints as its own text, because the IR does not hold all of it or it was reverted */
    bool changed;   /* some phase rewrote something, so it prints from the IR */
    u32 lead;       /* where the blanks and comments before the function begin */
    Untouchable untouchable;
    Span text;        /* from the first directive to the closing brace or `;` */
    Span open, close; /* its braces; empty for a prototype */
    u32 return_params;
    VEC(Reg) regs;    /* [0] unused */
    VEC(Scope) scopes;
    VEC(Table) tables;
    VEC(Block *) blocks; /* by id, including dead ones */
    VEC(SymId) params;   /* in order, with `return_params` return parameters first */
    Block *entry, *layout_last; /* entry is first in layout */
    Tuning tuning;
    FunctionEdits edits;
    Cfg *cfg;          /* the edges, once cfg_build has run; owned by the pipeline */
    u32 epoch[EPOCHS]; /* increased by what changes the function: ir/edit.h, block_new, reg_new */
};

typedef struct Source Source; /* base/source.h */

struct Module {
    Arena *arena;
    Intern names;
    Isa *isa;
    Str text; /* the whole source */
    const char *file;
    u32 version_major, version_minor, target_sm; /* .version, .target sm_NN; 0: unknown */
    Untouchable untouchable;                     /* of any function */
    bool debug;                                  /* .target ..., debug */
    bool names_undeclared;         /* it names functions that nobody declared, so it is not for ptxas, but for OptiX */
    u32 address_size;              /* in bits; 0: not given */
    VEC(Function *) functions;     /* in text order, including prototypes */
    VEC(Sym) syms;                 /* [0] unused */
    VEC(const Name *) other_names; /* OPND_NAME */
    VEC(Span) undated_files;       /* of each .file without a time, in text order: where time and size stand, or should */
    const char *fresh_stem;        /* new names start with %STEM_ or $L__STEM_; chosen when the first one is made */
};

/* ---- reading -------------------------------------------------------------------------------------------------- */

static inline Str span_str(const Module *m, Span s) { return (Str){m->text.p + s.beg, s.end - s.beg}; }
static inline Reg *fn_reg(const Function *fn, RegId id)
{
    assert(id < fn->regs.n);
    return &fn->regs.v[id];
}

static inline Block *fn_block(const Function *fn, u32 id)
{
    assert(id < fn->blocks.n);
    return fn->blocks.v[id];
}

#define for_each_block(b, fn) for (Block *b = (fn)->entry; b; b = b->next)
#define for_each_instr(i, b) for (Instr *i = (b)->first; i; i = i->next)
/* Top-level operands, in order; those of a const instruction are const. Their number does not change meanwhile. */
#define for_each_operand(o, i) \
    for (__typeof__((i)->opnd[0]) *o = (i)->opnd, *o##_end = o + (i)->slots; o < o##_end; o += operand_slots(o))
/* Every slot, including members of aggregates. */
#define for_each_slot(o, i) for (__typeof__((i)->opnd[0]) *o = (i)->opnd, *o##_end = o + (i)->slots; o < o##_end; o++)

/* Whether a block of this kernel is one thread. .maxntid gives only the most threads, but no block has none. */
static inline bool function_has_one_thread(const Function *fn)
{
    return fn->is_entry && fn->tuning.block_shape[0] == 1 && fn->tuning.block_shape[1] == 1 &&
           fn->tuning.block_shape[2] == 1;
}

/* The lanes of the only warp of a block of this kernel, if .reqntid says that it has one; otherwise 0. */
static inline u32 function_warp_lanes(const Function *fn)
{
    if (!fn->is_entry || !fn->tuning.shape_exact)
        return 0;
    u64 threads = 1;
    for (u32 d = 0; d < 3; d++)
        threads =
            fn->tuning.block_shape[d] > 0 && fn->tuning.block_shape[d] <= 32 ? threads * (u64)fn->tuning.block_shape[d] : 0;
    return threads && threads <= 32 ? (u32)(((u64)1 << threads) - 1) : 0;
}

static inline bool instr_is(const Instr *i, u32 flag) { return i->kind == INSTR_OP && op_has(i->op, flag); }
static inline bool role_defines(Role role) { return role == ROLE_DEF || role == ROLE_DEF_USE; }
/* Whether o is written. A guarded definition may leave the old value, so it does not kill that. */
static inline bool slot_is_def(const Operand *o) { return o->kind == OPND_REG && role_defines((Role)o->role); }
static inline bool slot_is_use(const Operand *o) { return o->kind == OPND_REG && o->role != ROLE_DEF; }

/* The slot of top-level operand number n; i->slots: there is none. */
static inline u32 operand_slot(const Instr *i, u32 n)
{
    u32 slot = 0;
    while (n-- > 0 && slot < i->slots)
        slot += operand_slots(&i->opnd[slot]);
    return slot;
}

static inline const Operand *instr_operand_of_const(const Instr *i, u32 n)
{
    u32 slot = operand_slot(i, n);
    return slot < i->slots ? &i->opnd[slot] : NULL;
}

static inline Operand *instr_operand_of(Instr *i, u32 n)
{
    u32 slot = operand_slot(i, n);
    return slot < i->slots ? &i->opnd[slot] : NULL;
}

/* Top-level operand number n, or NULL; that of a const instruction is const. */
#ifdef __cppcheck__ /* it cannot read _Generic */
Operand *instr_operand(const Instr *i, u32 n);
#else
#define instr_operand(i, n) (_Generic((i), const Instr * : instr_operand_of_const, Instr * : instr_operand_of)((i), (n)))
#endif

static inline void fn_code_changed(Function *fn) { fn->epoch[EPOCH_CODE]++; }
static inline void block_changed(Block *b)
{
    b->fn->changed = true;
    fn_code_changed(b->fn);
}
static inline void fn_edges_changed(Function *fn)
{
    fn->epoch[EPOCH_EDGES]++;
    fn->epoch[EPOCH_CODE]++;
}

u32 instr_operands(const Instr *i);
/* The symbol of a call's callee; 0: the call is indirect. The operands of a call are normalised: LIST of returns, callee
 * (SYM or REG), LIST of arguments, [TABLE prototype or targets]. Lists may be empty. */
SymId call_callee(const Instr *i);
/* The target of a bra; the targets of a brx come from its table. */
Block *branch_target(const Instr *i);
Table *branch_table(const Instr *i);
bool block_is_empty(const Block *b); /* it holds no instruction that executes and no pragma; labels and jump do not count */
/* Whether a stands before b, in one block. After an insertion the next question numbers the block's instructions again. */
bool instr_precedes(const Instr *a, const Instr *b);
/* The .loc in force at i, not counting i itself, or NULL. */
const Instr *instr_loc(const Instr *i);
/* The place after the newline if only blanks and one comment follow `end` on the line; otherwise `end` itself. */
u32 text_line_end(Str text, u32 end);
/* The place where the text of an item that ends at `end` gives way to the lead of the next one. A comment after an item's
 * `;` belongs to the item, and so does the comment on a later line that ends inline assembly. */
u32 text_item_end(Str text, u32 end);
#define TEXT_ASM_BEGIN "// begin inline asm"
#define TEXT_ASM_END "// end inline asm"

/* ---- constructors (ir/build.c) -------------------------------------------------------------------------------- */

/* Symbol 0 exists from the start, and in a function register 0 and scope 0. */
Module *module_new(Arena *arena, const char *file, Str text);
void module_free(Module *m); /* frees vectors and tables outside the arena, which is the caller's */
Function *function_new(Module *m, const Name *name);
/* Gives memory back that only work on the function needs: its edges, and spare room of its vectors. */
void function_shrink(Function *fn);
Block *block_new(Function *fn, ScopeId scope); /* not yet in the layout */
void block_append_layout(Function *fn, Block *b);
/* An instruction with copies of the operand slots, not yet in a block. Roles are filled in from the opcode's shape. */
Instr *instr_new(Function *fn, const OpInfo *op, const Operand *slots, u32 count);
Instr *instr_clone(Function *fn, const Instr *i);
/* Lets i take the place of a, or of a and b together. b may be NULL; i may be one of them. analysis/convergence.h, which
 * compares a function before and after its phases, takes i for them; a branch without such a note is a new decision. */
void instr_inherit_origin(Function *fn, Instr *i, const Instr *a, const Instr *b);
/* Appends the origins that `origin` was made from by instr_inherit_origin(), or itself if it was not made so. */
void origin_sources(const Function *fn, u32 origin, VecU32 *out);
/* Does the same as of when the function had `origins` origins. */
void origin_sources_since(const Function *fn, u32 origin, u32 origins, VecU32 *out);
void instr_fill_roles(Instr *i);
RegId reg_new(Function *fn, Type type); /* a fresh register, declared in scope 0 */
Label *label_new(Block *b);             /* a fresh label, after b's other ones */
/* Names that occur nowhere in the module: for labels, tables and variables; for registers, to be followed by a number. */
const Name *label_fresh_name(Function *fn);
const Name *reg_fresh_stem(Function *fn);

/* ---- printing (ir/print.c) ------------------------------------------------------------------------------------ */

#include <stdio.h>
typedef struct PrintOptions {
    bool reprint;  /* print every function from its operands, even if it was not changed */
    u64 file_time; /* of each .file directive without one; 0: they stay without */
} PrintOptions;
/* Whether the function is printed from the IR, and not as its own text. */
bool print_is_anew(const Function *fn, const PrintOptions *options);
void print_module(FILE *out, Module *m, const PrintOptions *options);
void print_function(FILE *out, Function *fn, const PrintOptions *options);
void print_instr(FILE *out, const Function *fn,
                 const Instr *i); /* from its operands, with guard and `;`, without a newline */

/* ---- verifying (ir/verify.c) ---------------------------------------------------------------------------------- */

/* NULL, or what is not well-formed in the function: a message, in the arena, that names block and instruction. */
const char *verify_function(const Function *fn, Arena *arena);

#endif
