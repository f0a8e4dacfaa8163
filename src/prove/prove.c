#include "prove/prove.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "prove/barrier.h"
#include "prove/exits.h"
#include "prove/explore.h"
#include "prove/shape.h"

enum {
    REPLAYS = 12,
    REPLAY_EVENTS = 3000,
    REPLAY_STEPS = 100000,
    INPUTS_DESCRIBED = 12,
    LATE_TRIES = 3,
    ENDS_BLOCKS_MAX = 1 << 22
};

void prove_fail(Prover *p, ProveAnswer answer, const char *format, ...)
{
    char text[1200];
    va_list arguments;
    if (p->failed)
        return;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    p->failed = true;
    p->verdict->answer = answer;
    p->verdict->is_suspect = answer == PROVE_UNKNOWN;
    p->verdict->why = arena_copy(p->verdict_arena, text, strlen(text));
}

/* ---- what is declared ---------------------------------------------------------------------------------------------------- */

static bool same_str(Str a, Str b) { return a.len == b.len && memcmp(a.p, b.p, a.len) == 0; }

/* Name, parameters and directives: everything up to the brace. */
static bool same_head(const Function *f, const Function *g)
{
    Span a = {f->text.beg, f->open.beg}, b = {g->text.beg, g->open.beg};
    return same_str(span_str(f->module, a), span_str(g->module, b));
}

/* The next variable of the function, those of its calls left out; NULL: there is none. */
static const Sym *variable(const Function *fn, u32 *at)
{
    const Module *m = fn->module;
    while (*at < m->syms.n) {
        const Sym *s = &m->syms.v[(*at)++];
        if (s->owner == fn && s->kind == SYM_VAR && s->space != SPACE_PARAM)
            return s;
    }
    return NULL;
}

/* Variables of the function: the same ones in the same order, with the same text but for blanks in front of it. */
static bool same_variables(const Function *f, const Function *g)
{
    for (u32 i = 1, k = 1;;) {
        const Sym *a = variable(f, &i), *b = variable(g, &k);
        if (!a || !b)
            return !a && !b;
        if (a->name->len != b->name->len || memcmp(a->name->text, b->name->text, a->name->len) != 0 ||
            a->space != b->space || a->type != b->type || a->bytes != b->bytes || a->align != b->align ||
            !same_str(span_str(f->module, a->text), span_str(g->module, b->text)))
            return false;
    }
}

/* ---- one function ----------------------------------------------------------------------------------------------------------- */

/* The first instruction that is not known; NULL: all are. */
static const Instr *unknown_instruction(const Function *fn)
{
    for_each_block(b, fn)
        for_each_instr(i, b)
            if (i->kind == INSTR_OP && !i->op->known)
                return i;
    return NULL;
}

static bool is_comparable(const Function *before, const Function *after)
{
    return same_head(before, after) && same_variables(before, after) && !unknown_instruction(before) &&
           !unknown_instruction(after);
}

/* How a function is tried. */
typedef struct Attempt {
    u32 pass_limit; /* lone joins that a path passes */
    bool follows, counts, restores;
    u32 passed_most;       /* lone joins that a path came to */
    BitSet early;          /* barriers to leave out */
    BitSet left_out;       /* likewise, for another attempt */
    bool was_large;        /* it came to the limit of memory */
    bool only_threads;     /* why it failed; see Prover */
    const ProveLate *late; /* see there */
    u32 lates;
} Attempt;

/* Two functions, and what all attempts at them share. */
typedef struct Pair {
    Function *before, *after;
    Arena arena;
    Graph graph[2]; /* made on demand */
    bool exits_part;
    bool has_graphs;
    const char *too_large; /* NULL: they are not */
    Attempt proved_by;
    VEC(ProveMatched) matched; /* by the attempt that proved it, as is the next one */
    bool same_shape;
} Pair;

/* False: the functions are too large. */
static bool init_sides(Prover *p, Pair *pair)
{
    if (!pair->has_graphs &&
        prove_graph_init(&pair->graph[PROVE_BEFORE], pair->before, true, pair->exits_part, &pair->arena, &pair->too_large))
        prove_graph_init(&pair->graph[PROVE_AFTER], pair->after, false, pair->exits_part, &pair->arena, &pair->too_large);
    pair->has_graphs = true;
    for (u32 side = 0; side < 2 && !pair->too_large; side++)
        prove_machine_init(&p->side[side], &pair->graph[side], (ProveSide)side, &p->t);
    p->t.fn = pair->before;
    return !pair->too_large;
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
        p->verdict->is_suspect = !old;
        return;
    }
    if (!init_sides(p, pair)) {
        prove_fail(p, PROVE_UNKNOWN, "limit: %s", pair->too_large);
        return;
    }
    prove_threads_init(p);
    prove_explore(p);
    if (p->failed)
        return;
    prove_threads_done(p);
    p->only_threads = p->failed;
    if (!p->failed)
        prove_barriers(p);
}

static void prover_init(Prover *p)
{
    intern_init(&p->names, p->arena);
    prove_terms_init(&p->t, p->arena, &p->names);
    vec_push(&p->nodes, ((Node *)NULL));
    vec_push(&p->groups, ((VecU32){0}));
}

static void prover_free(Prover *p)
{
    for (u32 side = 0; side < 2; side++)
        prove_machine_free(&p->side[side]);
    for (u32 k = 1; k < p->nodes.n; k++) {
        vec_free(&p->nodes.v[k]->arrivals);
        vec_free(&p->nodes.v[k]->next);
    }
    for (u32 k = 0; k < p->groups.n; k++)
        vec_free(&p->groups.v[k]);
    vec_free(&p->facts);
    vec_free(&p->accesses);
    vec_free(&p->fact_of);
    vec_free(&p->learned);
    vec_free(&p->nodes);
    vec_free(&p->queue);
    vec_free(&p->groups);
    vec_free(&p->at_events);
    vec_free(&p->passings);
    vec_free(&p->newest_passing);
    fnvmap_free(&p->at_event_of);
    fnvmap_free(&p->passing_of);
    for (u32 k = 0; k < p->waiting.n; k++)
        vec_free(&p->waiting.v[k]);
    vec_free(&p->waiting);
    vec_free(&p->more_late);
    vec_free(&p->matched);
    fnvmap_free(&p->node_of);
    fnvmap_free(&p->group_of);
    fnvmap_free(&p->group_ops);
    fnvmap_free(&p->answers);
    fnvmap_free(&p->edges_told);
    prove_callees_free(&p->callees);
    prove_terms_free(&p->t);
    intern_free(&p->names);
}

/* Barriers that all paths left out; none if not all paths are known. */
static void barriers_left_out(const Prover *p, BitSet *early, Arena *arena)
{
    if (!p->skipped.word || !p->values_hold)
        return;
    *early = bitset_new(arena, p->skipped.bits);
    bitset_or(early, &p->skipped);
    bitset_andnot(early, &p->stays);
}

static bool same_set(const BitSet *a, const BitSet *b)
{
    if (!a->word || !b->word)
        return a->word == b->word;
    return a->bits == b->bits && bitset_subset(a, b) && bitset_subset(b, a);
}

/* Whether the attempt takes the steps of `old`, which came to its limit of lone joins no more than this one will. */
static bool takes_same_steps(const Attempt *a, const Attempt *old)
{
    u32 least = a->pass_limit < old->pass_limit ? a->pass_limit : old->pass_limit;
    return a->follows == old->follows && a->counts == old->counts && a->restores == old->restores &&
           same_set(&a->early, &old->early) && (a->pass_limit == old->pass_limit || old->passed_most <= least);
}

/* What the next attempt asks later. */
static void add_late(Attempt *a, const Prover *p, Arena *arena)
{
    ProveLate *all = arena_array(arena, ProveLate, a->lates + p->more_late.n);
    for (u32 k = 0; k < a->lates; k++)
        all[k] = a->late[k];
    for (u32 k = 0; k < p->more_late.n; k++)
        all[a->lates + k] = p->more_late.v[k];
    a->late = all;
    a->lates += p->more_late.n;
}

static ProveVerdict run_once(Pair *pair, const ProveOptions *options, Attempt *a, Arena *arena)
{
    ProveVerdict verdict = {.answer = PROVE_PROVED, .why = ""};
    Arena own = {0};
    Prover p = {.arena = &own,
                .options = options,
                .verdict = &verdict,
                .verdict_arena = arena,
                .pass_limit = a->pass_limit,
                .follows = a->follows,
                .counts = a->counts,
                .restores = a->restores,
                .early = a->early,
                .late = a->late,
                .lates = a->lates};
    prover_init(&p);
    prove_pair(&p, pair);
    a->left_out = a->early;
    barriers_left_out(&p, &a->left_out, arena);
    a->passed_most = p.passed_most;
    a->was_large = prove_is_large(&own);
    a->only_threads = p.only_threads;
    add_late(a, &p, arena);
    vec_clear(&pair->matched);
    for (u32 k = 0; k < p.matched.n; k++)
        vec_push(&pair->matched, p.matched.v[k]);
    pair->same_shape = p.same_shape;
    verdict.nodes = p.nodes.n - 1;
    verdict.steps = p.steps;
    verdict.work = p.t.work;
    prover_free(&p);
    arena_free(&own);
    return verdict;
}

/* Once more where threads wait too early only before events that nobody sees. */
static ProveVerdict run_attempt(Pair *pair, const ProveOptions *options, Attempt *a, Arena *arena)
{
    u32 lates = a->lates;
    ProveVerdict verdict = run_once(pair, options, a, arena);
    for (u32 k = 0; k < LATE_TRIES && verdict.answer == PROVE_UNKNOWN && a->lates > lates; k++) {
        lates = a->lates;
        verdict = run_once(pair, options, a, arena);
    }
    return verdict;
}

/* ---- refutation ------------------------------------------------------------------------------------------------------------ */

/* Into the verdict. */
static void list_inputs(const Prover *p)
{
    static const char *const component[] = {"", ".x", ".y", ".z", ".w"};
    const u32 *v = p->t.inputs.v;
    ProveInput *input = arena_array(p->verdict_arena, ProveInput, p->t.inputs.n / 6 + 1);
    for (u32 k = 0; k + 5 < p->t.inputs.n; k += 6) {
        bool is_sreg = v[k] == PROVE_SYM_SREG;
        const char *name = is_sreg ? sreg_info(v[k + 1])->name : p->t.name.v[v[k + 1]]->text;
        const char *part = is_sreg && v[k + 2] < COUNT_OF(component) ? component[v[k + 2]] : "";
        input[k / 6] = (ProveInput){.name = arena_printf(p->verdict_arena, "%s%s", name, part),
                                    .bits = v[k + 3],
                                    .value = v[k + 4] | (u64)v[k + 5] << 32};
    }
    p->verdict->input = input;
    p->verdict->inputs = p->t.inputs.n / 6;
}

static const char *describe_inputs(const Prover *p)
{
    char *text = arena_printf(p->arena, "%s", "");
    for (u32 k = 0; k < p->verdict->inputs && k < INPUTS_DESCRIBED; k++)
        text = arena_printf(p->arena, "%s%s%s=%llu", text, k ? ", " : "", p->verdict->input[k].name,
                            (unsigned long long)p->verdict->input[k].value);
    return text;
}

/* Both sides on one set of inputs; false: they did not come to differ, or what they computed was guessed: that is suspect. */
static bool refute_by(Prover *p, Pair *pair, u64 seed)
{
    const char *why = NULL;
    char at[2][200];
    p->t.seed = seed;
    p->step_limit = REPLAY_STEPS;
    p->pass_limit = UINT32_MAX;
    if (!init_sides(p, pair) || !prove_replay(p, REPLAY_EVENTS, &why))
        return false;
    p->verdict->is_suspect = true;
    if (p->t.guessed)
        return false;
    list_inputs(p);
    for (u32 side = 0; side < 2; side++)
        prove_describe(p, (ProveSide)side, at[side], sizeof at[side]);
    prove_fail(p, PROVE_REFUTED, "event %u, %s: %s and %s, with %s", p->t.moment, why, at[0], at[1], describe_inputs(p));
    return true;
}

/* Looks for inputs on which one thread does something else; what loads and calls return is arbitrary. */
static bool refute(Pair *pair, const ProveOptions *options, ProveVerdict *verdict, Arena *arena)
{
    for (u64 seed = 1; seed <= REPLAYS; seed++) {
        Arena own = {0};
        Prover p = {.arena = &own, .options = options, .verdict = verdict, .verdict_arena = arena};
        prover_init(&p);
        bool refuted = refute_by(&p, pair, seed * 0x9e3779b97f4a7c15u);
        prover_free(&p);
        arena_free(&own);
        if (refuted)
            return true;
    }
    return false;
}

/* How many registers of 32 bits count down by 1. */
static u32 countdowns(const Function *fn)
{
    u32 count = 0;
    for_each_block(b, fn)
        for_each_instr(i, b)
            count += i->kind == INSTR_OP && i->op->opcode == OPC_ADD && i->slots == 3 && i->opnd[0].kind == OPND_REG &&
                     i->opnd[1].kind == OPND_REG && i->opnd[0].id == i->opnd[1].id && i->opnd[2].kind == OPND_IMM &&
                     (u32)i->opnd[2].value == UINT32_MAX && type_bits((Type)i->op->type[0]) == 32;
    return count;
}

/* A path that passes many joins knows more, but there are more of them. Where it is only the threads that fail there are no inputs to
 * find; that says more than why others failed, and attempts that are about values, to follow and to restore, are not made. */
static ProveVerdict try_all(Pair *pair, const ProveOptions *options, Arena *arena)
{
    Attempt attempts[] = {{.pass_limit = 4},
                          {.pass_limit = 4, .follows = true},
                          {.pass_limit = 0},
                          {.pass_limit = 16, .follows = true},
                          {.pass_limit = 4, .counts = true},
                          {.pass_limit = 4, .restores = true}};
    ProveVerdict first = run_attempt(pair, options, &attempts[0], arena);
    pair->proved_by = attempts[0];
    if (first.answer != PROVE_UNKNOWN || attempts[0].was_large || !is_comparable(pair->before, pair->after) ||
        (!attempts[0].only_threads && refute(pair, options, &first, arena)))
        return first;
    bool only_threads = attempts[0].only_threads;
    for (u32 k = 1; k < COUNT_OF(attempts); k++) {
        Attempt *a = &attempts[k];
        u32 old = 0;
        a->early = a->left_out = attempts[k - 1].left_out;
        if ((a->counts && countdowns(pair->after) <= countdowns(pair->before)) || (a->restores && only_threads) ||
            (a->follows && attempts[0].only_threads))
            continue;
        while (old < k && !takes_same_steps(a, &attempts[old]))
            old++;
        if (old < k) {
            a->passed_most = attempts[old].passed_most;
            a->left_out = attempts[old].left_out;
            continue;
        }
        ProveVerdict next = run_attempt(pair, options, a, arena);
        pair->proved_by = *a;
        if (next.answer != PROVE_UNKNOWN)
            return next;
        next.is_suspect |= first.is_suspect;
        first.is_suspect = next.is_suspect;
        if (a->only_threads && !only_threads)
            first = next;
        only_threads |= a->only_threads;
        if (a->was_large)
            return first;
    }
    return first;
}

/* Whether something sees who is there, or calls what may. */
static bool sees_threads(const Function *fn)
{
    for_each_block(b, fn)
        for_each_instr(i, b)
            if (i->kind == INSTR_OP && op_has(i->op, OPF_CONVERGENT) && !op_has(i->op, OPF_NAMES_THREADS))
                return true;
    return false;
}

static bool has_guarded_exit(const Function *fn)
{
    for_each_block(b, fn) {
        const Instr *end = block_terminator(b);
        if (end && end->guard && op_has(end->op, OPF_NO_RETURN))
            return true;
    }
    return false;
}

/* The exits of both texts, and where threads wait. */
typedef struct Ends {
    VecU32 exits[2];
    Waits waits[2];
    Callees callees;
    u64 reached; /* blocks that were looked at */
    bool paired; /* the exits of both correspond */
} Ends;

/* Whether it is another thing if exit k of the text is the end, than if all are. */
static bool matters(Pair *pair, ProveSide side, Pair *ended, Ends *ends, u32 k)
{
    Graph *all = &pair->graph[side], *one = &ended->graph[side];
    *one = prove_end_at(all, ends->exits[side].v[k], &ended->arena);
    u64 reached = all->reached + one->reached;
    bool joins = prove_joins_earlier(all, one, &ends->waits[side], side == PROVE_AFTER);
    ends->reached += all->reached + one->reached - reached + all->n;
    return joins || ends->reached > ENDS_BLOCKS_MAX;
}

/* Whether AFTER is proved also if exit k is the end of both texts. Those that do not correspond must not matter. */
static bool holds_at_end(Pair *pair, const ProveOptions *options, Ends *ends, u32 k, Arena *arena)
{
    Pair ended = {.before = pair->before, .after = pair->after, .has_graphs = true};
    bool asks = false;
    for (u32 side = 0; side < 2; side++)
        asks |= k < ends->exits[side].n && matters(pair, (ProveSide)side, &ended, ends, k);
    Attempt again = pair->proved_by;
    bool holds = !asks || (ends->paired && ends->reached <= ENDS_BLOCKS_MAX &&
                           run_attempt(&ended, options, &again, arena).answer == PROVE_PROVED);
    vec_free(&ended.matched);
    arena_free(&ended.arena);
    return holds;
}

static bool holds_at_each_end(Pair *pair, const ProveOptions *options, Ends *ends, Arena *arena)
{
    Graph *before = &pair->graph[PROVE_BEFORE], *after = &pair->graph[PROVE_AFTER];
    bool holds = true;
    ends->waits[PROVE_BEFORE] = prove_waits(before, &ends->callees, false);
    ends->waits[PROVE_AFTER] = prove_waits(after, &ends->callees, false);
    ends->paired = prove_pair_exits(before, &ends->exits[PROVE_BEFORE], after, &ends->exits[PROVE_AFTER], pair->matched.v,
                                    pair->matched.n);
    for (u32 k = 0; (k < ends->exits[PROVE_BEFORE].n || k < ends->exits[PROVE_AFTER].n) && holds; k++)
        holds = holds_at_end(pair, options, ends, k, arena);
    return holds;
}

/* Texts of one shape are alike whichever exit is the end; but with other blocks between the same events ptxas may take another one. */
static bool keeps_end(Pair *pair, Ends *ends)
{
    Pair ended = {.before = pair->before, .after = pair->after};
    bool asks = false;
    for (u32 side = 0; side < 2; side++) {
        ends->waits[side] = prove_waits(&pair->graph[side], &ends->callees, false);
        for (u32 k = 0; k < ends->exits[side].n && !asks; k++)
            asks = matters(pair, (ProveSide)side, &ended, ends, k);
    }
    arena_free(&ended.arena);
    return !asks || prove_pair_exits(&pair->graph[PROVE_BEFORE], &ends->exits[PROVE_BEFORE], &pair->graph[PROVE_AFTER],
                                     &ends->exits[PROVE_AFTER], pair->matched.v, pair->matched.n);
}

/* What is proved if all paths lead to one end: whether it holds whichever exit ptxas takes for that. */
static bool holds_at_ends(Pair *pair, const ProveOptions *options, Arena *arena)
{
    Ends ends = {0};
    bool asks = false;
    for (u32 side = 0; side < 2; side++)
        asks |= prove_exits(&pair->graph[side], &ends.exits[side], &pair->arena) && pair->matched.n > 0;
    bool holds = !asks || (pair->same_shape ? keeps_end(pair, &ends) : holds_at_each_end(pair, options, &ends, arena));
    prove_callees_free(&ends.callees);
    for (u32 side = 0; side < 2; side++)
        vec_free(&ends.exits[side]);
    return holds;
}

/* Threads of which some leave under a guard may reconverge, or not: who sees which are there must see the same both times. */
ProveVerdict prove_function(Function *before, Function *after, const ProveOptions *options, Arena *arena)
{
    Pair pair = {.before = before, .after = after};
    ProveVerdict verdict = try_all(&pair, options, arena);
    if (verdict.answer == PROVE_PROVED && !holds_at_ends(&pair, options, arena)) {
        verdict.answer = PROVE_UNKNOWN;
        verdict.why =
            "waiting: threads that diverge may wait for one another in front of an exit, where they may not in BEFORE";
    }
    vec_free(&pair.matched);
    arena_free(&pair.arena);
    if (verdict.answer == PROVE_PROVED && sees_threads(before) && (has_guarded_exit(before) || has_guarded_exit(after))) {
        Pair strict = {.before = before, .after = after, .exits_part = true};
        verdict = try_all(&strict, options, arena);
        vec_free(&strict.matched);
        arena_free(&strict.arena);
    }
    return verdict;
}

/* ---- whole texts ------------------------------------------------------------------------------------------------------------- */

static Function *definition(const Module *m, const Name *name, u32 nth)
{
    for (u32 k = 0; k < m->functions.n; k++) {
        Function *fn = m->functions.v[k];
        if (fn->is_definition && fn->name->len == name->len && memcmp(fn->name->text, name->text, name->len) == 0 &&
            nth-- == 0)
            return fn;
    }
    return NULL;
}

/* Where the text from `at` on, outside of functions with a body, ends; `next` is the first such function after it. */
static u32 gap_end(const Module *m, u32 at, u32 *next)
{
    while (*next < m->functions.n && (!m->functions.v[*next]->is_definition || m->functions.v[*next]->text.beg < at))
        ++*next;
    return *next < m->functions.n ? m->functions.v[*next]->text.beg : m->text.len;
}

const char *prove_differs_outside(const Module *before, const Module *after)
{
    u32 at = 0, to = 0, i = 0, k = 0;
    for (;;) {
        Span a = {at, gap_end(before, at, &i)}, b = {to, gap_end(after, to, &k)};
        if (!same_str(span_str(before, a), span_str(after, b)))
            return "the texts differ outside of functions";
        if (i == before->functions.n || k == after->functions.n)
            return i == before->functions.n && k == after->functions.n ? NULL : "one text has more functions";
        const Function *f = before->functions.v[i], *g = after->functions.v[k];
        if (f->name->len != g->name->len || memcmp(f->name->text, g->name->text, f->name->len) != 0)
            return "the functions stand in another order";
        at = f->text.end;
        to = g->text.end;
    }
}

ProveAnswer prove_modules(Module *before, Module *after, const ProveOptions *options, ProveReport *report, void *user)
{
    ProveAnswer worst = PROVE_PROVED;
    const char *outside = prove_differs_outside(before, after);
    Arena arena = {0};
    if (outside) {
        ProveVerdict v = {.answer = PROVE_UNKNOWN, .why = outside};
        report(user, "the module", &v);
        worst = PROVE_UNKNOWN;
    }
    for (u32 k = 0; k < before->functions.n && !outside; k++) {
        Function *f = before->functions.v[k], *g = f->is_definition ? definition(after, f->name, 0) : NULL;
        if (!g || same_str(span_str(before, f->text), span_str(after, g->text)))
            continue;
        ProveVerdict v = prove_function(f, g, options, &arena);
        report(user, f->name->text, &v);
        worst = v.answer > worst ? v.answer : worst;
    }
    arena_free(&arena);
    return worst;
}
