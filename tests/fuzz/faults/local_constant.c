/* Where iterations are written out for local variables, the first one has constants of the second. */
#define local_loop_find fault_constant_find
#define local_loop_free fault_constant_free
#define local_loop_walk fault_constant_walk
#define local_loop_write_out fault_constant_write_out
#include "../../../src/phase/local_to_registers/iterations.c"
#undef local_loop_write_out

/* The first step after an iteration. */
static u32 begin_of_second(const LocalLoop *w)
{
    u32 k = 0;
    while (k < w->as.step.n && !w->as.step.v[k].to)
        k++;
    return k + 1;
}

static void write_out_other(Analyses *an, const LocalLoop *w)
{
    u32 first = 0, step = begin_of_second(w);
    while (first < w->constants.n && w->constants.v[first].step < step)
        first++;
    for (u32 k = 0; k < first && first + k < w->constants.n; k++)
        w->constants.v[k].value = w->constants.v[first + k].value;
    fault_constant_write_out(an, w);
}

#define local_loop_write_out write_out_other
#define phase_local_to_registers fault_local_constant
#include "../../../src/phase/local_to_registers/local_to_registers.c"
