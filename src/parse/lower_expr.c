/* Literals and constant expressions: PTX ISA, "Constants" and "Constant Expressions". Integers are 64 bits wide. They are
 * signed unless they are marked U or too large for that, or an operand is unsigned. */
#include "parse/lower.h"
#include "parser.h"

#include <stdlib.h>
#include <string.h>

#define LITERAL_BYTES 64

static const Val bad = {.kind = VAL_BAD};

static Val integer(i64 value, bool is_unsigned)
{
    return (Val){.kind = VAL_INT, .flags = is_unsigned ? OPNDF_UNSIGNED : 0, .i = value};
}

static Val from_double(double d)
{
    Val v = {.kind = VAL_FLOAT};
    memcpy(&v.i, &d, sizeof d);
    return v;
}

static u32 digit_value(char c) { return c <= '9' ? (u32)(c - '0') : (u32)((c | 32) - 'a') + 10; }

bool lower_read_integer(const Lower *p, Span at, Val *v)
{
    const char *text = p->module->text.p + at.beg;
    u32 len = at.end - at.beg, base = 10, i = 0;
    bool is_unsigned = text[len - 1] == 'U';
    len -= is_unsigned;
    if (len > 1 && text[0] == '0') {
        base = text[1] == 'x' || text[1] == 'X' ? 16 : text[1] == 'b' || text[1] == 'B' ? 2 : 8;
        i = base == 8 ? 1 : 2;
    }
    u64 value = 0;
    for (; i < len; i++)
        if (value > INT64_MAX)
            return false;
        else
            value = value * base + digit_value(text[i]);
    v->kind = VAL_INT;
    v->flags = is_unsigned || value > INT64_MAX ? OPNDF_UNSIGNED : 0;
    v->i = (i64)value;
    return true;
}

void lower_integer(Lower *p, Span at, Val *v)
{
    if (lower_read_integer(p, at, v))
        return;
    lower_syntax_error(p, at, "this integer does not fit into 64 bits");
    v->kind = VAL_BAD;
}

void lower_float(Lower *p, Span at, Val *v)
{
    const char *text = p->module->text.p + at.beg;
    char buffer[LITERAL_BYTES];
    u32 len = at.end - at.beg;
    char kind = (char)(text[1] | 32); /* a floating-point number has at least two characters */
    if (text[0] == '0' && (kind == 'f' || kind == 'd')) {
        u64 bits = 0;
        for (u32 i = 2; i < len; i++)
            bits = bits << 4 | digit_value(text[i]);
        *v = (Val){.kind = VAL_FLOAT, .flags = kind == 'f' ? OPNDF_SINGLE : 0, .i = (i64)bits};
    } else if (len >= sizeof buffer) {
        lower_syntax_error(p, at, "this number has too many digits");
        v->kind = VAL_BAD;
    } else {
        memcpy(buffer, text, len);
        buffer[len] = '\0';
        *v = from_double(strtod(buffer, NULL));
    }
}

Val lower_name(const Lower *p, Span at, bool dotted)
{
    if (lower_is_warp_size(p->module->text.p + at.beg, at.end - at.beg))
        return integer(32, false);
    return (Val){.kind = VAL_NAME, .dotted = dotted, .name = at};
}

/* Reports a name in parentheses. Parentheses hold constants; around a name they are the list of a call, and nothing else. */
static bool bad_parentheses(Lower *p, Val v, Span at)
{
    bool wrong = v.flags & VAL_PARENTHESIZED && (v.kind == VAL_NAME || v.kind == VAL_PAIR);
    if (wrong)
        lower_error(p, at, "a name does not stand in parentheses");
    return wrong;
}

Val lower_parentheses(Lower *p, Val v, Span at)
{
    if (bad_parentheses(p, v, at))
        return bad;
    v.flags |= VAL_PARENTHESIZED;
    return v;
}

/* The value as a double, in which arithmetic on constants is done. 0f literals are bit patterns of singles. */
static double as_double(Val v)
{
    double d;
    if (v.kind == VAL_INT)
        return v.flags & OPNDF_UNSIGNED ? (double)(u64)v.i : (double)v.i;
    if (v.flags & OPNDF_SINGLE) {
        float f;
        u32 bits = (u32)v.i;
        memcpy(&f, &bits, sizeof f);
        return f;
    }
    memcpy(&d, &v.i, sizeof d);
    return d;
}

static Val negate_float(Val v)
{
    v.i ^= v.flags & OPNDF_SINGLE ? (i64)0x80000000 : INT64_MIN;
    return v;
}

Val lower_unary(Lower *p, int op, Val a, Span at)
{
    if (bad_parentheses(p, a, at))
        return bad;
    a.flags &= (u8)~VAL_PARENTHESIZED;
    if (a.kind == VAL_BAD || (op == '+' && a.kind <= VAL_FLOAT))
        return a;
    if (a.kind == VAL_NAME && (op == '!' || op == '-')) {
        a.flags ^= op == '!' ? OPNDF_NOT : OPNDF_NEG;
        return a;
    }
    if (a.kind == VAL_FLOAT && op == '-')
        return negate_float(a);
    if (a.kind != VAL_INT) {
        lower_error(p, at, "'%c' needs an integer constant here", op);
        return bad;
    }
    bool is_unsigned = a.flags & OPNDF_UNSIGNED;
    switch (op) {
    case '-': return integer((i64)(0 - (u64)a.i), is_unsigned);
    case '~': return integer(~a.i, true); /* as in ptxas, like the two below */
    default: return integer(!a.i, false);
    }
}

static Val binary_float(Lower *p, int op, double a, double b, Span at)
{
    switch (op) {
    case '+': return from_double(a + b);
    case '-': return from_double(a - b);
    case '*': return from_double(a * b);
    case '/': return from_double(a / b);
    case '<': return integer(a < b, false);
    case '>': return integer(a > b, false);
    case T_LE: return integer(a <= b, false);
    case T_GE: return integer(a >= b, false);
    case T_EQ: return integer(a == b, false);
    case T_NE: return integer(a != b, false);
    default: lower_error(p, at, "this operator needs integer constants"); return bad;
    }
}

static Val binary_integer(Lower *p, int op, u64 a, u64 b, bool u, Span at)
{
    i64 sa = (i64)a, sb = (i64)b;
    switch (op) {
    case '+': return integer((i64)(a + b), u);
    case '-': return integer((i64)(a - b), u);
    case '*': return integer((i64)(a * b), u);
    case '/':
    case '%':
        if (!b) {
            lower_error(p, at, "division by zero");
            return bad;
        }
        if (op == '%')
            return integer((i64)(a % b), true);
        if (u)
            return integer((i64)(a / b), true);
        return integer(sb == -1 ? (i64)(0 - a) : sa / sb, false);
    case T_SHL: return integer((i64)(a << (b & 63)), u);
    case T_SHR: return integer(u ? (i64)(a >> (b & 63)) : sa >> (b & 63), u);
    case '<': return integer(u ? a < b : sa < sb, false);
    case '>': return integer(u ? a > b : sa > sb, false);
    case T_LE: return integer(u ? a <= b : sa <= sb, false);
    case T_GE: return integer(u ? a >= b : sa >= sb, false);
    case T_EQ: return integer(a == b, false);
    case T_NE: return integer(a != b, false);
    case '&': return integer((i64)(a & b), u);
    case '^': return integer((i64)(a ^ b), u);
    case '|': return integer((i64)(a | b), u);
    case T_ANDAND: return integer(a && b, false);
    default: return integer(a || b, false);
    }
}

Val lower_binary(Lower *p, int op, Val a, Val b, Span at)
{
    if (bad_parentheses(p, a, at) || bad_parentheses(p, b, at))
        return bad;
    a.flags &= (u8)~VAL_PARENTHESIZED;
    b.flags &= (u8)~VAL_PARENTHESIZED;
    if (a.kind == VAL_BAD || b.kind == VAL_BAD)
        return bad;
    if (op == '|' && a.kind == VAL_NAME && b.kind == VAL_NAME) {
        Val pair = {.kind = VAL_PAIR, .name = a.name, .second = b.name};
        pair.negated = (u8)((a.flags & OPNDF_NOT ? 1 : 0) | (b.flags & OPNDF_NOT ? 2 : 0));
        return pair;
    }
    if (a.kind == VAL_NAME && b.kind == VAL_INT && op == '+') {
        a.i = (i64)((u64)a.i + (u64)b.i);
        return a;
    }
    if (a.kind == VAL_NAME && b.kind == VAL_INT && op == '-') {
        lower_error(p, at, "nothing is subtracted from a name in PTX: write '+-' and the constant");
        return bad;
    }
    if (a.kind == VAL_INT && b.kind == VAL_NAME && op == '+') {
        lower_error(p, at, "a name comes first in PTX: write the name, '+' and the constant");
        return bad;
    }
    if (a.kind == VAL_NAME && b.kind == VAL_NAME && op == '-' && !p->fn) {
        lower_mention(p, a); /* a distance between labels of debug data */
        lower_mention(p, b);
        return integer(0, false);
    }
    if (a.kind > VAL_FLOAT || b.kind > VAL_FLOAT) {
        lower_error(p, at, "this operator needs constants on both sides");
        return bad;
    }
    if (a.kind == VAL_FLOAT || b.kind == VAL_FLOAT)
        return binary_float(p, op, as_double(a), as_double(b), at);
    bool is_unsigned = (a.flags | (op == T_SHL || op == T_SHR ? 0 : b.flags)) & OPNDF_UNSIGNED;
    return binary_integer(p, op, (u64)a.i, (u64)b.i, is_unsigned, at);
}

Val lower_choose(Lower *p, Val condition, Val a, Val b, Span at)
{
    if (condition.kind == VAL_BAD)
        return bad;
    return lower_constant(p, condition, at) ? a : b;
}

Val lower_cast(Lower *p, u32 type, Val a)
{
    (void)p;
    if (a.kind == VAL_INT)
        return integer(a.i, type_class(type) == TC_UNSIGNED);
    return a;
}

/* The value of `generic(x)` or `0xFF00(x)` in an initialiser: its argument is what is named. */
Val lower_apply(Lower *p, Val function, Val argument, Span at)
{
    if (p->fn && function.kind != VAL_BAD) {
        lower_error(p, at, "this form belongs to initialisers of variables");
        return bad;
    }
    if (bad_parentheses(p, argument, at))
        return bad;
    return argument;
}

i64 lower_constant(Lower *p, Val v, Span at)
{
    if (v.kind == VAL_INT)
        return v.i;
    if (v.kind != VAL_BAD)
        lower_error(p, at, "an integer constant is needed here");
    return 0;
}
