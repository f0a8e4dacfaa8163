/* What instructions cost in machine code. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "ptx_text.h"
#include "target/ptxas.h"

static const struct {
    const char *text;
    u32 cost;
} cases[] = {
    {"add.u32 %r1, %r2, %r3;", 1},        {"add.s64 %rd1, %rd2, %rd3;", 2},         {"mov.u32 %r1, %tid.x;", 1},
    {"shl.b64 %rd1, %rd2, 3;", 2},        {"shl.b64 %rd1, %rd2, %r1;", 4},          {"div.rn.f32 %f1, %f2, %f3;", 14},
    {"div.full.f32 %f1, %f2, %f3;", 8},   {"div.approx.ftz.f32 %f1, %f2, %f3;", 5}, {"div.rn.f64 %d1, %d2, %d3;", 27},
    {"sqrt.rn.f64 %d1, %d2;", 33},        {"sqrt.approx.f32 %f1, %f2;", 3},         {"rcp.rn.f32 %f1, %f2;", 14},
    {"div.u32 %r1, %r2, %r3;", 18},       {"div.s32 %r1, %r2, %r3;", 25},           {"div.u32 %r1, %r2, 10;", 6},
    {"div.u32 %r1, %r2, 16;", 4},         {"rem.s64 %rd1, %rd2, %rd3;", 25},        {"rem.u64 %rd1, %rd2, 10;", 17},
    {"mul.hi.u64 %rd1, %rd2, %rd3;", 17}, {"mul.wide.u32 %rd1, %r2, %r3;", 1},      {"bfe.u32 %r1, %r2, %r3, %r4;", 6},
    {"@%p1 add.u32 %r1, %r2, %r3;", 1},
};

static void costs(void **state)
{
    (void)state;
    for (u32 k = 0; k < COUNT_OF(cases); k++) {
        Arena arena = {0};
        char text[500];
        snprintf(text, sizeof text,
                 PTX_HEAD ".entry f() { .reg .b32 %%r<9>; .reg .b64 %%rd<9>; .reg .f32 %%f<9>; .reg .f64 %%d<9>;"
                          ".reg .pred %%p<9>; %s ret; }",
                 cases[k].text);
        Module *m = ptx_module(&arena, text);
        assert_int_equal(ptxas_cost(ptx_function(m, "f")->entry->first), cases[k].cost);
        module_free(m);
        arena_free(&arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(costs)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
