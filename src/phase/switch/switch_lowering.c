/* switch-lowering: recovers switches from compares, and makes them jump tables or binary searches.
 *
 *     setp.gt.s32 %p1, %r1, 3;  @%p1 bra B;          setp.gt.u32 %p5, %r1, 7;  @%p5 bra D;
 *     setp.eq.s32 %p2, %r1, 0;  @%p2 bra C0;         t: .branchtargets C0, C1, C2, ...;
 *     setp.eq.s32 %p3, %r1, 1;  @%p3 bra C1;  ...    brx.idx %r1, t;
 *     B: setp.eq.s32 %p4, %r1, 4;  @%p4 bra C4; ...
 *
 * The target of each value is computed, not matched (recover.h), so chains, trees, ranges, bit tests and jump tables are
 * treated alike. The result is a jump table, tables and tests under a search, or the original code (plan.h). Follows
 * DoSwitchOpt of ptxas for the thresholds. Clusters are those of Kannan and Proebsting, "Correction to 'Producing good
 * code for the case statement'" (1994), weighed by the measurements of tests/ptxas/SWITCHES.md.
 *
 * A region is the blocks that decide a switch; its root is the block that enters it.
 *
 * Sound: a region's blocks only compute conditions and copies, and edges enter them only from the region. Their results are
 * not read after the region, or are computed again on the path there. Each block after the region is reached by the same values
 * as before. The root dominates the region's blocks, and none of them post-dominates it. So an instruction that depends on a new
 * branch depended on the root's branch, for which all new branches stand. The graph stays reducible: a region is acyclic and has
 * one entry, before and after.
 *
 * If threads of different cases may newly reconverge, analysis/reconverge.h decides whether they may. A table is brx.idx.uni
 * only if the selector is uniform, because .uni on the original branches promised only equal predicates.
 *
 * Declines: tables in modules that name undeclared functions, which are not for ptxas; few cases; branches that differ from
 * the root's in .uni; equality chains in loops, of which ptxas itself makes tables; edges out that need many of the region's
 * instructions. A region before a convergent instruction is declined if threads that took one path, but may have different
 * selectors, would be divided. It is also declined before an instruction that does not name its threads and would see others,
 * or before a wait that these might end. */
#include <string.h>

#include "analysis/reconverge.h"
#include "ir/cfg.h"
#include "ir/edit.h"
#include "phase/switch/emit.h"

typedef struct Lowering {
    PhaseRun *run;
    Analyses *an;
    const Knobs *knobs;
    Arena arena;        /* holds the recovery */
    Recovery *recovery; /* made when a block first looks like the root of a region */
    BlockKinds kinds;
    PlanLimits limits;
    InstrVec left_over;
    u32 parts;            /* regions kept because of their threads, whose parts are then looked at as regions */
    bool again;           /* decisions were reported in an earlier iteration */
    ReconvergeGate *gate; /* made when it is first asked, before the first rewrite */
} Lowering;

/* The limits of plans. Modules that name undeclared functions are not read by ptxas, and whether their reader takes brx.idx
 * is unknown. */
static PlanLimits limits_of(const Analyses *an, const Knobs *knobs)
{
    const Module *m = an->fn->module;
    bool has_brx = m->version_major >= 6 && (m->target_sm == 0 || m->target_sm >= 30);
    bool takes_brx = !m->names_undeclared || knobs->switch_tables_for_optix;
    return (PlanLimits){knobs->switch_density, knobs->switch_max_table, has_brx && takes_brx};
}

/* ---- threads that stay together -------------------------------------------------------------------------------- */

/* Whether all lanes of a warp that come to the root have one selector. Branches that are .uni promise equal predicates, not
 * equal values; a table's .uni promises an equal index. */
static bool selector_is_uniform(const Lowering *w, const Decision *d)
{
    const Instr *end = block_terminator(d->root);
    bool indexes = branch_table(end) && op_has(end->op, OPF_UNIFORM_HINT) && end->opnd[0].kind == OPND_REG &&
                   end->opnd[0].sub == SUB_NONE && end->opnd[0].id == d->selector;
    return indexes || uniform_has(&an_uniform(w->an)->warp, d->selector);
}

/* Whether threads that a branch of the region, other than the root's, divides reconverge in front of a convergent
 * instruction. In the new dispatch they may reconverge only after all leaves. */
static bool reconverged_sooner(Lowering *w, const Decision *d, const Block *old)
{
    for (u32 k = 1; k < d->count; k++) {
        const Block *b = d->blocks[k], *sooner = block_terminator(b) ? reconvergence_point(w->gate, b) : NULL;
        if (sooner && sooner != old && reconverge_from(w->gate, sooner, old).convergent)
            return true;
    }
    return false;
}

/* The risk of removing an edge that no value takes. Such an edge can keep the reconvergence points of threads that diverged
 * before the root apart, even where the selector is uniform. They can reconverge sooner only where all that is left leads
 * to. What only such an edge leads to does not count: nobody comes there. */
static ReconvergeRisk risk_of_untaken(Lowering *w, const Decision *d, const Block *old)
{
    ReconvergeRisk risk = RECONVERGE_SAFE;
    for (u32 l = 0; d->has_untaken && l < d->leaf_count && risk == RECONVERGE_SAFE; l++) {
        ReconvergeRegion from = reconverge_from(w->gate, d->leaves[l].target, old);
        risk = reconverge_judge(w->gate, reconverge_waits(w->gate)->any_wait, &from);
    }
    return risk;
}

/* The risk where the leaves may be exits. ptxas takes the exit that most blocks lead to for the function's end. Without the tests
 * it may take another one, and threads may reconverge in front of it, or no longer do. What that changes for branches elsewhere is
 * asked of the whole function (analysis/exits.h). */
static ReconvergeRisk risk_of_end(Lowering *w, const Decision *d, const Block *old, bool gathers)
{
    if (old && !reconverge_only_leaves(old))
        return RECONVERGE_SAFE;
    ReconvergeRegion after = reconverge_after(w->gate, d->root, old);
    if (after.active_set && reconverge_waits(w->gate)->any_active_set)
        return RECONVERGE_ACTIVE_SET;
    return gathers && after.waits ? RECONVERGE_WAIT : RECONVERGE_SAFE;
}

/* The risk for threads that come to a leaf in other groups than before, because several branches led to it, or now lead to it. */
static ReconvergeRisk risk_of_leaves(Lowering *w, Arena *arena, const Decision *d, const SwitchPlan *p)
{
    Analyses *an = w->an;
    if (!w->gate)
        w->gate = reconverge_new(an->scratch, an);
    if (!reconverge_matters(w->gate) && !reconverge_waits(w->gate)->any_convergent)
        return RECONVERGE_SAFE;
    an_compute(an, AN_POSTDOM | AN_UNIFORM);
    const Block *old = reconvergence_point(w->gate, d->root);
    if (p->cases == 0 && reconverge_decided(w->gate, d->root, d->leaves[0].target, old, true) == RECONVERGE_WAIT)
        return RECONVERGE_WAIT; /* as for any other branch that is decided, also where an infinite loop would be left */
    ReconvergeLeaf *leaf = arena_array(arena, ReconvergeLeaf, d->leaf_count);
    u32 *at = arena_array(arena, u32, d->leaf_count), n = 0;
    bool gathers = false;
    for (u32 l = 0; l < d->leaf_count; l++) {
        u32 sibling = d->leaves[l].sibling; /* an earlier leaf with the same target */
        at[l] = sibling ? at[sibling - 1] : n++;
        ReconvergeLeaf *to = &leaf[at[l]];
        to->target = d->leaves[l].target;
        to->gathers |= sibling || d->leaves[l].value_edges > 1 || d->leaves[l].edges > 1 || p->edges[l] > 1;
        gathers |= to->gathers;
        to->splits |= p->edges[l] > 1;
        to->joins |= sibling || p->edges[l] > 1;
    }
    ReconvergeRisk risk = reconverge_leaves(w->gate, leaf, n, old);
    if (risk == RECONVERGE_SAFE && reconverged_sooner(w, d, old))
        risk = RECONVERGE_ACTIVE_SET;
    if (risk != RECONVERGE_SAFE && selector_is_uniform(w, d))
        risk = RECONVERGE_SAFE;
    if (risk == RECONVERGE_SAFE)
        risk = risk_of_end(w, d, old, gathers && !selector_is_uniform(w, d));
    return risk == RECONVERGE_SAFE ? risk_of_untaken(w, d, old) : risk;
}

/* ---- does it pay? ---------------------------------------------------------------------------------------------- */

/* Without a reason, the rewrite pays. The counter is the one that the reason goes to. */
typedef struct Verdict {
    const char *counter, *reason;
} Verdict;

static const Verdict pays = {NULL, NULL};

/* The region's code, estimated like PlanCost.code. */
static u32 old_code(const Decision *d) { return 2 * d->branches + d->helpers + d->tables; }

/* Whether the new dispatch is clearly smaller; estimates are rough. In place of a chain, where ptxas finds tables itself,
 * it must be half as large, unless it is one table. In place of other tests of few cases it must be an eighth smaller. */
static bool is_smaller(const Decision *d, const SwitchPlan *p)
{
    enum { MANY = 8 };
    u32 code = p->cost.code, old = old_code(d);
    bool one_table = p->cost.tables == 1 && p->cost.depth <= 2;
    if (decision_is_chain(d) && !one_table)
        return code * 2 <= old;
    if (p->cost.tables)
        return code < old;
    bool clearly = p->cases >= MANY ? code + 2 <= old : code * 8 <= old * 7 && code + 4 <= old;
    return clearly && p->cost.depth <= d->depth;
}

/* Whether the plan is a search of many cases whose longest path is at most half as long as the region's. */
static bool is_shorter(const Lowering *w, const Decision *d, const SwitchPlan *p)
{
    return p->cases >= w->knobs->switch_search_threshold && p->cost.depth * 2 <= d->depth;
}

/* Whether the verdict is about threads that would wait, or execute convergent code, in other groups. A part of the
 * region, where threads reconverge sooner, may still be rewritten. */
static bool risks(Verdict v)
{
    return v.counter && (!strcmp(v.counter, "SwitchKeptWait") || !strcmp(v.counter, "SwitchKeptConvergent"));
}

static Verdict judge(Lowering *w, Arena *arena, const Decision *d, const SwitchPlan *p)
{
    bool one_table = p->cost.tables == 1 && p->cost.depth <= 2;
    if (p->cases <= w->knobs->switch_case_threshold && d->tables == 0)
        return (Verdict){"SwitchKeptSmall", "it has few cases"};
    if (p->dense_search)
        return (Verdict){"SwitchKeptDense", "its values are dense, but no jump table may be made here"};
    ReconvergeRisk risk = risk_of_leaves(w, arena, d, p);
    if (risk == RECONVERGE_WAIT)
        return (Verdict){"SwitchKeptWait",
                         "a thread that waits after it may wait for threads that would wait there for it"};
    if (risk == RECONVERGE_ACTIVE_SET)
        return (Verdict){"SwitchKeptConvergent",
                         "other threads than before would arrive together at an instruction that depends on them"};
    if (d->tables) {
        bool better = p->cost.code + 2 <= old_code(d) && p->cost.depth <= d->depth;
        return better ? pays : (Verdict){"SwitchKeptTable", "its jump table is as good as another"};
    }
    if (decision_is_chain(d) && one_table && loop_of(an_loops(w->an), d->root))
        return (Verdict){"SwitchKeptChain", "ptxas makes a table of equality tests itself, and a better one in a loop"};
    return is_smaller(d, p) || is_shorter(w, d, p)
               ? pays
               : (Verdict){"SwitchKeptNoGain", "no table is dense enough, and no search short enough"};
}

/* ---- one block ------------------------------------------------------------------------------------------------- */

static void keep(const Lowering *w, const Decision *d, Verdict why)
{
    if (w->again)
        return;
    phase_count(w->run, why.counter, 1);
    phase_missed(w->run, "SwitchKept", block_terminator(d->root), "switch of %u branches kept: %s", d->branches,
                 why.reason);
}

static void report(const Lowering *w, const Decision *d, const SwitchPlan *p)
{
    if (p->cases == 0) {
        phase_count(w->run, "SwitchDecided", 1);
        phase_passed(w->run, "SwitchDecided", block_terminator(d->root), "all values of the selector lead to one block");
        return;
    }
    const char *name = p->cost.tables ? "SwitchTable" : "SwitchSearch";
    phase_count(w->run, name, 1);
    phase_passed(
        w->run, name, block_terminator(d->root),
        "%u cases in %u branches, %u on the longest path: now %u jump table%s of %u entries in all, %u on the longest path",
        p->cases, d->branches, d->depth, p->cost.tables, p->cost.tables == 1 ? "" : "s", p->cost.entries, p->cost.depth);
}

static bool lower(Lowering *w, Arena *arena, Block *root)
{
    enum {
        SITE = 3,  /* the fewest branches that are more than an if and its else */
        PARTS = 64 /* the most regions whose parts are looked at; each of their blocks is then asked about once more */
    };
    const Function *fn = w->an->fn;
    Decision d;
    if (loop_is_around_irreducible(an_loops(w->an), root) || !region_may_decide(&w->kinds, root, SITE) ||
        (root != fn->entry && cfg_pred_count(fn, root) == 0))
        return false;
    if (!w->recovery)
        w->recovery = recovery_new(w->an, w->run, &w->arena, &w->kinds);
    RecoverResult result = recover_decision(w->recovery, arena, root, SITE, &d);
    if (result == RECOVER_NONE)
        return false;
    phase_count(w->run, "SwitchFound", !w->again);
    if (result == RECOVER_CARRY) {
        keep(w, &d, (Verdict){"SwitchKeptCarry", "too much of what it computes is live after it"});
        return false;
    }
    SwitchPlan p = switch_plan(arena, &d, &w->limits);
    Verdict verdict = judge(w, arena, &d, &p);
    if (verdict.reason)
        keep(w, &d, verdict);
    if (risks(verdict) && w->parts++ < PARTS)
        recovery_forget(w->recovery, &d);
    if (verdict.reason || !phase_may_rewrite(w->run))
        return false;
    report(w, &d, &p);
    if (p.cases == 0) {
        reconverge_decide(w->gate, root, d.leaves[0].target);
        reconverge_bypass(w->gate, root); /* the decision's other branches are not passed any more */
    }
    p.uniform_index = p.uniform && p.cost.tables && selector_is_uniform(w, &d);
    switch_emit(w->an->fn, an_live(w->an), &d, &p, &w->left_over);
    w->kinds.bits[root->id] = 0;
    return true;
}

static bool lower_all(Analyses *an, const Knobs *knobs, PhaseRun *run)
{
    an_freeze(an, AN_LOOPS | AN_POSTDOM | AN_FACTS | AN_LIVE | AN_UNIFORM);
    an_compute(an, AN_LOOPS);
    Lowering w = {.run = run, .an = an, .knobs = knobs, .limits = limits_of(an, knobs), .again = run->iteration > 0};
    const Order *order = an_order(an);
    bool changed = false;
    w.kinds = (BlockKinds){arena_array(&w.arena, u8, an->fn->blocks.n), an->fn->blocks.n};
    for (u32 p = 0; p < order->count; p++) {
        Arena arena = {0};
        changed |= lower(&w, &arena, order->rpo[p]);
        arena_free(&arena);
    }
    for (u32 k = 0; k < w.left_over.n; k++)
        instr_remove(w.left_over.v[k]);
    vec_free(&w.left_over);
    if (w.gate)
        reconverge_free(w.gate);
    arena_free(&w.arena);
    return changed;
}

/* Answers PHASE_AGAIN after a change. A table says less, or more, about its selector than compares did, so later decisions
 * are judged again. */
Phase phase_switch_lowering;
PhaseResult phase_switch_lowering(Analyses *an, const Knobs *knobs, PhaseRun *run)
{
    return lower_all(an, knobs, run) ? PHASE_AGAIN : PHASE_UNCHANGED;
}
