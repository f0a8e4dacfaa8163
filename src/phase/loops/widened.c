/* 32-bit values that differ by constants are each extended, and multiplied:
 *
 *     mul.wide.u32 d, i, 4;                           mul.wide.u32 d, i, 4;
 *     add.s32 j, i, 1;                      to        add.s32 j, i, 1;
 *     mul.wide.u32 e, j, 4;                           add.s64 e, d, 4;
 *
 * ptxas cannot do that, since j may wrap. It makes an address of each, in two registers, where one with offsets in the
 * accesses would do. That matters in a loop that ptxas unrolls and that only reads: loads of several iterations go in front,
 * with all their addresses. A store keeps the loads after it where they are. So these stay (tests/ptxas/LOOPS.md):
 *   - loops that write, and those with so many loads that ptxas does not unroll them;
 *   - conversions, which mostly make numbers, not addresses;
 *   - values as far apart as an iteration goes, or farther, as in a stencil: ptxas then keeps loaded values, and waits more often.
 *
 * Sound: the test in front of the copy passed for a group of comparisons. So no number from the least value of the group to
 * the greatest one wraps, in any iteration that makes one of these comparisons (phase/loops/decide.h). The iteration has made
 * one if its block dominates the second extension. Both values are among these numbers. So their extensions, with the sign of
 * the comparison, differ by as much as they do. A single write of d dominates the second extension: it is of the same iteration. */
#include "phase/loops/widened.h"

#include "analysis/affine.h"
#include "analysis/dom.h"
#include "ir/inspect.h"
#include "target/ptxas.h"

enum { SCALE_MOST = 1 << 12 /* the largest factor: offsets of accesses have 24 bits */ };

/* An extension of a value that is a number of a group, times a constant. */
typedef struct Extension {
    const Instr *at;
    const DecideGroup *group;
    i64 more; /* how far the value is from the least one of the group */
    i64 scale;
    bool is_signed;
} Extension;

typedef VEC(Extension) VecExtension;

/* Reads `mul.wide` by a constant. *source becomes its operand of 32 bits. */
static bool read_widening(const Instr *i, Extension *w, const Operand **source)
{
    const Sem *sem = &i->op->sem;
    if (i->kind != INSTR_OP || i->guard || sem->from != 32 || sem->bits != 64 || sem->op != OPC_MUL || i->op->opcode != OPC_MUL)
        return false;
    const Operand *by = instr_operand(i, 2);
    *source = instr_operand(i, 1);
    *w = (Extension){.at = i, .scale = by->value, .is_signed = sem->is_signed};
    return by->kind == OPND_IMM && by->value > 0 && by->value <= SCALE_MOST;
}

/* Whether the value is one of the numbers of which the group's test shows that they do not wrap. The counter's own bound, and
 * comparisons for equality, show nothing of the kind: the first have no other values in their group. */
static bool is_within(const LoopDecision *d, const DecideGroup *g, const LoopSum *v, Extension *w)
{
    const SumCompare *c = &g->compare;
    bool is_signed = c->value.extended ? c->value.is_signed : c->is_signed;
    return g->add && !c->predicate && c->cmp != CMP_NE && c->cmp != CMP_EQ && c->value.bits == 32 &&
           is_signed == w->is_signed && c->value.step == v->step &&
           linear_difference(d->sums->exprs, c->value.start, v->start, &w->more) && w->more >= 0 && (u64)w->more <= g->add;
}

/* Finds a group of the value. made: one of which the iteration has made a comparison before. */
static bool find_group(Analyses *an, const WidenedCopy *c, const LoopSum *v, Extension *w, bool made)
{
    for (u32 k = 0; k < c->decided.n; k++) {
        const DecidedAt *at = &c->decided.v[k];
        if ((!made || strictly_dominates(an_dom(an), at->block, w->at->block)) && is_within(c->decision, at->group, v, w)) {
            w->group = at->group;
            return true;
        }
    }
    return false;
}

/* The first extension of the same group that dominates this one. */
static const Extension *find_first(Analyses *an, const VecExtension *all, const Extension *w)
{
    for (u32 k = 0; k < all->n; k++) {
        const Extension *first = &all->v[k];
        if (first->group == w->group && first->scale == w->scale && first->is_signed == w->is_signed &&
            instr_dominates(an_dom(an), first->at, w->at))
            return first;
    }
    return NULL;
}

/* Whether values so far apart are of one iteration only. */
static bool is_of_one_iteration(const LoopSums *s, const LoopSum *v, i64 apart)
{
    i64 step = sem_signed(loop_sum_constant(s, v->step), v->bits);
    return !loop_sum_is_constant(s, v->step) || (step < 0 ? -step : step) > (apart < 0 ? -apart : apart);
}

static void share(Analyses *an, const WidenedCopy *c, VecExtension *all, const Instr *i, Instr *made)
{
    Extension w;
    const Operand *source;
    LoopSum v;
    RegId to = operand_plain_register(instr_operand(i, 0));
    LoopSums *s = c->decision->sums;
    if (!read_widening(i, &w, &source) || !to || loop_only_write(s->in.loop, to) != i || !loop_sum_of(s, i, source, 32, &v) ||
        v.extended)
        return;
    const Extension *first = find_group(an, c, &v, &w, true) ? find_first(an, all, &w) : NULL;
    if (first && first->more != w.more && is_of_one_iteration(s, &v, w.more - first->more)) {
        Operand by = build_integer((u64)((w.more - first->more) * w.scale), 64, true);
        Operand slots[] = {register_operand(to), *instr_operand(first->at, 0), by};
        Builder at = build_before(made);
        build(&at, OPC_ADD, (OpParts){.type = {TYPE_S64}}, slots, 3);
        instr_remove(made);
    } else if (!first && find_group(an, c, &v, &w, false)) {
        vec_push(all, w);
    }
}

/* Whether ptxas may put loads of several iterations of the copy together: it reads memory at most, and not too often. */
static bool loads_together(const WidenedCopy *c)
{
    u32 loads = 0;
    for (u32 b = 0; b < c->blocks; b++)
        for_each_instr(i, c->of[b]) {
            if (i->kind == INSTR_OP && i->op->mem != MEM_NONE && i->op->mem != MEM_READ)
                return false;
            loads += i->kind == INSTR_OP && i->op->mem == MEM_READ;
        }
    return loads < PTXAS_UNROLLED_ACCESSES;
}

void loop_share_widened(Analyses *an, const WidenedCopy *c)
{
    VecExtension all = {0};
    bool together = loads_together(c);
    for (u32 b = 0; b < c->blocks && together; b++) {
        Instr *made = c->copy[b]->first, *next;
        for (const Instr *i = c->of[b]->first; i && made; i = i->next, made = next) {
            next = made->next;
            if (i->kind == INSTR_OP)
                share(an, c, &all, i, made);
        }
    }
    vec_free(&all);
}
