#include "phase/address/swaps.h"

#include "analysis/uniform.h"
#include "base/bound.h"
#include "target/ptxas.h"

enum {
    FAR_ROUNDS = 2, /* the most rounds of dropping swaps that cost too much */
    CHAIN_DEPTH = 4 /* how many levels of operands are looked at */
};

static void need_uses(Cbe *c, u32 n)
{
    const ListedInstr *at = &c->s->listing->instrs.v[n];
    for (u32 k = at->use; k < at->use + at->uses; k++)
        bases_mark(c->s, &c->needed, c->swap[k].leader ? c->swap[k].leader : c->s->listing->uses.v[k].value);
}

/* Finds the values that remaining instructions read, with the swaps as they are. */
static void find_needed(Cbe *c)
{
    bitset_clear(&c->needed);
    for (u32 n = 0; n < c->s->listing->instrs.n; n++)
        if (!may_go(c->s, n))
            need_uses(c, n);
    while (c->s->work.n) {
        u32 value = vec_pop(&c->s->work), n = c->s->listing->values.v[value].instr;
        if (n == LISTING_NONE)
            bases_mark_phi_args(c->s, &c->needed, value);
        else if (may_go(c->s, n))
            need_uses(c, n);
    }
}

/* Whether ptxas folds the computation of the value into the access by itself, or the value is the low half of a register pair. */
static bool is_step(const Cbe *c, u32 value)
{
    Instr *i = bases_computation(c->s, value);
    if (!i)
        return false;
    const Operand *by = instr_operand(i, 2);
    const Sem *sem = &i->op->sem;
    if (sem->op == OPC_CVT && sem->bits == 32 && sem->from == 64)
        return true;
    return sem->op == OPC_MOV || ((sem->op == OPC_ADD || sem->op == OPC_SUB) && by->kind == OPND_IMM);
}

/* Whether the instruction that writes the value stays, whoever reads it, as a load of a parameter does. ptxas makes that a
 * constant operand. */
static bool is_written_anyway(const Cbe *c, u32 value)
{
    u32 n = c->s->listing->values.v[value].instr;
    return n != LISTING_NONE && !may_go(c->s, n);
}

/* The bases for which a computation is removed that ptxas would not have seen through. */
static BitSet find_worthwhile(const Cbe *c)
{
    BitSet bases = bitset_new(&c->s->arena, c->s->a->exprs->exprs.n);
    for (u32 value = 1; value < c->s->listing->values.n; value++)
        if (bitset_has(&c->s->in_address, value) && !bitset_has(&c->needed, value) && !is_step(c, value) &&
            !is_written_anyway(c, value) && !bases_is_fused(c->s, value, &c->needed, 1))
            bitset_add(&bases, base_of(c->s, value));
    return bases;
}

/* The computations that are removed with a value that nobody reads any more. */
typedef struct Chain {
    u32 instrs;
    i32 cost;    /* machine instructions */
    u32 words;   /* 32-bit registers that stayed live over a distance for it */
    bool narrow; /* it makes addresses of shared or local memory, of which the machine computes 32 bits */
    bool sums;   /* it holds nothing but additions */
} Chain;

/* Machine instructions saved when i is removed. reader: its reader, if that is removed and counted already; otherwise NULL. */
static i32 cost_in_chain(const Instr *i, const Instr *reader, bool narrow)
{
    if (narrow && type_bits(i->op->type[0]) == 64)
        return reader || i->op->opcode == OPC_CVT ? 0 : 1;
    return reader ? (i32)ptxas_pair_cost(i, reader) - (i32)ptxas_cost(reader) : (i32)ptxas_cost(i);
}

/* Adds the computations that are removed with the value. Conversions in loops count no registers, since ptxas repeats them
 * where they are read. */
static void add_chain(const Cbe *c, u32 value, const Instr *reader, u32 depth, Chain *chain)
{
    const Listing *listing = c->s->listing;
    u32 n = listing->values.v[value].instr;
    if (n == LISTING_NONE || !may_go(c->s, n) || BEYOND(CHAIN_DEPTH, depth == 0))
        return;
    const ListedInstr *at = &listing->instrs.v[n];
    chain->instrs++;
    chain->sums &= at->i->op->opcode == OPC_ADD || at->i->op->opcode == OPC_SUB;
    chain->cost += cost_in_chain(at->i, reader, chain->narrow);
    bool fused = false;
    for (u32 k = at->use; k < at->use + at->uses; k++) {
        u32 operand = listing->uses.v[k].value, def = operand ? listing->values.v[operand].instr : LISTING_NONE;
        if (!operand || bitset_has(&c->needed, operand))
            continue;
        Instr *i = bases_computation(c->s, operand);
        bool far =
            bases_block_of(c->s, operand) != at->i->block || (def != LISTING_NONE && bases_are_distant(c->s, def, n));
        if (far && !(i && i->op->opcode == OPC_CVT && loop_of(an_loops(c->an), i->block)))
            chain->words += bases_value_bits(c->s, operand) > 32 ? 2 : 1;
        if (!far) {
            bool pair = i && !fused && ptxas_pair_cost(i, at->i) < ptxas_cost(i) + ptxas_cost(at->i);
            fused |= pair;
            add_chain(c, operand, pair ? at->i : NULL, depth - 1, chain);
        }
    }
}

static bool is_narrow_access(const Cbe *c, u32 use)
{
    const Instr *i = c->s->listing->instrs.v[c->s->use_instr[use]].i;
    u32 slot = c->s->listing->uses.v[use].slot;
    return slot != LISTING_NONE && bases_is_slot(i, slot) && (i->op->space == SPACE_LOCAL || i->op->space == SPACE_SHARED);
}

/* The computations that are removed if this use no longer reads its value. */
static Chain chain_of(const Cbe *c, u32 use)
{
    Chain chain = {.narrow = is_narrow_access(c, use), .sums = true};
    add_chain(c, c->s->listing->uses.v[use].value, NULL, CHAIN_DEPTH, &chain);
    return chain;
}

/* Whether it pays to keep the leader alive over a distance. It does if the removed code costs much, or itself keeps as many
 * registers alive. */
static bool pays_from_afar(const Cbe *c, u32 use, u32 leader, bool loop)
{
    Chain chain = chain_of(c, use);
    if (loop && chain.words >= (bases_value_bits(c->s, leader) > 32 ? 2u : 1u))
        return chain.cost + (chain.instrs > 1) > PTXAS_BASE_ONE;
    return chain.cost > (i32)(loop ? PTXAS_BASE_LOOP : PTXAS_BASE_FAR);
}

/* Whether the value is computed from a product of twice the bits of its factors. */
static bool is_made_by_product(const Cbe *c, u32 value, u32 depth)
{
    const Instr *i = bases_computation(c->s, value);
    if (!i || BEYOND(CHAIN_DEPTH, depth == 0))
        return false;
    if ((i->op->sem.op == OPC_MUL || i->op->sem.op == OPC_MAD) && i->op->sem.bits > i->op->sem.from)
        return true;
    const ListedInstr *at = &c->s->listing->instrs.v[c->s->listing->values.v[value].instr];
    for (u32 k = at->use; k < at->use + at->uses; k++)
        if (is_made_by_product(c, c->s->listing->uses.v[k].value, depth - 1))
            return true;
    return false;
}

/* Whether the value, or a shared one that is computed from it, is read in a loop. */
static bool is_read_in_loop(const Cbe *c, u32 value, u32 depth)
{
    const Bases *s = c->s;
    for_each_edge(e, &s->uses, value) {
        const ListedInstr *reader = &s->listing->instrs.v[s->use_instr[s->uses.to[e]]];
        if (loop_of(an_loops(c->an), reader->i->block))
            return true;
        if (depth && reader->values == 1 && is_read_in_loop(c, reader->value, depth - 1))
            return true;
    }
    return false;
}

/* Whether the machine computes the value before a loop with its uniform instructions, in registers of their own. It has
 * none for products of 64 bits, so the leader would take vector registers in the loop. */
static bool is_uniform_for_loop(const Cbe *c, u32 value, u32 leader)
{
    const Block *b = bases_block_of(c->s, value);
    return bases_value_bits(c->s, value) > 32 && !loop_of(an_loops(c->an), b) &&
           !is_made_by_product(c, value, CHAIN_DEPTH) && is_made_by_product(c, leader, CHAIN_DEPTH) &&
           is_read_in_loop(c, value, CHAIN_DEPTH) &&
           uniform_has(&an_uniform(c->an)->warp, c->s->listing->values.v[value].reg);
}

/* Whether the leader would stay live into another block for an equal value. ptxas knows that it is equal, and keeps or
 * recomputes it as its registers allow. */
static bool is_made_anew(const Cbe *c, u32 use, const Chain *chain)
{
    const Swap *swap = &c->swap[use];
    const Block *b = c->s->listing->instrs.v[c->s->use_instr[use]].i->block;
    return swap->plus == 0 && chain->cost <= PTXAS_BASE_ONE && bases_block_of(c->s, swap->leader) != b &&
           !live_in(an_live(c->an), b, c->s->listing->values.v[swap->leader].reg);
}

/* Whether nearly all registers that ptxas can give a thread are live somewhere in the function. */
static bool is_full(Cbe *c)
{
    u32 limit = ptxas_thread_registers(c->s->fn) * PTXAS_FULL / 8;
    if (!c->full)
        c->full = live_exceeds(an_live(c->an), limit, &c->s->arena) ? 2 : 1;
    return c->full == 2;
}

/* Whether ptxas makes better code of the computations that would be removed than of the leader. */
static bool is_better_as_it_is(Cbe *c, u32 use)
{
    u32 value = c->s->listing->uses.v[use].value;
    if (!bases_computation(c->s, value))
        return false;
    Chain chain = chain_of(c, use);
    return (chain.narrow && chain.sums && chain.cost <= 1) || is_made_anew(c, use, &chain) ||
           is_uniform_for_loop(c, value, c->swap[use].leader) || (chain.cost <= 1 && is_full(c));
}

/* Drops the swaps that would keep a register alive for long, or make ptxas write worse code. Answers whether there were any. */
static bool drop_costly_swaps(Cbe *c)
{
    bool any = false;
    for (u32 k = 0; k < c->s->listing->uses.n; k++) {
        u32 value = c->s->listing->uses.v[k].value;
        if (!c->swap[k].leader || bitset_has(&c->needed, value))
            continue;
        bool far = c->swap[k].far && !pays_from_afar(c, k, c->swap[k].leader, c->swap[k].loop);
        if (!far && !is_better_as_it_is(c, k))
            continue;
        c->swap[k].leader = 0;
        c->refused[value] = far ? REFUSED_LOOP : REFUSED_BETTER;
        any = true;
    }
    return any;
}

static bool has_swaps(const Cbe *c)
{
    for (u32 k = 0; k < c->s->listing->uses.n; k++)
        if (c->swap[k].leader)
            return true;
    return false;
}

/* Whether the use would read another register of 32 bits with the same value. */
static bool is_equal_word(const Cbe *c, u32 use)
{
    return c->swap[use].plus == 0 && bases_value_bits(c->s, c->s->listing->uses.v[use].value) <= 32;
}

bool swaps_drop(Cbe *c)
{
    bool left = false, dropped = false;
    if (!has_swaps(c)) {
        if (c->run->sink->wants_remarks)
            find_needed(c);
        return false;
    }
    BitSet asked = bitset_new(&c->s->arena, c->s->listing->values.n),
           denied = bitset_new(&c->s->arena, c->s->listing->values.n);
    find_needed(c);
    for (u32 round = 0; WITHIN(FAR_ROUNDS, round < FAR_ROUNDS) && drop_costly_swaps(c); round++)
        find_needed(c);
    BitSet worthwhile = find_worthwhile(c);
    for (u32 k = 0; k < c->s->listing->uses.n; k++) {
        u32 value = c->s->listing->uses.v[k].value;
        if (!c->swap[k].leader)
            continue;
        bool near_shift =
            bases_block_of(c->s, value) == bases_block_of(c->s, c->swap[k].leader) && !is_made_by_product(c, value, 1);
        bool pays = bitset_has(&worthwhile, base_of(c->s, value)) &&
                    !bases_is_fused(c->s, value, &c->needed, near_shift ? 1 : PTXAS_FUSED_READERS);
        bool waits = pays && is_equal_word(c, k) && phase_waits(c->run, KIND_EQUAL_VALUES);
        if (!pays || waits || bitset_has(&c->needed, value)) {
            if (!c->refused[value] || !pays || waits)
                c->refused[value] = waits ? REFUSED_WAITS : pays ? REFUSED_NEEDED : REFUSED_FOLDED;
            c->swap[k].leader = 0;
            dropped = true;
            continue;
        }
        if (!bitset_has(&asked, value) && !phase_may_rewrite(c->run))
            bitset_add(&denied, value);
        bitset_add(&asked, value);
        if (bitset_has(&denied, value))
            c->swap[k].leader = 0;
        *(c->swap[k].leader ? &left : &dropped) = true;
    }
    if (dropped)
        find_needed(c);
    return left;
}
