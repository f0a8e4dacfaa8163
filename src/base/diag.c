#include "base/diag.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/search.h"
#include "base/vec.h"

/* A longer line is cut to CUT_LEFT bytes before the caret and what fits after it. */
enum { LINE_BYTES_MAX = 160, CUT_LEFT = 60, MESSAGE_MAX = 1000, HELD_MAX = 4096 };

typedef struct DiagHeld {
    u32 place; /* the beginning of the error or warning that it belongs to */
    u32 sequence;
    DiagLevel level;
    Span where;
    char *message;
} DiagHeld;

void diag_init(Diag *diag, FILE *out, const char *file, Str text)
{
    *diag = (Diag){.out = out, .file = file, .text = text};
}

void diag_free(Diag *diag)
{
    diag_release(diag);
    mem_free(diag->held);
    diag->held = NULL;
    mem_free(diag->line_start);
    diag->line_start = NULL;
    diag->lines = 0;
}

static void find_lines(Diag *diag)
{
    VecU32 start = {0};
    const char *p = diag->text.p;
    u32 len = diag->text.len;
    vec_push(&start, 0);
    for (u32 i = 0; i < len; i++)
        if (p[i] == '\n' || (p[i] == '\r' && !(i + 1 < len && p[i + 1] == '\n')))
            vec_push(&start, i + 1);
    diag->line_start = start.v;
    diag->lines = start.n;
}

/* The index, from 0, of the line that holds the offset. */
static u32 line_of(Diag *diag, u32 offset)
{
    if (!diag->line_start)
        find_lines(diag);
    return partition_point(k, 1, diag->lines, diag->line_start[k] <= offset) - 1;
}

void diag_position(Diag *diag, u32 offset, u32 *line, u32 *column)
{
    u32 index = line_of(diag, offset);
    *line = index + 1;
    *column = offset - diag->line_start[index] + 1;
}

/* The offsets of the line's text, without its line end. */
static Span line_span(const Diag *diag, u32 index)
{
    const char *p = diag->text.p;
    Span line = {diag->line_start[index], index + 1 < diag->lines ? diag->line_start[index + 1] : diag->text.len};
    if (line.end > line.beg && p[line.end - 1] == '\n')
        line.end--;
    if (line.end > line.beg && p[line.end - 1] == '\r')
        line.end--;
    return line;
}

static bool is_shown_as_is(u8 byte) { return (byte >= ' ' && byte < 0x7f) || byte == '\t'; }

static void print_byte(FILE *out, u8 byte)
{
    if (is_shown_as_is(byte))
        putc(byte, out);
    else
        fprintf(out, "\\x%02x", byte);
}

/* Prints the mark below a byte, as wide as the byte is shown; below a tab it prints a tab. */
static void print_below(FILE *out, u8 byte, char mark)
{
    if (byte == '\t')
        putc('\t', out);
    else
        for (int width = is_shown_as_is(byte) ? 1 : 4; width > 0; width--)
            putc(mark, out);
}

static void print_source(const Diag *diag, u32 index, Span where)
{
    FILE *out = diag->out;
    const char *p = diag->text.p;
    Span line = line_span(diag, index);
    u32 caret = where.beg < line.end ? where.beg : line.end;
    Span shown = line;
    if (line.end - line.beg > LINE_BYTES_MAX) {
        if (caret - line.beg > CUT_LEFT)
            shown.beg = caret - CUT_LEFT;
        if (line.end - shown.beg > LINE_BYTES_MAX)
            shown.end = shown.beg + LINE_BYTES_MAX;
    }
    u32 end = where.end < shown.end ? where.end : shown.end;

    fputs(shown.beg > line.beg ? "..." : "", out);
    for (u32 i = shown.beg; i < shown.end; i++)
        print_byte(out, (u8)p[i]);
    fputs(shown.end < line.end ? "...\n" : "\n", out);

    fputs(shown.beg > line.beg ? "   " : "", out);
    for (u32 i = shown.beg; i < caret; i++)
        print_below(out, (u8)p[i], ' ');
    putc('^', out);
    if (caret < end && !is_shown_as_is((u8)p[caret]))
        fputs("~~~", out);
    for (u32 i = caret + 1; i < end; i++)
        print_below(out, (u8)p[i], '~');
    putc('\n', out);
}

/* Counts the diagnostic; false: it is beyond the limit. */
static bool admit(Diag *diag, DiagLevel level)
{
    if (level != DIAG_NOTE)
        diag->muted = diag->error_limit && ++diag->shown[level] > diag->error_limit;
    return !diag->muted;
}

static void print(Diag *diag, DiagLevel level, Span where, const char *message)
{
    static const char *const level_name[] = {"note", "warning", "error"};
    if (!diag->out || !admit(diag, level))
        return;
    u32 index = line_of(diag, where.beg);
    u32 column = where.beg - diag->line_start[index] + 1;
    fprintf(diag->out, "%s:%u:%u: %s: ", diag->file, index + 1, column, level_name[level]);
    for (const char *p = message; *p; p++)
        print_byte(diag->out, (u8)*p);
    putc('\n', diag->out);
    print_source(diag, index, where);
}

static void keep(Diag *diag, DiagLevel level, Span where, const char *message)
{
    u32 n = diag->held_count;
    if (n == HELD_MAX)
        return;
    if (!diag->held)
        diag->held = mem_alloc(HELD_MAX * sizeof *diag->held);
    u32 place = level == DIAG_NOTE && n > 0 ? diag->held[n - 1].place : where.beg;
    size_t bytes = strlen(message) + 1;
    char *copy = memcpy(mem_alloc(bytes), message, bytes);
    diag->held[diag->held_count++] =
        (DiagHeld){.place = place, .sequence = n, .level = level, .where = where, .message = copy};
}

static int by_place(const void *a, const void *b)
{
    const DiagHeld *x = a, *y = b;
    if (x->place != y->place)
        return x->place < y->place ? -1 : 1;
    return x->sequence < y->sequence ? -1 : 1;
}

void diag_hold(Diag *diag) { diag->holds = true; }

void diag_release(Diag *diag)
{
    diag->holds = false;
    if (!diag->held_count)
        return;
    qsort(diag->held, diag->held_count, sizeof *diag->held, by_place);
    for (u32 i = 0; i < diag->held_count; i++) {
        print(diag, diag->held[i].level, diag->held[i].where, diag->held[i].message);
        mem_free(diag->held[i].message);
    }
    diag->held_count = 0;
    u32 hidden = diag->error_limit && diag->errors > diag->error_limit ? diag->errors - diag->error_limit : 0;
    if (hidden && diag->out)
        fprintf(diag->out, "%s: and %u more error%s\n", diag->file, hidden, hidden == 1 ? "" : "s");
}

void diag_at(Diag *diag, DiagLevel level, Span where, const char *format, ...)
{
    char message[MESSAGE_MAX];
    va_list args;
    va_start(args, format);
    int len = vsnprintf(message, sizeof message, format, args);
    va_end(args);
    if (len >= (int)sizeof message)
        memcpy(message + sizeof message - 4, "...", 4);
    diag->errors += level == DIAG_ERROR;
    if (diag->holds)
        keep(diag, level, where, message);
    else
        print(diag, level, where, message);
}
