/* The PTX lexer (re2c). Each call reads one token; blanks, comments and `# line` markers are skipped. Tokens carry no text
 * of their own: the parser's location is the token's span in the source.
 *
 * A dotted word is one token, `ld.global.v4.f32` as well as `%r48.x` (OPCODE_WORD); the builder knows which is meant.
 * Operands that are plain names, numbers and addresses come as one token, however many they are. An instruction that has no
 * others is one token as a whole: see scan_run. */
#include "parse/recover.h"

#include <string.h>

#include "base/limit.h"

/*!re2c
    re2c:define:YYCTYPE = "unsigned char";
    re2c:define:YYCURSOR = cursor;
    re2c:define:YYMARKER = marker;
    re2c:yyfill:enable = 0;
    re2c:flags:tags = 1;
    re2c:flags:computed-gotos = 1;

    follow   = [a-zA-Z0-9_$];
    ident    = [a-zA-Z] follow* | [_$%] follow+;
    part     = [a-zA-Z0-9_]+;
    bank     = ".const[" ([0-9] | "10") "]"; /* of PTX 1.5 to 2.1 */
    modifier = "." part ("::" part)* | bank;
    dec      = [1-9][0-9]* "U"?;
    oct      = "0" [0-7]* "U"?;
    hex      = "0" [xX] [0-9a-fA-F]+ "U"?;
    bin      = "0" [bB] [01]+ "U"?;
    exponent = [eE] [+-]? [0-9]+;
    real     = [0-9]+ "." [0-9]* exponent? | "." [0-9]+ exponent? | [0-9]+ exponent;
    bits     = "0" [fF] [0-9a-fA-F]{8} | "0" [dD] [0-9a-fA-F]{16};
    blank    = [ \t\r\n\f\x1a]; /* the last one ends a file of DOS, which ptxas skips, wherever it stands */
*/

/* The place after a block comment that opens before `cursor`; NULL when it is never closed. */
static const unsigned char *skip_block_comment(const unsigned char *cursor, const unsigned char *limit)
{
    while (cursor < limit) {
        const unsigned char *star = memchr(cursor, '*', (size_t)(limit - cursor));
        if (!star)
            break;
        if (star[1] == '/')
            return star + 2;
        cursor = star + 1;
    }
    return NULL;
}

/* Stores a span in one 64-bit store: the parser copies the location right away as a whole, and would wait for two halves to
 * be written. */
static inline void store_span(Span *to, Span s)
{
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    u64 both = (u64)s.end << 32 | s.beg;
    memcpy(to, &both, sizeof both);
#else
    *to = s;
#endif
}

bool starts_line(const Lower *lower, u32 at)
{
    const char *text = lower->module->text.p;
    while (at > 0 && (text[at - 1] == ' ' || text[at - 1] == '\t'))
        at--;
    return at == 0 || text[at - 1] == '\n' || text[at - 1] == '\r';
}

static inline const unsigned char *skip_blanks(const unsigned char *at)
{
    while (*at <= ' ' && (*at == ' ' || *at == '\t' || *at == '\r' || *at == '\n' || *at == '\f' || *at == '\x1a'))
        at++;
    return at;
}

/* The first byte after blanks and comments; NUL at the end. */
static unsigned char peek(const unsigned char *at, const unsigned char *limit)
{
    for (;;) {
        at = skip_blanks(at);
        if (*at != '/' || at >= limit)
            return *at;
        if (at[1] == '/')
            at += strcspn((const char *)at, "\r\n");
        else if (at[1] != '*' || !(at = skip_block_comment(at + 2, limit)))
            return '\0';
    }
}

/* Whether the name is a label. `name:` begins a statement; inside an instruction, and in `1 ? WARP_SZ : 2`, a colon means
 * something else. */
static bool is_label(const Lower *lower, const unsigned char *name, const unsigned char *end, const unsigned char *limit)
{
    return !lower->op && peek(end, limit) == ':' && !lower_is_warp_size((const char *)name, (u32)(end - name));
}

#define SPAN_OF(from, to) ((Span){(u32)((from) - (const unsigned char *)text), (u32)((to) - (const unsigned char *)text)})

/* ---- runs of plain operands ------------------------------------------------------------------------------------- */

/* Whether an operand may begin here: right after the opcode, and after a token that separates operands. */
static bool may_begin_operand(const Lower *lower)
{
    int token = lower->last_token;
    return lower->op && (lower->cursor == lower->op_at.end || token == T_OPERANDS_COMMA || token == ',' || token == '[' || token == '{');
}

/* Does what lower_name does, field by field: a Val that is assembled elsewhere would be copied before its bytes are written. */
static inline void set_name(const Lower *lower, Span at, bool dotted, Val *v)
{
    bool warp_size = lower_is_warp_size(lower->module->text.p + at.beg, at.end - at.beg);
    v->kind = warp_size ? VAL_INT : VAL_NAME;
    v->flags = 0;
    v->dotted = dotted;
    v->name.beg = at.beg;
    v->name.end = at.end;
    v->i = warp_size ? 32 : 0;
}

static bool set_integer(const Lower *lower, Span digits, bool negative, Val *v)
{
    bool fits = lower_read_integer(lower, digits, v);
    if (negative)
        v->i = (i64)(0 - (u64)v->i);
    return fits;
}

static bool set_address(const Lower *lower, Span name, Span digits, bool negative, Val *v)
{
    bool fits = !digits.end || set_integer(lower, digits, negative, v);
    i64 offset = digits.end ? v->i : 0;
    set_name(lower, name, false, v);
    v->flags |= VAL_ADDRESS;
    v->i += offset;
    return fits;
}

/* The place after the name, number, or address `[name]` or `[name+4]` that starts here. NULL: there is none, or its number
 * does not fit. Nothing is reported here, because text that is not plain is read again token by token. */
static const unsigned char *plain_operand(Lower *lower, const unsigned char *start, Val *v)
{
    const char *text = lower->module->text.p;
    const unsigned char *cursor = start, *marker, *a, *b, *c, *d;
    /*!stags:re2c format = "const unsigned char *@@ = NULL;"; */
    /*!re2c
        ident                   { set_name(lower, SPAN_OF(start, cursor), false, v); return cursor; }
        ident modifier+         { set_name(lower, SPAN_OF(start, cursor), true, v); return cursor; }
        dec | oct | hex | bin   { return set_integer(lower, SPAN_OF(start, cursor), false, v) ? cursor : NULL; }
        "-" @a (dec | oct)      { return set_integer(lower, SPAN_OF(a, cursor), true, v) ? cursor : NULL; }
        bits                    { lower_float(lower, SPAN_OF(start, cursor), v); return cursor; }
        "[" blank* @a ident @b blank* "]"
                                { return set_address(lower, SPAN_OF(a, b), (Span){0}, false, v) ? cursor : NULL; }
        "[" blank* @a ident @b blank* "+" blank* @c (dec | oct | hex) @d blank* "]"
                                { return set_address(lower, SPAN_OF(a, b), SPAN_OF(c, d), false, v) ? cursor : NULL; }
        "[" blank* @a ident @b blank* "+" blank* "-" @c (dec | oct | hex) @d blank* "]"
                                { return set_address(lower, SPAN_OF(a, b), SPAN_OF(c, d), true, v) ? cursor : NULL; }
        *                       { return NULL; }
    */
}

/* Takes as many plain operands as it finds into Lower.run. Most operands are plain, and the grammar has nothing to say
 * about a list of those. T_OPERANDS: the list ends there; T_OPERANDS_COMMA: an operand of another kind follows. 0, and
 * nothing is read, if the first operand is of another kind. */
static int scan_run(Span *where, Lower *lower)
{
    const char *text = lower->module->text.p;
    const unsigned char *const limit = (const unsigned char *)text + lower->module->text.len;
    const unsigned char *first = skip_blanks((const unsigned char *)text + lower->cursor), *at = first;
    int token = 0;
    lower->run_length = 0;
    while (lower->run_length < RUN_MAX && token != T_OPERANDS) {
        const unsigned char *end = plain_operand(lower, at, &lower->run[lower->run_length]);
        const unsigned char *after = end ? skip_blanks(end) : limit;
        bool more = *after == ',';
        if (!more && *after != ';' && *after != ']' && *after != '}' && *after != ')')
            break;
        token = more ? T_OPERANDS_COMMA : T_OPERANDS;
        lower->run_at[lower->run_length++] = SPAN_OF(at, end);
        lower->cursor = SPAN_OF(first, more ? after + 1 : end).end;
        if (more)
            at = skip_blanks(after + 1);
    }
    *where = SPAN_OF(first, (const unsigned char *)text + lower->cursor);
    return token;
}

/* Whether an instruction may begin here: its guard has been read, or a statement or label has just ended. */
static bool may_begin_instruction(const Lower *lower)
{
    if (lower->op || !lower->fn || !lower->fn->is_definition)
        return false;
    switch (lower->last_token) {
    case T_INSTRUCTION:
    case ';':
    case ':':
    case '{':
    case '}': return true;
    default: return lower->start != NO_START;
    }
}

/* Whether only plain operands, up to the `;`, follow the opcode at `word`. They are then in Lower.run. */
static bool is_plain_instruction(Lower *lower, Span word)
{
    Span operands;
    u32 cursor = lower->cursor = word.end;
    if (scan_run(&operands, lower) == T_OPERANDS) {
        const char *text = lower->module->text.p;
        const unsigned char *after = skip_blanks((const unsigned char *)text + lower->cursor);
        if (*after == ';') {
            lower->op_at = word;
            lower->cursor = SPAN_OF(after, after + 1).end;
            return true;
        }
    }
    lower->cursor = cursor;
    return false;
}

/* Whether another plain instruction follows a plain instruction. If so it is read, and *end becomes its end, which spares
 * the parser a token. */
bool lex_instruction(Lower *lower, u32 *end)
{
    const char *text = lower->module->text.p;
    const unsigned char *start = skip_blanks((const unsigned char *)text + lower->cursor), *cursor = start, *marker = start;
    u32 before = lower->cursor;
    if (lower->recovering || !may_begin_instruction(lower))
        return false;
    /*!re2c
        ident modifier*         { goto word; }
        *                       { return false; }
    */
word:
    if (!is_plain_instruction(lower, SPAN_OF(start, cursor))) {
        lower->cursor = before;
        return false;
    }
    lower->before_token = before;
    *end = lower->cursor;
    return true;
}

/* ---- debug data -------------------------------------------------------------------------------------------------- */

/* Whether debug data may begin here: inside of a section, and not inside of one of its items. */
static bool may_begin_debug_data(const Lower *lower)
{
    int token = lower->last_token;
    return lower->in_section && (token == '{' || token == ':' || token == T_INTEGER || token == T_NAME || token == T_DOT_WORD);
}

/* Whether the value before `at` is complete: a blank follows, and then a byte with which no constant expression continues. */
static bool ends_debug_data(const unsigned char *at)
{
    const unsigned char *next = skip_blanks(at);
    return next != at && *next && strchr(".}_$", *next);
}

/* Skips the statements like `.b8 12` and `.b8 1,2,3` that follow one another here. Nearly everything in sections is plain
 * numbers, of which the grammar makes nothing. Answers the place after them, or `start`. */
static const unsigned char *skip_debug_data(const unsigned char *start)
{
    for (const unsigned char *end = start, *cursor, *marker;; end = cursor) {
        cursor = skip_blanks(end);
        /*!re2c
            number = "0" | [1-9][0-9]{0,17};
            ".b" ("8" | "16" | "32" | "64") blank+ number (blank* "," blank* number)*
                { if (ends_debug_data(cursor)) continue; return end; }
            *   { return end; }
        */
    }
}

/* ---- initializers ------------------------------------------------------------------------------------------------ */

static bool may_begin_initials(const Lower *lower)
{
    return lower->in_initializer && (lower->last_token == '{' || lower->last_token == ',');
}

/* Skips numbers that a comma and another number follow. Most initializers are tables of thousands of them, of which the grammar
 * makes nothing; the last one it reads. Answers the place after them, or `start`. */
static const unsigned char *skip_initials(const unsigned char *start)
{
    for (const unsigned char *end = start, *cursor, *marker;; end = cursor) {
        cursor = skip_blanks(end);
        /*!re2c
            plain = "-"? ("0" | [1-9][0-9]{0,17}) | "0" [xX] [0-9a-fA-F]{1,16} | bits;
            plain blank* "," blank* / [-0-9]    { continue; }
            *                                   { return end; }
        */
    }
}

/* ---- tokens ----------------------------------------------------------------------------------------------------- */

int yylex(YYSTYPE *value, Span *where, Lower *lower)
{
    limit_poll();
    if (lower->recovering)
        return recover_token_after(value, where, lower);

    const char *text = lower->module->text.p;
    const unsigned char *cursor = (const unsigned char *)text + lower->cursor;
    const unsigned char *const limit = (const unsigned char *)text + lower->module->text.len;
    const unsigned char *marker = cursor, *start;
    if (may_begin_debug_data(lower)) {
        const unsigned char *end = skip_debug_data(cursor);
        if (end != cursor)
            lower->last_token = T_INTEGER;
        marker = cursor = end;
        lower->cursor = SPAN_OF(end, end).end;
    }
    if (may_begin_initials(lower)) {
        marker = cursor = skip_initials(cursor);
        lower->cursor = SPAN_OF(cursor, cursor).end;
    }
    lower->before_token = lower->cursor;
    int token = may_begin_operand(lower) ? scan_run(where, lower) : 0;
    if (token)
        return lower->last_token = token;

#define TOKEN(kind)          \
    do {                     \
        token = (kind);      \
        goto done;           \
    } while (0)
#define SPAN() SPAN_OF(start, cursor)
#define OPCODE(kind)                                                                   \
    do {                                                                               \
        if (may_begin_instruction(lower) && is_plain_instruction(lower, SPAN())) {     \
            cursor = (const unsigned char *)text + lower->cursor;                      \
            TOKEN(T_INSTRUCTION);                                                      \
        }                                                                              \
        TOKEN(kind);                                                                   \
    } while (0)
#define LITERAL(kind, call)                 \
    do {                                    \
        call(lower, SPAN(), &value->val);   \
        TOKEN(kind);                        \
    } while (0)

again:
    start = cursor = skip_blanks(cursor);
    /*!re2c
        "//" [^\r\n\x00]*       { goto again; }
        "/*"                    {
                                    const unsigned char *end = skip_block_comment(cursor, limit);
                                    if (!end)
                                        lower_bad_token(lower, SPAN(), "this comment is never closed");
                                    cursor = end ? end : limit;
                                    goto again;
                                }
        "#" [^\r\n\x00]*        {
                                    if (starts_line(lower, SPAN().beg))
                                        goto again;
                                    cursor = start + 1;
                                    TOKEN(T_BAD);
                                }
        "\x00"                  { TOKEN(start == limit ? YYEOF : T_BAD); }

        "_"                     { TOKEN(T_NAME); }
        ident                   {
                                    if (is_label(lower, start, cursor, limit))
                                        TOKEN(T_LABEL);
                                    OPCODE(T_NAME);
                                }
        ident modifier+         { OPCODE(T_OPCODE_WORD); }
        "\"" [^"\r\n\x00]* "\"" { TOKEN(T_STRING); }
        "\"" [^"\r\n\x00]*      {
                                    lower_bad_token(lower, SPAN(), "this string is never closed");
                                    TOKEN(T_STRING);
                                }

        dec | oct | hex | bin   { LITERAL(T_INTEGER, lower_integer); }
        bits | real             { LITERAL(T_FLOAT, lower_float); }
        [0-9] follow*           {
                                    lower_bad_token(lower, SPAN(), "this is not a number that PTX knows");
                                    value->val = (Val){.kind = VAL_INT};
                                    TOKEN(T_INTEGER);
                                }

        ".version"              { TOKEN(T_VERSION); }
        ".target"               { TOKEN(T_TARGET); }
        ".address_size"         { TOKEN(T_ADDRESS_SIZE); }
        ".entry"                { TOKEN(T_ENTRY); }
        ".func"                 { TOKEN(T_FUNC); }
        ".extern"               { TOKEN(T_EXTERN); }
        ".visible"              { TOKEN(T_VISIBLE); }
        ".weak"                 { TOKEN(T_WEAK); }
        ".common"               { TOKEN(T_COMMON); }
        ".alias"                { TOKEN(T_ALIAS); }
        ".file"                 { TOKEN(T_FILE); }
        ".loc"                  { TOKEN(T_LOC); }
        ".section"              { TOKEN(T_SECTION); }
        "@@DWARF"               { TOKEN(T_DWARF); }
        ".4byte"                { TOKEN(T_DOT_WORD); } /* of @@DWARF */
        ".pragma"               { TOKEN(T_PRAGMA); }
        ".reg"                  { TOKEN(T_REG); }
        ".sreg"                 { value->n = SPACE_SREG; TOKEN(T_SPACE); }
        ".const" | bank         { value->n = SPACE_CONST; TOKEN(T_SPACE); }
        ".global"               { value->n = SPACE_GLOBAL; TOKEN(T_SPACE); }
        ".local"                { value->n = SPACE_LOCAL; TOKEN(T_SPACE); }
        ".shared"               { value->n = SPACE_SHARED; TOKEN(T_SPACE); }
        ".tex"                  { value->n = SPACE_TEX; TOKEN(T_SPACE); }
        ".param"                { value->n = SPACE_PARAM; TOKEN(T_PARAM); }
        ".align"                { TOKEN(T_ALIGN); }
        ".ptr"                  { TOKEN(T_PTR); }
        ".attribute"            { TOKEN(T_ATTRIBUTE); }
        ".branchtargets"        { TOKEN(T_BRANCHTARGETS); }
        ".callprototype"        { TOKEN(T_CALLPROTOTYPE); }
        ".calltargets"          { TOKEN(T_CALLTARGETS); }
        ".v2"                   { value->n = 2; TOKEN(T_VECTOR); }
        ".v4"                   { value->n = 4; TOKEN(T_VECTOR); }
        ".v8"                   { value->n = 8; TOKEN(T_VECTOR); }
        ".maxntid" | ".reqntid" { value->n = start[1]; TOKEN(T_BLOCK_SHAPE); }
        ".noreturn"             { TOKEN(T_NORETURN); }
        ".loc_intermediate"     { TOKEN(T_LOC_INTERMEDIATE); }
        ".minnctapersm"         { value->n = DIRECTIVE_MINNCTAPERSM; TOKEN(T_PERFORMANCE); }
        ".maxnreg"              { value->n = DIRECTIVE_MAXNREG; TOKEN(T_PERFORMANCE); }
        ".maxnctapersm" | ".local_maxnreg" | ".minperctamemory" | ".language" | ".explicitcluster" | ".reqnctapercluster" |
        ".maxclusterrank" | ".blocksareclusters" | ".abi_preserve" | ".abi_preserve_control"
                                { value->n = DIRECTIVE_OTHER; TOKEN(T_PERFORMANCE); }
        ("." [a-zA-Z_] part? ("::" part)*) {
                                    value->n = type_from_text((const char *)start, (u32)(cursor - start));
                                    TOKEN(value->n != TYPE_NONE ? T_TYPE : T_DOT_WORD);
                                }

        "<<"                    { TOKEN(T_SHL); }
        ">>"                    { TOKEN(T_SHR); }
        "<="                    { TOKEN(T_LE); }
        ">="                    { TOKEN(T_GE); }
        "=="                    { TOKEN(T_EQ); }
        "!="                    { TOKEN(T_NE); }
        "&&"                    { TOKEN(T_ANDAND); }
        "||"                    { TOKEN(T_OROR); }
        [-+*/%<>&|^~!?:;,.=@(){}[\]] { TOKEN(*start); }

        [\x80-\xff]+            { TOKEN(T_BAD); }
        *                       { TOKEN(T_BAD); }
    */

done:
    store_span(where, SPAN());
    lower->cursor = where->end;
    lower->last_token = token;
    if (token == T_BAD)
        return lower_bad_byte(lower, *where), T_BAD;
    return token;
}
