#define _GNU_SOURCE /* qsort_r */
#include "check/exec/launch.h"
#include "check/exec/alu.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BUFFER_LIMIT ((u64)1 << 30)

typedef struct Parser {
    Arena *arena;
    const char *file;
    u32 line;
    bool failed;
    const char *p, *end; /* rest of the line */
    LaunchFile *out;
} Parser;

__attribute__((format(printf, 2, 3))) static void fail(Parser *ps, const char *format, ...)
{
    va_list args;
    if (ps->failed)
        return;
    ps->failed = true;
    fprintf(stderr, "%s:%u: error: ", ps->file, ps->line);
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fputc('\n', stderr);
}

/* The next word of the line, NUL-terminated, or NULL. */
static char *word(Parser *ps)
{
    while (ps->p < ps->end && isspace((unsigned char)*ps->p))
        ps->p++;
    const char *beg = ps->p;
    while (ps->p < ps->end && !isspace((unsigned char)*ps->p))
        ps->p++;
    return ps->p > beg ? arena_copy(ps->arena, beg, (size_t)(ps->p - beg)) : NULL;
}

static char *need_word(Parser *ps, const char *what)
{
    char *w = word(ps);
    if (!w)
        fail(ps, "%s is missing", what);
    return w ? w : "";
}

static u64 need_count(Parser *ps, const char *what)
{
    char *text = need_word(ps, what), *end;
    errno = 0;
    u64 n = strtoull(text, &end, 0);
    if (!ps->failed && (*end || errno || *text == '-'))
        fail(ps, "%s is not a count: %s", what, text);
    return n;
}

/* The bits of a value of that type. */
static u64 parse_value(Parser *ps, ElemType type, const char *text)
{
    char *end;
    errno = 0;
    u64 bits;
    if (elem_is_float(type)) {
        double x = strtod(text, &end);
        errno = 0; /* overflow and underflow of a literal give infinity and zero */
        bits = format_from_double(format_of(type), x, ROUND_NEAREST_EVEN, false);
    } else {
        bits = *text == '-' ? (u64)strtoll(text, &end, 0) : strtoull(text, &end, 0);
        u64 high = bits >> (type.bits - 1) >> 1, ones = ~(u64)0 >> (type.bits - 1) >> 1;
        if (high && !(*text == '-' && high == ones))
            fail(ps, "%s does not fit", text);
        bits &= mask_bits(type.bits);
    }
    if (end == text || *end || errno)
        fail(ps, "not a value: %s", text);
    return bits;
}

static void put(LaunchBuffer *b, u64 index, u64 bits)
{
    u32 bytes = b->type.bits / 8;
    memcpy(b->fill + index * bytes, &bits, bytes);
}
static u64 get(const LaunchBuffer *b, u64 index)
{
    u32 bytes = b->type.bits / 8;
    u64 bits = 0;
    memcpy(&bits, b->fill + index * bytes, bytes);
    return bits;
}

/* Orders two values of a buffer's type. */
static bool value_less(ElemType type, u64 a, u64 b)
{
    if (elem_is_float(type))
        return format_to_double(format_of(type), a) < format_to_double(format_of(type), b);
    if (type.kind == EK_SIGNED)
        return (i64)(a << (64 - type.bits)) < (i64)(b << (64 - type.bits));
    return a < b;
}

static int by_value(const void *a, const void *b, void *type)
{
    u64 x = *(const u64 *)a, y = *(const u64 *)b;
    return value_less(*(ElemType *)type, y, x) - value_less(*(ElemType *)type, x, y);
}

static void sort_values(LaunchBuffer *b)
{
    u64 *v = mem_alloc(sizeof *v * b->count);
    for (u64 i = 0; i < b->count; i++)
        v[i] = get(b, i);
    qsort_r(v, b->count, sizeof *v, by_value, &b->type);
    for (u64 i = 0; i < b->count; i++)
        put(b, i, v[i]);
    mem_free(v);
}

static void fill_random(Parser *ps, LaunchBuffer *b)
{
    u64 state = need_count(ps, "seed");
    u64 low = parse_value(ps, b->type, need_word(ps, "lower bound"));
    u64 high = parse_value(ps, b->type, need_word(ps, "upper bound"));
    if (ps->failed)
        return;
    if (value_less(b->type, high, low)) {
        fail(ps, "the upper bound is below the lower one");
        return;
    }
    const Format *f = format_of(b->type);
    for (u64 i = 0; i < b->count; i++) {
        u64 random = splitmix64(&state);
        if (f) {
            double lo = format_to_double(f, low), hi = format_to_double(f, high);
            double x = lo + (hi - lo) * ((double)(random >> 11) * 0x1p-53);
            put(b, i, format_from_double(f, x, ROUND_NEAREST_EVEN, false));
        } else {
            u64 span = ((high - low) & mask_bits(b->type.bits)) + 1; /* 0: all 64-bit values */
            put(b, i, low + (span ? random % span : random));
        }
    }
}

static void fill_iota(Parser *ps, LaunchBuffer *b)
{
    char *start = word(ps), *step = start ? word(ps) : NULL;
    const Format *f = format_of(b->type);
    u64 s = parse_value(ps, b->type, start ? start : "0"), d = parse_value(ps, b->type, step ? step : "1");
    for (u64 i = 0; i < b->count; i++)
        put(b, i,
            f ? format_from_double(f, format_to_double(f, s) + (double)i * format_to_double(f, d), ROUND_NEAREST_EVEN,
                                   false)
              : s + i * d);
}

static void fill_perm(Parser *ps, LaunchBuffer *b)
{
    u64 state = need_count(ps, "seed");
    const Format *f = format_of(b->type);
    for (u64 i = 0; i < b->count; i++)
        put(b, i, f ? format_from_integer(f, false, i, ROUND_NEAREST_EVEN) : i);
    for (u64 i = b->count; i > 1; i--) {
        u64 j = splitmix64(&state) % i, t = get(b, i - 1);
        put(b, i - 1, get(b, j));
        put(b, j, t);
    }
}

static void fill_values(Parser *ps, LaunchBuffer *b)
{
    u64 n = 0;
    for (char *w; (w = word(ps)) && !ps->failed; n++)
        if (n < b->count)
            put(b, n, parse_value(ps, b->type, w));
    if (!n || n > b->count)
        fail(ps, n ? "more values than elements" : "a value is missing");
    for (u64 i = n; i < b->count && n; i++)
        put(b, i, get(b, i - n));
}

static void fill_text(Parser *ps, LaunchBuffer *b)
{
    while (ps->p < ps->end && *ps->p != '"')
        ps->p++;
    const char *close = ps->end;
    while (close > ps->p && close[-1] != '"')
        close--;
    if (close - ps->p < 3) {
        fail(ps, "text needs \"...\"");
        return;
    }
    const char *text = ps->p + 1;
    u64 len = (u64)(close - 1 - text);
    for (u64 i = 0; i < b->bytes; i++)
        b->fill[i] = (u8)text[i % len];
    ps->p = ps->end;
}

static void parse_fill(Parser *ps, LaunchBuffer *b)
{
    char *how = need_word(ps, "fill");
    if (!strcmp(how, "zero"))
        return;
    if (!strcmp(how, "const")) {
        u64 bits = parse_value(ps, b->type, need_word(ps, "value"));
        for (u64 i = 0; i < b->count; i++)
            put(b, i, bits);
    } else if (!strcmp(how, "iota")) {
        fill_iota(ps, b);
    } else if (!strcmp(how, "random")) {
        fill_random(ps, b);
    } else if (!strcmp(how, "sorted")) {
        fill_random(ps, b);
        sort_values(b);
    } else if (!strcmp(how, "perm")) {
        fill_perm(ps, b);
    } else if (!strcmp(how, "values")) {
        fill_values(ps, b);
    } else if (!strcmp(how, "text")) {
        fill_text(ps, b);
    } else {
        fail(ps, "unknown fill: %s", how);
    }
}

static Launch *current(Parser *ps)
{
    if (!ps->out->launches.n) {
        fail(ps, "`launch LABEL` must come first");
        return NULL;
    }
    return &vec_last(&ps->out->launches);
}
static LaunchKernel *current_kernel(Parser *ps)
{
    Launch *l = current(ps);
    if (l && l->kernels.n)
        return &vec_last(&l->kernels);
    fail(ps, "`kernel NAME` must come first");
    return NULL;
}

static i32 find_buffer(Parser *ps, const Launch *l, const char *name)
{
    for (u32 i = 0; i < l->buffers.n; i++)
        if (!strcmp(l->buffers.v[i].name, name))
            return (i32)i;
    fail(ps, "no buffer `%s`", name);
    return -1;
}

static bool parse_type(Parser *ps, const char *name, ElemType *type)
{
    Str s = {name, (u32)strlen(name)};
    if (elem_type_parse(s, type) && type->count == 1 && type->bits >= 8 && type->bits <= 64 &&
        (type->kind == EK_UNSIGNED || type->kind == EK_SIGNED || type->kind == EK_FLOAT || type->kind == EK_BF16))
        return true;
    fail(ps, "unknown type: %s", name);
    return false;
}

static void parse_buffer(Parser *ps)
{
    Launch *l = current(ps);
    LaunchBuffer b = {.name = need_word(ps, "name")};
    if (!l || !parse_type(ps, need_word(ps, "type"), &b.type))
        return;
    b.count = need_count(ps, "count");
    if (ps->failed)
        return;
    if (!b.count || b.count > BUFFER_LIMIT / 8) {
        fail(ps, "a buffer has between 1 and %llu elements", (unsigned long long)BUFFER_LIMIT / 8);
        return;
    }
    for (u32 i = 0; i < l->buffers.n; i++)
        if (!strcmp(l->buffers.v[i].name, b.name))
            fail(ps, "buffer `%s` is there already", b.name);
    b.bytes = b.count * (b.type.bits / 8);
    b.fill = arena_alloc(ps->arena, b.bytes);
    parse_fill(ps, &b);
    vec_push(&l->buffers, b);
}

/* Bytes behind the first `room` of the argument. */
static void parse_bytes(Parser *ps, LaunchArg *a, u32 room, const char *text)
{
    u32 count = (u32)strlen(text) / 2;
    a->bytes = room + count;
    a->value = arena_alloc(ps->arena, a->bytes);
    for (u32 i = 0; i < count; i++) {
        char hex[3] = {text[2 * i], text[2 * i + 1], 0}, *end;
        a->value[room + i] = (u8)strtoul(hex, &end, 16);
        if (*end)
            fail(ps, "not hexadecimal: %s", hex);
    }
    if (strlen(text) % 2)
        fail(ps, "an odd number of hexadecimal digits");
}

static void parse_arg(Parser *ps)
{
    LaunchKernel *k = current_kernel(ps);
    char *type = need_word(ps, "type"), *text = need_word(ps, "value");
    LaunchArg a = {.buffer = -1};
    if (!k || ps->failed)
        return;
    if (!strcmp(type, "ptr")) {
        char *plus = strchr(text, '+');
        if (plus) {
            *plus = 0;
            a.offset = strtoull(plus + 1, NULL, 0);
        }
        a.buffer = find_buffer(ps, current(ps), text);
        a.bytes = 8;
        char *behind = word(ps);
        if (behind)
            parse_bytes(ps, &a, 8, behind);
    } else if (!strcmp(type, "bytes")) {
        parse_bytes(ps, &a, 0, text);
    } else {
        ElemType t;
        if (!parse_type(ps, type, &t))
            return;
        u64 bits = parse_value(ps, t, text);
        a.bytes = t.bits / 8;
        a.value = arena_alloc(ps->arena, sizeof bits);
        memcpy(a.value, &bits, sizeof bits);
    }
    vec_push(&k->args, a);
}

static void parse_shape(Parser *ps, bool is_grid)
{
    LaunchKernel *k = current_kernel(ps);
    u64 total = 1;
    for (u32 i = 0; i < 3 && k; i++) {
        u64 n = need_count(ps, is_grid ? "grid size" : "block size");
        (is_grid ? k->grid : k->block)[i] = (u32)n;
        total *= n;
        if (!n || n > 65535)
            fail(ps, "a size must be between 1 and 65535");
    }
    if (!is_grid && total > 1024)
        fail(ps, "a block has at most 1024 threads");
    if (is_grid && total > 1 << 20)
        fail(ps, "a grid has at most 2^20 blocks");
}

static void parse_statement(Parser *ps, const char *keyword)
{
    if (!strcmp(keyword, "launch")) {
        Launch l = {.label = need_word(ps, "label")};
        vec_push(&ps->out->launches, l);
    } else if (!strcmp(keyword, "buffer")) {
        parse_buffer(ps);
    } else if (!strcmp(keyword, "kernel")) {
        Launch *l = current(ps);
        LaunchKernel k = {.name = need_word(ps, "name"), .grid = {1, 1, 1}, .block = {1, 1, 1}};
        if (l)
            vec_push(&l->kernels, k);
    } else if (!strcmp(keyword, "grid") || !strcmp(keyword, "block")) {
        parse_shape(ps, keyword[0] == 'g');
    } else if (!strcmp(keyword, "shared")) {
        LaunchKernel *k = current_kernel(ps);
        u64 bytes = need_count(ps, "bytes");
        if (k)
            k->shared = (u32)bytes;
        if (bytes > 228 * 1024)
            fail(ps, "more shared memory than there is");
    } else if (!strcmp(keyword, "arg")) {
        parse_arg(ps);
    } else if (!strcmp(keyword, "output")) {
        Launch *l = current(ps);
        char *name = need_word(ps, "name");
        i32 i = l && !ps->failed ? find_buffer(ps, l, name) : -1;
        if (i >= 0)
            l->buffers.v[i].output = true;
    } else {
        fail(ps, "unknown statement: %s", keyword);
    }
}

bool launch_parse(Arena *arena, const char *file, Str text, LaunchFile *out)
{
    Parser ps = {.arena = arena, .file = file, .out = out};
    const char *p = text.p, *end = text.p + text.len;
    while (p < end && !ps.failed) {
        const char *newline = memchr(p, '\n', (size_t)(end - p));
        ps.line++;
        ps.p = p;
        ps.end = newline ? newline : end;
        const char *hash = memchr(p, '#', (size_t)(ps.end - p)), *quote = memchr(p, '"', (size_t)(ps.end - p));
        if (hash && (!quote || hash < quote))
            ps.end = hash;
        char *keyword = word(&ps);
        if (keyword) {
            parse_statement(&ps, keyword);
            char *rest = ps.failed ? NULL : word(&ps);
            if (rest)
                fail(&ps, "what is `%s`?", rest);
        }
        p = newline ? newline + 1 : end;
    }
    return !ps.failed;
}

void launch_free(LaunchFile *file)
{
    for (u32 i = 0; i < file->launches.n; i++) {
        Launch *l = &file->launches.v[i];
        for (u32 k = 0; k < l->kernels.n; k++)
            vec_free(&l->kernels.v[k].args);
        vec_free(&l->kernels);
        vec_free(&l->buffers);
    }
    vec_free(&file->launches);
}

void launch_print_values(const LaunchBuffer *buffer, const u8 *contents)
{
    u32 bytes = buffer->type.bits / 8;
    printf("output %s:", buffer->name);
    for (u64 i = 0; i < buffer->count; i++) {
        u64 bits = 0;
        memcpy(&bits, contents + i * bytes, bytes);
        if (elem_is_float(buffer->type))
            printf(" %g", format_to_double(format_of(buffer->type), bits));
        else if (buffer->type.kind == EK_SIGNED)
            printf(" %" PRId64, sign_extend(bits, buffer->type.bits));
        else
            printf(" %" PRIu64, bits);
    }
    putchar('\n');
}
