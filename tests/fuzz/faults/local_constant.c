/* Where iterations are written out for local variables, the first one has constants of the second. */
#define local_loop_find fault_constant_find
#define local_loop_free fault_constant_free
#define local_loop_walk fault_constant_walk
#define local_loop_write_out fault_constant_write_out
#include "../../../src/phase/local_to_registers/iterations.c"
#undef local_loop_write_out

static void write_out_other(Function *fn, const LocalLoop *w)
{
    u32 first = 0;
    while (first < w->constants.n && !w->constants.v[first].iteration)
        first++;
    for (u32 k = 0; k < first && first + k < w->constants.n; k++)
        w->constants.v[k].value = w->constants.v[first + k].value;
    fault_constant_write_out(fn, w);
}

#define local_loop_write_out write_out_other
#define phase_local_to_registers fault_local_constant
#include "../../../src/phase/local_to_registers/local_to_registers.c"
