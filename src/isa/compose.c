/* Opcodes composed of parts, and of other opcodes. */
#include "isa/isa.h"

#include <string.h>

#include "isa/tables.h"

enum { LONGEST = 128 };

/* The text that is being composed. */
typedef struct OpText {
    char text[LONGEST];
    u32 len;
    bool cut; /* it would be longer than any opcode */
} OpText;

static void put(OpText *to, const char *text, size_t len)
{
    if (to->len + len > LONGEST) {
        to->cut = true;
        return;
    }
    memcpy(to->text + to->len, text, len);
    to->len += (u32)len;
}

static void put_part(OpText *to, const char *name)
{
    put(to, ".", 1);
    put(to, name, strlen(name));
}

const OpInfo *isa_op(Isa *isa, Opcode opcode, OpParts parts)
{
    OpText to = {.len = 0};
    put(&to, isa_ops[opcode].text, isa_ops[opcode].len);
    if (parts.cmp != CMP_NONE)
        put_part(&to, cmp_name(parts.cmp));
    if (parts.bool_op != BOOL_NONE)
        put_part(&to, bool_op_name(parts.bool_op));
    if (parts.uniform)
        put_part(&to, "uni");
    if (parts.wide)
        put_part(&to, "wide");
    if (parts.high)
        put_part(&to, "hi");
    if (parts.low)
        put_part(&to, "lo");
    for (u32 k = 0; k < COUNT_OF(parts.type); k++)
        put(&to, type_name(parts.type[k]), strlen(type_name(parts.type[k])));
    return isa_decode(isa, to.text, to.len);
}

/* ---- an opcode with other parts --------------------------------------------------------------------------------- */

/* A walk over the modifiers of an opcode. */
typedef struct PartWalk {
    const char *at, *end; /* the dot of the next one, and the end */
    const char *text;     /* of the current one, with its dot */
    u32 len;
    const ModRow *mod; /* NULL: unknown */
    u32 classes;       /* the classes of it that the opcode takes */
} PartWalk;

static PartWalk part_walk(const OpInfo *op)
{
    const char *text = op->text->text;
    return (PartWalk){.at = text + isa_ops[op->opcode].len, .end = text + op->text->len};
}

static bool next_part(const Isa *isa, const OpInfo *op, PartWalk *p)
{
    if (p->at >= p->end)
        return false;
    const char *dot = memchr(p->at + 1, '.', (size_t)(p->end - p->at - 1));
    p->text = p->at;
    p->at = dot ? dot : p->end;
    p->len = (u32)(p->at - p->text);
    p->mod = isa_find_modifier(isa, p->text, p->len);
    p->classes = p->mod ? p->mod->classes & isa_ops[op->opcode].takes : 0;
    return true;
}

/* The opcode if it is in the tables; otherwise NULL. */
static const OpInfo *known_opcode(Isa *isa, const OpText *text)
{
    const OpInfo *op = text->cut ? NULL : isa_decode(isa, text->text, text->len);
    return op && op->known ? op : NULL;
}

/* op with `cmp` in place of its comparison, and `bool_op` after it. */
static const OpInfo *with_comparison(Isa *isa, const OpInfo *op, Cmp cmp, BoolOp bool_op)
{
    OpText to = {.len = 0};
    if (op->cmp == CMP_NONE || cmp == CMP_NONE)
        return NULL;
    put(&to, op->text->text, isa_ops[op->opcode].len);
    for (PartWalk p = part_walk(op); next_part(isa, op, &p);) {
        if (!(p.classes & M_CMP)) {
            put(&to, p.text, p.len);
            continue;
        }
        put_part(&to, cmp_name(cmp));
        if (bool_op != BOOL_NONE)
            put_part(&to, bool_op_name(bool_op));
    }
    return known_opcode(isa, &to);
}

const OpInfo *isa_with_cmp(Isa *isa, const OpInfo *op, Cmp cmp) { return with_comparison(isa, op, cmp, BOOL_NONE); }

const OpInfo *isa_with_bool_op(Isa *isa, const OpInfo *op, BoolOp bool_op)
{
    return op->bool_op == BOOL_NONE ? with_comparison(isa, op, op->cmp, bool_op) : NULL;
}

const OpInfo *isa_without(Isa *isa, const OpInfo *op, u32 flags)
{
    OpText to = {.len = 0};
    bool any = false;
    put(&to, op->text->text, isa_ops[op->opcode].len);
    for (PartWalk p = part_walk(op); next_part(isa, op, &p);) {
        if (p.classes & M_FLAGS && p.mod->value & flags)
            any = true;
        else
            put(&to, p.text, p.len);
    }
    return any && !to.cut ? isa_decode(isa, to.text, to.len) : op;
}
