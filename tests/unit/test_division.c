/* What invariant-division writes, executed by the interpreter's arithmetic, against the host's division: all small divisors, all around
 * powers of two, some of every size; of each the dividends around its multiples, and around powers of two. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/random.h"
#include "check/exec/alu.h"
#include "ir/inspect.h"
#include "ptx_text.h"
#include "use/api/ptxopt.h"

enum { STEPS_MAX = 32, REGS_MAX = 64 };

/* One instruction. */
typedef struct Step {
    AluOp alu;
    u32 to, from[3], sources; /* registers; REGS_MAX: the number */
    u64 number[3];
} Step;

/* In front of the loop, and in it. */
typedef struct Code {
    Step step[2][STEPS_MAX];
    u32 steps[2], a, d, x;
    u64 reg[REGS_MAX];
} Code;

static void add_step(Code *c, u32 in_loop, const Instr *i)
{
    Op op;
    assert_true(c->steps[in_loop] < STEPS_MAX);
    Step *s = &c->step[in_loop][c->steps[in_loop]++];
    assert_true(op_split(&op, i->op->text->text));
    assert_int_equal(alu_pick(&op, &s->alu), ALU_PICKED);
    assert_int_equal(i->guard, 0);
    s->to = operand_plain_register(instr_operand(i, 0));
    s->sources = instr_operands(i) - 1;
    assert_true(s->to && s->to < REGS_MAX && s->sources <= 3);
    for (u32 k = 0; k < s->sources; k++) {
        const Operand *o = instr_operand(i, k + 1);
        bool number = o->kind == OPND_IMM;
        assert_true(number || operand_plain_register(o));
        s->from[k] = number ? REGS_MAX : o->id;
        s->number[k] = number ? (u64)o->value & mask_bits(elem_total_bits(s->alu.arg[k])) : 0;
        assert_true(number || o->id < REGS_MAX);
    }
}

static Code code_of(Module *m)
{
    const Function *fn = ptx_function(m, "kernel");
    Code c = {.a = ptx_reg(fn, "a"), .d = ptx_reg(fn, "d"), .x = ptx_reg(fn, "x")};
    const Block *loop = ptx_block(fn, "LOOP");
    for (u32 in_loop = 0; in_loop < 2; in_loop++)
        for_each_instr(i, in_loop ? loop : loop->prev)
            if (i->op->mem == MEM_NONE && !op_has(i->op, OPF_TERMINATOR))
                add_step(&c, in_loop, i);
    return c;
}

static void execute(Code *c, u32 in_loop)
{
    for (u32 k = 0; k < c->steps[in_loop]; k++) {
        const Step *s = &c->step[in_loop][k];
        u64 v[ALU_ARGS] = {0};
        for (u32 n = 0; n < s->sources; n++)
            v[n] = s->from[n] == REGS_MAX ? s->number[n] : c->reg[s->from[n]];
        c->reg[s->to] = s->alu.fn(&s->alu.mode, v) & mask_bits(elem_total_bits(s->alu.result));
    }
}

/* ---- what is right ------------------------------------------------------------------------------------------------- */

typedef u32 Right(u32 a, u32 d);
static u32 div_u32(u32 a, u32 d) { return d ? a / d : UINT32_MAX; }
static u32 rem_u32(u32 a, u32 d) { return d ? a % d : UINT32_MAX; }
static u32 div_s32(u32 a, u32 d) { return d ? (u32)((i64)(i32)a / (i32)d) : UINT32_MAX; }
static u32 rem_s32(u32 a, u32 d) { return d ? (u32)((i64)(i32)a % (i32)d) : UINT32_MAX; }

static void check(Code *c, Right *right, u32 a, u32 d)
{
    c->reg[c->a] = a;
    execute(c, 1);
    if (c->reg[c->x] != right(a, d))
        fail_msg("0x%x by 0x%x: 0x%x, not 0x%x", a, d, (u32)c->reg[c->x], right(a, d));
}

static void check_around(Code *c, Right *right, u32 a, u32 d)
{
    for (u32 k = 0; k < 5; k++)
        check(c, right, a + k - 2, d);
}

static void check_divisor(Code *c, Right *right, u32 d, u64 *random)
{
    c->reg[c->d] = d;
    execute(c, 0);
    for (u32 bit = 0; bit < 32; bit += 3)
        check_around(c, right, 1u << bit, d);
    check_around(c, right, 0, d);
    check_around(c, right, 1u << 31, d);
    u32 most = d ? UINT32_MAX / d : 0;
    for (u32 k = 0; k < 4; k++)
        check_around(c, right, (most - k) * d, d);
    for (u32 k = 0; k < 4; k++) {
        *random = random_mix(*random + k);
        check_around(c, right, (u32)(*random % ((u64)most + 1)) * d, d);
        check(c, right, (u32)(*random >> 32), d);
    }
}

static void check_divisors(Code *c, Right *right)
{
    u64 random = 1;
    for (u32 d = 0; d < 1 << 14; d++) {
        check_divisor(c, right, d, &random);
        check_divisor(c, right, 0 - d, &random);
    }
    for (u32 bit = 14; bit < 32; bit++)
        for (u32 k = 0; k < 64; k++)
            check_divisor(c, right, (1u << bit) + k - 32, &random);
    for (u32 bit = 14; bit < 32; bit++)
        for (u32 k = 0; k < 200; k++) {
            random = random_mix(random + k);
            check_divisor(c, right, 1u << bit | (u32)(random & ((1u << bit) - 1)), &random);
        }
}

static void check_operation(const char *op, Right *right)
{
    static const char *const options[] = {"--passes=invariant-division"};
    char text[700];
    int bytes = snprintf(
        text, sizeof text,
        PTX_HEAD ".entry kernel(.param .u64 p, .param .u32 n) {\n.reg .pred %%q;\n.reg .b32 a, d, x;\n.reg .b64 w;\n"
                 "ld.param.u64 w, [p];\nld.param.u32 d, [n];\nLOOP: ld.global.u32 a, [w];\n%s x, a, d;\n"
                 "st.global.u32 [w], x;\nsetp.ne.u32 %%q, a, 5;\n@%%q bra LOOP;\nret;\n}\n",
        op);
    ptxopt_request request = {
        .size = sizeof request, .text = text, .bytes = (size_t)bytes, .options = options, .option_count = 1};
    ptxopt_result *result;
    assert_int_equal(ptxopt_optimize(&request, &result), PTXOPT_OK);
    assert_true(ptxopt_changed(result));
    Arena arena = {0};
    Module *m = ptx_module(&arena, ptxopt_text(result, NULL));
    Code c = code_of(m);
    check_divisors(&c, right);
    module_free(m);
    arena_free(&arena);
    ptxopt_free(result);
}

static void quotients(void **state)
{
    (void)state;
    check_operation("div.u32", div_u32);
    check_operation("div.s32", div_s32);
}

static void remainders(void **state)
{
    (void)state;
    check_operation("rem.u32", rem_u32);
    check_operation("rem.s32", rem_s32);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(quotients), cmocka_unit_test(remainders)};
    return cmocka_run_group_tests_name("division", tests, NULL, NULL);
}
