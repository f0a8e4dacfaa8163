#include "check/exec/opcode.h"

#include <string.h>

bool op_split(Op *op, const char *text)
{
    memset(op, 0, sizeof *op);
    const char *p = text;
    while (*p && *p != '.')
        p++;
    op->name = (Str){text, (u32)(p - text)};
    while (*p == '.') {
        const char *beg = ++p;
        while (*p && *p != '.')
            p++;
        if (op->parts == OPCODE_PARTS)
            return false;
        op->part[op->parts++] = (Str){beg, (u32)(p - beg)};
    }
    return true;
}

bool op_is(const Op *op, const char *name) { return str_is(op->name, name); }

static int first_left(const Op *op)
{
    for (u32 i = 0; i < op->parts; i++)
        if (!(op->taken >> i & 1))
            return (int)i;
    return -1;
}

bool op_take_next(Op *op, const char *part)
{
    int i = first_left(op);
    if (i < 0 || !str_is(op->part[i], part))
        return false;
    op->taken |= 1u << i;
    return true;
}

bool op_take(Op *op, const char *part)
{
    for (u32 i = 0; i < op->parts; i++)
        if (!(op->taken >> i & 1) && str_is(op->part[i], part)) {
            op->taken |= 1u << i;
            return true;
        }
    return false;
}

int op_take_any(Op *op, const char *const *list)
{
    for (int i = 0; list[i]; i++)
        if (op_take(op, list[i]))
            return i;
    return -1;
}

bool op_take_type(Op *op, ElemType *type)
{
    int i = first_left(op);
    if (i < 0 || !elem_type_parse(op->part[i], type))
        return false;
    op->taken |= 1u << i;
    return true;
}

u32 op_take_types(Op *op, ElemType *types, u32 max)
{
    u32 n = 0;
    for (u32 i = 0; i < op->parts && n < max; i++)
        if (!(op->taken >> i & 1) && elem_type_parse(op->part[i], &types[n])) {
            op->taken |= 1u << i;
            n++;
        }
    return n;
}

bool op_done(const Op *op) { return first_left(op) < 0; }

bool elem_type_parse(Str text, ElemType *type)
{
    static const struct {
        const char *name;
        ElemType type;
    } rows[] = {
        {"pred", {EK_PRED, 1, 1}},       {"b1", {EK_BITS, 1, 1}},       {"b8", {EK_BITS, 8, 1}},
        {"b16", {EK_BITS, 16, 1}},       {"b32", {EK_BITS, 32, 1}},     {"b64", {EK_BITS, 64, 1}},
        {"b128", {EK_BITS, 128, 1}},     {"u8", {EK_UNSIGNED, 8, 1}},   {"u16", {EK_UNSIGNED, 16, 1}},
        {"u32", {EK_UNSIGNED, 32, 1}},   {"u64", {EK_UNSIGNED, 64, 1}}, {"s8", {EK_SIGNED, 8, 1}},
        {"s16", {EK_SIGNED, 16, 1}},     {"s32", {EK_SIGNED, 32, 1}},   {"s64", {EK_SIGNED, 64, 1}},
        {"u16x2", {EK_UNSIGNED, 16, 2}}, {"s16x2", {EK_SIGNED, 16, 2}}, {"f16", {EK_FLOAT, 16, 1}},
        {"f16x2", {EK_FLOAT, 16, 2}},    {"f32", {EK_FLOAT, 32, 1}},    {"f32x2", {EK_FLOAT, 32, 2}},
        {"f64", {EK_FLOAT, 64, 1}},      {"bf16", {EK_BF16, 16, 1}},    {"bf16x2", {EK_BF16, 16, 2}},
        {"tf32", {EK_TF32, 32, 1}},      {"e4m3", {EK_E4M3, 8, 1}},     {"e5m2", {EK_E5M2, 8, 1}},
        {"e4m3x2", {EK_E4M3, 8, 2}},     {"e5m2x2", {EK_E5M2, 8, 2}},
    };
    for (u32 i = 0; i < COUNT_OF(rows); i++)
        if (str_is(text, rows[i].name)) {
            *type = rows[i].type;
            return true;
        }
    return false;
}
