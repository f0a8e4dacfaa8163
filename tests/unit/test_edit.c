/* Edits: what they leave in the edges, and in the text. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "ir_text.h"

#define REGS "\n\t.reg .b32 %r<9>;\n\t.reg .pred %p<3>;\n"

/* ---- instructions ---------------------------------------------------------------------------------------------- */

static void nothing_edited_is_nothing_changed(void **state)
{
    (void)state;
    static const char body[] =
        REGS "A:\n\t@%p1 bra B;\n\tbra.uni B;\nB:\n{ .reg .b32 t; L: mov.u32 t, 1; @%p1 bra L; }\n\tret;\n";
    Fixture f;
    load(&f, body);
    edit_layout(f.fn);
    assert_false(f.fn->changed);
    f.fn->changed = true;
    assert_body(&f, body); /* the jump to the next block stays */
    unload(&f);
}

static void instructions_come_and_go(void **state)
{
    (void)state;
    Fixture f;
    load(&f, REGS "A:\n\tmov.u32 %r1, 1;\n\tadd.u32 %r2, %r1, 7; // sum\n\t@%p1 ret;\n\tret;\n");
    Instr *mov = at(&f, "A")->first, *add = mov->next;
    Operand slots[] = {reg_operand(ptx_reg(f.fn, "%r2")),
                       reg_operand(ptx_reg(f.fn, "%r1")),
                       {.kind = OPND_IMM, .value = 2},
                       reg_operand(ptx_reg(f.fn, "%r1"))};
    instr_insert_before(mov, instr_clone(f.fn, add));
    instr_insert_after(mov, instr_new(f.fn, op(&f, "mov.b32"), slots, 2));
    instr_set_op(add, op(&f, "mad.lo.u32"));
    Instr *grown = instr_set_operands(add, slots, 4);
    assert_ptr_not_equal(grown, add);
    assert_ptr_equal(instr_set_operands(mov, (Operand[]){slots[0], slots[2]}, 2), mov);
    instr_set_guard(grown, ptx_reg(f.fn, "%p1"), true);
    assert_body(&f, REGS "A:\n\tadd.u32 %r2, %r1, 7; // sum\n\tmov.u32 %r2, 2;\n\tmov.b32 %r2, %r1;\n"
                         "\t@!%p1 mad.lo.u32 %r2, %r1, 2, %r1; // sum\n\t@%p1 ret;\n\tret;\n");
    unload(&f);
}

/* ---- control flow ---------------------------------------------------------------------------------------------- */

static void branches_are_redirected(void **state)
{
    (void)state;
    Fixture f;
    load(&f, REGS "A:\n\t@%p1 bra B;\n\tbra C; // on\nB:\n\tmov.u32 %r1, 1;\nC:\n\tmov.u32 %r2, 1;\nD:\n\tret;\n");
    Block *a = at(&f, "A"), *b = at(&f, "B"), *c = at(&f, "C"), *d = at(&f, "D");
    block_set_branch_target(a, d);
    assert_int_equal(cfg_pred_count(f.fn, b), 0);
    block_redirect(a, c, d);
    assert_int_equal(cfg_succs(f.fn, a).n, 1);
    assert_int_equal(cfg_succs(f.fn, a).v[0].multiplicity, 2);
    block_set_fall(b, d);
    block_remove(c);
    assert_body(&f, REGS "A:\n\t@%p1 bra D;\n\tbra D; // on\nB:\n\tmov.u32 %r1, 1;\nD:\n\tret;\n");
    unload(&f);
}

static void terminators_are_removed_and_made(void **state)
{
    (void)state;
    Fixture f;
    load(&f, REGS "A:\n\t@%p1 bra C;\nB:\n\t@%p2 mov.u32 %r1, 1;\n\tret;\nC:\n\tret;\n");
    Block *a = at(&f, "A"), *b = at(&f, "B"), *c = at(&f, "C");
    block_remove_terminator(a);
    assert_int_equal(cfg_succs(f.fn, a).n, 1);
    assert_ptr_equal(cfg_succs(f.fn, a).v[0].block, b);
    assert_int_equal(cfg_pred_count(f.fn, c), 0);
    block_set_fall(a, c);
    block_set_branch(a, ptx_reg(f.fn, "%p2"), true, b, true);
    assert_int_equal(cfg_succs(f.fn, a).n, 2);
    assert_body(&f, REGS "A:\n\t@!%p2 bra.uni B;\n\tbra.uni C;\nB:\n\t@%p2 mov.u32 %r1, 1;\n\tret;\nC:\n\tret;\n");
    unload(&f);
}

static const char SWITCH[] =
    REGS "T:\t.branchtargets X, Y, X;\nA:\n\t@%p1 bra B;\n\tbrx.idx %r1, T;\nB:\n\tbrx.idx %r2, T;\n"
         "X:\n\tmov.u32 %r1, 1;\nY:\n\tret;\n";

static void a_shared_table_is_copied_before_it_changes(void **state)
{
    (void)state;
    Fixture f;
    load(&f, SWITCH);
    Block *b = at(&f, "B"), *x = at(&f, "X"), *y = at(&f, "Y");
    block_redirect(b, x, y);
    assert_int_equal(cfg_succs(f.fn, b).n, 1);
    assert_int_equal(cfg_succs(f.fn, b).v[0].multiplicity, 3);
    assert_int_equal(f.fn->tables.v[0].targets.v[0], x->id);
    assert_body(
        &f, REGS
        "A:\n\t@%p1 bra B;\nT:\t.branchtargets X, Y, X;\n\tbrx.idx %r1, T;\nB:\n\t$L__po_3_0: .branchtargets Y, Y, Y;\n"
        "\tbrx.idx %r2, $L__po_3_0;\nX:\n\tmov.u32 %r1, 1;\nY:\n\tret;\n");
    unload(&f);
}

static void a_table_of_one_user_changes_in_place(void **state)
{
    (void)state;
    Fixture f;
    load(&f, SWITCH);
    block_set_fall(at(&f, "A"), at(&f, "Y"));
    block_remove(f.fn->entry->next);
    block_redirect(at(&f, "B"), at(&f, "Y"), at(&f, "X"));
    assert_body(&f, REGS "A:\n\t@%p1 bra B;\n\tbra.uni Y;\nB:\nT: .branchtargets X, X, X;\n\tbrx.idx %r2, T;\n"
                         "X:\n\tmov.u32 %r1, 1;\nY:\n\tret;\n");
    unload(&f);
}

/* ---- blocks ---------------------------------------------------------------------------------------------------- */

static void split_and_join_are_inverse(void **state)
{
    (void)state;
    static const char body[] = REGS "A:\n\tmov.u32 %r1, 1;\n\tmov.u32 %r2, 2;\n\t@%p1 bra A;\nB:\n\tret;\n";
    Fixture f;
    load(&f, body);
    Block *a = at(&f, "A"), *rest = block_split_before(a->first->next);
    assert_ptr_equal(a->fall, rest);
    assert_ptr_equal(a->next, rest);
    assert_null(block_terminator(a));
    assert_int_equal(cfg_succs(f.fn, rest).n, 2);
    assert_verified(&f);
    assert_true(block_can_join(a, rest));
    assert_false(block_can_join(rest, at(&f, "B")));
    block_join(a, rest);
    assert_true(rest->dead);
    assert_int_equal(cfg_pred_count(f.fn, a), 1);
    assert_body(&f, body);
    unload(&f);
}

static void blocks_that_others_enter_or_name_do_not_join(void **state)
{
    (void)state;
    Fixture f;
    load(&f, REGS
         "A:\n\tmov.u32 %r1, 1;\nB:\n\tmov.u32 %r2, 2;\n\t@%p1 bra B;\nC:\n { .reg .b32 t; D: mov.u32 t, 1; }\n\tret;\n");
    assert_false(block_can_join(at(&f, "A"), at(&f, "B")));
    assert_true(block_can_join(at(&f, "C"), at(&f, "D"))); /* another scope: flattens */
    block_remove_terminator(at(&f, "B"));
    assert_true(block_can_join(at(&f, "A"), at(&f, "B")));
    at(&f, "B")->labels->pinned = true;
    assert_false(block_can_join(at(&f, "A"), at(&f, "B")));
    unload(&f);
}

static void moved_blocks_get_jumps_labels_and_ret(void **state)
{
    (void)state;
    Fixture f;
    load(&f, REGS "\t@%p1 bra C;\n\tmov.u32 %r1, 1;\nC:\n\tmov.u32 %r2, 2;\n");
    Block *entry = f.fn->entry, *b = entry->next;
    block_move_to_end(b);
    assert_body(&f, REGS "\t@%p1 bra C;\n\tbra.uni $L__po_3_0;\nC:\n\tmov.u32 %r2, 2;\n\tret;\n$L__po_3_0:\n\tmov.u32 %r1, "
                         "1;\n\tbra.uni C;\n");
    block_move_after(b, entry);
    assert_body(&f, REGS "\t@%p1 bra C;\n$L__po_3_0:\n\tmov.u32 %r1, 1;\nC:\n\tmov.u32 %r2, 2;\n\tret;\n");
    unload(&f);
}

static void a_clone_has_the_same_successors(void **state)
{
    (void)state;
    Fixture f;
    load(&f, REGS "A:\n\t@%p1 bra C;\nB:\n\tmov.u32 %r1, 1;\nC:\n\tmov.u32 %r2, 2; // two\n\t@%p2 bra A;\nD:\n\tret;\n");
    Block *b = at(&f, "B"), *c = at(&f, "C"), *copy = block_clone(c);
    block_redirect(b, c, copy);
    block_move_after(copy, b);
    assert_int_equal(cfg_succs(f.fn, copy).n, 2);
    assert_ptr_equal(cfg_single_pred(f.fn, copy), b);
    assert_body(&f, REGS "A:\n\t@%p1 bra C;\nB:\n\tmov.u32 %r1, 1;\n\tmov.u32 %r2, 2; // two\n\t@%p2 bra A;\n\tbra.uni D;\n"
                         "C:\n\tmov.u32 %r2, 2; // two\n\t@%p2 bra A;\nD:\n\tret;\n");
    unload(&f);
}

/* ---- debug positions ------------------------------------------------------------------------------------------- */

static void blocks_keep_their_loc_when_they_move(void **state)
{
    (void)state;
    Fixture f;
    load(&f, REGS "\t.loc 1 10 1\n\t@%p1 bra C;\n\t.loc 1 20 1\nB:\n\tmov.u32 %r1, 1;\nC:\n\t.loc 1 30 1\n\tmov.u32 %r2, "
                  "2;\nD:\n\tret;\n");
    block_move_to_end(at(&f, "B"));
    assert_body(
        &f,
        REGS "\t.loc 1 10 1\n\t@%p1 bra C;\n\t.loc 1 20 1\n\tbra.uni B;\nC:\n\t.loc 1 30 1\n\tmov.u32 %r2, 2;\nD:\n\tret;\n"
             "B:\n\t.loc 1 20 1\n\tmov.u32 %r1, 1;\n\tbra.uni C;\n");
    unload(&f);
}

static void a_join_says_the_loc_again_at_its_seam(void **state)
{
    (void)state;
    Fixture f;
    load(&f, REGS "A:\n\t.loc 1 10 1\n\tbra C;\nB:\n\t.loc 1 20 1\n\tret;\nC:\n\tmov.u32 %r2, 2;\n\tret;\n");
    Block *a = at(&f, "A"), *c = at(&f, "C");
    block_join(a, c); /* C stood after .loc 1 20 1 */
    block_remove(at(&f, "B"));
    assert_body(&f, REGS "A:\n\t.loc 1 10 1\n\t.loc 1 20 1\n\tmov.u32 %r2, 2;\n\tret;\n");
    unload(&f);
}

static void inlined_positions_keep_their_parents(void **state)
{
    (void)state;
    Fixture f;
    load(&f, REGS "\t.loc 1 1 1\nA:\n\t@%p1 bra C;\nB:\n\t.loc 1 50 1 // outer\n\tmov.u32 %r1, 1;\n"
                  "C:\n\t.loc 1 7 1, function_name $L__s, inlined_at 1 50 1\n\tmov.u32 %r2, 2;\n\tret;\n");
    block_set_fall(at(&f, "A"), at(&f, "C"));
    block_remove_terminator(at(&f, "A"));
    block_remove(at(&f, "B"));
    assert_body(&f, REGS "\t.loc 1 1 1\nA:\nC:\n\t.loc 1 50 1\n\t.loc 1 7 1, function_name $L__s, inlined_at 1 50 1\n"
                         "\tmov.u32 %r2, 2;\n\tret;\n");
    unload(&f);
}

/* ---- scopes ---------------------------------------------------------------------------------------------------- */

static void a_scope_stays_when_its_blocks_stay_together(void **state)
{
    (void)state;
    static const char body[] =
        REGS "A:\n\t@%p1 bra D;\n{ // wait\n\t.reg .pred q;\nB:\n\tsetp.eq.u32 q, %r1, 0;\n\t@q bra B;\n}\nD:\n\tret;\n";
    Fixture f;
    load(&f, body);
    instr_set_op(at(&f, "B")->first, op(&f, "setp.eq.s32"));
    assert_body(
        &f,
        REGS "A:\n\t@%p1 bra D;\n{ // wait\n\t.reg .pred q;\nB:\n\tsetp.eq.s32 q, %r1, 0;\n\t@q bra B;\n}\nD:\n\tret;\n");
    unload(&f);
}

static void a_scope_that_would_open_twice_is_flattened(void **state)
{
    (void)state;
    Fixture f;
    load(&f, REGS "A:\n\t@%p1 bra D;\n{\n\t.reg .pred q;\nB:\n\tsetp.eq.u32 q, %r1, 0;\n\t@q bra B;\nC:\n\tmov.u32 %r2, "
                  "1;\n}\nD:\n\tret;\n");
    block_move_to_end(at(&f, "B"));
    assert_body(&f, REGS "\t.reg .pred q;\nA:\n\t@%p1 bra D;\n\tbra.uni B;\nC:\n\tmov.u32 %r2, 1;\nD:\n\tret;\n"
                         "B:\n\tsetp.eq.u32 q, %r1, 0;\n\t@q bra B;\n\tbra.uni C;\n");
    unload(&f);
}

static void what_a_dissolved_scope_declares_is_renamed_when_it_clashes(void **state)
{
    (void)state;
    Fixture f;
    load(&f, REGS "A:\n\t@%p1 bra L;\n{\n\t.reg .pred %p<2>;\nL2:\n\tsetp.eq.u32 %p1, %r1, 0;\n\t@%p1 bra L2;\n}\n"
                  "L:\n{\n\t.reg .b32 x;\nL2:\n\tmov.u32 x, 1;\n\t@%p1 bra L2;\n}\n\tret;\n");
    block_redirect(at(&f, "A"), at(&f, "L"), at(&f, "L2")); /* from outside, into the first scope */
    assert_body(&f, REGS
                "\t.reg .pred %po_0_<1>;\nA:\n\t@%p1 bra $L__po_3_1;\n$L__po_3_1:\n\tsetp.eq.u32 %po_0_0, %r1, 0;\n"
                "\t@%po_0_0 bra $L__po_3_1;\nL:\n{\n\t.reg .b32 x;\nL2:\n\tmov.u32 x, 1;\n\t@%p1 bra L2;\n}\n\tret;\n");
    unload(&f);
}

static void cloned_and_split_inner_scopes_are_flattened(void **state)
{
    (void)state;
    Fixture f;
    load(&f, REGS "A:\n\t@%p1 bra C;\nB: { .reg .b32 t; mov.u32 t, %r1; mov.u32 %r2, t; }\nC:\n\tret;\n");
    block_split_before(at(&f, "B")->first->next->next);
    assert_body(&f, REGS " .reg .b32 t;\nA:\n\t@%p1 bra C;\nB:\n mov.u32 t, %r1; mov.u32 %r2, t;\nC:\n\tret;\n");
    unload(&f);
}

static void names_hidden_at_the_new_place_give_way(void **state)
{
    (void)state;
    Fixture f;
    load(&f, REGS "A:\n\tadd.u32 %r1, %r2, 3;\n\tbra.uni B;\nB: { .reg .b32 %r<3>; mov.u32 %r1, 1; }\n\tret;\n");
    Instr *add = at(&f, "A")->first, *inner = at(&f, "B")->first->next;
    instr_remove(add);
    instr_insert_after(inner, add);
    assert_body(&f, REGS
                "A:\n\tbra.uni B;\nB: { .reg .b32 %po_0_<1>; mov.u32 %po_0_0, 1;\n\tadd.u32 %r1, %r2, 3;\n }\n\tret;\n");
    unload(&f);
}

static void registers_used_outside_their_scope_move_out(void **state)
{
    (void)state;
    Fixture f;
    load(&f, REGS "A:\n\tbra.uni B;\nB: { .reg .b32 t; mov.u32 t, 1; add.u32 %r1, t, 2; }\n\tret;\n");
    Instr *add = at(&f, "B")->first->next->next;
    instr_remove(add);
    instr_append(at(&f, "B"), add);
    assert_body(&f, REGS " .reg .b32 t;\nA:\n\tbra.uni B;\nB:\n mov.u32 t, 1; add.u32 %r1, t, 2;\n\tret;\n");
    unload(&f);
}

static void late_declarations_come_before_their_uses(void **state)
{
    (void)state;
    Fixture f;
    load(&f, REGS "A:\n\t@%p1 bra C;\nB:\n\tmov.u32 %r1, 1;\n\t.reg .b32 late;\n\tmov.u32 late, 1;\nC:\n\tret;\n");
    Block *b = at(&f, "B");
    Instr *use = b->last;
    instr_remove(use);
    instr_insert_before(b->first, use);
    assert_body(&f, REGS "A:\n\t@%p1 bra C;\nB:\n\t.reg .b32 late;\n\tmov.u32 late, 1;\n\tmov.u32 %r1, 1;\nC:\n\tret;\n");
    unload(&f);
}

/* ---- places ---------------------------------------------------------------------------------------------------- */

/* Both labels stay, as do branches as they were written; the joined block's label goes. */
static void blocks_are_as_they_would_be_read(void **state)
{
    (void)state;
    Fixture f;
    load(&f, REGS "A:\n\t@%p1 bra D;\n\t@%p2 bra C;\nB:\n\t@%p2 bra C;\n\tret;\n"
                  "C:\n\tmov.u32 %r1, 1;\nD:\n\tmov.u32 %r2, 1;\n\t@%p2 bra B;\nE:\n\tmov.u32 %r3, 1;\n\tret;\n");
    Block *c = at(&f, "C"), *d = at(&f, "D"), *e = at(&f, "E");
    instr_remove(c->first);
    block_remove_terminator(d);
    edit_layout(f.fn);
    edit_places(f.fn);
    assert_true(c->dead);
    assert_true(e->dead);
    assert_int_equal(cfg_pred_count(f.fn, d), 3);
    assert_null(cfg_verify(f.fn, &f.arena));
    assert_body(&f, REGS "A:\n\t@%p1 bra D;\n\t@%p2 bra C;\nB:\n\t@%p2 bra C;\n\tret;\n"
                         "C:\nD:\n\tmov.u32 %r2, 1;\n\tmov.u32 %r3, 1;\n\tret;\n");
    unload(&f);
}

/* C, which comes to be empty, is a place of its own: a table leads there, and to D. */
static void targets_of_tables_keep_their_places(void **state)
{
    (void)state;
    Fixture f;
    load(&f, REGS "A:\nT: .branchtargets C, D, C;\n\tbrx.idx %r1, T;\n"
                  "C:\n\tmov.u32 %r1, 1;\nD:\n\tmov.u32 %r2, 1;\n\tret;\n");
    instr_remove(at(&f, "C")->first);
    for (u32 times = 0; times < 2; times++) {
        edit_layout(f.fn);
        edit_places(f.fn);
        assert_body(&f, REGS "A:\nT: .branchtargets C, D, C;\n\tbrx.idx %r1, T;\n"
                             "C:\n\tbra.uni D;\nD:\n\tmov.u32 %r2, 1;\n\tret;\n");
    }
    unload(&f);
}

/* A jump in place of a table stands after the branch before it, as the parser would have it. */
static void jumps_belong_to_the_branch_before(void **state)
{
    (void)state;
    Fixture f;
    load(&f, REGS "A:\n\t@%p1 bra C;\nT: .branchtargets D, D;\n\tbrx.idx %r1, T;\nC:\n\tmov.u32 %r1, 1;\nD:\n\tret;\n");
    Block *a = at(&f, "A"), *table = a->fall, *d = at(&f, "D");
    block_remove_terminator(table);
    block_set_fall(table, d);
    edit_layout(f.fn);
    assert_ptr_equal(a->fall, table);
    edit_places(f.fn);
    assert_true(table->dead);
    assert_ptr_equal(a->fall, d);
    assert_non_null(a->jump);
    assert_null(cfg_verify(f.fn, &f.arena));
    assert_null(verify_function(f.fn, &f.arena));
    assert_body(&f, REGS "A:\n\t@%p1 bra C;\n\tbra.uni D;\nC:\n\tmov.u32 %r1, 1;\nD:\n\tret;\n");
    unload(&f);
}

/* Nothing is joined that is reached over another edge too, or that debug data names. */
static void places_apart_stay_apart(void **state)
{
    (void)state;
    Fixture f;
    load(&f, REGS "A:\n\t@%p1 bra C;\nB:\n\tmov.u32 %r1, 1;\nC:\n\tmov.u32 %r2, 1;\n\tmov.u32 %r3, 1;\nD:\n\tret;\n");
    Block *c = at(&f, "C"), *d = at(&f, "D");
    d->labels->pinned = true;
    instr_remove(c->first);
    edit_layout(f.fn);
    edit_places(f.fn);
    assert_false(c->dead);
    assert_false(d->dead);
    assert_body(&f, REGS "A:\n\t@%p1 bra C;\nB:\n\tmov.u32 %r1, 1;\nC:\n\tmov.u32 %r3, 1;\nD:\n\tret;\n");
    unload(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_edited_is_nothing_changed),
        cmocka_unit_test(instructions_come_and_go),
        cmocka_unit_test(branches_are_redirected),
        cmocka_unit_test(terminators_are_removed_and_made),
        cmocka_unit_test(a_shared_table_is_copied_before_it_changes),
        cmocka_unit_test(a_table_of_one_user_changes_in_place),
        cmocka_unit_test(split_and_join_are_inverse),
        cmocka_unit_test(blocks_that_others_enter_or_name_do_not_join),
        cmocka_unit_test(moved_blocks_get_jumps_labels_and_ret),
        cmocka_unit_test(a_clone_has_the_same_successors),
        cmocka_unit_test(blocks_keep_their_loc_when_they_move),
        cmocka_unit_test(a_join_says_the_loc_again_at_its_seam),
        cmocka_unit_test(inlined_positions_keep_their_parents),
        cmocka_unit_test(a_scope_stays_when_its_blocks_stay_together),
        cmocka_unit_test(a_scope_that_would_open_twice_is_flattened),
        cmocka_unit_test(what_a_dissolved_scope_declares_is_renamed_when_it_clashes),
        cmocka_unit_test(cloned_and_split_inner_scopes_are_flattened),
        cmocka_unit_test(blocks_are_as_they_would_be_read),
        cmocka_unit_test(targets_of_tables_keep_their_places),
        cmocka_unit_test(jumps_belong_to_the_branch_before),
        cmocka_unit_test(places_apart_stay_apart),
        cmocka_unit_test(names_hidden_at_the_new_place_give_way),
        cmocka_unit_test(registers_used_outside_their_scope_move_out),
        cmocka_unit_test(late_declarations_come_before_their_uses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
