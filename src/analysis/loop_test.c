#include "analysis/loop_test.h"

#include "analysis/ranges.h"
#include "ir/inspect.h"

/* Finds what reg, of `bits`, holds at `at` as a sum of registers and constants, as they are where the loop is entered. */
static bool read_value(LoopSums *s, const Instr *at, RegId reg, u32 bits, Affine *value)
{
    LoopSum sum;
    bool found = loop_sum_of_register(s, at, reg, bits, &sum) && !sum.extended && loop_sum_is_constant(s, sum.step);
    if (found) {
        const LinearExpr *e = linear_at(s->exprs, sum.start);
        *value = (Affine){.bits = bits, .start = e->constant, .step = loop_sum_constant(s, sum.step)};
        for (u32 k = 0; k < e->terms && found; k++) {
            const LinearTerm *t = &s->exprs->terms.v[e->term[k].term];
            t = t->kind == TERM_LOW ? &s->exprs->terms.v[t->operand[0]] : t;
            value->term[value->terms++] = (AffineTerm){t->operand[0], e->term[k].scale};
            found = t->kind == TERM_VALUE;
        }
    }
    return found;
}

/* Takes operand `number` as the counting one. False: it does not count, or the other one changes. */
static bool take_operand(LoopSums *s, LoopTest *t, Cmp cmp, u32 number)
{
    const Operand *a = instr_operand(t->compare, number), *b = instr_operand(t->compare, 3 - number);
    u32 bits = type_bits(t->compare->op->type[0]);
    t->compared = operand_plain_register(a);
    t->bound = b;
    t->cmp = number == 1 ? cmp : cmp_swapped(cmp);
    return t->compared && loop_is_fixed(s->in.loop, b) && read_value(s, t->compare, t->compared, bits, &t->value) &&
           t->value.step;
}

bool loop_test_is_compare(const Instr *i)
{
    if (i->kind != INSTR_OP || i->op->opcode != OPC_SETP || i->guard || i->op->bool_op != BOOL_NONE || i->op->types != 1 ||
        i->opnd[0].kind != OPND_REG)
        return false;
    Type type = i->op->type[0];
    TypeClass class = type_class(type);
    bool integer = class == TC_SIGNED || class == TC_UNSIGNED || class == TC_BITS;
    return integer && (type_bits(type) == 32 || type_bits(type) == 64);
}

bool loop_test_read_with(LoopSums *s, Instr *compare, bool opposite, LoopTest *test)
{
    if (!loop_test_is_compare(compare))
        return false;
    *test = (LoopTest){.compare = compare, .type = compare->op->type[0]};
    Cmp cmp = compare->op->cmp;
    if (opposite)
        cmp = cmp_inverse(cmp, type_class(test->type));
    return cmp != CMP_NONE && (take_operand(s, test, cmp, 1) || take_operand(s, test, cmp, 2));
}

bool loop_test_read(Analyses *an, const Loop *loop, Instr *compare, bool opposite, LoopTest *test)
{
    Arena arena = {0};
    LoopSums s;
    loop_sums_init(&s, &arena, affine_loop(an, loop), NULL);
    bool found = loop_test_read_with(&s, compare, opposite, test);
    loop_sums_free(&s);
    arena_free(&arena);
    return found;
}

bool loop_test_runs_towards_bound(const LoopTest *test)
{
    bool down = sem_signed(test->value.step, test->value.bits) < 0;
    switch (test->cmp) {
    case CMP_NE: return true;
    case CMP_LT:
    case CMP_LE:
    case CMP_LO:
    case CMP_LS: return !down;
    case CMP_GT:
    case CMP_GE:
    case CMP_HI:
    case CMP_HS: return down;
    default: return false;
    }
}

/* ---- how often it runs ----------------------------------------------------------------------------------------------- */

enum {
    BACK_BLOCKS = 8, /* that are searched before all values are computed */
    BACK_INSTRS = 64
};

/* Blocks whose ends some paths come to before they come to the end of the first one, without a write of a register in between. */
typedef struct Backwards {
    Block *block[BACK_BLOCKS];
    u32 n, left; /* instructions that may be looked at */
} Backwards;

/* Adds the blocks before b. False: they are too many, or b begins the function. */
static bool go_back(Analyses *an, Backwards *w, const Block *b)
{
    if (b == an->fn->entry)
        return false;
    for_each_cfg_edge(pred, cfg_preds(an->fn, b)) {
        u32 k = 0;
        while (k < w->n && w->block[k] != pred.v->block)
            k++;
        if (k == BACK_BLOCKS || !order_reachable(an_order(an), pred.v->block))
            return false;
        w->block[k] = pred.v->block;
        w->n = k == w->n ? k + 1 : w->n;
    }
    return true;
}

static const Instr *last_write_near(Backwards *w, const Block *b, RegId reg)
{
    const Instr *i = b->last;
    while (i && w->left && !(i->kind == INSTR_OP && instr_writes(i, reg))) {
        w->left--;
        i = i->prev;
    }
    return i;
}

/* The instruction that gives reg what it holds at the end of `from`; NULL: there is no single one. It often stands near by, or another
 * one does. Only otherwise are all values computed. */
static const Instr *last_definition(Analyses *an, Block *from, RegId reg)
{
    Backwards w = {.block = {from}, .n = 1, .left = BACK_INSTRS};
    const Instr *def = NULL;
    for (u32 k = 0; k < w.n; k++) {
        const Instr *write = last_write_near(&w, w.block[k], reg);
        if (!w.left || (!write && !go_back(an, &w, w.block[k])))
            return ssa_definition(an_ssa(an), ssa_at_end(an_ssa(an), from, reg), reg);
        if (write && (!instr_kills(write, reg) || (def && def != write)))
            return NULL;
        def = write ? write : def;
    }
    return def;
}

bool loop_entry_constant(Analyses *an, const Loop *loop, RegId reg, u64 *value)
{
    Block *from = loop_only_entry(an->fn, loop);
    if (!from || from->id >= an_loops(an)->blocks)
        return false;
    const Instr *def = last_definition(an, from, reg);
    if (!def || def->op->opcode != OPC_MOV || def->guard || instr_operand(def, 1)->kind != OPND_IMM)
        return false;
    *value = (u64)instr_operand(def, 1)->value;
    return true;
}

bool loop_test_start(Analyses *an, const Loop *loop, const LoopTest *test, u64 *start)
{
    u64 entry;
    *start = test->value.start;
    for (u32 k = 0; k < test->value.terms; k++) {
        if (!loop_entry_constant(an, loop, test->value.term[k].reg, &entry))
            return false;
        *start += entry * test->value.term[k].factor;
    }
    return true;
}

u32 loop_test_trips(Analyses *an, const Loop *loop, const LoopTest *test, u32 most)
{
    u64 bound = (u64)test->bound->value, value;
    if ((test->bound->kind == OPND_REG && !loop_entry_constant(an, loop, test->bound->id, &bound)) ||
        !loop_test_start(an, loop, test, &value))
        return 0;
    u32 trips = 1;
    for (; trips < most && range_compare_numbers(test->cmp, test->type, value, bound) == FACT_TRUE; trips++)
        value += test->value.step;
    return trips;
}
