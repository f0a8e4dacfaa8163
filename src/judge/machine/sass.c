#include "judge/machine/sass.h"

#include <stddef.h>

enum {
    ALWAYS = 7,          /* predicate PT, not negated */
    NEVER = 15,          /* PT, negated */
    ZERO_REGISTER = 255, /* RZ */
    FORM_REGISTER = 1,
    FORM_UNIFORM = 2,   /* operand form in which the first source is a uniform register or predicate */
    FORM_IMMEDIATE = 4, /* of CALL.REL: the distance stands in the instruction */
    CALL_RELATIVE = 0x144,
    BRANCH = 0x147,
    MODE_DIVERGE = 2 /* BRA.DIV and, above it, BRA.CONV: taken by what the warp looks like */
};

typedef struct Operation {
    uint16_t code;
    SassClass class;
} Operation;

/* Bits 0-8 of the instruction; those that are not here are SASS_OTHER. */
static const Operation operations[] = {
    {0x003, SASS_PRED},   {0x004, SASS_PRED},        {0x01c, SASS_PRED},     {0x09c, SASS_PRED},  {0x00b, SASS_SETP},
    {0x00c, SASS_SETP},   {0x02a, SASS_SETP},        {0x034, SASS_SETP},     {0x053, SASS_SETP},  {0x08c, SASS_SETP},
    {0x007, SASS_SEL},    {0x008, SASS_SEL},         {0x087, SASS_SEL},      {0x023, SASS_FMA},   {0x02b, SASS_FMA},
    {0x031, SASS_FMA},    {0x049, SASS_FMA},         {0x055, SASS_FMA},      {0x035, SASS_FMA},   {0x037, SASS_MMA},
    {0x03c, SASS_MMA},    {0x03d, SASS_MMA},         {0x03f, SASS_MMA},      {0x07a, SASS_MMA},   {0x07f, SASS_MMA},
    {0x1ea, SASS_MMA},    {0x1f0, SASS_MMA},         {0x1f1, SASS_MMA},      {0x1f2, SASS_MMA},   {0x1f3, SASS_MMA},
    {0x03b, SASS_LDS},    {0x044, SASS_STS},         {0x0b9, SASS_LDC},      {0x0bb, SASS_LDC},   {0x118, SASS_NOP},
    {0x11d, SASS_BAR},    {0x141, SASS_BSYNC},       {0x142, SASS_BREAK},    {0x143, SASS_CALL},  {0x144, SASS_CALL},
    {0x145, SASS_BSSY},   {0x147, SASS_BRA},         {0x148, SASS_WARPSYNC}, {0x149, SASS_BRX},   {0x14a, SASS_BRA},
    {0x14c, SASS_BRX},    {0x14d, SASS_EXIT},        {0x150, SASS_RET},      {0x156, SASS_BMOV},  {0x157, SASS_BMOV},
    {0x158, SASS_BRX},    {0x159, SASS_BRX},         {0x15b, SASS_KILL},     {0x180, SASS_LD},    {0x181, SASS_LDG},
    {0x182, SASS_LDC},    {0x183, SASS_LDL},         {0x184, SASS_LDS},      {0x185, SASS_ST},    {0x186, SASS_STG},
    {0x187, SASS_STL},    {0x188, SASS_STS},         {0x18a, SASS_ATOM},     {0x18b, SASS_ATOM},  {0x18c, SASS_ATOM},
    {0x18d, SASS_ATOM},   {0x18e, SASS_ATOM},        {0x1a3, SASS_ATOM},     {0x1a6, SASS_ATOM},  {0x1a8, SASS_ATOM},
    {0x1a9, SASS_ATOM},   {0x1ac, SASS_LDC},         {0x192, SASS_FENCE},    {0x1ab, SASS_FENCE}, {0x15d, SASS_SLEEP},
    {0x1ae, SASS_LDGSTS}, {0x1c7, SASS_CLUSTER_BAR}, {0x155, SASS_BSAVE},    {0x146, SASS_YIELD},
};

/* The unit that makes the result of those that are none of the classes of memory. */
typedef struct SlowOperation {
    uint16_t first, last;
    LatencyKind latency;
} SlowOperation;

static const SlowOperation slow_operations[] = {
    {0x028, 0x02b, LATENCY_FP64},          /* DMUL, DADD, DSETP, DFMA */
    {0x100, 0x102, LATENCY_SPECIAL},       /* FLO, BREV, FCHK */
    {0x104, 0x109, LATENCY_SPECIAL},       /* F2F, F2I, I2F, FRND, MUFU, POPC */
    {0x110, 0x113, LATENCY_SPECIAL},       /* F2F, F2I, I2F, FRND of 64 bits */
    {0x119, 0x119, LATENCY_SYSTEM},        /* S2R */
    {0x11c, 0x11c, LATENCY_SYSTEM},        /* B2R */
    {0x155, 0x157, LATENCY_SYSTEM},        /* BMOV */
    {0x160, 0x170, LATENCY_TEXTURE},       /* TEX, TLD4, TLD, TMML, TXD, TXQ */
    {0x189, 0x189, LATENCY_SPECIAL},       /* SHFL */
    {0x18c, 0x18d, LATENCY_SHARED_ATOMIC}, /* ATOMS */
    {0x199, 0x19a, LATENCY_TEXTURE},       /* SULD */
    {0x1a1, 0x1a1, LATENCY_REDUCTION},     /* MATCH */
    {0x1c2, 0x1c2, LATENCY_SPECIAL},       /* R2UR */
    {0x1c3, 0x1c3, LATENCY_SYSTEM},        /* S2UR */
    {0x1c4, 0x1c4, LATENCY_REDUCTION},     /* REDUX */
};

static uint64_t word(const uint8_t *bytes)
{
    uint64_t value = 0;
    for (int i = 7; i >= 0; i--)
        value = value << 8 | bytes[i];
    return value;
}

static unsigned field(uint64_t low_or_high, unsigned shift, unsigned bits)
{
    return (unsigned)(low_or_high >> shift & ((1u << bits) - 1));
}

static SassClass classify(unsigned code, uint64_t low, unsigned sm)
{
    if (code == 0x035 && sm >= 100) /* IADD there, HFMA2.MMA before */
        return SASS_OTHER;
    if (code == 0x031 || code == 0x035) /* RZ * RZ + constants is how ptxas loads a constant */
        return field(low, 24, 8) == ZERO_REGISTER ? SASS_OTHER : SASS_FMA;
    for (size_t i = 0; i < sizeof operations / sizeof *operations; i++)
        if (operations[i].code == code)
            return operations[i].class;
    return SASS_OTHER;
}

/* Distance from the next instruction in words of 4 bytes: bits 34-81, and since sm_90 bits 16-23 as the low part. */
static int64_t branch_distance(uint64_t low, uint64_t high, unsigned sm)
{
    uint64_t upper = low >> 34 | (high & 0x3ffff) << 30;
    int64_t words = (int64_t)(upper << 16) >> 16;
    if (sm >= 90)
        words = words * 256 + field(low, 16, 8);
    return words * 4;
}

static void decode_branch(SassInstr *instr, uint64_t low, uint64_t high, unsigned sm)
{
    unsigned form = field(low, 9, 3);
    unsigned mode = field(low, 32, 2);
    unsigned operand = field(high, 23, 4), uniform = form == FORM_UNIFORM ? field(low, 24, 4) : ALWAYS;
    if (operand == NEVER || uniform == NEVER) {
        instr->class = SASS_NOP;
        return;
    }
    instr->rare = mode >= MODE_DIVERGE;
    instr->conditional |= operand != ALWAYS || instr->rare || uniform != ALWAYS;
    instr->has_target = true;
    instr->target = (int64_t)instr->offset + SASS_BYTES + branch_distance(low, high, sm);
}

static unsigned access_width(uint64_t high)
{
    static const uint8_t width[8] = {1, 1, 2, 2, 4, 8, 16, 16};
    return width[field(high, 9, 3)];
}

static SassSchedule decode_schedule(uint64_t high)
{
    return (SassSchedule){
        .stall = (uint8_t)field(high, 41, 4),
        .yield = field(high, 45, 1),
        .result = (uint8_t)field(high, 46, 3),
        .operands = (uint8_t)field(high, 49, 3),
        .waits = (uint8_t)field(high, 52, 6),
    };
}

static LatencyKind latency_of(SassClass class, unsigned operation)
{
    for (size_t i = 0; i < sizeof slow_operations / sizeof *slow_operations; i++)
        if (slow_operations[i].first <= operation && operation <= slow_operations[i].last)
            return slow_operations[i].latency;
    switch (class) {
    case SASS_LD:
    case SASS_LDG:
    case SASS_LDGSTS: return LATENCY_GLOBAL;
    case SASS_ATOM: return LATENCY_GLOBAL_ATOMIC;
    case SASS_LDL: return LATENCY_LOCAL;
    case SASS_LDS: return LATENCY_SHARED;
    case SASS_LDC: return LATENCY_CONSTANT;
    default: return LATENCY_OTHER;
    }
}

/* The latency of issuing an instruction. What follows a fence, ERRBAR and its like, is measured with it. */
static LatencyKind issue_of(SassClass class, unsigned operation, uint64_t high)
{
    enum { MEMBAR = 0x192, SCOPE = 12, SCOPE_CTA = 0, SCOPE_SYSTEM = 3 };
    unsigned scope = field(high, SCOPE, 3);
    switch (class) {
    case SASS_FENCE:
        if (operation != MEMBAR)
            return LATENCY_NONE;
        return scope == SCOPE_CTA ? LATENCY_FENCE_CTA : scope == SCOPE_SYSTEM ? LATENCY_FENCE_SYSTEM : LATENCY_FENCE_GPU;
    case SASS_SLEEP: return LATENCY_SLEEP;
    case SASS_BAR: return LATENCY_BARRIER;
    case SASS_CLUSTER_BAR: return LATENCY_CLUSTER_BARRIER;
    default: return LATENCY_NONE;
    }
}

/* Constants stand in the upper half of the first word where the form of the operands says so. Those of memory lack the
 * lowest byte, where a register stands. */
static uint64_t key_of(const SassInstr *instr, uint64_t low)
{
    enum { FORM_FIRST = 2, FORM_LAST = 5, UPPER = 32, UPPER_OF_ADDRESS = 40 };
    static const uint64_t odd = 0x9e3779b97f4a7c15;
    unsigned form = field(low, 9, 3);
    uint64_t key = instr->operation;
    if (form >= FORM_FIRST && form <= FORM_LAST && !sass_is_control(instr))
        key |= low >> (instr->latency == LATENCY_OTHER || instr->latency == LATENCY_SPECIAL ? UPPER : UPPER_OF_ADDRESS)
                          << 9;
    key = (key ^ key >> UPPER) * odd;
    return (key ^ key >> UPPER) * odd;
}

SassInstr sass_decode(const uint8_t *code, uint32_t offset, unsigned sm)
{
    uint64_t low = word(code), high = word(code + 8);
    SassInstr instr = {.offset = offset, .conditional = field(low, 12, 4) != ALWAYS, .schedule = decode_schedule(high)};
    unsigned operation = field(low, 0, 9);

    instr.class = field(low, 12, 4) == NEVER ? SASS_NOP : classify(operation, low, sm);
    instr.operation = (uint16_t)operation;
    instr.latency = latency_of(instr.class, operation);
    instr.issue = issue_of(instr.class, operation, high);
    switch (instr.class) {
    case SASS_BRA:
        if (operation == BRANCH)
            decode_branch(&instr, low, high, sm);
        break;
    case SASS_CALL:
        instr.has_target = operation == CALL_RELATIVE && field(low, 9, 3) == FORM_IMMEDIATE;
        if (instr.has_target)
            instr.target = (int64_t)offset + SASS_BYTES + branch_distance(low, high, sm);
        break;
    case SASS_BSSY: /* the same distance on every architecture: bits 34-63 */
        instr.has_target = true;
        instr.target = (int64_t)offset + SASS_BYTES + (int32_t)(low >> 32 & ~3u);
        instr.barrier = field(low, 16, 4);
        break;
    case SASS_BSYNC:
    case SASS_BREAK: instr.barrier = field(low, 16, 4); break;
    case SASS_BSAVE:
        instr.barrier = field(low, 24, 4);
        instr.saved = (uint8_t)field(low, 16, 8);
        break;
    case SASS_BMOV:
        instr.barrier = field(low, 24, 4);
        instr.saved = field(low, 9, 3) == FORM_REGISTER ? (uint8_t)field(low, 32, 8) : SASS_NO_REGISTER;
        break;
    case SASS_LDL:
    case SASS_STL: instr.width = access_width(high); break;
    default: break;
    }
    instr.key = key_of(&instr, low);
    return instr;
}

unsigned sass_issue_cycles(const SassInstr *instr, const Latencies *latencies)
{
    unsigned stall = instr->schedule.stall ? instr->schedule.stall : 1, least = latencies->cycles[instr->issue];
    return stall > least ? stall : least;
}

bool sass_is_control(const SassInstr *instr)
{
    switch (instr->class) {
    case SASS_NOP:
    case SASS_BRA:
    case SASS_BRX:
    case SASS_BSSY:
    case SASS_BSYNC:
    case SASS_BREAK:
    case SASS_BMOV:
    case SASS_BSAVE:
    case SASS_CALL:
    case SASS_RET:
    case SASS_EXIT:
    case SASS_YIELD:
    case SASS_WARPSYNC: return true;
    default: return false;
    }
}

bool sass_ends_block(const SassInstr *instr)
{
    switch (instr->class) {
    case SASS_BRA:
    case SASS_BRX:
    case SASS_RET:
    case SASS_EXIT:
    case SASS_KILL:
    case SASS_BSYNC: /* continues at the target of its BSSY */ return !instr->conditional;
    default: return false;
    }
}

bool sass_is_self_branch(const SassInstr *instr)
{
    return instr->class == SASS_BRA && !instr->conditional && instr->has_target && instr->target == instr->offset;
}
