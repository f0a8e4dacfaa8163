/* Prints instructions from their operands, in ptxas's syntax. This is the inner loop of --reprint: text goes straight to
 * the buffer, and numbers are formatted here. */
#include "ir/printer.h"
#include "ir/scopes.h"

/* ---- writer ---------------------------------------------------------------------------------------------------- */

void printer_init(Printer *p, FILE *out, Str text)
{
    p->out = out;
    p->text = text;
    p->run = (Span){0};
    p->len = 0;
    p->last = '\n';
}

static void write_buffer(Printer *p)
{
    if (!p->len)
        return;
    fwrite(p->buf, 1, p->len, p->out);
    p->last = p->buf[p->len - 1];
    p->len = 0;
}

/* Copies the pending run. Long runs are written directly, short ones through the buffer. */
static void copy_run(Printer *p)
{
    Span run = p->run;
    u32 len = run.end - run.beg;
    p->run = (Span){0};
    if (len <= NAME_BYTES && len <= PRINTER_BYTES - p->len && p->text.len - run.beg >= NAME_BYTES) {
        memcpy(p->buf + p->len, p->text.p + run.beg, NAME_BYTES); /* mostly a newline and blanks */
        p->len += len;
        return;
    }
    if (len <= PRINTER_BYTES - p->len) {
        memcpy(p->buf + p->len, p->text.p + run.beg, len);
        p->len += len;
        return;
    }
    write_buffer(p);
    fwrite(p->text.p + run.beg, 1, len, p->out);
    p->last = p->text.p[run.end - 1];
}

void printer_flush(Printer *p)
{
    if (p->run.end > p->run.beg)
        copy_run(p);
    write_buffer(p);
}

void printer_source(Printer *p, u32 beg, u32 end)
{
    if (beg >= end)
        return;
    if (p->run.end == beg && p->run.end > p->run.beg) {
        p->run.end = end;
        return;
    }
    if (p->run.end > p->run.beg)
        copy_run(p);
    p->run = (Span){beg, end};
}

/* Room for `bytes` (at most PRINTER_BYTES) in buf, after everything before. The caller writes there and adds to p->len. */
static char *room_for(Printer *p, u32 bytes)
{
    if (p->run.end > p->run.beg)
        copy_run(p);
    if (bytes > PRINTER_BYTES - p->len)
        write_buffer(p);
    return p->buf + p->len;
}

void printer_text(Printer *p, const char *text, u32 len)
{
    if (len > PRINTER_BYTES) {
        printer_flush(p);
        fwrite(text, 1, len, p->out);
        p->last = text[len - 1];
        return;
    }
    memcpy(room_for(p, len), text, len);
    p->len += len;
}

bool printer_at_line_start(const Printer *p)
{
    char last = p->last;
    if (p->run.end > p->run.beg)
        last = p->text.p[p->run.end - 1];
    else if (p->len)
        last = p->buf[p->len - 1];
    return last == '\n' || last == '\r';
}

/* ---- numbers and names ----------------------------------------------------------------------------------------- */

/* Puts text into the buffer. Inside an instruction no source text is pending, so only room in the buffer is needed. */
static inline void put(Printer *p, const char *text, u32 len)
{
    if (len > PRINTER_BYTES - p->len) {
        printer_text(p, text, len);
        return;
    }
    memcpy(p->buf + p->len, text, len);
    p->len += len;
}

static inline void put_char(Printer *p, char c)
{
    if (p->len == PRINTER_BYTES)
        write_buffer(p);
    p->buf[p->len++] = c;
}

static inline void put_pair(Printer *p, char first, char second)
{
    put_char(p, first);
    put_char(p, second);
}

static inline void put_name(Printer *p, const Name *name)
{
    if (name->len > NAME_BYTES) {
        put(p, name->text, name->len);
        return;
    }
    if (name->len > PRINTER_BYTES - p->len)
        write_buffer(p);
    memcpy(p->buf + p->len, name->text, NAME_BYTES);
    p->len += name->len;
}

static void put_cstr(Printer *p, const char *text) { put(p, text, (u32)strlen(text)); }

enum { NUMBER_BYTES = 24 }; /* "-" and 20 digits; or "0x", 16 digits and "U" */

static void put_decimal(Printer *p, u64 value)
{
    if (NUMBER_BYTES > PRINTER_BYTES - p->len)
        write_buffer(p);
    u32 count = value < 10 ? 1 : value < 100 ? 2 : value < 1000 ? 3 : value < 10000 ? 4 : 5;
    for (u64 rest = value / 100000; rest > 0; rest /= 10)
        count++;
    p->len += count;
    char *at = p->buf + p->len;
    for (; value > UINT32_MAX; value /= 10)
        *--at = (char)('0' + value % 10);
    u32 low = (u32)value;
    do
        *--at = (char)('0' + low % 10);
    while ((low /= 10) != 0);
}

static void put_signed(Printer *p, i64 value)
{
    if (value < 0)
        put_char(p, '-');
    put_decimal(p, value < 0 ? 0 - (u64)value : (u64)value);
}

static void put_hex(Printer *p, u64 value, u32 count)
{
    char digits[NUMBER_BYTES];
    for (u32 d = 0; d < count; d++)
        digits[d] = "0123456789ABCDEF"[value >> 4 * (count - 1 - d) & 15];
    put(p, digits, count);
}

static void put_reg(Printer *p, const Reg *reg)
{
    put_name(p, reg->name);
    if (reg->number >= 0)
        put_decimal(p, (u64)reg->number);
}

void printer_unsigned(Printer *p, u64 value)
{
    room_for(p, 0);
    put_decimal(p, value);
}

/* Prints signed numbers in decimal. U keeps numbers above the signed range unsigned for ptxas. The smallest signed number
 * has no decimal literal, but its bits in hexadecimal are the same constant. */
static void put_integer(Printer *p, i64 value, bool is_unsigned)
{
    if (!is_unsigned && value != INT64_MIN) {
        put_signed(p, value);
        return;
    }
    if (value >= 0 && value <= INT32_MAX) {
        put_decimal(p, (u64)value);
    } else {
        put_pair(p, '0', 'x');
        put_hex(p, (u64)value, (u64)value >> 32 ? 16 : 8);
    }
    put_char(p, 'U');
}

static void put_float(Printer *p, const Operand *o)
{
    bool single = o->flags & OPNDF_SINGLE;
    put_pair(p, '0', single ? 'f' : 'd');
    put_hex(p, (u64)o->value, single ? 8 : 16);
}

/* Prints `+4` or `+-4`, because ptxas does not take `-4` after a register. */
static inline void put_offset(Printer *p, i64 value)
{
    if (value == 0)
        return;
    put_char(p, '+');
    put_signed(p, value);
}

static void put_component(Printer *p, const Module *m, const Operand *o)
{
    static const char names[SUB_OTHER][4] = {
        [SUB_X] = ".x",   [SUB_Y] = ".y",   [SUB_Z] = ".z",   [SUB_W] = ".w",   [SUB_B0] = ".b0",
        [SUB_B1] = ".b1", [SUB_B2] = ".b2", [SUB_B3] = ".b3", [SUB_H0] = ".h0", [SUB_H1] = ".h1"};
    if (o->sub == SUB_OTHER) {
        put_char(p, '.');
        put_name(p, m->other_names.v[o->value]);
    } else if (o->sub != SUB_NONE) {
        put_cstr(p, names[o->sub]);
    }
}

/* ---- operands -------------------------------------------------------------------------------------------------- */

const Label *block_label_for(const Block *b, ScopeId scope)
{
    for (const Label *l = b->labels; l; l = l->next)
        if (scope_encloses(b->fn, l->scope, scope))
            return l;
    return b->labels;
}

static void put_operand(Printer *p, const Function *fn, const Instr *i, const Operand *o);

static void put_members(Printer *p, const Function *fn, const Instr *i, const Operand *o, bool is_pair)
{
    const Operand *member = o + 1, *end = o + operand_slots(o);
    for (; member < end; member += operand_slots(member)) {
        if (member != o + 1 && is_pair)
            put_char(p, '|');
        else if (member != o + 1)
            put_pair(p, ',', ' ');
        put_operand(p, fn, i, member);
    }
}

static void put_index(Printer *p, const Function *fn, const Instr *i, const Operand *o)
{
    put_operand(p, fn, i, o + 1);
    put_char(p, '[');
    put_operand(p, fn, i, o + 2);
    put_char(p, ']');
}

static void put_aggregate(Printer *p, const Function *fn, const Instr *i, const Operand *o)
{
    static const char brackets[][2] = {{'[', ']'}, {'{', '}'}, {0}, {'(', ')'}};
    const char *pair = brackets[o->kind - OPND_MEM];
    if (o->kind == OPND_PAIR) {
        put_members(p, fn, i, o, true);
        return;
    }
    put_char(p, pair[0]);
    put_members(p, fn, i, o, false);
    put_char(p, pair[1]);
}

/* Prints the label as it was written, if it is still visible: ptxas -g allots registers by it. */
static void put_label(Printer *p, const Function *fn, const Instr *i, const Operand *o)
{
    const Block *target = fn_block(fn, o->id);
    const Label *label = o->value ? target->labels : NULL;
    for (i64 left = o->value; label && --left > 0;)
        label = label->next;
    if (!label || !scope_encloses(fn, label->scope, i->scope))
        label = block_label_for(target, i->scope);
    put_name(p, label->name);
}

static void put_operand(Printer *p, const Function *fn, const Instr *i, const Operand *o)
{
    const Module *m = fn->module;
    if (o->flags & (OPNDF_NOT | OPNDF_NEG))
        put_char(p, o->flags & OPNDF_NOT ? '!' : '-');
    switch ((OperandKind)o->kind) {
    case OPND_REG:
        put_reg(p, fn_reg(fn, o->id));
        if (o->sub != SUB_NONE)
            put_component(p, m, o);
        if (o->sub != SUB_OTHER)
            put_offset(p, o->value);
        break;
    case OPND_SREG:
        put_cstr(p, sreg_info(o->id)->name);
        put_component(p, m, o);
        put_offset(p, o->value);
        break;
    case OPND_IMM: put_integer(p, o->value, o->flags & OPNDF_UNSIGNED); break;
    case OPND_FLOAT: put_float(p, o); break;
    case OPND_SYM:
        put_name(p, m->syms.v[o->id].name);
        put_offset(p, o->value);
        break;
    case OPND_LABEL: put_label(p, fn, i, o); break;
    case OPND_TABLE: put_name(p, fn->tables.v[o->id].name); break;
    case OPND_SINK: put_char(p, '_'); break;
    case OPND_NAME: put_name(p, m->other_names.v[o->id]); break;
    case OPND_INDEX: put_index(p, fn, i, o); break;
    default: put_aggregate(p, fn, i, o); break;
    }
}

/* Whether the operand is written. An empty list of a call is not: `call f;`. */
static bool is_written(const Operand *o) { return o->kind != OPND_LIST || o->value > 0; }

void printer_instr(Printer *p, const Function *fn, const Instr *i)
{
    room_for(p, 0); /* pending text comes first */
    if (i->guard) {
        put_char(p, '@');
        if (i->guard_not)
            put_char(p, '!');
        put_reg(p, fn_reg(fn, i->guard));
        put_char(p, ' ');
    }
    put_name(p, i->op->text);
    bool first = true;
    const Operand *end = i->opnd + i->slots;
    for (const Operand *o = i->opnd; o < end; o += operand_slots(o)) {
        if (!is_written(o))
            continue;
        if (!first)
            put_char(p, ',');
        put_char(p, ' ');
        put_operand(p, fn, i, o);
        first = false;
    }
    put_char(p, ';');
}

void print_instr(FILE *out, const Function *fn, const Instr *i)
{
    Printer p;
    printer_init(&p, out, fn->module->text);
    if (i->kind == INSTR_OP)
        printer_instr(&p, fn, i);
    else
        printer_source(&p, i->text.beg, i->text.end);
    printer_flush(&p);
}
