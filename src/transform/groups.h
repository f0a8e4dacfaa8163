/* Threads that a table sends to different blocks are groups of their own, also where a block does nothing but jump on: an
 * instruction that sees who is there sees its group, and groups need not wait for one another. */
#ifndef PTXOPT_TRANSFORM_GROUPS_H
#define PTXOPT_TRANSFORM_GROUPS_H

#include "analysis/analyses.h"

/* By Instr.origin: tables that may divide a warp into groups that must not become one. Without bits where there are none. A block
 * that ends in a table may be joined to another one: the origin stays. */
BitSet groups_find(Analyses *an);
/* Whether b ends in one of them. */
bool groups_divided_by(const BitSet *tables, const Block *b);

#endif
