/* What the test in front of a loop asks, in words of the PTX: "i + 7 + k < len as u32 in its last iteration k". */
#include <string.h>

#include "analysis/ssa.h"
#include "phase/loops/decide.h"

enum { CONDITIONS_MAX = 8 /* conditions that are told */ };

static const char *register_words(Arena *arena, const Function *fn, RegId reg)
{
    const Reg *r = fn_reg(fn, reg);
    return r->number >= 0 ? arena_printf(arena, "%s%d", r->name->text, r->number) : r->name->text;
}

static const char *sum_words(Arena *arena, const LoopSums *s, LinearId id);

/* A factor of a product. */
static const char *factor_words(Arena *arena, const LoopSums *s, LinearId id)
{
    const char *words = sum_words(arena, s, id);
    return strchr(words, ' ') ? arena_printf(arena, "(%s)", words) : words;
}

static const char *term_words(Arena *arena, const LoopSums *s, TermId id)
{
    LinearTerm t = s->exprs->terms.v[id];
    switch (t.kind) {
    case TERM_VALUE: return register_words(arena, s->in.loop->header->fn, t.operand[0]);
    case TERM_SIGNED: return arena_printf(arena, "s64(%s)", sum_words(arena, s, t.operand[0]));
    case TERM_UNSIGNED: return arena_printf(arena, "u64(%s)", sum_words(arena, s, t.operand[0]));
    case TERM_LOW: return arena_printf(arena, "u32(%s)", term_words(arena, s, t.operand[0]));
    default:
        return arena_printf(arena, "%s * %s", factor_words(arena, s, t.operand[0]), factor_words(arena, s, t.operand[1]));
    }
}

/* Appends a number of terms to a sum, with the sign between them. */
static void append(Arena *arena, char **sum, i64 scale, const char *term)
{
    u64 times = scale < 0 ? 0 - (u64)scale : (u64)scale;
    const char *sign = scale < 0 ? "-" : "+", *gap = **sum ? " " : "";
    if (!**sum && scale >= 0)
        sign = "";
    if (!term)
        *sum = arena_printf(arena, "%s%s%s%s%llu", *sum, gap, sign, gap, (unsigned long long)times);
    else if (times == 1)
        *sum = arena_printf(arena, "%s%s%s%s%s", *sum, gap, sign, gap, term);
    else
        *sum = arena_printf(arena, "%s%s%s%s%llu * %s", *sum, gap, sign, gap, (unsigned long long)times, term);
}

/* The register of the source that holds the sum in front of the loop; 0: none does. */
static RegId register_of(const LoopSums *s, LinearId id)
{
    const LinearExpr *e = linear_at(s->exprs, id);
    if (e->terms == 1 && !e->constant && e->term[0].scale == 1 && s->exprs->terms.v[e->term[0].term].kind == TERM_VALUE)
        return s->exprs->terms.v[e->term[0].term].operand[0];
    for (u32 k = 0; k < s->entered.n && e->terms; k++)
        if (*fnvmap_find(&s->entries, s->entered.v[k]) == id)
            return s->entered.v[k];
    return 0;
}

static const char *sum_words(Arena *arena, const LoopSums *s, LinearId id)
{
    const LinearExpr *e = linear_at(s->exprs, id);
    RegId reg = register_of(s, id);
    if (reg)
        return register_words(arena, s->in.loop->header->fn, reg);
    char *sum = arena_printf(arena, "%s", "");
    for (u32 k = 0; k < e->terms; k++)
        append(arena, &sum, sem_signed(e->term[k].scale, e->bits), term_words(arena, s, e->term[k].term));
    if (e->constant || !e->terms)
        append(arena, &sum, sem_signed(e->constant, e->bits), NULL);
    return sum;
}

/* The bound, with the line that gives a register its value. */
static const char *bound_words(PhaseRun *run, const LoopSums *s, LinearId bound)
{
    const char *words = sum_words(run->arena, s, bound);
    RegId reg = register_of(s, bound);
    const Ssa *ssa = s->ssa;
    const Instr *def = reg && s->from ? ssa_definition(ssa, ssa_at_end(ssa, s->from, reg), reg) : NULL;
    u32 line = def ? phase_line(run, def) : 0;
    return line ? arena_printf(run->arena, "%s of line %u", words, line) : words;
}

/* The value of the group in iteration k: the greatest of its values if `last`, or else the least. */
static const char *value_words(Arena *arena, const LoopSums *s, const DecideGroup *g, bool last)
{
    const LoopSum *v = &g->compare.value;
    LinearId start = last ? linear_sum(s->exprs, v->start, linear_constant(s->exprs, v->bits, g->add), 1) : v->start;
    bool constant = loop_sum_is_constant(s, v->step), changes = !loop_sum_is_zero(s, v->step);
    i64 by = constant ? sem_signed(loop_sum_constant(s, v->step), v->bits) : 1;
    bool nothing = changes && loop_sum_is_zero(s, start);
    char *sum = arena_printf(arena, "%s", nothing ? "" : sum_words(arena, s, start));
    if (last && g->times)
        append(arena, &sum, (i64)g->times, factor_words(arena, s, g->factor));
    if (changes)
        append(arena, &sum, by, constant ? "k" : arena_printf(arena, "k * %s", factor_words(arena, s, v->step)));
    if (!v->extended)
        return sum;
    return arena_printf(arena, "%c64(%s)", v->is_signed ? 's' : 'u', sum);
}

static const char *compare_words(Cmp cmp)
{
    switch (cmp) {
    case CMP_EQ: return "==";
    case CMP_NE: return "!=";
    case CMP_LT: return "<";
    case CMP_LE: return "<=";
    case CMP_GT: return ">";
    default: return ">=";
    }
}

static const char *group_words(PhaseRun *run, const LoopSums *s, const DecideGroup *g)
{
    const SumCompare *c = &g->compare;
    Arena *arena = run->arena;
    if (c->predicate)
        return arena_printf(arena, "%s is %s", register_words(arena, s->in.loop->header->fn, c->predicate),
                            c->holds ? "true" : "false");
    bool changes = !loop_sum_is_zero(s, c->value.step), last = changes && cmp_is_below(c->cmp) != g->down;
    const char *when = !changes ? "" : c->cmp == CMP_NE ? " in all iterations k" : last ? " in the last iteration k" : "";
    if (changes && !last && c->cmp != CMP_NE)
        when = " in the first iteration, k = 0";
    return arena_printf(arena, "%s %s %s as %c%u%s", value_words(arena, s, g, last), compare_words(c->cmp),
                        bound_words(run, s, c->bound), c->is_signed ? 's' : 'u', c->width, when);
}

const char *loop_decision_words(PhaseRun *run, const LoopDecision *d)
{
    char *all = arena_printf(run->arena, "%s", "");
    for (u32 k = 0; k < d->group.n && k < CONDITIONS_MAX; k++)
        all = arena_append(run->arena, all, ", ", "%s", group_words(run, d->sums, &d->group.v[k]));
    if (d->group.n > CONDITIONS_MAX)
        all = arena_append(run->arena, all, ", ", "%u more", d->group.n - CONDITIONS_MAX);
    return all;
}
