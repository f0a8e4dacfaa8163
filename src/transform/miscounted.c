#include "transform/miscounted.h"

#include "analysis/loop_test.h"
#include "analysis/ranges.h"
#include "base/bound.h"
#include "ir/inspect.h"
#include "transform/condition.h"

enum { PASSES = 8 /* the most passes over the function; beyond them, every register counts as constant */ };

/* Whether i only computes, from nothing but registers and written constants. */
static bool only_computes(const Instr *i)
{
    if (i->kind != INSTR_OP || !op_is_pure(i->op) || i->op->mem != MEM_NONE)
        return false;
    for_each_slot(o, i)
        if (o->kind == OPND_SREG || o->kind == OPND_SYM || o->kind == OPND_NAME)
            return false;
    return true;
}

static bool reads_varying(const BitSet *constant, const Instr *i)
{
    for (RegWalk w = reg_walk(i); next_read(&w);)
        if (!bitset_has(constant, w.reg))
            return true;
    return false;
}

/* Marks the registers that i writes. Answers whether one of them was not marked before. */
static bool add_written(BitSet *constant, const Instr *i)
{
    bool any = false;
    for (RegWalk w = reg_walk(i); next_write(&w);)
        any |= bitset_add(constant, w.reg);
    return any;
}

/* Whether i is one of the instructions that are to become moves of registers. */
static bool is_move(const BitSet *moves, const Instr *i) { return moves && bitset_has(moves, i->origin); }

/* Finds the registers that at least one write makes a function of constants. Their other writes do not matter: ptxas folds each
 * value by itself. */
static void find_constant(Arena *arena, const Function *fn, const BitSet *moves, BitSet *constant)
{
    *constant = bitset_new(arena, fn->regs.n + 1);
    bool any = true;
    for (u32 pass = 0; any && WITHIN(PASSES, pass < PASSES); pass++) {
        any = false;
        for_each_block(b, fn)
            for_each_instr(i, b)
                if ((only_computes(i) || is_move(moves, i)) && !reads_varying(constant, i))
                    any |= add_written(constant, i);
    }
    if (any)
        bitset_fill(constant);
}

static bool is_jump(const Instr *i) { return i->kind == INSTR_OP && op_has(i->op, OPF_BRANCH) && branch_target(i); }

static bool holds_only_arithmetic(const Block *b, const BitSet *moves)
{
    for_each_instr(i, b)
        if (i->kind == INSTR_OP && !only_computes(i) && !is_jump(i) && !is_move(moves, i))
            return false;
    return true;
}

static bool holds_varying(const Block *b, const BitSet *constant)
{
    for_each_instr(i, b)
        if (reads_varying(constant, i))
            return true;
    return false;
}

/* Marks the loops around b by their places. A marked loop has its parents marked already. */
static void mark_around(const Loops *loops, const Block *b, BitSet *marked)
{
    for (const Loop *l = loop_of(loops, b); l && bitset_add(marked, loops->of[l->header->id] - 1);)
        l = l->parent;
}

/* Whether all loops are marked, or gone. */
static bool are_all_marked(const Loops *loops, const BitSet *marked, const BitSet *gone)
{
    u32 l = 0;
    while (l < loops->n && (bitset_has(marked, l) || (gone && bitset_has(gone, l))))
        l++;
    return l == loops->n;
}

/* ---- loops that are counted ------------------------------------------------------------------------------------------ */

static bool is_negative(u64 value, u32 bits) { return sem_signed(value, bits) < 0; }

/* Whether the test orders unsigned numbers, one of which is a constant that would be negative as a signed number. */
static bool asks_large_unsigned(Analyses *an, const Loop *loop, const LoopTest *t)
{
    u64 start, entry;
    if (t->cmp == CMP_NE || compare_is_signed(t->cmp, t->type))
        return false;
    if (t->bound->kind == OPND_IMM && is_negative((u64)t->bound->value, t->value.bits))
        return true;
    if (!loop_test_start(an, loop, t, &start))
        return false;
    return is_negative(start, t->value.bits) ||
           (t->bound->kind == OPND_REG && loop_entry_constant(an, loop, t->bound->id, &entry) &&
            is_negative(entry, t->value.bits));
}

/* Whether the branch or return at the end of b, which every iteration passes, tests the counter in a way that ptxas miscounts. */
static bool test_is_miscounted(Analyses *an, LoopSums *s, const Loop *loop, const Block *b)
{
    const Instr *end = block_terminator(b);
    Instr *compare = end && end->guard && !branch_table(end) ? local_definition(end, end->guard) : NULL;
    const Block *to = compare ? branch_target(end) : NULL;
    bool opposite = (to && loop_contains(an_loops(an), loop, to)) == (end && end->guard_not);
    LoopTest test;
    if (!compare || (compare->op->cmp == (opposite ? CMP_EQ : CMP_NE)))
        return false; /* a loop that goes on until two numbers are equal is not read in vain */
    return loop_test_read_with(s, compare, opposite, &test) &&
           (!loop_test_runs_towards_bound(&test) || asks_large_unsigned(an, loop, &test));
}

static bool is_miscounted(Analyses *an, const Loop *loop)
{
    const Loops *loops = an_loops(an);
    Arena arena = {0};
    LoopSums s;
    bool found = false;
    if (loop->latch_count != 1 || loop->height != 1 || loops->irreducible)
        return false;
    loop_sums_init(&s, &arena, affine_loop(an, loop), NULL);
    for (u32 k = 0; k < loop->block_count && !found; k++) {
        const Block *b = loop->blocks[k];
        found = loop_is_left_at(loops, loop, b) && dominates(an_dom(an), b, loop->latches[0]) &&
                test_is_miscounted(an, &s, loop, b);
    }
    loop_sums_free(&s);
    arena_free(&arena);
    return found;
}

bool miscounted_has_constant_loop(Analyses *an, const BitSet *moves, const BitSet *gone)
{
    const Loops *loops = an_loops(an);
    BitSet other = bitset_new(an->scratch, loops->n + 1), constant;
    for_each_block(b, an->fn)
        if (loop_of(loops, b) && !bitset_has(&other, loops->of[loop_of(loops, b)->header->id] - 1) &&
            !holds_only_arithmetic(b, moves))
            mark_around(loops, b, &other);
    if (are_all_marked(loops, &other, gone))
        return false;
    find_constant(an->scratch, an->fn, moves, &constant);
    for_each_block(b, an->fn)
        if (loop_of(loops, b) && holds_varying(b, &constant))
            mark_around(loops, b, &other);
    return !are_all_marked(loops, &other, gone);
}

BitSet miscounted_loops(Analyses *an)
{
    const Loops *loops = an_loops(an);
    BitSet found = bitset_new(an->scratch, loops->n + 1);
    bool all = miscounted_has_constant_loop(an, NULL, NULL);
    for (u32 l = 0; l < loops->n; l++)
        if (all || is_miscounted(an, loops->v[l]))
            bitset_add(&found, l);
    return found;
}

bool miscounted_has(MiscountedLoops *m, const Loop *loop)
{
    if (!m->known)
        m->loops = miscounted_loops(m->an);
    m->known = true;
    return bitset_has(&m->loops, an_loops(m->an)->of[loop->header->id] - 1);
}
