#include "check/prove/graph.h"

#include <string.h>

enum { LIVE_BYTES_MAX = 512 << 20, INFLUENCE_BYTES_MAX = 256 << 20, BLOCKS_REACHED_MAX = 1 << 24 };

/* ---- order and joins --------------------------------------------------------------------------------------------- */

/* The edges of all blocks, by id, and the order of those that can be reached. */
static void find_order(ProveGraph *g, VecU32 *from, VecU32 *to)
{
    for_each_block(b, g->fn)
        for (u32 edge = 0; edge < block_edge_count(b); edge++) {
            vec_push(from, b->id);
            vec_push(to, block_edge_target(b, edge)->id);
        }
    g->succ = graph_from_edges(g->arena, g->n, from->v, to->v, from->n);
    u32 *order = arena_array(g->arena, u32, g->n);
    g->reachable = graph_reverse_postorder(&g->succ, g->fn->entry->id, order);
    for (u32 k = 0; k < g->reachable; k++) {
        g->order[order[k]] = k;
        g->by_order[k] = fn_block(g->fn, order[k]);
    }
}

static void find_joins(ProveGraph *g, VecU32 *from, VecU32 *to)
{
    u32 n = 0;
    for (u32 k = 0; k < from->n; k++)
        if (g->order[from->v[k]] != UINT32_MAX) {
            from->v[n] = from->v[k];
            to->v[n++] = to->v[k];
        }
    g->pred = graph_from_edges(g->arena, g->n, to->v, from->v, n);
    for (u32 id = 0; id < g->n; id++)
        g->is_join[id] = prove_preds(g, id) > (id != g->fn->entry->id) ? JOIN_LONE : JOIN_NONE;
    for (u32 k = 0; k < n; k++)
        if (g->order[to->v[k]] <= g->order[from->v[k]])
            g->is_join[to->v[k]] = JOIN_LOOP;
}

/* ---- post-dominators ------------------------------------------------------------------------------------------------- */

static bool leaves(const Block *b)
{
    const Instr *end = block_terminator(b);
    return b->falls_off || !b->fall || (end && op_has(end->op, OPF_NO_RETURN));
}

/* Whether ending the function here counts as an edge. */
static bool ends(const ProveGraph *g, const Block *b, u32 exit)
{
    const Instr *end = block_terminator(b);
    if (exit != PROVE_NO_BLOCK)
        return b->id == exit;
    return block_edge_count(b) == 0 || (g->exits_part && end && op_has(end->op, OPF_NO_RETURN));
}

/* Dominators of the graph backwards, from a node for the end of the function. Blocks that cannot reach that have no reconvergence point:
 * threads that diverge there need not reconverge. */
void prove_find_postdoms(ProveGraph *g, u32 exit)
{
    Arena scratch = {0};
    VecU32 from = {0}, to = {0};
    for (u32 k = 0; k < g->reachable; k++) {
        const Block *b = g->by_order[k];
        for_each_edge(e, &g->succ, b->id) {
            vec_push(&from, b->id);
            vec_push(&to, g->succ.to[e]);
        }
        if (ends(g, b, exit)) {
            vec_push(&from, b->id);
            vec_push(&to, g->n);
        }
    }
    Graph on = graph_from_edges(&scratch, g->n + 1, from.v, to.v, from.n),
          back = graph_from_edges(&scratch, g->n + 1, to.v, from.v, from.n);
    u32 *above = arena_array(&scratch, u32, g->n + 1), *order = arena_array(&scratch, u32, g->n + 1);
    graph_dominators(&back, &on, g->n, above, order);
    for (u32 id = 0; id < g->n; id++)
        g->postdom[id] = above[id] == g->n || above[id] == GRAPH_NONE ? PROVE_NO_BLOCK : above[id];
    vec_free(&from);
    vec_free(&to);
    arena_free(&scratch);
}

/* ---- influence --------------------------------------------------------------------------------------------------- */

const BitSet *prove_reach(ProveGraph *g, const Block *b, u32 stop)
{
    BitSet *set = arena_new(g->arena, BitSet);
    VecU32 work = {0};
    *set = bitset_new(g->arena, g->n);
    if (stop != PROVE_NO_BLOCK)
        bitset_add(set, stop);
    vec_push(&work, b->id);
    g->reached += graph_spread(&g->succ, &work, set);
    if (stop != PROVE_NO_BLOCK)
        bitset_del(set, stop);
    return set;
}

const BitSet *prove_influence(ProveGraph *g, const Block *b)
{
    if (!g->influence[b->id])
        g->influence[b->id] = prove_reach(g, b, g->postdom[b->id]);
    return g->influence[b->id];
}

bool prove_influences(ProveGraph *g, const Block *b, const Block *at) { return bitset_has(prove_influence(g, b), at->id); }

/* ---- reads and writes ---------------------------------------------------------------------------------------------- */

bool prove_reads_any(const Instr *i, const BitSet *of)
{
    for (ProveReads r = prove_reads(i); prove_next_read(&r);)
        if (bitset_has(of, r.walk.reg))
            return true;
    return false;
}

bool prove_add_writes(const Instr *i, BitSet *to)
{
    bool added = false;
    for (RegWalk w = reg_walk(i); next_write(&w);)
        added |= bitset_add(to, w.reg);
    return added;
}

/* ---- liveness ------------------------------------------------------------------------------------------------------ */

static void step_back(const Instr *i, BitSet *live)
{
    for (RegWalk w = reg_walk(i); next_write(&w);)
        bitset_del(live, w.reg);
    for (ProveReads r = prove_reads(i); prove_next_read(&r);)
        bitset_add(live, r.walk.reg);
}

static void live_out(const ProveGraph *g, const Block *b, BitSet *out)
{
    for (u32 edge = 0; edge < block_edge_count(b); edge++)
        bitset_or(out, &g->live_in[block_edge_target(b, edge)->id]);
    for (u32 r = 1; leaves(b) && r < g->fn->regs.n; r++)
        if (fn_reg(g->fn, r)->is_param)
            bitset_add(out, r);
}

void prove_live_at(const ProveGraph *g, const Block *b, const Instr *i, BitSet *out)
{
    BitSet live = *out;
    live_out(g, b, &live);
    for (const Instr *k = b->last; k && i; k = k->prev) {
        step_back(k, &live);
        if (k == i)
            break;
    }
}

static void find_live(ProveGraph *g)
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
    ProveGraph *g;
    BitSet tainted; /* blocks that threads may come to apart */
    BitSet fixed;   /* registers that hold one and the same value, in all threads and at all times, once they are written */
    bool changed;
} Uniform;

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

/* Whether the instruction is a vote of all lanes in a block of one warp, where all get the same. */
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
        bool found = prove_reads_any(i, &u->g->divergent);
        if (op_has(i->op, OPF_TERMINATOR)) {
            bool branches = block_edge_count(b) > 1 || (i->guard && op_has(i->op, OPF_NO_RETURN));
            if (found && branches && !(u->g->believes && op_has(i->op, OPF_UNIFORM_HINT)) &&
                !bitset_has(&u->g->splits, b->id))
                split_threads(u, b);
        } else if ((found || makes_difference(u->g->fn, i)) && !is_same_in_warp(u->g->fn, i)) {
            u->changed |= prove_add_writes(i, &u->g->divergent);
        } else if (bitset_has(&u->tainted, b->id)) {
            for (RegWalk w = reg_walk(i); next_write(&w);)
                u->changed |= !bitset_has(&u->fixed, w.reg) && bitset_add(&u->g->divergent, w.reg);
        }
    }
}

/* Registers with one write, by an instruction that computes the same of the same, of registers that are such. A guarded write, or
 * one of a part, also reads its register, which is not such yet. */
static void find_fixed(Uniform *u)
{
    const ProveGraph *g = u->g;
    BitSet written = bitset_new(g->arena, g->fn->regs.n);
    for (u32 k = 0; k < g->reachable; k++)
        for_each_instr(i, g->by_order[k])
            for (RegWalk w = reg_walk(i); next_write(&w);)
                (bitset_add(&written, w.reg) ? bitset_add : bitset_del)(&u->fixed, w.reg);
    bitset_andnot(&u->fixed, &g->divergent);
    do {
        u->changed = false;
        for (u32 k = 0; k < g->reachable; k++)
            for_each_instr(i, g->by_order[k]) {
                if (i->kind != INSTR_OP || op_has(i->op, OPF_TERMINATOR))
                    continue;
                bool differs = i->guard || makes_difference(g->fn, i);
                for (ProveReads r = prove_reads(i); prove_next_read(&r);)
                    differs |= !bitset_has(&u->fixed, r.walk.reg);
                for (RegWalk w = reg_walk(i); differs && next_write(&w);)
                    u->changed |= bitset_del(&u->fixed, w.reg);
            }
    } while (u->changed);
}

/* False: branches lead to too many blocks. A register that differs between threads after one of its writes is divergent
 * everywhere. One that is live into the entry was never written, and may differ too. */
static bool find_uniform(ProveGraph *g)
{
    Uniform u = {.g = g};
    u.tainted = bitset_new(g->arena, g->n);
    bitset_or(&g->divergent, &g->live_in[g->fn->entry->id]);
    for (u32 r = 1; r < g->fn->regs.n; r++)
        if (fn_reg(g->fn, r)->is_param)
            bitset_add(&g->divergent, r);
    u.fixed = bitset_new(g->arena, g->fn->regs.n);
    find_fixed(&u);
    do {
        u.changed = false;
        for (u32 k = 0; k < g->reachable && g->reached <= BLOCKS_REACHED_MAX; k++)
            look_at(&u, g->by_order[k]);
    } while (u.changed && g->reached <= BLOCKS_REACHED_MAX);
    return g->reached <= BLOCKS_REACHED_MAX;
}

/* A back edge makes all blocks between its ends in the order one region, a superset of its loop. Control that leaves it
 * goes on to later ones only, and never comes back. */
void prove_find_regions(ProveGraph *g, const u32 *only, Arena *arena)
{
    u32 *last = arena_array(arena, u32, g->n), end = 0, region = 0; /* by order, where back edges to it come from, plus 1 */
    g->loops = bitset_new(arena, g->n);
    g->region = arena_array(arena, u32, g->n);
    for (u32 k = 0; k < g->reachable; k++)
        for_each_edge(e, &g->succ, g->by_order[k]->id) {
            u32 head = g->order[g->succ.to[e]], to = only ? only[g->by_order[k]->id] : 0;
            if (head <= k && last[head] < k + 1 && (!to || to == g->succ.to[e] + 1))
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

bool prove_loop_body(const ProveGraph *g, u32 header, const BitSet *latches, BitSet *body)
{
    VecU32 work = {0};
    bool is_loop = false;
    bitset_clear(body);
    bitset_add(body, header);
    for_each_edge(e, &g->pred, header) {
        u32 latch = g->pred.to[e];
        if (g->order[latch] < g->order[header] || (latches && !bitset_has(latches, latch)))
            continue;
        is_loop = true;
        if (bitset_add(body, latch))
            vec_push(&work, latch);
    }
    graph_spread(&g->pred, &work, body);
    return is_loop;
}

bool prove_graph_init(ProveGraph *g, Function *fn, bool believes, bool exits_part, Arena *arena, const char **why)
{
    *g = (ProveGraph){.arena = arena, .fn = fn, .n = fn->blocks.n, .believes = believes, .exits_part = exits_part};
    g->order = arena_array(arena, u32, g->n);
    memset(g->order, 0xff, sizeof *g->order * g->n);
    g->by_order = arena_array(arena, Block *, g->n);
    g->is_join = arena_array(arena, u8, g->n);
    g->postdom = arena_array(arena, u32, g->n);
    g->influence = arena_array(arena, const BitSet *, g->n);
    g->divergent = bitset_new(arena, fn->regs.n);
    g->splits = bitset_new(arena, g->n);
    VecU32 from = {0}, to = {0};
    find_order(g, &from, &to);
    find_joins(g, &from, &to);
    vec_free(&from);
    vec_free(&to);
    if ((u64)g->reachable * fn->regs.n / 8 > LIVE_BYTES_MAX) {
        *why = "the function has too many blocks and registers";
        return false;
    }
    if ((u64)g->reachable * g->reachable / 8 > INFLUENCE_BYTES_MAX) {
        *why = "the function has too many blocks";
        return false;
    }
    prove_find_postdoms(g, PROVE_NO_BLOCK);
    find_live(g);
    if (!find_uniform(g)) {
        *why = "the function has too many blocks that its branches lead to";
        return false;
    }
    prove_find_regions(g, NULL, arena);
    return true;
}
