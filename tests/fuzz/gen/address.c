#include "gen.h"

/* Addresses of elements of %in (1088 of 4 bytes) that are equal, or that only look as if they were. */

/* An index below `limit`, a power of two. */
static Reg index_below(Gen *g, u32 limit)
{
    Reg i = fresh(g, P_TEMP32);
    line(g, "and.b32 %s, %s, %u;", NAME(i), NAME(pick_defined(g, P_32)), limit - 1);
    return i;
}

static const char *pick_sign(Gen *g) { return percent(g, 50) ? "s" : "u"; }

/* base + 4 * i, in one of the ways in which compilers write it. */
static Reg element(Gen *g, const char *base, Reg i, const char *sign)
{
    Reg offset = fresh(g, P_TEMP64), address = fresh(g, P_TEMP64);
    switch (below(g, 4)) {
    case 0: line(g, "mad.wide.%s32 %s, %s, 4, %s;", sign, NAME(address), NAME(i), base); return address;
    case 1: line(g, "mul.wide.%s32 %s, %s, 4;", sign, NAME(offset), NAME(i)); break;
    default: {
        Reg wide = fresh(g, P_TEMP64);
        line(g, "cvt.%s64.%s32 %s, %s;", sign, sign, NAME(wide), NAME(i));
        line(g, percent(g, 50) ? "shl.b64 %s, %s, 2;" : "mul.lo.s64 %s, %s, 4;", NAME(offset), NAME(wide));
    }
    }
    if (percent(g, 50))
        line(g, "add.s64 %s, %s, %s;", NAME(address), base, NAME(offset));
    else
        line(g, "add.s64 %s, %s, %s;", NAME(address), NAME(offset), base);
    return address;
}

static void load(Gen *g, Reg address, u32 offset)
{
    Reg a = pick_result(g, P_32);
    line(g, "ld.global.u32 %s, [%s+%u];", NAME(a), NAME(address), offset);
    mark_defined(g, a);
}

/* i + 1, next to i: added before the extension or after it, or put in as a bit that is free. */
static void neighbours(Gen *g)
{
    const char *sign = pick_sign(g);
    Reg i = index_below(g, 512), base = fresh(g, P_TEMP32), next = fresh(g, P_TEMP32);
    bool free_bit = percent(g, 50);
    line(g, "shl.b32 %s, %s, %u;", NAME(base), NAME(i), free_bit ? 1u : 0u);
    load(g, element(g, "%in", base, sign), 0);
    if (percent(g, 50))
        straight_line(g, 2);
    if (free_bit)
        line(g, percent(g, 70) ? "or.b32 %s, %s, 1;" : "lop3.b32 %s, %s, 1, 0, 0xfc;", NAME(next), NAME(base));
    else
        line(g, percent(g, 50) ? "add.s32 %s, %s, 1;" : "or.b32 %s, %s, 1;", NAME(next), NAME(base));
    load(g, element(g, "%in", next, sign), 4 * below(g, 3));
}

/* The extension of a sum and the sum of extensions, where the sum may wrap: high bits of both decide what is loaded. */
static void wrapping(Gen *g)
{
    const char *sign = pick_sign(g);
    Reg i = pick_defined(g, P_32), edge = fresh(g, P_TEMP32), sum = fresh(g, P_TEMP32);
    Reg wide = fresh(g, P_TEMP64), first = fresh(g, P_TEMP64), second = fresh(g, P_TEMP64);
    i32 step = (i32)between(g, -3, 40);
    line(g, "xor.b32 %s, %s, %s;", NAME(edge), NAME(i), percent(g, 50) ? "0x7ffffff0" : "0xfffffff0");
    line(g, "add.s32 %s, %s, %d;", NAME(sum), NAME(edge), (int)step);
    line(g, "mul.wide.%s32 %s, %s, 4;", sign, NAME(first), NAME(sum));
    line(g, "cvt.%s64.%s32 %s, %s;", sign, sign, NAME(wide), NAME(edge));
    line(g, "shl.b64 %s, %s, 2;", NAME(second), NAME(wide));
    line(g, "add.s64 %s, %s, %d;", NAME(second), NAME(second), 4 * (int)step);
    for (u32 k = 0; k < 2; k++) {
        Reg high = fresh(g, P_TEMP64), address = fresh(g, P_TEMP64), by = k ? second : first;
        line(g, "shr.u64 %s, %s, 28;", NAME(high), NAME(by));
        line(g, "and.b64 %s, %s, 252;", NAME(high), NAME(high));
        line(g, "add.s64 %s, %%in, %s;", NAME(address), NAME(high));
        load(g, address, 0);
    }
}

/* The register gets another address on one path, where that is the last that is read of it. */
static void reuse_on_one_path(Gen *g, Reg address)
{
    Level level = pick_level(g);
    Cond c = cond_make(g, level);
    Reg loaded = fresh(g, P_TEMP32);
    Label skip = label_fresh(g);
    branch_if(g, &c, true, &skip, level);
    line(g, "mov.u64 %s, %s;", NAME(address), NAME(element(g, "%in", index_below(g, 512), "u")));
    line(g, "ld.global.u32 %s, [%s];", NAME(loaded), NAME(address));
    label_here(g, &skip);
    label_done(g, &skip);
}

/* The same index again, but it, or the register of the first address, may have been written in between. */
static void rewritten(Gen *g)
{
    const char *sign = pick_sign(g);
    Reg i = index_below(g, 512), kept = element(g, "%in", i, sign);
    char guard[24] = "";
    load(g, kept, 0);
    if (percent(g, 40)) {
        reuse_on_one_path(g, kept);
        load(g, element(g, "%in", i, sign), 4);
        return;
    }
    if (percent(g, 60) && any_defined(g, P_PRED))
        snprintf(guard, sizeof guard, "@%s ", NAME(pick_defined(g, P_PRED)));
    if (percent(g, 50))
        line(g, "%sadd.s32 %s, %s, %u;", guard, NAME(i), NAME(i), 1 + below(g, 9));
    else
        line(g, "%sadd.s64 %s, %s, %u;", guard, NAME(kept), NAME(kept), 4 + 4 * below(g, 9));
    load(g, element(g, "%in", i, sign), 4 * below(g, 3));
    if (percent(g, 50))
        load(g, kept, 4);
}

/* One address in both arms of a branch, or in one. */
static void arms(Gen *g)
{
    const char *sign = pick_sign(g);
    Level level = pick_level(g);
    Cond c = cond_make(g, level);
    Reg i = index_below(g, 512), loaded = fresh(g, P_TEMP32), result = pick_result(g, P_32);
    Label other = label_fresh(g), join = label_fresh(g);
    bool both = percent(g, 80), same = percent(g, 80);
    line(g, "mov.u32 %s, 0;", NAME(loaded));
    branch_if(g, &c, false, &other, level);
    line(g, "ld.global.u32 %s, [%s+4];", NAME(loaded), NAME(element(g, "%in", i, sign)));
    jump(g, &join);
    label_here(g, &other);
    if (!same)
        line(g, "add.s32 %s, %s, 3;", NAME(i), NAME(i));
    if (both)
        line(g, "ld.global.u32 %s, [%s+%u];", NAME(loaded), NAME(element(g, "%in", i, sign)), 4 * below(g, 3));
    label_here(g, &join);
    label_done(g, &other);
    label_done(g, &join);
    line(g, "add.s32 %s, %s, %u;", NAME(result), NAME(loaded), below(g, 9));
    mark_defined(g, result);
    if (percent(g, 50))
        load(g, element(g, "%in", i, sign), 8);
}

/* A short loop with two pointers, or two indices, whose steps are equal, or not. */
static void walk(Gen *g)
{
    bool indices = percent(g, 50), guarded = any_defined(g, P_PRED) && percent(g, 30);
    u32 step = percent(g, 70) ? 1 : 2, apart = below(g, 9), rounds = 2 + below(g, 9);
    Reg i = indices ? fresh(g, P_TEMP32) : fresh(g, P_TEMP64), j = indices ? fresh(g, P_TEMP32) : fresh(g, P_TEMP64);
    Reg n = fresh(g, P_TEMP32), sum = fresh(g, P_TEMP32), value = fresh(g, P_TEMP32), result = pick_result(g, P_32);
    Reg go_on = fresh(g, P_PRED);
    const char *type = indices ? "s32" : "s64", *sign = pick_sign(g);
    Label loop = label_fresh(g);
    char guard[24] = "";
    if (guarded)
        snprintf(guard, sizeof guard, "@%s ", NAME(pick_defined(g, P_PRED)));
    line(g, "mov.u32 %s, 0;", NAME(n));
    line(g, "mov.u32 %s, %u;", NAME(sum), below(g, 9));
    if (indices)
        line(g, "mov.u32 %s, %u;", NAME(i), below(g, 100));
    else
        line(g, "add.s64 %s, %%in, %u;", NAME(i), 4 * below(g, 100));
    line(g, "add.%s %s, %s, %u;", type, NAME(j), NAME(i), indices ? apart : 4 * apart);
    label_here(g, &loop);
    for (u32 k = 0; k < 2; k++) {
        Reg at = k ? j : i;
        line(g, "ld.global.u32 %s, [%s];", NAME(value), NAME(indices ? element(g, "%in", at, sign) : at));
        line(g, "mad.lo.s32 %s, %s, 5, %s;", NAME(sum), NAME(sum), NAME(value));
    }
    line(g, "add.%s %s, %s, %u;", type, NAME(i), NAME(i), indices ? 1 : 4);
    line(g, "%sadd.%s %s, %s, %u;", guard, type, NAME(j), NAME(j), indices ? step : 4 * step);
    line(g, "add.s32 %s, %s, 1;", NAME(n), NAME(n));
    line(g, "setp.ne.s32 %s, %s, %u;", NAME(go_on), NAME(n), rounds);
    line(g, "@%s bra %s;", NAME(go_on), loop.name);
    label_done(g, &loop);
    line(g, "mov.u32 %s, %s;", NAME(result), NAME(sum));
    mark_defined(g, result);
}

/* Through generic addresses and back. */
static void generic(Gen *g)
{
    const char *sign = pick_sign(g);
    Reg i = index_below(g, 512), global = fresh(g, P_TEMP64), again = fresh(g, P_TEMP64), back = fresh(g, P_TEMP64);
    line(g, "cvta.to.global.u64 %s, %%in;", NAME(global));
    Reg first = element(g, NAME(global), i, sign);
    load(g, first, 0);
    if (percent(g, 50))
        line(g, "cvta.global.u64 %s, %s;", NAME(back), NAME(first));
    else
        line(g, "mov.u64 %s, %s;", NAME(back), NAME(element(g, "%in", i, sign)));
    Reg a = pick_result(g, P_32);
    line(g, "ld.u32 %s, [%s+4];", NAME(a), NAME(back));
    mark_defined(g, a);
    line(g, "cvta.to.global.u64 %s, %s;", NAME(again), NAME(back));
    load(g, again, 4 * below(g, 3));
}

/* The same element's address in several ways. */
void address_group(Gen *g)
{
    static Statement *const kind[] = {neighbours, neighbours, wrapping, rewritten, arms, arms, walk, generic};
    kind[below(g, COUNT_OF(kind))](g);
}
