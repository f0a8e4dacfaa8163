#include "isa/sem.h"

#include "isa/tables.h"

/* Whether a value of the type holds several numbers. A comparison of these is several in one: p and q of `p|q` are one half
 * each. */
static bool is_packed(Type type) { return type == TYPE_F16X2 || type == TYPE_BF16X2 || type_class(type) == TC_PACKED; }

/* The Sem of setp or set. set has the type of its result in front. */
static Sem comparison(const OpInfo *op)
{
    u32 own = op->opcode == OPC_SET ? 1 : 0;
    Type type = op->type[own], to = own ? op->type[0] : TYPE_PRED;
    if (op->types != own + 1 || is_packed(type) || type_bits(type) > 64 || (own && !type_is_integer(to)))
        return (Sem){.op = OPC_UNKNOWN};
    return (Sem){.op = (u8)op->opcode,
                 .bits = (u8)type_bits(to),
                 .from = (u8)type_bits(type),
                 .compared = type,
                 .is_signed = type_class(type) == TC_SIGNED,
                 .to_signed = type_class(to) == TC_SIGNED,
                 .ftz = op_has_modifier(op, ".ftz")};
}

static Sem conversion(const OpInfo *op)
{
    Type to = op->type[0], from = op->type[1];
    if (op->types != 2 || !type_is_integer(to) || !type_is_integer(from) || type_bits(to) > 64 || type_bits(from) > 64)
        return (Sem){.op = OPC_UNKNOWN};
    return (Sem){.op = OPC_CVT,
                 .bits = (u8)type_bits(to),
                 .from = (u8)type_bits(from),
                 .is_signed = type_class(from) == TC_SIGNED,
                 .to_signed = type_class(to) == TC_SIGNED};
}

static Sem arithmetic(const OpInfo *op)
{
    Type type = op->type[0];
    if (op->types != 1 || op->vector != 1 || (!type_is_integer(type) && type != TYPE_PRED) || type_bits(type) > 64)
        return (Sem){.op = OPC_UNKNOWN};
    Sem sem = {.op = (u8)op->opcode,
               .bits = (u8)type_bits(type),
               .from = (u8)type_bits(type),
               .is_signed = type_class(type) == TC_SIGNED};
    sem.to_signed = sem.is_signed;
    return sem;
}

/* The Sem of a product's low half, or of a whole product. PTX has no whole product of 128 bits, and ptxas refuses it. */
static Sem product(const OpInfo *op)
{
    Sem sem = arithmetic(op);
    if (op_has_modifier(op, ".wide"))
        sem.bits = (u8)(2 * sem.from);
    if (sem.bits > 64)
        return (Sem){.op = OPC_UNKNOWN};
    return sem.bits > sem.from || op_has_modifier(op, ".lo") ? sem : (Sem){.op = OPC_UNKNOWN};
}

static Sem count(const OpInfo *op)
{
    Sem sem = arithmetic(op);
    return sem.op ? (Sem){.op = sem.op, .bits = 32, .from = sem.from} : sem;
}

Sem sem_of(const OpInfo *op, SemKind kind)
{
    static Sem (*const read[SEM_COUNT])(const OpInfo *op) = {
        [SEM_ARITHMETIC] = arithmetic, [SEM_PRODUCT] = product,       [SEM_COUNTING] = count,
        [SEM_CONVERSION] = conversion, [SEM_COMPARISON] = comparison,
    };
    if (!op->known || !read[kind] || op_has_modifier(op, ".sat") || op_has_modifier(op, ".relu"))
        return (Sem){.op = OPC_UNKNOWN};
    return read[kind](op);
}

static u64 shifted_right(Sem sem, u64 a, u64 by)
{
    if (!sem.is_signed)
        return by < sem.bits ? (a & sem_max(sem.bits)) >> by : 0;
    return (u64)(sem_signed(a, sem.bits) >> (by < sem.bits ? by : sem.bits - 1u));
}

bool sem_apply(Sem sem, u64 a, u64 b, u64 *result)
{
    switch (sem.op) {
    case OPC_ADD: *result = a + b; break;
    case OPC_SUB: *result = a - b; break;
    case OPC_MUL: *result = a * b; break;
    case OPC_AND: *result = a & b; break;
    case OPC_OR: *result = a | b; break;
    case OPC_XOR: *result = a ^ b; break;
    case OPC_SHL: *result = b < sem.bits ? a << b : 0; break;
    case OPC_SHR: *result = shifted_right(sem, a, b); break;
    default: return false;
    }
    *result &= sem_max(sem.bits);
    return sem.from == sem.bits;
}
