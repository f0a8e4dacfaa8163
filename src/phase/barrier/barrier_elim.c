/* barrier-elim: removes barriers of the CTA that order no two accesses of different threads.
 *
 *     st.shared.u32 [a], v;  bar.sync 0;  bar.sync 0;        st.shared.u32 [a], v;  bar.sync 0;
 *     ld.shared.u32 w, [b];  bar.sync 0;  ret;               ld.shared.u32 w, [b];  ret;
 *
 * Follows branch-distribution and dead-synchronization elimination of the CUDA compilers, without their rules that leave a
 * hazard. A barrier is needed if an access above it and one below it may touch one address in two threads (alias.h). One
 * of the two must be a write. Above and below it means with no other barrier of all threads in between (flow.h). Removals
 * only bring accesses together, so what is needed once stays needed. So one pass, innermost loops first, comes to the
 * same end as one that starts again after each removal. Tseng, "Compiler Optimizations for Eliminating Barrier
 * Synchronization", PPoPP 1995.
 *
 * A block of one thread needs no barrier. Where .reqntid makes the block one warp at most, a barrier that stays becomes
 * bar.warp.sync with the mask of the threads. ptxas makes nothing of that, or a NOP:
 *
 *     .reqntid 32 ... bar.sync 0;                              bar.warp.sync 0xffffffff;
 *
 * bar.warp.sync waits for the threads of the mask and orders their accesses. All of them come to it, since no branch that it
 * depends on differs between them, and so none can have left before.
 *
 * Sound: conflicting accesses that were ordered still are, so a program without data races stays one, and cannot tell the
 * difference. All threads lose the same barrier. It has a constant number and no thread count, all reach it together, and
 * nothing that comes first can make other barriers pair (reach.h). Strong operations (volatile, atomics, fences,
 * asynchronous copies and waits, unknown calls), clocks, sleeps and traps, here or in a callee, access everything. So
 * does what polls: a load in a loop that waits for another thread, or a callee that waits. A store to memory that other
 * blocks see may be polled by them, and stays behind what the threads of this block accessed there. Above an activemask,
 * or above a clock, a barrier stays: it says which threads are there, and that all start together.
 *
 * Declines: barriers that carry data (.red), count threads or have their number in a register; those in functions that are
 * called, or under a condition not proven to be the same in the whole CTA. bar.warp.sync and fences are none. In blocks of one
 * warp: where a thread may have left, targets below sm_70, .maxntid, which does not say how many threads there are; before sm_90,
 * in loops that count, which ptxas would not unroll any more. Loops that would be left with arithmetic on constants, of which
 * ptxas folds some wrongly (transform/miscounted.h). Outside of loops, a barrier between loads from global memory and
 * stores to shared memory, at least PTXAS_IN_FLIGHT of each: it keeps the loads in flight together. Measured on the corpus
 * (13.0, sm_80 and 90): of 40 such kernels 8 got worse by up to 35 %, and all together by 0.3 %. */
#include <stdlib.h>
#include <string.h>

#include "ir/builder.h"
#include "phase/barrier/flow.h"
#include "phase/barrier/of_warp.h"
#include "target/ptxas.h"
#include "transform/miscounted.h"

enum { SEARCH_LIMIT = 1 << 20 /* steps in a function to find the accesses that remarks name */ };

typedef struct BarrierCandidate {
    Instr *barrier;
    u32 segment;       /* the segment that it ends */
    u32 depth : 29;    /* number of loops around it */
    u32 mispaired : 1; /* it may pair with other barriers of its number */
    u32 removed : 1;
    u32 weakened : 1;
} BarrierCandidate;

typedef struct Elim {
    PhaseRun *run;
    Analyses *an;
    BarrierReach *reach;
    Flow *flow; /* NULL: no barrier pairs with itself, so accesses do not matter */
    BarrierCandidate *candidates;
    u32 count;
    u32 steps;
    bool constant_loop; /* without its barriers, a loop would compute with constants alone */
    OfWarp of_warp;
} Elim;

/* ---- which functions are looked at --------------------------------------------------------------------------------- */

static bool is_listed(const char *list, const char *name)
{
    size_t len = strlen(name);
    for (const char *at = list; at; at = strchr(at, ',')) {
        at += *at == ',';
        if (strncmp(at, name, len) == 0 && (at[len] == ',' || at[len] == '\0'))
            return true;
    }
    return false;
}

/* Whether the function is among the first `limit` that have a body. */
static bool is_among_first(const Function *fn, i64 limit)
{
    const Module *m = fn->module;
    for (u32 k = 0; k < m->functions.n && limit > 0; k++) {
        if (m->functions.v[k] == fn)
            return true;
        limit -= m->functions.v[k]->is_definition;
    }
    return false;
}

static bool is_excluded(const Analyses *an, const Knobs *knobs)
{
    return is_listed(knobs->no_branch_dist, an->fn->name->text) ||
           (knobs->branch_dist_block_limit >= 0 && an->fn->blocks.n > knobs->branch_dist_block_limit) ||
           (knobs->branch_dist_func_limit >= 0 && !is_among_first(an->fn, knobs->branch_dist_func_limit));
}

static bool has_barrier(const Function *fn)
{
    for_each_block(b, fn)
        for_each_instr(i, b)
            if (instr_is(i, OPF_BARRIER))
                return true;
    return false;
}

/* ---- remarks ------------------------------------------------------------------------------------------------------- */

static const char *spaces_text(const AccessClasses *classes, u64 set)
{
    static const char *const name[] = {"none", "shared", "global", "shared and global"};
    u8 spaces = 0;
    for (u32 k = 0; k < classes->n; k++)
        spaces |= set >> k & 1 ? classes->v[k].spaces : 0;
    return set >> CLASS_STRONG & 1 ? "everything" : name[spaces];
}

static void report_removed(Elim *e, const BarrierCandidate *c)
{
    const AccessClasses *classes = e->flow->classes;
    AccessSet above = flow_above(e->flow, c->segment), below = flow_below(e->flow, c->segment);
    phase_passed(e->run, "BarrierRemoved", c->barrier,
                 "Removed dead synch: Read above: %s, Write above: %s, Read below: %s, Write below: %s in function %s",
                 spaces_text(classes, above.reads), spaces_text(classes, above.writes), spaces_text(classes, below.reads),
                 spaces_text(classes, below.writes), e->an->fn->name->text);
    phase_count(e->run, "BarrierRemoved", 1);
}

static void report_kept(Elim *e, const char *name, const Instr *barrier, const char *why)
{
    phase_missed(e->run, name, barrier, "Barrier kept: %s", why);
    phase_count(e->run, name, 1);
}

/* The text of an instruction, with one blank for each tab or line end. */
static const char *text_in_one_line(Elim *e, const Instr *i)
{
    Str text = span_str(e->an->fn->module, i->text);
    if (text.len == 0)
        text = (Str){i->op->text->text, i->op->text->len};
    if (text.len && text.p[text.len - 1] == ';')
        text.len--;
    char *line = arena_copy(e->run->arena, text.p, text.len);
    u32 to = 0;
    for (u32 from = 0; from < text.len; from++) {
        char c = (char)(line[from] == '\t' || line[from] == '\n' || line[from] == '\r' ? ' ' : line[from]);
        if (c != ' ' || (to && line[to - 1] != ' '))
            line[to++] = c;
    }
    line[to] = '\0';
    return line;
}

static const char *describe_access(Elim *e, const BarrierCandidate *c, bool below, AccessSet classes)
{
    const Access *access = flow_find(e->flow, c->segment, below, classes, &e->steps);
    if (!access && (classes.reads | classes.writes) >> CLASS_STRONG & 1)
        return "something that may access any memory";
    if (!access)
        return arena_printf(e->run->arena, "a %s of %s memory", classes.writes ? "write" : "read",
                            spaces_text(e->flow->classes, classes.reads | classes.writes));
    return arena_printf(e->run->arena, "'%s' (line %u)", text_in_one_line(e, access->i), phase_line(e->run, access->i));
}

/* ---- hazards ------------------------------------------------------------------------------------------------------- */

/* Finds one class of `above` and one of `below` that conflict. */
static bool find_conflict(const AccessClasses *classes, u64 above, u64 below, u32 *upper, u32 *lower)
{
    for (u32 k = 0; k < classes->n; k++)
        if (above >> k & 1 && classes->conflicts[k] & below) {
            *upper = k;
            *lower = (u32)__builtin_ctzll(classes->conflicts[k] & below);
            return true;
        }
    return false;
}

/* One class above and one below the barrier that conflict, each as a set of its own. */
typedef struct Hazard {
    AccessSet above, below;
} Hazard;

/* Finds a store below the barrier that another block may poll, even if it is weak. Whoever sees it takes the accesses of
 * this block's threads above the barrier as done. */
static bool find_signal(const Flow *f, AccessSet above, AccessSet below, Hazard *h)
{
    u64 seen = alias_classes_in(f->classes, f->sees_clusters ? EFFECT_ALL : EFFECT_GLOBAL);
    u64 writes = above.writes & seen, reads = writes ? 0 : above.reads & seen, signals = below.writes & seen;
    h->above = (AccessSet){.reads = reads & (0 - reads), .writes = writes & (0 - writes)};
    h->below = (AccessSet){.writes = signals & (0 - signals)};
    return (reads | writes) && signals && !function_has_one_thread(f->an->fn);
}

static bool find_hazard(const Flow *f, u32 segment, Hazard *h)
{
    AccessSet above = flow_above(f, segment), below = flow_below(f, segment);
    u32 a, b;
    *h = (Hazard){.above = {0, 0}};
    if (find_conflict(f->classes, above.writes, below.reads, &a, &b)) {
        h->above.writes = (u64)1 << a;
        h->below.reads = (u64)1 << b;
    } else if (find_conflict(f->classes, above.reads, below.writes, &a, &b)) {
        h->above.reads = (u64)1 << a;
        h->below.writes = (u64)1 << b;
    } else if (find_conflict(f->classes, above.writes, below.writes, &a, &b)) {
        h->above.writes = (u64)1 << a;
        h->below.writes = (u64)1 << b;
    } else {
        return find_signal(f, above, below, h);
    }
    return true;
}

/* Whether an activemask or the like may follow the barrier, which brings the threads of a warp together for it. */
static bool brings_together(const Flow *f, u32 segment) { return flow_below(f, segment).reads >> CLASS_CONVERGENT & 1; }

/* Whether a clock is read after the barrier: the measurement then begins with all threads at the barrier. */
static bool starts_clock(const Flow *f, u32 segment) { return flow_below(f, segment).reads >> CLASS_TIME & 1; }

/* ---- loads in flight ----------------------------------------------------------------------------------------------- */

/* Whether ptxas keeps the load i in front of a barrier. Loads with .nc move across. */
static bool waits_at_barriers(const Instr *i)
{
    return i->kind == INSTR_OP && i->op->mem == MEM_READ && i->op->space == SPACE_GLOBAL &&
           i->op->strength == STRENGTH_WEAK && !op_has_modifier(i->op, ".nc");
}

/* Counts loads from global memory in a block, from its instruction `last` upwards. False: another barrier stands above. */
static bool count_loads(const Elim *e, const Instr *last, u32 *loads)
{
    for (const Instr *i = last; i; i = i->prev) {
        if (is_full_barrier(e->reach, i))
            return false;
        *loads += waits_at_barriers(i);
    }
    return true;
}

/* Whether at least PTXAS_IN_FLIGHT loads from global memory, outside of loops, can come before the barrier. */
static bool has_loads_above(const Elim *e, const Instr *barrier)
{
    Analyses *an = e->an;
    const Order *order = an_order(an);
    BitSet seen = bitset_new(an->scratch, order->count);
    VecU32 work = {0};
    u32 loads = 0;
    if (count_loads(e, barrier->prev, &loads))
        vec_push(&work, order->index[barrier->block->id]);
    for (u32 k = 0; k < work.n && loads < PTXAS_IN_FLIGHT; k++)
        for_each_edge(edge, &order->pred, work.v[k]) {
            u32 p = order->pred.to[edge];
            if (bitset_has(&seen, p) || loop_of(an_loops(an), order->rpo[p]))
                continue;
            bitset_add(&seen, p);
            if (count_loads(e, order->rpo[p]->last, &loads))
                vec_push(&work, p);
        }
    vec_free(&work);
    return loads >= PTXAS_IN_FLIGHT;
}

static bool has_stores_below(const Elim *e, const Instr *barrier)
{
    u32 stores = 0;
    for (const Instr *i = barrier->next; i && !is_full_barrier(e->reach, i); i = i->next)
        stores += i->kind == INSTR_OP && i->op->mem == MEM_WRITE && i->op->space == SPACE_SHARED;
    return stores >= PTXAS_IN_FLIGHT;
}

/* Whether the barrier keeps several loads in flight: ptxas moves neither the loads above nor the stores below across it.
 * Without the barrier ptxas would load, wait and store in turn, to save registers. */
static bool keeps_loads_in_flight(const Elim *e, const BarrierCandidate *c)
{
    return c->depth == 0 && has_stores_below(e, c->barrier) && has_loads_above(e, c->barrier);
}

/* ---- loops of constants -------------------------------------------------------------------------------------------- */

/* Whether a loop would be left with arithmetic on constants alone, which ptxas folds wrongly in some of its forms. */
static bool makes_constant_loop(const Elim *e)
{
    BitSet goes = bitset_new(e->an->scratch, e->an->fn->edits.origins + 1);
    bool in_loops = false;
    for (u32 k = 0; k < e->count; k++) {
        in_loops |= e->candidates[k].depth > 0;
        bitset_add(&goes, e->candidates[k].barrier->origin);
    }
    return in_loops && miscounted_has_constant_loop(e->an, &goes, NULL);
}

static bool keeps_loop(const Elim *e, const BarrierCandidate *c) { return e->constant_loop && c->depth > 0; }

/* ---- one barrier --------------------------------------------------------------------------------------------------- */

/* Whether the barrier pairs with itself in all threads, so that only accesses decide whether it may go. */
static bool pairs_with_itself(const Elim *e, const BarrierCandidate *c)
{
    return (!c->mispaired || function_has_one_thread(e->an->fn)) && reached_together(e->reach, c->barrier);
}

static bool may_go(const Elim *e, const BarrierCandidate *c)
{
    Hazard hazard;
    if (!pairs_with_itself(e, c) || find_hazard(e->flow, c->segment, &hazard))
        return false;
    bool stays = brings_together(e->flow, c->segment) || starts_clock(e->flow, c->segment);
    return !stays || function_has_one_thread(e->an->fn);
}

static bool try_remove(Elim *e, BarrierCandidate *c)
{
    if (!may_go(e, c) || keeps_loop(e, c) || keeps_loads_in_flight(e, c) || !phase_may_rewrite(e->run))
        return false;
    an_compute_frozen(e->an);
    report_removed(e, c);
    instr_remove(c->barrier);
    flow_open(e->flow, c->segment);
    c->removed = true;
    return true;
}

/* ---- blocks of one warp -------------------------------------------------------------------------------------------- */

/* Before sm_70 a bar.warp.sync waits only for threads that come to the same bar.warp.sync together. */
static bool has_warp_barriers(const Module *m) { return m->target_sm >= 70 && m->version_major >= 6; }

/* Why a barrier in a block of one warp stays a barrier of the block; NULL: nothing here keeps it. */
static const char *why_not_of_warp(Elim *e, const BarrierCandidate *c)
{
    if (!has_warp_barriers(e->an->fn->module))
        return "the target has no bar.warp.sync for threads that come one after the other";
    if (!reached_by_all(e->reach, c->barrier))
        return "a thread of the only warp may have left before";
    if (of_warp_stops_unrolling(&e->of_warp, c->barrier))
        return "ptxas unrolls the loop around it for this target, and would not around one of the warp";
    return NULL;
}

static bool try_weaken(Elim *e, BarrierCandidate *c)
{
    Function *fn = e->an->fn;
    u32 lanes = function_warp_lanes(fn);
    if (!lanes || !e->flow || !pairs_with_itself(e, c) || keeps_loop(e, c) || why_not_of_warp(e, c) ||
        brings_together(e->flow, c->segment) || starts_clock(e->flow, c->segment) ||
        !phase_rewrite_at(e->run, "BarrierOfWarp", c->barrier, "%s replaced by bar.warp.sync 0x%x: the block is one warp",
                          c->barrier->op->text->text, lanes))
        return false;
    an_compute_frozen(e->an);
    Operand mask = build_integer(lanes, 32, false);
    instr_set_op(c->barrier, isa_op(fn->module->isa, OPC_BAR_WARP_SYNC, (OpParts){.uniform = false}));
    c->barrier = instr_set_operands(c->barrier, &mask, 1);
    c->weakened = true;
    return true;
}

static bool weaken_candidates(Elim *e)
{
    bool any = false;
    for (u32 k = 0; k < e->count; k++)
        if (!e->candidates[k].removed)
            any |= try_weaken(e, &e->candidates[k]);
    return any;
}

/* ---- what stays ---------------------------------------------------------------------------------------------------- */

static void report_candidate(Elim *e, const BarrierCandidate *c)
{
    Hazard h;
    const char *why = function_warp_lanes(e->an->fn) ? why_not_of_warp(e, c) : NULL;
    if (!reached_together(e->reach, c->barrier)) {
        report_kept(e, "BarrierNotUniform", c->barrier, "not proven that all threads of the CTA reach it together");
    } else if (c->mispaired) {
        report_kept(e, "BarrierMayPair", c->barrier, "it may pair with another barrier of its number that comes first");
    } else if (why) {
        report_kept(e, "BarrierOfWarpKept", c->barrier, why);
    } else if (find_hazard(e->flow, c->segment, &h)) {
        const char *pair = "";
        if (e->run->sink->wants_remarks)
            pair = arena_printf(e->run->arena, "%s above it conflicts with %s below it",
                                describe_access(e, c, false, h.above), describe_access(e, c, true, h.below));
        report_kept(e, "BarrierNeeded", c->barrier, pair);
    } else if (brings_together(e->flow, c->segment)) {
        report_kept(e, "BarrierNeeded", c->barrier, "what follows depends on which threads of a warp are together");
    } else if (starts_clock(e->flow, c->segment)) {
        report_kept(e, "BarrierNeeded", c->barrier, "what follows measures time, and starts with the threads together");
    } else if (keeps_loop(e, c)) {
        report_kept(e, "BarrierOfConstants", c->barrier,
                    "without it a loop would compute with constants alone, and ptxas folds some of these wrongly");
    } else if (keeps_loads_in_flight(e, c)) {
        report_kept(e, "BarrierOfLoads", c->barrier, "without it ptxas would wait for the loads above one after the other");
    }
}

/* The numbers that the function, or a callee, may use for some threads only. */
static u16 partial_numbers(const Elim *e)
{
    u16 ids = 0;
    for (u32 k = 0; k < e->reach->barriers.n; k++) {
        BarrierUse use = barrier_use(e->reach, e->reach->barriers.v[k]);
        if (!use.called && !use.full)
            ids |= use.ids;
    }
    return ids;
}

/* Reports all barriers that stay, including those that were never candidates. */
static void report_all_kept(Elim *e)
{
    for (u32 k = 0; k < e->count; k++)
        if (!e->candidates[k].removed && !e->candidates[k].weakened)
            report_candidate(e, &e->candidates[k]);
    u16 partial = partial_numbers(e);
    for (u32 k = 0; k < e->reach->barriers.n; k++) {
        const Instr *i = e->reach->barriers.v[k];
        BarrierUse use = barrier_use(e->reach, i);
        if (use.carries_data)
            report_kept(e, "BarrierCarriesData", i, "its result is data");
        else if (use.full && !waits_for_all(e->reach, use))
            report_kept(e, "BarrierMayPair", i,
                        use.ids & partial ? "its number is also used to arrive, to count threads, or from a register"
                                          : "a call may execute barriers, of which nothing is known");
        else if (!use.full && use.ids && !use.called && !use.arrives)
            report_kept(e, "BarrierMayPair", i, "it counts threads, or has its number in a register");
    }
}

/* ---- the phase ----------------------------------------------------------------------------------------------------- */

static void collect(Elim *e)
{
    Analyses *an = e->an;
    const BarrierReach *reach = e->reach;
    const Block *b = NULL;
    u32 segments_end = 0;
    u16 mispaired = 0;
    e->candidates = arena_array(an->scratch, BarrierCandidate, reach->barriers.n);
    for (u32 k = 0; k < reach->barriers.n; k++) {
        Instr *i = reach->barriers.v[k];
        BarrierUse use = barrier_use(e->reach, i);
        u32 position = an_order(an)->index[i->block->id];
        mispaired = i->block == b ? mispaired : reach->mispaired[position];
        b = i->block;
        if (waits_for_all(reach, use)) {
            const Loop *loop = loop_of(an_loops(an), b);
            BarrierCandidate c = {
                i,    flow_segment(position, segments_end++), loop ? loop->depth : 0, (mispaired & use.ids) != 0, false,
                false};
            if (!use.carries_data)
                e->candidates[e->count++] = c;
        }
        mispaired |= reach_mispaired_by(reach, i);
    }
}

static int by_depth(const void *a, const void *b)
{
    const BarrierCandidate *x = a, *y = b;
    if (x->depth != y->depth)
        return x->depth > y->depth ? -1 : 1;
    return x->segment < y->segment ? -1 : x->segment > y->segment;
}

static void sort_candidates(Elim *e)
{
    bool in_loops = false;
    for (u32 k = 0; k < e->count; k++)
        in_loops |= e->candidates[k].depth > 0;
    if (in_loops)
        qsort(e->candidates, e->count, sizeof *e->candidates, by_depth);
}

static bool some_pair_with_themselves(const Elim *e)
{
    for (u32 k = 0; k < e->count; k++)
        if (pairs_with_itself(e, &e->candidates[k]))
            return true;
    return false;
}

/* Whether some remaining barrier is not known to be reached by all threads together. */
static bool some_not_together(const Elim *e)
{
    for (u32 k = 0; k < e->count; k++)
        if (!e->candidates[k].removed && !reached_together(e->reach, e->candidates[k].barrier))
            return true;
    return false;
}

/* PHASE_AGAIN: a block was emptied, or threads may have waited at a removed barrier for threads that come to one that stays. */
static PhaseResult remove_candidates(Elim *e)
{
    PhaseResult result = PHASE_UNCHANGED;
    for (u32 k = 0; k < e->count; k++) {
        const Block *b = e->candidates[k].barrier->block;
        if (try_remove(e, &e->candidates[k]) && result != PHASE_AGAIN)
            result = block_is_empty(b) ? PHASE_AGAIN : PHASE_CHANGED;
    }
    return result == PHASE_CHANGED && some_not_together(e) ? PHASE_AGAIN : result;
}

static PhaseResult remove_barriers(Analyses *an, const Knobs *knobs, PhaseRun *run)
{
    an_freeze(an, AN_DOM | AN_LOOPS | AN_CONTROL | AN_UNIFORM);
    an_compute(an, AN_DOM | AN_LOOPS | AN_CONTROL);
    Elim e = {.run = run, .an = an, .steps = SEARCH_LIMIT};
    e.reach = reach_compute(an, knobs);
    e.of_warp = of_warp_new(an, run);
    collect(&e);
    sort_candidates(&e);
    e.constant_loop = makes_constant_loop(&e);
    if (some_pair_with_themselves(&e))
        e.flow = flow_compute(e.reach, run->sink->wants_remarks);
    PhaseResult result = remove_candidates(&e);
    if (run->is_last || result != PHASE_AGAIN) {
        if (weaken_candidates(&e))
            result = result == PHASE_AGAIN ? result : PHASE_CHANGED;
        report_all_kept(&e);
    }
    if (e.flow)
        flow_free(e.flow);
    reach_free(e.reach);
    return result;
}

/* Answers PHASE_AGAIN where a block was emptied, since clean-up may then join blocks and more may be known of their
 * addresses. So it does where a barrier that was removed may have kept threads from coming to another one together. */
Phase phase_barrier_elim;
PhaseResult phase_barrier_elim(Analyses *an, const Knobs *knobs, PhaseRun *run)
{
    return is_excluded(an, knobs) || !has_barrier(an->fn) ? PHASE_UNCHANGED : remove_barriers(an, knobs, run);
}
