#include "phase/thread/judge.h"

#include "base/bound.h"
#include "ir/cfg.h"
#include "phase/thread/body.h"
#include "target/ptxas.h"

enum { SET_UP_BLOCKS = 4 /* the most blocks in front of a loop that are looked at */ };

const char judge_predicated[] = "ptxas predicates what the branch decides";
static const char WHY_SOONER[] =
    "threads would reconverge sooner, in front of what one of them may wait for, or see others";

/* ---- the function at the beginning of the iteration ----------------------------------------------------------- */

static bool has_convergent(const Function *fn, const Summaries *summaries)
{
    for_each_block(b, fn)
        if (block_is_convergent(b, summaries))
            return true;
    return false;
}

JudgeMemory judge_memory(const Analyses *an, Arena *arena)
{
    return (JudgeMemory){.arena = arena, .convergent = has_convergent(an->fn, an->summaries)};
}

/* In a function with convergent instructions, the branches that were uniform at the beginning of the phase count as uniform
 * (analysis/convergence.h). In other functions, those at the beginning of an iteration do. */
ThreadJudge judge_new(Analyses *an, const Knobs *knobs, JudgeMemory *memory)
{
    if (!memory->convergent)
        memory->uniform.bits = 0;
    return (ThreadJudge){
        .an = an, .knobs = knobs, .scratch = {.seen = marks_new(an->scratch, an->fn->blocks.n)}, .memory = memory};
}

static void remember_uniform(ThreadJudge *j)
{
    if (j->memory->uniform.bits)
        return;
    const BitSet *uniform = &an_uniform(j->an)->branch_warp;
    j->memory->uniform = bitset_new(j->memory->arena, j->an->fn->edits.origins + 1);
    for_each_block(b, j->an->fn)
        if (block_terminator(b) && uniform_has(uniform, b->id))
            bitset_add(&j->memory->uniform, block_terminator(b)->origin);
    for_each_block(b, j->an->fn) /* a branch with several copies is uniform if all of them are */
        if (block_terminator(b) && !uniform_has(uniform, b->id))
            bitset_del(&j->memory->uniform, block_terminator(b)->origin);
}

static ReconvergeGate *gate_of(ThreadJudge *j)
{
    if (!j->gate) {
        j->gate = reconverge_new(j->an->scratch, j->an);
        reconverge_prepare(j->gate);
    }
    return j->gate;
}

void judge_prepare(ThreadJudge *j)
{
    gate_of(j);
    an_compute(j->an, AN_LIVE | AN_POSTDOM);
    remember_uniform(j);
}

void judge_end(ThreadJudge *j)
{
    if (j->gate)
        reconverge_free(j->gate);
    j->gate = NULL;
    vec_free(&j->scratch.work);
}

/* ---- what is cloned, and loops ----------------------------------------------------------------------------------- */

/* Why a loop would change if an edge bypassed b to `to`; NULL: none would. */
static const char *why_loops_change(const ThreadJudge *j, const Block *b, const Block *to, const Body *body)
{
    const Loops *loops = an_loops(j->an);
    const Loop *loop = loop_of(loops, b);
    if (j->knobs->jump_threading_across_loop_headers)
        return NULL;
    if (loop_headed_by(an_loops(j->an), to))
        return "a loop would get another latch or entry";
    if (loop && !loop_contains(loops, loop, to))
        return "a loop would get another exit";
    if (loop && body_steps_a_counter(body))
        return "a loop's counter would be stepped in two places";
    return NULL;
}

/* Makes the edges undecided that cannot be used, and answers the reason for one of them, or NULL. left: the instructions
 * that may still be cloned. */
static const char *drop_edges(const ThreadJudge *j, Candidate *c, u32 left)
{
    const char *why = NULL;
    const Knobs *knobs = j->knobs;
    bool in_loop = loop_of(an_loops(j->an), c->b) != NULL;
    i64 limit = in_loop && knobs->jump_threading_loop_threshold >= 0 ? knobs->jump_threading_loop_threshold
                                                                     : knobs->jump_threading_threshold;
    for (u32 k = 0; k < c->edges; k++) {
        InEdge *edge = &c->edge[k];
        Body body;
        const char *why_not = NULL;
        if (!edge->to)
            continue;
        if (!body_collect(j->an, c->b, edge->to, edge->otherwise, &body) || body_cost(&body) > limit)
            why_not = in_loop ? "more instructions would be cloned than --jump-threading-threshold allows, or "
                                "--jump-threading-loop-threshold"
                              : "more instructions would be cloned than --jump-threading-threshold allows";
        else if (body.n > 1 && decide_makes_clones(c, k) && body.n > left)
            why_not = "the function's budget of cloned instructions is used up";
        else if (edge->select && body_writes(&body, instr_operand(edge->select, 3)->id))
            why_not = "the block writes the predicate that selects";
        else if (!(why_not = why_loops_change(j, c->b, edge->to, &body)) && edge->otherwise)
            why_not = why_loops_change(j, c->b, edge->otherwise, &body);
        if (!why_not) {
            left -= !decide_makes_clones(c, k) ? 0 : body.n < left ? body.n : left;
            continue;
        }
        why = why_not;
        edge->to = NULL;
        c->decided--;
    }
    return why;
}

/* Why the loads and stores of the block stay in one place; NULL: they need not. Their clones must not cost more than the
 * block, which must vanish. */
static const char *why_accesses_stay(const ThreadJudge *j, const Candidate *c)
{
    u32 cost = 0, accesses = 0;
    for (u32 k = 0; k < c->edges; k++) {
        const InEdge *edge = &c->edge[k];
        Body body;
        if (!edge->to || !decide_makes_clones(c, k))
            continue;
        body_collect(j->an, c->b, edge->to, edge->otherwise, &body);
        accesses += body_accesses(&body);
        cost += body_cost(&body);
    }
    bool pays = c->decided == c->edges && cost <= c->cost;
    return accesses && !pays ? "its loads and stores would be copied for too little gain" : NULL;
}

bool judge_adds_in_part(const ThreadJudge *j, const Candidate *c)
{
    for (u32 k = 0; k < c->edges && c->decided < c->edges; k++) {
        const InEdge *edge = &c->edge[k];
        Body body;
        if (edge->to && edge->from->fall == c->b && edge->from->next == c->b)
            return true;
        if (edge->to && decide_makes_clones(c, k) && body_collect(j->an, c->b, edge->to, edge->otherwise, &body) &&
            body_cost(&body))
            return true;
    }
    return false;
}

/* ---- where threads reconverge ------------------------------------------------------------------------------------- */

/* The number of edges of c that may lead to `to`. */
static u32 entries_of(const Candidate *c, const Block *to)
{
    u32 n = 0;
    for (u32 k = 0; k < c->edges; k++)
        n += c->edge[k].to == to || (c->edge[k].to && c->edge[k].otherwise == to);
    return n;
}

static bool leaves_a_loop(const ThreadJudge *j, const InEdge *edge, const Block *b)
{
    const Loops *loops = an_loops(j->an);
    const Loop *loop = loop_of(loops, edge->from);
    return loop && !loop_contains(loops, loop, b);
}

bool judge_is_predicated(ThreadJudge *j, const Block *b)
{
    if (branch_table(block_terminator(b)))
        return false;
    for (u32 k = 0; k < block_edge_count(b); k++)
        if (!region_is_light(j->an, &j->scratch, b, block_edge_target(b, k)))
            return false;
    return true;
}

/* The number of edges of c that lead to `to`, or may. */
static u32 entries_left(const Candidate *c, const Block *to) { return entries_of(c, to) + c->edges - c->decided; }

/* Whether a block that ptxas does not predicate joins the block that only its edge then leads to, so that ptxas orders
 * both together. */
static bool joins_parts(ThreadJudge *j, const Candidate *c)
{
    const Block *stop = dom_parent(an_postdom(j->an), c->b);
    for (u32 k = 0; k < c->edges; k++) {
        const InEdge *edge = &c->edge[k];
        if (edge->to && !edge->otherwise && edge->to != stop && entries_left(c, edge->to) == 1 &&
            ptxas_block_cost(edge->from, PTXAS_PREDICATED) >= PTXAS_PREDICATED)
            return true;
    }
    return false;
}

/* Whether a block that ptxas does not predicate joins c->b itself, to which only its edge then leads. */
static bool joins_block(const Candidate *c)
{
    for (u32 k = 0; k < c->edges && c->edges - c->decided == 1; k++)
        if (!c->edge[k].to)
            return !block_terminator(c->edge[k].from) &&
                   ptxas_block_cost(c->edge[k].from, PTXAS_PREDICATED) >= PTXAS_PREDICATED;
    return false;
}

/* Whether more registers are live at c->b than ptxas has to execute together what becomes one block there. */
static bool is_crowded(ThreadJudge *j, const Candidate *c)
{
    bool parts = joins_parts(j, c);
    u32 most = parts ? PTXAS_THREADED_WORDS : PTXAS_JOINED_WORDS;
    return (parts || joins_block(c)) && live_words(an_live(j->an), c->b, most + 1) > most;
}

/* The cost of what edge k executes in place of c->b. */
static u32 cost_of_edge(const ThreadJudge *j, const Candidate *c, u32 k)
{
    const InEdge *edge = &c->edge[k];
    Body body;
    if (!edge->to)
        return 0;
    body_collect(j->an, c->b, edge->to, edge->otherwise, &body);
    return body_cost(&body) + (k > 0 ? PTXAS_ACCESS_SLOTS * body_accesses(&body) : 0) +
           (edge->select ? PTXAS_DIVERGENT_BRANCH : 0);
}

/* Adds the cost of the code that each group of threads but one executes once more from the targets of c on. False: it is
 * too much. */
static bool cost_of_parts(ThreadJudge *j, const Candidate *c, u64 *cost)
{
    const Block *stop = dom_parent(an_postdom(j->an), c->b);
    for (u32 k = 0; k < block_edge_count(c->b); k++) {
        Block *to = block_edge_target(c->b, k);
        if (to == stop || entries_left(c, to) <= 1 || region_joins_at(j->an, &j->scratch, c->b, to))
            continue;
        ThreadRegion region = region_after(j->an, &j->scratch, c->b, to);
        if (!region.whole || region.loops)
            return false;
        *cost += (u64)region.cost * (entries_left(c, to) - 1);
    }
    return true;
}

/* Why threads on undecided edges must reconverge at c->b with the others; NULL: they need not. If only one edge is
 * undecided, nobody reconverges there any more. Its branch stays, so nothing may be cloned, and the code before it must not
 * be predicated. */
static const char *why_others_wait(ThreadJudge *j, const Candidate *c, bool table, u64 spent)
{
    bool one = c->edges - c->decided == 1 && !table && !spent;
    return one && region_heavy_before(j->an, &j->scratch, c->b, PTXAS_PLAIN_ARM + 1)
               ? NULL
               : "warps reconverge there, and other edges still need the branch";
}

/* Why warps that come to the block in several groups must still reconverge there; NULL: they need not. The reason is that
 * the groups would execute, one after the other, more than the branch costs. */
static const char *why_divergence_costs(ThreadJudge *j, const Candidate *c)
{
    bool table = branch_table(block_terminator(c->b)) != NULL, whole = c->decided == c->edges;
    u64 saved = PTXAS_DIVERGENT_BRANCH + (whole ? c->cost - 1 : 0), spent = 0;
    for (u32 k = 0; k < c->edges; k++) {
        if (leaves_a_loop(j, &c->edge[k], c->b))
            return "threads that leave a loop at different times reconverge there";
        spent += cost_of_edge(j, c, k);
    }
    const char *why = whole ? NULL : why_others_wait(j, c, table, spent);
    if (why)
        return why;
    if (is_crowded(j, c))
        return "many registers are live there, and ptxas would need more to execute together what it executes apart";
    if (!table && !region_heavy_before(j->an, &j->scratch, c->b, PTXAS_PREDICATED))
        return "ptxas predicates what lies before, and the branch costs nothing more than the one that would be left";
    if (!cost_of_parts(j, c, &spent))
        return "warps reconverge there, and their parts would execute too much one after the other";
    return spent <= saved
               ? NULL
               : "warps reconverge there, and their parts would execute more one after the other than the branch costs";
}

/* Whether a convergent instruction can be reached before the paths from b join. */
static bool convergent_after(ThreadJudge *j, const Block *b)
{
    for (u32 k = 0; j->memory->convergent && k < block_edge_count(b); k++) {
        ThreadRegion region = region_after(j->an, &j->scratch, b, block_edge_target(b, k));
        if (!region.whole || region.convergent)
            return true;
    }
    return false;
}

/* Why threads may not reconverge sooner after c->b than before, once those on decided edges bypass it; NULL: they may. */
static const char *why_not_sooner(ThreadJudge *j, const Candidate *c, bool converged)
{
    for (u32 k = 0; k < c->edges; k++)
        for (u32 which = 0; which < 2; which++) {
            Block *to = which ? c->edge[k].otherwise : c->edge[k].to;
            if (to &&
                reconverge_decided(gate_of(j), c->b, to, dom_parent(an_postdom(j->an), c->b), converged) != RECONVERGE_SAFE)
                return WHY_SOONER;
        }
    return NULL;
}

/* Machine instructions of all clones of c->b. */
static u32 clones_cost(const ThreadJudge *j, const Candidate *c)
{
    u32 cost = 0;
    for (u32 k = 0; k < c->edges; k++)
        if (decide_makes_clones(c, k)) {
            Body body;
            body_collect(j->an, c->b, c->edge[k].to, c->edge[k].otherwise, &body);
            cost += body_cost(&body);
        }
    return cost;
}

/* Why the block stays although warps come to it as a whole; NULL: it need not. While other edges need the block, bypassing
 * it saves little in a loop, or where it is hardly more than its branch. Outside of loops, clones that cost more than the
 * block do not pay. */
static const char *why_block_stays(const ThreadJudge *j, const Candidate *c)
{
    bool in_loop = loop_of(an_loops(j->an), c->b) != NULL, table = branch_table(block_terminator(c->b)) != NULL;
    if (c->decided < c->edges && !table && (in_loop || c->cost <= PTXAS_BYPASSED))
        return in_loop ? "other edges of the loop still need the branch"
                       : "other edges still need the branch, and it is nearly all that one would bypass";
    if (c->decided == c->edges && !in_loop && clones_cost(j, c) > c->cost)
        return "its clones would cost more than the block, which is in no loop";
    return NULL;
}

/* Why the threads that come to c->b must still reconverge there; NULL: they need not. Asks what is found cheaply first. */
static const char *why_they_reconverge(ThreadJudge *j, const Candidate *c, bool *after_convergent)
{
    const char *why = judge_is_predicated(j, c->b) ? judge_predicated : NULL;
    *after_convergent = convergent_after(j, c->b);
    if (why && !*after_convergent)
        return why; /* without asking which branches are uniform */
    remember_uniform(j);
    bool converged = region_is_reached_convergently(j->an, &j->scratch, c->b, &j->memory->uniform);
    if (*after_convergent && !converged)
        return "threads of a warp reconverge there, and a convergent instruction follows";
    if (!why)
        why = converged ? why_block_stays(j, c) : why_divergence_costs(j, c);
    return why ? why : why_not_sooner(j, c, converged);
}

const char *judge_why_not(ThreadJudge *j, Candidate *c, u32 budget, bool *after_convergent)
{
    an_compute(j->an, AN_LIVE | AN_POSTDOM);
    const char *why = drop_edges(j, c, budget), *stays = why_accesses_stay(j, c);
    if (!c->decided)
        return why;
    return stays ? stays : why_they_reconverge(j, c, after_convergent);
}

/* ---- branches that always take one edge ------------------------------------------------------------------------------ */

/* Machine instructions of the blocks from b on up to a loop, as long as each has one successor; or some number from
 * PTXAS_SET_UP on. */
static u32 set_up_cost(const ThreadJudge *j, const Block *b)
{
    u32 cost = 0;
    for (u32 k = 0;
         b && WITHIN(SET_UP_BLOCKS, k < SET_UP_BLOCKS) && !loop_headed_by(an_loops(j->an), b) && !block_terminator(b);
         k++, b = b->fall)
        cost += ptxas_block_cost(b, PTXAS_SET_UP);
    return cost;
}

/* Whether the branch can only skip a loop and the long code that sets it up. It costs a thread one instruction. Without the
 * branch ptxas makes one block of the set-up and the code before it. It orders that block for latency, so that more values
 * are live at a time. Measured in tests/ptxas/THREADING.md, "Branches that guard a loop". */
static bool guards_a_loop(ThreadJudge *j, const Block *b, Block *to)
{
    if (branch_table(block_terminator(b)))
        return false;
    an_compute(j->an, AN_POSTDOM);
    const Block *stop = dom_parent(an_postdom(j->an), b);
    Block *other = to == b->fall ? branch_target(block_terminator(b)) : b->fall;
    if (other != stop)
        return false;
    ThreadRegion region = region_after(j->an, &j->scratch, b, to);
    /* the set-up of a loop that begins the function is one block with all of it */
    if (!region.loops)
        return false;
    if (loop_of(an_loops(j->an), b) && region.cost >= PTXAS_GUARDED)
        return true;
    return (b == j->an->fn->entry ? region.set_up : set_up_cost(j, to)) >= PTXAS_SET_UP;
}

/* Whether threads might reconverge sooner after b than they may, if its branch always leads to `to`. */
static bool moves_point(ThreadJudge *j, const Block *b, Block *to)
{
    const Block *old = dom_parent(an_postdom(j->an), b);
    ReconvergeRisk risk = reconverge_decided(gate_of(j), b, to, old, false);
    if (risk != RECONVERGE_ACTIVE_SET)
        return risk != RECONVERGE_SAFE;
    remember_uniform(j);
    return !region_is_reached_convergently(j->an, &j->scratch, b, &j->memory->uniform) ||
           reconverge_decided(gate_of(j), b, to, old, true) != RECONVERGE_SAFE;
}

const char *judge_why_branch_stays(ThreadJudge *j, const Block *b, Block *to)
{
    if (guards_a_loop(j, b, to))
        return "the branch is always decided, but ptxas needs fewer registers with a loop's set-up after it";
    an_compute(j->an, AN_POSTDOM);
    return moves_point(j, b, to) ? WHY_SOONER : NULL;
}

void judge_branch_bypassed(ThreadJudge *j, const Block *b) { reconverge_bypass(gate_of(j), b); }
void judge_branch_goes(ThreadJudge *j, const Block *b, const Block *to) { reconverge_decide(gate_of(j), b, to); }
