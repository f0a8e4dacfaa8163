/* One attempt to prove two functions the same: explores the product, then checks threads and barriers. */
#include "check/prove/attempt.h"

#include <string.h>

#include "check/prove/arguments.h"
#include "check/prove/locals.h"
#include "check/prove/term_division.h"

enum {
    LATE_TRIES = 3,
    STEPS_BASE = 200000, /* each attempt may take so many steps, */
    STEPS_EACH = 400,    /* and so many for each instruction of both texts */
    EFFORT_BASE = 400000000, /* likewise, or a part of that */
    EFFORT_EACH = 8000,
    MEMORY_BASE = 280 << 20, /* likewise each, in bytes, */
    MEMORY_EACH = 6 << 10,
    MEMORY_MAX = 1 << 30 /* up to this */
};

/* Name, parameters and directives: everything up to the brace. */
static bool same_head(const Function *f, const Function *g)
{
    Span a = {f->text.beg, f->open.beg}, b = {g->text.beg, g->open.beg};
    return str_equal(span_str(f->module, a), span_str(g->module, b));
}

/* The variables of a function that count, one after the other. */
typedef struct Variables {
    const Function *fn;
    SymId first, at, end;
    BitSet named; /* by SymId, from the first one on: instructions name it */
} Variables;

static Variables variables_of(Arena *arena, const Function *fn)
{
    Variables v = {.fn = fn};
    v.end = prove_variables_end(fn, &v.first);
    v.at = v.first;
    v.named = bitset_new(arena, v.end - v.first);
    for_each_block(b, fn)
        for_each_instr(i, b)
            for_each_slot(o, i)
                if (o->kind == OPND_SYM && o->id >= v.first && o->id < v.end)
                    bitset_add(&v.named, o->id - v.first);
    return v;
}

/* The next one, without those of its calls, and local ones that it does not name; NULL: there is none. */
static const Sym *next_variable(Variables *v)
{
    while (v->at < v->end) {
        SymId id = v->at++;
        const Sym *s = &v->fn->module->syms.v[id];
        if (s->owner == v->fn && s->kind == SYM_VAR && s->space != SPACE_PARAM &&
            (s->space != SPACE_LOCAL || bitset_has(&v->named, id - v->first)))
            return s;
    }
    return NULL;
}

static bool same_variable(const Function *f, const Sym *a, const Function *g, const Sym *b)
{
    return a->name->len == b->name->len && memcmp(a->name->text, b->name->text, a->name->len) == 0 &&
           a->space == b->space && a->type == b->type && a->bytes == b->bytes && a->align == b->align &&
           str_equal(span_str(f->module, a->text), span_str(g->module, b->text));
}

/* Variables of the function: the same ones in the same order, with the same text but for blanks in front of it. */
static bool same_variables(const Function *f, const Function *g)
{
    Arena arena = {0};
    Variables of_f = variables_of(&arena, f), of_g = variables_of(&arena, g);
    const Sym *a, *b;
    do {
        a = next_variable(&of_f);
        b = next_variable(&of_g);
    } while (a && b && same_variable(f, a, g, b));
    arena_free(&arena);
    return !a && !b;
}

/* The first instruction that is not known; NULL: all are. */
static const Instr *unknown_instruction(const Function *fn)
{
    for_each_block(b, fn)
        for_each_instr(i, b)
            if (i->kind == INSTR_OP && !i->op->known)
                return i;
    return NULL;
}

bool prove_is_comparable(const Function *before, const Function *after)
{
    return same_head(before, after) && same_variables(before, after) && !unknown_instruction(before) &&
           !unknown_instruction(after);
}

bool prove_init_sides(Prover *p, Pair *pair)
{
    if (!pair->has_graphs &&
        prove_graph_init(&pair->graph[PROVE_BEFORE], pair->before, true, pair->exits_part, &pair->arena, &pair->too_large))
        prove_graph_init(&pair->graph[PROVE_AFTER], pair->after, false, pair->exits_part, &pair->arena, &pair->too_large);
    pair->has_graphs = true;
    for (u32 side = 0; side < 2 && !pair->too_large; side++) {
        prove_machine_init(&p->side[side], &pair->graph[side], (ProveSide)side, &p->t);
        prove_arguments_init(&p->side[side]);
    }
    p->t.fn = pair->before;
    p->t.divides = prove_has_reciprocal(pair->after);
    return !pair->too_large;
}

static u32 count_instructions(const Function *fn)
{
    u32 n = 0;
    for_each_block(b, fn)
        for_each_instr(i, b)
            n++;
    return n;
}

/* The limits of an attempt: linear in the size of both texts. */
static void set_limits(Prover *p, const Pair *pair)
{
    u64 n = count_instructions(pair->before) + count_instructions(pair->after);
    u64 each = p->options->limit ? p->options->limit : STEPS_EACH, steps = STEPS_BASE + each * n;
    u64 effort = EFFORT_BASE / STEPS_EACH * each + EFFORT_EACH / STEPS_EACH * each * n;
    effort /= p->plan.effort_part ? p->plan.effort_part : 1;
    u64 memory = MEMORY_BASE + MEMORY_EACH * n;
    p->plan.step_limit = steps > UINT32_MAX / 2 ? UINT32_MAX / 2 : (u32)steps;
    p->plan.effort_limit = effort > pair->effort ? effort - pair->effort : 0;
    p->plan.memory_limit = memory < MEMORY_MAX ? memory : MEMORY_MAX;
}

static void prove_pair(Prover *p, Pair *pair)
{
    Function *before = pair->before, *after = pair->after;
    if (!same_head(before, after)) {
        prove_fail(p, PROVE_UNKNOWN, "the functions are declared differently");
        return;
    }
    if (!same_variables(before, after)) {
        prove_fail(p, PROVE_UNKNOWN, "the functions declare other variables");
        return;
    }
    const Instr *old = unknown_instruction(before), *unknown = old ? old : unknown_instruction(after);
    if (unknown) {
        prove_fail(p, PROVE_UNKNOWN, "construct: `%.100s` is not known", unknown->op->text->text);
        p->outcome.verdict->is_suspect = !old;
        return;
    }
    if (!prove_init_sides(p, pair)) {
        prove_fail(p, PROVE_UNKNOWN, "limit: %s", pair->too_large);
        return;
    }
    set_limits(p, pair);
    prove_threads_init(p);
    prove_explore(p);
    if (p->outcome.failed)
        return;
    prove_threads_done(p);
    if (p->outcome.failed)
        prove_blame_threads(p);
    else
        prove_barriers(p);
}

void prove_init(Prover *p)
{
    intern_init(&p->names, p->arena);
    prove_terms_init(&p->t, p->arena, &p->names);
    prove_product_init(&p->product);
    prove_groups_init(&p->groups);
}

void prove_free(Prover *p)
{
    for (u32 side = 0; side < 2; side++)
        prove_machine_free(&p->side[side]);
    prove_facts_free(&p->facts);
    prove_product_free(&p->product);
    prove_groups_free(&p->groups);
    prove_notes_free(&p->notes);
    prove_threads_free(&p->threads);
    vec_free(&p->barriers.accesses);
    prove_terms_free(&p->t);
    intern_free(&p->names);
}

/* Barriers that all paths left out; none if not all paths are known. */
static void barriers_left_out(const Prover *p, BitSet *early, Arena *arena)
{
    if (!p->barriers.skipped.word || !p->product.values_hold)
        return;
    *early = bitset_new(arena, p->barriers.skipped.bits);
    bitset_or(early, &p->barriers.skipped);
    bitset_andnot(early, &p->barriers.stays);
}

static bool same_set(const BitSet *a, const BitSet *b)
{
    if (!a->word || !b->word)
        return a->word == b->word;
    return a->bits == b->bits && bitset_subset(a, b) && bitset_subset(b, a);
}

bool prove_takes_same_steps(const Attempt *a, const Attempt *old)
{
    u32 least = a->plan.pass_limit < old->plan.pass_limit ? a->plan.pass_limit : old->plan.pass_limit;
    return a->plan.follows == old->plan.follows && a->plan.counts == old->plan.counts &&
           a->plan.restores == old->plan.restores && a->plan.iterates == old->plan.iterates &&
           same_set(&a->plan.early, &old->plan.early) &&
           (a->plan.pass_limit == old->plan.pass_limit || old->passed_most <= least);
}

/* Adds the questions that the next attempt asks later. */
static void add_late(Attempt *a, const Prover *p, Arena *arena)
{
    ProveLate *all = arena_array(arena, ProveLate, a->plan.lates + p->threads.more_late.n);
    for (u32 k = 0; k < a->plan.lates; k++)
        all[k] = a->plan.late[k];
    for (u32 k = 0; k < p->threads.more_late.n; k++)
        all[a->plan.lates + k] = p->threads.more_late.v[k];
    a->plan.late = all;
    a->plan.lates += p->threads.more_late.n;
}

static ProveVerdict run_once(Pair *pair, const ProveOptions *options, Attempt *a, Arena *arena)
{
    ProveVerdict verdict = {.answer = PROVE_PROVED, .why = ""};
    Arena own = {0};
    Prover p = {.arena = &own,
                .options = options,
                .plan = a->plan,
                .threads.callees = pair->callees,
                .outcome = {.verdict = &verdict, .arena = arena}};
    prove_init(&p);
    prove_pair(&p, pair);
    if (p.notes.promise && !p.outcome.failed) {
        prove_fail(&p, PROVE_UNKNOWN, "convergence: the %s in line %u of AFTER promises to be uniform, which is not seen",
                   p.notes.promise->op->opcode == OPC_CALL ? "call" : "return", prove_line(pair->after, p.notes.promise));
        prove_blame_threads(&p);
    }
    a->left_out = a->plan.early;
    barriers_left_out(&p, &a->left_out, arena);
    a->passed_most = p.effort.passed_most;
    a->was_large = prove_is_large(&p);
    a->was_spent = prove_is_spent(&p);
    pair->effort += prove_effort(&p);
    a->only_threads = p.outcome.only_threads;
    verdict.of_threads = p.outcome.only_threads && verdict.answer == PROVE_UNKNOWN;
    add_late(a, &p, arena);
    vec_clear(&pair->matched);
    for (u32 k = 0; k < p.threads.matched.n; k++)
        vec_push(&pair->matched, p.threads.matched.v[k]);
    pair->same_shape = p.threads.same_shape;
    verdict.nodes = p.product.nodes.n - 1;
    verdict.steps = p.effort.steps;
    verdict.work = p.t.work;
    prove_free(&p);
    arena_free(&own);
    return verdict;
}

ProveVerdict prove_attempt(Pair *pair, const ProveOptions *options, Attempt *a, Arena *arena)
{
    u32 lates = a->plan.lates;
    ProveVerdict verdict = run_once(pair, options, a, arena);
    for (u32 k = 0; k < LATE_TRIES && verdict.answer == PROVE_UNKNOWN && a->plan.lates > lates; k++) {
        lates = a->plan.lates;
        verdict = run_once(pair, options, a, arena);
    }
    return verdict;
}
