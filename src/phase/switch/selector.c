#include "analysis/values.h"

#include "base/bound.h"
#include "ir/inspect.h"
#include "phase/switch/region.h"

enum {
    RESOLVE_DEPTH = 6,  /* definitions that are looked through outside of the region */
    DOMAIN_COMPARES = 8 /* dominating comparisons that bound the selector */
};

/* ---- values of registers --------------------------------------------------------------------------------------- */

/* The instruction whose result reg holds at the end of the root. NULL: none, or a register that it reads no longer holds
 * the same value there. */
static Instr *definition_at_root(const SwitchRegion *g, RegId reg)
{
    Instr *def = ssa_definition(g->r->ssa, ssa_at_end(g->r->ssa, g->d->root, reg), reg);
    return def && ssa_sources_hold(g->r->ssa, def, g->d->root) ? def : NULL;
}

/* The value of reg at the end of the root, as a function of the selector there. */
static Value value_at_root(SwitchRegion *g, RegId reg)
{
    Value value = {.kind = VALUE_UNKNOWN};
    if (reg == g->d->selector)
        return value_selector(g->d->bits);
    if (BEYOND(RESOLVE_DEPTH, g->depth >= RESOLVE_DEPTH))
        return value;
    Instr *def = definition_at_root(g, reg);
    if (!def)
        return value;
    const Env *env = g->env;
    g->env = NULL;
    g->depth++;
    value = value_of_result(&g->scope, def, reg);
    g->depth--;
    g->env = env;
    return value;
}

Value region_value(void *region, RegId reg)
{
    SwitchRegion *g = region;
    bool may_be_written = reg >= g->r->registers || marks_has(&g->r->written, reg);
    for (const Env *e = g->env; e && may_be_written; e = e->before)
        if (e->reg == reg)
            return e->value;
    return value_at_root(g, reg);
}

const Env *region_write(SwitchRegion *g, const Env *env, Instr *i)
{
    const Env *before = env;
    for (RegWalk w = reg_walk(i); next_write(&w);) {
        Env *e = arena_new(&g->scratch, Env);
        g->env = before; /* all results of i depend on the state before i */
        *e = (Env){env, env ? env->length + 1 : 1, w.reg, i, value_of_result(&g->scope, i, w.reg)};
        if (w.reg < g->r->registers)
            marks_add(&g->r->written, w.reg);
        env = e;
    }
    return env;
}

/* ---- the selector ---------------------------------------------------------------------------------------------- */

/* The register from which `reg`, at the end of the root, was made by moves and offsets only. */
static RegId base_register(const SwitchRegion *g, RegId reg)
{
    for (u32 step = 0; step < RESOLVE_DEPTH; step++) {
        Instr *def = definition_at_root(g, reg);
        RegId source = def ? value_offset_source(g->r->an->fn, def) : 0;
        if (!source)
            return reg;
        reg = source;
    }
    return reg;
}

/* The register that the setp compares with a constant; 0: none. */
static RegId compared_register(Instr *setp)
{
    const Operand *a = instr_operand(setp, 1), *b = instr_operand(setp, 2);
    if (setp->op->opcode != OPC_SETP || !a || !b)
        return 0;
    return b->kind == OPND_IMM ? operand_plain_register(a) : a->kind == OPND_IMM ? operand_plain_register(b) : 0;
}

void region_count(Decision *d, const Instr *i)
{
    if (i->op->opcode != OPC_SETP) {
        d->helpers++;
        return;
    }
    bool ordered = i->op->cmp != CMP_EQ && i->op->cmp != CMP_NE;
    if (ordered && !d->ordered++)
        d->is_signed = i->op->sem.is_signed;
}

/* The register that the condition `pred` at the end of the root compares; 0: none. */
static RegId condition_register(const SwitchRegion *g, RegId pred)
{
    for (u32 step = 0; step < RESOLVE_DEPTH; step++) {
        Instr *def = definition_at_root(g, pred);
        if (!def || def->guard || !op_is_pure(def->op))
            return 0;
        if (def->op->opcode == OPC_SETP) {
            region_count(g->d, def);
            return compared_register(def);
        }
        const Operand *from = def->op->sem.bits == 1 ? instr_operand(def, 1) : NULL;
        if (!from || from->kind != OPND_REG)
            return 0;
        pred = from->id;
    }
    return 0;
}

bool region_find_selector(SwitchRegion *g, Instr *branch)
{
    RegId reg = branch_table(branch) ? operand_plain_register(branch->opnd) : condition_register(g, branch->guard);
    const Function *fn = g->r->an->fn;
    if (!reg)
        return false;
    g->d->selector = base_register(g, reg);
    g->d->bits = g->scope.bits = value_integer_register(fn, g->d->selector);
    return g->d->bits != 0;
}

static ValueSet compare_set(SwitchRegion *g, const Compare *c)
{
    u32 bits = g->d->bits;
    bool left = operand_plain_register(&c->a) == g->d->selector;
    const Operand *other = left ? &c->b : &c->a;
    if (!type_is_integer(c->type) || type_bits(c->type) != bits || other->kind != OPND_IMM || (other->flags & OPNDF_NEG))
        return value_set_range(&g->scratch, 0, sem_max(bits));
    Cmp cmp = left ? c->cmp : cmp_swapped(c->cmp);
    return value_set_compare(&g->scratch, cmp, c->type, (u64)other->value, bits);
}

static ValueSet range_set(Arena *arena, const Range *r)
{
    u64 least = (u64)r->least & sem_max(r->bits), most = (u64)r->most & sem_max(r->bits);
    ValueSet in_order = least <= most ? value_set_range(arena, least, most)
                                      : value_set_or(arena, value_set_range(arena, least, sem_max(r->bits)),
                                                     value_set_range(arena, 0, most));
    return value_set_and(arena, in_order, value_set_range(arena, r->lo, r->hi));
}

ValueSet region_domain(SwitchRegion *g)
{
    Compare compares[DOMAIN_COMPARES];
    const Decision *d = g->d;
    Range range = value_of_register(g->r->facts, (ProgramPoint){NULL, d->root, NULL}, d->selector, d->bits);
    ValueSet domain = range_set(&g->scratch, &range);
    u32 n = compares_at_end(g->r->facts, d->root, d->selector, compares, DOMAIN_COMPARES);
    for (u32 k = 0; k < n; k++)
        domain = value_set_and(&g->scratch, domain, compare_set(g, &compares[k]));
    return domain;
}
