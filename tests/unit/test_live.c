/* Liveness, against the textbook's equations on random programs, and on chosen instructions. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analysed.h"

static void load(Fixture *f, const char *text) { load_with(f, text, AN_LIVE); }

static bool in(Fixture *f, const char *label, const char *reg)
{
    return live_in(an_live(&f->an), ptx_block(f->fn, label), ptx_reg(f->fn, reg));
}

static bool out(Fixture *f, const char *label, const char *reg)
{
    return live_out(an_live(&f->an), ptx_block(f->fn, label), ptx_reg(f->fn, reg));
}

static void guarded_definitions_do_not_kill(void **state)
{
    (void)state;
    Fixture f;
    load(&f, PTX_HEAD ".entry f() { .reg .b32 %r<9>; .reg .pred %p<9>; .reg .v2 .u32 %v;\n"
                      "A: bra B;\n"
                      "B: @%p1 mov.u32 %r1, 1; mov.u32 %r2, 2; mov.u32 %v.x, 3; bra C;\n"
                      "C: add.u32 %r3, %r1, %r2; @!%p2 mov.u32 %r3, %v.y; st.global.u32 [0], %r3; ret; }");
    assert_true(in(&f, "A", "%r1"));
    assert_true(in(&f, "B", "%r1"));
    assert_true(in(&f, "B", "%p1"));
    assert_false(in(&f, "C", "%p1"));
    assert_true(in(&f, "B", "%p2")); /* read by a guard further down */
    assert_false(in(&f, "B", "%r2"));
    assert_true(out(&f, "B", "%r2"));
    assert_true(in(&f, "B", "%v")); /* .y keeps its value */
    assert_false(in(&f, "C", "%r3"));
    assert_false(out(&f, "C", "%r3"));
    unload(&f);
}

static void the_carry_is_a_register(void **state)
{
    (void)state;
    Fixture f;
    load(&f, PTX_HEAD ".entry f() { .reg .b32 %r<9>;\n"
                      "A: add.cc.u32 %r1, %r2, %r3; bra B;\n"
                      "B: mov.u32 %r7, %r8; addc.cc.u32 %r4, %r5, %r6; bra C;\n"
                      "C: ret; }");
    const Live *l = an_live(&f.an);
    assert_false(live_in(l, ptx_block(f.fn, "A"), CARRY_REG));
    assert_true(live_out(l, ptx_block(f.fn, "A"), CARRY_REG));
    assert_true(live_in(l, ptx_block(f.fn, "B"), CARRY_REG));
    assert_false(live_in(l, ptx_block(f.fn, "C"), CARRY_REG));
    const Instr *add = ptx_block(f.fn, "A")->first;
    assert_true(live_after(l, add, CARRY_REG));
    assert_true(instr_writes(add, CARRY_REG));
    assert_false(instr_reads(add, CARRY_REG));
    unload(&f);
}

static void words_are_counted_up_to_a_bound(void **state)
{
    (void)state;
    Fixture f;
    load(&f,
         PTX_HEAD ".entry f() { .reg .b32 %r<9>; .reg .b64 %rd<9>; .reg .pred %p<9>; .reg .v4 .b32 %v;\n"
                  "A: bra B;\n"
                  "B: st.global.v2.u32 [%rd2], {%r3, %r4}; st.global.v4.u32 [%rd2], %v; @%p1 st.global.u32 [%rd1], %r3;\n"
                  "   addc.u32 %r5, %r3, %r3; ret; }");
    const Block *b = ptx_block(f.fn, "B");
    assert_int_equal(live_words(an_live(&f.an), b, 100), 2 + 2 * 2 + 4);
    assert_int_equal(live_words(an_live(&f.an), b, 5), 5);
    assert_int_equal(live_words(an_live(&f.an), b, 0), 0);
    unload(&f);
}

static void most_words_of_a_program_point(void **state)
{
    (void)state;
    Fixture f;
    Arena arena = {0};
    load(&f, PTX_HEAD ".entry f() { .reg .b32 %r<9>; .reg .b64 %rd<9>; .reg .pred %p<9>;\n"
                      "A: mov.u64 %rd1, 1; mov.u64 %rd2, 2; @%p1 mov.u64 %rd2, 3; setp.eq.u64 %p1, %rd1, %rd2;\n"
                      "   add.u64 %rd3, %rd1, %rd2; st.global.u64 [0], %rd1; @%p1 bra C;\n"
                      "B: mov.u32 %r1, 1; mov.u32 %r2, 2; mov.u32 %r3, 3; mov.u32 %r4, 4; add.u32 %r1, %r1, %r2;\n"
                      "   add.u32 %r1, %r1, %r3; add.u32 %r1, %r1, %r4; st.global.u32 [0], %r1;\n"
                      "C: st.global.u64 [0], %rd3; ret; }");
    assert_int_equal(live_most_words(an_live(&f.an), 100, &arena), 2 + 4);
    assert_int_equal(live_most_words(an_live(&f.an), 2 + 4, &arena), 2 + 4);
    assert_true(live_most_words(an_live(&f.an), 2 + 4 - 1, &arena) > 2 + 4 - 1);
    assert_false(live_exceeds(an_live(&f.an), 2 + 4, &arena));
    assert_true(live_exceeds(an_live(&f.an), 2 + 4 - 1, &arena));
    arena_free(&arena);
    unload(&f);
}

static void addresses_lists_and_pairs(void **state)
{
    (void)state;
    Fixture f;
    load(&f, PTX_HEAD ".entry f() { .reg .b32 %r<9>; .reg .b64 %rd<9>; .reg .pred %p<9>;\n"
                      "A: ld.global.v2.u32 {%r1, %r2}, [%rd1+8]; st.global.v2.u32 [%rd2], {%r3, %r4};\n"
                      "   setp.lt.and.s32 %p1|%p2, %r5, 7, !%p3; bra B;\n"
                      "B: ret; }");
    const Instr *ld = ptx_block(f.fn, "A")->first, *st = ld->next, *setp = st->next;
    assert_true(instr_writes(ld, ptx_reg(f.fn, "%r2")));
    assert_true(instr_reads(ld, ptx_reg(f.fn, "%rd1")));
    assert_false(instr_writes(ld, ptx_reg(f.fn, "%rd1")));
    assert_true(instr_reads(st, ptx_reg(f.fn, "%rd2")));
    assert_true(instr_reads(st, ptx_reg(f.fn, "%r4")));
    assert_false(instr_writes(st, ptx_reg(f.fn, "%r4")));
    assert_true(instr_writes(setp, ptx_reg(f.fn, "%p2")));
    assert_true(instr_reads(setp, ptx_reg(f.fn, "%p3")));
    unload(&f);
}

static void results_are_live_where_control_leaves(void **state)
{
    (void)state;
    Fixture f;
    load(&f, PTX_HEAD ".func (.reg .b32 out) f(.reg .b32 arg) { .reg .b32 %r<9>; .reg .pred %p<9>;\n"
                      "A: mov.u32 out, 1; mov.u32 %r1, arg; @%p1 ret;\n"
                      "B: mov.u32 out, 2; mov.u32 %r1, 3; ret; }");
    assert_true(out(&f, "A", "out"));
    assert_true(live_after(an_live(&f.an), ptx_block(f.fn, "A")->first, ptx_reg(f.fn, "out")));
    assert_true(in(&f, "A", "arg"));
    assert_true(out(&f, "B", "out"));
    assert_false(in(&f, "B", "out"));
    assert_false(out(&f, "B", "%r1"));
    unload(&f);
}

/* ---- against the equations -------------------------------------------------------------------------------------- */

static u32 random_state = 1;
static u32 random_below(u32 bound)
{
    random_state = random_state * 1664525u + 1013904223u;
    return (u32)(((u64)random_state * bound) >> 32);
}

/* Turns the set of registers live after i into the set live before it. */
static void step_back(BitSet *live, const Instr *i)
{
    for (RegWalk w = reg_walk(i); next_write(&w);)
        if (w.kills)
            bitset_del(live, w.reg);
    for (RegWalk w = reg_walk(i); next_read(&w);)
        bitset_add(live, w.reg);
}

static void random_program(char *text, u32 blocks, u32 regs)
{
    char *t = text + sprintf(text, PTX_HEAD ".entry f() { .reg .b32 %%r<%u>; .reg .pred %%p<3>;\n", regs);
    for (u32 b = 0; b < blocks; b++) {
        t += sprintf(t, "L%u:\n", b);
        for (u32 k = random_below(4); k > 0; k--)
            t += sprintf(t, "%s add%s.u32 %%r%u, %%r%u, %%r%u;\n", random_below(4) ? "" : "@%p1",
                         random_below(5) ? "" : "c.cc", random_below(regs), random_below(regs), random_below(regs));
        if (random_below(3))
            t += sprintf(t, "@%%p%u bra L%u;\n", random_below(3), random_below(blocks));
        t += random_below(5) ? sprintf(t, "bra L%u;\n", random_below(blocks)) : sprintf(t, "ret;\n");
    }
    sprintf(t, "}\n");
}

static void random_programs_agree_with_the_equations(void **state)
{
    (void)state;
    static char text[1 << 16];
    for (u32 round = 0; round < 500; round++) {
        Fixture f;
        random_state = round + 1;
        random_program(text, 1 + random_below(20), 2 + random_below(80));
        load(&f, text);
        u32 blocks = f.fn->blocks.n, regs = f.fn->regs.n;
        BitSet *in_set = arena_array(&f.arena, BitSet, blocks), set = bitset_new(&f.arena, regs);
        for (u32 id = 0; id < blocks; id++)
            in_set[id] = bitset_new(&f.arena, regs);
        for (bool changed = true; changed;) {
            changed = false;
            for_each_block(b, f.fn) {
                bitset_clear(&set);
                CfgList succs = cfg_succs(f.fn, b);
                for (u32 k = 0; k < succs.n; k++)
                    bitset_or(&set, &in_set[succs.v[k].block->id]);
                for (const Instr *i = b->last; i; i = i->prev)
                    step_back(&set, i);
                changed |= bitset_or(&in_set[b->id], &set);
            }
        }
        for_each_block(b, f.fn) {
            bool reached = order_reachable(an_order(&f.an), b);
            BitSet visited = bitset_new(&f.arena, regs), after = bitset_new(&f.arena, regs);
            RegId reg;
            for (u32 k = 0; live_in_next(an_live(&f.an), b, &k, &reg);) {
                assert_false(bitset_has(&visited, reg));
                bitset_add(&visited, reg);
            }
            live_out_put(an_live(&f.an), b, &after, true);
            live_out_put(an_live(&f.an), b, &after, false);
            assert_int_equal(bitset_count(&after), 0);
            live_out_put(an_live(&f.an), b, &after, true);
            for (reg = 0; reg < regs; reg++) {
                assert_int_equal(live_in(an_live(&f.an), b, reg), reached && bitset_has(&in_set[b->id], reg));
                assert_int_equal(live_in(an_live(&f.an), b, reg), bitset_has(&visited, reg));
                assert_int_equal(live_out(an_live(&f.an), b, reg), bitset_has(&after, reg));
            }
            for (const Instr *i = b->last; i && reached; i = i->prev) {
                for (reg = 0; reg < regs; reg++)
                    assert_int_equal(live_after(an_live(&f.an), i, reg), bitset_has(&after, reg));
                step_back(&after, i);
            }
        }
        unload(&f);
    }
}

/* ---- size ------------------------------------------------------------------------------------------------------ */

/* One register for each block, read `reach` blocks further on: far beyond the limit if they reach to the end. */
static void many_registers(u32 blocks, u32 reach, u64 memory)
{
    Fixture f;
    char *text = malloc((size_t)blocks * 128 + 1000), *t = text;
    t += sprintf(t, PTX_HEAD ".entry f() { .reg .b32 %%r<%u>, %%s; .reg .pred %%p;\n", blocks);
    for (u32 b = 0; b < blocks; b++)
        t += sprintf(t, "L%u: mov.u32 %%r%u, %u; mov.u32 %%s, %%r%u; @%%p bra L%u;\n", b, b, b, b < reach ? b : b - reach,
                     b + 1 < blocks ? b + 1 : b);
    if (reach >= blocks)
        for (u32 b = 0; b < blocks; b++)
            t += sprintf(t, "st.global.u32 [0], %%r%u;\n", b);
    sprintf(t, "ret; }\n");
    load(&f, text);
    const Live *l = an_live(&f.an);
    u64 reserved = 0;
    for (u32 k = 0; k < ANALYSES; k++)
        reserved += f.an.slot[k].arena.reserved;
    assert_true(reserved < memory);
    u32 middle = blocks / 2;
    RegId reg = 0;
    for (RegId r = 1; r < f.fn->regs.n; r++)
        if (fn_reg(f.fn, r)->number == (i32)middle)
            reg = r;
    assert_true(live_out(l, fn_block(f.fn, middle), reg));
    assert_true(live_in(l, fn_block(f.fn, middle + 1), reg));
    if (reach < blocks) {
        assert_false(live_in(l, fn_block(f.fn, middle), reg));
        assert_false(live_out(l, fn_block(f.fn, middle + reach), reg));
    }
    unload(&f);
    free(text);
}

static void short_ranges_in_many_blocks(void **state)
{
    (void)state;
    many_registers(100000, 2, 40 << 20);
}

static void endless_ranges_in_many_blocks(void **state)
{
    (void)state;
    many_registers(100000, 100000, 200 << 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(guarded_definitions_do_not_kill),
        cmocka_unit_test(the_carry_is_a_register),
        cmocka_unit_test(words_are_counted_up_to_a_bound),
        cmocka_unit_test(most_words_of_a_program_point),
        cmocka_unit_test(addresses_lists_and_pairs),
        cmocka_unit_test(results_are_live_where_control_leaves),
        cmocka_unit_test(random_programs_agree_with_the_equations),
        cmocka_unit_test(short_ranges_in_many_blocks),
        cmocka_unit_test(endless_ranges_in_many_blocks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
