/* Loads, stores, atomics, asynchronous copies. */
#include "check/exec/decode.h"

#include <string.h>

/* ---- loads and stores ----------------------------------------------------------------------------------------- */

/* The addresses that an instruction with one address, or two, makes of its first or second argument. */
static void addresses(Warp *w, Split *s, const Code *c, u32 which, u32 mask, u64 *address)
{
    u64 buffer[LANES];
    const u64 *v = arg_fetch(w, s, c, &c->arg[which], mask, buffer);
    i64 offset = which == 0 ? c->offset : (i64)(intptr_t)c->data;
    for_each_lane(lane, mask)
        address[lane] = v[lane] + (u64)offset;
}

static void run_load(Warp *w, Split *s, const Code *c, u32 mask)
{
    u64 address[LANES], value[8][LANES];
    u32 element = c->type.bits / 8, bytes = element * c->vector;
    addresses(w, s, c, 0, mask, address);
    for_each_lane(lane, mask) {
        const u8 *p = memory_read((LaneAccess){w, c, lane, bytes, c->space, address[lane], NULL, c->strong});
        if (p && c->acquire)
            race_fence(w, 1u << lane);
        for (u32 i = 0; i < c->vector; i++) {
            value[i][lane] = 0;
            if (p)
                memcpy(&value[i][lane], p + i * element, element);
        }
    }
    for (u32 i = 0; i < c->vector; i++)
        arg_store(s, &c->result[i], c->type, value[i], mask);
}

static void run_store(Warp *w, Split *s, const Code *c, u32 mask)
{
    u64 address[LANES], buffer[8][LANES];
    const u64 *value[8];
    u32 element = c->type.bits / 8, bytes = element * c->vector;
    addresses(w, s, c, 0, mask, address);
    for (u32 i = 0; i < c->vector; i++)
        value[i] = c->space == MS_LOCAL ? arg_peek(w, s, &c->arg[i + 1], buffer[i])
                                        : arg_fetch(w, s, c, &c->arg[i + 1], mask, buffer[i]);
    for_each_lane(lane, mask) {
        u8 data[64];
        for (u32 i = 0; i < c->vector; i++)
            memcpy(data + i * element, &value[i][lane], element);
        memory_write((LaneAccess){w, c, lane, bytes, c->space, address[lane], data, c->strong});
    }
}

/* Cache hints change no value. */
static void take_cache_hints(Decoder *d)
{
    static const char *const hints[] = {"ca",
                                        "cg",
                                        "cs",
                                        "lu",
                                        "cv",
                                        "wb",
                                        "wt",
                                        "nc",
                                        "unified",
                                        "L1::evict_normal",
                                        "L1::evict_unchanged",
                                        "L1::evict_first",
                                        "L1::evict_last",
                                        "L1::no_allocate",
                                        "L2::evict_last",
                                        "L2::evict_normal",
                                        "L2::evict_first",
                                        "L2::64B",
                                        "L2::128B",
                                        "L2::256B",
                                        NULL};
    while (op_take_any(&d->op, hints) >= 0)
        ;
}

/* Takes `.weak`, or strength and scope. */
static void take_strength(Decoder *d)
{
    static const char *const strong[] = {"volatile", "relaxed", "acquire", "release", "acq_rel", "mmio", NULL};
    static const char *const scopes[] = {"cta", "cluster", "gpu", "sys", NULL};
    op_take(&d->op, "weak");
    for (int i; (i = op_take_any(&d->op, strong)) >= 0;) {
        d->c->strong = true;
        d->c->acquire |= i == 2 || i == 4;
        d->c->release |= i == 3 || i == 4;
    }
    op_take_any(&d->op, scopes);
}

/* The type; b128 moves as two b64. */
static bool take_access_type(Decoder *d)
{
    Code *c = d->c;
    c->vector = op_take(&d->op, "v2") ? 2 : op_take(&d->op, "v4") ? 4 : op_take(&d->op, "v8") ? 8 : 1;
    if (!op_take_type(&d->op, &c->type) || c->type.kind == EK_PRED || c->type.bits < 8 || c->type.kind >= EK_BF16)
        return false;
    if (c->type.count > 1)
        c->type = (ElemType){EK_BITS, (u8)elem_total_bits(c->type), 1};
    return c->type.bits <= 64 || c->vector == 1;
}

/* Registers of the value operand into args (or results). */
static bool value_registers(Decoder *d, const Operand *o, Arg *args, bool is_result)
{
    Code *c = d->c;
    u32 total = c->type.bits * c->vector;
    if (c->type.bits == 128) {
        if (o->kind != OPND_REG)
            return false;
        c->type.bits = 64;
        c->vector = 2;
    }
    return decode_pieces(d, o, args, is_result, c->type.kind, total) == c->vector;
}

static bool take_policy(Decoder *d, u32 operands)
{
    if (op_take(&d->op, "L2::cache_hint"))
        operands++;
    return d->opnds == operands;
}

static bool decode_load(Decoder *d)
{
    Code *c = d->c;
    take_strength(d);
    MemSpace space = decode_take_space(d);
    if (op_is(&d->op, "ldu") && space == MS_GENERIC)
        space = MS_GLOBAL;
    take_cache_hints(d);
    if (!take_policy(d, 2) || !take_access_type(d))
        return false;
    decode_reserve(d, 8, 1);
    bool ok =
        value_registers(d, d->opnd[0], c->result, true) && decode_address(d, d->opnd[1], &c->arg[0], &c->offset, &space);
    c->results = c->vector;
    c->space = (u8)space;
    c->run = run_load;
    return ok;
}

static bool decode_store(Decoder *d)
{
    Code *c = d->c;
    take_strength(d);
    MemSpace space = decode_take_space(d);
    take_cache_hints(d);
    if (!take_policy(d, 2) || !take_access_type(d))
        return false;
    decode_reserve(d, 0, 9);
    bool ok =
        value_registers(d, d->opnd[1], c->arg + 1, false) && decode_address(d, d->opnd[0], &c->arg[0], &c->offset, &space);
    c->args = 1 + c->vector;
    c->space = (u8)space;
    c->run = run_store;
    return ok && space != MS_CONST;
}

/* ---- atomics -------------------------------------------------------------------------------------------------- */

enum { ATOM_AND, ATOM_OR, ATOM_XOR, ATOM_CAS, ATOM_EXCH, ATOM_ADD, ATOM_INC, ATOM_DEC, ATOM_MIN, ATOM_MAX };

static u64 atomic_value(const Code *c, u64 old, u64 b, u64 swap)
{
    u64 limit = mask_bits(elem_total_bits(c->type));
    u64 v[3] = {old, b, 0};
    old &= limit;
    b &= limit;
    switch (c->action) {
    case ATOM_AND: return old & b;
    case ATOM_OR: return old | b;
    case ATOM_XOR: return old ^ b;
    case ATOM_CAS: return old == b ? swap : old;
    case ATOM_EXCH: return b;
    case ATOM_INC: return old >= b ? 0 : old + 1;
    case ATOM_DEC: return old == 0 || old > b ? b : old - 1;
    default: return c->alu->fn(&c->alu->mode, v);
    }
}

static void run_atomic(Warp *w, Split *s, const Code *c, u32 mask)
{
    u64 address[LANES], buffer[2][LANES], old[LANES];
    u32 bytes = elem_total_bits(c->type) / 8;
    addresses(w, s, c, 0, mask, address);
    const u64 *b = arg_fetch(w, s, c, &c->arg[1], mask, buffer[0]);
    const u64 *swap = c->args > 2 ? arg_fetch(w, s, c, &c->arg[2], mask, buffer[1]) : b;
    for_each_lane(lane, mask) {
        u8 *p = memory_atomic((LaneAccess){w, c, lane, bytes, c->space, address[lane], NULL, true});
        old[lane] = 0;
        if (!p)
            continue;
        if (c->acquire)
            race_fence(w, 1u << lane);
        memcpy(&old[lane], p, bytes);
        u64 fresh = atomic_value(c, old[lane], b[lane], swap[lane]);
        memcpy(p, &fresh, bytes);
    }
    arg_store(s, &c->result[0], c->type, old, mask);
}

/* add, min and max in the arithmetic of the type. */
static bool atomic_arithmetic(Decoder *d)
{
    static const char *const names[] = {"add", "min", "max"};
    const Code *c = d->c;
    Op op = {.name = {names[c->action == ATOM_ADD ? 0 : c->action == ATOM_MIN ? 1 : 2], 3}};
    AluOp *alu = arena_new(d->p->arena, AluOp);
    /* Named as in the opcode itself: its last part is the type. */
    op.part[0] = d->op.part[d->op.parts - 1];
    op.parts = 1;
    if (alu_pick(&op, alu) != ALU_PICKED)
        return false;
    d->c->alu = alu;
    return true;
}

static bool decode_atomic(Decoder *d)
{
    static const char *const ops[] = {"and", "or", "xor", "cas", "exch", "add", "inc", "dec", "min", "max", NULL};
    Code *c = d->c;
    bool red = op_is(&d->op, "red");
    take_strength(d);
    c->strong = true;
    MemSpace space = decode_take_space(d);
    int action = op_take_any(&d->op, ops);
    op_take(&d->op, "noftz");
    u32 operands = (red ? 2 : 3) + (action == ATOM_CAS);
    if (action < 0 || !take_policy(d, operands) || !op_take_type(&d->op, &c->type) || elem_total_bits(c->type) > 64 ||
        elem_total_bits(c->type) < 16)
        return false;
    c->action = (u8)action;
    bool arithmetic = action == ATOM_ADD || action >= ATOM_MIN;
    if (arithmetic && !atomic_arithmetic(d))
        return false;
    decode_reserve(d, 1, action == ATOM_CAS ? 3 : 2);
    if (!red)
        c->result[0] = decode_result(d, d->opnd[0]);
    const Operand **rest = d->opnd + (red ? 0 : 1);
    bool ok = decode_address(d, rest[0], &c->arg[0], &c->offset, &space);
    for (u32 i = 1; i < c->args; i++)
        c->arg[i] = decode_source(d, rest[i], c->type);
    c->space = (u8)space;
    c->run = run_atomic;
    return ok && (space == MS_GLOBAL || space == MS_SHARED || space == MS_GENERIC);
}

/* ---- fences, hints -------------------------------------------------------------------------------------------- */

static void run_fence(Warp *w, Split *s, const Code *c, u32 mask)
{
    (void)s;
    (void)c;
    race_fence(w, mask);
}

static bool decode_fence(Decoder *d)
{
    d->op.taken = ~0u; /* every kind of fence, of whatever scope, orders what the watch looks at */
    d->c->run = run_fence;
    return true;
}

/* A cache policy is an opaque value that only cache hints take. */
static void run_zero(Warp *w, Split *s, const Code *c, u32 mask)
{
    u64 zero[LANES] = {0};
    (void)w;
    arg_store(s, &c->result[0], elem_b64, zero, mask);
}

static bool decode_policy(Decoder *d)
{
    d->op.taken = ~0u;
    decode_reserve(d, 1, 0);
    d->c->result[0] = decode_result(d, d->opnd[0]);
    d->c->run = run_zero;
    return d->opnds > 1;
}

/* ---- cp.async ------------------------------------------------------------------------------------------------- */

/* arg: destination, source, bytes to read (constant or register) or absent. The source is read now; the destination is
 * written when the thread waits, so that a wait which is missing shows. */
static void run_copy(Warp *w, Split *s, const Code *c, u32 mask)
{
    u64 to[LANES], from[LANES], buffer[LANES];
    u32 bytes = c->vector;
    addresses(w, s, c, 0, mask, to);
    addresses(w, s, c, 1, mask, from);
    const u64 *size = c->arg[2].kind ? arg_fetch(w, s, c, &c->arg[2], mask, buffer) : NULL;
    u32 ignored = c->arg[3].kind ? arg_fetch_pred(w, s, c, &c->arg[3], mask) : 0;
    for_each_lane(lane, mask) {
        u32 wanted = size && size[lane] < bytes ? (u32)size[lane] : bytes;
        AsyncCopy copy = {.shared = (u32)to[lane], .bytes = (u8)bytes, .lane = (u8)lane, .code = c};
        copy.group = w->async_group[lane];
        if (ignored >> lane & 1)
            wanted = 0;
        const u8 *p = wanted ? memory_read((LaneAccess){w, c, lane, bytes, MS_GLOBAL, from[lane], NULL, false}) : NULL;
        if (p)
            memcpy(copy.data, p, wanted);
        if (memory_will_write((LaneAccess){w, c, lane, bytes, MS_SHARED, copy.shared, NULL, false}))
            vec_push(&w->async, copy);
    }
}

enum { ASYNC_COMMIT, ASYNC_WAIT };

/* commit closes the open group; wait completes all but the last `action2` groups, or everything (255). */
static void run_copy_group(Warp *w, Split *s, const Code *c, u32 mask)
{
    (void)s;
    if (c->action == ASYNC_COMMIT) {
        for_each_lane(lane, mask)
            w->async_group[lane]++;
        return;
    }
    u32 kept = 0;
    for (u32 i = 0; i < w->async.n; i++) {
        AsyncCopy copy = w->async.v[i];
        bool mine = mask >> copy.lane & 1;
        bool due = c->action2 == 255 || copy.group + c->action2 < w->async_group[copy.lane];
        if (mine && due)
            memory_write((LaneAccess){w, copy.code, copy.lane, copy.bytes, MS_SHARED, copy.shared, copy.data, false});
        else
            w->async.v[kept++] = copy;
    }
    w->async.n = kept;
}

static bool decode_copy_group(Decoder *d)
{
    Code *c = d->c;
    c->run = run_copy_group;
    if (op_take_next(&d->op, "commit_group"))
        return d->opnds == 0;
    c->action = ASYNC_WAIT;
    c->action2 = 255;
    if (op_take_next(&d->op, "wait_all"))
        return d->opnds == 0;
    if (!op_take_next(&d->op, "wait_group") || d->opnds != 1 || d->opnd[0]->kind != OPND_IMM)
        return false;
    c->action2 = (u8)d->opnd[0]->value;
    return d->opnd[0]->value >= 0 && d->opnd[0]->value < 255;
}

static bool decode_copy(Decoder *d)
{
    Code *c = d->c;
    if (!op_take_next(&d->op, "async"))
        return false;
    if (!op_take_next(&d->op, "ca") && !op_take_next(&d->op, "cg"))
        return decode_copy_group(d);
    MemSpace to = MS_SHARED, from = MS_GLOBAL;
    if (!op_take_next(&d->op, "shared") && !op_take_next(&d->op, "shared::cta"))
        return false;
    if (!op_take_next(&d->op, "global"))
        return false;
    take_cache_hints(d);
    u32 operands = d->opnds - (op_take(&d->op, "L2::cache_hint") ? 1 : 0);
    if (operands < 3 || operands > 4 || d->opnd[2]->kind != OPND_IMM)
        return false;
    i64 offset;
    decode_reserve(d, 0, 4);
    if (!decode_address(d, d->opnd[0], &c->arg[0], &c->offset, &to) ||
        !decode_address(d, d->opnd[1], &c->arg[1], &offset, &from))
        return false;
    c->data = (const void *)(intptr_t)offset;
    c->vector = (u8)d->opnd[2]->value;
    if (operands == 4) {
        Arg extra = decode_source(d, d->opnd[3], elem_u32);
        c->arg[extra.kind == ARG_PRED ? 3 : 2] = extra;
    }
    c->run = run_copy;
    return c->vector == 4 || c->vector == 8 || c->vector == 16;
}

const DecodeRow rows_memory[] = {
    {"ld", decode_load},     {"ldu", decode_load},
    {"st", decode_store},    {"atom", decode_atomic},
    {"red", decode_atomic},  {"membar", decode_fence},
    {"fence", decode_fence}, {"createpolicy", decode_policy},
    {"cp", decode_copy},     {NULL, NULL},
};
