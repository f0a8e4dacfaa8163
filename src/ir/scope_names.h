/* The inside of scopes_legalize(): the names that each scope declares (scope_names.c), and new names for these. */
#ifndef PTXOPT_IR_SCOPE_NAMES_H
#define PTXOPT_IR_SCOPE_NAMES_H

#include "base/fnvmap.h"
#include "ir/scopes.h"

#define MODULE_SCOPE UINT32_MAX /* the scope of names declared outside the function */

typedef struct Legalizer {
    Function *fn;
    Arena arena;
    FnvMap declared;           /* by scope and hash: Declared bits */
    ScopeId *outer;            /* by scope: itself, or the one further out that its declarations moved to */
    u32 *first_reg, *next_reg; /* registers of a scope, first by scope, next by register; 0: the end */
    u32 flattened, renamed;    /* in this call */
    bool changed_only;         /* references of other instructions are as the source has them */
} Legalizer;

enum Declared {
    DECLARED_WHOLE = 1, /* hash of a name that is declared */
    DECLARED_RANGE = 2, /* hash of a stem that some range has */
    DECLARED_STEM = 4   /* hash of a stem that some name or range has */
};

typedef struct NameHash {
    u32 whole, stem;
} NameHash;

typedef enum RefKind { REF_REG, REF_SREG, REF_SYM, REF_BLOCK, REF_TABLE } RefKind;

/* ---- what is declared ---- */

void scope_declare_name(Legalizer *s, ScopeId scope, const Name *name);
void scope_declare_sreg(Legalizer *s, u32 id);                    /* ptxas lets a declaration hide a special register */
void scope_declare_words(Legalizer *s, ScopeId scope, Span span); /* every name in a piece of source */
/* The text whose names a declaration declares. It is empty once it is renamed, because fresh names clash with none. */
Span scope_decl_words(const Decl *d);
/* Whether a declaration may hide another one. Those of scope 0 before its first instruction cannot: they precede every use. */
static inline bool scope_may_hide(ScopeId scope, const Decl *d) { return scope != 0 || !d->early; }
/* Whether a name of this stem means something in this scope or one around it. */
bool scope_name_clashes(const Legalizer *s, ScopeId scope, const Name *name);
bool scope_words_clash(const Legalizer *s, ScopeId scope, Span span);

/* ---- new names ---- */

void scope_rename_decl(Legalizer *s, ScopeId scope, u32 index);
void scope_rename_label(Legalizer *s, Label *l);
void scope_rename_table(Legalizer *s, Table *t);
/* Renames whatever hides, between `from` and its declaration, the thing that is used there. */
void scope_rename_hiding(Legalizer *s, ScopeId from, RefKind kind, u32 id);
/* Makes instructions and tables that hold a new name print from their operands. */
void scope_mark_holders(Function *fn);

#endif
