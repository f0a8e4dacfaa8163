#include "target/ptxas.h"

#include <string.h>

/* Which second source a row is for. */
typedef enum CostOperand { SOURCE_ELSE, SOURCE_CONSTANT } CostOperand;

enum { TC_ANY = 0xff };

typedef struct Cost {
    u16 opcode;    /* Opcode */
    u8 type_class; /* TypeClass, or TC_ANY */
    u8 bits;       /* 0: any */
    u8 source;     /* CostOperand */
    u16 cost;
    const char *modifier;
} Cost;

static const Cost costs[] = {
#define COST(name, type, width, part, which, machine, least, most, sample) \
    {.opcode = OPC_##name,                                                 \
     .type_class = TC_##type,                                              \
     .bits = (width),                                                      \
     .source = SOURCE_##which,                                             \
     .cost = (machine),                                                    \
     .modifier = (part)},
#include "target/ptxas.def"
};

/* By Opcode modulo 64: some of these opcodes may have a row. */
static const u64 may_have_row = 0
#define COST(name, type, width, part, which, machine, least, most, sample) | 1ull << OPC_##name % 64
#include "target/ptxas.def"
    ;

static bool is_by_constant(const Instr *i)
{
    const Operand *o = instr_operand(i, 2);
    return o && o->kind == OPND_IMM;
}

static bool fits(const Cost *c, const Instr *i)
{
    Type type = (Type)i->op->type[0];
    return c->opcode == i->op->opcode && (c->type_class == TC_ANY || c->type_class == type_class(type)) &&
           (c->bits == 0 || c->bits == type_bits(type)) && (c->source == SOURCE_ELSE || is_by_constant(i)) &&
           (c->modifier[0] == '\0' || strstr(i->op->text->text, c->modifier));
}

u32 ptxas_cost(const Instr *i)
{
    if (i->kind != INSTR_OP)
        return 0;
    bool listed = may_have_row >> i->op->opcode % 64 & 1;
    for (u32 k = 0; listed && k < COUNT_OF(costs); k++)
        if (costs[k].opcode == i->op->opcode && fits(&costs[k], i))
            return costs[k].cost;
    return 1;
}
