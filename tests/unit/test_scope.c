/* A proof that fails, and its replay by the interpreter, in a scope that takes all memory back: what each of them frees was
 * allocated by base/arena.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "check/proof/replay.h"
#include "check/prove/prove.h"
#include "ptx_text.h"

/* Shared and local memory, a loop that divides its warp, a call, a switch, and exits. */
#define KERNEL(number)                                                                                           \
    PTX_HEAD ".func (.reg .b32 %o) g(.reg .b32 %i) { .local .b32 own[2]; .reg .b32 %r<2>;\n"                     \
             "st.local.u32 [own], %i; ld.local.u32 %r1, [own]; add.u32 %o, %r1, 1; ret; }\n"                     \
             ".entry f(.param .u64 p, .param .u32 n) {\n"                                                        \
             ".shared .b32 s[32]; .reg .b32 %r<9>; .reg .b64 %a<4>; .reg .pred %p<4>;\n"                         \
             "ld.param.u64 %a1, [p]; ld.param.u32 %r2, [n]; cvta.to.global.u64 %a2, %a1; mov.u32 %r1, %tid.x;\n" \
             "mov.u32 %r3, 0; setp.gt.u32 %p3, %r2, 5; @%p3 bra END;\n"                                          \
             "L: add.u32 %r3, %r3, 1; setp.eq.u32 %p1, %r3, %r1; @%p1 bra OUT;\n"                                \
             "setp.lt.u32 %p2, %r3, 40; @%p2 bra L;\n"                                                           \
             "OUT: st.shared.u32 [s], %r3; bar.sync 0; call (%r4), g, (%r2); add.u32 %r5, %r4, " number ";\n"    \
             "T: .branchtargets A, B; and.b32 %r6, %r4, 1; brx.idx %r6, T;\n"                                    \
             "A: st.global.u32 [%a2], %r5; ret;\nB: st.global.u32 [%a2+4], %r5;\nEND: ret; }\n"

typedef struct Job {
    const char *text[2];
    u32 asked;
    ProveAnswer worst;
} Job;

static void replay(void *user, const char *name, const ProveVerdict *v)
{
    Job *job = user;
    ReplayText text[2];
    for (u32 k = 0; k < 2; k++)
        text[k] = (ReplayText){k ? "after.ptx" : "before.ptx", {job->text[k], (u32)strlen(job->text[k])}};
    job->asked++;
    assert_true(replay_refutation(text, name, v, NULL));
}

static void prove_and_replay(void *user)
{
    Job *job = user;
    Arena arena = {0};
    ProveOptions options = {0};
    Module *before = ptx_module(&arena, job->text[0]), *after = ptx_module(&arena, job->text[1]);
    job->worst = prove_modules(before, after, &options, replay, job);
    arena_free(&arena);
}

static void a_refutation_and_its_replay_leave_a_scope_whole(void **state)
{
    (void)state;
    Job job = {.text = {KERNEL("1"), KERNEL("2")}};
    assert_true(mem_in_scope(prove_and_replay, &job));
    assert_int_equal(job.asked, 1);
    assert_int_equal(job.worst, PROVE_REFUTED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_refutation_and_its_replay_leave_a_scope_whole)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
