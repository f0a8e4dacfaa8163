#include "gen.h"

/* ---- arms ------------------------------------------------------------------------------------------------------- */

void arm(Gen *g, Level level, u32 n)
{
    Level kept = g->level;
    if (level < kept)
        g->level = level;
    g->depth++;
    statements(g, n);
    g->depth--;
    g->level = kept;
}

/* The other arm starts where the first one started; but where both run at the same time, in different threads, what the
 * first did to shared memory is pending for the second. */
static void other_arm(Gen *g, const State *start, Level level)
{
    State first = g->state;
    g->state = *start;
    for (u32 i = 0; i < ARRAYS && level < CTA_UNIFORM; i++)
        g->state.pending[i] |= first.pending[i];
}

/* The same work for several arms; now and then one of them differs in a guard or a constant. */
typedef struct Copies {
    bool head, tail;
    Template heads, tails;
} Copies;

static Copies copies_make(Gen *g)
{
    Copies c = {0};
    if (!has(g, GEN_COPIES) || !percent(g, 45))
        return c;
    u32 which = 1 + below(g, 3);
    c.head = which & 1;
    c.tail = which & 2;
    if (c.head)
        c.heads = template_make(g, 1 + below(g, 5));
    if (c.tail)
        c.tails = template_make(g, 2 + below(g, 6));
    return c;
}

static Template varied(Gen *g, const Template *t)
{
    Template v = *t;
    Inst *inst = &v.inst[below(g, v.n)];
    if (inst->guard >= 0)
        inst->guard_not = !inst->guard_not;
    else if (has(g, GEN_GUARD) && inst->result.reg.number < 32 && g->state.pool[P_PRED].defined) {
        /* A guarded write of a register that is not defined yet would leave it so: only where it is. */
        Reg r = inst->result.reg;
        if (r.pool == P_NONE || g->state.pool[r.pool].defined >> r.number & 1)
            inst->guard = pick_defined(g, P_PRED).number;
    }
    return v;
}

static void copied_arm(Gen *g, Level level, u32 n, const Copies *copies)
{
    if (copies->head)
        template_write(g, &copies->heads);
    if (n)
        arm(g, level, n);
    if (copies->tail) {
        Template tails = percent(g, 12) ? varied(g, &copies->tails) : copies->tails;
        template_write(g, &tails);
    }
}

static u32 arm_size(Gen *g) { return percent(g, 15) ? 0 : 1 + below(g, 2); }

/* ---- if --------------------------------------------------------------------------------------------------------- */

static void if_then(Gen *g, const Cond *c, Level level, const Copies *copies)
{
    Label join = label_fresh(g);
    State start = g->state;
    if (may_defer(g) && percent(g, 30)) { /* the arm stands out of line */
        Label out = label_fresh(g);
        branch_if(g, c, true, &out, level);
        Aside aside;
        aside_begin(g, &aside);
        label_here(g, &out);
        copied_arm(g, level, arm_size(g), copies);
        jump(g, &join);
        aside_end(g, &aside);
    } else {
        branch_if(g, c, false, &join, level);
        copied_arm(g, level, arm_size(g), copies);
    }
    label_here(g, &join);
    label_done(g, &join);
    state_meet(&g->state, &start);
}

static void if_else(Gen *g, const Cond *c, Level level, const Copies *copies)
{
    Label otherwise = label_fresh(g), join = label_fresh(g);
    State start = g->state;
    bool sense = percent(g, 50);
    branch_if(g, c, sense, &otherwise, level);
    copied_arm(g, level, arm_size(g), copies);
    jump(g, &join);
    State first = g->state;
    other_arm(g, &start, level);
    if (may_defer(g) && percent(g, 20)) {
        Aside aside;
        aside_begin(g, &aside);
        label_here(g, &otherwise);
        copied_arm(g, level, arm_size(g), copies);
        jump(g, &join);
        aside_end(g, &aside);
    } else {
        label_here(g, &otherwise);
        copied_arm(g, level, arm_size(g), copies);
    }
    label_here(g, &join);
    label_done(g, &join);
    label_done(g, &otherwise);
    state_meet(&g->state, &first);
}

static void any_if(Gen *g, const Cond *c, Level level)
{
    Copies copies = copies_make(g);
    if (percent(g, 35))
        if_then(g, c, level, &copies);
    else
        if_else(g, c, level, &copies);
}

void statement_if(Gen *g)
{
    Level level = pick_level(g);
    Cond c = cond_make(g, level);
    any_if(g, &c, level);
}

/* Two branches, and maybe one in between or inside, whose conditions have to do with each other. */
void statement_correlated(Gen *g)
{
    Frozen before = frozen_now(g);
    Level level = pick_level(g);
    Cond first = cond_make(g, level);
    if (first.known)
        freeze(g, first.subject);
    freeze(g, first.pred);
    bool early = percent(g, 30);
    Cond second = {0};
    if (early) {
        second = cond_related(g, &first);
        freeze(g, second.pred);
    }
    any_if(g, &first, level);
    if (percent(g, 40))
        straight_line(g, 1 + below(g, 3));
    if (g->level > DIVERGENT && has(g, GEN_WARP) && g->may_sync && percent(g, 40))
        statement_warp(g);
    if (!early)
        second = cond_related(g, &first);
    if (percent(g, 30)) {
        Label join = label_fresh(g);
        State start = g->state;
        branch_if(g, &first, percent(g, 50), &join, level);
        any_if(g, &second, level);
        label_here(g, &join);
        state_meet(&g->state, &start);
    } else {
        any_if(g, &second, level);
    }
    unfreeze(g, &before);
}

/* ---- and, or ---------------------------------------------------------------------------------------------------- */

/* Control goes to `yes` or `no`; one of them may stand next, which `next` says. */
static void condition_tree(Gen *g, u32 conditions, const Label *yes, const Label *no, Level level, bool yes_next)
{
    if (conditions <= 1) {
        Cond c = cond_make(g, level);
        branch_if(g, &c, !yes_next, yes_next ? no : yes, level);
        if (percent(g, 15))
            jump(g, yes_next ? yes : no);
        return;
    }
    Label middle = label_fresh(g);
    State start = g->state;
    u32 left = 1 + below(g, conditions - 1);
    bool is_and = percent(g, 50);
    if (is_and)
        condition_tree(g, left, &middle, no, level, true);
    else
        condition_tree(g, left, yes, &middle, level, false);
    label_here(g, &middle);
    for (u32 i = 0; i < POOLS; i++)
        g->state.pool[i].defined = start.pool[i].defined;
    if (percent(g, 25))
        straight_line(g, 1);
    condition_tree(g, conditions - left, yes, no, level, yes_next);
}

void statement_short_circuit(Gen *g)
{
    Label yes = label_fresh(g), no = label_fresh(g), join = label_fresh(g);
    Level level = pick_level(g);
    bool with_else = percent(g, 60), yes_first = percent(g, 70);
    State start = g->state;
    condition_tree(g, 2 + below(g, 3), &yes, &no, level, yes_first);
    for (u32 i = 0; i < POOLS; i++) /* what only some of the conditions wrote */
        g->state.pool[i].defined = start.pool[i].defined;
    start = g->state;
    Copies copies = copies_make(g);
    label_here(g, yes_first ? &yes : &no);
    copied_arm(g, level, arm_size(g), &copies);
    State first = g->state;
    if (with_else)
        jump(g, &join);
    label_here(g, yes_first ? &no : &yes);
    if (with_else) {
        other_arm(g, &start, level);
        copied_arm(g, level, arm_size(g), &copies);
        state_meet(&g->state, &first);
    } else {
        state_meet(&g->state, &start);
    }
    label_here(g, &join);
}

/* ---- scopes ----------------------------------------------------------------------------------------------------- */

/* Declares some of the named registers anew: they are other ones inside, and undefined. */
static void shadow(Gen *g, Pool pool, u32 *hidden)
{
    u32 set = 0, defined = g->state.pool[pool].defined;
    for (u32 i = 0, n = 1 + below(g, 3); i < n; i++)
        set |= 1u << below(g, pool_named[pool]);
    if ((defined & ~set) == 0) /* something must be left to read */
        return;
    for (u32 i = 0; i < pool_named[pool]; i++)
        if (set >> i & 1)
            line(g, ".reg %s %s%u;", pool_type[pool], pool_stem[pool], i);
    hidden[pool] = set;
    g->state.pool[pool].defined &= ~set;
    g->state.pool[pool].frozen &= ~set;
}

void statement_scope(Gen *g)
{
    if (g->scope_depth == SCOPES_MAX)
        return;
    State before = g->state;
    u32 hidden[POOLS] = {0};
    static const Pool pool[] = {P_PRED, P_16, P_32, P_64, P_F32};
    line(g, "{");
    g->scope_label[++g->scope_depth] = 0;
    for (u32 i = 0; i < COUNT_OF(pool); i++)
        if (any_defined(g, pool[i]) && percent(g, 45))
            shadow(g, pool[i], hidden);
    if (percent(g, 45))
        straight_line(g, 2 + below(g, 5));
    else
        arm(g, g->level, 1 + below(g, 3));
    for (u32 i = 0; i < POOLS; i++) { /* what was computed inside goes out by way of a register that is not hidden */
        Pool p = (Pool)i;
        u32 inside = g->state.pool[p].defined & hidden[p];
        if (inside && p == P_32 && (~hidden[p] & before.pool[p].defined & ~before.pool[p].frozen)) {
            u32 out = (u32)__builtin_ctz(~hidden[p] & before.pool[p].defined & ~before.pool[p].frozen);
            line(g, "add.s32 %%r%u, %%r%u, %%r%u;", out, out, (u32)__builtin_ctz(inside));
        }
    }
    line(g, "}");
    g->scope_depth--;
    for (u32 i = 0; i < POOLS; i++) {
        g->state.pool[i].defined = (g->state.pool[i].defined & ~hidden[i]) | (before.pool[i].defined & hidden[i]);
        g->state.pool[i].frozen = before.pool[i].frozen;
    }
}

/* ---- unusual control -------------------------------------------------------------------------------------------- */

static void unreachable_aside(Gen *g)
{
    Label a = label_fresh(g), b = label_fresh(g);
    Aside aside;
    aside_begin(g, &aside);
    label_here(g, &a);
    if (percent(g, 50))
        straight_line(g, 2);
    line(g, "bra %s;", b.name);
    label_here(g, &b);
    line(g, "bra.uni %s;", a.name);
    aside_end(g, &aside);
}

void statement_unreachable(Gen *g)
{
    State start = g->state;
    if (may_defer(g) && percent(g, 40)) {
        unreachable_aside(g);
    } else {
        Label over = label_fresh(g);
        jump(g, &over);
        if (percent(g, 40)) {
            Label dead = label_fresh(g);
            label_here(g, &dead);
        }
        straight_line(g, 1 + below(g, 3));
        label_here(g, &over);
    }
    g->state = start;
}

/* Blocks that only jump, in a circle that a counter leaves. */
void statement_jump_cycle(Gen *g)
{
    Label a = label_fresh(g), b = label_fresh(g), c = label_fresh(g), out = label_fresh(g);
    Reg count = fresh(g, P_TEMP32), done = fresh(g, P_PRED);
    line(g, "mov.u32 %s, 0;", NAME(count));
    label_here(g, &a);
    line(g, "add.s32 %s, %s, 1;", NAME(count), NAME(count));
    line(g, "setp.gt.u32 %s, %s, %u;", NAME(done), NAME(count), 1 + below(g, 3));
    line(g, "@%s bra %s;", NAME(done), out.name);
    line(g, "bra %s;", c.name);
    label_here(g, &b);
    line(g, "bra %s;", a.name);
    label_here(g, &c);
    line(g, "bra.uni %s;", b.name);
    label_here(g, &out);
}

/* A loop that is entered at its top or in its middle. */
void statement_irreducible(Gen *g)
{
    Label top = label_fresh(g), middle = label_fresh(g);
    State start = g->state;
    Level level = g->level;
    Reg count = fresh(g, P_TEMP32), more = fresh(g, P_PRED);
    line(g, "and.b32 %s, %s, 3;", NAME(count), NAME(pick_defined(g, P_32)));
    Cond c = cond_make(g, DIVERGENT);
    g->level = DIVERGENT;
    branch_if(g, &c, true, &middle, DIVERGENT);
    label_here(g, &top);
    straight_line(g, 1 + below(g, 3));
    for (u32 i = 0; i < POOLS; i++)
        g->state.pool[i].defined = start.pool[i].defined;
    label_here(g, &middle);
    straight_line(g, 1 + below(g, 3));
    line(g, "add.s32 %s, %s, -1;", NAME(count), NAME(count));
    line(g, "setp.ge.s32 %s, %s, 0;", NAME(more), NAME(count));
    line(g, "@%s bra %s;", NAME(more), top.name);
    g->level = level;
    for (u32 i = 0; i < POOLS; i++)
        g->state.pool[i].defined = start.pool[i].defined;
}

/* Only some threads' index is in bounds; theirs alone may load. */
void statement_bounds_check(Gen *g)
{
    Label join = label_fresh(g);
    State start = g->state;
    Reg index = fresh(g, P_TEMP32), inside = fresh(g, P_PRED), offset = fresh(g, P_TEMP64), address = fresh(g, P_TEMP64);
    Reg x = pick_result(g, P_32);
    line(g, "mul.lo.u32 %s, %s, %u;", NAME(index), NAME(pick_defined(g, P_32)), 3 + 2 * below(g, 50));
    line(g, "setp.lt.u32 %s, %s, 1024;", NAME(inside), NAME(index));
    bool early = percent(g, 50);
    if (early) {
        line(g, "mul.wide.u32 %s, %s, 4;", NAME(offset), NAME(index));
        line(g, "add.s64 %s, %%in, %s;", NAME(address), NAME(offset));
    }
    if (early && percent(g, 30)) {
        line(g, "@%s ld.global.u32 %s, [%s];", NAME(inside), NAME(x), NAME(address));
        return;
    }
    line(g, "@!%s bra %s;", NAME(inside), join.name);
    if (!early) {
        line(g, "mul.wide.u32 %s, %s, 4;", NAME(offset), NAME(index));
        line(g, "add.s64 %s, %%in, %s;", NAME(address), NAME(offset));
    }
    line(g, "ld.global.u32 %s, [%s];", NAME(x), NAME(address));
    mark_defined(g, x);
    if (percent(g, 40))
        straight_line(g, 1 + below(g, 2));
    label_here(g, &join);
    state_meet(&g->state, &start);
}

/* The carry flag lives from one block into others. */
void statement_carry_blocks(Gen *g)
{
    Frozen before = frozen_now(g);
    Label other = label_fresh(g), join = label_fresh(g);
    State start = g->state;
    Cond c = cond_make(g, DIVERGENT);
    Reg low = pick_result(g, P_32);
    line(g, "add.cc.u32 %s, %s, %s;", NAME(low), NAME(pick_defined(g, P_32)), NAME(pick_defined(g, P_32)));
    freeze(g, low);
    Reg high = pick_result(g, P_32), a = pick_defined(g, P_32), b = pick_defined(g, P_32);
    if (percent(g, 50)) {
        branch_if(g, &c, true, &other, DIVERGENT);
        line(g, "addc.u32 %s, %s, %s;", NAME(high), NAME(a), NAME(b));
        line(g, "bra %s;", join.name);
        label_here(g, &other);
        line(g, "addc.u32 %s, %s, %u;", NAME(high), NAME(b), below(g, 9));
    } else {
        branch_if(g, &c, true, &join, DIVERGENT);
        line(g, "xor.b32 %s, %s, 5;", NAME(fresh(g, P_TEMP32)), NAME(a));
    }
    label_here(g, &join);
    line(g, "addc.u32 %s, %s, %s;", NAME(pick_result(g, P_32)), NAME(a), NAME(b));
    g->state = start;
    unfreeze(g, &before);
}

/* Some threads return to the caller, or leave the kernel from where they are. */
static void return_early(Gen *g)
{
    Cond c = cond_make(g, DIVERGENT);
    if (g->may_exit && percent(g, 20)) {
        line(g, "@%s%s exit;", c.negated ? "!" : "", NAME(c.pred));
        return;
    }
    line(g, g->result_in_register ? "mov.b32 %%result, %s;" : "st.param.b32 [result], %s;", NAME(pick_defined(g, P_32)));
    line(g, "@%s%s ret;", c.negated ? "!" : "", NAME(c.pred));
}

/* Leaves the kernel before its end: some threads where nothing synchronises, else all of a CTA. */
void statement_return(Gen *g)
{
    Level level = g->may_sync ? CTA_UNIFORM : DIVERGENT;
    if (g->in_function && g->level == DIVERGENT && !g->loops)
        return_early(g);
    if (g->level < level || g->in_function)
        return;
    Cond c = cond_make(g, level);
    const char *leave = percent(g, 60) ? "ret" : "exit";
    if (percent(g, 50)) {
        line(g, "@%s%s %s;", c.negated ? "!" : "", NAME(c.pred), leave);
        return;
    }
    Label on = label_fresh(g);
    State start = g->state;
    branch_if(g, &c, false, &on, level);
    straight_line(g, 2);
    line(g, "st.global.u32 [%%out+64], %s;", NAME(pick_defined(g, P_32)));
    line(g, "%s;", leave);
    label_here(g, &on);
    g->state = start;
}
