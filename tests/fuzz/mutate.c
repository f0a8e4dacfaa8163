#include "mutate.h"

#include <ctype.h>
#include <stdlib.h>

#include "base/arena.h"

enum { TRIES = 40, RUN_MAX = 12, COPY_MAX = 40, DEPTH_MAX = 64 };

typedef enum StatementKind { OUTSIDE, INSTRUCTION, LABEL, TABLE, DIRECTIVE, OPEN, CLOSE } StatementKind;

/* A piece of the text, with the blanks and comments before it. */
typedef struct Statement {
    Str lead, text;
    StatementKind kind;
    u32 body;  /* number of the function's body from 1; 0: outside of all */
    u32 scope; /* of the text, from 1; a scope made later has none of its own */
} Statement;

typedef struct Mutation {
    Arena arena;
    Random *random;
    VEC(Statement) s;
    u32 fresh; /* labels made */
} Mutation;

static bool is_word(char c) { return isalnum((unsigned char)c) || c == '_' || c == '$'; }
static u32 below(Mutation *m, u32 n) { return random_below(m->random, n); }
static bool same(Str a, Str b) { return a.len == b.len && memcmp(a.p, b.p, a.len) == 0; }
static bool begins(Str a, const char *with) { return a.len >= strlen(with) && memcmp(a.p, with, strlen(with)) == 0; }
static Str part(Str a, u32 from, u32 to) { return (Str){a.p + from, to - from}; }

/* ---- the text in statements --------------------------------------------------------------------------------------- */

static u32 skip_blanks(Str t, u32 at)
{
    while (at < t.len) {
        if (isspace((unsigned char)t.p[at])) {
            at++;
        } else if (t.p[at] == '/' && at + 1 < t.len && t.p[at + 1] == '/') {
            while (at < t.len && t.p[at] != '\n')
                at++;
        } else if (t.p[at] == '/' && at + 1 < t.len && t.p[at + 1] == '*') {
            const char *end = strstr(t.p + at + 2, "*/");
            at = end ? (u32)(end - t.p) + 2 : t.len;
        } else {
            break;
        }
    }
    return at;
}

static u32 after_char(Str t, u32 at, char c)
{
    while (at < t.len && t.p[at] != c)
        at++;
    return at < t.len ? at + 1 : at;
}

static u32 after_braces(Str t, u32 at)
{
    u32 depth = 0;
    do {
        depth += t.p[at] == '{';
        depth -= t.p[at] == '}';
        at++;
    } while (at < t.len && depth > 0);
    return at;
}

/* Of the name that begins there; the same place where none does. */
static u32 after_name(Str t, u32 at)
{
    if (at < t.len && t.p[at] == '%')
        at++;
    while (at < t.len && is_word(t.p[at]))
        at++;
    return at;
}

static u32 statement_end(Str t, u32 at, StatementKind *kind)
{
    u32 name = after_name(t, at), colon = skip_blanks(t, name);
    *kind = INSTRUCTION;
    if (name > at && colon < t.len && t.p[colon] == ':') {
        Str rest = part(t, skip_blanks(t, colon + 1), t.len);
        *kind = begins(rest, ".branchtargets") ? TABLE : begins(rest, ".call") ? DIRECTIVE : LABEL;
        return *kind == LABEL ? colon + 1 : after_char(t, at, ';');
    }
    if (t.p[at] == '.')
        *kind = DIRECTIVE;
    return begins(part(t, at, t.len), ".loc") ? after_char(t, at, '\n') : after_char(t, at, ';');
}

/* Outside of functions a piece is a word, or all that is in braces. */
static u32 outside_end(Str t, u32 at)
{
    if (t.p[at] == '{')
        return after_braces(t, at);
    if (t.p[at] == '"')
        return after_char(t, at + 1, '"');
    at++;
    while (at < t.len && (is_word(t.p[at]) || t.p[at] == '.'))
        at++;
    return at;
}

static void scan(Mutation *m, Str t)
{
    u32 depth = 0, bodies = 0, scopes = 0, open[DEPTH_MAX] = {0};
    bool in_header = false;
    for (u32 at = 0; at < t.len;) {
        Statement s = {.body = depth ? bodies : 0, .scope = open[depth]};
        u32 beg = skip_blanks(t, at), end = beg;
        if (beg == t.len) {
        } else if (t.p[beg] == '{' && (depth || in_header) && depth + 1 < DEPTH_MAX) {
            s.kind = OPEN;
            bodies += depth++ == 0;
            open[depth] = ++scopes;
            in_header = false;
            end++;
        } else if (t.p[beg] == '}' && depth) {
            s.kind = CLOSE;
            depth--;
            end++;
        } else if (depth) {
            end = statement_end(t, beg, &s.kind);
        } else {
            end = outside_end(t, beg);
            Str word = part(t, beg, end);
            in_header = begins(word, ".entry") || begins(word, ".func") || (in_header && t.p[beg] != ';');
        }
        s.lead = part(t, at, beg);
        s.text = part(t, beg, end);
        vec_push(&m->s, s);
        at = end;
    }
}

/* ---- places ------------------------------------------------------------------------------------------------------- */

enum { NOWHERE = UINT32_MAX };

static u32 pick(Mutation *m, StatementKind kind)
{
    for (u32 tries = 0; tries < 4 * TRIES; tries++) {
        u32 i = below(m, m->s.n);
        if (m->s.v[i].kind == kind)
            return i;
    }
    return NOWHERE;
}

/* One of the same function. */
static u32 pick_beside(Mutation *m, u32 i, StatementKind kind)
{
    u32 first = i, last = i;
    while (first > 0 && m->s.v[first - 1].body == m->s.v[i].body)
        first--;
    while (last + 1 < m->s.n && m->s.v[last + 1].body == m->s.v[i].body)
        last++;
    if (below(m, 2)) { /* near by */
        first = i - first > 30 ? i - 30 : first;
        last = last - i > 30 ? i + 30 : last;
    }
    for (u32 tries = 0; tries < TRIES; tries++) {
        u32 k = first + below(m, last - first + 1);
        if (m->s.v[k].kind == kind)
            return k;
    }
    return NOWHERE;
}

static void remove_at(Mutation *m, u32 at)
{
    memmove(m->s.v + at, m->s.v + at + 1, (m->s.n - at - 1) * sizeof *m->s.v);
    m->s.n--;
}

static void insert_at(Mutation *m, u32 at, Statement s)
{
    vec_push(&m->s, s);
    memmove(m->s.v + at + 1, m->s.v + at, (m->s.n - at - 1) * sizeof *m->s.v);
    m->s.v[at] = s;
}

__attribute__((format(printf, 5, 6))) static void insert_text(Mutation *m, u32 at, StatementKind kind, u32 body,
                                                              const char *format, ...)
{
    Text made = {0};
    va_list arguments;
    va_start(arguments, format);
    text_vprintf(&made, format, arguments);
    va_end(arguments);
    const char *text = arena_printf(&m->arena, "%s", text_str(&made));
    vec_free(&made);
    u32 scope = m->s.v[at].scope;
    insert_at(m, at, (Statement){{"\n\t", 2}, {text, (u32)strlen(text)}, kind, body, scope});
}

static void replace(Mutation *m, u32 i, u32 from, u32 to, Str with)
{
    Str t = m->s.v[i].text;
    const char *made =
        arena_printf(&m->arena, "%.*s%.*s%.*s", (int)from, t.p, (int)with.len, with.p, (int)(t.len - to), t.p + to);
    m->s.v[i].text = (Str){made, (u32)strlen(made)};
}

/* ---- tokens ------------------------------------------------------------------------------------------------------- */

typedef enum TokenKind { REGISTER, NUMBER, NAME } TokenKind;

typedef struct Token {
    u32 beg, end;
} Token;

/* The first one at or after `at`. */
static bool next_token(Str t, TokenKind kind, u32 at, Token *token)
{
    for (; at < t.len; at++) {
        bool starts = at == 0 || (!is_word(t.p[at - 1]) && t.p[at - 1] != '.' && t.p[at - 1] != '%');
        unsigned char c = (unsigned char)t.p[at];
        bool is_kind = kind == REGISTER ? c == '%' : kind == NUMBER ? isdigit(c) : isalpha(c) || c == '$' || c == '_';
        if (starts && is_kind) {
            *token = (Token){at, after_name(t, at)};
            if (token->end > at + (c == '%'))
                return true;
        }
    }
    return false;
}

static bool pick_token(Mutation *m, Str t, TokenKind kind, Token *token)
{
    u32 n = 0;
    for (Token k = {0}; next_token(t, kind, k.end, &k);)
        n++;
    if (!n)
        return false;
    u32 which = below(m, n);
    *token = (Token){0, 0};
    do
        next_token(t, kind, token->end, token);
    while (which--);
    return true;
}

/* What registers of mostly one type have in common. */
static Str stem(Str name)
{
    u32 n = name.len;
    while (n > 1 && isdigit((unsigned char)name.p[n - 1]))
        n--;
    return part(name, 0, n);
}

/* Some register of the function whose name begins like this, one that stands before if possible; empty: none found. */
static Str some_register(Mutation *m, u32 i, Str like)
{
    for (u32 tries = 0; tries < 3 * TRIES; tries++) {
        Token token;
        u32 from = pick_beside(m, i, INSTRUCTION);
        if (from == NOWHERE || (from > i && tries < 2 * TRIES) || !pick_token(m, m->s.v[from].text, REGISTER, &token))
            continue;
        Str name = part(m->s.v[from].text, token.beg, token.end);
        if (same(stem(name), like))
            return name;
    }
    return (Str){"", 0};
}

static u32 guard_end(Str t)
{
    return t.p[0] == '@' ? skip_blanks(t, after_name(t, t.len > 1 && t.p[1] == '!' ? 2 : 1)) : 0;
}

static u32 opcode_end(Str t, u32 at)
{
    while (at < t.len && (is_word(t.p[at]) || t.p[at] == '.' || t.p[at] == ':'))
        at++;
    return at;
}

/* The label that a branch goes to. */
static bool branch_target(Str t, Token *token)
{
    u32 at = guard_end(t);
    if (!begins(part(t, at, t.len), "bra"))
        return false;
    return next_token(t, NAME, opcode_end(t, at), token);
}

static bool leaves_block(Str t)
{
    return begins(t, "bra") || begins(t, "ret") || begins(t, "exit") || begins(t, "brx") || begins(t, "trap");
}

static Str label_name(const Statement *s) { return part(s->text, 0, after_name(s->text, 0)); }

static const char *fresh_label(Mutation *m) { return arena_printf(&m->arena, "$mutated%u", m->fresh++); }

/* ---- changes of operands ------------------------------------------------------------------------------------------- */

static bool change_register(Mutation *m, u32 i)
{
    Token token;
    if (!pick_token(m, m->s.v[i].text, REGISTER, &token))
        return false;
    Str name = part(m->s.v[i].text, token.beg, token.end), other = some_register(m, i, stem(name));
    if (!other.len || same(name, other))
        return false;
    replace(m, i, token.beg, token.end, other);
    return true;
}

static bool change_number(Mutation *m, u32 i)
{
    static const char *const others[] = {
        "0",  "1",  "2",  "3",   "4",          "7",          "8",          "16",
        "31", "32", "64", "255", "0x7fffffff", "0x80000000", "0xffffffff", "0x8000000000000000"};
    Token token;
    u32 from = guard_end(m->s.v[i].text), after = opcode_end(m->s.v[i].text, from);
    Str operands = part(m->s.v[i].text, after, m->s.v[i].text.len);
    if (!pick_token(m, operands, NUMBER, &token))
        return false;
    Str number = part(operands, token.beg, token.end);
    if (number.len > 2 && (number.p[1] == 'f' || number.p[1] == 'd'))
        return false;
    long long value = (long long)strtoull(number.p, NULL, 0), step = below(m, 3) ? 1 : 4;
    const char *made = others[below(m, COUNT_OF(others))];
    if (below(m, 2))
        made = arena_printf(&m->arena, "%lld", below(m, 2) || value < step ? value + step : value - step);
    replace(m, i, after + token.beg, after + token.end, (Str){made, (u32)strlen(made)});
    return true;
}

static bool change_label(Mutation *m, u32 i)
{
    Token token;
    u32 label = pick_beside(m, i, LABEL);
    if (label == NOWHERE)
        return false;
    u32 table = below(m, 3) ? NOWHERE : pick(m, TABLE);
    if (table != NOWHERE && m->s.v[table].body == m->s.v[label].body) {
        Str t = m->s.v[table].text;
        u32 entries = after_char(t, after_char(t, 0, '.'), ' ');
        if (!pick_token(m, part(t, entries, t.len), NAME, &token))
            return false;
        replace(m, table, entries + token.beg, entries + token.end, label_name(&m->s.v[label]));
        return true;
    }
    for (u32 tries = 0; tries < TRIES; tries++) {
        u32 branch = pick_beside(m, label, INSTRUCTION);
        if (branch == NOWHERE || !branch_target(m->s.v[branch].text, &token))
            continue;
        if (m->s.v[branch].scope != m->s.v[label].scope && below(m, 20))
            continue;
        replace(m, branch, token.beg, token.end, label_name(&m->s.v[label]));
        return true;
    }
    return false;
}

static bool change_guard(Mutation *m, u32 i)
{
    Str t = m->s.v[i].text;
    u32 end = guard_end(t);
    if (end && below(m, 3) == 0) {
        replace(m, i, 0, end, (Str){"", 0});
    } else if (end && below(m, 2)) {
        bool is_not = t.p[1] == '!';
        replace(m, i, 1, is_not ? 2 : 1, is_not ? (Str){"", 0} : (Str){"!", 1});
    } else {
        Str p = some_register(m, i, (Str){"%p", 2});
        if (!p.len)
            return false;
        const char *guard = arena_printf(&m->arena, "@%s%.*s ", below(m, 2) ? "!" : "", (int)p.len, p.p);
        replace(m, i, 0, end, (Str){guard, (u32)strlen(guard)});
    }
    return true;
}

/* ---- changes of opcodes -------------------------------------------------------------------------------------------- */

static const char *const words[][2] = {
#define EITHER(a, b) {a, b},
#define TEXT(a, b) {a, b},
#include "swaps.def"
};

static bool change_word(Mutation *m, u32 i)
{
    Str t = m->s.v[i].text;
    u32 from = guard_end(t), end = opcode_end(t, from);
    for (u32 tries = 0; tries < TRIES; tries++) {
        u32 k = below(m, COUNT_OF(words)), side = below(m, 2);
        u32 len = (u32)strlen(words[k][side]);
        for (u32 at = from; len && at + len <= end; at++)
            if (memcmp(t.p + at, words[k][side], len) == 0) {
                replace(m, i, at, at + len, (Str){words[k][!side], (u32)strlen(words[k][!side])});
                return true;
            }
    }
    return false;
}

/* What an instruction's operands look like: punctuation, and the stems of registers. */
static void shape(Str t, u32 at, Text *to)
{
    while (at < t.len) {
        u32 end = after_name(t, at);
        Str name = part(t, at, end);
        if (end == at)
            end++;
        if (name.len && name.p[0] == '%')
            text_append(to, stem(name).p, stem(name).len);
        else if (name.len)
            text_append(to, "n", 1);
        else if (!isspace((unsigned char)t.p[at]))
            text_append(to, t.p + at, 1);
        at = end;
    }
}

static bool borrow_opcode(Mutation *m, u32 i)
{
    Str t = m->s.v[i].text;
    u32 from = guard_end(t), end = opcode_end(t, from);
    Text own = {0}, other = {0};
    shape(t, end, &own);
    bool done = false;
    for (u32 tries = 0; tries < 3 * TRIES && !done; tries++) {
        u32 k = pick(m, INSTRUCTION);
        if (k == NOWHERE)
            break;
        Str theirs = m->s.v[k].text;
        u32 beg = guard_end(theirs), stop = opcode_end(theirs, beg);
        vec_clear(&other);
        shape(theirs, stop, &other);
        done = same((Str){own.v, own.n}, (Str){other.v, other.n}) && !same(part(t, from, end), part(theirs, beg, stop));
        if (done)
            replace(m, i, from, end, part(theirs, beg, stop));
    }
    vec_free(&own);
    vec_free(&other);
    return done;
}

/* ---- changes of order ---------------------------------------------------------------------------------------------- */

static bool remove_one(Mutation *m, u32 i)
{
    remove_at(m, i);
    return true;
}

static bool exchange(Mutation *m, u32 i)
{
    u32 k = pick_beside(m, i, INSTRUCTION);
    if (k == NOWHERE || k == i)
        return false;
    Statement s = m->s.v[i];
    m->s.v[i] = m->s.v[k];
    m->s.v[k] = s;
    return true;
}

/* A run of instructions comes a second time, or at another place. */
static bool copy_run(Mutation *m, u32 i, bool remove)
{
    Statement run[RUN_MAX];
    u32 n = 0, most = below(m, 2) ? 1 : 1 + below(m, RUN_MAX);
    while (n < most && i + n < m->s.n && m->s.v[i + n].kind == INSTRUCTION) {
        run[n] = m->s.v[i + n];
        n++;
    }
    u32 to = pick_beside(m, i, below(m, 3) ? INSTRUCTION : LABEL);
    if (to == NOWHERE || (to >= i && to < i + n && remove))
        return false;
    to += m->s.v[to].kind == LABEL;
    for (u32 k = 0; k < n; k++)
        insert_at(m, to + k, run[k]);
    for (u32 k = 0; k < n && remove; k++)
        remove_at(m, to <= i ? i + n : i);
    return true;
}

static bool duplicate(Mutation *m, u32 i) { return copy_run(m, i, false); }
static bool move(Mutation *m, u32 i) { return copy_run(m, i, true); }

static bool move_label(Mutation *m, u32 i)
{
    u32 label = pick_beside(m, i, LABEL);
    if (label == NOWHERE)
        return false;
    Statement s = m->s.v[label];
    remove_at(m, label);
    insert_at(m, i > label ? i - 1 : i, s);
    return true;
}

/* ---- changes of blocks --------------------------------------------------------------------------------------------- */

static bool split(Mutation *m, u32 i)
{
    const char *label = fresh_label(m);
    u32 body = m->s.v[i].body;
    Str p = some_register(m, i, (Str){"%p", 2});
    insert_text(m, i, LABEL, body, "%s:", label);
    if (p.len && below(m, 2)) { /* around some instructions that follow */
        Statement s = m->s.v[i];
        remove_at(m, i);
        u32 to = i;
        while (to < m->s.n && to < i + RUN_MAX && m->s.v[to].kind == INSTRUCTION)
            to++;
        insert_at(m, i + 1 + below(m, to - i), s);
        insert_text(m, i, INSTRUCTION, body, "@%s%.*s bra %s;", below(m, 2) ? "!" : "", (int)p.len, p.p, label);
    } else if (below(m, 2)) {
        insert_text(m, i, INSTRUCTION, body, "bra %s;", label);
    }
    return true;
}

static bool join(Mutation *m, u32 i)
{
    for (u32 tries = 0; tries < TRIES; tries++) {
        u32 k = pick_beside(m, i, INSTRUCTION);
        if (k == NOWHERE || !leaves_block(m->s.v[k].text))
            continue;
        remove_at(m, k);
        return true;
    }
    return false;
}

static bool make_loop(Mutation *m, u32 i)
{
    const char *label = fresh_label(m);
    Str p = some_register(m, i, (Str){"%p", 2});
    u32 to = pick_beside(m, i, INSTRUCTION), body = m->s.v[i].body;
    if (!p.len || to == NOWHERE)
        return false;
    u32 first = i < to ? i : to, last = i < to ? to : i;
    insert_text(m, last, INSTRUCTION, body, "@%s%.*s bra %s;", below(m, 2) ? "!" : "", (int)p.len, p.p, label);
    insert_text(m, first, LABEL, body, "%s:", label);
    return true;
}

/* Branches in [from, to) to the label of that name go to another one. */
static void rename_targets(Mutation *m, u32 from, u32 to, Str name, const char *other)
{
    for (u32 k = from; k < to; k++) {
        Token token;
        if (m->s.v[k].kind == INSTRUCTION && branch_target(m->s.v[k].text, &token) &&
            same(part(m->s.v[k].text, token.beg, token.end), name))
            replace(m, k, token.beg, token.end, (Str){other, (u32)strlen(other)});
    }
}

/* Where nothing falls into: after an instruction that never goes on. */
static u32 gap_beside(Mutation *m, u32 i)
{
    for (u32 tries = 0; tries < TRIES; tries++) {
        u32 k = pick_beside(m, i, INSTRUCTION);
        if (k != NOWHERE && leaves_block(m->s.v[k].text))
            return k + 1;
    }
    return NOWHERE;
}

/* Some blocks get a copy with labels of its own, and a branch to the first of them goes to the copy. */
static bool copy_blocks(Mutation *m, u32 i)
{
    u32 label = pick_beside(m, i, LABEL), gap = gap_beside(m, i), n = 1;
    if (label == NOWHERE || gap == NOWHERE)
        return false;
    u32 least = 1 + below(m, COPY_MAX);
    while (label + n < m->s.n && (n < least || !leaves_block(m->s.v[label + n - 1].text))) {
        StatementKind kind = m->s.v[label + n].kind;
        if (kind == OPEN || kind == CLOSE || kind == TABLE || kind == DIRECTIVE || n > 3 * COPY_MAX)
            break;
        n++;
    }
    if (!leaves_block(m->s.v[label + n - 1].text) || (gap > label && gap < label + n))
        return false;
    Statement first = m->s.v[label];
    for (u32 k = 0; k < n; k++)
        insert_at(m, gap + k, m->s.v[label < gap ? label + k : label + 2 * k]);
    const char *entry = NULL;
    for (u32 k = gap; k < gap + n; k++) {
        if (m->s.v[k].kind != LABEL)
            continue;
        const char *fresh = fresh_label(m);
        rename_targets(m, gap, gap + n, label_name(&m->s.v[k]), fresh);
        const char *text = arena_printf(&m->arena, "%s:", fresh);
        m->s.v[k].text = (Str){text, (u32)strlen(text)};
        entry = entry ? entry : fresh;
    }
    for (u32 tries = 0; tries < TRIES; tries++) {
        Token token;
        u32 k = pick_beside(m, gap, INSTRUCTION);
        if (k != NOWHERE && branch_target(m->s.v[k].text, &token) &&
            (same(part(m->s.v[k].text, token.beg, token.end), label_name(&first)) || tries > TRIES / 2)) {
            replace(m, k, token.beg, token.end, (Str){entry, (u32)strlen(entry)});
            break;
        }
    }
    return true;
}

static bool wrap(Mutation *m, u32 i)
{
    u32 n = 1, most = 1 + below(m, COPY_MAX), body = m->s.v[i].body;
    bool labels_too = below(m, 20) == 0; /* what is outside cannot branch to them */
    while (n < most && i + n < m->s.n && (m->s.v[i + n].kind == INSTRUCTION || (m->s.v[i + n].kind == LABEL && labels_too)))
        n++;
    insert_text(m, i + n, CLOSE, body, "}");
    insert_text(m, i, OPEN, body, "{");
    return true;
}

/* #p, #r and #d stand for registers. */
static const char *const snippets[] = {
    "@#p exit;",
    "@!#p ret;",
    "@#p ret;",
    "exit;",
    "ret;",
    "bar.sync 0;",
    "barrier.sync 1;",
    "@#p bar.sync 0;",
    "bar.warp.sync -1;",
    "vote.sync.ballot.b32 #r, #p, -1;",
    "vote.sync.any.pred #p, #p, -1;",
    "vote.ballot.b32 #r, #p;",
    "activemask.b32 #r;",
    "elect.sync #r|#p, -1;",
    "shfl.sync.idx.b32 #r, #r, 0, 31, -1;",
    "match.any.sync.b32 #r, #r, -1;",
    "redux.sync.add.s32 #r, #r, -1;",
    ".pragma \"nounroll\";",
    "membar.cta;",
    "mov.u32 #r, %laneid;",
    "mov.u32 #r, %tid.x;",
    "mov.u32 #r, 1;",
    "@#p mov.u32 #r, #r;",
    "setp.eq.u32 #p, #r, 0;",
    "setp.lt.s32 #p, #r, #r;",
    "setp.ne.u32 #p, #r, 7;",
    "not.pred #p, #p;",
    "selp.b32 #r, 1, #r, #p;",
    "add.s32 #r, #r, 1;",
    "nanosleep.u32 20;",
    "trap;",
    "ld.volatile.global.u32 #r, [#d];",
    "st.volatile.global.u32 [#d], #r;",
    "atom.global.add.u32 #r, [#d], 1;",
    "red.global.add.u32 [#d], #r;",
    "griddepcontrol.wait;",
    "cp.async.commit_group;",
    "cp.async.wait_group 0;",
    "barrier.cluster.arrive;",
    "barrier.cluster.wait;",
};

static bool insert_snippet(Mutation *m, u32 i)
{
    static const struct {
        char letter;
        const char *stem;
    } kinds[] = {{'p', "%p"}, {'r', "%r"}, {'d', "%rd"}};
    const char *p = snippets[below(m, COUNT_OF(snippets))];
    Text made = {0};
    for (; *p; p++) {
        const char *like = NULL;
        for (u32 k = 0; k < COUNT_OF(kinds) && *p == '#'; k++)
            like = p[1] == kinds[k].letter ? kinds[k].stem : like;
        if (!like) {
            text_append(&made, p, 1);
            continue;
        }
        Str name = some_register(m, i, (Str){like, (u32)strlen(like)});
        text_append(&made, name.p, name.len);
        p++;
        if (!name.len) {
            vec_free(&made);
            return false;
        }
    }
    insert_text(m, i, INSTRUCTION, m->s.v[i].body, "%s", text_str(&made));
    vec_free(&made);
    return true;
}

/* ---- launches ------------------------------------------------------------------------------------------------------------ */

static Str entry_header(Str t)
{
    const char *entry = strstr(t.p, ".entry"), *body = entry ? strchr(entry, '{') : NULL;
    return body ? (Str){entry + 6, (u32)(body - entry) - 6} : (Str){"", 0};
}

void mutate_launch(Random *random, const Text *ptx, Text *launch)
{
    Str header = entry_header((Str){ptx->v, ptx->n});
    Text arguments = {0};
    u32 pointers = 0, blocks = 1 + random_below(random, 2), threads = 8u << random_below(random, 4);
    u32 beg = skip_blanks(header, 0), end = after_name(header, beg), shape[3] = {threads, 1, 1};
    if (end == beg)
        return;
    const char *ntid = strstr(header.p, "ntid "); /* .reqntid, .maxntid */
    if (ntid && ntid < header.p + header.len)
        sscanf(ntid + 5, "%u , %u , %u", &shape[0], &shape[1], &shape[2]);
    for (u32 k = 0; k < 3; k++)
        shape[k] = shape[k] < 1 || shape[k] > 1024 ? 1 : shape[k];
    text_printf(launch, "launch guessed\n");
    for (u32 at = end; at < header.len; at++) {
        Str rest = part(header, at, header.len);
        if (!begins(rest, ".param"))
            continue;
        at = skip_blanks(header, at + 6);
        Str type = part(header, at, header.len);
        if (begins(type, ".u64") || begins(type, ".b64") || begins(type, ".s64")) {
            text_printf(launch, "buffer b%u u32 8192 random %u 0 %u\n", pointers, random_below(random, 100),
                        1u << random_below(random, 8));
            text_printf(&arguments, "arg ptr b%u\n", pointers++);
        } else {
            text_printf(&arguments, "arg %s %u\n", begins(type, ".f32") ? "f32" : "u32", random_below(random, 40));
        }
    }
    text_printf(launch, "kernel %.*s\ngrid %u 1 1\nblock %u %u %u\n", (int)(end - beg), header.p + beg, blocks, shape[0],
                shape[1], shape[2]);
    text_append(launch, arguments.v, arguments.n);
    for (u32 k = 0; k < pointers; k++)
        text_printf(launch, "output b%u\n", k);
    vec_free(&arguments);
}

/* ---- all ----------------------------------------------------------------------------------------------------------- */

/* At an instruction; false: there is nothing of the kind to change. */
typedef bool Change(Mutation *m, u32 i);

static Change *const changes_known[] = {
    change_register, change_register, change_number, change_label,   change_label,
    change_guard,    change_guard,    change_word,   change_word,    borrow_opcode,
    remove_one,      exchange,        duplicate,     move,           move_label,
    split,           split,           join,          make_loop,      copy_blocks,
    copy_blocks,     copy_blocks,     wrap,          insert_snippet, insert_snippet,
};

void mutate_ptx(Random *random, const Text *ptx, u32 changes, Text *to)
{
    Mutation m = {.random = random};
    scan(&m, (Str){ptx->v, ptx->n});
    for (u32 n = 0, tries = 0; n < changes && tries < 8 * changes; tries++) {
        u32 i = pick(&m, INSTRUCTION);
        if (i != NOWHERE)
            n += changes_known[below(&m, COUNT_OF(changes_known))](&m, i);
    }
    for (u32 i = 0; i < m.s.n; i++) {
        text_append(to, m.s.v[i].lead.p, m.s.v[i].lead.len);
        text_append(to, m.s.v[i].text.p, m.s.v[i].text.len);
    }
    text_str(to);
    vec_free(&m.s);
    arena_free(&m.arena);
}
