#include "gen.h"

/* ---- barriers --------------------------------------------------------------------------------------------------- */

static void write_barrier(Gen *g)
{
    u32 kind = below(g, g->plain_barriers ? 16 : 20);
    if (kind < 12) {
        line(g, "bar.sync 0;");
    } else if (kind < 14) {
        line(g, "barrier.sync 0;");
    } else if (kind < 16) {
        line(g, "barrier.sync.aligned 0;");
    } else if (kind == 16) {
        line(g, "bar.sync 1;");
    } else if (kind == 17 && g->whole_warps && !g->left) {
        line(g, "bar.sync 2, %%nt;");
    } else if (kind == 18 && any_defined(g, P_PRED)) {
        Reg count = pick_result(g, P_CTA32);
        line(g, "bar.red.popc.u32 %s, 0, %s;", NAME(count), NAME(pick_defined(g, P_PRED)));
        mark_defined(g, count);
    } else if (kind == 19 && any_defined(g, P_PRED)) {
        Reg any = pick_result(g, P_CTAPRED);
        line(g, "bar.red.%s.pred %s, 0, %s;", percent(g, 50) ? "or" : "and", NAME(any), NAME(pick_defined(g, P_PRED)));
        mark_defined(g, any);
    } else {
        line(g, "bar.sync 0;");
    }
    memset(g->state.pending, 0, sizeof g->state.pending);
}

/* Lanes that have left may keep the rest from reconverging, which aligned barriers need. */
static bool barriers_allowed(const Gen *g) { return g->may_sync && g->level == CTA_UNIFORM && !g->left; }

/* One that may be needed by what happens to stand around it; doubled now and then. */
void statement_barrier(Gen *g)
{
    if (!barriers_allowed(g))
        return;
    write_barrier(g);
    if (percent(g, 35)) {
        if (percent(g, 50))
            straight_line(g, 1 + below(g, 2));
        write_barrier(g);
    }
}

/* A barrier in both arms of a divergent branch: each thread comes to one of the two. */
void statement_split_barrier(Gen *g)
{
    if (!barriers_allowed(g))
        return;
    Label other = label_fresh(g), join = label_fresh(g);
    Cond c = cond_make(g, DIVERGENT);
    State start = g->state;
    branch_if(g, &c, true, &other, DIVERGENT);
    for (u32 i = 0; i < 2; i++) {
        g->state = start;
        if (percent(g, 60))
            straight_line(g, 1 + below(g, 3));
        line(g, "barrier.sync 0;");
        if (percent(g, 60))
            straight_line(g, 1 + below(g, 3));
        if (i == 0) {
            jump(g, &join);
            label_here(g, &other);
        }
    }
    label_here(g, &join);
    g->state = start;
    memset(g->state.pending, 0, sizeof g->state.pending);
}

/* ---- memory that threads share ---------------------------------------------------------------------------------- */

static const u8 conflicts[] = {[OWN_READ] = SINGLE_WRITE,
                               [OWN_WRITE] = CROSS_READ | SINGLE_WRITE,
                               [CROSS_READ] = OWN_WRITE | SINGLE_WRITE,
                               [SINGLE_WRITE] = EVERY_ACCESS};

static const char *array_space(u32 array) { return array == 2 ? "global" : "shared"; }

/* Other thread's element: of any thread in the CTA, or in the warp for the array that warps exchange by. */
static Reg cross_address(Gen *g, u32 array)
{
    Reg k = fresh(g, P_TEMP32), address = fresh(g, array == 2 ? P_TEMP64 : P_TEMP32);
    if (array == ARRAY_WARP) {
        line(g, "add.s32 %s, %%lane, %u;", NAME(k), 1 + below(g, 31));
        line(g, "rem.u32 %s, %s, %%wcount;", NAME(k), NAME(k));
        line(g, "add.s32 %s, %s, %%wbase;", NAME(k), NAME(k));
    } else if (percent(g, 25)) {
        line(g, "mov.u32 %s, 0;", NAME(k));
    } else {
        line(g, "add.s32 %s, %%lin, %u;", NAME(k), 1 + below(g, 40));
        line(g, "rem.u32 %s, %s, %%nt;", NAME(k), NAME(k));
    }
    if (array == 2) {
        line(g, "mul.wide.u32 %s, %s, 4;", NAME(address), NAME(k));
        line(g, "add.s64 %s, %s, %%scratch;", NAME(address), NAME(address));
    } else {
        Reg base = fresh(g, P_TEMP32);
        line(g, "mov.u32 %s, array%u;", NAME(base), array);
        line(g, "mad.lo.u32 %s, %s, 4, %s;", NAME(address), NAME(k), NAME(base));
    }
    return address;
}

static void access_own(Gen *g, u32 array, bool write)
{
    if (write) {
        line(g, "st.%s.u32 [%%own%u], %s;", array_space(array), array, NAME(pick_defined(g, P_32)));
    } else {
        Reg d = pick_result(g, P_32);
        line(g, "ld.%s.u32 %s, [%%own%u];", array_space(array), NAME(d), array);
        mark_defined(g, d);
    }
}

static void access_cross(Gen *g, u32 array)
{
    Reg address = cross_address(g, array), d = pick_result(g, P_32);
    line(g, "ld.%s.u32 %s, [%s];", array_space(array), NAME(d), NAME(address));
    mark_defined(g, d);
}

/* The CTA's first thread alone writes the element of another one. */
static void access_single(Gen *g, u32 array)
{
    Reg address = cross_address(g, array), value = pick_defined(g, P_32);
    if (percent(g, 50)) {
        line(g, "@%%first st.%s.u32 [%s], %s;", array_space(array), NAME(address), NAME(value));
    } else {
        Label join = label_fresh(g);
        line(g, "@!%%first bra %s;", join.name);
        line(g, "st.%s.u32 [%s], %s;", array_space(array), NAME(address), NAME(value));
        label_here(g, &join);
    }
}

/* One access to a shared array, after a barrier where it needs one. Nothing happens where no barrier may stand. */
void statement_shared(Gen *g)
{
    if (!g->may_sync)
        return;
    u32 array = below(g, ARRAY_WARP);
    enum Access access = 1u << below(g, 4);
    if (access == SINGLE_WRITE && (array == ARRAY_WARP || g->level < CTA_UNIFORM))
        access = OWN_WRITE;
    if (g->state.pending[array] & conflicts[access]) {
        if (!barriers_allowed(g))
            return;
        write_barrier(g);
    }
    switch (access) {
    case OWN_READ: access_own(g, array, false); break;
    case OWN_WRITE: access_own(g, array, true); break;
    case CROSS_READ: access_cross(g, array); break;
    default: access_single(g, array);
    }
    g->state.pending[array] |= access;
}

/* Accesses with a barrier after each, where few are needed: own elements only, or nothing but reads, or the next barrier
 * does it as well. */
void statement_guarded_accesses(Gen *g)
{
    if (!barriers_allowed(g))
        return;
    u32 n = 2 + below(g, 4);
    for (u32 i = 0; i < n; i++) {
        statement_shared(g);
        if (percent(g, 30))
            straight_line(g, 1);
        line(g, "bar.sync 0;");
        memset(g->state.pending, 0, sizeof g->state.pending);
    }
}

/* ---- warps ------------------------------------------------------------------------------------------------------ */

static bool warp_allowed(const Gen *g) { return g->may_sync && g->level >= WARP_UNIFORM; }

static const char *warp_mask(Gen *g) { return g->whole_warps && percent(g, 60) ? "-1" : "%wmask"; }

static void write_shuffle(Gen *g, const char *mask)
{
    Reg d = pick_result(g, P_32), p = pick_result(g, P_PRED), a = pick_defined(g, P_32);
    bool with_pred = percent(g, 35);
    char result[40];
    snprintf(result, sizeof result, with_pred ? "%s|%s" : "%s", NAME(d), NAME(p));
    switch (below(g, 4)) {
    case 0: line(g, "shfl.sync.idx.b32 %s, %s, %u, %%wlast, %s;", result, NAME(a), below(g, 32), mask); break;
    case 1: line(g, "shfl.sync.up.b32 %s, %s, %u, 0, %s;", result, NAME(a), 1 + below(g, 16), mask); break;
    case 2: line(g, "shfl.sync.down.b32 %s, %s, %u, %%wlast, %s;", result, NAME(a), 1 + below(g, 16), mask); break;
    default: line(g, "shfl.sync.bfly.b32 %s, %s, %u, %%wlast, %s;", result, NAME(a), 1 + below(g, 16), mask);
    }
    mark_defined(g, d);
    if (with_pred)
        mark_defined(g, p);
}

static void write_vote(Gen *g, const char *mask)
{
    Reg q = pick_defined(g, P_PRED);
    if (percent(g, 50)) {
        Reg d = pick_result(g, P_WARP32);
        line(g, "vote.sync.ballot.b32 %s, %s, %s;", NAME(d), NAME(q), mask);
        mark_defined(g, d);
    } else {
        static const char *const kind[] = {"all", "any", "uni"};
        Reg p = pick_result(g, P_WARPPRED);
        line(g, "vote.sync.%s.pred %s, %s%s, %s;", kind[below(g, 3)], NAME(p), percent(g, 30) ? "!" : "", NAME(q), mask);
        mark_defined(g, p);
    }
}

void statement_warp(Gen *g)
{
    if (!warp_allowed(g) || !any_defined(g, P_PRED))
        return;
    if (percent(g, 45)) { /* right after a join */
        Level level = g->level;
        g->level = DIVERGENT;
        statement_if(g);
        g->level = level;
    }
    const char *mask = warp_mask(g);
    u32 kind = g->left ? 5 + below(g, 3) : below(g, 10);
    if (kind < 5) {
        write_shuffle(g, mask);
    } else if (kind < 8) {
        write_vote(g, mask);
    } else if (kind == 8) {
        Reg d = pick_result(g, P_32);
        line(g, "match.any.sync.b32 %s, %s, %s;", NAME(d), NAME(pick_defined(g, P_32)), mask);
        mark_defined(g, d);
    } else if (g->target >= 80) {
        static const char *const fold[] = {"add.s32", "min.u32", "max.s32", "xor.b32"};
        Reg d = pick_result(g, P_WARP32);
        line(g, "redux.sync.%s %s, %s, %s;", fold[below(g, 4)], NAME(d), NAME(pick_defined(g, P_32)), mask);
        mark_defined(g, d);
    } else {
        line(g, "bar.warp.sync %s;", mask);
        g->state.pending[ARRAY_WARP] = 0;
    }
}

/* Some lanes alone, which the mask names: the first ones, or those that a vote found. */
void statement_sub_warp(Gen *g)
{
    if (!warp_allowed(g) || g->left || !any_defined(g, P_PRED))
        return;
    Label join = label_fresh(g);
    Reg mask = fresh(g, P_TEMP32), in = fresh(g, P_PRED), d = pick_result(g, P_32), a = pick_defined(g, P_32);
    bool voted = percent(g, 50);
    u32 lanes = 1 + below(g, 31);
    if (voted) {
        in = pick_defined(g, P_PRED);
        line(g, "vote.sync.ballot.b32 %s, %s, %%wmask;", NAME(mask), NAME(in));
    } else {
        line(g, "and.b32 %s, %%wmask, %u;", NAME(mask), (1u << lanes) - 1);
        line(g, "setp.lt.u32 %s, %%lane, %u;", NAME(in), lanes);
    }
    State start = g->state;
    line(g, "@!%s bra %s;", NAME(in), join.name);
    if (voted) {
        Reg source = fresh(g, P_TEMP32);
        line(g, "bfind.u32 %s, %s;", NAME(source), NAME(mask));
        line(g, "shfl.sync.idx.b32 %s, %s, %s, 31, %s;", NAME(d), NAME(a), NAME(source), NAME(mask));
    } else {
        line(g, "shfl.sync.up.b32 %s, %s, %u, 0, %s;", NAME(d), NAME(a), 1 + below(g, 4), NAME(mask));
    }
    if (percent(g, 50))
        line(g, "add.s32 %s, %s, 1;", NAME(d), NAME(d));
    label_here(g, &join);
    g->state = start;
}

/* Shared memory between the lanes of a warp, ordered by bar.warp.sync. */
void statement_warp_exchange(Gen *g)
{
    if (!warp_allowed(g) || g->left) /* what lanes did that have left is not ordered before anything */
        return;
    enum Access access = 1u << below(g, 3);
    if (g->state.pending[ARRAY_WARP] & conflicts[access]) {
        line(g, "bar.warp.sync %s;", warp_mask(g));
        g->state.pending[ARRAY_WARP] = 0;
    }
    if (access == CROSS_READ)
        access_cross(g, ARRAY_WARP);
    else
        access_own(g, ARRAY_WARP, access == OWN_WRITE);
    g->state.pending[ARRAY_WARP] |= access;
}
