/* The decoder of full opcodes, with its cache. */
#include "isa/isa.h"

#include <string.h>

#include "isa/tables.h"

/* The rows of one table in chains. A process that reads a small file spends a good part of its time on making these, so the
 * hash takes only a few bytes. */
enum { CHAINS = 512, LONGEST_OPCODE = 64 };
typedef struct Index {
    u16 first[CHAINS], next[ISA_ROWS_MAX]; /* 1 + the row; 0: the end */
} Index;

struct Isa {
    Arena *arena;
    Intern *names;
    Index ops, mods;
    VEC(OpInfo *) op; /* those that were decoded */
    HashIndex index;  /* of their texts: 1 + the place in op */
};

/* ---- looking up rows ------------------------------------------------------------------------------------------ */

/* Takes eight bytes at a time, since it is computed once for every instruction of the text. */
static u32 hash_opcode(const char *text, u32 len)
{
    const u64 odd = 0x9e3779b97f4a7c15u;
    u64 hash = len;
    for (; len > 8; text += 8, len -= 8) {
        hash = (hash ^ eight_bytes(text, 8)) * odd;
        hash ^= hash >> 32;
    }
    hash = (hash ^ eight_bytes(text, len)) * odd;
    return (u32)(hash >> 32);
}

static u32 chain_of(const char *text, u32 len)
{
    return ((u8)text[len / 2] * 3u + (u8)text[len - 1] * 5u + len * 37u) % CHAINS;
}

static void index_add(Index *index, const char *text, u32 len, u32 row)
{
    u16 *first = &index->first[chain_of(text, len)];
    index->next[row] = *first;
    *first = (u16)(row + 1);
}

static const OpRow *find_op(const Isa *isa, const char *text, u32 len)
{
    for (u32 i = isa->ops.first[chain_of(text, len)]; i; i = isa->ops.next[i - 1]) {
        const OpRow *row = &isa_ops[i - 1];
        if (row->len == len && !memcmp(row->text, text, len))
            return row;
    }
    return NULL;
}

const ModRow *isa_find_modifier(const Isa *isa, const char *text, u32 len)
{
    for (u32 i = isa->mods.first[chain_of(text, len)]; i; i = isa->mods.next[i - 1]) {
        const ModRow *row = &isa_mods[i - 1];
        if (row->len == len && !memcmp(row->text, text, len))
            return row;
    }
    return NULL;
}

/* The row of the longest dotted prefix, or that of OPC_UNKNOWN. */
static const OpRow *find_longest_op(const Isa *isa, const char *text, u32 len)
{
    const OpRow *found = &isa_ops[OPC_UNKNOWN];
    for (u32 i = 1; i <= len && i <= LONGEST_OPCODE; i++) {
        const OpRow *row = i == len || text[i] == '.' ? find_op(isa, text, i) : NULL;
        if (row)
            found = row;
    }
    return found;
}

/* ---- decoding ------------------------------------------------------------------------------------------------- */

static void apply_modifier(OpInfo *op, const OpRow *row, const ModRow *mod)
{
    u32 common = mod->classes & row->takes;
    if (common & M_TYPE && op->types < COUNT_OF(op->type))
        op->type[op->types++] = (u8)mod->value;
    if (common & M_SPACE && row->space == SPACE_MODIFIER) {
        if (op->space == SPACE_MODIFIER)
            op->space = (u8)mod->value;
        else
            op->space2 = (u8)mod->value;
    }
    if (common & M_CMP)
        op->cmp = (u8)mod->value;
    if (common & M_BOOL)
        op->bool_op = (u8)mod->value;
    if (common & M_VECTOR)
        op->vector = (u8)mod->value;
    if (common & (M_SEM | M_CACHE) && mod->value == STRENGTH_STRONG)
        op->strength = STRENGTH_STRONG;
    if (common & M_FLAGS)
        op->flags |= mod->value;
}

static Role role_of_letter(char letter)
{
    switch (letter) {
    case 'd': return ROLE_DEF;
    case 's': return ROLE_USE;
    case 'm': return ROLE_ADDRESS;
    case 'l': return ROLE_LABEL;
    case 't': return ROLE_TABLE;
    case 'f': return ROLE_FUNCTION;
    default: return ROLE_DEF_USE;
    }
}

static void read_shape(OpInfo *op)
{
    for (const char *letter = op->shape; *letter; letter++) {
        if (*letter == '?')
            op->operands_min--;
        else if (*letter == '*')
            op->operands_min--, op->operands_max = OPERANDS_ANY;
        else
            op->operands_min++, op->operands_max++, op->role[op->roles++] = (u8)role_of_letter(*letter);
    }
}

static bool has_type(const OpInfo *op, bool (*test)(Type))
{
    for (u32 i = 0; i < op->types; i++)
        if (test(op->type[i]))
            return true;
    return false;
}

static bool is_f64(Type type) { return type == TYPE_F64; }
static bool is_wide(Type type) { return type_bits(type) > 32; }
static bool is_float(Type type) { return type_class(type) == TC_FLOAT; }

/* Whether the first two sources may be exchanged. NaN payloads make f64 arithmetic depend on their order; comparisons
 * answer only yes or no. */
static bool commutes(const OpInfo *op, const OpRow *row)
{
    if (row->flags & ROW_COMPARES)
        return op->cmp == CMP_EQ || op->cmp == CMP_NE || op->cmp == CMP_EQU || op->cmp == CMP_NEU || op->cmp == CMP_NUM ||
               op->cmp == CMP_NAN;
    if (row->flags & ROW_COMMUTES_ONE && op->types > 1)
        return false;
    return !has_type(op, is_f64);
}

/* Whether op extends 32 bits to 64. */
static bool extends_word(const OpInfo *op)
{
    return op->types == 2 && type_bits(op->type[0]) == 64 && type_bits(op->type[1]) == 32;
}

/* The flags of a known opcode that follow from its other properties. */
static u32 derived_flags(const OpInfo *op)
{
    const u32 acts = OPF_CONVERGENT | OPF_BARRIER | OPF_TERMINATOR | OPF_CALL | OPF_VOLATILE | OPF_FENCE | OPF_ASYNC;
    bool has_memory = op->mem != MEM_NONE;
    if (op->flags & (has_memory ? acts | OPF_ENDS_THREAD : acts | OPF_SIDE_EFFECT | OPF_CARRY_IN | OPF_CARRY_OUT))
        return 0;
    if (!has_memory)
        return OPF_PURE;
    return op->strength == STRENGTH_WEAK && op->sync == SYNC_NONE ? OPF_PLAIN_ACCESS : 0;
}

/* Sets the properties that follow from all parts together. */
static void conclude(OpInfo *op, const OpRow *row)
{
    if (op->space == SPACE_MODIFIER)
        op->space = SPACE_GENERIC;
    if (op->mem == MEM_WRITE || op->mem == MEM_READ_WRITE)
        op->flags |= OPF_SIDE_EFFECT;
    if (op->mem != MEM_NONE && op->strength == STRENGTH_STRONG) {
        op->flags |= OPF_SIDE_EFFECT | OPF_VOLATILE;
        if (op->uniformity == UNI_OPERANDS)
            op->uniformity = UNI_DIVERGENT;
    }
    if (op->flags & OPF_COMMUTES && !commutes(op, row))
        op->flags &= ~(u32)OPF_COMMUTES;
    if ((row->flags & ROW_CHEAP32 && has_type(op, is_wide)) || (row->flags & ROW_CHEAP_INT && has_type(op, is_float)))
        op->flags &= ~(u32)OPF_CHEAP;
    if (row->flags & ROW_FUSES_WIDE && !extends_word(op))
        op->flags &= ~(u32)OPF_FUSES;
    if (op->sync == SYNC_LANES && row->takes & M_SYNC && !(op->flags & OPF_NAMES_THREADS))
        op->sync = SYNC_NONE;
    if (row->flags & ROW_SIZED && op->types == 1)
        op->access_bytes = (u8)(op->vector * type_bits(op->type[0]) / 8);
    op->flags |= derived_flags(op);
}

static OpInfo start_from(const OpRow *row, const Name *text)
{
    return (OpInfo){
        .text = text,
        .opcode = (Opcode)(row - isa_ops),
        .shape = row->shape,
        .vector = 1,
        .space = row->space,
        .mem = row->mem,
        .strength = row->strength,
        .uniformity = row->uniformity,
        .sync = row->flags >> ROW_SYNC_SHIFT & (ROW_SYNC >> ROW_SYNC_SHIFT),
        .async = row->flags >> ROW_ASYNC_SHIFT & ROW_ASYNC,
        .flags = (u32)row->flags & ~(u32)ROW_FLAGS,
    };
}

/* The properties of a known opcode with an unknown modifier. It keeps what says where control goes; the rest is the worst
 * case. */
static OpInfo worst_case(const OpRow *row, const Name *text)
{
    const u32 structure = OPF_TERMINATOR | OPF_BRANCH | OPF_NO_RETURN | OPF_CALL | OPF_ENDS_THREAD;
    OpInfo op = start_from(&isa_ops[OPC_UNKNOWN], text);
    op.opcode = (Opcode)(row - isa_ops);
    op.async = row->flags >> ROW_ASYNC_SHIFT & ROW_ASYNC;
    op.flags |= (u32)row->flags & structure;
    if (row->flags & structure)
        op.shape = row->shape;
    read_shape(&op);
    return op;
}

static OpInfo decode(const Isa *isa, const Name *text)
{
    const OpRow *row = find_longest_op(isa, text->text, text->len);
    if (row == &isa_ops[OPC_UNKNOWN])
        return worst_case(row, text);

    OpInfo op = start_from(row, text);
    op.known = true;
    const char *end = text->text + text->len;
    for (const char *part = text->text + row->len; part < end;) {
        const char *dot = memchr(part + 1, '.', (size_t)(end - part - 1));
        const char *next = dot ? dot : end;
        const ModRow *mod = isa_find_modifier(isa, part, (u32)(next - part));
        if (!mod || !(mod->classes & row->takes))
            return worst_case(row, text);
        apply_modifier(&op, row, mod);
        part = next;
    }
    read_shape(&op);
    conclude(&op, row);
    return op;
}

/* ---- the cache ------------------------------------------------------------------------------------------------ */

Isa *isa_new(Arena *arena, Intern *names)
{
    Isa *isa = arena_new(arena, Isa);
    isa->arena = arena;
    isa->names = names;
    for (u32 i = OPC_UNKNOWN + 1; i < OPC_COUNT; i++)
        index_add(&isa->ops, isa_ops[i].text, isa_ops[i].len, i);
    for (u32 i = 0; i < isa_mod_count; i++)
        index_add(&isa->mods, isa_mods[i].text, isa_mods[i].len, i);
    return isa;
}

void isa_free(Isa *isa)
{
    vec_free(&isa->op);
    index_free(&isa->index);
}

const OpInfo *isa_decode(Isa *isa, const char *text, u32 len)
{
    HashWalk walk = index_walk(&isa->index, hash_opcode(text, len));
    for (u32 id; (id = index_next(&walk)) != 0;) {
        const Name *name = isa->op.v[id - 1]->text;
        if (name->len == len && same_bytes(name->text, text, len))
            return isa->op.v[id - 1];
    }

    OpInfo *op = arena_new(isa->arena, OpInfo);
    *op = decode(isa, intern(isa->names, text, len));
    for (const char *dot = strchr(op->text->text, '.'); dot; dot = strchr(dot + 1, '.'))
        op->initials |= modifier_initial(dot[1]);
    op->sem = sem_of(op, (SemKind)(isa_ops[op->opcode].flags >> ROW_SEM_SHIFT & ROW_SEM));
    vec_push(&isa->op, op);
    index_put(&walk, isa->op.n);
    return op;
}
