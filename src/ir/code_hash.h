/* Whether a function still has the code that was parsed, for a ptxas that cleans up. Labels, jumps to the next block, blocks that do
 * nothing or that nothing leads to, and blocks that are cut in two do not count. The order of the blocks does, and so does which
 * successor of a branch is taken. */
#ifndef PTXOPT_IR_CODE_HASH_H
#define PTXOPT_IR_CODE_HASH_H

#include "ir/ir.h"

/* Of a definition, in linear time, and by a hash: of other code it is seldom true. */
void code_remember(Function *fn);
bool code_is_as_parsed(const Function *fn); /* since code_remember() */

#endif
