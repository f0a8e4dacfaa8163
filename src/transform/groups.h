/* Threads that a table sends to different blocks are separate groups, even where a block only jumps on. An instruction that
 * sees which threads are together sees its group, and groups need not wait for one another. */
#ifndef PTXOPT_TRANSFORM_GROUPS_H
#define PTXOPT_TRANSFORM_GROUPS_H

#include "analysis/analyses.h"

/* Finds, by Instr.origin, the tables that may divide a warp into groups that must stay separate. If two became one, a
 * part might wait for the others, or something sees them. Without bits where there are none. A block that ends in a table
 * may be joined to another one, which keeps the origin. */
BitSet groups_find(Analyses *an);
/* Whether b ends in one of these tables. */
bool groups_divided_by(const BitSet *tables, const Block *b);

#endif
