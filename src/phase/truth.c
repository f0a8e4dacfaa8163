/* Functions of predicates: building them, and writing them out. */
#include "phase/truth.h"

#include <string.h>

#include "ir/edit.h"
#include "phase/condition.h"
#include "phase/truth_form.h"

/* ---- building -------------------------------------------------------------------------------------------------- */

static Term term_new(Arena *arena, TruthKind kind, u32 leaves)
{
    u32 parts = kind == TRUTH_LEAF ? 0 : kind == TRUTH_AND ? 2 : 3;
    Truth *t = arena_alloc(arena, sizeof(Truth) + parts * sizeof(Term));
    t->kind = (u8)kind;
    t->leaves = leaves;
    return (Term){t, false};
}

Term truth_leaf(Arena *arena, RegId reg, bool not)
{
    Term t = term_new(arena, TRUTH_LEAF, 1);
    t.truth->reg = reg;
    t.not = not;
    return t;
}

Term truth_and(Arena *arena, Term a, Term b)
{
    Term t = term_new(arena, TRUTH_AND, a.truth->leaves + b.truth->leaves);
    t.truth->of[0] = a;
    t.truth->of[1] = b;
    return t;
}

Term truth_select(Arena *arena, Term which, Term yes, Term no)
{
    Term t = term_new(arena, TRUTH_SELECT, which.truth->leaves + yes.truth->leaves + no.truth->leaves);
    t.truth->of[0] = which;
    t.truth->of[1] = yes;
    t.truth->of[2] = no;
    return t;
}

u32 truth_parts(const Truth *t) { return t->kind == TRUTH_LEAF ? 0 : t->kind == TRUTH_AND ? 2 : 3; }

u32 truth_uses(const Truth *t, RegId reg)
{
    u32 uses = t->kind == TRUTH_LEAF && t->reg == reg;
    for (u32 k = 0; k < truth_parts(t); k++)
        uses += truth_uses(t->of[k].truth, reg);
    return uses;
}

void truth_rename(Truth *t, RegId from, RegId to)
{
    if (t->kind == TRUTH_LEAF && t->reg == from)
        t->reg = to;
    for (u32 k = 0; k < truth_parts(t); k++)
        truth_rename(t->of[k].truth, from, to);
}

/* ---- what computes a leaf --------------------------------------------------------------------------------------- */

Instr *leaf_definition(const Instr *at, const Truth *leaf) { return local_definition(at, leaf->reg); }

bool read_only_by(const Emit *e, const Instr *i, RegId result, const Instr *reader)
{
    for (const Instr *k = i->next; k != e->at; k = k->next)
        if (k != reader && k->kind == INSTR_OP && instr_reads(k, result))
            return false;
    return !live_out(e->run->an->live, e->b, result);
}

bool operands_hold(const Emit *e, const Instr *i)
{
    for (const Instr *k = i->next; k != e->at; k = k->next)
        for (RegWalk w = reg_walk(i); k->kind == INSTR_OP && next_read(&w);)
            if (instr_writes(k, w.reg))
                return false;
    return true;
}

static bool is_plain_register(const Operand *o) { return o->kind == OPND_REG && !o->sub && !o->flags && !o->value; }

Instr *replaceable_setp(const Emit *e, const Truth *leaf)
{
    Instr *setp = leaf->kept ? NULL : leaf_definition(e->at, leaf);
    if (!setp || setp->op->opcode != OPC_SETP || setp->op->bool_op != BOOL_NONE || setp->op->types != 1)
        return NULL;
    bool plain = is_plain_register(setp->opnd) && instr_operands(setp) == 3 && setp->slots == 3;
    if (!plain || setp->scope != e->at->scope || truth_uses(e->root, leaf->reg) != 1)
        return NULL;
    return read_only_by(e, setp, leaf->reg, NULL) && operands_hold(e, setp) ? setp : NULL;
}

/* `(x & m) == 0`: the machine's logic instruction makes a predicate of it by itself, and has no room for a third one. */
static bool is_bit_test(const Instr *setp)
{
    const Operand *x = &setp->opnd[1], *y = &setp->opnd[2];
    bool with_zero = y->kind == OPND_IMM && y->value == 0 && (setp->op->cmp == CMP_EQ || setp->op->cmp == CMP_NE);
    const Instr *feed = with_zero && x->kind == OPND_REG ? local_definition(setp, x->id) : NULL;
    return feed && (feed->op->opcode == OPC_AND || feed->op->opcode == OPC_LOP3);
}

/* ---- writing ---------------------------------------------------------------------------------------------------- */

RegId emit_op(const Emit *e, const char *opcode, Type type, const Operand *sources, u32 count)
{
    Operand slots[8] = {{.kind = OPND_REG, .id = reg_new(e->fn, type)}};
    for (u32 k = 0; k < count; k++)
        slots[k + 1] = sources[k];
    const OpInfo *op = isa_decode(e->fn->module->isa, opcode, (u32)strlen(opcode));
    instr_insert_before(e->at, instr_new(e->fn, op, slots, count + 1));
    return slots[0].id;
}

static Operand predicate(RegId reg) { return (Operand){.kind = OPND_REG, .id = reg}; }

static RegId emit_predicate_op(const Emit *e, const char *opcode, RegId a, RegId b)
{
    Operand sources[2] = {predicate(a), predicate(b)};
    return emit_op(e, opcode, TYPE_PRED, sources, b ? 2 : 1);
}

static RegId without_not(const Emit *e, Literal a) { return a.not ? emit_predicate_op(e, "not.pred", a.reg, 0) : a.reg; }

/* a & b, or a | b. plain: the answer has to be the register's own value. */
static Literal join_literals(const Emit *e, Literal a, Literal b, bool is_or, bool plain)
{
    bool both_not = a.not && b.not && !plain;
    RegId x = both_not ? a.reg : without_not(e, a), y = both_not ? b.reg : without_not(e, b);
    return (Literal){emit_predicate_op(e, is_or != both_not ? "or.pred" : "and.pred", x, y), both_not};
}

/* setp.lt.s32 becomes setp.lt.OP.s32; NULL if that is none. */
static const OpInfo *combining_opcode(const Emit *e, const Instr *setp, bool is_or)
{
    const char *full = setp->op->text->text, *cmp = cmp_name((Cmp)setp->op->cmp);
    size_t length = strlen(cmp);
    const char *part = strchr(full, '.');
    while (part && (strncmp(part + 1, cmp, length) || part[1 + length] != '.'))
        part = strchr(part + 1, '.');
    if (!part)
        return NULL;
    char text[128];
    int written = snprintf(text, sizeof text, "%.*s.%s%s", (int)(part + 1 + length - full), full, is_or ? "or" : "and",
                           part + 1 + length);
    const OpInfo *op = written < (int)sizeof text ? isa_decode(e->fn->module->isa, text, (u32)written) : NULL;
    return op && op->known ? op : NULL;
}

/* The comparison takes `rest` as its third predicate. Where its opposite is wanted, De Morgan's law says how: no comparison
 * is ever inverted, so a NaN goes where it went. */
static Literal fold_comparison(const Emit *e, Instr *setp, bool not, Literal rest, bool is_or)
{
    const OpInfo *op = combining_opcode(e, setp, is_or != not);
    if (!op)
        return join_literals(e, (Literal){setp->opnd[0].id, not}, rest, is_or, false);
    Operand third = predicate(rest.reg);
    third.flags = rest.not != not ? OPNDF_NOT : 0;
    Operand sources[3] = {setp->opnd[1], setp->opnd[2], third};
    RegId result = emit_op(e, op->text->text, TYPE_PRED, sources, 3);
    instr_remove(setp);
    return (Literal){result, not};
}

static Literal emit_term(const Emit *e, Term t, bool plain);

/* The members of a tree of one operation: `and` under an even number of negations, `or` under an odd one. */
static void flatten(TermList *list, Term t, bool is_or)
{
    if (t.truth->kind != TRUTH_AND || t.not != is_or || list->n + t.truth->leaves > TRUTH_LEAVES) {
        list->v[list->n++] = t;
        return;
    }
    for (u32 k = 0; k < 2; k++)
        flatten(list, (Term){t.truth->of[k].truth, t.truth->of[k].not != t.not}, is_or);
}

static Instr *foldable(const Emit *e, Term t)
{
    Instr *setp = t.truth->kind == TRUTH_LEAF ? replaceable_setp(e, t.truth) : NULL;
    return setp && !is_bit_test(setp) ? setp : NULL;
}

/* First what is no comparison, then the comparisons, each with all before as its third predicate. */
static Literal emit_list(const Emit *e, TermList *list, bool is_or, bool plain)
{
    Literal all = {0, false};
    Instr *setp[TRUTH_LEAVES];
    u32 comparisons = 0;
    merge_zero_tests(e, list, is_or);
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
        bool not = list->v[k].not;
        all = all.reg ? fold_comparison(e, setp[k], not, all, is_or) : (Literal){setp[k]->opnd[0].id, not};
    }
    return all;
}

static bool is_leaf(Term t, RegId reg) { return t.truth->kind == TRUTH_LEAF && t.truth->reg == reg; }

static Literal emit_select(const Emit *e, Term t, bool plain)
{
    const Term *of = t.truth->of;
    Term yes = {of[1].truth, of[1].not != t.not}, no = {of[2].truth, of[2].not != t.not};
    Literal which = emit_term(e, of[0], false);
    if (yes.truth->kind == TRUTH_LEAF && is_leaf(no, yes.truth->reg) && yes.not != no.not) {
        RegId differ = emit_predicate_op(e, "xor.pred", which.reg, yes.truth->reg);
        return (Literal){differ, which.not == yes.not};
    }
    Term chosen = truth_leaf(e->run->arena, which.reg, which.not);
    chosen.truth->kept = true;
    TermList list = {.v = {chosen}, .n = 1};
    flatten(&list, yes, false);
    Literal first = emit_list(e, &list, false, false);
    list = (TermList){.v = {term_not(chosen)}, .n = 1};
    flatten(&list, no, false);
    return join_literals(e, first, emit_list(e, &list, false, false), true, plain);
}

/* plain: rather the register's own value than its opposite, where that costs nothing on the machine: ptxas folds a
 * negation into what the last operation reads, but not into a branch behind it. */
static Literal emit_term(const Emit *e, Term t, bool plain)
{
    if (t.truth->kind == TRUTH_LEAF)
        return (Literal){t.truth->reg, t.not};
    if (t.truth->kind == TRUTH_SELECT)
        return emit_select(e, t, plain);
    TermList list = {.n = 0};
    flatten(&list, t, t.not);
    return emit_list(e, &list, t.not, plain);
}

Literal truth_emit(PhaseRun *run, Block *b, Term t)
{
    Emit e = {.run = run, .fn = run->fn, .b = b, .at = block_terminator(b), .root = t.truth};
    return emit_term(&e, t, true);
}
