/* What instructions cost in machine code. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "ptx_text.h"
#include "target/ptxas.h"

/* The samples of the rows, which must not be shadowed by one another, and what has no row. */
static const struct {
    const char *text;
    u32 cost, least, most;
} cases[] = {
#define COST(name, type, width, part, which, machine, least, most, sample) {sample ";", machine, least, most},
#define PAIR(...)
#include "target/ptxas.def"
    {"add.u32 rx, ra, rb;", 1, 1, 1},      {"@pa add.u32 rx, ra, rb;", 1, 1, 1},       {"mov.u32 rx, %tid.x;", 1, 1, 1},
    {"mul.wide.u32 lx, ra, rb;", 1, 1, 1}, {"mul.hi.u32 rx, ra, rb;", 1, 1, 1},        {"clz.b64 rx, la;", 6, 6, 6},
    {"div.u16 hx, ha, 10;", 21, 21, 21},   {"div.rn.ftz.f32 fx, fa, fb;", 13, 13, 13},
};

/* The same of pairs, and of what is none: what does not fuse, or stands in the wrong order. */
static const struct {
    const char *text;
    u32 cost, least, most;
} pairs[] = {
#define COST(...)
#define PAIR(name, type, width, part, which, reader, machine, least, most, sample) {sample ";", machine, least, most},
#include "target/ptxas.def"
    {"shl.b64 lx, la, ra; add.s64 lx, lx, lb;", 4, 4, 4},
    {"add.s64 lx, la, lb; mul.wide.s32 lx, ra, rb;", 3, 3, 3},
    {"xor.b32 rx, ra, rb; add.s32 rx, rx, rc;", 2, 2, 2},
};

static Module *parse_sample(Arena *arena, const char *sample)
{
    char text[600];
    snprintf(text, sizeof text,
             PTX_HEAD ".func (.reg .b32 x) callee(.reg .b32 a, .reg .b32 b);\n"
                      ".entry f() { .reg .b16 hx, ha, hb; .reg .b32 rx, ra, rb, rc, rd; .reg .b64 lx, la, lb, lc;"
                      ".reg .f32 fx, fa, fb; .reg .f64 dx, da, db; .reg .pred px, pa, pc; %s ret; }",
             sample);
    return ptx_module(arena, text);
}

static void costs(void **state)
{
    (void)state;
    for (u32 k = 0; k < COUNT_OF(cases); k++) {
        Arena arena = {0};
        Module *m = parse_sample(&arena, cases[k].text);
        assert_int_equal(ptxas_cost(ptx_function(m, "f")->entry->first), cases[k].cost);
        assert_in_range(cases[k].cost, cases[k].least, cases[k].most);
        module_free(m);
        arena_free(&arena);
    }
}

static void pair_costs(void **state)
{
    (void)state;
    for (u32 k = 0; k < COUNT_OF(pairs); k++) {
        Arena arena = {0};
        Module *m = parse_sample(&arena, pairs[k].text);
        const Block *b = ptx_function(m, "f")->entry;
        assert_int_equal(ptxas_pair_cost(b->first, b->last->prev), pairs[k].cost);
        assert_in_range(pairs[k].cost, pairs[k].least, pairs[k].most);
        module_free(m);
        arena_free(&arena);
    }
}

static void registers_of_a_thread(void **state)
{
    static const struct {
        const char *directives;
        u32 registers;
    } row[] = {{"", 255},
               {".maxnreg 40", 40},
               {".maxnreg 4000000000", 255},
               {".minnctapersm 2", 255}, /* nothing without the size of a block */
               {".maxntid 1024", 64},
               {".maxntid 1024, 1, 1 .minnctapersm 2", 32},
               {".minnctapersm 2 .reqntid 16, 32", 64},
               {".reqntid 100 .minnctapersm 5", 96}, /* 128 threads: 102, in steps of 8 */
               {".maxntid 32 .maxnctapersm 32", 255},
               {".maxntid 256 .minnctapersm 2 .maxnreg 96", 96},
               {".maxntid 256 .minnctapersm 60000", 255}};
    (void)state;
    for (u32 k = 0; k < COUNT_OF(row); k++) {
        Arena arena = {0};
        Module *m = ptx_module(&arena, arena_printf(&arena, PTX_HEAD ".entry f() %s { ret; }", row[k].directives));
        assert_int_equal(ptxas_thread_registers(ptx_function(m, "f")), row[k].registers);
        module_free(m);
        arena_free(&arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(costs), cmocka_unit_test(pair_costs),
                                       cmocka_unit_test(registers_of_a_thread)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
