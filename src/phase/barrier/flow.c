#include "phase/barrier/flow.h"
#include "ir/inspect.h"

static const AccessSet everything = {(u64)1 << CLASS_STRONG, (u64)1 << CLASS_STRONG};

static u64 bit(u32 class_id) { return (u64)1 << class_id; }

/* ---- what one instruction accesses --------------------------------------------------------------------------------- */

static void add_access(Flow *f, const Instr *i, u32 class_id, bool reads, bool writes)
{
    Access access = {i, class_id, reads, writes};
    AccessSet *own = &f->segments[f->count - 1].above;
    if (f->lists)
        vec_push(&f->accesses, access);
    own->reads |= reads ? bit(class_id) : 0;
    own->writes |= writes ? bit(class_id) : 0;
}

/* Whether i depends on which lanes execute it without naming them, as activemask does. */
static bool depends_on_lanes(const Instr *i, const Effects *e)
{
    return e->convergent && (op_has(i->op, OPF_CALL) || !op_has(i->op, OPF_NAMES_THREADS));
}

static void add_accesses(Flow *f, const Instr *i)
{
    const Knobs *knobs = f->knobs;
    if (i->kind != INSTR_OP || (op_is_pure(i->op) && !instr_reads_volatile_register(i)))
        return; /* it only computes */
    Effects e = instr_effects(i, f->an->summaries);
    bool call = op_has(i->op, OPF_CALL);
    if (call && !e.known && knobs->ignore_call_safety)
        return;
    if (e.barrier != BARRIER_WARP && depends_on_lanes(i, &e))
        add_access(f, i, CLASS_CONVERGENT, true, false);
    if (e.times)
        add_access(f, i, CLASS_TIME, true, false);
    if (e.strong || e.event || op_has(i->op, OPF_BARRIER) || wait_polls(an_waits(f->an), an_loops(f->an), i, &e)) {
        add_access(f, i, CLASS_STRONG, true, true);
    } else if (knobs->ignore_address_space_check && i->op->mem != MEM_NONE && e.barrier != BARRIER_WARP) {
        add_access(f, i, CLASS_GENERIC, i->op->mem != MEM_WRITE, i->op->mem != MEM_READ);
    } else if (call) {
        if (e.reads)
            add_access(f, i, alias_class_anywhere(e.reads), true, false);
        if (e.writes)
            add_access(f, i, alias_class_anywhere(e.writes), false, true);
    } else if (e.reads | e.writes) {
        add_access(f, i, alias_class_of(f->classes, i, e.reads | e.writes), e.reads, e.writes);
    }
}

/* ---- segments ------------------------------------------------------------------------------------------------------ */

static void begin_segment(Flow *f, u32 block)
{
    f->segments[f->count++] = (Segment){.block = block, .access = f->accesses.n};
}

static bool ends_segment(const Flow *f, const Instr *i) { return is_full_barrier(f->reach, i); }

/* Whether i, or a function that it may call, may address the shared memory of another block of the cluster. */
static bool sees_cluster(const Flow *f, const Instr *i)
{
    if (i->kind != INSTR_OP || f->an->fn->module->target_sm < 90)
        return false;
    return op_has(i->op, OPF_CALL) || i->op->opcode == OPC_MAPA || i->op->space == SPACE_SHARED_CLUSTER;
}

static void cut_block(Flow *f, u32 p)
{
    Block *b = an_order(f->an)->rpo[p];
    f->first[p] = f->count;
    begin_segment(f, p);
    for_each_instr(i, b) {
        f->sees_clusters |= sees_cluster(f, i);
        if (ends_segment(f, i)) {
            f->open[f->count - 1] = i->guard != 0;
            begin_segment(f, p);
        } else {
            add_accesses(f, i);
        }
    }
    for (u32 s = f->first[p]; s < f->count; s++)
        f->segments[s].below = f->segments[s].above;
}

/* The functions of the thread that the registers in addresses hold. */
static ThreadValues *values_of_addresses(const Flow *f)
{
    const Order *order = an_order(f->an);
    BitSet asked = bitset_new(f->an->scratch, f->an->fn->regs.n);
    for (u32 p = 0; p < order->count; p++)
        for_each_instr(i, order->rpo[p]) {
            const Operand *address = alias_address(i);
            if (address && address->kind == OPND_REG)
                bitset_add(&asked, address->id);
        }
    return thread_values_new(f->an->scratch, f->an->fn, order, an_ssa(f->an), &asked, f->knobs->assume_1d_blocks);
}

static void cut_blocks(Flow *f)
{
    const Order *order = an_order(f->an);
    ThreadValues *values = values_of_addresses(f);
    f->classes = alias_classes_new(f->an->scratch, values, f->knobs->assume_in_bounds);
    for (u32 p = 0; p < order->count; p++)
        cut_block(f, p);
    f->first[order->count] = f->count;
    alias_classes_compare(f->classes);
    thread_values_free(values);
}

/* ---- the fixed points ---------------------------------------------------------------------------------------------- */

static void enqueue(Flow *f, u32 segment)
{
    if (f->queued[segment])
        return;
    f->queued[segment] = 1;
    vec_push(&f->work, segment);
}

static bool merge(AccessSet *to, AccessSet from)
{
    AccessSet old = *to;
    to->reads |= from.reads;
    to->writes |= from.writes;
    return to->reads != old.reads || to->writes != old.writes;
}

static void add_above(Flow *f, u32 segment, AccessSet set)
{
    if (merge(&f->segments[segment].above, set))
        enqueue(f, segment);
}

static void add_below(Flow *f, u32 segment, AccessSet set)
{
    if (merge(&f->segments[segment].below, set))
        enqueue(f, segment);
}

static bool is_local(const Flow *f) { return !f->knobs->barrier_across_blocks; }
static bool is_first(const Flow *f, u32 segment) { return segment == f->first[f->segments[segment].block]; }
/* Whether the segment ends with its block, and not with a barrier. */
static bool is_last(const Flow *f, u32 segment) { return segment + 1 == f->first[f->segments[segment].block + 1]; }

/* Takes the segments out of the work list in turn, including those that are added meanwhile. */
static bool next_segment(Flow *f, u32 *cursor, u32 *segment)
{
    if (*cursor == f->work.n) {
        vec_clear(&f->work);
        return false;
    }
    *segment = f->work.v[(*cursor)++];
    f->queued[*segment] = 0;
    return true;
}

static void spread_down(Flow *f)
{
    const Graph *succ = &an_order(f->an)->succ;
    u32 s;
    for (u32 cursor = 0; next_segment(f, &cursor, &s);) {
        const Segment *segment = &f->segments[s];
        if (!is_last(f, s)) {
            if (f->open[s])
                add_above(f, s + 1, segment->above);
        } else if (!is_local(f)) {
            for_each_edge(e, succ, segment->block)
                add_above(f, f->first[succ->to[e]], segment->above);
        }
    }
}

static void spread_up(Flow *f)
{
    const Graph *pred = &an_order(f->an)->pred;
    u32 s;
    for (u32 cursor = 0; next_segment(f, &cursor, &s);) {
        const Segment *segment = &f->segments[s];
        if (!is_first(f, s)) {
            if (f->open[s - 1])
                add_below(f, s - 1, segment->below);
        } else if (!is_local(f)) {
            for_each_edge(e, pred, segment->block)
                add_below(f, f->first[pred->to[e] + 1] - 1, segment->below);
        }
    }
}

static void start_below(Flow *f)
{
    const Order *order = an_order(f->an);
    for (u32 s = f->count; s-- > 0;) {
        Segment *segment = &f->segments[s];
        bool ends_called = !f->an->fn->is_entry && block_leaves_function(f->an->fn, order->rpo[segment->block]);
        if (is_last(f, s) && (is_local(f) || ends_called))
            merge(&segment->below, everything);
        enqueue(f, s);
    }
}

static void start_above(Flow *f)
{
    for (u32 s = 0; s < f->count; s++) {
        Segment *segment = &f->segments[s];
        bool starts_called = !f->an->fn->is_entry && segment->block == 0;
        if (is_first(f, s) && (is_local(f) || starts_called))
            merge(&segment->above, everything);
        enqueue(f, s);
    }
}

/* Adds the accesses of threads that leave the kernel without coming to a barrier. Needs the sets below. */
static void add_leavers(Flow *f)
{
    const Order *order = an_order(f->an);
    for (u32 p = 0; p < order->count; p++) {
        AccessSet left = {0, 0};
        bool some_stay = false;
        for_each_edge(e, &order->succ, p) {
            u32 to = order->succ.to[e];
            if (reach_only_leaves(f->reach, order->rpo[to]))
                merge(&left, f->segments[f->first[to]].below);
            else
                some_stay = true;
        }
        if (some_stay && (left.reads | left.writes) && !reach_branch_is_uniform(f->reach, order->rpo[p]))
            add_above(f, f->first[p + 1] - 1, left);
    }
}

static u32 count_segments(const BarrierReach *reach)
{
    u32 n = an_order(reach->an)->count;
    for (u32 k = 0; k < reach->barriers.n; k++)
        n += waits_for_all(reach, barrier_use(reach, reach->barriers.v[k]));
    return n;
}

Flow *flow_compute(const BarrierReach *reach, bool lists)
{
    Flow *f = arena_new(reach->an->scratch, Flow);
    f->an = reach->an;
    f->knobs = reach->knobs;
    f->lists = lists;
    f->reach = reach;
    u32 segments = count_segments(reach);
    f->segments = arena_alloc_raw(f->an->scratch, segments * sizeof *f->segments);
    f->first = arena_array(f->an->scratch, u32, (size_t)an_order(reach->an)->count + 1);
    f->open = arena_array(f->an->scratch, bool, segments);
    f->queued = arena_array(f->an->scratch, bool, segments);
    cut_blocks(f);
    start_below(f);
    spread_up(f);
    start_above(f);
    add_leavers(f);
    spread_down(f);
    return f;
}

void flow_free(Flow *f)
{
    vec_free(&f->accesses);
    vec_free(&f->work);
}

void flow_open(Flow *f, u32 segment)
{
    f->open[segment] = true;
    enqueue(f, segment);
    spread_down(f);
    enqueue(f, segment + 1);
    spread_up(f);
}

/* ---- finding an access --------------------------------------------------------------------------------------------- */

static const Access *access_in(const Flow *f, u32 segment, bool below, AccessSet classes, u32 *steps)
{
    u32 from = f->segments[segment].access;
    u32 to = segment + 1 < f->count ? f->segments[segment + 1].access : f->accesses.n;
    for (u32 k = 0; *steps > 0 && k < to - from; k++, --*steps) {
        const Access *a = &f->accesses.v[below ? from + k : to - 1 - k];
        if ((a->reads && classes.reads & bit(a->class_id)) || (a->writes && classes.writes & bit(a->class_id)))
            return a;
    }
    return NULL;
}

static void visit(Flow *f, u32 segment)
{
    if (f->seen[segment] == f->searches)
        return;
    f->seen[segment] = f->searches;
    vec_push(&f->work, segment);
}

/* Visits the segments that follow s in the direction of the search. */
static void visit_next(Flow *f, u32 s, bool below)
{
    const Segment *segment = &f->segments[s];
    const Order *order = an_order(f->an);
    if (below ? !is_last(f, s) : !is_first(f, s)) {
        if (f->open[below ? s : s - 1])
            visit(f, below ? s + 1 : s - 1);
    } else if (is_local(f)) {
        return;
    } else if (below) {
        for_each_edge(e, &order->succ, segment->block)
            visit(f, f->first[order->succ.to[e]]);
    } else {
        for_each_edge(e, &order->pred, segment->block)
            visit(f, f->first[order->pred.to[e] + 1] - 1);
    }
}

const Access *flow_find(Flow *f, u32 segment, bool below, AccessSet classes, u32 *steps)
{
    const Access *found = NULL;
    if (!f->seen)
        f->seen = arena_array(f->an->scratch, u32, f->count);
    f->searches++;
    visit(f, below ? segment + 1 : segment);
    for (u32 next = 0; next < f->work.n && !found && *steps > 0; next++, --*steps) {
        found = access_in(f, f->work.v[next], below, classes, steps);
        visit_next(f, f->work.v[next], below);
        if (*steps == 0)
            break;
    }
    vec_clear(&f->work);
    return found;
}
