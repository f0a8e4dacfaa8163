/* Where threads may reconverge: what waits, what ends it, who is seen; and the checker, with the gate left out. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analysis/convergence.h"
#include "analysis/reconverge.h"
#include "ir/edit.h"
#include "ptx_text.h"

#define KERNEL(text)                                                                                                      \
    PTX_HEAD ".extern .func unknown(); .func spin(.param .u64 a) { .reg .pred %p<2>; .reg .b32 %r<2>; .reg .b64 %rd<2>; " \
             "ld.param.u64 %rd1, [a]; L: ld.volatile.u32 %r1, [%rd1]; setp.eq.u32 %p1, %r1, 0; @%p1 bra L; ret; }\n"      \
             ".visible .entry f(.param .u64 n) {\n.reg .pred %p<9>; .reg .b32 %r<9>; .reg .b64 %rd<9>;\n"                 \
             "ld.param.u64 %rd1, [n]; mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; setp.lt.u32 %p1, %r1, 5; "              \
             "setp.lt.u32 %p2, %r2, 5;\n" text "\n}\n"

/* The pattern with a part in place of each `$`, in order. */
static const char *fill(const char *pattern, const char *const *part)
{
    static char text[4000];
    char *to = text;
    for (; *pattern; pattern++)
        if (*pattern == '$')
            to += sprintf(to, "%s", *part++);
        else
            *to++ = *pattern;
    *to = 0;
    return text;
}

typedef struct Fixture {
    Arena arena;
    Analyses an;
    Module *m;
    Function *fn;
} Fixture;

static void open_text(Fixture *x, const char *text)
{
    memset(x, 0, sizeof *x);
    x->m = ptx_module(&x->arena, text);
    x->fn = ptx_function(x->m, "f");
    analyses_init(&x->an, x->fn);
    x->an.summaries = summaries_compute(&x->arena, x->m);
}

static void close_text(Fixture *x)
{
    analyses_free(&x->an);
    module_free(x->m);
    arena_free(&x->arena);
}

/* ---- who waits ---------------------------------------------------------------------------------------------------- */

static void check_loop(const char *body, bool waits)
{
    Fixture x;
    open_text(&x, fill(KERNEL("mov.u32 %r3, 0; mov.u32 %r4, %r1; mov.u64 %rd2, %rd1;\nL: $\n@%p3 bra L;\nE: ret;"), &body));
    const Waits *w = an_waits(&x.an);
    if (w->loop[ptx_block(x.fn, "L")->id] != waits)
        fail_msg("%s: %s", waits ? "should wait" : "should not wait", body);
    close_text(&x);
}

static void loops_that_wait(void **state)
{
    (void)state;
    check_loop("ld.volatile.global.u32 %r5, [%rd1]; setp.eq.u32 %p3, %r5, 0;", true);
    check_loop("ld.acquire.gpu.global.u32 %r5, [%rd1]; setp.eq.u32 %p3, %r5, 0;", true);
    check_loop("atom.global.cas.b32 %r5, [%rd1], 0, 1; setp.ne.u32 %p3, %r5, 0;", true);
    check_loop("ld.global.u32 %r5, [%rd1]; setp.eq.u32 %p3, %r5, 0;", true);
    check_loop("nanosleep.u32 20; ld.global.u32 %r5, [%rd1]; setp.eq.u32 %p3, %r5, 0;", true);
    check_loop("mbarrier.test_wait.shared.b64 %p4, [%r1], %rd1; not.pred %p3, %p4;", true);
    check_loop("call unknown; setp.eq.u32 %p3, %r5, 0;", true);
    /* the counter does not decide alone, or is written under a condition */
    check_loop("add.u32 %r3, %r3, 1; ld.volatile.global.u32 %r5, [%rd1]; setp.lt.u32 %p4, %r3, 9; setp.eq.and.u32 %p3, "
               "%r5, 0, %p4;",
               true);
    check_loop(
        "ld.volatile.global.u32 %r5, [%rd1]; setp.eq.u32 %p4, %r5, 0; @%p4 add.u32 %r3, %r3, 1; setp.lt.u32 %p3, %r3, 9;",
        true);
}

/* By what leads from what is read to the exit. */
static void loops_that_ask(void **state)
{
    (void)state;
    check_loop("add.u64 %rd2, %rd1, 8; ld.global.u32 %r5, [%rd2]; setp.eq.u32 %p3, %r5, 0;", true);
    check_loop("ld.global.u64 %rd2, [%rd2]; setp.ne.u64 %p3, %rd2, 0;", true);
    check_loop("ld.global.u32 %r5, [%rd2]; add.u64 %rd2, %rd2, 4; and.b64 %rd2, %rd2, 63; setp.eq.u32 %p3, %r5, 0;", true);
    check_loop("ld.global.u32 %r5, [%rd2]; xor.b64 %rd2, %rd2, 4; setp.eq.u32 %p3, %r5, 0;", true);
    check_loop("ld.global.u32 %r5, [%rd2]; add.u64 %rd2, %rd2, %rd1; setp.eq.u32 %p3, %r5, 0;", true);
    check_loop("ld.global.u32 %r5, [%rd2]; add.u64 %rd2, %rd2, 4; add.u64 %rd2, %rd2, -4; setp.eq.u32 %p3, %r5, 0;", true);
    check_loop("ld.shared.u32 %r5, [%r3]; add.u32 %r3, %r3, 0x80000000; setp.eq.u32 %p3, %r5, 0;", true);
    check_loop(
        "ld.global.u32 %r5, [%rd1]; setp.ne.u32 %p4, %r5, 1; @%p4 bra M; mov.u32 %r3, 1; M: setp.eq.u32 %p3, %r3, 0;",
        true);
    check_loop("ld.global.u32 %r5, [%rd1]; setp.ne.u32 %p4, %r5, 1; selp.u32 %r3, 0, 1, %p4; setp.eq.u32 %p3, %r3, 0;",
               true);
    check_loop("ld.global.u32 %r5, [%rd1]; st.local.u32 [%rd3], %r5; ld.local.u32 %r6, [%rd3]; setp.eq.u32 %p3, %r6, 0;",
               true);
    check_loop(
        "ld.global.u32 %r5, [%rd1]; setp.eq.u32 %p4, %r5, 1; @%p4 bra E; add.u32 %r3, %r3, 1; setp.lt.u32 %p3, %r3, 9;",
        true);
    check_loop("ld.global.u32 %r5, [%rd1]; M: add.u32 %r3, %r3, 1; setp.lt.u32 %p4, %r3, %r5; @%p4 bra M; setp.lt.u32 %p3, "
               "%r3, 9;",
               true);
    check_loop("ld.global.u32 %r5, [%rd1]; T: .branchtargets E, M; brx.idx %r5, T; M: setp.lt.u32 %p3, %r3, 9;", true);
    check_loop(
        "ld.global.u32 %r5, [%rd1]; setp.eq.u32 %p4, %r5, 1; @%p4 exit; add.u32 %r3, %r3, 1; setp.lt.u32 %p3, %r3, 9;",
        true);
}

static void loops_that_do_not(void **state)
{
    (void)state;
    check_loop("add.u32 %r3, %r3, 1; setp.lt.u32 %p3, %r3, 9;", false);
    check_loop("add.u32 %r3, %r3, 1; ld.volatile.global.u32 %r5, [%rd1]; setp.lt.u32 %p3, %r3, 9;", false);
    check_loop("add.u32 %r3, %r3, %r2; atom.global.add.u32 %r5, [%rd1], 1; setp.lt.u32 %p3, %r3, 9;", false);
    check_loop("shr.u32 %r4, %r4, 1; ld.volatile.global.u32 %r5, [%rd1]; setp.ne.u32 %p3, %r4, 0;", false);
    check_loop("ld.global.nc.u32 %r5, [%rd1]; setp.eq.u32 %p3, %r5, 0;", false);
    check_loop("ld.local.u32 %r5, [%rd1]; setp.eq.u32 %p3, %r5, 0;", false);
    check_loop("ld.volatile.global.u32 %r5, [%rd1]; setp.lt.u32 %p3, %r3, 9;", false); /* nobody ends it */
    /* a number is looked for, at one place after the other */
    check_loop("ld.global.u32 %r5, [%rd2]; add.u64 %rd2, %rd2, 4; setp.ne.u32 %p3, %r5, 0;", false);
    check_loop("mul.wide.u32 %rd3, %r3, 4; add.u64 %rd4, %rd1, %rd3; ld.global.u32 %r5, [%rd4+8]; add.u32 %r6, %r3, 1; "
               "mov.u32 %r3, %r6; setp.ne.u32 %p3, %r5, 0;",
               false);
    check_loop("ld.global.u32 %r5, [%rd1]; add.u32 %r6, %r6, %r5; add.u32 %r3, %r3, 1; setp.lt.u32 %p3, %r3, 9;", false);
    /* an inner loop counts, or a branch that what is read decides writes something else */
    check_loop("mov.u32 %r5, 0; M: add.u32 %r5, %r5, 1; setp.lt.u32 %p4, %r5, 9; @%p4 bra M; ld.volatile.global.u32 %r6, "
               "[%rd1]; add.u32 %r3, %r3, 1; setp.lt.u32 %p3, %r3, 9;",
               false);
    check_loop("ld.volatile.global.u32 %r5, [%rd1]; setp.eq.u32 %p4, %r5, 0; @%p4 bra M; add.u32 %r6, %r6, 1; M: add.u32 "
               "%r3, %r3, 1; setp.lt.u32 %p3, %r3, 9;",
               false);
    check_loop("red.global.add.u32 [%rd1], 1; mul.lo.u32 %r3, %r3, 3; setp.lt.u32 %p3, %r3, 9;", false);
}

/* ---- the gate ----------------------------------------------------------------------------------------------------- */

/* arm, tail: after the branch on p; the tail stands in both arms A and B, and goes on to `rest`. */
static void check_at(const char *branch, const char *arm, const char *tail, ReconvergeRisk expected)
{
    Fixture x;
    const char *parts[] = {branch, arm, tail};
    open_text(
        &x,
        fill(KERNEL(
                 "@$ bra B;\nA: $\nbra T;\nB: add.u32 %r3, %r1, 1; @%p5 bra J;\nT: $\nJ: st.global.u32 [%rd1], %r1; ret;"),
             parts));
    ReconvergeGate *gate = reconverge_new(&x.arena, &x.an);
    ReconvergeRisk risk = reconverge_at(gate, ptx_block(x.fn, "T"), ptx_block(x.fn, "J"));
    if (risk != expected)
        fail_msg("%d instead of %d: %s | %s | %s", risk, expected, branch, arm, tail);
    reconverge_free(gate);
    close_text(&x);
}

#define SPIN "S: ld.volatile.global.u32 %r5, [%rd1]; setp.eq.u32 %p3, %r5, 0; @%p3 bra S;"
#define STORE "st.global.u32 [%rd1+4], %r3;"

static void gate(void **state)
{
    (void)state;
    check_at("%p1", SPIN, STORE, RECONVERGE_WAIT);
    check_at("%p1", SPIN, "add.u32 %r4, %r3, 1;", RECONVERGE_SAFE);
    check_at("%p1", SPIN, "@%p4 ret;", RECONVERGE_WAIT);
    check_at("%p1", "call unknown;", STORE, RECONVERGE_WAIT);
    check_at("%p1", "{ .param .u64 a; st.param.u64 [a], %rd1; call spin, (a); }", STORE, RECONVERGE_WAIT);
    check_at("%p1", "barrier.sync 1, 64;", STORE, RECONVERGE_WAIT);
    check_at("%p1", "vote.sync.any.pred %p4, %p1, -1;", "vote.sync.any.pred %p4, %p1, -1;", RECONVERGE_WAIT);
    check_at("%p1", "shfl.sync.idx.b32 %r4, %r1, 0, 31, -1;", "@%p4 exit;", RECONVERGE_WAIT);
    check_at("%p1", "shfl.sync.idx.b32 %r4, %r1, 0, 31, -1;", STORE, RECONVERGE_SAFE); /* nobody waits for a store */
    check_at("%p1", "bar.sync 0;", STORE, RECONVERGE_SAFE);
    check_at("%p1", "bar.sync 0;", "@%p4 ret;", RECONVERGE_WAIT);
    check_at("%p1", "mov.u32 %r4, 1;", "activemask.b32 %r4;", RECONVERGE_ACTIVE_SET);
    check_at("%p1", "mov.u32 %r4, 1;", "elect.sync _|%p4, -1;", RECONVERGE_ACTIVE_SET);
    check_at("%p1", "mov.u32 %r4, 1;", "call unknown;", RECONVERGE_ACTIVE_SET);
    check_at("%p1", "mov.u32 %r4, 1;", STORE, RECONVERGE_SAFE);
}

/* ---- the checker --------------------------------------------------------------------------------------------------- */

typedef void Edit(Function *fn);

static void check_edit(const char *text, Edit *edit, const char *complaint)
{
    Fixture x;
    open_text(&x, text);
    Convergence *before = convergence_snapshot(&x.arena, &x.an);
    assert_null(convergence_compare(before, &x.an, &x.arena));
    edit(x.fn);
    const char *wrong = convergence_compare(before, &x.an, &x.arena);
    if (complaint ? !wrong || !strstr(wrong, complaint) : wrong != NULL)
        fail_msg("'%s' instead of '%s'", wrong ? wrong : "", complaint ? complaint : "");
    convergence_free(before);
    close_text(&x);
}

/* A and B end alike: B's copy of the tail goes. */
static void merge(Function *fn)
{
    Block *a = ptx_block(fn, "A"), *b = ptx_block(fn, "B"), *t;
    Instr *tail = a->first;
    while (tail->op->opcode != OPC_ST)
        tail = tail->next;
    t = block_split_before(tail);
    while (b->last->op->opcode != OPC_ST) {
        if (block_terminator(b))
            instr_inherit_origin(fn, block_terminator(t), block_terminator(t), block_terminator(b));
        if (block_terminator(b))
            block_remove_terminator(b);
        else
            instr_remove(b->last);
    }
    instr_remove(b->last);
    block_set_fall(b, t);
}

static void fold_never_taken(Function *fn) { block_remove_terminator(ptx_block(fn, "A")); }

/* Nothing remains of J either. */
static void fold_and_clear(Function *fn)
{
    fold_never_taken(fn);
    while (ptx_block(fn, "J")->first)
        instr_remove(ptx_block(fn, "J")->first);
}

static void clear(Function *fn) { instr_remove(ptx_block(fn, "J")->first); }

static void promise(Function *fn)
{
    Instr *end = block_terminator(ptx_block(fn, "A"));
    instr_set_op(end, isa_decode(fn->module->isa, "bra.uni", 7));
}

/* One branch takes both decisions of A and B. */
static void combine(Function *fn)
{
    Block *a = ptx_block(fn, "A"), *b = ptx_block(fn, "B");
    instr_inherit_origin(fn, block_terminator(b), block_terminator(a), block_terminator(b));
    block_remove_terminator(a);
}

/* The same twice: of A and B, and of C and D. */
static void combine_pairs(Function *fn)
{
    Block *c = ptx_block(fn, "C"), *d = ptx_block(fn, "D");
    combine(fn);
    instr_inherit_origin(fn, block_terminator(d), block_terminator(c), block_terminator(d));
    block_remove_terminator(c);
}

#define TESTS(first, at_m, at_n, at_j)                                                      \
    KERNEL("A: @" first " bra M;\nB: @%p1 bra M;\nN: " at_n "add.u32 %r3, %r1, 1; bra J;\n" \
           "M: " at_m "add.u32 %r3, %r1, 2;\nJ: " at_j "st.global.u32 [%rd1+8], %r3; ret;")
#define SEEN "activemask.b32 %r4; "

static void combined_tests(void **state)
{
    (void)state;
    check_edit(TESTS("%p3", SEEN, "", ""), combine, "come together");
    check_edit(TESTS("%p3", "@%p4 bra O; " SEEN "O: ", "", ""), combine, "come together");
    check_edit(TESTS("%p3", "vote.any.pred %p5, %p4; ", "", ""), combine, "come together");
    check_edit(TESTS("%p3", "vote.sync.any.pred %p5, %p4, -1; ", "", ""), combine, NULL); /* names its threads */
    check_edit(TESTS("%p2", SEEN, "", ""), combine, NULL);                                /* the first test parts no warp */
    check_edit(TESTS("%p3", "", SEEN, ""), combine, NULL); /* one edge leads there, before and after */
    check_edit(TESTS("%p3", "", "", SEEN), combine, NULL); /* where all reconverge */
    check_edit(KERNEL("L: \nA: @%p3 bra M;\nB: @%p4 bra M;\nN: " SEEN
                      "add.u32 %r3, %r1, 1; bra J;\nM: add.u32 %r3, %r1, 2;\n"
                      "J: @%p5 bra L; ret;"),
               combine, NULL); /* around the loop, where they have reconverged */
    check_edit(KERNEL("A: @%p2 bra M;\nB: @%p1 bra M;\nC: @%p3 bra N;\nD: @%p4 bra M;\nN: add.u32 %r3, %r1, 1; bra J;\n"
                      "M: " SEEN "add.u32 %r3, %r1, 2;\nJ: st.global.u32 [%rd1+8], %r3; ret;"),
               combine_pairs, NULL);
}

#define ARMS(branch, arm, after)                                                                                \
    KERNEL("@" branch " bra B;\n" arm                                                                           \
           "\nA: add.u32 %r3, %r1, 3; st.global.u32 [%rd1], %r3; setp.eq.u32 %p4, %r3, 9; @%p4 bra M; bra N;\n" \
           "B: add.u32 %r3, %r1, 4; st.global.u32 [%rd1], %r3; setp.eq.u32 %p4, %r3, 9; @%p4 bra M; bra N;\n"   \
           "M: " after "\nbra J;\nN: add.u32 %r4, %r4, 1;\nJ: st.global.u32 [%rd1+8], %r1; ret;")

static void checker(void **state)
{
    (void)state;
    check_edit(ARMS("%p1", SPIN, "mov.u32 %r4, 1;"), merge, "wait for one another");
    check_edit(ARMS("%p2", SPIN, "mov.u32 %r4, 1;"), merge, NULL);
    check_edit(ARMS("%p1", "", "mov.u32 %r4, 1;"), merge, NULL);
    check_edit(ARMS("%p1", "", "activemask.b32 %r4;"), merge, "come together");
    check_edit(ARMS("%p2", "", "activemask.b32 %r4;"), merge, NULL);
    check_edit(ARMS("%p1", "", "mov.u32 %r4, 1;"), promise, "promises");
    check_edit(KERNEL("@%p1 bra A;\n" SPIN
                      "\nbra C;\nA: add.u32 %r3, %r1, 4; @%p5 bra D;\nC: st.volatile.global.u32 [%rd1], 1; bra J;\n"
                      "D: add.u32 %r3, %r1, 5;\nJ: st.global.u32 [%rd1+8], %r3; ret;"),
               fold_never_taken, "wait for one another");
    check_edit(KERNEL("@%p1 bra A;\nS: add.u32 %r3, %r1, 2; bra C;\nA: add.u32 %r3, %r1, 4; @%p5 bra D;\nC: activemask.b32 "
                      "%r4; bra J;\n"
                      "D: add.u32 %r3, %r1, 5;\nJ: st.global.u32 [%rd1+8], %r3; ret;"),
               fold_never_taken, "come together");
}

/* A branch that promises to be uniform sees who comes to it together, unless all threads of the warp are proven to agree. */
static void checker_of_promises(void **state)
{
    (void)state;
    check_edit(ARMS("%p1", "", "@%p5 bra.uni N;"), merge, "come together");
    check_edit(ARMS("%p2", "", "@%p5 bra.uni N;"), merge, NULL);
    check_edit(ARMS("%p1", "", "@%p2 bra.uni N;"), merge, NULL);
    check_edit(ARMS("%p1", "", "@%p5 bra N;"), merge, NULL);
    check_edit(TESTS("%p3", "@%p5 bra.uni J;\n", "", ""), combine, "come together");
    check_edit(TESTS("%p3", "@%p5 bra J;\n", "", ""), combine, NULL);
    check_edit(TESTS("%p2", "@%p5 bra.uni J;\n", "", ""), combine, NULL);
}

/* Lanes that part at %p1 reconverged at J. `at_c` and `at_k`: before they get there, and after it. */
#define GONE(at_c, at_k)                                                                       \
    KERNEL("@%p2 bra K;\n@%p1 bra A;\nS: add.u32 %r3, %r1, 2; bra C;\n"                        \
           "A: add.u32 %r3, %r1, 4; @%p5 bra D;\nC: " at_c "bra J;\nD: add.u32 %r3, %r1, 5;\n" \
           "J: mov.u32 %r6, 1; mov.u32 %r7, 1;\nK: st.global.u32 [%rd1+8], %r3; @%p4 bra E; " at_k "E: ret;")

static void points_that_are_gone(void **state)
{
    (void)state;
    check_edit(GONE(SEEN, ""), fold_and_clear, "come together");
    check_edit(GONE("", SEEN), fold_and_clear, NULL);
    check_edit(GONE(SEEN, ""), clear, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(loops_that_wait),
        cmocka_unit_test(loops_that_ask),
        cmocka_unit_test(loops_that_do_not),
        cmocka_unit_test(gate),
        cmocka_unit_test(checker),
        cmocka_unit_test(combined_tests),
        cmocka_unit_test(points_that_are_gone),
        cmocka_unit_test(checker_of_promises),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
