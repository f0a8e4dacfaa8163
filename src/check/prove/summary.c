/* Summaries of the bodies of callees, each made from those of its own callees. */
#include "check/prove/summary.h"

#include "check/prove/waits.h"

enum { CALLS_MAX = 16 /* one within the other */ };

static u32 summarize(Callees *c, const Instr *call, Arena *arena);

static u32 effects_of(Callees *c, const Instr *i, Arena *arena)
{
    if (i->kind != INSTR_OP)
        return 0;
    if (op_has(i->op, OPF_CALL))
        return summarize(c, i, arena);
    if (!i->op->known)
        return CALLEE_ANYTHING;
    bool leaves = op_has(i->op, OPF_ENDS_THREAD);
    return (prove_waits_at(c, i) ? CALLEE_TOGETHER : 0) | (prove_touches_memory(i) ? CALLEE_TOUCHES : 0) |
           (leaves || op_has(i->op, OPF_BARRIER) ? CALLEE_BARRIER : 0);
}

static u32 effects_of_body(Callees *c, Function *fn, Arena *arena)
{
    u32 effects = 0;
    for_each_block(b, fn)
        for_each_instr(i, b)
            effects |= effects_of(c, i, arena);
    ProveGraph g;
    const char *why;
    if (effects & CALLEE_TOGETHER)
        return effects;
    return prove_graph_init(&g, fn, false, false, arena, &why) && prove_waits(&g, c).loops == 0 ? effects : CALLEE_ANYTHING;
}

static u32 summarize(Callees *c, const Instr *call, Arena *arena)
{
    Function *fn = prove_callee_body(call);
    u64 key = (u64)(uintptr_t)fn;
    if (fn && c->depth >= CALLS_MAX)
        return CALLEE_ANYTHING;
    if (fn && !fnvmap_find(&c->known, key)) {
        *fnvmap_at(&c->known, key) = 1 + CALLEE_ANYTHING; /* what it calls may call it */
        c->depth++;
        u32 effects = effects_of_body(c, fn, arena);
        c->depth--;
        *fnvmap_at(&c->known, key) = 1 + effects;
    }
    return prove_callee(c, call);
}

void prove_summarize(Callees *c, const Function *fn, Arena *arena)
{
    for_each_block(b, fn)
        for_each_instr(i, b)
            if (i->kind == INSTR_OP && op_has(i->op, OPF_CALL))
                summarize(c, i, arena);
}
