/* Whether a function still has the code and the directives that were parsed, for a ptxas that cleans up. Labels, jumps to the
 * next block, empty or unreachable blocks, and the splitting of a block do not count. The order of the blocks does, and so
 * does which successor of a branch is taken. */
#ifndef PTXOPT_IR_CODE_HASH_H
#define PTXOPT_IR_CODE_HASH_H

#include "ir/ir.h"

/* Takes the hash of a definition, once, before the first edit; linear in its code. code_is_as_parsed() is seldom true for other code. */
void code_remember(Function *fn);
bool code_is_as_parsed(const Function *fn); /* since code_remember() */

#endif
