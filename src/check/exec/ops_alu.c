/* Arithmetic: one result from alu_pick()'s function; and what has two results, a carry, or moves vectors. */
#include "check/exec/decode.h"

/* ---- one result ----------------------------------------------------------------------------------------------- */

/* Lanes whose result is known: all sources are, or those that are decide. */
enum { KNOWN_BY_ALL, KNOWN_SELP, KNOWN_AND, KNOWN_OR, KNOWN_LEAST };

static u32 zero_lanes(Warp *w, Split *s, const Arg *a)
{
    u64 buffer[LANES];
    const u64 *value = arg_peek(w, s, a, buffer);
    u32 zero = 0;
    for (u32 lane = 0; lane < LANES; lane++)
        zero |= (u32)(value[lane] == 0) << lane;
    return zero;
}

static u32 known_lanes(Warp *w, Split *s, const Code *c)
{
    u32 known[ALU_ARGS] = {0}, all = ~0u, value[2];
    for (u32 i = 0; i < c->args; i++)
        all &= known[i] = arg_known(s, &c->arg[i]);
    if (c->action == KNOWN_BY_ALL || all == ~0u)
        return all;
    if (c->action == KNOWN_SELP) {
        u32 choice = arg_peek_pred(w, s, &c->arg[2]);
        return known[2] & ((choice & known[0]) | (~choice & known[1]));
    }
    if (c->action == KNOWN_LEAST)
        return all | (known[0] & zero_lanes(w, s, &c->arg[0])) | (known[1] & zero_lanes(w, s, &c->arg[1]));
    for (u32 i = 0; i < 2; i++)
        value[i] = c->action == KNOWN_OR ? arg_peek_pred(w, s, &c->arg[i]) : ~arg_peek_pred(w, s, &c->arg[i]);
    return all | (known[0] & value[0]) | (known[1] & value[1]);
}

static void run_alu(Warp *w, Split *s, const Code *c, u32 mask)
{
    u64 buffer[ALU_ARGS][LANES], result[LANES];
    const u64 *arg[ALU_ARGS];
    const AluOp *alu = c->alu;
    AluFn *fn = alu->fn;
    u32 known = known_lanes(w, s, c);
    arg[0] = arg_peek(w, s, &c->arg[0], buffer[0]);
    for (u32 i = 1; i < ALU_ARGS; i++)
        arg[i] = i < c->args ? arg_peek(w, s, &c->arg[i], buffer[i]) : arg[0];
    u32 set = 0;
    for_each_lane(lane, mask) {
        u64 v[ALU_ARGS] = {arg[0][lane], arg[1][lane], arg[2][lane], arg[3][lane], arg[4][lane]};
        result[lane] = fn(&alu->mode, v);
        set |= (u32)(result[lane] & 1) << lane;
    }
    if (alu->result.kind == EK_PRED)
        arg_store_pred(s, &c->result[0], set, mask);
    else
        arg_store(s, &c->result[0], alu->result, result, mask);
    arg_forget(s, &c->result[0], mask & ~known);
}

bool decode_arithmetic(Decoder *d)
{
    AluOp *alu = arena_new(d->p->arena, AluOp);
    if (alu_pick(&d->op, alu) != ALU_PICKED || d->opnds != alu->args + 1u)
        return false;
    decode_reserve(d, 1, alu->args);
    d->c->result[0] = decode_result(d, d->opnd[0]);
    for (u32 i = 0; i < alu->args; i++) {
        d->c->arg[i] = decode_source(d, d->opnd[i + 1], alu->arg[i]);
        bool pred = alu->arg[i].kind == EK_PRED, is_pred = d->c->arg[i].kind == ARG_PRED;
        if (pred != is_pred && d->c->arg[i].kind != ARG_CONST)
            return false;
    }
    if ((alu->result.kind == EK_PRED) != (d->c->result[0].kind == ARG_PRED) && d->c->result[0].kind)
        return false;
    d->c->alu = alu;
    d->c->type = alu->result;
    d->c->run = run_alu;
    bool pred = alu->result.kind == EK_PRED;
    d->c->action = op_is(&d->op, "selp")                                     ? KNOWN_SELP
                   : op_is(&d->op, "and") && pred                            ? KNOWN_AND
                   : op_is(&d->op, "or") && pred                             ? KNOWN_OR
                   : op_is(&d->op, "min") && alu->result.kind == EK_UNSIGNED ? KNOWN_LEAST
                                                                             : KNOWN_BY_ALL;
    return true;
}

/* ---- setp ----------------------------------------------------------------------------------------------------- */

/* result: p, q or absent; arg[0..1] compared, arg[2] combined if there. */
static void run_setp(Warp *w, Split *s, const Code *c, u32 mask)
{
    u64 buffer[2][LANES];
    const AluMode *m = &c->alu->mode;
    u32 holds = 0, p, q, known = arg_known(s, &c->arg[0]) & arg_known(s, &c->arg[1]), known_p = known, known_q = known;
    const u64 *a = arg_peek(w, s, &c->arg[0], buffer[0]), *b = arg_peek(w, s, &c->arg[1], buffer[1]);
    for_each_lane(lane, mask) {
        u64 v[2] = {a[lane], b[lane]};
        holds |= (u32)c->alu->fn(m, v) << lane;
    }
    p = holds;
    q = ~holds;
    if (m->combine) {
        u32 third = arg_peek_pred(w, s, &c->arg[2]), third_known = arg_known(s, &c->arg[2]);
        /* A false operand of an `and`, a true one of an `or`, decides alone. */
        u32 turn = m->combine == COMBINE_AND ? ~0u : 0, may = m->combine == COMBINE_XOR ? 0 : ~0u;
        u32 decided = third_known & may & (third ^ turn);
        known_p = (known & third_known) | decided | (known & may & (p ^ turn));
        known_q = (known & third_known) | decided | (known & may & (q ^ turn));
        p = m->combine == COMBINE_AND ? p & third : m->combine == COMBINE_OR ? p | third : p ^ third;
        q = m->combine == COMBINE_AND ? q & third : m->combine == COMBINE_OR ? q | third : q ^ third;
    }
    /* The first counts where both are one register, as in ptxas. */
    arg_store_pred(s, &c->result[1], q, mask);
    arg_forget(s, &c->result[1], mask & ~known_q);
    arg_store_pred(s, &c->result[0], p, mask);
    arg_forget(s, &c->result[0], mask & ~known_p);
}

static bool is_pred_result(const Arg *result) { return result->kind == ARG_PRED || result->kind == ARG_NONE; }

static bool decode_setp(Decoder *d)
{
    AluOp *alu = arena_new(d->p->arena, AluOp);
    if (alu_pick(&d->op, alu) != ALU_PICKED)
        return false;
    u32 sources = alu->mode.combine ? 3 : 2;
    if (d->opnds != sources + 1 || decode_results(d, d->opnd[0], sources) > 2)
        return false;
    if (!is_pred_result(&d->c->result[0]) || !is_pred_result(&d->c->result[1]))
        return false;
    for (u32 i = 0; i < sources; i++)
        d->c->arg[i] = decode_source(d, d->opnd[i + 1], i < 2 ? alu->arg[i] : elem_pred);
    d->c->alu = alu;
    d->c->run = run_setp;
    return sources == 2 || d->c->arg[2].kind == ARG_PRED;
}

/* ---- lop3 with a predicate ------------------------------------------------------------------------------------ */

/* result: d, p; arg: a, b, c, table, q. p = (d != 0) op q. */
static void run_lop3_pred(Warp *w, Split *s, const Code *c, u32 mask)
{
    u64 buffer[4][LANES], result[LANES];
    const u64 *arg[4];
    u32 nonzero = 0;
    u32 known = arg_known(s, &c->arg[4]);
    for (u32 i = 0; i < 4; i++) {
        known &= arg_known(s, &c->arg[i]);
        arg[i] = arg_peek(w, s, &c->arg[i], buffer[i]);
    }
    u32 q = arg_peek_pred(w, s, &c->arg[4]);
    for_each_lane(lane, mask) {
        u64 v[4] = {arg[0][lane], arg[1][lane], arg[2][lane], arg[3][lane]};
        result[lane] = c->alu->fn(&c->alu->mode, v) & mask_bits(32);
        nonzero |= (u32)(result[lane] != 0) << lane;
    }
    arg_store(s, &c->result[0], elem_b32, result, mask);
    arg_store_pred(s, &c->result[1], c->action == COMBINE_AND ? nonzero & q : nonzero | q, mask);
    arg_forget(s, &c->result[0], mask & ~known);
    arg_forget(s, &c->result[1], mask & ~known);
}

static bool decode_lop3(Decoder *d)
{
    AluOp *alu = arena_new(d->p->arena, AluOp);
    bool is_and = op_take_next(&d->op, "and");
    if (!is_and && !op_take_next(&d->op, "or"))
        return false; /* the plain form is arithmetic */
    if (d->opnds != 6 || decode_results(d, d->opnd[0], 5) != 2 || alu_pick(&d->op, alu) != ALU_PICKED)
        return false;
    for (u32 i = 0; i < 5; i++)
        d->c->arg[i] = decode_source(d, d->opnd[i + 1], i < 4 ? elem_b32 : elem_pred);
    d->c->alu = alu;
    d->c->action = is_and ? COMBINE_AND : COMBINE_OR;
    d->c->run = run_lop3_pred;
    return is_pred_result(&d->c->result[1]) && d->c->arg[4].kind == ARG_PRED;
}

/* ---- carry chains --------------------------------------------------------------------------------------------- */

enum { CARRY_ADD, CARRY_SUB, CARRY_MAD_LOW, CARRY_MAD_HIGH };
enum { CARRY_IN = 1, CARRY_OUT = 2 };

/* One step: the result, and the carry. A subtraction adds the complement, so that its carry is set when it does not
 * borrow. Only programs that mix additions and subtractions in one chain can tell. */
static u64 carry_step(const Code *c, const u64 *v, u32 in, u32 *out)
{
    u32 bits = c->type.bits;
    u64 limit = mask_bits(bits), a = v[0] & limit, b = v[1] & limit;
    if (c->action == CARRY_SUB) {
        u32 borrow = c->action2 & CARRY_IN && !in;
        *out = a >= (unsigned __int128)b + borrow;
        return a - b - borrow;
    }
    if (c->action == CARRY_MAD_LOW)
        a = a * b & limit;
    else if (c->action == CARRY_MAD_HIGH && c->type.kind == EK_SIGNED)
        a = (u64)((__int128)sign_extend(a, bits) * sign_extend(b, bits) >> bits) & limit;
    else if (c->action == CARRY_MAD_HIGH)
        a = (u64)((unsigned __int128)a * b >> bits);
    unsigned __int128 sum = (unsigned __int128)a + (c->action == CARRY_ADD ? b : v[2] & limit) + in;
    *out = (sum >> bits) != 0;
    return (u64)sum;
}

static void run_carry(Warp *w, Split *s, const Code *c, u32 mask)
{
    u64 buffer[3][LANES], result[LANES];
    const u64 *arg[3];
    Frame *f = s->frame;
    u32 carry = f->carry;
    u32 known = c->action2 & CARRY_IN ? f->carry_written : ~0u;
    arg[0] = buffer[0];
    for (u32 i = 0; i < 3; i++) {
        known &= i < c->args ? arg_known(s, &c->arg[i]) : ~0u;
        arg[i] = i < c->args ? arg_peek(w, s, &c->arg[i], buffer[i]) : arg[0];
    }
    for_each_lane(lane, mask) {
        u64 v[3] = {arg[0][lane], arg[1][lane], arg[2][lane]};
        u32 out;
        result[lane] = carry_step(c, v, c->action2 & CARRY_IN ? carry >> lane & 1 : 0, &out);
        carry = (carry & ~(1u << lane)) | out << lane;
    }
    if (c->action2 & CARRY_OUT) {
        f->carry = carry;
        f->carry_written = (f->carry_written & ~mask) | (known & mask);
    }
    arg_store(s, &c->result[0], c->type, result, mask);
    arg_forget(s, &c->result[0], mask & ~known);
}

static bool decode_carry(Decoder *d)
{
    Op *op = &d->op;
    bool mad = op_is(op, "mad") || op_is(op, "madc"), sub = op_is(op, "sub") || op_is(op, "subc");
    bool in = op_is(op, "addc") || op_is(op, "subc") || op_is(op, "madc");
    bool high = mad && op_take_next(op, "hi");
    if (mad && !high && !op_take_next(op, "lo"))
        return false;
    bool out = op_take_next(op, "cc");
    if ((!in && !out) || !op_take_type(op, &d->c->type) || !op_done(op)) /* neither: plain arithmetic */
        return false;
    u32 sources = mad ? 3 : 2;
    if (d->opnds != sources + 1 || elem_is_float(d->c->type) || d->c->type.bits < 32)
        return false;
    decode_reserve(d, 1, sources);
    d->c->result[0] = decode_result(d, d->opnd[0]);
    for (u32 i = 0; i < sources; i++)
        d->c->arg[i] = decode_source(d, d->opnd[i + 1], d->c->type);
    d->c->action = mad ? (high ? CARRY_MAD_HIGH : CARRY_MAD_LOW) : sub ? CARRY_SUB : CARRY_ADD;
    d->c->action2 = (in ? CARRY_IN : 0) | (out ? CARRY_OUT : 0);
    d->c->run = run_carry;
    return true;
}

/* ---- vector moves --------------------------------------------------------------------------------------------- */

/* The pieces of one side, least significant first: each a register's part of the whole. */
static u32 piece_bits(u32 total, u32 pieces) { return total / pieces; }

static void run_vector_mov(Warp *w, Split *s, const Code *c, u32 mask)
{
    u64 buffer[LANES], whole[2][LANES] = {{0}};
    u32 total = elem_total_bits(c->type), in = piece_bits(total, c->args), out = piece_bits(total, c->results);
    u32 known[8], all = ~0u;
    for (u32 i = 0; i < c->args; i++) {
        const u64 *v = arg_peek(w, s, &c->arg[i], buffer);
        all &= known[i] = arg_known(s, &c->arg[i]);
        for_each_lane(lane, mask)
            whole[i * in / 64][lane] |= (v[lane] & mask_bits(in)) << (i * in % 64);
    }
    for (u32 i = 0; i < c->results; i++) {
        u64 part[LANES];
        for_each_lane(lane, mask)
            part[lane] = whole[i * out / 64][lane] >> (i * out % 64) & mask_bits(out);
        arg_store(s, &c->result[i], (ElemType){EK_BITS, (u8)(out < 64 ? out : 64), 1}, part, mask);
        arg_forget(s, &c->result[i], mask & ~(in == out ? known[i] : all));
    }
}

static bool decode_mov(Decoder *d)
{
    u32 count = op_take_next(&d->op, "v2") ? 2 : op_take_next(&d->op, "v4") ? 4 : op_take_next(&d->op, "v8") ? 8 : 1;
    if (d->opnds != 2 || !op_take_type(&d->op, &d->c->type))
        return false;
    u32 total = elem_total_bits(d->c->type) * count;
    bool plain = true;
    for (u32 i = 0; i < 2; i++) {
        const Operand *o = d->opnd[i];
        bool whole_vector = o->kind == OPND_REG && o->sub == SUB_NONE && fn_reg(d->f->fn, o->id)->vector > 1;
        plain &= o->kind != OPND_VEC && !whole_vector;
    }
    if ((total != 128 && plain) || total > 128)
        return false; /* a plain one: arithmetic */
    d->c->type = (ElemType){d->c->type.kind, (u8)total, 1};
    if (d->c->type.kind == EK_PRED)
        return false;
    decode_reserve(d, DECODE_PIECES, DECODE_PIECES);
    d->c->results = (u8)decode_pieces(d, d->opnd[0], d->c->result, true, EK_BITS, total);
    d->c->args = (u8)decode_pieces(d, d->opnd[1], d->c->arg, false, EK_BITS, total);
    d->c->run = run_vector_mov;
    return d->c->results && d->c->args;
}

/* ---- addresses ------------------------------------------------------------------------------------------------ */

enum { TO_GENERIC, FROM_GENERIC, IS_SPACE };

static void run_cvta(Warp *w, Split *s, const Code *c, u32 mask)
{
    u64 buffer[LANES], result[LANES], base = window_base(w->m->program, c->space);
    const u64 *v = arg_peek(w, s, &c->arg[0], buffer);
    u32 set = 0, known = arg_known(s, &c->arg[0]);
    for_each_lane(lane, mask) {
        u64 address = v[lane];
        result[lane] = c->action == TO_GENERIC ? v[lane] + base : v[lane] - base;
        set |= (u32)(memory_resolve(w->m, &address) == (MemSpace)c->space) << lane;
    }
    if (c->action == IS_SPACE)
        arg_store_pred(s, &c->result[0], set, mask);
    else
        arg_store(s, &c->result[0], c->type, result, mask);
    arg_forget(s, &c->result[0], mask & ~known);
}

static bool decode_cvta(Decoder *d)
{
    bool is_space = op_is(&d->op, "isspacep");
    bool to = !is_space && op_take_next(&d->op, "to");
    MemSpace space = decode_take_space(d);
    d->c->type = (ElemType){EK_UNSIGNED, 64, 1};
    if (space == MS_GENERIC || d->opnds != 2 || (!is_space && !op_take_type(&d->op, &d->c->type)))
        return false;
    decode_reserve(d, 1, 1);
    d->c->result[0] = decode_result(d, d->opnd[0]);
    d->c->arg[0] = decode_source(d, d->opnd[1], elem_b64);
    if (space == MS_PARAM && !d->f->fn->is_entry)
        space = MS_LOCAL;
    d->c->space = (u8)space;
    d->c->action = is_space ? IS_SPACE : to ? FROM_GENERIC : TO_GENERIC;
    d->c->run = run_cvta;
    return !is_space || d->c->result[0].kind == ARG_PRED;
}

const DecodeRow rows_alu[] = {
    {"setp", decode_setp}, {"lop3", decode_lop3},  {"add", decode_carry},     {"addc", decode_carry},
    {"sub", decode_carry}, {"subc", decode_carry}, {"mad", decode_carry},     {"madc", decode_carry},
    {"mov", decode_mov},   {"cvta", decode_cvta},  {"isspacep", decode_cvta}, {NULL, NULL},
};
