/* Between the lanes of a warp: shfl, vote, match, redux, activemask, elect, bar.warp.sync. */
#include "check/exec/decode.h"

/* The mask that each lane names: c->arg[`index`]; of instructions without one, the lanes that execute. NULL: the lanes wait,
 * or have been served already. */
static const u64 *named_masks(Warp *w, Split *s, const Code *c, u32 index, u32 mask, u64 *buffer)
{
    if (index >= c->args || !c->arg[index].kind) {
        for (u32 i = 0; i < LANES; i++)
            buffer[i] = mask;
        return buffer;
    }
    const u64 *v = arg_fetch(w, s, c, &c->arg[index], mask, buffer);
    if (!sync_arrive(w, s, c, mask, v))
        return NULL;
    return w->come ? w->come_value[index] : v;
}

/* The lanes that take part in the operation: all that have come to it where lanes have waited, else those of `mask`. */
static u32 taking_part(const Warp *w, u32 mask) { return w->come ? w->come : mask; }
static const u64 *of_all(const Warp *w, u32 index, const u64 *own) { return w->come ? w->come_value[index] : own; }

/* ---- shfl ----------------------------------------------------------------------------------------------------- */

enum { SHFL_UP, SHFL_DOWN, SHFL_BFLY, SHFL_IDX };

static u32 shfl_source(u32 mode, u32 lane, u32 b, u32 control, bool *valid)
{
    u32 bval = b & 31, cval = control & 31, segment = control >> 8 & 31;
    i32 min = (i32)(lane & segment), max = (i32)((lane & segment) | (cval & ~segment)), j;
    switch (mode) {
    case SHFL_UP:
        j = (i32)lane - (i32)bval;
        *valid = j >= max;
        break;
    case SHFL_DOWN:
        j = (i32)(lane + bval);
        *valid = j <= max;
        break;
    case SHFL_BFLY:
        j = (i32)(lane ^ bval);
        *valid = j <= max;
        break;
    default: j = min | (i32)(bval & ~segment); *valid = j <= max;
    }
    return *valid ? (u32)j : lane;
}

/* arg: value, b, control, mask or absent; result: value, predicate or absent. */
static void run_shfl(Warp *w, Split *s, const Code *c, u32 mask)
{
    u64 buffer[4][LANES], result[LANES];
    u32 valid_lanes = 0, unknown = 0;
    const u64 *named = named_masks(w, s, c, 3, mask, buffer[3]);
    if (!named)
        return;
    u32 lanes = taking_part(w, mask), known = w->come ? w->come_known[0] : arg_known(s, &c->arg[0]);
    const u64 *value = of_all(w, 0, arg_peek(w, s, &c->arg[0], buffer[0]));
    const u64 *b = arg_fetch(w, s, c, &c->arg[1], mask, buffer[1]);
    const u64 *control = arg_fetch(w, s, c, &c->arg[2], mask, buffer[2]);
    for_each_lane(lane, mask) {
        bool valid;
        u32 from = shfl_source(c->action, lane, (u32)b[lane], (u32)control[lane], &valid) & 31;
        bool there = lanes >> from & 1 && (u32)named[from] == (u32)named[lane];
        result[lane] = there ? value[from] : (u32)w->m->garbage;
        unknown |= (u32)(!there || !(known >> from & 1)) << lane;
        valid_lanes |= (u32)valid << lane;
    }
    arg_store(s, &c->result[0], elem_b32, result, mask);
    arg_store_pred(s, &c->result[1], valid_lanes, mask);
    arg_forget(s, &c->result[0], unknown);
}

static bool decode_shfl(Decoder *d)
{
    static const char *const modes[] = {"up", "down", "bfly", "idx", NULL};
    bool sync = op_take_next(&d->op, "sync");
    int mode = op_take_any(&d->op, modes);
    u32 sources = sync ? 4 : 3;
    if (mode < 0 || !op_take_next(&d->op, "b32") || d->opnds != sources + 1)
        return false;
    u32 members = decode_results(d, d->opnd[0], sources);
    for (u32 i = 0; i < sources; i++)
        d->c->arg[i] = decode_source(d, d->opnd[i + 1], elem_b32);
    d->c->action = (u8)mode;
    d->c->run = run_shfl;
    return members <= 2 && (members < 2 || !d->c->result[1].kind || d->c->result[1].kind == ARG_PRED);
}

/* ---- vote, match, redux --------------------------------------------------------------------------------------- */

enum { VOTE_ALL, VOTE_ANY, VOTE_UNI, VOTE_BALLOT };

static void run_vote(Warp *w, Split *s, const Code *c, u32 mask)
{
    u64 buffer[LANES], ballot[LANES];
    u32 holds = 0;
    const u64 *named = named_masks(w, s, c, 1, mask, buffer);
    if (!named)
        return;
    u32 left = taking_part(w, mask), p = arg_fetch_pred(w, s, c, &c->arg[0], mask);
    for (u32 lane = 0; lane < LANES && w->come; lane++)
        p = (p & ~(1u << lane)) | (u32)(w->come_value[0][lane] & 1) << lane;
    for (u32 group; (group = sync_next_group(named, &left));) {
        u32 set = p & group;
        bool answer = c->action == VOTE_ALL ? set == group : c->action == VOTE_ANY ? set != 0 : set == group || !set;
        holds |= answer ? group : 0;
        for_each_lane(lane, group)
            ballot[lane] = set;
    }
    if (c->action == VOTE_BALLOT)
        arg_store(s, &c->result[0], elem_b32, ballot, mask);
    else
        arg_store_pred(s, &c->result[0], holds, mask);
}

static bool decode_vote(Decoder *d)
{
    static const char *const modes[] = {"all", "any", "uni", "ballot", NULL};
    bool sync = op_take_next(&d->op, "sync");
    int mode = op_take_any(&d->op, modes);
    if (mode < 0 || !op_take_next(&d->op, mode == VOTE_BALLOT ? "b32" : "pred") || d->opnds != (sync ? 3u : 2u))
        return false;
    decode_reserve(d, 1, sync ? 2 : 1);
    d->c->result[0] = decode_result(d, d->opnd[0]);
    d->c->arg[0] = decode_source(d, d->opnd[1], elem_pred);
    if (sync)
        d->c->arg[1] = decode_source(d, d->opnd[2], elem_b32);
    d->c->action = (u8)mode;
    d->c->run = run_vote;
    return d->c->arg[0].kind == ARG_PRED || d->c->arg[0].kind == ARG_CONST;
}

static void run_match(Warp *w, Split *s, const Code *c, u32 mask)
{
    u64 buffer[2][LANES], result[LANES];
    u32 all_equal = 0;
    const u64 *named = named_masks(w, s, c, 1, mask, buffer[1]);
    if (!named)
        return;
    u32 left = taking_part(w, mask);
    const u64 *value = of_all(w, 0, arg_fetch(w, s, c, &c->arg[0], mask, buffer[0]));
    u64 limit = mask_bits(c->type.bits);
    for (u32 group; (group = sync_next_group(named, &left));)
        for_each_lane(lane, group) {
            u32 equal = 0;
            for_each_lane(other, group)
                equal |= (u32)((value[other] & limit) == (value[lane] & limit)) << other;
            bool all = equal == group;
            result[lane] = c->action ? (all ? group : 0) : equal;
            all_equal |= (u32)all << lane;
        }
    arg_store(s, &c->result[0], elem_b32, result, mask);
    arg_store_pred(s, &c->result[1], all_equal, mask);
}

static bool decode_match(Decoder *d)
{
    bool all = op_take_next(&d->op, "all");
    if ((!all && !op_take_next(&d->op, "any")) || !op_take_next(&d->op, "sync") || !op_take_type(&d->op, &d->c->type))
        return false;
    if (d->opnds != 3 || d->c->type.kind != EK_BITS || d->c->type.bits < 32)
        return false;
    u32 members = decode_results(d, d->opnd[0], 2);
    d->c->arg[0] = decode_source(d, d->opnd[1], d->c->type);
    d->c->arg[1] = decode_source(d, d->opnd[2], elem_b32);
    d->c->action = all;
    d->c->run = run_match;
    return members == 1 || (all && members == 2);
}

static void run_redux(Warp *w, Split *s, const Code *c, u32 mask)
{
    u64 buffer[2][LANES], result[LANES];
    const u64 *named = named_masks(w, s, c, 1, mask, buffer[1]);
    if (!named)
        return;
    u32 left = taking_part(w, mask);
    const u64 *value = of_all(w, 0, arg_fetch(w, s, c, &c->arg[0], mask, buffer[0]));
    for (u32 group; (group = sync_next_group(named, &left));) {
        u64 total = value[__builtin_ctz(group)];
        u32 rest = group & (group - 1);
        for_each_lane(lane, rest) {
            u64 v[2] = {total, value[lane]};
            total = c->alu->fn(&c->alu->mode, v);
        }
        for_each_lane(lane, group)
            result[lane] = total;
    }
    arg_store(s, &c->result[0], c->type, result, mask);
}

/* redux.sync.op{.abs}{.NaN}.type d, a, mask: the two-operand instruction `op` folds. */
static bool decode_redux(Decoder *d)
{
    AluOp *alu = arena_new(d->p->arena, AluOp);
    if (!op_take_next(&d->op, "sync") || d->op.parts < 3 || d->opnds != 3)
        return false;
    Op fold = {.name = d->op.part[1]};
    for (u32 i = 2; i < d->op.parts; i++)
        fold.part[fold.parts++] = d->op.part[i];
    static const char *const allowed[] = {"add", "min", "max", "and", "or", "xor", NULL};
    bool known = op_take_any(&d->op, allowed) >= 0;
    if (!known || alu_pick(&fold, alu) != ALU_PICKED || elem_total_bits(alu->result) != 32 || alu->args != 2)
        return false;
    d->op.taken = ~0u;
    decode_reserve(d, 1, 2);
    d->c->result[0] = decode_result(d, d->opnd[0]);
    d->c->arg[0] = decode_source(d, d->opnd[1], alu->arg[0]);
    d->c->arg[1] = decode_source(d, d->opnd[2], elem_b32);
    d->c->type = alu->result;
    d->c->alu = alu;
    d->c->run = run_redux;
    return true;
}

/* ---- the rest ------------------------------------------------------------------------------------------------- */

static void run_activemask(Warp *w, Split *s, const Code *c, u32 mask)
{
    u64 result[LANES];
    (void)w;
    for (u32 i = 0; i < LANES; i++)
        result[i] = mask;
    arg_store(s, &c->result[0], elem_b32, result, mask);
}

static bool decode_activemask(Decoder *d)
{
    decode_reserve(d, 1, 0);
    d->c->result[0] = d->opnds ? decode_result(d, d->opnd[0]) : (Arg){0};
    d->c->run = run_activemask;
    return d->opnds == 1 && op_take_next(&d->op, "b32");
}

static void run_elect(Warp *w, Split *s, const Code *c, u32 mask)
{
    u64 buffer[LANES], leader[LANES];
    u32 chosen = 0;
    const u64 *named = named_masks(w, s, c, 0, mask, buffer);
    if (!named)
        return;
    u32 left = taking_part(w, mask);
    for (u32 group; (group = sync_next_group(named, &left));) {
        u32 first = (u32)__builtin_ctz(group);
        chosen |= 1u << first;
        for_each_lane(lane, group)
            leader[lane] = first;
    }
    arg_store(s, &c->result[0], elem_b32, leader, mask);
    arg_store_pred(s, &c->result[1], chosen, mask);
}

static bool decode_elect(Decoder *d)
{
    if (!op_take_next(&d->op, "sync") || d->opnds != 2 || decode_results(d, d->opnd[0], 1) != 2)
        return false;
    d->c->arg[0] = decode_source(d, d->opnd[1], elem_b32);
    d->c->run = run_elect;
    return true;
}

static void run_warp_sync(Warp *w, Split *s, const Code *c, u32 mask)
{
    u64 buffer[LANES];
    const u64 *named = named_masks(w, s, c, 0, mask, buffer);
    if (!named)
        return;
    u32 left = taking_part(w, mask);
    for (u32 group; (group = sync_next_group(named, &left));)
        race_warp_sync(w, group);
}

bool decode_warp_sync(Decoder *d)
{
    if (d->opnds != 1)
        return false;
    decode_reserve(d, 0, 1);
    d->c->arg[0] = decode_source(d, d->opnd[0], elem_b32);
    d->c->run = run_warp_sync;
    return true;
}

const DecodeRow rows_lanes[] = {
    {"shfl", decode_shfl},
    {"vote", decode_vote},
    {"match", decode_match},
    {"redux", decode_redux},
    {"activemask", decode_activemask},
    {"elect", decode_elect},
    {NULL, NULL},
};
