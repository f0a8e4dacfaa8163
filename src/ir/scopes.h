/* Makes a function's scopes printable; see scopes.c. */
#ifndef PTXOPT_IR_SCOPES_H
#define PTXOPT_IR_SCOPES_H

#include "ir/ir.h"

/* Dissolves every scope that the layout or a reference no longer respects, and renames what a name would now mistake.
 * Afterwards each scope is open once, and each name means at its use what the IR says. A second call does nothing. */
void scopes_settle(Function *fn);

static inline bool scope_encloses(const Function *fn, ScopeId outer, ScopeId inner)
{
    while (inner != outer && inner != 0)
        inner = fn->scopes.v[inner].parent;
    return inner == outer;
}

#endif
