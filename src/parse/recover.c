/* The grammar's rules for errors all end in `;` (or in the body, for the header of a function). The lexer's part is here:
 * it skips the text between an error and the place where parsing can continue, and inserts a `;` there. It finds that place
 * by the usual look of PTX: one statement a line, and a closing brace on a line of its own. */
#include "parse/recover.h"

#include "parse/unknown.h"

static Skip what_to_skip(const Lower *p)
{
    if (!p->fn)
        return p->last_token == ';' ? SKIP_NOTHING : SKIP_ITEM;
    if (!p->fn->is_definition)
        return p->last_token == ';' || p->last_token == '{' ? SKIP_NOTHING : SKIP_HEADER;
    if (p->last_token == '{' && !p->op)
        return SKIP_UP_TO_HERE; /* a scope begins */
    return p->last_token == ';' ? SKIP_NOTHING : SKIP_STATEMENT;
}

void recover(Lower *p, Span at)
{
    p->skip = what_to_skip(p);
    if (p->declaring || p->skip == SKIP_HEADER)
        p->names_missing |= p->fn ? MISSING_IN_FUNCTION : MISSING_IN_MODULE;
    if (p->skip != SKIP_NOTHING)
        p->cursor = at.beg;
    p->skip_braces = 0;
    for (u32 k = 0; k < p->open_aggregates.n; k++)
        p->skip_braces += p->operands.v[p->open_aggregates.v[k]].kind == OPND_VEC;
    lower_instr_reset(p); /* the lexer must see no operands in the skipped text */
    p->in_section = false;
    p->in_initializer = false;
    p->mute = true;
    p->recovering = p->skip != SKIP_NOTHING;
}

static int made_up(int token, Span *where, Lower *p)
{
    *where = (Span){p->cursor, p->cursor};
    return p->last_token = token;
}

static int made_up_before(int token, Span *where, Lower *p)
{
    p->cursor = where->beg;
    return made_up(token, where, p);
}

static bool begins_function(int token) { return token == T_ENTRY || token == T_FUNC; }

static bool begins_item(int token)
{
    switch (token) {
    case T_VERSION:
    case T_TARGET:
    case T_ADDRESS_SIZE:
    case T_EXTERN:
    case T_VISIBLE:
    case T_WEAK:
    case T_COMMON:
    case T_ALIAS:
    case T_FILE:
    case T_SECTION:
    case T_DWARF:
    case T_PRAGMA:
    case T_SPACE: return true;
    default: return begins_function(token);
    }
}

static bool begins_statement(int token)
{
    switch (token) {
    case '@':
    case '}':
    case T_LABEL:
    case T_INSTRUCTION:
    case T_OPCODE_WORD:
    case T_REG:
    case T_SPACE:
    case T_PARAM:
    case T_LOC:
    case T_LOC_INTERMEDIATE:
    case T_PRAGMA: return true;
    default: return false;
    }
}

static int skip_statement(YYSTYPE *value, Span *where, Lower *p)
{
    for (;;) {
        int token = yylex(value, where, p);
        bool closes = token == '}' && !p->skip_braces;
        p->skip_braces += token == '{';
        p->skip_braces -= token == '}' && !closes;
        if (token == YYEOF || token == ';')
            return token;
        if (begins_function(token))
            p->close_scopes = p->scopes.n;
        if (closes || begins_function(token) || (begins_statement(token) && starts_line(p, where->beg)))
            return made_up_before(';', where, p);
        if (token == T_INSTRUCTION)
            return made_up(';', where, p); /* its own `;` was part of it */
    }
}

static int skip_header(YYSTYPE *value, Span *where, Lower *p)
{
    for (;;) {
        int token = yylex(value, where, p);
        if (token == YYEOF || token == ';' || token == '{')
            return token;
        if (begins_function(token))
            return made_up_before(';', where, p);
    }
}

static int skip_item(YYSTYPE *value, Span *where, Lower *p)
{
    for (i64 depth = 0;;) {
        int token = yylex(value, where, p);
        depth += (token == '{') - (token == '}');
        if (token == YYEOF)
            return token;
        if (begins_function(token) || (depth <= 0 && begins_item(token) && starts_line(p, where->beg)))
            return made_up_before(';', where, p);
    }
}

int recover_token_after(YYSTYPE *value, Span *where, Lower *p)
{
    Skip skip = p->skip;
    if (skip >= SKIP_UNKNOWN_INSTRUCTION)
        return unknown_skip(value, where, p);
    p->recovering = false;
    p->skip = SKIP_NOTHING;
    int token = ';';
    switch (skip) {
    case SKIP_STATEMENT: token = skip_statement(value, where, p); break;
    case SKIP_HEADER: token = skip_header(value, where, p); break;
    case SKIP_ITEM: token = skip_item(value, where, p); break;
    case SKIP_UP_TO_HERE: made_up(';', where, p); break;
    default:
        p->close_scopes--;
        token = made_up('}', where, p);
        break;
    }
    p->recovering = p->close_scopes > 0;
    return token;
}
