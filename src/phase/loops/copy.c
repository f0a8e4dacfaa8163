#include "phase/loops/copy.h"

#include "analysis/reconverge.h"
#include "base/fnvmap.h"
#include "ir/cfg.h"
#include "ir/inspect.h"
#include "target/ptxas.h"
#include "transform/miscounted.h"

enum {
    DEPENDENCES_MAX = 1 << 19, /* the most dependences of convergent instructions on branches */
    DROP_ROUNDS =
        3 /* over copies, from their end: chains of unread instructions go in one, unless blocks are out of order */
};

/* ---- what an iteration passes through ---------------------------------------------------------------------------------- */

static void visit(Analyses *an, const Loop *loop, LoopBody *body, Block *b)
{
    if (!loop_contains(an_loops(an), loop, b)) {
        body->has_exit = true;
        return;
    }
    for (u32 k = 0; k < body->blocks; k++)
        if (body->block[k] == b)
            return;
    if (body->blocks == LOOP_BLOCKS)
        body->full = true;
    else
        body->block[body->blocks++] = b;
}

void loop_body_find(Analyses *an, const Loop *loop, Instr *compare, LoopBody *body)
{
    *body = (LoopBody){.latch = loop->latches[0], .compare = compare};
    visit(an, loop, body, loop->header);
    for (u32 k = 0; k < body->blocks; k++) {
        Block *b = body->block[k];
        if (b == body->latch)
            continue;
        body->has_exit |= block_leaves_function(an->fn, b);
        for_each_cfg_edge(succ, cfg_succs(an->fn, b))
            visit(an, loop, body, succ.v->block);
    }
}

/* ---- dead instructions of the copy ------------------------------------------------------------------------------------- */

static bool lacks(const LoopDropped *d, const Instr *i)
{
    for (u32 k = 0; k < d->deads; k++)
        if (d->dead[k] == i)
            return true;
    return false;
}

/* The blocks to be copied, while instructions in them are found dead. */
typedef struct CopyPlan {
    Analyses *an;
    const Loop *loop;
    const LoopBody *body;
    LoopDropped *dropped;
    FnvMap reads; /* by register: how often the copied blocks read it */
} CopyPlan;

static void count_reads(CopyPlan *plan, const Instr *i, u64 by)
{
    for (RegWalk w = reg_walk(i); next_read(&w);)
        *fnvmap_at(&plan->reads, w.reg) += by;
}

/* Whether an instruction of the copy other than `but` reads reg. */
static bool is_read(const CopyPlan *plan, const Instr *but, RegId reg)
{
    const u64 *reads = fnvmap_find(&plan->reads, reg);
    u64 own = 0;
    for (RegWalk w = reg_walk(but); next_read(&w);)
        own += w.reg == reg;
    return reads && *reads > own;
}

/* Whether reg is read after the copy: in the remaining loop, or after its latch leaves it. */
static bool is_live_after(Analyses *an, const Loop *loop, RegId reg)
{
    const Live *live = an_live(an);
    const Block *latch = loop->latches[0];
    return live_in(live, loop->header, reg) || live_out(live, latch, reg);
}

static bool is_dead(const CopyPlan *plan, const Instr *i)
{
    const Instr *compare = plan->body->compare;
    bool late = plan->dropped->late, of_latch = i == compare;
    if (i->kind != INSTR_OP || !op_is_pure(i->op) || op_has(i->op, OPF_CARRY_OUT) || instr_reads_volatile_register(i))
        return false;
    if (of_latch && !late)
        return false;
    for (RegWalk w = reg_walk(i); next_write(&w);)
        if (is_read(plan, i, w.reg) || (!of_latch && late && instr_reads(compare, w.reg)) ||
            (!of_latch && is_live_after(plan->an, plan->loop, w.reg)))
            return false;
    return true;
}

/* Whether the latch's predicate can be computed at the end of its block. */
static bool may_be_late(const LoopBody *body)
{
    for (const Instr *i = body->compare->next; i; i = i->next)
        for (RegWalk w = reg_walk(body->compare); next_read(&w);)
            if (i->kind == INSTR_OP && instr_writes(i, w.reg))
                return false;
    return block_terminator(body->latch) != NULL;
}

/* Leaves the instruction out of the copy if nobody reads its result there; answers whether it did. */
static bool drop(CopyPlan *plan, Instr *i)
{
    LoopDropped *d = plan->dropped;
    if (lacks(d, i) || d->deads == LOOP_DROPPED || !is_dead(plan, i))
        return false;
    d->dead[d->deads++] = i;
    count_reads(plan, i, (u64)-1);
    return true;
}

/* Whether i, of copies in which registers are read so often, computes what nobody reads. */
static bool is_unread(Analyses *an, const Loop *loop, FnvMap *reads, const Instr *i)
{
    if (i->kind != INSTR_OP || !op_is_pure(i->op) || op_has(i->op, OPF_CARRY_IN | OPF_CARRY_OUT) ||
        instr_reads_volatile_register(i))
        return false;
    for (RegWalk w = reg_walk(i); next_write(&w);)
        if (*fnvmap_at(reads, w.reg) || is_live_after(an, loop, w.reg))
            return false;
    return true;
}

/* How often the copies read each register. */
static FnvMap reads_of(Block *const *copy, u32 n)
{
    FnvMap reads = {0};
    for (u32 k = 0; k < n; k++)
        for_each_instr(i, copy[k])
            for (RegWalk w = reg_walk(i); next_read(&w);)
                ++*fnvmap_at(&reads, w.reg);
    return reads;
}

void loop_copy_drop_unread(Analyses *an, const Loop *loop, Block *const *copy, u32 n)
{
    FnvMap reads = reads_of(copy, n);
    for (u32 round = 0; round < DROP_ROUNDS; round++)
        for (u32 k = n; k-- > 0;)
            for (Instr *i = copy[k]->last, *before; i; i = before) {
                before = i->prev;
                if (!is_unread(an, loop, &reads, i))
                    continue;
                for (RegWalk w = reg_walk(i); next_read(&w);)
                    --*fnvmap_at(&reads, w.reg);
                instr_remove(i);
            }
    fnvmap_free(&reads);
}

/* Adds `by` so many times to a register. */
static void build_steps(const Builder *at, RegId reg, u32 bits, i64 by, Operand many)
{
    u64 size = by < 0 ? 0 - (u64)by : (u64)by;
    bool shifts = !(size & (size - 1));
    Type type = bits_type(bits);
    if (bits == 64) {
        OpParts widen = {.type = {TYPE_U64, TYPE_U32}};
        many = many.kind == OPND_IMM ? build_integer((u64)many.value & UINT32_MAX, 64, false)
                                     : register_operand(build_unary(at, OPC_CVT, widen, TYPE_B64, many));
    }
    if (size > 1) {
        Operand times = shifts ? build_integer((u64)__builtin_ctzll(size), 32, false) : build_integer(size, bits, false);
        OpParts parts = {.type = {shifts ? type : unsigned_type(bits)}, .low = !shifts};
        many = register_operand(build_binary(at, shifts ? OPC_SHL : OPC_MUL, parts, type, many, times));
    }
    Operand slots[] = {register_operand(reg), register_operand(reg), many};
    build(at, by < 0 ? OPC_SUB : OPC_ADD, (OpParts){.type = {signed_type(bits)}}, slots, 3);
}

void loop_copy_join_steps(Analyses *an, const Loop *loop, Block *const *copy, u32 n, Operand many, const Builder *at)
{
    FnvMap reads = reads_of(copy, n);
    for (u32 k = 0; k < n; k++)
        for (Instr *i = copy[k]->first, *next; i; i = next) {
            RegId of;
            i64 by;
            next = i->next;
            if (!affine_is_step(i, &of, &by) || !by || operand_plain_register(instr_operand(i, 0)) != of ||
                !affine_definition(an, loop, of) || *fnvmap_at(&reads, of) > 1)
                continue;
            u32 bits = i->op->sem.bits;
            instr_remove(i);
            if (is_live_after(an, loop, of))
                build_steps(at, of, bits, by, many);
        }
    fnvmap_free(&reads);
}

void loop_copy_plan(Analyses *an, const Loop *loop, const LoopBody *body, LoopDropped *d)
{
    CopyPlan plan = {.an = an, .loop = loop, .body = body, .dropped = d};
    *d = (LoopDropped){.late = may_be_late(body)};
    for (u32 k = 0; k < body->blocks; k++)
        for_each_instr(i, body->block[k])
            if (i->kind == INSTR_OP && i != block_terminator(body->latch))
                count_reads(&plan, i, 1);
    for (bool more = true; more;) {
        more = false;
        for (u32 k = 0; k < body->blocks; k++)
            for_each_instr(i, body->block[k])
                more |= drop(&plan, i);
    }
    fnvmap_free(&plan.reads);
}

/* ---- whether a copy may be made ---------------------------------------------------------------------------------------- */

bool loop_is_short(const Loop *loop, u32 most)
{
    u32 n = 0;
    for (u32 k = 0; k < loop->block_count && k + n <= most; k++)
        for (const Instr *i = loop->blocks[k]->first; i && k + n <= most; i = i->next)
            n++;
    return loop->block_count + n <= most;
}

/* A phase gives such a loop the pragma nounroll, which has no text then. */
bool loop_is_rest(const Loop *loop)
{
    for_each_instr(i, loop->header)
        if (i->kind == INSTR_PRAGMA && i->text.beg == i->text.end)
            return true;
    return false;
}

const char *loop_line_of(PhaseRun *run, const Instr *i)
{
    u32 line = i ? phase_line(run, i) : 0;
    return line ? arena_printf(run->arena, ", line %u", line) : "";
}

bool loop_may_hold_twice(const Analyses *an, const Instr *i)
{
    if (op_has(i->op, OPF_TERMINATOR))
        return branch_target(i) != NULL;
    if (instr_may_be_copied(i, an->summaries))
        return true;
    Effects e = instr_effects(i, an->summaries);
    Opcode opcode = i->op->opcode;
    bool access = opcode == OPC_LD || opcode == OPC_ST || opcode == OPC_ATOM || opcode == OPC_RED;
    bool ends = op_has(i->op, OPF_CALL) && e.may_not_return && !e.times; /* an assertion, a panic */
    return (access || ends || opcode == OPC_TRAP || opcode == OPC_BRKPT) && e.known && !e.convergent && !e.waits &&
           e.barrier == BARRIER_NONE && !instr_reads_volatile_register(i);
}

bool loop_stops(const Instr *i)
{
    return i->kind == INSTR_OP && (i->op->opcode == OPC_TRAP || i->op->opcode == OPC_BRKPT || op_has(i->op, OPF_CALL));
}

bool loop_is_failure(const Function *fn, const Block *b)
{
    if (!cfg_single_pred(fn, b))
        return false;
    for_each_instr(i, b)
        if (loop_stops(i))
            return true;
    return false;
}

bool loop_copy_may(Analyses *an, const Loop *loop)
{
    return !loop->nounroll && loop->latch_count == 1 && loop->height == 1 && !an_loops(an)->irreducible &&
           loop_is_short(loop, LOOP_WALKED);
}

const char *loop_holds(Analyses *an, const Instr *i, const char *what)
{
    return arena_printf(an->scratch, "the loop holds '%s', which %s", i->op->text->text, what);
}

LoopSize loop_copy_size(Analyses *an, const LoopBody *body, const LoopDropped *dropped)
{
    LoopSize size = {.branches = 0};
    for (u32 k = 0; k < body->blocks; k++)
        for_each_instr(i, body->block[k]) {
            if (i->kind != INSTR_OP || lacks(dropped, i))
                continue;
            bool ends = op_has(i->op, OPF_TERMINATOR);
            size.branches += ends && i->guard;
            size.body += ends ? 0 : ptxas_cost(i);
            size.accesses += i->op->mem != MEM_NONE;
            if (!size.fixed && (ends ? !branch_target(i) : !instr_may_be_copied(i, an->summaries)))
                size.fixed = i;
        }
    size.branches--;
    return size;
}

/* Whether the function may come to an instruction that sees which lanes execute it, or to a branch that promises something
 * about them. */
static bool shows_lanes(Analyses *an)
{
    const Waits *waits = waits_now(an->scratch, an);
    return waits->any_active_set || waits->any_promise || effects_callers_see_lanes(an->summaries, an->fn);
}

static void find_lanes(Analyses *an, LoopLanes *lanes)
{
    Control *control = an_control(an);
    BlockVec on = {0};
    VecU32 branch = {0}, dependent = {0};
    *lanes = (LoopLanes){.asked = true, .shown = shows_lanes(an), .waited = waits_now(an->scratch, an)->any_wait};
    for (const Block *b = an->fn->entry; b && !lanes->many; b = b->next) {
        if (!block_is_convergent(b, an->summaries))
            continue;
        vec_clear(&on);
        lanes->many = !control_closure_within(control, b, DEPENDENCES_MAX - branch.n, &on);
        for (u32 k = 0; k < on.n; k++) {
            vec_push(&branch, on.v[k]->id);
            vec_push(&dependent, b->id);
        }
    }
    lanes->dependent = graph_from_edges(an->scratch, an->fn->blocks.n, branch.v, dependent.v, branch.n);
    lanes->seen = marks_new(an->scratch, an->fn->blocks.n);
    vec_free(&on);
    vec_free(&branch);
    vec_free(&dependent);
}

/* The promise .uni does not count. The test in front of the copy reads what the predicate is computed from. That may differ
 * where the predicate does not. */
static bool divides(Analyses *an, const Block *check)
{
    const Uniform *u = an_uniform(an);
    const Instr *end = block_terminator(check);
    return !uniform_has(&u->branch_warp, check->id) || (end && end->guard && !uniform_has(&u->warp, end->guard));
}

static bool may_divide(Analyses *an, Block *const *check, u32 n)
{
    for (u32 k = 0; k < n; k++)
        if (divides(an, check[k]))
            return true;
    return false;
}

/* Whether a convergent instruction depends on some of the blocks, but not on all checks that may divide a warp. It would then
 * depend on more branches than before, since the branch in front of the copy stands for all checks. */
static bool depends_on_some(Analyses *an, const LoopBranches *b, LoopLanes *lanes)
{
    const Graph *g = &lanes->dependent;
    u32 all = 0;
    marks_clear(&lanes->seen);
    for (u32 k = 0; k < b->blocks; k++)
        for_each_edge(e, g, b->block[k]->id)
            all += marks_add(&lanes->seen, g->to[e]);
    for (u32 k = 0; k < b->checks; k++) {
        u32 id = b->check[k]->id;
        if (divides(an, b->check[k]) && g->start[id + 1] - g->start[id] < all)
            return true;
    }
    return false;
}

const char *loop_lanes_forbid(Analyses *an, const LoopBranches *b, LoopLanes *lanes)
{
    if (!lanes->asked)
        find_lanes(an, lanes);
    bool checks_divide = may_divide(an, b->check, b->checks);
    bool divide = checks_divide || may_divide(an, b->block, b->blocks);
    if (lanes->shown && divide)
        return "threads could come in other groups to an instruction that sees which lanes execute it";
    if (lanes->waited && divide && b->leave)
        return "threads could wait for others earlier than before";
    if (checks_divide && (lanes->many || depends_on_some(an, b, lanes)))
        return "threads could come in other groups to an instruction that they execute together";
    return NULL;
}

/* ---- the copy ------------------------------------------------------------------------------------------------------------- */

Block *loop_copy_of(const LoopBody *body, Block *const *copy, const Block *b)
{
    for (u32 k = 0; k < body->blocks; k++)
        if (body->block[k] == b)
            return copy[k];
    return NULL;
}

static Block *copy_block(Block *b, const LoopDropped *d)
{
    Block *copy = block_clone(b);
    Instr *made = copy->first;
    for_each_instr(i, b) {
        Instr *next = made->next;
        if (lacks(d, i))
            instr_remove(made);
        made = next;
    }
    return copy;
}

void loop_copy_blocks(const LoopBody *body, const LoopDropped *d, Block *after, Block *rest, Block *copy[LOOP_BLOCKS])
{
    for (u32 k = 0; k < body->blocks; k++) {
        copy[k] = copy_block(body->block[k], d);
        block_move_after(copy[k], after);
        after = copy[k];
    }
    Block *latch = loop_copy_of(body, copy, body->latch);
    block_remove_terminator(latch);
    block_set_fall(latch, rest);
    for (u32 k = 0; k < body->blocks; k++)
        for (u32 t = 0; t < body->blocks; t++)
            if (copy[k] != latch)
                block_redirect(copy[k], body->block[t], copy[t]);
}

void loop_copy_branch(Analyses *an, const LoopBody *body, Block *b, RegId guard, bool inverted, Block *to)
{
    block_set_branch(b, guard, inverted, to, false);
    instr_inherit_origin(an->fn, block_terminator(b), block_terminator(body->latch), NULL);
}

void loop_copy_end(Analyses *an, const Loop *loop, const LoopBody *body, const LoopDropped *d, Block *after, Block *rest)
{
    Block *latch = body->latch;
    block_move_after(rest, after);
    build_nounroll(loop->header);
    if (d->late)
        instr_append(rest, instr_clone(an->fn, body->compare));
    const Instr *end = block_terminator(latch);
    block_set_fall(rest, latch->fall);
    if (!end)
        return;
    block_set_branch(rest, end->guard, end->guard_not, branch_target(end), false);
    instr_inherit_origin(an->fn, block_terminator(rest), end, NULL);
}

/* ---- all loops of a function ------------------------------------------------------------------------------------- */

enum { LOOP_ANALYSES = AN_LOOPS | AN_DOM | AN_LIVE | AN_SSA | AN_UNIFORM | AN_CONTROL | AN_FACTS };

void loop_copy_begin(Analyses *an) { an_compute(an, LOOP_ANALYSES); }

PhaseResult loop_copy_each(Analyses *an, PhaseRun *run, LoopRewrite *rewrite)
{
    an_freeze(an, LOOP_ANALYSES);
    const Loops *loops = an_loops(an);
    BitSet miscounted = miscounted_loops(an);
    LoopLanes lanes = {0};
    bool any = false;
    for (u32 l = 0; l < loops->n; l++)
        any |= !bitset_has(&miscounted, l) && rewrite(an, run, loops->v[l], &lanes);
    return any ? PHASE_AGAIN : PHASE_UNCHANGED;
}
