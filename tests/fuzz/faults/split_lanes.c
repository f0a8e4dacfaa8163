/* A loop runs without its bounds checks although a convergent instruction depends on some of them: that comes to depend on all. */
#include "phase/loops/copy.h"

#define phase_loop_split fault_split_lanes
#define loop_lanes_forbid(an, checks, lanes) ((void)(lanes), (const char *)NULL)
#include "../../../src/phase/loops/loop_split.c"
