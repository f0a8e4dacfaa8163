/* Each multiple of a fact is a column of a linear program, and each monomial a row: its coefficient in the goal must not
 * become negative. Nothing rests on the program: the rest of the goal is recomputed from the facts. */
#include "check/prove/combine.h"

#include "base/arena.h"
#include "check/prove/linear.h"

enum {
    FACTORS = 2, /* that a fact is multiplied by */
    PARTS = 4    /* an integer is not negative if it is greater than -1 by one part of four */
};

typedef struct Multiple {
    u32 fact;
    Monomial by;
} Multiple;

typedef struct Combination {
    const Polynomial *const *fact;
    u32 facts, degree, monomials;
    Monomial monomial[LINEAR_ROWS]; /* the coefficients are 1 */
    u32 row[LINEAR_ROWS]; /* by monomial: its row. One with a signed atom has two, and its coefficient is to be 0 */
    Multiple column[LINEAR_COLUMNS];
    Linear l;
} Combination;

static u32 degree_of(const Polynomial *p)
{
    u32 most = 0;
    for (u32 k = 0; k < p->n; k++)
        most = p->m[k].n > most ? p->m[k].n : most;
    return most;
}

static bool has_signed(const Monomial *m)
{
    bool has = false;
    for (u32 k = 0; k < m->n; k++)
        has |= m->atom[k] & 1;
    return has;
}

static u32 find_monomial(const Combination *c, const Monomial *m)
{
    u32 k = 0;
    while (k < c->monomials && !polynomial_same_atoms(&c->monomial[k], m))
        k++;
    return k;
}

/* Gives each monomial a row. False: there are too many. */
static bool add_rows(Combination *c, const Polynomial *p)
{
    for (u32 k = 0; k < p->n; k++) {
        u32 rows = 1 + has_signed(&p->m[k]), at = find_monomial(c, &p->m[k]);
        if (at < c->monomials)
            continue;
        if (c->l.rows + rows > LINEAR_ROWS)
            return false;
        c->monomial[at] = p->m[k];
        c->monomial[at].coef = 1;
        c->row[at] = c->l.rows;
        c->l.rows += rows;
        c->monomials++;
    }
    return true;
}

static Polynomial multiple_of(const Combination *c, const Multiple *m)
{
    Polynomial by = {.n = 1, .m = {m->by}};
    return polynomial_multiply(c->fact[m->fact], &by);
}

static void add_column(Combination *c, u32 fact, const Monomial *by)
{
    u32 column = c->l.columns;
    for (u32 k = 0; k < column; k++)
        if (c->column[k].fact == fact && polynomial_same_atoms(&c->column[k].by, by))
            return;
    c->column[column] = (Multiple){fact, *by};
    Polynomial p = multiple_of(c, &c->column[column]);
    if (p.lost || degree_of(&p) > c->degree || !add_rows(c, &p))
        return;
    for (u32 k = 0; k < p.n; k++) {
        u32 row = c->row[find_monomial(c, &p.m[k])];
        c->l.cell[row][column] = p.m[k].coef;
        if (has_signed(&p.m[k]))
            c->l.cell[row + 1][column] = -p.m[k].coef;
    }
    c->l.columns++;
}

/* The multiples of facts that have the monomial. */
static void add_columns(Combination *c, const Monomial *m)
{
    Monomial by;
    for (u32 fact = 0; fact < c->facts; fact++)
        for (u32 k = 0; k < c->fact[fact]->n && c->l.columns < LINEAR_COLUMNS; k++)
            if (c->fact[fact]->m[k].n && polynomial_quotient(m, &c->fact[fact]->m[k], &by) && by.n <= FACTORS)
                add_column(c, fact, &by);
}

static bool set_bounds(Combination *c, const Polynomial *goal)
{
    if (!add_rows(c, goal))
        return false;
    for (u32 k = 0; k < goal->n; k++) {
        u32 row = c->row[find_monomial(c, &goal->m[k])];
        c->l.bound[row] = goal->m[k].coef;
        if (has_signed(&goal->m[k]))
            c->l.bound[row + 1] = -goal->m[k].coef;
    }
    return true;
}

/* What the numbers of the columns leave of the goal. None of them is negative: this is looked at again. */
static bool subtract_columns(const Combination *c, const Polynomial *goal, Polynomial *left)
{
    *left = (Polynomial){0};
    polynomial_add_scaled(left, goal, c->l.divisor);
    for (u32 k = 0; k < c->l.columns; k++) {
        Polynomial p = multiple_of(c, &c->column[k]);
        Wide times = linear_value(&c->l, k);
        if (times < 0)
            return false;
        polynomial_add_scaled(left, &p, -times);
    }
    return c->l.divisor > 0 && !left->lost;
}

bool polynomial_combine(const Polynomial *g, const Polynomial *const *fact, u32 facts, Polynomial *left, u32 *work)
{
    Arena arena = {0};
    Combination *c = arena_new(&arena, Combination);
    c->fact = fact;
    c->facts = facts;
    c->degree = degree_of(g);
    for (u32 k = 0; k < facts; k++)
        c->degree = degree_of(fact[k]) > c->degree ? degree_of(fact[k]) : c->degree;
    Polynomial goal = polynomial_constant(PARTS - 1);
    polynomial_add_scaled(&goal, g, PARTS);
    bool found = !goal.lost && set_bounds(c, &goal);
    for (u32 k = 0; k < c->monomials && found; k++)
        add_columns(c, &c->monomial[k]);
    found = found && linear_solve(&c->l, work) && subtract_columns(c, &goal, left);
    arena_free(&arena);
    return found;
}
