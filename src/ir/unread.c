#include "base/bitset.h"
#include "ir/edit.h"
#include "ir/inspect.h"

/* An instruction that writes a register, in the list of such instructions. */
typedef struct Writer {
    Instr *i;
    u32 next; /* 1 + the index of the next one; 0: none */
} Writer;

struct Unread {
    Function *fn;
    u32 *readers; /* by RegId: the operands and guards that read it; the caller counts as one reader of a parameter */
    u32 *first;   /* by RegId: 1 + the index of its first writer; 0: none; the array is NULL until needed */
    VEC(Writer) writers;
    BitSet done; /* by RegId: registers without readers whose writers have been checked */
    Arena *arena;
    u32 next;    /* the first of fn->edits.lost_readers that has not been looked at */
    u32 counted; /* those before this one were already gone when the readers were counted */
};

static void count_readers(Unread *u)
{
    for (RegId r = 1; r < u->fn->regs.n; r++)
        u->readers[r] = u->fn->regs.v[r].is_param;
    for_each_block(b, u->fn)
        for_each_instr(i, b) {
            u->readers[i->guard]++;
            for_each_slot(o, i)
                if (slot_is_use(o))
                    u->readers[o->id]++;
        }
}

Unread *unread_new(Arena *arena, Function *fn)
{
    Unread *u = arena_new(arena, Unread);
    *u = (Unread){
        .fn = fn, .arena = arena, .readers = arena_array(arena, u32, fn->regs.n), .counted = fn->edits.lost_readers.n};
    count_readers(u);
    return u;
}

void unread_free(Unread *u) { vec_free(&u->writers); }

static void list_writers(Unread *u)
{
    u->first = arena_array(u->arena, u32, u->fn->regs.n);
    u->done = bitset_new(u->arena, u->fn->regs.n);
    vec_reserve(&u->writers, u->fn->regs.n); /* compilers write most registers once */
    for_each_block(b, u->fn)
        for_each_instr(i, b)
            for (u32 k = 0; i->kind == INSTR_OP && k < i->def_slots; k++)
                if (slot_is_def(&i->opnd[k])) {
                    vec_push(&u->writers, ((Writer){i, u->first[i->opnd[k].id]}));
                    u->first[i->opnd[k].id] = u->writers.n;
                }
}

static bool is_unread(const Unread *u, const Instr *i)
{
    if (!i->op->known || !op_is_pure(i->op) || instr_reads_volatile_register(i))
        return false;
    for (u32 k = 0; k < i->def_slots; k++)
        if (slot_is_def(&i->opnd[k]) && u->readers[i->opnd[k].id])
            return false;
    return true;
}

static u32 remove_writers(Unread *u, RegId reg, VecU32 *from)
{
    u32 removed = 0;
    if (!u->first)
        list_writers(u);
    if (!bitset_add(&u->done, reg))
        return 0;
    for (u32 w = u->first[reg]; w; w = u->writers.v[w - 1].next) {
        Instr *i = u->writers.v[w - 1].i;
        if (!i->block || i->block->dead || !is_unread(u, i))
            continue; /* removed by itself, or with its block */
        if (from)
            vec_push(from, i->block->id);
        instr_remove(i);
        removed++;
    }
    return removed;
}

u32 unread_remove(Unread *u, VecU32 *from)
{
    const VecU32 *lost = &u->fn->edits.lost_readers;
    u32 removed = 0;
    for (; u->next < lost->n; u->next++) {
        RegId reg = lost->v[u->next];
        if (u->next >= u->counted)
            u->readers[reg]--;
        if (!u->readers[reg])
            removed += remove_writers(u, reg, from);
    }
    return removed;
}

u32 edit_remove_unread(Function *fn)
{
    if (!fn->edits.lost_readers.n)
        return 0;
    Arena arena = {0};
    Unread *u = unread_new(&arena, fn);
    u32 removed = unread_remove(u, NULL);
    unread_free(u);
    vec_clear(&fn->edits.lost_readers);
    arena_free(&arena);
    return removed;
}
