/* Threads that a table sends to different blocks are groups of their own, also where a block does nothing but jump on: an
 * instruction that sees who is there sees its group, and groups need not wait for one another. */
#ifndef PTXOPT_TRANSFORM_GROUPS_H
#define PTXOPT_TRANSFORM_GROUPS_H

#include "analysis/analyses.h"

/* Whether tables of the function may form groups that must not become one. Before the first rewrite: it computes AN_UNIFORM. */
bool groups_matter(Arena *arena, Analyses *an);
/* Whether b ends in a table that may divide a warp. */
bool groups_divided_by(Analyses *an, const Block *b);
/* Whether such a table leads to b. */
bool groups_come_to(Analyses *an, const Block *b);

#endif
