/* Loops that divide by what they do not change, and by what they do. */
#include "gen.h"

typedef struct Divided {
    Reg count, bound;
    Reg divisor, wide; /* the divisor in 32 and in 64 bits */
} Divided;

/* A number whose range does not show in the text. */
static Reg any_number(Gen *g)
{
    static const u32 odd[] = {0,     0,       1,          2,          3,          7,          10,        64,
                              65536, 1000003, 0x7fffffff, 0x80000000, 0x80000001, 0xfffffffe, 0xffffffff};
    Reg r = fresh(g, P_TEMP32), x = pick_defined(g, P_32);
    switch (below(g, 5)) {
    case 0: line(g, "mov.u32 %s, %s;", NAME(r), NAME(x)); break;
    case 1: line(g, "and.b32 %s, %s, 15;", NAME(r), NAME(x)); break;
    case 2:
        line(g, "mov.u32 %s, 1;", NAME(r));
        line(g, "shl.b32 %s, %s, %s;", NAME(r), NAME(r), NAME(x));
        break;
    default:
        line(g, "sub.s32 %s, %s, %s;", NAME(r), NAME(x), NAME(x));
        line(g, "add.s32 %s, %s, %d;", NAME(r), NAME(r), (i32)odd[below(g, COUNT_OF(odd))]);
    }
    return r;
}

static Divided divided_make(Gen *g)
{
    Divided d = {fresh(g, P_TEMP32), fresh(g, P_TEMP32), any_number(g), fresh(g, P_TEMP64)};
    line(g, "mov.u32 %s, 0;", NAME(d.count));
    if (percent(g, 40)) {
        line(g, "mov.u32 %s, %u;", NAME(d.bound), 1 + below(g, 6));
    } else {
        line(g, "and.b32 %s, %s, 7;", NAME(d.bound), NAME(pick_defined(g, P_32)));
        line(g, "add.s32 %s, %s, 1;", NAME(d.bound), NAME(d.bound));
    }
    line(g, "cvt.u64.u32 %s, %s;", NAME(d.wide), NAME(d.divisor));
    if (percent(g, 15))
        line(g, "shl.b64 %s, %s, 8;", NAME(d.wide), NAME(d.wide));
    return d;
}

static void write_division(Gen *g, Reg a, Reg d)
{
    static const char *const ops[] = {"div.u32", "rem.u32", "div.s32", "rem.s32"};
    u32 op = below(g, COUNT_OF(ops));
    bool guarded = has(g, GEN_GUARD) && any_defined(g, P_PRED) && percent(g, 10);
    Reg q = guarded ? fresh(g, P_TEMP32) : pick_result(g, P_32), x = a;
    if (guarded) {
        line(g, "mov.u32 %s, 5;", NAME(q));
        line(g, "@%s %s %s, %s, %s;", NAME(pick_defined(g, P_PRED)), ops[op], NAME(q), NAME(a), NAME(d));
        return;
    }
    if (percent(g, 40)) { /* the other one, too */
        x = fresh(g, P_TEMP32);
        line(g, "%s %s, %s, %s;", ops[op ^ (percent(g, 80) ? 1 : 2)], NAME(x), NAME(a), NAME(d));
    }
    line(g, "%s %s, %s, %s;", ops[op], NAME(q), NAME(a), NAME(d));
    mark_defined(g, q);
    if (percent(g, 50))
        line(g, "xor.b32 %s, %s, %s;", NAME(q), NAME(q), NAME(x));
}

/* What compilers make of a division of 64 bits. */
static void write_short_form(Gen *g, const Divided *d, Reg a)
{
    Reg wide = fresh(g, P_TEMP64), both = fresh(g, P_TEMP64), q = fresh(g, P_TEMP64), p = fresh(g, P_PRED);
    Reg x = fresh(g, P_TEMP32), y = fresh(g, P_TEMP32), z = fresh(g, P_TEMP32), result = pick_result(g, P_32);
    const char *op = percent(g, 50) ? "div" : "rem";
    Label is_short = label_fresh(g), after = label_fresh(g);
    if (percent(g, 80))
        line(g, "cvt.u64.u32 %s, %s;", NAME(wide), NAME(a));
    else
        line(g, "mul.wide.u32 %s, %s, %s;", NAME(wide), NAME(a), NAME(a));
    line(g, "or.b64 %s, %s, %s;", NAME(both), NAME(wide), NAME(d->wide));
    line(g, percent(g, 50) ? "and.b64 %s, %s, -4294967296;" : "shr.u64 %s, %s, 32;", NAME(both), NAME(both));
    line(g, "setp.eq.s64 %s, %s, 0;", NAME(p), NAME(both));
    line(g, "@%s bra %s;", NAME(p), is_short.name);
    line(g, "%s.u64 %s, %s, %s;", op, NAME(q), NAME(wide), NAME(d->wide));
    jump(g, &after);
    label_here(g, &is_short);
    line(g, "cvt.u32.u64 %s, %s;", NAME(x), NAME(wide));
    line(g, "cvt.u32.u64 %s, %s;", NAME(y), NAME(d->wide));
    line(g, "%s.u32 %s, %s, %s;", op, NAME(z), NAME(x), NAME(y));
    line(g, "cvt.u64.u32 %s, %s;", NAME(q), NAME(z));
    label_here(g, &after);
    line(g, "cvt.u32.u64 %s, %s;", NAME(result), NAME(q));
    mark_defined(g, result);
}

/* The same that stands on one path only. */
static void write_branch(Gen *g, const Divided *d, Reg a)
{
    Label on = label_fresh(g);
    State start = g->state;
    Cond c = cond_make(g, DIVERGENT);
    branch_if(g, &c, percent(g, 50), &on, DIVERGENT);
    write_division(g, a, d->divisor);
    label_here(g, &on);
    g->state = start;
}

static void write_body(Gen *g, const Divided *d)
{
    Reg a = percent(g, 30) ? d->count : any_number(g);
    for (u32 n = 1 + below(g, 3); n > 0; n--) {
        if (percent(g, 20))
            write_short_form(g, d, a);
        else if (percent(g, 15))
            write_branch(g, d, a);
        else
            write_division(g, a, d->divisor);
        if (percent(g, 50))
            a = pick_defined(g, P_32);
    }
    if (percent(g, 30))
        straight_line(g, 1 + below(g, 3));
    if (percent(g, 15))
        line(g, "add.s32 %s, %s, 1;", NAME(d->divisor), NAME(d->divisor));
}

void statement_divided_loop(Gen *g)
{
    Divided d = divided_make(g);
    Label top = label_fresh(g);
    Reg p = fresh(g, P_PRED);
    Level level = g->level;
    g->level = DIVERGENT;
    label_here(g, &top);
    write_body(g, &d);
    line(g, "add.s32 %s, %s, 1;", NAME(d.count), NAME(d.count));
    line(g, "setp.lt.u32 %s, %s, %s;", NAME(p), NAME(d.count), NAME(d.bound));
    line(g, "@%s bra %s;", NAME(p), top.name);
    g->level = level;
}
