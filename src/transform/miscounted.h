/* The loops that ptxas is known to fold or to count wrongly, if their tests have the form that it counts. target/bugs.def
 * names the releases (CONSTANT_LOOP, COUNTED_LOOP). */
#ifndef PTXOPT_TRANSFORM_MISCOUNTED_H
#define PTXOPT_TRANSFORM_MISCOUNTED_H

#include "analysis/analyses.h"

/* The loops of which one of these holds, by their places in AN_LOOPS:
 *   - A loop of the same function holds only arithmetic and branches, on registers that some write makes a function of constants.
 *     Its results are constants; whether ptxas folds them wrongly depends on the form of its test and of those in front of it.
 *   - The loop is counted, and its test is one of three: it goes on while the counter equals the bound; the counter moves away from
 *     the bound; it compares unsigned numbers, one of them a constant that would be negative as a signed number. ptxas unrolls
 *     some of these by a wrong number of iterations.
 * In the scratch arena. The time is linear in the loops, and in the function if one of the loops only computes. Uses AN_LOOPS and
 * AN_DOM, and asks for AN_SSA where a comparison is unsigned. */
BitSet miscounted_loops(Analyses *an);

/* The same, found when it is first asked for. That must be before the first rewrite. */
typedef struct MiscountedLoops {
    Analyses *an;
    bool known;
    BitSet loops;
} MiscountedLoops;
bool miscounted_has(MiscountedLoops *m, const Loop *loop);

/* Whether the function has a loop of the first kind, so that no test of its loops may change its form. The question is
 * asked as if the instructions of `moves`, by Instr.origin, were moves between registers or gone. The loops of `gone`, by
 * their places, also count as gone. Both may be NULL: there are none. It needs AN_LOOPS only. */
bool miscounted_has_constant_loop(Analyses *an, const BitSet *moves, const BitSet *gone);

#endif
