/* Integers in normal form: constant + sum of scale * term, modulo 2 to the power of their width. Equal forms are one FormId,
 * so that equality is a comparison; forms that differ in the constant alone share their `base`.
 *
 * A term is a value about which no more is known: of a register, of an operation on other forms, or the extension of a form of
 * 32 bits to 64. Extension is not carried through sums here: whoever can prove that they do not wrap adds extended forms. */
#ifndef PTXOPT_ANALYSIS_LINEAR_H
#define PTXOPT_ANALYSIS_LINEAR_H

#include "base/fnvmap.h"
#include "base/vec.h"

typedef u32 TermId; /* 0: none */
typedef u32 FormId; /* 0: none */

enum { FORM_TERMS = 8 /* beyond, there is no form */ };

typedef struct Scaled {
    TermId term;
    u64 scale; /* not 0; the low bits that the form has */
} Scaled;

typedef struct Form {
    u32 bits, terms;
    u64 constant;
    FormId base;   /* the same without the constant */
    FormId next;   /* of one hash */
    Scaled term[]; /* ascending */
} Form;

typedef enum TermKind { TERM_VALUE, TERM_OPERATION, TERM_SIGNED, TERM_UNSIGNED, TERM_LOW } TermKind;

typedef struct LinearTerm {
    u32 kind;
    u32 bits;
    u32 zeros;       /* so many low bits are known to be zero */
    u32 operand[4];  /* VALUE: any number; OPERATION: FormIds; SIGNED, UNSIGNED: the FormId extended; LOW: the TermId cut */
    const void *tag; /* OPERATION: what it does */
    TermId next;
    FormId alone; /* the form that is this term and nothing else; 0: not made yet */
} LinearTerm;

typedef struct Forms {
    Arena *arena;
    VEC(Form *) forms;
    VEC(LinearTerm) terms;
    FnvMap form_of, term_of; /* the first of a hash */
} Forms;

Forms *forms_new(Arena *arena);
void forms_free(Forms *f);

static inline const Form *form_at(const Forms *f, FormId id) { return f->forms.v[id]; }

TermId term_value(Forms *f, u32 bits, u32 value); /* to be asked for once for each value */
TermId term_operation(Forms *f, u32 bits, const void *tag, const FormId operand[4], u32 zeros);
FormId form_constant(Forms *f, u32 bits, u64 constant);
FormId form_term(Forms *f, TermId term);
FormId form_sum(Forms *f, FormId a, FormId b, u64 scale); /* a + scale * b, of one width; 0: too many terms */
FormId form_scale(Forms *f, FormId a, u64 scale);
/* 32 bits to 64: a term, unless a is a constant. */
FormId form_extend(Forms *f, FormId a, bool is_signed);
FormId form_low(Forms *f, FormId a); /* the low 32 of 64 bits; 0: too many terms */
u32 form_zeros(const Forms *f, FormId a);
/* Whether b - a is a constant, as a signed number. */
bool form_difference(const Forms *f, FormId a, FormId b, i64 *difference);

#endif
