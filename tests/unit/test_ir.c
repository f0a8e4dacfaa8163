/* The representation: constructors, questions about instructions, edges, printing, and what the verifier finds. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "ir_text.h"

/* ---- text and operands ----------------------------------------------------------------------------------------- */

static void a_comment_after_an_item_is_its_own(void **state)
{
    (void)state;
    static const struct {
        const char *text; /* `|` stands where the item's line ends; the item itself is `;` */
    } cases[] = {{";\n|next"}, {"; \t\n|"},  {"; // x\n|\n"},      {"; /* x */ \n|"},  {";\r\n|x"},
                 {";\r|x"},    {";| next;"}, {";| /* a */ next"},  {";| /* a\n b */"}, {";| / x\n"},
                 {";|"},       {";|  "},     {";| // end of file"}};
    for (u32 k = 0; k < COUNT_OF(cases); k++) {
        char text[64];
        const char *bar = strchr(cases[k].text, '|');
        u32 expected = (u32)(bar - cases[k].text);
        snprintf(text, sizeof text, "%.*s%s", (int)expected, cases[k].text, bar + 1);
        assert_int_equal(text_item_end((Str){text, (u32)strlen(text)}, 1), expected);
    }
}

static void operands_are_found_and_have_roles(void **state)
{
    (void)state;
    Fixture f;
    load(&f, ".reg .b32 %r<9>; .reg .b64 %d<3>; .reg .pred %p<3>; .reg .v2 .u32 %v; .param .b32 a0; .param .b32 r0;\n"
             "A: ld.global.v2.u32 {%r1, %r2}, [%d1+4];\n setp.lt.s32 %p1|%p2, %r1, %r2;\n mov.u32 %v.x, 1;\n call "
             "callee;\n ret;");
    Instr *i = at(&f, "A")->first;
    assert_int_equal(instr_operands(i), 2);
    assert_int_equal(instr_operand(i, 0)->kind, OPND_VEC);
    assert_int_equal(instr_operand(i, 0)[1].role, ROLE_DEF);
    assert_int_equal(instr_operand(i, 1)->role, ROLE_ADDRESS);
    assert_int_equal(instr_operand(i, 1)[1].role, ROLE_USE);
    assert_int_equal(instr_operand(i, 1)[1].value, 4);
    assert_null(instr_operand(i, 2));
    assert_int_equal(i->def_slots, 3);
    i = i->next;
    assert_int_equal(instr_operands(i), 3);
    assert_int_equal(instr_operand(i, 0)[2].role, ROLE_DEF);
    assert_int_equal(instr_operand(i, 1)->role, ROLE_USE);
    assert_int_equal(i->def_slots, 3);
    assert_int_equal(i->next->opnd[0].role, ROLE_DEF_USE); /* %v.y stays */
    assert_int_equal(i->next->def_slots, 1);
    i = i->next->next;
    assert_int_equal(instr_operands(i), 3);
    assert_string_equal(f.m->syms.v[call_callee(i)].name->text, "callee");
    assert_int_equal(instr_operand(i, 1)->role, ROLE_FUNCTION);
    assert_int_equal(i->def_slots, 1); /* the list of results, which is empty */
    assert_int_equal(call_callee(i->prev), 0);
    unload(&f);
}

static void branches_answer_where_they_go(void **state)
{
    (void)state;
    Fixture f;
    load(&f, ".reg .b32 %r<9>; .reg .pred %p<3>;\nT: .branchtargets B, C, B;\n"
             "A: @%p1 bra C;\n bra.uni B;\nB: brx.idx %r1, T;\nC: ret;\n");
    Block *a = at(&f, "A"), *b = at(&f, "B"), *c = at(&f, "C");
    assert_ptr_equal(branch_target(block_terminator(a)), c);
    assert_ptr_equal(a->fall, b);
    assert_non_null(a->jump);
    assert_null(branch_target(block_terminator(b)));
    assert_int_equal(branch_table(block_terminator(b))->targets.n, 3);
    assert_int_equal(block_edge_count(a), 2);
    assert_int_equal(block_edge_count(b), 3);
    assert_ptr_equal(block_edge_target(b, 1), c);
    assert_int_equal(block_edge_count(c), 0);
    assert_int_equal(cfg_succs(f.fn, b).n, 2);
    assert_int_equal(cfg_succs(f.fn, b).v[0].multiplicity, 2); /* B itself */
    assert_int_equal(cfg_pred_count(f.fn, c), 2);
    assert_null(cfg_single_pred(f.fn, c));
    assert_false(block_is_empty(c));
    assert_verified(&f);
    unload(&f);
}

/* ---- edges ----------------------------------------------------------------------------------------------------- */

enum { NODES = 9, STEPS = 20000 };

static void assert_lists(const Function *fn, u32 edges[NODES][NODES])
{
    for (u32 a = 0; a < NODES; a++) {
        CfgList succs = cfg_succs(fn, fn_block(fn, a)), preds = cfg_preds(fn, fn_block(fn, a));
        u32 out = 0, in = 0;
        for (u32 b = 0; b < NODES; b++) {
            out += edges[a][b] > 0;
            in += edges[b][a] > 0;
        }
        assert_int_equal(succs.n, out);
        assert_int_equal(preds.n, in);
        for (u32 k = 0; k < succs.n; k++) {
            CfgEdge edge = succs.v[k], back = cfg_preds(fn, edge.block).v[edge.twin];
            assert_int_equal(edge.multiplicity, edges[a][edge.block->id]);
            assert_int_equal(back.multiplicity, edge.multiplicity);
            assert_int_equal(back.block->id, a);
            assert_int_equal(back.twin, k);
        }
    }
}

static void both_edge_maps_agree_after_any_change(void **state)
{
    (void)state;
    Arena arena = {0};
    Module *m = module_new(&arena, "test.ptx", (Str){"", 0});
    Function *fn = function_new(m, intern_cstr(&m->names, "f"));
    u32 edges[NODES][NODES] = {0}, random = 12345;
    for (u32 k = 0; k < NODES; k++)
        block_append_layout(fn, block_new(fn, 0));
    cfg_build(fn);
    for (u32 step = 0; step < STEPS; step++) {
        random = random * 1664525 + 1013904223;
        u32 what = random >> 30, a = (random >> 20) % NODES, b = (random >> 12) % NODES, c = (random >> 4) % NODES;
        if (what == 0 || !edges[a][b]) {
            cfg_add_edge(fn->cfg, fn_block(fn, a), fn_block(fn, b));
            edges[a][b]++;
        } else if (what == 1) {
            cfg_redirect(fn->cfg, fn_block(fn, a), fn_block(fn, b), fn_block(fn, c));
            u32 moved = edges[a][b];
            edges[a][b] = 0;
            edges[a][c] += moved;
        } else {
            cfg_remove_edge(fn->cfg, fn_block(fn, a), fn_block(fn, b));
            edges[a][b]--;
        }
        assert_lists(fn, edges);
    }
    module_free(m);
    arena_free(&arena);
}

static void edges_that_come_and_go_take_no_more_memory(void **state)
{
    (void)state;
    Arena arena = {0};
    Module *m = module_new(&arena, "test.ptx", (Str){"", 0});
    Function *fn = function_new(m, intern_cstr(&m->names, "f"));
    u64 reserved = 0;
    for (u32 k = 0; k < NODES; k++)
        block_append_layout(fn, block_new(fn, 0));
    cfg_build(fn);
    for (u32 round = 0; round < 200; round++) {
        for (u32 k = 0; k < NODES; k++)
            cfg_add_edge(fn->cfg, fn_block(fn, round % NODES), fn_block(fn, k));
        for (u32 k = 0; k < NODES; k++)
            cfg_remove_edge(fn->cfg, fn_block(fn, round % NODES), fn_block(fn, k));
        if (round == 0)
            reserved = fn->cfg->arena.reserved;
    }
    assert_int_equal(fn->cfg->arena.reserved, reserved);
    assert_int_equal(fn->cfg->succ.count + fn->cfg->pred.count, 0);
    module_free(m);
    arena_free(&arena);
}

/* ---- fresh names ----------------------------------------------------------------------------------------------- */

static void new_registers_are_declared_once_per_type(void **state)
{
    (void)state;
    Fixture f;
    load(&f, "\n\t.reg .b32 %r<2>;\nA:\n\tmov.u32 %r1, %laneid;\n\tret;\n");
    RegId p = reg_new(f.fn, TYPE_PRED), a = reg_new(f.fn, TYPE_B32), q = reg_new(f.fn, TYPE_PRED);
    Operand set[] = {reg_operand(p), reg_operand(ptx_reg(f.fn, "%r1")), {.kind = OPND_IMM, .value = -3}};
    Operand copy[] = {reg_operand(a), reg_operand(ptx_reg(f.fn, "%r1"))};
    Operand negate[] = {reg_operand(q), reg_operand(p)};
    instr_append(at(&f, "A"), instr_new(f.fn, op(&f, "setp.lt.s32"), set, 3));
    instr_append(at(&f, "A"), instr_new(f.fn, op(&f, "not.pred"), negate, 2));
    instr_append(at(&f, "A"), instr_new(f.fn, op(&f, "mov.b32"), copy, 2));
    instr_set_guard(block_terminator(at(&f, "A"))->prev, q, true);
    assert_body(
        &f, "\n\t.reg .b32 %r<2>;\n\t.reg .pred %po_0_<2>;\n\t.reg .b32 %po_1_<1>;\nA:\n\tmov.u32 %r1, %laneid;\n"
            "\tsetp.lt.s32 %po_0_0, %r1, -3;\n\tnot.pred %po_0_1, %po_0_0;\n\t@!%po_0_1 mov.b32 %po_1_0, %r1;\n\tret;\n");
    unload(&f);
}

static void fresh_names_avoid_every_word_of_the_text(void **state)
{
    (void)state;
    Fixture f;
    load(&f, " // %po_ and $L__pox_ are mentioned in a comment\n\tret;\n");
    assert_string_equal(reg_fresh_stem(f.fn)->text, "%poxx_0_");
    assert_true(strncmp(label_fresh_name(f.fn)->text, "$L__poxx_", 9) == 0);
    assert_ptr_not_equal(label_fresh_name(f.fn), label_fresh_name(f.fn));
    unload(&f);
}

/* ---- printing -------------------------------------------------------------------------------------------------- */

static void instructions_print_from_operands(void **state)
{
    (void)state;
    static const char *const cases[][2] = {/* NULL: as written */
                                           {"@%p1 add.u32 %r1, %r2, -4;", NULL},
                                           {"@ ! %p1 mov.u32 %r1,%r2;", "@!%p1 mov.u32 %r1, %r2;"},
                                           {"mov.u32 %r1, 0xff;", "mov.u32 %r1, 255;"},
                                           {"mov.u32 %r1, 4U;", NULL},
                                           {"mov.u32 %r1, 0xffffffffU;", "mov.u32 %r1, 0xFFFFFFFFU;"},
                                           {"mov.u64 %d1, 0xffffffffffffffff;", "mov.u64 %d1, 0xFFFFFFFFFFFFFFFFU;"},
                                           {"mov.b64 %d1, -9223372036854775807;", NULL},
                                           {"mov.f32 %f1, 0f3f800000;", "mov.f32 %f1, 0f3F800000;"},
                                           {"mov.f64 %e1, 1.5;", "mov.f64 %e1, 0d3FF8000000000000;"},
                                           {"ld.global.u32 %r1, [ %d1 + -4 ];", "ld.global.u32 %r1, [%d1+-4];"},
                                           {"ld.global.u32 %r1, [%d1+0];", "ld.global.u32 %r1, [%d1];"},
                                           {"ld.global.v4.u32 {%r1, %r2, _, %r3}, [g+16];", NULL},
                                           {"ld.global.u32 %r1, [64];", NULL},
                                           {"add.u32 %r1, %r2+1, %r3+-1;", NULL},
                                           {"mov.u64 %d1, g+4;", NULL},
                                           {"mov.u32 %r1, %tid.x;", NULL},
                                           {"mov.b32 %r1, %v.y;", NULL},
                                           {"vadd.s32.s32.s32 %r1, %r2.b0, %r3.h1, %r1;", NULL},
                                           {"setp.lt.and.s32 %p1|%p2, %r1, %r2, !%p3;", NULL},
                                           {"shfl.sync.up.b32 %r1|%p1, %r2, 1, 0, -1;", NULL},
                                           {"tex.2d.v4.f32.s32 {%f1, %f2, %f3, %f4}, [g, {%r1, %r2}];", NULL},
                                           {"bar.sync 0;", NULL},
                                           {"call callee;", NULL},
                                           {"call.uni (a), %d1, (a, a), P;", "call.uni (a), %d1, (a, a), P;"},
                                           {"call (), callee, ();", "call callee;"},
                                           {"atom.global.add.u32 _, [%d1], %r1;", NULL},
                                           {"mov.b32 %r1, { %h1,%h2 };", "mov.b32 %r1, {%h1, %h2};"}};
    for (u32 k = 0; k < COUNT_OF(cases); k++) {
        Fixture f;
        char body[512], *line;
        size_t len;
        snprintf(body, sizeof body,
                 ".reg .b32 %%r<9>; .reg .b64 %%d<3>; .reg .pred %%p<4>; .reg .f32 %%f<5>; .reg .f64 %%e<2>;"
                 ".reg .b16 %%h<3>; .reg .v2 .b32 %%v; .param .b32 a; P: .callprototype (.param .b32 _) _ (.param .b32 _, "
                 ".param .b32 _);\n"
                 "A: %s\nret;\n",
                 cases[k][0]);
        load(&f, body);
        FILE *out = open_memstream(&line, &len);
        print_instr(out, f.fn, at(&f, "A")->first);
        fclose(out);
        assert_string_equal(line, cases[k][cases[k][1] ? 1 : 0]);
        free(line);
        unload(&f);
    }
}

static void unchanged_functions_print_their_own_bytes(void **state)
{
    (void)state;
    static const char body[] = "\r\n .reg .b32 %r<9>; /* a */ .reg .pred p;// b\n\n"
                               " { .reg .b32 t; mov.u32 t,%r1; L: bra L; } ret ;  // c\n /* d */";
    Fixture f;
    char *whole;
    size_t len;
    load(&f, body);
    assert_string_equal(printed_body(&f, false), body);
    FILE *out = open_memstream(&whole, &len);
    print_module(out, f.m, &(PrintOptions){0});
    fclose(out);
    assert_string_equal(whole, f.source);
    free(whole);
    unload(&f);
}

static void comments_and_lines_stay_around_changed_instructions(void **state)
{
    (void)state;
    Fixture f;
    load(&f, " // head\n\t.reg .b32 %r<9>;   // registers\n\n\t// first\n\tmov.u32   %r1, 1; // one\n\t// "
             "second\n\tmov.u32   %r2, 2; // two\n"
             "\tret;   // done\n\t// tail\n");
    Instr *first = f.fn->entry->first;
    first->changed = true;
    instr_remove(first->next);
    assert_body(&f, " // head\n\t.reg .b32 %r<9>;   // registers\n\n\t// first\n\tmov.u32 %r1, 1; // one\n\tret;   // "
                    "done\n\t// tail\n");
    unload(&f);
}

static void one_line_bodies_get_line_breaks_where_items_go(void **state)
{
    (void)state;
    Fixture f;
    load(&f, " .reg .b32 %r<9>; mov.u32 %r1, 1; mov.u32 %r2, 2; mov.u32 %r3, 3; ret; ");
    instr_remove(f.fn->entry->first->next);
    assert_body(&f, " .reg .b32 %r<9>; mov.u32 %r1, 1;\n mov.u32 %r3, 3; ret; ");
    unload(&f);
}

static void tables_print_before_their_first_user(void **state)
{
    (void)state;
    static const char body[] = "\n\t.reg .b32 %r<3>;\nA:\n\tmov.u32 %r1, 1;\nT:\t.branchtargets B, // b\n\t\tC;\n\tbrx.idx "
                               "%r1, T;\nB:\n\tbra.uni D;\n"
                               "U:\t.branchtargets C, D;\nC:\n\tmov.u32 %r2, 1;\nD:\n\tret;\n";
    Fixture f;
    load(&f, body);
    instr_set_op(at(&f, "A")->first, op(&f, "mov.b32"));
    assert_body(&f, "\n\t.reg .b32 %r<3>;\nA:\n\tmov.b32 %r1, 1;\nT:\t.branchtargets B, // b\n\t\tC;\n\tbrx.idx %r1, "
                    "T;\nB:\n\tbra.uni D;\n"
                    "C:\n\tmov.u32 %r2, 1;\nD:\n\tret;\n"); /* U has no user */
    unload(&f);
}

static void reprint_is_a_fixed_point(void **state)
{
    (void)state;
    Fixture f, again;
    load(&f, "\n\t.reg .b32 %r<3>; .reg .pred p;\n{ // s\n .reg .b32 %r<2>; L:mov.u32 %r1,0x10;\n .reg .b32 late; mov.u32 "
             "late, %r1; @p bra L; }\n\t"
             "call.uni\n\tcallee\n\t;\n\tmov.u32 %r2, 0;\n\tret;\n");
    const char *once = arena_copy(&f.arena, printed_body(&f, true), strlen(printed_body(&f, true)));
    load(&again, once);
    assert_string_equal(printed_body(&again, true), once);
    assert_string_equal(printed_body(&again, false), once);
    unload(&again);
    unload(&f);
}

/* ---- the verifier ---------------------------------------------------------------------------------------------- */

static const char VERIFIED[] =
    "\n.reg .b32 %r<9>; .reg .pred %p<3>;\nA: mov.u32 %r1, 1;\n@%p1 bra C;\nB: { .reg .b32 t; mov.u32 t, %r1; }\n"
    "mov.u32 %r2, 2;\nC: ret;\n";

static void break_terminator(Fixture *f) { f->fn->entry->first->next->prev = NULL; }
static void break_block(Fixture *f) { at(f, "B")->first->block = at(f, "C"); }
static void break_last(Fixture *f) { at(f, "A")->last = at(f, "A")->first; }
static void break_guard(Fixture *f) { block_terminator(at(f, "A"))->guard = ptx_reg(f->fn, "%r1"); }
static void break_reg(Fixture *f) { at(f, "A")->first->opnd[0].id = 1000; }
static void break_visibility(Fixture *f) { at(f, "A")->first->opnd[0].id = ptx_reg(f->fn, "t"); }
static void break_slots(Fixture *f) { at(f, "A")->first->opnd[0].kind = OPND_VEC; }
static void break_fall(Fixture *f) { at(f, "B")->fall = NULL; }
static void break_layout(Fixture *f) { at(f, "A")->fall = at(f, "C"); }
static void break_ret(Fixture *f) { at(f, "C")->fall = at(f, "A"); }
static void break_dead(Fixture *f) { at(f, "B")->dead = true; }
static void break_label(Fixture *f) { at(f, "B")->labels->name = at(f, "C")->labels->name; }
static void break_target(Fixture *f) { at(f, "C")->labels = NULL; }
static void break_brace(Fixture *f) { instr_remove(at(f, "B")->first->next->next); }
static void break_edges(Fixture *f) { cfg_remove_edge(f->fn->cfg, at(f, "A"), at(f, "C")); }
static void break_order(Fixture *f) { at(f, "C")->prev = at(f, "A"); }

static void the_verifier_finds_what_is_wrong(void **state)
{
    (void)state;
    static const struct {
        void (*damage)(Fixture *);
        const char *says;
    } cases[] = {{break_terminator, "linked in both directions"},
                 {break_block, "names another block"},
                 {break_last, "last"},
                 {break_guard, "no predicate"},
                 {break_reg, "out of range"},
                 {break_visibility, "of a scope that the instruction is not in"},
                 {break_slots, "slots"},
                 {break_fall, "nothing ends the block"},
                 {break_layout, "does not stand before"},
                 {break_ret, "after an unconditional terminator"},
                 {break_dead, "removed block"},
                 {break_label, "twice"},
                 {break_target, "without a label"},
                 {break_brace, "scope"},
                 {break_edges, "edge"},
                 {break_order, "layout is not linked"}};
    for (u32 k = 0; k < COUNT_OF(cases); k++) {
        Fixture f;
        load(&f, VERIFIED);
        assert_verified(&f);
        cases[k].damage(&f);
        const char *wrong = verify_function(f.fn, &f.arena);
        if (!wrong || !strstr(wrong, cases[k].says))
            fail_msg("case %u: %s, not: %s", k, wrong ? wrong : "nothing", cases[k].says);
        unload(&f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_comment_after_an_item_is_its_own),
        cmocka_unit_test(operands_are_found_and_have_roles),
        cmocka_unit_test(branches_answer_where_they_go),
        cmocka_unit_test(both_edge_maps_agree_after_any_change),
        cmocka_unit_test(edges_that_come_and_go_take_no_more_memory),
        cmocka_unit_test(new_registers_are_declared_once_per_type),
        cmocka_unit_test(fresh_names_avoid_every_word_of_the_text),
        cmocka_unit_test(instructions_print_from_operands),
        cmocka_unit_test(unchanged_functions_print_their_own_bytes),
        cmocka_unit_test(comments_and_lines_stay_around_changed_instructions),
        cmocka_unit_test(one_line_bodies_get_line_breaks_where_items_go),
        cmocka_unit_test(tables_print_before_their_first_user),
        cmocka_unit_test(reprint_is_a_fixed_point),
        cmocka_unit_test(the_verifier_finds_what_is_wrong),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
