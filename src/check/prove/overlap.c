/* Whether two threads of a block can touch one byte: terms of one thread are restated for the other. */
#include "check/prove/overlap.h"

#include <string.h>

enum { OTHER_THREAD = 1 << 30 };

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
    const Node *n = q->p->product.nodes.v[s->owner];
    if (s->detail >= n->slots[0] || bitset_has(&q->p->barriers.of_block.divergent, n->reg[s->detail]))
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
        all *= fn->tuning.block_shape[c] > 0 ? (u64)fn->tuning.block_shape[c] : 1024;
    u64 most =
        fn->tuning.shape_exact && fn->tuning.block_shape[dimension] > 0 ? (u64)fn->tuning.block_shape[dimension] : all;
    return most > 1024 ? 1023 : most - 1;
}

/* Lists what directives say of the block's shape, and that the threads differ. */
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
        const Name *name = t->name.v[prove_sym_of(t, x)->detail];
        const u64 *id = fnvmap_find(&p->side[PROVE_BEFORE].named, (u64)(uintptr_t)name);
        if (id)
            return &m->syms.v[*id];
    }
    return NULL;
}

/* Whether the access by an address in the variable goes nowhere else, by what is known of the distance from its beginning. */
static bool stays_inside(Prover *p, const Access *x, const Sym *variable, Term base)
{
    Terms *t = &p->t;
    u32 mark = p->facts.all.n;
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
    bool line = fn->tuning.shape_exact && fn->tuning.block_shape[1] == 1 && fn->tuning.block_shape[2] == 1;
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

static bool writes(const OpInfo *op) { return op->mem != MEM_READ && op->mem != MEM_NONE; }

static bool may_share_memory(const OpInfo *a, const OpInfo *b)
{
    u8 x = a->space == SPACE_SHARED_CLUSTER ? SPACE_SHARED : a->space,
       y = b->space == SPACE_SHARED_CLUSTER ? SPACE_SHARED : b->space;
    bool named = (x == SPACE_SHARED || x == SPACE_GLOBAL) && (y == SPACE_SHARED || y == SPACE_GLOBAL);
    return !named || x == y;
}

bool prove_may_conflict(const AccessPair *q, const Instr *a, const Instr *b)
{
    Prover *p = q->p;
    if (!prove_is_plain_access(a->op) || !prove_is_plain_access(b->op))
        return true;
    if (prove_is_private_access(a->op) || prove_is_private_access(b->op) || !may_share_memory(a->op, b->op) ||
        (!writes(a->op) && !writes(b->op)))
        return false;
    if (bitset_has(&p->barriers.stays, a->origin) || bitset_has(&p->barriers.stays, b->origin))
        return true;
    for (u32 i = 0; i < p->barriers.accesses.n; i++)
        for (u32 k = 0; k < p->barriers.accesses.n; k++)
            if (p->barriers.accesses.v[i].at == a && p->barriers.accesses.v[k].at == b &&
                !excludes_overlap(q, &p->barriers.accesses.v[i], &p->barriers.accesses.v[k]))
                return true;
    return false;
}
