/* The .def files as arrays, and the questions that one row answers: types and comparisons. */
#include "isa/tables.h"

#include <string.h>

/* The flag words of opcodes.def, as bits of OpRow.flags. */
enum {
    CONVERGENT = OPF_CONVERGENT,
    BARRIER = OPF_BARRIER,
    KEEP = OPF_SIDE_EFFECT,
    SYNCS = OPF_CONVERGENT | OPF_NAMES_THREADS | OPF_SIDE_EFFECT,
    TERMINATOR = OPF_TERMINATOR,
    BRANCH = OPF_BRANCH,
    NO_RETURN = OPF_NO_RETURN,
    CALL = OPF_CALL,
    COMMUTES = OPF_COMMUTES,
    COMMUTES_ONE = OPF_COMMUTES | ROW_COMMUTES_ONE,
    VOLATILE = OPF_VOLATILE,
    FENCE = OPF_FENCE,
    ASYNC = OPF_ASYNC,
    CARRY_IN = OPF_CARRY_IN,
    CHEAP = OPF_CHEAP,
    CHEAP32 = OPF_CHEAP | ROW_CHEAP32,
    CHEAP_INT = OPF_CHEAP | ROW_CHEAP_INT,
    ALIGNED = OPF_ALIGNED,
    OFFSET = OPF_OFFSET,
    ENDS_THREAD = OPF_ENDS_THREAD,
    FUSES = OPF_FUSES,
    FUSES_WIDE = OPF_FUSES | ROW_FUSES_WIDE,
    LANES = SYNC_LANES << ROW_SYNC_SHIFT,
    WARP_AWAITS = SYNC_WARP << ROW_SYNC_SHIFT,
    AWAITS = SYNC_BARRIER << ROW_SYNC_SHIFT,
    REDUCES = SYNC_REDUCE << ROW_SYNC_SHIFT,
    ARRIVES = SYNC_ARRIVE << ROW_SYNC_SHIFT,
    CLUSTER_AWAITS = SYNC_CLUSTER << ROW_SYNC_SHIFT,
    CLUSTER_ARRIVES = SYNC_CLUSTER_ARRIVE << ROW_SYNC_SHIFT,
    WARPGROUP = SYNC_WARPGROUP << ROW_SYNC_SHIFT,
};
#define COMPARES ((u64)ROW_COMPARES)
#define SIZED ((u64)ROW_SIZED)
#define COMPUTES(kind) ((u64)SEM_##kind << ROW_SEM_SHIFT)
#define IN_REGISTERS(what) ((u64)ASYNC_##what << ROW_ASYNC_SHIFT)

_Static_assert(OPF_FUSES < 1u << ROW_SYNC_SHIFT, "the flags of a row above those of an OpInfo");
_Static_assert(TYPE_COUNT <= UINT8_MAX && CMP_NAN <= UINT8_MAX && SPACE_TENSOR <= UINT8_MAX && SHAPE_MAX <= UINT8_MAX,
               "an OpInfo holds them in a byte");
_Static_assert(SYNC_COUNT <= ROW_SYNC >> ROW_SYNC_SHIFT, "a Sync fits its bits of a row");
_Static_assert(SEM_COUNT <= ROW_SEM + 1 && ASYNC_COUNT <= ROW_ASYNC + 1, "a SemKind and an Async fit their bits of a row");

const OpRow isa_ops[OPC_COUNT] = {
    [OPC_UNKNOWN] =
        {
            .text = "",
            .shape = "x*",
            .mem = MEM_READ_WRITE,
            .space = SPACE_GENERIC,
            .strength = STRENGTH_STRONG,
            .uniformity = UNI_DIVERGENT,
            .flags = OPF_CONVERGENT | OPF_BARRIER | OPF_SIDE_EFFECT | OPF_VOLATILE | OPF_FENCE | OPF_ASYNC | OPF_CARRY_IN |
                     OPF_CARRY_OUT,
        },
#define OP(id, dotted, operands, classes, effect, where, how, uniform, bits) \
    [OPC_##id] = {                                                           \
        .text = (dotted),                                                    \
        .len = sizeof(dotted) - 1,                                           \
        .shape = (operands),                                                 \
        .takes = (classes) | M_TYPE,                                         \
        .mem = MEM_##effect,                                                 \
        .space = SPACE_##where,                                              \
        .strength = STRENGTH_##how,                                          \
        .uniformity = UNI_##uniform,                                         \
        .flags = (bits),                                                     \
    },
#include "isa/opcodes.def"
};

const ModRow isa_mods[] = {
#define TYPE(id, dotted, bits, class) {(dotted), M_TYPE, TYPE_##id, sizeof(dotted) - 1},
#include "isa/modifiers.def"
#define MOD(dotted, classes, value) {(dotted), (classes), (value), sizeof(dotted) - 1},
#include "isa/modifiers.def"
};

const u32 isa_mod_count = COUNT_OF(isa_mods);
_Static_assert((u32)OPC_COUNT <= ISA_ROWS_MAX && COUNT_OF(isa_mods) <= ISA_ROWS_MAX, "a place for each row");

/* ---- modifiers -------------------------------------------------------------------------------------------------- */

bool op_text_has_modifier(const OpInfo *op, const char *part)
{
    size_t len = strlen(part);
    for (const char *at = strstr(op->text->text, part); at; at = strstr(at + 1, part))
        if (at[len] == '.' || at[len] == '\0')
            return true;
    return false;
}

/* ---- types ---------------------------------------------------------------------------------------------------- */

static const struct {
    u16 bits;
    u8 class;
} types[TYPE_COUNT] = {
#define TYPE(id, dotted, size, kind) [TYPE_##id] = {(size), TC_##kind},
#include "isa/modifiers.def"
};

u32 type_bits(Type type) { return types[type].bits; }

TypeClass type_class(Type type) { return (TypeClass)types[type].class; }

bool type_is_integer(Type type)
{
    TypeClass class = type_class(type);
    return class == TC_SIGNED || class == TC_UNSIGNED || class == TC_BITS;
}

const char *type_name(Type type) { return type == TYPE_NONE ? "" : isa_mods[type - 1].text; }

Type type_from_text(const char *text, u32 len)
{
    for (u32 t = TYPE_NONE + 1; t < TYPE_COUNT; t++) {
        const ModRow *row = &isa_mods[t - 1];
        if (row->len == len && !memcmp(row->text, text, len))
            return (Type)t;
    }
    return TYPE_NONE;
}

/* ---- comparisons ---------------------------------------------------------------------------------------------- */

enum { LESS = CMP_IF_LESS, EQUAL = CMP_IF_EQUAL, GREATER = CMP_IF_GREATER, UNORDERED = CMP_IF_UNORDERED };

/* CMP_NONE: there is no such comparison of that class. */
static const struct {
    const char *name;
    Cmp inverse_int, inverse_float, swapped;
    u32 outcomes;
} comparisons[] = {
    [CMP_NONE] = {"", CMP_NONE, CMP_NONE, CMP_NONE, 0},
    [CMP_EQ] = {"eq", CMP_NE, CMP_NEU, CMP_EQ, EQUAL},
    [CMP_NE] = {"ne", CMP_EQ, CMP_EQU, CMP_NE, LESS | GREATER},
    [CMP_LT] = {"lt", CMP_GE, CMP_GEU, CMP_GT, LESS},
    [CMP_LE] = {"le", CMP_GT, CMP_GTU, CMP_GE, LESS | EQUAL},
    [CMP_GT] = {"gt", CMP_LE, CMP_LEU, CMP_LT, GREATER},
    [CMP_GE] = {"ge", CMP_LT, CMP_LTU, CMP_LE, GREATER | EQUAL},
    [CMP_LO] = {"lo", CMP_HS, CMP_NONE, CMP_HI, LESS},
    [CMP_LS] = {"ls", CMP_HI, CMP_NONE, CMP_HS, LESS | EQUAL},
    [CMP_HI] = {"hi", CMP_LS, CMP_NONE, CMP_LO, GREATER},
    [CMP_HS] = {"hs", CMP_LO, CMP_NONE, CMP_LS, GREATER | EQUAL},
    [CMP_EQU] = {"equ", CMP_NONE, CMP_NE, CMP_EQU, EQUAL | UNORDERED},
    [CMP_NEU] = {"neu", CMP_NONE, CMP_EQ, CMP_NEU, LESS | GREATER | UNORDERED},
    [CMP_LTU] = {"ltu", CMP_NONE, CMP_GE, CMP_GTU, LESS | UNORDERED},
    [CMP_LEU] = {"leu", CMP_NONE, CMP_GT, CMP_GEU, LESS | EQUAL | UNORDERED},
    [CMP_GTU] = {"gtu", CMP_NONE, CMP_LE, CMP_LTU, GREATER | UNORDERED},
    [CMP_GEU] = {"geu", CMP_NONE, CMP_LT, CMP_LEU, GREATER | EQUAL | UNORDERED},
    [CMP_NUM] = {"num", CMP_NONE, CMP_NAN, CMP_NUM, LESS | EQUAL | GREATER},
    [CMP_NAN] = {"nan", CMP_NONE, CMP_NUM, CMP_NAN, UNORDERED},
};

Cmp cmp_inverse(Cmp cmp, TypeClass type)
{
    return type == TC_FLOAT ? comparisons[cmp].inverse_float : comparisons[cmp].inverse_int;
}

Cmp cmp_swapped(Cmp cmp) { return comparisons[cmp].swapped; }

u32 cmp_outcomes(Cmp cmp) { return comparisons[cmp].outcomes; }

const char *cmp_name(Cmp cmp) { return comparisons[cmp].name; }

const char *bool_op_name(BoolOp bool_op)
{
    static const char *const name[] = {[BOOL_NONE] = "", [BOOL_AND] = "and", [BOOL_OR] = "or", [BOOL_XOR] = "xor"};
    return name[bool_op];
}
