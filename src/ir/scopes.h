/* Makes a function's scopes printable; see scopes.c. */
#ifndef PTXOPT_IR_SCOPES_H
#define PTXOPT_IR_SCOPES_H

#include "ir/ir.h"

/* Flattens every scope that the layout or a reference no longer respects, so that each is open once. */
void scopes_flatten(Function *fn);
/* The same, and renames what a name would now mistake: each name means at its use what the IR says. A second call does nothing. */
void scopes_legalize(Function *fn);

/* Every parent is set here, that of an outer scope before those of the scopes inside. */
void scope_set_parent(Function *fn, ScopeId id, ScopeId parent);

/* In logarithmic time of the depth. */
static inline bool scope_encloses(const Function *fn, ScopeId outer, ScopeId inner)
{
    const Scope *scopes = fn->scopes.v;
    while (scopes[inner].depth > scopes[outer].depth)
        inner = scopes[scopes[inner].jump].depth >= scopes[outer].depth ? scopes[inner].jump : scopes[inner].parent;
    return inner == outer;
}

#endif
