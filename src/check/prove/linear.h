/* Systems of linear inequalities, solved in integers. */
#ifndef PTXOPT_CHECK_PROVE_LINEAR_H
#define PTXOPT_CHECK_PROVE_LINEAR_H

#include "check/prove/polynomial.h"

enum { LINEAR_ROWS = 64, LINEAR_COLUMNS = 128 };

/* Wanted are numbers that are not negative, one for each column. In each row, their sum with the cells as factors is at
 * most the bound. */
typedef struct Linear {
    u32 rows, columns;
    Wide cell[LINEAR_ROWS][LINEAR_COLUMNS], bound[LINEAR_ROWS];
    Wide divisor;                                       /* of all cells and bounds, once it is solved */
    u32 of_row[LINEAR_ROWS], of_column[LINEAR_COLUMNS]; /* the unknown that stands there: a column, or columns + a row */
} Linear;

/* False: it has no solution, or the search was given up. */
bool linear_solve(Linear *l, u32 *work);
/* The number of a column, times the divisor. */
Wide linear_value(const Linear *l, u32 column);

#endif
