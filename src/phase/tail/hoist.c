#include "phase/tail/hoist.h"

#include "base/bound.h"
#include "ir/cfg.h"
#include "ir/builder.h"
#include "ir/inspect.h"
#include "phase/tail/ends.h"
#include "phase/tail/names.h"
#include "target/ptxas.h"
#include "transform/condition.h"

/* The most registers that the instructions hoisted from one pair of blocks may write. */
#define HOIST_NAMES 64
/* The most instructions that are hoisted from one pair of blocks. */
#define HOIST_LIMIT 64
/* The most numbers of instructions to hoist that are weighed, from the largest down. */
#define HOIST_CUTS 8
/* The most instructions that are hoisted in a loop whatever ptxas makes of it. */
#define SHORT_HEAD 2

typedef struct HoistStep {
    Instr *taken; /* the instruction, as it stands in the taken successor */
    u32 names;    /* TailHoist.names after it */
    bool closed;  /* no carry chain continues after it */
} HoistStep;

/* A hoisted value that a block, and the blocks it dominates, read under another name than it now has. */
typedef struct SecondName {
    RegId kept, other;
    Block *block; /* the successor that reads `other` */
    bool rename;  /* all readers of `other` can read `kept` instead: no copy is needed */
} SecondName;

typedef struct HoistPass {
    PhaseRun *run;
    Analyses *an;
    Instr **only_write; /* see instr_only_writes; NULL: not needed yet */
    BitSet in_flight;   /* see match_find_in_flight; without words: not needed yet */
    TailNames names;
    VEC(SecondName) second;
} HoistPass;

typedef struct TailHoist {
    HoistPass *pass;
    Analyses *an;
    ReservedChoice gate;
    Instr *branch;
    Block *taken, *other;
    RegPair name[HOIST_NAMES]; /* kept: the taken successor's name; other: the other successor's name, maybe the same */
    u32 names;
    HoistStep step[HOIST_LIMIT];
    u32 steps;
    const Instr *compare[2]; /* the comparisons of the loop tests that end the two blocks, or NULL */
    PairVisitor visitor;
} TailHoist;

static const BitSet *find_in_flight(HoistPass *pass)
{
    if (!pass->in_flight.word) {
        pass->in_flight = bitset_new(pass->an->scratch, pass->an->fn->regs.n);
        match_find_in_flight(pass->an->fn, &pass->in_flight);
    }
    return &pass->in_flight;
}

static Instr **find_only_writes(HoistPass *pass)
{
    if (!pass->only_write)
        pass->only_write = instr_only_writes(pass->an->scratch, pass->an->fn);
    return pass->only_write;
}

/* Finds, before the first rewrite, what is asked about the function as it was. Most functions hoist nothing that has two names, and
 * never need it. */
static void look_at_function(HoistPass *pass)
{
    find_in_flight(pass);
    find_only_writes(pass);
}

/* ---- names: a write makes a pair, which holds for the reads after it ---------------------------------------------- */

static const RegPair *pair_of_taken(const TailHoist *h, RegId reg)
{
    for (u32 k = 0; k < h->names; k++)
        if (h->name[k].kept == reg)
            return &h->name[k];
    return NULL;
}

static const RegPair *pair_of_other(const TailHoist *h, RegId reg)
{
    for (u32 k = 0; k < h->names; k++)
        if (h->name[k].other == reg)
            return &h->name[k];
    return NULL;
}

static bool read_same(void *user, RegId taken, RegId other)
{
    const TailHoist *h = user;
    const RegPair *pair = pair_of_other(h, other);
    return pair ? pair->kept == taken : taken == other && !pair_of_taken(h, taken);
}

static u32 rate_same(void *user, const Instr *a, RegId taken, const Instr *b, RegId other)
{
    (void)a;
    (void)b;
    return read_same(user, taken, other);
}

/* Whether a value that the blocks write under two names may be hoisted under `taken`, and the other block can copy it to
 * `other`. */
static bool may_have_two_names(const TailHoist *h, RegId taken, RegId other)
{
    const Function *fn = h->an->fn;
    const Reg *a = fn_reg(fn, taken), *b = fn_reg(fn, other);
    return a->type == b->type && a->vector == 1 && b->vector == 1 && build_can_copy(a->type) && !a->is_param &&
           !b->is_param && !fn->scopes.v[a->scope].in_block && !fn->scopes.v[b->scope].in_block &&
           !bitset_has(find_in_flight(h->pass), taken) && !bitset_has(find_in_flight(h->pass), other) &&
           !pair_of_taken(h, other) && !pair_of_other(h, taken) && !live_in(an_live(h->an), h->other, taken);
}

static bool is_compared(const TailHoist *h, RegId reg)
{
    for (u32 k = 0; k < 2; k++)
        if (h->compare[k] && instr_reads(h->compare[k], reg))
            return true;
    return false;
}

static bool write_same(void *user, RegId taken, RegId other, bool kills)
{
    TailHoist *h = user;
    const RegPair *of_taken = pair_of_taken(h, taken), *of_other = pair_of_other(h, other);
    if (instr_reads(h->branch, taken) || is_compared(h, taken) || is_compared(h, other))
        return false;
    if (of_taken || of_other)
        return of_taken == of_other;
    if (BEYOND(HOIST_NAMES, h->names == HOIST_NAMES) ||
        (taken != other && (!kills || !may_have_two_names(h, taken, other))))
        return false;
    h->name[h->names++] = (RegPair){taken, other, 0};
    return true;
}

/* ---- how far the two successors are the same -------------------------------------------------------------------------- */

static Instr *first_item(const Block *b)
{
    Instr *i = b->first;
    while (i && i->kind == INSTR_LOC)
        i = i->next;
    return i;
}

static Instr *item_after(Instr *i)
{
    do
        i = i->next;
    while (i && i->kind == INSTR_LOC);
    return i;
}

/* Whether the first instructions of both blocks have the same opcode. Mostly they do not, and nothing else needs to be
 * compared. */
static bool begin_alike(const Block *a, const Block *b)
{
    const Instr *of_a = first_item(a), *of_b = first_item(b);
    return of_a && of_b && of_a->kind == INSTR_OP && of_b->kind == INSTR_OP && of_a->op == of_b->op;
}

/* Whether all paths from the branch, some around a loop, come to one of its successors. An instruction there depends on the
 * branch no more than one after it; in front of the branch it would still not. */
static bool joins_at_successor(const TailHoist *h)
{
    const DomTree *postdom = an_postdom(h->an);
    const Block *b = h->branch->block;
    return strictly_dominates(postdom, h->taken, b) || strictly_dominates(postdom, h->other, b);
}

/* Whether i is a call in which threads may diverge and wait. The threads of both copies would execute the call together,
 * and reconverge in the callee. */
static bool may_wait_inside(Analyses *an, const Instr *i)
{
    return instr_is(i, OPF_CALL) && instr_effects(i, an->summaries).waits;
}

static bool same_instruction(TailHoist *h, const Instr *a, const Instr *b)
{
    bool exchanged;
    u32 names = h->names;
    if (a->kind != INSTR_OP || b->kind != INSTR_OP || instr_is(a, OPF_TERMINATOR) || a->scope != h->taken->scope ||
        b->scope != h->other->scope || match_call_argument(a) ||
        match_copies_may_merge(a, h->gate, h->an->summaries) != STOP_NONE)
        return false;
    if (instr_is_convergent(a, h->an->summaries) && joins_at_successor(h))
        return false;
    if (may_wait_inside(h->an, a))
        return false;
    bool same = match_instrs_alike(&h->visitor, a, b, &exchanged) && tail_names_alike(&h->pass->names, a, b) &&
                match_visit_reads(&h->visitor, a, b, exchanged) && match_visit_writes(&h->visitor, a, b);
    if (!same)
        h->names = names;
    return same;
}

/* Whether each of the two names is written by one instruction only, so that all readers of one name can read the other
 * instead. */
static bool has_one_value(const TailHoist *h, const RegPair *pair)
{
    Instr **only = find_only_writes(h->pass);
    return only[pair->kept] && only[pair->other];
}

static i64 copies(const TailHoist *h, u32 from, u32 to)
{
    i64 n = 0;
    for (u32 k = from; k < to; k++)
        n += h->name[k].kept != h->name[k].other && !has_one_value(h, &h->name[k]);
    return n;
}

/* Whether i computes a predicate that is read after one of the blocks. ptxas compares again there rather than keep one of
 * its seven predicates. */
static bool is_lasting_predicate(const TailHoist *h, const Instr *i)
{
    const Live *live = an_live(h->an);
    for (RegWalk w = reg_walk(i); next_write(&w);)
        if (fn_reg(h->an->fn, w.reg)->type == TYPE_PRED &&
            (live_out(live, h->taken, w.reg) || live_out(live, h->other, pair_of_taken(h, w.reg)->other)))
            return true;
    return false;
}

/* Whether ptxas makes nothing of i, or makes it where it is read, as it does with constants. Constant memory is an operand
 * there, or is read into uniform registers, which hold nothing across a branch that divides the warp. */
static bool is_made_where_read(const Instr *i)
{
    return ptxas_costs_nothing(i) || match_loads_constant(i) || (i->op->mem == MEM_READ && i->op->space == SPACE_CONST);
}

/* Machine instructions saved when the first n instructions are hoisted. An instruction that ptxas fuses with its reader
 * costs one if the reader stays in the blocks. */
static i64 head_gain(const TailHoist *h, u32 n)
{
    i64 gain = 0;
    for (u32 k = 0; k < n; k++) {
        const Instr *i = h->step[k].taken;
        i64 own_copies = copies(h, k ? h->step[k - 1].names : 0, h->step[k].names);
        bool separate = false;
        for (RegWalk w = reg_walk(i); instr_is(i, OPF_FUSES) && next_write(&w);)
            separate |= live_after(an_live(h->an), h->step[n - 1].taken, w.reg);
        bool saves = !is_made_where_read(i) && !is_lasting_predicate(h, i);
        gain += (separate ? -1 : saves) - own_copies;
    }
    return gain;
}

static bool is_short_arm(const Block *b, u32 most)
{
    return ptxas_block_cost(b, most) <= most && b->fall && !block_two_way_branch(b);
}

static bool computes_address(const Function *fn, const Instr *i)
{
    const Operand *to = instr_operand(i, 0);
    if (!op_is_pure(i->op) || to->kind != OPND_REG)
        return false;
    Type type = fn_reg(fn, to->id)->type;
    return type_bits(type) == 64 && type_class(type) != TC_FLOAT;
}

/* Whether the first n instructions only compute addresses, and both arms are so short that ptxas executes them under
 * predicates. ptxas then computes equal addresses once by itself. */
static bool is_lone_address(const TailHoist *h, u32 n)
{
    for (u32 k = 0; k < n; k++)
        if (!computes_address(h->an->fn, h->step[k].taken))
            return false;
    return h->taken->fall == h->other->fall && is_short_arm(h->taken, PTXAS_PLAIN_ARM) &&
           is_short_arm(h->other, PTXAS_PLAIN_ARM);
}

static bool is_guarded_load(const Instr *i)
{
    return i->kind == INSTR_OP && i->op->mem == MEM_READ && (i->op->space == SPACE_GLOBAL || i->op->space == SPACE_GENERIC);
}

/* Whether the block holds what ptxas executes under no predicate, however short the block is. */
static bool needs_branch(const TailHoist *h, const Block *b)
{
    for_each_instr(i, b)
        if (instr_is_convergent(i, h->an->summaries) || instr_is(i, OPF_CALL))
            return true;
    return false;
}

/* Whether ptxas executes the arms under predicates for the sake of loads among their first n instructions. Without these
 * it would branch past what is left of an arm. It makes one of two equal loads itself. */
static bool takes_loads_of_arms(const TailHoist *h, u32 n)
{
    u32 moved = 0;
    bool loads = false;
    for (u32 k = 0; k < n; k++) {
        moved += ptxas_cost(h->step[k].taken);
        loads |= is_guarded_load(h->step[k].taken);
    }
    bool guarded = h->taken->fall == h->other->fall && is_short_arm(h->taken, PTXAS_GUARDED_ARM) &&
                   is_short_arm(h->other, PTXAS_GUARDED_ARM) && !needs_branch(h, h->taken) && !needs_branch(h, h->other);
    u32 most = PTXAS_SHORT_HEAD + moved;
    return loads && guarded && !(is_short_arm(h->taken, most) && is_short_arm(h->other, most));
}

/* Lists the instructions that both blocks begin with, up to the first difference or pragma. */
static void walk_heads(TailHoist *h)
{
    const Live *live = an_live(h->an);
    bool carry = false;
    Instr *a = first_item(h->taken), *b = first_item(h->other);
    while (a && b && WITHIN(HOIST_LIMIT, h->steps < HOIST_LIMIT) && same_instruction(h, a, b)) {
        carry |= instr_is(a, OPF_CARRY_OUT);
        carry = carry && (live_after(live, a, CARRY_REG) || live_after(live, b, CARRY_REG));
        h->step[h->steps++] = (HoistStep){a, h->names, !carry};
        a = item_after(a);
        b = item_after(b);
    }
}

/* Whether a load among the first n instructions writes more registers than PTXAS_HOISTED_LOAD that are read after these.
 * ptxas needs them side by side; in an arm it issues the load where they are free. */
static bool holds_wide_load(const TailHoist *h, u32 n)
{
    const Live *live = an_live(h->an);
    for (u32 k = 0; k < n; k++) {
        const Instr *i = h->step[k].taken;
        u32 words = 0;
        for (RegWalk w = reg_walk(i); i->op->mem == MEM_READ && next_write(&w);)
            words += live_after(live, h->step[n - 1].taken, w.reg) ? live_words_of(live, w.reg) : 0;
        if (words > PTXAS_HOISTED_LOAD)
            return true;
    }
    return false;
}

/* The number of instructions whose hoisting saves most; a carry chain is hoisted as a whole. */
static u32 common_head(TailHoist *h)
{
    walk_heads(h);
    u32 cuts = 0, best = 0;
    i64 most = 0;
    for (u32 n = h->steps; n > 0 && WITHIN(HOIST_CUTS, cuts < HOIST_CUTS); n--) {
        if (!h->step[n - 1].closed)
            continue;
        i64 gain = head_gain(h, n);
        if (gain > most && !is_lone_address(h, n) && !holds_wide_load(h, n) && !takes_loads_of_arms(h, n)) {
            most = gain;
            best = n;
        }
        cuts++;
    }
    h->names = best ? h->step[best - 1].names : 0;
    return best;
}

/* ---- the change ------------------------------------------------------------------------------------------------- */

static void move_head(TailHoist *h, u32 count)
{
    Instr *last = first_item(h->other);
    for (u32 k = 1; k < count; k++)
        last = item_after(last);
    for (u32 k = 0; k < h->names; k++) {
        const RegPair *pair = &h->name[k];
        if (pair->kept != pair->other && live_after(an_live(h->an), last, pair->other))
            vec_push(&h->pass->second, ((SecondName){pair->kept, pair->other, h->other, has_one_value(h, pair)}));
    }
    for (u32 k = 0; k < count; k++) {
        Instr *moved = first_item(h->taken);
        instr_remove(moved);
        instr_insert_before(h->branch, moved);
        instr_remove(first_item(h->other));
    }
}

/* ---- second names, after all hoisting --------------------------------------------------------------------------- */

/* Finds the second names some of whose readers the block does not dominate. Such a reader may read a value of an earlier
 * iteration. */
static void check_readers(HoistPass *pass, const u32 *second_of)
{
    for_each_block(b, pass->an->fn)
        for_each_instr(i, b)
            for (RegWalk w = reg_walk(i); i->kind == INSTR_OP && next_read(&w);) {
                SecondName *s = second_of[w.reg] ? &pass->second.v[second_of[w.reg] - 1] : NULL;
                if (s && !dominates(an_dom(pass->an), s->block, b))
                    s->rename = false;
            }
}

static void rename_readers(HoistPass *pass, const u32 *second_of)
{
    for_each_block(b, pass->an->fn)
        for_each_instr(i, b)
            for (RegWalk w = reg_walk(i); i->kind == INSTR_OP && next_read(&w);) {
                const SecondName *s = second_of[w.reg] ? &pass->second.v[second_of[w.reg] - 1] : NULL;
                if (s && s->rename)
                    instr_rename(i, s->other, s->kept, true, false);
            }
}

static void copy_value(const SecondName *s)
{
    Builder at = s->block->first ? build_before(s->block->first) : build_at_end(s->block);
    build_copy(&at, s->other, s->kept);
}

static void assign_names(HoistPass *pass)
{
    if (!pass->second.n)
        return;
    u32 *second_of = arena_array(pass->an->scratch, u32, pass->an->fn->regs.n);
    for (u32 k = 0; k < pass->second.n; k++)
        if (pass->second.v[k].rename)
            second_of[pass->second.v[k].other] = k + 1;
    check_readers(pass, second_of);
    rename_readers(pass, second_of);
    for (u32 k = 0; k < pass->second.n; k++)
        if (!pass->second.v[k].rename)
            copy_value(&pass->second.v[k]);
    vec_free(&pass->second);
}

/* ---- branches --------------------------------------------------------------------------------------------------- */

static bool only_from(const Function *fn, const Block *b, const Block *from)
{
    CfgList preds = cfg_preds(fn, b);
    return preds.n == 1 && preds.v[0].block == from && preds.v[0].multiplicity == 1;
}

static bool find_branch(TailHoist *h, Block *b)
{
    const Function *fn = h->an->fn;
    const Loops *loops = an_loops(h->an);
    h->branch = block_terminator(b);
    h->taken = h->branch && h->branch->guard ? branch_target(h->branch) : NULL;
    h->other = b->fall;
    if (loop_is_around_irreducible(loops, b))
        return false;
    if (!h->taken || !h->other || h->taken == h->other || !only_from(fn, h->taken, b) || !only_from(fn, h->other, b))
        return false;
    if (loop_of(loops, h->taken) != loop_of(loops, b) || loop_of(loops, h->other) != loop_of(loops, b))
        return false;
    return h->taken != b && h->other != b && h->taken->scope == b->scope && h->other->scope == b->scope;
}

static bool hoist_into(HoistPass *pass, ReservedChoice gate, Block *b)
{
    PhaseRun *run = pass->run;
    Analyses *an = pass->an;
    TailHoist h = {.pass = pass, .an = an, .gate = gate};
    h.visitor = (PairVisitor){&h, rate_same, read_same, write_same, NULL};
    if (!find_branch(&h, b))
        return false;
    ends_loop_test(an_loops(an), h.taken, &h.compare[0]);
    ends_loop_test(an_loops(an), h.other, &h.compare[1]);
    u32 count = common_head(&h);
    if (count > SHORT_HEAD && phase_waits(run, KIND_LOOP_HEADS) && loop_of(an_loops(an), b)) {
        phase_missed_once(run, "CodeNotHoisted", h.branch,
                          "both successors begin with the same %u instructions: -O3 or the guard moves them out of arms in loops", count);
        return false;
    }
    if (!count || !phase_rewrite_at(run, "CodeHoisted", h.branch,
                                    "both successors of the branch begin with the same %u instruction%s", count,
                                    count == 1 ? "" : "s"))
        return false;
    an_compute(an, AN_LIVE);
    look_at_function(pass);
    phase_count(run, "InstructionsHoisted", count);
    move_head(&h, count);
    pass->names.edited = true;
    return true;
}

/* Blocks that something was hoisted from or into are left alone until the next call of the phase, because their liveness
 * has changed. */
bool hoist_common_code(Analyses *an, PhaseRun *run, ReservedChoice gate)
{
    HoistPass pass = {.run = run, .an = an, .names = {.an = an}};
    u8 *touched = arena_array(an->scratch, u8, an->fn->blocks.n);
    bool any = false;
    for_each_block(b, an->fn) {
        const Instr *end = block_terminator(b);
        const Block *taken = end && end->guard ? branch_target(end) : NULL;
        if (!taken || !b->fall || !begin_alike(taken, b->fall))
            continue;
        if (touched[b->id] || touched[taken->id] || touched[b->fall->id])
            continue;
        if (hoist_into(&pass, gate, b)) {
            touched[b->id] = touched[taken->id] = touched[b->fall->id] = 1;
            any = true;
        }
    }
    assign_names(&pass);
    return any;
}
