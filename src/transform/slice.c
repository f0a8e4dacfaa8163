#include "transform/slice.h"

#include "ir/inspect.h"

static bool is_live_after(const Slice *s, RegId reg)
{
    for (u32 k = 0; k < s->targets; k++)
        if (live_in(s->live, s->to[k], reg))
            return true;
    return false;
}

bool slice_reads_result(const Slice *s, const Instr *i)
{
    for (RegWalk w = reg_walk(i); next_write(&w);)
        if (regs_have(s->needed, s->needs, w.reg) || (!regs_have(s->killed, s->kills, w.reg) && is_live_after(s, w.reg)))
            return true;
    return false;
}

bool slice_take(Slice *s, const Instr *i)
{
    for (RegWalk w = reg_walk(i); next_write(&w);) {
        if (w.kills && s->kills < s->room)
            s->killed[s->kills++] = w.reg;
        for (u32 k = 0; w.kills && k < s->needs; k++)
            if (s->needed[k] == w.reg)
                s->needed[k--] = s->needed[--s->needs];
    }
    for (RegWalk w = reg_walk(i); next_read(&w);) {
        if (s->needs == s->room)
            return false;
        s->needed[s->needs++] = w.reg;
    }
    return true;
}
