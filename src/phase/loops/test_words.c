#include "phase/loops/test_words.h"

#include <string.h>

#include "analysis/ssa.h"
#include "isa/sem.h"

enum {
    CONDITIONS_MAX = 16, /* conditions that are told */
    NAMED_MAX = 16,      /* registers whose lines are told */
    WORDS_MAX = 200      /* characters of a value, which is told by its beginning if it is longer */
};

#define VALUE_BIT ((RegId)1 << 31) /* of an operand that stands for a value */

TestWords test_words_new(PhaseRun *run, const LoopSums *sums)
{
    return (TestWords){.run = run, .sums = sums, .conditions = arena_printf(run->arena, "%s", "")};
}

static const char *register_words(TestWords *w, RegId reg)
{
    const Reg *r = fn_reg(w->sums->in.loop->header->fn, reg);
    bool known = w->named.n == NAMED_MAX;
    for (u32 k = 0; k < w->named.n; k++)
        known |= w->named.v[k] == reg;
    if (!known)
        vec_push(&w->named, reg);
    return r->number >= 0 ? arena_printf(w->run->arena, "%s%d", r->name->text, r->number) : r->name->text;
}

static const char *words_of(TestWords *w, Operand o, u32 bits, bool is_signed)
{
    if (o.kind == OPND_IMM && is_signed)
        return arena_printf(w->run->arena, "%lld", (long long)sem_signed((u64)o.value, bits));
    if (o.kind == OPND_IMM)
        return arena_printf(w->run->arena, "%llu", (unsigned long long)((u64)o.value & sem_max(bits)));
    return o.id & VALUE_BIT ? w->value.v[o.id & ~VALUE_BIT] : register_words(w, o.id);
}

/* A factor, or what is subtracted. */
static const char *factor_words(TestWords *w, Operand o, u32 bits)
{
    const char *words = words_of(w, o, bits, true);
    return strchr(words, ' ') ? arena_printf(w->run->arena, "(%s)", words) : words;
}

static const char *sum_words(TestWords *w, Operand x, Operand y, u32 bits, bool less)
{
    i64 number = y.kind == OPND_IMM ? sem_signed((u64)y.value, bits) : 0;
    if (number < 0) {
        y.value = -number;
        less = !less;
    }
    const char *right = less ? factor_words(w, y, bits) : words_of(w, y, bits, true);
    return arena_printf(w->run->arena, "%s %c %s", words_of(w, x, bits, true), less ? '-' : '+', right);
}

static const char *binary_words(TestWords *w, Operand x, const char *sign, Operand y, u32 bits)
{
    return arena_printf(w->run->arena, "%s %s %s", factor_words(w, x, bits), sign, factor_words(w, y, bits));
}

/* A product of 32 bits in 64. */
static const char *product_words(TestWords *w, Operand x, Operand y)
{
    const char *right =
        y.kind == OPND_IMM ? words_of(w, y, 32, false) : arena_printf(w->run->arena, "u64(%s)", words_of(w, y, 32, false));
    return arena_printf(w->run->arena, "u64(%s) * %s", words_of(w, x, 32, false), right);
}

static const char *cast_words(TestWords *w, Operand x, const SumOp *op)
{
    Type to = op->parts.type[0];
    return arena_printf(w->run->arena, "%c%u(%s)", type_class(to) == TC_SIGNED ? 's' : 'u', type_bits(to),
                        words_of(w, x, type_bits(op->parts.type[1]), true));
}

typedef struct Sign {
    Opcode opcode;
    const char *sign;
    bool shifts;
} Sign;

static const Sign signs[] = {{OPC_MUL, "*", false}, {OPC_SHL, "*", true},  {OPC_SHR, "/", true},
                             {OPC_DIV, "/", false}, {OPC_REM, "%", false}, {OPC_AND, "&", false}};

/* Those of predicates have none: test_words_compare() and test_words_predicate() tell of them. */
static const char *op_words(TestWords *w, const SumOp *op, const Operand *o)
{
    u32 bits = type_bits(op->parts.type[0]);
    if (op->opcode == OPC_ADD || op->opcode == OPC_SUB)
        return sum_words(w, o[0], o[1], bits, op->opcode == OPC_SUB);
    if (op->opcode == OPC_CVT)
        return cast_words(w, o[0], op);
    if (op->parts.wide)
        return product_words(w, o[0], o[1]);
    for (u32 k = 0; k < COUNT_OF(signs); k++)
        if (signs[k].opcode == op->opcode) {
            Operand y = o[1];
            y.value = signs[k].shifts ? (i64)((u64)1 << y.value) : y.value;
            return binary_words(w, o[0], signs[k].sign, y, bits);
        }
    return "";
}

Operand test_words_value(TestWords *w, const SumOp *op, const Operand *sources)
{
    const char *words = op_words(w, op, sources);
    if (strlen(words) > WORDS_MAX)
        words = arena_printf(w->run->arena, "%.*s...", WORDS_MAX, words);
    vec_push(&w->value, words);
    return register_operand(VALUE_BIT | (w->value.n - 1));
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

void test_words_compare(TestWords *w, Operand x, Cmp cmp, Operand y, u32 bits, bool is_signed)
{
    if (w->count++ >= CONDITIONS_MAX)
        return;
    const char *left = words_of(w, x, bits, is_signed), *right = words_of(w, y, bits, is_signed);
    w->conditions = arena_append(w->run->arena, w->conditions, ", ", "%s %s %s as %c%u", left, compare_words(cmp), right,
                                 is_signed ? 's' : 'u', bits);
}

void test_words_predicate(TestWords *w, RegId reg, bool holds)
{
    if (w->count++ < CONDITIONS_MAX)
        w->conditions =
            arena_append(w->run->arena, w->conditions, ", ", "%s is %s", register_words(w, reg), holds ? "true" : "false");
}

/* The line that gives a register its value in front of the loop; 0: it is not known. */
static u32 line_of(const TestWords *w, RegId reg)
{
    const LoopSums *s = w->sums;
    const Instr *def = s->from ? ssa_definition(s->ssa, ssa_at_end(s->ssa, s->from, reg), reg) : NULL;
    return def ? phase_line(w->run, def) : 0;
}

const char *test_words_end(TestWords *w)
{
    Arena *arena = w->run->arena;
    char *lines = arena_printf(arena, "%s", "");
    if (w->count > CONDITIONS_MAX)
        w->conditions = arena_append(arena, w->conditions, ", ", "%u more", w->count - CONDITIONS_MAX);
    for (u32 k = 0; k < w->named.n; k++) {
        u32 line = line_of(w, w->named.v[k]);
        if (line)
            lines = arena_append(arena, lines, ", ", "%s of line %u", register_words(w, w->named.v[k]), line);
    }
    vec_free(&w->value);
    vec_free(&w->named);
    return *lines ? arena_printf(arena, "%s (%s)", w->conditions, lines) : w->conditions;
}
