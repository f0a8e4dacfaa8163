/* Uniformity: chosen functions, and random ones whose threads are run one after the other: what is called uniform must
 * have had one value in all threads at each dynamic instance. */
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

static void load(Fixture *f, const char *text) { load_with(f, text, AN_UNIFORM); }

/* "%r1" or, for the branch at the end of a block, its label: 'd'ivergent, uniform in the 'w'arp, in the 'c'ta. */
static char kind_of(Fixture *f, const char *what)
{
    const Uniform *u = an_uniform(&f->an);
    bool is_reg = *what == '%';
    u32 id = is_reg ? ptx_reg(f->fn, what) : ptx_block(f->fn, what)->id;
    bool warp = bitset_has(is_reg ? &u->warp : &u->branch_warp, id);
    bool cta = bitset_has(is_reg ? &u->cta : &u->branch_cta, id);
    return warp && cta ? 'c' : warp ? 'w' : cta ? '?' : 'd';
}

/* expected: "%r1=d %r2=c L=w" */
static void check(const char *text, const char *expected)
{
    Fixture f;
    load(&f, text);
    char word[64], kind;
    int used;
    for (const char *e = expected; sscanf(e, " %63[^=]=%c%n", word, &kind, &used) == 2; e += used)
        if (kind_of(&f, word) != kind)
            fail_msg("%s is %c, not %c in %s", word, kind_of(&f, word), kind, text);
    unload(&f);
}

#define BODY(text)                                                                                                      \
    PTX_HEAD ".entry f(.param .u64 pp, .param .u32 n) {\n .reg .b32 %r<20>; .reg .b64 %rd<9>; .reg .pred %p<9>;\n" text \
             "\n}\n"

static void sources(void **state)
{
    (void)state;
    check(BODY("mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.y; mov.u32 %r3, %laneid; mov.u32 %r4, %clock;\n"
               "mov.u32 %r5, 7; add.u32 %r6, %r5, %r2; add.u32 %r7, %r6, %r1; ld.param.u32 %r8, [n]; ret;"),
          "%r1=d %r2=c %r3=d %r4=d %r5=c %r6=c %r7=d %r8=c");
    check(
        ".version 9.0\n.target sm_90\n.address_size 64\n.const .u32 table[4]; .shared .u32 s[4]; .global .u32 g;\n"
        ".entry f() { .reg .b32 %r<20>; .reg .b64 %rd<9>; .local .u32 l[4]; mov.u32 %r0, %tid.x;\n"
        "ld.const.u32 %r1, [table+4]; ld.shared.u32 %r2, [s]; ld.global.u32 %r3, [g]; ld.global.nc.u32 %r4, [g];\n"
        "mov.u64 %rd1, table; cvt.u64.u32 %rd2, %r0; add.u64 %rd3, %rd1, %rd2; ld.const.u32 %r5, [%rd3]; mov.u64 %rd4, l;\n"
        "ld.volatile.global.u32 %r6, [g]; atom.global.add.u32 %r7, [g], 1; ret; }",
        "%r1=c %r2=d %r3=d %r4=c %rd1=c %rd3=d %r5=d %rd4=d %r6=d %r7=d");
}

static void warp_operations(void **state)
{
    (void)state;
    check(BODY("mov.u32 %r1, %tid.x; setp.lt.u32 %p1, %r1, 5; vote.sync.ballot.b32 %r2, %p1, 0xffffffff;\n"
               "vote.sync.any.pred %p2, %p1, %r1; shfl.sync.idx.b32 %r3, %r2, 0, 31, -1; setp.ne.u32 %p3, %r2, 0;\n"
               "activemask.b32 %r4; redux.sync.add.s32 %r5, %r1, 0xffffffff; vote.ballot.b32 %r6, %p1; @%p3 bra B;\n"
               "A: @%p1 bra B;\n"
               "B: ret;"),
          "%r2=w %p2=d %r3=d %p3=w %r4=d %r5=w %r6=d A=d");
}

/* %r1 is divergent by its last definition; copies of the constant that it held before are not. */
static void copies_of_constants(void **state)
{
    (void)state;
    check(BODY("mov.u32 %r1, 0; mov.u32 %r2, %r1; mov.u32 %r3, %r2; mov.u32 %r1, %tid.x; mov.u32 %r4, %r1; ret;"),
          "%r1=d %r2=c %r3=c %r4=d");
    check(BODY("mov.u32 %r5, %tid.x; setp.lt.u32 %p1, %r5, 5; mov.u32 %r1, 0; @%p1 mov.u32 %r1, 1; mov.u32 %r2, %r1;\n"
               "mov.u32 %r3, 4; add.u32 %r3, %r3, %r5; mov.u32 %r4, %r3; ret;"),
          "%r1=d %r2=d %r3=d %r4=d");
    check(BODY("mov.u32 %r1, 0; @%p1 bra B; mov.u32 %r1, %tid.x; B: mov.u32 %r2, %r1; ret;"), "%r1=d %r2=d");
}

static void guards_and_the_carry(void **state)
{
    (void)state;
    check(BODY("mov.u32 %r1, %tid.x; setp.lt.u32 %p1, %r1, 5; ld.param.u32 %r2, [n]; setp.eq.u32 %p2, %r2, 0;\n"
               "mov.u32 %r3, 1; @%p1 mov.u32 %r3, 2; mov.u32 %r4, 1; @%p2 mov.u32 %r4, 2;\n"
               "add.cc.u32 %r5, %r1, %r1; addc.u32 %r6, %r2, %r2; ret;"),
          "%r3=d %r4=c %r5=d %r6=d");
    check(BODY("mov.u32 %r2, 3; add.cc.u32 %r5, %r2, %r2; addc.u32 %r6, %r2, %r2; ret;"), "%r5=c %r6=c");
    check(BODY("@%p1 mov.u32 %r2, 3; add.u32 %r3, %r2, 1; ret;"), "%r2=d %r3=d %p1=d"); /* garbage */
}

static void calls_and_parameters(void **state)
{
    (void)state;
    check(PTX_HEAD
          ".func (.param .b32 o) g(.param .b32 i);\n"
          ".func (.reg .b32 %o) f(.reg .b32 %a, .param .b32 b) { .reg .b32 %r<9>; mov.u32 %r1, %a; ld.param.u32 %r2, [b];\n"
          "{ .param .b32 o1; .param .b32 i1; st.param.b32 [i1], 3; call (o1), g, (i1); ld.param.b32 %r3, [o1]; }\n"
          "mov.u32 %r4, 4; mov.u32 %o, 5; ret; }",
          "%a=d %r1=d %r2=d %r3=d %r4=c %o=d");
}

/* A register written on one path is divergent where the paths join, if it is live there. */
static void joins_of_divergent_branches(void **state)
{
    (void)state;
    check(BODY("mov.u32 %r1, %tid.x; setp.lt.u32 %p1, %r1, 5; ld.param.u32 %r9, [n]; mov.u32 %r2, 1; mov.u32 %r4, 1;\n"
               "@%p1 bra E;\n"
               "T: mov.u32 %r2, 2; mov.u32 %r3, 3; add.u32 %r4, %r3, 1; bra J;\n"
               "E: mov.u32 %r5, 1; add.u32 %r6, %r5, %r9;\n"
               "J: add.u32 %r7, %r2, 1; mov.u32 %r8, %r9; setp.eq.u32 %p2, %r7, 0; @%p2 bra L;\n"
               "K: mov.u32 %r9, 1;\n"
               "L: ret;"),
          "%r2=d %r3=c %r4=c %r5=c %r6=c %r7=d %r8=c J=d %p2=d");
    /* Who has returned does not reconverge with the others; nor are registers divergent just because few threads run. */
    check(BODY("mov.u32 %r1, %tid.x; setp.lt.u32 %p1, %r1, 5; ld.param.u32 %r9, [n]; @%p1 bra X;\n"
               "mov.u32 %r2, 0;\n"
               "H: add.u32 %r2, %r2, 1; setp.lt.u32 %p2, %r2, %r9; @%p2 bra H;\n"
               "T: add.u32 %r3, %r2, 1;\n"
               "X: ret;"),
          "%p1=d %r2=c H=c %r3=c");
    check(BODY("mov.u32 %r1, %tid.x; setp.lt.u32 %p1, %r1, 5; mov.u32 %r2, 0; @%p1 ret;\n"
               "B: mov.u32 %r2, 1; setp.eq.u32 %p2, %r2, 1; @%p2 bra B;\n"
               "C: ret;"),
          "%r2=c B=c");
}

/* A loop that threads leave in different iterations. */
static void temporal_divergence(void **state)
{
    (void)state;
    check(BODY("mov.u32 %r1, %tid.x; mov.u32 %r2, 0; mov.u32 %r9, 5;\n"
               "H: add.u32 %r2, %r2, 1; mov.u32 %r3, %r2; mov.u32 %r5, 7; mov.u32 %r6, %r5; setp.lt.u32 %p1, %r2, %r1; "
               "@%p1 bra H;\n"
               "X: add.u32 %r4, %r3, %r9; setp.lt.u32 %p2, %r9, 3; @%p2 bra Y;\n"
               "Z: mov.u32 %r7, 1;\n"
               "Y: ret;"),
          "H=d %r3=d %r4=d %r9=c X=c %r5=c %r6=c %r7=c");
    /* The counter is read inside only: its value is the iteration's. */
    check(BODY("mov.u32 %r1, %tid.x; mov.u32 %r2, 0; mov.u32 %r3, %r1;\n"
               "H: add.u32 %r2, %r2, 1; setp.eq.u32 %p2, %r2, 4; @%p2 bra S;\n"
               "M: add.u32 %r3, %r3, 3;\n"
               "S: setp.lt.u32 %p1, %r3, 99; @%p1 bra H;\n"
               "X: ret;"),
          "S=d %r2=c H=c");
    /* Two breaks: threads that left by the first reconverge with those that left by the second. */
    check(BODY("mov.u32 %r1, %tid.x; mov.u32 %r2, 0; mov.u32 %r4, 0;\n"
               "H: add.u32 %r2, %r2, 1; setp.eq.u32 %p1, %r2, %r1; @%p1 bra X;\n"
               "B: setp.gt.u32 %p2, %r2, 9; @!%p2 bra H;\n"
               "C: mov.u32 %r4, 1;\n"
               "X: add.u32 %r5, %r4, 1; ret;"),
          "H=d B=c %r4=d %r5=d");
}

static void hints_are_believed_for_the_warp(void **state)
{
    (void)state;
    check(BODY("mov.u32 %r1, %tid.y; setp.lt.u32 %p1, %r1, 5; mov.u32 %r2, 1; @%p1 bra.uni J;\n"
               "E: mov.u32 %r2, 2;\n"
               "J: setp.lt.u32 %p2, %r2, 5; @%p2 bra L;\n"
               "K: mov.u32 %r3, 1;\n"
               "L: ret;"),
          "%p1=d %r2=w J=w %p2=w");
}

static void tables(void **state)
{
    (void)state;
#define SWITCH(selector)                                \
    BODY("mov.u32 %r1, " selector "; mov.u32 %r2, 0;\n" \
         "T: .branchtargets A, B, A;\n"                 \
         "S: brx.idx %r1, T;\n"                         \
         "A: mov.u32 %r2, 1;\n"                         \
         "B: add.u32 %r3, %r2, 1; ret;")
    check(SWITCH("%tid.x"), "S=d %r2=d %r3=d");
    check(SWITCH("%ctaid.x"), "S=c %r2=c %r3=c");
}

static void irreducible_functions_are_divergent(void **state)
{
    (void)state;
    check(BODY("ld.param.u32 %r1, [n]; setp.eq.u32 %p1, %r1, 0; @%p1 bra B;\n"
               "A: add.u32 %r1, %r1, 1; setp.eq.u32 %p1, %r1, 9; @%p1 bra.uni X;\n"
               "B: add.u32 %r1, %r1, 2; bra A;\n"
               "X: ret;"),
          "%r1=d %p1=d A=w X=c");
}

/* ---- random functions, run --------------------------------------------------------------------------------------- */

enum { THREADS = 8, STEPS = 400 };

/* The value that `what` had at this instance: the same in every thread that got there. */
static void record(Fixture *f, FnvMap *seen, const Thread *t, const Block *b, const void *at, u32 what, u32 value)
{
    u64 key = ((u64)(uintptr_t)at * 1000003u + what) * 0x9e3779b97f4a7c15u;
    for (const Loop *loop = loop_of(an_loops(&f->an), b); loop; loop = loop->parent)
        key = (key + t->iteration[loop->depth]) * 0x9e3779b97f4a7c15u;
    u64 *old = fnvmap_at(seen, key);
    if (*old && *old != value + (u64)1)
        fail_msg("block %u: %u had value %u and %u", b->id, what, (u32)*old - 1, value);
    *old = value + (u64)1;
}

typedef struct Observer {
    Fixture *f;
    FnvMap seen;
} Observer;

static void observe(void *user, const Thread *t, const Instr *i, bool runs)
{
    Observer *o = user;
    const Uniform *u = an_uniform(&o->f->an);
    for (RegWalk w = reg_walk(i); next_read(&w);)
        if (bitset_has(&u->warp, w.reg))
            record(o->f, &o->seen, t, i->block, i, w.reg, t->r[w.reg]);
    if (instr_is(i, OPF_TERMINATOR) && bitset_has(&u->branch_warp, i->block->id))
        record(o->f, &o->seen, t, i->block, i, 999, runs);
}

static void what_is_uniform_has_one_value(void **state)
{
    (void)state;
    static char text[1 << 16];
    u32 uniform = 0, divergent = 0;
    for (u32 round = 0; round < 4000; round++) {
        Fixture f;
        Observer observer = {.f = &f};
        random_state = round + 1;
        random_function(text, 2 + random_below(12));
        load(&f, text);
        assert_true(bitset_subset(&an_uniform(&f.an)->cta, &an_uniform(&f.an)->warp));
        assert_true(bitset_subset(&an_uniform(&f.an)->branch_cta, &an_uniform(&f.an)->branch_warp));
        for (u32 tid = 0; tid < THREADS; tid++) {
            Thread t = {.tid = tid};
            for (u32 k = 0; k < COUNT_OF(t.r); k++)
                t.r[k] = random_below(2);
            walk(&(Walk){.fn = f.fn, .loops = an_loops(&f.an), .user = &observer, .at_instr = observe}, &t, STEPS);
        }
        for (u32 p = 0; p < an_order(&f.an)->count; p++)
            if (block_terminator(an_order(&f.an)->rpo[p]) && block_terminator(an_order(&f.an)->rpo[p])->guard)
                *(bitset_has(&an_uniform(&f.an)->branch_warp, an_order(&f.an)->rpo[p]->id) ? &uniform : &divergent) += 1;
        fnvmap_free(&observer.seen);
        unload(&f);
    }
    assert_true(uniform > 1000 && divergent > 1000); /* the comparison has something to compare */
}

/* ---- size ------------------------------------------------------------------------------------------------------ */

/* Divergent early exits one after the other, each after something that is written and live at the exit. */
static void ladder_of_divergent_exits(void **state)
{
    (void)state;
    enum { BLOCKS = 100000 };
    char *text = malloc(BLOCKS * 128u), *t = text;
    t += sprintf(t, PTX_HEAD ".entry f() { .reg .b32 %%r<4>; .reg .pred %%p<3>; mov.u32 %%r1, %%tid.x; mov.u32 %%r2, 0;\n");
    for (u32 b = 0; b < BLOCKS; b++)
        t += sprintf(t, "L%u: setp.eq.u32 %%p1, %%r1, %u; @%%p1 bra X; add.u32 %%r2, %%r2, 1;\n", b, b);
    sprintf(t, "X: st.global.u32 [0], %%r2; ret; }\n");
    check(text, "%r2=d L7=d");
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sources),
        cmocka_unit_test(warp_operations),
        cmocka_unit_test(copies_of_constants),
        cmocka_unit_test(guards_and_the_carry),
        cmocka_unit_test(calls_and_parameters),
        cmocka_unit_test(joins_of_divergent_branches),
        cmocka_unit_test(temporal_divergence),
        cmocka_unit_test(hints_are_believed_for_the_warp),
        cmocka_unit_test(tables),
        cmocka_unit_test(irreducible_functions_are_divergent),
        cmocka_unit_test(what_is_uniform_has_one_value),
        cmocka_unit_test(ladder_of_divergent_exits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
