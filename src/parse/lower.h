/* What the grammar's actions call: one builder call each. Lower holds all state of one parse; names are resolved, scopes
 * opened and closed, blocks begun and ended here, so that the grammar only says what PTX looks like. */
#ifndef PTXOPT_PARSE_LOWER_H
#define PTXOPT_PARSE_LOWER_H

#include "base/fnvmap.h"
#include "parse/parse.h"

typedef enum ValKind {
    VAL_BAD,   /* an error was reported */
    VAL_INT,   /* i */
    VAL_FLOAT, /* i: bits; single: an 0f literal */
    VAL_NAME,  /* name, plus constant i */
    VAL_PAIR,  /* name|second */
} ValKind;

/* A constant expression or name while it is being parsed. Names are spans: they are looked up when the operand that they
 * belong to is complete, because labels, types of debug data and so on need no lookup. */
typedef struct Val {
    u8 kind;
    u8 flags;   /* OperandFlag */
    u8 negated; /* VAL_PAIR: bit 0: first was `!`ed, bit 1: second */
    u8 dotted;  /* VAL_NAME: has a `.part` */
    Span name;
    union {
        i64 i;
        Span second;
    };
} Val;

/* Beside the OperandFlags in Val.flags: written `(...)`, which call takes for a list of one; written `[...]`. */
#define VAL_PARENTHESIZED 0x80
#define VAL_ADDRESS 0x40

#define NO_LINKAGE UINT32_MAX
#define NO_START UINT32_MAX
#define RUN_MAX 16 /* plain operands that the lexer takes at once */

enum { MISSING_IN_MODULE = 1, MISSING_IN_FUNCTION = 2 };

/* What is skipped after a syntax error: parse/recover.c. */
typedef enum Skip {
    SKIP_NOTHING,
    SKIP_UP_TO_HERE,
    SKIP_STATEMENT,
    SKIP_HEADER,
    SKIP_ITEM,
    SKIP_UNKNOWN_INSTRUCTION,
    SKIP_UNKNOWN_STATEMENT,
    SKIP_UNKNOWN_HEADER,
    SKIP_UNKNOWN_ITEM /* parse/unknown.c */
} Skip;

/* After an unknown directive names may be declared that nobody saw: only syntax errors are errors from there on. */
typedef enum Lenient { LENIENT_NOT, LENIENT_FUNCTION, LENIENT_MODULE } Lenient;

/* Stems of up to eight bytes (`%rd`), by their bytes: nearly all names that are looked up are of few stems. */
enum { STEM_BITS = 6 };
typedef struct StemSlot {
    u64 bytes;
    u32 len; /* 0: free */
    struct NameInfo *info;
} StemSlot;

typedef struct LabelRef LabelRef;
typedef struct Binding Binding;
typedef struct OpenScope OpenScope;

typedef struct Lower {
    Module *module;
    Arena names; /* what is known of names while parsing */
    Arena uses;  /* of labels, in this function */
    Diag *diag;
    u32 cursor;       /* of the lexer */
    int last_token;   /* that it returned */
    u32 before_token; /* where the token before that one ended */
    Val run[RUN_MAX]; /* plain operands, until the grammar takes them: see scan_run in grammar/ptx.re */
    Span run_at[RUN_MAX];
    u32 run_length;
    bool recovering; /* from a syntax error: parse/recover.c makes the next token */
    Skip skip;
    u32 skipped_to;   /* end of unknown text that was skipped last; 0: none */
    u32 skip_braces;  /* `{` of operands that were open at the error */
    u32 close_scopes; /* `}` to make up before the next token, since a new function begins */
    bool strict;      /* what is not known is an error */
    Lenient lenient;
    bool dropped;            /* the last error was none, because of that */
    VEC(Span) unknown_names; /* of this function: `%names` that may be special registers, if nothing declares them later */
    u32 last_end;            /* end of the last complete statement: blanks after it lead the next */

    /* the function being built, NULL outside */
    Function *fn;
    Block *block;    /* open block, NULL when the next statement begins one */
    Block *falling;  /* block whose fall is the next block to begin */
    Block *jumpable; /* == falling when an unconditional bra right here would be its jump */
    Instr *loc;      /* .loc in force */

    /* the statement being built */
    const OpInfo *op;
    Span op_at;
    RegId guard;
    bool guard_not;
    u32 start;             /* of the statement, guard included; NO_START between statements */
    bool bad;              /* an operand is wrong: reported; the instruction is dropped */
    bool mute;             /* the rest of the statement is given up: more errors in it would say nothing new */
    bool declaring;        /* inside a declaration */
    bool in_section;       /* inside the braces of a debug section */
    u8 names_missing;      /* declarations that could not be read, and so undeclared names that are no news: MISSING_* */
    u32 operand_count;     /* top-level operands so far */
    VEC(Operand) operands; /* scratch */
    Span label_at;         /* of a branch */
    VEC(u32) open_aggregates;
    u32 closed_aggregate; /* the one closed last */

    /* declaration being built */
    u32 space, type, vector, align;
    bool is_extern;
    u32 first_sym;

    u32 table;          /* index of the table being built */
    u32 functions;      /* begun so far */
    u32 function_start; /* where the item's linkage directive stands, NO_LINKAGE without one */

    VEC(OpenScope) scopes; /* innermost last */
    VEC(Binding *) undo;   /* bindings of the open scopes, in order */
    VEC(LabelRef *) refs;  /* of this function, unresolved at its end */
    VEC(Label *) labels;   /* of this function */
    u32 sequence;          /* numbers label references and scopes in textual order */
    bool has_mentions;     /* some debug section or initialiser names labels */
    VecU32 range_ids;      /* of the dense ranges that are bound, innermost last: RegId by number, 0 before its first use */
    u32 dense_members;     /* of large ranges, in all; at most the length of the text */
    StemSlot stems[1 << STEM_BITS];
} Lower;

/* ---- errors ---- */
void lower_error(Lower *p, Span at, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* One that stays an error after an unknown directive. */
void lower_syntax_error(Lower *p, Span at, const char *format, ...) __attribute__((format(printf, 3, 4)));
void lower_note(Lower *p, Span at, const char *format, ...) __attribute__((format(printf, 3, 4))); /* to the error before */
void lower_bad_token(Lower *p, Span at, const char *message); /* of the lexer: mutes the rest of the statement */
void lower_bad_byte(Lower *p, Span at);

/* ---- literals and constant expressions (lower_expr.c) ---- */
bool lower_read_integer(const Lower *p, Span at, Val *v); /* false, and nothing reported: it does not fit into 64 bits */
void lower_integer(Lower *p, Span at, Val *v);
void lower_float(Lower *p, Span at, Val *v);

static inline bool lower_is_warp_size(const char *text, u32 len)
{
    return len == 7 && text[0] == 'W' && !memcmp(text, "WARP_SZ", 7);
}

Val lower_name(const Lower *p, Span at, bool dotted);
Val lower_parentheses(Lower *p, Val v, Span at);
Val lower_unary(Lower *p, int op, Val a, Span at);
Val lower_binary(Lower *p, int op, Val a, Val b, Span at);
Val lower_choose(Lower *p, Val condition, Val a, Val b, Span at);
Val lower_cast(Lower *p, u32 type, Val a);
Val lower_apply(Lower *p, Val function, Val argument, Span at); /* generic(x), 0xFF00(x) */
i64 lower_constant(Lower *p, Val v, Span at);                   /* must be an integer */

typedef enum ParseStatus { PARSE_ACCEPTED, PARSE_ABORTED, PARSE_TOO_DEEP } ParseStatus; /* what yyparse() returns */

ParseStatus lower_parse(Lower *p);        /* runs the parser (grammar/ptx.y) */
bool starts_line(const Lower *p, u32 at); /* only blanks before it on its line */

/* ---- module ---- */
void lower_version(Lower *p, Span number);
void lower_target(Lower *p, Span word);
void lower_target_joined(Lower *p, Span word); /* `sm_75.address_size`: two tokens without a blank */
void lower_address_size(Lower *p, Val v, Span at);
void lower_mention(Lower *p, Val v); /* a name in debug data or an initialiser: if it is a label, it stays */
void lower_statement_end(Lower *p, Span at);
/* Where the blanks and comments that lead a statement at `beg` start: after the line of the statement before. */
u32 lower_lead(const Lower *p, u32 beg);

/* ---- declarations (lower_decl.c) ---- */
void lower_decl_begin(Lower *p, u32 space);
void lower_decl_vector(Lower *p, u32 vector, Span at);
void lower_decl_before_type(Lower *p, Span at);
void lower_decl_type(Lower *p, u32 type, Span at);
void lower_decl_register(Lower *p, Span name);
void lower_decl_register_range(Lower *p, Span stem, Val count, Span at);
void lower_decl_variable(Lower *p, Span name);
void lower_decl_variable_range(Lower *p, Span stem, Val count, Span at);
void lower_dimension(Lower *p, const Val *count, Span at); /* NULL: [] */
void lower_attribute(Lower *p, Span at);
void lower_decl_end(Lower *p, Span at);
void lower_alias(Lower *p, Span alias, Span aliasee);

/* ---- functions (lower_function.c) ---- */
void lower_linkage(Lower *p, bool is_extern, Span at);
void lower_function_begin(Lower *p, bool is_entry, Span at);
void lower_function_name(Lower *p, Span name);
void lower_parameter(Lower *p, Span name, bool is_return);
/* A performance directive and the first number that follows it. */
enum { DIRECTIVE_OTHER, DIRECTIVE_MINNCTAPERSM, DIRECTIVE_MAXNREG };
void lower_performance(Lower *p, u32 directive, Val v);
void lower_block_shape(Lower *p, u32 which, u32 dimension, Val v, Span at);
void lower_noreturn(Lower *p);
void lower_body_begin(Lower *p, Span brace);
void lower_body_end(Lower *p, Span brace);
void lower_prototype_end(Lower *p, Span semicolon);
void lower_function_abandon(Lower *p);

/* ---- statements (lower.c) ---- */
void lower_scope_begin(Lower *p, Span brace);
void lower_scope_end(Lower *p, Span brace);
void lower_label(Lower *p, Span name, Span at);
void lower_guard(Lower *p, bool negated, Span name, Span at);
void lower_opcode(Lower *p, Span word);
void lower_opcode_part(Lower *p, Span part);
void lower_operand(Lower *p, Val v, Span at);
void lower_run(Lower *p);                        /* the operands in Lower.run */
void lower_vector_and_name(Lower *p, Span name); /* `{a, b}|p`: the vector is the last operand */
void lower_index_begin(Lower *p, Span array);    /* `g[%r1+1]` */
void lower_index_end(Lower *p, Span at);
void lower_aggregate_begin(Lower *p, OperandKind kind, Span at);
void lower_aggregate_end(Lower *p);
void lower_instr_end(Lower *p, u32 end);
void lower_plain_instr(Lower *p, u32 end); /* opcode at Lower.op_at, operands in Lower.run */
void lower_loc(Lower *p, Span at);
void lower_pragma(Lower *p, Span at);
void lower_table_begin(Lower *p, TableKind kind, Span name);
void lower_table_entry(Lower *p, Span name);
void lower_table_range(Lower *p, Span stem, Val count, Span at);
void lower_table_end(Lower *p, Span at);
void lower_skip_statement(Lower *p, u32 end); /* after a syntax error */
void lower_block_finish(Lower *p);            /* at the end of a function */
void lower_instr_reset(Lower *p);
void lower_leave_alone(Lower *p, const char *why, Span at); /* no phase may touch the open function */
Block *lower_open_block(Lower *p);                          /* the block that the next item goes to */
void lower_append(Lower *p, Instr *i);                      /* to that block */
void lower_scopes_span_blocks(Lower *p);                    /* before a label or branch */

/* ---- what is not known (unknown.c) ---- */
void lower_unknown_in_module(Lower *p, const char *what, Span at);   /* no phase may touch any function */
void lower_unknown_in_function(Lower *p, const char *what, Span at); /* ... the open one, which prints as its own text */
bool lower_unknown_register(Lower *p,
                            Span name);       /* whether `%name` may be a special register; reported later if it is none */
void lower_check_unknown_registers(Lower *p); /* at the end of a function */
const OpInfo *lower_unknown_op(Lower *p);     /* that may do anything */
void lower_distrust(Module *m);               /* at the end of the module */

/* ---- names (names.c) ---- */
typedef enum BindingKind { BIND_REG, BIND_RANGE, BIND_SYM, BIND_TABLE, BIND_LABEL } BindingKind;

/* A range `%r<100>`: registers come into being when first used. */
typedef struct RegRange {
    const Name *stem;
    u32 count;
    u32 type, vector;
    ScopeId scope;
    u32 decl;
    u32 first;      /* its members in Lower.range_ids; or, where there are too many for that: */
    FnvMap *sparse; /* RegId by number */
    Binding *wider,
        *jump; /* bindings of its stem further out: the next one with more members; one beyond it, or that one */
    u32 level; /* bindings that `wider` leads to, one after the other */
} RegRange;

struct Binding {
    Binding *outer; /* shadowed binding of the same name */
    Name *name;
    u8 kind;   /* BindingKind */
    u32 depth; /* scopes open when it was made: 0 is the module */
    u32 id;    /* RegId, SymId, index of table, Block.id */
    Span at;   /* where it was declared */
    RegRange *range;
};

struct OpenScope {
    ScopeId id;
    u32 undo_mark; /* bindings made since belong to it */
    u32 sequence;  /* references made since are inside it */
    Instr *begin;  /* its SCOPE_BEGIN while it holds neither label nor branch */
    Instr *loc;    /* in force where it begins */
    bool any_instr;
};

/* One use of a label that is not known yet. */
struct LabelRef {
    LabelRef *same_name; /* older unresolved reference to the same name */
    Name *name;
    Span at;
    u32 sequence;
    Operand *operand; /* or: */
    u32 table, entry;
    Block *from; /* block whose jump it is: its fall is set as well */
    bool done;
};

/* Binds in the innermost open scope (the module when none is open); a clash there is reported. NULL then. */
Binding *names_bind(Lower *p, Span at, BindingKind kind, u32 id);
Binding *names_bind_range(Lower *p, Span stem, RegRange *range);
Binding *names_bind_numbered(Lower *p, Span stem, u32 number, Span at, BindingKind kind, u32 id); /* stem0, stem1... */
/* Innermost meaning of the text at `at`, NULL if it has none. A register of a range is made on first use: *reg is set. */
Binding *names_find(Lower *p, Span at, RegId *reg);
bool names_declared_in_function(Lower *p,
                                Span name); /* somewhere in the open one, in whatever scope; or its stem, as a range */
void names_open_scope(Lower *p, ScopeId id);
void names_close_scope(Lower *p); /* resolves the references to its labels */
void names_refer(Lower *p, Span at, LabelRef ref);
void names_refer_numbered(Lower *p, Span stem, u32 number, LabelRef ref);
void names_report_unresolved(Lower *p); /* at the end of a function */
void names_mention(Lower *p, Span at);
void names_pin_mentioned(Lower *p); /* at the end of the module */

static inline u32 scope_now(const Lower *p) { return p->scopes.n ? p->scopes.v[p->scopes.n - 1].id : 0; }

#endif
