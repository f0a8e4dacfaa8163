#include "analysis/uniform.h"

#include <stdlib.h>

/* Steps of all floods of one function, per block, edge and reading instruction: beyond that, see give_up(). */
enum {
    FLOOD_LIMIT = 32,
    COPY_STEPS = 32, /* instructions looked at after a copy */
    AROUND = 64      /* dominators of a branch that are looked at, and loops that one edge leaves */
};

typedef enum Level { LEVEL_WARP, LEVEL_CTA } Level;

/* How a flood came to a block. */
typedef struct Reach {
    u32 flood, join; /* the last flood that came there, and the last one of which paths join there */
    u32 label;       /* of the path that came there */
} Reach;

/* A position of a list: a list is the place of its first one in `listed`, plus 1; 0: it is empty. */
typedef struct Listed {
    u32 position, next;
} Listed;

typedef struct Solver {
    const Function *fn;
    const Order *order;
    const DomTree *dom, *postdom;
    const Loops *loops;
    const Live *live;
    Level level;
    bool asks_level;                /* what was visited last may be uniform within a warp only */
    VEC(const Instr *) within_warp; /* what asked for the level when it was visited first */
    BitSet *uniform, *branch;       /* of the result, at this level */
    VecU32 work;                    /* registers that have become divergent */
    u32 *first_reader;              /* by register: those that read it are reader[first_reader[reg]] .. */
    const Instr **reader;           /* .. reader[first_reader[reg + 1] - 1], in order */
    BitSet leaving;                 /* positions with an edge out of their innermost loop */
    /* where paths may join, but for positions at which nothing uniform is live any more */
    VEC(Listed) listed;
    u32 *joins_below; /* by position: the list of those that it dominates immediately; at the entry, that too */
    u32 *exits; /* by place in `loops`, plus 1: to where edges lead out of it, and of none around it; first: of many */
    u32 *open;  /* by position: of what is live there, nothing before this index is uniform */
    /* the flood from one branch, by position */
    u32 flood;
    Reach *reach;
    u32 *written_mark; /* by register: the flood in whose region it is written */
    BitSet pending;
    u32 *region, region_size;
    VecU32 joins;
    const Block *stop; /* NULL: the paths may never all join */
    u32 cursor;
    u64 steps, step_limit;
    bool gave_up;
} Solver;

/* ---- one instruction ------------------------------------------------------------------------------------------- */

static bool is_kernel_param(const Function *fn, SymId sym)
{
    if (!fn->is_entry)
        return false;
    for (u32 k = 0; k < fn->params.n; k++)
        if (fn->params.v[k] == sym)
            return true;
    return false;
}

/* Memory that no thread writes while the kernel runs. */
static bool loads_constant_memory(const Function *fn, const Instr *i)
{
    if (i->op->strength != STRENGTH_WEAK || i->op->mem != MEM_READ)
        return false;
    if (i->op->space == SPACE_CONST)
        return true;
    if (i->op->space == SPACE_GLOBAL)
        return op_has_modifier(i->op, ".nc");
    if (i->op->space != SPACE_PARAM)
        return false;
    for_each_slot(o, i)
        if (o->kind == OPND_SYM)
            return is_kernel_param(fn, o->id);
    return false;
}

static bool is_warp_level(Solver *s)
{
    s->asks_level = true;
    return s->level == LEVEL_WARP;
}

static bool operand_is_uniform(Solver *s, const Operand *o)
{
    if (o->kind == OPND_REG)
        return o->role == ROLE_DEF || bitset_has(s->uniform, o->id);
    if (o->kind == OPND_SREG) {
        const SregInfo *sreg = sreg_info(o->id);
        bool same = sreg->uniformity == UNI_CTA || (sreg->uniformity == UNI_WARP && is_warp_level(s));
        return same && !sreg->is_volatile;
    }
    if (o->kind == OPND_SYM) {
        u8 space = s->fn->module->syms.v[o->id].space;
        return space != SPACE_LOCAL && (space != SPACE_PARAM || is_kernel_param(s->fn, o->id));
    }
    return o->kind != OPND_NAME;
}

static bool operands_are_uniform(Solver *s, const Instr *i)
{
    if ((i->guard && !bitset_has(s->uniform, i->guard)) ||
        (op_has(i->op, OPF_CARRY_IN) && !bitset_has(s->uniform, CARRY_REG)))
        return false;
    for_each_slot(o, i)
        if (!operand_is_uniform(s, o))
            return false;
    return true;
}

/* vote.sync and redux.sync: threads with the same mask name one another, so they agree. */
static bool mask_is_uniform(const Solver *s, const Instr *i)
{
    const Operand *mask = NULL;
    for_each_operand(o, i)
        mask = o;
    return mask && (mask->kind == OPND_IMM || (mask->kind == OPND_REG && bitset_has(s->uniform, mask->id)));
}

/* A copy of a register that got a constant right before: nvcc starts all registers of a loop that way, with copies of one
 * that the loop makes divergent. */
static bool copies_constant(const Instr *i)
{
    RegId reg = 0;
    for (u32 steps = 0; i && steps < COPY_STEPS; i = i->prev, steps++) {
        if (i->kind != INSTR_OP || (reg && !instr_writes(i, reg)))
            continue;
        if (i->guard || i->op->opcode != OPC_MOV)
            return false;
        const Operand *to = i->opnd, *from = instr_operand(i, 1);
        if (to->kind != OPND_REG || to->sub != SUB_NONE)
            return false;
        if (from->kind != OPND_REG)
            return from->kind == OPND_IMM || from->kind == OPND_FLOAT;
        if (from->sub != SUB_NONE || from->value || from->flags)
            return false;
        reg = from->id;
    }
    return false;
}

static bool results_are_uniform(Solver *s, const Instr *i)
{
    if (!i->op->known || op_has(i->op, OPF_CALL) || (i->guard && !bitset_has(s->uniform, i->guard)))
        return false;
    switch (i->op->uniformity) {
    case UNI_OPERANDS:
        return (operands_are_uniform(s, i) && (i->op->mem == MEM_NONE || loads_constant_memory(s->fn, i))) ||
               (i->op->opcode == OPC_MOV && copies_constant(i));
    case UNI_WARP: return is_warp_level(s);
    case UNI_MEMBERS: return is_warp_level(s) && mask_is_uniform(s, i);
    case UNI_CTA: return true;
    case UNI_DIVERGENT: break;
    }
    return false;
}

static void make_divergent(Solver *s, RegId reg)
{
    if (!bitset_has(s->uniform, reg))
        return;
    bitset_del(s->uniform, reg);
    vec_push(&s->work, reg);
}

/* ---- where the paths from a branch join ------------------------------------------------------------------------ */

static void add_join(Solver *s, u32 p)
{
    if (s->reach[p].join == s->flood)
        return;
    s->reach[p].join = s->flood;
    vec_push(&s->joins, p);
}

static void make_pending(Solver *s, u32 p)
{
    bitset_add(&s->pending, p);
    if (p < s->cursor)
        s->cursor = p;
}

/* Brings a path to p. Its label is the last join on the path, or its first block: paths of two labels join at p. */
static inline void arrive(Solver *s, u32 p, u32 label)
{
    Reach *r = &s->reach[p];
    if (r->flood != s->flood) {
        r->flood = s->flood;
        r->label = label;
        s->region[s->region_size++] = p;
        make_pending(s, p);
    } else if (r->label != label && r->join != s->flood) {
        add_join(s, p);
        if (r->label != p) {
            r->label = p;
            make_pending(s, p);
        }
    }
}

static bool is_flooded(const Solver *s, const Block *b) { return s->reach[s->order->index[b->id]].flood == s->flood; }

/* Where the paths from a branch have all joined: its immediate post-dominator. If some of them got there through the header of
 * a loop around both, threads are there in different iterations, and join only after the loop. */
static const Block *find_stop(const Solver *s, const Block *branch)
{
    const Block *stop = s->postdom->idom[branch->id];
    for (const Loop *loop = loop_of(s->loops, branch); loop; loop = loop->parent)
        if (is_flooded(s, loop->header))
            while (stop && stop != loop->header && loop_contains(s->loops, loop, stop))
                stop = s->postdom->idom[stop->id];
    return stop;
}

static bool out_of_steps(const Solver *s) { return s->steps > s->step_limit; }

/* Brings the path of this label from p to its successors; each edge counts as a step. */
static inline void leave(Solver *s, u32 p, u32 label)
{
    const Graph *succ = &s->order->succ;
    const u32 *to = succ->to + succ->start[p], *end = succ->to + succ->start[p + 1];
    s->steps += (u64)(end - to);
    for (; to < end; to++)
        arrive(s, *to, label == GRAPH_NONE ? *to : label);
}

static void spread_pending(Solver *s, u32 b)
{
    u32 stop = s->stop ? s->order->index[s->stop->id] : s->order->count;
    while (!out_of_steps(s)) {
        u32 p = bitset_next(&s->pending, s->cursor);
        if (p >= s->order->count)
            return;
        s->cursor = p;
        bitset_del(&s->pending, p);
        if (p != b && p != stop)
            leave(s, p, s->reach[p].label);
    }
}

/* Follows the paths from the branch at b to the block where all of them have joined, and back to b itself if it is in a loop. */
static void flood_from(Solver *s, u32 b)
{
    const Block *branch = s->order->rpo[b];
    s->flood++;
    s->region_size = 0;
    vec_clear(&s->joins);
    s->cursor = s->order->count;
    s->stop = s->postdom->idom[branch->id];
    leave(s, b, GRAPH_NONE);
    for (const Block *stop = s->stop;; stop = s->stop) {
        spread_pending(s, b);
        s->stop = find_stop(s, branch);
        if (s->stop == stop || out_of_steps(s))
            return;
        if (is_flooded(s, stop))
            make_pending(s, s->order->index[stop->id]); /* the paths go on */
    }
}

/* Some threads stay in the loop while others leave it: where they leave it, their iterations differ. */
static void join_after(Solver *s, const Loop *loop)
{
    const Graph *succ = &s->order->succ;
    s->steps += s->region_size;
    for (u32 k = 0; k < s->region_size; k++) {
        u32 p = s->region[k];
        if (!bitset_has(&s->leaving, p) || !loop_contains(s->loops, loop, s->order->rpo[p]))
            continue;
        for_each_edge(e, succ, p)
            if (!loop_contains(s->loops, loop, s->order->rpo[succ->to[e]]))
                add_join(s, succ->to[e]);
    }
}

static void mark_written(Solver *s, const Block *b)
{
    for_each_instr(i, b) {
        s->steps++;
        for (RegWalk w = reg_walk(i); next_write(&w);)
            s->written_mark[w.reg] = s->flood;
    }
}

/* Whether something is live at p that is uniform so far. Nothing becomes uniform again: what was passed over once stays so. */
static bool is_open(Solver *s, u32 p)
{
    const Live *l = s->live;
    u32 *open = &s->open[p], end = l->start[s->order->rpo[p]->id + 1];
    for (; *open < end; ++*open, s->steps++)
        if (bitset_has(s->uniform, l->regs[*open]))
            return true;
    return false;
}

static bool any_open(Solver *s, u32 *list)
{
    while (*list && !is_open(s, s->listed.v[*list - 1].position))
        *list = s->listed.v[*list - 1].next;
    return *list;
}

/* Whether paths from the branch at b may join where that matters: after a loop around it, or at a block whose immediate dominator
 * dominates the branch. From any other dominator of a join the paths to it go on as one. */
static bool may_join(Solver *s, u32 b)
{
    const Block *d = s->order->rpo[b];
    bool found = loop_of(s->loops, d) && any_open(s, &s->exits[0]);
    for (const Loop *loop = loop_of(s->loops, d); loop && !found && !out_of_steps(s); loop = loop->parent, s->steps++)
        found = any_open(s, &s->exits[s->loops->of[loop->header->id]]);
    for (u32 left = AROUND; d && left > 0 && !found; left--, s->steps++) {
        found = any_open(s, &s->joins_below[s->order->index[d->id]]);
        d = s->dom->idom[d->id];
    }
    return found || d;
}

/* Whether something that is uniform so far is live where the paths join. */
static bool joins_matter(Solver *s)
{
    for (u32 k = 0; k < s->joins.n && !out_of_steps(s); k++)
        if (is_open(s, s->joins.v[k]))
            return true;
    return false;
}

/* What is written on a path and live where the paths join is divergent there. */
static void spread_from_branch(Solver *s, u32 b)
{
    const Block *branch = s->order->rpo[b];
    const Live *l = s->live;
    if (s->gave_up || s->order->succ.start[b + 1] - s->order->succ.start[b] < 2)
        return; /* threads that return do not join the others again */
    if (!may_join(s, b))
        return;
    flood_from(s, b);
    for (const Loop *loop = loop_of(s->loops, branch); loop && !out_of_steps(s); loop = loop->parent)
        if (is_flooded(s, loop->header))
            join_after(s, loop);
    if (!joins_matter(s))
        return;
    for (u32 k = 0; k < s->region_size && !out_of_steps(s); k++)
        if (s->order->rpo[s->region[k]] != s->stop)
            mark_written(s, s->order->rpo[s->region[k]]);
    for (u32 k = 0; k < s->joins.n && !out_of_steps(s); k++) {
        u32 end = l->start[s->order->rpo[s->joins.v[k]]->id + 1];
        for (u32 r = s->open[s->joins.v[k]]; r < end; r++, s->steps++)
            if (s->written_mark[l->regs[r]] == s->flood)
                make_divergent(s, l->regs[r]);
    }
}

/* What holds when the floods got too long: every register that lives beyond a block is divergent, as if values of it joined there. */
static void give_up(Solver *s)
{
    const Live *l = s->live;
    s->gave_up = true;
    bitset_clear(&s->pending);
    for (u32 k = 0; k < l->start[l->blocks]; k++)
        make_divergent(s, l->regs[k]);
}

static void diverge_branch(Solver *s, const Block *b)
{
    if (!bitset_has(s->branch, b->id))
        return;
    bitset_del(s->branch, b->id);
    spread_from_branch(s, s->order->index[b->id]);
    if (out_of_steps(s) && !s->gave_up)
        give_up(s);
}

/* ---- to the fixed point ---------------------------------------------------------------------------------------- */

static void visit(Solver *s, const Instr *i)
{
    if (instr_is(i, OPF_TERMINATOR)) {
        bool hinted = op_has(i->op, OPF_UNIFORM_HINT) && is_warp_level(s);
        if (!hinted && !(i->op->known && operands_are_uniform(s, i)))
            diverge_branch(s, i->block);
        return;
    }
    for (RegWalk w = reg_walk(i); next_write(&w);)
        if (bitset_has(s->uniform, w.reg) && !results_are_uniform(s, i))
            make_divergent(s, w.reg);
}

static void collect_readers(Solver *s, Arena *scratch)
{
    u32 *next = arena_array(scratch, u32, (size_t)s->fn->regs.n + 2), readers = 0;
    s->first_reader = next++; /* filling moves next[reg] from where the register's readers begin to where they end */
    for (u32 p = 0; p < s->order->count; p++)
        for_each_instr(i, s->order->rpo[p]) {
            bool reads = false;
            for (RegWalk w = reg_walk(i); next_read(&w); reads = true)
                next[w.reg + 1]++;
            readers += reads;
        }
    for (RegId reg = 0; reg < s->fn->regs.n; reg++)
        next[reg + 1] += next[reg];
    s->reader = arena_alloc_raw(scratch, sizeof *s->reader * (size_t)next[s->fn->regs.n]);
    for (u32 p = 0; p < s->order->count; p++)
        for_each_instr(i, s->order->rpo[p])
            for (RegWalk w = reg_walk(i); next_read(&w);)
                s->reader[next[w.reg]++] = i;
    s->step_limit = FLOOD_LIMIT * ((u64)readers + s->order->count + s->order->succ.start[s->order->count]);
}

static void put(Solver *s, u32 *list, u32 p)
{
    vec_push(&s->listed, ((Listed){p, *list}));
    *list = s->listed.n;
}

static void find_joins(Solver *s, Arena *scratch)
{
    const Graph *pred = &s->order->pred;
    s->open = arena_alloc_raw(scratch, sizeof *s->open * s->order->count);
    s->joins_below = arena_array(scratch, u32, s->order->count);
    for (u32 p = 0; p < s->order->count; p++) {
        const Block *b = s->order->rpo[p], *d = s->dom->idom[b->id];
        s->open[p] = s->live->start[b->id];
        if (pred->start[p + 1] - pred->start[p] > (d != NULL))
            put(s, &s->joins_below[d ? s->order->index[d->id] : p], p);
    }
}

/* From a block of the loop an edge leads to p, outside of it. */
static void list_exit(Solver *s, const Loop *loop, u32 p)
{
    u32 left = AROUND;
    while (loop->parent && left > 0 && !loop_contains(s->loops, loop->parent, s->order->rpo[p])) {
        loop = loop->parent;
        left--;
    }
    put(s, &s->exits[left ? s->loops->of[loop->header->id] : 0], p);
}

static void find_leaving(Solver *s, Arena *scratch)
{
    const Graph *succ = &s->order->succ;
    s->leaving = bitset_new(scratch, s->order->count);
    s->exits = arena_array(scratch, u32, s->loops->n + 1);
    for (u32 p = 0; p < s->order->count; p++) {
        const Loop *loop = loop_of(s->loops, s->order->rpo[p]);
        for_each_edge(e, succ, p)
            if (loop && !loop_contains(s->loops, loop, s->order->rpo[succ->to[e]])) {
                bitset_add(&s->leaving, p);
                list_exit(s, loop, succ->to[e]);
            }
    }
}

static void start_level(Solver *s, Level level, BitSet *uniform, BitSet *branch)
{
    s->level = level;
    s->uniform = uniform;
    s->branch = branch;
    s->steps = 0;
}

static void visit_all(Solver *s)
{
    for (u32 p = 0; p < s->order->count; p++)
        for_each_instr(i, s->order->rpo[p]) {
            s->asks_level = false;
            visit(s, i);
            if (s->asks_level)
                vec_push(&s->within_warp, i);
        }
}

/* Takes registers and branches out of the sets until only what is uniform at this level is left. */
static void spread(Solver *s)
{
    while (s->work.n > 0) {
        RegId next = vec_pop(&s->work);
        for (u32 k = s->first_reader[next]; k < s->first_reader[next + 1]; k++)
            visit(s, s->reader[k]);
    }
}

/* Begins with all registers uniform but those that are live at the entry: these are garbage, parameters of a function, or live
 * everywhere for lack of a precise answer. */
static void start_solving(Solver *s, Uniform *u)
{
    RegId reg;
    bitset_fill(&u->warp);
    bitset_fill(&u->branch_warp);
    for (u32 c = 0; live_in_next(s->live, s->fn->entry, &c, &reg);)
        make_divergent(s, reg);
    for (reg = 1; reg < s->fn->regs.n && s->fn->regs.v[reg].is_param; reg++)
        make_divergent(s, reg);
}

/* In irreducible functions nothing is uniform but what branches promise. */
static void solve_irreducible(const Function *fn, Uniform *u)
{
    for_each_block(b, fn) {
        const Instr *end = block_terminator(b);
        bool decides = end && (end->guard || op_has(end->op, OPF_BRANCH));
        if (!decides || op_has(end->op, OPF_UNIFORM_HINT))
            bitset_add(&u->branch_warp, b->id);
        if (!decides)
            bitset_add(&u->branch_cta, b->id);
    }
}

Uniform *uniform_compute(Arena *arena, const Function *fn, const Order *order, const DomTree *dom, const DomTree *postdom,
                         const Loops *loops, const Live *live)
{
    Uniform *u = arena_new(arena, Uniform);
    u->warp = bitset_new(arena, fn->regs.n);
    u->cta = bitset_new(arena, fn->regs.n);
    u->branch_warp = bitset_new(arena, fn->blocks.n);
    u->branch_cta = bitset_new(arena, fn->blocks.n);
    if (loops->irreducible) {
        solve_irreducible(fn, u);
        return u;
    }
    Arena scratch = {0};
    Solver s = {.fn = fn, .order = order, .dom = dom, .postdom = postdom, .loops = loops, .live = live};
    collect_readers(&s, &scratch);
    find_joins(&s, &scratch);
    find_leaving(&s, &scratch);
    s.reach = arena_array(&scratch, Reach, order->count);
    s.region = arena_alloc_raw(&scratch, sizeof *s.region * order->count);
    s.written_mark = arena_array(&scratch, u32, fn->regs.n);
    s.pending = bitset_new(&scratch, order->count);
    start_level(&s, LEVEL_WARP, &u->warp, &u->branch_warp);
    start_solving(&s, u);
    visit_all(&s);
    spread(&s);
    bitset_copy(&u->cta, &u->warp); /* what differs within a warp differs within the CTA, and has spread already */
    bitset_copy(&u->branch_cta, &u->branch_warp);
    start_level(&s, LEVEL_CTA, &u->cta, &u->branch_cta);
    for (u32 k = 0; k < s.within_warp.n; k++)
        visit(&s, s.within_warp.v[k]);
    spread(&s);
    vec_free(&s.within_warp);
    vec_free(&s.work);
    vec_free(&s.joins);
    vec_free(&s.listed);
    arena_free(&scratch);
    return u;
}
