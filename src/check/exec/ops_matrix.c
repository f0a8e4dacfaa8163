/* Matrices spread over a warp: ldmatrix, stmatrix, mma, and wmma for f16.
 *
 * Sums are taken in double precision and in the order of k; the hardware's order and precision differ and are not
 * documented. What counts is that before and after are the same. Integer sums are exact. */
#include "check/exec/decode.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* All lanes of the warp must execute it; the others' registers are read as they are. */
static void whole_warp(Warp *w, const Code *c, u32 mask) { sync_check(w, c, mask, w->lanes & ~w->exited); }

/* ---- fragments ------------------------------------------------------------------------------------------------ */

#define MATRIX_MAX 32 /* rows and columns */

typedef u64 Elements[MATRIX_MAX][MATRIX_MAX]; /* by row and column, as raw bits */

typedef struct Fragment Fragment;

/* Finds the lane that holds an element of a fragment, and the index among its elements there. */
typedef void Place(const Fragment *f, u32 row, u32 column, u32 *lane, u32 *index);

/* A matrix that is an operand: its elements are spread over the lanes' registers. */
struct Fragment {
    ElemType type;
    u32 rows, columns;
    Place *place;
    u8 registers;
    Arg *arg;
    bool by_columns; /* wmma: how it lies in memory */
};

typedef struct Matrix {
    Fragment a, b, c, d;
    bool saturate;
} Matrix;

/* Elements in one register. */
static u32 elements_each(const Fragment *f) { return f->type.bits == 64 ? 1 : 32 / f->type.bits; }

/* Neighbours along k that a register of mma's a and b holds. */
static u32 run_of(const Fragment *f) { return f->type.bits >= 32 ? 1 : 32 / f->type.bits; }

/* The register layouts of mma.m16n8kK and mma.m8n8kK (PTX ISA, "Matrix Fragments for mma"). Lane = 4 * (row % 8) + position; row blocks
 * of 8, then k blocks follow one another. */
static void a_place(const Fragment *f, u32 row, u32 k, u32 *lane, u32 *index)
{
    u32 run = run_of(f), wide = 4 * run, row_block = row / 8, k_block = k / wide;
    *lane = 4 * (row % 8) + k % wide / run;
    *index = (k_block * (f->rows / 8) + row_block) * run + k % run;
}
static void b_place(const Fragment *f, u32 k, u32 column, u32 *lane, u32 *index)
{
    u32 run = run_of(f), wide = 4 * run;
    *lane = 4 * column + k % wide / run;
    *index = k / wide * run + k % run;
}
static void c_place(const Fragment *f, u32 row, u32 column, u32 *lane, u32 *index)
{
    (void)f;
    *lane = 4 * (row % 8) + column / 2;
    *index = row / 8 * 2 + column % 2;
}
/* Which lane holds which element of wmma is not specified: only load, mma and store of one shape and type fit together. Here the
 * elements go to the lanes in order; the layouts row and col are one fragment, as loading has put the elements in place.
 * f16 fragments a and b are twice as large as needed, as PTX has it: the second half is unused. */
static void wmma_place(const Fragment *f, u32 row, u32 column, u32 *lane, u32 *index)
{
    u32 number = row * f->columns + column;
    *lane = number % LANES;
    *index = number / LANES;
}

static void gather(Warp *w, Split *s, const Code *c, const Fragment *f, u32 mask, Elements out)
{
    u64 buffer[16][LANES];
    const u64 *lanes[16] = {NULL};
    u32 each = elements_each(f), bits = f->type.bits;
    for (u32 i = 0; i < f->registers; i++)
        lanes[i] = arg_fetch(w, s, c, &f->arg[i], mask, buffer[i]);
    for (u32 r = 0; r < f->rows; r++)
        for (u32 k = 0; k < f->columns; k++) {
            u32 lane, index;
            f->place(f, r, k, &lane, &index);
            out[r][k] = lanes[index / each][lane] >> (index % each * bits) & mask_bits(bits);
        }
}

static void scatter(Split *s, const Fragment *f, u32 mask, Elements in)
{
    u64 value[16][LANES] = {{0}};
    u32 each = elements_each(f), bits = f->type.bits;
    for (u32 r = 0; r < f->rows; r++)
        for (u32 k = 0; k < f->columns; k++) {
            u32 lane, index;
            f->place(f, r, k, &lane, &index);
            value[index / each][lane] |= in[r][k] << (index % each * bits);
        }
    ElemType whole = {EK_BITS, bits == 64 ? 64 : 32, 1};
    for (u32 i = 0; i < f->registers; i++)
        arg_store(s, &f->arg[i], whole, value[i], mask);
}

/* Takes the registers, as many as the elements need; wmma may have more. Type, rows, columns and place are set. */
static bool take_fragment(Decoder *d, const Operand *o, Fragment *f, bool is_result)
{
    const Operand *member[16];
    u32 n = decode_members(o, member, 16), bits = f->type.bits < 32 ? 32 : f->type.bits;
    if (n > 16 || f->rows > MATRIX_MAX || f->columns > MATRIX_MAX)
        return false;
    f->arg = arena_array(d->p->arena, Arg, 17);
    f->registers = (u8)n;
    for (u32 i = 0; i < n; i++)
        f->arg[i] = is_result ? decode_result(d, member[i]) : decode_source(d, member[i], (ElemType){EK_BITS, (u8)bits, 1});
    u32 holds = n * bits * LANES, needs = f->rows * f->columns * f->type.bits;
    return f->place == wmma_place ? holds >= needs : holds == needs;
}

/* The fragments of d = a * b + c, whose types are set. */
static bool take_fragments(Decoder *d, Matrix *x, u32 m, u32 n, u32 k, Place *const place[3])
{
    Fragment *const f[] = {&x->d, &x->a, &x->b, &x->c};
    const u32 rows[] = {m, m, k, m}, columns[] = {n, k, n, n};
    Place *const at[] = {place[2], place[0], place[1], place[2]};
    for (u32 i = 0; i < COUNT_OF(f); i++) {
        f[i]->rows = rows[i];
        f[i]->columns = columns[i];
        f[i]->place = at[i];
        if (!take_fragment(d, d->opnd[i], f[i], i == 0))
            return false;
    }
    return true;
}

/* ---- products ------------------------------------------------------------------------------------------------- */

static double element_value(ElemType t, u64 bits)
{
    if (t.kind == EK_SIGNED)
        return (double)sign_extend(bits, t.bits);
    if (t.kind == EK_UNSIGNED)
        return (double)bits;
    if (t.kind == EK_TF32)
        return bits_to_float(bits & ~mask_bits(13));
    return t.bits == 64   ? bits_to_double(bits)
           : t.bits == 32 ? (double)bits_to_float(bits)
                          : format_to_double(format_of(t), bits);
}

static u64 accumulate(const Matrix *x, double sum, i64 whole, u64 carry)
{
    ElemType t = x->d.type;
    if (t.kind == EK_SIGNED) {
        i64 total = whole + sign_extend(carry, 32);
        if (x->saturate)
            total = total > INT32_MAX ? INT32_MAX : total < INT32_MIN ? INT32_MIN : total;
        return (u64)total & mask_bits(32);
    }
    sum += element_value(x->c.type, carry);
    return format_from_double(format_of(t), sum, ROUND_NEAREST_EVEN, false);
}

static void multiply(const Matrix *x, Elements a, Elements b, Elements c, Elements d)
{
    bool whole = x->d.type.kind == EK_SIGNED;
    for (u32 r = 0; r < x->d.rows; r++)
        for (u32 n = 0; n < x->d.columns; n++) {
            double sum = 0;
            i64 exact = 0;
            for (u32 k = 0; k < x->a.columns; k++) {
                double p = element_value(x->a.type, a[r][k]), q = element_value(x->b.type, b[k][n]);
                if (whole)
                    exact += (i64)p * (i64)q;
                else
                    sum = fma(p, q, sum);
            }
            d[r][n] = accumulate(x, sum, exact, c[r][n]);
        }
}

static void run_mma(Warp *w, Split *s, const Code *code, u32 mask)
{
    const Matrix *x = code->data;
    Elements a, b, c, d;
    whole_warp(w, code, mask);
    gather(w, s, code, &x->a, mask, a);
    gather(w, s, code, &x->b, mask, b);
    gather(w, s, code, &x->c, mask, c);
    multiply(x, a, b, c, d);
    scatter(s, &x->d, mask, d);
}

static bool take_shape(Op *op, u32 *m, u32 *n, u32 *k)
{
    for (u32 i = 0; i < op->parts; i++) {
        if (op->taken >> i & 1 || op->part[i].p[0] != 'm')
            continue;
        char text[24] = {0}, rest;
        memcpy(text, op->part[i].p, op->part[i].len < 23 ? op->part[i].len : 23);
        if (sscanf(text, "m%un%uk%u%c", m, n, k, &rest) == 3) {
            op->taken |= 1u << i;
            return true;
        }
    }
    return false;
}

/* mma.sync.aligned.shape.row.col{.satfinite}.dtype.atype.btype.ctype d, a, b, c */
static bool decode_mma(Decoder *d)
{
    static Place *const places[] = {a_place, b_place, c_place};
    Matrix *x = arena_new(d->p->arena, Matrix);
    ElemType t[4];
    u32 m, n, k;
    if (!op_take(&d->op, "sync") || !op_take(&d->op, "aligned") || !take_shape(&d->op, &m, &n, &k))
        return false;
    if (!op_take_next(&d->op, "row") || !op_take_next(&d->op, "col"))
        return false;
    x->saturate = op_take_next(&d->op, "satfinite");
    if (op_take_types(&d->op, t, 4) != 4 || d->opnds != 4 || n != 8 || (m != 16 && m != 8) || k > MATRIX_MAX)
        return false;
    x->d.type = t[0];
    x->a.type = t[1];
    x->b.type = t[2];
    x->c.type = t[3];
    bool integer = t[0].kind == EK_SIGNED;
    /* m8n8k4 of f16 has a layout of its own, and is not done; m16n8k4 of f64 neither. */
    bool shape = k * t[1].bits >= 128 && (m == 16 || integer || t[1].bits == 64);
    for (u32 i = 1; i < 3; i++)
        if (integer ? (t[i].bits != 8 || t[i].kind == EK_BITS) : (!elem_is_float(t[i]) || t[i].kind != t[1].kind))
            return false;
    if (!shape || t[0].kind != t[3].kind || (integer && !elem_is(t[3], EK_SIGNED, 32)) || (t[1].bits == 64 && m != 8))
        return false;
    d->c->data = x;
    d->c->aligned = true;
    d->c->run = run_mma;
    return take_fragments(d, x, m, n, k, places);
}

/* ---- ldmatrix, stmatrix --------------------------------------------------------------------------------------- */

/* Matrix i of 8 rows of 16 bytes: the address of row r comes from lane 8 * i + r. Lane l holds row l / 4, elements
 * 2 * (l % 4) and the next; transposed, rows and columns change places. */
static void run_matrix_memory(Warp *w, Split *s, const Code *c, u32 mask)
{
    u64 buffer[LANES], value[4][LANES] = {{0}};
    const u64 *stored[4] = {NULL};
    u64 store_buffer[4][LANES];
    bool store = c->action, transposed = c->action2;
    whole_warp(w, c, mask);
    const u64 *base = arg_fetch(w, s, c, &c->arg[0], mask, buffer);
    for (u32 i = 0; store && i < c->vector; i++)
        stored[i] = arg_fetch(w, s, c, &c->arg[1 + i], mask, store_buffer[i]);
    for (u32 i = 0; i < c->vector; i++)
        for (u32 r = 0; r < 8; r++) {
            u8 row[16] = {0};
            u32 from = 8 * i + r;
            for (u32 k = 0; store && k < 8; k++) {
                u32 lane = transposed ? 4 * k + r / 2 : 4 * r + k / 2, half = transposed ? r % 2 : k % 2;
                u16 element = (u16)(stored[i][lane] >> (16 * half));
                memcpy(row + 2 * k, &element, 2);
            }
            if (store) {
                memory_write((LaneAccess){w, c, from, 16, c->space, base[from] + (u64)c->offset, row, false});
                continue;
            }
            const u8 *p = memory_read((LaneAccess){w, c, from, 16, c->space, base[from] + (u64)c->offset, NULL, false});
            if (p)
                memcpy(row, p, 16);
            for (u32 k = 0; k < 8; k++) {
                u32 lane = transposed ? 4 * k + r / 2 : 4 * r + k / 2, half = transposed ? r % 2 : k % 2;
                u16 element;
                memcpy(&element, row + 2 * k, 2);
                value[i][lane] |= (u64)element << (16 * half);
            }
        }
    for (u32 i = 0; !store && i < c->vector; i++)
        arg_store(s, &c->result[i], elem_b32, value[i], mask);
}

static bool decode_matrix_memory(Decoder *d)
{
    Code *c = d->c;
    const Operand *member[4];
    bool store = op_is(&d->op, "stmatrix");
    if (!op_take(&d->op, "sync") || !op_take(&d->op, "aligned") || !op_take(&d->op, "m8n8") || d->opnds != 2)
        return false;
    c->vector = op_take(&d->op, "x1") ? 1 : op_take(&d->op, "x2") ? 2 : op_take(&d->op, "x4") ? 4 : 0;
    c->action = store;
    c->action2 = op_take(&d->op, "trans");
    MemSpace space = decode_take_space(d);
    decode_reserve(d, 4, 5);
    const Operand *registers = d->opnd[store ? 1 : 0], *address = d->opnd[store ? 0 : 1];
    if (!c->vector || !op_take(&d->op, "b16") || decode_members(registers, member, 4) != c->vector)
        return false;
    for (u32 i = 0; i < c->vector; i++) {
        if (store)
            c->arg[1 + i] = decode_source(d, member[i], elem_b32);
        else
            c->result[i] = decode_result(d, member[i]);
    }
    bool ok = decode_address(d, address, &c->arg[0], &c->offset, &space);
    c->space = (u8)space;
    c->aligned = true;
    c->run = run_matrix_memory;
    return ok;
}

/* ---- wmma ----------------------------------------------------------------------------------------------------- */

/* arg[0]: address; arg[1]: stride or absent. */
static void run_wmma_memory(Warp *w, Split *s, const Code *c, u32 mask)
{
    const Fragment *f = c->data;
    u32 bytes = f->type.bits / 8, first = (u32)__builtin_ctz(mask);
    u64 buffer[2][LANES];
    Elements element = {{0}};
    bool store = c->action;
    whole_warp(w, c, mask);
    u64 base = arg_fetch(w, s, c, &c->arg[0], mask, buffer[0])[first] + (u64)c->offset;
    u64 stride = c->arg[1].kind  ? (u32)arg_fetch(w, s, c, &c->arg[1], mask, buffer[1])[first]
                 : f->by_columns ? f->rows
                                 : f->columns;
    if (store)
        gather(w, s, c, f, mask, element);
    for (u32 r = 0; r < f->rows; r++)
        for (u32 k = 0; k < f->columns; k++) {
            u32 lane, index;
            f->place(f, r, k, &lane, &index);
            u64 address = base + (f->by_columns ? k * stride + r : r * stride + k) * bytes;
            LaneAccess access = {w, c, lane, bytes, c->space, address, store ? (const u8 *)&element[r][k] : NULL, false};
            const u8 *p = store ? NULL : memory_read(access);
            if (store)
                memory_write(access);
            else if (p)
                memcpy(&element[r][k], p, bytes);
        }
    if (!store)
        scatter(s, f, mask, element);
}

/* wmma.load.{a,b,c} and wmma.store.d */
static bool decode_wmma_memory(Decoder *d, bool store)
{
    enum { WMMA_A, WMMA_B, WMMA_C };
    static const char *const names[] = {"a", "b", "c", NULL};
    Code *c = d->c;
    Fragment *f = arena_new(d->p->arena, Fragment);
    u32 m, n, k;
    int which = store ? (op_take_next(&d->op, "d") ? WMMA_C : -1) : op_take_any(&d->op, names);
    if (which < 0 || !op_take(&d->op, "sync") || !op_take(&d->op, "aligned"))
        return false;
    f->by_columns = op_take(&d->op, "col");
    if (!f->by_columns && !op_take(&d->op, "row"))
        return false;
    MemSpace space = decode_take_space(d);
    if (!take_shape(&d->op, &m, &n, &k) || k != 16 || !op_take_type(&d->op, &f->type) || d->opnds < 2 || d->opnds > 3)
        return false;
    if (!elem_is(f->type, EK_FLOAT, 16) && !elem_is(f->type, EK_FLOAT, 32))
        return false;
    f->rows = which == WMMA_B ? k : m;
    f->columns = which == WMMA_A ? k : n;
    f->place = wmma_place;
    decode_reserve(d, 0, 2);
    const Operand *registers = d->opnd[store ? 1 : 0], *address = d->opnd[store ? 0 : 1];
    if (d->opnds == 3)
        c->arg[1] = decode_source(d, d->opnd[2], elem_u32);
    bool ok = take_fragment(d, registers, f, !store) && decode_address(d, address, &c->arg[0], &c->offset, &space);
    c->space = (u8)space;
    c->action = store;
    c->aligned = true;
    c->data = f;
    c->run = run_wmma_memory;
    return ok;
}

/* wmma.{load,store}...; wmma.mma.sync.aligned.alayout.blayout.shape.dtype.ctype d, a, b, c: m16n16k16 and its kin, f16. */
static bool decode_wmma(Decoder *d)
{
    static Place *const places[] = {wmma_place, wmma_place, wmma_place};
    bool load = op_take_next(&d->op, "load"), store = !load && op_take_next(&d->op, "store");
    if (load || store)
        return decode_wmma_memory(d, store);
    Matrix *x = arena_new(d->p->arena, Matrix);
    ElemType t[4], half = {EK_FLOAT, 16, 1};
    u32 m, n, k;
    if (!op_take_next(&d->op, "mma") || !op_take(&d->op, "sync") || !op_take(&d->op, "aligned"))
        return false;
    for (u32 i = 0; i < 2; i++)
        if (!op_take_next(&d->op, "row") && !op_take_next(&d->op, "col"))
            return false;
    if (!take_shape(&d->op, &m, &n, &k) || k != 16 || d->opnds != 4)
        return false;
    if (op_take_types(&d->op, t, 4) != 2 || t[0].kind != EK_FLOAT || t[1].kind != EK_FLOAT || t[0].bits > 32 ||
        t[1].bits > 32)
        return false;
    x->a.type = x->b.type = half;
    x->d.type = t[0];
    x->c.type = t[1];
    d->c->data = x;
    d->c->aligned = true;
    d->c->run = run_mma;
    return take_fragments(d, x, m, n, k, places);
}

const DecodeRow rows_matrix[] = {
    {"mma", decode_mma}, {"ldmatrix", decode_matrix_memory}, {"stmatrix", decode_matrix_memory}, {"wmma", decode_wmma},
    {NULL, NULL},
};
