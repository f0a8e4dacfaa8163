/* local-to-registers: keeps local variables in registers if their address does not escape.
 *
 *     mov.u64 %SPL, __local_depot0;
 *     add.u64 %rd1, %SPL, 16;
 *     st.local.u64 [%rd1], %rd5;                mov.b64 slot, %rd5;
 *     ld.local.u64 %rd6, [%rd1];                mov.b64 %rd6, slot;
 *
 * A variable is cut into the slots that its loads and stores agree on (slots.c), and each slot becomes a register. If parts of a
 * slot are accessed as well, its halves are separate registers, and prmt extracts or inserts single bytes. A variable without
 * accesses loses its declaration. Follows mem2reg and SROA of LLVM.
 *
 * A loop that runs a constant number of times is fully unrolled, with the loops in it, if some variable can then be removed
 * (iterations.c). In each iteration its counters are constants, and so are the offsets of array elements.
 *
 * Sound: local memory is the thread's own, so no other thread can observe accesses to it. The address of a variable may be used
 * only in the brackets of plain loads and stores, at constant offsets inside the variable. Then no other instruction accesses
 * the variable (variables.c), and no such access can fault. Memory that was never written may hold anything: a slot that some
 * path reads before writing it starts as 0. Guarded accesses become guarded moves. No branch changes. Every thread executes each
 * unrolled iteration, in order. Threads that execute an iteration together execute its copy together: the latch never divides a
 * warp, and is the loop's only exit. Instructions that see which lanes execute them are not copied.
 *
 * Pays (tests/ptxas/LOCALS.md) if ptxas does not do it itself. ptxas does if all accesses of the variable are .local accesses of
 * 2 or 4 bytes at constant offsets, and none overlaps another one in part. It does not see through cvta.local and back.
 *
 * Declines: variables whose address is stored, compared, selected, or passed to a call; volatile, strong and atomic accesses; bytes
 * that an index may reach, in loops that are not unrolled. All variables of a function stay if an access is not known to remain
 * inside its own variable, or if a loop would be left with arithmetic on constants (transform/miscounted.h). Variables also stay if
 * their slots take more registers at once than a thread has (lifetimes.c). */
#include "phase/local_to_registers/iterations.h"
#include "phase/local_to_registers/lifetimes.h"
#include "target/ptxas.h"
#include "transform/miscounted.h"

enum { LEVELS = 2 }; /* the most loops around a loop that are written out with it */

/* ---- what is worth it ------------------------------------------------------------------------------------------ */

typedef struct Worth {
    u32 words;     /* that its slots take at once */
    u32 accesses;  /* that go */
    u32 first;     /* the first one of them */
    bool is_new;   /* ptxas would leave one in memory */
    bool all_goes; /* no access of the variable stays */
} Worth;

/* Whether ptxas leaves the variable of such an access in memory. */
static bool is_left_by_ptxas(const LocalVariables *l, const LocalSlots *s, const LocalAccess *a)
{
    if (a->i->op->space == SPACE_GENERIC || a->bytes == 8 || a->bytes == 1 || a->converted)
        return true;
    for (u32 e = 0; e < a->elements; e++)
        if (s->slots.v[s->of[s->first[a - l->accesses.v] + e]].has_parts)
            return true;
    return false;
}

/* *together: the registers that the slots of all variables take at once. */
static Worth *find_worth(LocalVariables *l, const LocalSlots *s, u32 *together)
{
    Worth *worth = arena_array(l->an->scratch, Worth, l->variables.n);
    for (u32 v = 0; v < l->variables.n; v++)
        worth[v].all_goes = !l->variables.v[v].stays && !l->all_stay;
    for (u32 k = 0; k < l->accesses.n; k++) {
        const LocalAccess *a = &l->accesses.v[k];
        Worth *w = &worth[a->variable];
        w->first = a->stays || w->accesses ? w->first : k;
        w->accesses += !a->stays;
        w->all_goes &= !a->stays;
        w->is_new |= a->stays || is_left_by_ptxas(l, s, a);
    }
    const u32 *words = local_lifetimes_words(l, s, together);
    for (u32 v = 0; v < l->variables.n; v++)
        worth[v].words = words[v];
    return worth;
}

/* 32-bit registers of a thread that are free at every point of the function; any number, if all slots have room in them together. */
static u32 free_words(const LocalVariables *l, u32 together)
{
    u32 limit = ptxas_thread_registers(l->fn), most = live_most_words(an_live(l->an), limit, l->an->scratch);
    u32 room = most < limit ? limit - most : 0;
    return together <= room ? UINT32_MAX : room;
}

/* Whether some variable goes if there are registers for it, so that it matters how many are free. */
static bool some_may_go(const LocalVariables *l, const Worth *worth)
{
    for (u32 k = 0; k < l->variables.n; k++)
        if (!l->variables.v[k].stays && !l->all_stay && worth[k].accesses)
            return true;
    return false;
}

/* Why the variable stays; NULL: it goes, or some of its slots do. */
static const char *why_not(const LocalVariables *l, const LocalVariable *v, const Worth *w, u32 room)
{
    if (v->stays)
        return v->stays;
    if (l->all_stay)
        return l->all_stay;
    if (!w->accesses)
        return "it is indexed by a register";
    if (w->words > room)
        return "a thread has no registers for it";
    if (!w->is_new)
        return "ptxas gives it registers itself";
    return NULL;
}

/* ---- the rewrite ----------------------------------------------------------------------------------------------- */

/* Moves for the accesses of the variables that go. */
static void move_accesses(LocalVariables *l, LocalSlots *s, const BitSet *goes)
{
    for (u32 k = 0; k < l->accesses.n; k++) {
        LocalAccess *a = &l->accesses.v[k];
        if (a->stays || !bitset_has(goes, a->variable))
            continue;
        local_slots_move(l, s, a);
        instr_remove(a->i);
    }
}

/* Removes what computes addresses of variables that are gone. */
static void remove_addresses(LocalVariables *l, const BitSet *gone)
{
    for (u32 k = 0; k < l->movers.n; k++)
        if (bitset_has(gone, l->movers.v[k].variable))
            instr_remove(l->movers.v[k].i);
}

/* Gives registers that may be read before they are written a value, at the function's entry. */
static void begin_slots(Analyses *an, const LocalSlots *s)
{
    Block *entry = an->fn->entry;
    Builder at = entry->first ? build_before(entry->first) : build_at_end(entry);
    VecU32 read = {0};
    const Live *live = an_live(an);
    for (u32 k = 0; k < s->slots.n; k++)
        for (u32 r = 0; r < COUNT_OF(s->slots.v[k].reg); r++)
            if (s->slots.v[k].reg[r] && live_in(live, entry, s->slots.v[k].reg[r]))
                vec_push(&read, s->slots.v[k].reg[r]);
    for (u32 k = 0; k < read.n; k++) {
        u32 bits = type_bits(fn_reg(an->fn, read.v[k])->type);
        Operand slots[] = {register_operand(read.v[k]), build_integer(0, bits, false)};
        build(&at, OPC_MOV, (OpParts){.type = {bits_type(bits)}}, slots, 2);
    }
    vec_free(&read);
}

static const char *name_of(const LocalVariables *l, const LocalVariable *v)
{
    return l->fn->module->syms.v[v->sym].name->text;
}

/* Decides about each variable. goes: its slots become registers; gone: nothing else is left of it. */
static bool decide(LocalVariables *l, PhaseRun *run, const LocalSlots *s, BitSet *goes, BitSet *gone)
{
    u32 together;
    const Worth *worth = find_worth(l, s, &together);
    bool any = false;
    u32 room = some_may_go(l, worth) ? free_words(l, together) : 0;
    for (u32 k = 0; k < l->variables.n; k++) {
        const LocalVariable *v = &l->variables.v[k];
        const Worth *w = &worth[k];
        const char *why = why_not(l, v, w, room);
        const Instr *at = v->at ? v->at : l->all_stay_at ? l->all_stay_at : v->access;
        if (why && at)
            phase_declined(run, "DeclinedLocal", "LocalKept", at, "%s stays in local memory: %s", name_of(l, v), why);
        if (why || !phase_rewrite_at(run, "LocalToRegisters", l->accesses.v[w->first].i,
                                     "%s%s: %u loads and stores go, and its slots take %u registers of 32 bits at once",
                                     name_of(l, v), w->all_goes ? "" : " in part", w->accesses, w->words))
            continue;
        any = true;
        room -= w->words;
        bitset_add(goes, k);
        if (w->all_goes)
            bitset_add(gone, k);
    }
    return any;
}

/* Whether a loop would be left with arithmetic on constants alone, which ptxas folds wrongly in some of its forms. */
static bool makes_constant_loop(const LocalVariables *l)
{
    BitSet moves = bitset_new(l->an->scratch, l->fn->edits.origins + 1);
    for (u32 k = 0; k < l->accesses.n; k++)
        if (l->accesses.v[k].is_constant && !l->variables.v[l->accesses.v[k].variable].stays)
            bitset_add(&moves, l->accesses.v[k].i->origin);
    for (u32 k = 0; k < l->movers.n; k++)
        bitset_add(&moves, l->movers.v[k].i->origin);
    return miscounted_has_constant_loop(l->an, &moves, &l->walked);
}

static bool all_stay_alone(const LocalVariables *l)
{
    u32 k = 0;
    while (k < l->variables.n && l->variables.v[k].stays)
        k++;
    return k == l->variables.n;
}

static bool rewrite(LocalVariables *l, PhaseRun *run)
{
    if (!l->all_stay && !all_stay_alone(l) && makes_constant_loop(l))
        l->all_stay = "a loop would be left with constants alone, of which ptxas folds some wrongly";
    BitSet goes = bitset_new(l->an->scratch, l->variables.n), gone = bitset_new(l->an->scratch, l->variables.n);
    LocalSlots *s = local_slots_find(l);
    bool any = decide(l, run, s, &goes, &gone);
    if (any) {
        move_accesses(l, s, &goes);
        remove_addresses(l, &gone);
        for_each_bit(k, &gone)
            edit_remove_variable(l->fn, l->variables.v[k].scope, l->variables.v[k].decl, l->variables.v[k].sym);
        begin_slots(l->an, s);
    }
    local_slots_free(s);
    return any;
}

/* ---- loops ------------------------------------------------------------------------------------------------------- */

/* Adds the loop, and so many around it, as far as they are small enough to be written out. */
static void add_around(Analyses *an, BitSet *places, const Loop *loop, u32 levels)
{
    for (u32 k = 0; k <= levels && loop && loop->block_count <= UNROLL_BLOCKS; k++, loop = loop->parent)
        bitset_add(places, local_loop_place(an, loop));
}

/* The variables of which nothing would be left, by number. */
static BitSet find_gone(LocalVariables *l)
{
    BitSet gone = bitset_new(l->an->scratch, l->variables.n);
    if (l->all_stay || all_stay_alone(l) || makes_constant_loop(l))
        return gone;
    LocalSlots *s = local_slots_find(l);
    u32 together;
    const Worth *worth = find_worth(l, s, &together);
    u32 room = free_words(l, together);
    for (u32 k = 0; k < l->variables.n; k++) {
        if (why_not(l, &l->variables.v[k], &worth[k], room))
            continue;
        room -= worth[k].words;
        if (worth[k].all_goes)
            bitset_add(&gone, k);
    }
    local_slots_free(s);
    return gone;
}

/* The loops that access one of the variables, with those around them, by place in AN_LOOPS. */
static BitSet loops_of(const LocalVariables *l, const BitSet *variables)
{
    BitSet found = bitset_new(l->an->scratch, an_loops(l->an)->n + 1);
    for (u32 k = 0; k < l->accesses.n; k++)
        if (bitset_has(variables, l->accesses.v[k].variable))
            add_around(l->an, &found, loop_of(an_loops(l->an), l->accesses.v[k].i->block), LEVELS);
    return found;
}

/* Drops the loops that no variable needs to be written out in order to go. without: the variables that go anyway. Answers whether
 * there was one. */
static bool drop_loops(Analyses *an, const BitSet *without, LocalLoops *loops)
{
    LocalVariables *l = local_variables_find(an, loops, true);
    BitSet gone = find_gone(l);
    u32 kept = 0, all = loops->n;
    bitset_andnot(&gone, without);
    BitSet needed = loops_of(l, &gone);
    for (u32 k = 0; k < all; k++)
        if (bitset_has(&needed, local_loop_place(an, loops->v[k].loop)))
            loops->v[kept++] = loops->v[k];
        else
            local_loop_free(&loops->v[k]);
    loops->n = kept;
    local_variables_free(l);
    return kept < all;
}

/* Leaves the loops that must be written out so that some variables go. None is if what goes also needs loops that were dropped. */
static void choose_loops(LocalVariables *l, LocalLoops *loops)
{
    BitSet without = find_gone(l);
    if (!drop_loops(l->an, &without, loops))
        return;
    bool unsettled = drop_loops(l->an, &without, loops);
    for (; unsettled && loops->n; loops->n--)
        local_loop_free(&vec_last(loops));
}

static bool is_in_one_of(Analyses *an, const BitSet *places, const Loop *loop)
{
    while (loop && loop->block_count <= UNROLL_BLOCKS && !bitset_has(places, local_loop_place(an, loop)))
        loop = loop->parent;
    return loop && loop->block_count <= UNROLL_BLOCKS;
}

static bool is_miscounted(Analyses *an, const LocalLoop *w, const BitSet *miscounted)
{
    for (u32 k = 0; k < w->as.blocks; k++)
        if (bitset_has(miscounted, local_loop_place(an, loop_of(an_loops(an), w->as.block[k]))))
            return true;
    return false;
}

typedef struct LoopChoice {
    u32 most; /* instructions that the iterations may take */
    BitSet miscounted;
} LoopChoice;

/* Lists the loops that variables stay for, or the outermost loop of `levels` around one, that can be written out. */
static void find_loops(LocalVariables *l, PhaseRun *run, const LoopChoice *choice, u32 levels, LocalLoops *found)
{
    const Loops *loops = an_loops(l->an);
    BitSet wanted = bitset_new(l->an->scratch, loops->n + 1), taken = bitset_new(l->an->scratch, loops->n + 1);
    for_each_bit(k, &l->indexing)
        add_around(l->an, &wanted, loops->v[k], levels);
    for_each_bit(k, &wanted) { /* outer loops first */
        const Loop *loop = loops->v[k];
        const char *why = NULL;
        LocalLoop w = {0};
        if (is_in_one_of(l->an, &taken, loop))
            continue;
        if (local_loop_find(l, loop, choice->most, &w, &why) && !is_miscounted(l->an, &w, &choice->miscounted)) {
            bitset_add(&taken, k);
            vec_push(found, w);
            continue;
        }
        local_loop_free(&w);
        if (why)
            phase_missed_once(run, "LocalLoopKept", block_terminator(loop->latches[0]),
                              "the iterations of this loop, which indexes local variables, are not written out: %s", why);
    }
}

/* The loops to be written out. One alone is preferred to those around it. */
static LocalLoops find_needed_loops(LocalVariables *l, PhaseRun *run, u32 most)
{
    LocalLoops loops = {0};
    LoopChoice choice = {most, miscounted_loops(l->an)};
    for (u32 levels = 0; levels <= LEVELS && !loops.n; levels++) {
        find_loops(l, run, &choice, levels, &loops);
        if (loops.n)
            choose_loops(l, &loops);
    }
    return loops;
}

/* Writes out the iterations of loops in which alone some variables are indexed by what is no constant. */
static bool write_out_loops(LocalVariables *l, PhaseRun *run, u32 most)
{
    bool any = false;
    if (run->is_last || !bitset_count(&l->indexing))
        return false;
    LocalLoops loops = find_needed_loops(l, run, most);
    if (loops.n)
        an_freeze(l->an, AN_LOOPS);
    for (u32 k = 0; k < loops.n; k++) {
        LocalLoop *w = &loops.v[k];
        if (phase_rewrite_at(run, "LocalLoopWrittenOut", block_terminator(w->loop->latches[0]),
                             "the %u iterations of the loop%s are written out: what it indexes becomes registers", w->trips,
                             w->loop->height > 1 ? ", with those of loops in it," : "")) {
            local_loop_write_out(l->an, w);
            any = true;
        }
        local_loop_free(w);
    }
    vec_free(&loops);
    return any;
}

Phase phase_local_to_registers;
PhaseResult phase_local_to_registers(Analyses *an, const Knobs *knobs, PhaseRun *run)
{
    bool all = run->sink->wants_reasons;
    LocalVariables *l = local_variables_find(an, &(LocalLoops){0}, all);
    bool changed = l->variables.n && (all || local_variables_may_go(l)) &&
                   (write_out_loops(l, run, (u32)knobs->local_unrolled) || rewrite(l, run));
    local_variables_free(l);
    return changed ? PHASE_AGAIN : PHASE_UNCHANGED;
}
