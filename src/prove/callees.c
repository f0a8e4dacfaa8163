#include "prove/callees.h"

#include <string.h>

#include "prove/waits.h"

enum { CALLS_MAX = 16 /* one within the other */ };

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

static u32 effects_of(Callees *c, const Instr *i, Arena *arena)
{
    if (i->kind != INSTR_OP)
        return 0;
    if (op_has(i->op, OPF_CALL))
        return prove_callee(c, i, arena);
    if (!i->op->known)
        return CALLEE_ANYTHING;
    bool leaves = op_has(i->op, OPF_ENDS_THREAD);
    return (prove_waits_at(c, i, arena) ? CALLEE_TOGETHER : 0) | (prove_touches_memory(i) ? CALLEE_TOUCHES : 0) |
           (leaves || op_has(i->op, OPF_BARRIER) ? CALLEE_BARRIER : 0);
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

/* The function whose body runs; NULL: it is not known. */
static Function *final_body(const Instr *call)
{
    const Module *m = call->block->fn->module;
    SymId callee = call_callee(call);
    Function *fn = callee && m->syms.v[callee].kind == SYM_FUNC ? m->syms.v[callee].function : NULL;
    if (!fn || !fn->is_definition || fn->untouchable || fn->is_entry)
        return NULL;
    for (u32 k = 0; k < m->functions.n; k++) {
        const Function *f = m->functions.v[k];
        if (f->sym == callee && (is_declared(f, ".weak") || is_declared(f, ".extern") || is_declared(f, ".common")))
            return NULL;
    }
    return fn;
}

/* The run-time system's __assertfail prints and stops the grid: it waits for nobody, and sees nobody. */
static bool is_assertion(const Instr *call)
{
    const Sym *sym = &call->block->fn->module->syms.v[call_callee(call)];
    bool has_body = sym->function && sym->function->is_definition;
    return sym->kind == SYM_FUNC && !has_body && strcmp(sym->name->text, "__assertfail") == 0;
}

static u32 effects_of_body(Callees *c, Function *fn, Arena *arena)
{
    u32 effects = 0;
    for_each_block(b, fn)
        for_each_instr(i, b)
            effects |= effects_of(c, i, arena);
    Graph g;
    const char *why;
    if (effects & CALLEE_TOGETHER)
        return effects;
    return prove_graph_init(&g, fn, false, false, arena, &why) && prove_waits(&g, c, false).loops == 0 ? effects
                                                                                                       : CALLEE_ANYTHING;
}

u32 prove_callee(Callees *c, const Instr *call, Arena *arena)
{
    Function *fn = final_body(call);
    u64 key = (u64)(uintptr_t)fn;
    if (!fn && is_assertion(call))
        return CALLEE_TOUCHES | CALLEE_BARRIER;
    if (!fn || c->depth >= CALLS_MAX)
        return CALLEE_ANYTHING;
    if (!*fnvmap_at(&c->known, key)) {
        *fnvmap_at(&c->known, key) = 1 + CALLEE_ANYTHING; /* what it calls may call it */
        c->depth++;
        u32 effects = effects_of_body(c, fn, arena);
        c->depth--;
        *fnvmap_at(&c->known, key) = 1 + effects;
    }
    return (u32)*fnvmap_at(&c->known, key) - 1;
}

void prove_callees_free(Callees *c) { fnvmap_free(&c->known); }
