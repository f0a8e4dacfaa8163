#include "prove/graph.h"

#include <string.h>

enum { LIVE_BYTES_MAX = 512 << 20, INFLUENCE_BYTES_MAX = 256 << 20, BLOCKS_REACHED_MAX = 1 << 24 };

/* ---- order and joins --------------------------------------------------------------------------------------------- */

typedef struct Walk {
    Block *block;
    u32 edge;
} Walk;

static void find_order(Graph *g)
{
    VEC(Walk) stack = {0};
    u8 *seen = mem_zalloc(g->n);
    u32 *post = mem_alloc(sizeof *post * g->n), n = 0;
    vec_push(&stack, ((Walk){g->fn->entry, 0}));
    seen[g->fn->entry->id] = 1;
    while (stack.n) {
        Walk *w = &vec_last(&stack);
        if (w->edge == block_edge_count(w->block)) {
            post[n++] = w->block->id;
            stack.n--;
            continue;
        }
        Block *to = block_edge_target(w->block, w->edge++);
        if (!seen[to->id]) {
            seen[to->id] = 1;
            vec_push(&stack, ((Walk){to, 0}));
        }
    }
    g->reachable = n;
    for (u32 k = 0; k < n; k++) {
        g->order[post[k]] = n - 1 - k;
        g->by_order[n - 1 - k] = fn_block(g->fn, post[k]);
    }
    vec_free(&stack);
    free(seen);
    free(post);
}

static void find_joins(Graph *g)
{
    u32 edges = 0;
    for (u32 k = 0; k < g->reachable; k++)
        for (u32 edge = 0; edge < block_edge_count(g->by_order[k]); edge++)
            g->preds[block_edge_target(g->by_order[k], edge)->id]++, edges++;
    g->pred_start = arena_array(g->arena, u32, g->n + 1);
    g->pred = arena_array(g->arena, u32, edges);
    for (u32 id = 0; id < g->n; id++)
        g->pred_start[id + 1] = g->pred_start[id] + g->preds[id];
    u32 *at = mem_alloc(sizeof *at * (g->n + 1));
    memcpy(at, g->pred_start, sizeof *at * (g->n + 1));
    for (u32 k = 0; k < g->reachable; k++)
        for (u32 edge = 0; edge < block_edge_count(g->by_order[k]); edge++)
            g->pred[at[block_edge_target(g->by_order[k], edge)->id]++] = g->by_order[k]->id;
    free(at);
    for (u32 id = 0; id < g->n; id++)
        g->is_join[id] = g->preds[id] > (id != g->fn->entry->id) ? JOIN_LONE : JOIN_NONE;
    for (u32 k = 0; k < g->reachable; k++)
        for (u32 edge = 0; edge < block_edge_count(g->by_order[k]); edge++)
            if (g->order[block_edge_target(g->by_order[k], edge)->id] <= k)
                g->is_join[block_edge_target(g->by_order[k], edge)->id] = JOIN_LOOP;
}

/* ---- post-dominators: Cooper, Harvey and Kennedy on the reverse graph ------------------------------------------------ */

typedef struct Post {
    Graph *g;
    u32 *number; /* postorder number in the reverse graph, from the end of the function; 0: cannot reach it */
    u32 *block;  /* by number */
    u32 *idom;   /* by number */
    u32 n;
    u32 exit; /* the only block that ends the function; PROVE_NO_BLOCK: all do that end it */
} Post;

static bool leaves(const Block *b)
{
    const Instr *end = block_terminator(b);
    return b->falls_off || !b->fall || (end && op_has(end->op, OPF_NO_RETURN));
}

/* Whether ending the function here counts as an edge. */
static bool ends(const Graph *g, const Block *b, u32 exit)
{
    const Instr *end = block_terminator(b);
    if (exit != PROVE_NO_BLOCK)
        return b->id == exit;
    return block_edge_count(b) == 0 || (g->exits_part && end && op_has(end->op, OPF_NO_RETURN));
}

/* Numbers the blocks from which `end` blocks can be reached, in postorder of the reverse graph; the virtual end has the
 * highest number. */
static void number_reverse(Post *p)
{
    Graph *g = p->g;
    VEC(Walk) stack = {0};
    u8 *seen = mem_zalloc(g->n);
    for (u32 k = 0; k < g->reachable; k++) {
        if (!ends(g, g->by_order[k], p->exit) || seen[g->by_order[k]->id])
            continue;
        seen[g->by_order[k]->id] = 1;
        vec_push(&stack, ((Walk){g->by_order[k], 0}));
        while (stack.n) {
            Walk *w = &vec_last(&stack);
            u32 id = w->block->id;
            if (w->edge == g->preds[id]) {
                p->block[++p->n] = id;
                p->number[id] = p->n;
                stack.n--;
                continue;
            }
            u32 pred = g->pred[g->pred_start[id] + w->edge++];
            if (!seen[pred]) {
                seen[pred] = 1;
                vec_push(&stack, ((Walk){fn_block(g->fn, pred), 0}));
            }
        }
    }
    vec_free(&stack);
    free(seen);
}

static u32 intersect(const Post *p, u32 a, u32 b)
{
    while (a != b)
        if (a < b)
            a = p->idom[a];
        else
            b = p->idom[b];
    return a;
}

static bool improve(Post *p, u32 number, u32 end)
{
    const Block *b = fn_block(p->g->fn, p->block[number]);
    u32 found = ends(p->g, b, p->exit) ? end : 0;
    for (u32 edge = 0; edge < block_edge_count(b); edge++) {
        u32 to = p->number[block_edge_target(b, edge)->id];
        if (to && p->idom[to])
            found = found ? intersect(p, found, to) : to;
    }
    bool changed = found && p->idom[number] != found;
    if (found)
        p->idom[number] = found;
    return changed;
}

/* Blocks that cannot reach the end of the function have no reconvergence point: threads that diverge there need not reconverge. */
void prove_find_postdoms(Graph *g, u32 exit)
{
    Post p = {.g = g, .exit = exit};
    p.number = mem_zalloc(sizeof(u32) * g->n);
    p.block = mem_zalloc(sizeof(u32) * (g->n + 2));
    p.idom = mem_zalloc(sizeof(u32) * (g->n + 2));
    number_reverse(&p);
    u32 end = p.n + 1;
    p.idom[end] = end;
    for (bool again = true; again;) {
        again = false;
        for (u32 k = p.n; k > 0; k--)
            again |= improve(&p, k, end);
    }
    for (u32 id = 0; id < g->n; id++) {
        u32 up = p.number[id] ? p.idom[p.number[id]] : 0;
        g->postdom[id] = up && up != end ? p.block[up] : PROVE_NO_BLOCK;
    }
    free(p.number);
    free(p.block);
    free(p.idom);
}

/* ---- influence --------------------------------------------------------------------------------------------------- */

const BitSet *prove_reach(Graph *g, const Block *b, u32 stop)
{
    BitSet *set = arena_new(g->arena, BitSet);
    VecU32 work = {0};
    *set = bitset_new(g->arena, g->n);
    vec_push(&work, b->id);
    while (work.n) {
        const Block *at = fn_block(g->fn, vec_pop(&work));
        g->reached++;
        for (u32 edge = 0; edge < block_edge_count(at); edge++) {
            u32 to = block_edge_target(at, edge)->id;
            if (to != stop && bitset_add(set, to))
                vec_push(&work, to);
        }
    }
    vec_free(&work);
    return set;
}

const BitSet *prove_influence(Graph *g, const Block *b)
{
    if (!g->influence[b->id])
        g->influence[b->id] = prove_reach(g, b, g->postdom[b->id]);
    return g->influence[b->id];
}

bool prove_influences(Graph *g, const Block *b, const Block *at) { return bitset_has(prove_influence(g, b), at->id); }

/* ---- reads and writes ---------------------------------------------------------------------------------------------- */

void prove_reads(const Instr *i, ProveVisit *visit, void *user)
{
    if (i->kind != INSTR_OP)
        return;
    if (i->guard)
        visit(user, i->guard);
    if (op_has(i->op, OPF_CARRY_IN) || (i->guard && op_has(i->op, OPF_CARRY_OUT)))
        visit(user, PROVE_CARRY);
    for_each_slot(o, i)
        if (slot_is_use(o) || (o->kind == OPND_REG && (i->guard || o->sub)))
            visit(user, o->id);
}

void prove_writes(const Instr *i, ProveVisit *visit, void *user)
{
    if (i->kind != INSTR_OP)
        return;
    if (op_has(i->op, OPF_CARRY_OUT))
        visit(user, PROVE_CARRY);
    for_each_slot(o, i)
        if (slot_is_def(o))
            visit(user, o->id);
}

/* ---- liveness ------------------------------------------------------------------------------------------------------ */

static void add(void *user, RegId reg) { bitset_add(user, reg); }
static void del(void *user, RegId reg) { bitset_del(user, reg); }

static void step_back(const Instr *i, BitSet *live)
{
    prove_writes(i, del, live);
    prove_reads(i, add, live);
}

static void live_out(const Graph *g, const Block *b, BitSet *out)
{
    for (u32 edge = 0; edge < block_edge_count(b); edge++)
        bitset_or(out, &g->live_in[block_edge_target(b, edge)->id]);
    for (u32 r = 1; leaves(b) && r < g->fn->regs.n; r++)
        if (fn_reg(g->fn, r)->is_param)
            bitset_add(out, r);
}

void prove_live_at(const Graph *g, const Block *b, const Instr *i, BitSet *out)
{
    BitSet live = *out;
    live_out(g, b, &live);
    for (const Instr *k = b->last; k && i; k = k->prev) {
        step_back(k, &live);
        if (k == i)
            break;
    }
}

static void find_live(Graph *g)
{
    u32 regs = g->fn->regs.n;
    g->live_in = arena_array(g->arena, BitSet, g->n);
    for (u32 k = 0; k < g->reachable; k++)
        g->live_in[g->by_order[k]->id] = bitset_new(g->arena, regs);
    BitSet live = bitset_new(g->arena, regs);
    for (bool again = true; again;) {
        again = false;
        for (u32 k = g->reachable; k-- > 0;) {
            Block *b = g->by_order[k];
            bitset_clear(&live);
            prove_live_at(g, b, b->first, &live);
            again |= bitset_or(&g->live_in[b->id], &live);
        }
    }
}

/* ---- uniformity: of a block's threads, by register and for the whole function ------------------------------------------ */

typedef struct Uniform {
    Graph *g;
    BitSet tainted; /* blocks that threads may come to apart */
    BitSet fixed;   /* registers that hold one and the same value, in all threads and at all times, once they are written */
    BitSet written; /* registers, so far */
    bool found;     /* in this instruction: something that differs */
    bool changed;
} Uniform;

static void see(void *user, RegId reg)
{
    Uniform *u = user;
    u->found |= bitset_has(&u->g->divergent, reg);
}

static void taint(void *user, RegId reg)
{
    Uniform *u = user;
    u->changed |= !bitset_has(&u->g->divergent, reg);
    bitset_add(&u->g->divergent, reg);
}

static void taint_unless_fixed(void *user, RegId reg)
{
    Uniform *u = user;
    if (!bitset_has(&u->fixed, reg))
        taint(user, reg);
}

static void not_fixed(void *user, RegId reg)
{
    Uniform *u = user;
    u->changed |= bitset_has(&u->fixed, reg);
    bitset_del(&u->fixed, reg);
}

static void fix_first(void *user, RegId reg)
{
    Uniform *u = user;
    if (bitset_has(&u->written, reg))
        bitset_del(&u->fixed, reg);
    else
        bitset_add(&u->fixed, reg);
    bitset_add(&u->written, reg);
}

static void see_not_fixed(void *user, RegId reg)
{
    Uniform *u = user;
    u->found |= !bitset_has(&u->fixed, reg);
}

/* A parameter of the kernel, or constant memory. The parameters of a function may differ among its caller's threads. */
static bool reads_constant_memory(const Function *fn, const Instr *i)
{
    const OpInfo *op = i->op;
    if (op->opcode != OPC_LD || op->strength != STRENGTH_WEAK || i->slots < 3)
        return false;
    const Operand *base = instr_operand(i, 1) + 1;
    return op->space == SPACE_CONST || (op->space == SPACE_PARAM && fn->is_entry && base->kind == OPND_SYM &&
                                        fn->module->syms.v[base->id].kind == SYM_PARAM);
}

static bool makes_difference(const Function *fn, const Instr *i)
{
    if (!op_is_pure(i->op) && !op_has(i->op, OPF_CARRY_IN | OPF_CARRY_OUT) && !reads_constant_memory(fn, i))
        return true;
    for_each_slot(o, i)
        if (o->kind == OPND_SREG && (sreg_info(o->id)->uniformity != UNI_CTA || sreg_info(o->id)->is_volatile))
            return true;
    return i->op->uniformity != UNI_OPERANDS;
}

/* What votes of all lanes return is the same in a block of one warp. */
static bool is_same_in_warp(const Function *fn, const Instr *i)
{
    u32 lanes = function_warp_lanes(fn);
    const Operand *mask = i->slots ? &i->opnd[i->slots - 1] : NULL;
    return lanes && i->op->uniformity == UNI_MEMBERS && !i->guard && mask && mask->kind == OPND_IMM &&
           ((u32)mask->value & lanes) == lanes;
}

static void split_threads(Uniform *u, const Block *b)
{
    bitset_add(&u->g->splits, b->id);
    u->changed = true;
    bitset_or(&u->tainted, prove_influence(u->g, b));
}

/* A branch of BEFORE that promises to be uniform is believed. */
static void look_at(Uniform *u, const Block *b)
{
    for_each_instr(i, b) {
        if (i->kind != INSTR_OP)
            continue;
        u->found = false;
        prove_reads(i, see, u);
        if (op_has(i->op, OPF_TERMINATOR)) {
            bool branches = block_edge_count(b) > 1 || (i->guard && op_has(i->op, OPF_NO_RETURN));
            if (u->found && branches && !(u->g->believes && op_has(i->op, OPF_UNIFORM_HINT)) &&
                !bitset_has(&u->g->splits, b->id))
                split_threads(u, b);
        } else if ((u->found || makes_difference(u->g->fn, i)) && !is_same_in_warp(u->g->fn, i)) {
            prove_writes(i, taint, u);
        } else if (bitset_has(&u->tainted, b->id)) {
            prove_writes(i, taint_unless_fixed, u);
        }
    }
}

/* Registers with one write, by an instruction that computes the same of the same, of registers that are such. A guarded write, or
 * one of a part, also reads its register, which is not such yet. */
static void find_fixed(Uniform *u)
{
    const Graph *g = u->g;
    for (u32 k = 0; k < g->reachable; k++)
        for_each_instr(i, g->by_order[k])
            prove_writes(i, fix_first, u);
    bitset_andnot(&u->fixed, &g->divergent);
    do {
        u->changed = false;
        for (u32 k = 0; k < g->reachable; k++)
            for_each_instr(i, g->by_order[k]) {
                if (i->kind != INSTR_OP || op_has(i->op, OPF_TERMINATOR))
                    continue;
                u->found = i->guard || makes_difference(g->fn, i);
                prove_reads(i, see_not_fixed, u);
                if (u->found)
                    prove_writes(i, not_fixed, u);
            }
    } while (u->changed);
}

/* False: branches lead to too many blocks. A register that differs between threads after one of its writes is divergent everywhere;
 * one that is live into the entry was never written, and may differ too. */
static bool find_uniform(Graph *g)
{
    Uniform u = {.g = g};
    u.tainted = bitset_new(g->arena, g->n);
    bitset_or(&g->divergent, &g->live_in[g->fn->entry->id]);
    for (u32 r = 1; r < g->fn->regs.n; r++)
        if (fn_reg(g->fn, r)->is_param)
            bitset_add(&g->divergent, r);
    u.fixed = bitset_new(g->arena, g->fn->regs.n);
    u.written = bitset_new(g->arena, g->fn->regs.n);
    find_fixed(&u);
    do {
        u.changed = false;
        for (u32 k = 0; k < g->reachable && g->reached <= BLOCKS_REACHED_MAX; k++)
            look_at(&u, g->by_order[k]);
    } while (u.changed && g->reached <= BLOCKS_REACHED_MAX);
    return g->reached <= BLOCKS_REACHED_MAX;
}

/* A back edge makes all blocks between its ends in the order, a superset of its loop, one region: control that leaves it goes on to
 * later ones only, and never comes back. */
static void find_loops(Graph *g)
{
    u32 *last = arena_array(g->arena, u32, g->n), end = 0,
        region = 0; /* by order, where back edges to it come from, plus 1 */
    g->loops = bitset_new(g->arena, g->n);
    g->region = arena_array(g->arena, u32, g->n);
    for (u32 k = 0; k < g->reachable; k++)
        for (u32 edge = 0; edge < block_edge_count(g->by_order[k]); edge++) {
            u32 head = g->order[block_edge_target(g->by_order[k], edge)->id];
            if (head <= k && last[head] < k + 1)
                last[head] = k + 1;
        }
    for (u32 k = 0; k < g->reachable; k++) {
        region += last[k] && k >= end;
        end = last[k] > end ? last[k] : end;
        if (k >= end)
            continue;
        bitset_add(&g->loops, g->by_order[k]->id);
        g->region[g->by_order[k]->id] = region;
    }
}

bool prove_loop_body(const Graph *g, u32 header, const BitSet *latches, BitSet *body)
{
    VecU32 work = {0};
    bool is_loop = false;
    bitset_clear(body);
    bitset_add(body, header);
    for (u32 k = 0; k < g->preds[header]; k++) {
        u32 latch = g->pred[g->pred_start[header] + k];
        if (g->order[latch] < g->order[header] || (latches && !bitset_has(latches, latch)))
            continue;
        is_loop = true;
        if (bitset_add(body, latch))
            vec_push(&work, latch);
    }
    while (work.n) {
        u32 id = vec_pop(&work);
        for (u32 k = 0; k < g->preds[id]; k++) {
            u32 pred = g->pred[g->pred_start[id] + k];
            if (bitset_add(body, pred))
                vec_push(&work, pred);
        }
    }
    vec_free(&work);
    return is_loop;
}

bool prove_graph_init(Graph *g, Function *fn, bool believes, bool exits_part, Arena *arena, const char **why)
{
    *g = (Graph){.arena = arena, .fn = fn, .n = fn->blocks.n, .believes = believes, .exits_part = exits_part};
    g->order = arena_array(arena, u32, g->n);
    memset(g->order, 0xff, sizeof *g->order * g->n);
    g->by_order = arena_array(arena, Block *, g->n);
    g->preds = arena_array(arena, u32, g->n);
    g->is_join = arena_array(arena, u8, g->n);
    g->postdom = arena_array(arena, u32, g->n);
    g->influence = arena_array(arena, const BitSet *, g->n);
    g->divergent = bitset_new(arena, fn->regs.n);
    g->splits = bitset_new(arena, g->n);
    find_order(g);
    if ((u64)g->reachable * fn->regs.n / 8 > LIVE_BYTES_MAX) {
        *why = "the function has too many blocks and registers";
        return false;
    }
    if ((u64)g->reachable * g->reachable / 8 > INFLUENCE_BYTES_MAX) {
        *why = "the function has too many blocks";
        return false;
    }
    find_joins(g);
    prove_find_postdoms(g, PROVE_NO_BLOCK);
    find_live(g);
    if (!find_uniform(g)) {
        *why = "the function has too many blocks that its branches lead to";
        return false;
    }
    find_loops(g);
    return true;
}
