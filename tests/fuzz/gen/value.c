#include "gen.h"

/* Sources that are no pools. */
enum { SHIFT = POOLS, SMALL, NIBBLE };
enum OpFlag { COMMUTES = 1, IMM = 2, LOAD = 4, OWN = 8, STORE = 16, COUNT = 32, LOCAL = 64, HALVES = 128 };

struct OpRow {
    const char *text;
    u8 result, source[3], flags;
};

static const OpRow op_row[] = {
#define OP(text, result, a, b, c, flags) {text, result, {a, b, c}, flags},
#include "ops.def"
#undef OP
};

enum { INTERMEDIATE = 1000 }; /* number of the first intermediate register in a template */

/* ---- choosing --------------------------------------------------------------------------------------------------- */

static bool is_float(u32 pool) { return pool == P_F32 || pool == P_F64; }

static bool row_fits(const Gen *g, const OpRow *row)
{
    if (row->flags & (OWN | STORE | LOCAL) && (g->in_function || !has(g, GEN_MEMORY)))
        return false;
    if (row->flags & COUNT && (g->in_function || !has(g, GEN_ATOMIC)))
        return false;
    if (row->flags & LOAD && (!has(g, GEN_MEMORY) || (g->in_function && row->result == P_F32)))
        return false;
    if (!has(g, GEN_FLOAT) && is_float(row->result))
        return false;
    for (u32 i = 0; i < 3; i++)
        if (row->source[i] != P_NONE && row->source[i] < POOLS && !any_defined(g, row->source[i]))
            return false;
    return true;
}

static const OpRow *pick_row(Gen *g)
{
    for (;;) {
        const OpRow *row = &op_row[below(g, COUNT_OF(op_row))];
        if (row_fits(g, row))
            return row;
    }
}

static Value constant(Gen *g, u32 pool)
{
    static const char *const floats[] = {"0f3F800000", "0fBF000000", "0f40490FDB",
                                         "0f7F800000", "0f00000000", "0f7FC00000"};
    static const char *const odd[] = {"2147483647", "-2147483648", "-1", "0", "255", "65535"};
    Value v = {.is_text = true};
    if (pool == P_F32)
        snprintf(v.text, sizeof v.text, "%s", floats[below(g, COUNT_OF(floats))]);
    else if (pool != P_16 && percent(g, 20))
        snprintf(v.text, sizeof v.text, "%s", odd[below(g, COUNT_OF(odd))]);
    else
        snprintf(v.text, sizeof v.text, "%d", (int)between(g, pool == P_16 ? 0 : -20, 100));
    return v;
}

static Value pick_source(Gen *g, const OpRow *row, u32 n, const Reg *intermediate, u32 intermediates)
{
    u32 pool = row->source[n];
    Value v = {.is_text = true};
    bool last = n == 2 || row->source[n + 1] == P_NONE || row->source[n + 1] >= POOLS || (n == 1 && row->flags & COMMUTES);
    switch (pool) {
    case SHIFT: snprintf(v.text, sizeof v.text, "%u", below(g, 32)); return v;
    case SMALL: snprintf(v.text, sizeof v.text, "%u", 1 + below(g, 20)); return v;
    case NIBBLE: snprintf(v.text, sizeof v.text, "%u", below(g, 16)); return v;
    default: break;
    }
    if (row->flags & IMM && last && percent(g, 40))
        return constant(g, pool);
    for (u32 i = intermediates; i-- > 0;)
        if (intermediate[i].pool == pool && percent(g, 60))
            return (Value){.reg = intermediate[i]};
    return (Value){.reg = pick_defined(g, pool)};
}

Template template_make(Gen *g, u32 n)
{
    State kept = g->state;
    Template t = {.n = n < TEMPLATE_MAX ? n : TEMPLATE_MAX};
    Reg intermediate[TEMPLATE_MAX];
    u32 intermediates = 0;
    for (u32 i = 0; i < t.n; i++) {
        Inst *inst = &t.inst[i];
        inst->row = pick_row(g);
        inst->guard = -1;
        inst->slot = 16 + below(g, 16);
        for (u32 s = 0; s < 3 && inst->row->source[s] != P_NONE; s++)
            inst->source[s] = pick_source(g, inst->row, s, intermediate, intermediates);
        Pool pool = inst->row->result;
        bool named = i + 1 == t.n || percent(g, 50);
        if (has(g, GEN_GUARD) && named && any_defined(g, P_PRED) && percent(g, 15)) {
            inst->guard = pick_defined(g, P_PRED).number;
            inst->guard_not = percent(g, 40);
        }
        if (pool == P_NONE)
            continue;
        if (named)
            inst->result.reg = pick_result(g, pool);
        else
            inst->result.reg = intermediate[intermediates++] = (Reg){pool, (u16)(INTERMEDIATE + i)};
        if (inst->guard < 0 && named)
            mark_defined(g, inst->result.reg);
    }
    g->state = kept;
    return t;
}

/* ---- writing ---------------------------------------------------------------------------------------------------- */

typedef struct Operand3 {
    char text[3][24];
} Operand3;

static void put_operand(char *to, const Value *v, const Reg *map)
{
    if (v->is_text)
        snprintf(to, 24, "%s", v->text);
    else
        snprintf(to, 24, "%s", NAME(v->reg.number >= INTERMEDIATE ? map[v->reg.number - INTERMEDIATE] : v->reg));
}

/* Answers an address register for element `index & mask` of what lies at `base`. */
static Reg element_address(Gen *g, const char *base, const char *index, u32 mask, u32 bytes)
{
    Reg i = fresh(g, P_TEMP32), offset = fresh(g, P_TEMP64), address = fresh(g, P_TEMP64);
    line(g, "and.b32 %s, %s, %u;", NAME(i), index, mask);
    if (percent(g, 60)) {
        line(g, "mul.wide.u32 %s, %s, %u;", NAME(offset), NAME(i), bytes);
    } else {
        Reg wide = fresh(g, P_TEMP64);
        line(g, "cvt.%c64.%c32 %s, %s;", "us"[mask & 1], "us"[mask & 1], NAME(wide), NAME(i));
        line(g, "shl.b64 %s, %s, %d;", NAME(offset), NAME(wide), __builtin_ctz(bytes));
    }
    line(g, "add.s64 %s, %s, %s;", NAME(address), base, NAME(offset));
    return address;
}

static void write_load(Gen *g, const char *guard, const char *what, const char *result, const char *index)
{
    if (strcmp(what, "const") == 0) {
        Reg base = fresh(g, P_TEMP64);
        line(g, "mov.u64 %s, table;", NAME(base));
        Reg address = element_address(g, NAME(base), index, 15, 4);
        line(g, "%sld.const.u32 %s, [%s];", guard, result, NAME(address));
        return;
    }
    if (strcmp(what, "pair") == 0) {
        Reg address = element_address(g, "%in", index, 511, 8);
        bool second = percent(g, 50);
        RegName other = reg_name(fresh(g, P_TEMP32));
        line(g, "%sld.global.v2.u32 {%s, %s}, [%s];", guard, second ? other.text : result, second ? result : other.text,
             NAME(address));
        return;
    }
    bool is_float_load = strcmp(what, "loadf") == 0;
    u32 bytes = strcmp(what, "load16") == 0 ? 2 : strcmp(what, "load64") == 0 ? 8 : 4;
    const char *type = is_float_load ? "f32" : bytes == 2 ? "u16" : bytes == 8 ? "u64" : "u32";
    u32 mask = is_float_load ? 255 : 1024 * 4 / bytes - 1;
    Reg address = element_address(g, is_float_load ? "%fin" : "%in", index, mask, bytes);
    u32 offset = is_float_load ? 0 : below(g, 4) * 8;
    if (offset)
        line(g, "%sld.global.%s %s, [%s+%u];", guard, type, result, NAME(address), offset);
    else
        line(g, "%sld.global%s.%s %s, [%s];", guard, percent(g, 20) ? ".nc" : "", type, result, NAME(address));
}

/* `stack` holds four values of the thread. */
static void write_local(Gen *g, const char *guard, const Inst *inst, const char *result, const Operand3 *o)
{
    bool load = inst->row->result != P_NONE, any = strstr(inst->row->text, "any") != NULL;
    char address[32];
    snprintf(address, sizeof address, "stack+%u", inst->slot % 4 * 4);
    if (any) {
        Reg base = fresh(g, P_TEMP64);
        line(g, "mov.u64 %s, stack;", NAME(base));
        snprintf(address, sizeof address, "%s", NAME(element_address(g, NAME(base), o->text[load ? 0 : 1], 3, 4)));
    }
    if (load)
        line(g, "%sld.local.u32 %s, [%s];", guard, result, address);
    else
        line(g, "%sst.local.u32 [%s], %s;", guard, address, o->text[0]);
}

static void write_halves(Gen *g, const char *guard, const Inst *inst, const char *result, const Operand3 *o)
{
    RegName other = reg_name(fresh(g, P_TEMP32));
    if (inst->row->result == P_64)
        line(g, "%smov.b64 %s, {%s, %s};", guard, result, o->text[0], o->text[1]);
    else if (strcmp(inst->row->text, "low") == 0)
        line(g, "%smov.b64 {%s, %s}, %s;", guard, result, other.text, o->text[0]);
    else
        line(g, "%smov.b64 {%s, %s}, %s;", guard, other.text, result, o->text[0]);
}

static void write_memory(Gen *g, const char *guard, const Inst *inst, const char *result, const Operand3 *o)
{
    const char *what = inst->row->text;
    const char *strong = strstr(what, "volatile") ? ".volatile" : "";
    if (inst->row->flags & LOCAL) {
        write_local(g, guard, inst, result, o);
    } else if (inst->row->flags & LOAD) {
        write_load(g, guard, what, result, o->text[0]);
    } else if (inst->row->flags & OWN) {
        line(g, "%sld%s.global.u32 %s, [%%out+%u];", guard, strong, result, inst->slot * 4);
    } else if (strcmp(what, "exchange") == 0) {
        line(g, "%satom.global.exch.b32 %s, [%%out+%u], %s;", guard, result, inst->slot * 4, o->text[0]);
    } else if (inst->row->flags & STORE) {
        const char *type = strcmp(what, "store16") == 0 ? "u16" : strcmp(what, "storef") == 0 ? "f32" : "u32";
        line(g, "%sst%s.global.%s [%%out+%u], %s;", guard, strong, type, inst->slot * 4, o->text[0]);
    } else {
        Reg address = element_address(g, "%cnt", o->text[0], 15, 4);
        if (inst->slot & 1)
            line(g, "%satom.global.add.u32 %s, [%s], %s;", guard, NAME(fresh(g, P_TEMP32)), NAME(address), o->text[1]);
        else
            line(g, "%sred.global.add.u32 [%s], %s;", guard, NAME(address), o->text[1]);
    }
}

static void write_inst(Gen *g, const Inst *inst, const Reg *map)
{
    Operand3 o;
    char guard[16] = "", result[24] = "";
    u32 n = 0;
    for (; n < 3 && inst->row->source[n] != P_NONE; n++)
        put_operand(o.text[n], &inst->source[n], map);
    if (inst->row->result != P_NONE)
        put_operand(result, &inst->result, map);
    if (inst->guard >= 0)
        snprintf(guard, sizeof guard, "@%s%%p%d ", inst->guard_not ? "!" : "", inst->guard);
    if (inst->row->flags & HALVES) {
        write_halves(g, guard, inst, result, &o);
        return;
    }
    if (inst->row->flags & (LOAD | OWN | STORE | COUNT | LOCAL)) {
        write_memory(g, guard, inst, result, &o);
        return;
    }
    bool swapped = inst->row->flags & COMMUTES && !inst->source[1].is_text && percent(g, 25);
    const char *first = o.text[swapped ? 1 : 0], *second = o.text[swapped ? 0 : 1];
    if (n == 1)
        line(g, "%s%s %s, %s;", guard, inst->row->text, result, first);
    else if (n == 2)
        line(g, "%s%s %s, %s, %s;", guard, inst->row->text, result, first, second);
    else
        line(g, "%s%s %s, %s, %s, %s;", guard, inst->row->text, result, first, second, o.text[2]);
}

void template_write(Gen *g, const Template *t)
{
    Reg map[TEMPLATE_MAX];
    for (u32 i = 0; i < t->n; i++) {
        const Inst *inst = &t->inst[i];
        if (inst->row->result != P_NONE && inst->result.reg.number >= INTERMEDIATE)
            map[i] = fresh(g, inst->row->result);
        write_inst(g, inst, map);
        if (inst->row->result != P_NONE && inst->guard < 0 && inst->result.reg.number < INTERMEDIATE)
            mark_defined(g, inst->result.reg);
    }
}

void straight_line(Gen *g, u32 n)
{
    Template t = template_make(g, n);
    template_write(g, &t);
}

/* ---- groups that belong together -------------------------------------------------------------------------------- */

/* 96-bit addition or subtraction; the middle may be apart from its ends by other instructions. */
void carry_chain(Gen *g)
{
    Frozen before = frozen_now(g);
    const char *op = percent(g, 70) ? "add" : "sub";
    for (u32 i = 0, n = 2 + below(g, 2); i < n; i++) {
        Reg d = pick_result(g, P_32);
        Reg a = pick_defined(g, P_32), b = pick_defined(g, P_32);
        line(g, "%s%s%s.u32 %s, %s, %s;", op, i ? "c" : "", i + 1 < n ? ".cc" : "", NAME(d), NAME(a), NAME(b));
        mark_defined(g, d);
        freeze(g, d);
        if (percent(g, 25)) {
            Reg x = pick_result(g, P_32);
            line(g, "xor.b32 %s, %s, 77;", NAME(x), NAME(pick_defined(g, P_32)));
            mark_defined(g, x);
        }
    }
    unfreeze(g, &before);
}

/* Uniform registers from uniform ones; CTA-uniform ones only where control is. */
void uniform_update(Gen *g)
{
    static const char *const op[] = {"add.s32", "xor.b32", "mul.lo.s32", "min.u32", "sub.s32"};
    if (g->level == DIVERGENT || !any_defined(g, P_CTA32))
        return;
    bool cta = g->level == CTA_UNIFORM && percent(g, 60);
    Pool pool = cta ? P_CTA32 : P_WARP32;
    if (!any_defined(g, pool))
        return;
    Reg d = pick_result(g, pool);
    Reg a = pick_defined(g, pool), b = pick_defined(g, percent(g, 50) ? P_CTA32 : pool);
    if (percent(g, 50))
        line(g, "%s %s, %s, %s;", op[below(g, COUNT_OF(op))], NAME(d), NAME(a), NAME(b));
    else
        line(g, "%s %s, %s, %u;", op[below(g, COUNT_OF(op))], NAME(d), NAME(a), 1 + below(g, 40));
    mark_defined(g, d);
}
