#include "phase/tail/match.h"

#include <string.h>

#include "ir/builder.h"
#include "ir/inspect.h"
#include "phase/tail/dependence.h"
#include "phase/tail/ends.h"
#include "phase/tail/lanes.h"
#include "phase/tail/loads.h"
#include "phase/tail/names.h"
#include "target/ptxas.h"
#include "transform/condition.h"

#define UNPAIRED UINT32_MAX

const TailStopInfo tail_stop_info[STOP_COUNT] = {
    [STOP_NONE] = {"DeclinedShort", "merging them saves too little"},
    [STOP_CONVERGENT] = {"DeclinedConvergent", "it depends on which threads execute it together"},
    [STOP_CONTROL] = {"DeclinedControl", "its copies depend on different branches, and it needs its threads together"},
    [STOP_NAMES] = {"DeclinedNames", "its copies may name different threads, which would wait for one another"},
    [STOP_RESERVED] = {"DeclinedReserved", "it reads a special register that is held back (--tail-merge-reserved)"},
    [STOP_PRAGMA] = {"DeclinedPragma", "a pragma must stay in its block"},
    [STOP_TYPE] = {"DeclinedType", "registers of two types, or in use by an asynchronous instruction"},
    [STOP_CARRY] = {"DeclinedCarry", "the carry is alive where the code would be cut"},
    [STOP_CALL] = {"DeclinedCall", "the sequence around a call must stay in one block"},
    [STOP_WAIT] = {"DeclinedWait", "a thread that waits in front of it may wait for threads that would wait there for it"},
    [STOP_ACTIVE_SET] = {"DeclinedActiveSet",
                         "other lanes than before would come together to an instruction that sees them"},
    [STOP_LOADS] = {"DeclinedLoads", "its loads would no longer be in flight together with those in front of it"},
    [STOP_LOOP_TEST] = {"DeclinedLoopTest", "the test of a loop would be separated from its step, and ptxas not unroll it"},
};

typedef struct TailSize {
    u32 items, weight, cost, width;
} TailSize;

/* A place where the tails may begin. */
typedef struct Cut {
    TailSize size;
    Instr *kept, *other;
} Cut;

typedef struct ScopePair {
    ScopeId kept, other;
} ScopePair;

/* The comparison in which each partner of a register was set; in any other one live_after decides. */
typedef struct PairEpochs {
    u32 kept, other;
} PairEpochs;

typedef struct Pairing {
    RegId to_other, to_kept; /* the partner in the other block, or UNPAIRED */
    u32 opened;              /* for a register of kept: items of the tail when the pair was made */
    const Instr *reader;     /* of kept: the only instruction that reads it, where that is in the tail; or NULL */
} Pairing;

/* The registers that the comparison under way has paired. */
typedef struct Pairings {
    u32 epoch;        /* number of the comparison */
    PairEpochs *set;  /* by RegId */
    Pairing *pairing; /* by RegId; valid as far as the epochs say */
    VecU32 paired;    /* registers of kept that have an entry */
} Pairings;

/* Instructions of the kept block of which the tail must hold all or none: the comparison, and those that write its operands. No
 * instruction that writes a predicate reads seven registers. */
typedef struct LoopTestParts {
    const Instr *part[8];
    u32 parts;
} LoopTestParts;

struct Matcher {
    Analyses *an;
    Function *fn;
    ReservedChoice gate;
    TailLanes *lanes; /* NULL: not needed yet */
    Dependence dependence;
    TailNames names;
    u64 compared;     /* items that all comparisons found alike */
    BitSet late;      /* scratch for loads_parted */
    BitSet in_flight; /* see match_find_in_flight; without words: not needed yet */
    const Instr *at;  /* the instruction of kept that is being matched */
    TailTerms terms;
    const Block *end;  /* one of the blocks that are compared, all of which end like it */
    BitSet live_after; /* registers that are live after the blocks */
    Pairings pairs;
    VEC(ScopePair) scopes; /* in-block scopes that are open */
    VEC(Cut) cuts;
    VEC(RegPair) renamed;
    /* the comparison under way */
    TailSize size;
    u32 uncopyable; /* open pairs of two names that mov cannot copy */
    bool carry_open;
    ReconvergeRisk risk; /* why no cut is allowed so far */
    LoopTestParts test;
    TailStop stop;
    bool parts_loads; /* tails may part loads that would be in flight together */
    PairVisitor visitor;
};

/* ---- the pairing ----------------------------------------------------------------------------------------------- */

static RegId other_of(const Matcher *m, RegId kept)
{
    if (m->pairs.set[kept].kept == m->pairs.epoch)
        return m->pairs.pairing[kept].to_other;
    return bitset_has(&m->live_after, kept) ? kept : UNPAIRED;
}

static RegId kept_of(const Matcher *m, RegId other)
{
    if (m->pairs.set[other].other == m->pairs.epoch)
        return m->pairs.pairing[other].to_kept;
    return bitset_has(&m->live_after, other) ? other : UNPAIRED;
}

static bool is_copyable(const Matcher *m, RegId reg)
{
    const Reg *r = fn_reg(m->fn, reg);
    return r->vector == 1 && !m->fn->scopes.v[r->scope].in_block && build_can_copy(r->type);
}

static bool pair_is_uncopyable(const Matcher *m, RegId kept, RegId other)
{
    return kept != other && !(is_copyable(m, kept) && is_copyable(m, other));
}

/* Counts an open pair (by: 1), or removes it from the counts (by: -1). */
static void count_pair(Matcher *m, RegId kept, RegId other, u32 by)
{
    m->uncopyable += pair_is_uncopyable(m, kept, other) ? by : 0;
    m->size.width += kept != other ? by * ptxas_registers(m->fn, kept) : 0;
    if (kept == CARRY_REG)
        m->carry_open = by == 1;
}

static void set_partners(Matcher *m, RegId kept, RegId other, bool paired)
{
    if (m->pairs.set[kept].kept != m->pairs.epoch) {
        vec_push(&m->pairs.paired, kept);
        m->pairs.pairing[kept].reader = NULL;
    }
    m->pairs.set[kept].kept = m->pairs.set[other].other = m->pairs.epoch;
    m->pairs.pairing[kept].to_other = paired ? other : UNPAIRED;
    m->pairs.pairing[other].to_kept = paired ? kept : UNPAIRED;
}

static bool is_in_flight(Matcher *m, RegId reg)
{
    if (!m->in_flight.word) {
        m->in_flight = bitset_new(m->an->scratch, m->fn->regs.n);
        match_find_in_flight(m->fn, &m->in_flight);
    }
    return bitset_has(&m->in_flight, reg);
}

static bool may_share_name(Matcher *m, RegId kept, RegId other)
{
    if (kept == other)
        return true;
    const Reg *a = fn_reg(m->fn, kept), *b = fn_reg(m->fn, other);
    if (a->type == b->type && a->vector == b->vector && !a->is_param && !b->is_param && !is_in_flight(m, kept) &&
        !is_in_flight(m, other))
        return true;
    m->stop = STOP_TYPE;
    return false;
}

static bool read_pair(void *user, RegId kept, RegId other)
{
    Matcher *m = user;
    RegId to = other_of(m, kept), from = kept_of(m, other);
    if (to != UNPAIRED || from != UNPAIRED) {
        m->pairs.pairing[kept].reader = NULL;
        return to == other && from == kept;
    }
    if (!may_share_name(m, kept, other))
        return false;
    set_partners(m, kept, other, true);
    m->pairs.pairing[kept].reader = m->at;
    m->pairs.pairing[kept].opened = m->size.items + 1;
    count_pair(m, kept, other, 1);
    return true;
}

/* Ends a pair at the write of both registers. The walk goes backwards: before the write they may hold anything. */
static bool write_pair(void *user, RegId kept, RegId other, bool kills)
{
    Matcher *m = user;
    RegId to = other_of(m, kept), from = kept_of(m, other);
    bool paired = to != UNPAIRED || from != UNPAIRED;
    if ((paired && (to != other || from != kept)) || !may_share_name(m, kept, other))
        return false;
    if (kills && paired) {
        set_partners(m, kept, other, false);
        count_pair(m, kept, other, (u32)-1);
    }
    return true;
}

/* Rates a pair of registers: partners best, then registers that their blocks compute alike, then registers that neither
 * block computes. */
static u32 rate_pair(void *user, const Instr *a, RegId kept, const Instr *b, RegId other)
{
    Matcher *m = user;
    RegId to = other_of(m, kept), from = kept_of(m, other);
    if (to != UNPAIRED || from != UNPAIRED)
        return to == other && from == kept ? 4 : 0;
    if (fn_reg(m->fn, kept)->type != fn_reg(m->fn, other)->type)
        return 0;
    switch (match_definitions_alike(a, kept, b, other)) {
    case DEFINED_ALIKE: return 4;
    case DEFINED_ELSEWHERE: return kept == other ? 4 : 2;
    default: return 1;
    }
}

/* Whether two variables are arguments of calls that scopes in the blocks declare alike, under one name. Any other variable
 * is memory of its own, which two threads, or one thread in turn, may both use. */
static bool symbol_pair(void *user, SymId kept, SymId other)
{
    Matcher *m = user;
    const Sym *a = &m->fn->module->syms.v[kept], *b = &m->fn->module->syms.v[other];
    for (u32 k = 0; k < m->scopes.n; k++)
        if (a->scope == m->scopes.v[k].kept && b->scope == m->scopes.v[k].other)
            return a->owner == b->owner && a->name == b->name && a->space == SPACE_PARAM && b->space == SPACE_PARAM;
    return false;
}

/* ---- the matcher ----------------------------------------------------------------------------------------------- */

Matcher *matcher_new(Analyses *an, ReservedChoice gate, bool parts_loads)
{
    u32 regs = an->fn->regs.n;
    Matcher *m = arena_new(an->scratch, Matcher);
    m->an = an;
    m->fn = an->fn;
    m->gate = gate;
    m->parts_loads = parts_loads;
    m->dependence = (Dependence){.an = an};
    m->names = (TailNames){.an = an};
    m->live_after = bitset_new(an->scratch, regs);
    m->late = bitset_new(an->scratch, regs);
    m->pairs.set = arena_array(an->scratch, PairEpochs, regs);
    m->pairs.pairing = arena_alloc_raw(an->scratch, regs * sizeof *m->pairs.pairing);
    m->visitor = (PairVisitor){m, rate_pair, read_pair, write_pair, symbol_pair};
    return m;
}

void matcher_free(Matcher *m)
{
    if (m->lanes)
        tail_lanes_free(m->lanes);
    vec_free(&m->pairs.paired);
    vec_free(&m->scopes);
    vec_free(&m->cuts);
    vec_free(&m->renamed);
    dependence_free(&m->dependence);
}

void matcher_set_end(Matcher *m, const Block *any, TailTerms terms)
{
    m->terms = terms;
    if (m->end)
        live_out_put(an_live(m->an), m->end, &m->live_after, false);
    live_out_put(an_live(m->an), any, &m->live_after, true);
    m->end = any;
    if (m->lanes)
        tail_lanes_set_end(m->lanes);
}

u64 matcher_compared(const Matcher *m) { return m->compared; }

const RegPair *matcher_renamed(const Matcher *m, u32 *count)
{
    *count = m->renamed.n;
    return m->renamed.v;
}

/* ---- what may be merged ---------------------------------------------------------------------------------------- */

static bool reads_reserved(const Instr *i, ReservedChoice gate)
{
    if (gate == RESERVED_OFF)
        return false;
    for_each_slot(o, i)
        if (o->kind == OPND_SREG && (gate == RESERVED_STRICT || operand_is_volatile(o)))
            return true;
    return false;
}

/* Whether i promises something about the threads that execute it that need not hold for the threads of both copies. Guarded
 * or indirect call.uni and ldu do. */
static bool promises_uniform(const Instr *i)
{
    bool decides = i->guard || (instr_is(i, OPF_CALL) && !call_callee(i));
    return i->op->opcode == OPC_LDU || (decides && op_has(i->op, OPF_UNIFORM_HINT));
}

TailStop match_copies_may_merge(const Instr *i, ReservedChoice gate, const Summaries *summaries)
{
    bool named = op_has(i->op, OPF_NAMES_THREADS), async = op_has(i->op, OPF_ASYNC);
    if ((instr_is_convergent(i, summaries) && (!named || async)) || promises_uniform(i))
        return STOP_CONVERGENT;
    return reads_reserved(i, gate) ? STOP_RESERVED : STOP_NONE;
}

/* ---- items ----------------------------------------------------------------------------------------------------- */

/* Whether a cut in front of i would separate a call from its arguments. Arguments that a scope in the block declares stay
 * with the call, since no cut is inside such a scope. */
static bool separates_call(const Function *fn, const Instr *i)
{
    SymId argument = match_call_argument(i);
    return argument && !fn->scopes.v[fn->module->syms.v[argument].scope].in_block;
}

static TailStop may_match(Matcher *m, const Instr *a, const Instr *b)
{
    const Summaries *summaries = m->an->summaries;
    TailStop stop = match_copies_may_merge(a, m->gate, summaries);
    if (stop != STOP_NONE)
        return stop;
    if (instr_is_convergent(a, summaries) && !dependence_alike(&m->dependence, a->block, b->block))
        return STOP_CONTROL;
    if (!tail_names_alike(&m->names, a, b))
        return STOP_NAMES;
    return separates_call(m->fn, a) ? STOP_CALL : STOP_NONE;
}

static bool match_instr(Matcher *m, const Instr *a, const Instr *b)
{
    bool exchanged;
    if (b->kind != INSTR_OP || !match_instrs_alike(&m->visitor, a, b, &exchanged))
        return false;
    TailStop stop = may_match(m, a, b);
    if (stop != STOP_NONE) {
        m->stop = stop;
        return false;
    }
    return match_visit_writes(&m->visitor, a, b) && match_visit_reads(&m->visitor, a, b, exchanged);
}

static bool equal_declarations(const Function *fn, const Scope *a, const Scope *b)
{
    if (a->decls.n != b->decls.n)
        return false;
    for (u32 k = 0; k < a->decls.n; k++) {
        Str one = span_str(fn->module, a->decls.v[k].text), two = span_str(fn->module, b->decls.v[k].text);
        bool renamed = a->decls.v[k].renamed.p || b->decls.v[k].renamed.p;
        if (renamed || !one.len || !str_equal(one, two))
            return false;
    }
    return true;
}

static bool open_scope(Matcher *m, const Instr *a, const Instr *b)
{
    if (!equal_declarations(m->fn, &m->fn->scopes.v[a->scope], &m->fn->scopes.v[b->scope]))
        return false;
    vec_push(&m->scopes, ((ScopePair){a->scope, b->scope}));
    return true;
}

static bool close_scope(Matcher *m, const Instr *a, const Instr *b)
{
    if (!m->scopes.n || vec_last(&m->scopes).kept != a->scope || vec_last(&m->scopes).other != b->scope)
        return false;
    m->scopes.n--;
    return true;
}

static bool match_item(Matcher *m, const Instr *a, const Instr *b)
{
    if (a->kind == INSTR_OP)
        return match_instr(m, a, b);
    if (a->kind == INSTR_PRAGMA)
        m->stop = STOP_PRAGMA;
    if (a->kind != b->kind)
        return false;
    bool alike = a->kind == INSTR_SCOPE_END     ? open_scope(m, a, b)
                 : a->kind == INSTR_SCOPE_BEGIN ? close_scope(m, a, b)
                                                : match_pragmas_alike(m->fn, a, b);
    if (alike)
        m->stop = STOP_NONE;
    return alike;
}

/* ---- two blocks ------------------------------------------------------------------------------------------------ */

static bool is_part(const Matcher *m, const Instr *i)
{
    for (u32 k = 0; k < m->test.parts; k++)
        if (m->test.part[k] == i)
            return true;
    return false;
}

static void add_part(Matcher *m, const Instr *i)
{
    if (i && !is_part(m, i) && m->test.parts < COUNT_OF(m->test.part))
        m->test.part[m->test.parts++] = i;
}

static void begin(Matcher *m, Block *kept, Block *other)
{
    m->pairs.epoch++;
    vec_clear(&m->pairs.paired);
    vec_clear(&m->scopes);
    vec_clear(&m->cuts);
    vec_clear(&m->renamed);
    m->size.items = m->size.weight = m->size.cost = m->size.width = m->uncopyable = m->test.parts = 0;
    m->carry_open = false;
    m->risk = RECONVERGE_SAFE;
    m->at = NULL;
    m->stop = STOP_NONE;
    if (!m->lanes)
        m->lanes = tail_lanes_new(m->an);
    tail_lanes_begin(m->lanes, kept, other);
    const Instr *compare;
    if (!ends_loop_test(an_loops(m->an), kept, &compare) || !compare)
        return;
    add_part(m, compare);
    for (RegWalk w = reg_walk(compare); next_read(&w);)
        add_part(m, local_definition(compare, w.reg));
}

/* The last item in front of the block's terminator. */
static Instr *last_item(const Block *b)
{
    Instr *end = block_terminator(b);
    if (end || !b->last || b->last->kind == INSTR_LOC)
        return end || b->last ? match_item_before(end ? end : b->last) : NULL;
    return b->last;
}

/* Matches the ends of both blocks; *a and *b become the items in front of them. A guarded end or a table's branch is an
 * item of the tail; a `ret` without guard is not. */
static bool match_end(Matcher *m, const Block *kept, const Block *other, Instr **a, Instr **b)
{
    Instr *of_kept = block_terminator(kept), *of_other = block_terminator(other);
    *a = last_item(kept);
    *b = last_item(other);
    if (bitset_has(&m->live_after, CARRY_REG)) {
        m->stop = STOP_CARRY;
        return false;
    }
    if (!of_kept || !of_other || (!of_kept->guard && !branch_table(of_kept)))
        return true;
    if (!match_visit_reads(&m->visitor, of_kept, of_other, false))
        return false;
    m->size.items = m->size.weight = m->size.cost = 1;
    return true;
}

static bool before_is_pragma(const Instr *i)
{
    const Instr *before = match_item_before(i);
    return before && before->kind == INSTR_PRAGMA;
}

/* Whether a tail that is cut here may save enough. If not, nobody need know whether threads may wait for it. */
static bool may_pay(const Matcher *m, const TailSize *size)
{
    return (m->terms.always ? size->weight : size->cost) >= m->terms.least;
}

static bool may_cut(Matcher *m, const Instr *a, const Instr *b, u32 parts_left, bool asked)
{
    if (m->scopes.n || m->uncopyable || m->carry_open || parts_left || before_is_pragma(a) || before_is_pragma(b))
        return false;
    asked |= may_pay(m, &m->size);
    if (!asked && !m->terms.explains)
        return false;
    ReconvergeRisk risk = asked ? tail_lanes_risk(m->lanes) : tail_lanes_explain(m->lanes);
    m->risk = m->cuts.n ? RECONVERGE_SAFE : risk;
    return risk == RECONVERGE_SAFE;
}

/* Lists the registers that live into the longest tail under two names. A copy costs something if the block that gives up
 * its tail does not compute the value. */
static void find_renamed(Matcher *m, const Instr *other_begins)
{
    for (u32 k = 0; k < m->pairs.paired.n; k++) {
        RegId kept = m->pairs.paired.v[k], other = m->pairs.pairing[kept].to_other;
        if (other == UNPAIRED || other == kept)
            continue;
        u32 costs_from = local_definition(other_begins, other) ? 0 : m->pairs.pairing[kept].opened;
        vec_push(&m->renamed, ((RegPair){kept, other, costs_from}));
    }
}

static u32 copies_at(const Matcher *m, const Cut *cut)
{
    u32 copies = 0;
    for (u32 k = 0; k < m->renamed.n; k++)
        copies += m->renamed.v[k].weight && m->renamed.v[k].weight <= cut->size.items;
    return copies;
}

i64 tail_gain(const Tail *tail)
{
    u32 pressure = tail->width > 1 ? tail->width - 1 : 0;
    return (i64)tail->cost - tail->copies - pressure;
}

/* The cut that gains most; with a limit, the one of so many items. If the longest may pay, those that cannot are
 * skipped, since only remarks would need them. */
static Tail best_cut(Matcher *m, u32 limit)
{
    Tail best = {.stop = m->stop};
    bool any_may_pay = !limit && m->cuts.n && may_pay(m, &m->cuts.v[m->cuts.n - 1].size);
    for (u32 k = 0; k < m->cuts.n; k++) {
        const Cut *cut = &m->cuts.v[k];
        if (any_may_pay && !may_pay(m, &cut->size))
            continue;
        Tail tail = {cut->size.items,   cut->size.weight, cut->size.cost,
                     copies_at(m, cut), cut->size.width,  cut->kept,
                     cut->other,        m->stop,          NULL};
        if (limit ? cut->size.items == limit : !best.items || tail_gain(&tail) >= tail_gain(&best))
            best = tail;
    }
    return best;
}

/* The best tail, unless its loads would no longer be in flight together with those in front of it. */
static Tail best_tail(Matcher *m, u32 limit)
{
    Tail tail = best_cut(m, limit);
    bool parts = tail.items && !m->parts_loads && (loads_parted(tail.kept, &m->late) || loads_parted(tail.other, &m->late));
    if (parts)
        tail = (Tail){.stop = STOP_LOADS};
    return tail;
}

/* Whether ptxas makes one instruction of i and the mov after it, in which i is a half. cvt.rn.f16 of both halves is F2FP. */
static bool is_packed(const Matcher *m, const Instr *i)
{
    if (i->kind != INSTR_OP || i->op->opcode != OPC_CVT || i->opnd[0].kind != OPND_REG)
        return false;
    RegId reg = i->opnd[0].id;
    const Instr *reader = m->pairs.set[reg].kept == m->pairs.epoch ? m->pairs.pairing[reg].reader : NULL;
    return reader && reader->op->opcode == OPC_MOV && ptxas_pair_cost(i, reader) <= ptxas_cost(reader);
}

Tail tail_match(Matcher *m, Block *kept, Block *other, u32 limit)
{
    Instr *a, *b, *last_other = NULL;
    begin(m, kept, other);
    if (!match_end(m, kept, other, &a, &b))
        return (Tail){.stop = m->stop, .at = block_terminator(kept)};
    u32 parts_left = m->test.parts;
    while (a && b && (!limit || m->size.items < limit)) {
        bool packed = is_packed(m, a);
        m->at = a;
        if (!match_item(m, a, b))
            break;
        m->size.items++;
        m->compared++;
        bool counts = !ptxas_costs_nothing(a);
        m->size.weight += counts;
        m->size.cost += counts && !packed ? ptxas_cost(a) : 0;
        parts_left -= is_part(m, a);
        last_other = b;
        tail_lanes_add(m->lanes, a, b);
        if (may_cut(m, a, b, parts_left, limit > 0))
            vec_push(&m->cuts, ((Cut){m->size, a, b}));
        a = match_item_before(a);
        b = match_item_before(b);
    }
    if (!last_other)
        return (Tail){.stop = m->stop, .at = a};
    find_renamed(m, last_other);
    Tail tail = best_tail(m, limit);
    tail.at = a;
    if (tail.stop == STOP_LOADS)
        return tail;
    if (!tail.items && parts_left)
        tail.stop = STOP_LOOP_TEST;
    else if (!tail.items && m->carry_open)
        tail.stop = STOP_CARRY;
    else if (!tail.items && m->risk != RECONVERGE_SAFE)
        tail.stop = m->risk == RECONVERGE_WAIT ? STOP_WAIT : STOP_ACTIVE_SET;
    return tail;
}

bool tails_may_join(Matcher *m, Instr *a_begins, Instr *b_begins)
{
    Instr *a = last_item(a_begins->block), *b = last_item(b_begins->block);
    if (!tail_lanes_matter(m->lanes))
        return true;
    tail_lanes_begin(m->lanes, a_begins->block, b_begins->block);
    for (;;) {
        tail_lanes_add(m->lanes, a, b);
        if (a == a_begins || b == b_begins)
            return tail_lanes_risk(m->lanes) == RECONVERGE_SAFE;
        a = match_item_before(a);
        b = match_item_before(b);
    }
}
