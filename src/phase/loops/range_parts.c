#include "phase/loops/range_parts.h"

#include "ir/cfg.h"
#include "ir/inspect.h"
#include "phase/loops/copy.h"

const RangeGuard *range_split_guard_at(const RangeSplit *s, const Block *b)
{
    const u64 *place = fnvmap_find(&s->guard_of, b->id);
    const RangeGuard *g = place ? &s->guard.v[*place - 1] : NULL;
    return g && !g->why ? g : NULL;
}

/* Copies of blocks of the loop. */
typedef struct RangePart {
    Block *const *of, **copy;
    u32 n;
    FnvMap place; /* by Block.id: the place in `of`, plus 1 */
} RangePart;

static Block *copy_of(const RangePart *p, const Block *b)
{
    const u64 *place = fnvmap_find(&p->place, b->id);
    return place ? p->copy[*place - 1] : NULL;
}

/* Makes the copies, to be laid out after a block. */
static RangePart copy_part(Analyses *an, const RangeSplit *s, bool middle, Block *after)
{
    RangePart p = {.of = middle ? s->middle.v : s->loop->blocks, .n = middle ? s->middle.n : s->loop->block_count};
    p.copy = arena_array(an->scratch, Block *, p.n);
    for (u32 k = 0; k < p.n; k++) {
        const RangeGuard *g = middle ? range_split_guard_at(s, p.of[k]) : NULL;
        p.copy[k] = block_clone(p.of[k]);
        *fnvmap_at(&p.place, p.of[k]->id) = k + 1;
        block_move_after(p.copy[k], after);
        after = p.copy[k];
        if (g) {
            block_remove_terminator(p.copy[k]);
            block_set_fall(p.copy[k], g->pass);
        }
    }
    for (u32 k = 0; k < p.n; k++)
        for (u32 e = 0; e < block_edge_count(p.copy[k]); e++) {
            Block *to = block_edge_target(p.copy[k], e), *made = copy_of(&p, to);
            if (made)
                block_redirect(p.copy[k], to, made);
        }
    return p;
}

/* Gives b a branch that stands for those of the latch and the guards. */
static void branch_between(Analyses *an, const RangeSplit *s, Block *b, RegId guard, bool negated, Block *to)
{
    block_set_branch(b, guard, negated, to, false);
    Instr *branch = block_terminator(b), *first = s->test ? block_terminator(s->loop->latches[0]) : NULL;
    if (first)
        instr_inherit_origin(an->fn, branch, first, NULL);
    for (u32 k = 0; k < s->guard.n; k++) {
        Instr *end = block_terminator(s->guard.v[k].block);
        if (s->guard.v[k].why)
            continue;
        instr_inherit_origin(an->fn, branch, first ? branch : end, first ? end : NULL);
        first = branch;
    }
}

/* Where the part goes on: instead of the latch's branch, while the predicate is true. */
static void set_latch(Analyses *an, const RangeSplit *s, const RangePart *p, RegId more, Block *next)
{
    Block *latch = copy_of(p, s->loop->latches[0]);
    block_remove_terminator(latch);
    block_set_fall(latch, next);
    branch_between(an, s, latch, more, false, p->copy[0]);
}

/* Lets a part end after the iteration in which the counter's comparison compares `last`. */
static void end_part(Analyses *an, RangeSplit *s, const RangePart *p, Operand last, Block *next)
{
    Block *old = s->loop->latches[0], *latch = copy_of(p, old);
    Instr *made = latch->first;
    for (const Instr *i = old->first; i != s->test; i = i->next)
        made = made->next;
    LoopSum sum;
    u32 bits = s->counter.compare.value.bits;
    bool left =
        loop_sum_of(&s->sums, s->test, instr_operand(s->test, 1), bits, &sum) && !loop_sum_is_zero(&s->sums, sum.step);
    Builder at = made->next ? build_before(made->next) : build_at_end(latch);
    OpParts parts = {.cmp = CMP_NE, .type = {signed_type(bits)}};
    RegId more = build_binary(&at, OPC_SETP, parts, TYPE_PRED, *instr_operand(made, left ? 1 : 2), last);
    set_latch(an, s, p, more, next);
}

/* Lets a part, which is entered from a block, end after so many iterations. Where several blocks lead to that one, ptxas
 * unrolls it only if the block holds something. It counts by one, and does not know that a larger step comes to
 * `last`. */
static void count_part(Analyses *an, const RangeSplit *s, const RangePart *p, Block *enter, Operand many, Block *next)
{
    Builder before = build_at_end(enter);
    RegId left = build_unary(&before, OPC_MOV, (OpParts){.type = {TYPE_U32}}, TYPE_B32, many);
    Builder at = build_at_end(copy_of(p, s->loop->latches[0]));
    Operand slots[] = {register_operand(left), register_operand(left), build_integer((u64)-1, 32, true)};
    build(&at, OPC_ADD, (OpParts){.type = {TYPE_S32}}, slots, 3);
    OpParts compare = {.cmp = CMP_NE, .type = {TYPE_S32}};
    RegId more = build_binary(&at, OPC_SETP, compare, TYPE_PRED, register_operand(left), build_integer(0, 32, true));
    set_latch(an, s, p, more, next);
}

static Block *block_after(const RangeSplit *s, Block *after, Block *fall)
{
    Block *b = block_new_like(s->loop->header, s->loop->header->loc);
    block_move_after(b, after);
    block_set_fall(b, fall);
    return b;
}

/* Makes the middle part after a block; answers the block from which it is entered. */
static Block *make_middle(Analyses *an, RangeSplit *s, const IntervalEnds *ends, Block *after)
{
    Block *enter = block_after(s, after, after), *next = s->test ? loop_exit_of_latch(s->loop) : s->loop->header;
    RangePart p = copy_part(an, s, true, enter);
    bool goes_on = ends->end || !s->test;
    block_set_fall(enter, p.copy[0]);
    if (goes_on)
        next = block_after(s, p.copy[p.n - 1], next);
    if (loop_interval_is_counted(&s->interval))
        count_part(an, s, &p, enter, ends->many, next);
    else if (ends->end)
        end_part(an, s, &p, ends->last[1], next);
    loop_copy_drop_unread(an, s->loop, p.copy, p.n);
    if (goes_on && s->checks) {
        Builder at = build_at_end(next);
        loop_copy_join_steps(an, s->loop, p.copy, p.n, ends->many, &at);
    }
    if (ends->end)
        branch_between(an, s, next, ends->end, true, s->loop->header);
    fnvmap_free(&p.place);
    return enter;
}

/* Makes the part in front of the middle one, after a block. */
static void make_first(Analyses *an, RangeSplit *s, const IntervalEnds *ends, Block *middle, Block *after)
{
    RangePart p = copy_part(an, s, false, after);
    end_part(an, s, &p, ends->last[0], middle);
    build_nounroll(p.copy[0]);
    block_set_fall(after, p.copy[0]);
    branch_between(an, s, after, ends->begin, false, middle);
    fnvmap_free(&p.place);
}

void range_split_build(Analyses *an, RangeSplit *s)
{
    Block *entry = loop_entry_block(an->fn, s->loop), *header = s->loop->header, *rest = block_after(s, entry, header);
    IntervalPlaces places = {build_at_end(entry), build_at_end(rest)};
    IntervalEnds ends =
        loop_interval_build(&s->interval, range_split_has_only_checks(s) ? 0 : s->trips, s->enough, &places);
    Block *middle = make_middle(an, s, &ends, rest), *to = middle;
    if (ends.begin) {
        to = block_after(s, rest, middle);
        make_first(an, s, &ends, middle, to);
    }
    block_set_fall(entry, rest);
    if (ends.is_long)
        branch_between(an, s, entry, ends.is_long, true, header);
    block_set_fall(rest, to);
    if (ends.known)
        branch_between(an, s, rest, ends.known, true, header);
    build_nounroll(header);
}
