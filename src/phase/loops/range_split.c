/* range-split: runs the iterations without range guards in which these hold: `if (x >= 0 && x < w)`, as convolutions have it.
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
 * Sound: the loop is left at its latch only, where a counter ends it, so that the number of iterations is known in front of it.
 * phase/loops/interval.c shows in which of them the guards hold; the test in front asks whether what it says is exact. FIRST and
 * MIDDLE end after a number of iterations after which the loop would go on, or, at its end, end. All parts have the same registers.
 * So each thread executes the same instructions in the same order, except branches of guards that hold, and the latch's, which are
 * decided by other registers.
 *
 * Threads of a warp may be in several parts. So the loop holds no convergent instruction, and its counter ends it: nobody waits in
 * it. Threads that leave it come together where they did. The branches between the parts stand for those of guards and latch. Where
 * these may divide a warp, the loop stays if an instruction of the function sees which lanes execute it, or is convergent and
 * depends on some of the branches only.
 *
 * It pays where the loop runs long, and the threads of a warp are in the same part as a rule, which the text does not say. So it is
 * done where ptxas judges, and where it is asked for. A loop that does not run long enough to gain what is computed for it
 * finds out after a few instructions. FIRST and LOOP get the pragma nounroll: they run rarely, and are not split again. The parts of
 * a function take at most --loop-version-size machine instructions; the loops that gain the most come first.
 *
 * Declines: guards of values whose step is in a register; loops with another exit, around loops, or with the pragma nounroll; and
 * those with instructions that may not be copied. */
#include "analysis/loop_test.h"
#include "ir/cfg.h"
#include "ir/inspect.h"
#include "phase/loops/copy.h"
#include "phase/loops/interval.h"
#include "target/ptxas.h"
#include "transform/condition.h"
#include "transform/miscounted.h"

enum {
    GUARDS_MAX = 64,        /* the most guards that leave a loop */
    SIZE_MAX_OF_LOOP = 512, /* the most machine instructions of a part */
    WALKED_MAX = 4096,      /* the most blocks and instructions of a loop that is looked at */
    ENOUGH = 4,             /* iterations without guards */
    PAYS_AFTER = 8          /* iterations that have to save what the test costs */
};

typedef struct RangeGuard {
    Block *block, *pass; /* pass: its successor where the guard holds */
    u32 saved;           /* machine instructions */
    const char *why;     /* why it stays; NULL: it goes */
} RangeGuard;

typedef struct Split {
    Loop *loop;
    LoopSums sums;
    SumCompares compare; /* scratch */
    VEC(RangeGuard) guard;
    LoopCounter counter;
    Instr *test; /* the latch's comparison, which counts; NULL: there is none */
    LoopInterval interval;
    BlockVec middle; /* blocks of the middle part, the header first */
    u32 gone, saved; /* guards that go, and the machine instructions that they take */
    u32 size;        /* machine instructions of the copies */
    u32 trips;       /* the least iterations of the loop, */
    u32 enough;      /* and of those without guards; 1: whether it pays or not */
    u64 gain;
} Split;

static void split_free(Split *s)
{
    loop_sums_free(&s->sums);
    loop_interval_free(&s->interval);
    vec_free(&s->compare);
    vec_free(&s->guard);
    vec_free(&s->middle);
}

/* ---- guards and counter ----------------------------------------------------------------------------------------------------- */

static bool is_inside(Analyses *an, const Loop *loop, const Block *b) { return b && loop_contains(an_loops(an), loop, b); }

static Block *exit_of(const Loop *loop)
{
    Instr *branch = block_terminator(loop->latches[0]);
    return branch_target(branch) == loop->header ? loop->latches[0]->fall : branch_target(branch);
}

/* Finds the comparison that alone ends the loop, at its latch. */
static void find_counter(Split *s)
{
    Block *latch = s->loop->latches[0];
    Instr *branch = block_two_way_branch(latch), *test = branch ? local_definition(branch, branch->guard) : NULL;
    if (!test || test->op->opcode != OPC_SETP || test->op->bool_op != BOOL_NONE)
        return;
    s->compare.n = 0;
    if (loop_compares_of(&s->sums, latch, s->loop->header, &s->compare) || s->compare.n != 1 ||
        !loop_counter_read(&s->sums, &s->compare.v[0], latch, &s->counter) || !s->counter.constant)
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

/* NULL, or why the guard stays. *compares: whether it compares what does or does not change in the loop, and nothing else. */
static const char *add_guard(Split *s, RangeGuard *g, bool *compares)
{
    s->compare.n = 0;
    const char *why = loop_compares_of(&s->sums, g->block, g->pass, &s->compare);
    *compares |= !why;
    g->saved = s->compare.n + 1;
    return why ? why : loop_interval_add(&s->interval, s->compare.v, s->compare.n);
}

static void find_guard(Analyses *an, Split *s, Block *b)
{
    Instr *branch = block_two_way_branch(b);
    if (!branch || b == s->loop->latches[0] || !is_inside(an, s->loop, b->fall) ||
        !is_inside(an, s->loop, branch_target(branch)))
        return;
    RangeGuard g = {.block = b, .pass = likely_successor(an, b)};
    bool compares = false, full = s->gone == GUARDS_MAX;
    g.why = full ? "enough others go" : add_guard(s, &g, &compares);
    if (g.why && !full) {
        RangeGuard other = {.block = b, .pass = g.pass == b->fall ? branch_target(branch) : b->fall};
        bool first = compares;
        other.why = add_guard(s, &other, &compares);
        g = other.why && first ? g : other;
    }
    if (!g.why) {
        s->gone++;
        s->saved += g.saved;
    }
    if (compares && g.why != loop_interval_unchanged)
        vec_push(&s->guard, g);
}

/* ---- the parts -------------------------------------------------------------------------------------------------------------- */

static const RangeGuard *guard_at(const Split *s, const Block *b)
{
    for (u32 k = 0; k < s->guard.n; k++)
        if (s->guard.v[k].block == b && !s->guard.v[k].why)
            return &s->guard.v[k];
    return NULL;
}

/* Marks the blocks to which b leads in the loop; in the middle part: where the guards hold. */
static void mark_successors(Analyses *an, const Split *s, const Block *b, Marks *seen, BlockVec *walk)
{
    const RangeGuard *g = guard_at(s, b);
    for_each_cfg_edge(succ, cfg_succs(an->fn, b)) {
        Block *to = succ.v->block;
        if ((!g || to == g->pass) && is_inside(an, s->loop, to) && marks_add(seen, to->id))
            vec_push(walk, to);
    }
}

/* Finds the blocks of the loop that are executed where the guards hold, in the order of the loop's. */
static void find_middle(Analyses *an, Split *s, Marks *seen)
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

/* A loop that only computes is declined, as in loop-version: ptxas folds some loops of constants wrongly. */
static const char *measure(Analyses *an, Split *s)
{
    bool only_computes = true;
    for (u32 k = 0; k < s->loop->block_count; k++) {
        Block *b = s->loop->blocks[k];
        if (b != s->loop->latches[0] && loop_is_left_at(an_loops(an), s->loop, b))
            return "the loop has another exit";
        for_each_instr(i, b) {
            if (i->kind != INSTR_OP)
                continue;
            if (!loop_may_hold_twice(an, i))
                return "the loop holds what may stand in one place only";
            only_computes &= op_is_pure(i->op) || op_has(i->op, OPF_BRANCH);
        }
    }
    if (only_computes)
        return "the loop only computes";
    u32 whole = size_of(s->loop->blocks, s->loop->block_count);
    s->size = size_of(s->middle.v, s->middle.n) + (loop_interval_has(&s->interval, true) ? whole : 0);
    return whole > SIZE_MAX_OF_LOOP ? "the loop is large" : NULL;
}

static const char *why_no_gain(Split *s)
{
    u32 cost = loop_interval_build(&s->interval, s->enough, s->enough, NULL).cost;
    u64 trips = loop_counter_most_trips(&s->sums, &s->counter, PTXAS_UNROLLED_WHOLE);
    s->gain = (u64)s->saved << (s->loop->depth < 8 ? 3 * s->loop->depth : 24);
    if (cost == UINT32_MAX)
        return "it holds in too few iterations";
    s->trips = s->enough;
    if (s->enough < ENOUGH)
        return NULL;
    s->trips += cost / s->saved;
    if (trips <= 2 * ENOUGH)
        return "the loop runs a few times only";
    if (trips != UINT64_MAX && trips * size_of(s->loop->blocks, s->loop->block_count) <= PTXAS_UNROLLED_WHOLE)
        return "ptxas may unroll the loop to its end";
    return cost > PAYS_AFTER * s->saved ? "the test in front of the loop would cost more than it saves" : NULL;
}

static const char *why_not(Analyses *an, Split *s, LoopLanes *lanes)
{
    const Loop *loop = s->loop;
    if (!s->test)
        return "it is not known how often the loop runs";
    if (loop->header == an->fn->entry || block_is_pinned(loop->header))
        return "nothing can stand in front of the loop";
    if (loop->nounroll)
        return "the loop has the pragma nounroll";
    const char *why = measure(an, s);
    if (!why)
        why = why_no_gain(s);
    if (why)
        return why;
    Block *check[GUARDS_MAX + 1] = {loop->latches[0]};
    LoopBranches branches = {.check = check, .checks = 1, .block = loop->blocks, .blocks = loop->block_count};
    for (u32 k = 0; k < s->guard.n; k++)
        if (!s->guard.v[k].why)
            check[branches.checks++] = s->guard.v[k].block;
    return loop_lanes_forbid_branches(an, &branches, lanes);
}

/* ---- the rewrite ---------------------------------------------------------------------------------------------------------------- */

/* Copies of blocks of the loop. */
typedef struct RangePart {
    Block *const *of, **copy;
    u32 n;
} RangePart;

static Block *copy_of(const RangePart *p, const Block *b)
{
    for (u32 k = 0; k < p->n; k++)
        if (p->of[k] == b)
            return p->copy[k];
    return NULL;
}

/* Makes the copies, to be laid out after a block. */
static RangePart copy_part(Analyses *an, const Split *s, bool middle, Block *after)
{
    RangePart p = {.of = middle ? s->middle.v : s->loop->blocks, .n = middle ? s->middle.n : s->loop->block_count};
    p.copy = arena_array(an->scratch, Block *, p.n);
    for (u32 k = 0; k < p.n; k++) {
        const RangeGuard *g = middle ? guard_at(s, p.of[k]) : NULL;
        p.copy[k] = block_clone(p.of[k]);
        block_move_after(p.copy[k], after);
        after = p.copy[k];
        if (g) {
            block_remove_terminator(p.copy[k]);
            block_set_fall(p.copy[k], g->pass);
        }
    }
    for (u32 k = 0; k < p.n; k++)
        for (u32 e = 0; e < block_edge_count(p.copy[k]); e++) {
            Block *to = block_edge_target(p.copy[k], e), *made = copy_of(&p, to);
            if (made)
                block_redirect(p.copy[k], to, made);
        }
    return p;
}

/* Gives b a branch that stands for those of the latch and the guards. */
static void branch_between(Analyses *an, const Split *s, Block *b, RegId guard, bool negated, Block *to)
{
    block_set_branch(b, guard, negated, to, false);
    Instr *branch = block_terminator(b);
    instr_inherit_origin(an->fn, branch, block_terminator(s->loop->latches[0]), NULL);
    for (u32 k = 0; k < s->guard.n; k++)
        if (!s->guard.v[k].why)
            instr_inherit_origin(an->fn, branch, branch, block_terminator(s->guard.v[k].block));
}

/* Where the part goes on: instead of the latch's branch, while the predicate is true. */
static void set_latch(Analyses *an, const Split *s, const RangePart *p, RegId more, Block *next)
{
    Block *latch = copy_of(p, s->loop->latches[0]);
    block_remove_terminator(latch);
    block_set_fall(latch, next);
    branch_between(an, s, latch, more, false, p->copy[0]);
}

/* Lets a part end after the iteration in which the counter's comparison compares `last`. */
static void end_part(Analyses *an, Split *s, const RangePart *p, Operand last, Block *next)
{
    Block *old = s->loop->latches[0], *latch = copy_of(p, old);
    Instr *made = latch->first;
    for (const Instr *i = old->first; i != s->test; i = i->next)
        made = made->next;
    LoopSum sum;
    u32 bits = s->counter.compare.value.bits;
    bool left =
        loop_sum_of(&s->sums, s->test, instr_operand(s->test, 1), bits, &sum) && !loop_sum_is_zero(&s->sums, sum.step);
    Builder at = made->next ? build_before(made->next) : build_at_end(latch);
    OpParts parts = {.cmp = CMP_NE, .type = {signed_type(bits)}};
    RegId more = build_binary(&at, OPC_SETP, parts, TYPE_PRED, *instr_operand(made, left ? 1 : 2), last);
    set_latch(an, s, p, more, next);
}

/* Lets a part, which is entered from a block, end after so many iterations. ptxas unrolls it only if that block holds something, where
 * several lead to it; and it counts by one, and does not know that a larger step comes to `last`. */
static void count_part(Analyses *an, const Split *s, const RangePart *p, Block *enter, Operand many, Block *next)
{
    Builder before = build_at_end(enter);
    RegId left = build_unary(&before, OPC_MOV, (OpParts){.type = {TYPE_U32}}, TYPE_B32, many);
    Builder at = build_at_end(copy_of(p, s->loop->latches[0]));
    Operand slots[] = {register_operand(left), register_operand(left), build_integer((u64)-1, 32, true)};
    build(&at, OPC_ADD, (OpParts){.type = {TYPE_S32}}, slots, 3);
    OpParts compare = {.cmp = CMP_NE, .type = {TYPE_S32}};
    RegId more = build_binary(&at, OPC_SETP, compare, TYPE_PRED, register_operand(left), build_integer(0, 32, true));
    set_latch(an, s, p, more, next);
}

static Block *block_after(const Split *s, Block *after, Block *fall)
{
    Block *b = block_new_like(s->loop->header, s->loop->header->loc);
    block_move_after(b, after);
    block_set_fall(b, fall);
    return b;
}

/* Makes the middle part after a block; answers the block from which it is entered. */
static Block *make_middle(Analyses *an, Split *s, const IntervalEnds *ends, Block *after)
{
    Block *enter = block_after(s, after, after), *next = exit_of(s->loop);
    RangePart p = copy_part(an, s, true, enter);
    block_set_fall(enter, p.copy[0]);
    if (ends->end) {
        next = block_after(s, p.copy[p.n - 1], next);
        branch_between(an, s, next, ends->end, true, s->loop->header);
    }
    if (s->counter.constant > 1 || ends->begin)
        count_part(an, s, &p, enter, ends->many, next);
    else if (ends->end)
        end_part(an, s, &p, ends->last[1], next);
    loop_copy_drop_unread(an, s->loop, p.copy, p.n);
    return enter;
}

/* Makes the part in front of the middle one, after a block. */
static void make_first(Analyses *an, Split *s, const IntervalEnds *ends, Block *middle, Block *after)
{
    RangePart p = copy_part(an, s, false, after);
    end_part(an, s, &p, ends->last[0], middle);
    build_nounroll(p.copy[0]);
    block_set_fall(after, p.copy[0]);
    branch_between(an, s, after, ends->begin, false, middle);
}

static void split(Analyses *an, Split *s)
{
    Block *entry = loop_entry_block(an->fn, s->loop), *header = s->loop->header, *rest = block_after(s, entry, header);
    IntervalPlaces places = {build_at_end(entry), build_at_end(rest)};
    IntervalEnds ends = loop_interval_build(&s->interval, s->trips, s->enough, &places);
    Block *middle = make_middle(an, s, &ends, rest), *to = middle;
    if (ends.begin) {
        to = block_after(s, rest, middle);
        make_first(an, s, &ends, middle, to);
    }
    block_set_fall(entry, rest);
    branch_between(an, s, entry, ends.is_long, true, header);
    block_set_fall(rest, to);
    if (ends.known)
        branch_between(an, s, rest, ends.known, true, header);
    build_nounroll(header);
}

/* ---- all loops ------------------------------------------------------------------------------------------------------------------- */

enum { SPLIT_ANALYSES = AN_LOOPS | AN_DOM | AN_LIVE | AN_SSA | AN_UNIFORM | AN_CONTROL | AN_FACTS };

typedef VEC(Split *) Splits;

static void say_kept(PhaseRun *run, const Split *s, const char *why)
{
    for (u32 k = 0; k < s->guard.n; k++) {
        const RangeGuard *g = &s->guard.v[k];
        const char *said = g->why ? g->why : why;
        if (said)
            phase_missed_once(run, "RangeGuardKept", block_terminator(g->block),
                              "this guard stays in all iterations of its loop: %s", said);
    }
}

static Split *plan(Analyses *an, PhaseRun *run, Loop *loop, u32 enough, LoopLanes *lanes, Marks *seen)
{
    Split *s = arena_new(an->scratch, Split);
    s->loop = loop;
    s->enough = enough;
    loop_sums_init(&s->sums, an, loop);
    find_counter(s);
    s->interval = (LoopInterval){.sums = &s->sums, .counter = &s->counter};
    for (u32 k = 0; k < loop->block_count; k++)
        find_guard(an, s, loop->blocks[k]);
    if (s->guard.n) {
        find_middle(an, s, seen);
        const char *why = s->gone ? why_not(an, s, lanes) : "no guard of the loop goes";
        say_kept(run, s, why);
        if (!why)
            return s;
    }
    split_free(s);
    return NULL;
}

static int by_gain(const void *a, const void *b)
{
    const Split *x = *(Split *const *)a, *y = *(Split *const *)b;
    if (x->gain != y->gain)
        return x->gain > y->gain ? -1 : 1;
    return x->loop->header->id < y->loop->header->id ? -1 : x->loop->header->id > y->loop->header->id;
}

/* told: it is said that the loop could be split, and nothing is done. */
static bool rewrite(Analyses *an, PhaseRun *run, Split *s, u64 most, bool told)
{
    const Instr *at = block_terminator(s->guard.v[0].block);
    if (*run->spent + s->size > most) {
        say_kept(run, s, "the copies of loops are as large as --loop-version-size allows");
        return false;
    }
    if (told) {
        say_kept(run, s,
                 "splitting the loop pays only where it runs long: -O3, the guard, or --range-split-always does it");
        return false;
    }
    bool from = loop_interval_has(&s->interval, true), to = loop_interval_has(&s->interval, false);
    if (!phase_rewrite_at(run, "LoopRangeSplit", at,
                          "the loop runs in up to %s parts, one of them without %u of its %u guards",
                          from && to ? "three" : "two", s->gone, s->guard.n))
        return false;
    *run->spent += s->size;
    phase_count(run, "guards", s->gone);
    split(an, s);
    return true;
}

static bool may_look(Analyses *an, const Loop *loop)
{
    return loop->latch_count == 1 && loop->height == 1 && !an_loops(an)->irreducible &&
           loop->block_count <= SIZE_MAX_OF_LOOP && loop->block_count > 1 && loop_is_short(loop, WALKED_MAX);
}

Phase phase_range_split;
PhaseResult phase_range_split(Analyses *an, const Knobs *knobs, PhaseRun *run)
{
    bool told = !knobs->range_split_always && !run->chosen;
    if (told && !run->sink->wants_remarks)
        return PHASE_UNCHANGED;
    const Loops *loops = an_loops(an);
    Splits splits = {0};
    LoopLanes lanes = {0};
    u32 enough = knobs->range_split_always ? 1 : ENOUGH;
    bool any = false;
    an_freeze(an, SPLIT_ANALYSES);
    BitSet miscounted = miscounted_loops(an);
    Marks seen = marks_new(an->scratch, an->fn->blocks.n);
    for (u32 l = 0; l < loops->n; l++) {
        bool looked_at = !bitset_has(&miscounted, l) && may_look(an, loops->v[l]);
        Split *s = looked_at ? plan(an, run, loops->v[l], enough, &lanes, &seen) : NULL;
        if (s)
            vec_push(&splits, s);
    }
    if (splits.n)
        qsort(splits.v, splits.n, sizeof *splits.v, by_gain);
    for (u32 k = 0; k < splits.n; k++) {
        any |= rewrite(an, run, splits.v[k], knobs->loop_version_size > 0 ? (u64)knobs->loop_version_size : 0, told);
        split_free(splits.v[k]);
    }
    vec_free(&splits);
    return any ? PHASE_CHANGED : PHASE_UNCHANGED;
}
