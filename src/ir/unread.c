#include "base/bitset.h"
#include "ir/edit.h"
#include "ir/inspect.h"

/* An instruction that writes a register, in the list of those. */
typedef struct Writer {
    Instr *i;
    u32 next; /* one more than the index of the next; 0: none */
} Writer;

typedef struct Sweep {
    Function *fn;
    u32 *readers; /* by RegId: operands and guards that read it; the caller counts as one */
    u32 *first;   /* by RegId: one more than the index of its first writer; 0: none */
    VEC(Writer) writers;
} Sweep;

static void count_readers(Sweep *s)
{
    for (RegId r = 1; r < s->fn->regs.n; r++)
        s->readers[r] = s->fn->regs.v[r].is_param;
    for_each_block(b, s->fn)
        for_each_instr(i, b) {
            s->readers[i->guard]++;
            for_each_slot(o, i)
                if (slot_is_use(o))
                    s->readers[o->id]++;
        }
}

static void list_writers(Sweep *s)
{
    vec_reserve(&s->writers, s->fn->regs.n); /* compilers write most registers once */
    for_each_block(b, s->fn)
        for_each_instr(i, b)
            for (u32 k = 0; i->kind == INSTR_OP && k < i->def_slots; k++)
                if (slot_is_def(&i->opnd[k])) {
                    vec_push(&s->writers, ((Writer){i, s->first[i->opnd[k].id]}));
                    s->first[i->opnd[k].id] = s->writers.n;
                }
}

static bool is_unread(const Sweep *s, const Instr *i)
{
    if (!i->op->known || !op_is_pure(i->op) || instr_reads_volatile_register(i))
        return false;
    for (u32 k = 0; k < i->def_slots; k++)
        if (slot_is_def(&i->opnd[k]) && s->readers[i->opnd[k].id])
            return false;
    return true;
}

/* What it read is appended to fn->lost_readers. */
static void remove_writer(Sweep *s, Instr *i)
{
    s->readers[i->guard]--;
    for_each_slot(o, i)
        if (slot_is_use(o))
            s->readers[o->id]--;
    instr_remove(i);
}

static u32 remove_unread(Sweep *s, BitSet *done)
{
    VecU32 *lost = &s->fn->lost_readers;
    u32 removed = 0;
    for (u32 k = 0; k < lost->n; k++) {
        RegId reg = lost->v[k];
        if (s->readers[reg] || !bitset_add(done, reg))
            continue;
        for (u32 w = s->first[reg]; w; w = s->writers.v[w - 1].next) {
            Instr *i = s->writers.v[w - 1].i;
            if (!i->block || !is_unread(s, i))
                continue;
            remove_writer(s, i);
            removed++;
        }
    }
    return removed;
}

static bool any_unread(const Sweep *s)
{
    const VecU32 *lost = &s->fn->lost_readers;
    u32 k = 0;
    while (k < lost->n && s->readers[lost->v[k]])
        k++;
    return k < lost->n;
}

u32 edit_remove_unread(Function *fn)
{
    u32 removed = 0;
    if (!fn->lost_readers.n)
        return 0;
    Arena arena = {0};
    Sweep s = {.fn = fn, .readers = arena_array(&arena, u32, fn->regs.n)};
    count_readers(&s);
    if (any_unread(&s)) {
        BitSet done = bitset_new(&arena, fn->regs.n);
        s.first = arena_array(&arena, u32, fn->regs.n);
        list_writers(&s);
        removed = remove_unread(&s, &done);
        vec_free(&s.writers);
    }
    vec_clear(&fn->lost_readers);
    arena_free(&arena);
    return removed;
}
