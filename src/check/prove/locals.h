/* Local variables of BEFORE that AFTER lacks. */
#ifndef PTXOPT_CHECK_PROVE_LOCALS_H
#define PTXOPT_CHECK_PROVE_LOCALS_H

#include "base/bitset.h"
#include "ir/ir.h"

/* Puts registers in the place of variables of BEFORE that no other thread and no callee can know of. AFTER must not name
 * them. The rest of BEFORE stays. The new text does one of the things that the old one may do: memory that was
 * never written may hold anything, and now holds 0.
 *
 * Sound: such a variable's address is computed by unguarded additions of constants. The register that holds it is read in
 * the same block, or has no other write. It is read nowhere but there and in the brackets of weak loads and stores. So
 * each of these is of one place that is known, and nothing else can be of it. A load returns what the last store left
 * there. Other threads have a variable of their own. */
void prove_drop_locals(Function *before, const Function *after);

/* The symbols that the body declares stand together: from *first up to the answer. */
SymId prove_variables_end(const Function *fn, SymId *first);

#endif
