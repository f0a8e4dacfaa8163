/* Local variables: accesses of every width by every form of address, and ways in which an address escapes. */
#include "gen.h"

enum { CELLS = 4, BYTES = 32 };

static const char *space_of(bool generic) { return generic ? "" : ".local"; }

/* A register with the generic address of a byte of the variable, computed in one of the ways of compilers. */
static Reg address_of(Gen *g, u32 cell, u32 offset)
{
    Reg a = fresh(g, P_TEMP64), base = a;
    line(g, "mov.u64 %s, cells%u;", NAME(a), cell);
    Reg to = percent(g, 50) ? a : fresh(g, P_TEMP64);
    line(g, "cvta.local.u64 %s, %s;", NAME(to), NAME(a));
    base = a = to;
    if (offset % 16 == 8 && percent(g, 20)) {
        base = fresh(g, P_TEMP64);
        line(g, "or.b64 %s, %s, %u;", NAME(base), NAME(a), offset);
    } else if (offset && percent(g, 70)) {
        base = percent(g, 50) ? a : fresh(g, P_TEMP64);
        if (percent(g, 80))
            line(g, "add.s64 %s, %s, %u;", NAME(base), NAME(a), offset);
        else
            line(g, "sub.s64 %s, %s, -%u;", NAME(base), NAME(a), offset);
    } else if (offset) {
        base = fresh(g, P_TEMP64);
        line(g, "add.u64 %s, %s, %u;", NAME(base), NAME(a), offset + 8);
        line(g, "add.s64 %s, %s, -8;", NAME(base), NAME(base));
    }
    return base;
}

typedef struct Place {
    char text[40];
    bool generic;
} Place;

static Place place_make(Gen *g, u32 cell, u32 offset)
{
    Place p = {.generic = percent(g, 30)};
    if (!p.generic && percent(g, 40)) {
        snprintf(p.text, sizeof p.text, "cells%u+%u", cell, offset);
        return p;
    }
    u32 in_access = percent(g, 50) ? offset & 7 : 0;
    Reg base = fresh(g, P_TEMP64), made = address_of(g, cell, offset - in_access);
    if (p.generic)
        base = made;
    else if (percent(g, 50))
        line(g, "cvta.to.local.u64 %s, %s;", NAME(base), NAME(made));
    else
        line(g, "mov.u64 %s, cells%u+%u;", NAME(base), cell, offset - in_access);
    snprintf(p.text, sizeof p.text, "%s+%u", NAME(base), in_access);
    return p;
}

/* Registers from which that many bytes can be stored, and into which they can be loaded. */
static Pool pool_for(Gen *g, u32 bytes, const char **type)
{
    bool wide = percent(g, 20), is_float = has(g, GEN_FLOAT) && percent(g, 40);
    switch (bytes) {
    case 1: *type = percent(g, 50) ? "u8" : "s8"; return wide ? P_32 : P_16;
    case 2: *type = percent(g, 50) ? "u16" : "s16"; return wide ? P_32 : P_16;
    case 4: *type = is_float ? "f32" : percent(g, 50) ? "u32" : "s32"; return is_float ? P_F32 : wide ? P_64 : P_32;
    default: *type = is_float ? "f64" : "b64"; return is_float ? P_F64 : P_64;
    }
}

static void write_guard(Gen *g, char guard[20])
{
    guard[0] = '\0';
    if (has(g, GEN_GUARD) && any_defined(g, P_PRED) && percent(g, 20))
        snprintf(guard, 20, "@%s%s ", percent(g, 40) ? "!" : "", NAME(pick_defined(g, P_PRED)));
}

/* One load or store of up to four elements. */
static void access_cell(Gen *g, u32 cell)
{
    u32 bytes = 1u << below(g, 4), count = percent(g, 70) ? 1 : 2;
    const char *type, *vector = count == 2 ? ".v2" : "";
    Pool pool = pool_for(g, bytes, &type);
    Place p = place_make(g, cell, below(g, BYTES / (bytes * count)) * bytes * count);
    char guard[20];
    write_guard(g, guard);
    if (!any_defined(g, pool))
        return;
    if (percent(g, 50)) {
        const char *constant = pool == P_F32 ? "0f3F800000" : pool == P_F64 ? "0d3FF0000000000001" : "-77";
        const char *x = percent(g, 15) ? constant : NAME(pick_defined(g, pool));
        if (count == 1)
            line(g, "%sst%s.%s [%s], %s;", guard, space_of(p.generic), type, p.text, x);
        else
            line(g, "%sst%s%s.%s [%s], {%s, %s};", guard, space_of(p.generic), vector, type, p.text,
                 NAME(pick_defined(g, pool)), NAME(pick_defined(g, pool)));
        return;
    }
    Reg to = guard[0] ? pick_defined(g, pool) : pick_result(g, pool), other = fresh(g, pool);
    if (count == 1)
        line(g, "%sld%s.%s %s, [%s];", guard, space_of(p.generic), type, NAME(to), p.text);
    else
        line(g, "%sld%s%s.%s {%s, %s}, [%s];", guard, space_of(p.generic), vector, type, NAME(to),
             percent(g, 30) ? "_" : NAME(other), p.text);
    if (!guard[0])
        mark_defined(g, to);
}

/* By an index below four, of words from some byte on. */
static void access_indexed(Gen *g, u32 cell)
{
    Reg i = fresh(g, P_TEMP32), offset = fresh(g, P_TEMP64), base = address_of(g, cell, 4 * below(g, 5));
    line(g, "cvta.to.local.u64 %s, %s;", NAME(base), NAME(base));
    line(g, "and.b32 %s, %s, 3;", NAME(i), NAME(pick_defined(g, P_32)));
    line(g, "mul.wide.u32 %s, %s, 4;", NAME(offset), NAME(i));
    line(g, "add.s64 %s, %s, %s;", NAME(offset), NAME(base), NAME(offset));
    if (percent(g, 50)) {
        line(g, "st.local.u32 [%s], %s;", NAME(offset), NAME(pick_defined(g, P_32)));
    } else {
        Reg to = pick_result(g, P_32);
        line(g, "ld.local.u32 %s, [%s];", NAME(to), NAME(offset));
        mark_defined(g, to);
    }
}

/* A loop that runs a constant number of times over elements of a cell. */
typedef struct Count {
    u32 bytes, first, trips;
    bool down, walks; /* walks: the address is stepped, too, and not made of the counter */
    Reg i, base, at, sum;
} Count;

static void count_address(Gen *g, const Count *c)
{
    Reg offset = c->at;
    if (percent(g, 70)) {
        line(g, "mul.wide.%s32 %s, %s, %u;", percent(g, 50) ? "u" : "s", NAME(offset), NAME(c->i), c->bytes);
    } else {
        line(g, "cvt.s64.s32 %s, %s;", NAME(offset), NAME(c->i));
        line(g, "mul.lo.s64 %s, %s, %u;", NAME(offset), NAME(offset), c->bytes);
    }
    line(g, "add.s64 %s, %s, %s;", NAME(c->at), NAME(c->base), NAME(offset));
}

/* Stores something, or adds what is loaded to the sum. */
static void count_access(Gen *g, const Count *c)
{
    const char *type;
    Pool pool = pool_for(g, c->bytes, &type);
    if (any_defined(g, pool) && percent(g, 50)) {
        line(g, "st.local.%s [%s], %s;", type, NAME(c->at), NAME(pick_defined(g, pool)));
        return;
    }
    Reg word = fresh(g, P_TEMP32), wide = fresh(g, P_TEMP64);
    if (c->bytes < 8) {
        line(g, "ld.local.%c%u %s, [%s];", percent(g, 50) ? 's' : 'u', 8 * c->bytes, NAME(word), NAME(c->at));
    } else {
        line(g, "ld.local.b64 %s, [%s];", NAME(wide), NAME(c->at));
        line(g, "shr.u64 %s, %s, %u;", NAME(wide), NAME(wide), below(g, 33));
        line(g, "cvt.u32.u64 %s, %s;", NAME(word), NAME(wide));
    }
    line(g, "mad.lo.s32 %s, %s, 3, %s;", NAME(c->sum), NAME(c->sum), NAME(word));
}

static Count count_begin(Gen *g, u32 cell)
{
    Count c = {.bytes = percent(g, 50) ? 8 : 1u << below(g, 4), .down = percent(g, 30), .walks = percent(g, 40)};
    c.trips = 1 + below(g, BYTES / c.bytes);
    c.first = below(g, BYTES / c.bytes - c.trips + 1);
    c.i = fresh(g, P_TEMP32);
    c.sum = fresh(g, P_TEMP32);
    c.base = fresh(g, P_TEMP64);
    c.at = fresh(g, P_TEMP64);
    u32 start = c.down ? c.first + c.trips - 1 : c.first;
    line(g, "mov.u64 %s, cells%u;", NAME(c.base), cell);
    line(g, "mov.u32 %s, %u;", NAME(c.i), start);
    line(g, "mov.u32 %s, 0;", NAME(c.sum));
    if (c.walks)
        line(g, "add.s64 %s, %s, %u;", NAME(c.at), NAME(c.base), start * c.bytes);
    return c;
}

/* The step and the test. */
static void count_end(Gen *g, const Count *c, const Label *loop)
{
    Reg p = fresh(g, P_PRED);
    i32 step = c->down ? -1 : 1, end = c->down ? (i32)c->first - 1 : (i32)(c->first + c->trips);
    if (c->walks)
        line(g, "add.s64 %s, %s, %d;", NAME(c->at), NAME(c->at), step * (i32)c->bytes);
    line(g, "add.s32 %s, %s, %d;", NAME(c->i), NAME(c->i), step);
    line(g, "setp.%s.s32 %s, %s, %d;", percent(g, 60) ? "ne" : c->down ? "gt" : "lt", NAME(p), NAME(c->i), end);
    line(g, "@%s bra %s;", NAME(p), loop->name);
}

/* Threads may begin with the last element, or skip the accesses of an iteration. */
static void access_counted(Gen *g, u32 cell)
{
    Count c = count_begin(g, cell);
    Label loop = label_fresh(g), skip = label_fresh(g);
    bool branches = any_defined(g, P_PRED), skips = branches && percent(g, 30);
    if (branches && percent(g, 8))
        line(g, "@%s mov.u32 %s, %u;", NAME(pick_defined(g, P_PRED)), NAME(c.i), c.down ? c.first : c.first + c.trips - 1);
    label_here(g, &loop);
    if (!c.walks)
        count_address(g, &c);
    if (skips)
        line(g, "@%s bra %s;", NAME(pick_defined(g, P_PRED)), skip.name);
    for (u32 n = 1 + below(g, 2); n > 0; n--)
        count_access(g, &c);
    if (skips)
        label_here(g, &skip);
    count_end(g, &c, &loop);
    Reg to = pick_result(g, P_32);
    line(g, "mov.b32 %s, %s;", NAME(to), NAME(c.sum));
    mark_defined(g, to);
}

/* Two such loops, one around the other. The index is made of both counters, or the inner loop runs as often as the outer one has begun.
 * Threads may skip the inner one. */
static void access_nested(Gen *g, u32 cell)
{
    Count c = {.bytes = percent(g, 50) ? 8 : 4, .i = fresh(g, P_TEMP32), .sum = fresh(g, P_TEMP32)};
    u32 columns = 2, rows = 2 + below(g, BYTES / c.bytes / columns - 1);
    bool is_triangle = percent(g, 30), skips = any_defined(g, P_PRED) && percent(g, 20);
    Label outer = label_fresh(g), inner = label_fresh(g), next = label_fresh(g);
    Reg row = fresh(g, P_TEMP32), column = fresh(g, P_TEMP32), p = fresh(g, P_PRED), to = pick_result(g, P_32);
    c.base = fresh(g, P_TEMP64);
    c.at = fresh(g, P_TEMP64);
    line(g, "mov.u64 %s, cells%u;", NAME(c.base), cell);
    line(g, "mov.u32 %s, 0;", NAME(c.sum));
    line(g, "mov.u32 %s, 0;", NAME(row));
    label_here(g, &outer);
    if (skips)
        line(g, "@%s bra %s;", NAME(pick_defined(g, P_PRED)), next.name);
    line(g, "mov.u32 %s, 0;", NAME(column));
    label_here(g, &inner);
    if (is_triangle)
        line(g, "mov.b32 %s, %s;", NAME(c.i), NAME(column));
    else
        line(g, "mad.lo.s32 %s, %s, %u, %s;", NAME(c.i), NAME(row), columns, NAME(column));
    count_address(g, &c);
    count_access(g, &c);
    line(g, "add.s32 %s, %s, 1;", NAME(column), NAME(column));
    if (is_triangle)
        line(g, "setp.le.s32 %s, %s, %s;", NAME(p), NAME(column), NAME(row));
    else
        line(g, "setp.ne.s32 %s, %s, %u;", NAME(p), NAME(column), columns);
    line(g, "@%s bra %s;", NAME(p), inner.name);
    label_here(g, &next);
    line(g, "add.s32 %s, %s, 1;", NAME(row), NAME(row));
    line(g, "setp.lt.u32 %s, %s, %u;", NAME(p), NAME(row), rows);
    line(g, "@%s bra %s;", NAME(p), outer.name);
    line(g, "mov.b32 %s, %s;", NAME(to), NAME(c.sum));
    mark_defined(g, to);
}

/* A store through an address that is one of two, or that went through memory, a callee, or a comparison. */
static void escape(Gen *g, u32 cell)
{
    u32 other = (cell + 1) % CELLS;
    Reg a = address_of(g, cell, 8 * below(g, 3)), b = address_of(g, other, 8 * below(g, 3)), x = pick_defined(g, P_32),
        p = any_defined(g, P_PRED) ? pick_defined(g, P_PRED) : fresh(g, P_PRED), to;
    if (!any_defined(g, P_PRED))
        line(g, "setp.ne.s32 %s, %s, 0;", NAME(p), NAME(x));
    switch (below(g, 6)) {
    case 0: line(g, "selp.b64 %s, %s, %s, %s;", NAME(a), NAME(a), NAME(b), NAME(p)); break;
    case 1: line(g, "@%s mov.u64 %s, %s;", NAME(p), NAME(a), NAME(b)); break;
    case 2:
        line(g, "st.local.u64 [held+%u], %s;", 8 * below(g, 2), NAME(a));
        line(g, "ld.local.u64 %s, [held];", NAME(a));
        break;
    case 3: {
        Label on = label_fresh(g);
        line(g, "@%s bra %s;", NAME(p), on.name);
        line(g, "mov.u64 %s, %s;", NAME(a), NAME(b));
        label_here(g, &on);
        break;
    }
    case 4:
        line(g, "{");
        line(g, ".param .b64 address;");
        line(g, "st.param.b64 [address], %s;", NAME(a));
        line(g, "call touch, (address);");
        line(g, "}");
        break;
    default:
        to = pick_result(g, P_32);
        line(g, "setp.eq.u64 %s, %s, %s;", NAME(p = fresh(g, P_PRED)), NAME(a), NAME(b));
        line(g, "selp.b32 %s, 7, %s, %s;", NAME(to), NAME(x), NAME(p));
        mark_defined(g, to);
    }
    if (percent(g, 60))
        line(g, "st.u32 [%s], %s;", NAME(a), NAME(x));
}

void statement_local(Gen *g)
{
    u32 cell = below(g, CELLS);
    if (g->in_function || !any_defined(g, P_32))
        return;
    for (u32 n = 1 + below(g, 4); n > 0; n--) {
        u32 which = below(g, 100);
        if (which < 8 && g->local_escapes >> cell & 1)
            escape(g, cell);
        else if (which < 16 && g->local_indexed >> cell & 1)
            access_indexed(g, cell);
        else if (which < 22)
            access_counted(g, cell);
        else if (which < 28)
            access_nested(g, cell);
        else
            access_cell(g, cell);
    }
}

void local_declarations(Gen *g, Text *module)
{
    if (has(g, GEN_LOCAL))
        text_printf(module, "\n.func touch(.param .b64 address)\n{\n\t.reg .b64 %%a;\n\t.reg .b32 %%x;\n"
                            "\tld.param.b64 %%a, [address];\n\tld.u32 %%x, [%%a];\n\tadd.s32 %%x, %%x, 1;\n"
                            "\tst.u32 [%%a], %%x;\n\tret;\n}\n");
}

/* Every byte is written first, in numbers of one width, since what was never written may be anything. */
void local_prologue(Gen *g)
{
    if (!has(g, GEN_LOCAL))
        return;
    g->local_escapes = percent(g, 50) ? below(g, 1u << CELLS) : 0;
    g->local_indexed = percent(g, 50) ? below(g, 1u << CELLS) : 0;
    line(g, ".local .align 16 .b8 cells0[%u], cells1[%u];", BYTES, BYTES);
    line(g, ".local .align 16 .b8 cells2[%u];", BYTES);
    line(g, ".local .align 16 .b8 cells3[%u], held[16];", BYTES);
    line(g, "cvt.u64.u32 %%qd, %%lin;");
    for (u32 cell = 0; cell < CELLS; cell++) {
        u32 bytes = percent(g, 50) ? 8 : 4;
        for (u32 at = 0; at < BYTES; at += bytes)
            line(g, "st.local.u%u [cells%u+%u], %s;", 8 * bytes, cell, at, bytes == 8 ? "%qd" : "%lin");
    }
    Reg a = address_of(g, 0, 0);
    for (u32 at = 0; at < 16 && g->local_escapes; at += 8)
        line(g, "st.local.u64 [held+%u], %s;", at, NAME(a));
}
