#include "phase/address/bases.h"

#include "base/bound.h"
#include "base/search.h"
#include "ir/edit.h"
#include "ir/inspect.h"
#include "target/ptxas.h"

enum {
    LEADERS = 16,    /* the most phis of a block that others are compared with */
    FACT_ROUNDS = 4, /* the values are computed so often */
    LIVE_STEPS = 256,
    USES_LOOKED_AT = 64
};

/* ---- instructions and values ------------------------------------------------------------------------------------ */

bool bases_is_slot(const Instr *i, u32 k)
{
    const Operand *o = &i->opnd[k];
    return k > 0 && o->kind == OPND_REG && o->sub == SUB_NONE && !o->flags && o[-1].kind == OPND_MEM && o[-1].value == 1 &&
           op_has(i->op, OPF_OFFSET);
}

/* Whether the register in slot k may be exchanged for another one. Asynchronous instructions may read theirs later, and
 * calls need the types of the callee. */
static bool is_plain_use(const Instr *i, u32 k)
{
    const Operand *o = &i->opnd[k];
    return operand_plain_register(o) && o->role == ROLE_USE && i->op->known && !op_has(i->op, OPF_ASYNC | OPF_CALL);
}

void bases_mark_phi_args(Bases *s, BitSet *set, u32 value)
{
    const ListedValue *v = &s->listing->values.v[value];
    for (u32 k = 0; k < v->args; k++)
        bases_mark(s, set, s->listing->args.v[v->arg + k]);
}

Instr *bases_computation(const Bases *s, u32 value)
{
    u32 n = s->listing->values.v[value].instr;
    return n != LISTING_NONE && bitset_has(&s->computes, n) ? s->listing->instrs.v[n].i : NULL;
}

/* An instruction that may compute a part of an address. Those that write one register are chained. */
typedef struct Computation {
    const Instr *i;
    u32 next; /* the next one of the register; 0: none */
} Computation;

typedef struct Computations {
    VEC(Computation) v; /* [0] is unused */
    u32 *first;         /* by register */
} Computations;

static void add_base_registers(Bases *s, BitSet *regs, const Instr *i)
{
    for (u32 k = 1; k < i->slots; k++)
        if (bases_is_slot(i, k))
            bases_mark(s, regs, i->opnd[k].id);
}

/* Collects the instructions that may compute part of an address, and the registers in the addresses of accesses. */
static void collect_computations(Bases *s, Computations *c, BitSet *regs)
{
    vec_reserve(&c->v, s->fn->edits.origins + 1);
    vec_push(&c->v, ((Computation){0}));
    for_each_block(b, s->fn)
        for_each_instr(i, b) {
            if (i->kind != INSTR_OP)
                continue;
            if (op_has(i->op, OPF_OFFSET)) {
                add_base_registers(s, regs, i);
            } else if (i->slots >= 2 && i->opnd[0].kind == OPND_REG) {
                u32 *first = &c->first[i->opnd[0].id];
                vec_push(&c->v, ((Computation){i, *first}));
                *first = c->v.n - 1;
            }
        }
}

/* The registers that addresses may be made of. This is an upper bound, found before there are values. */
static BitSet address_registers(Bases *s)
{
    BitSet regs = bitset_new(&s->arena, s->fn->regs.n);
    Computations c = {.first = mem_zalloc(sizeof(u32) * s->fn->regs.n)};
    collect_computations(s, &c, &regs);
    while (s->work.n)
        for (u32 n = c.first[vec_pop(&s->work)]; n; n = c.v.v[n].next) {
            const Instr *i = c.v.v[n].i;
            u32 slots = linear_is_operation(i) ? i->slots : 0;
            for (u32 k = 1; k < slots; k++)
                if (i->opnd[k].kind == OPND_REG)
                    bases_mark(s, &regs, i->opnd[k].id);
        }
    vec_free(&c.v);
    mem_free(c.first);
    return regs;
}

/* Whether the registers of `regs` have at least two writes together. Otherwise no two values could share anything. */
static bool are_written_twice(const Function *fn, const BitSet *regs)
{
    u32 writes = 0;
    for_each_block(b, fn)
        for_each_instr(i, b)
            if (i->kind == INSTR_OP)
                for (RegWalk w = reg_walk(i); next_write(&w);)
                    if (bitset_has(regs, w.reg) && ++writes == 2)
                        return true;
    return false;
}

static void mark_uses(Bases *s, const ListedInstr *at)
{
    for (u32 k = at->use; k < at->use + at->uses; k++)
        bases_mark(s, &s->in_address, s->listing->uses.v[k].value);
}

static void mark_accessed(Bases *s)
{
    for (u32 n = 0; n < s->listing->instrs.n; n++) {
        const ListedInstr *at = &s->listing->instrs.v[n];
        for (u32 k = at->use; op_has(at->i->op, OPF_OFFSET) && k < at->use + at->uses; k++)
            if (s->listing->uses.v[k].slot != LISTING_NONE && bases_is_slot(at->i, s->listing->uses.v[k].slot))
                bases_mark(s, &s->in_address, s->listing->uses.v[k].value);
    }
}

/* Finds the values that addresses are made of, and the instructions that compute a part of one and nothing else. */
static void find_addresses(Bases *s)
{
    const Listing *listing = s->listing;
    s->in_address = bitset_new(&s->arena, listing->values.n);
    s->computes = bitset_new(&s->arena, listing->instrs.n);
    s->removable = bitset_new(&s->arena, listing->instrs.n);
    mark_accessed(s);
    while (s->work.n) {
        u32 value = vec_pop(&s->work), n = listing->values.v[value].instr;
        if (n == LISTING_NONE) {
            bases_mark_phi_args(s, &s->in_address, value);
        } else if (linear_is_operation(listing->instrs.v[n].i)) {
            bitset_add(&s->computes, n);
            if (!s->fn->regs.v[listing->values.v[value].reg].is_param)
                bitset_add(&s->removable, n);
            mark_uses(s, &listing->instrs.v[n]);
        }
    }
}

u32 bases_value_bits(const Bases *s, u32 value) { return linear_at(s->a->exprs, s->a->of[value])->bits; }

const Block *bases_block_of(const Bases *s, u32 value)
{
    const ListedValue *v = &s->listing->values.v[value];
    return v->phi ? v->phi : s->listing->instrs.v[v->instr].i->block;
}

LinearId base_of(const Bases *s, u32 value) { return linear_at(s->a->exprs, s->a->of[value])->base; }

bool bases_is_swappable(const Bases *s, u32 n, u32 use)
{
    u32 slot = s->listing->uses.v[use].slot;
    const Instr *i = s->listing->instrs.v[n].i;
    return slot != LISTING_NONE && (bases_is_slot(i, slot) || is_plain_use(i, slot));
}

/* Whether i multiplies by a constant. ptxas makes one LEA or IMAD.WIDE of it and an addition. */
static bool is_scaling(const Instr *i)
{
    const Operand *by = instr_operand(i, 2);
    return (i->op->sem.op == OPC_SHL || (i->op->sem.op == OPC_MUL && i->op->sem.bits > i->op->sem.from)) &&
           by->kind == OPND_IMM;
}

bool bases_is_fused(const Bases *s, u32 value, const BitSet *needed, u32 most)
{
    const Instr *i = bases_computation(s, value);
    u32 uses = s->uses.start[value + 1] - s->uses.start[value];
    if (!i || !is_scaling(i) || uses == 0 || uses > (bases_value_bits(s, value) > 32 ? most : 1))
        return false;
    for_each_edge(e, &s->uses, value) {
        u32 n = s->use_instr[s->uses.to[e]];
        const ListedInstr *reader = &s->listing->instrs.v[n];
        bool goes = may_go(s, n) && !bitset_has(needed, reader->value);
        if (goes || reader->i->op->sem.op != OPC_ADD)
            return false;
    }
    return true;
}

bool bases_scope_reaches(const Function *fn, ScopeId outer, ScopeId inner)
{
    while (fn->scopes.v[inner].depth > fn->scopes.v[outer].depth)
        inner = fn->scopes.v[inner].parent;
    return inner == outer;
}

void bases_set_reg(Bases *s, Instr *i, u32 slot, RegId reg, i64 plus)
{
    u32 count = i->slots;
    Operand *slots = arena_array(&s->arena, Operand, count);
    memcpy(slots, i->opnd, count * sizeof *slots);
    slots[slot].id = reg;
    slots[slot].value += plus;
    instr_set_operands(i, slots, count);
}

/* ---- counters --------------------------------------------------------------------------------------------------- */

/* Finds the phis of b that differ from another phi of b by the same number in every iteration. Answers whether there are any. */
static bool find_phi_facts(Bases *s, const Block *b)
{
    u32 leader[LEADERS], leaders = 0, first = s->listing->first_phi[b->id];
    bool any = false;
    for (u32 phi = first; phi < first + s->listing->phis[b->id]; phi++) {
        u64 key = (u64)b->id << 32 | s->listing->values.v[phi].reg;
        u32 k = 0;
        if (!bitset_has(&s->in_address, phi) || fnvmap_find(&s->phis, key))
            continue;
        for (i64 plus = 0; k < leaders; k++)
            if (bases_value_bits(s, leader[k]) == bases_value_bits(s, phi) &&
                linear_phi_follows(s->a, phi, leader[k], &plus)) {
                *fnvmap_at(&s->phis, key) = s->phi_facts.n;
                vec_push(&s->phi_facts, ((PhiFact){s->listing->values.v[leader[k]].reg, plus}));
                any = true;
                break;
            }
        if (k == leaders && WITHIN(LEADERS, leaders < LEADERS))
            leader[leaders++] = phi;
    }
    return any;
}

static void find_expressions(Bases *s)
{
    bool any = true;
    for (u32 round = 1; any; round++) {
        if (s->a)
            linear_values_free(s->a);
        any = false;
        s->a = linear_values_compute((LinearValues){.listing = s->listing,
                                                    .fn = s->fn,
                                                    .asked = &s->in_address,
                                                    .computes = &s->computes,
                                                    .facts = an_facts(s->an),
                                                    .max_depth = s->max_depth,
                                                    .phis = &s->phis,
                                                    .phi_facts = s->phi_facts.v});
        for (u32 pre = 1; pre <= s->listing->dom->count && WITHIN(FACT_ROUNDS, round < FACT_ROUNDS); pre++)
            any |= s->listing->dom->by_pre[pre] != s->fn->entry && find_phi_facts(s, s->listing->dom->by_pre[pre]);
    }
}

/* ---- which values share, and who reads them --------------------------------------------------------------------- */

/* Finds the values of addresses whose base another one has as well. Answers whether there are any. */
static bool find_shared(Bases *s)
{
    u32 values = s->listing->values.n;
    u8 *known = arena_array(&s->arena, u8, s->a->exprs->exprs.n); /* by base: how many values have it, up to 2 */
    bool any = false;
    s->shared = bitset_new(&s->arena, values);
    for (u32 v = bitset_next(&s->in_address, 1); v < values; v = bitset_next(&s->in_address, v + 1)) {
        u8 *seen = &known[base_of(s, v)];
        *seen += *seen < 2;
        any |= *seen == 2;
    }
    for (u32 v = bitset_next(&s->in_address, 1); v < values && any; v = bitset_next(&s->in_address, v + 1))
        if (known[base_of(s, v)] == 2)
            bitset_add(&s->shared, v);
    return any;
}

/* The uses of shared values. */
typedef struct Readers {
    VecU32 value, use;
} Readers;

static void find_readers_of(Bases *s, Readers *r, u32 n)
{
    const ListedInstr *at = &s->listing->instrs.v[n];
    for (u32 use = at->use; use < at->use + at->uses; use++) {
        u32 value = s->listing->uses.v[use].value;
        s->use_instr[use] = n;
        if (!bitset_has(&s->shared, value))
            continue;
        vec_push(&r->value, value);
        vec_push(&r->use, use);
        s->readers[base_of(s, value)]++;
        if (!bases_is_swappable(s, n, use))
            bitset_add(&s->stuck, value);
    }
}

static void find_readers(Bases *s)
{
    const Listing *listing = s->listing;
    Readers r = {0};
    s->use_instr = arena_alloc_raw(&s->arena, listing->uses.n * sizeof *s->use_instr);
    s->readers = arena_array(&s->arena, u32, s->a->exprs->exprs.n);
    s->stuck = bitset_new(&s->arena, listing->values.n);
    vec_reserve(&r.value, listing->uses.n);
    vec_reserve(&r.use, listing->uses.n);
    for (u32 n = 0; n < listing->instrs.n; n++)
        find_readers_of(s, &r, n);
    for (u32 phi = 1; phi < listing->values.n && listing->values.v[phi].phi; phi++)
        for (u32 k = 0; k < listing->values.v[phi].args && listing->values.v[phi].is_read; k++)
            bitset_add(&s->stuck, listing->args.v[listing->values.v[phi].arg + k]);
    s->uses = graph_from_edges(&s->arena, listing->values.n, r.value.v, r.use.v, r.use.n);
    vec_free(&r.value);
    vec_free(&r.use);
}

/* ---- code in between --------------------------------------------------------------------------------------------- */

/* Counts calls and loops in the order of the walk, in which the blocks that a block dominates follow one another. */
static void count_obstacles(Bases *s)
{
    const Listing *listing = s->listing;
    u32 calls = 0, headers = 0;
    s->calls = arena_array(&s->arena, u32, listing->instrs.n + 1);
    s->headers = arena_array(&s->arena, u32, listing->dom->count + 1);
    for (u32 pre = 1; pre <= listing->dom->count; pre++) {
        const Block *b = listing->dom->by_pre[pre];
        s->headers[pre] = headers += loop_headed_by(an_loops(s->an), b) != NULL;
    }
    for (u32 n = 0; n < listing->instrs.n; n++)
        s->calls[n + 1] = calls += op_has(listing->instrs.v[n].i->op, OPF_CALL);
}

/* Counts the block's instructions, including those that are not listed, starting from `before`. place[] becomes the count
 * at each listed one. */
static u32 count_places_of(const Bases *s, const Block *b, u32 *place, u32 before)
{
    const Listing *listing = s->listing;
    u32 n = listing->first[b->id];
    for_each_instr(i, b) {
        before += i->kind == INSTR_OP;
        if (n < listing->end[b->id] && listing->instrs.v[n].i == i)
            place[n++] = before;
    }
    return before;
}

/* The same of barriers. */
static u32 count_barriers_of(const Bases *s, const Block *b, u32 before)
{
    const Listing *listing = s->listing;
    u32 n = listing->first[b->id];
    for_each_instr(i, b) {
        before += i->kind == INSTR_OP && op_has(i->op, OPF_BARRIER);
        if (n < listing->end[b->id] && listing->instrs.v[n].i == i)
            s->barriers[n++] = before;
    }
    return before;
}

static void count_places(Bases *s)
{
    const DomTree *dom = s->listing->dom;
    const Order *order = an_order(s->an);
    u32 walked = 0, ordered = 0, barriers = 0;
    s->walk_place = arena_array(&s->arena, u32, s->listing->instrs.n);
    s->order_place = arena_array(&s->arena, u32, s->listing->instrs.n);
    s->barriers = arena_array(&s->arena, u32, s->listing->instrs.n);
    for (u32 pre = 1; pre <= dom->count; pre++) {
        walked = count_places_of(s, dom->by_pre[pre], s->walk_place, walked);
        barriers = count_barriers_of(s, dom->by_pre[pre], barriers);
    }
    for (u32 k = 0; k < order->count; k++)
        ordered = count_places_of(s, order->rpo[k], s->order_place, ordered);
}

bool bases_are_parted(const Bases *s, u32 from, u32 to) { return s->barriers[to] != s->barriers[from]; }

bool bases_are_distant(const Bases *s, u32 from, u32 to)
{
    return s->walk_place[to] - s->walk_place[from] > PTXAS_BASE_NEAR ||
           (i64)s->order_place[to] - s->order_place[from] > PTXAS_BASE_NEAR;
}

/* The number after that of the last instruction in the blocks that b dominates. */
static u32 end_of_subtree(const Bases *s, const Block *b)
{
    const DomTree *dom = s->listing->dom;
    return s->listing->end[dom->by_pre[dom->last[b->id]]->id];
}

/* The first instruction after n, in the order of the walk, that reads the value; LISTING_NONE: there is none. */
static u32 next_reader(const Bases *s, u32 value, u32 n)
{
    u32 end = s->uses.start[value + 1];
    u32 next = partition_point(k, s->uses.start[value], end, s->use_instr[s->uses.to[k]] <= n);
    return next < end ? s->use_instr[s->uses.to[next]] : LISTING_NONE;
}

/* Whether the value is made or read in the innermost loop around b, or there is no loop. A value that is only live there
 * can be spilled around the loop. */
static bool is_used_in_loop(const Bases *s, u32 value, const Block *b)
{
    const Loops *loops = an_loops(s->an);
    const Loop *loop = loop_of(loops, b);
    if (!loop || loop_contains(loops, loop, bases_block_of(s, value)))
        return true;
    for (u32 k = s->uses.start[value];
         k < s->uses.start[value + 1] && WITHIN(USES_LOOKED_AT, k - s->uses.start[value] < USES_LOOKED_AT); k++)
        if (loop_contains(loops, loop, s->listing->instrs.v[s->use_instr[s->uses.to[k]]].i->block))
            return true;
    return false;
}

/* Whether the value is read after instruction n in the same block. Also true if it is live at the end of that block, and a
 * loop around the block makes or reads it. */
static bool is_live_after(const Bases *s, u32 value, u32 n)
{
    const ListedValue *v = &s->listing->values.v[value];
    const Instr *i = s->listing->instrs.v[n].i;
    u32 end = s->listing->end[i->block->id];
    if (next_reader(s, value, n) < end)
        return true;
    if (!is_used_in_loop(s, value, i->block))
        return false;
    if (BEYOND(LIVE_STEPS, end - n > LIVE_STEPS) || !live_out(an_live(s->an), i->block, v->reg))
        return false;
    for (; n < end; n++)
        if (instr_writes(s->listing->instrs.v[n].i, v->reg))
            return false;
    return true;
}

BaseReach bases_reach(const Bases *s, u32 value, u32 n)
{
    const DomTree *dom = s->listing->dom;
    const ListedValue *v = &s->listing->values.v[value];
    const Block *from = bases_block_of(s, value), *to = s->listing->instrs.v[n].i->block;
    u32 def = v->phi ? s->listing->first[from->id] : v->instr;
    if (is_live_after(s, value, n))
        return REACH_LIVE;
    if (from == to)
        return s->calls[n] == s->calls[def] ? REACH_NEAR : REACH_THROUGH_CALL;
    if (s->calls[end_of_subtree(s, from)] - s->calls[def] != s->calls[end_of_subtree(s, to)] - s->calls[n])
        return REACH_THROUGH_CALL;
    if (loop_of(an_loops(s->an), from) == loop_of(an_loops(s->an), to) &&
        s->headers[dom->last[from->id]] - s->headers[dom->pre[from->id]] ==
            s->headers[dom->last[to->id]] - s->headers[dom->pre[to->id]])
        return REACH_NEAR;
    return s->calls[end_of_subtree(s, to)] - s->calls[s->listing->first[to->id]] ? REACH_THROUGH_CALL : REACH_THROUGH_LOOP;
}

bool bases_compute(Bases *s)
{
    Analyses *an = s->an;
    BitSet wanted = address_registers(s);
    if (!are_written_twice(s->fn, &wanted))
        return false;
    an_freeze(an, AN_FACTS | AN_LIVE | AN_DOM | AN_LOOPS);
    s->listing = listing_compute(&s->arena, s->fn, an_order(an), an_ssa(an), an_live(an), &wanted);
    find_addresses(s);
    find_expressions(s);
    an_thaw(an, AN_FACTS); /* the expressions contain what the facts said about ranges */
    an_freeze(an, AN_LIVE | AN_DOM | AN_LOOPS);
    if (!find_shared(s))
        return false;
    find_readers(s);
    count_obstacles(s);
    count_places(s);
    return true;
}

void bases_drop(Bases *s)
{
    if (s->a)
        linear_values_free(s->a);
    if (s->listing)
        listing_free(s->listing);
    fnvmap_free(&s->phis);
    vec_free(&s->phi_facts);
    vec_free(&s->work);
    arena_free(&s->arena);
    *s = (Bases){.an = s->an, .fn = s->fn, .max_depth = s->max_depth};
}
