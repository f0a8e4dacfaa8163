#include "analysis/listing.h"

/* ---- instructions ----------------------------------------------------------------------------------------------- */

/* How many of the slots of i name a wanted register, and how many of those are written. */
static u32 named_slots(const BitSet *wanted, const Instr *i, u32 *writes)
{
    u32 named = i->guard && bitset_has(wanted, i->guard);
    for_each_slot(o, i) {
        if (o->kind != OPND_REG || !bitset_has(wanted, o->id))
            continue;
        named++;
        *writes += slot_is_def(o);
    }
    return named;
}

static void list_instrs(Listing *listing, const Function *fn, u32 *writes)
{
    u32 slots = 0;
    vec_reserve(&listing->instrs,
                fn->edits.origins); /* about as many as there are instructions: what is not used costs nothing */
    for (u32 pre = 1; pre <= listing->dom->count; pre++) {
        Block *b = listing->dom->by_pre[pre];
        listing->first[b->id] = listing->instrs.n;
        for_each_instr(i, b) {
            u32 named = i->kind == INSTR_OP ? named_slots(&listing->wanted, i, writes) : 0;
            slots += named;
            if (named || instr_is(i, OPF_CALL))
                vec_push(&listing->instrs, ((ListedInstr){.i = i}));
        }
        listing->end[b->id] = listing->instrs.n;
    }
    vec_reserve(&listing->uses, slots);
}

/* ---- the walk -------------------------------------------------------------------------------------------------- */

ListingWalk listing_walk(const Listing *listing)
{
    ListingWalk w = {.listing = listing};
    w.now = mem_zalloc(sizeof(u32) * listing->regs);
    return w;
}

static void write_now(ListingWalk *w, u32 value)
{
    RegId reg = w->listing->values.v[value].reg;
    vec_push(&w->undo, (u64)reg << 32 | w->now[reg]);
    w->now[reg] = value;
}

/* Gives registers back the values that they had before blocks that do not dominate b wrote them. */
static void leave_others(ListingWalk *w, const Block *b)
{
    u32 pre = w->listing->dom->pre[b->id], keep = w->undo.n;
    while (w->frames.n && (u32)(vec_last(&w->frames) >> 32) < pre)
        keep = (u32)vec_pop(&w->frames);
    while (w->undo.n > keep) {
        u64 old = vec_pop(&w->undo);
        w->now[old >> 32] = (u32)old;
    }
    vec_push(&w->frames, (u64)w->listing->dom->last[b->id] << 32 | w->undo.n);
}

void listing_enter(ListingWalk *w, const Block *b)
{
    leave_others(w, b);
    for (u32 k = 0; k < w->listing->phis[b->id]; k++)
        write_now(w, w->listing->first_phi[b->id] + k);
}

void listing_step(ListingWalk *w, u32 instr)
{
    const ListedInstr *i = &w->listing->instrs.v[instr];
    for (u32 k = 0; k < i->values; k++)
        write_now(w, i->value + k);
}

void listing_walk_free(ListingWalk *w)
{
    mem_free(w->now);
    vec_free(&w->undo);
    vec_free(&w->frames);
}

/* ---- numbering ------------------------------------------------------------------------------------------------- */

static void add_use(Listing *listing, const ListingWalk *w, u32 slot, RegId reg)
{
    vec_push(&listing->uses, ((ListedUse){slot, w->now[reg]}));
}

static void add_value(Listing *listing, const ListingWalk *w, u32 n, const Operand *o)
{
    bool whole = slot_kills(listing->instrs.v[n].i, o);
    if (bitset_has(&listing->unknown, o->id))
        return;
    if (!whole)
        add_use(listing, w, LISTING_NONE, o->id);
    vec_push(&listing->values, ((ListedValue){.reg = o->id, .instr = n, .whole = whole, .is_read = true}));
}

static void number_instr(Listing *listing, ListingWalk *w, u32 n)
{
    ListedInstr *at = &listing->instrs.v[n];
    Instr *i = at->i;
    at->use = listing->uses.n;
    at->value = listing->values.n;
    for_each_slot(o, i) {
        if (o->kind != OPND_REG || !bitset_has(&listing->wanted, o->id))
            continue;
        if (slot_is_use(o))
            add_use(listing, w, (u32)(o - i->opnd), o->id);
        if (slot_is_def(o))
            add_value(listing, w, n, o);
    }
    if (i->guard && bitset_has(&listing->wanted, i->guard))
        add_use(listing, w, LISTING_NONE, i->guard);
    at->uses = listing->uses.n - at->use;
    at->values = listing->values.n - at->value;
    listing_step(w, n);
}

static void fill_args(Listing *listing, const ListingWalk *w, const Block *b)
{
    for (u32 k = 0; k < listing->phis[b->id]; k++) {
        ListedValue *phi = &listing->values.v[listing->first_phi[b->id] + k];
        if (phi->is_read)
            listing->args.v[phi->arg + phi->args++] = w->now[phi->reg];
    }
}

/* The phis of wanted registers: from the position of a block to its registers, ascending. */
static Graph phis_by_position(const Listing *listing, Arena *scratch, const Ssa *ssa, const Order *order)
{
    VecU32 position = {0}, reg = {0};
    for (RegId r = bitset_next(&listing->wanted, 1); r < ssa->regs; r = bitset_next(&listing->wanted, r + 1))
        for (ValueId v = ssa->start[r]; v < ssa->start[r + 1]; v++)
            if (ssa->values[v].phi) {
                vec_push(&position, order->index[ssa->dom->by_pre[ssa->values[v].pre]->id]);
                vec_push(&reg, r);
            }
    Graph phis = graph_from_edges(scratch, order->count, position.v, reg.v, reg.n);
    vec_free(&position);
    vec_free(&reg);
    return phis;
}

/* The phis of all blocks, as values. Those that somebody reads have room for an argument for each edge: where many paths leave for one
 * block, as for a trap, most are read by nobody. */
static void make_phis(Listing *listing, const Order *order, const Live *live, const Graph *phis)
{
    for (u32 position = 0; position < order->count; position++) {
        u32 edges = order->pred.start[position + 1] - order->pred.start[position];
        Block *b = order->rpo[position];
        listing->first_phi[b->id] = listing->values.n;
        for_each_edge(e, phis, position) {
            RegId reg = phis->to[e];
            bool is_read = live_in(live, b, reg);
            u32 args = is_read ? edges : 0;
            vec_push(&listing->values, ((ListedValue){.reg = reg,
                                                      .instr = LISTING_NONE,
                                                      .phi = b,
                                                      .arg = listing->args.n,
                                                      .whole = true,
                                                      .is_read = is_read}));
            listing->phis[b->id]++;
            vec_reserve(&listing->args, listing->args.n + args);
            listing->args.n += args;
        }
    }
}

static void number(Listing *listing, const Order *order)
{
    ListingWalk w = listing_walk(listing);
    for (u32 pre = 1; pre <= listing->dom->count; pre++) {
        Block *b = listing->dom->by_pre[pre];
        listing_enter(&w, b);
        for (u32 n = listing->first[b->id]; n < listing->end[b->id]; n++)
            number_instr(listing, &w, n);
        for_each_edge(e, &order->succ, order->index[b->id])
            fill_args(listing, &w, order->rpo[order->succ.to[e]]);
    }
    listing_walk_free(&w);
}

static Listing *listing_new(Arena *arena, const Function *fn, const DomTree *dom, const BitSet *wanted)
{
    Listing *listing = arena_new(arena, Listing);
    *listing = (Listing){.dom = dom, .wanted = *wanted, .regs = fn->regs.n, .unknown = bitset_new(arena, fn->regs.n)};
    listing->first = arena_array(arena, u32, 4 * fn->blocks.n);
    listing->end = listing->first + fn->blocks.n;
    listing->first_phi = listing->end + fn->blocks.n;
    listing->phis = listing->first_phi + fn->blocks.n;
    return listing;
}

static void find_unknown(Listing *listing, const Ssa *ssa)
{
    for (RegId reg = 0; reg < ssa->regs; reg++)
        if (reg == CARRY_REG || !bitset_has(&listing->wanted, reg) || ssa->start[reg] == ssa->start[reg + 1])
            bitset_add(&listing->unknown, reg);
}

Listing *listing_compute(Arena *arena, const Function *fn, const Order *order, const Ssa *ssa, const Live *live,
                         const BitSet *wanted)
{
    Arena scratch = {0};
    Listing *listing = listing_new(arena, fn, ssa->dom, wanted);
    u32 writes = 0;
    find_unknown(listing, ssa);
    list_instrs(listing, fn, &writes);
    Graph phis = phis_by_position(listing, &scratch, ssa, order);
    vec_reserve(&listing->values, 1 + phis.start[phis.nodes] + writes);
    vec_push(&listing->values, ((ListedValue){.instr = LISTING_NONE}));
    make_phis(listing, order, live, &phis);
    arena_free(&scratch);
    number(listing, order);
    return listing;
}

void listing_free(Listing *listing)
{
    vec_free(&listing->instrs);
    vec_free(&listing->uses);
    vec_free(&listing->values);
    vec_free(&listing->args);
}

u32 listing_use(const Listing *listing, u32 instr, u32 slot)
{
    const ListedInstr *i = &listing->instrs.v[instr];
    for (u32 k = i->use; k < i->use + i->uses; k++)
        if (listing->uses.v[k].slot == slot)
            return listing->uses.v[k].value;
    return 0;
}
