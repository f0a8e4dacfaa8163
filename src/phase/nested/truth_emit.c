/* Writes functions of predicates as PTX. */
#include "phase/nested/truth_emit.h"

#include "ir/builder.h"
#include "ir/inspect.h"
#include "transform/condition.h"

/* Whether setp tests `(x & m) == 0`: the machine's logic instruction makes that predicate by itself, and has no room for a
 * third one. */
static bool is_bit_test(const Instr *setp)
{
    const Operand *x = &setp->opnd[1], *y = &setp->opnd[2];
    bool with_zero = y->kind == OPND_IMM && y->value == 0 && (setp->op->cmp == CMP_EQ || setp->op->cmp == CMP_NE);
    const Instr *feed = with_zero && x->kind == OPND_REG ? local_definition(setp, x->id) : NULL;
    return feed && (feed->op->opcode == OPC_AND || feed->op->opcode == OPC_LOP3);
}

static RegId emit_predicate_op(const Emit *e, Opcode opcode, RegId a, RegId b)
{
    Builder at = build_before(e->at);
    OpParts type = {.type = {TYPE_PRED}};
    return b ? build_binary(&at, opcode, type, TYPE_PRED, register_operand(a), register_operand(b))
             : build_unary(&at, opcode, type, TYPE_PRED, register_operand(a));
}

static RegId without_not(const Emit *e, Literal a) { return a.inverted ? emit_predicate_op(e, OPC_NOT, a.reg, 0) : a.reg; }

/* A literal for a & b, or a
 * b. plain: the result must be the register's value, not its negation. */
static Literal join_literals(const Emit *e, Literal a, Literal b, bool is_or, bool plain)
{
    bool both_not = a.inverted && b.inverted && !plain;
    RegId x = both_not ? a.reg : without_not(e, a), y = both_not ? b.reg : without_not(e, b);
    return (Literal){emit_predicate_op(e, is_or != both_not ? OPC_OR : OPC_AND, x, y), both_not};
}

/* Gives the comparison `rest` as its third predicate. Where the negation is wanted De Morgan's law is used: no comparison
 * is ever inverted, so a NaN takes the edge that it took before. */
static Literal fold_comparison(const Emit *e, Instr *setp, bool inverted, Literal rest, bool is_or)
{
    const OpInfo *op = isa_with_bool_op(e->fn->module->isa, setp->op, is_or != inverted ? BOOL_OR : BOOL_AND);
    if (!op)
        return join_literals(e, (Literal){setp->opnd[0].id, inverted}, rest, is_or, false);
    Operand third = register_operand(rest.reg);
    third.flags = rest.inverted != inverted ? OPNDF_NOT : 0;
    Operand sources[3] = {setp->opnd[1], setp->opnd[2], third};
    Builder at = build_before(e->at);
    RegId result = build_value(&at, op, TYPE_PRED, sources, 3);
    instr_remove(setp);
    return (Literal){result, inverted};
}

static Literal emit_term(const Emit *e, TruthTerm t, bool plain);

/* Lists the members of a tree of one operation: `and` under an even number of negations, `or` under an odd one. */
static void flatten(TermList *list, TruthTerm t, bool is_or)
{
    if (t.truth->kind != TRUTH_AND || t.inverted != is_or || list->n + t.truth->leaves > TRUTH_LEAVES) {
        list->v[list->n++] = t;
        return;
    }
    for (u32 k = 0; k < 2; k++)
        flatten(list, (TruthTerm){t.truth->of[k].truth, t.truth->of[k].inverted != t.inverted}, is_or);
}

static Instr *foldable(const Emit *e, TruthTerm t)
{
    Instr *setp = t.truth->kind == TRUTH_LEAF ? truth_replaceable_setp(e, t.truth) : NULL;
    return setp && !is_bit_test(setp) ? setp : NULL;
}

/* Writes first the members that are no comparisons, then the comparisons, each with all members before it as its third
 * predicate. */
static Literal emit_list(const Emit *e, TermList *list, bool is_or, bool plain)
{
    Literal all = {0, false};
    Instr *setp[TRUTH_LEAVES];
    u32 comparisons = 0;
    truth_merge_zero_tests(e, list, is_or);
    for (u32 k = 0; k < list->n; k++)
        comparisons += (setp[k] = foldable(e, list->v[k])) != NULL;
    for (u32 k = 0, left = list->n - comparisons; k < list->n; k++) {
        if (setp[k])
            continue;
        Literal one = emit_term(e, list->v[k], false);
        left--;
        all = all.reg ? join_literals(e, all, one, is_or, plain && !left && !comparisons) : one;
    }
    for (u32 k = 0; k < list->n; k++) {
        if (!setp[k])
            continue;
        bool inverted = list->v[k].inverted;
        all = all.reg ? fold_comparison(e, setp[k], inverted, all, is_or) : (Literal){setp[k]->opnd[0].id, inverted};
    }
    return all;
}

static bool is_leaf(TruthTerm t, RegId reg) { return t.truth->kind == TRUTH_LEAF && t.truth->reg == reg; }

static Literal emit_select(const Emit *e, TruthTerm t, bool plain)
{
    const TruthTerm *of = t.truth->of;
    TruthTerm yes = {of[1].truth, of[1].inverted != t.inverted}, no = {of[2].truth, of[2].inverted != t.inverted};
    Literal which = emit_term(e, of[0], false);
    if (yes.truth->kind == TRUTH_LEAF && is_leaf(no, yes.truth->reg) && yes.inverted != no.inverted) {
        RegId differ = emit_predicate_op(e, OPC_XOR, which.reg, yes.truth->reg);
        return (Literal){differ, which.inverted == yes.inverted};
    }
    TruthTerm chosen = truth_leaf(e->an->scratch, which.reg, which.inverted);
    chosen.truth->kept = true;
    TermList list = {.v = {chosen}, .n = 1};
    flatten(&list, yes, false);
    Literal first = emit_list(e, &list, false, false);
    list = (TermList){.v = {term_not(chosen)}, .n = 1};
    flatten(&list, no, false);
    return join_literals(e, first, emit_list(e, &list, false, false), true, plain);
}

/* Writes a term. plain: where it costs nothing, the result shall be the register's value and not its negation. ptxas folds
 * a negation into the operands of an operation, but not into a branch. */
static Literal emit_term(const Emit *e, TruthTerm t, bool plain)
{
    if (t.truth->kind == TRUTH_LEAF)
        return (Literal){t.truth->reg, t.inverted};
    if (t.truth->kind == TRUTH_SELECT)
        return emit_select(e, t, plain);
    TermList list = {.n = 0};
    flatten(&list, t, t.inverted);
    return emit_list(e, &list, t.inverted, plain);
}

Literal truth_emit(Analyses *an, const Knobs *knobs, PhaseRun *run, Block *b, TruthTerm t)
{
    Emit e = {.run = run, .knobs = knobs, .an = an, .fn = an->fn, .at = block_terminator(b), .root = t.truth};
    return emit_term(&e, t, true);
}
