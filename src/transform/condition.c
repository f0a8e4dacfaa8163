#include "transform/condition.h"

#include "analysis/ranges.h"
#include "base/bound.h"
#include "ir/edit.h"
#include "ir/inspect.h"

/* ---- known values ---------------------------------------------------------------------------------------------- */

static bool same_register(const Operand *a, const Operand *b)
{
    return a->kind == OPND_REG && b->kind == OPND_REG && a->id == b->id && a->sub == b->sub && a->value == b->value &&
           !a->flags && !b->flags;
}

/* The outcome of a plain integer setp (without a third predicate), if its operands determine it. */
static FactValue compare_value(Instr *setp)
{
    const Sem *sem = &setp->op->sem;
    Type type = sem->compared;
    const Operand *a = instr_operand(setp, 1), *b = instr_operand(setp, 2);
    if (setp->op->bool_op != BOOL_NONE || !type_is_integer(type) || !a || !b)
        return FACT_UNKNOWN;
    Cmp cmp = setp->op->cmp;
    if (same_register(a, b))
        return compare_implies(CMP_EQ, type, cmp, type);
    if (a->kind != OPND_IMM || b->kind != OPND_IMM)
        return FACT_UNKNOWN;
    return range_compare_numbers(cmp, type, (u64)a->value, (u64)b->value);
}

FactValue predicate_value(const Instr *at, RegId pred)
{
    Instr *def = local_definition(at, pred);
    if (!def)
        return FACT_UNKNOWN;
    Operand *to = instr_operand(def, 0);
    if (def->op->opcode == OPC_MOV && to->kind == OPND_REG) {
        const Operand *from = instr_operand(def, 1);
        if (from->kind != OPND_IMM)
            return FACT_UNKNOWN;
        return from->value ? FACT_TRUE : FACT_FALSE;
    }
    if (def->op->opcode != OPC_SETP)
        return FACT_UNKNOWN;
    FactValue first = compare_value(def);
    const Operand *result = to->kind == OPND_PAIR ? &to[1] : to;
    if (first == FACT_UNKNOWN || (result->kind == OPND_REG && result->id == pred))
        return first;
    return first == FACT_TRUE ? FACT_FALSE : FACT_TRUE; /* q of p|q */
}

/* ---- the comparison that decides a branch ---------------------------------------------------------------------------- */

/* The register that decides a branch, seen through negations. */
typedef struct Root {
    RegId reg;
    Instr *def; /* gives reg its value, in the branch's block; NULL: unknown */
    bool negated;
    Instr *negation[CONDITION_NOTS]; /* the nearest to the branch first */
    u32 negations;
} Root;

static Root find_root(const Instr *branch)
{
    Root root = {.reg = branch->guard, .negated = branch->guard_not};
    root.def = local_definition(branch, root.reg);
    while (root.def && root.def->op->opcode == OPC_NOT && WITHIN(CONDITION_NOTS, root.negations < CONDITION_NOTS)) {
        const Operand *to = instr_operand(root.def, 0), *source = instr_operand(root.def, 1);
        bool plain = source->kind == OPND_REG && !source->flags && source->id != to->id;
        if (!plain || instr_writes_between(root.def, branch, source->id))
            break;
        root.negation[root.negations++] = root.def;
        root.negated = !root.negated;
        root.reg = source->id;
        root.def = local_definition(root.def, root.reg);
    }
    return root;
}

/* The two results of a setp: registers, or 0 where there is none. */
typedef struct Results {
    RegId first, second;
} Results;

static RegId whole_register(const Operand *o) { return o->kind == OPND_REG && !o->sub ? o->id : 0; }

static Results results_of(Instr *setp)
{
    const Operand *to = instr_operand(setp, 0);
    if (to->kind == OPND_PAIR)
        return (Results){whole_register(&to[1]), whole_register(&to[2])};
    return (Results){whole_register(to), 0};
}

/* Whether i is a comparison whose second result is the negation of the first. */
static bool is_comparison(const Instr *i) { return i->op->sem.op == OPC_SETP && i->op->bool_op == BOOL_NONE; }

/* Whether the setp may have two results. Half-precision comparisons have one, unless they are packed. */
static bool may_have_two_results(const Instr *setp)
{
    Type type = setp->op->sem.compared;
    return type != TYPE_F16 && type != TYPE_BF16;
}

bool condition_is_plain(const Instr *branch)
{
    Root root = find_root(branch);
    bool second = root.def && is_comparison(root.def) && results_of(root.def).second == root.reg;
    return root.negated == second;
}

/* Whether setp compares a lop3's result with zero. ptxas 12.5 to 13.5 crash on a branch on `setp.eq` of such a result
 * (tests/ptxas/NESTED.md). */
static bool tests_lop3(const Instr *setp)
{
    const Operand *x = instr_operand(setp, 1), *zero = instr_operand(setp, 2);
    RegId reg = operand_plain_register(x);
    const Instr *feed = reg && zero && zero->kind == OPND_IMM && zero->value == 0 ? local_definition(setp, reg) : NULL;
    return feed && feed->op->opcode == OPC_LOP3;
}

/* The setp's opcode with the inverse comparison; NULL: there is none, or it must not be used. */
static const OpInfo *inverse_opcode(const Function *fn, const Instr *setp)
{
    Cmp inverse = cmp_inverse(setp->op->cmp, type_class(setp->op->sem.compared));
    if (inverse == CMP_EQ && tests_lop3(setp))
        return NULL;
    return isa_with_cmp(fn->module->isa, setp->op, inverse);
}

/* ---- readers --------------------------------------------------------------------------------------------------- */

/* Whether only `reader` reads what def gives to reg. `reader` stands in the same block and does not change reg. */
static bool is_only_reader(Analyses *an, const Instr *def, const Instr *reader, RegId reg)
{
    u32 reads = 0;
    for (RegWalk w = reg_walk(reader); next_read(&w);)
        reads += w.reg == reg;
    return reads == 1 && an_is_only_reader(an, def, NULL, reader, reg);
}

/* Keeps in `how` the negations that are dead once the branch reads something else: all up to the first with other readers. */
static void collect_dead(Analyses *an, const Instr *branch, const Root *root, PlainCondition *how)
{
    const Instr *reader = branch;
    for (u32 k = 0; k < root->negations; k++) {
        Instr *negation = root->negation[k];
        const Operand *to = instr_operand(negation, 0);
        if (!is_only_reader(an, negation, reader, to->id))
            return;
        how->negation[how->negations++] = negation;
        reader = negation;
    }
}

/* ---- plain conditions ------------------------------------------------------------------------------------------ */

/* Plans for the negation of root.reg, which the comparison gives as its first result. */
static void plan_opposite(Analyses *an, const Instr *branch, const Root *root, PlainCondition *how)
{
    Results results = results_of(root->def);
    const Instr *reader = root->negations ? root->negation[root->negations - 1] : branch;
    if (results.second && results.second != results.first) {
        how->kind = instr_writes_between(root->def, branch, results.second) ? PLAIN_NONE : PLAIN_SWAP;
        how->reg = results.second;
    } else if (instr_operand(root->def, 0)->kind == OPND_REG && how->negations == root->negations &&
               is_only_reader(an, root->def, reader, root->reg)) {
        how->kind = PLAIN_FLIP;
        how->reg = root->reg;
    } else {
        how->kind = may_have_two_results(root->def) ? PLAIN_PAIR : PLAIN_NONE;
    }
}

PlainCondition condition_plain(Analyses *an, Instr *branch, bool opposite)
{
    Root root = find_root(branch);
    PlainCondition how = {.kind = PLAIN_NONE, .compare = root.def};
    bool inverted = root.negated != opposite; /* the negation of root.reg is wanted */
    Results results = {root.reg, 0};
    if (root.def && is_comparison(root.def))
        results = results_of(root.def);
    collect_dead(an, branch, &root, &how);
    if (results.second == root.reg) {
        /* p|q, where q decides */
        bool first_holds =
            results.first && results.first != root.reg && !instr_writes_between(root.def, branch, results.first);
        how.kind = !inverted ? PLAIN_SWAP : first_holds ? PLAIN_KEEP : PLAIN_NONE;
        how.reg = inverted ? results.first : root.reg;
    } else if (!inverted) {
        how.kind = PLAIN_KEEP;
        how.reg = root.reg;
    } else if (root.def && is_comparison(root.def)) {
        plan_opposite(an, branch, &root, &how);
    }
    bool inverts = how.kind == PLAIN_FLIP || how.kind == PLAIN_SWAP || how.kind == PLAIN_PAIR;
    if (inverts && !inverse_opcode(an->fn, how.compare))
        how.kind = PLAIN_NONE;
    return how;
}

/* Replaces the results by first|second, where 0 stands for OPND_SINK. */
static Instr *set_results(Instr *setp, RegId first, RegId second)
{
    Operand slots[3 + 8];
    const Operand *old = setp->opnd + operand_slots(setp->opnd);
    u32 rest = setp->slots - (u32)(old - setp->opnd), n = 0;
    slots[n++] = (Operand){.kind = OPND_PAIR, .id = 2, .value = 2};
    slots[n++] = (Operand){.kind = first ? OPND_REG : OPND_SINK, .id = first};
    slots[n++] = (Operand){.kind = second ? OPND_REG : OPND_SINK, .id = second};
    for (u32 k = 0; k < rest && n < COUNT_OF(slots); k++)
        slots[n++] = old[k];
    return instr_set_operands(setp, slots, n);
}

void condition_apply(Analyses *an, Instr *branch, const PlainCondition *how)
{
    RegId guard = how->reg;
    if (how->kind == PLAIN_FLIP) {
        instr_set_op(how->compare, inverse_opcode(an->fn, how->compare));
    } else if (how->kind == PLAIN_SWAP) {
        Results old = results_of(how->compare);
        Instr *setp = set_results(how->compare, old.second, old.first);
        instr_set_op(setp, inverse_opcode(an->fn, setp));
    } else if (how->kind == PLAIN_PAIR) {
        guard = reg_new(an->fn, TYPE_PRED);
        Instr *setp = set_results(how->compare, guard, results_of(how->compare).first);
        instr_set_op(setp, inverse_opcode(an->fn, setp));
    }
    instr_set_guard(branch, guard, false);
    for (u32 k = 0; k < how->negations; k++)
        instr_remove(how->negation[k]);
}

/* ---- both of two comparisons ----------------------------------------------------------------------------------- */

/* Plans operand `number` (1, 2) of the and.pred or or.pred. True: its value, or the inverse, is a comparison's result, or
 * can be made one. */
static bool plan_operand(Analyses *an, Both *both, u32 number, bool inverse)
{
    const Operand *o = instr_operand(both->logic, number);
    Instr *compare = o->kind == OPND_REG ? local_definition(both->logic, o->id) : NULL;
    bool negated = o->flags & OPNDF_NOT, flip = negated != inverse;
    if (o->kind != OPND_REG || (flip && (!compare || !is_comparison(compare))))
        return false;
    if (flip && (instr_operand(compare, 0)->kind != OPND_REG || !inverse_opcode(an->fn, compare) ||
                 !is_only_reader(an, compare, both->logic, o->id)))
        return false;
    both->compare[number - 1] = compare;
    both->flip[number - 1] = flip;
    return true;
}

bool condition_both(Analyses *an, Instr *branch, bool opposite, Both *found)
{
    *found = (Both){.logic = local_definition(branch, branch->guard)};
    Instr *logic = found->logic;
    bool inverse = branch->guard_not != opposite; /* the negation of the instruction's result is wanted */
    if (!logic || logic->op->opcode != (inverse ? OPC_OR : OPC_AND) || instr_operands(logic) != 3)
        return false;
    return plan_operand(an, found, 1, inverse) && plan_operand(an, found, 2, inverse) &&
           (inverse || found->flip[0] || found->flip[1]) && is_only_reader(an, logic, branch, branch->guard);
}

void condition_apply_both(Analyses *an, Instr *branch, const Both *both)
{
    Operand slots[3];
    for (u32 k = 0; k < 3; k++) {
        slots[k] = *instr_operand(both->logic, k);
        slots[k].flags &= (u8)~OPNDF_NOT;
    }
    for (u32 k = 0; k < 2; k++)
        if (both->flip[k])
            instr_set_op(both->compare[k], inverse_opcode(an->fn, both->compare[k]));
    Instr *logic = instr_set_operands(both->logic, slots, 3);
    instr_set_op(logic, isa_op(an->fn->module->isa, OPC_AND, (OpParts){.type = {TYPE_PRED}}));
    instr_set_guard(branch, branch->guard, false);
}
