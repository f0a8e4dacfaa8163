#include "check/prove/barrier.h"

#include <string.h>

#include "check/prove/overlap.h"

enum { CONTEXTS_MAX = 8 /* of one access */, PAIRS_MAX = 4000 };

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

/* Whether the instruction waits for all threads of the block, maybe to reduce a value. */
static bool waits_for_all(const Instr *i) { return is_of_block(i, true) && !i->guard; }

static bool is_skipped(const Prover *p, const Instr *i)
{
    return p->barriers.skipped.word && bitset_has(&p->barriers.skipped, i->origin);
}

bool prove_skip_barrier(Prover *p, const Instr *i)
{
    const Function *fn = p->side[PROVE_BEFORE].fn;
    bool of_one = function_has_one_thread(fn) && is_of_block(i, false);
    if (!of_one && (!is_full_barrier(i) || !fn->is_entry))
        return false;
    if (!p->barriers.skipped.word) {
        p->barriers.skipped = bitset_new(p->arena, fn->edits.origins + 1);
        p->barriers.stays = bitset_new(p->arena, fn->edits.origins + 1);
    }
    bitset_add(&p->barriers.skipped, i->origin);
    return true;
}

bool prove_weaken_barrier(Prover *p, const Instr *before, const Instr *after)
{
    const Function *fn = p->side[PROVE_BEFORE].fn;
    u32 lanes = function_warp_lanes(fn);
    bool of_warp = after->op->opcode == OPC_BAR_WARP_SYNC && after->opnd[0].kind == OPND_IMM;
    if (!lanes || !is_of_block(before, false) || !of_warp || (u32)after->opnd[0].value != lanes)
        return false;
    if (!p->barriers.weakened.word)
        p->barriers.weakened = bitset_new(p->arena, fn->edits.origins + 1);
    bitset_add(&p->barriers.weakened, before->origin);
    return true;
}

/* ---- accesses ------------------------------------------------------------------------------------------------------------ */

static void note_access(Prover *p, const Instr *i)
{
    u32 known = 0;
    for (u32 k = 0; k < p->barriers.accesses.n; k++)
        known += p->barriers.accesses.v[k].at == i;
    if (known >= CONTEXTS_MAX) {
        bitset_add(&p->barriers.stays, i->origin); /* too many to look at: see may_conflict */
        return;
    }
    Access a = {.at = i, .bytes = i->op->access_bytes};
    for_each_operand(o, i)
        if (o->kind == OPND_MEM)
            a.address = prove_address(&p->side[PROVE_BEFORE], i->op, o);
    Term *fact = arena_array(p->arena, Term, p->facts.all.n + 1);
    for (u32 k = 0; k < p->facts.all.n; k++) {
        Fact f = p->facts.all.v[k];
        if (prove_is_newest_fact(&p->facts, k))
            fact[a.facts++] = prove_in(&p->t, f.term, f.set);
    }
    fact[a.facts++] = prove_guard(&p->side[PROVE_BEFORE], i);
    a.fact = fact;
    vec_push(&p->barriers.accesses, a);
}

void prove_note_event(Prover *p, const Instr *i)
{
    if (!p->barriers.skipped.word || !p->product.values_hold)
        return;
    if (is_full_barrier(i))
        bitset_add(&p->barriers.stays, i->origin);
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

/* A barrier of the warp joins threads that all come to the barrier of the block, too: their accesses are looked at themselves. An
 * activemask touches nothing; is_seen asks what it sees. */
static bool matters(Prover *p, const Instr *i)
{
    if (i->kind == INSTR_OP && (i->op->opcode == OPC_BAR_WARP_SYNC || i->op->opcode == OPC_ACTIVEMASK))
        return false;
    if (i->kind == INSTR_OP && op_has(i->op, OPF_CALL))
        return prove_callee(p->threads.callees, i) & CALLEE_TOUCHES;
    return i->kind == INSTR_OP && prove_touches_memory(i);
}

/* Walks from the instruction on to the block's end. False: a barrier that stays is in between. */
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
    const ProveGraph *g = &r->p->side[PROVE_BEFORE].g;
    const Graph *edges = r->backward ? &g->pred : &g->succ;
    VecU32 work = {0};
    if (walk_block(r, r->backward ? barrier->prev : barrier->next))
        vec_push(&work, barrier->block->id);
    while (work.n) {
        u32 id = vec_pop(&work);
        for_each_edge(e, edges, id) {
            if (!bitset_add(&r->seen, edges->to[e]))
                continue;
            const Block *b = fn_block(g->fn, edges->to[e]);
            if (walk_block(r, r->backward ? b->last : b->first))
                vec_push(&work, b->id);
        }
    }
    vec_free(&work);
}

/* ---- pairs ---------------------------------------------------------------------------------------------------------------------- */

/* Reads in a loop what a thread may wait for. A thread that goes on relies on what came before, and is relied on in what
 * follows. */
static bool polls(const Prover *p, const Instr *i)
{
    return i->op->mem == MEM_READ && !prove_is_private_access(i->op) && bitset_has(&p->barriers.polling, i->block->id);
}

/* Whether other blocks may see what is accessed. Those of a cluster may see its shared memory. */
static bool is_seen_outside(const Prover *p, const Instr *i)
{
    return i->op->space != SPACE_SHARED || p->barriers.sees_clusters;
}

/* Whether the barrier is in front of a store that another block may poll to see what is done. */
static bool signals(const Prover *p, const Instr *above, const Instr *below)
{
    bool writes = below->op->mem != MEM_READ && below->op->mem != MEM_NONE;
    return writes && is_seen_outside(p, above) && is_seen_outside(p, below);
}

/* Whether a thread may wait, in this text, for what the barrier orders, whatever both touch. */
static bool is_waited_for(const Prover *p, const Instr *above, const Instr *below)
{
    return polls(p, above) || polls(p, below) || (p->barriers.polls && signals(p, above, below));
}

static void fail_to_order(Prover *p, const Instr *barrier, const Instr *above, const Instr *below)
{
    const Function *fn = p->side[PROVE_BEFORE].fn;
    const char *kind = is_waited_for(p, above, below) ? "waiting: the barrier" : "barrier: that";
    if (is_waited_for(p, above, below))
        prove_blame_threads(p);
    prove_fail(p, PROVE_UNKNOWN, "%s in line %u may order `%.40s` in line %u and `%.40s` in line %u", kind,
               prove_line(fn, barrier), above->op->text->text, prove_line(fn, above), below->op->text->text,
               prove_line(fn, below));
}

static void check_pairs(const AccessPair *q, const Instr *barrier, const Instrs *above, const Instrs *below)
{
    Prover *p = q->p;
    bool threads_alone = p->options->threads_alone;
    if ((u64)above->n * below->n > PAIRS_MAX)
        prove_fail(p, PROVE_UNKNOWN, "limit: too many accesses around the barrier in line %u",
                   prove_line(p->side[PROVE_BEFORE].fn, barrier));
    for (u32 i = 0; i < above->n && !p->outcome.failed; i++)
        for (u32 k = 0; k < below->n && !p->outcome.failed; k++)
            if (is_waited_for(p, above->v[i], below->v[k]) ||
                (!threads_alone &&
                 (signals(p, above->v[i], below->v[k]) || prove_may_conflict(q, above->v[i], below->v[k]))))
                fail_to_order(p, barrier, above->v[i], below->v[k]);
}

/* `left`: accesses of threads that leave instead of coming to the barrier, which waits for them until they have. They may have left
 * in any iteration of a loop. */
static void check_barrier(Prover *p, const Instr *barrier, const Instrs *left)
{
    const ProveGraph *g = &p->side[PROVE_BEFORE].g;
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
static bool only_leaves(Prover *p, const ProveGraph *g, const Block *from, Instrs *left)
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
        for_each_edge(e, &g->succ, b->id)
            if (bitset_add(&seen, g->succ.to[e]))
                vec_push(&work, g->succ.to[e]);
    }
    vec_free(&work);
    left->n = ends ? left->n : found;
    return ends;
}

/* Whether all threads of the block come to it together, those that have left aside. */
static bool is_reached_by_all(Prover *p, ProveGraph *g, const Instr *barrier, Instrs *left)
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
static bool comes_before(ProveGraph *g, const Instr *first, const Instr *second)
{
    for (const Instr *i = first; i; i = i->next)
        if (i == second)
            return true;
    return bitset_has(prove_reach(g, first->block, PROVE_NO_BLOCK), second->block->id);
}

/* Whether anything in the kernel may pair with the barrier but barriers of the block: counts, arrivals, barriers by register. One to
 * which only some threads come makes them pair with others later: those threads are one barrier ahead. */
static const char *asks_for_number(Prover *p, ProveGraph *g, const Instr *barrier)
{
    Instrs unused = {0};
    const char *why = NULL;
    for_each_block(b, p->side[PROVE_BEFORE].fn)
        for_each_instr(i, b) {
            if (i->kind != INSTR_OP || why)
                continue;
            if (!i->op->known || (op_has(i->op, OPF_CALL) && prove_callee(p->threads.callees, i) & CALLEE_BARRIER))
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

/* Whether something sees which threads are together, once they were at the barrier: it brings them together for that. What only
 * comes before sees no thread that has been there. */
static bool is_seen(Prover *p, ProveGraph *g, const Instr *barrier)
{
    if (!p->threads.gathers || p->threads.callers_see)
        return p->threads.gathers;
    const BitSet *behind = prove_reach(g, barrier->block, PROVE_NO_BLOCK);
    bool seen = false;
    for_each_block(b, p->side[PROVE_BEFORE].fn)
        for_each_instr(i, b)
            seen |= prove_gathers(p, i) && bitset_has(behind, b->id);
    for (const Instr *i = barrier; i; i = i->next)
        seen |= prove_gathers(p, i);
    return seen;
}

static void check_one(Prover *p, const Instr *i)
{
    ProveGraph *g = &p->barriers.of_block;
    Instrs left = {0};
    const char *why = asks_for_number(p, g, i);
    if (!why && bitset_has(&p->barriers.stays, i->origin))
        why = "it stays on other paths";
    if (!why && is_seen(p, g, i))
        why = "something sees which threads are together";
    if (!why && !is_reached_by_all(p, g, i, &left))
        why = "not all threads may come to it";
    if (function_has_one_thread(g->fn))
        why = NULL;
    else if (why && !p->options->threads_alone)
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
static bool may_miss_threads(ProveGraph *g, const Instr *barrier)
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
    ProveGraph *g = &p->side[PROVE_BEFORE].g;
    const char *why = asks_for_number(p, g, i);
    if (!why && (may_miss_threads(g, i) || (i->guard && bitset_has(&g->divergent, i->guard))))
        why = "not all threads may come to it";
    if (why)
        prove_fail(p, PROVE_UNKNOWN, "barrier: that in line %u is one of the warp now: %s", prove_line(g->fn, i), why);
}

static void find_clusters(Prover *p)
{
    for_each_block(b, p->side[PROVE_BEFORE].fn)
        for_each_instr(i, b)
            p->barriers.sees_clusters |=
                i->kind == INSTR_OP &&
                (i->op->opcode == OPC_MAPA || i->op->space == SPACE_SHARED_CLUSTER || op_has(i->op, OPF_CALL));
}

static void find_polling(Prover *p)
{
    ProveGraph *g = &p->side[PROVE_BEFORE].g;
    Waits waits = prove_waits(g, p->threads.callees);
    BitSet body = bitset_new(p->arena, g->n);
    p->barriers.polling = bitset_new(p->arena, g->n);
    p->barriers.polls = waits.loops > 0;
    for (u32 k = 0; k < waits.loops; k++)
        if (prove_loop_body(g, waits.loop[k].header, NULL, &body))
            bitset_or(&p->barriers.polling, &body);
}

void prove_barriers(Prover *p)
{
    const char *why;
    if (p->barriers.skipped.word &&
        !prove_graph_init(&p->barriers.of_block, p->side[PROVE_BEFORE].fn, false, false, p->arena, &why))
        prove_fail(p, PROVE_UNKNOWN, "limit: %s", why);
    if (p->barriers.skipped.word) {
        find_polling(p);
        find_clusters(p);
    }
    for_each_block(b, p->side[PROVE_BEFORE].fn)
        for_each_instr(i, b) {
            if (p->outcome.failed || i->kind != INSTR_OP)
                continue;
            if (is_skipped(p, i))
                check_one(p, i);
            if (p->barriers.weakened.word && bitset_has(&p->barriers.weakened, i->origin) && !p->options->threads_alone)
                check_weakened(p, i);
        }
}
