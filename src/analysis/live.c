#include "analysis/live.h"

#include <stdlib.h>

#include "base/bound.h"
#include "base/search.h"
#include "base/vec.h"

/* Live-in entries of a whole function (4 bytes each): this many, and some for each block. */
enum { LIVE_LIMIT = 1 << 20, LIVE_LIMIT_PER_BLOCK = 32 };

/* ---- computation ----------------------------------------------------------------------------------------------- */

/* A block of one register's list. */
typedef struct ListedBlock {
    u32 position;
    u32 next; /* index into places, plus 1; 0: none */
} ListedBlock;

/* The registers of a group that are live into the block at a position; see Live.set. */
typedef struct Found {
    u64 set;
    u32 position, group;
} Found;

enum { GROUP = 64 };

typedef struct LiveFinder {
    const Function *fn;
    const Order *order;
    VEC(ListedBlock) places;
    u32 *exposed;     /* by register: the list of the blocks that read it before they kill it, like ListedBlock.next */
    u32 *killed;      /* by register: the list of the blocks after which its old value is gone */
    VecU32 listed;    /* registers that are live into some block, ascending */
    VEC(Found) found; /* group after group */
    u64 entries;      /* bits set in found.v[0 .. counted - 1] */
    u32 counted;
    /* of the group, by position */
    u64 *live, *kills;
    BitSet pending; /* backwards: blocks that have got something live that those before them do not know of */
    u32 cursor;     /* none is pending below this one */
} LiveFinder;

/* Marks of scan_block() for a register in the block at p; a smaller mark is of another block. */
#define EXPOSED(p) (2 * (p) + 1)
#define KILLED(p) (2 * (p) + 2)

static inline void add_place(LiveFinder *f, u32 *list, u32 p)
{
    vec_push(&f->places, ((ListedBlock){p, *list}));
    *list = f->places.n;
}

static void expose(LiveFinder *f, u32 *mark, RegId reg, u32 p)
{
    if (mark[reg] >= EXPOSED(p))
        return;
    mark[reg] = EXPOSED(p);
    add_place(f, &f->exposed[reg], p);
}

static void kill(LiveFinder *f, u32 *mark, RegId reg, u32 p)
{
    if (mark[reg] == KILLED(p))
        return;
    mark[reg] = KILLED(p);
    add_place(f, &f->killed[reg], p);
}

/* Walks forwards through the block at p, and lists the registers that it reads before it kills them, and those that it kills. */
static void scan_block(LiveFinder *f, u32 p, u32 *mark)
{
    const Block *b = f->order->rpo[p];
    for_each_instr(i, b) {
        if (i->kind != INSTR_OP)
            continue;
        if (i->guard)
            expose(f, mark, i->guard, p);
        if (op_has(i->op, OPF_CARRY_IN))
            expose(f, mark, CARRY_REG, p);
        for_each_slot(o, i)
            if (slot_is_use(o))
                expose(f, mark, o->id, p);
        if (i->guard)
            continue; /* where it is not executed the old values stay */
        if (op_has(i->op, OPF_CARRY_OUT))
            kill(f, mark, CARRY_REG, p);
        for (const Operand *o = i->opnd, *end = o + i->def_slots; o < end; o++)
            if (o->kind == OPND_REG && slot_kills(i, o))
                kill(f, mark, o->id, p);
    }
    if (!order_leaves_function(f->order, p))
        return;
    for (RegId r = 1; r < f->fn->regs.n && f->fn->regs.v[r].is_param; r++) /* they are declared first */
        expose(f, mark, r, p);
}

static void scan_blocks(LiveFinder *f)
{
    u32 *mark = mem_zalloc(sizeof(u32) * (size_t)f->fn->regs.n);
    vec_reserve(&f->places, 2 * f->fn->regs.n); /* nearly all registers are written, and many live into a block */
    for (u32 p = 0; p < f->order->count; p++)
        scan_block(f, p, mark);
    mem_free(mark);
    for (RegId reg = 0; reg < f->fn->regs.n; reg++)
        if (f->exposed[reg])
            vec_push(&f->listed, reg);
}

static inline void make_live(LiveFinder *f, u32 p, u64 set)
{
    u32 backwards = f->order->count - 1 - p;
    if (!f->live[p])
        vec_push(&f->found, ((Found){.position = p}));
    f->live[p] |= set;
    bitset_add(&f->pending, backwards);
    if (backwards < f->cursor)
        f->cursor = backwards;
}

/* Spreads liveness backwards from the blocks that read registers first to those that kill them, from the last block to the first. */
static void spread_pending(LiveFinder *f)
{
    const Graph *pred = &f->order->pred;
    while ((f->cursor = bitset_next(&f->pending, f->cursor)) < f->order->count) {
        u32 p = f->order->count - 1 - f->cursor;
        bitset_del(&f->pending, f->cursor);
        u64 live = f->live[p];
        for_each_edge(e, pred, p) {
            u32 from = pred->to[e];
            u64 fresh = live & ~(f->kills[from] | f->live[from]);
            if (fresh)
                make_live(f, from, fresh);
        }
    }
}

/* Finds where up to GROUP registers, from listed[first] on, are live. */
static void explore(LiveFinder *f, u32 first, u32 regs)
{
    u32 begin = f->found.n;
    for (u32 k = 0; k < regs; k++) {
        RegId reg = f->listed.v[first + k];
        for (u32 at = f->killed[reg]; at; at = f->places.v[at - 1].next)
            f->kills[f->places.v[at - 1].position] |= 1ull << k;
        for (u32 at = f->exposed[reg]; at; at = f->places.v[at - 1].next)
            make_live(f, f->places.v[at - 1].position, 1ull << k);
    }
    spread_pending(f);
    for (u32 k = 0; k < regs; k++)
        for (u32 at = f->killed[f->listed.v[first + k]]; at; at = f->places.v[at - 1].next)
            f->kills[f->places.v[at - 1].position] = 0;
    for (u32 n = begin; n < f->found.n; n++) {
        Found *found = &f->found.v[n];
        found->set = f->live[found->position];
        found->group = first / GROUP;
        f->live[found->position] = 0;
    }
}

/* Whether the result has more than `limit` entries. They are counted only where they may be as many. */
static bool exceeds(LiveFinder *f, u64 limit)
{
    if ((u64)GROUP * f->found.n <= limit)
        return false;
    for (; f->counted < f->found.n; f->counted++)
        f->entries += (u32)__builtin_popcountll(f->found.v[f->counted].set);
    return f->entries > limit;
}

/* Takes the register by which the result became too large, and those after it, out of the last group, whose entries begin at `begin`.
 * Answers how many registers of the group are left. */
static u32 cut_group(LiveFinder *f, u32 begin, u64 limit)
{
    u32 count[GROUP] = {0}, regs = GROUP;
    for (u32 n = begin; n < f->found.n; n++)
        for (u64 set = f->found.v[n].set; set; set &= set - 1)
            count[__builtin_ctzll(set)]++;
    while (f->entries > limit)
        f->entries -= count[--regs];
    for (u32 n = begin; n < f->found.n; n++)
        f->found.v[n].set &= (1ull << regs) - 1;
    return regs;
}

/* Finds where the listed registers are live, and answers for how many it did; the others count as live everywhere. */
static u32 explore_all(LiveFinder *f)
{
    u64 limit = LIVE_LIMIT + (u64)LIVE_LIMIT_PER_BLOCK * f->order->count;
    f->cursor = f->order->count;
    for (u32 first = 0; first < f->listed.n; first += GROUP) {
        u32 begin = f->found.n, left = f->listed.n - first;
        explore(f, first, left < GROUP ? left : GROUP);
        if (BEYOND(LIVE_LIMIT, exceeds(f, limit)))
            return first + cut_group(f, begin, limit);
    }
    return f->listed.n;
}

/* Sorts what was found by block; the groups come in order. */
static void list_by_block(const LiveFinder *f, Arena *arena, Live *l)
{
    Block **rpo = f->order->rpo;
    l->start = arena_array(arena, u32, (size_t)l->blocks + 2);
    l->set = arena_alloc_raw(arena, sizeof *l->set * f->found.n);
    l->group = arena_alloc_raw(arena, sizeof *l->group * f->found.n);
    u32 *next = l->start + 1; /* filling moves it from where a block's sets begin to where they end */
    for (u32 n = 0; n < f->found.n; n++)
        next[rpo[f->found.v[n].position]->id + 1]++;
    for (u32 id = 0; id < l->blocks; id++)
        next[id + 1] += next[id];
    for (const Found *found = f->found.v; found < f->found.v + f->found.n; found++) {
        u32 at = next[rpo[found->position]->id]++;
        l->set[at] = found->set;
        l->group[at] = found->group;
    }
}

static void number_registers(const LiveFinder *f, Arena *arena, Live *l)
{
    l->listed = arena_alloc_raw(arena, sizeof(RegId) * f->listed.n);
    l->number = arena_array(arena, u32, l->regs);
    for (u32 k = 0; k < l->listed_count; k++) {
        l->listed[k] = f->listed.v[k];
        l->number[l->listed[k]] = k + 1;
    }
}

Live *live_compute(Arena *arena, const Function *fn, const Order *order)
{
    Arena scratch = {0};
    LiveFinder f = {.fn = fn, .order = order};
    f.exposed = arena_array(&scratch, u32, 2 * (size_t)fn->regs.n);
    f.killed = f.exposed + fn->regs.n;
    scan_blocks(&f);
    f.live = arena_array(&scratch, u64, 2 * (size_t)order->count);
    f.kills = f.live + order->count;
    f.pending = bitset_new(&scratch, order->count);
    u32 explored = explore_all(&f);
    vec_free(&f.places);
    arena_free(&scratch);

    Live *l = arena_new(arena, Live);
    *l = (Live){.fn = fn, .blocks = fn->blocks.n, .regs = fn->regs.n, .explored = explored, .listed_count = f.listed.n};
    list_by_block(&f, arena, l);
    number_registers(&f, arena, l);
    vec_free(&f.found);
    vec_free(&f.listed);
    return l;
}

/* ---- queries --------------------------------------------------------------------------------------------------- */

bool live_in(const Live *l, const Block *b, RegId reg)
{
    if (b->id >= l->blocks)
        return true; /* it was made since, and may read anything */
    u32 number = reg < l->regs ? l->number[reg] : 0;
    if (number == 0 || number > l->explored)
        return number != 0;
    u32 group = (number - 1) / GROUP, end = l->start[b->id + 1];
    u32 at = partition_point(k, l->start[b->id], end, l->group[k] < group);
    return at < end && l->group[at] == group && l->set[at] >> (number - 1) % GROUP & 1;
}

bool live_out(const Live *l, const Block *b, RegId reg)
{
    for_each_cfg_edge(succ, cfg_succs(l->fn, b))
        if (live_in(l, succ.v->block, reg))
            return true;
    return l->fn->regs.v[reg].is_param && block_leaves_function(l->fn, b);
}

bool live_after(const Live *l, const Instr *i, RegId reg)
{
    for (const Instr *next = i->next; next; next = next->next) {
        if (instr_reads(next, reg))
            return true;
        if (instr_kills(next, reg))
            return false;
    }
    return live_out(l, i->block, reg);
}

/* The cursor counts the bits of the block's sets, and then the registers that are live everywhere. */
bool live_in_next(const Live *l, const Block *b, u32 *cursor, RegId *reg)
{
    u32 from = b->id < l->blocks ? l->start[b->id] : 0, sets = b->id < l->blocks ? l->start[b->id + 1] - from : 0;
    for (u32 at; (at = *cursor / GROUP) < sets; *cursor = (at + 1) * GROUP) {
        u64 left = l->set[from + at] >> *cursor % GROUP;
        if (!left)
            continue;
        *cursor += (u32)__builtin_ctzll(left);
        *reg = l->listed[l->group[from + at] * GROUP + *cursor % GROUP];
        ++*cursor;
        return true;
    }
    u32 k = l->explored + (*cursor)++ - sets * GROUP;
    if (k >= l->listed_count)
        return false;
    *reg = l->listed[k];
    return true;
}

u32 live_words_of(const Live *l, RegId reg)
{
    const Reg *r = &l->fn->regs.v[reg];
    return reg == CARRY_REG || r->type == TYPE_PRED ? 0 : (type_bits(r->type) * r->vector + 31) / 32;
}

u32 live_words(const Live *l, const Block *b, u32 most)
{
    u32 words = 0;
    RegId reg;
    for (u32 k = 0; words < most && live_in_next(l, b, &k, &reg);)
        words += live_words_of(l, reg);
    return words < most ? words : most;
}

static inline void put(BitSet *set, RegId reg, bool in)
{
    if (in)
        bitset_add(set, reg);
    else
        bitset_del(set, reg);
}

void live_out_put(const Live *l, const Block *b, BitSet *set, bool in)
{
    RegId reg;
    for_each_cfg_edge(succ, cfg_succs(l->fn, b))
        for (u32 k = 0; live_in_next(l, succ.v->block, &k, &reg);)
            put(set, reg, in);
    if (block_leaves_function(l->fn, b))
        for (reg = 1; reg < l->fn->regs.n && l->fn->regs.v[reg].is_param; reg++)
            put(set, reg, in);
}

/* The words in `set` with the register, or without it. */
static u32 put_words(const Live *l, BitSet *set, RegId reg, bool in, u32 words)
{
    if (bitset_has(set, reg) == in)
        return words;
    put(set, reg, in);
    return in ? words + live_words_of(l, reg) : words - live_words_of(l, reg);
}

static u32 words_at_end(const Live *l, const Block *b, BitSet *live)
{
    u32 words = 0;
    RegId reg;
    for_each_cfg_edge(succ, cfg_succs(l->fn, b))
        for (u32 k = 0; live_in_next(l, succ.v->block, &k, &reg);)
            words = put_words(l, live, reg, true, words);
    return words;
}

/* Takes out of the set what is live at the end of b, and what its instructions read. */
static void empty_again(const Live *l, const Block *b, BitSet *live)
{
    live_out_put(l, b, live, false);
    for (const Instr *i = b->last; i; i = i->prev)
        for (RegWalk w = reg_walk(i); i->kind == INSTR_OP && next_read(&w);)
            bitset_del(live, w.reg);
}

/* live: empty, and empty again after. */
static u32 most_words_in(const Live *l, const Block *b, BitSet *live)
{
    u32 words = words_at_end(l, b, live), most = words;
    for (const Instr *i = b->last; i; i = i->prev) {
        if (i->kind != INSTR_OP)
            continue;
        for (RegWalk w = reg_walk(i); next_write(&w);)
            words = w.kills ? put_words(l, live, w.reg, false, words) : words;
        for (RegWalk w = reg_walk(i); next_read(&w);)
            words = put_words(l, live, w.reg, true, words);
        most = words > most ? words : most;
    }
    empty_again(l, b, live);
    return most;
}

/* The number of registers that are live into b or written by it. No point of the block has more. */
static u32 most_registers_in(const Live *l, const Block *b)
{
    u32 registers = 0, from = b->id < l->blocks ? l->start[b->id] : 0, end = b->id < l->blocks ? l->start[b->id + 1] : 0;
    for (u32 k = from; k < end; k++)
        registers += (u32)__builtin_popcountll(l->set[k]);
    for_each_instr(i, b)
        registers += i->def_slots;
    return registers;
}

/* The most words of a block that has more than `most`; or else `most`. */
static u32 most_words_above(const Live *l, u32 most, u32 limit, Arena *scratch)
{
    BitSet live = bitset_new(scratch, l->fn->regs.n);
    u32 widest = 0;
    for (RegId reg = 1; reg < l->fn->regs.n; reg++)
        widest = live_words_of(l, reg) > widest ? live_words_of(l, reg) : widest;
    for (const Block *b = l->explored < l->listed_count ? NULL : l->fn->entry; b && most <= limit; b = b->next) {
        u32 words = (u64)most_registers_in(l, b) * widest > most ? most_words_in(l, b, &live) : 0;
        most = words > most ? words : most;
    }
    return most;
}

u32 live_most_words(const Live *l, u32 limit, Arena *scratch) { return most_words_above(l, 0, limit, scratch); }

bool live_exceeds(const Live *l, u32 limit, Arena *scratch) { return most_words_above(l, limit, limit, scratch) > limit; }
