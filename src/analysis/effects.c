#include "analysis/effects.h"

#include "ir/inspect.h"

#include <stdlib.h>
#include <string.h>

#include "base/graph.h"
#include "base/bitset.h"
#include "ir/cfg.h"

static const Effects nothing = {.known = true};
static const Effects anything = {.reads = EFFECT_ALL,
                                 .writes = EFFECT_ALL,
                                 .barrier = BARRIER_OTHER,
                                 .strong = true,
                                 .event = true,
                                 .times = true,
                                 .waits = WAIT_LANES | WAIT_ALIGNED | WAIT_OTHERS,
                                 .convergent = true,
                                 .active_set = true,
                                 .may_not_return = true};

/* ---- one instruction ------------------------------------------------------------------------------------------- */

static u8 visible_space(u8 space)
{
    switch ((Space)space) {
    case SPACE_CONST:
    case SPACE_LOCAL:
    case SPACE_PARAM: return 0;
    case SPACE_SHARED:
    case SPACE_SHARED_CLUSTER: return EFFECT_SHARED;
    case SPACE_GLOBAL:
    case SPACE_TEX: return EFFECT_GLOBAL;
    default: return EFFECT_ALL;
    }
}

static BarrierKind barrier_kind(const Instr *i)
{
    if (i->op->sync == SYNC_WARP)
        return BARRIER_WARP;
    if (!op_has(i->op, OPF_BARRIER))
        return BARRIER_NONE;
    bool is_full = i->op->sync == SYNC_BARRIER && i->slots == 1 && i->opnd[0].kind == OPND_IMM;
    return is_full ? BARRIER_CTA : BARRIER_OTHER;
}

/* mma, ldmatrix and their like are undefined where a lane of the warp has left: they do not wait for that. */
static u8 own_waits(const OpInfo *op)
{
    static const u8 waits[SYNC_COUNT] = {
        [SYNC_LANES] = WAIT_LANES,   [SYNC_WARP] = WAIT_LANES,     [SYNC_BARRIER] = WAIT_OTHERS,
        [SYNC_REDUCE] = WAIT_OTHERS, [SYNC_CLUSTER] = WAIT_OTHERS, [SYNC_WARPGROUP] = WAIT_OTHERS,
    };
    return waits[op->sync] == WAIT_OTHERS && op_has(op, OPF_ALIGNED) ? WAIT_ALIGNED : waits[op->sync];
}

static u8 visible_spaces(const OpInfo *op)
{
    return visible_space(op->space) | (op->space2 ? visible_space(op->space2) : 0);
}

bool effects_op_writes(const OpInfo *op) { return op->mem != MEM_READ && visible_spaces(op); }

static void add_memory(Effects *e, const OpInfo *op)
{
    u8 spaces = visible_spaces(op);
    bool strong = op_has(op, OPF_FENCE | OPF_ASYNC) || (op->strength == STRENGTH_STRONG && op->mem != MEM_NONE && spaces);
    if (strong) {
        e->strong = true;
        e->reads = e->writes = EFFECT_ALL;
        return;
    }
    if (op->mem == MEM_READ || op->mem == MEM_READ_WRITE)
        e->reads = spaces;
    if (op->mem == MEM_WRITE || op->mem == MEM_READ_WRITE)
        e->writes = spaces;
}

static void add_volatile_registers(Effects *e, const Instr *i)
{
    for_each_slot(o, i)
        if (o->kind == OPND_SREG && sreg_info(o->id)->is_volatile) {
            e->event = true;
            e->times |= sreg_measures(sreg_info(o->id));
        }
}

/* Adds that i reads a volatile special register, sleeps, or stops its thread. setmaxnreg counts too: all warps of a warpgroup have to
 * synchronize between two of them. */
static void add_events(Effects *e, const Instr *i)
{
    add_volatile_registers(e, i);
    bool acts = i->op->mem == MEM_NONE && op_has(i->op, OPF_SIDE_EFFECT | OPF_VOLATILE) && !op_has(i->op, OPF_CONVERGENT);
    e->event |= acts || i->op->sync == SYNC_WARPGROUP;
    e->times |= i->op->opcode == OPC_PMEVENT;
}

static bool depends_on_active_set(const OpInfo *op)
{
    return !op->known || (op_has(op, OPF_CONVERGENT) && !op_has(op, OPF_NAMES_THREADS));
}

static bool only_computes(const Instr *i)
{
    return i->kind != INSTR_OP || (op_is_pure(i->op) && !instr_reads_volatile_register(i));
}

/* The effects of the instruction itself; instr_effects() adds what its callee does. */
static Effects own_effects(const Instr *i)
{
    Effects e = nothing;
    if (only_computes(i))
        return e;
    if (!i->op->known)
        return anything;
    if (op_has(i->op, OPF_PLAIN_ACCESS)) {
        add_memory(&e, i->op);
        add_volatile_registers(&e, i);
        return e;
    }
    e.barrier = (u8)barrier_kind(i);
    e.waits = own_waits(i->op);
    e.convergent = op_has(i->op, OPF_CONVERGENT);
    e.active_set = depends_on_active_set(i->op);
    e.may_not_return = op_has(i->op, OPF_ENDS_THREAD);
    add_events(&e, i);
    if (e.barrier == BARRIER_NONE)
        add_memory(&e, i->op);
    return e;
}

static void add_effects(Effects *to, Effects from)
{
    to->reads |= from.reads;
    to->writes |= from.writes;
    to->strong |= from.strong;
    to->waits |= from.waits;
    to->event |= from.event;
    to->times |= from.times;
    to->convergent |= from.convergent;
    to->active_set |= from.active_set;
    to->may_not_return |= from.may_not_return;
    to->known &= from.known;
    if (to->barrier == BARRIER_NONE)
        to->barrier = from.barrier;
    else if (from.barrier != BARRIER_NONE && from.barrier != to->barrier)
        to->barrier = BARRIER_OTHER;
}

/* ---- calls ----------------------------------------------------------------------------------------------------- */

/* The `.calltargets` of an indirect call, or NULL. */
static const Table *call_targets(const Instr *i)
{
    for_each_operand(o, i)
        if (o->kind == OPND_TABLE && i->block->fn->tables.v[o->id].kind == TABLE_CALL)
            return &i->block->fn->tables.v[o->id];
    return NULL;
}

Effects effects_of_function(const Summaries *summaries, SymId function)
{
    return summaries && function && function < summaries->syms ? summaries->of[function] : anything;
}

Effects instr_effects(const Instr *i, const Summaries *summaries)
{
    if (!instr_is(i, OPF_CALL))
        return own_effects(i);
    if (!i->op->known)
        return anything;
    SymId callee = call_callee(i);
    if (callee)
        return effects_of_function(summaries, callee);
    const Table *targets = call_targets(i);
    if (!targets || targets->targets.n == 0)
        return anything;
    Effects e = nothing;
    for (u32 k = 0; k < targets->targets.n; k++)
        add_effects(&e, effects_of_function(summaries, targets->targets.v[k]));
    return e;
}

bool instr_is_convergent(const Instr *i, const Summaries *summaries)
{
    if (i->kind != INSTR_OP)
        return false;
    return instr_is(i, OPF_CALL) ? instr_effects(i, summaries).convergent : !i->op->known || op_has(i->op, OPF_CONVERGENT);
}

bool block_is_convergent(const Block *b, const Summaries *summaries)
{
    for_each_instr(i, b)
        if (instr_is_convergent(i, summaries))
            return true;
    return false;
}

static bool is_written(const Instr *i)
{
    for (u32 k = 0; k < i->def_slots; k++)
        if (slot_is_def(&i->opnd[k]))
            return true;
    return false;
}

bool instr_polls(const Instr *i, const Summaries *summaries)
{
    if (i->kind != INSTR_OP)
        return false;
    if (instr_is(i, OPF_CALL))
        return instr_effects(i, summaries).strong;
    if (i->op->opcode == OPC_NANOSLEEP || !i->op->known)
        return true;
    if (op_has(i->op, OPF_PURE | OPF_PLAIN_ACCESS))
        return false;
    return own_effects(i).strong && i->op->mem != MEM_WRITE && is_written(i);
}

bool instr_reads_weakly(const Instr *i)
{
    if (i->kind != INSTR_OP || i->op->mem != MEM_READ || i->op->strength != STRENGTH_WEAK || op_has_modifier(i->op, ".nc"))
        return false;
    bool by_texture_unit = i->op->space == SPACE_TEX && i->op->opcode != OPC_SULD;
    return !by_texture_unit && own_effects(i).reads;
}

/* ---- functions ------------------------------------------------------------------------------------------------- */

bool effects_callers_see_lanes(const Summaries *summaries, const Function *fn)
{
    return !(summaries && summaries->ungated) && !fn->is_entry &&
           (!summaries || summaries->active_set || bitset_has(&summaries->external, fn->sym));
}

bool effects_is_replaceable(Str text)
{
    static const char *const linkage[] = {".weak", ".common", ".extern"};
    for (u32 k = 0; k < COUNT_OF(linkage); k++)
        if (str_begins(text, linkage[k]))
            return true;
    return false;
}

/* Whether the body that stands here is the one that runs: no declaration of the function lets another module replace it. */
static bool has_final_body(const Function *fn, const BitSet *replaceable)
{
    return fn->is_definition && fn->sym && (fn->is_entry || !bitset_has(replaceable, fn->sym));
}

/* The blocks of a function, by Block.id, that control may come to; without words: not asked for yet. */
typedef struct ReachedBlocks {
    Arena *arena;
    BitSet set;
} ReachedBlocks;

static BitSet find_reached(Arena *arena, const Function *fn)
{
    BitSet set = bitset_new(arena, fn->blocks.n);
    VEC(const Block *) work = {0};
    for (const Block *b = fn->entry; b; b = b->next)
        if ((b == fn->entry || fn->untouchable.why || block_is_pinned(b)) && bitset_add(&set, b->id))
            vec_push(&work, b);
    while (work.n) {
        const Block *b = vec_pop(&work);
        for (u32 k = block_edge_count(b); k-- > 0;)
            if (bitset_add(&set, block_edge_target(b, k)->id))
                vec_push(&work, block_edge_target(b, k));
    }
    vec_free(&work);
    return set;
}

/* Whether control may come to b. Phases remove other blocks, and what these hold must not count before; in text that is not known
 * control may come to any. */
static bool is_reached(ReachedBlocks *reached, const Block *b)
{
    if (!reached->set.word)
        reached->set = find_reached(reached->arena, b->fn);
    return bitset_has(&reached->set, b->id);
}

/* Whether the module defines a function that something may call: only then its text is looked at. */
static bool has_callees(const Module *m)
{
    for (u32 f = 0; f < m->functions.n; f++)
        if (m->functions.v[f]->is_definition && !m->functions.v[f]->is_entry)
            return true;
    return false;
}

/* The effects of a function without a final body here: anything, unless the run-time system has it. */
static Effects foreign_effects(const Module *m, SymId function)
{
    const RuntimeInfo *runtime = call_runtime(m, function);
    if (!runtime)
        return anything;
    bool waits = runtime->does & RUNTIME_WAITS;
    return (Effects){.reads = EFFECT_ALL,
                     .writes = EFFECT_ALL,
                     .strong = runtime->does & RUNTIME_ANSWERS,
                     .event = true,
                     .waits = waits ? WAIT_OTHERS : 0,
                     .convergent = waits,
                     .may_not_return = runtime->does & RUNTIME_ENDS,
                     .known = true};
}

typedef struct CallGraph {
    const Module *m;
    ReachedBlocks *reached; /* by function */
    BitSet called;          /* by SymId: functions that the text calls by name, or by a list of targets */
    BitSet
        replaceable; /* by SymId: functions that another module may replace, by any of their declarations and prototypes */
    u32 *function;   /* by SymId: index of the function with a final body that something here calls, plus 1; 0: none */
    Effects *own;    /* by function, calls left out; calls that can do anything included */
    bool *loops;     /* by function: control goes backwards in its text */
    VecU32 from, to;
} CallGraph;

/* Notes the functions that fn calls, and those whose address it takes. Also notes whether an instruction of fn, calls
 * excepted, sees which lanes execute it. */
static void scan_text(CallGraph *g, Summaries *s, const Function *fn, ReachedBlocks *reached)
{
    s->active_set |= fn->untouchable.why && fn->is_definition; /* its instructions may not all be known */
    for (const Block *b = fn->entry; b; b = b->next)
        for_each_instr(i, b) {
            if (i->kind != INSTR_OP)
                continue;
            if (op_has(i->op, OPF_CALL)) {
                const Table *targets = call_targets(i);
                bitset_add(&g->called, call_callee(i));
                for (u32 k = 0; targets && k < targets->targets.n; k++)
                    bitset_add(&g->called, targets->targets.v[k]);
                continue;
            }
            s->active_set |= depends_on_active_set(i->op) && is_reached(reached, b);
            for_each_slot(o, i)
                if (o->kind == OPND_SYM && g->m->syms.v[o->id].kind == SYM_FUNC && is_reached(reached, b))
                    bitset_add(&s->external, o->id);
        }
}

static void scan_module(CallGraph *g, Summaries *s)
{
    const Module *m = g->m;
    for (u32 f = 0; f < m->functions.n; f++) {
        const Function *fn = m->functions.v[f];
        Str text = span_str(m, fn->text);
        bool replaceable = effects_is_replaceable(text);
        if (fn->sym && replaceable)
            bitset_add(&g->replaceable, fn->sym);
        if (fn->sym && (str_begins(text, ".visible") || replaceable || m->syms.v[fn->sym].escapes))
            bitset_add(&s->external, fn->sym);
        scan_text(g, s, fn, &g->reached[f]);
    }
}

static void add_call(CallGraph *g, u32 caller, SymId callee)
{
    u32 function = g->function[callee];
    if (!function) {
        add_effects(&g->own[caller], foreign_effects(g->m, callee));
        return;
    }
    vec_push(&g->from, caller);
    vec_push(&g->to, function - 1);
}

/* Whether control goes backwards in the text, as it does in every cycle. */
static bool has_loops(const Function *fn, ReachedBlocks *reached, Arena *scratch)
{
    bool *seen = arena_array(scratch, bool, fn->blocks.n);
    for (const Block *b = fn->entry; b; b = b->next) {
        seen[b->id] = true;
        for (u32 k = 0; k < block_edge_count(b); k++)
            if (seen[block_edge_target(b, k)->id] && is_reached(reached, b))
                return true;
    }
    return false;
}

static void scan_function(CallGraph *g, u32 f, Arena *scratch)
{
    const Function *fn = g->m->functions.v[f];
    g->own[f] = nothing;
    g->own[f].may_not_return = fn->tuning.has_noreturn;
    if (fn->untouchable.why || g->function[fn->sym] != f + 1) { /* nothing calls it, and so nothing asks */
        g->own[f] = anything;
        return;
    }
    g->loops[f] = has_loops(fn, &g->reached[f], scratch);
    for_each_block(b, fn)
        for_each_instr(i, b) {
            if (only_computes(i) || !is_reached(&g->reached[f], b))
                continue;
            if (!op_has(i->op, OPF_CALL)) {
                add_effects(&g->own[f], own_effects(i));
                continue;
            }
            SymId callee = call_callee(i);
            const Table *targets = callee ? NULL : call_targets(i);
            if (callee)
                add_call(g, f, callee);
            else if (!targets)
                add_effects(&g->own[f], anything);
            for (u32 k = 0; targets && k < targets->targets.n; k++)
                add_call(g, f, targets->targets.v[k]);
        }
}

/* Summarizes callees before their callers. Functions that call one another share one summary. */
static void summarise(CallGraph *g, Summaries *s, Arena *scratch)
{
    u32 n = g->m->functions.n;
    Graph calls = graph_from_edges(scratch, n, g->from.v, g->to.v, g->from.n);
    u32 *component = arena_array(scratch, u32, n), *identity = arena_array(scratch, u32, n);
    u32 components = graph_components(&calls, component);
    for (u32 f = 0; f < n; f++)
        identity[f] = f;
    Graph members = graph_from_edges(scratch, components, component, identity, n);
    Effects *of = arena_array(scratch, Effects, components);
    for (u32 c = 0; c < components; c++) {
        bool repeats = false;
        of[c] = nothing;
        for_each_edge(m, &members, c) {
            u32 f = members.to[m];
            add_effects(&of[c], g->own[f]);
            repeats |= g->loops[f];
            for_each_edge(e, &calls, f) {
                u32 callee = component[calls.to[e]];
                repeats |= callee == c;
                if (callee != c)
                    add_effects(&of[c], of[callee]);
            }
        }
        of[c].waits |= repeats && of[c].reads ? WAIT_OTHERS : 0; /* what it repeats may be a poll */
    }
    for (SymId id = 0; id < s->syms; id++)
        s->of[id] = g->function[id] ? of[component[g->function[id] - 1]] : foreign_effects(g->m, id);
}

static bool calls_active_set(const Function *fn, ReachedBlocks *reached, const Summaries *s)
{
    for (const Block *b = fn->has_calls ? fn->entry : NULL; b; b = b->next)
        for_each_instr(i, b)
            if (instr_is(i, OPF_CALL) && instr_effects(i, s).active_set && is_reached(reached, b))
                return true;
    return false;
}

Summaries *summaries_compute(Arena *arena, const Module *m)
{
    Arena scratch = {0};
    Summaries *s = arena_new(arena, Summaries);
    s->syms = m->syms.n;
    s->of = arena_array(arena, Effects, s->syms);
    s->external = bitset_new(arena, m->syms.n);
    bool asked_for_callers = has_callees(m);
    CallGraph g = {.m = m, .reached = arena_array(&scratch, ReachedBlocks, m->functions.n)};
    g.called = bitset_new(&scratch, m->syms.n);
    g.replaceable = bitset_new(&scratch, m->syms.n);
    for (u32 f = 0; f < m->functions.n; f++)
        g.reached[f].arena = &scratch;
    if (asked_for_callers)
        scan_module(&g, s);
    g.function = arena_array(&scratch, u32, m->syms.n);
    g.own = arena_array(&scratch, Effects, m->functions.n);
    g.loops = arena_array(&scratch, bool, m->functions.n);
    for (u32 f = 0; f < m->functions.n; f++)
        if (has_final_body(m->functions.v[f], &g.replaceable) && bitset_has(&g.called, m->functions.v[f]->sym))
            g.function[m->functions.v[f]->sym] = f + 1;
    for (u32 f = 0; f < m->functions.n; f++)
        scan_function(&g, f, &scratch);
    summarise(&g, s, &scratch);
    for (u32 f = 0; asked_for_callers && f < m->functions.n && !s->active_set; f++)
        s->active_set = calls_active_set(m->functions.v[f], &g.reached[f], s);
    vec_free(&g.from);
    vec_free(&g.to);
    arena_free(&scratch);
    return s;
}

static bool same_effects(Effects a, Effects b)
{
    return a.reads == b.reads && a.writes == b.writes && a.barrier == b.barrier && a.strong == b.strong &&
           a.event == b.event && a.times == b.times && a.waits == b.waits && a.convergent == b.convergent &&
           a.active_set == b.active_set && a.may_not_return == b.may_not_return && a.known == b.known;
}

bool summaries_differ(const Function *fn, const Summaries *before, const Summaries *after)
{
    if (effects_callers_see_lanes(before, fn) != effects_callers_see_lanes(after, fn))
        return true;
    for (const Block *b = fn->has_calls ? fn->entry : NULL; b; b = b->next)
        for_each_instr(i, b)
            if (instr_is(i, OPF_CALL) && !same_effects(instr_effects(i, before), instr_effects(i, after)))
                return true;
    return false;
}

bool instr_may_be_copied(const Instr *i, const Summaries *summaries)
{
    if (i->kind != INSTR_OP || instr_reads_volatile_register(i))
        return false;
    if (op_is_pure(i->op))
        return true;
    Effects e = instr_effects(i, summaries);
    return (i->op->opcode == OPC_LD || i->op->opcode == OPC_ST) && e.known && !e.strong && !e.convergent &&
           !op_has(i->op, OPF_VOLATILE);
}
