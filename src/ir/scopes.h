/* Makes a function's scopes printable; see scopes.c. */
#ifndef PTXOPT_IR_SCOPES_H
#define PTXOPT_IR_SCOPES_H

#include "ir/ir.h"

/* Flattens every scope that the layout or a reference no longer respects, so that each is open once. */
void scopes_flatten(Function *fn);
/* Does the same, and renames names that would be mistaken for others: at its use, each name means what the IR says. A
 * second call does nothing. */
void scopes_legalize(Function *fn);

/* Sets a scope's parent. Every parent is set here, that of an outer scope before those of the scopes inside. */
void scope_set_parent(Function *fn, ScopeId id, ScopeId parent);

/* Whether `outer` is `inner` or around it; logarithmic in the depth. */
static inline bool scope_encloses(const Function *fn, ScopeId outer, ScopeId inner)
{
    const Scope *scopes = fn->scopes.v;
    while (scopes[inner].depth > scopes[outer].depth)
        inner = scopes[scopes[inner].jump].depth >= scopes[outer].depth ? scopes[inner].jump : scopes[inner].parent;
    return inner == outer;
}

#endif
