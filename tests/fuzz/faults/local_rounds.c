/* A loop for whose variables the iterations are written out loses the last one. */
#define local_loop_find fault_rounds_find
#define local_loop_free fault_rounds_free
#define local_loop_walk fault_rounds_walk
#define local_loop_write_out fault_rounds_write_out
#include "../../../src/phase/local_to_registers/iterations.c"
#undef local_loop_write_out

/* The step that ends the last iteration but one; the last step: there is none. */
static u32 end_of_all_but_one(const LocalLoop *w)
{
    u32 last = w->as.step.n - 1, k = last;
    while (k > 0 && w->as.step.v[k - 1].to != w->loop->header)
        k--;
    return k > 0 ? k - 1 : last;
}

static void write_out_fewer(Analyses *an, const LocalLoop *w)
{
    LocalLoop fewer = *w;
    u32 end = end_of_all_but_one(w);
    fewer.as.step.n = end + 1;
    fewer.as.step.v[end].to = loop_exit_of_latch(w->loop);
    fault_rounds_write_out(an, &fewer);
}

#define local_loop_write_out write_out_fewer
#define phase_local_to_registers fault_local_rounds
#include "../../../src/phase/local_to_registers/local_to_registers.c"
