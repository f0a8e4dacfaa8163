/* Lanes of one warp that wait for one another, that leave while others wait for it, and instructions that see who is there.
 *
 * Every kernel terminates where lanes that part at a branch wait for each other at its immediate post-dominator and take
 * turns before it. The first lane of the warp, which always exists and never leaves early, sets the flags that others spin
 * on; flags only grow, to the number of such statements so far (%epoch), so that they never have to be reset. */
#include "gen.h"
#include "function.h"

enum { FLAGS = 8 }; /* of a warp */

/* Where the flag is set: by lanes that do not spin, or by all. */
typedef enum Place { BEFORE_BRANCH, IN_ARM, IN_TAIL, BEHIND_TAIL, FURTHER_DOWN, PLACES, IN_CALLEE = PLACES } Place;
/* What ends both arms. */
typedef enum End { END_JUMP, END_BRANCH, END_TABLE, END_RETURN, ENDS } End;

typedef struct Arms {
    Place place;
    End end;
    u32 flag;
    Template tail;
    bool sets_late;          /* the condition of the end is computed in the tail */
    Reg sets, leaves, index; /* conditions and index of the end: they hold for the first lane, for others never, 0 */
    u32 set_below;           /* lanes that set */
    bool calls;              /* wait_function waits, and is called in all arms */
    Reg at, spins;           /* its arguments: the flag, and whether it waits */
    Label set, other, join;
} Arms;

/* ---- conditions ------------------------------------------------------------------------------------------------- */

/* A condition that the first lane never has: by lane number, or by the data of the others. */
static Reg not_first_lane(Gen *g)
{
    Reg p = fresh(g, P_PRED);
    u32 kind = below(g, 4);
    if (kind == 0) {
        line(g, "setp.ge.u32 %s, %%lane, %u;", NAME(p), 1 + below(g, 31));
    } else if (kind == 1) {
        Reg bit = fresh(g, P_TEMP32);
        line(g, "and.b32 %s, %%lane, %u;", NAME(bit), 1 + below(g, 7));
        line(g, "setp.ne.s32 %s, %s, 0;", NAME(p), NAME(bit));
    } else {
        line(g, "setp.ne.s32 %s, %%lane, 0;", NAME(p));
        line(g, "and.pred %s, %s, %s;", NAME(p), NAME(p), NAME(pick_defined(g, P_PRED)));
    }
    return p;
}

/* A small number that is 0 in the first lane. */
static Reg lane_index(Gen *g, u32 mask)
{
    Reg i = fresh(g, P_TEMP32);
    if (percent(g, 50)) {
        line(g, "and.b32 %s, %%lane, %u;", NAME(i), mask);
    } else {
        Reg p = fresh(g, P_PRED);
        line(g, "and.b32 %s, %s, %u;", NAME(i), NAME(pick_defined(g, P_32)), mask);
        line(g, "setp.eq.s32 %s, %%lane, 0;", NAME(p));
        line(g, "selp.b32 %s, 0, %s, %s;", NAME(i), NAME(i), NAME(p));
    }
    return i;
}

/* ---- flags ------------------------------------------------------------------------------------------------------ */

static void set_flag(Gen *g, u32 flag)
{
    if (g->target >= 75 && percent(g, 25))
        line(g, "atom.shared.exch.b32 %s, [%%flags+%u], %%epoch;", NAME(fresh(g, P_TEMP32)), flag * 4);
    else if (has(g, GEN_POLL) && percent(g, 25))
        line(g, "st.shared.u32 [%%flags+%u], %%epoch;", flag * 4);
    else
        line(g, "st.volatile.shared.u32 [%%flags+%u], %%epoch;", flag * 4);
}

static void spin(Gen *g, u32 flag)
{
    if (has(g, GEN_POLL) && percent(g, 75)) {
        poll_flag(g, flag * 4);
        return;
    }
    Label top = label_fresh(g), out = label_fresh(g);
    Reg seen = fresh(g, P_TEMP32), again = fresh(g, P_PRED);
    bool test_first = percent(g, 30);
    label_here(g, &top);
    switch (below(g, 4)) {
    case 0: line(g, "ld.relaxed.cta.shared.u32 %s, [%%flags+%u];", NAME(seen), flag * 4); break;
    case 1: line(g, "atom.shared.or.b32 %s, [%%flags+%u], 0;", NAME(seen), flag * 4); break;
    default: line(g, "ld.volatile.shared.u32 %s, [%%flags+%u];", NAME(seen), flag * 4);
    }
    line(g, "setp.%s.s32 %s, %s, %%epoch;", test_first ? "ge" : "lt", NAME(again), NAME(seen));
    if (test_first) {
        line(g, "@%s bra %s;", NAME(again), out.name);
        if (percent(g, 40))
            line(g, "nanosleep.u32 20;");
        line(g, "bra %s;", top.name);
        label_here(g, &out);
    } else {
        line(g, "@%s bra %s;", NAME(again), top.name);
    }
}

/* ---- arms that end alike ---------------------------------------------------------------------------------------- */

static void write_table(Gen *g, const Arms *a)
{
    Label name = label_fresh(g);
    text_printf(g->text, "%s:\n\t.branchtargets %s, %s, %s, %s;\n", name.name, a->set.name, a->other.name, a->other.name,
                percent(g, 50) ? a->other.name : a->set.name);
    line(g, "brx.idx %s, %s;", NAME(a->index), name.name);
}

static void write_end(Gen *g, const Arms *a)
{
    if (a->sets_late)
        line(g, "setp.lt.u32 %s, %%lane, %u;", NAME(a->sets), a->set_below);
    if (a->end == END_RETURN)
        line(g, "@%s %s;", NAME(a->leaves), a->set_below & 1 ? "ret" : "exit");
    if (a->end == END_TABLE) {
        write_table(g, a);
    } else if (a->end == END_JUMP) {
        line(g, "bra %s;", a->join.name);
    } else {
        line(g, "@%s bra %s;", NAME(a->sets), a->set.name);
        line(g, "bra %s;", a->other.name);
    }
}

/* A call in which lanes wait if the arm does; its argument is maybe the same register in all arms already. */
static void call_wait(Gen *g, const Arms *a, bool waits)
{
    if (percent(g, 30))
        line(g, "mov.b32 %s, %u;", NAME(a->spins), waits);
    line(g, "call wait_function, (%s, %%epoch, %s);", NAME(a->at), NAME(a->spins));
}

static void write_arm(Gen *g, const Arms *a, bool waits)
{
    bool calls_first = a->calls && percent(g, 50);
    if (waits && !a->calls)
        spin(g, a->flag);
    if (calls_first)
        call_wait(g, a, waits);
    if (percent(g, 35))
        straight_line(g, 1 + below(g, 3));
    if (a->place == IN_ARM && !waits)
        set_flag(g, a->flag);
    if (a->calls && !calls_first)
        call_wait(g, a, waits);
    template_write(g, &a->tail);
    if (a->place == IN_TAIL)
        set_flag(g, a->flag);
    write_end(g, a);
}

/* What the ends lead to: one block sets the flag, maybe after another branch. */
static void write_after(Gen *g, const Arms *a)
{
    State start = g->state;
    label_here(g, &a->set);
    if (percent(g, 40))
        straight_line(g, 1 + below(g, 2));
    if (a->place == FURTHER_DOWN) {
        Label skip = label_fresh(g), on = label_fresh(g);
        Reg p = not_first_lane(g);
        line(g, "@%s bra %s;", NAME(p), skip.name);
        set_flag(g, a->flag);
        if (percent(g, 50)) {
            line(g, "bra %s;", on.name);
            label_here(g, &skip);
            straight_line(g, 1);
            label_here(g, &on);
        } else {
            label_here(g, &skip);
        }
    } else if (a->place == BEHIND_TAIL) {
        set_flag(g, a->flag);
    }
    jump(g, &a->join);
    state_meet(&g->state, &start);
    start = g->state;
    label_here(g, &a->other);
    if (percent(g, 60))
        straight_line(g, 1 + below(g, 2));
    state_meet(&g->state, &start);
    label_here(g, &a->join);
}

static bool at_top(const Gen *g)
{
    return g->depth == 0 && g->loops == 0 && g->scope_depth == 0 && g->level == CTA_UNIFORM;
}

static Arms arms_make(Gen *g, bool calls)
{
    Arms a = {.place = (Place)below(g, PLACES), .end = (End)below(g, ENDS), .flag = below(g, FLAGS), .calls = calls};
    if (calls && g->callee_sets)
        a.place = IN_CALLEE;
    a.set_below = 1 + below(g, 12);
    a.set = label_fresh(g);
    a.other = label_fresh(g);
    a.join = label_fresh(g);
    if (a.end == END_RETURN && (!has(g, GEN_LEAVE) || !at_top(g)))
        a.end = END_BRANCH;
    if ((a.end == END_TABLE && !has(g, GEN_TABLE)) ||
        (a.end == END_JUMP && (a.place == BEHIND_TAIL || a.place == FURTHER_DOWN)))
        a.end = END_BRANCH; /* one block that all reach would be where they reconverge */
    a.tail = template_make(g, 2 + below(g, 5));
    a.sets = fresh(g, P_PRED);
    a.sets_late = percent(g, 40);
    if (!a.sets_late)
        line(g, "setp.lt.u32 %s, %%lane, %u;", NAME(a.sets), a.set_below);
    if (a.end == END_TABLE)
        a.index = lane_index(g, 3);
    if (a.end == END_RETURN) {
        a.leaves = not_first_lane(g);
        g->left = true;
    }
    if (calls) {
        a.at = fresh(g, P_TEMP32);
        a.spins = fresh(g, P_TEMP32);
        line(g, "add.s32 %s, %%flags, %u;", NAME(a.at), a.flag * 4);
    }
    return a;
}

/* Two arms: the lanes of one spin until the first lane, in the other, has set the flag. */
static void spin_arms(Gen *g, bool calls)
{
    Reg waits = not_first_lane(g);
    Arms a = arms_make(g, calls);
    Label other = label_fresh(g);
    bool waits_first = percent(g, 50);
    if (a.place == BEFORE_BRANCH)
        set_flag(g, a.flag);
    if (calls)
        line(g, "selp.u32 %s, 1, 0, %s;", NAME(a.spins), NAME(waits));
    State start = g->state;
    line(g, "@%s%s bra %s;", waits_first ? "!" : "", NAME(waits), other.name);
    write_arm(g, &a, waits_first);
    State first = g->state;
    g->state = start;
    label_here(g, &other);
    write_arm(g, &a, !waits_first);
    state_meet(&g->state, &first);
    write_after(g, &a);
}

/* The same with the leaves of a switch: the first lane's leaf does not wait. */
static void spin_leaves(Gen *g, bool calls)
{
    enum { LEAVES = 5 };
    u32 n = 3 + below(g, LEAVES - 2);
    Arms a = arms_make(g, calls);
    Label leaf[LEAVES];
    Reg value = lane_index(g, 7);
    for (u32 i = 0; i < n; i++)
        leaf[i] = label_fresh(g);
    if (a.place == BEFORE_BRANCH)
        set_flag(g, a.flag);
    State start = g->state, met = start;
    switch_on(g, value, 7, leaf, n);
    for (u32 i = 0; i < n; i++) {
        g->state = start;
        label_here(g, &leaf[i]);
        bool waits = i > 0 && percent(g, 50);
        if (calls)
            line(g, "mov.b32 %s, %u;", NAME(a.spins), waits);
        write_arm(g, &a, waits);
        state_meet(&met, &g->state);
    }
    g->state = met;
    write_after(g, &a);
}

/* Arms that end alike in a branch to one loop, or past it: lanes of the first arm leave it at once, and set the flag behind it for
 * which the others wait in it. */
static void spin_behind(Gen *g)
{
    Reg waits = not_first_lane(g), skips = not_first_lane(g), until = fresh(g, P_TEMP32), seen = fresh(g, P_TEMP32),
        again = fresh(g, P_PRED);
    Label other = label_fresh(g), top = label_fresh(g), past = label_fresh(g), join = label_fresh(g);
    Template tail = template_make(g, 2 + below(g, 5));
    u32 flag = below(g, FLAGS);
    bool in_front = percent(g, 50);
    if (in_front)
        line(g, "selp.b32 %s, %%epoch, 0, %s;", NAME(until), NAME(waits));
    State start = g->state;
    line(g, "@%s bra %s;", NAME(waits), other.name);
    for (u32 i = 0; i < 2; i++) {
        g->state = start;
        if (i == 1)
            label_here(g, &other);
        if (percent(g, 40))
            straight_line(g, 1 + below(g, 2));
        if (!in_front)
            line(g, "mov.b32 %s, %s;", NAME(until), i ? "%epoch" : "0");
        template_write(g, &tail);
        line(g, "@%s bra %s;", NAME(skips), past.name);
        line(g, "bra %s;", top.name);
    }
    label_here(g, &top);
    line(g, "ld.volatile.shared.u32 %s, [%%flags+%u];", NAME(seen), flag * 4);
    line(g, "setp.lt.s32 %s, %s, %s;", NAME(again), NAME(seen), NAME(until));
    line(g, "@%s bra %s;", NAME(again), top.name);
    set_flag(g, flag);
    line(g, "bra %s;", join.name);
    label_here(g, &past);
    g->state = start;
    straight_line(g, 1);
    label_here(g, &join);
    g->state = start;
}

static void wait_for_flag(Gen *g, bool calls)
{
    if (!g->has_flags || g->level < WARP_UNIFORM || !any_defined(g, P_PRED))
        return;
    Frozen before = frozen_now(g);
    if (g->has_spun || g->depth) /* a lane that has not come so far may still have to store an earlier number */
        line(g, "bar.warp.sync %%wmask;");
    g->has_spun = true;
    line(g, "add.s32 %%epoch, %%epoch, 1;");
    if (!calls && percent(g, 25))
        spin_behind(g);
    else if (percent(g, 65))
        spin_arms(g, calls);
    else
        spin_leaves(g, calls);
    unfreeze(g, &before);
}

void statement_spin(Gen *g) { wait_for_flag(g, false); }

/* ---- warp operations that wait ---------------------------------------------------------------------------------- */

/* One that waits until the lanes of the mask come or leave. Who has left gives no value, so a shuffle reads its own. */
static void waiting_operation(Gen *g, const char *mask)
{
    Reg d = pick_result(g, P_32);
    u32 kind = below(g, g->warp_callees ? 7 : 6);
    if ((kind == 2 && g->target < 80) || (kind == 3 && g->target < 90))
        kind = 5;
    switch (kind) {
    case 0: line(g, "vote.sync.ballot.b32 %s, %s, %s;", NAME(d), NAME(pick_defined(g, P_PRED)), mask); break;
    case 1: line(g, "match.any.sync.b32 %s, %s, %s;", NAME(d), NAME(pick_defined(g, P_32)), mask); break;
    case 2: line(g, "redux.sync.add.s32 %s, %s, %s;", NAME(d), NAME(pick_defined(g, P_32)), mask); break;
    case 3: line(g, "elect.sync %s|%s, %s;", NAME(d), NAME(fresh(g, P_PRED)), mask); break;
    case 4: line(g, "shfl.sync.bfly.b32 %s, %s, 0, 31, %s;", NAME(d), NAME(pick_defined(g, P_32)), mask); break;
    case 6: line(g, "call (%s), warp_function, (%s, %s);", NAME(d), NAME(pick_defined(g, P_32)), mask); break;
    default: line(g, "bar.warp.sync %s;", mask); return;
    }
    mark_defined(g, d);
}

/* Two arms that end alike in a return for all lanes of one of them; the other one waits for their exit, or names itself
 * alone. */
void statement_leave(Gen *g)
{
    if (!g->may_sync || !at_top(g) || !any_defined(g, P_PRED))
        return;
    Reg leaves = not_first_lane(g), ends = fresh(g, P_PRED), mask = fresh(g, P_TEMP32);
    Label out = label_fresh(g), on = label_fresh(g);
    Template tail = template_make(g, 2 + below(g, 5));
    bool whole = percent(g, 70), out_first = percent(g, 50), twice = percent(g, 30);
    const char *leave = percent(g, 60) ? "ret" : "exit";
    line(g, "mov.b32 %s, %%wmask;", NAME(mask));
    if (!whole)
        line(g, "vote.sync.ballot.b32 %s, !%s, %%wmask;", NAME(mask), NAME(leaves));
    line(g, "or.pred %s, %s, %s;", NAME(ends), NAME(leaves), NAME(not_first_lane(g)));
    State start = g->state;
    line(g, "@%s%s bra %s;", out_first ? "!" : "", NAME(leaves), out.name);
    for (u32 i = 0; i < 2; i++) {
        bool stays = (i == 0) != out_first;
        g->state = start;
        if (i == 1)
            label_here(g, &out);
        if (percent(g, 30))
            straight_line(g, 1 + below(g, 2));
        if (stays)
            waiting_operation(g, g->whole_warps && whole && percent(g, 50) ? "-1" : NAME(mask));
        template_write(g, &tail);
        line(g, "@%s %s;", NAME(ends), leave);
        if (twice && stays)
            line(g, "bar.warp.sync %s;", NAME(mask));
        line(g, "bra %s;", on.name);
    }
    label_here(g, &on);
    g->state = start;
    g->left = true;
}

/* A warp operation in one arm, whose partner stands after what ends both arms. */
void statement_partner(Gen *g)
{
    if (!g->may_sync || g->level < WARP_UNIFORM || g->left || !any_defined(g, P_PRED))
        return;
    Reg here = not_first_lane(g), mask = fresh(g, P_TEMP32);
    Label other = label_fresh(g), partner = label_fresh(g), join = label_fresh(g);
    Template tail = template_make(g, 2 + below(g, 5));
    bool vote = percent(g, 40);
    Reg d = fresh(g, P_TEMP32), q = fresh(g, P_PRED);
    line(g, "mov.b32 %s, %%wmask;", NAME(mask));
    line(g, "setp.gt.s32 %s, %s, 3;", NAME(q), NAME(pick_defined(g, P_32)));
    line(g, "mov.b32 %s, 0;", NAME(d));
    State start = g->state;
    line(g, "@!%s bra %s;", NAME(here), other.name);
    for (u32 i = 0; i < 2; i++) {
        g->state = start;
        if (i == 1)
            label_here(g, &other);
        if (i == 0 && vote)
            line(g, "vote.sync.ballot.b32 %s, %s, %s;", NAME(d), NAME(q), NAME(mask));
        else if (i == 0)
            line(g, "bar.warp.sync %s;", NAME(mask));
        template_write(g, &tail);
        line(g, "@%s bra %s;", NAME(here), join.name);
        line(g, "bra %s;", partner.name);
    }
    label_here(g, &partner);
    if (vote)
        line(g, "vote.sync.ballot.b32 %s, %s, %s;", NAME(d), NAME(q), NAME(mask));
    else
        line(g, "bar.warp.sync %s;", NAME(mask));
    label_here(g, &join);
    g->state = start;
    Reg r = pick_defined(g, P_32);
    line(g, "add.s32 %s, %s, %s;", NAME(r), NAME(r), NAME(d));
}

/* ---- both arms hold one waiting instruction ----------------------------------------------------------------------- */

/* Arms that may hold it, and what the lanes of the second one come to later. */
typedef struct Alike {
    Reg here;         /* lanes of the first arm */
    Reg mask;         /* of lanes that are waited for */
    Reg takes;        /* whether the lane takes part: a predicate as a guard, 1 or 0 for a call */
    Reg value, holds; /* sources */
    u32 kind;
    const char *guard;
} Alike;

enum { ALIKE_CALL = 5 };

static void alike_operation(Gen *g, const Alike *a, const char *guard, const char *mask, Reg d)
{
    RegName value = reg_name(a->value);
    switch (a->kind) {
    case 0: line(g, "%svote.sync.ballot.b32 %s, %s, %s;", guard, NAME(d), NAME(a->holds), mask); break;
    case 1: line(g, "%smatch.any.sync.b32 %s, %s, %s;", guard, NAME(d), value.text, mask); break;
    case 2: line(g, "%sredux.sync.add.s32 %s, %s, %s;", guard, NAME(d), value.text, mask); break;
    case 3: line(g, "%sshfl.sync.bfly.b32 %s, %s, 0, 31, %s;", guard, NAME(d), value.text, mask); break;
    default: line(g, "%sbar.warp.sync %s;", guard, mask);
    }
}

/* The lanes of the second arm name themselves alone, or have a guard that does not hold, or do not take part in the callee; later they
 * come to what those of the first arm wait for. */
static void alike_arm(Gen *g, const Alike *a, bool first, bool late, Reg own, Reg d)
{
    if (a->kind == ALIKE_CALL) {
        if (late)
            line(g, "mov.b32 %s, %u;", NAME(a->takes), first);
        line(g, "call barrier_function, (%s, %s);", NAME(a->mask), NAME(a->takes));
        return;
    }
    if (late && !a->guard[0])
        line(g, "mov.b32 %s, %s;", NAME(a->mask), first ? "%wmask" : NAME(own));
    alike_operation(g, a, a->guard, NAME(a->mask), d);
}

static Alike alike_make(Gen *g, bool calls)
{
    Alike a = {.here = not_first_lane(g), .mask = fresh(g, P_TEMP32), .guard = ""};
    a.holds = fresh(g, P_PRED);
    a.value = fresh(g, P_TEMP32);
    a.kind = calls ? ALIKE_CALL : below(g, ALIKE_CALL);
    if (a.kind == 2 && g->target < 80)
        a.kind = 4;
    line(g, "setp.gt.s32 %s, %s, 3;", NAME(a.holds), NAME(pick_defined(g, P_32)));
    line(g, "mov.b32 %s, %s;", NAME(a.value), NAME(pick_defined(g, P_32)));
    line(g, "mov.b32 %s, %%wmask;", NAME(a.mask));
    return a;
}

static void statement_alike(Gen *g, bool calls)
{
    if (!g->may_sync || g->level < WARP_UNIFORM || g->left || !any_defined(g, P_PRED))
        return;
    Alike a = alike_make(g, calls);
    Label other = label_fresh(g), partner = label_fresh(g), join = label_fresh(g);
    Template tail = template_make(g, 2 + below(g, 5));
    Reg own = fresh(g, P_TEMP32), d = fresh(g, P_TEMP32);
    bool late = percent(g, 40), in_front = percent(g, 50), inside = percent(g, 30);
    RegName guard_name;
    char guard[20];
    line(g, "mov.b32 %s, 0;", NAME(d));
    if (percent(g, 50))
        line(g, "vote.sync.ballot.b32 %s, !%s, %%wmask;", NAME(own), NAME(a.here));
    else
        line(g, "mov.u32 %s, %%lanemask_eq;", NAME(own));
    if (calls) {
        a.takes = fresh(g, P_TEMP32);
        line(g, "selp.u32 %s, 1, 0, %s;", NAME(a.takes), NAME(a.here));
    } else if (percent(g, 20)) {
        a.takes = fresh(g, P_PRED);
        line(g, "and.pred %s, %s, %s;", NAME(a.takes), NAME(a.here), NAME(a.here));
        guard_name = reg_name(a.takes);
        snprintf(guard, sizeof guard, "@%s ", guard_name.text);
        a.guard = guard;
    } else if (!late) {
        line(g, "selp.b32 %s, %%wmask, %s, %s;", NAME(a.mask), NAME(own), NAME(a.here));
    }
    State start = g->state;
    line(g, "@!%s bra %s;", NAME(a.here), other.name);
    for (u32 i = 0; i < 2; i++) {
        g->state = start;
        if (i == 1)
            label_here(g, &other);
        if (in_front)
            alike_arm(g, &a, i == 0, late, own, d);
        if (percent(g, 30))
            straight_line(g, 1 + below(g, 2));
        if (!in_front)
            alike_arm(g, &a, i == 0, late, own, d);
        template_write(g, &tail);
        if (i == 1 && inside)
            alike_operation(g, &a, "", "%wmask", d);
        if (!inside)
            line(g, "@%s bra %s;", NAME(a.here), join.name);
        line(g, "bra %s;", inside ? join.name : partner.name);
    }
    if (!inside) {
        label_here(g, &partner);
        alike_operation(g, &a, "", "%wmask", d);
    }
    label_here(g, &join);
    g->state = start;
    Reg r = pick_defined(g, P_32);
    line(g, "add.s32 %s, %s, %s;", NAME(r), NAME(r), NAME(d));
}

void statement_masks(Gen *g) { statement_alike(g, false); }

void statement_wait_call(Gen *g)
{
    if (percent(g, 40))
        statement_alike(g, true);
    else
        wait_for_flag(g, true);
}

/* ---- who is there ----------------------------------------------------------------------------------------------- */

/* Adds what it sees to a register, so that the output tells. */
void statement_observe(Gen *g)
{
    Reg d = fresh(g, P_TEMP32), r = pick_defined(g, P_32);
    u32 kind = g->old_isa ? below(g, 4) : 0;
    if (kind == 1)
        line(g, "vote.ballot.b32 %s, %s;", NAME(d), any_defined(g, P_PRED) ? NAME(pick_defined(g, P_PRED)) : "1");
    else if (kind == 2) {
        Reg p = fresh(g, P_PRED);
        line(g, "vote.any.pred %s, %s;", NAME(p), any_defined(g, P_PRED) ? NAME(pick_defined(g, P_PRED)) : "1");
        line(g, "selp.b32 %s, 5, 3, %s;", NAME(d), NAME(p));
    } else
        line(g, "activemask.b32 %s;", NAME(d));
    line(g, "add.s32 %s, %s, %s;", NAME(r), NAME(r), NAME(d));
}

/* Arms that end alike in a branch, a table or a jump; who is there is seen where they lead, or further down. */
void statement_seen(Gen *g)
{
    if (!any_defined(g, P_PRED))
        return;
    Label other = label_fresh(g), a = label_fresh(g), b = label_fresh(g), join = label_fresh(g);
    Level level = g->level;
    Cond c = cond_make(g, DIVERGENT), then = cond_make(g, DIVERGENT);
    Frozen before = frozen_now(g);
    freeze(g, then.pred);
    Template tail = template_make(g, 2 + below(g, 4));
    bool down = percent(g, 30);
    State start = g->state;
    g->level = DIVERGENT;
    branch_if(g, &c, percent(g, 50), &other, DIVERGENT);
    for (u32 i = 0; i < 2; i++) {
        g->state = start;
        if (i == 1)
            label_here(g, &other);
        if (percent(g, 50))
            straight_line(g, 1 + below(g, 2));
        template_write(g, &tail);
        branch_if(g, &then, true, &a, DIVERGENT);
        line(g, "bra %s;", b.name);
    }
    g->state = start;
    label_here(g, &a);
    if (down) {
        Label skip = label_fresh(g);
        Cond more = cond_make(g, DIVERGENT);
        branch_if(g, &more, true, &skip, DIVERGENT);
        statement_observe(g);
        label_here(g, &skip);
    } else {
        statement_observe(g);
    }
    if (percent(g, 70))
        line(g, "bra %s;", join.name);
    g->state = start;
    label_here(g, &b);
    if (percent(g, 40))
        straight_line(g, 1);
    label_here(g, &join);
    g->state = start;
    g->level = level;
    unfreeze(g, &before);
}

/* What is beyond the cases leads to the default, too, but does something before. */
static void beyond_cases(Gen *g, const char *cmp, i64 bound, Reg value, Reg result, const Label *to, const Label *rest)
{
    Reg p = fresh(g, P_PRED);
    Label next = label_fresh(g);
    line(g, "setp.%s.s32 %s, %s, %d;", cmp, NAME(p), NAME(value), (int)bound);
    line(g, "@!%s bra %s;", NAME(p), next.name);
    if (percent(g, 75))
        line(g, "mov.u32 %s, %u;", NAME(result), below(g, 9));
    if (percent(g, 40)) {
        Reg q = fresh(g, P_PRED);
        line(g, "setp.eq.s32 %s, %s, %u;", NAME(q), NAME(value), below(g, 40));
        line(g, "@%s bra %s;", NAME(q), rest->name);
    }
    line(g, "bra %s;", to->name);
    label_here(g, &next);
}

/* A table, one of whose blocks does nothing, or nothing that is read, but go on to another one: who is there is seen there. */
static void seen_table(Gen *g)
{
    Label seen = label_fresh(g), hop = label_fresh(g), other = label_fresh(g), join = label_fresh(g),
          table = label_fresh(g);
    Reg index = lane_index(g, 3), p = fresh(g, P_PRED);
    Level level = g->level;
    u32 work = below(g, 3);
    bool next = percent(g, 50);
    text_printf(g->text, "%s:\n\t.branchtargets %s, %s, %s, %s;\n", table.name, percent(g, 50) ? join.name : other.name,
                seen.name, other.name, hop.name);
    line(g, "brx.idx %s, %s;", NAME(index), table.name);
    State start = g->state;
    g->level = DIVERGENT;
    label_here(g, &other);
    straight_line(g, 1 + below(g, 2));
    g->state = start;
    line(g, "bra %s;", join.name);
    label_here(g, &hop);
    if (work)
        line(g, "setp.gt.s32 %s, %s, 3;", NAME(p), NAME(pick_defined(g, P_32)));
    if (work == 2)
        line(g, "@%s bra %s;", NAME(p), seen.name);
    line(g, "bra %s;", seen.name);
    if (!next)
        label_here(g, &join);
    label_here(g, &seen);
    statement_observe(g);
    if (next)
        label_here(g, &join);
    g->state = start;
    g->level = level;
}

/* A switch over dense values; who is there is seen at its default, or in one of its arms. */
void statement_seen_switch(Gen *g)
{
    if (g->in_function)
        return;
    if (has(g, GEN_TABLE) && has(g, GEN_JUMPS) && percent(g, 35)) {
        seen_table(g);
        return;
    }
    enum { ARMS = 3 };
    Label arm[ARMS], otherwise = label_fresh(g), join = label_fresh(g);
    Reg value = fresh(g, P_TEMP32), result = pick_defined(g, P_32);
    u32 n = 6 + below(g, 8), turn = below(g, ARMS), base = 3 + below(g, 9), seen = percent(g, 75) ? ARMS : below(g, ARMS);
    Level level = g->level;
    for (u32 i = 0; i < ARMS; i++)
        arm[i] = label_fresh(g);
    if (percent(g, 40)) {
        line(g, "and.b32 %s, %s, 31;", NAME(value), NAME(pick_defined(g, P_32)));
    } else { /* nothing is known of it */
        line(g, "mad.lo.u32 %s, %%lane, 4, %u;", NAME(value), 4 * below(g, 32));
        line(g, "cvt.u64.u32 %%qd, %s;", NAME(value));
        line(g, "add.s64 %%qd, %%qd, %%in;");
        line(g, "ld.global.u32 %s, [%%qd];", NAME(value));
    }
    if (percent(g, 80))
        beyond_cases(g, "gt", base + n - 1, value, result, &otherwise, &arm[below(g, ARMS)]);
    if (percent(g, 25))
        beyond_cases(g, "lt", base, value, result, &otherwise, &arm[below(g, ARMS)]);
    for (u32 i = 0; i < n; i++) {
        Reg p = fresh(g, P_PRED);
        line(g, "setp.eq.s32 %s, %s, %u;", NAME(p), NAME(value), base + i);
        line(g, "@%s bra %s;", NAME(p), arm[percent(g, 80) ? (i + turn) % ARMS : below(g, ARMS)].name);
    }
    line(g, "bra %s;", otherwise.name);
    State start = g->state;
    g->level = DIVERGENT;
    for (u32 i = 0; i <= ARMS; i++) {
        g->state = start;
        label_here(g, i < ARMS ? &arm[i] : &otherwise);
        if (i == seen)
            statement_observe(g);
        straight_line(g, 1 + below(g, 2));
        if (i < ARMS)
            line(g, "bra %s;", join.name);
    }
    label_here(g, &join);
    g->state = start;
    g->level = level;
}

/* ---- promises --------------------------------------------------------------------------------------------------- */

/* A chain of `bra.uni` on a value that differs between lanes, while every predicate is the same in all. */
void statement_uniform_chain(Gen *g)
{
    enum { CASES = 7 };
    if (g->level < WARP_UNIFORM || !any_defined(g, P_WARP32))
        return;
    Reg base = fresh(g, P_WARP32), value = fresh(g, P_TEMP32), low = fresh(g, P_WARPPRED), p = fresh(g, P_WARPPRED);
    Label arm[CASES + 1], otherwise = label_fresh(g), join = label_fresh(g);
    u32 n = 4 + below(g, CASES - 4), width = 2u << below(g, 3);
    line(g, "and.b32 %s, %s, 7;", NAME(base), NAME(pick_defined(g, P_WARP32)));
    line(g, "setp.lt.s32 %s, %s, 3;", NAME(low), NAME(base));
    line(g, "and.b32 %s, %%lane, %u;", NAME(value), width - 1);
    line(g, "add.s32 %s, %s, %u;", NAME(base), NAME(base), width - 3);
    line(g, "selp.b32 %s, %s, %s, %s;", NAME(value), NAME(value), NAME(base), NAME(low));
    for (u32 i = 0; i <= n; i++) {
        arm[i] = label_fresh(g);
        if (i == 0)
            line(g, "setp.lt.u32 %s, %s, %u;", NAME(p), NAME(value), width);
        else
            line(g, "setp.eq.s32 %s, %s, %u;", NAME(p), NAME(value), width + i - 1);
        line(g, "@%s bra.uni %s;", NAME(p), arm[i].name);
    }
    State start = g->state;
    jump(g, &otherwise);
    for (u32 i = 0; i <= n; i++) {
        g->state = start;
        label_here(g, &arm[i]);
        straight_line(g, 1 + below(g, 3));
        jump(g, &join);
    }
    label_here(g, &otherwise);
    g->state = start;
    straight_line(g, 1);
    label_here(g, &join);
    g->state = start;
}

/* ---- around kernels --------------------------------------------------------------------------------------------- */

/* Functions in which a part of the lanes waits: for a flag, and for lanes of a mask. */
static void write_wait_functions(Gen *g, Text *module)
{
    g->callee_sets = percent(g, 40);
    text_printf(module,
                "\n.func wait_function(.reg .b32 %%at, .reg .b32 %%epoch, .reg .b32 %%spins)\n{\n\t.reg .pred %%p;\n"
                "\t.reg .b32 %%seen;\n\tsetp.eq.s32 %%p, %%spins, 0;\n\t@%%p bra DONE;\nSPIN:\n"
                "\tld.volatile.shared.u32 %%seen, [%%at];\n\tsetp.lt.s32 %%p, %%seen, %%epoch;\n\t@%%p bra SPIN;\nDONE:\n");
    if (g->callee_sets)
        text_printf(module, "\tst.volatile.shared.u32 [%%at], %%epoch;\n");
    text_printf(module, "\tret;\n}\n");
    text_printf(module, "\n.func barrier_function(.reg .b32 %%mask, .reg .b32 %%takes)\n{\n\t.reg .pred %%p;\n"
                        "\tsetp.eq.s32 %%p, %%takes, 0;\n\t@%%p bra DONE;\n\tbar.warp.sync %%mask;\nDONE:\n\tret;\n}\n");
}

void wait_declarations(Gen *g, Text *module)
{
    if (g->has_flags)
        text_printf(module, ".shared .align 4 .b32 flags[64];\n");
    if (g->has_flags && has(g, GEN_POLL))
        poll_declarations(module);
    if (has(g, GEN_WAIT_CALL))
        write_wait_functions(g, module);
    if (!has(g, GEN_WARP_CALL))
        return;
    text_printf(module,
                "\n.func (.reg .b32 %%result) warp_function(.reg .b32 %%value, .reg .b32 %%mask)\n{\n\t.reg .pred %%q;\n"
                "\tsetp.gt.s32 %%q, %%value, %u;\n",
                below(g, 9));
    if (percent(g, 50))
        text_printf(module, "\tvote.sync.ballot.b32 %%result, %%q, %%mask;\n");
    else
        text_printf(module, "\tbar.warp.sync %%mask;\n\tselp.b32 %%result, 1, %%value, %%q;\n");
    text_printf(module, "\tret;\n}\n");
    g->warp_callees = true;
}

void wait_prologue(Gen *g)
{
    if (!g->has_flags)
        return;
    text_printf(g->text, "\tmov.u32 %%q0, flags;\n\tshl.b32 %%q1, %%warp, 5;\n\tadd.s32 %%flags, %%q0, %%q1;\n"
                         "\tmov.u32 %%epoch, 0;\n");
    for (u32 i = 0; i < FLAGS; i++)
        text_printf(g->text, "\tst.volatile.shared.u32 [%%flags+%u], 0;\n", i * 4);
    text_printf(g->text, "\tbar.warp.sync %%wmask;\n");
    if (has(g, GEN_POLL))
        poll_prologue(g);
}

/* A call of a function that holds a warp operation. */
void statement_warp_call(Gen *g)
{
    if (!g->warp_callees || !g->may_sync || g->level < WARP_UNIFORM)
        return;
    Reg d = pick_result(g, P_32);
    line(g, "call%s (%s), warp_function, (%s, %%wmask);", percent(g, 30) ? ".uni" : "", NAME(d),
         NAME(pick_defined(g, P_32)));
    mark_defined(g, d);
}
