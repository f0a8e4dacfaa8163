/* Terms in SMT-LIB 2: every term is a bit vector, conditions of one bit; applications are uninterpreted functions. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "check/prove/prover.h"

enum { FACTS_MOST = 300, TERMS_MOST = 4000 };

typedef struct Script {
    Prover *p;
    Terms *t;
    FILE *out;
    FnvMap printed;   /* terms */
    FnvMap functions; /* by what is applied, and on what widths */
    u32 terms;
} Script;

static void tell(Script *s, Term x);

static void constant(Script *s, u64 value, u32 bits)
{
    fprintf(s->out, "(_ bv%llu %u)", (unsigned long long)(value & prove_mask(bits)), bits);
}

/* Applications of one name on the same widths are one function. */
static u32 function_of(Script *s, Term x)
{
    TermNode node = *prove_node(s->t, x);
    u64 key = (u64)node.op << 56 ^ (u64)node.aux << 24 ^ (u64)node.bits << 16 ^ node.n;
    for (u32 k = 0; k < node.n; k++)
        key = (key ^ prove_bits(s->t, prove_kid(s->t, x, k))) * 0x9e3779b97f4a7c15u;
    u64 *id = fnvmap_at(&s->functions, key);
    if (*id)
        return (u32)*id;
    *id = s->functions.count;
    u32 number = (u32)*id;
    fprintf(s->out, "(declare-fun f%u (", number);
    for (u32 k = 0; k < node.n; k++)
        fprintf(s->out, " (_ BitVec %u)", prove_bits(s->t, prove_kid(s->t, x, k)));
    fprintf(s->out, ") (_ BitVec %u))\n", node.bits);
    return number;
}

static void logic(Script *s, u64 table, Term x, u32 n, u32 bits)
{
    u64 used = n >= 6 ? table : table & (((u64)1 << (1u << n)) - 1);
    if (n == 0 || used == 0) {
        constant(s, used ? UINT64_MAX : 0, bits);
        return;
    }
    Term leaf = prove_kid(s->t, x, n - 1);
    fprintf(s->out, "(bvor (bvand t%u ", leaf);
    logic(s, used >> (1u << (n - 1)), x, n - 1, bits);
    fprintf(s->out, ") (bvand (bvnot t%u) ", leaf);
    logic(s, used, x, n - 1, bits);
    fprintf(s->out, "))");
}

static void sum(Script *s, Term x)
{
    TermNode node = *prove_node(s->t, x);
    for (u32 k = 0; k < node.n; k++)
        fprintf(s->out, "(bvadd ");
    constant(s, node.value, node.bits);
    for (u32 k = 0; k < node.n; k++) {
        fprintf(s->out, " (bvmul t%u ", prove_kid(s->t, x, k));
        constant(s, s->t->coef.v[node.kids + k], node.bits);
        fprintf(s->out, "))");
    }
}

/* An amount as wide as what is shifted; what is too large stays so. */
static void shift(Script *s, Term x, const char *op)
{
    u32 bits = prove_bits(s->t, x), has = prove_bits(s->t, prove_kid(s->t, x, 1));
    Term a = prove_kid(s->t, x, 0), by = prove_kid(s->t, x, 1);
    fprintf(s->out, "(%s t%u ", op, a);
    if (has == bits)
        fprintf(s->out, "t%u)", by);
    else if (has < bits)
        fprintf(s->out, "((_ zero_extend %u) t%u))", bits - has, by);
    else
        fprintf(s->out, "(ite (bvuge t%u (_ bv%u %u)) (_ bv%u %u) ((_ extract %u 0) t%u)))", by, bits, has, bits, bits,
                bits - 1, by);
}

static void membership(Script *s, Term x)
{
    Term kid = prove_kid(s->t, x, 0);
    u32 bits = prove_bits(s->t, kid);
    Set set = *prove_set(&s->t->sets, prove_node(s->t, x)->aux);
    fprintf(s->out, "(ite (or false");
    for (u32 k = 0; k < set.n; k++) {
        fprintf(s->out, " (and (bvuge t%u ", kid);
        constant(s, set.v[k].lo, bits);
        fprintf(s->out, ") (bvule t%u ", kid);
        constant(s, set.v[k].hi, bits);
        fprintf(s->out, "))");
    }
    fprintf(s->out, ") #b1 #b0)");
}

static void body(Script *s, Term x)
{
    TermNode node = *prove_node(s->t, x);
    Term a = node.n ? prove_kid(s->t, x, 0) : 0, b = node.n > 1 ? prove_kid(s->t, x, 1) : 0;
    switch ((TermOp)node.op) {
    case TERM_CONST: constant(s, node.value, node.bits); return;
    case TERM_LINEAR: sum(s, x); return;
    case TERM_LOGIC: logic(s, node.value, x, node.n, node.bits); return;
    case TERM_ITE: fprintf(s->out, "(ite (= t%u #b1) t%u t%u)", a, b, prove_kid(s->t, x, 2)); return;
    case TERM_ZEXT: fprintf(s->out, "((_ zero_extend %u) t%u)", node.bits - prove_bits(s->t, a), a); return;
    case TERM_SEXT: fprintf(s->out, "((_ sign_extend %u) t%u)", node.bits - prove_bits(s->t, a), a); return;
    case TERM_TRUNC: fprintf(s->out, "((_ extract %u 0) t%u)", (u32)(node.bits - 1), a); return;
    case TERM_SHL: shift(s, x, "bvshl"); return;
    case TERM_SHR: shift(s, x, "bvlshr"); return;
    case TERM_SAR: shift(s, x, "bvashr"); return;
    case TERM_IN: membership(s, x); return;
    case TERM_REL:
        fprintf(s->out,
                "(ite (= t%u t%u) #b000 (ite (bvslt t%u t%u) (ite (bvult t%u t%u) #b001 #b010) (ite (bvult t%u t%u) #b011 "
                "#b100)))",
                a, b, a, b, a, b, a, b);
        return;
    case TERM_MUL:
        for (u32 k = 1; k < node.n; k++)
            fprintf(s->out, "(bvmul ");
        fprintf(s->out, "t%u", a);
        for (u32 k = 1; k < node.n; k++)
            fprintf(s->out, " t%u)", prove_kid(s->t, x, k));
        return;
    default: break;
    }
    fprintf(s->out, node.n ? "(f%u" : "f%u", function_of(s, x));
    for (u32 k = 0; k < node.n; k++)
        fprintf(s->out, " t%u", prove_kid(s->t, x, k));
    fprintf(s->out, node.n ? ")" : "");
}

/* A special register is within its bounds. */
static void tell_symbol(Script *s, Term x)
{
    const TermSym *sym = prove_sym_of(s->t, x);
    u32 bits = prove_bits(s->t, x);
    fprintf(s->out, "(declare-fun t%u () (_ BitVec %u))\n", x, bits);
    if (sym->kind != PROVE_SYM_SREG || sym->part == SUB_W)
        return;
    u64 least, most;
    prove_sreg_bounds(s->t, sym->detail, sym->part, &least, &most);
    fprintf(s->out, "(assert (and (bvuge t%u ", x);
    constant(s, least, bits);
    fprintf(s->out, ") (bvule t%u ", x);
    constant(s, most, bits);
    fprintf(s->out, ")))\n");
}

/* Defines x, and first what is in it. */
static void tell(Script *s, Term x)
{
    u64 *printed = fnvmap_at(&s->printed, x);
    if (*printed || s->terms > TERMS_MOST)
        return;
    *printed = 1;
    s->terms++;
    TermNode node = *prove_node(s->t, x);
    for (u32 k = 0; k < node.n; k++)
        tell(s, prove_kid(s->t, x, k));
    if (node.op == TERM_SYM) {
        tell_symbol(s, x);
        return;
    }
    if (node.op == TERM_APPLY || node.op == TERM_FREL)
        function_of(s, x);
    fprintf(s->out, "(declare-fun t%u () (_ BitVec %u))\n(assert (= t%u ", x, node.bits,
            x); /* old solvers define nothing */
    body(s, x);
    fprintf(s->out, "))\n");
}

static void tell_facts(Script *s)
{
    u32 said = 0;
    for (u32 k = s->p->facts.all.n; k-- > 0 && said < FACTS_MOST; said++) {
        Fact f = s->p->facts.all.v[k];
        Term is = prove_node(s->t, f.term)->bits > 64 ? 0 : prove_in(s->t, f.term, f.set);
        if (!is)
            continue;
        tell(s, is);
        fprintf(s->out, "(assert (= t%u #b1))\n", is);
    }
}

static u32 milliseconds_left(const Prover *p)
{
    double left = 1e3 * (p->solver.until - clock_now());
    return left > 0 ? (u32)left : 0;
}

/* A solver that gets a trivial question wrong is not asked any other. */
static bool answers_right(Prover *p, const char *command)
{
    static const char *const question[] = {
        "(set-logic QF_UFBV)\n(declare-fun x () (_ BitVec 8))\n(assert (= x #x05))\n(check-sat)\n(exit)\n",
        "(set-logic QF_UFBV)\n(declare-fun x () (_ BitVec 8))\n(assert (distinct (bvadd x x) (bvmul x "
        "#x02)))\n(check-sat)\n(exit)\n"};
    static const char *const answer[] = {"sat", "unsat"};
    for (u32 k = 0; k < 2; k++) {
        char word[64];
        if (!prove_solver_run(command, question[k], (u32)strlen(question[k]), milliseconds_left(p), word, sizeof word) ||
            strcmp(word, answer[k]) != 0)
            return false;
    }
    return true;
}

static bool may_ask(Prover *p)
{
    if (!p->options->solver || p->solver.fails)
        return false;
    const char *command = prove_solver_command(p->options->solver);
    if (!p->solver.until) {
        p->solver.until = clock_now() + 1e-3 * p->options->solver_ms;
        p->solver.fails = !answers_right(p, command);
    }
    p->solver.fails |= milliseconds_left(p) == 0;
    return !p->solver.fails;
}

bool prove_solver_excludes(Prover *p, const Term *conditions, u32 n)
{
    char *text = NULL, word[64];
    size_t len = 0;
    if (!may_ask(p))
        return false;
    Script s = {.p = p, .t = &p->t, .out = open_memstream(&text, &len)};
    if (!s.out)
        return false;
    fprintf(s.out, "(set-logic QF_UFBV)\n");
    tell_facts(&s);
    for (u32 k = 0; k < n; k++) {
        tell(&s, conditions[k]);
        fprintf(s.out, "(assert (= t%u #b1))\n", conditions[k]);
    }
    fprintf(s.out, "(check-sat)\n(exit)\n");
    bool whole = !ferror(s.out); /* memory may have run out in between */
    whole &= fclose(s.out) == 0;
    p->outcome.verdict->queries++;
    bool unsat = whole && s.terms <= TERMS_MOST &&
                 prove_solver_run(prove_solver_command(p->options->solver), text, (u32)len, milliseconds_left(p), word,
                                  sizeof word) &&
                 strcmp(word, "unsat") == 0;
    free(text);
    fnvmap_free(&s.printed);
    fnvmap_free(&s.functions);
    return unsat;
}

bool prove_solver_equal(Prover *p, Term a, Term b)
{
    u32 bits = prove_bits(&p->t, a);
    if (bits != prove_bits(&p->t, b) || bits > 64)
        return false;
    Term differ = bits == 1 ? prove_xor(&p->t, a, b) : prove_rel(&p->t, a, b, ((1u << PROVE_RELS) - 1) & ~(1u << PROVE_EQ));
    if (prove_is_const(&p->t, differ))
        return !prove_node(&p->t, differ)->value;
    return prove_solver_excludes(p, &differ, 1);
}
