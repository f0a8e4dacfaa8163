/* range-split: runs a loop without checks and guards in the iterations in which they are known to hold.
 *
 * Checks leave the loop, or stop the thread. They go while they pass:
 *
 *     LOOP: setp.ge.u32 p, i, len;                    n, the least of `end - i` and `len - i`
 *           @p bra FAIL;                              @n<1 bra LOOP;
 *           ...                               MIDDLE: ...
 *           add.s32 i, i, 1;                          add.s32 m, m, -1; setp.ne.s32 q, m, 0;
 *           setp.lt.s32 q, i, end;      to            @q bra MIDDLE;
 *           @q bra LOOP;                              i = i + n; @n==end bra EXIT;
 *                                               LOOP: as it was
 *
 * Range guards do neither: `if (x >= 0 && x < w)`, as in convolutions:
 *
 *     LOOP: setp.lt.s32 p, x, w;                      @!(it runs long) bra LOOP;
 *           @!p bra NEXT;                             from, to: the guard holds in these iterations
 *           ld.global.f32 f, [a];                     @!(they are known, and enough) bra LOOP;
 *     NEXT: ...                                         @from==0 bra MIDDLE;
 *                                              FIRST: as LOOP, up to the iteration before `from`
 *           add.s32 x, x, 1;                  MIDDLE: ld.global.f32 f, [a];
 *           add.s32 i, i, 1;            to            ...
 *           setp.lt.s32 q, i, end;                    add.s32 x, x, 1; add.s32 i, i, 1;
 *           @q bra LOOP;                              setp.ne.s32 q, i, last; @q bra MIDDLE;
 *                                                     @to==end bra EXIT;
 *                                               LOOP: as it was
 *
 * Sound: the loop is left at its latch, where a counter ends it, and at checks that go. So it runs at most as many iterations as
 * the counter allows, which is known in front of it. A loop that only checks leave goes on as LOOP in any case.
 * phase/loops/interval.c shows in which iterations guards hold, and in how many first ones checks do. The test in front asks
 * whether its answer is exact. FIRST and MIDDLE end after a number of iterations after which the loop would go on, or, at its end,
 * would end. All parts have the same registers; those that only checks and the latch read get all their steps after MIDDLE. So each
 * thread executes the same instructions in the same order. The exceptions are the branches of guards that hold, and the latch's,
 * which other registers decide.
 *
 * Threads of a warp may be in several parts. So these hold no convergent instruction, and end by counters: nobody waits in them.
 * Threads that leave the loop at its latch come together where they did, unless a check also leaves it. Then no thread of the
 * function may wait. The branches between the parts stand for those of guards and latch. If these may divide a warp, the loop stays
 * in two cases. An instruction of the function sees which lanes execute it; or it is convergent, and depends on only some of the
 * branches.
 *
 * Removing only checks pays if ptxas unrolls MIDDLE, which counts its iterations and has one exit (tests/ptxas/LOOPS.md). Removing
 * range guards pays if the loop runs long, and the threads of a warp are mostly in the same part. The text does not say whether
 * they are. So guards go if ptxas judges, or on request. A loop too short to gain what the test costs finds out after a few
 * instructions. FIRST and LOOP get the pragma nounroll: they run rarely, and are not split again. The parts of a function's loops,
 * and the copies of loop-version, which comes first, take at most --loop-version-size machine instructions. The loops that gain the
 * most come first. A large function keeps the guards of a loop that takes a small part of its time: no judge would see the
 * difference, and asking takes as long as assembling the function again.
 *
 * Declines: checks of values whose step is in a register; loops with another exit, around loops, or with the pragma nounroll; loops
 * with instructions that may not be copied. */
#include "analysis/loop_test.h"
#include "ir/cfg.h"
#include "ir/inspect.h"
#include "phase/loops/copy.h"
#include "phase/loops/range_parts.h"
#include "target/ptxas.h"
#include "transform/condition.h"
#include "transform/miscounted.h"

enum {
    GUARDS_MAX = 64, /* the most guards that leave a loop */
    ENOUGH = 4,      /* iterations without guards */
    PAYS_AFTER = 8,  /* iterations that have to save what the test costs; twice as many where guards are dense */
    DENSE = 8,       /* several guards, and one in so many instructions: without them loads may go together */
    LARGE = 3000,    /* machine instructions: it takes long to judge such a function, as in pipeline/little.def */
    SEEN = 200,      /* a gain below this part of the function's cost is below what the judge tells apart */
    STEP_MOST = 256  /* the largest step of a loop from which nothing but checks goes */
};

static void split_free(RangeSplit *s)
{
    loop_sums_free(&s->sums);
    loop_interval_free(&s->interval);
    vec_free(&s->compare);
    vec_free(&s->guard);
    fnvmap_free(&s->guard_of);
    vec_free(&s->middle);
}

/* Gives back what only planning needs: a function may have very many loops with guards. */
static void split_put_aside(RangeSplit *s)
{
    linear_shrink(s->sums.exprs);
    vec_shrink(&s->sums.entered);
    vec_free(&s->compare);
    vec_shrink(&s->guard);
    vec_shrink(&s->middle);
    vec_shrink(&s->interval.check);
}

static const char *const not_counted = "it is not known how often the loop runs";

/* ---- guards and counter ----------------------------------------------------------------------------------------------------- */

static bool is_inside(Analyses *an, const Loop *loop, const Block *b) { return b && loop_contains(an_loops(an), loop, b); }

/* Finds the comparison that alone ends the loop, at its latch. Where nothing but checks is to go, its step is a constant. */
static void find_counter(RangeSplit *s, bool checks)
{
    Block *latch = s->loop->latches[0];
    Instr *branch = block_two_way_branch(latch), *test = branch ? local_definition(branch, branch->guard) : NULL;
    if (!test || test->op->opcode != OPC_SETP || test->op->bool_op != BOOL_NONE)
        return;
    s->compare.n = 0;
    if (loop_compares_of(&s->sums, latch, s->loop->header, &s->compare, NULL) || s->compare.n != 1 ||
        !loop_counter_read(&s->sums, &s->compare.v[0], latch, &s->counter) || (checks && !s->counter.constant))
        return;
    s->counter.alone = true;
    s->test = test;
}

/* The successor of the guard that is tried first: the one that no other block leads to. */
static Block *likely_successor(const Analyses *an, const Block *b)
{
    Block *taken = branch_target(block_terminator(b));
    return cfg_single_pred(an->fn, b->fall) || !cfg_single_pred(an->fn, taken) ? b->fall : taken;
}

/* The successor of a block of the loop where a check passes, if its branch is one; otherwise NULL. */
static Block *passing_successor(Analyses *an, const Loop *loop, const Block *b)
{
    Block *taken = branch_target(block_terminator(b)), *fall = b->fall;
    bool taken_stays = is_inside(an, loop, taken), fall_stays = is_inside(an, loop, fall);
    if (taken_stays && fall_stays) {
        taken_stays = !loop_is_failure(an->fn, taken);
        fall_stays = !loop_is_failure(an->fn, fall);
    }
    if (taken_stays == fall_stays)
        return NULL;
    return taken_stays ? taken : fall;
}

/* NULL, or why the guard stays. *compares: whether it compares what does or does not change in the loop, and nothing else. */
static const char *add_guard(RangeSplit *s, RangeGuard *g, bool *compares)
{
    s->compare.n = 0;
    const char *why = loop_compares_of(&s->sums, g->block, g->pass, &s->compare, NULL);
    g->blamed = why ? s->sums.blamed : NULL;
    *compares |= !why;
    g->saved = s->compare.n + 1;
    if (why)
        return why;
    if (g->is_check)
        return loop_interval_add_check(&s->interval, s->compare.v, s->compare.n);
    return s->test ? loop_interval_add(&s->interval, s->compare.v, s->compare.n) : not_counted;
}

/* Tries both successors of a branch that stays in the loop. */
static RangeGuard read_guard(const Analyses *an, RangeSplit *s, Block *b, bool *compares)
{
    RangeGuard g = {.block = b, .pass = likely_successor(an, b)};
    g.why = add_guard(s, &g, compares);
    if (!g.why)
        return g;
    RangeGuard other = {.block = b, .pass = g.pass == b->fall ? branch_target(block_terminator(b)) : b->fall};
    bool first = *compares;
    other.why = add_guard(s, &other, compares);
    return other.why && first ? g : other;
}

/* checks: nothing but checks is looked for. */
static void find_guard(Analyses *an, RangeSplit *s, Block *b, bool checks)
{
    if (b == s->loop->latches[0] || !block_two_way_branch(b))
        return;
    RangeGuard g = {.block = b, .pass = passing_successor(an, s->loop, b)};
    bool compares = false;
    g.is_check = g.pass != NULL;
    if (!g.is_check && checks)
        return;
    if (s->gone == GUARDS_MAX)
        g.why = "enough others go";
    else if (g.is_check)
        g.why = add_guard(s, &g, &compares);
    else
        g = read_guard(an, s, b, &compares);
    if (!g.why) {
        s->gone++;
        s->checks += g.is_check;
        s->saved += g.saved;
    }
    if (!compares || g.why == loop_interval_unchanged)
        return;
    vec_push(&s->guard, g);
    *fnvmap_at(&s->guard_of, b->id) = s->guard.n;
}

/* ---- the parts -------------------------------------------------------------------------------------------------------------- */

/* Marks the blocks to which b leads in the loop; in the middle part: where the guards hold. */
static void mark_successors(Analyses *an, const RangeSplit *s, const Block *b, Marks *seen, BlockVec *walk)
{
    const RangeGuard *g = range_split_guard_at(s, b);
    for_each_cfg_edge(succ, cfg_succs(an->fn, b)) {
        Block *to = succ.v->block;
        if ((!g || to == g->pass) && is_inside(an, s->loop, to) && marks_add(seen, to->id))
            vec_push(walk, to);
    }
}

/* Finds the blocks of the loop that are executed where the guards hold, in the order of the loop's. */
static void find_middle(Analyses *an, RangeSplit *s, Marks *seen)
{
    BlockVec walk = {0};
    marks_clear(seen);
    marks_add(seen, s->loop->header->id);
    vec_push(&walk, s->loop->header);
    for (u32 k = 0; k < walk.n; k++)
        mark_successors(an, s, walk.v[k], seen, &walk);
    for (u32 k = 0; k < s->loop->block_count; k++)
        if (marks_has(seen, s->loop->blocks[k]->id))
            vec_push(&s->middle, s->loop->blocks[k]);
    vec_free(&walk);
}

static u32 size_of(Block *const *blocks, u32 n)
{
    u32 size = 0;
    for (u32 k = 0; k < n; k++)
        for_each_instr(i, blocks[k])
            size += ptxas_cost(i);
    return size;
}

/* Whether the loop is left elsewhere than at its latch and at checks that go. */
static bool has_other_exit(Analyses *an, const RangeSplit *s)
{
    for (u32 k = 0; k < s->loop->block_count; k++) {
        const Block *b = s->loop->blocks[k];
        if (b != s->loop->latches[0] && loop_is_left_at(an_loops(an), s->loop, b) && !range_split_guard_at(s, b))
            return true;
    }
    return false;
}

/* A loop that only computes is declined, as in loop-version: ptxas folds some loops of constants wrongly. */
static const char *measure(Analyses *an, RangeSplit *s, u64 most)
{
    bool only_computes = true, first = loop_interval_has(&s->interval, true);
    Block *const *block = first ? s->loop->blocks : s->middle.v;
    u32 blocks = first ? s->loop->block_count : s->middle.n;
    if (has_other_exit(an, s))
        return "the loop has another exit";
    for (u32 k = 0; k < blocks; k++)
        for_each_instr(i, block[k]) {
            if (i->kind != INSTR_OP)
                continue;
            if (!loop_may_hold_twice(an, i))
                return loop_holds(an, i, "may stand in one place only");
            only_computes &= op_is_pure(i->op) || op_has(i->op, OPF_BRANCH);
        }
    if (only_computes)
        return "the loop only computes";
    u32 whole = size_of(block, blocks);
    s->size = first ? size_of(s->middle.v, s->middle.n) + whole : whole;
    return s->size > most ? "the loop is larger than --loop-version-size allows" : NULL;
}

/* The most iterations of the loop, if they are known to be few. Where the latch does not end it, its checks do. */
static u64 most_trips(Analyses *an, RangeSplit *s)
{
    u64 least = loop_counter_most_trips(an, &s->sums, s->test ? &s->counter : NULL, PTXAS_UNROLLED_WHOLE);
    LoopCounter counter;
    for (u32 k = 0; k < s->interval.check.n && !s->test; k++) {
        if (!loop_counter_read(&s->sums, &s->interval.check.v[k], s->loop->header, &counter))
            continue;
        u64 trips = loop_counter_most_trips(an, &s->sums, &counter, PTXAS_UNROLLED_WHOLE);
        least = trips < least ? trips : least;
    }
    return least;
}

/* Whether a loop's values go in steps as those of one whose iterations do the work of several: more of them at once take registers. */
static bool has_large_steps(const RangeSplit *s)
{
    bool large = s->test && s->counter.constant > STEP_MOST;
    for (u32 k = 0; k < s->interval.check.n; k++) {
        const LoopSum *v = &s->interval.check.v[k].value;
        i64 step = sem_signed(loop_sum_constant(&s->sums, v->step), v->bits);
        large |= step < -STEP_MOST || step > STEP_MOST;
    }
    return large;
}

/* Why ptxas does not unroll a part from which nothing but checks goes, or does it to no avail; NULL: it does. */
static const char *why_not_unrolled(Analyses *an, RangeSplit *s)
{
    u32 size = 0, accesses = 0, branches = 0;
    for (u32 k = 0; k < s->middle.n; k++)
        for_each_instr(i, s->middle.v[k]) {
            bool ends = i->kind == INSTR_OP && op_has(i->op, OPF_TERMINATOR);
            size += ends ? 0 : ptxas_cost(i);
            accesses += i->kind == INSTR_OP && i->op->mem != MEM_NONE;
            branches +=
                ends && i->guard && s->middle.v[k] != s->loop->latches[0] && !range_split_guard_at(s, s->middle.v[k]);
        }
    size -= s->saved - s->gone < size ? s->saved - s->gone : size;
    if (branches >= PTXAS_UNROLLED_BLOCKS || size > PTXAS_UNROLLED_MOST || accesses > PTXAS_UNROLLED_ACCESSES)
        return "the loop is large";
    if (has_large_steps(s))
        return "its values go in large steps";
    return most_trips(an, s) <= PTXAS_UNROLLED_WHOLE / (size + 1) ? "ptxas may unroll the loop to its end" : NULL;
}

/* What plans of a function share. */
typedef struct SplitSearch {
    PhaseRun *run;
    u64 most;  /* machine instructions of the copies of its loops */
    u64 whole; /* all instructions of a large function, as often as they may run; 0: it is not large */
    LoopLanes lanes;
    Marks seen;
    MiscountedLoops miscounted;
} SplitSearch;

static u64 whole_cost(Analyses *an)
{
    u64 once = 0, whole = 0;
    for_each_block(b, an->fn) {
        const Loop *loop = loop_of(an_loops(an), b);
        u32 cost = ptxas_block_cost(b, UINT16_MAX);
        once += cost;
        whole += loop_weighed(cost, loop);
    }
    return once < LARGE ? 0 : whole;
}

static const char *why_no_gain(Analyses *an, RangeSplit *s, const SplitSearch *search)
{
    u32 enough = range_split_has_only_checks(s) ? 1 : s->enough;
    u32 cost = loop_interval_build(&s->interval, range_split_has_only_checks(s) ? 0 : enough, enough, NULL).cost;
    u64 trips = most_trips(an, s);
    s->gain = loop_weighed(s->saved, s->loop);
    if (cost == UINT32_MAX)
        return "it holds in too few iterations";
    s->trips = enough;
    if (s->enough < ENOUGH)
        return NULL;
    s->enough = enough;
    if (range_split_has_only_checks(s))
        return why_not_unrolled(an, s);
    if (s->gain < search->whole / SEEN)
        return "the rest of the function takes so long that what the loop gains is not seen";
    s->trips += cost / s->saved;
    if (trips <= 2 * ENOUGH)
        return "the loop runs a few times only";
    if (trips != UINT64_MAX && trips * size_of(s->loop->blocks, s->loop->block_count) <= PTXAS_UNROLLED_WHOLE)
        return "ptxas may unroll the loop to its end";
    u32 times = s->gone > 1 && size_of(s->middle.v, s->middle.n) <= DENSE * s->saved ? 2 : 1;
    return cost > times * PAYS_AFTER * s->saved ? "the test in front of the loop would cost more than it saves" : NULL;
}

static const char *why_not(Analyses *an, RangeSplit *s, SplitSearch *search)
{
    const Loop *loop = s->loop;
    if (!s->test && (loop_is_left_at(an_loops(an), loop, loop->latches[0]) || s->checks < 2))
        return not_counted;
    if (loop->header == an->fn->entry || block_is_pinned(loop->header))
        return "nothing can stand in front of the loop";
    if (loop->nounroll)
        return "the loop has the pragma nounroll";
    const char *why = measure(an, s, search->most);
    if (!why)
        why = why_no_gain(an, s, search);
    if (why)
        return why;
    Block *check[GUARDS_MAX + 1] = {loop->latches[0]};
    LoopBranches branches = {.check = check, .block = loop->blocks, .blocks = loop->block_count};
    branches.checks = s->test != NULL;
    for (u32 k = 0; k < s->guard.n; k++) {
        const RangeGuard *g = &s->guard.v[k];
        if (g->why)
            continue;
        check[branches.checks++] = g->block;
        branches.leave |= loop_is_left_at(an_loops(an), loop, g->block);
    }
    return loop_lanes_forbid(an, &branches, &search->lanes);
}

/* ---- all loops ------------------------------------------------------------------------------------------------------------------- */

enum { SPLIT_ANALYSES = AN_LOOPS | AN_DOM | AN_LIVE | AN_SSA | AN_UNIFORM | AN_CONTROL | AN_FACTS };

typedef VEC(RangeSplit *) Splits;

static void say_kept(PhaseRun *run, const RangeSplit *s, const char *why)
{
    for (u32 k = 0; k < s->guard.n; k++) {
        const RangeGuard *g = &s->guard.v[k];
        const Instr *at = block_terminator(g->block);
        const char *said = g->why ? g->why : why, *line = loop_line_of(run, g->why ? g->blamed : NULL);
        if (said && g->is_check)
            phase_stays(run, "BoundsCheckKept", at, "this check is made in all iterations of its loop: %s%s", said, line);
        else if (said)
            phase_stays(run, "RangeGuardKept", at, "this guard stays in all iterations of its loop: %s%s", said, line);
    }
}

/* checks: nothing but checks is to go. */
static RangeSplit *plan(Analyses *an, SplitSearch *search, Loop *loop, u32 enough, bool checks)
{
    RangeSplit *s = arena_new(an->scratch, RangeSplit);
    s->loop = loop;
    s->enough = enough;
    loop_sums_init(&s->sums, an->scratch, affine_loop(an, loop), an_ssa(an));
    find_counter(s, checks);
    s->interval = (LoopInterval){.sums = &s->sums, .counter = s->test ? &s->counter : NULL};
    for (u32 k = 0; k < loop->block_count; k++)
        find_guard(an, s, loop->blocks[k], checks);
    if (s->guard.n && !miscounted_has(&search->miscounted, loop)) {
        find_middle(an, s, &search->seen);
        const char *why = s->gone ? why_not(an, s, search) : "no guard of the loop goes";
        if (!why) {
            split_put_aside(s);
            return s;
        }
        say_kept(search->run, s, why);
    }
    split_free(s);
    return NULL;
}

static int by_gain(const void *a, const void *b)
{
    const RangeSplit *x = *(RangeSplit *const *)a, *y = *(RangeSplit *const *)b;
    if (x->gain != y->gain)
        return x->gain > y->gain ? -1 : 1;
    return x->loop->header->id < y->loop->header->id ? -1 : x->loop->header->id > y->loop->header->id;
}

static bool reports_split(PhaseRun *run, const RangeSplit *s)
{
    const Instr *at = block_terminator(s->guard.v[0].block);
    if (range_split_has_only_checks(s))
        return phase_rewrite_at(run, "BoundsCheckSplit", at,
                                "the loop runs without %u bounds check%s for as long as they pass", s->checks,
                                s->checks == 1 ? "" : "s");
    bool from = loop_interval_has(&s->interval, true), to = loop_interval_has(&s->interval, false) || s->checks;
    return phase_rewrite_at(run, "LoopRangeSplit", at,
                            "the loop runs in up to %s parts, one of them without %u of its %u guards",
                            from && to ? "three" : "two", s->gone, s->guard.n);
}

static bool rewrite(Analyses *an, PhaseRun *run, RangeSplit *s, u64 most)
{
    if (*run->copied + s->size > most) {
        say_kept(run, s, "the copies of loops are as large as --loop-version-size allows");
        return false;
    }
    say_kept(run, s, NULL);
    if (!reports_split(run, s))
        return false;
    for (u32 k = 0; k < s->guard.n; k++)
        if (!s->guard.v[k].why)
            phase_removed(run, block_terminator(s->guard.v[k].block));
    *run->copied += s->size;
    phase_count(run, "checks", s->checks);
    phase_count(run, "guards", s->gone - s->checks);
    range_split_build(an, s);
    return true;
}

static bool may_look(Analyses *an, const Loop *loop)
{
    return loop->latch_count == 1 && loop->height == 1 && !an_loops(an)->irreducible && loop->block_count > 1 &&
           !loop_is_rest(loop);
}

static bool has_candidate(Analyses *an)
{
    const Loops *loops = an_loops(an);
    for (u32 l = 0; l < loops->n; l++)
        for (u32 k = 0; k < loops->v[l]->block_count && may_look(an, loops->v[l]); k++)
            if (loops->v[l]->blocks[k] != loops->v[l]->latches[0] && block_two_way_branch(loops->v[l]->blocks[k]))
                return true;
    return false;
}

/* Says of the range guards of a loop that they could leave it. */
static void tell(Analyses *an, SplitSearch *search, Loop *loop)
{
    RangeSplit *s = plan(an, search, loop, ENOUGH, false);
    for (u32 k = 0; s && k < s->guard.n; k++)
        if (!s->guard.v[k].is_check && !s->guard.v[k].why)
            s->guard.v[k].why =
                "splitting the loop pays only where it runs long: the guard, or --range-split-always does it";
    if (s) {
        say_kept(search->run, s, NULL);
        split_free(s);
    }
}

Phase phase_range_split;
PhaseResult phase_range_split(Analyses *an, const Knobs *knobs, PhaseRun *run)
{
    bool checks = !knobs->range_split_always && !run->chosen;
    u64 most = knobs->loop_version_size > 0 ? (u64)knobs->loop_version_size : 0;
    if (!has_candidate(an))
        return PHASE_UNCHANGED;
    const Loops *loops = an_loops(an);
    Splits splits = {0};
    SplitSearch search = {.run = run, .most = most, .miscounted = {.an = an}};
    u32 enough = knobs->range_split_always ? 1 : ENOUGH;
    bool any = false;
    an_freeze(an, SPLIT_ANALYSES);
    search.seen = marks_new(an->scratch, an->fn->blocks.n);
    search.whole = whole_cost(an);
    for (u32 l = 0; l < loops->n; l++) {
        if (!may_look(an, loops->v[l]))
            continue;
        if (checks && run->sink->wants_remarks && !miscounted_has(&search.miscounted, loops->v[l]))
            tell(an, &search, loops->v[l]);
        RangeSplit *s = plan(an, &search, loops->v[l], enough, checks);
        if (s)
            vec_push(&splits, s);
    }
    if (splits.n) {
        an_compute_frozen(an);
        qsort(splits.v, splits.n, sizeof *splits.v, by_gain);
    }
    for (u32 k = 0; k < splits.n; k++) {
        any |= rewrite(an, run, splits.v[k], most);
        split_free(splits.v[k]);
    }
    vec_free(&splits);
    return any ? PHASE_CHANGED : PHASE_UNCHANGED;
}
