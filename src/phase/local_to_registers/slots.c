#include "phase/local_to_registers/slots.h"

#include <stdlib.h>
#include <string.h>

#include "ir/inspect.h"

/* Bytes of a variable that an access, or one of its elements, is of. */
typedef struct Extent {
    u32 variable;
    u32 number; /* of the access or element */
    i64 lo, end;
    bool is_short, loads; /* of an element: see LocalSlot */
} Extent;

typedef VEC(Extent) Extents;

static int compare_extents(const void *a, const void *b)
{
    const Extent *x = a, *y = b;
    if (x->variable != y->variable)
        return x->variable < y->variable ? -1 : 1;
    if (x->lo != y->lo)
        return x->lo < y->lo ? -1 : 1;
    if (x->end != y->end)
        return x->end > y->end ? -1 : 1;
    return x->number < y->number ? -1 : x->number > y->number;
}

static void sort_extents(Extents *p)
{
    if (p->n)
        qsort(p->v, p->n, sizeof *p->v, compare_extents);
}

/* ---- what stays ------------------------------------------------------------------------------------------------ */

/* Marks accesses in p->v[from .. to - 1], which overlap each other, if one of them stays. */
static void mark_stays(LocalVariables *l, const Extents *p, u32 from, u32 to)
{
    bool stays = false;
    for (u32 k = from; k < to; k++)
        stays |= l->accesses.v[p->v[k].number].stays;
    for (u32 k = from; k < to; k++)
        l->accesses.v[p->v[k].number].stays = stays;
}

/* An access by an index stays, and so does whatever may touch one of its bytes, or shares an instruction with what does. */
static void find_stays(LocalVariables *l)
{
    Extents p = {0};
    for (u32 k = 0; k < l->accesses.n; k++) {
        LocalAccess *a = &l->accesses.v[k];
        a->stays = l->all_stay || l->variables.v[a->variable].stays || !a->is_constant;
        vec_push(&p, ((Extent){.variable = a->variable, .number = k, .lo = a->lo, .end = a->end}));
    }
    sort_extents(&p);
    u32 from = 0;
    i64 end = 0;
    for (u32 k = 0; k < p.n; k++) {
        if (k > from && (p.v[k].variable != p.v[from].variable || p.v[k].lo >= end)) {
            mark_stays(l, &p, from, k);
            from = k;
        }
        end = k == from || p.v[k].end > end ? p.v[k].end : end;
    }
    mark_stays(l, &p, from, p.n);
    vec_free(&p);
}

/* ---- slots ----------------------------------------------------------------------------------------------------- */

/* The operand of element k. */
static const Operand *element(const LocalAccess *a, u32 k)
{
    const Operand *data = instr_operand(a->i, a->i->op->opcode == OPC_LD ? 0 : 1);
    return data->kind == OPND_VEC ? data + 1 + k : data;
}

static bool is_short(const Function *fn, const Operand *o)
{
    return o->kind != OPND_REG || type_bits(fn_reg(fn, o->id)->type) == 16;
}

static void add_to_slot(LocalSlots *s, const Extent *p)
{
    LocalSlot *last = s->slots.n ? &vec_last(&s->slots) : NULL;
    u32 bytes = (u32)(p->end - p->lo);
    if (!last || last->variable != p->variable || p->lo >= last->lo + last->bytes) {
        vec_push(&s->slots, ((LocalSlot){.variable = p->variable, .bytes = bytes, .lo = p->lo, .is_short = bytes <= 2}));
        last = &vec_last(&s->slots);
    }
    assert(p->end <= last->lo + last->bytes);
    last->has_parts |= bytes < last->bytes;
    last->is_short &= p->is_short;
    last->is_read |= p->loads;
    s->of[p->number] = s->slots.n - 1;
}

static void add_elements(const LocalVariables *l, const LocalAccess *a, u32 first, Extents *p)
{
    for (u32 e = 0; e < a->elements && !a->stays; e++) {
        const Operand *o = element(a, e);
        i64 lo = a->lo + (i64)e * a->bytes;
        Extent x = {.variable = a->variable, .number = first + e, .lo = lo, .end = lo + a->bytes};
        x.is_short = is_short(l->fn, o);
        x.loads = a->i->op->opcode == OPC_LD && o->kind == OPND_REG;
        vec_push(p, x);
    }
}

LocalSlots *local_slots_find(LocalVariables *l)
{
    LocalSlots *s = arena_new(l->an->scratch, LocalSlots);
    Extents p = {0};
    u32 elements = 0;
    find_stays(l);
    s->first = arena_array(l->an->scratch, u32, l->accesses.n);
    for (u32 k = 0; k < l->accesses.n; k++) {
        s->first[k] = elements;
        add_elements(l, &l->accesses.v[k], elements, &p);
        elements += l->accesses.v[k].elements;
    }
    s->of = arena_array(l->an->scratch, u32, elements);
    sort_extents(&p);
    for (u32 k = 0; k < p.n; k++)
        add_to_slot(s, &p.v[k]);
    vec_free(&p);
    return s;
}

void local_slots_free(LocalSlots *s) { vec_free(&s->slots); }

/* ---- moves ----------------------------------------------------------------------------------------------------- */

/* One element: between register or constant o and some of the slot's bytes. */
typedef struct Move {
    const Builder *at;
    const Instr *access; /* its guard is that of whatever it writes */
    const LocalSlot *slot;
    Operand o;
    u32 from, bytes; /* of the slot */
    bool is_signed;
} Move;

static void guarded(const Move *m, Instr *made)
{
    if (m->access->guard)
        instr_set_guard(made, m->access->guard, m->access->guard_not);
}

static void build_move(const Move *m, Opcode opcode, OpParts parts, Operand to, Operand from)
{
    guarded(m, build(m->at, opcode, parts, (Operand[]){to, from}, 2));
}

static OpParts of_type(Type type) { return (OpParts){.type = {type}}; }

static u32 register_bits(const Move *m) { return type_bits(fn_reg(m->at->fn, m->o.id)->type); }

/* The number of a constant that is stored. */
static u64 constant(const Move *m)
{
    double wide;
    float narrow;
    u32 bits;
    if (m->o.kind == OPND_IMM || m->bytes == 8 || m->o.flags & OPNDF_SINGLE)
        return (u64)m->o.value;
    memcpy(&wide, &m->o.value, sizeof wide);
    narrow = (float)wide;
    memcpy(&bits, &narrow, sizeof bits);
    return bits;
}

/* What is stored, in 32 bits of which the low ones count. */
static Operand stored_word(const Move *m)
{
    if (m->o.kind != OPND_REG)
        return build_integer(constant(m) & sem_max(8 * m->bytes), 32, false);
    u32 bits = register_bits(m);
    if (bits == 32)
        return m->o;
    Operand source = m->o;
    if (bits == 16 && type_class(fn_reg(m->at->fn, m->o.id)->type) == TC_FLOAT)
        source = register_operand(build_unary(m->at, OPC_MOV, of_type(TYPE_B16), TYPE_B16, m->o));
    OpParts parts = {.type = {TYPE_U32, unsigned_type(bits)}};
    return register_operand(build_unary(m->at, OPC_CVT, parts, TYPE_B32, source));
}

/* The selector of prmt that puts bytes of b over those of a. */
static u32 inserting(u32 from, u32 bytes)
{
    u32 selector = 0x3210;
    for (u32 k = 0; k < bytes; k++)
        selector += (4 + k - (from + k)) << 4 * (from + k);
    return selector;
}

/* The selector of prmt that takes bytes of a, and extends them; b is 0. */
static u32 extracting(u32 from, u32 bytes, bool is_signed)
{
    u32 selector = 0;
    for (u32 k = 0; k < 4; k++)
        selector |= (k < bytes ? from + k : is_signed ? (from + bytes - 1) | 8 : 4) << 4 * k;
    return selector;
}

static Instr *build_prmt(const Move *m, Operand to, RegId a, Operand b, u32 selector)
{
    Operand slots[] = {to, register_operand(a), b, build_integer(selector, 32, false)};
    return build(m->at, OPC_PRMT, of_type(TYPE_B32), slots, 4);
}

static void store_pair(const Move *m)
{
    const RegId *word = m->slot->reg;
    if (m->o.kind != OPND_REG) {
        u64 value = constant(m);
        for (u32 k = 0; k < 2; k++)
            build_move(m, OPC_MOV, of_type(TYPE_B32), register_operand(word[k]), build_integer(value >> 32 * k, 32, false));
        return;
    }
    Operand slots[] = {{.kind = OPND_VEC, .id = 2, .value = 2}, register_operand(word[0]), register_operand(word[1]), m->o};
    guarded(m, build(m->at, OPC_MOV, of_type(TYPE_B64), slots, 4));
}

static void store(const Move *m)
{
    Type type = local_slot_type(m->slot);
    RegId word = m->slot->reg[m->from / 4];
    bool is_part = m->slot->has_parts && m->bytes < 4;
    if (m->bytes == 8 && m->slot->has_parts) {
        store_pair(m);
    } else if (m->o.kind == OPND_FLOAT && !m->slot->has_parts && m->bytes >= 4) {
        build_move(m, OPC_MOV, of_type(m->bytes == 8 ? TYPE_F64 : TYPE_F32), register_operand(word), m->o);
    } else if (type != TYPE_B32) {
        Operand value = m->o.kind == OPND_REG ? m->o : build_integer(constant(m), type_bits(type), false);
        build_move(m, OPC_MOV, of_type(type), register_operand(word), value);
    } else if (is_part) {
        guarded(m, build_prmt(m, register_operand(word), word, stored_word(m), inserting(m->from % 4, m->bytes)));
    } else {
        build_move(m, OPC_MOV, of_type(TYPE_B32), register_operand(word), stored_word(m));
    }
}

/* Extends 16 bits of which the low byte is loaded. */
static void load_short(const Move *m)
{
    Operand word = register_operand(m->slot->reg[0]);
    if (m->bytes == 2) {
        build_move(m, OPC_MOV, of_type(TYPE_B16), m->o, word);
    } else {
        OpParts parts = {.type = {m->is_signed ? TYPE_S16 : TYPE_U16, m->is_signed ? TYPE_S8 : TYPE_U8}};
        build_move(m, OPC_CVT, parts, m->o, word);
    }
}

/* To a register of another width than the word, of which all bits count. */
static void load_resized(const Move *m, RegId word)
{
    u32 bits = register_bits(m);
    Operand to = m->o, from = register_operand(word);
    if (bits == 32) {
        build_move(m, OPC_MOV, of_type(TYPE_B32), to, from);
    } else if (bits == 64) {
        OpParts parts = {.type = {m->is_signed ? TYPE_S64 : TYPE_U64, m->is_signed ? TYPE_S32 : TYPE_U32}};
        build_move(m, OPC_CVT, parts, to, from);
    } else {
        bool is_float = type_class(fn_reg(m->at->fn, m->o.id)->type) == TC_FLOAT;
        OpParts parts = {.type = {TYPE_U16, TYPE_U32}};
        if (is_float)
            from = register_operand(build_unary(m->at, OPC_CVT, parts, TYPE_B16, from));
        build_move(m, is_float ? OPC_MOV : OPC_CVT, is_float ? of_type(TYPE_B16) : parts, to, from);
    }
}

static void load(const Move *m)
{
    Type type = local_slot_type(m->slot);
    RegId word = m->slot->reg[m->from / 4];
    if (m->bytes == 8 && m->slot->has_parts) {
        Operand slots[] = {
            m->o, {.kind = OPND_VEC, .id = 2, .value = 2}, register_operand(word), register_operand(m->slot->reg[1])};
        guarded(m, build(m->at, OPC_MOV, of_type(TYPE_B64), slots, 4));
    } else if (type == TYPE_B64) {
        build_move(m, OPC_MOV, of_type(TYPE_B64), m->o, register_operand(word));
    } else if (type == TYPE_B16) {
        load_short(m);
    } else if (m->bytes == 4) {
        load_resized(m, word);
    } else {
        Operand zero = build_integer(0, 32, false);
        u32 selector = extracting(m->from % 4, m->bytes, m->is_signed);
        if (register_bits(m) == 32)
            guarded(m, build_prmt(m, m->o, word, zero, selector));
        else
            load_resized(m,
                         build_prmt(m, register_operand(reg_new(m->at->fn, TYPE_B32)), word, zero, selector)->opnd[0].id);
    }
}

static void make_registers(Function *fn, LocalSlot *s)
{
    Type type = local_slot_type(s);
    if (!s->reg[0])
        s->reg[0] = reg_new(fn, type);
    if (!s->reg[1] && s->bytes == 8 && s->has_parts)
        s->reg[1] = reg_new(fn, type);
}

void local_slots_move(LocalVariables *l, LocalSlots *s, const LocalAccess *a)
{
    Builder at = build_before(a->i);
    u32 first = s->first[a - l->accesses.v];
    bool loads = a->i->op->opcode == OPC_LD;
    for (u32 k = 0; k < a->elements; k++) {
        LocalSlot *slot = &s->slots.v[s->of[first + k]];
        if (!slot->is_read || element(a, k)->kind == OPND_SINK)
            continue;
        make_registers(l->fn, slot);
        Move m = {.at = &at, .access = a->i, .slot = slot, .o = *element(a, k), .bytes = a->bytes};
        m.from = (u32)(a->lo + (i64)k * a->bytes - slot->lo);
        m.is_signed = type_class(a->i->op->type[0]) == TC_SIGNED;
        (loads ? load : store)(&m);
    }
}
