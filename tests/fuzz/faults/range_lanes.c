/* A loop runs in parts although it holds a convergent instruction, or one after it depends on some of the loop's branches, or sees which
 * lanes come to it. */
#include "phase/loops/copy.h"

#define phase_range_split fault_range_lanes
#define loop_lanes_forbid(an, branches, lanes) ((void)(lanes), (void)(branches), (const char *)NULL)
#define loop_may_hold_twice(an, i) ((void)(i), true)
#include "../../../src/phase/loops/range_split.c"
