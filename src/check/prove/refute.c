/* Refutation: both functions on numbers, one thread alone, until they come to differ. */
#include "check/prove/attempt.h"

#include "check/prove/explore.h"

enum { REPLAYS = 12, REPLAY_EVENTS = 3000, REPLAY_STEPS = 100000, INPUTS_DESCRIBED = 12 };

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
        text = arena_append(p->arena, text, ", ", "%s=%llu", p->verdict->input[k].name,
                            (unsigned long long)p->verdict->input[k].value);
    return text;
}

/* Both sides on one set of inputs; false: they did not come to differ, or what they computed was guessed: that is suspect. */
static bool refute_by(Prover *p, Pair *pair, u64 seed)
{
    const char *why = NULL;
    p->t.seed = seed;
    p->step_limit = REPLAY_STEPS;
    p->pass_limit = UINT32_MAX;
    if (!prove_init_sides(p, pair) || !prove_replay(p, REPLAY_EVENTS, &why))
        return false;
    p->verdict->is_suspect = true;
    if (p->t.guessed)
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
        Prover p = {.arena = &own, .options = options, .verdict = verdict, .verdict_arena = arena};
        prove_init(&p);
        bool refuted = refute_by(&p, pair, seed * 0x9e3779b97f4a7c15u);
        prove_free(&p);
        arena_free(&own);
        if (refuted)
            return true;
    }
    return false;
}
