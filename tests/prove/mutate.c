#include "mutate.h"

#include <ctype.h>

enum { LINES_MAX = 20000, TRIES = 50, LINE_BYTES = 512 };

typedef struct Line {
    const char *p;
    u32 len;
} Line;

typedef struct Mutation {
    const Line *line;
    u32 lines;
    u32 at; /* the line that changes */
    u64 *random;
    char made[LINE_BYTES]; /* what comes in its place */
} Mutation;

static u32 below(Mutation *m, u32 n) { return (u32)(splitmix64(m->random) % n); }

static bool is_instruction(const Line *l)
{
    u32 k = 0;
    while (k < l->len && isspace((unsigned char)l->p[k]))
        k++;
    return k < l->len && (islower((unsigned char)l->p[k]) || l->p[k] == '@') && l->p[l->len - 1] == ';';
}

static bool is_word(char c) { return isalnum((unsigned char)c) || c == '_' || c == '$'; }

/* ---- tokens ------------------------------------------------------------------------------------------------------- */

/* The n-th token of a kind in the text: a register, a number, a label after a bra. */
typedef bool StartsToken(const char *p, u32 at, u32 len);

static bool starts_register(const char *p, u32 at, u32 len)
{
    return p[at] == '%' && at + 1 < len && isalpha((unsigned char)p[at + 1]);
}

static bool starts_number(const char *p, u32 at, u32 len)
{
    return isdigit((unsigned char)p[at]) && at > 0 && !is_word(p[at - 1]) && p[at - 1] != '.' && p[at - 1] != '%' &&
           at + 1 < len;
}

static u32 token_end(const char *p, u32 at, u32 len)
{
    at++;
    while (at < len && is_word(p[at]))
        at++;
    return at;
}

static u32 count_tokens(const Line *l, StartsToken *starts)
{
    u32 n = 0;
    for (u32 k = 0; k < l->len; k++)
        n += starts(l->p, k, l->len);
    return n;
}

static bool find_token(const Line *l, StartsToken *starts, u32 n, u32 *at, u32 *end)
{
    for (u32 k = 0; k < l->len; k++)
        if (starts(l->p, k, l->len) && n-- == 0) {
            *at = k;
            *end = token_end(l->p, k, l->len);
            return true;
        }
    return false;
}

static bool put(Mutation *m, u32 at, u32 end, const char *with, u32 with_len)
{
    const Line *l = &m->line[m->at];
    if (at + with_len + l->len - end >= LINE_BYTES)
        return false;
    memcpy(m->made, l->p, at);
    memcpy(m->made + at, with, with_len);
    memcpy(m->made + at + with_len, l->p + end, l->len - end);
    m->made[at + with_len + l->len - end] = '\0';
    return true;
}

/* The letters of a register's name: registers of the same ones are mostly of one type. */
static u32 stem(const char *p, u32 len)
{
    u32 k = 1;
    while (k < len && !isdigit((unsigned char)p[k]))
        k++;
    return k;
}

/* ---- changes ------------------------------------------------------------------------------------------------------- */

static bool change_register(Mutation *m)
{
    const Line *l = &m->line[m->at];
    u32 n = count_tokens(l, starts_register), at, end, other, other_end;
    if (n == 0 || !find_token(l, starts_register, below(m, n), &at, &end))
        return false;
    for (u32 tries = 0; tries < TRIES; tries++) {
        i32 near = (i32)m->at + (i32)below(m, 41) - 20;
        const Line *from = near >= 0 && (u32)near < m->lines ? &m->line[near] : l;
        u32 count = is_instruction(from) ? count_tokens(from, starts_register) : 0;
        if (!count || !find_token(from, starts_register, below(m, count), &other, &other_end))
            continue;
        u32 s = stem(l->p + at, end - at), so = stem(from->p + other, other_end - other);
        bool same = end - at == other_end - other && memcmp(l->p + at, from->p + other, end - at) == 0;
        if (!same && s == so && memcmp(l->p + at, from->p + other, s) == 0)
            return put(m, at, end, from->p + other, other_end - other);
    }
    return false;
}

static bool change_number(Mutation *m)
{
    const Line *l = &m->line[m->at];
    u32 n = count_tokens(l, starts_number), at, end;
    char text[32];
    if (n == 0 || !find_token(l, starts_number, below(m, n), &at, &end) || l->p[at + 1] == 'f' || l->p[at + 1] == 'd')
        return false;
    unsigned long long value = strtoull(l->p + at, NULL, 0), by[] = {1, 4, 8, 2, 31, 256, 0x10000};
    value = below(m, 8) == 0 ? below(m, 64) : below(m, 2) || value == 0 ? value + by[below(m, COUNT_OF(by))] : value - 1;
    return put(m, at, end, text, (u32)snprintf(text, sizeof text, "%llu", value));
}

static bool change_opcode(Mutation *m)
{
    static const char *const swaps[][2] = {
#define EITHER(a, b) {a, b},
#define PROOF(a, b) {a, b},
#include "../fuzz/swaps.def"
    };
    const Line *l = &m->line[m->at];
    char copy[LINE_BYTES];
    if (l->len >= sizeof copy)
        return false;
    memcpy(copy, l->p, l->len);
    copy[l->len] = '\0';
    for (u32 tries = 0; tries < TRIES; tries++) {
        u32 k = below(m, COUNT_OF(swaps)), side = below(m, 2);
        const char *found = strstr(copy, swaps[k][side]);
        if (found)
            return put(m, (u32)(found - copy), (u32)(found - copy + strlen(swaps[k][side])), swaps[k][!side],
                       (u32)strlen(swaps[k][!side]));
    }
    return false;
}

static bool find_label(const Line *l, u32 *at, u32 *end)
{
    for (u32 k = 0; k + 4 < l->len; k++)
        if (memcmp(l->p + k, "bra", 3) == 0 && (k == 0 || !is_word(l->p[k - 1]))) {
            while (k < l->len && !isspace((unsigned char)l->p[k]))
                k++;
            while (k < l->len && isspace((unsigned char)l->p[k]))
                k++;
            *at = k;
            *end = token_end(l->p, k, l->len);
            return k < l->len;
        }
    return false;
}

static bool change_label(Mutation *m)
{
    u32 at, end, other, other_end;
    if (!find_label(&m->line[m->at], &at, &end))
        return false;
    for (u32 tries = 0; tries < 500; tries++) {
        const Line *from = &m->line[below(m, m->lines)];
        if (is_instruction(from) && find_label(from, &other, &other_end) &&
            (end - at != other_end - other || memcmp(m->line[m->at].p + at, from->p + other, end - at) != 0))
            return put(m, at, end, from->p + other, other_end - other);
    }
    return false;
}

static bool change_guard(Mutation *m)
{
    const Line *l = &m->line[m->at];
    const char *found = memchr(l->p, '@', l->len);
    if (!found)
        return false;
    u32 at = (u32)(found - l->p), end = at;
    if (below(m, 3)) /* the other sense */
        return found[1] == '!' ? put(m, at + 1, at + 2, "", 0) : put(m, at + 1, at + 1, "!", 1);
    while (end < l->len && !isspace((unsigned char)l->p[end]))
        end++;
    return put(m, at, end, "", 0);
}

static bool repeat_or_remove(Mutation *m)
{
    const Line *l = &m->line[m->at];
    if (2 * l->len + 2 >= LINE_BYTES)
        return false;
    m->made[0] = '\0';
    if (below(m, 3) == 0)
        snprintf(m->made, sizeof m->made, "%.*s\n%.*s", (int)l->len, l->p, (int)l->len, l->p);
    return true;
}

/* With the next instruction. */
static bool exchange(Mutation *m)
{
    const Line *l = &m->line[m->at], *next = l + 1;
    if (m->at + 1 >= m->lines || !is_instruction(next) || l->len + next->len + 2 >= LINE_BYTES)
        return false;
    snprintf(m->made, sizeof m->made, "%.*s\n%.*s", (int)next->len, next->p, (int)l->len, l->p);
    return true;
}

static bool apply(Mutation *m, u32 *replaced)
{
    *replaced = 1;
    switch (below(m, 10)) {
    case 0:
    case 1:
    case 2: return change_register(m);
    case 3: return change_number(m);
    case 4:
    case 5: return change_opcode(m);
    case 6: return change_label(m);
    case 7: return change_guard(m);
    case 8: return repeat_or_remove(m);
    default: *replaced = 2; return exchange(m);
    }
}

bool mutate(const char *ptx, u32 len, u64 *random, Text *to, Text *what)
{
    VEC(Line) lines = {0};
    bool done = false;
    for (u32 at = 0; at < len && lines.n < LINES_MAX;) {
        const char *end = memchr(ptx + at, '\n', len - at);
        u32 n = end ? (u32)(end - ptx) - at : len - at;
        vec_push(&lines, ((Line){ptx + at, n}));
        at += n + 1;
    }
    Mutation m = {.line = lines.v, .lines = lines.n, .random = random};
    for (u32 tries = 0; tries < TRIES && !done; tries++) {
        u32 replaced = 1;
        m.at = below(&m, lines.n);
        const Line *l = &m.line[m.at];
        if (l->len == 0 || !is_instruction(l) || !apply(&m, &replaced))
            continue;
        u32 from = (u32)(l->p - ptx), end = from + l->len + (replaced == 2 ? 1 + l[1].len : 0);
        text_append(to, ptx, from);
        text_append(to, m.made, strlen(m.made));
        text_append(to, ptx + end, len - end);
        text_printf(what, "line %u: %.*s -> %s", m.at + 1, (int)l->len, l->p, m.made);
        done = true;
    }
    vec_free(&lines);
    return done;
}
