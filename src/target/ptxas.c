#include "target/ptxas.h"

#include <string.h>

#include "base/search.h"
#include "ir/inspect.h"

/* The second source that a row is for. */
typedef enum CostOperand { SOURCE_ELSE, SOURCE_CONSTANT } CostOperand;

enum { TC_ANY = 0xff };

typedef struct Cost {
    u16 opcode;    /* Opcode */
    u8 type_class; /* TypeClass, or TC_ANY */
    u8 bits;       /* 0: any */
    u8 source;     /* CostOperand */
    u16 cost;
    const char *modifier;
    u16 reader; /* Opcode of the reader of a pair */
} Cost;

#define ROW(name, type, width, part, which, machine, ...) \
    {.opcode = OPC_##name,                                \
     .type_class = TC_##type,                             \
     .bits = (width),                                     \
     .source = SOURCE_##which,                            \
     .cost = (machine),                                   \
     .modifier = (part),                                  \
     __VA_ARGS__},

static const Cost costs[] = {
#define COST(name, type, width, part, which, machine, ...) ROW(name, type, width, part, which, machine, )
#define PAIR(...)
#include "target/ptxas.def"
};

static const Cost pairs[] = {
#define COST(...)
#define PAIR(name, type, width, part, which, second, machine, ...) \
    ROW(name, type, width, part, which, machine, .reader = OPC_##second)
#include "target/ptxas.def"
};

static bool is_by_constant(const Instr *i)
{
    const Operand *o = instr_operand(i, 2);
    return o && o->kind == OPND_IMM;
}

static bool fits(const Cost *c, const Instr *i)
{
    Type type = i->op->type[0];
    return (c->type_class == TC_ANY || c->type_class == type_class(type)) && (c->bits == 0 || c->bits == type_bits(type)) &&
           (c->source == SOURCE_ELSE || is_by_constant(i)) &&
           (c->modifier[0] == '\0' || strstr(i->op->text->text, c->modifier));
}

/* The first row of an opcode, or the place where it would be. */
static u32 find_row(Opcode opcode) { return partition_point(k, 0, COUNT_OF(costs), costs[k].opcode < opcode); }

static u32 first_row(Opcode opcode)
{
    static _Thread_local u16 known[OPC_COUNT]; /* 1 + the row */
    if (!known[opcode])
        known[opcode] = (u16)(find_row(opcode) + 1);
    return known[opcode] - 1u;
}

u32 ptxas_cost(const Instr *i)
{
    if (i->kind != INSTR_OP)
        return 0;
    for (u32 k = first_row(i->op->opcode); k < COUNT_OF(costs) && costs[k].opcode == i->op->opcode; k++)
        if (fits(&costs[k], i))
            return costs[k].cost;
    return 1;
}

u32 ptxas_block_cost(const Block *b, u32 most)
{
    u32 cost = 0;
    for (const Instr *i = b->first; i && cost <= most; i = i->next)
        cost += ptxas_cost(i);
    return cost;
}

u32 ptxas_pair_cost(const Instr *i, const Instr *reader)
{
    for (u32 k = 0; k < COUNT_OF(pairs); k++)
        if (pairs[k].opcode == i->op->opcode && pairs[k].reader == reader->op->opcode && fits(&pairs[k], i))
            return pairs[k].cost;
    return ptxas_cost(i) + ptxas_cost(reader);
}

static bool is_register_copy(const Instr *i)
{
    if (i->op->opcode != OPC_MOV || i->slots != 2)
        return false;
    const Operand *to = &i->opnd[0], *from = &i->opnd[1];
    return to->kind == OPND_REG && !to->sub && operand_plain_register(from);
}

static bool takes_low_half(const Instr *i)
{
    return i->op->sem.op == OPC_CVT && i->op->sem.bits == 32 && i->op->sem.from == 64;
}

/* Whether i is a load or store at a constant place of the frame. Compilers that do not optimize keep variables there, and
 * ptxas gives them registers. The frame is recognized by the names that compilers give its address. */
static bool accesses_frame(const Instr *i)
{
    const Function *fn = i->block->fn;
    if (i->op->opcode != OPC_LD && i->op->opcode != OPC_ST)
        return false;
    for_each_operand(o, i) {
        if (o->kind != OPND_MEM || o[1].kind != OPND_REG)
            continue;
        const Reg *base = fn_reg(fn, o[1].id);
        if (base->number < 0 && (!strcmp(base->name->text, "%SP") || !strcmp(base->name->text, "%SPL")))
            return true;
    }
    return false;
}

bool ptxas_costs_nothing(const Instr *i)
{
    if (i->kind != INSTR_OP)
        return true;
    bool address = i->op->opcode == OPC_CVTA || i->op->opcode == OPC_CVTA_TO;
    return !i->guard && (address || is_register_copy(i) || takes_low_half(i) || accesses_frame(i));
}

u32 ptxas_registers(const Function *fn, RegId reg)
{
    const Reg *r = fn_reg(fn, reg);
    return (type_bits(r->type) * r->vector + 31) / 32;
}

u32 ptxas_thread_registers(const Function *fn)
{
    enum { THREAD = 255, MULTIPROCESSOR = 65536, WARP = 32, STEP = 8 };
    u64 most = fn->tuning.most_registers.value && fn->tuning.most_registers.value < THREAD ? fn->tuning.most_registers.value
                                                                                           : THREAD;
    if (fn->tuning.block_shape[0] <= 0)
        return (u32)most;
    u64 threads = (u64)fn->tuning.block_shape[0] * (u64)fn->tuning.block_shape[1] * (u64)fn->tuning.block_shape[2];
    u64 ctas = fn->tuning.least_ctas.value ? fn->tuning.least_ctas.value : 1,
        room = (threads + WARP - 1) / WARP * WARP * ctas;
    u64 each = MULTIPROCESSOR / room / STEP * STEP;
    return (u32)(each && each < most ? each : most);
}
