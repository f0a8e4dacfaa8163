#include "phase/local_to_registers/lifetimes.h"

#include "base/bound.h"
#include "base/marks.h"
#include "ir/cfg.h"

enum { LIFETIME_STEPS = 1 << 21 /* the most blocks, for all slots together, that slots are followed through */ };

/* What a block does with a slot. */
typedef struct SlotUse {
    const Block *block;
    bool reads; /* before it stores all of the slot */
    bool kills; /* it stores all of it */
    bool out;   /* the slot is live at the block's end */
    u32 next;   /* use of the same slot, plus 1 */
} SlotUse;

typedef struct Lifetimes {
    const LocalVariables *l;
    const LocalSlots *s;
    VEC(SlotUse) uses;
    FnvMap use_of;  /* by slot and block: the place in uses, plus 1 */
    u32 *first_use; /* by slot: the same */
    u32 *words_out; /* by Block.id: of the variable that is looked at, live at the block's end */
    u32 *all_out;   /* the same of all variables */
    VEC(const Block *) touched, work;
    Marks seen; /* by Block.id */
    u32 steps;
} Lifetimes;

static u32 slot_of(const Lifetimes *t, const LocalAccess *a, u32 element)
{
    return t->s->of[t->s->first[a - t->l->accesses.v] + element];
}

static const LocalSlot *slot_at(const Lifetimes *t, u32 slot) { return &t->s->slots.v[slot]; }

/* Whether the access stores all of its slot, on every path. */
static bool kills(const LocalSlot *slot, const LocalAccess *a)
{
    return a->i->op->opcode == OPC_ST && !a->i->guard && a->bytes == slot->bytes;
}

/* ---- blocks ------------------------------------------------------------------------------------------------------ */

static SlotUse *use_in(Lifetimes *t, u32 slot, const Block *b)
{
    const u64 *place = fnvmap_find(&t->use_of, (u64)slot << 32 | b->id);
    return place ? &t->uses.v[*place - 1] : NULL;
}

static void add_use(Lifetimes *t, u32 slot, const LocalAccess *a)
{
    u64 *place = fnvmap_at(&t->use_of, (u64)slot << 32 | a->i->block->id);
    if (!*place) {
        vec_push(&t->uses, ((SlotUse){.block = a->i->block, .next = t->first_use[slot]}));
        *place = t->uses.n;
        t->first_use[slot] = t->uses.n;
    }
    SlotUse *use = &t->uses.v[*place - 1];
    use->reads |= a->i->op->opcode == OPC_LD && !use->kills;
    use->kills |= kills(slot_at(t, slot), a);
}

static void add_uses(Lifetimes *t)
{
    for (u32 k = 0; k < t->l->accesses.n; k++) {
        const LocalAccess *a = &t->l->accesses.v[k];
        for (u32 e = 0; e < a->elements && !a->stays; e++)
            if (slot_at(t, slot_of(t, a, e))->is_read)
                add_use(t, slot_of(t, a, e), a);
    }
}

/* ---- between blocks ------------------------------------------------------------------------------------------------ */

/* The slot is live at the beginning of b, and so at the end of the blocks before. */
static void enter_above(Lifetimes *t, u32 slot, const Block *b)
{
    for_each_cfg_edge(pred, cfg_preds(t->l->fn, b)) {
        const Block *p = pred.v->block;
        if (!marks_add(&t->seen, p->id))
            continue;
        if (!t->words_out[p->id])
            vec_push(&t->touched, p);
        t->words_out[p->id] += local_slot_words(slot_at(t, slot));
        t->steps++;
        SlotUse *use = use_in(t, slot, p);
        if (use)
            use->out = true;
        if (!use || (!use->kills && !use->reads))
            vec_push(&t->work, p);
    }
}

static void follow(Lifetimes *t, u32 slot)
{
    marks_clear(&t->seen);
    for (u32 u = t->first_use[slot]; u; u = t->uses.v[u - 1].next)
        if (t->uses.v[u - 1].reads)
            enter_above(t, slot, t->uses.v[u - 1].block);
    while (t->work.n)
        enter_above(t, slot, vec_pop(&t->work));
}

/* ---- in blocks ------------------------------------------------------------------------------------------------------ */

/* The way up a block. */
typedef struct Ascent {
    const Block *block;
    u32 words, most; /* that are live; the most so far */
    Marks known;     /* slots that the block was seen to access */
    BitSet live;     /* of these */
} Ascent;

static void pass(Lifetimes *t, Ascent *up, const LocalAccess *a, u32 slot)
{
    if (marks_add(&up->known, slot)) {
        bitset_del(&up->live, slot);
        if (use_in(t, slot, up->block)->out)
            bitset_add(&up->live, slot);
    }
    u32 words = local_slot_words(slot_at(t, slot));
    if (kills(slot_at(t, slot), a))
        up->words -= bitset_del(&up->live, slot) ? words : 0;
    else if (a->i->op->opcode == OPC_LD)
        up->words += bitset_add(&up->live, slot) ? words : 0;
}

static void note_most(Ascent *up, u32 words) { up->most = words > up->most ? words : up->most; }

/* Passes the accesses of a variable, the last one first. earlier: by access: the one before of the same variable, plus 1. */
static void climb(Lifetimes *t, Ascent *up, u32 last, const u32 *earlier)
{
    up->block = NULL;
    for (u32 k = last; k; k = earlier[k - 1]) {
        const LocalAccess *a = &t->l->accesses.v[k - 1];
        if (a->i->block != up->block) {
            up->block = a->i->block;
            up->words = t->words_out[up->block->id];
            marks_clear(&up->known);
        }
        note_most(up, up->words);
        for (u32 e = 0; e < a->elements && !a->stays; e++)
            if (slot_at(t, slot_of(t, a, e))->is_read)
                pass(t, up, a, slot_of(t, a, e));
        note_most(up, up->words);
    }
}

static bool is_within_bound(const Lifetimes *t) { return WITHIN(LIFETIME_STEPS, t->steps <= LIFETIME_STEPS); }

/* ---- variables ------------------------------------------------------------------------------------------------------ */

/* The slots from `first` on that are of one variable: answers where the next one's begin. */
static u32 most_words(Lifetimes *t, Ascent *up, u32 first, u32 last, const u32 *earlier)
{
    u32 variable = slot_at(t, first)->variable, slot = first;
    up->most = 0;
    for (; slot < t->s->slots.n && slot_at(t, slot)->variable == variable; slot++)
        if (is_within_bound(t))
            follow(t, slot);
    climb(t, up, last, earlier);
    for (; t->touched.n; t->touched.n--) {
        u32 *words = &t->words_out[vec_last(&t->touched)->id];
        t->all_out[vec_last(&t->touched)->id] += *words;
        note_most(up, *words);
        *words = 0;
    }
    return slot;
}

/* The last access of each variable, plus 1. earlier[k]: the one before access k of the same variable, plus 1. */
static u32 *last_accesses(const LocalVariables *l, u32 **earlier)
{
    u32 *last = arena_array(l->an->scratch, u32, l->variables.n);
    *earlier = arena_array(l->an->scratch, u32, l->accesses.n);
    for (u32 k = 0; k < l->accesses.n; k++) {
        u32 *of = &last[l->accesses.v[k].variable];
        (*earlier)[k] = *of;
        *of = k + 1;
    }
    return last;
}

/* The most that are live together of all variables. */
static u32 most_of_all(Lifetimes *t, Ascent *up)
{
    u32 n = t->l->accesses.n, *earlier = arena_array(t->l->an->scratch, u32, n);
    for (u32 k = 0; k < n; k++)
        earlier[k] = k;
    up->most = 0;
    for (u32 b = 0; b < t->l->fn->blocks.n; b++)
        note_most(up, t->all_out[b]);
    t->words_out = t->all_out;
    climb(t, up, n, earlier);
    return up->most;
}

static void free_lifetimes(Lifetimes *t)
{
    vec_free(&t->uses);
    vec_free(&t->touched);
    vec_free(&t->work);
    fnvmap_free(&t->use_of);
}

u32 *local_lifetimes_words(const LocalVariables *l, const LocalSlots *s, u32 *together)
{
    Arena *arena = l->an->scratch;
    u32 blocks = l->fn->blocks.n, slots = s->slots.n, *words = arena_array(arena, u32, l->variables.n), *earlier;
    Lifetimes t = {
        .l = l, .s = s, .first_use = arena_array(arena, u32, slots), .words_out = arena_array(arena, u32, blocks)};
    Ascent up = {.known = marks_new(arena, slots), .live = bitset_new(arena, slots)};
    const u32 *last = last_accesses(l, &earlier);
    t.seen = marks_new(arena, blocks);
    t.all_out = arena_array(arena, u32, blocks);
    add_uses(&t);
    u32 slot = 0;
    while (slot < slots) {
        u32 variable = slot_at(&t, slot)->variable, next = most_words(&t, &up, slot, last[variable], earlier);
        if (!is_within_bound(&t))
            break;
        words[variable] = up.most;
        slot = next;
    }
    *together = slot < slots ? UINT32_MAX : most_of_all(&t, &up);
    for (; slot < slots; slot++)
        words[slot_at(&t, slot)->variable] += slot_at(&t, slot)->is_read ? local_slot_words(slot_at(&t, slot)) : 0;
    free_lifetimes(&t);
    return words;
}
