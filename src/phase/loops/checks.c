#include "phase/loops/checks.h"

#include "ir/cfg.h"
#include "ir/inspect.h"
#include "transform/condition.h"

typedef struct CheckSearch {
    Analyses *an;
    const Loop *loop;
    LoopChecks *found;
} CheckSearch;

/* ---- predicates -------------------------------------------------------------------------------------------------------- */

static bool is_logic(const Instr *i, Opcode opcode)
{
    return i->op->opcode == opcode && i->op->sem.op == opcode && i->op->sem.bits == 1 && !i->guard;
}

static bool add_tests(CheckSearch *s, Instr *at, const Operand *predicate, bool holds, bool of_latch);

static bool add_operands(CheckSearch *s, Instr *i, bool holds, bool of_latch)
{
    return add_tests(s, i, instr_operand(i, 1), holds, of_latch) && add_tests(s, i, instr_operand(i, 2), holds, of_latch);
}

/* The instruction that gives the predicate its value at `at` in every iteration; NULL: none does. It stands in the same
 * block or, except for the latch, in one of the loop that dominates it. */
static Instr *definition(const CheckSearch *s, Instr *at, RegId reg, bool of_latch)
{
    Instr *def = local_definition(at, reg);
    if (def || of_latch)
        return def;
    def = affine_definition(s->an, s->loop, reg);
    return def && strictly_dominates(an_dom(s->an), def->block, at->block) ? def : NULL;
}

static bool is_known(const LoopChecks *f, const LoopTest *test)
{
    for (u32 k = 0; k < f->tests; k++)
        if (f->test[k].compare == test->compare && f->test[k].cmp == test->cmp)
            return true;
    return false;
}

/* Adds the comparisons whose outcomes together make the predicate equal to `holds` right before `at`. False: they are not
 * found. */
static bool add_tests(CheckSearch *s, Instr *at, const Operand *predicate, bool holds, bool of_latch)
{
    LoopChecks *f = s->found;
    RegId reg = operand_plain_register(predicate);
    Instr *def = reg ? definition(s, at, reg, of_latch) : NULL;
    if (!def || f->chained == LOOP_CHAIN)
        return false;
    if (of_latch)
        f->chain[f->chained++] = def;
    if (is_logic(def, OPC_NOT))
        return add_tests(s, def, instr_operand(def, 1), !holds, of_latch);
    if (is_logic(def, holds ? OPC_AND : OPC_OR))
        return add_operands(s, def, holds, of_latch);
    LoopTest test;
    if (f->tests == LOOP_TESTS || !loop_test_read(s->an, s->loop, def, !holds, &test))
        return false;
    if (!of_latch && is_known(f, &test))
        return true;
    f->test[f->tests] = test;
    f->latch_tests += of_latch;
    f->of_latch[f->tests++] = of_latch;
    return true;
}

/* ---- branches ---------------------------------------------------------------------------------------------------------- */

static bool is_inside(const CheckSearch *s, const Block *b) { return b && loop_contains(an_loops(s->an), s->loop, b); }

/* Whether b traps or calls a function, and one edge alone leads to it, as compilers write for a failed check. */
static bool is_failure(const CheckSearch *s, const Block *b)
{
    if (!cfg_single_pred(s->an->fn, b))
        return false;
    for_each_instr(i, b)
        if (instr_is(i, OPF_CALL) || (i->kind == INSTR_OP && i->op->opcode == OPC_TRAP))
            return true;
    return false;
}

/* The successor in an iteration that continues, if the branch of b is a check; NULL: it is not. */
static Block *continuing_successor(const CheckSearch *s, const Block *b)
{
    Instr *branch = block_terminator(b);
    Block *taken = branch_target(branch), *fall = b->fall;
    if (b == s->loop->latches[0])
        return taken == fall ? NULL : s->loop->header;
    if (is_inside(s, taken) != is_inside(s, fall))
        return is_inside(s, taken) ? taken : fall;
    if (!taken || !is_inside(s, taken) || is_failure(s, taken) == is_failure(s, fall))
        return NULL;
    return is_failure(s, taken) ? fall : taken;
}

static void add_check(CheckSearch *s, Block *b)
{
    LoopChecks *f = s->found;
    Instr *branch = block_terminator(b);
    if (!branch || !branch->guard || branch_table(branch))
        return;
    Block *pass = continuing_successor(s, b);
    if (!pass)
        return;
    bool of_latch = b == s->loop->latches[0];
    u32 tests = f->tests, latch_tests = f->latch_tests;
    Operand guard = register_operand(branch->guard);
    bool holds = (pass == branch_target(branch)) != branch->guard_not;
    f->full |= f->checks == LOOP_CHECKS;
    if (f->full)
        return;
    if (add_tests(s, branch, &guard, holds, of_latch)) {
        f->check[f->checks++] = (LoopCheck){b, pass};
        return;
    }
    f->full |= f->tests == LOOP_TESTS || f->chained == LOOP_CHAIN;
    f->uncounted |= of_latch;
    f->tests = tests;
    f->latch_tests = latch_tests;
}

static const LoopCheck *check_of(const LoopChecks *f, const Block *b)
{
    for (u32 k = 0; k < f->checks; k++)
        if (f->check[k].block == b)
            return &f->check[k];
    return NULL;
}

static void visit(CheckSearch *s, Block *b)
{
    LoopChecks *f = s->found;
    if (!is_inside(s, b)) {
        f->has_exit = true;
        return;
    }
    for (u32 k = 0; k < f->blocks; k++)
        if (f->block[k] == b)
            return;
    if (f->blocks == LOOP_BLOCKS)
        f->full = true;
    else
        f->block[f->blocks++] = b;
}

/* Finds the blocks that an iteration which continues passes through. */
static void find_blocks(CheckSearch *s)
{
    LoopChecks *f = s->found;
    visit(s, s->loop->header);
    for (u32 k = 0; k < f->blocks; k++) {
        Block *b = f->block[k];
        const LoopCheck *check = check_of(f, b);
        if (check) {
            visit(s, check->pass);
            continue;
        }
        f->has_exit |= block_leaves_function(s->an->fn, b);
        for_each_cfg_edge(succ, cfg_succs(s->an->fn, b))
            visit(s, succ.v->block);
    }
}

static bool is_chained(const LoopChecks *f, const Instr *i)
{
    for (u32 k = 0; k < f->chained; k++)
        if (f->chain[k] == i)
            return true;
    return false;
}

/* Adds the instructions of the latch's block that compute what the latch compares. */
static void extend_chain(LoopChecks *f)
{
    for (u32 k = 0; k < f->chained; k++)
        for (RegWalk w = reg_walk(f->chain[k]); next_read(&w);) {
            Instr *def = w.reg == CARRY_REG ? NULL : local_definition(f->chain[k], w.reg);
            if (def && op_is_pure(def->op) && !instr_reads(def, w.reg) && !is_chained(f, def) && f->chained < LOOP_CHAIN)
                f->chain[f->chained++] = def;
        }
}

bool loop_checks_find(Analyses *an, const Loop *loop, LoopChecks *found)
{
    *found = (LoopChecks){0};
    CheckSearch s = {an, loop, found};
    for (u32 k = 0; k < loop->block_count; k++)
        if (dominates(an_dom(an), loop->blocks[k], loop->latches[0]))
            add_check(&s, loop->blocks[k]);
    bool ends_at_latch = found->latch_tests || found->uncounted;
    if (found->checks - (found->latch_tests > 0) < (ends_at_latch ? 1 : 2))
        return false;
    if (found->latch_tests)
        extend_chain(found);
    find_blocks(&s);
    return true;
}

void loop_checks_latch(Analyses *an, const Loop *loop, Instr *compare, LoopChecks *found)
{
    *found = (LoopChecks){.check = {{loop->latches[0], loop->header}}, .checks = 1, .chain = {compare}, .chained = 1};
    CheckSearch s = {an, loop, found};
    find_blocks(&s);
}
