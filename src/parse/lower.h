/* The functions that the grammar's actions call, one for each. Lower holds all state of one parse. Names are resolved,
 * scopes opened and closed, and blocks begun and ended here, so that the grammar only describes the syntax of PTX. */
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

/* A constant expression or name while it is being parsed. Names are spans. They are looked up when the operand that they
 * belong to is complete, because labels, types of debug data and other words need no lookup. */
typedef struct Val {
    u8 kind;
    u8 flags;   /* OperandFlag */
    u8 negated; /* VAL_PAIR: bit 0: the first had a `!`, bit 1: the second */
    u8 dotted;  /* VAL_NAME: it has a `.part` */
    Span name;
    union {
        i64 i;
        Span second;
    };
} Val;

/* Bits of Val.flags besides OperandFlag: it was written `(...)`, which a call takes for a list of one; it was written `[...]`. */
#define VAL_PARENTHESIZED 0x80
#define VAL_ADDRESS 0x40

#define NO_LINKAGE UINT32_MAX
#define NO_START UINT32_MAX
#define RUN_MAX 16 /* the most plain operands that the lexer takes at once */

enum { MISSING_IN_MODULE = 1, MISSING_IN_FUNCTION = 2 };

/* What is skipped after a syntax error: see parse/recover.c. */
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

/* Which errors are dropped. After an unknown directive, names may be declared that were not seen, so only syntax errors
 * count from there on. */
typedef enum Lenient { LENIENT_NOT, LENIENT_FUNCTION, LENIENT_MODULE } Lenient;

/* Stems of up to eight bytes (`%rd`), by their bytes: nearly all names that are looked up have one of a few stems. */
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
    Arena names;    /* holds what is known about names while parsing */
    Arena uses;     /* holds uses of labels and bindings, in this function */
    Binding *spare; /* of scopes that were closed, one after the other by `outer` */
    Diag *diag;
    u32 cursor;       /* of the lexer */
    int last_token;   /* the last token that it returned */
    u32 before_token; /* the end of the token before that one */
    Val run[RUN_MAX]; /* plain operands, until the grammar takes them: see scan_run in grammar/ptx.re */
    Span run_at[RUN_MAX];
    u32 run_length;
    bool recovering; /* from a syntax error: parse/recover.c makes the next token */
    Skip skip;
    u32 skipped_to;   /* end of the unknown text that was skipped last; 0: none */
    u32 skip_braces;  /* number of `{` of operands that were open at the error */
    u32 close_scopes; /* number of `}` to insert before the next token, since a new function begins */
    bool strict;      /* unknown words are errors */
    Lenient lenient;
    bool dropped; /* the last error was dropped because of that */
    VEC(Span)
    unknown_names; /* of this function: `%names` that may be special registers, unless a later declaration
                              * declares them */
    u32 last_end;  /* end of the last complete statement; the blanks after it lead the next one */

    /* the function being built; NULL outside of functions */
    Function *fn;
    Block *block;    /* the open block; NULL when the next statement begins one */
    Block *falling;  /* the block whose fall is the next block to begin */
    Block *jumpable; /* equal to falling when an unconditional bra right here would be its jump */
    Instr *loc;      /* the .loc in force */

    /* the statement being built */
    const OpInfo *op;
    Span op_at;
    RegId guard;
    bool guard_not;
    u32 start;             /* of the statement, including its guard; NO_START between statements */
    bool bad;              /* an operand is wrong, which was reported; the instruction is dropped */
    bool mute;             /* the rest of the statement is not checked, since more errors in it would say nothing new */
    bool declaring;        /* inside a declaration */
    bool in_section;       /* inside the braces of a debug section */
    bool in_initializer;   /* inside what a variable is initialized with */
    u8 names_missing;      /* MISSING_*: declarations could not be read, so undeclared names are not reported */
    u32 operand_count;     /* top-level operands so far */
    VEC(Operand) operands; /* scratch */
    Span label_at;         /* the label of a branch */
    VEC(u32) open_aggregates;
    u32 closed_aggregate; /* the aggregate that was closed last */

    /* the declaration being built */
    u32 space, type, vector, align;
    bool is_extern;
    u32 first_sym;

    u32 table;          /* index of the table being built */
    u32 functions;      /* number of functions begun so far */
    u32 function_start; /* the place of the item's linkage directive; NO_LINKAGE: there is none */

    VEC(OpenScope) scopes; /* innermost last */
    VEC(Binding *) undo;   /* bindings of the open scopes, in order */
    VEC(LabelRef *) refs;  /* of this function; those that are left at its end are unresolved */
    Label *label;          /* the last one of this function */
    u32 sequence;          /* numbers label references and scopes in textual order */
    bool has_mentions;     /* some debug section or initialiser names labels */
    VecU32 range_ids;  /* for the dense ranges that are bound, innermost last: RegId by number, 0 before its first use */
    u32 dense_members; /* of all large ranges together; at most the length of the text */
    u32 longest_stem;  /* of all ranges */
    StemSlot stems[1 << STEM_BITS];
} Lower;

/* ---- errors ---- */
void lower_error(Lower *p, Span at, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* Reports an error that remains one after an unknown directive. */
void lower_syntax_error(Lower *p, Span at, const char *format, ...) __attribute__((format(printf, 3, 4)));
void lower_note(Lower *p, Span at, const char *format, ...) __attribute__((format(printf, 3, 4))); /* belongs to the error
                                                                                                    * before */
void lower_bad_token(Lower *p, Span at, const char *message); /* for the lexer; mutes the rest of the statement */
void lower_bad_byte(Lower *p, Span at);

/* ---- literals and constant expressions (lower_expr.c) ---- */
bool lower_read_integer(const Lower *p, Span at, Val *v); /* false, without a report: it does not fit into 64 bits */
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
i64 lower_constant(Lower *p, Val v, Span at);                   /* it must be an integer */

typedef enum ParseStatus { PARSE_ACCEPTED, PARSE_ABORTED, PARSE_TOO_DEEP } ParseStatus; /* what yyparse() returns */

ParseStatus lower_parse(Lower *p);        /* runs the parser (grammar/ptx.y) */
bool starts_line(const Lower *p, u32 at); /* whether only blanks stand before it on its line */

/* ---- module ---- */
void lower_version(Lower *p, Span number);
void lower_target(Lower *p, Span word);
void lower_target_joined(Lower *p, Span word); /* `sm_75.address_size`: two tokens without a blank between them */
void lower_address_size(Lower *p, Val v, Span at);
void lower_file_without_time(Lower *p, Span times); /* where the two numbers stand, or should */
void lower_mention(Lower *p, Val v); /* a name in debug data or an initialiser; if it is a label, it must stay */
void lower_statement_end(Lower *p, Span at);
/* The start of the blanks and comments that lead a statement at `beg`: after the line of the statement before. */
u32 lower_lead(const Lower *p, u32 beg);
static inline bool lower_in_body(const Lower *p) { return p->fn && p->fn->is_definition; }

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
/* A performance directive, and the first number that follows it. */
enum { DIRECTIVE_OTHER, DIRECTIVE_MINNCTAPERSM, DIRECTIVE_MAXNREG };
void lower_performance(Lower *p, u32 directive, Val v, Span at);
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
void lower_run(Lower *p);                        /* takes the operands in Lower.run */
void lower_vector_and_name(Lower *p, Span name); /* `{a, b}|p`, where the vector is the last operand */
void lower_index_begin(Lower *p, Span array);    /* `g[%r1+1]` */
void lower_index_end(Lower *p, Span at);
void lower_aggregate_begin(Lower *p, OperandKind kind, Span at);
void lower_aggregate_end(Lower *p);
void lower_instr_end(Lower *p, u32 end);
void lower_plain_instr(Lower *p, u32 end); /* with its opcode at Lower.op_at and its operands in Lower.run */
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
Block *lower_open_block(Lower *p);                          /* the block that the next item belongs to */
void lower_append(Lower *p, Instr *i);                      /* to that block */
Instr *lower_item(Lower *p, InstrKind kind, const OpInfo *op,
                  Span at);              /* a new one with the text `at`, op NULL: none that executes */
void lower_scopes_span_blocks(Lower *p); /* to be called before a label or branch */

/* ---- what is not known (unknown.c) ---- */
void lower_unknown_in_module(Lower *p, const char *what, Span at);   /* no phase may then touch any function */
void lower_unknown_in_function(Lower *p, const char *what, Span at); /* no phase may then touch the open one, which prints
                                                                      * as its own text */
bool lower_unknown_register(Lower *p, Span name); /* whether `%name` may be a special register; it is reported later if a
                                               * declaration follows */
void lower_check_unknown_registers(Lower *p);     /* at the end of a function */
const OpInfo *lower_unknown_op(Lower *p);         /* an opcode that may do anything */
void lower_distrust(Module *m);                   /* at the end of the module */

/* ---- names (names.c) ---- */
typedef enum BindingKind { BIND_REG, BIND_RANGE, BIND_SYM, BIND_TABLE, BIND_LABEL } BindingKind;

struct Binding {
    Binding *outer; /* the shadowed binding of the same name */
    Name *name;
    Span at; /* the place of its declaration */
    BindingKind kind : 3;
    u32 depth : 29; /* number of scopes open when it was made; 0: the module */
    u32 id;         /* RegId, SymId, index of a table, or Block.id */
};

/* A range `%r<100>`, whose registers are made when they are first used. */
typedef struct RegRange {
    Binding binding; /* of its stem */
    u32 count;
    u32 type, vector;
    ScopeId scope;
    u32 decl;
    u32 first;      /* place of its members in Lower.range_ids; or, where there are too many: */
    FnvMap *sparse; /* RegId by number */
    Binding *wider,
        *jump; /* bindings of the stem further out: the next one with more members; and that one or one beyond it */
    u32 level; /* number of bindings that `wider` leads to, one after the other */
} RegRange;

struct OpenScope {
    ScopeId id;
    u32 undo_mark; /* bindings made since then belong to it */
    u32 sequence;  /* references made since then are inside it */
    u32 last_end;  /* end of the statement before it */
    Instr *begin;  /* its SCOPE_BEGIN, as long as it holds neither label nor branch */
    Instr *loc;    /* the .loc in force where it begins */
    bool any_instr;
};

/* One use of a label that is not defined yet. */
struct LabelRef {
    LabelRef *same_name; /* an older unresolved reference to the same name */
    Name *name;
    Block *from;      /* the block whose jump it is; its fall is set as well */
    Operand *operand; /* NULL: */
    u32 table, entry; /* the last entry of this name; the table holds 1 + the one before, and at the first one 0 */
    Span at;
    u32 sequence : 31;
    bool done : 1;
};

/* Binds a name in the innermost open scope (in the module when none is open). NULL: it clashes there, which is reported. */
Binding *names_bind(Lower *p, Span at, BindingKind kind, u32 id);
void names_bind_range(Lower *p, Span stem, RegRange *range);
Binding *names_bind_numbered(Lower *p, Span stem, u32 number, Span at, BindingKind kind, u32 id); /* stem0, stem1... */
/* The innermost meaning of the text at `at`; NULL: it has none. *reg is set for a register; one of a range is made on first
 * use. */
Binding *names_find(Lower *p, Span at, RegId *reg);
bool names_declared_in_function(Lower *p,
                                Span name); /* whether the open function declares it in any scope, or its stem as a range */
void names_open_scope(Lower *p, ScopeId id);
void names_close_scope(Lower *p); /* resolves the references to its labels */
void names_refer(Lower *p, Span at, LabelRef ref);
void names_refer_numbered(Lower *p, Span stem, u32 number, LabelRef ref);
void names_report_unresolved(Lower *p); /* at the end of a function */
void names_mention(Lower *p, Span at);
void names_pin_mentioned(Lower *p); /* at the end of the module */

static inline u32 scope_now(const Lower *p) { return p->scopes.n ? p->scopes.v[p->scopes.n - 1].id : 0; }

#endif
