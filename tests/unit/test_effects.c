/* Effects of instructions, summaries of functions. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analysis/effects.h"
#include "ir/inspect.h"
#include "ptx_text.h"

/* "r:sg w:s strong barrier=1 convergent ends" */
static const char *show(Effects e)
{
    static char text[120];
    static const char *const spaces[] = {"-", "s", "g", "sg"};
    snprintf(text, sizeof text, "r:%s w:%s%s%s%s b%u%s%s%s", spaces[e.reads], spaces[e.writes], e.strong ? " strong" : "",
             e.event ? " event" : "", e.times ? " times" : "", e.barrier, e.convergent ? " convergent" : "",
             e.may_not_return ? " ends" : "", e.known ? "" : " unknown");
    return text;
}

static void instructions(void **state)
{
    (void)state;
    static const struct {
        const char *text, *effects;
    } cases[] = {
        {"add.u32 %r1, %r2, %r3;", "r:- w:- b0"},
        {"ld.shared.u32 %r1, [%r2];", "r:s w:- b0"},
        {"st.shared.u32 [%r2], %r1;", "r:- w:s b0"},
        {"ld.u32 %r1, [%rd2];", "r:sg w:- b0"},
        {"st.global.u32 [%rd2], %r1;", "r:- w:g b0"},
        {"ld.global.nc.u32 %r1, [%rd2];", "r:g w:- b0"},
        {"ld.local.u32 %r1, [%rd2];", "r:- w:- b0"},
        {"ld.const.u32 %r1, [c];", "r:- w:- b0"},
        {"ld.param.u32 %r1, [n];", "r:- w:- b0"},
        {"ld.shared::cluster.u32 %r1, [%r2];", "r:s w:- b0"},
        {"ld.volatile.shared.u32 %r1, [%r2];", "r:sg w:sg strong b0"},
        {"ld.relaxed.gpu.global.u32 %r1, [%rd2];", "r:sg w:sg strong b0"},
        {"ld.volatile.local.u32 %r1, [%rd2];", "r:- w:- b0"},
        {"atom.shared.add.u32 %r1, [%r2], 1;", "r:sg w:sg strong b0"},
        {"red.global.add.u32 [%rd2], 1;", "r:sg w:sg strong b0"},
        {"fence.acq_rel.gpu;", "r:sg w:sg strong b0"},
        {"membar.cta;", "r:sg w:sg strong b0"},
        {"cp.async.wait_all;", "r:sg w:sg strong b0"},
        {"bar.sync 0;", "r:- w:- b2 convergent"},
        {"barrier.sync.aligned 3;", "r:- w:- b2 convergent"},
        {"bar.sync %r1;", "r:- w:- b3 convergent"},
        {"bar.sync 1, 64;", "r:- w:- b3 convergent"},
        {"bar.arrive 1, 64;", "r:- w:- b3 convergent"},
        {"bar.red.popc.u32 %r1, 0, %p1;", "r:- w:- b3 convergent"},
        {"barrier.cluster.arrive.aligned;", "r:- w:- b3 convergent"},
        {"bar.warp.sync -1;", "r:- w:- b1 convergent"},
        {"shfl.sync.bfly.b32 %r1, %r2, 1, 31, -1;", "r:- w:- b0 convergent"},
        {"activemask.b32 %r1;", "r:- w:- b0 convergent"},
        {"trap;", "r:- w:- event b0 ends"},
        {"brkpt;", "r:- w:- event b0"},
        {"nanosleep.u32 9;", "r:- w:- event b0"},
        {"pmevent 1;", "r:- w:- event times b0"},
        {"mov.u32 %r1, %clock;", "r:- w:- event times b0"},
        {"mov.u64 %rd1, %globaltimer;", "r:- w:- event times b0"},
        {"mov.u32 %r1, %pm3;", "r:- w:- event times b0"},
        {"mov.u32 %r1, %smid;", "r:- w:- event b0"},
        {"mov.u32 %r1, %tid.x;", "r:- w:- b0"},
        {"setmaxnreg.inc.sync.aligned.u32 96;", "r:- w:- event b0 convergent"},
        {"@%p1 exit;", "r:- w:- b0 ends"},
        {"ret;", "r:- w:- b0"},
        {"tomorrow.u32 %r1;", "r:sg w:sg strong event times b3 convergent ends unknown"},
    };
    for (u32 k = 0; k < COUNT_OF(cases); k++) {
        Arena arena = {0};
        char text[1000];
        snprintf(text, sizeof text,
                 PTX_HEAD ".const .u32 c; .entry f(.param .u32 n) { .reg .b32 %%r<9>; .reg .b64 %%rd<9>;"
                          ".reg .pred %%p<9>; %s }",
                 cases[k].text);
        Module *m = ptx_module(&arena, text);
        const Instr *i = ptx_function(m, "f")->entry->first;
        assert_string_equal(show(instr_effects(i, NULL)), cases[k].effects);
        assert_int_equal(instr_is_convergent(i, NULL), instr_effects(i, NULL).convergent);
        module_free(m);
        arena_free(&arena);
    }
}

static const char program[] = PTX_HEAD
    ".extern .func printer();\n"
    ".func pure() { ret; }\n"
    ".func reader(.param .u64 p) { .reg .b32 %r<9>; .reg .b64 %rd<9>; ld.param.u64 %rd1, [p]; ld.global.u32 %r1, [%rd1]; "
    "ret; }\n"
    ".func waits() { bar.sync 0; ret; }\n"
    ".func leaves() { .reg .pred %p; @%p exit; ret; }\n"
    ".func even();\n"
    ".func odd() { .reg .b32 %r<2>; st.shared.u32 [0], %r1; call even; ret; }\n"
    ".func even() { call odd; ret; }\n"
    ".weak .func weak() { ret; }\n"
    ".weak .func softly(); .visible .func softly() { ret; }\n"
    ".common .func shared() { ret; }\n"
    ".visible .func timed(); .visible .func timed() { .reg .b32 %c; mov.u32 %c, %clock; ret; }\n"
    ".func dies() .noreturn { trap; }\n"
    ".func strange() { tomorrow.u32; ret; }\n"
    ".func late() { call pure; call reader, (0); ret; }\n"
    ".entry f() { .reg .b64 %rd<9>;\n"
    "  call pure; call reader, (0); call waits; call leaves; call odd; call even; call weak; call dies; call strange;\n"
    "  call printer; call late; call softly; call shared; call timed;\n"
    "  P: .callprototype _ (); call %rd1, P;\n"
    "  T: .calltargets pure, odd; call %rd1, T; ret; }\n";

static void calls(void **state)
{
    (void)state;
    static const char anything[] = "r:sg w:sg strong event times b3 convergent ends unknown";
    const char *expected[] = {"r:- w:- b0",
                              "r:g w:- b0",
                              "r:- w:- b2 convergent",
                              "r:- w:- b0 ends",
                              "r:- w:s b0",
                              "r:- w:s b0",
                              anything,
                              "r:- w:- event b0 ends",
                              anything,
                              anything,
                              "r:g w:- b0",
                              anything,
                              anything,
                              "r:- w:- event times b0",
                              anything,
                              "r:- w:s b0"};
    Arena arena = {0};
    Module *m = ptx_module(&arena, program);
    Summaries *s = summaries_compute(&arena, m);
    const Instr *i = ptx_function(m, "f")->entry->first;
    for (u32 k = 0; k < COUNT_OF(expected); k++, i = i->next) {
        assert_true(instr_is(i, OPF_CALL));
        assert_string_equal(show(instr_effects(i, s)), expected[k]);
        assert_string_equal(show(instr_effects(i, NULL)), anything);
        assert_true(instr_is_convergent(i, NULL));
    }
    assert_string_equal(show(effects_of_function(s, ptx_function(m, "f")->sym)), anything);
    module_free(m);
    arena_free(&arena);
}

/* A loop that reads the same memory each time may wait for another thread to write it. */
static void loops(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        u8 waits;
    } cases[] = {
        {"ld.global.u32 %r1, [%rd1]; setp.ne.s32 %p1, %r1, 0; @%p1 bra L; add.s64 %rd1, %rd1, 4; L: ret;", 0},
        {"L: add.s32 %r1, %r1, 1; setp.ne.s32 %p1, %r1, 9; @%p1 bra L; ret;", 0},
        {"L: st.global.u32 [%rd1], %r1; add.s64 %rd1, %rd1, 4; @%p1 bra L; ret;", 0},
        {"L: ld.global.u32 %r1, [%rd1]; setp.ne.s32 %p1, %r1, 0; @%p1 bra L; ret;", WAIT_OTHERS},
        {"L: ld.volatile.global.u32 %r1, [%rd1]; @%p1 bra L; ret;", WAIT_OTHERS},
        /* the address advances: of a callee that is not asked */
        {"L: ld.global.u32 %r1, [%rd1]; add.s64 %rd1, %rd1, 4; @%p1 bra L; ret;", WAIT_OTHERS},
        /* the loop's middle stands behind its latch in the text */
        {"bra L; K: @%p1 bra M; ret; L: ld.global.u32 %r1, [%rd1]; bra K; M: add.s64 %rd1, %rd1, 4; bra L;", WAIT_OTHERS},
        /* what is read never changes, or is read before the loop: it is not told apart */
        {"L: ld.global.nc.u32 %r1, [%rd1]; setp.ne.s32 %p1, %r1, 0; @%p1 bra L; ret;", WAIT_OTHERS},
        {"ld.global.u32 %r1, [%rd1]; L: setp.ne.s32 %p1, %r1, 0; @%p1 bra L; ret;", WAIT_OTHERS},
    };
    for (u32 k = 0; k < COUNT_OF(cases); k++) {
        Arena arena = {0};
        char text[1000];
        snprintf(text, sizeof text,
                 PTX_HEAD ".func f() { .reg .b32 %%r<9>; .reg .b64 %%rd<9>; .reg .pred %%p<9>; %s }\n"
                          ".entry e() { call f; ret; }",
                 cases[k].text);
        Module *m = ptx_module(&arena, text);
        Effects f = effects_of_function(summaries_compute(&arena, m), ptx_function(m, "f")->sym);
        if (f.waits != cases[k].waits)
            fail_msg("%s", cases[k].text);
        module_free(m);
        arena_free(&arena);
    }
}

/* A long chain of calls, callers first: nothing recurses. */
static void deep_calls(void **state)
{
    (void)state;
    enum { DEPTH = 20000 };
    char *text = malloc(DEPTH * 64u), *t = text;
    t += sprintf(t, PTX_HEAD);
    for (u32 k = 0; k < DEPTH; k++)
        t += sprintf(t, ".func f%u();\n", k);
    for (u32 k = 0; k + 1 < DEPTH; k++)
        t += sprintf(t, ".func f%u() { call f%u; ret; }\n", k, k + 1);
    sprintf(t, ".func f%u() { .reg .b32 %%r; activemask.b32 %%r; ret; }\n", DEPTH - 1);
    Arena arena = {0};
    Module *m = ptx_module(&arena, text);
    Summaries *s = summaries_compute(&arena, m);
    assert_string_equal(show(effects_of_function(s, ptx_function(m, "f1")->sym)), "r:- w:- b0 convergent");
    module_free(m);
    arena_free(&arena);
    free(text);
}

/* The run-time system's functions are known where all declarations are .extern and look like its own. */
static void runtime(void **state)
{
    (void)state;
    static const char prints[] = "(.param .b32 r) vprintf(.param .b64 a, .param .b64 b)";
    static const struct {
        const char *before, *after;
        const char *name, *shown;
    } cases[] = {
        {".extern .func ", ";", NULL, "r:sg w:sg event b0"},
        {".weak .func ", ";", NULL, NULL},
        {".func ", "{ ret; }", NULL, "r:- w:- b0"},
        {"", "", ".extern .func (.param .b32 r) vprintf(.param .b64 a, .param .b32 b);", NULL},
        {"", "", ".extern .func vprintf(.param .b64 a, .param .b64 b);", NULL},
        {"", "", ".extern .func (.param .b64 r) malloc(.param .b64 n);", "r:sg w:sg strong event b0"},
        {"", "", ".extern .func free(.param .b64 p);", "r:sg w:sg event b0"},
        {"", "", ".extern .func (.param .b32 r) cudaDeviceSynchronize();", "r:sg w:sg strong event b0 convergent"},
        {"", "", ".extern .func f(.param .b64 p);", NULL},
    };
    for (u32 k = 0; k < COUNT_OF(cases); k++) {
        Arena arena = {0};
        char text[1000], *declared = text + 600;
        snprintf(declared, 300, "%s%s%s", cases[k].before, cases[k].name ? cases[k].name : prints, cases[k].after);
        snprintf(text, 600, PTX_HEAD "%s\n.entry e() { .reg .b64 %%rd; mov.u64 %%rd, 0; ret; }\n", declared);
        Module *m = ptx_module(&arena, text);
        const RuntimeInfo *found = call_runtime(m, m->functions.v[0]->sym);
        bool is_body = m->functions.v[0]->is_definition;
        assert_int_equal(found != NULL, cases[k].shown && !is_body);
        if (cases[k].shown && !is_body)
            assert_string_equal(show(effects_of_function(summaries_compute(&arena, m), m->functions.v[0]->sym)), cases[k].shown);
        module_free(m);
        arena_free(&arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(instructions),
        cmocka_unit_test(calls),
        cmocka_unit_test(loops),
        cmocka_unit_test(deep_calls),
        cmocka_unit_test(runtime),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
