#include "pipeline/remarks.h"

#include <inttypes.h>
#include <string.h>

#include "base/search.h"

void remarks_init(RemarkWriter *writer, FILE *out, Diag *diag) { *writer = (RemarkWriter){.out = out, .diag = diag}; }

void remarks_free(RemarkWriter *writer)
{
    vec_free(&writer->files);
    vec_free(&writer->locs);
}

/* ---- debug positions: the .file and .loc directives, which every producer writes at the start of a line ------------ */

typedef struct Cursor {
    const char *p, *end;
} Cursor;

static void skip_blanks(Cursor *c)
{
    while (c->p < c->end && (*c->p == ' ' || *c->p == '\t'))
        c->p++;
}

static bool take_word(Cursor *c, const char *word)
{
    size_t len = strlen(word);
    if ((size_t)(c->end - c->p) <= len || memcmp(c->p, word, len) != 0 || (c->p[len] != ' ' && c->p[len] != '\t'))
        return false;
    c->p += len;
    return true;
}

static bool take_number(Cursor *c, u64 *number)
{
    skip_blanks(c);
    const char *start = c->p;
    for (*number = 0; c->p < c->end && *c->p >= '0' && *c->p <= '9'; c->p++)
        *number = *number * 10 + (u64)(*c->p - '0');
    return c->p > start;
}

static bool take_quoted(Cursor *c, Str *name)
{
    skip_blanks(c);
    if (c->p == c->end || *c->p != '"')
        return false;
    const char *start = ++c->p;
    while (c->p < c->end && *c->p != '"')
        c->p += *c->p == '\\' && c->end - c->p > 1 ? 2 : 1;
    *name = (Str){start, (u32)(c->p - start)};
    return c->p < c->end;
}

static void scan_line(RemarkWriter *writer, Cursor line)
{
    skip_blanks(&line);
    u32 offset = (u32)(line.p - writer->diag->text.p);
    DebugLoc loc = {.offset = offset};
    DebugFile file;
    if (take_word(&line, ".loc")) {
        if (take_number(&line, &loc.file) && take_number(&line, &loc.line) && take_number(&line, &loc.column))
            vec_push(&writer->locs, loc);
    } else if (take_word(&line, ".file")) {
        if (take_number(&line, &file.number) && take_quoted(&line, &file.name))
            vec_push(&writer->files, file);
    }
}

static void scan_text(RemarkWriter *writer)
{
    const char *end = writer->diag->text.p + writer->diag->text.len;
    for (const char *p = writer->diag->text.p; p < end;) {
        const char *stop = p;
        while (stop < end && *stop != '\n' && *stop != '\r')
            stop++;
        scan_line(writer, (Cursor){p, stop});
        p = stop + 1;
    }
    writer->scanned = true;
}

/* The last .loc in fn's body before `offset`; NULL if there is none. */
static const DebugLoc *loc_in_force(RemarkWriter *writer, const Function *fn, u32 offset)
{
    if (!writer->scanned)
        scan_text(writer);
    u32 after = partition_point(k, 0, writer->locs.n, writer->locs.v[k].offset < offset);
    const DebugLoc *loc = after > 0 ? &writer->locs.v[after - 1] : NULL;
    return loc && loc->offset >= fn->open.beg ? loc : NULL;
}

/* The first .loc in fn's body; NULL if there is none. */
static const DebugLoc *first_loc(RemarkWriter *writer, const Function *fn)
{
    const DebugLoc *before = loc_in_force(writer, fn, fn->open.beg);
    u32 first = before ? (u32)(before - writer->locs.v) + 1
                       : partition_point(k, 0, writer->locs.n, writer->locs.v[k].offset < fn->open.beg);
    return first < writer->locs.n && writer->locs.v[first].offset < fn->close.end ? &writer->locs.v[first] : NULL;
}

static const DebugFile *debug_file(const RemarkWriter *writer, u64 number)
{
    for (u32 i = 0; i < writer->files.n; i++)
        if (writer->files.v[i].number == number)
            return &writer->files.v[i];
    return NULL;
}

/* ---- YAML ------------------------------------------------------------------------------------------------------ */

static bool is_control(char c) { return (unsigned char)c < 0x20 || c == 0x7f; }

/* Writes any text as a scalar: in single quotes, where only a quote is doubled, or in double quotes if it needs escapes. */
static void put_scalar(FILE *out, Str text)
{
    bool escapes = false;
    for (u32 i = 0; i < text.len; i++)
        escapes |= is_control(text.p[i]);
    char quote = escapes ? '"' : '\'';
    putc(quote, out);
    for (u32 i = 0; i < text.len; i++) {
        char c = text.p[i];
        if (escapes && is_control(c)) {
            fprintf(out, "\\x%02X", (unsigned)(unsigned char)c);
            continue;
        }
        if (c == quote || (escapes && c == '\\'))
            putc(escapes ? '\\' : '\'', out);
        putc(c, out);
    }
    putc(quote, out);
}

static Str str_of(const char *text) { return (Str){text, (u32)strlen(text)}; }

static void put_debug_loc(FILE *out, const char *indent, Str file, u64 line, u64 column)
{
    fprintf(out, "%sDebugLoc:        { File: ", indent);
    put_scalar(out, file);
    fprintf(out, ", Line: %" PRIu64 ", Column: %" PRIu64 " }\n", line, column);
}

static void put_argument(FILE *out, const char *key, Str value)
{
    fprintf(out, "  - %s: ", key);
    put_scalar(out, value);
    putc('\n', out);
}

/* The name that was meant: PTX escapes as C does, but only backslash and quote occur in file names. */
static Str unescaped(Arena *arena, Str name)
{
    char *plain = arena_alloc(arena, name.len + 1);
    u32 len = 0;
    for (u32 i = 0; i < name.len; i++) {
        if (name.p[i] == '\\' && i + 1 < name.len && (name.p[i + 1] == '\\' || name.p[i + 1] == '"'))
            i++;
        plain[len++] = name.p[i];
    }
    return (Str){plain, len};
}

static void put_head(FILE *out, const Remark *r)
{
    static const char *const tag[] = {
        [REMARK_PASSED] = "Passed", [REMARK_MISSED] = "Missed", [REMARK_ANALYSIS] = "Analysis"};
    fprintf(out, "--- !%s\nPass:            %s\nName:            %s\n", tag[r->kind], r->pass, r->name);
}

static void put_message(FILE *out, const Remark *r)
{
    fputs("Function:        ", out);
    put_scalar(out, str_of(r->function));
    fputs("\nArgs:\n", out);
    put_argument(out, "String", str_of(r->message));
}

static void put_yaml(FILE *out, const Remark *r, Str ptx, u32 column, const DebugLoc *loc, Str file)
{
    put_head(out, r);
    put_debug_loc(out, "", ptx, r->line, column);
    put_message(out, r);
    if (r->source) {
        put_argument(out, "String", str_of(" (from "));
        put_argument(out, "Source", str_of(r->source));
        put_debug_loc(out, "    ", file, loc->line, loc->column);
        put_argument(out, "String", str_of(")"));
    }
    fputs("...\n", out);
}

/* The same in a build: the place is in the source where that is known, and the PTX comes second. */
static void put_build_yaml(FILE *out, const Remark *r, Str ptx, u32 column, const DebugLoc *loc, Str file)
{
    put_head(out, r);
    if (r->source)
        put_debug_loc(out, "", file, loc->line, loc->column);
    else
        put_debug_loc(out, "", ptx, r->line, column);
    put_message(out, r);
    if (r->source) {
        put_argument(out, "String", str_of(" (in "));
        put_argument(out, "Ptx", ptx);
        put_debug_loc(out, "    ", ptx, r->line, column);
        put_argument(out, "String", str_of(")"));
    }
    fputs("...\n", out);
}

void remarks_write(RemarkWriter *writer, Remark remark, const Function *fn, Span at)
{
    bool whole = at.beg == at.end;
    u32 column;
    Arena arena = {0};
    remark.function = fn ? fn->name->text : "";
    diag_position(writer->diag, whole && fn ? fn->text.beg : at.beg, &remark.line, &column);
    const DebugLoc *loc = !fn                  ? NULL
                          : !whole             ? loc_in_force(writer, fn, at.beg)
                          : writer->build_name ? first_loc(writer, fn)
                                               : NULL;
    const DebugFile *file = loc ? debug_file(writer, loc->file) : NULL;
    Str plain = file ? unescaped(&arena, file->name) : (Str){"", 0};
    if (file)
        remark.source = arena_printf(&arena, "%s:%" PRIu64 ":%" PRIu64, plain.p, loc->line, loc->column);
    if (writer->out && writer->build_name)
        put_build_yaml(writer->out, &remark, str_of(writer->build_name), column, loc, plain);
    else if (writer->out)
        put_yaml(writer->out, &remark, str_of(writer->diag->file), column, loc, plain);
    if (writer->taker)
        writer->taker->take(writer->taker->user, &remark);
    arena_free(&arena);
}
