#include "check/prove/arguments.h"

#include "check/prove/locals.h"

static const Sym *variable(const Machine *m, SymId id)
{
    const Sym *s = &m->fn->module->syms.v[id];
    return s->kind == SYM_VAR && s->space == SPACE_PARAM && s->owner == m->fn ? s : NULL;
}

bool prove_is_variable_of_call(const Machine *m, const Operand *o) { return o->kind == OPND_SYM && variable(m, o->id); }

static const Operand *memory_operand(const Instr *i)
{
    const Operand *o = instr_operand(i, i->op->opcode == OPC_LD ? 1 : 0);
    return o && o->kind == OPND_MEM && o->value == 1 ? o : NULL;
}

bool prove_is_argument(const Machine *m, const Instr *i)
{
    const OpInfo *op = i->op;
    if ((op->opcode != OPC_LD && op->opcode != OPC_ST) || op->space != SPACE_PARAM || op->strength != STRENGTH_WEAK ||
        op->types != 1)
        return false;
    const Operand *mem = memory_operand(i);
    u32 bits = type_bits(op->type[0]);
    return mem && prove_is_variable_of_call(m, mem + 1) && bits >= 8;
}

/* ---- cells ----------------------------------------------------------------------------------------------------------------- */

static bool overlaps(const Cell *c, u32 offset, u32 bits)
{
    return c->bits == 0 || (c->offset < offset + bits / 8 && offset < c->offset + c->bits / 8);
}

static Arguments *arguments(Prover *p, ProveSide side) { return &p->side[side].arguments; }

/* The newest cell of the variable, and the one that is older than c; NULL: there is none on this path. */
static const Cell *newest_cell(const Arguments *a, SymId sym)
{
    u32 newest = a->variable[sym - a->first].newest;
    return newest ? &a->cells.v[newest] : NULL;
}

static const Cell *older_cell(const Arguments *a, const Cell *c) { return c->older ? &a->cells.v[c->older] : NULL; }

static void push(Prover *p, ProveSide side, SymId sym, Cell c)
{
    Arguments *a = arguments(p, side);
    u32 *newest = &a->variable[sym - a->first].newest;
    c.older = *newest;
    prove_set_place(&p->side[side], newest, a->cells.n);
    vec_push(&a->cells, c);
}

/* The value that the variable holds there. If it is not known, the answer is 0, and the path has a fault. */
static Term look_up(Prover *p, ProveSide side, SymId sym, u32 offset, u32 bits)
{
    const Arguments *a = arguments(p, side);
    const Cell *c = newest_cell(a, sym);
    while (c && !overlaps(c, offset, bits))
        c = older_cell(a, c);
    if (c && c->bits == 0) /* returned by a call: each part is another unknown */
        return prove_sym(&p->t, PROVE_SYM_EVENT, c->owner, c->call, 1u << 31 | c->result << 20 | offset << 4, bits);
    if (c && c->offset == offset && c->bits == bits)
        return c->term;
    p->side[side].fault = "a parameter variable of a call is read where it is not known";
    return 0;
}

/* ---- loads and stores ---------------------------------------------------------------------------------------------------- */

static u32 count_elements(const Operand *o) { return o->kind == OPND_VEC ? (u32)o->value : 1; }
static const Operand *element(const Operand *o, u32 k) { return o->kind == OPND_VEC ? o + 1 + k : o; }

static void load(Prover *p, ProveSide side, const Instr *i, const Operand *mem)
{
    Machine *m = &p->side[side];
    u32 bits = type_bits(i->op->type[0]);
    const Operand *to = instr_operand(i, 0);
    for (u32 k = 0; k < count_elements(to); k++) {
        const Operand *o = element(to, k);
        Term x = o->kind == OPND_REG ? look_up(p, side, mem[1].id, (u32)mem[1].value + k * bits / 8, bits) : 0;
        if (x)
            prove_define(m, prove_guard(m, i), o,
                         prove_resize(&p->t, x, prove_reg_bits(m, o->id), type_class(i->op->type[0]) == TC_SIGNED));
    }
}

static void store(Prover *p, ProveSide side, const Instr *i, const Operand *mem)
{
    Machine *m = &p->side[side];
    u32 bits = type_bits(i->op->type[0]);
    const Operand *from = instr_operand(i, 1);
    for (u32 k = 0; k < count_elements(from); k++) {
        Cell c = {.offset = (u32)mem[1].value + k * bits / 8, .bits = bits};
        c.term = prove_operand(m, element(from, k), bits);
        push(p, side, mem[1].id, c);
    }
}

/* Whether the offset may be one of a variable. */
static bool is_inside(const Operand *mem) { return mem[1].value >= 0 && mem[1].value <= 65535; }

void prove_execute_argument(Prover *p, ProveSide side, const Instr *i)
{
    const Operand *mem = memory_operand(i);
    if (!is_inside(mem))
        p->side[side].fault = "a parameter variable of a call is read outside of it";
    else if (i->op->opcode == OPC_LD)
        load(p, side, i, mem);
    else
        store(p, side, i, mem);
}

/* ---- calls -------------------------------------------------------------------------------------------------------------------- */

/* Knowledge of a variable. */
typedef struct Known {
    VEC(const Cell *) cells; /* that were not written over wholly, the newest first */
    u32 bytes;
    bool is_lost; /* more may have been written before, and is not known */
    bool is_torn; /* of a cell some bytes were written over, and some were not */
} Known;

/* How many bytes of an older cell were not written over. */
static u32 visible_bytes(const Known *newer, const Cell *c)
{
    u32 bytes = 0;
    for (u32 at = c->offset; at < c->offset + c->bits / 8; at++) {
        u32 k = 0;
        while (k < newer->cells.n && !overlaps(newer->cells.v[k], at, 8))
            k++;
        bytes += k == newer->cells.n;
    }
    return bytes;
}

/* It looks back only until all is known that instructions write of the variable: many calls may share it. */
static Known find_known(Prover *p, ProveSide side, SymId sym)
{
    const Arguments *a = arguments(p, side);
    Known known = {0};
    i64 size = variable(&p->side[side], sym)->bytes, unknown = a->variable[sym - a->first].written;
    bool is_whole = false;
    unknown = size < unknown ? size : unknown;
    for (const Cell *c = newest_cell(a, sym); c && !is_whole; c = older_cell(a, c)) {
        u32 visible = visible_bytes(&known, c);
        known.is_torn |= visible && visible < c->bits / 8;
        known.bytes += visible;
        if (visible || c->bits == 0)
            vec_push(&known.cells, c);
        unknown -= c->offset + c->bits / 8 <= size ? visible : 0;
        is_whole = c->bits == 0 || unknown == 0;
    }
    known.is_lost = !is_whole && p->product.at->id;
    return known;
}

static bool is_written(Prover *p, ProveSide side, SymId sym)
{
    const Arguments *a = arguments(p, side);
    return a->variable[sym - a->first].written > 0;
}

static bool same_cells(Prover *p, const Known *before, SymId after)
{
    for (u32 k = 0; k < before->cells.n; k++) {
        const Cell *c = before->cells.v[k];
        Term x = c->bits ? look_up(p, PROVE_AFTER, after, c->offset, c->bits) : 0;
        if (!x || !prove_equal(p, c->term, x))
            return false;
    }
    return true;
}

static bool same_known(Prover *p, const Known known[2], const Operand *before, const Operand *after)
{
    const Sym *a = variable(&p->side[0], before->id), *b = variable(&p->side[1], after->id);
    bool is_torn = known[0].is_torn || known[1].is_torn;
    if (is_torn)
        p->side[PROVE_BEFORE].fault = "an argument of a call is written over in part";
    if (is_torn || a->bytes != b->bytes || a->align != b->align || before->value || after->value)
        return false;
    bool is_lost =
        (known[0].is_lost && is_written(p, PROVE_BEFORE, before->id)) || (known[1].is_lost && is_written(p, PROVE_AFTER, after->id));
    return known[0].bytes == known[1].bytes && !is_lost && same_cells(p, &known[0], after->id);
}

bool prove_same_arguments(Prover *p, const Operand *before, const Operand *after)
{
    Known known[2] = {find_known(p, PROVE_BEFORE, before->id), find_known(p, PROVE_AFTER, after->id)};
    bool same = same_known(p, known, before, after);
    vec_free(&known[0].cells);
    vec_free(&known[1].cells);
    return same;
}

void prove_return(Prover *p, u32 call, u32 n, const Operand *before, const Operand *after)
{
    if (!prove_is_variable_of_call(&p->side[PROVE_AFTER], after)) {
        p->side[PROVE_AFTER].fault = "a result that BEFORE has in a variable of the call";
        return;
    }
    push(p, PROVE_BEFORE, before->id, (Cell){.owner = p->product.at->id, .call = call, .result = n});
    push(p, PROVE_AFTER, after->id, (Cell){.owner = p->product.at->id, .call = call, .result = n});
}

/* ---- what is written at all -------------------------------------------------------------------------------------------------- */

/* Adds the bytes that the store writes of the variable, each part once, however many stores write it. */
static void add_stored(Arguments *a, FnvMap *parts, const Instr *i, SymId sym)
{
    const Operand *mem = memory_operand(i), *from = instr_operand(i, 1);
    u32 bytes = type_bits(i->op->type[0]) / 8;
    for (u32 k = 0; k < count_elements(from); k++) {
        u64 key = (u64)(sym - a->first) << 32 | (u64)((u32)mem[1].value + k * bytes) << 8 | bytes;
        u64 *is_known = fnvmap_at(parts, key);
        a->variable[sym - a->first].written += *is_known ? 0 : bytes;
        *is_known = 1;
    }
}

/* What the instruction may write of its variables. A call that is passed one only reads it. */
static void add_written(Machine *m, FnvMap *parts, const Instr *i)
{
    bool is_call = op_has(i->op, OPF_CALL), is_part = prove_is_argument(m, i) && is_inside(memory_operand(i));
    for_each_slot(o, i) {
        if (!prove_is_variable_of_call(m, o) || i->op->opcode == OPC_LD || (is_call && o->role != ROLE_DEF))
            continue;
        if (is_part)
            add_stored(&m->arguments, parts, i, o->id);
        else
            m->arguments.variable[o->id - m->arguments.first].written = PROVE_WHOLE;
    }
}

void prove_arguments_init(Machine *m)
{
    Arguments *a = &m->arguments;
    SymId end = prove_variables_end(m->fn, &a->first);
    FnvMap parts = {0};
    vec_push(&a->cells, (Cell){0});
    a->variable = arena_array(m->t->arena, ArgumentVariable, end - a->first);
    for_each_block(b, m->fn)
        for_each_instr(i, b)
            if (i->kind == INSTR_OP)
                add_written(m, &parts, i);
    fnvmap_free(&parts);
}
