/* A loop runs without its bounds checks although a convergent instruction depends on some of them: that comes to depend on all. */
#include "phase/loops/copy.h"

#define phase_range_split fault_split_lanes
#define loop_lanes_forbid(an, branches, lanes) ((void)(lanes), (void)(branches), (const char *)NULL)
#include "../../../src/phase/loops/range_split.c"
