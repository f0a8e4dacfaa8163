#include "check/prove/prove.h"

#include <string.h>

#include "check/prove/attempt.h"
#include "check/prove/exits.h"
#include "check/prove/locals.h"
#include "check/prove/summary.h"

enum { ENDS_BLOCKS_MAX = 1 << 22 };

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

static u32 loops(const ProveGraph *g)
{
    u32 count = 0;
    for (u32 k = 0; k < g->n; k++)
        count += g->is_join[k] == JOIN_LOOP;
    return count;
}

static bool names_limit(const ProveVerdict *v) { return strncmp(v->why, "limit: ", 7) == 0; }

/* The first verdict, if the last attempt came to a bound: the reason names that as well. */
static ProveVerdict beyond(ProveVerdict first, const ProveVerdict *last, Arena *arena)
{
    if (names_limit(last) && !names_limit(&first))
        first.why = strstr(first.why, "; limit: ") ? first.why : arena_printf(arena, "%s; %s", first.why, last->why);
    return first;
}

/* A path that passes many joins knows more, but there are more of them. Where only the threads fail, there are no inputs
 * to find. That says more than why others failed, so attempts about values, to follow and to restore, are not made. */
static ProveVerdict try_all(Pair *pair, const ProveOptions *options, Arena *arena)
{
    enum { LATER = 8 /* attempts that differ little from the first one get so small a part of its work */ };
    Attempt attempts[] = {{.plan.pass_limit = 4},
                          {.plan.pass_limit = 4, .plan.follows = true, .plan.effort_part = LATER},
                          {.plan.pass_limit = 0, .plan.effort_part = LATER},
                          {.plan.pass_limit = 16, .plan.follows = true, .plan.effort_part = LATER},
                          {.plan.pass_limit = 4, .plan.counts = true},
                          {.plan.pass_limit = 4, .plan.restores = true, .plan.effort_part = LATER},
                          {.plan.pass_limit = 4, .plan.counts = true, .plan.iterates = true}};
    ProveVerdict first = prove_attempt(pair, options, &attempts[0], arena);
    pair->proved_by = attempts[0];
    if (first.answer != PROVE_UNKNOWN || !prove_is_comparable(pair->before, pair->after) ||
        (!attempts[0].only_threads && prove_refute(pair, options, &first, arena)) || attempts[0].was_large)
        return first;
    bool only_threads = attempts[0].only_threads;
    for (u32 k = 1; k < COUNT_OF(attempts); k++) {
        Attempt *a = &attempts[k];
        u32 old = 0;
        a->plan.early = a->left_out = attempts[k - 1].left_out;
        if ((a->plan.iterates ? loops(&pair->graph[PROVE_AFTER]) <= loops(&pair->graph[PROVE_BEFORE])
                              : a->plan.counts && countdowns(pair->after) <= countdowns(pair->before)) ||
            (a->plan.restores && only_threads) || (a->plan.follows && attempts[0].only_threads))
            continue;
        while (old < k && !prove_takes_same_steps(a, &attempts[old]))
            old++;
        if (old < k) {
            a->passed_most = attempts[old].passed_most;
            a->left_out = attempts[old].left_out;
            continue;
        }
        pair->effort = 0;
        ProveVerdict next = prove_attempt(pair, options, a, arena);
        pair->proved_by = *a;
        if (next.answer != PROVE_UNKNOWN)
            return next;
        next.is_suspect |= first.is_suspect;
        first.is_suspect = next.is_suspect;
        if (a->only_threads && !only_threads)
            first = next;
        only_threads |= a->only_threads;
        if (a->was_spent || a->was_large)
            first = beyond(first, &next, arena);
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
    u64 reached; /* blocks that were looked at */
    bool paired; /* the exits of both correspond */
    ProveExitPairs pairs;
    bool together; /* of what was asked last: it matters who comes together, not who waits alone */
    u64 effort;        /* of the attempts with one exit as the end, which have a limit of their own */
    const char *limit; /* the bound that keeps it from being shown; NULL: none does */
} Ends;

/* Whether it is another thing if exit k of the text is the end, than if all are. */
static bool matters(Pair *pair, ProveSide side, Pair *ended, Ends *ends, u32 k)
{
    ProveGraph *all = &pair->graph[side], *one = &ended->graph[side];
    *one = prove_end_at(all, ends->exits[side].v[k], &ended->arena);
    u64 reached = all->reached + one->reached;
    bool together = prove_joins_earlier(all, one, &ends->waits[side], false);
    bool joins = together || (side == PROVE_AFTER && prove_joins_earlier(all, one, &ends->waits[side], true));
    ends->together |= together;
    ends->reached += all->reached + one->reached - reached + all->n;
    return joins || ends->reached > ENDS_BLOCKS_MAX;
}

static bool proved_at_end(Pair *ended, const ProveOptions *options, Ends *ends, Arena *arena)
{
    if (ends->reached > ENDS_BLOCKS_MAX) {
        ends->limit = "limit: too many blocks lead to exits";
        return false;
    }
    Attempt again = ended->proved_by;
    again.plan.effort_part = 1;
    ProveVerdict verdict = prove_attempt(ended, options, &again, arena);
    ends->limit = verdict.answer != PROVE_PROVED && names_limit(&verdict) ? verdict.why : NULL;
    return verdict.answer == PROVE_PROVED;
}

/* Whether AFTER is proved also if exit k is the end of both texts. Those that do not correspond must not matter. */
static bool holds_at_end(Pair *pair, const ProveOptions *options, Ends *ends, u32 k, Arena *arena)
{
    Pair ended = {.before = pair->before,
                  .after = pair->after,
                  .callees = pair->callees,
                  .has_graphs = true,
                  .effort = ends->effort,
                  .proved_by = pair->proved_by};
    bool asks = false;
    ends->together = false;
    for (u32 side = 0; side < 2; side++)
        asks |= k < ends->exits[side].n && matters(pair, (ProveSide)side, &ended, ends, k);
    bool holds = !asks || (ends->paired && k < ends->exits[PROVE_AFTER].n &&
                           prove_end_is_as_likely(&ends->pairs, k, ends->together) &&
                           proved_at_end(&ended, options, ends, arena));
    ends->effort = ended.effort;
    vec_free(&ended.matched);
    arena_free(&ended.arena);
    return holds;
}

static bool holds_at_each_end(Pair *pair, const ProveOptions *options, Ends *ends, Arena *arena)
{
    ProveGraph *before = &pair->graph[PROVE_BEFORE], *after = &pair->graph[PROVE_AFTER];
    bool holds = true;
    ends->waits[PROVE_BEFORE] = prove_waits(before, pair->callees);
    ends->waits[PROVE_AFTER] = prove_waits(after, pair->callees);
    ends->paired = prove_pair_exits(pair->graph, ends->exits, pair->matched.v, pair->matched.n, &ends->pairs);
    for (u32 k = 0; (k < ends->exits[PROVE_BEFORE].n || k < ends->exits[PROVE_AFTER].n) && holds; k++)
        holds = holds_at_end(pair, options, ends, k, arena);
    return holds;
}

/* Texts of one shape are alike whichever exit is the end; but with other blocks between the same events ptxas may take another one. */
static bool keeps_end(Pair *pair, Ends *ends)
{
    Pair ended = {.before = pair->before, .after = pair->after, .callees = pair->callees};
    bool asks = false;
    for (u32 side = 0; side < 2; side++) {
        ends->waits[side] = prove_waits(&pair->graph[side], pair->callees);
        for (u32 k = 0; k < ends->exits[side].n && !asks; k++)
            asks = matters(pair, (ProveSide)side, &ended, ends, k);
    }
    arena_free(&ended.arena);
    bool kept = !asks || prove_pair_exits(pair->graph, ends->exits, pair->matched.v, pair->matched.n, &ends->pairs);
    for (u32 k = 0; k < ends->exits[PROVE_AFTER].n && asks && kept; k++)
        kept = prove_end_is_as_likely(&ends->pairs, k, true);
    return kept;
}

/* Why what is proved if all paths lead to one end may not hold whichever exit ptxas takes for that. NULL: it holds. */
static const char *why_not_at_ends(Pair *pair, const ProveOptions *options, Arena *arena)
{
    Ends ends = {0};
    bool asks = false;
    for (u32 side = 0; side < 2; side++)
        asks |= prove_exits(&pair->graph[side], &ends.exits[side], &pair->arena) && pair->matched.n > 0;
    for (u32 side = 0; side < 2 && asks; side++)
        prove_summarize(pair->callees, side == PROVE_BEFORE ? pair->before : pair->after);
    bool holds = !asks || (pair->same_shape ? keeps_end(pair, &ends) : holds_at_each_end(pair, options, &ends, arena));
    if (!holds && !ends.limit && ends.exits[PROVE_BEFORE].n > EXITS_MAX)
        ends.limit = "limit: too many exits";
    for (u32 side = 0; side < 2; side++)
        vec_free(&ends.exits[side]);
    if (holds)
        return NULL;
    return ends.limit ? ends.limit : "waiting: threads that diverge may wait for one another in front of an exit, where they may not in BEFORE";
}

/* Threads of which some leave under a guard may reconverge, or not: who sees which are there must see the same both times. */
ProveVerdict prove_function(Function *before, Function *after, Callees *callees, const ProveOptions *options, Arena *arena)
{
    prove_drop_locals(before, after);
    Pair pair = {.before = before, .after = after, .callees = callees};
    ProveVerdict verdict = try_all(&pair, options, arena);
    bool is_proved = verdict.answer == PROVE_PROVED;
    const char *why_not = is_proved && !options->threads_alone ? why_not_at_ends(&pair, options, arena) : NULL;
    if (why_not) {
        verdict.answer = PROVE_UNKNOWN;
        verdict.why = why_not;
    }
    vec_free(&pair.matched);
    arena_free(&pair.arena);
    if (verdict.answer == PROVE_PROVED && sees_threads(before) && (has_guarded_exit(before) || has_guarded_exit(after))) {
        Pair strict = {.before = before, .after = after, .callees = callees, .exits_part = true};
        verdict = try_all(&strict, options, arena);
        vec_free(&strict.matched);
        arena_free(&strict.arena);
    }
    return verdict;
}

/* ---- whole texts ------------------------------------------------------------------------------------------------------------- */

/* The next function with a body; *at becomes its place. NULL: there is none. */
static Function *next_definition(const Module *m, u32 *at)
{
    while (*at < m->functions.n && !m->functions.v[*at]->is_definition)
        ++*at;
    return *at < m->functions.n ? m->functions.v[(*at)++] : NULL;
}

/* The end of the text from `at` on that is outside of functions with a body. *next becomes the first such function after
 * it. */
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
        if (!str_equal(span_str(before, a), span_str(after, b)))
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
    Callees *callees = prove_callees(&arena, before, after);
    for (u32 i = 0, k = 0; !outside;) {
        Function *f = next_definition(before, &i), *g = next_definition(after, &k);
        if (!f || !g)
            break;
        if (str_equal(span_str(before, f->text), span_str(after, g->text)))
            continue;
        ProveVerdict v = prove_function(f, g, callees, options, &arena);
        report(user, f->name->text, &v);
        worst = v.answer > worst ? v.answer : worst;
    }
    arena_free(&arena);
    return worst;
}
