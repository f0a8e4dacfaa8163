/* Values as terms: hash-consed, so that equal terms are one Term, and rewritten as they are made.
 *
 *   integers   sums with coefficients modulo 2^n (linear), products, bitwise functions of up to six leaves (logic), shifts,
 *              extensions and truncations; everything else that only computes is applied and not looked into
 *   conditions 1-bit logic over atoms: "x is in this set" (in), where x may also be the relation of two numbers:
 *              one of five for integers, which signed and unsigned comparisons share, one of four for floats
 *   floats     are their bits; only what is bit-exact is rewritten
 *   symbols    unknown values: parameters, special registers, what loads and calls return, what joins bring together
 *
 * Constants have at most 64 bits; wider values are symbols and applications. All memory but the vectors is the arena's. */
#ifndef PTXOPT_CHECK_PROVE_TERM_H
#define PTXOPT_CHECK_PROVE_TERM_H

#include "base/fnvmap.h"
#include "base/intern.h"
#include "check/prove/set.h"

typedef u32 Term; /* 0 is none */

typedef enum TermOp {
    TERM_NONE,
    TERM_CONST,  /* value */
    TERM_SYM,    /* aux: index into Terms.syms */
    TERM_LINEAR, /* value + the sum of coef * kid */
    TERM_LOGIC,  /* value: truth table; kid k is bit k of its index */
    TERM_MUL,    /* of two kids or more */
    TERM_ITE,    /* kid 0 ? kid 1 : kid 2 */
    TERM_ZEXT,
    TERM_SEXT,
    TERM_TRUNC,
    TERM_SHL,
    TERM_SHR,
    TERM_SAR,   /* by kid 1, clamped as PTX does */
    TERM_IN,    /* kid 0 is in the set aux */
    TERM_REL,   /* of two integers: PROVE_EQ ... */
    TERM_FREL,  /* of two floats: PROVE_FEQ ...; aux: name of type and flushing */
    TERM_APPLY, /* aux: name of what is applied */
} TermOp;

/* Relations of integers, signed and unsigned at once, and of floats. */
enum { PROVE_EQ, PROVE_SLT_ULT, PROVE_SLT_UGT, PROVE_SGT_ULT, PROVE_SGT_UGT, PROVE_RELS };
enum { PROVE_FEQ, PROVE_FLT, PROVE_FGT, PROVE_FUN, PROVE_FRELS };

typedef struct TermNode {
    u8 op; /* TermOp */
    u8 bits;
    u16 n;    /* kids */
    u32 kids; /* index into Terms.kid and, of sums, Terms.coef */
    u32 aux;
    u64 value;
    u64 owners;      /* one bit for each owner of a symbol in it, modulo 64 */
    u32 size;        /* of the tree below, saturated */
    u32 choices : 1; /* an ITE is in it */
} TermNode;

/* The thing that a symbol stands for. */
typedef enum SymKindOf {
    PROVE_SYM_SREG,    /* a special register that does not change: detail is its number, part its component */
    PROVE_SYM_ADDRESS, /* of a variable or function: detail is its name */
    PROVE_SYM_PARAM,   /* what ld.param and ld.const of a constant address return: detail is a name that says all */
    PROVE_SYM_GARBAGE, /* what a register held before it was written: detail is its name */
    PROVE_SYM_EVENT,   /* what an event returned: detail is its number in BEFORE, part which of its results */
    PROVE_SYM_JOIN,    /* what paths into a product node brought: detail is the slot */
} SymKindOf;

typedef struct TermSym {
    u32 kind, owner, detail, part; /* owner: product node; 0: none */
    bool divergent;                /* may differ between threads of a block */
    Term term;
} TermSym;

typedef struct Terms {
    Arena *arena;
    Sets sets;
    VEC(TermNode) node;
    VecU32 kid;
    VEC(u64) coef; /* as long as kid */
    VEC(TermSym) syms;
    HashIndex index;
    FnvMap sym_of;
    Intern *names;
    VEC(const Name *) name; /* of applications */
    FnvMap name_of;
    FnvMap truncated; /* by term and bits: what prove_trunc made of it */
    u32 work;         /* rewriting steps done, for limits */
    u64 seed;         /* not 0: symbols are numbers made of it, and so are applications of numbers: one execution */
    u32 moment;       /* that numbers events return are made of, too */
    const struct Function *fn; /* BEFORE, whose directives bound special registers; NULL: none does */
    bool divides;              /* divisions of 32 bits are looked into: see term_division.h */
    bool guessed;              /* an application whose value is not that of the machine was made */
    VecU32 inputs;             /* symbols that were asked for: parameters and special registers */
} Terms;

void prove_terms_init(Terms *t, Arena *arena, Intern *names);
void prove_terms_free(Terms *t);

static inline const TermNode *prove_node(const Terms *t, Term x) { return &t->node.v[x]; }
static inline Term prove_kid(const Terms *t, Term x, u32 k) { return t->kid.v[t->node.v[x].kids + k]; }
static inline u32 prove_bits(const Terms *t, Term x) { return t->node.v[x].bits; }
static inline bool prove_is_const(const Terms *t, Term x) { return t->node.v[x].op == TERM_CONST; }
static inline u64 prove_mask(u32 bits) { return bits >= 64 ? UINT64_MAX : ((u64)1 << bits) - 1; }
static inline i64 prove_signed(u64 value, u32 bits)
{
    return bits >= 64 ? (i64)value : (i64)(value << (64 - bits)) >> (64 - bits);
}
/* The largest value of x: a mask, or the last relation. Not for more than 64 bits. */
u64 prove_most(const Terms *t, Term x);

/* A term as it is; for the constructors below. */
Term prove_make(Terms *t, TermNode head, const Term *kids, const u64 *coefs);

Term prove_const(Terms *t, u64 value, u32 bits);
static inline Term prove_bool(Terms *t, bool value) { return prove_const(t, value, 1); }
Term prove_sym(Terms *t, SymKindOf kind, u32 owner, u32 detail, u32 part, u32 bits);
const TermSym *prove_sym_of(const Terms *t, Term x); /* of a TERM_SYM */
/* The least and the largest value of a special register, or of a component of it. */
void prove_sreg_bounds(const Terms *t, u32 sreg, u32 part, u64 *least, u64 *most);
u32 prove_name(Terms *t, const char *text);

/* Integers, at most 64 bits, of equal width. */
Term prove_add(Terms *t, Term a, Term b);
Term prove_sub(Terms *t, Term a, Term b);
Term prove_scale(Terms *t, Term a, u64 by);
Term prove_plus(Terms *t, Term a, u64 constant);
Term prove_mul(Terms *t, Term a, Term b);
Term prove_zext(Terms *t, Term a, u32 bits);
Term prove_sext(Terms *t, Term a, u32 bits);
Term prove_trunc(Terms *t, Term a, u32 bits);
/* Extends or truncates to `bits`. */
Term prove_resize(Terms *t, Term a, u32 bits, bool sign);
Term prove_shift(Terms *t, TermOp op, Term a, Term by); /* SHL SHR SAR; `by` of any width */
/* The bitwise function of up to three terms: bit (a + 2b + 4c) of `lut`. Also for conditions. Of `count` < 3 the rest is 0. */
Term prove_logic(Terms *t, u32 lut, Term a, Term b, Term c, u32 count);
/* The function of up to six terms that a truth table gives: a sum of products, by Shannon's expansion. */
Term prove_logic_of(Terms *t, u64 table, const Term *kids, u32 n, u32 bits);
Term prove_and(Terms *t, Term a, Term b);
Term prove_or(Terms *t, Term a, Term b);
Term prove_xor(Terms *t, Term a, Term b);
Term prove_not(Terms *t, Term a);
Term prove_ite(Terms *t, Term cond, Term a, Term b);
/* The same choice, which is not looked into. */
Term prove_choice(Terms *t, Term cond, Term a, Term b);

/* Conditions. */
Term prove_in(Terms *t, Term x, SetId set);
Term prove_rel(Terms *t, Term a, Term b, u32 relations); /* relations: bit mask of PROVE_EQ ... */
Term prove_frel(Terms *t, u32 name, Term a, Term b, u32 relations);

Term prove_apply(Terms *t, u32 name, u32 bits, const Term *kids, u32 n);
/* The address that x is the generic one of, where it is said to be in `space`, with the width: `shared.u64`. 0: it is no
 * such conversion. */
Term prove_undone_window(const Terms *t, const char *space, Term x);

/* Whether a symbol that the product node `owner` made is in x. */
bool prove_mentions(Terms *t, Term x, u32 owner);

/* Terms for terms: from 1 on the entries of both arrays belong together. Those without an entry stay. */
typedef struct Subst {
    FnvMap map; /* Term to Term; also remembers what was computed */
    u32 owner;  /* only terms that mention it are looked into; 0: all */
} Subst;
Term prove_subst(Terms *t, Subst *s, Term x);
/* x made anew of other kids, in the same order. */
Term prove_rebuild(Terms *t, Term x, const Term *kids);

/* Writes a term for messages, at most so many levels. */
void prove_print(const Terms *t, Term x, char *text, u32 size);

#endif
