/* The criss-cross method (Terlaky, Wang) with the least index, which terminates. Cells are integers, whose common
 * divisor is the previous pivot (Edmonds, Bareiss): each division is exact. */
#include "check/prove/linear.h"

enum { PIVOTS_MAX = 100 };

#define CELL_LIMIT ((Wide)1 << 120)

/* (a * pivot - b * c) / divisor. False: it is too large. */
static bool exchange(Wide *a, Wide pivot, Wide b, Wide c, Wide divisor)
{
    Wide x, y;
    if (__builtin_mul_overflow(*a, pivot, &x) || __builtin_mul_overflow(b, c, &y) || __builtin_sub_overflow(x, y, &x))
        return false;
    *a = x / divisor;
    return *a < CELL_LIMIT && *a > -CELL_LIMIT;
}

static bool exchange_row(Linear *l, u32 i, u32 row, u32 column)
{
    Wide pivot = -l->cell[row][column], by = -l->cell[i][column];
    bool fits = exchange(&l->bound[i], pivot, by, l->bound[row], l->divisor);
    for (u32 k = 0; k < l->columns && fits; k++)
        fits = k == column || exchange(&l->cell[i][k], pivot, by, l->cell[row][k], l->divisor);
    l->cell[i][column] = -by;
    return fits;
}

/* The unknowns of the row and of the column change places. The cell is negative. */
static bool pivot(Linear *l, u32 row, u32 column)
{
    Wide divisor = -l->cell[row][column];
    for (u32 i = 0; i < l->rows; i++)
        if (i != row && !exchange_row(l, i, row, column))
            return false;
    for (u32 k = 0; k < l->columns; k++)
        l->cell[row][k] = k == column ? -l->divisor : -l->cell[row][k];
    l->bound[row] = -l->bound[row];
    l->divisor = divisor;
    u32 of = l->of_row[row];
    l->of_row[row] = l->of_column[column];
    l->of_column[column] = of;
    return true;
}

/* The row of the least unknown that is negative. */
static u32 violated(const Linear *l)
{
    u32 found = l->rows;
    for (u32 i = 0; i < l->rows; i++)
        if (l->bound[i] < 0 && (found == l->rows || l->of_row[i] < l->of_row[found]))
            found = i;
    return found;
}

/* The column of the least unknown that makes that of the row greater. */
static u32 helpful(const Linear *l, u32 row)
{
    u32 found = l->columns;
    for (u32 k = 0; k < l->columns; k++)
        if (l->cell[row][k] < 0 && (found == l->columns || l->of_column[k] < l->of_column[found]))
            found = k;
    return found;
}

bool linear_solve(Linear *l, u32 *work)
{
    l->divisor = 1;
    for (u32 k = 0; k < l->columns; k++)
        l->of_column[k] = k;
    for (u32 i = 0; i < l->rows; i++)
        l->of_row[i] = l->columns + i;
    for (u32 pivots = 0; pivots < PIVOTS_MAX; pivots++) {
        u32 row = violated(l), column = row < l->rows ? helpful(l, row) : 0;
        if (row == l->rows)
            return true;
        if (column == l->columns || !pivot(l, row, column))
            return false;
        *work += l->rows * l->columns / 512;
    }
    return false;
}

Wide linear_value(const Linear *l, u32 column)
{
    for (u32 i = 0; i < l->rows; i++)
        if (l->of_row[i] == column)
            return l->bound[i];
    return 0;
}
