/* loop-version: runs a loop without its bounds checks if all of them pass in all iterations.
 *
 *     LOOP: setp.lt.u32 p, i, len;                    q = the checks pass in the first and in the last iteration
 *           @p bra NEXT; trap;                        @!q bra LOOP;
 *     NEXT: ...                                 FAST: ...
 *           add.s32 i, i, s;              to          add.s32 i, i, s;
 *           setp.lt.s32 r, i, end;                    setp.lt.s32 r, i, end;
 *           @r bra LOOP;                              @r bra FAST;
 *                                                     bra EXIT;
 *                                               LOOP: as it was
 *
 * Sound: FAST is the loop without branches that continue whenever they are executed, as phase/loops/decide.c shows. The test
 * computes integers, so it can stand in front of the loop. A thread for which it fails executes the loop as it was, up to the
 * failing check and what follows. Each thread executes the same instructions in the same order, except for what only those branches
 * read, and for extended values that FAST computes from others (phase/loops/widened.c).
 *
 * Threads of a warp may be in both loops. So FAST holds no convergent instruction, and none that waits, and threads in the loop do
 * not wait for others. If a check leaves the loop, threads that leave it otherwise may wait for each other after FAST, but not
 * after LOOP. No thread of the function may wait then. The test stands for the branches that FAST lacks. If they may divide a warp,
 * the loop stays in two cases. An instruction of the function sees which lanes execute it; or it is convergent, and depends on only
 * some of the branches.
 *
 * It pays if an iteration costs as much as the test, and more if ptxas unrolls FAST, which then has one exit. If ptxas does not
 * count by the loop's own test, FAST counts its iterations down. A loop known to run only a few times stays. The copies of a
 * function take at most --loop-version-size machine instructions; the loops that gain the most come first. LOOP gets the pragma
 * nounroll, since it runs rarely. It gets it twice if one of the versions would be looked at again: LOOP if it might run what is
 * left of an unrolled one, FAST if checks stay in it.
 *
 * Declines: checks whose operands are neither invariant, counted evenly nor bounded (analysis/loop_bounds.h), or whose branch an
 * iteration may skip; loops around loops; loops with instructions that may not be copied. */
#include <string.h>

#include "analysis/reconverge.h"
#include "analysis/values.h"
#include "ir/cfg.h"
#include "ir/inspect.h"
#include "phase/loops/copy.h"
#include "phase/loops/decide.h"
#include "phase/loops/widened.h"
#include "target/ptxas.h"
#include "transform/condition.h"
#include "transform/miscounted.h"

enum {
    COUNTERS_MAX = 4, /* the most counters of a loop that are tried */
    LEAVES_MAX = 4,   /* the most blocks that a failed check passes before the thread stops, */
    LEAVES_CODE = 64, /* and the most instructions of one of these in front of a trap */
    CHECK_COST = 3,   /* machine instructions: comparison, branch, and what only they read */
    LINES_MAX = 8,    /* the most lines of checks that a remark names */
    FEW_TRIPS = 2,
    REST_TRIPS = 16 /* of a loop that runs what is left of an unrolled one */
};

typedef struct Check {
    Block *block, *pass; /* pass: its successor where the check passes */
    u32 first, compares; /* of Version.compare */
    const char *why;     /* why it stays; NULL: it goes */
    const Instr *blamed; /* the instruction that this is about; NULL: none */
} Check;

typedef struct Version {
    Loop *loop;
    LoopSums sums;
    SumCompares compare;
    VecU32 group; /* by comparison: its group of the decision, if its check goes */
    VEC(Check) check;
    FnvMap check_of; /* by Block.id of its block: the place in `check`, plus 1 */
    VEC(LoopCounter) counter;
    LoopDecision decision;
    BlockVec blocks; /* that are copied, the header first */
    FnvMap place;    /* by Block.id: the place in `blocks`, plus 1 */
    u32 gone;        /* checks that go */
    u32 size, cost;  /* machine instructions of the copy, and of the test */
    u64 gain, trips; /* trips: at most; UINT64_MAX: unknown */
} Version;

static void version_free(Version *v)
{
    loop_decision_free(&v->decision);
    loop_sums_free(&v->sums);
    vec_free(&v->compare);
    vec_free(&v->group);
    vec_free(&v->check);
    vec_free(&v->counter);
    fnvmap_free(&v->check_of);
    fnvmap_free(&v->place);
    vec_free(&v->blocks);
}

/* Gives back what only planning needs: a function may have very many loops with checks. */
static void version_put_aside(Version *v)
{
    loop_decision_close(&v->decision);
    loop_sums_close(&v->sums);
    fnvmap_free(&v->check_of);
    fnvmap_free(&v->place);
    vec_shrink(&v->compare);
    vec_shrink(&v->group);
    vec_shrink(&v->check);
    vec_shrink(&v->blocks);
}

/* Finds blocks and checks by number again. */
static void version_take_up(Version *v)
{
    for (u32 k = 0; k < v->check.n; k++)
        *fnvmap_at(&v->check_of, v->check.v[k].block->id) = k + 1;
    for (u32 k = 0; k < v->blocks.n; k++)
        *fnvmap_at(&v->place, v->blocks.v[k]->id) = k + 1;
}

/* ---- checks ------------------------------------------------------------------------------------------------------------------- */

static bool is_inside(Analyses *an, const Loop *loop, const Block *b) { return b && loop_contains(an_loops(an), loop, b); }

/* How the thread ends where control leaves the loop for a block. */
typedef enum Ending { ENDING_NONE, ENDING_RETURN, ENDING_FAILURE } Ending;

/* Whether one of the first instructions of b is a trap. */
static bool traps_soon(const Block *b)
{
    u32 left = LEAVES_CODE;
    for (const Instr *i = b->first; i && left > 0; i = i->next, left--)
        if (i->kind == INSTR_OP && (i->op->opcode == OPC_TRAP || i->op->opcode == OPC_BRKPT))
            return true;
    return false;
}

/* NONE: it does not end soon, or something else leads there too, except to a trap, which checks share, or to an end at once. */
static Ending ending_at(const Analyses *an, const Block *b)
{
    Ending ending = ENDING_RETURN;
    for (u32 k = 0; k < LEAVES_MAX && b; k++, b = b->fall) {
        const Instr *end = block_terminator(b);
        bool ends = end ? !end->guard && op_has(end->op, OPF_NO_RETURN) : !b->fall;
        if (traps_soon(b))
            return ENDING_FAILURE;
        if (!cfg_single_pred(an->fn, b))
            return ends && block_first_op(b) == end ? ending : ENDING_NONE;
        for_each_instr(i, b)
            if (loop_stops(i))
                ending = ENDING_FAILURE;
        if (end || ends)
            return ends ? ending : ENDING_NONE;
    }
    return ENDING_NONE;
}

/* Whether a loop that is not left at its latch is left at b, its header, to return: that is its end, and no check. */
static bool is_test_at_top(Analyses *an, const Loop *loop, const Block *b)
{
    return b == loop->header && !loop_is_left_at(an_loops(an), loop, loop->latches[0]);
}

/* The successor of a block of the loop where a check passes, if its branch is one; otherwise NULL. */
static Block *passing_successor(Analyses *an, const Loop *loop, const Block *b)
{
    Instr *branch = block_two_way_branch(b);
    if (!branch || b == loop->latches[0])
        return NULL;
    Block *taken = branch_target(branch), *fall = b->fall;
    if (is_inside(an, loop, taken) != is_inside(an, loop, fall)) {
        bool stays = is_inside(an, loop, taken);
        Ending ending = ending_at(an, stays ? fall : taken);
        if (ending == ENDING_NONE || (ending == ENDING_RETURN && is_test_at_top(an, loop, b)))
            return NULL;
        return stays ? taken : fall;
    }
    if (!is_inside(an, loop, taken) || loop_is_failure(an->fn, taken) == loop_is_failure(an->fn, fall))
        return NULL;
    return loop_is_failure(an->fn, taken) ? fall : taken;
}

/* The successor by which the loop goes on, if the branch may end it; otherwise NULL. */
static Block *continuing_successor(Analyses *an, const Loop *loop, const Block *b)
{
    Instr *branch = block_two_way_branch(b);
    if (!branch)
        return NULL;
    Block *taken = branch_target(branch), *fall = b->fall;
    if (is_inside(an, loop, taken) == is_inside(an, loop, fall))
        return NULL;
    return is_inside(an, loop, taken) ? taken : fall;
}

static void find_counters(Analyses *an, Version *v, const Block *b)
{
    const Block *on = continuing_successor(an, v->loop, b);
    u32 first = v->compare.n;
    if (!on || loop_compares_of(&v->sums, b, on, &v->compare, NULL))
        return;
    for (u32 k = first; k < v->compare.n && v->counter.n < COUNTERS_MAX; k++) {
        LoopCounter counter;
        if (!loop_counter_read(&v->sums, &v->compare.v[k], b, &counter))
            continue;
        counter.alone = v->compare.n - first == 1;
        vec_push(&v->counter, counter);
    }
    v->compare.n = first;
}

/* Answers whether the branch is a check; then it counts no iterations, since it may go. */
static bool find_check(Analyses *an, Version *v, Block *b)
{
    Check c = {.block = b, .pass = passing_successor(an, v->loop, b), .first = v->compare.n};
    if (!c.pass)
        return false;
    c.why = loop_compares_of(&v->sums, b, c.pass, &v->compare, an);
    c.compares = v->compare.n - c.first;
    c.blamed = c.why ? v->sums.blamed : NULL;
    vec_push(&v->check, c);
    *fnvmap_at(&v->check_of, b->id) = v->check.n;
    return true;
}

static bool is_in_every_iteration(Analyses *an, const Loop *loop, const Block *b)
{
    for (u32 k = 0; k < loop->latch_count; k++)
        if (!dominates(an_dom(an), b, loop->latches[k]))
            return false;
    return true;
}

/* Finds the checks and counters that each iteration executes. */
static void find_branches(Analyses *an, Version *v)
{
    for (u32 k = 0; k < v->loop->block_count; k++) {
        Block *b = v->loop->blocks[k];
        if (is_in_every_iteration(an, v->loop, b) && !find_check(an, v, b))
            find_counters(an, v, b);
    }
}

/* ---- which checks go ------------------------------------------------------------------------------------------------------- */

static bool is_early(Analyses *an, const LoopCounter *counter, const Block *check)
{
    return !counter || !strictly_dominates(an_dom(an), counter->block, check);
}

static const char *decide_check(Analyses *an, Version *v, const Check *c)
{
    LoopDecision *d = &v->decision;
    bool early = is_early(an, d->counter, c->block);
    for (u32 k = 0; k < c->compares; k++) {
        const char *why = loop_decision_add(d, &v->compare.v[c->first + k], early);
        if (why)
            return why;
        v->group.v[c->first + k] = d->last;
    }
    return NULL;
}

/* Decides as many checks as this counter can. A check of which a comparison cannot be decided leaves others in the test, which
 * then asks for more than it has to. */
static u32 decide(Analyses *an, Version *v, const LoopCounter *counter)
{
    loop_decision_free(&v->decision);
    v->decision = (LoopDecision){.sums = &v->sums, .counter = counter};
    vec_clear(&v->group);
    for (u32 k = 0; k < v->compare.n; k++)
        vec_push(&v->group, 0);
    u32 gone = 0;
    for (u32 k = 0; k < v->check.n; k++) {
        Check *c = &v->check.v[k];
        if (!c->compares)
            continue;
        c->why = decide_check(an, v, c);
        gone += !c->why;
    }
    return gone;
}

/* Chooses the counter that removes the most checks. */
static void decide_best(Analyses *an, Version *v)
{
    const LoopCounter *best = NULL;
    v->gone = decide(an, v, NULL);
    for (u32 k = 0; k < v->counter.n; k++) {
        u32 gone = decide(an, v, &v->counter.v[k]);
        if (gone > v->gone || !v->gone)
            best = &v->counter.v[k];
        v->gone = gone > v->gone ? gone : v->gone;
    }
    decide(an, v, best);
}

/* ---- the copy ----------------------------------------------------------------------------------------------------------------- */

static const Check *check_at(const Version *v, const Block *b)
{
    const u64 *place = fnvmap_find(&v->check_of, b->id);
    const Check *c = place ? &v->check.v[*place - 1] : NULL;
    return c && !c->why ? c : NULL;
}

static void add_block(Version *v, Block *b)
{
    u64 *place = fnvmap_at(&v->place, b->id);
    if (*place)
        return;
    vec_push(&v->blocks, b);
    *place = v->blocks.n;
}

/* Adds the blocks of the loop that are executed where the checks that go always pass. */
static void find_blocks(Analyses *an, Version *v)
{
    add_block(v, v->loop->header);
    for (u32 k = 0; k < v->blocks.n; k++) {
        Block *b = v->blocks.v[k];
        const Check *c = check_at(v, b);
        for_each_cfg_edge(succ, cfg_succs(an->fn, b)) {
            Block *to = succ.v->block;
            if ((!c || to == c->pass) && is_inside(an, v->loop, to))
                add_block(v, to);
        }
    }
}

static bool is_left_at(Analyses *an, const Version *v, const Block *b)
{
    const Check *c = check_at(v, b);
    for_each_cfg_edge(succ, cfg_succs(an->fn, b))
        if ((!c || succ.v->block == c->pass) && !is_inside(an, v->loop, succ.v->block))
            return true;
    return false;
}

/* A copy that only computes is declined. Without its checks it might compute with constants alone, which ptxas folds
 * wrongly in some forms of a loop (transform/miscounted.h). */
static const char *measure(Analyses *an, Version *v, u64 most)
{
    bool left = false, only_computes = true;
    for (u32 k = 0; k < v->blocks.n; k++) {
        left |= is_left_at(an, v, v->blocks.v[k]);
        for_each_instr(i, v->blocks.v[k]) {
            if (i->kind == INSTR_OP && !loop_may_hold_twice(an, i))
                return loop_holds(an, i, "may stand in one place only");
            if (i->kind == INSTR_OP && !op_is_pure(i->op) && !op_has(i->op, OPF_BRANCH))
                only_computes = false;
            v->size += ptxas_cost(i);
        }
    }
    if (!left)
        return "it would not end without its checks";
    if (only_computes)
        return "it only computes";
    return v->size > most ? "the loop is larger than --loop-version-size allows" : NULL;
}

/* ---- whether it pays ---------------------------------------------------------------------------------------------------------- */

static const char *why_no_gain(Analyses *an, Version *v)
{
    v->cost = loop_decision_cost(&v->decision);
    if (v->cost == UINT32_MAX)
        return "a check fails for certain";
    u64 saved = (u64)v->gone * CHECK_COST,
        trips = loop_counter_most_trips(an, &v->sums, v->decision.counter, FEW_TRIPS + PTXAS_UNROLLED_WHOLE);
    v->trips = trips;
    u64 iteration = v->size;
    v->gain = loop_weighed(saved, v->loop);
    if (trips <= FEW_TRIPS)
        return "it runs a few times only";
    if (v->loop->nounroll && trips > REST_TRIPS)
        return "it has the pragma nounroll";
    if (v->cost > iteration + saved || (trips < v->cost && saved * trips < v->cost))
        return "the test in front of it would cost more than it saves";
    return NULL;
}

/* ---- whether it may be done ---------------------------------------------------------------------------------------------------- */

/* Whether a version with checks begins with the block: it has the pragma once more than it had. */
static bool begins_version(const Block *header)
{
    u32 pragmas = 0;
    for_each_instr(i, header)
        pragmas += i->kind == INSTR_PRAGMA;
    return pragmas > 1;
}

/* Whether the loop is one of two versions. */
static bool is_version(Analyses *an, const Loop *loop)
{
    const Block *from = loop_only_entry(an->fn, loop);
    Instr *branch = from ? block_two_way_branch(from) : NULL;
    const Block *beside = !branch ? NULL : branch_target(branch) == loop->header ? from->fall : branch_target(branch);
    return begins_version(loop->header) || (beside && begins_version(beside));
}

/* Why nothing leaves the loop, by its shape; NULL: its checks may. */
static const char *why_of_shape(Analyses *an, const Loop *loop)
{
    if (an_loops(an)->irreducible)
        return "the function has a loop with two entries";
    if (loop->height > 1)
        return "the loop holds another one";
    return loop->latch_count > 1 ? "the loop has several latches" : NULL;
}

/* Whether only counters decide when the loop is left, other than by a check that goes: then nobody waits in it, whatever else it
 * reads. */
static bool ends_by_itself(Analyses *an, Version *v)
{
    for (u32 k = 0; k < v->loop->block_count; k++) {
        Block *b = v->loop->blocks[k];
        if (!loop_is_left_at(an_loops(an), v->loop, b) || check_at(v, b))
            continue;
        Block *on = continuing_successor(an, v->loop, b);
        u32 before = v->compare.n;
        if (!on || loop_compares_of(&v->sums, b, on, &v->compare, NULL))
            return false;
        v->compare.n = before;
    }
    return v->counter.n > 0;
}

static const char *why_not(Analyses *an, Version *v, u64 most, LoopLanes *lanes)
{
    const Loop *loop = v->loop;
    if (loop->header == an->fn->entry || block_is_pinned(loop->header))
        return "nothing can stand in front of it";
    if (an_waits(an)->loop[loop->header->id] && !ends_by_itself(an, v))
        return "threads may wait in it for others";
    const char *why = measure(an, v, most);
    if (!why)
        why = why_no_gain(an, v);
    if (why)
        return why;
    Block **check = arena_array(an->scratch, Block *, v->gone);
    LoopBranches branches = {.check = check, .block = loop->blocks, .blocks = loop->block_count};
    for (u32 k = 0; k < v->check.n; k++) {
        Block *b = v->check.v[k].block;
        if (v->check.v[k].why)
            continue;
        check[branches.checks++] = b;
        branches.leave |= !is_inside(an, loop, b->fall) || !is_inside(an, loop, branch_target(block_terminator(b)));
    }
    return loop_lanes_forbid(an, &branches, lanes);
}

/* ---- the rewrite ---------------------------------------------------------------------------------------------------------------- */

static Block *copy_of(const Version *v, Block *const *copy, const Block *b)
{
    const u64 *place = fnvmap_find(&v->place, b->id);
    return place ? copy[*place - 1] : NULL;
}

static void copy_blocks(const Version *v, Block *after, Block **copy)
{
    for (u32 k = 0; k < v->blocks.n; k++) {
        copy[k] = block_clone(v->blocks.v[k]);
        block_move_after(copy[k], after);
        after = copy[k];
        const Check *c = check_at(v, v->blocks.v[k]);
        if (c) {
            block_remove_terminator(copy[k]);
            block_set_fall(copy[k], c->pass);
        }
    }
    for (u32 k = 0; k < v->blocks.n; k++)
        for (u32 e = 0; e < block_edge_count(copy[k]); e++) {
            Block *to = block_edge_target(copy[k], e), *made = copy_of(v, copy, to);
            if (made)
                block_redirect(copy[k], to, made);
        }
}

/* Adds the branch to the loop as it was, which stands for the branches that the copy lacks. */
static void branch_to_checks(Analyses *an, const Version *v, Block *b, RegId passes)
{
    block_set_branch(b, passes, true, v->loop->header, false);
    Instr *branch = block_terminator(b), *first = NULL;
    for (u32 k = 0; k < v->check.n; k++) {
        Instr *check = block_terminator(v->check.v[k].block);
        if (v->check.v[k].why)
            continue;
        instr_inherit_origin(an->fn, branch, first ? branch : check, first ? check : NULL);
        first = check;
    }
}

/* Whether ptxas counts by the latch as it is: it compares a register that it has stepped. */
static bool is_countable(const Version *v)
{
    Instr *branch = block_terminator(v->loop->latches[0]), *compare = local_definition(branch, branch->guard);
    for (u32 k = 1; compare && compare->op->opcode == OPC_SETP && k <= 2; k++) {
        RegId reg = operand_plain_register(instr_operand(compare, k));
        const Instr *step = reg ? loop_only_write(v->loop, reg) : NULL;
        if (step && instr_reads(step, reg) && instr_dominates(v->sums.in.dom, step, compare))
            return true;
    }
    return false;
}

/* Whether the copy is one that ptxas unrolls if it counts its iterations down, and would not by the loop's own test. */
static bool is_to_count_down(Analyses *an, const Version *v)
{
    const Block *latch = v->loop->latches[0];
    const LoopCounter *counter = v->decision.counter;
    if (!counter || counter->block != latch || !counter->alone || !block_two_way_branch(latch) || v->loop->nounroll ||
        is_countable(v))
        return false;
    for (u32 k = 0; k < v->blocks.n; k++)
        if (v->blocks.v[k] != latch && is_left_at(an, v, v->blocks.v[k]))
            return false;
    return v->size <= PTXAS_UNROLLED_MOST && v->blocks.n - v->gone <= PTXAS_UNROLLED_BLOCKS;
}

/* Exact, since the test passed: then the counter comes to its bound after so many steps, and not before. */
static void count_down(Analyses *an, const Version *v, const Builder *before, Block *const *copy)
{
    Block *old = v->loop->latches[0], *latch = copy_of(v, copy, old);
    Instr *branch = block_terminator(old);
    OpParts parts = {.type = {TYPE_U32}}, compare = {.cmp = CMP_NE, .type = {TYPE_S32}};
    RegId left = build_unary(before, OPC_MOV, parts, TYPE_B32, register_operand(v->decision.trips));
    block_remove_terminator(latch);
    block_set_fall(latch, branch_target(branch) == v->loop->header ? old->fall : branch_target(branch));
    Builder at = build_at_end(latch);
    Operand slots[] = {register_operand(left), register_operand(left), build_integer((u64)-1, 32, true)};
    build(&at, OPC_ADD, (OpParts){.type = {TYPE_S32}}, slots, 3);
    RegId more = build_binary(&at, OPC_SETP, compare, TYPE_PRED, register_operand(left), build_integer(0, 32, true));
    block_set_branch(latch, more, false, copy[0], false);
    instr_inherit_origin(an->fn, block_terminator(latch), branch, NULL);
}

/* Adds the pragma where a version runs rarely, or would be looked at again. tested: a branch leads to either version. */
static void mark_versions(const Version *v, Block *fast, bool tested)
{
    bool partly = v->gone < v->check.n;
    build_nounroll(v->loop->header);
    if (!v->loop->nounroll && (partly || v->trips <= REST_TRIPS))
        build_nounroll(v->loop->header);
    for (u32 k = 0; k < 2 && partly && !tested; k++)
        build_nounroll(fast);
}

/* Shares extended values of the copy. The latch's branch is still the loop's. */
static void share_widened(Analyses *an, const Version *v, Block *const *copy)
{
    WidenedCopy c = {.decision = &v->decision, .of = v->blocks.v, .copy = copy, .blocks = v->blocks.n};
    for (u32 k = 0; k < v->check.n; k++) {
        const Check *check = &v->check.v[k];
        for (u32 j = 0; !check->why && j < check->compares; j++)
            vec_push(&c.decided, ((DecidedAt){check->block, &v->decision.group.v[v->group.v[check->first + j]]}));
    }
    loop_share_widened(an, &c);
    vec_free(&c.decided);
}

static void make_version(Analyses *an, Version *v)
{
    Block *entry = loop_entry_block(an->fn, v->loop);
    Block **copy = arena_array(an->scratch, Block *, v->blocks.n);
    version_take_up(v);
    Builder at = build_at_end(entry);
    RegId passes = loop_decision_build(&v->decision, &at, is_to_count_down(an, v));
    copy_blocks(v, entry, copy);
    share_widened(an, v, copy);
    if (v->decision.trips)
        count_down(an, v, &at, copy);
    block_set_fall(entry, copy[0]);
    if (passes)
        branch_to_checks(an, v, entry, passes);
    mark_versions(v, copy[0], passes != 0);
}

/* ---- all loops ------------------------------------------------------------------------------------------------------------------- */

enum { VERSION_ANALYSES = AN_LOOPS | AN_DOM | AN_LIVE | AN_SSA | AN_UNIFORM | AN_CONTROL | AN_FACTS | AN_WAITS };

typedef VEC(Version *) Versions;

/* why: why all checks stay; NULL: others go. */
static void say_kept(PhaseRun *run, const Version *v, const char *why)
{
    for (u32 k = 0; k < v->check.n; k++) {
        const Check *c = &v->check.v[k];
        const char *said = c->why ? c->why : why;
        if (said)
            phase_stays(run, "LoopCheckKept", block_terminator(c->block), "this check stays in its loop: %s%s", said,
                        loop_line_of(run, c->why ? c->blamed : NULL));
    }
}

/* Plans a version of v->loop. False: there is none, and v holds nothing. */
static bool plan(Analyses *an, PhaseRun *run, Version *v, u64 most, LoopLanes *lanes, MiscountedLoops *miscounted)
{
    loop_sums_init(&v->sums, an->scratch, affine_loop(an, v->loop), an_ssa(an));
    find_branches(an, v);
    if (v->check.n && !miscounted_has(miscounted, v->loop)) {
        decide_best(an, v);
        find_blocks(an, v);
        const char *why = v->gone ? why_not(an, v, most, lanes) : "no check can be decided in front of it";
        say_kept(run, v, why);
        if (!why) {
            version_put_aside(v);
            return true;
        }
    }
    version_free(v);
    return false;
}

/* Says of the checks of a loop, not of those of loops inside it, that they stay. */
static void say_not_planned(Analyses *an, PhaseRun *run, Loop *loop, const char *why)
{
    Version v = {.loop = loop};
    loop_sums_init(&v.sums, an->scratch, affine_loop(an, loop), an_ssa(an));
    for (u32 k = 0; k < loop->block_count && loop_of(an_loops(an), loop->blocks[k]) == loop; k++)
        if (is_in_every_iteration(an, loop, loop->blocks[k]))
            find_check(an, &v, loop->blocks[k]);
    say_kept(run, &v, why);
    version_free(&v);
}

static bool look_at(Analyses *an, PhaseRun *run, Version *v, u64 most, LoopLanes *lanes, MiscountedLoops *miscounted)
{
    const char *why = why_of_shape(an, v->loop);
    if (is_version(an, v->loop))
        return false;
    if (!why)
        return plan(an, run, v, most, lanes, miscounted);
    if (run->sink->wants_remarks && !miscounted_has(miscounted, v->loop))
        say_not_planned(an, run, v->loop, why);
    return false;
}

static int by_gain(const void *a, const void *b)
{
    const Version *x = *(Version *const *)a, *y = *(Version *const *)b;
    if (x->gain != y->gain)
        return x->gain > y->gain ? -1 : 1;
    return x->loop->header->id < y->loop->header->id ? -1 : x->loop->header->id > y->loop->header->id;
}

/* Where the loop begins in the source; if a phase made all of its header, its first check. */
static const Instr *place_of(const Version *v)
{
    for_each_instr(i, v->loop->header)
        if (i->text.beg != i->text.end && i->kind == INSTR_OP)
            return i;
    return block_terminator(v->check.v[0].block);
}

/* The lines of the checks that go. */
static const char *lines_of(PhaseRun *run, const Version *v)
{
    char *lines = arena_printf(run->arena, "%s", "");
    u32 told = 0, left = v->gone;
    for (u32 k = 0; k < v->check.n && told < LINES_MAX; k++) {
        u32 line = v->check.v[k].why ? 0 : phase_line(run, block_terminator(v->check.v[k].block));
        if (!line)
            continue;
        lines = arena_append(run->arena, lines, ", ", "%u", line);
        told++;
        left--;
    }
    return left && told ? arena_append(run->arena, lines, ", ", "%u more", left) : lines;
}

/* What left the loop, and what is tested in front of it. */
static const char *words_of(PhaseRun *run, Version *v)
{
    if (!run->sink->wants_remarks)
        return "";
    const char *lines = lines_of(run, v), *test = loop_decision_words(run, &v->decision);
    return arena_printf(run->arena, "%s%s%s; the test in front of it: %s",
                        *lines ? strchr(lines, ',') ? " (lines " : " (line " : "", lines, *lines ? ")" : "",
                        *test ? test : "none");
}

static bool rewrite(Analyses *an, PhaseRun *run, Version *v, u64 most)
{
    if (*run->copied + v->size > most) {
        say_kept(run, v, "the copies of loops are as large as --loop-version-size allows");
        return false;
    }
    if (!phase_rewrite_at(run, "LoopVersioned", place_of(v), "%u of %u checks left the loop%s", v->gone, v->check.n,
                          words_of(run, v)))
        return false;
    for (u32 k = 0; k < v->check.n; k++)
        if (!v->check.v[k].why)
            phase_removed(run, block_terminator(v->check.v[k].block));
    *run->copied += v->size;
    phase_count(run, "checks", v->gone);
    make_version(an, v);
    return true;
}

Phase phase_loop_version;
PhaseResult phase_loop_version(Analyses *an, const Knobs *knobs, PhaseRun *run)
{
    const Loops *loops = an_loops(an);
    u64 most = knobs->loop_version_size > 0 ? (u64)knobs->loop_version_size : 0;
    Versions versions = {0};
    LoopLanes lanes = {0};
    bool any = false;
    an_freeze(an, VERSION_ANALYSES);
    MiscountedLoops miscounted = {.an = an};
    Version *v = NULL; /* of the last loop, if that has no plan: it serves the next one */
    for (u32 l = 0; l < loops->n; l++) {
        v = v ? v : arena_new(an->scratch, Version);
        *v = (Version){.loop = loops->v[l]};
        if (!look_at(an, run, v, most, &lanes, &miscounted))
            continue;
        vec_push(&versions, v);
        v = NULL;
    }
    if (versions.n) {
        an_compute_frozen(an);
        qsort(versions.v, versions.n, sizeof *versions.v, by_gain);
    }
    for (u32 k = 0; k < versions.n; k++) {
        any |= rewrite(an, run, versions.v[k], most);
        version_free(versions.v[k]);
    }
    vec_free(&versions);
    return any ? PHASE_CHANGED : PHASE_UNCHANGED;
}
