/* One instruction: its guard, opcode and operands, and its effect on the control flow. */
#include "parse/lower.h"

#include <string.h>

/* Braces in brackets in a list: nothing in PTX nests deeper, and code that walks operands may recurse this far. */
#define AGGREGATE_DEPTH 4

static int text_len(Span s) { return (int)(s.end - s.beg); }

void lower_guard(Lower *p, bool negated, Span name, Span at)
{
    RegId reg;
    names_find(p, name, &reg);
    p->start = at.beg;
    p->guard = reg;
    p->guard_not = negated;
    if (!reg && lower_unknown_register(p, name))
        lower_unknown_in_function(p, "predicate", name);
    else if (!reg)
        lower_error(p, name, "predicate register '%.*s' is not declared", text_len(name), p->module->text.p + name.beg);
    else if (fn_reg(p->fn, reg)->type != TYPE_PRED)
        lower_error(p, name, "a guard is a predicate register, '%.*s' is %s", text_len(name), p->module->text.p + name.beg,
                    type_name(fn_reg(p->fn, reg)->type));
    p->mute = p->bad;
}

void lower_opcode(Lower *p, Span word)
{
    if (p->start == NO_START)
        p->start = word.beg;
    p->op_at = word;
    p->op = isa_decode(p->module->isa, p->module->text.p + word.beg, word.end - word.beg);
}

/* Appends a part to the opcode: `add .s32` is the same opcode as `add.s32`. */
void lower_opcode_part(Lower *p, Span part)
{
    Str text = span_str(p->module, part);
    char *joined = arena_printf(p->module->arena, "%s%.*s", p->op->text->text, (int)text.len, text.p);
    p->op = isa_decode(p->module->isa, joined, (u32)strlen(joined));
    p->op_at.end = part.end;
}

/* ---- operands -------------------------------------------------------------------------------------------------- */

/* The next slot. It is filled in place, because an operand that is assembled elsewhere, byte by byte, would have to be
 * copied. */
static Operand *push_operand(Lower *p, OperandKind kind)
{
    if (!p->open_aggregates.n)
        p->operand_count++;
    else
        p->operands.v[vec_last(&p->open_aggregates)].id++;
    vec_reserve(&p->operands, p->operands.n + 1);
    Operand *o = &p->operands.v[p->operands.n++];
    *o = (Operand){.kind = (u8)kind};
    return o;
}

void lower_aggregate_begin(Lower *p, OperandKind kind, Span at)
{
    u32 index = p->operands.n;
    if (p->open_aggregates.n >= AGGREGATE_DEPTH && !p->bad)
        lower_error(p, at, "operands do not nest this deep");
    push_operand(p, kind);
    vec_push(&p->open_aggregates, index);
}

void lower_aggregate_end(Lower *p)
{
    u32 index = p->closed_aggregate = vec_pop(&p->open_aggregates);
    p->operands.v[index].value = (i64)p->operands.n - index - 1;
}

static SubReg sub_register(const char *text, u32 len)
{
    static const char *const names[] = {
        [SUB_X] = "x",   [SUB_Y] = "y",   [SUB_Z] = "z",   [SUB_W] = "w",   [SUB_B0] = "b0",
        [SUB_B1] = "b1", [SUB_B2] = "b2", [SUB_B3] = "b3", [SUB_H0] = "h0", [SUB_H1] = "h1"};
    static const char colors[] = "rgba"; /* the old names of x y z w */
    for (u32 i = SUB_X; i < COUNT_OF(names); i++)
        if (strlen(names[i]) == len && !memcmp(names[i], text, len))
            return (SubReg)i;
    const char *color = len == 1 ? strchr(colors, text[0]) : NULL;
    return color ? (SubReg)(SUB_X + (color - colors)) : SUB_OTHER;
}

static u32 other_name(Lower *p, const char *text, u32 len)
{
    vec_push(&p->module->other_names, intern(&p->module->names, text, len));
    return p->module->other_names.n - 1;
}

/* Whether the only operand is a label, as for bra. (brx names a table.) */
static bool takes_label(const OpInfo *op) { return op_has(op, OPF_BRANCH) && op->shape[0] == 'l'; }

static bool wants_label(const Lower *p) { return p->operand_count == 0 && takes_label(p->op) && p->op->known; }

static void undeclared(Lower *p, Span at)
{
    const char *text = p->module->text.p + at.beg;
    int len = text_len(at);
    if (p->names_missing & MISSING_IN_FUNCTION || (p->names_missing && text[0] != '%'))
        p->bad = true;
    else if (op_has(p->op, OPF_BRANCH))
        lower_error(p, at, "'%.*s' is not a list of .branchtargets that stands before this", len, text);
    else if (op_has(p->op, OPF_CALL))
        lower_error(p, at, "'%.*s' is not declared: a function is declared before it is called", len, text);
    else if (starts_line(p, at.beg))
        lower_error(p, at, "'%.*s' is not declared; is a ';' missing before it?", len, text);
    else if (text[0] == '%')
        lower_error(p, at, "register '%.*s' is not declared before this", len, text);
    else
        lower_error(p, at, "'%.*s' is not declared before this", len, text);
}

/* Splits a dotted operand like `%r48.x` at its first dot. */
static Span dotted_stem(const Lower *p, Span at)
{
    const char *text = p->module->text.p + at.beg;
    const char *dot = memchr(text, '.', at.end - at.beg);
    return (Span){at.beg, dot ? at.beg + (u32)(dot - text) : at.end};
}

static bool special_register(Lower *p, const Val *v, Operand *o)
{
    Str text = span_str(p->module, v->name);
    int component;
    int sreg = text.p[0] == '%' ? sreg_find(text.p, text.len, &component) : -1;
    if (sreg < 0 && v->dotted && text.p[0] == '%') {
        Str stem = span_str(p->module, dotted_stem(p, v->name));
        sreg = sreg_find(stem.p, stem.len, &component);
        if (sreg >= 0)
            lower_error(p, v->name, "special register '%.*s' has no such component", (int)stem.len, stem.p);
    }
    if (sreg < 0)
        return false;
    o->kind = OPND_SREG;
    o->id = (u32)sreg;
    o->sub = (u8)(component < 0 ? SUB_NONE : SUB_X + component);
    o->value = v->i;
    return true;
}

static void set_component(Lower *p, const Val *v, Span stem, Operand *o)
{
    const char *component = p->module->text.p + stem.end + 1;
    u32 len = v->name.end - stem.end - 1;
    o->sub = (u8)sub_register(component, len);
    if (o->sub == SUB_OTHER)
        o->value = other_name(p, component, len);
}

/* Whether op may take a list. Only branches and calls do; for an unknown instruction it is not known. */
static bool takes_table(const OpInfo *op) { return op_has(op, OPF_BRANCH | OPF_CALL) || !op->known; }

/* Whether the last operand is the callee of a call: the first operand, or the one after the list of returns. */
static bool is_callee(const Lower *p)
{
    return op_has(p->op, OPF_CALL) && !p->open_aggregates.n &&
           (p->operand_count == 1 || (p->operand_count == 2 && p->operands.v[0].kind == OPND_LIST));
}

/* Whether the name may be an undeclared function. ptxas takes none; OptiX takes some, whose names have a meaning for it:
 * `_optix_get_launch_index_x`. */
static bool may_be_undeclared(const Lower *p, Str name)
{
    if (p->strict || p->names_missing || name.p[0] == '%')
        return false;
    return is_callee(p) || str_begins(name, "_optix_") || str_begins(name, "_rt_");
}

static void take_undeclared(Lower *p, Span name)
{
    Str text = span_str(p->module, name);
    p->module->names_undeclared = true;
    p->fn->verbatim = true;
    lower_leave_alone(p, arena_printf(p->module->arena, "function '%.*s' is not declared", (int)text.len, text.p), name);
    p->op = lower_unknown_op(p);
}

/* Sets an operand to a name that is none of the others. An unknown instruction may name anything, including labels that
 * come later. */
static void set_other_name(Lower *p, const Val *v, Span at, const Binding *b, Operand *o)
{
    Span stem = v->dotted ? dotted_stem(p, v->name) : v->name;
    Str text = span_str(p->module, v->name);
    if (!b && may_be_undeclared(p, text))
        take_undeclared(p, v->name);
    if (!p->op->known && (b || text.p[0] != '%')) {
        o->kind = OPND_NAME;
        o->id = other_name(p, text.p, text.len);
    } else if (b && b->kind == BIND_LABEL) {
        lower_error(p, at, "a label is not an operand of '%s'", p->op->text->text);
    } else if (b && b->kind == BIND_TABLE) {
        lower_error(p, at, "'%.*s' names a list, which is not an operand of '%s'", (int)text.len, text.p,
                    p->op->text->text);
    } else if (!b && lower_unknown_register(p, stem)) {
        lower_unknown_in_function(p, "special register", stem);
        o->kind = OPND_NAME;
        o->id = other_name(p, text.p, text.len);
    } else {
        undeclared(p, stem);
    }
}

/* Turns a sink into the operand that the name means. */
static void set_name(Lower *p, const Val *v, Span at, Operand *o)
{
    Span stem = v->dotted ? dotted_stem(p, v->name) : v->name;
    RegId reg;
    if (stem.end - stem.beg == 1 && p->module->text.p[stem.beg] == '_')
        return;
    const Binding *b = names_find(p, stem, &reg);
    o->value = v->i;
    if (reg) {
        o->kind = OPND_REG;
        o->id = reg;
        if (v->dotted)
            set_component(p, v, stem, o);
    } else if (b && !v->dotted && (b->kind == BIND_SYM || (b->kind == BIND_TABLE && takes_table(p->op)))) {
        o->kind = b->kind == BIND_SYM ? OPND_SYM : OPND_TABLE;
        o->id = b->id;
    } else if (!special_register(p, v, o)) {
        set_other_name(p, v, at, b, o);
    }
}

static void push_name(Lower *p, const Val *v, Span at)
{
    RegId reg = 0;
    bool is_label = p->operand_count == 0 && takes_label(p->op);
    if (is_label && !p->op->known)
        is_label = !v->dotted && !v->flags && !v->i && (names_find(p, v->name, &reg), !reg);
    if (is_label && !p->open_aggregates.n) {
        push_operand(p, OPND_LABEL);
        p->label_at = v->name;
        if (v->dotted || v->flags || v->i)
            lower_error(p, at, "a branch goes to a label");
        return;
    }
    Operand *o = push_operand(p, OPND_SINK);
    o->flags = v->flags & (OPNDF_NOT | OPNDF_NEG);
    set_name(p, v, at, o);
}

static void push_pair(Lower *p, const Val *v, Span at)
{
    Val first = {.kind = VAL_NAME, .name = v->name, .flags = v->negated & 1 ? OPNDF_NOT : 0};
    Val second = {.kind = VAL_NAME, .name = v->second, .flags = v->negated & 2 ? OPNDF_NOT : 0};
    lower_aggregate_begin(p, OPND_PAIR, at);
    push_name(p, &first, at);
    push_name(p, &second, at);
    lower_aggregate_end(p);
}

static void push_number(Lower *p, OperandKind kind, const Val *v, Span at)
{
    if (wants_label(p))
        lower_error(p, at, "a branch goes to a label");
    Operand *o = push_operand(p, kind);
    o->flags = v->flags & (OPNDF_SINGLE | OPNDF_UNSIGNED);
    o->value = v->i;
}

static void push_value(Lower *p, const Val *v, Span at)
{
    switch ((ValKind)v->kind) {
    case VAL_INT: push_number(p, OPND_IMM, v, at); break;
    case VAL_FLOAT: push_number(p, OPND_FLOAT, v, at); break;
    case VAL_NAME: push_name(p, v, at); break;
    case VAL_PAIR: push_pair(p, v, at); break;
    case VAL_BAD: push_operand(p, OPND_SINK); break;
    }
}

void lower_operand(Lower *p, Val v, Span at)
{
    bool list = op_has(p->op, OPF_CALL) && (v.flags & VAL_PARENTHESIZED) && !p->open_aggregates.n;
    if (!list && !p->bad && p->op->known && v.flags & VAL_PARENTHESIZED && (v.kind == VAL_NAME || v.kind == VAL_PAIR))
        lower_error(p, at, "a name does not stand in parentheses");
    if (list)
        lower_aggregate_begin(p, OPND_LIST, at);
    push_value(p, &v, at);
    if (list)
        lower_aggregate_end(p);
}

void lower_run(Lower *p)
{
    for (u32 k = 0; k < p->run_length; k++) {
        const Val *v = &p->run[k];
        if (v->flags & VAL_ADDRESS)
            lower_aggregate_begin(p, OPND_MEM, p->run_at[k]);
        push_value(p, v, p->run_at[k]);
        if (v->flags & VAL_ADDRESS)
            lower_aggregate_end(p);
    }
}

void lower_vector_and_name(Lower *p, Span name)
{
    u32 vector = p->closed_aggregate;
    vec_push(&p->operands, (Operand){0});
    memmove(&p->operands.v[vector + 1], &p->operands.v[vector], (p->operands.n - 1 - vector) * sizeof *p->operands.v);
    p->operands.v[vector] = (Operand){.kind = OPND_PAIR, .id = 1};
    vec_push(&p->open_aggregates, vector);
    push_name(p, &(Val){.kind = VAL_NAME, .name = name}, name);
    lower_aggregate_end(p);
}

void lower_leave_alone(Lower *p, const char *why, Span at)
{
    if (!p->fn->untouchable.why)
        p->fn->untouchable = (Untouchable){why, at};
}

void lower_index_begin(Lower *p, Span array)
{
    lower_aggregate_begin(p, OPND_INDEX, array);
    push_name(p, &(Val){.kind = VAL_NAME, .name = array}, array);
    if (vec_last(&p->operands).kind == OPND_REG)
        lower_error(p, array, "a register is not an array; is a ',' missing after it?");
}

void lower_index_end(Lower *p, Span at)
{
    const Operand *index = &p->operands.v[vec_last(&p->open_aggregates)];
    lower_aggregate_end(p);
    if (!p->bad && (index->id != 2 || index->value != 2 || index[1].kind != OPND_SYM))
        lower_error(p, at, "only a variable can be indexed, by one constant or register");
}

/* ---- calls ----------------------------------------------------------------------------------------------------- */

/* Brings `[(returns),] callee [, (arguments)] [, prototype]` into the form that ir.h specifies. */
static void normalise_call(Lower *p)
{
    u32 count = p->operands.n, at = 0;
    const Operand *slots = p->operands.v;
    if (!count || slots[0].kind != OPND_LIST) {
        vec_push(&p->operands, (Operand){0});
        memmove(p->operands.v + 1, p->operands.v, count * sizeof *slots);
        p->operands.v[0] = (Operand){.kind = OPND_LIST};
        count++;
    }
    at = operand_slots(&p->operands.v[0]);
    if (at >= count || (p->operands.v[at].kind != OPND_SYM && p->operands.v[at].kind != OPND_REG)) {
        lower_error(p, p->op_at, "this call names no function");
        return;
    }
    at++;
    if (at >= count || p->operands.v[at].kind != OPND_LIST) {
        vec_push(&p->operands, (Operand){0});
        memmove(p->operands.v + at + 1, p->operands.v + at, (count - at) * sizeof *slots);
        p->operands.v[at] = (Operand){.kind = OPND_LIST};
    }
}

/* ---- the whole instruction ------------------------------------------------------------------------------------- */

static void append_terminator(Lower *p, Instr *i)
{
    lower_append(p, i);
    if (i->guard) {
        p->falling = p->jumpable = p->block;
    } else {
        p->falling = p->jumpable = NULL;
    }
    p->block = NULL;
}

/* Appends an unconditional `bra`: the jump of the open block, or of the one that a guarded branch has just ended. */
static void append_jump(Lower *p, Instr *i)
{
    Block *b = p->block ? p->block : p->jumpable ? p->jumpable : lower_open_block(p);
    i->block = b;
    b->jump = i;
    p->block = p->falling = p->jumpable = NULL;
}

/* Whether a branch or call has the operands of a known one. An unknown modifier may change what it names. */
static bool looks_known(const Lower *p)
{
    if (p->op->known || !op_has(p->op, OPF_BRANCH | OPF_CALL))
        return true;
    u32 wanted = takes_label(p->op) ? OPND_LABEL : op_has(p->op, OPF_BRANCH) ? OPND_TABLE : OPND_NAME;
    return takes_label(p->op) ? p->operands.n == 1 && p->operands.v[0].kind == wanted
                              : p->operands.n == 2 && p->operands.v[1].kind == wanted;
}

/* Whether the instruction has as many operands as its opcode takes. Terminators and calls have checks of their own. */
static bool has_its_operands(const Lower *p)
{
    if (!p->op->known || op_has(p->op, OPF_TERMINATOR | OPF_BRANCH | OPF_CALL))
        return true;
    u32 count = 0;
    for (u32 slot = 0; slot < p->operands.n; slot += operand_slots(&p->operands.v[slot]))
        count++;
    return count >= p->op->operands_min && count <= p->op->operands_max;
}

/* Makes an instruction unknown whose operands do not fit its opcode: any phase may rely on the operands of a known one. */
static void demote_unknown(Lower *p)
{
    if (looks_known(p) && has_its_operands(p))
        return;
    lower_unknown_in_function(p, "instruction", p->op_at);
    p->op = lower_unknown_op(p);
}

static void refer_to_label(Lower *p, Instr *i, Span at)
{
    LabelRef ref = {.operand = &i->opnd[0]};
    if (i->block->jump == i)
        ref.from = i->block;
    names_refer(p, at, ref);
}

/* Takes an unknown opcode. PTX is written in lower case, and upper case is the likeliest mistake; any other unknown opcode
 * may be a new one. */
static void take_unknown(Lower *p)
{
    Str text = span_str(p->module, p->op_at);
    char *lower_case = arena_copy(p->module->arena, text.p, text.len);
    for (char *c = lower_case; *c; c++)
        *c = (char)(*c >= 'A' && *c <= 'Z' ? *c + ('a' - 'A') : *c);
    if (memcmp(lower_case, text.p, text.len) != 0 && isa_decode(p->module->isa, lower_case, text.len)->known)
        lower_error(p, p->op_at, "case matters in PTX: write '%s'", lower_case);
    lower_leave_alone(p, "an instruction is not in the tables", p->op_at);
}

static void check_sinks(Lower *p, const Instr *i)
{
    for_each_slot(o, i)
        if (o->kind == OPND_SINK && (o->role == ROLE_USE || o->role == ROLE_ADDRESS)) {
            lower_error(p, i->text, "'_' is no source");
            return;
        }
}

/* Reports unknown names that the instruction writes: they cannot be special registers, which cannot be written. */
static void check_unknown_register(Lower *p, const Instr *i)
{
    u32 first = p->unknown_names.n;
    while (first > 0 && p->unknown_names.v[first - 1].beg >= p->start)
        first--;
    u32 kept = first, at = first;
    for_each_slot(o, i) {
        if (o->kind != OPND_NAME || at >= p->unknown_names.n)
            continue;
        Span name = p->unknown_names.v[at++]; /* in the order of the operands */
        if (role_defines((Role)o->role))
            lower_error(p, name, "register '%s' is not declared before this", p->module->other_names.v[o->id]->text);
        else
            p->unknown_names.v[kept++] = name;
    }
    p->unknown_names.n = kept;
}

/* Whether the operand names a list of branches. These hold blocks and lists of calls functions, whose numbers must not be mixed. */
static bool names_targets(const Lower *p, u32 slot)
{
    const Operand *o = &p->operands.v[slot];
    return o->kind == OPND_TABLE && o->value == 0 && p->fn->tables.v[o->id].kind == TABLE_BRANCH;
}

static void check_lists(Lower *p, u32 end)
{
    if (op_has(p->op, OPF_BRANCH) && !takes_label(p->op) && (p->operands.n != 2 || !names_targets(p, 1)))
        lower_error(p, (Span){p->start, end}, "'%s' takes an index and a list of .branchtargets", p->op->text->text);
    for (u32 slot = 0; slot < p->operands.n && op_has(p->op, OPF_CALL); slot++)
        if (names_targets(p, slot))
            lower_error(p, (Span){p->start, end}, "a call takes no list of .branchtargets");
}

static void check_instr(Lower *p, u32 end)
{
    if (p->op->known)
        check_lists(p, end);
    if (takes_label(p->op) && !p->operands.n && p->op->known)
        lower_error(p, (Span){p->start, end}, "a branch goes to a label");
    if (takes_label(p->op) && p->operands.n > 1 && p->op->known)
        lower_error(p, (Span){p->start, end}, "a branch goes to one label");
    if (p->operands.n > UINT16_MAX)
        lower_error(p, (Span){p->start, end}, "an instruction cannot have so many operands");
    if (!p->op->known)
        take_unknown(p);
}

void lower_instr_end(Lower *p, u32 end)
{
    if (!p->bad)
        demote_unknown(p);
    const OpInfo *op = p->op;
    if (op_has(op, OPF_CALL) && !p->bad)
        normalise_call(p);
    if (!p->bad)
        check_instr(p, end);
    if (p->bad) {
        lower_skip_statement(p, end);
        return;
    }
    bool ends_block = op_has(op, OPF_TERMINATOR);
    if (ends_block)
        lower_scopes_span_blocks(p);

    Instr *i = instr_new(p->fn, op, p->operands.v, p->operands.n);
    i->changed = false;
    i->text = (Span){p->start, end};
    if (i->op->known) {
        if (p->unknown_names.n)
            check_unknown_register(p, i);
        check_sinks(p, i);
    }
    i->lead = lower_lead(p, p->start);
    i->guard = p->guard;
    i->guard_not = p->guard_not;
    i->scope = scope_now(p);
    if (!ends_block)
        lower_append(p, i);
    else if (takes_label(op) && !i->guard)
        append_jump(p, i);
    else
        append_terminator(p, i);
    if (ends_block && takes_label(op))
        refer_to_label(p, i, p->label_at);
    lower_skip_statement(p, end);
}

void lower_plain_instr(Lower *p, u32 end)
{
    lower_opcode(p, p->op_at);
    lower_run(p);
    lower_instr_end(p, end);
}
