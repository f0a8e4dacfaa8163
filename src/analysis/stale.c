/* The checker's question about analyses that a phase left up to date: are they those of the function as it is now? */
#include "analysis/analyses.h"

static bool same_graph(const Graph *a, const Graph *b)
{
    return a->nodes == b->nodes && !memcmp(a->start, b->start, (a->nodes + 1) * sizeof(u32)) &&
           !memcmp(a->to, b->to, a->start[a->nodes] * sizeof(u32));
}

static bool order_equal(const Order *a, const Order *b)
{
    return a->count == b->count && !memcmp(a->rpo, b->rpo, a->count * sizeof(Block *)) && same_graph(&a->succ, &b->succ) &&
           same_graph(&a->pred, &b->pred);
}

static bool dom_equal(const Order *order, const DomTree *a, const DomTree *b)
{
    for (u32 p = 0; p < order->count; p++) {
        u32 id = order->rpo[p]->id;
        if (id >= a->blocks || a->idom[id] != b->idom[id] || a->pre[id] != b->pre[id] || a->last[id] != b->last[id])
            return false;
    }
    return true;
}

static bool loops_equal(const Order *order, const Loops *a, const Loops *b)
{
    bool same = a->n == b->n && a->irreducible == b->irreducible;
    for (u32 p = 0; p < order->count && same; p++) {
        const Loop *of_a = loop_of(a, order->rpo[p]), *of_b = loop_of(b, order->rpo[p]);
        same = of_a && of_b ? of_a->header == of_b->header && of_a->latch_count == of_b->latch_count : of_a == of_b;
    }
    return same;
}

static bool waits_equal(const Order *order, const Waits *a, const Waits *b)
{
    bool same = a->any_wait == b->any_wait && a->any_end == b->any_end && a->awaits_leaving == b->awaits_leaving &&
                a->polls == b->polls;
    for (u32 p = 0; p < order->count && same; p++) {
        u32 id = order->rpo[p]->id;
        same = a->waits[id] == b->waits[id] && a->ends[id] == b->ends[id] && a->convergent[id] == b->convergent[id] &&
               a->active_set[id] == b->active_set[id] && a->loop[id] == b->loop[id];
    }
    return same;
}

static bool same_registers(const RegId *a, u32 of_a, const RegId *b, u32 of_b)
{
    return of_a == of_b && (of_a == 0 || !memcmp(a, b, of_a * sizeof *a));
}

static bool live_equal(const Order *order, const Live *a, const Live *b)
{
    bool same = a->blocks == b->blocks && a->explored == b->explored &&
                same_registers(a->listed, a->listed_count, b->listed, b->listed_count);
    for (u32 p = 0; p < order->count && same; p++) {
        const u32 *in_a = &a->start[order->rpo[p]->id], *in_b = &b->start[order->rpo[p]->id];
        u32 sets = in_a[1] - in_a[0];
        same = same_registers(a->group + in_a[0], sets, b->group + in_b[0], in_b[1] - in_b[0]) &&
               !memcmp(a->set + in_a[0], b->set + in_b[0], sets * sizeof *a->set);
    }
    return same;
}

static bool uniform_equal(const Function *fn, const Order *order, const Uniform *a, const Uniform *b)
{
    for (RegId reg = 1; reg < fn->regs.n; reg++)
        if (uniform_has(&a->warp, reg) != uniform_has(&b->warp, reg) ||
            uniform_has(&a->cta, reg) != uniform_has(&b->cta, reg))
            return false;
    for (u32 p = 0; p < order->count; p++) {
        u32 id = order->rpo[p]->id;
        if (uniform_has(&a->branch_warp, id) != uniform_has(&b->branch_warp, id) ||
            uniform_has(&a->branch_cta, id) != uniform_has(&b->branch_cta, id))
            return false;
    }
    return true;
}

static bool control_equal(const Order *order, Control *a, Control *b)
{
    BlockVec of_a = {0}, of_b = {0};
    for (u32 p = 0; p < order->count; p++) {
        control_direct(a, order->rpo[p], &of_a);
        control_direct(b, order->rpo[p], &of_b);
    }
    bool same = of_a.n == of_b.n && (of_a.n == 0 || !memcmp(of_a.v, of_b.v, of_a.n * sizeof(Block *)));
    vec_free(&of_a);
    vec_free(&of_b);
    return same;
}

static bool same_operand(const Operand *a, const Operand *b)
{
    return a->kind == b->kind && a->flags == b->flags && a->id == b->id && a->value == b->value;
}

static bool same_compares(const Block *b, const Facts *f, const Facts *g, RegId reg)
{
    enum { LIMIT = 16 };
    Compare of_f[LIMIT], of_g[LIMIT];
    u32 n = compares_at_entry(f, b, reg, of_f, LIMIT);
    bool same = n == compares_at_entry(g, b, reg, of_g, LIMIT);
    for (u32 k = 0; k < n && same; k++)
        same = of_f[k].by == of_g[k].by && of_f[k].cmp == of_g[k].cmp && of_f[k].type == of_g[k].type &&
               same_operand(&of_f[k].a, &of_g[k].a) && same_operand(&of_f[k].b, &of_g[k].b);
    return same;
}

/* Whether both answer alike what phases ask: about the guards of branches, and about registers that are compared. */
static bool facts_equal(const Order *order, const Facts *a, const Facts *b)
{
    for (u32 p = 0; p < order->count; p++) {
        const Block *block = order->rpo[p];
        const Instr *end = block_terminator(block);
        if (end && end->guard &&
            (facts_at_entry(a, block, end->guard) != facts_at_entry(b, block, end->guard) ||
             facts_at_end(a, block, end->guard) != facts_at_end(b, block, end->guard)))
            return false;
        for_each_instr(i, block) {
            if (i->kind != INSTR_OP || i->op->opcode != OPC_SETP)
                continue;
            for_each_slot(o, i)
                if (slot_is_use(o) && !same_compares(block, a, b, o->id))
                    return false;
        }
    }
    return true;
}

static bool ssa_equal(const Ssa *a, const Ssa *b)
{
    if (a->count != b->count || a->regs != b->regs || memcmp(a->start, b->start, (a->regs + 1) * sizeof *a->start) != 0)
        return false;
    for (ValueId v = 1; v < a->count; v++) {
        const SsaValue *of_a = &a->values[v], *of_b = &b->values[v];
        if (of_a->instr != of_b->instr || of_a->pre != of_b->pre || of_a->phi != of_b->phi)
            return false;
    }
    return true;
}

#define ANALYSIS(NAME, name, Type, rests, epoch, compute, release, equal, called)            \
    static bool equal_##name(const Function *fn, const Order *order, void *one, void *other) \
    {                                                                                        \
        Type *a = one, *b = other;                                                           \
        (void)fn;                                                                            \
        (void)order;                                                                         \
        return equal;                                                                        \
    }
#include "analysis/analysis.def"

static const struct {
    bool (*equal)(const Function *fn, const Order *order, void *one, void *other);
    const char *called;
} row[ANALYSES] = {
#define ANALYSIS(NAME, name, Type, rests, epoch, compute, release, equal, called) {equal_##name, called},
#include "analysis/analysis.def"
};

const char *analyses_stale(const Analyses *an)
{
    u32 valid = an_valid(an);
    const char *stale = NULL;
    Analyses fresh;
    analyses_init(&fresh, an->fn);
    fresh.summaries = an->summaries;
    an_compute(&fresh, valid);
    for (u32 k = 0; k < ANALYSES && !stale; k++)
        if (valid >> k & 1 && !row[k].equal(an->fn, an_order(&fresh), an->slot[k].result, fresh.slot[k].result))
            stale = row[k].called;
    analyses_free(&fresh);
    return stale;
}
