#include "check/prove/callees.h"

#include <string.h>

#include "ir/inspect.h"

/* ---- one instruction ------------------------------------------------------------------------------------------------------ */

bool prove_is_private_access(const OpInfo *op)
{
    return op->space == SPACE_LOCAL || op->space == SPACE_PARAM || op->space == SPACE_CONST;
}

bool prove_is_plain_access(const OpInfo *op)
{
    return (op->opcode == OPC_LD || op->opcode == OPC_ST || op->opcode == OPC_LDU) && op->strength == STRENGTH_WEAK &&
           op->access_bytes > 0 && !op_has(op, OPF_VOLATILE | OPF_CONVERGENT);
}

bool prove_touches_memory(const Instr *i)
{
    for_each_slot(o, i)
        if (o->kind == OPND_SREG && sreg_info(o->id)->is_volatile)
            return true;
    if (op_is_pure(i->op) || op_has(i->op, OPF_TERMINATOR | OPF_CARRY_IN | OPF_CARRY_OUT))
        return false;
    if (i->op->known && i->op->mem == MEM_NONE && op_has(i->op, OPF_CONVERGENT) && !op_has(i->op, OPF_CALL | OPF_VOLATILE))
        return false; /* exchanges values within a warp, in order */
    return !prove_is_private_access(i->op) || !prove_is_plain_access(i->op);
}

bool prove_is_unseen(const Instr *i)
{
    return i && i->kind == INSTR_OP && prove_is_plain_access(i->op) &&
           (i->op->mem == MEM_READ || prove_is_private_access(i->op));
}

/* ---- functions ------------------------------------------------------------------------------------------------------------- */

/* Whether the word is in what stands before the parameters. */
static bool is_declared(const Function *fn, const char *word)
{
    Str text = span_str(fn->module, fn->text);
    u32 len = (u32)strlen(word);
    for (u32 k = 0; k + len <= text.len && text.p[k] != '(' && text.p[k] != '{'; k++)
        if (!memcmp(text.p + k, word, len))
            return true;
    return false;
}

u8 *prove_callee_notes(const Callees *c, const Function *fn) { return &c->of[fn->module == c->module[1]][fn->sym]; }

Function *prove_callee_body(const Callees *c, const Instr *call)
{
    const Module *m = call->block->fn->module;
    SymId callee = call_callee(call);
    Function *fn = callee && m->syms.v[callee].kind == SYM_FUNC ? m->syms.v[callee].function : NULL;
    bool is_believed = fn && fn->is_definition && !fn->untouchable.why && !fn->is_entry;
    return is_believed && !(*prove_callee_notes(c, fn) & CALLEE_REPLACEABLE) ? fn : NULL;
}

u32 prove_callee(const Callees *c, const Instr *call)
{
    const Function *fn = prove_callee_body(c, call);
    const RuntimeInfo *runtime = fn ? NULL : call_runtime(call->block->fn->module, call_callee(call));
    if (runtime) {
        bool waits = runtime->does & RUNTIME_WAITS;
        return CALLEE_TOUCHES | (waits ? CALLEE_TOGETHER : 0) |
               (waits || runtime->does & RUNTIME_ENDS ? CALLEE_BARRIER : 0);
    }
    u32 notes = fn ? *prove_callee_notes(c, fn) : 0;
    return notes & CALLEE_KNOWN ? notes & CALLEE_ANYTHING : CALLEE_ANYTHING;
}

/* Whether the instruction sees which threads execute it, or calls what is not known. */
static bool may_see_threads(const Callees *c, const Instr *i)
{
    if (i->kind != INSTR_OP)
        return false;
    if (op_has(i->op, OPF_CALL))
        return !prove_callee_body(c, i) && !call_runtime(i->block->fn->module, call_callee(i));
    return !i->op->known || (op_has(i->op, OPF_CONVERGENT) && !op_has(i->op, OPF_NAMES_THREADS));
}

static bool some_see_threads(const Callees *c, const Module *m)
{
    bool see = false;
    for (u32 k = 0; k < m->functions.n && !see; k++) {
        const Function *f = m->functions.v[k];
        see = f->untouchable.why;
        for (const Block *b = f->entry; b && !see; b = b->next)
            for (const Instr *i = b->first; i && !see; i = i->next)
                see = may_see_threads(c, i);
    }
    return see;
}

Callees *prove_callees(Arena *arena, const Module *before, const Module *after)
{
    Callees *c = arena_new(arena, Callees);
    *c = (Callees){.module = {before, after}};
    for (u32 side = 0; side < 2; side++) {
        const Module *m = c->module[side];
        c->of[side] = arena_array(arena, u8, m->syms.n);
        for (u32 k = 0; k < m->functions.n; k++) {
            const Function *f = m->functions.v[k];
            if (is_declared(f, ".weak") || is_declared(f, ".extern") || is_declared(f, ".common"))
                c->of[side][f->sym] |= CALLEE_REPLACEABLE | CALLEE_EXPORTED;
            if (is_declared(f, ".visible"))
                c->of[side][f->sym] |= CALLEE_EXPORTED;
        }
    }
    c->see_threads = some_see_threads(c, before);
    return c;
}

bool prove_callers_see_threads(const Callees *c, const Function *fn)
{
    return !fn->is_entry &&
           (c->see_threads || fn->module->syms.v[fn->sym].escapes || *prove_callee_notes(c, fn) & CALLEE_EXPORTED);
}
