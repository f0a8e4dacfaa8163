/* Values as functions of the thread: chosen ones, and random code that is run for every thread of a block. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analysis/analyses.h"
#include "analysis/thread_value.h"
#include "ptx_text.h"

static u32 random_state = 1;
static u32 below(u32 bound)
{
    random_state = random_state * 1664525u + 1013904223u;
    return (u32)(((u64)random_state * bound) >> 32);
}

/* ---- random code, evaluated as it is written --------------------------------------------------------------------- */

enum { REGS = 6, THREADS = 64, STEPS = 24, ADDRESS = 0x12340 };
enum { PARAM = 0xfffffff0 };

typedef struct Code {
    char text[STEPS * 80 + 1000], *t;
    u32 shape[3], threads;
    u64 r[REGS][THREADS], d[REGS][THREADS]; /* 32-bit and 64-bit registers by thread */
    u64 was[STEPS][THREADS];                /* what each step wrote */
    bool wide[STEPS];
    u32 steps;
} Code;

static u32 component(const Code *c, u32 thread, u32 dim)
{
    return dim == 0   ? thread % c->shape[0]
           : dim == 1 ? thread / c->shape[0] % c->shape[1]
                      : thread / c->shape[0] / c->shape[1];
}

static u32 small(void) { return below(4) ? 1u << below(9) : below(2000); }

/* One of the forms of a step: the text with its registers, and its value in one thread. */
typedef struct Step {
    u32 form, to, a, b, k;
} Step;

static u64 evaluate(const Code *c, const Step *s, u32 thread)
{
    u64 a = c->r[s->a][thread], b = c->r[s->b][thread], da = c->d[s->a][thread], db = c->d[s->b][thread];
    switch (s->form) {
    case 0: return component(c, thread, s->k % 3);
    case 1: return s->k % 2 ? c->shape[s->k % 3] : PARAM;
    case 2: return ADDRESS;
    case 3: return s->k;
    case 4: return (u32)(a + b);
    case 5: return (u32)(a + s->k);
    case 6: return (u32)(a - b);
    case 7: return (u32)(a * s->k);
    case 8: return (u32)(a << s->k % 12);
    case 9: return (u32)(a * s->k + b);
    case 10: return a & s->k;
    case 11: return a >> s->k % 32;
    case 12: return (u32)(a ^ b);
    case 13: return (u32)(a * b);
    case 14: return (u32)(da);
    case 15: return a;
    case 16: return (u64)(i64)(i32)a;
    case 17: return a * s->k;
    case 18: return (u64)((i64)(i32)a * (i32)s->k);
    case 19: return a * s->k + db;
    case 20: return da + db;
    case 21: return da - db;
    case 22: return da << s->k % 12;
    default: return da * s->k;
    }
}

static const char *write_step(char *t, const Step *s)
{
    static const char *const sreg[] = {"%tid.x", "%tid.y", "%tid.z"}, *const size[] = {"%ntid.x", "%ntid.y", "%ntid.z"};
    u32 d = s->to, a = s->a, b = s->b, k = s->k;
    switch (s->form) {
    case 0: sprintf(t, "mov.u32 %%r%u, %s;\n", d, sreg[k % 3]); break;
    case 1: k % 2 ? sprintf(t, "mov.u32 %%r%u, %s;\n", d, size[k % 3]) : sprintf(t, "ld.param.u32 %%r%u, [n];\n", d); break;
    case 2: sprintf(t, "mov.u32 %%r%u, s;\n", d); break;
    case 3: sprintf(t, "mov.u32 %%r%u, %u;\n", d, k); break;
    case 4: sprintf(t, "add.s32 %%r%u, %%r%u, %%r%u;\n", d, a, b); break;
    case 5: sprintf(t, "add.u32 %%r%u, %u, %%r%u;\n", d, k, a); break;
    case 6: sprintf(t, "sub.u32 %%r%u, %%r%u, %%r%u;\n", d, a, b); break;
    case 7: sprintf(t, "mul.lo.s32 %%r%u, %%r%u, %u;\n", d, a, k); break;
    case 8: sprintf(t, "shl.b32 %%r%u, %%r%u, %u;\n", d, a, k % 12); break;
    case 9: sprintf(t, "mad.lo.u32 %%r%u, %%r%u, %u, %%r%u;\n", d, a, k, b); break;
    case 10: sprintf(t, "and.b32 %%r%u, %%r%u, %u;\n", d, a, k); break;
    case 11: sprintf(t, "shr.u32 %%r%u, %%r%u, %u;\n", d, a, k % 32); break;
    case 12: sprintf(t, "xor.b32 %%r%u, %%r%u, %%r%u;\n", d, a, b); break;
    case 13: sprintf(t, "mul.lo.u32 %%r%u, %%r%u, %%r%u;\n", d, a, b); break;
    case 14: sprintf(t, "cvt.u32.u64 %%r%u, %%d%u;\n", d, a); break;
    case 15: sprintf(t, "cvt.u64.u32 %%d%u, %%r%u;\n", d, a); break;
    case 16: sprintf(t, "cvt.s64.s32 %%d%u, %%r%u;\n", d, a); break;
    case 17: sprintf(t, "mul.wide.u32 %%d%u, %%r%u, %u;\n", d, a, k); break;
    case 18: sprintf(t, "mul.wide.s32 %%d%u, %u, %%r%u;\n", d, k, a); break;
    case 19: sprintf(t, "mad.wide.u32 %%d%u, %%r%u, %u, %%d%u;\n", d, a, k, b); break;
    case 20: sprintf(t, "add.s64 %%d%u, %%d%u, %%d%u;\n", d, a, b); break;
    case 21: sprintf(t, "sub.s64 %%d%u, %%d%u, %%d%u;\n", d, a, b); break;
    case 22: sprintf(t, "shl.b64 %%d%u, %%d%u, %u;\n", d, a, k % 12); break;
    default: sprintf(t, "mul.lo.u64 %%d%u, %%d%u, %u;\n", d, a, k); break;
    }
    return t;
}

static void add_step(Code *c, u32 form)
{
    Step s = {form, below(REGS), below(REGS), below(REGS), form == 0 || form == 1 ? below(6) : small()};
    if (form == 0 && below(2))
        s.k = 0;
    bool wide = form > 14;
    c->t += strlen(write_step(c->t, &s));
    c->wide[c->steps] = wide;
    for (u32 thread = 0; thread < c->threads; thread++)
        c->was[c->steps][thread] = evaluate(c, &s, thread);
    memcpy(wide ? c->d[s.to] : c->r[s.to], c->was[c->steps], sizeof c->was[0]);
    c->steps++;
}

static void write_code(Code *c)
{
    static const u32 shapes[][3] = {{64, 1, 1}, {8, 8, 1}, {4, 4, 4}, {1, 16, 2}, {32, 1, 2}};
    memset(c, 0, sizeof *c);
    memcpy(c->shape, shapes[below(COUNT_OF(shapes))], sizeof c->shape);
    c->threads = c->shape[0] * c->shape[1] * c->shape[2];
    static const char *const bound[] = {".reqntid %u, %u, %u", ".maxntid %u, %u, %u", ""};
    c->t = c->text + sprintf(c->text, PTX_HEAD ".shared .b8 s[64];\n.entry f(.param .u32 n)\n");
    c->t += sprintf(c->t, bound[below(COUNT_OF(bound))], c->shape[0], c->shape[1], c->shape[2]);
    c->t += sprintf(c->t, "\n{\n.reg .b32 %%r<%u>; .reg .b64 %%d<%u>;\n", REGS, REGS);
    for (u32 k = 0; k < 4; k++)
        add_step(c, k);
    while (c->steps < STEPS)
        add_step(c, below(24));
    sprintf(c->t, "ret;\n}\n");
}

/* ---- what is claimed of a value, held against what it is in every thread -------------------------------------------- */

typedef struct Claims {
    u32 spread, ranged, uniform, same;
} Claims;

static u64 mask(bool wide) { return wide ? UINT64_MAX : UINT32_MAX; }

static void check_range(const Code *c, u32 step, const ThreadValue *v)
{
    for (u32 k = 0; k < c->threads; k++) {
        u64 above = (c->was[step][k] - (v->symbol ? ADDRESS : 0) - (u64)v->lo) & mask(c->wide[step]);
        assert_true(above <= (u64)v->hi - (u64)v->lo);
    }
}

static bool differ_in(const Code *c, u32 a, u32 b, u8 dims)
{
    for (u32 dim = 0; dim < 3; dim++)
        if (dims >> dim & 1 && component(c, a, dim) != component(c, b, dim))
            return true;
    return false;
}

static void check_threads(const Code *c, u32 step, const ThreadValue *v)
{
    for (u32 a = 0; a < c->threads; a++)
        for (u32 b = 0; b < a; b++) {
            u64 up = (c->was[step][a] - c->was[step][b]) & mask(c->wide[step]);
            u64 down = (c->was[step][b] - c->was[step][a]) & mask(c->wide[step]), apart = up < down ? up : down;
            if (!differ_in(c, a, b, v->dims))
                assert_int_equal(apart, 0);
            else if (v->spread)
                assert_true(apart >= v->spread && apart <= v->extent);
        }
}

static void check_same(const Code *c, const ThreadValue *v, u32 step)
{
    for (u32 other = 0; other < step; other++)
        if (v[other].function == v[step].function && c->wide[other] == c->wide[step])
            for (u32 k = 0; k < c->threads; k++)
                assert_int_equal((c->was[other][k] - (u64)v[other].offset) & mask(c->wide[step]),
                                 (c->was[step][k] - (u64)v[step].offset) & mask(c->wide[step]));
}

static void check_step(const Code *c, const ThreadValue *v, u32 step, Claims *claims)
{
    if (v[step].ranged)
        check_range(c, step, &v[step]);
    claims->ranged += v[step].ranged;
    if (!v[step].function)
        return;
    check_threads(c, step, &v[step]);
    check_same(c, v, step);
    claims->spread += v[step].spread > 0;
    claims->uniform += v[step].dims == 0;
    for (u32 other = 0; other < step; other++)
        claims->same += v[other].function == v[step].function && c->wide[other] == c->wide[step] && v[step].dims;
}

static void check_code(const Code *c, Claims *claims)
{
    Arena arena = {0};
    Module *m = ptx_module(&arena, c->text);
    Function *fn = ptx_function(m, "f");
    Analyses an;
    analyses_init(&an, fn);
    an_compute(&an, AN_DOM);
    BitSet asked = bitset_new(&arena, fn->regs.n);
    bitset_fill(&asked);
    ThreadValues *values = thread_values_new(&arena, fn, an_order(&an), an_ssa(&an), &asked, false);
    ThreadValue v[STEPS];
    u32 step = 0;
    for_each_instr(i, fn->entry) {
        if (step < STEPS) {
            v[step] = thread_value(values, fn->entry, i->next, i->opnd);
            check_step(c, v, step, claims);
        }
        step++;
    }
    thread_values_free(values);
    analyses_free(&an);
    module_free(m);
    arena_free(&arena);
}

static void test_random(void **state)
{
    (void)state;
    static Code code;
    Claims claims = {0};
    for (u32 k = 0; k < 4000; k++) {
        write_code(&code);
        check_code(&code, &claims);
    }
    /* The claims are worth something. */
    assert_true(claims.spread > 8000 && claims.ranged > 40000 && claims.uniform > 30000 && claims.same > 2500);
}

/* ---- chosen values ------------------------------------------------------------------------------------------------ */

/* Of register %r9 at the end of f's last block, "dims spread extent lo..hi", '-' for what is not known. */
static void check(const char *shape, const char *text, const char *expected)
{
    Arena arena = {0};
    char whole[1000], got[100];
    sprintf(whole,
            PTX_HEAD ".shared .b8 s[64];\n.entry f(.param .u32 n) %s {\n.reg .b32 %%r<10>; .reg .b64 %%d<10>; .reg .pred "
                     "p;\n%s\nret;\n}\n",
            shape, text);
    Module *m = ptx_module(&arena, whole);
    Function *fn = ptx_function(m, "f");
    Analyses an;
    analyses_init(&an, fn);
    an_compute(&an, AN_DOM);
    Operand reg = {.kind = OPND_REG, .id = ptx_reg(fn, "%r9")};
    BitSet asked = bitset_new(&arena, fn->regs.n);
    bitset_add(&asked, reg.id);
    ThreadValues *values = thread_values_new(&arena, fn, an_order(&an), an_ssa(&an), &asked, false);
    ThreadValue v = thread_value(values, an_order(&an)->rpo[an_order(&an)->count - 1], NULL, &reg);
    int n = v.function ? sprintf(got, "%u %llu %llu", v.dims, (unsigned long long)v.spread, (unsigned long long)v.extent)
                       : sprintf(got, "-");
    v.ranged ? sprintf(got + n, " %lld..%lld", (long long)v.lo, (long long)v.hi) : sprintf(got + n, " -");
    if (strcmp(got, expected))
        fail_msg("%s\nexpected %s\ngot      %s", text, expected, got);
    thread_values_free(values);
    analyses_free(&an);
    module_free(m);
    arena_free(&arena);
}

static void test_chosen(void **state)
{
    (void)state;
    check("", "mov.u32 %r9, %tid.x;", "1 1 1023 0..1023");
    check(".reqntid 64", "mov.u32 %r9, %tid.x;", "1 1 63 0..63");
    check(".reqntid 64", "mov.u32 %r9, %tid.y;", "0 0 0 0..0");
    check(".maxntid 64, 2, 1", "mov.u32 %r9, %tid.y;", "2 1 127 0..127");
    check(".reqntid 8, 8", "mov.u32 %r1, %tid.x; mov.u32 %r2, %tid.y; mad.lo.u32 %r9, %r2, 8, %r1;", "3 1 63 0..63");
    check(".reqntid 8, 8", "mov.u32 %r1, %tid.x; mov.u32 %r2, %tid.y; mad.lo.u32 %r9, %r2, 7, %r1;", "3 0 56 0..56");
    check(".reqntid 8, 8", "mov.u32 %r1, %tid.x; mov.u32 %r2, %tid.y; mov.u32 %r3, %ntid.x; mad.lo.u32 %r9, %r2, %r3, %r1;",
          "3 1 63 0..63");
    check("", "mov.u32 %r1, %tid.x; mov.u32 %r2, s; mad.lo.u32 %r9, %r1, 4, %r2;", "1 4 4092 0..4092");
    check("", "mov.u32 %r1, %tid.x; mul.lo.u32 %r9, %r1, 0x400000;", "1 4194304 4290772992 0..4290772992");
    check("", "mov.u32 %r1, %tid.x; mul.lo.u32 %r9, %r1, 0x400001;", "1 0 4290774015 0..4290774015");
    check("", "mov.u32 %r1, %tid.x; xor.b32 %r9, %r1, 1;", "1 0 0 -");
    check("", "mov.u32 %r1, %clock; and.b32 %r9, %r1, 7;", "- 0..7");
    check("", "ld.shared.u32 %r1, [s]; rem.u32 %r9, %r1, 7;", "- 0..6");
    check("", "mov.u32 %r1, %tid.x; @p mov.u32 %r1, 5; add.u32 %r9, %r1, 1;", "- -");
    check("", "mov.u32 %r9, 0; L: add.u32 %r9, %r9, 1; @p bra L;", "- -");
    check("", "mov.u32 %r1, 3; add.u32 %r1, %r1, 1; @p bra L; mov.u32 %r2, 1; L: add.u32 %r9, %r1, 1;", "0 0 0 5..5");
    check("", "@p bra L; mov.u32 %r1, 1; L: add.u32 %r9, %r1, 1;", "- -");
    check("", "mov.u32 %r1, %tid.x; add.sat.s32 %r9, %r1, 1;", "1 0 0 -");
    check("", "mov.u32 %r1, %tid.x; mul.hi.u32 %r9, %r1, 4;", "1 0 0 -");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_chosen),
        cmocka_unit_test(test_random),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
