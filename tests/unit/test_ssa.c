/* Values of registers: chosen programs, and random ones against random paths through them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analysis/analyses.h"
#include "ir/edit.h"
#include "ptx_run.h"

typedef struct Fixture {
    Arena arena;
    Module *m;
    Function *fn;
    Analyses an;
    const Ssa *ssa;
} Fixture;

static void load(Fixture *f, const char *text)
{
    memset(f, 0, sizeof *f);
    f->m = ptx_module(&f->arena, text);
    f->fn = f->m->functions.v[0];
    analyses_init(&f->an, f->fn);
    an_freeze(&f->an, AN_SSA);
    f->ssa = an_ssa(&f->an);
}

static void unload(Fixture *f)
{
    cfg_free(f->fn);
    analyses_free(&f->an);
    module_free(f->m);
    arena_free(&f->arena);
}

#define KERNEL(text) PTX_HEAD ".entry f() {\n .reg .b32 %r<9>; .reg .pred %p<9>;\n" text "\n}\n"

static ValueId at_entry(const Fixture *f, const char *label, const char *reg)
{
    return ssa_at_entry(f->ssa, ptx_block(f->fn, label), ptx_reg(f->fn, reg));
}

static ValueId at_end(const Fixture *f, const char *label, const char *reg)
{
    return ssa_at_end(f->ssa, ptx_block(f->fn, label), ptx_reg(f->fn, reg));
}

static void paths_join_in_phis(void **state)
{
    (void)state;
    Fixture f;
    load(&f,
         KERNEL("A: mov.u32 %r1, 1; mov.u32 %r2, 2; @%p1 bra C;\nB: mov.u32 %r1, 4; bra D;\nC: st.global.u32 [0], %r2;\n"
                "D: add.u32 %r4, %r1, %r2; ret;"));
    assert_true(f.ssa->values[at_entry(&f, "D", "%r1")].phi);
    assert_int_equal(at_entry(&f, "C", "%r1"), at_end(&f, "A", "%r1"));
    assert_int_not_equal(at_end(&f, "B", "%r1"), at_end(&f, "A", "%r1"));
    assert_int_equal(at_entry(&f, "D", "%r2"), at_end(&f, "A", "%r2"));
    assert_int_equal(at_end(&f, "D", "%p1"), at_entry(&f, "B", "%p1")); /* written by nobody */
    assert_int_not_equal(at_end(&f, "D", "%p1"), 0);
    unload(&f);
}

static void loops_carry_phis(void **state)
{
    (void)state;
    Fixture f;
    load(&f, KERNEL("A: mov.u32 %r1, 1; mov.u32 %r2, 2;\n"
                    "B: add.u32 %r1, %r1, %r2; mov.u32 %r3, %r1; setp.lt.u32 %p1, %r1, 9; @%p1 bra B;\nC: st.global.u32 "
                    "[0], %r3; ret;"));
    assert_true(f.ssa->values[at_entry(&f, "B", "%r1")].phi);
    assert_int_equal(at_entry(&f, "C", "%r1"), at_end(&f, "B", "%r1"));
    assert_int_equal(at_entry(&f, "B", "%r2"), at_end(&f, "A", "%r2"));
    assert_int_equal(at_entry(&f, "B", "%r3"), 0); /* written before it is read, in each iteration */
    unload(&f);
}

/* What is read before the one block that writes it has a value at the entry, and a phi where the paths join. */
static void registers_hold_something_at_the_entry(void **state)
{
    (void)state;
    Fixture f;
    load(&f, KERNEL("A: @%p1 bra C;\nB: mov.u32 %r1, 4;\nC: st.global.u32 [0], %r1; ret;"));
    assert_true(f.ssa->values[at_entry(&f, "C", "%r1")].phi);
    assert_int_not_equal(at_end(&f, "A", "%r1"), 0);
    assert_null(ssa_definition(f.ssa, at_end(&f, "A", "%r1"), ptx_reg(f.fn, "%r1")));
    unload(&f);
}

static void parts_and_guards_make_values_that_are_not_whole(void **state)
{
    (void)state;
    Fixture f;
    load(&f, KERNEL("A: mov.u32 %r1, 1;\n@%p1 mov.u32 %r1, 2;\nB: st.global.u32 [0], %r1; ret;"));
    ValueId value = at_entry(&f, "B", "%r1");
    assert_false(f.ssa->values[value].whole);
    assert_null(ssa_definition(f.ssa, value, ptx_reg(f.fn, "%r1")));
    assert_ptr_equal(ssa_definition(f.ssa, f.ssa->values[value].outer, ptx_reg(f.fn, "%r1")), f.fn->entry->first);
    unload(&f);
}

/* Frozen values answer for the function as it was; what is gone since is not named. */
static void edits_leave_no_wrong_values(void **state)
{
    (void)state;
    Fixture f;
    load(&f, KERNEL("A: mov.u32 %r1, 1; mov.u32 %r1, 2; mov.u32 %r2, %r1;\nB: st.global.u32 [0], %r1; ret;"));
    Instr *second = f.fn->entry->first->next;
    ValueId value = at_entry(&f, "B", "%r1");
    assert_ptr_equal(ssa_definition(f.ssa, value, ptx_reg(f.fn, "%r1")), second);
    instr_remove(second);
    assert_int_equal(at_end(&f, "A", "%r1"), 0);
    assert_null(ssa_definition(f.ssa, value, ptx_reg(f.fn, "%r1")));
    Block *made = block_new(f.fn, f.fn->entry->scope);
    assert_int_equal(ssa_at_end(f.ssa, made, ptx_reg(f.fn, "%r1")), 0);
    unload(&f);
}

/* ---- random paths ------------------------------------------------------------------------------------------------ */

/* A path through the program, and when each register was written and each value made on it. */
typedef struct Path {
    u64 clock, *written, *made;
} Path;

static void make(const Fixture *f, Path *path, const Block *b, const Instr *i)
{
    path->clock++;
    for (RegId reg = 0; reg < f->ssa->regs; reg++)
        for (ValueId v = f->ssa->start[reg]; v < f->ssa->start[reg + 1]; v++) {
            const SsaValue *value = &f->ssa->values[v];
            if (i ? value->instr == i : value->phi && value->pre == f->ssa->dom->pre[b->id])
                path->written[reg] = path->made[v] = path->clock;
        }
}

static void check(const Fixture *f, const Path *path, const Block *b, const Instr *before)
{
    for (RegId reg = 1; reg < f->fn->regs.n; reg++) {
        ValueId v = ssa_at(f->ssa, b, before, reg);
        if (v && path->made[v] != path->written[reg])
            fail_msg("register %u does not hold value %u in block %u", reg, v, b->id);
    }
    for (RegWalk w = reg_walk(before ? before : b->last); before && next_read(&w);)
        assert_true(w.reg == CARRY_REG || ssa_at(f->ssa, b, before, w.reg));
}

/* What a register is said to hold is the last value that was made; and what is read has a name. */
static void values_are_the_last_written(void **state)
{
    (void)state;
    for (u32 trial = 0; trial < 500; trial++) {
        Fixture f;
        static char text[1 << 16];
        random_state = trial + 1;
        random_function(text, 2 + random_below(14));
        load(&f, text);
        Path path = {0, mem_zalloc(sizeof(u64) * f.fn->regs.n), mem_zalloc(sizeof(u64) * f.ssa->count)};
        const Block *b = f.fn->entry;
        for (u32 steps = 0; b && steps < 60; steps++) {
            if (steps)
                make(&f, &path, b, NULL);
            for_each_instr(i, b) {
                check(&f, &path, b, i);
                make(&f, &path, b, i);
            }
            check(&f, &path, b, NULL);
            CfgList next = cfg_succs(f.fn, b);
            b = next.n ? next.v[random_below(next.n)].block : NULL;
        }
        mem_free(path.written);
        mem_free(path.made);
        unload(&f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(paths_join_in_phis),
        cmocka_unit_test(loops_carry_phis),
        cmocka_unit_test(registers_hold_something_at_the_entry),
        cmocka_unit_test(parts_and_guards_make_values_that_are_not_whole),
        cmocka_unit_test(edits_leave_no_wrong_values),
        cmocka_unit_test(values_are_the_last_written),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
