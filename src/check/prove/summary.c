/* Summaries of the bodies of callees, each made from those of its own callees. */
#include "check/prove/summary.h"

#include "check/prove/waits.h"

static u32 effects_of(Callees *c, const Instr *i)
{
    if (i->kind != INSTR_OP)
        return 0;
    if (op_has(i->op, OPF_CALL))
        return prove_callee(c, i);
    if (!i->op->known)
        return CALLEE_ANYTHING;
    bool leaves = op_has(i->op, OPF_ENDS_THREAD);
    return (prove_waits_at(c, i) ? CALLEE_TOGETHER : 0) | (prove_touches_memory(i) ? CALLEE_TOUCHES : 0) |
           (leaves || op_has(i->op, OPF_BARRIER) ? CALLEE_BARRIER : 0);
}

static u32 effects_of_body(Callees *c, Function *fn)
{
    Arena arena = {0};
    u32 effects = 0;
    ProveGraph g;
    const char *why;
    for_each_block(b, fn)
        for_each_instr(i, b)
            effects |= effects_of(c, i);
    if (!(effects & CALLEE_TOGETHER) &&
        (!prove_graph_init(&g, fn, false, false, &arena, &why) || prove_waits(&g, c).loops > 0))
        effects = CALLEE_ANYTHING;
    arena_free(&arena);
    return effects;
}

/* Adds the functions with a body that fn calls, and that nobody has looked at. */
static void push_callees(const Callees *c, const Function *fn, VecU32 *work)
{
    for_each_block(b, fn)
        for_each_instr(i, b) {
            const Function *callee = instr_is(i, OPF_CALL) ? prove_callee_body(c, i) : NULL;
            if (callee && !(*prove_callee_notes(c, callee) & (CALLEE_OPEN | CALLEE_KNOWN)))
                vec_push(work, callee->sym);
        }
}

/* A function comes up a second time once all that it calls is known, except what calls it. */
void prove_summarize(Callees *c, const Function *fn)
{
    VecU32 work = {0};
    push_callees(c, fn, &work);
    while (work.n) {
        Function *callee = fn->module->syms.v[vec_last(&work)].function;
        u8 *notes = prove_callee_notes(c, callee);
        if (!(*notes & (CALLEE_OPEN | CALLEE_KNOWN))) {
            *notes |= CALLEE_OPEN;
            push_callees(c, callee, &work);
            continue;
        }
        work.n--;
        if (!(*notes & CALLEE_KNOWN))
            *notes |= (u8)(CALLEE_KNOWN | effects_of_body(c, callee));
    }
    vec_free(&work);
}
