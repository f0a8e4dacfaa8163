/* Where threads may reconverge: what waits, what ends it, who is seen. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

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

/* rest: from R, which two entries of a table lead to, in groups of their own, to where they reconverged. */
static void check_joins(const char *rest, ReconvergeRisk expected)
{
    Fixture x;
    open_text(
        &x,
        fill(KERNEL("A: T: .branchtargets J, R, H;\nbrx.idx %r1, T;\nH: bra R;\nR: $\nJ: st.global.u32 [%rd1], %r1; ret;"),
             &rest));
    ReconvergeGate *gate = reconverge_new(&x.arena, &x.an);
    ReconvergeRisk risk = reconverge_joins(gate, ptx_block(x.fn, "A"));
    if (risk != expected)
        fail_msg("%d instead of %d: %s", risk, expected, rest);
    reconverge_free(gate);
    close_text(&x);
}

/* All threads of a group wait for the same ones, and go on together; or a part of them waits, or they see one another. */
static void joins(void **state)
{
    (void)state;
    check_joins("shfl.sync.idx.b32 %r4, %r1, 0, 31, -1;" STORE, RECONVERGE_SAFE);
    check_joins("barrier.sync 1;" STORE, RECONVERGE_SAFE);
    check_joins("shfl.sync.idx.b32 %r4, %r1, 0, 31, %r1; bar.warp.sync -1;", RECONVERGE_WAIT);
    check_joins("@%p1 barrier.sync 1;" STORE, RECONVERGE_WAIT);
    check_joins("barrier.sync 1, 64;" STORE, RECONVERGE_WAIT);
    check_joins("barrier.sync %r3;" STORE, RECONVERGE_WAIT);
    check_joins("@%p1 bra P; barrier.sync 1; P:" STORE, RECONVERGE_WAIT);
    check_joins("call unknown;" STORE, RECONVERGE_ACTIVE_SET);
    check_joins(SPIN STORE, RECONVERGE_WAIT);
    check_joins("activemask.b32 %r4;", RECONVERGE_ACTIVE_SET);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(loops_that_wait),
        cmocka_unit_test(loops_that_ask),
        cmocka_unit_test(loops_that_do_not),
        cmocka_unit_test(gate),
        cmocka_unit_test(joins),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
