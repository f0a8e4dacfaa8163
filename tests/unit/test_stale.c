/* Analyses that are no longer true of a function are seen as such: each of them, after a change that moves no epoch. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analysed.h"
#include "ir/edit.h"

static const char text[] = PTX_HEAD ".entry f() { .reg .b32 %r<9>; .reg .pred %p<9>;\n"
                                    "A: mov.u32 %r1, %tid.x; mov.u32 %r2, 5; setp.eq.u32 %p1, %r2, 7; @%p1 bra C;\n"
                                    "B: add.u32 %r2, %r2, 1; setp.lt.u32 %p2, %r2, 9; @%p2 bra B;\n"
                                    "C: @%p1 bra E;\n"
                                    "D: st.global.u32 [0], %r1; @%p1 bra E;\n"
                                    "F: st.global.u32 [4], %r1;\n"
                                    "E: ret; }";

/* What is stale if only `bits` seem up to date, and not what they rest on, which would be seen first. */
static const char *stale_of(Fixture *f, u32 bits)
{
    memset(f->fn->epoch, 0, sizeof f->fn->epoch);
    for (u32 k = 0; k < ANALYSES; k++)
        f->an.slot[k].epoch = bits >> k & 1 ? 0 : 1;
    return analyses_stale(&f->an);
}

static Block *at(const Fixture *f, const char *label) { return ptx_block(f->fn, label); }

static void what_was_just_computed_is_true(void **state)
{
    (void)state;
    Fixture f;
    load_with(&f, text, AN_ALL);
    assert_null(analyses_stale(&f.an));
    block_redirect(at(&f, "C"), at(&f, "E"), at(&f, "B"));
    assert_null(analyses_stale(&f.an)); /* there are none */
    unload(&f);
}

static void an_edge_that_moved_is_seen(void **state)
{
    (void)state;
    static const u32 bits[] = {AN_ORDER, AN_DOM, AN_POSTDOM, AN_LOOPS};
    static const char *const names[] = {"the order of blocks", "the dominator tree", "the post-dominator tree",
                                        "the loops"};
    for (u32 k = 0; k < COUNT_OF(bits); k++) {
        Fixture f;
        load_with(&f, text, bits[k]);
        if (bits[k] == AN_ORDER)
            block_redirect(at(&f, "A"), at(&f, "C"), at(&f, "E"));
        else if (bits[k] == AN_DOM)
            block_redirect(at(&f, "A"), at(&f, "C"), at(&f, "D"));
        else if (bits[k] == AN_POSTDOM)
            block_redirect(at(&f, "C"), at(&f, "E"), at(&f, "D"));
        else
            block_redirect(at(&f, "B"), at(&f, "B"), at(&f, "C"));
        assert_string_equal(stale_of(&f, bits[k]), names[k]);
        unload(&f);
    }
}

static void an_instruction_that_changed_is_seen(void **state)
{
    (void)state;
    static const u32 bits[] = {AN_LIVE, AN_UNIFORM, AN_CONTROL, AN_FACTS};
    static const char *const names[] = {"liveness", "uniformity", "control dependence", "facts"};
    for (u32 k = 0; k < COUNT_OF(bits); k++) {
        Fixture f;
        load_with(&f, text, bits[k]);
        if (bits[k] == AN_LIVE)
            instr_remove(at(&f, "F")->first);
        else if (bits[k] == AN_UNIFORM)
            instr_remove(at(&f, "A")->first->next);
        else if (bits[k] == AN_CONTROL)
            block_remove_terminator(at(&f, "C"));
        else
            instr_set_guard(block_terminator(at(&f, "C")), ptx_reg(f.fn, "%p2"), false);
        assert_string_equal(stale_of(&f, bits[k]), names[k]);
        unload(&f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_just_computed_is_true),
        cmocka_unit_test(an_edge_that_moved_is_seen),
        cmocka_unit_test(an_instruction_that_changed_is_seen),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
