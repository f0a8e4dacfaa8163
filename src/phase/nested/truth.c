/* Functions of predicates: building them, and what is known about their leaves. */
#include "phase/nested/truth.h"

#include "ir/inspect.h"
#include "transform/condition.h"
#include "phase/nested/truth_emit.h"

/* ---- building -------------------------------------------------------------------------------------------------- */

static TruthTerm term_new(Arena *arena, TruthKind kind, u32 leaves)
{
    u32 parts = kind == TRUTH_LEAF ? 0 : kind == TRUTH_AND ? 2 : 3;
    Truth *t = arena_alloc(arena, sizeof(Truth) + parts * sizeof(TruthTerm));
    t->kind = (u8)kind;
    t->leaves = leaves;
    return (TruthTerm){t, false};
}

TruthTerm truth_leaf(Arena *arena, RegId reg, bool inverted)
{
    TruthTerm t = term_new(arena, TRUTH_LEAF, 1);
    t.truth->reg = reg;
    t.inverted = inverted;
    return t;
}

TruthTerm truth_and(Arena *arena, TruthTerm a, TruthTerm b)
{
    TruthTerm t = term_new(arena, TRUTH_AND, a.truth->leaves + b.truth->leaves);
    t.truth->of[0] = a;
    t.truth->of[1] = b;
    return t;
}

TruthTerm truth_select(Arena *arena, TruthTerm which, TruthTerm yes, TruthTerm no)
{
    TruthTerm t = term_new(arena, TRUTH_SELECT, which.truth->leaves + yes.truth->leaves + no.truth->leaves);
    t.truth->of[0] = which;
    t.truth->of[1] = yes;
    t.truth->of[2] = no;
    return t;
}

/* The number of t->of that are set. */
static u32 truth_parts(const Truth *t) { return t->kind == TRUTH_LEAF ? 0 : t->kind == TRUTH_AND ? 2 : 3; }

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

Instr *truth_leaf_definition(const Instr *at, const Truth *leaf) { return local_definition(at, leaf->reg); }

bool truth_read_only_by(const Emit *e, const Instr *i, RegId result, const Instr *reader)
{
    return an_is_only_reader(e->an, i, e->at, reader, result);
}

bool truth_operands_hold(const Emit *e, const Instr *i)
{
    for (const Instr *k = i->next; k != e->at; k = k->next)
        for (RegWalk w = reg_walk(i); k->kind == INSTR_OP && next_read(&w);)
            if (instr_writes(k, w.reg))
                return false;
    return true;
}

Instr *truth_replaceable_setp(const Emit *e, const Truth *leaf)
{
    Instr *setp = leaf->kept ? NULL : truth_leaf_definition(e->at, leaf);
    if (!setp || setp->op->sem.op != OPC_SETP || setp->op->bool_op != BOOL_NONE)
        return NULL;
    bool plain = operand_plain_register(setp->opnd) && instr_operands(setp) == 3 && setp->slots == 3;
    if (!plain || setp->scope != e->at->scope || truth_uses(e->root, leaf->reg) != 1)
        return NULL;
    return truth_read_only_by(e, setp, leaf->reg, NULL) && truth_operands_hold(e, setp) ? setp : NULL;
}
