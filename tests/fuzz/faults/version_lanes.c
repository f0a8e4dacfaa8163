/* A loop has a version without its checks although that holds a convergent instruction, or one after it depends on some of the loop's
 * branches, or sees which lanes come to it. */
#include "phase/loops/copy.h"

#define phase_loop_version fault_version_lanes
#define loop_lanes_forbid(an, branches, lanes) ((void)(lanes), (void)(branches), (const char *)NULL)
#define instr_may_be_copied(i, summaries) ((void)(summaries), true)
#include "../../../src/phase/loops/loop_version.c"
