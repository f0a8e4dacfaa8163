#include "gen.h"

#include <stdlib.h>

enum { CASES_MAX = 36, ARMS_MAX = 8 };

typedef struct Switch {
    Reg value;
    const char *type; /* that it is compared as */
    Level level;
    i64 bound[CASES_MAX];
    u32 arm[CASES_MAX];
    u32 cases, arms;
    Label label[ARMS_MAX], otherwise, end;
} Switch;

static Pool pred_pool(Level level)
{
    return level == CTA_UNIFORM ? P_CTAPRED : level == WARP_UNIFORM ? P_WARPPRED : P_PRED;
}

/* ---- the selector and its cases --------------------------------------------------------------------------------- */

static void pick_selector(Gen *g, Switch *s, u32 range)
{
    Pool from = s->level == CTA_UNIFORM ? P_CTA32 : s->level == WARP_UNIFORM ? P_WARP32 : P_32;
    Pool to = s->level == DIVERGENT && percent(g, 35) ? (percent(g, 50) ? P_16 : P_64) : from;
    static const char *const types[3][3] = {{"u16", "s16", "b16"}, {"u32", "s32", "b32"}, {"u64", "s64", "b64"}};
    Reg x = fresh(g, from == P_32 ? P_TEMP32 : from);
    s->type = types[to == P_16 ? 0 : to == P_64 ? 2 : 1][below(g, 3)];
    line(g, "and.b32 %s, %s, %u;", NAME(x), NAME(pick_defined(g, from)), range);
    if (percent(g, 35)) {
        Reg y = fresh(g, x.pool);
        line(g, "add.s32 %s, %s, %d;", NAME(y), NAME(x), (int)between(g, -6, 6));
        x = y;
    }
    s->value = x;
    if (to == from)
        return;
    s->value = fresh(g, to);
    line(g, "cvt.%s.%s %s, %s;", to == P_16 ? "u16" : "s64", to == P_16 ? "u32" : "s32", NAME(s->value), NAME(x));
}

static void pick_cases(Gen *g, Switch *s, u32 range)
{
    u32 style = below(g, 5), most = percent(g, 85) ? 16 : CASES_MAX;
    i64 base = between(g, -3, 4);
    bool few_cases = percent(g, 20); /* as few cases lead elsewhere as make a bit test */
    s->cases = 3 + below(g, most - 3);
    for (u32 i = 0; i < s->cases; i++) {
        if (style <= 1)
            s->bound[i] = base + i; /* dense */
        else if (style == 2)
            s->bound[i] = between(g, -2, range); /* with repetitions */
        else if (style == 3)
            s->bound[i] = base + i % (s->cases / 2 + 1) + (i > s->cases / 2 ? 1000 : 0); /* two dense parts */
        else
            s->bound[i] = percent(g, 70) ? (i64)i * i : between(g, 0, 30000);
        if (strcmp(s->type, "u16") == 0 || strcmp(s->type, "b16") == 0 || s->type[0] == 'u')
            s->bound[i] = llabs(s->bound[i]);
        s->arm[i] = few_cases && percent(g, 85) ? 0 : below(g, s->arms);
    }
}

/* ---- dispatch --------------------------------------------------------------------------------------------------- */

static void compare_branch(Gen *g, const Switch *s, const char *cmp, i64 bound, const Label *to)
{
    Reg p = s->level == DIVERGENT && percent(g, 40) ? pick_result(g, P_PRED) : fresh(g, pred_pool(s->level));
    bool negated = percent(g, 10);
    const char *type = s->type[0] == 'b' && strcmp(cmp, "eq") != 0 && strcmp(cmp, "ne") != 0 ? "s" : s->type;
    const char *as = negated ? cmp_opposite(cmp) : cmp;
    if (type[1])
        line(g, "setp.%s.%s %s, %s, %lld;", as, type, NAME(p), NAME(s->value), (long long)bound);
    else
        line(g, "setp.%s.s%s %s, %s, %lld;", as, s->type + 1, NAME(p), NAME(s->value), (long long)bound);
    mark_defined(g, p);
    Cond c = {.pred = p, .negated = negated};
    branch_if(g, &c, true, to, s->level);
}

static void chain(Gen *g, const Switch *s, u32 from, u32 to)
{
    for (u32 i = from; i < to; i++) {
        compare_branch(g, s, "eq", s->bound[i], &s->label[s->arm[i]]);
        if (percent(g, 5))
            straight_line(g, 1);
    }
    jump(g, &s->otherwise);
}

/* Halves as nvcc does; the cases are in order. */
static void tree(Gen *g, const Switch *s, u32 from, u32 to)
{
    if (to - from <= 1 + below(g, 3)) {
        if (has(g, GEN_SEEN) && percent(g, 30)) /* a leaf that is more than comparisons */
            straight_line(g, 1);
        chain(g, s, from, to);
        return;
    }
    u32 middle = (from + to) / 2;
    Label right = label_fresh(g);
    if (percent(g, 70))
        compare_branch(g, s, "gt", s->bound[middle - 1], &right);
    else
        compare_branch(g, s, "ge", s->bound[middle], &right);
    State start = g->state;
    tree(g, s, from, middle);
    label_here(g, &right);
    for (u32 i = 0; i < POOLS; i++)
        g->state.pool[i].defined = start.pool[i].defined;
    tree(g, s, middle, to);
}

static void ranges(Gen *g, const Switch *s)
{
    for (u32 i = 0; i < s->cases; i++)
        compare_branch(g, s, percent(g, 50) ? "lt" : "le", s->bound[i], &s->label[s->arm[i]]);
    jump(g, &s->otherwise);
}

static void write_table(Gen *g, const Switch *s, u32 entries, Reg index)
{
    Label name = label_fresh(g);
    bool alike = percent(g, 10);
    text_printf(g->text, "%s:\n\t.branchtargets ", name.name);
    for (u32 i = 0; i < entries; i++) {
        const Label *to = alike ? &s->label[0] : percent(g, 12) ? &s->otherwise : &s->label[below(g, s->arms)];
        text_printf(g->text, "%s%s", i ? ", " : "", to->name);
    }
    text_printf(g->text, ";\n");
    line(g, "brx.idx%s %s, %s;", s->level > DIVERGENT && percent(g, 40) ? ".uni" : "", NAME(index), name.name);
}

/* A table, after the check of its bounds or a mask that makes one needless; compares in front and after. */
static void table(Gen *g, const Switch *s)
{
    bool masked = percent(g, 30), more = percent(g, 35);
    u32 entries = masked ? 4u << below(g, 2) : 2 + below(g, 7);
    Pool pool = s->level == CTA_UNIFORM ? P_CTA32 : s->level == WARP_UNIFORM ? P_WARP32 : P_TEMP32;
    Reg index = fresh(g, pool), outside = fresh(g, pred_pool(s->level));
    Label rest = label_fresh(g);
    line(g, "cvt.u32.%s %s, %s;",
         s->type[0] == 'b' ? (s->type[1] == '1'   ? "u16"
                              : s->type[1] == '6' ? "u64"
                                                  : "u32")
                           : s->type,
         NAME(index), NAME(s->value));
    for (u32 i = 0; i < s->cases && percent(g, 30); i++)
        compare_branch(g, s, "eq", s->bound[i], &s->label[s->arm[i]]);
    if (masked) {
        Reg low = fresh(g, pool);
        line(g, "and.b32 %s, %s, %u;", NAME(low), NAME(index), entries - 1);
        write_table(g, s, entries, low);
        return;
    }
    line(g, "setp.hs.u32 %s, %s, %u;", NAME(outside), NAME(index), entries);
    Cond c = {.pred = outside};
    branch_if(g, &c, true, more ? &rest : &s->otherwise, s->level);
    State start = g->state;
    write_table(g, s, entries, index);
    if (more) {
        label_here(g, &rest);
        for (u32 i = 0; i < POOLS; i++)
            g->state.pool[i].defined = start.pool[i].defined;
        chain(g, s, 0, s->cases);
    }
}

static int by_bound(const void *a, const void *b)
{
    i64 x = *(const i64 *)a, y = *(const i64 *)b;
    return (x > y) - (x < y);
}

static void dispatch(Gen *g, Switch *s)
{
    u32 style = below(g, 10);
    if (style < 2 && has(g, GEN_TABLE)) {
        table(g, s);
    } else if (style < 5) {
        chain(g, s, 0, s->cases);
    } else if (style < 9) {
        qsort(s->bound, s->cases, sizeof *s->bound, by_bound);
        tree(g, s, 0, s->cases);
    } else {
        qsort(s->bound, s->cases, sizeof *s->bound, by_bound);
        ranges(g, s);
    }
}

/* ---- arms ------------------------------------------------------------------------------------------------------- */

typedef void ArmBody(Gen *g, const Switch *s, u32 index, const void *user);

/* Arms accumulate what is pending: an arm may fall into the next one. */
static void write_arms(Gen *g, const Switch *s, ArmBody *body, const void *user)
{
    State start = g->state, met = start;
    for (u32 i = 0; i <= s->arms; i++) {
        bool last = i == s->arms;
        for (u32 k = 0; k < POOLS; k++)
            g->state.pool[k] = start.pool[k];
        for (u32 k = 0; k < ARRAYS; k++)
            g->state.pending[k] |= start.pending[k];
        label_here(g, last ? &s->otherwise : &s->label[i]);
        body(g, s, i, user);
        if (!last && !percent(g, 12))
            jump(g, &s->end);
        state_meet(&met, &g->state);
    }
    label_here(g, &s->end);
    for (u32 k = 0; k < POOLS; k++)
        g->state.pool[k].defined = met.pool[k].defined;
    for (u32 k = 0; k < ARRAYS; k++)
        g->state.pending[k] = met.pending[k];
}

static Switch begin(Gen *g, u32 arms)
{
    Switch s = {.level = pick_level(g), .arms = arms};
    for (u32 i = 0; i < arms; i++)
        s.label[i] = label_fresh(g);
    s.otherwise = label_fresh(g);
    s.end = label_fresh(g);
    return s;
}

static void dispatch_and_forget(Gen *g, Switch *s)
{
    State start = g->state;
    dispatch(g, s);
    for (u32 i = 0; i < POOLS; i++) /* what only some paths through the comparisons write */
        g->state.pool[i].defined = start.pool[i].defined;
}

void switch_on(Gen *g, Reg value, u32 most, const Label *leaf, u32 leaves)
{
    Switch s = {.value = value, .type = percent(g, 50) ? "u32" : "s32", .level = DIVERGENT, .cases = most, .arms = leaves};
    for (u32 i = 0; i < leaves; i++)
        s.label[i] = leaf[i];
    for (u32 i = 0; i < most; i++) {
        s.bound[i] = i;
        s.arm[i] = i == 0 ? 0 : below(g, leaves);
    }
    s.otherwise = leaf[below(g, leaves)];
    if (percent(g, 50))
        chain(g, &s, 0, s.cases);
    else
        tree(g, &s, 0, s.cases);
}

typedef struct CommonTail {
    bool used;
    Template tail;
} CommonTail;

static void plain_arm(Gen *g, const Switch *s, u32 index, const void *user)
{
    const CommonTail *common = user;
    (void)index;
    if (has(g, GEN_SEEN) && percent(g, index == s->arms ? 40 : 15))
        statement_observe(g);
    if (percent(g, 50))
        straight_line(g, 1 + below(g, 4));
    else
        arm(g, s->level, 1);
    if (common->used && percent(g, 80))
        template_write(g, &common->tail);
}

void statement_switch(Gen *g)
{
    u32 range = (1u << (2 + below(g, 3))) - 1;
    Switch s = begin(g, 2 + below(g, ARMS_MAX - 2));
    CommonTail common = {.used = has(g, GEN_COPIES) && percent(g, 40)};
    if (common.used)
        common.tail = template_make(g, 2 + below(g, 6));
    pick_selector(g, &s, range);
    pick_cases(g, &s, range);
    dispatch_and_forget(g, &s);
    write_arms(g, &s, plain_arm, &common);
}

/* The leaves of several switches, one for each leaf of another, are the same; they end alike now and then. */
void statement_nested_switch(Gen *g)
{
    enum { INNER = 3, LEAVES = 3 };
    Label inner[INNER], leaf[LEAVES], end = label_fresh(g);
    Reg outer = fresh(g, P_TEMP32), value = fresh(g, P_TEMP32);
    Template tail = template_make(g, 2 + below(g, 4));
    Level level = g->level;
    g->level = DIVERGENT;
    for (u32 i = 0; i < INNER; i++)
        inner[i] = label_fresh(g);
    for (u32 i = 0; i < LEAVES; i++)
        leaf[i] = label_fresh(g);
    line(g, "and.b32 %s, %s, 3;", NAME(outer), NAME(pick_defined(g, P_32)));
    line(g, "and.b32 %s, %s, 7;", NAME(value), NAME(pick_defined(g, P_32)));
    State start = g->state;
    switch_on(g, outer, 1 + below(g, 3), inner, INNER);
    for (u32 i = 0; i < INNER; i++) {
        g->state = start;
        label_here(g, &inner[i]);
        if (percent(g, 40))
            straight_line(g, 1 + below(g, 2));
        switch_on(g, value, 1 + below(g, 7), leaf, LEAVES);
    }
    for (u32 i = 0; i < LEAVES; i++) {
        g->state = start;
        label_here(g, &leaf[i]);
        straight_line(g, 1 + below(g, 2));
        if (percent(g, 70))
            template_write(g, &tail);
        if (i + 1 < LEAVES && percent(g, 85))
            jump(g, &end);
    }
    label_here(g, &end);
    g->state = start;
    g->level = level;
}

/* ---- state variables -------------------------------------------------------------------------------------------- */

typedef struct StateVariable {
    Reg variable;
    u32 states;
    Level level;  /* how uniform the state is */
    bool machine; /* in a loop */
} StateVariable;

static void select_state(Gen *g, const StateVariable *state, u32 first, Reg to)
{
    Cond c = cond_make(g, state->level);
    if (percent(g, 20)) {
        line(g, "selp.b32 %s, %u, %s, %s;", NAME(to), first, NAME(state->variable), NAME(c.pred));
        return;
    }
    line(g, "selp.b32 %s, %u, %u, %s;", NAME(to), first, below(g, state->states + 1), NAME(c.pred));
    if (percent(g, 30)) {
        Cond other = cond_make(g, state->level);
        line(g, "selp.b32 %s, %u, %s, %s;", NAME(to), below(g, state->states), NAME(to), NAME(other.pred));
    }
}

/* A constant, directly, through a copy or by selp; or something unknown; or the state stays what it is. */
static void set_state(Gen *g, const StateVariable *state, u32 next)
{
    Pool unknown = state->level == CTA_UNIFORM ? P_CTA32 : state->level == WARP_UNIFORM ? P_WARP32 : P_32;
    u32 form = below(g, 20);
    if (form < 10) {
        line(g, "mov.u32 %s, %u;", NAME(state->variable), next);
    } else if (form < 12) {
        Reg copy = fresh(g, P_TEMP32);
        line(g, "mov.u32 %s, %u;", NAME(copy), next);
        line(g, "mov.u32 %s, %s;", NAME(state->variable), NAME(copy));
    } else if (form < 17) {
        Reg to = percent(g, 70) ? state->variable : fresh(g, P_TEMP32);
        select_state(g, state, next, to);
        if (to.number != state->variable.number)
            line(g, "mov.u32 %s, %s;", NAME(state->variable), NAME(to));
    } else if (form < 18) {
        line(g, "and.b32 %s, %s, 3;", NAME(state->variable), NAME(pick_defined(g, unknown)));
    }
}

static void setting_arm(Gen *g, const Switch *s, u32 index, const void *user)
{
    const StateVariable *state = user;
    (void)s;
    if (state->machine && percent(g, 25))
        arm(g, pick_level(g), 1);
    else if (percent(g, 70))
        straight_line(g, 1 + below(g, 3));
    set_state(g, state, index % state->states);
}

static void on_state(Gen *g, Switch *s, const StateVariable *state, ArmBody *body)
{
    s->level = state->level;
    s->value = state->variable;
    s->type = percent(g, 50) ? "u32" : "s32";
    s->cases = s->arms;
    for (u32 i = 0; i < s->cases; i++) {
        s->bound[i] = i;
        s->arm[i] = i;
    }
    dispatch_and_forget(g, s);
    write_arms(g, s, body, body == plain_arm ? (const void *)&(CommonTail){0} : state);
}

/* A loop around a switch on a state that arms set. All its threads are in one state if the level says so. */
static void state_machine(Gen *g, StateVariable *state)
{
    State start = g->state;
    Reg fuel = fresh(g, P_TEMP32), empty = fresh(g, pred_pool(state->level));
    Label top = label_fresh(g), out = label_fresh(g);
    state->machine = true;
    g->level = state->level;
    line(g, "mov.u32 %s, 0;", NAME(fuel));
    line(g, "mov.u32 %s, %u;", NAME(state->variable), below(g, state->states));
    memset(g->state.pending, EVERY_ACCESS, sizeof g->state.pending);
    label_here(g, &top);
    line(g, "add.s32 %s, %s, 1;", NAME(fuel), NAME(fuel));
    line(g, "setp.gt.u32 %s, %s, %u;", NAME(empty), NAME(fuel), 3 + below(g, 6));
    line(g, "@%s bra %s;", NAME(empty), out.name);
    Switch machine = begin(g, state->states);
    on_state(g, &machine, state, setting_arm);
    if (percent(g, 30)) {
        Reg last = fresh(g, pred_pool(state->level));
        line(g, "setp.eq.s32 %s, %s, %u;", NAME(last), NAME(state->variable), state->states);
        line(g, "@%s bra %s;", NAME(last), out.name);
    }
    line(g, "bra %s;", top.name);
    label_here(g, &out);
    g->state = start;
    memset(g->state.pending, EVERY_ACCESS, sizeof g->state.pending);
}

/* Arms set a constant, and a switch on it follows; or a state machine. */
void statement_state(Gen *g)
{
    Level level = g->level;
    StateVariable state = {fresh(g, P_TEMP32), 2 + below(g, 4), DIVERGENT, false};
    if (percent(g, 50)) {
        g->level = DIVERGENT;
        Switch first = begin(g, state.states);
        pick_selector(g, &first, 7);
        pick_cases(g, &first, 7);
        line(g, "mov.u32 %s, 9;", NAME(state.variable));
        dispatch_and_forget(g, &first);
        write_arms(g, &first, setting_arm, &state);
        Switch second = begin(g, state.states);
        on_state(g, &second, &state, plain_arm);
    } else {
        state.level = pick_level(g);
        state_machine(g, &state);
    }
    g->level = level;
}
