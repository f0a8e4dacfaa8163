#include "prove/barrier.h"

#include <string.h>

#include "prove/solver.h"

enum { CONTEXTS_MAX = 8 /* of one access */, PAIRS_MAX = 4000, OTHER_THREAD = 1 << 30 };

/* ---- barriers ---------------------------------------------------------------------------------------------------------- */

/* The operand that is a barrier's number. A reduction has its result before it. */
static const Operand *number_operand(const Instr *i)
{
    Opcode op = i->op->opcode;
    bool reduces = op == OPC_BAR_RED || op == OPC_BARRIER_RED || op == OPC_BAR_CTA_RED || op == OPC_BARRIER_CTA_RED;
    return i->slots > reduces ? &i->opnd[reduces] : NULL;
}

/* -1: it is not known, or it is no such barrier. */
static i64 number_of(const Instr *i)
{
    const Operand *o = number_operand(i);
    return o && o->kind == OPND_IMM ? o->value : -1;
}

/* Whether it waits for the block, which has a number for it, and for no count of threads; a guard left aside. */
static bool is_of_block(const Instr *i, bool may_reduce)
{
    if (i->kind != INSTR_OP || number_of(i) < 0)
        return false;
    Opcode op = i->op->opcode;
    bool syncs = op == OPC_BAR_SYNC || op == OPC_BARRIER_SYNC || op == OPC_BAR_CTA_SYNC || op == OPC_BARRIER_CTA_SYNC;
    bool reduces = number_operand(i) != i->opnd;
    return syncs ? i->slots == 1 : may_reduce && reduces && i->slots == 3;
}

static bool is_full_barrier(const Instr *i) { return is_of_block(i, false) && !i->guard; }

/* Likewise, or one that also reduces a value. */
static bool waits_for_all(const Instr *i) { return is_of_block(i, true) && !i->guard; }

static bool is_skipped(const Prover *p, const Instr *i) { return p->skipped.word && bitset_has(&p->skipped, i->origin); }

bool prove_skip_barrier(Prover *p, const Instr *i)
{
    const Function *fn = p->side[PROVE_BEFORE].fn;
    bool of_one = function_has_one_thread(fn) && is_of_block(i, false);
    if (!of_one && (!is_full_barrier(i) || !fn->is_entry))
        return false;
    if (!p->skipped.word) {
        p->skipped = bitset_new(p->arena, fn->origins + 1);
        p->stays = bitset_new(p->arena, fn->origins + 1);
    }
    bitset_add(&p->skipped, i->origin);
    return true;
}

bool prove_weaken_barrier(Prover *p, const Instr *before, const Instr *after)
{
    const Function *fn = p->side[PROVE_BEFORE].fn;
    u32 lanes = function_warp_lanes(fn);
    bool of_warp = after->op->opcode == OPC_BAR_WARP_SYNC && after->opnd[0].kind == OPND_IMM;
    if (!lanes || !is_of_block(before, false) || !of_warp || (u32)after->opnd[0].value != lanes)
        return false;
    if (!p->weakened.word)
        p->weakened = bitset_new(p->arena, fn->origins + 1);
    bitset_add(&p->weakened, before->origin);
    return true;
}

/* ---- accesses ------------------------------------------------------------------------------------------------------------ */

static void note_access(Prover *p, const Instr *i)
{
    u32 known = 0;
    for (u32 k = 0; k < p->accesses.n; k++)
        known += p->accesses.v[k].at == i;
    if (known >= CONTEXTS_MAX) {
        bitset_add(&p->stays, i->origin); /* too many to look at: see may_conflict */
        return;
    }
    Access a = {.at = i, .bytes = i->op->access_bytes};
    for_each_operand(o, i)
        if (o->kind == OPND_MEM)
            a.address = prove_address(&p->side[PROVE_BEFORE], i->op, o);
    Term *fact = arena_array(p->arena, Term, p->facts.n + 1);
    for (u32 k = 0; k < p->facts.n; k++) {
        Fact f = p->facts.v[k];
        if (p->fact_of.v[f.term] == k + 1)
            fact[a.facts++] = prove_in(&p->t, f.term, f.set);
    }
    fact[a.facts++] = prove_guard(&p->side[PROVE_BEFORE], i);
    a.fact = fact;
    vec_push(&p->accesses, a);
}

void prove_note_event(Prover *p, const Instr *i)
{
    if (!p->skipped.word || !p->values_hold)
        return;
    if (is_full_barrier(i))
        bitset_add(&p->stays, i->origin);
    else if (prove_is_plain_access(i->op) && !prove_is_private_access(i->op))
        note_access(p, i);
}

/* ---- above and below ------------------------------------------------------------------------------------------------------- */

typedef VEC(const Instr *) Instrs;

typedef struct Region {
    Prover *p;
    BitSet seen;  /* blocks that were walked from their far end */
    Instrs found; /* what may touch memory, or time */
    bool backward;
} Region;

/* A barrier of the warp joins threads that all come to the barrier of the block, too: their accesses are looked at themselves. */
static bool matters(Prover *p, const Instr *i)
{
    if (i->kind == INSTR_OP && i->op->opcode == OPC_BAR_WARP_SYNC)
        return false;
    if (i->kind == INSTR_OP && op_has(i->op, OPF_CALL))
        return prove_callee(&p->callees, i, p->arena) & CALLEE_TOUCHES;
    return i->kind == INSTR_OP && prove_touches_memory(i);
}

/* From the instruction on to the block's end; false: a barrier that stays is in between. */
static bool walk_block(Region *r, const Instr *from)
{
    for (const Instr *i = from; i; i = r->backward ? i->prev : i->next) {
        if (waits_for_all(i) && !is_skipped(r->p, i))
            return false;
        if (matters(r->p, i) && !waits_for_all(i))
            vec_push(&r->found, i);
    }
    return true;
}

static void walk(Region *r, const Instr *barrier)
{
    const Graph *g = &r->p->side[PROVE_BEFORE].g;
    VecU32 work = {0};
    if (walk_block(r, r->backward ? barrier->prev : barrier->next))
        vec_push(&work, barrier->block->id);
    while (work.n) {
        u32 id = vec_pop(&work), edges = r->backward ? g->preds[id] : block_edge_count(fn_block(g->fn, id));
        for (u32 k = 0; k < edges; k++) {
            u32 to = r->backward ? g->pred[g->pred_start[id] + k] : block_edge_target(fn_block(g->fn, id), k)->id;
            if (bitset_has(&r->seen, to))
                continue;
            bitset_add(&r->seen, to);
            const Block *b = fn_block(g->fn, to);
            if (walk_block(r, r->backward ? b->last : b->first))
                vec_push(&work, to);
        }
    }
    vec_free(&work);
}

/* ---- two threads -------------------------------------------------------------------------------------------------------------- */

typedef struct AccessPair {
    Prover *p;
    const BitSet *between; /* blocks that a thread may enter on its way from one access to the other */
} AccessPair;

/* Whether both threads see the same value of the symbol, at both accesses. */
static bool is_shared(const AccessPair *q, Term x)
{
    const TermSym *s = prove_sym_of(&q->p->t, x);
    if (s->kind == PROVE_SYM_ADDRESS || s->kind == PROVE_SYM_PARAM)
        return true;
    if (s->kind == PROVE_SYM_SREG)
        return sreg_info(s->detail)->uniformity == UNI_CTA;
    if (s->kind != PROVE_SYM_JOIN)
        return false;
    const Node *n = q->p->nodes.v[s->owner];
    if (s->detail >= n->slots[0] || bitset_has(&q->p->of_block.divergent, n->reg[s->detail]))
        return false;
    return !bitset_has(q->between, n->place[0].block->id);
}

/* The term as the other thread has it. */
static Term in_other_thread(const AccessPair *q, FnvMap *map, Term x)
{
    Terms *t = &q->p->t;
    TermNode node = *prove_node(t, x);
    if (node.op == TERM_SYM) {
        TermSym s = *prove_sym_of(t, x);
        return is_shared(q, x) ? x : prove_sym(t, (SymKindOf)s.kind, s.owner, s.detail, s.part | OTHER_THREAD, node.bits);
    }
    if (node.n == 0)
        return x;
    u64 *known = fnvmap_find(map, x);
    if (known)
        return (Term)*known;
    Term *kids = arena_array(t->arena, Term, node.n);
    for (u32 k = 0; k < node.n; k++)
        kids[k] = in_other_thread(q, map, prove_kid(t, x, k));
    Term made = prove_rebuild(t, x, kids);
    *fnvmap_at(map, x) = made;
    return made;
}

static Term thread_index(Terms *t, u32 component, bool other)
{
    int part, id = sreg_find("%tid", 4, &part);
    return prove_sym(t, PROVE_SYM_SREG, 0, (u32)id, (component + SUB_X) | (other ? OTHER_THREAD : 0), 32);
}

/* The largest index in a dimension. .maxntid bounds the product of all three only. */
static u64 largest_index(const Function *fn, u32 dimension)
{
    u64 all = 1;
    for (u32 c = 0; c < 3; c++)
        all *= fn->block_shape[c] > 0 ? (u64)fn->block_shape[c] : 1024;
    u64 most = fn->shape_exact && fn->block_shape[dimension] > 0 ? (u64)fn->block_shape[dimension] : all;
    return most > 1024 ? 1023 : most - 1;
}

/* What directives say of the block's shape, and that the threads differ. */
static u32 say_threads(Prover *p, Term *said)
{
    Terms *t = &p->t;
    const Function *fn = p->side[PROVE_BEFORE].fn;
    Term same = prove_bool(t, true);
    u32 n = 0;
    for (u32 c = 0; c < 3; c++) {
        Term a = thread_index(t, c, false), b = thread_index(t, c, true);
        u64 most = largest_index(fn, c);
        SetId range = prove_set_range(&t->sets, 0, most);
        said[n++] = prove_in(t, a, range);
        said[n++] = prove_in(t, b, range);
        if (most > 0)
            same = prove_and(t, same, prove_rel(t, a, b, 1u << PROVE_EQ));
    }
    said[n++] = prove_not(t, same);
    return n;
}

static u32 address_bits(const Prover *p, Term a) { return prove_bits(&p->t, a); }

/* The variable whose address is added to something; NULL: none. `base` is the address in the sum. */
static const Sym *variable_of(const Prover *p, Term a, Term *base)
{
    const Terms *t = &p->t;
    const TermNode *node = prove_node(t, a);
    const Module *m = p->side[PROVE_BEFORE].fn->module;
    for (u32 k = 0; k < (node->n ? node->n : 1); k++) {
        Term x = node->op == TERM_LINEAR ? prove_kid(t, a, k) : a;
        if (node->op == TERM_LINEAR && t->coef.v[node->kids + k] != 1)
            continue;
        *base = x;
        if (prove_node(t, x)->op == TERM_TRUNC)
            x = prove_kid(t, x, 0);
        if (prove_node(t, x)->op != TERM_SYM || prove_sym_of(t, x)->kind != PROVE_SYM_ADDRESS)
            continue;
        for (u32 id = 1; id < m->syms.n; id++)
            if (p->side[PROVE_BEFORE].sym[id] == t->name.v[prove_sym_of(t, x)->detail])
                return &m->syms.v[id];
    }
    return NULL;
}

/* Whether the access by an address in the variable goes nowhere else, by what is known of the distance from its beginning. */
static bool stays_inside(Prover *p, const Access *x, const Sym *variable, Term base)
{
    Terms *t = &p->t;
    u32 mark = p->facts.n;
    if (p->options->assume_in_bounds && variable->space == SPACE_SHARED)
        return true;
    if (variable->bytes < (i64)x->bytes)
        return false;
    for (u32 k = 0; k < x->facts; k++)
        if (prove_node(t, x->fact[k])->op == TERM_IN)
            prove_assume(p, x->fact[k], true);
    SetId far = prove_known(p, prove_sub(t, x->address, base));
    bool inside = prove_set_within(&t->sets, far, prove_set_range(&t->sets, 0, (u64)variable->bytes - x->bytes));
    prove_forget(p, mark);
    return inside;
}

/* Accesses of two variables do not overlap if none goes beyond its own. What the launch adds, of no known size, lies apart from
 * others, but all such variables begin in one place. */
static bool are_two_variables(Prover *p, const Access *x, const Access *y)
{
    Term base, other;
    const Sym *a = variable_of(p, x->address, &base), *b = variable_of(p, y->address, &other);
    if (!a || !b || a == b || a->space != x->at->op->space || b->space != y->at->op->space ||
        (a->is_extern && b->is_extern))
        return false;
    bool sized = a->bytes > 0 && b->bytes > 0 && !a->is_extern && !b->is_extern;
    bool added = p->options->assume_in_bounds && a->space == SPACE_SHARED && b->space == SPACE_SHARED;
    return (sized || added) && stays_inside(p, x, a, base) && stays_inside(p, y, b, other);
}

/* Addresses that differ by a multiple of the thread's index, in blocks of one dimension. */
static bool are_apart(Prover *p, Term a, Term b, u32 bytes)
{
    Terms *t = &p->t;
    const Function *fn = p->side[PROVE_BEFORE].fn;
    bool line = fn->shape_exact && fn->block_shape[1] == 1 && fn->block_shape[2] == 1;
    Term differ = prove_sub(t, a, b);
    const TermNode *node = prove_node(t, differ);
    if (!line || node->op != TERM_LINEAR || node->n != 2 || node->value != 0)
        return false;
    Term x[2];
    u64 step[2];
    for (u32 k = 0; k < 2; k++) {
        x[k] = prove_kid(t, differ, k);
        step[k] = t->coef.v[node->kids + k];
        if (prove_node(t, x[k])->op == TERM_ZEXT)
            x[k] = prove_kid(t, x[k], 0);
    }
    Term mine = thread_index(t, 0, false), other = thread_index(t, 0, true);
    bool both = (x[0] == mine && x[1] == other) || (x[0] == other && x[1] == mine);
    u64 mask = prove_mask(node->bits), back = (0 - step[0]) & mask, least = step[0] < back ? step[0] : back;
    return both && ((step[0] + step[1]) & mask) == 0 && least >= bytes && least <= mask / 4096;
}

static bool excludes_overlap(const AccessPair *q, const Access *x, const Access *y)
{
    Prover *p = q->p;
    Terms *t = &p->t;
    FnvMap map = {0};
    Term said[16 + 600];
    u32 n = say_threads(p, said), bits = address_bits(p, x->address);
    Term a = x->address, b = in_other_thread(q, &map, y->address);
    bool comparable = bits == address_bits(p, b); /* an address in a window says nothing of a generic one */
    bool apart =
        comparable && (are_two_variables(p, x, y) || are_apart(p, a, b, x->bytes > y->bytes ? x->bytes : y->bytes));
    if (comparable && !apart) {
        u64 most = prove_mask(prove_bits(t, a));
        Term near = prove_in(t, prove_sub(t, a, b),
                             prove_set_or(&t->sets, prove_set_range(&t->sets, 0, y->bytes - 1),
                                          x->bytes > 1 ? prove_set_range(&t->sets, most - (x->bytes - 2), most)
                                                       : prove_set_range(&t->sets, 0, 0)));
        said[n++] = near;
        for (u32 k = 0; k < x->facts && k < 300; k++)
            said[n++] = x->fact[k];
        for (u32 k = 0; k < y->facts && k < 300; k++)
            said[n++] = in_other_thread(q, &map, y->fact[k]);
        for (u32 k = 0; k < n; k++)
            apart |= prove_is_const(t, said[k]) && !prove_node(t, said[k])->value;
        apart = apart || prove_solver_excludes(p, said, n);
    }
    fnvmap_free(&map);
    return apart;
}

/* ---- pairs ---------------------------------------------------------------------------------------------------------------------- */

static bool writes(const OpInfo *op) { return op->mem != MEM_READ && op->mem != MEM_NONE; }

static bool may_share_memory(const OpInfo *a, const OpInfo *b)
{
    u8 x = a->space == SPACE_SHARED_CLUSTER ? SPACE_SHARED : a->space,
       y = b->space == SPACE_SHARED_CLUSTER ? SPACE_SHARED : b->space;
    bool named = (x == SPACE_SHARED || x == SPACE_GLOBAL) && (y == SPACE_SHARED || y == SPACE_GLOBAL);
    return !named || x == y;
}

/* Whether, of all that is known of both, some two threads may touch the same bytes. */
static bool may_conflict(const AccessPair *q, const Instr *a, const Instr *b)
{
    Prover *p = q->p;
    if (!prove_is_plain_access(a->op) || !prove_is_plain_access(b->op))
        return true;
    if (prove_is_private_access(a->op) || prove_is_private_access(b->op) || !may_share_memory(a->op, b->op) ||
        (!writes(a->op) && !writes(b->op)))
        return false;
    if (bitset_has(&p->stays, a->origin) || bitset_has(&p->stays, b->origin))
        return true;
    for (u32 i = 0; i < p->accesses.n; i++)
        for (u32 k = 0; k < p->accesses.n; k++)
            if (p->accesses.v[i].at == a && p->accesses.v[k].at == b &&
                !excludes_overlap(q, &p->accesses.v[i], &p->accesses.v[k]))
                return true;
    return false;
}

static void check_pairs(const AccessPair *q, const Instr *barrier, const Instrs *above, const Instrs *below)
{
    Prover *p = q->p;
    const Function *fn = p->side[PROVE_BEFORE].fn;
    u32 line = prove_line(fn, barrier);
    if ((u64)above->n * below->n > PAIRS_MAX)
        prove_fail(p, PROVE_UNKNOWN, "limit: too many accesses around the barrier in line %u", line);
    for (u32 i = 0; i < above->n && !p->failed; i++)
        for (u32 k = 0; k < below->n && !p->failed; k++)
            if (may_conflict(q, above->v[i], below->v[k]))
                prove_fail(p, PROVE_UNKNOWN, "barrier: that in line %u may order `%.40s` in line %u and `%.40s` in line %u",
                           line, above->v[i]->op->text->text, prove_line(fn, above->v[i]), below->v[k]->op->text->text,
                           prove_line(fn, below->v[k]));
}

/* `left`: accesses of threads that leave instead of coming to the barrier, which waits for them until they have. They may have left
 * in any iteration of a loop. */
static void check_barrier(Prover *p, const Instr *barrier, const Instrs *left)
{
    const Graph *g = &p->side[PROVE_BEFORE].g;
    Region above = {.p = p, .backward = true, .seen = bitset_new(p->arena, g->n)};
    Region below = {.p = p, .seen = bitset_new(p->arena, g->n)};
    walk(&above, barrier);
    walk(&below, barrier);
    AccessPair q = {.p = p, .between = &above.seen};
    bitset_or(&above.seen, &below.seen);
    check_pairs(&q, barrier, &above.found, &below.found);
    BitSet anywhere = bitset_new(p->arena, g->n);
    for (u32 id = 0; id < g->n; id++)
        bitset_add(&anywhere, id);
    check_pairs(&(AccessPair){p, &anywhere}, barrier, left, &below.found);
    vec_free(&above.found);
    vec_free(&below.found);
}

/* ---- what else asks for the barrier ------------------------------------------------------------------------------------------------ */

/* Whether control goes from here only out of the kernel, past no barrier; what matters on the way is put into `left`. */
static bool only_leaves(Prover *p, const Graph *g, const Block *from, Instrs *left)
{
    VecU32 work = {0};
    BitSet seen = bitset_new(g->arena, g->n);
    u32 found = left->n;
    bool ends = true;
    vec_push(&work, from->id);
    while (work.n && ends) {
        const Block *b = fn_block(g->fn, vec_pop(&work));
        for (const Instr *i = b->first; i; i = i->next) {
            ends &= i->kind != INSTR_OP || !op_has(i->op, OPF_BARRIER | OPF_CALL);
            if (matters(p, i))
                vec_push(left, i);
        }
        ends &= !bitset_has(&g->loops, b->id);
        for (u32 edge = 0; edge < block_edge_count(b); edge++) {
            u32 to = block_edge_target(b, edge)->id;
            if (!bitset_has(&seen, to)) {
                bitset_add(&seen, to);
                vec_push(&work, to);
            }
        }
    }
    vec_free(&work);
    left->n = ends ? left->n : found;
    return ends;
}

/* Whether all threads of the block come to it together, those that have left aside. */
static bool is_reached_by_all(Prover *p, Graph *g, const Instr *barrier, Instrs *left)
{
    if (barrier->guard && bitset_has(&g->divergent, barrier->guard))
        return false;
    for (u32 k = 0; k < g->reachable; k++) {
        const Block *b = g->by_order[k];
        if (!bitset_has(&g->splits, b->id) || !prove_influences(g, b, barrier->block))
            continue;
        u32 others = 0;
        for (u32 edge = 0; edge < block_edge_count(b); edge++)
            others += !only_leaves(p, g, block_edge_target(b, edge), left);
        if (others > 1)
            return false;
    }
    return true;
}

/* Whether control may come from one instruction to the other. */
static bool comes_before(const Graph *g, const Instr *first, const Instr *second)
{
    VecU32 work = {0};
    BitSet seen = bitset_new(g->arena, g->n);
    bool found = false;
    for (const Instr *i = first; i; i = i->next)
        found |= i == second;
    vec_push(&work, first->block->id);
    while (work.n && !found) {
        const Block *b = fn_block(g->fn, vec_pop(&work));
        for (u32 edge = 0; edge < block_edge_count(b); edge++) {
            const Block *to = block_edge_target(b, edge);
            found |= to == second->block;
            if (!bitset_has(&seen, to->id)) {
                bitset_add(&seen, to->id);
                vec_push(&work, to->id);
            }
        }
    }
    vec_free(&work);
    return found;
}

/* Whether anything in the kernel may pair with the barrier but barriers of the block: counts, arrivals, barriers by register. One to
 * which only some threads come makes them pair with others later: those threads are one barrier ahead. */
static const char *asks_for_number(Prover *p, Graph *g, const Instr *barrier)
{
    Instrs unused = {0};
    const char *why = NULL;
    for_each_block(b, p->side[PROVE_BEFORE].fn)
        for_each_instr(i, b) {
            if (i->kind != INSTR_OP || why)
                continue;
            if (!i->op->known || (op_has(i->op, OPF_CALL) && prove_callee(&p->callees, i, p->arena) & CALLEE_BARRIER))
                why = "a call, which may hold a barrier";
            else if (!op_has(i->op, OPF_BARRIER) || (number_of(i) >= 0 && number_of(i) != number_of(barrier)))
                continue;
            else if (!is_of_block(i, true))
                why = "another kind of barrier of its number";
            else if (g->order[b->id] != UINT32_MAX && comes_before(g, i, barrier) && !is_reached_by_all(p, g, i, &unused))
                why = "not all threads may come to one of its number before it";
        }
    vec_free(&unused);
    return why;
}

static void check_one(Prover *p, const Instr *i)
{
    Graph *g = &p->of_block;
    Instrs left = {0};
    const char *why = asks_for_number(p, g, i);
    if (!why && bitset_has(&p->stays, i->origin))
        why = "it stays on other paths";
    if (!why && p->gathers)
        why = "something sees which threads are together";
    if (!why && !is_reached_by_all(p, g, i, &left))
        why = "not all threads may come to it";
    if (function_has_one_thread(g->fn))
        why = NULL;
    else if (why)
        prove_fail(p, PROVE_UNKNOWN, "barrier: that in line %u is left out: %s", prove_line(g->fn, i), why);
    else
        check_barrier(p, i, &left);
    vec_free(&left);
}

/* Whether b ends in `@p exit` or `@p ret`. */
static bool may_leave(const Block *b)
{
    const Instr *end = block_terminator(b);
    return end && end->guard && op_has(end->op, OPF_NO_RETURN);
}

/* Whether a branch that differs between threads decides which of them come to the barrier, or some leave under a guard. */
static bool may_miss_threads(Graph *g, const Instr *barrier)
{
    for (u32 k = 0; k < g->reachable; k++) {
        const Block *b = g->by_order[k];
        if (may_leave(b) || (bitset_has(&g->splits, b->id) && prove_influences(g, b, barrier->block)))
            return true;
    }
    return false;
}

static void check_weakened(Prover *p, const Instr *i)
{
    Graph *g = &p->side[PROVE_BEFORE].g;
    const char *why = asks_for_number(p, g, i);
    if (!why && (may_miss_threads(g, i) || (i->guard && bitset_has(&g->divergent, i->guard))))
        why = "not all threads may come to it";
    if (why)
        prove_fail(p, PROVE_UNKNOWN, "barrier: that in line %u is one of the warp now: %s", prove_line(g->fn, i), why);
}

void prove_barriers(Prover *p)
{
    const char *why;
    if (p->skipped.word && !prove_graph_init(&p->of_block, p->side[PROVE_BEFORE].fn, false, false, p->arena, &why))
        prove_fail(p, PROVE_UNKNOWN, "limit: %s", why);
    for_each_block(b, p->side[PROVE_BEFORE].fn)
        for_each_instr(i, b) {
            if (p->failed || i->kind != INSTR_OP)
                continue;
            if (is_skipped(p, i))
                check_one(p, i);
            if (p->weakened.word && bitset_has(&p->weakened, i->origin))
                check_weakened(p, i);
        }
}
