/* A loop of a constant number of iterations is written out with one iteration too few. */
#define loop_whole_find fault_whole_find
#define loop_whole_unroll fault_whole_unroll
#include "../../../src/phase/loops/whole.c"
#undef loop_whole_unroll

static void unroll_fewer(Analyses *an, const Loop *loop, const Whole *whole)
{
    Whole fewer = *whole;
    fewer.trips--;
    fault_whole_unroll(an, loop, &fewer);
}

#define loop_whole_unroll unroll_fewer
#define why_not why_not_strided
#define phase_stride_unroll fault_rounds_missing
#include "../../../src/phase/loops/stride_unroll.c"
