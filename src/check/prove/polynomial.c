#include "check/prove/polynomial.h"

#include <string.h>

#define COEF_LIMIT ((Wide)1 << 100)

static bool is_large(Wide coef) { return coef > COEF_LIMIT || coef < -COEF_LIMIT; }

bool polynomial_same_atoms(const Monomial *a, const Monomial *b)
{
    return a->n == b->n && memcmp(a->atom, b->atom, a->n * sizeof *a->atom) == 0;
}

void polynomial_add(Polynomial *p, Monomial m)
{
    for (u32 k = 0; k < p->n; k++)
        if (polynomial_same_atoms(&p->m[k], &m)) {
            m.coef += p->m[k].coef;
            p->m[k] = p->m[--p->n];
            break;
        }
    if (m.coef == 0)
        return;
    p->lost |= p->n == MONOMIALS_MAX || is_large(m.coef);
    if (!p->lost)
        p->m[p->n++] = m;
}

Polynomial polynomial_constant(Wide value)
{
    Polynomial p = {0};
    polynomial_add(&p, (Monomial){.coef = value});
    return p;
}

/* The product; a coefficient of 0 says that it is too large. */
static Monomial multiply_monomials(const Monomial *a, const Monomial *b)
{
    Monomial m = {0};
    if (a->n + b->n > DEGREE_MAX || __builtin_mul_overflow(a->coef, b->coef, &m.coef) || is_large(m.coef))
        return (Monomial){0};
    for (u32 i = 0, k = 0; i + k < a->n + b->n;) {
        bool first = k == b->n || (i < a->n && a->atom[i] <= b->atom[k]);
        m.atom[m.n++] = first ? a->atom[i++] : b->atom[k++];
    }
    return m;
}

/* Adds m times q. */
static void add_times(Polynomial *p, const Polynomial *q, const Monomial *m)
{
    p->lost |= q->lost;
    for (u32 k = 0; k < q->n && !p->lost; k++) {
        Monomial made = multiply_monomials(&q->m[k], m);
        p->lost |= made.coef == 0;
        polynomial_add(p, made);
    }
}

void polynomial_add_scaled(Polynomial *p, const Polynomial *q, Wide by)
{
    if (by)
        add_times(p, q, &(Monomial){.coef = by});
}

Polynomial polynomial_multiply(const Polynomial *a, const Polynomial *b)
{
    Polynomial p = {.lost = a->lost};
    for (u32 k = 0; k < a->n; k++)
        add_times(&p, b, &a->m[k]);
    return p;
}

Polynomial polynomial_difference(const Polynomial *a, const Polynomial *b, Wide less)
{
    Polynomial p = *a, c = polynomial_constant(1);
    polynomial_add_scaled(&p, b, -1);
    polynomial_add_scaled(&p, &c, -less);
    return p;
}

bool polynomial_quotient(const Monomial *a, const Monomial *b, Monomial *by)
{
    u32 k = 0;
    *by = (Monomial){.coef = 1};
    for (u32 i = 0; i < a->n; i++)
        if (k < b->n && b->atom[k] == a->atom[i])
            k++;
        else if (a->atom[i] & 1)
            return false;
        else
            by->atom[by->n++] = a->atom[i];
    return k == b->n;
}

Polynomial polynomial_rounded(const Polynomial *g, bool is_fact, bool *is_multiple)
{
    Wide by = 0, c = 0;
    for (u32 k = 0; k < g->n; k++) {
        Wide a = by, b = g->m[k].coef < 0 ? -g->m[k].coef : g->m[k].coef;
        c = g->m[k].n ? c : g->m[k].coef;
        while (g->m[k].n && a) {
            Wide rest = b % a;
            b = a;
            a = rest;
        }
        by = g->m[k].n ? b : by;
    }
    Polynomial p = *g, one = polynomial_constant(1);
    *is_multiple = by > 1;
    if (by > 1) {
        Wide rest = (c % by + by) % by;
        polynomial_add_scaled(&p, &one, (is_fact ? 0 : by - 1) - rest);
    }
    return p;
}

bool polynomial_subtract(const Polynomial *g, const Monomial *from, const Polynomial *p, Polynomial *left)
{
    for (u32 k = 0; k < p->n; k++) {
        Monomial by;
        if ((p->m[k].coef > 0) != (from->coef > 0) || p->m[k].n == 0 || !polynomial_quotient(from, &p->m[k], &by))
            continue;
        Wide scale = 1;
        if (from->coef % p->m[k].coef == 0)
            by.coef = from->coef / p->m[k].coef;
        else if (p->m[k].coef % from->coef == 0)
            scale = p->m[k].coef / from->coef;
        else
            continue;
        Polynomial one = polynomial_constant(1);
        *left = (Polynomial){0};
        polynomial_add_scaled(left, g, scale);
        polynomial_add_scaled(left, &one, scale - 1);
        by.coef = -by.coef;
        add_times(left, p, &by);
        return !left->lost;
    }
    return false;
}
