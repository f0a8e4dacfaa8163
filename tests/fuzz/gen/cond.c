#include "gen.h"

static const char *const compare_signed[] = {"eq", "ne", "lt", "le", "gt", "ge"};
static const char *const opposite[][2] = {{"eq", "ne"},  {"lt", "ge"},  {"le", "gt"},  {"equ", "ne"},
                                          {"neu", "eq"}, {"ltu", "ge"}, {"leu", "gt"}, {"gtu", "le"},
                                          {"geu", "lt"}, {"lo", "hs"},  {"ls", "hi"}};

const char *cmp_opposite(const char *cmp)
{
    for (u32 i = 0; i < COUNT_OF(opposite); i++)
        for (u32 k = 0; k < 2; k++)
            if (strcmp(cmp, opposite[i][k]) == 0)
                return opposite[i][!k];
    return cmp;
}

Level pick_level(Gen *g)
{
    Level level = g->level;
    while (level > DIVERGENT && percent(g, level == CTA_UNIFORM ? 55 : 70))
        level--;
    return level;
}

/* `x cmp constant` on 32 signed bits: the kind that implies others. */
static Cond compare_known(Gen *g, Pool values, Pool preds)
{
    Cond c = {.known = true, .cmp = compare_signed[below(g, COUNT_OF(compare_signed))]};
    c.subject = pick_defined(g, values);
    c.bound = percent(g, 70) ? between(g, -4, 20) : between(g, -70000, 70000);
    c.pred = preds == P_PRED && percent(g, 60) ? pick_result(g, preds) : fresh(g, preds);
    line(g, "setp.%s.s32 %s, %s, %d;", c.cmp, NAME(c.pred), NAME(c.subject), (int)c.bound);
    mark_defined(g, c.pred);
    return c;
}

static Cond compare_any(Gen *g)
{
    static const char *const of_float[] = {"eq",  "ne",  "lt",  "le",  "gt",  "ge",  "equ",
                                           "neu", "ltu", "leu", "gtu", "geu", "num", "nan"};
    static const char *const of_unsigned[] = {"lo", "ls", "hi", "hs"};
    Cond c = {.pred = percent(g, 50) ? pick_result(g, P_PRED) : fresh(g, P_PRED)};
    RegName pred = reg_name(c.pred);
    const char *p = pred.text, *cmp = compare_signed[below(g, COUNT_OF(compare_signed))];
    switch (below(g, 9)) {
    case 0: line(g, "setp.%s.u32 %s, %s, %s;", cmp, p, NAME(pick_defined(g, P_32)), NAME(pick_defined(g, P_32))); break;
    case 1: line(g, "setp.%s.s16 %s, %s, %u;", cmp, p, NAME(pick_defined(g, P_16)), below(g, 300)); break;
    case 2: line(g, "setp.%s.s64 %s, %s, %s;", cmp, p, NAME(pick_defined(g, P_64)), NAME(pick_defined(g, P_64))); break;
    case 3:
        line(g, "setp.%s.u32 %s, %s, %u;", of_unsigned[below(g, 4)], p, NAME(pick_defined(g, P_32)), below(g, 500));
        break;
    case 4: {
        Reg bit = fresh(g, P_TEMP32);
        line(g, "and.b32 %s, %s, %u;", NAME(bit), NAME(pick_defined(g, P_32)), 1u << below(g, 10) | 1u << below(g, 4));
        line(g, "setp.%s.b32 %s, %s, 0;", percent(g, 50) ? "eq" : "ne", p, NAME(bit));
        break;
    }
    case 5: {
        Reg q = pick_defined(g, P_PRED);
        line(g, "setp.%s.%s.s32 %s, %s, %s, %s%s;", cmp, percent(g, 50) ? "and" : "or", p, NAME(pick_defined(g, P_32)),
             NAME(pick_defined(g, P_32)), percent(g, 30) ? "!" : "", NAME(q));
        break;
    }
    case 6:
        c.pred = pick_defined(g, P_PRED);
        c.negated = percent(g, 50);
        break;
    case 7: {
        Reg other = pick_result(g, P_PRED);
        if (other.number == c.pred.number)
            other = fresh(g, P_PRED);
        if (has(g, GEN_FLOAT) && percent(g, 30))
            line(g, "setp.%s.f32 %s|%s, %s, %s;", of_float[below(g, 14)], p, NAME(other), NAME(pick_defined(g, P_F32)),
                 NAME(pick_defined(g, P_F32)));
        else if (percent(g, 40))
            line(g, "setp.%s.%s.s32 %s|%s, %s, %s, %s%s;", cmp, percent(g, 50) ? "and" : "or", p, NAME(other),
                 NAME(pick_defined(g, P_32)), NAME(pick_defined(g, P_32)), percent(g, 30) ? "!" : "",
                 NAME(pick_defined(g, P_PRED)));
        else
            line(g, "setp.%s.s32 %s|%s, %s, %s;", cmp, p, NAME(other), NAME(pick_defined(g, P_32)),
                 NAME(pick_defined(g, P_32)));
        mark_defined(g, other);
        if (percent(g, 30)) {
            mark_defined(g, c.pred);
            c.pred = other;
        }
        break;
    }
    default:
        if (!has(g, GEN_FLOAT))
            line(g, "setp.%s.s32 %s, %s, %s;", cmp, p, NAME(pick_defined(g, P_32)), NAME(pick_defined(g, P_32)));
        else if (percent(g, 70))
            line(g, "setp.%s.f32 %s, %s, %s;", of_float[below(g, 14)], p, NAME(pick_defined(g, P_F32)),
                 percent(g, 50) ? "0f3F000000" : NAME(pick_defined(g, P_F32)));
        else
            line(g, "setp.%s.f64 %s, %s, %s;", of_float[below(g, 14)], p, NAME(pick_defined(g, P_F64)),
                 NAME(pick_defined(g, P_F64)));
    }
    mark_defined(g, c.pred);
    return c;
}

Cond cond_make(Gen *g, Level level)
{
    if (level == CTA_UNIFORM)
        return compare_known(g, P_CTA32, P_CTAPRED);
    if (level == WARP_UNIFORM)
        return compare_known(g, percent(g, 80) ? P_WARP32 : P_CTA32, P_WARPPRED);
    Cond c = percent(g, 45) ? compare_known(g, P_32, P_PRED) : compare_any(g);
    if (percent(g, 6)) {
        Reg inverse = fresh(g, P_PRED);
        line(g, "not.pred %s, %s;", NAME(inverse), NAME(c.pred));
        c = (Cond){.pred = inverse, .negated = !c.negated};
    } else if (percent(g, 15)) {
        c.negated = !c.negated;
    }
    return c;
}

Cond cond_related(Gen *g, const Cond *c)
{
    Cond r = *c;
    switch (below(g, c->known ? 5 : 2)) {
    case 0: return r;
    case 1: r.negated = !r.negated; return r;
    case 2: /* the complement in a register of its own */ r.cmp = cmp_opposite(c->cmp); break;
    case 3: /* one that the first decides on one of its edges */ r.bound += between(g, -3, 3); break;
    default: r.cmp = compare_signed[below(g, COUNT_OF(compare_signed))]; r.bound += between(g, -5, 5);
    }
    r.pred = fresh(g, c->pred.pool);
    r.negated = false;
    line(g, "setp.%s.s32 %s, %s, %d;", r.cmp, NAME(r.pred), NAME(r.subject), (int)r.bound);
    return r;
}

void branch_if(Gen *g, const Cond *c, bool sense, const Label *to, Level level)
{
    Label label = via(g, to);
    line(g, "@%s%s bra%s %s;", c->negated == sense ? "!" : "", NAME(c->pred),
         level > DIVERGENT && percent(g, 30) ? ".uni" : "", label.name);
}
