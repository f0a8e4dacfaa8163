/* The bytes of variables as slots: accesses of the same or of overlapping bytes share one. Accesses are aligned, so of two
 * that overlap one contains the other: a slot has the bytes of its largest access. */
#ifndef PTXOPT_PHASE_LOCAL_TO_REGISTERS_SLOTS_H
#define PTXOPT_PHASE_LOCAL_TO_REGISTERS_SLOTS_H

#include "ir/builder.h"
#include "phase/local_to_registers/variables.h"

/* 8 bytes are a register, or two of 32 bits where an access is of a part. Fewer are one of 32 bits, or of 16 where all
 * loads and stores of them use such registers. */
typedef struct LocalSlot {
    u32 variable, bytes;
    i64 lo;
    bool has_parts; /* an access is of fewer bytes */
    bool is_short;  /* bytes is 2 or less, and all registers have 16 bits */
    bool is_read;   /* by a load */
    RegId reg[2];   /* 0: not made */
} LocalSlot;

typedef struct LocalSlots {
    VEC(LocalSlot) slots;
    u32 *of;    /* by element of an access that does not stay: its slot */
    u32 *first; /* by access: its first element in `of` */
} LocalSlots;

/* The accesses that must stay because of others of the same bytes are marked so in l, and have no slots. */
LocalSlots *local_slots_find(LocalVariables *l);
void local_slots_free(LocalSlots *s);

static inline u32 local_slot_words(const LocalSlot *s) { return s->bytes == 8 ? 2 : 1; }
/* The type of its registers. */
static inline Type local_slot_type(const LocalSlot *s)
{
    return s->bytes == 8 && !s->has_parts ? TYPE_B64 : s->is_short && !s->has_parts ? TYPE_B16 : TYPE_B32;
}

/* Writes moves in front of the access that do what it does, between its registers and those of its slots. To a slot that no
 * load reads there are none. */
void local_slots_move(LocalVariables *l, LocalSlots *s, const LocalAccess *a);

#endif
