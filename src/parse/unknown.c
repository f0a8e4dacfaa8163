/* The end of text of unknown meaning is found by punctuation alone: `;` and balanced braces, outside of strings and
 * comments. The names that such text declares are unknown as well, so after an unknown directive no missing name is an error. */
#include "parse/unknown.h"

#include <stdlib.h>
#include <string.h>

#include "parse/recover.h"

/* ---- names and words ------------------------------------------------------------------------------------------- */

static const char *describe(Lower *p, const char *what, Span at)
{
    return arena_printf(p->module->arena, "%s '%.*s' is not known", what, (int)(at.end - at.beg),
                        p->module->text.p + at.beg);
}

void lower_unknown_in_module(Lower *p, const char *what, Span at)
{
    Module *m = p->module;
    if (!m->untouchable.why)
        m->untouchable = (Untouchable){describe(p, what, at), at};
    p->lenient = LENIENT_MODULE;
}

void lower_unknown_in_function(Lower *p, const char *what, Span at)
{
    p->fn->verbatim = true;
    lower_leave_alone(p, describe(p, what, at), at);
}

/* Whether the name may be a special register that is read, as a whole or in part. */
bool lower_unknown_register(Lower *p, Span name)
{
    const char *text = p->module->text.p + name.beg;
    if (p->strict || text[0] != '%' || !p->fn || p->names_missing & MISSING_IN_FUNCTION ||
        names_declared_in_function(p, name))
        return false;
    vec_push(&p->unknown_names, name);
    return true;
}

void lower_check_unknown_registers(Lower *p)
{
    for (u32 i = 0; i < p->unknown_names.n; i++) {
        Span name = p->unknown_names.v[i];
        if (names_declared_in_function(p, name))
            lower_error(p, name, "register '%.*s' is not declared before this", (int)(name.end - name.beg),
                        p->module->text.p + name.beg);
    }
    vec_clear(&p->unknown_names);
}

/* Makes a function untouchable if another declaration of it is not known as a whole, and may say something about its body. */
static void distrust_definitions(Module *m)
{
    bool *unknown = mem_zalloc(m->syms.n);
    for (u32 f = 0; f < m->functions.n; f++)
        unknown[m->functions.v[f]->sym] |= m->functions.v[f]->verbatim;
    for (u32 f = 0; f < m->functions.n; f++) {
        Function *fn = m->functions.v[f];
        if (!fn->untouchable.why && fn->sym && unknown[fn->sym])
            fn->untouchable.why = "another declaration of it is not known as a whole";
    }
    mem_free(unknown);
}

void lower_distrust(Module *m)
{
    distrust_definitions(m);
    for (u32 f = 0; m->untouchable.why && f < m->functions.n; f++)
        if (!m->functions.v[f]->untouchable.why)
            m->functions.v[f]->untouchable = m->untouchable;
}

/* An opcode that is not in the tables. */
const OpInfo *lower_unknown_op(Lower *p) { return isa_decode(p->module->isa, "unknown", 7); }

/* ---- syntax ---------------------------------------------------------------------------------------------------- */

static bool is_token(const SyntaxError *error, const char *name) { return !strcmp(error->found, name); }

/* Whether the error is in the operands of an unknown instruction, which continues up to its `;`. */
static bool is_unknown_operand(const Lower *p, const SyntaxError *error)
{
    if (!p->op || is_token(error, "'}'") || is_token(error, "end of file") || is_token(error, "this character"))
        return false;
    return !p->op->known || is_token(error, "a modifier");
}

/* Whether a directive that was skipped up to here continues after all. */
static bool goes_on(const Lower *p, const SyntaxError *error)
{
    return p->skipped_to && p->skipped_to == p->before_token && !is_token(error, "'}'") && !is_token(error, "end of file");
}

/* Appends the skipped text as an instruction that may do anything, for code that reads functions which it may not change. */
static void append_unknown(Lower *p, Span at) { lower_append(p, lower_item(p, INSTR_OP, lower_unknown_op(p), at)); }

static void take(Lower *p, const SyntaxError *error)
{
    if (p->op) {
        lower_unknown_in_function(p, "an operand of", p->op_at);
        append_unknown(p, p->op_at);
    } else if (lower_in_body(p)) {
        lower_unknown_in_function(p, "directive", error->at);
        append_unknown(p, error->at);
        p->lenient = p->lenient ? p->lenient : LENIENT_FUNCTION;
    } else if (p->fn && p->fn->name) {
        lower_unknown_in_function(p, "directive", error->at);
        p->lenient = p->lenient ? p->lenient : LENIENT_FUNCTION;
    } else {
        lower_unknown_in_module(p, "directive", error->at);
    }
}

bool unknown_syntax(Lower *p, const SyntaxError *error)
{
    if (p->strict || p->mute)
        return false;
    bool operand = lower_in_body(p) && is_unknown_operand(p, error);
    if (!operand && !(is_token(error, "a modifier") && !p->op) && !goes_on(p, error))
        return false;
    p->skip = operand            ? SKIP_UNKNOWN_INSTRUCTION
              : lower_in_body(p) ? SKIP_UNKNOWN_STATEMENT
              : p->fn            ? SKIP_UNKNOWN_HEADER
                                 : SKIP_UNKNOWN_ITEM;
    p->skip_braces = 0;
    for (u32 k = 0; k < p->open_aggregates.n; k++)
        p->skip_braces += p->operands.v[p->open_aggregates.v[k]].kind == OPND_VEC;
    take(p, error);
    lower_instr_reset(p);
    p->cursor = error->at.beg;
    p->recovering = true;
    return true;
}

/* ---- skipping -------------------------------------------------------------------------------------------------- */

static bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n' || c == '\f' || c == '\x1a'; }

/* The place after the comment that starts at `at`; `at` itself when there is none. */
static u32 comment_end(const Lower *p, u32 at)
{
    const char *text = p->module->text.p;
    u32 len = p->module->text.len;
    if (at + 1 >= len || text[at] != '/')
        return at;
    if (text[at + 1] == '/') {
        while (at < len && text[at] != '\n' && text[at] != '\r')
            at++;
    } else if (text[at + 1] == '*') {
        for (at += 2; at < len; at++)
            if (text[at] == '*' && text[at + 1] == '/')
                return at + 2;
    }
    return at;
}

static u32 skip_space(const Lower *p, u32 at)
{
    for (;;) {
        while (at < p->module->text.len && is_blank(p->module->text.p[at]))
            at++;
        u32 end = comment_end(p, at);
        if (end == at)
            return at;
        at = end;
    }
}

/* The place after a string on one line. A quote that nothing closes stands for itself. */
static u32 string_end(const Lower *p, u32 at)
{
    const char *text = p->module->text.p;
    u32 end = at + 1;
    while (end < p->module->text.len && text[end] != '"' && text[end] != '\n' && text[end] != '\r')
        end++;
    return end < p->module->text.len && text[end] == '"' ? end + 1 : at + 1;
}

/* The place after the comment, string or character at `at`. In no version of PTX are there bytes beyond ASCII outside of
 * comments. */
static u32 next_token(Lower *p, u32 at)
{
    u32 end = comment_end(p, at);
    if (end > at)
        return end;
    char c = p->module->text.p[at];
    if ((u8)c >= 0x80 || ((u8)c < 0x20 && !is_blank(c)))
        lower_bad_byte(p, (Span){at, at + 1});
    return c == '"' ? string_end(p, at) : at + 1;
}

/* The place after the brace that closes the one at `at`. */
static u32 braces_end(Lower *p, u32 at)
{
    u32 depth = 0;
    while (at < p->module->text.len) {
        char c = p->module->text.p[at];
        at = next_token(p, at);
        depth += c == '{';
        if (c == '}' && --depth == 0)
            break;
    }
    return at;
}

static bool is_one_of(char c, const char *set) { return c && strchr(set, c); }

/* Whether the text after a directive's braces still belongs to it. After a body comes the next function. */
static bool continues(const Lower *p, u32 at, bool *ends)
{
    u32 next = skip_space(p, at);
    char c = '\0';
    if (next < p->module->text.len)
        c = p->module->text.p[next];
    *ends = c == ';';
    return is_one_of(c, ";{,)");
}

/* The place of the body's `{`, of `;`, or of a `}` that closes nothing. */
static u32 header_end(Lower *p, u32 at)
{
    bool ends;
    while (at < p->module->text.len && !is_one_of(p->module->text.p[at], ";}")) {
        if (p->module->text.p[at] != '{') {
            at = next_token(p, at);
            continue;
        }
        bool strict_bytes = p->mute;
        p->mute = true; /* a body is read again */
        u32 end = braces_end(p, at);
        p->mute = strict_bytes;
        if (!continues(p, end, &ends))
            return at;
        at = end;
    }
    return at;
}

/* The place after the statement: after its `;`, or after braces that nothing of the statement follows. */
static u32 statement_end(Lower *p, u32 at, bool item)
{
    bool ends = false;
    while (at < p->module->text.len) {
        char c = p->module->text.p[at];
        if (c == '}')
            return item ? at + 1 : at;
        if (c == ';')
            return at + 1;
        if (c != '{') {
            at = next_token(p, at);
            continue;
        }
        at = braces_end(p, at);
        if (!continues(p, at, &ends))
            return at;
    }
    return at;
}

/* The place after the `;` of an instruction. braces: how many of its operands are open. */
static u32 instruction_end(Lower *p, u32 at, u32 braces)
{
    while (at < p->module->text.len) {
        char c = p->module->text.p[at];
        if (c == ';')
            return at + 1;
        if (c == '}' && !braces)
            return at;
        braces += (u32)(c == '{') - (u32)(c == '}');
        at = next_token(p, at);
    }
    return at;
}

int unknown_skip(YYSTYPE *value, Span *where, Lower *p)
{
    Skip skip = p->skip;
    u32 at = p->cursor;
    p->skip = SKIP_NOTHING;
    p->recovering = false;
    switch (skip) {
    case SKIP_UNKNOWN_HEADER: at = header_end(p, at); break;
    case SKIP_UNKNOWN_INSTRUCTION: at = instruction_end(p, at, p->skip_braces); break;
    default: at = statement_end(p, at, skip == SKIP_UNKNOWN_ITEM); break;
    }
    p->cursor = at;
    p->mute = false;
    if (skip == SKIP_UNKNOWN_HEADER || at >= p->module->text.len)
        return yylex(value, where, p);
    p->skipped_to = at;
    *where = (Span){at, at};
    return p->last_token = ';';
}
