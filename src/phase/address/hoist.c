#include "phase/address/hoist.h"

#include "base/bound.h"
#include "ir/builder.h"
#include "target/ptxas.h"

enum {
    REGION_BLOCKS = 64 /* the most blocks of one search */
};

/* Registers that asynchronous instructions write (tcgen05.ld, wgmma). They may not be read before a wait, which may stand
 * anywhere. */
static BitSet pending_registers(Bases *s)
{
    BitSet pending = bitset_new(&s->arena, s->fn->regs.n);
    for (u32 value = 1; value < s->listing->values.n; value++) {
        const ListedValue *v = &s->listing->values.v[value];
        if (v->instr != LISTING_NONE && op_has(s->listing->instrs.v[v->instr].i->op, OPF_ASYNC))
            bitset_add(&pending, v->reg);
    }
    return pending;
}

AddressHoist hoist_new(Bases *s)
{
    AddressHoist h = {.s = s};
    h.congruent_to = arena_array(&s->arena, u32, s->a->exprs->exprs.n);
    h.next_congruent = arena_alloc_raw(&s->arena, s->listing->values.n * sizeof *h.next_congruent);
    h.moved = bitset_new(&s->arena, s->listing->values.n);
    h.seen = bitset_new(&s->arena, s->fn->blocks.n);
    h.ends = bitset_new(&s->arena, s->fn->blocks.n);
    h.pending = pending_registers(s);
    return h;
}

void hoist_free(AddressHoist *h) { vec_free(&h->congruent); }

static const ListedInstr *source_of(const Bases *s, u32 value)
{
    return &s->listing->instrs.v[s->listing->values.v[value].instr];
}

void hoist_note(AddressHoist *h, u32 n)
{
    const Bases *s = h->s;
    u32 value = s->listing->instrs.v[n].value;
    Instr *i = s->listing->instrs.v[n].i;
    if (!may_go(s, n) || bitset_has(&s->stuck, value) || i->op->opcode == OPC_MOV)
        return;
    u32 *at = &h->congruent_to[s->a->of[value]];
    if (!*at) {
        vec_push(&h->congruent, ((CongruentValues){.dominator = i->block}));
        *at = h->congruent.n;
    }
    CongruentValues *t = &h->congruent.v[*at - 1];
    t->dominator = dom_nearest_common(s->listing->dom, t->dominator, i->block);
    h->next_congruent[value] = t->first;
    t->first = value;
    t->count++;
}

/* ---- whether hoisting pays --------------------------------------------------------------------------------------- */

/* Whether a register may live through b on a path from `dominator`. That block must dominate b and be in the same
 * innermost loop, and b must hold no call. */
static bool may_pass(const Bases *s, const Block *dominator, const Block *b)
{
    const Loops *loops = an_loops(s->an);
    return b != dominator && loop_of(loops, b) == loop_of(loops, dominator) && dominates(s->listing->dom, dominator, b) &&
           s->calls[s->listing->end[b->id]] == s->calls[s->listing->first[b->id]];
}

/* Whether every path from `dominator` comes to one of the blocks in `ends`. */
static bool all_paths_end(AddressHoist *h, const Block *dominator)
{
    Bases *s = h->s;
    const Order *order = an_order(s->an);
    bool all = !block_leaves_function(s->fn, dominator);
    vec_clear(&s->work);
    vec_push(&s->work, order->index[dominator->id]);
    for (u32 k = 0; k < s->work.n && all; k++)
        for_each_edge(e, &order->succ, s->work.v[k]) {
            const Block *to = order->rpo[order->succ.to[e]];
            bool ends = bitset_has(&h->ends, to->id);
            all &= may_pass(s, dominator, to) && (ends || !block_leaves_function(s->fn, to)) &&
                   WITHIN(REGION_BLOCKS, s->work.n < REGION_BLOCKS);
            if (!ends && bitset_add(&h->seen, to->id))
                vec_push(&s->work, order->succ.to[e]);
        }
    for (u32 k = 0; k < s->work.n; k++)
        bitset_del(&h->seen, order->rpo[s->work.v[k]]->id);
    vec_clear(&s->work);
    return all;
}

/* Whether all congruent values are products that only remaining additions read, of which ptxas makes one instruction. */
static bool all_fused(const AddressHoist *h, const CongruentValues *t)
{
    for (u32 v = t->first; v; v = h->next_congruent[v])
        if (!bases_is_fused(h->s, v, &h->lonely, UINT32_MAX))
            return false;
    return true;
}

/* Whether all congruent values are conversions, and no value made of one could move with it. ptxas repeats conversions
 * where they are read. */
static bool all_conversions(const AddressHoist *h, const CongruentValues *t)
{
    const Bases *s = h->s;
    for (u32 v = t->first; v; v = h->next_congruent[v]) {
        if (source_of(s, v)->i->op->opcode != OPC_CVT)
            return false;
        for_each_edge(e, &s->uses, v) {
            const ListedInstr *reader = &s->listing->instrs.v[s->use_instr[s->uses.to[e]]];
            if (reader->values == 1 && !bitset_has(&h->lonely, reader->value))
                return false;
        }
    }
    return true;
}

static bool all_paths_compute(AddressHoist *h, const CongruentValues *t)
{
    for (u32 v = t->first; v; v = h->next_congruent[v])
        bitset_add(&h->ends, source_of(h->s, v)->i->block->id);
    bool all = all_paths_end(h, t->dominator);
    for (u32 v = t->first; v; v = h->next_congruent[v])
        bitset_del(&h->ends, source_of(h->s, v)->i->block->id);
    return all;
}

/* Whether the operands of the value's computation have the same values at the end of b. They do if they were written in b
 * or in a block that dominates it, since a later write above would also reach the value. */
static bool has_operands(const AddressHoist *h, u32 value, const Block *b)
{
    const Bases *s = h->s;
    const ListedInstr *at = source_of(s, value);
    for (u32 k = at->use; k < at->use + at->uses; k++) {
        u32 operand = s->listing->uses.v[k].value;
        RegId reg = s->listing->values.v[operand].reg;
        if (!operand || bitset_has(&h->pending, reg) || bitset_has(&h->moved, operand) ||
            !dominates(s->listing->dom, bases_block_of(s, operand), b) ||
            !bases_scope_reaches(s->fn, s->fn->regs.v[reg].scope, b->scope))
            return false;
    }
    return true;
}

/* Whether many registers are already live in one of the successors of b. */
static bool is_crowded(const AddressHoist *h, const Block *b)
{
    for (u32 edge = 0; edge < block_edge_count(b); edge++)
        if (live_words(an_live(h->s->an), block_edge_target(b, edge), PTXAS_HOISTED_WORDS + 1) > PTXAS_HOISTED_WORDS)
            return true;
    return false;
}

/* The congruent value whose computation moves; 0: none can. */
static u32 choose(AddressHoist *h, const CongruentValues *t)
{
    const Instr *end = block_terminator(t->dominator), *before = end ? end->prev : t->dominator->last;
    u32 chosen = 0;
    if (t->count < 2 || (before && before->kind == INSTR_PRAGMA))
        return 0;
    for (u32 v = t->first; v; v = h->next_congruent[v]) {
        if (bitset_has(&h->moved, v) || bases_block_of(h->s, v) == t->dominator)
            return 0;
        if (!chosen && has_operands(h, v, t->dominator))
            chosen = v;
    }
    return chosen && !all_fused(h, t) && !all_conversions(h, t) && !is_crowded(h, t->dominator) && all_paths_compute(h, t)
               ? chosen
               : 0;
}

/* ---- rewriting ------------------------------------------------------------------------------------------------- */

static void count_uses(AddressHoist *h)
{
    const Listing *listing = h->s->listing;
    h->uses_left = arena_array(&h->s->arena, u32, listing->values.n);
    for (u32 use = 0; use < listing->uses.n; use++)
        h->uses_left[listing->uses.v[use].value]++;
    for (u32 phi = 1; phi < listing->values.n && listing->values.v[phi].phi; phi++)
        for (u32 k = 0; k < listing->values.v[phi].args && listing->values.v[phi].is_read; k++)
            h->uses_left[listing->args.v[listing->values.v[phi].arg + k]]++;
}

/* Removes the computation, and those whose results nobody reads then. */
static void remove_computation(AddressHoist *h, u32 value)
{
    Bases *s = h->s;
    vec_clear(&s->work);
    vec_push(&s->work, value);
    while (s->work.n) {
        value = vec_pop(&s->work);
        const ListedInstr *at = source_of(s, value);
        instr_remove(at->i);
        bitset_add(&h->moved, value);
        for (u32 k = at->use; k < at->use + at->uses; k++) {
            u32 operand = s->listing->uses.v[k].value, n = s->listing->values.v[operand].instr;
            if (--h->uses_left[operand] == 0 && n != LISTING_NONE && may_go(s, n) && !bitset_has(&h->moved, operand))
                vec_push(&s->work, operand);
        }
    }
}

/* Lets all readers of the value read reg, and removes its computation. */
static void replace_value(AddressHoist *h, u32 value, RegId reg)
{
    Bases *s = h->s;
    for_each_edge(e, &s->uses, value) {
        u32 use = s->uses.to[e];
        const ListedInstr *reader = &s->listing->instrs.v[s->use_instr[use]];
        if (reader->values == 0 || !bitset_has(&h->moved, reader->value))
            bases_set_reg(s, reader->i, s->listing->uses.v[use].slot, reg, 0);
    }
    remove_computation(h, value);
}

static void hoist(AddressHoist *h, PhaseRun *run, const CongruentValues *t, u32 chosen)
{
    Bases *s = h->s;
    const ListedInstr *source = source_of(s, chosen);
    if (!h->uses_left)
        count_uses(h);
    for (u32 k = source->use; k < source->use + source->uses; k++)
        h->uses_left[s->listing->uses.v[k].value]++;
    Builder at = build_at_end(t->dominator);
    RegId reg = build_clone(&at, source->i, bases_value_bits(s, chosen) == 64 ? TYPE_B64 : TYPE_B32);
    phase_passed(run, "BaseHoisted", source->i, "computed on every path after a branch, %u times: now once, before it",
                 t->count);
    phase_count(run, "BaseHoisted", 1);
    for (u32 v = t->first; v; v = h->next_congruent[v])
        if (!bitset_has(&h->moved,
                        v)) /* otherwise it was removed with another one, made of it, whose expression is the same */
            replace_value(h, v, reg);
}

static void find_lonely(AddressHoist *h)
{
    u32 values = h->s->listing->values.n;
    h->lonely = bitset_new(&h->s->arena, values);
    bitset_fill(&h->lonely);
    for (u32 k = 0; k < h->congruent.n; k++)
        for (u32 v = h->congruent.v[k].first; v && h->congruent.v[k].count > 1; v = h->next_congruent[v])
            bitset_del(&h->lonely, v);
}

bool hoist_run(AddressHoist *h, PhaseRun *run)
{
    bool any = false;
    if (phase_waits(run, KIND_HOISTED_BASES))
        return false;
    find_lonely(h);
    for (u32 k = 0; k < h->congruent.n; k++) {
        u32 chosen = choose(h, &h->congruent.v[k]);
        if (!chosen || !phase_may_rewrite(run))
            continue;
        hoist(h, run, &h->congruent.v[k], chosen);
        any = true;
    }
    return any;
}
