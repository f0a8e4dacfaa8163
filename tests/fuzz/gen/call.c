#include "gen.h"
#include "function.h"

/* The address of this function, or one of its kind, in a register whose name it answers; the prototype stands in front of the call. */
static void write_pointer(Gen *g, const Callee *c, u32 n, char name[40])
{
    Reg pointer = fresh(g, P_TEMP64);
    u32 other = below(g, g->callees);
    bool alike = !g->callee[other].in_registers && g->callee[other].args == c->args && any_defined(g, P_PRED);
    Text list = {0};
    for (u32 i = 0; i < c->args; i++)
        text_printf(&list, ".param .b32 _, ");
    line(g, "prototype: .callprototype (.param .b32 _) _ (%s.param .b64 _);", text_str(&list));
    vec_free(&list);
    line(g, "mov.u64 %s, function%u;", NAME(pointer), n);
    if (alike) {
        Reg second = fresh(g, P_TEMP64);
        line(g, "mov.u64 %s, function%u;", NAME(second), other);
        line(g, "selp.b64 %s, %s, %s, %s;", NAME(pointer), NAME(pointer), NAME(second), NAME(pick_defined(g, P_PRED)));
    }
    snprintf(name, 40, "%s", NAME(pointer));
}

/* A call passes 32-bit values and the input buffer, and gets a 32-bit value. */
void statement_call(Gen *g)
{
    if (!g->callees)
        return;
    u32 n = below(g, g->callees);
    const Callee *c = &g->callee[n];
    Reg result = pick_result(g, P_32);
    bool indirect = !c->in_registers && percent(g, 25), guarded = any_defined(g, P_PRED) && percent(g, 20);
    const char *uniform = g->level == CTA_UNIFORM && !guarded && percent(g, 40) ? ".uni" : "";
    char guard[20] = "", callee[40];
    Text list = {0};
    if (guarded)
        snprintf(guard, sizeof guard, "@%s%s ", percent(g, 40) ? "!" : "", NAME(pick_defined(g, P_PRED)));
    if (!c->in_registers) {
        line(g, "{");
        line(g, ".param .b32 value;");
    }
    for (u32 i = 0; i <= c->args; i++) {
        const char *value = i == c->args ? "%in" : NAME(pick_defined(g, P_32));
        if (c->in_registers) {
            text_printf(&list, "%s%s", i ? ", " : "", value);
            continue;
        }
        line(g, ".param .b%u argument%u;", i == c->args ? 64 : 32, i);
        line(g, "st.param.b%u [argument%u], %s;", i == c->args ? 64 : 32, i, value);
        text_printf(&list, "%sargument%u", i ? ", " : "", i);
    }
    if (c->in_registers) {
        line(g, "%scall%s (%s), function%u, (%s);", guard, uniform, NAME(result), n, text_str(&list));
    } else {
        snprintf(callee, sizeof callee, "function%u", n);
        if (indirect)
            write_pointer(g, c, n, callee);
        line(g, "call%s (value), %s, (%s)%s;", uniform, callee, text_str(&list), indirect ? ", prototype" : "");
        line(g, "ld.param.b32 %s, [value];", NAME(result)); /* which ptxas takes without a guard alone */
        line(g, "}");
    }
    if (!guarded)
        mark_defined(g, result);
    vec_free(&list);
}

static void write_header(Gen *g, const Callee *c, u32 n, Text *module)
{
    text_printf(module, "\n.func (%s .b32 %s) function%u(", c->in_registers ? ".reg" : ".param",
                c->in_registers ? "%result" : "result", n);
    for (u32 i = 0; i < c->args; i++)
        text_printf(module, c->in_registers ? ".reg .b32 %%a%u, " : ".param .b32 a%u, ", i);
    text_printf(module, c->in_registers ? ".reg .b64 %%in)\n" : ".param .b64 in)\n");
    for (u32 i = 0; i < pool_named[P_32] - 2u; i++) {
        Reg r = {P_32, (u16)i};
        u32 a = i % c->args;
        if (i >= c->args)
            line(g, "add.s32 %s, %%r%u, %u;", NAME(r), a, i * 7);
        else
            line(g, c->in_registers ? "mov.b32 %s, %%a%u;" : "ld.param.b32 %s, [a%u];", NAME(r), a);
        mark_defined(g, r);
    }
    if (!c->in_registers)
        line(g, "ld.param.b64 %%in, [in];");
}

static void write_callee(Gen *g, const Callee *c, u32 n, Text *module)
{
    write_header(g, c, n, module);
    for (u32 i = 0; i < 2; i++) {
        line(g, "setp.gt.s32 %%p%u, %%r%u, %u;", i, i, i * 9);
        line(g, "cvt.u16.u32 %%rs%u, %%r%u;", i, i + 1);
        line(g, "mul.wide.s32 %%rd%u, %%r%u, %%r%u;", i, i, i + 2);
        line(g, "cvt.rn.f32.s32 %%f%u, %%r%u;", i, i + 3);
        line(g, "cvt.f64.f32 %%fd%u, %%f%u;", i, i);
    }
    for (Pool p = P_PRED; p <= P_F64; p++)
        if (p != P_32)
            g->state.pool[p].defined = 3;
    statements(g, 2 + below(g, 3));
    Reg result = pick_defined(g, P_32);
    if (c->in_registers)
        line(g, "xor.b32 %%result, %s, %%r0;", NAME(result));
    else
        line(g, "st.param.b32 [result], %s;", NAME(result));
    line(g, "ret;");
    function_end(g, module, c->in_registers ? "" : "\t.reg .b64 %in;\n");
}

void write_callees(Gen *g, Text *module)
{
    u32 n = has(g, GEN_CALL) ? 1 + below(g, 3) : 0;
    for (u32 i = 0; i < n; i++) {
        Callee c = {.in_registers = percent(g, 35), .args = 1 + below(g, 3)};
        g->in_function = true;
        g->result_in_register = c.in_registers;
        function_begin(g);
        g->budget = 5;
        write_callee(g, &c, i, module);
        g->callee[g->callees++] = c;
    }
}
