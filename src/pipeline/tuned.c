#define _GNU_SOURCE
#include "pipeline/tuned.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/args.h"
#include "base/diag.h"
#include "base/fnvmap.h"

/* ---- the hash of a function --------------------------------------------------------------------------------------- */

static bool is_blank(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

/* Letters, digits, and those that names and directives have beside them: a bit each. Every byte of a text is asked about. */
static bool is_word(char c)
{
    enum { HALF = 64 };
    static const u64 letters = 0x3ffffff, digits = 0x3ff;
    static const u64 low = digits << '0' | 1ull << '$' | 1ull << '%' | 1ull << '.';
    static const u64 high = letters << ('A' - HALF) | letters << ('a' - HALF) | 1ull << ('_' - HALF);
    return c >= 0 && (c < HALF ? low >> c : high >> (c - HALF)) & 1;
}

static bool is_directive(Str text, const char *name)
{
    size_t len = strlen(name);
    return str_begins(text, name) && len < text.len && is_blank(text.p[len]);
}

static bool is_line_end(char c) { return c == '\n' || c == '\r'; }

static const char *skip_word(const char *at, const char *end)
{
    while (at < end && is_word(*at))
        at++;
    return at;
}

/* The end of the numbers, file names and words of a .loc or .file. What follows on the line is code. */
static const char *skip_position(const char *at, const char *end)
{
    while (at < end && !is_line_end(*at)) {
        const char *word = skip_word(at, end), *next = at + 1;
        if (*at == '"') {
            const char *close = memchr(next, '"', (size_t)(end - next));
            at = close ? close + 1 : end;
        } else if (str_is((Str){at, (u32)(word - at)}, "function_name")) {
            while (word < end && is_blank(*word) && !is_line_end(*word))
                word++;
            at = skip_word(word, end);
        } else if (is_blank(*at) || *at == ',' || *at == '+') {
            at = next;
        } else if ((*at >= '0' && *at <= '9') || str_is((Str){at, (u32)(word - at)}, "inlined_at")) {
            at = word;
        } else {
            break;
        }
    }
    return at;
}

/* The end of the comment or directive for debuggers that begins the text; its beginning if none does. */
static const char *skip_unsaid(Str text)
{
    const char *at = text.p, *end = text.p + text.len;
    if (str_begins(text, "//")) {
        while (at < end && !is_line_end(*at))
            at++;
    } else if (is_directive(text, ".loc") || is_directive(text, ".file")) {
        at = skip_position(skip_word(at, end), end);
    } else if (str_begins(text, "/*")) {
        const char *close = memmem(at, text.len, "*/", 2);
        at = close ? close + 2 : end;
    } else if (is_directive(text, ".section")) {
        const char *close = memchr(at, '}', text.len);
        at = close ? close + 1 : end;
    }
    return at;
}

bool tuned_numbers(Str name) { return name.p[0] == '$' || (name.p[0] == '_' && str_begins(name, "__local_depot")); }

/* Adds a name to the hash, as the number of its first occurrence among those of the function. */
static u64 add_numbered(u64 hash, FnvMap *names, Str name)
{
    u64 *number = fnvmap_at(names, fnv_bytes(FNV_BASIS, name.p, name.len));
    if (!*number)
        *number = names->count;
    return fnv_bytes(hash, (const char *)number, sizeof *number);
}

/* Adds the words of a text to a hash. names: numbers for the names that are replaced; NULL: every word stands for itself. */
static u64 hash_words(u64 hash, FnvMap *names, Str text)
{
    const char *at = text.p, *end = text.p + text.len;
    while (at < end) {
        Str rest = {at, (u32)(end - at)};
        const char *next = is_blank(*at) ? at + 1 : *at == '/' || *at == '.' ? skip_unsaid(rest) : at;
        if (next > at) {
            at = next;
            continue;
        }
        bool is_name = is_word(*at), numbered = names && tuned_numbers(rest);
        u64 before = hash;
        do
            hash = (hash ^ (u8)*at++) * FNV_PRIME;
        while (is_name && at < end && is_word(*at));
        if (numbered)
            hash = add_numbered(before, names, (Str){rest.p, (u32)(at - rest.p)});
        hash = (hash ^ ' ') * FNV_PRIME;
    }
    return hash;
}

u64 tuned_hash_text(u32 target_sm, Str text)
{
    FnvMap names = {0};
    u64 hash = hash_words(fnv_bytes(FNV_BASIS, (const char *)&target_sm, sizeof target_sm), &names, text);
    fnvmap_free(&names);
    return hash;
}

static u64 tuned_hash(const Function *fn) { return tuned_hash_text(fn->module->target_sm, span_str(fn->module, fn->text)); }

u64 tuned_hash_rest(u64 hash, Str text) { return hash_words(hash, NULL, text); }

static const Tuned *last_of_name(const VecTuned *tuned, u32 below, const char *name)
{
    while (below > 0 && strcmp(tuned->v[below - 1].name, name) != 0)
        below--;
    return below ? &tuned->v[below - 1] : NULL;
}

const Tuned *tuned_by_hash(const VecTuned *tuned, const char *name, u64 hash)
{
    const Tuned *found = last_of_name(tuned, tuned->n, name);
    while (found && found->hash != hash)
        found = last_of_name(tuned, (u32)(found - tuned->v), name);
    return found;
}

const PipelineConfig *tuned_find(const PipelineConfig *config, const Function *fn)
{
    const char *name = fn->name->text;
    if (!last_of_name(&config->tuned, config->tuned.n, name))
        return NULL; /* no hash is needed */
    const Tuned *found = tuned_by_hash(&config->tuned, name, tuned_hash(fn));
    return found ? found->config : NULL;
}

/* ---- the file ---------------------------------------------------------------------------------------------------- */

enum { HASH_DIGITS = 16, HASH_BASE = 16 };

typedef struct Reader {
    Options *options;
    Diag diag;
    FnvMap seen; /* by function: the number of the last decision about it, from 1 */
    char *text; /* words end at NULs that replace the blanks after them; the diagnostics have a copy */
} Reader;

static Span span_of(const Reader *reader, const char *word)
{
    u32 at = (u32)(word - reader->text);
    return (Span){at, at + (u32)strlen(word)};
}

/* Appends the words up to the line's end or a comment. Answers the beginning of the next line; NULL: there is none. */
static char *split_line(char *line, Words *words)
{
    char *next = strchr(line, '\n'), *end = next ? next : line + strlen(line);
    end = memchr(line, '#', (size_t)(end - line)) ? memchr(line, '#', (size_t)(end - line)) : end;
    for (char *at = line; at < end;) {
        while (at < end && is_blank(*at))
            at++;
        if (at == end)
            break;
        vec_push(words, at);
        while (at < end && !is_blank(*at))
            at++;
        *at++ = '\0';
    }
    return next ? next + 1 : NULL;
}

static bool parse_hash(const char *word, u64 *hash)
{
    *hash = 0;
    for (u32 i = 0; i < HASH_DIGITS; i++) {
        const char *digits = "0123456789abcdef", *digit = word[i] ? strchr(digits, word[i]) : NULL;
        if (!digit)
            return false;
        *hash = *hash * 16 + (u64)(digit - digits);
    }
    return strcmp(word + HASH_DIGITS, ":") == 0;
}

/* Verdicts of several builds are put together, and some may be about another ptxas or target. A function that one of them
 * leaves alone is left alone; otherwise the last decision counts. */
static void settle(Reader *reader, Tuned *tuned, Span where)
{
    const VecTuned *decisions = &reader->options->pipeline.tuned;
    u64 *seen = fnvmap_at(&reader->seen, fnv_bytes(tuned->hash, tuned->name, strlen(tuned->name)));
    const Tuned *other = *seen ? &decisions->v[*seen - 1] : NULL;
    *seen = decisions->n + 1;
    if (!other || strcmp(other->words, tuned->words) == 0)
        return;
    bool left_alone = true;
    for (u32 phase = 0; phase < PHASE_COUNT; phase++)
        left_alone &= other->config->disabled[phase];
    diag_at(&reader->diag, DIAG_WARNING, where,
            left_alone ? "'%s' is left alone, as another decision before this one says"
                       : "'%s' has another decision before this one, '%s', which does not count",
            tuned->name, other->words);
    if (left_alone)
        *tuned = *other;
}

static void take_line(Reader *reader, const Words *words)
{
    Tuned tuned = {.name = words->v[0]};
    const char *why = NULL;
    int at = 0;
    if (words->n < 2 || !parse_hash(words->v[1], &tuned.hash)) {
        diag_at(&reader->diag, DIAG_ERROR, span_of(reader, words->v[words->n < 2 ? 0 : 1]),
                "a decision is NAME HASH: OPTIONS, the hash 16 digits of 0 to 9 and a to f");
        return;
    }
    tuned.config = options_vary(reader->options, (int)words->n - 2, words->v + 2, &at, &why);
    if (!tuned.config) {
        diag_at(&reader->diag, DIAG_ERROR, span_of(reader, words->v[2 + at]), "%s", why);
        return;
    }
    tuned.words = options_words(reader->options, tuned.config);
    settle(reader, &tuned, span_of(reader, words->v[0]));
    vec_push(&reader->options->pipeline.tuned, tuned);
}

static const char seal[] = "# ptxopt remembers ";

char *tuned_seal(Arena *arena, u64 key, Str text)
{
    u64 check = fnv_bytes(fnv_bytes(FNV_BASIS, (const char *)&key, sizeof key), text.p, text.len);
    return arena_printf(arena, "%s%016" PRIx64 " %016" PRIx64 " %" PRIu32 "\n", seal, key, check, text.len);
}

/* The next seal, or the end of all. */
static const char *next_seal(const char *text)
{
    const char *next = text;
    while ((next = strstr(next, seal)) && next[-1] != '\n')
        next++;
    return next ? next : text + strlen(text);
}

/* Whether the line is the seal of what follows it. */
static bool is_right_seal(Arena *arena, const char *line, const char *text)
{
    enum { CHECK_AT = sizeof seal + HASH_DIGITS, LENGTH_AT = CHECK_AT + HASH_DIGITS + 1 };
    size_t line_len = (size_t)(text - line), len = line_len > LENGTH_AT ? strtoull(line + LENGTH_AT, NULL, 10) : 0;
    if (len > (size_t)(next_seal(text) - text))
        return false;
    const char *right = tuned_seal(arena, strtoull(line + sizeof seal - 1, NULL, HASH_BASE), (Str){text, (u32)len});
    return strlen(right) == line_len && strncmp(line, right, line_len) == 0;
}

/* Overwrites remembered decisions that are not as they were written with a comment. A verdict that is cut short or turned round would be
 * another one. */
static void check_sealed(Reader *reader)
{
    Arena arena = {0};
    for (char *line = reader->text; line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL) {
        if (strncmp(line, seal, sizeof seal - 1) != 0)
            continue;
        char *text = line + strcspn(line, "\n");
        text += *text == '\n';
        if (is_right_seal(&arena, line, text))
            continue;
        size_t len = (size_t)(next_seal(text) - text);
        diag_at(&reader->diag, DIAG_WARNING, (Span){(u32)(line - reader->text), (u32)(line - reader->text) + (u32)strcspn(line, "\n")},
                "what follows is not what was remembered: it does not count");
        for (size_t i = 0; i < len; i++)
            text[i] = text[i] == '\n' ? '\n' : '#';
    }
    arena_free(&arena);
}

bool tuned_read(Options *options, const char *path, FILE *messages)
{
    Reader reader = {.options = options, .text = args_read_file(&options->arena, path)};
    if (!reader.text) {
        fprintf(messages, "ptxopt: error: cannot read '%s': %s\n", path, strerror(errno));
        return false;
    }
    u32 len = (u32)strlen(reader.text);
    diag_init(&reader.diag, messages, path, (Str){arena_copy(&options->arena, reader.text, len), len});
    check_sealed(&reader);
    Words words = {0};
    for (char *line = reader.text; line && reader.diag.errors == 0;) {
        vec_clear(&words);
        line = split_line(line, &words);
        if (words.n)
            take_line(&reader, &words);
    }
    vec_free(&words);
    fnvmap_free(&reader.seen);
    diag_free(&reader.diag);
    return reader.diag.errors == 0;
}
