/* Refutation: both functions on numbers, one thread alone, until they differ. */
#include "check/prove/attempt.h"

#include <string.h>

enum { REPLAYS = 12, REPLAY_EVENTS = 3000, REPLAY_STEPS = 100000, INPUTS_DESCRIBED = 12 };

/* Into the verdict. */
static void list_inputs(const Prover *p)
{
    static const char *const component[] = {"", ".x", ".y", ".z", ".w"};
    const u32 *v = p->t.inputs.v;
    ProveInput *input = arena_array(p->outcome.arena, ProveInput, p->t.inputs.n / 6 + 1);
    for (u32 k = 0; k + 5 < p->t.inputs.n; k += 6) {
        bool is_sreg = v[k] == PROVE_SYM_SREG;
        const char *name = is_sreg ? sreg_info(v[k + 1])->name : p->t.name.v[v[k + 1]]->text;
        const char *part = is_sreg && v[k + 2] < COUNT_OF(component) ? component[v[k + 2]] : "";
        input[k / 6] = (ProveInput){.name = arena_printf(p->outcome.arena, "%s%s", name, part),
                                    .bits = v[k + 3],
                                    .value = v[k + 4] | (u64)v[k + 5] << 32};
    }
    p->outcome.verdict->input = input;
    p->outcome.verdict->inputs = p->t.inputs.n / 6;
}

static const char *describe_inputs(const Prover *p)
{
    char *text = arena_printf(p->arena, "%s", "");
    for (u32 k = 0; k < p->outcome.verdict->inputs && k < INPUTS_DESCRIBED; k++)
        text = arena_append(p->arena, text, ", ", "%s=%llu", p->outcome.verdict->input[k].name,
                            (unsigned long long)p->outcome.verdict->input[k].value);
    return text;
}

/* Whether only one of them calls some function whose body is at hand, or that is not known. Bodies may do the same under
 * other names, or in place. */
static bool calls_something_else(const Prover *p)
{
    const Sym *callee[2] = {NULL, NULL};
    bool calls = false, has_body = false;
    for (u32 side = 0; side < 2; side++) {
        const Instr *i = p->path.place[side].at;
        if (!i || i->kind != INSTR_OP || !op_has(i->op, OPF_CALL))
            continue;
        SymId sym = call_callee(i);
        callee[side] = sym ? &p->side[side].fn->module->syms.v[sym] : NULL;
        calls = true;
        has_body |= !sym || (callee[side]->function && callee[side]->function->is_definition);
    }
    bool same = callee[0] && callee[1] && strcmp(callee[0]->name->text, callee[1]->name->text) == 0;
    return calls && has_body && !same;
}

/* Whether one of them accesses memory that may be the thread's own, which nobody else can tell. */
static bool accesses_own_memory(const Prover *p)
{
    for (u32 side = 0; side < 2; side++) {
        const Instr *i = p->path.place[side].at;
        if (i && i->kind == INSTR_OP && op_has(i->op, OPF_PLAIN_ACCESS) && i->op->space == SPACE_LOCAL)
            return true;
    }
    return false;
}

/* Both sides on one set of inputs; false: they did not come to differ, or what they computed was guessed: that is suspect. */
static bool refute_by(Prover *p, Pair *pair, u64 seed)
{
    const char *why = NULL;
    p->t.seed = seed;
    p->plan.step_limit = REPLAY_STEPS;
    p->plan.effort_limit = p->plan.memory_limit = UINT64_MAX;
    p->plan.pass_limit = UINT32_MAX;
    if (!prove_init_sides(p, pair) || !prove_replay(p, REPLAY_EVENTS, &why) || accesses_own_memory(p))
        return false;
    p->outcome.verdict->is_suspect = true;
    if (p->t.guessed || calls_something_else(p))
        return false;
    list_inputs(p);
    prove_fail(p, PROVE_REFUTED, "event %u, %s: %s and %s, with %s", p->t.moment, why, prove_describe(p, PROVE_BEFORE),
               prove_describe(p, PROVE_AFTER), describe_inputs(p));
    return true;
}

bool prove_refute(Pair *pair, const ProveOptions *options, ProveVerdict *verdict, Arena *arena)
{
    for (u64 seed = 1; seed <= REPLAYS; seed++) {
        Arena own = {0};
        Prover p = {.arena = &own,
                    .options = options,
                    .threads.callees = pair->callees,
                    .outcome = {.verdict = verdict, .arena = arena}};
        prove_init(&p);
        bool refuted = refute_by(&p, pair, seed * 0x9e3779b97f4a7c15u);
        prove_free(&p);
        arena_free(&own);
        if (refuted)
            return true;
    }
    return false;
}
