/* The comparison of convergent instructions before and after a change: each edit is one that some phase could make. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analysis/convergence.h"
#include "ir/edit.h"
#include "ptx_text.h"

typedef void Edit(Function *fn);

static Block *at(Function *fn, const char *label) { return ptx_block(fn, label); }

/* complaint: NULL, or part of what is said after the edit. */
static void check(const char *text, Edit *edit, const char *complaint)
{
    Arena arena = {0};
    Analyses an;
    Module *m = ptx_module(&arena, text);
    Function *fn = ptx_function(m, "f");
    Summaries *summaries = summaries_compute(&arena, m);
    analyses_init(&an, fn);
    an.summaries = summaries;
    Convergence *before = convergence_snapshot(&arena, &an);
    const char *wrong = convergence_compare(before, &an, &arena);
    if (wrong)
        fail_msg("unchanged: %s", wrong);
    edit(fn);
    wrong = convergence_compare(before, &an, &arena);
    if (complaint ? !wrong || !strstr(wrong, complaint) : wrong != NULL)
        fail_msg("'%s' instead of '%s'", wrong ? wrong : "", complaint ? complaint : "");
    convergence_free(before);
    analyses_free(&an);
    module_free(m);
    arena_free(&arena);
}

#define KERNEL(text)                                                                                                  \
    PTX_HEAD ".func sync() { bar.sync 0; ret; } .func plain() { ret; } .entry f(.param .u32 n) {\n"                   \
             ".reg .b32 %r<9>; .reg .pred %p<9>; mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; mov.u32 %r3, %laneid;\n" \
             "setp.lt.u32 %p1, %r1, 5; setp.lt.u32 %p2, %r3, 7; setp.eq.u32 %p3, %r2, 1;\n" text "\nret; }\n"

/* ---- threading past a join --------------------------------------------------------------------------------------- */

#define GUARD_BLOCK(predicate, operation)     \
    KERNEL("S: @" predicate " bra T;\n"       \
           "E: add.u32 %r4, %r1, 1; bra J;\n" \
           "T: add.u32 %r4, %r1, 2;\n"        \
           "J: @%p2 bra X;\n"                 \
           "B: " operation "\n"               \
           "X: st.global.u32 [0], %r4;")

static void thread_past_the_join(Function *fn) { block_redirect(at(fn, "T"), at(fn, "J"), at(fn, "B")); }

static void thread_to_the_end(Function *fn) { block_redirect(at(fn, "T"), at(fn, "J"), at(fn, "X")); }

static void clone_the_join(Function *fn)
{
    Block *copy = block_clone(at(fn, "J"));
    block_move_after(copy, at(fn, "T"));
    block_redirect(at(fn, "T"), at(fn, "J"), copy);
}

/* `operation` in place of the question mark. */
static void fill_in(char *text, const char *pattern, const char *operation)
{
    const char *hole = strchr(pattern, '?');
    memcpy(text, pattern, (size_t)(hole - pattern));
    sprintf(text + (hole - pattern), "%s%s", operation, hole + 1);
}

static void the_warp_must_not_arrive_in_two_groups(void **state)
{
    (void)state;
    static const char *const operations[] = {"shfl.sync.bfly.b32 %r5, %r4, 1, 31, -1;",
                                             "bar.sync 0;",
                                             "activemask.b32 %r5;",
                                             "vote.sync.any.pred %p5, %p1, -1;",
                                             "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r5}, [%r4];",
                                             "call sync;",
                                             "@%p3 bar.sync 0;"};
    for (u32 k = 0; k < COUNT_OF(operations); k++) {
        char divergent[2000], uniform[2000];
        fill_in(divergent, GUARD_BLOCK("%p1", "?"), operations[k]);
        fill_in(uniform, GUARD_BLOCK("%p3", "?"), operations[k]);
        check(divergent, thread_past_the_join, "now depends on the branch");
        check(divergent, thread_to_the_end, "now depends on the branch");
        check(divergent, clone_the_join, "now depends on the branch");
        check(uniform, thread_past_the_join, NULL);
        check(uniform, thread_to_the_end, NULL);
        check(uniform, clone_the_join, NULL);
    }
    check(GUARD_BLOCK("%p1", "call plain;"), thread_past_the_join, NULL);
    check(GUARD_BLOCK("%p1", "add.u32 %r4, %r4, 1;"), clone_the_join, NULL);
}

/* ---- copies ------------------------------------------------------------------------------------------------------ */

static void duplicate_the_tail(Function *fn)
{
    Block *copy = block_clone(at(fn, "J"));
    block_move_after(copy, at(fn, "T"));
    block_redirect(at(fn, "T"), at(fn, "J"), copy);
}

static void merge_the_arms(Function *fn)
{
    block_redirect(at(fn, "E"), at(fn, "J"), at(fn, "X"));
    block_redirect(at(fn, "E"), at(fn, "X"), at(fn, "J"));
    Instr *one = at(fn, "E")->first, *other = at(fn, "T")->first;
    instr_remove(other);
    instr_remove(one);
    instr_insert_before(at(fn, "J")->first, one);
}

static void make_another(Function *fn)
{
    Instr *barrier = at(fn, "J")->first;
    instr_insert_before(barrier, instr_new(fn, barrier->op, barrier->opnd, barrier->slots));
}

static void remove_it(Function *fn) { instr_remove(at(fn, "J")->first); }

static void copies(void **state)
{
    (void)state;
    static const char tail[] = KERNEL("S: @%p1 bra T;\nE: bra J;\nT: add.u32 %r4, %r1, 2;\nJ: bar.sync 0; bra X;\nX:");
    check(tail, duplicate_the_tail, "was duplicated");
    check(tail, make_another, "was not there before");
    check(tail, remove_it, NULL);
    check(KERNEL("S: @%p3 bra T;\nE: bra J;\nT: add.u32 %r4, %r1, 2;\nJ: bar.sync 0; bra X;\nX:"), duplicate_the_tail,
          "was duplicated"); /* uniform or not */
    check(KERNEL("S: @%p1 bra T;\nE: bar.sync 0; bra J;\nT: bar.sync 0;\nJ: add.u32 %r4, %r1, 2; bra X;\nX:"),
          merge_the_arms, NULL);
}

/* ---- branches in place of others --------------------------------------------------------------------------------- */

#define NESTED KERNEL("S: @%p1 bra X;\nI: @%p2 bra X;\nB: bar.warp.sync -1;\nX:")

static Instr *combine(Function *fn)
{
    RegId both = reg_new(fn, TYPE_PRED);
    block_remove_terminator(at(fn, "S"));
    block_remove_terminator(at(fn, "I"));
    block_set_branch(at(fn, "I"), both, false, at(fn, "X"), false);
    return block_terminator(at(fn, "I"));
}

static void combine_silently(Function *fn) { combine(fn); }

static void combine_and_say_so(Function *fn)
{
    const Instr *a = block_terminator(at(fn, "S")), *b = block_terminator(at(fn, "I"));
    Instr *made = combine(fn);
    instr_inherit_origin(fn, made, a, b);
}

static void combine_and_say_half(Function *fn)
{
    const Instr *a = block_terminator(at(fn, "S"));
    Instr *made = combine(fn);
    instr_inherit_origin(fn, made, a, NULL);
}

static void invert_in_place(Function *fn)
{
    Block *b = at(fn, "I");
    Instr *old = block_terminator(b);
    block_set_fall(b, at(fn, "X"));
    block_set_branch_target(b, at(fn, "B"));
    instr_set_guard(old, old->guard, !old->guard_not);
}

static void replace_by(Function *fn, const char *predicate, bool say_so)
{
    Block *b = at(fn, "I");
    Instr *old = block_terminator(b);
    block_remove_terminator(b);
    block_set_branch(b, ptx_reg(fn, predicate), false, at(fn, "X"), false);
    if (say_so)
        instr_inherit_origin(fn, block_terminator(b), old, NULL);
}

static void replace_silently(Function *fn) { replace_by(fn, "%p2", false); }
static void replace_and_say_so(Function *fn) { replace_by(fn, "%p2", true); }
static void replace_by_uniform(Function *fn) { replace_by(fn, "%p3", false); }

static void branches_that_stand_for_others(void **state)
{
    (void)state;
    check(NESTED, combine_silently, "now depends on the branch");
    check(NESTED, combine_and_say_so, NULL);
    check(NESTED, combine_and_say_half, NULL); /* was among its branches, too */
    check(NESTED, invert_in_place, NULL);
    check(NESTED, replace_silently, "now depends on the branch");
    check(NESTED, replace_and_say_so, NULL);
    check(NESTED, replace_by_uniform, NULL);
}

/* A branch that stands for two must have both among the branches before. */
static void half_was_not_there(void **state)
{
    (void)state;
    check(KERNEL(
              "S: @%p1 bra J;\nH: add.u32 %r4, %r1, 1;\nJ: add.u32 %r4, %r1, 2;\nI: @%p2 bra X;\nB: bar.warp.sync -1;\nX:"),
          combine_and_say_so, "now depends on the branch");
}

/* ---- guards ------------------------------------------------------------------------------------------------------ */

static void add_guard(Function *fn) { instr_set_guard(at(fn, "B")->first, ptx_reg(fn, "%p2"), true); }

static void branch_to_guard(Function *fn)
{
    block_remove_terminator(at(fn, "I"));
    add_guard(fn);
}

static void guard_to_branch(Function *fn)
{
    instr_set_guard(at(fn, "B")->first, 0, false);
    block_set_branch(at(fn, "I"), ptx_reg(fn, "%p2"), false, at(fn, "X"), false);
}

static void guards(void **state)
{
    (void)state;
    check(NESTED, add_guard, "has got a guard");
    check(NESTED, branch_to_guard, NULL);
    check(KERNEL("I: add.u32 %r4, %r1, 1;\nB: @!%p2 bar.warp.sync -1;\nX:"), guard_to_branch, "now depends on the branch");
}

/* ---- loops ------------------------------------------------------------------------------------------------------- */

static void enter_in_the_middle(Function *fn) { block_redirect(at(fn, "S"), at(fn, "H"), at(fn, "L")); }

static void leave_early(Function *fn) { block_set_branch(at(fn, "S"), ptx_reg(fn, "%p1"), false, at(fn, "L"), false); }

static void nothing(Function *fn) { (void)fn; }

static void loops(void **state)
{
    (void)state;
    static const char loop[] = KERNEL("S: add.u32 %r4, %r1, 1; bra H;\nH: add.u32 %r4, %r4, 1; bra L;\nL: @%p1 bra H;\nX:");
    check(loop, enter_in_the_middle, NULL); /* one edge in: another loop, but a loop */
    check(loop, leave_early, "irreducible regions");
    check(KERNEL("S: @%p1 bra L;\nH: add.u32 %r4, %r4, 1;\nL: @%p2 bra H;\nB: bar.sync 0;\nX:"), nothing, NULL);
    /* Infinite, with a barrier in every iteration. */
    check(KERNEL("H: @%p1 bra T;\nE: bra J;\nT: add.u32 %r4, %r1, 2;\nJ: bar.sync 0; bra H;\nX:"), nothing, NULL);
}

/* ---- size ------------------------------------------------------------------------------------------------------- */

/* A barrier after each of very many early exits: together they depend on n * n / 2 branches. */
static void more_than_the_limit(void **state)
{
    (void)state;
    enum { BLOCKS = 50000 };
    char *text = malloc(BLOCKS * 64u), *t = text;
    t += sprintf(t, PTX_HEAD ".entry f() { .reg .pred %%p<9>;\n");
    for (u32 b = 0; b < BLOCKS; b++)
        t += sprintf(t, "L%u: @%%p1 bra X; bar.sync 0;\n", b);
    sprintf(t, "X: ret; }\n");
    Arena arena = {0};
    Analyses an;
    Module *m = ptx_module(&arena, text);
    Function *fn = ptx_function(m, "f");
    analyses_init(&an, fn);
    Convergence *before = convergence_snapshot(&arena, &an);
    assert_int_equal(before->n, BLOCKS);
    assert_true(before->unchecked > 0 && before->unchecked < BLOCKS);
    assert_null(convergence_compare(before, &an, &arena));
    block_redirect(at(fn, "L30"), at(fn, "X"), at(fn, "L32"));
    assert_null(convergence_compare(before, &an, &arena)); /* L31 and what follows had L30 */
    instr_insert_before(at(fn, "L40")->first, instr_clone(fn, at(fn, "L49999")->fall->first));
    assert_non_null(convergence_compare(before, &an, &arena)); /* copies are always found */
    convergence_free(before);
    analyses_free(&an);
    module_free(m);
    arena_free(&arena);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_warp_must_not_arrive_in_two_groups),
        cmocka_unit_test(copies),
        cmocka_unit_test(branches_that_stand_for_others),
        cmocka_unit_test(half_was_not_there),
        cmocka_unit_test(guards),
        cmocka_unit_test(loops),
        cmocka_unit_test(more_than_the_limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
