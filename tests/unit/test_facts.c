/* Facts: chosen functions, and random ones that are run: what is known must hold whenever control gets there. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analysed.h"
#include "base/fnvmap.h"
#include "ptx_run.h"

static void load(Fixture *f, const char *text) { load_with(f, text, AN_FACTS | AN_LIVE); }

#define KERNEL(text) PTX_HEAD ".entry f() {\n .reg .b32 %r<20>; .reg .f32 %f<9>; .reg .pred %p<9>;\n" text "\n}\n"

/* The comparisons that hold where the block begins: "lt.s32 %r1 7; ne.s32 %r1 %r2". */
static void show_compares(Fixture *f, const char *label, const char *reg, char *text)
{
    Compare c[8];
    u32 n = compares_at_entry(an_facts(&f->an), ptx_block(f->fn, label), ptx_reg(f->fn, reg), c, COUNT_OF(c));
    *text = '\0';
    for (u32 k = 0; k < n; k++) {
        const Operand *side[] = {&c[k].a, &c[k].b};
        text += sprintf(text, "%s%s%s%s", k ? "; " : "", cmp_name((Cmp)c[k].cmp), c[k].ftz ? ".ftz" : "",
                        type_name((Type)c[k].type));
        for (u32 o = 0; o < 2; o++) {
            const Reg *r = side[o]->kind == OPND_REG ? fn_reg(f->fn, side[o]->id) : NULL;
            text +=
                r ? sprintf(text, " %s%d", r->name->text, r->number) : sprintf(text, " %lld", (long long)side[o]->value);
        }
    }
}

/* expected: "L:%p1=1 L:%p2=? L:%r1=lt.s32 %r1 7" separated by '|'; 0, 1 or ? for predicates. */
static void check(const char *text, const char *expected)
{
    Fixture f;
    load(&f, text);
    char label[16], reg[16], want[200], got[1000];
    int used;
    for (const char *e = expected; sscanf(e, " %15[^:]:%15[^=]=%199[^|]%n", label, reg, want, &used) == 3;
         e += used + (e[used] == '|')) {
        if (reg[1] == 'p')
            sprintf(got, "%c", "?01"[facts_at_entry(an_facts(&f.an), ptx_block(f.fn, label), ptx_reg(f.fn, reg))]);
        else
            show_compares(&f, label, reg, got);
        if (strcmp(got, want) && !(*want == '-' && !*got))
            fail_msg("%s at %s is '%s', not '%s' in %s", reg, label, got, want, text);
    }
    unload(&f);
}

static void branches_tell_predicates(void **state)
{
    (void)state;
    check(
        KERNEL("@%p1 bra T;\nE: mov.u32 %r1, 1; bra J;\nT: @!%p2 bra J;\nU: mov.u32 %r1, 2;\nJ: mov.u32 %r2, 1;\nX: ret;"),
        "E:%p1=0|T:%p1=1|T:%p2=?|U:%p1=1|U:%p2=1|J:%p1=?|J:%p2=?");
    check(KERNEL("@%p1 ret;\nA: @!%p2 exit;\nB: ret;"), "A:%p1=0|B:%p1=0|B:%p2=1");
    check(KERNEL("@%p1 bra A;\nA: ret;"), "A:%p1=?"); /* on both edges */
}

static void comparisons_come_with_them(void **state)
{
    (void)state;
    check(KERNEL("setp.lt.s32 %p1, %r1, 7; @%p1 bra T;\nE: ret;\nT: ret;"), "T:%r1=lt.s32 %r1 7|E:%r1=ge.s32 %r1 7");
    check(KERNEL("setp.lt.f32 %p1, %f1, %f2; @%p1 bra T;\nE: ret;\nT: ret;"), "T:%f1=lt.f32 %f1 %f2|E:%f2=geu.f32 %f1 %f2");
    check(KERNEL("setp.lt.ftz.f32 %p1, %f1, 0f00000000; @%p1 bra T;\nE: ret;\nT: ret;"), "T:%f1=lt.ftz.f32 %f1 0");
    check(KERNEL("setp.eq.u32 %p1|%p2, %r1, %r2; @%p2 bra T;\nE: ret;\nT: ret;"),
          "T:%r1=ne.u32 %r1 %r2|E:%r2=eq.u32 %r1 %r2");
    check(KERNEL("setp.gt.and.s32 %p1, %r1, 3, !%p3; @%p1 bra T;\nE: ret;\nT: ret;"),
          "T:%r1=gt.s32 %r1 3|T:%p3=0|E:%r1=-|E:%p3=?");
    check(KERNEL("setp.gt.or.s32 %p1|%p2, %r1, 3, %p3; @%p2 bra T;\nE: ret;\nT: ret;"),
          "T:%r1=-|T:%p3=?|E:%r1=gt.s32 %r1 3|E:%p3=0");
    check(
        KERNEL("setp.gt.s32 %p1, %r1, 3; setp.lt.s32 %p2, %r1, 9; and.pred %p3, %p1, %p2; not.pred %p4, %p3; @%p4 bra T;\n"
               "E: ret;\nT: ret;"),
        "E:%p1=1|E:%p2=1|E:%r1=lt.s32 %r1 9; gt.s32 %r1 3|T:%p3=0|T:%p1=?|T:%r1=-");
    check(KERNEL("setp.gt.s32 %p1, %r1, 3; bra B;\nB: @%p1 bra T;\nE: ret;\nT: ret;"), "T:%r1=gt.s32 %r1 3");
}

static void writes_end_facts(void **state)
{
    (void)state;
    check(KERNEL("setp.lt.s32 %p1, %r1, 7; mov.u32 %r1, 1; @%p1 bra T;\nE: ret;\nT: ret;"), "T:%p1=1|T:%r1=-");
    check(KERNEL("setp.lt.s32 %p1, %r1, 7; @%p1 bra T;\nE: ret;\nT: mov.u32 %r1, 2;\nU: mov.u32 %r3, 1; bra V;\nV: ret;"),
          "T:%r1=lt.s32 %r1 7|U:%r1=-|V:%p1=1");
    check(KERNEL("@%p1 bra T;\nE: ret;\nT: @%p2 setp.eq.u32 %p1, %r1, 0;\nU: ret;"), "T:%p1=1|U:%p1=?");
    check(KERNEL("@%p3 setp.lt.s32 %p1, %r1, 7; @%p1 bra T;\nE: ret;\nT: ret;"),
          "T:%p1=1|T:%r1=-"); /* may be the old one */
    check(KERNEL("setp.lt.and.s32 %p1, %r1, 7, %p1; @%p1 bra T;\nE: ret;\nT: ret;"), "T:%p1=1|T:%r1=lt.s32 %r1 7");
    /* A write on one of two paths, before they join. */
    check(
        KERNEL("@%p1 bra T;\nE: ret;\nT: @%p2 bra W;\nV: bra J;\nW: setp.eq.u32 %p1, %r1, 0;\nJ: mov.u32 %r2, 1;\nX: ret;"),
        "T:%p1=1|W:%p1=1|J:%p1=?");
    check(KERNEL("@%p1 bra T;\nE: ret;\nT: @%p2 bra W;\nV: bra J;\nW: mov.u32 %r1, 1;\nJ: mov.u32 %r2, 1;\nX: ret;"),
          "J:%p1=1");
}

static void loops_carry_writes_around(void **state)
{
    (void)state;
    /* The write after the loop's body comes back to its top. */
    check(KERNEL("@%p1 bra H;\nE: ret;\nH: mov.u32 %r2, 1;\nB: mov.u32 %r3, 1;\nL: setp.eq.u32 %p1, %r2, 0; @%p2 bra "
                 "H;\nX: ret;"),
          "H:%p1=?|B:%p1=?|X:%p1=?");
    check(KERNEL("@%p1 bra H;\nE: ret;\nH: mov.u32 %r2, 1;\nB: mov.u32 %r3, 1;\nL: @%p2 bra H;\nX: setp.eq.u32 %p1, %r2, "
                 "0; ret;"),
          "H:%p1=1|B:%p1=1|X:%p1=1");
    /* The branch is in the loop: each iteration sets the fact anew. */
    check(KERNEL("H: @%p1 bra X;\nB: mov.u32 %r3, 1;\nC: mov.u32 %r4, 1;\nL: setp.eq.u32 %p1, %r2, 0; bra H;\nX: ret;"),
          "B:%p1=0|C:%p1=0|L:%p1=0|X:%p1=1|H:%p1=?");
    /* Known at the latch, so in the next iteration too, where nothing writes it. */
    check(KERNEL("H: mov.u32 %r3, 1;\nL: setp.lt.s32 %p1, %r1, 7; @%p1 bra H;\nX: ret;"),
          "H:%p1=?|X:%p1=0|X:%r1=ge.s32 %r1 7");
}

static void tables_tell_their_index(void **state)
{
    (void)state;
    check(KERNEL("T: .branchtargets A, B, A, C;\nS: brx.idx %r1, T;\nA: ret;\nB: ret;\nC: ret;"),
          "A:%r1=-|B:%r1=eq.u32 %r1 1|C:%r1=eq.u32 %r1 3");
}

static void edges_into_joins(void **state)
{
    (void)state;
    Fixture f;
    load(&f, KERNEL("setp.lt.s32 %p1, %r1, 7; @%p1 bra J;\nE: setp.eq.s32 %p2, %r2, 0; @%p2 bra J;\nF: ret;\nJ: mov.u32 "
                    "%r2, 1; ret;"));
    const Facts *facts = an_facts(&f.an);
    const Block *e = ptx_block(f.fn, "E"), *j = ptx_block(f.fn, "J"), *s = f.fn->entry;
    RegId p1 = ptx_reg(f.fn, "%p1"), p2 = ptx_reg(f.fn, "%p2"), r1 = ptx_reg(f.fn, "%r1");
    Compare c[4];
    assert_int_equal(facts_at_entry(facts, j, p1), FACT_UNKNOWN);
    assert_int_equal(facts_on_edge(facts, s, j, p1), FACT_TRUE);
    assert_int_equal(facts_on_edge(facts, e, j, p1), FACT_FALSE);
    assert_int_equal(facts_on_edge(facts, e, j, p2), FACT_TRUE);
    assert_int_equal(facts_on_edge(facts, s, j, p2), FACT_UNKNOWN);
    assert_int_equal(facts_on_edge(facts, j, s, p1), FACT_UNKNOWN); /* no such edge */
    assert_int_equal(facts_at_end(facts, e, p1), FACT_FALSE);
    assert_int_equal(compares_on_edge(facts, e, j, r1, c, 4), 1);
    assert_int_equal(c[0].cmp, CMP_GE);
    assert_int_equal(compares_on_edge(facts, s, j, r1, c, 4), 1);
    assert_int_equal(c[0].cmp, CMP_LT);
    assert_int_equal(compares_on_edge(facts, s, j, r1, c, 0), 0);
    assert_int_equal(compares_at_entry(facts, j, r1, c, 4), 0);
    unload(&f);
}

static Instr *definition(const Facts *facts, const Block *b, const Instr *before, RegId reg)
{
    return ssa_definition(facts_ssa(facts), ssa_at(facts_ssa(facts), b, before, reg), reg);
}

/* Whether reg still holds at the end of b what it held right after i. */
static bool unwritten(const Facts *facts, const Instr *i, const Block *b, RegId reg)
{
    ValueId value = ssa_at(facts_ssa(facts), i->block, i->next, reg);
    return value && value == ssa_at_end(facts_ssa(facts), b, reg);
}

static void definitions(void **state)
{
    (void)state;
    Fixture f;
    load(&f, KERNEL("mov.u32 %r1, 1; mov.u32 %r2, 2; mov.u32 %r4, 4; @%p1 bra T;\nE: mov.u32 %r2, 3; bra J;\n"
                    "T: @%p2 mov.u32 %r4, 5; mov.u32 %r5, 5;\nJ: mov.u32 %r6, %r1; ret;"));
    const Facts *facts = an_facts(&f.an);
    const Block *s = f.fn->entry, *e = ptx_block(f.fn, "E"), *t = ptx_block(f.fn, "T"), *j = ptx_block(f.fn, "J");
    RegId r1 = ptx_reg(f.fn, "%r1"), r2 = ptx_reg(f.fn, "%r2"), r4 = ptx_reg(f.fn, "%r4"), r5 = ptx_reg(f.fn, "%r5");
    assert_ptr_equal(definition(facts, j, NULL, r1), s->first); /* the only one */
    assert_ptr_equal(definition(facts, t, NULL, r2), s->first->next);
    assert_ptr_equal(definition(facts, e, NULL, r2), e->first);
    assert_ptr_equal(definition(facts, e, e->first, r2), s->first->next);
    assert_null(definition(facts, j, NULL, r2)); /* two */
    assert_null(definition(facts, t, NULL, r4)); /* guarded */
    assert_ptr_equal(definition(facts, t, t->first, r4), s->first->next->next);
    assert_null(definition(facts, j, NULL, r5)); /* does not dominate */
    assert_true(unwritten(facts, s->first, j, r1));
    assert_false(unwritten(facts, s->first->next, j, r2));
    assert_true(unwritten(facts, s->first->next, s, r2));
    assert_false(unwritten(facts, t->first, j, r5)); /* does not dominate */
    unload(&f);
}

static void irreducible_loops_are_joins(void **state)
{
    (void)state;
    check(KERNEL("@%p1 bra B;\nA: @%p2 bra X;\nB: mov.u32 %r1, 1; @%p3 bra Y;\nC: bra A;\nX: ret;\nY: ret;"),
          "A:%p1=?|X:%p2=1|C:%p3=0");
}

/* ---- random functions, run --------------------------------------------------------------------------------------- */

typedef struct Observer {
    Fixture *f;
    const Instr *last; /* passed, whether it ran or its guard was false */
    bool last_ran;
    const Instr *writer[32]; /* by register: the last to write it */
    FnvMap left;             /* by instruction and register: what its last run left in it */
    u32 predicates, compares, definitions;
} Observer;

static void finish_last(Observer *o, const Thread *t)
{
    if (!o->last)
        return;
    for (RegWalk w = reg_walk(o->last); next_write(&w);) {
        if (o->last_ran)
            o->writer[w.reg] = o->last;
        *fnvmap_at(&o->left, (u64)(uintptr_t)o->last * 64 + w.reg) = t->r[w.reg] + (u64)1;
    }
    o->last = NULL;
}

static void see_instr(void *user, const Thread *t, const Instr *i, bool runs)
{
    Observer *o = user;
    finish_last(o, t);
    for (RegWalk w = reg_walk(i); next_read(&w);) {
        const Instr *d = definition(an_facts(&o->f->an), i->block, i, w.reg);
        if (d && d != o->writer[w.reg])
            fail_msg("block %u: definition of register %u", i->block->id, w.reg);
        o->definitions += d != NULL;
    }
    o->last = i;
    o->last_ran = runs;
}

static void expect(Observer *o, FactValue known, u32 value, const char *where, const Block *b, RegId reg)
{
    if (known != FACT_UNKNOWN && (known == FACT_TRUE) != (value != 0))
        fail_msg("register %u is %u %s block %u", reg, value, where, b->id);
    o->predicates += known != FACT_UNKNOWN;
}

static void expect_compares(Observer *o, const Thread *t, const Compare *c, u32 n, const Block *b)
{
    for (u32 k = 0; k < n; k++)
        if (!compare_values((Cmp)c[k].cmp, operand_value(t, &c[k].a), operand_value(t, &c[k].b)))
            fail_msg("block %u: '%s' does not hold", b->id, c[k].by->op->text->text);
    o->compares += n;
}

static void expect_unwritten(Observer *o, const Thread *t, const Block *b)
{
    for_each_block(from, o->f->fn)
        for_each_instr(i, from)
            for (RegWalk w = reg_walk(i); next_write(&w);) {
                const u64 *left = fnvmap_find(&o->left, (u64)(uintptr_t)i * 64 + w.reg);
                if (unwritten(an_facts(&o->f->an), i, b, w.reg) && left && *left != t->r[w.reg] + (u64)1)
                    fail_msg("register %u was written between block %u and the end of block %u", w.reg, from->id, b->id);
            }
}

static void see_block(void *user, const Thread *t, const Block *from, const Block *b)
{
    Observer *o = user;
    const Facts *facts = an_facts(&o->f->an);
    const Function *fn = o->f->fn;
    Compare c[8];
    finish_last(o, t);
    if (from)
        expect_unwritten(o, t, from);
    for (RegId reg = 1; reg < fn->regs.n; reg++)
        if (fn_reg(fn, reg)->type == TYPE_PRED) {
            expect(o, facts_at_entry(facts, b, reg), t->r[reg], "at entry of", b, reg);
            if (from) {
                expect(o, facts_at_end(facts, from, reg), t->r[reg], "at the end of", from, reg);
                expect(o, facts_on_edge(facts, from, b, reg), t->r[reg], "on the edge to", b, reg);
            }
        } else {
            expect_compares(o, t, c, compares_at_entry(facts, b, reg, c, 8), b);
            if (from)
                expect_compares(o, t, c, compares_on_edge(facts, from, b, reg, c, 8), b);
        }
}

static void what_is_known_holds(void **state)
{
    (void)state;
    static char text[1 << 16];
    Observer all = {0};
    for (u32 round = 0; round < 2000; round++) {
        Fixture f;
        random_state = round + 1;
        random_function(text, 2 + random_below(14));
        load(&f, text);
        for (u32 tid = 0; tid < 6; tid++) {
            Thread t = {.tid = tid};
            Observer o = {.f = &f};
            for (u32 k = 0; k < COUNT_OF(t.r); k++)
                t.r[k] = random_below(2);
            walk(&(Walk){.fn = f.fn, .loops = an_loops(&f.an), .user = &o, .at_block = see_block, .at_instr = see_instr},
                 &t, 100);
            all.predicates += o.predicates;
            all.compares += o.compares;
            all.definitions += o.definitions;
            fnvmap_free(&o.left);
        }
        unload(&f);
    }
    assert_true(all.predicates > 50000 && all.compares > 50000 && all.definitions > 50000);
}

/* ---- size ------------------------------------------------------------------------------------------------------- */

/* Very many branches on one predicate, which one block in the middle writes again. */
static void many_branches(void **state)
{
    (void)state;
    enum { BLOCKS = 100000 };
    char *text = malloc(BLOCKS * 64u), *t = text;
    t += sprintf(t, PTX_HEAD ".entry f() { .reg .pred %%p<3>; .reg .b32 %%r<3>;\n");
    for (u32 b = 0; b < BLOCKS; b++) {
        t += sprintf(t, "L%u: @%%p1 bra X;\n", b);
        if (b == BLOCKS / 2)
            t += sprintf(t, "M: setp.lt.s32 %%p1, %%r1, %%r2;\n");
    }
    sprintf(t, "X: ret; }\n");
    Fixture f;
    load(&f, text);
    u32 known = 0;
    for_each_block(b, f.fn)
        known += facts_at_entry(an_facts(&f.an), b, ptx_reg(f.fn, "%p1")) == FACT_FALSE;
    assert_int_equal(known, BLOCKS - 1); /* not the first, the one after the write, and X */
    unload(&f);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(branches_tell_predicates),
        cmocka_unit_test(comparisons_come_with_them),
        cmocka_unit_test(writes_end_facts),
        cmocka_unit_test(loops_carry_writes_around),
        cmocka_unit_test(tables_tell_their_index),
        cmocka_unit_test(edges_into_joins),
        cmocka_unit_test(definitions),
        cmocka_unit_test(irreducible_loops_are_joins),
        cmocka_unit_test(what_is_known_holds),
        cmocka_unit_test(many_branches),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
