/* A loop for whose variables the iterations are written out loses the last one. */
#define local_loop_find fault_rounds_find
#define local_loop_free fault_rounds_free
#define local_loop_walk fault_rounds_walk
#define local_loop_write_out fault_rounds_write_out
#include "../../../src/phase/local_to_registers/iterations.c"
#undef local_loop_write_out

static void write_out_fewer(Function *fn, const LocalLoop *w)
{
    LocalLoop fewer = *w;
    fewer.trips -= w->trips > 1;
    fault_rounds_write_out(fn, &fewer);
}

#define local_loop_write_out write_out_fewer
#define phase_local_to_registers fault_local_rounds
#include "../../../src/phase/local_to_registers/local_to_registers.c"
