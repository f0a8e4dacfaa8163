/* common-base-elim: addresses that differ by a constant share one base register.
 *
 *     mul.wide.s32 %rd3, %r1, 4;             mul.wide.s32 %rd3, %r1, 4;
 *     add.s64 %rd4, %rd1, %rd3;              add.s64 %rd4, %rd1, %rd3;
 *     ld.global.u32 %r2, [%rd4];             ld.global.u32 %r2, [%rd4];
 *     cvt.s64.s32 %rd5, %r1;
 *     shl.b64 %rd6, %rd5, 2;
 *     add.s64 %rd7, %rd6, %rd1;
 *     st.global.u32 [%rd7+4], %r2;           st.global.u32 [%rd4+4], %r2;
 *
 * Every value that an address is made of has a linear expression (analysis/linear_value.h). Where another register holds a
 * value whose expression differs only in the constant, an access takes that register and a changed offset. Where the
 * constant is the same, any reader takes it. Instructions whose results nobody reads any more are removed. Counters that
 * keep their distance in every iteration of a loop are one (`phi facts`). A computation that all paths from a branch make
 * anew moves before the branch. Then products of widened indices become mul.wide (wide.c).
 *
 * Sound: a register is read instead of another only where it holds that value on every path (analysis/ssa.h). Accesses keep
 * their number, order and effective address, and so their alignment; volatile ones too. Only pure instructions are added or
 * removed. Guarded writes have values of their own, about which nothing is known.
 *
 * Pays (tests/ptxas/BASES.md) if ptxas does not see the equality itself, and if an instruction becomes dead: a register stays as
 * it is if one of its readers still needs it. Three things cost ptxas nothing: a product that additions read; a shift that one
 * addition reads, or several in another block; the low half of a pair.
 *
 * A base is not kept live across a call. For a value that a few machine instructions compute (target/ptxas.h), it is not kept
 * live across a loop or a barrier, or past PTXAS_BASE_NEAR. For an equal value that two instructions compute, it is not kept
 * live into another block. In shared and local memory a sum is one 32-bit addition, and ptxas can distinguish local arrays whose
 * addresses are sums. ptxas keeps warp-uniform values that a loop reads in uniform registers, except 64-bit products. If a
 * thread's registers are full, removing one instruction only makes ptxas order the others differently.
 *
 * Declines: offsets beyond 24 bits, registers of an inner scope outside of it, expressions deeper than
 * --common-base-elim-max-depth. Arrays in local memory have no lifetimes in PTX: their address is a constant, so cloning of
 * allocas does not apply. */
#include "analysis/uniform.h"
#include "base/bound.h"
#include "ir/edit.h"
#include "phase/address/swaps.h"
#include "phase/address/wide.h"
#include "target/ptxas.h"

enum { HOLDERS_LOOKED_AT = 16 /* the most registers that may hold a value which are looked at */ };

/* ---- which register holds what ----------------------------------------------------------------------------------- */

static void hold(Cbe *c, u32 value)
{
    const ListedValue *v = &c->s->listing->values.v[value];
    const Reg *reg = &c->s->fn->regs.v[v->reg];
    TypeClass class = type_class(reg->type);
    if (!bitset_has(&c->s->shared, value) || !v->whole || class == TC_FLOAT || class == TC_PRED || reg->vector != 1)
        return;
    LinearId base = base_of(c->s, value);
    if (linear_at(c->s->a->exprs, base)->terms == 0)
        return;
    c->next[value] = 0;
    c->prev[value] = c->tail[base];
    *(c->tail[base] ? &c->next[c->tail[base]] : &c->head[base]) = value;
    c->tail[base] = value;
    vec_push(&c->available, value);
}

/* Forgets the values of blocks that do not dominate b. */
static void release(Cbe *c, const Block *b)
{
    while (c->available.n && !dominates(c->s->listing->dom, bases_block_of(c->s, vec_last(&c->available)), b)) {
        u32 value = vec_pop(&c->available);
        LinearId base = base_of(c->s, value);
        c->tail[base] = c->prev[value];
        *(c->tail[base] ? &c->next[c->tail[base]] : &c->head[base]) = 0;
    }
}

/* Whether a register of type `by` may stand wherever an integer one of type `old` does. */
static bool fits_type(Type by, Type old)
{
    return by == old || type_class(by) == TC_BITS || (type_class(old) != TC_BITS && type_class(old) != TC_FLOAT);
}

/* Why `holder` cannot be read instead of `value` in slot k of instruction n; REFUSED_NOT: it can. */
static Refusal refusal(const Cbe *c, u32 holder, u32 value, u32 n, u32 k, i64 plus)
{
    const Instr *i = c->s->listing->instrs.v[n].i;
    const Reg *reg = &c->s->fn->regs.v[c->s->listing->values.v[holder].reg],
              *old = &c->s->fn->regs.v[c->s->listing->values.v[value].reg];
    bool address = bases_is_slot(i, k);
    if (!address && plus != 0)
        return REFUSED_NEEDED;
    bool extends = type_bits(reg->type) == 32 && (i->op->space == SPACE_GENERIC || i->op->space == SPACE_GLOBAL);
    if (address && extends && plus != 0) /* the register wraps, and the 64-bit sum with the offset does not */
        return REFUSED_OFFSET;
    if (address && (i->opnd[k].value + plus > PTXAS_OFFSET_MOST || i->opnd[k].value + plus < -PTXAS_OFFSET_MOST - 1))
        return REFUSED_OFFSET;
    if (!address && !fits_type(reg->type, old->type))
        return REFUSED_TYPE;
    if (!bases_scope_reaches(c->s->fn, reg->scope, i->scope))
        return REFUSED_SCOPE;
    return bases_reach(c->s, holder, n) == REACH_THROUGH_CALL ? REFUSED_CALL : REFUSED_NOT;
}

/* Whether the register of the holder would have to stay live for long to be read in instruction n, or past a barrier, over
 * which ptxas moves no access. */
static bool is_far(const Cbe *c, u32 holder, u32 n)
{
    const ListedValue *v = &c->s->listing->values.v[holder];
    u32 since = c->last_read[holder] ? c->last_read[holder] : v->phi ? c->s->listing->first[v->phi->id] : v->instr;
    switch (bases_reach(c->s, holder, n)) {
    case REACH_LIVE:
    case REACH_NEAR: return bases_are_distant(c->s, since, n) || bases_are_parted(c->s, since, n);
    default: return true;
    }
}

/* Finds a register that use number `use`, in instruction n, may read instead. */
static void serve(Cbe *c, u32 n, u32 use)
{
    u32 slot = c->s->listing->uses.v[use].slot, value = c->s->listing->uses.v[use].value, looked_at = 0;
    if (!bitset_has(&c->s->shared, value) || !bases_is_swappable(c->s, n, use))
        return;
    if (c->s->readers[base_of(c->s, value)] < c->knobs->cbe_min_uses)
        return;
    for (u32 h = c->head[base_of(c->s, value)];
         h && h != value && WITHIN(HOLDERS_LOOKED_AT, looked_at++ < HOLDERS_LOOKED_AT); h = c->next[h]) {
        i64 plus;
        if (c->walk.now[c->s->listing->values.v[h].reg] != h ||
            !linear_difference(c->s->a->exprs, c->s->a->of[h], c->s->a->of[value], &plus))
            continue;
        Refusal why = refusal(c, h, value, n, slot, plus);
        if (why == REFUSED_NOT) {
            c->swap[use] = (Swap){h, plus, bases_reach(c->s, h, n) == REACH_THROUGH_LOOP, is_far(c, h, n)};
            if (bases_block_of(c->s, h) == bases_block_of(c->s, value))
                c->last_read[h] = n;
            return;
        }
        if (!c->refused[value])
            c->refused[value] = (u8)why;
    }
}

/* Whether some register holds the value that the instruction is about to compute. */
static bool is_available(const Cbe *c, u32 value)
{
    u32 looked_at = 0;
    for (u32 h = c->head[base_of(c->s, value)]; h && WITHIN(HOLDERS_LOOKED_AT, looked_at++ < HOLDERS_LOOKED_AT);
         h = c->next[h])
        if (c->s->a->of[h] == c->s->a->of[value] && c->walk.now[c->s->listing->values.v[h].reg] == h)
            return true;
    return false;
}

static void find_swaps(Cbe *c)
{
    const Listing *listing = c->s->listing;
    c->walk = listing_walk(listing);
    for (u32 pre = 1; pre <= listing->dom->count; pre++) {
        const Block *b = listing->dom->by_pre[pre];
        listing_enter(&c->walk, b);
        release(c, b);
        for (u32 k = 0; k < listing->phis[b->id]; k++)
            hold(c, listing->first_phi[b->id] + k);
        for (u32 n = listing->first[b->id]; n < listing->end[b->id]; n++) {
            const ListedInstr *at = &listing->instrs.v[n];
            for (u32 k = at->use; k < at->use + at->uses; k++) {
                serve(c, n, k);
                if (!c->swap[k].leader)
                    c->last_read[listing->uses.v[k].value] = n;
            }
            if (at->values == 1 && bitset_has(&c->s->shared, at->value) && !is_available(c, at->value))
                hoist_note(&c->hoist, n);
            listing_step(&c->walk, n);
            for (u32 k = 0; k < at->values; k++)
                hold(c, at->value + k);
        }
    }
    listing_walk_free(&c->walk);
}

/* ---- the rewrite ------------------------------------------------------------------------------------------------ */

static const char *reg_text(const Cbe *c, RegId id)
{
    const Reg *r = &c->s->fn->regs.v[id];
    return r->number < 0 ? r->name->text : arena_printf(&c->s->arena, "%s%d", r->name->text, r->number);
}

/* Reports, once for each value, that its readers now read another register. */
static void report_shared(Cbe *c, u32 use)
{
    const Listing *listing = c->s->listing;
    const Swap *swap = &c->swap[use];
    u32 value = listing->uses.v[use].value, n = listing->values.v[value].instr;
    if (!bitset_add(&c->reported, value))
        return;
    phase_count(c->run, "BaseShared", 1);
    if (c->run->sink->wants_remarks)
        phase_passed(c->run, "BaseShared", listing->instrs.v[n == LISTING_NONE ? c->s->use_instr[use] : n].i,
                     "'%s' is '%s' plus %lld, which is read instead", reg_text(c, listing->values.v[value].reg),
                     reg_text(c, listing->values.v[swap->leader].reg), (long long)swap->plus);
}

static void swap(Cbe *c, u32 n, u32 use)
{
    report_shared(c, use);
    bases_set_reg(c->s, c->s->listing->instrs.v[n].i, c->s->listing->uses.v[use].slot,
                  c->s->listing->values.v[c->swap[use].leader].reg, c->swap[use].plus);
}

static void apply(Cbe *c)
{
    u32 removed = 0;
    for (u32 n = 0; n < c->s->listing->instrs.n; n++) {
        const ListedInstr *at = &c->s->listing->instrs.v[n];
        bool goes = may_go(c->s, n) && !bitset_has(&c->needed, at->value);
        for (u32 k = at->use; k < at->use + at->uses && !goes; k++)
            if (c->swap[k].leader)
                swap(c, n, k);
        if (goes)
            instr_remove(at->i);
        removed += goes;
    }
    phase_count(c->run, "InstructionsRemoved", removed);
}

static bool is_accessed(const Bases *s, u32 value)
{
    for_each_edge(e, &s->uses, value) {
        u32 use = s->uses.to[e], slot = s->listing->uses.v[use].slot;
        if (slot != LISTING_NONE && bases_is_slot(s->listing->instrs.v[s->use_instr[use]].i, slot))
            return true;
    }
    return false;
}

static void report_missed(Cbe *c)
{
    static const char *const why[] = {
        [REFUSED_OFFSET] = "the offset does not fit into a memory instruction",
        [REFUSED_SCOPE] = "the register is not declared there",
        [REFUSED_TYPE] = "the registers are of different types",
        [REFUSED_LOOP] =
            "its register would have to stay live through a loop, or for long, and computing it again costs little",
        [REFUSED_CALL] = "its register would have to stay live through a call",
        [REFUSED_NEEDED] = "its register is read elsewhere as well: nothing would be saved",
        [REFUSED_FOLDED] = "ptxas folds the addition into the access by itself",
        [REFUSED_BETTER] = "ptxas computes it by few instructions, or once a warp",
        [REFUSED_WAITS] = "values of 32 bits that are equal are left to -O3 or the guard"};
    for (u32 value = 1; value < c->s->listing->values.n; value++)
        if (c->refused[value] && bitset_has(&c->needed, value) && c->s->listing->values.v[value].instr != LISTING_NONE &&
            is_accessed(c->s, value))
            phase_missed(c->run, "BaseNotShared", c->s->listing->instrs.v[c->s->listing->values.v[value].instr].i,
                         "address not shared: %s", why[c->refused[value]]);
}

/* Lets values share registers; answers whether anything changed. */
static bool share_bases(Cbe *c)
{
    Arena *arena = &c->s->arena;
    u32 values = c->s->listing->values.n, exprs = c->s->a->exprs->exprs.n;
    c->swap = arena_array(arena, Swap, c->s->listing->uses.n);
    c->refused = arena_array(arena, u8, values);
    c->last_read = arena_array(arena, u32, values);
    c->head = arena_array(arena, u32, 2 * exprs);
    c->tail = c->head + exprs;
    c->next = arena_alloc_raw(arena, 2 * values * sizeof *c->next);
    c->prev = c->next + values;
    c->needed = bitset_new(arena, values);
    c->reported = bitset_new(arena, values);
    c->hoist = hoist_new(c->s);
    vec_clear(&c->available);
    find_swaps(c);
    bool swaps = swaps_drop(c);
    if (swaps)
        apply(c);
    bool changed = swaps || hoist_run(&c->hoist, c->run);
    if (!changed)
        report_missed(c);
    hoist_free(&c->hoist);
    return changed;
}

static bool run_round(Cbe *c)
{
    bool changed = bases_compute(c->s) && share_bases(c);
    bases_drop(c->s);
    return changed;
}

Phase phase_common_base_elim;
PhaseResult phase_common_base_elim(Analyses *an, const Knobs *knobs, PhaseRun *run)
{
    Bases bases = {.an = an, .fn = an->fn, .max_depth = (u32)knobs->cbe_max_depth};
    Cbe c = {.run = run, .knobs = knobs, .an = an, .s = &bases};
    if (run->iteration >= knobs->cbe_max_iter)
        return PHASE_UNCHANGED;
    bool changed = run_round(&c);
    vec_free(&c.available);
    if (!changed && wide_run(an, knobs, run))
        return PHASE_CHANGED;
    return changed ? PHASE_AGAIN : PHASE_UNCHANGED;
}
