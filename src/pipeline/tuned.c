#define _GNU_SOURCE
#include "pipeline/tuned.h"

#include <errno.h>
#include <string.h>

#include "base/args.h"
#include "base/diag.h"
#include "base/fnvmap.h"

/* ---- the hash of a function --------------------------------------------------------------------------------------- */

static bool is_blank(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

static bool is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '$' || c == '%' ||
           c == '.';
}

static bool is_directive(Str text, const char *name)
{
    size_t len = strlen(name);
    return str_begins(text, name) && len < text.len && is_blank(text.p[len]);
}

/* The end of the blank, comment or directive for debuggers that begins at `at`; `at` itself if none does. */
static u32 skip_unsaid(Str text, u32 at)
{
    if (is_blank(text.p[at]))
        return at + 1;
    Str rest = {text.p + at, text.len - at};
    if (str_begins(rest, "//") || is_directive(rest, ".loc") || is_directive(rest, ".file")) {
        while (at < text.len && text.p[at] != '\n' && text.p[at] != '\r')
            at++;
    } else if (str_begins(rest, "/*")) {
        const char *end = memmem(text.p + at, text.len - at, "*/", 2);
        at = end ? (u32)(end + 2 - text.p) : text.len;
    } else if (is_directive(rest, ".section")) {
        const char *end = memchr(text.p + at, '}', text.len - at);
        at = end ? (u32)(end + 1 - text.p) : text.len;
    }
    return at;
}

/* Adds a word to the hash. Labels and stack frames are numbered through a file, so each counts as the number of its first
 * occurrence among such names of the function. */
static u64 add_word(u64 hash, FnvMap *names, const char *word, u32 len)
{
    static const char frame[] = "__local_depot";
    if (word[0] != '$' && (len < sizeof frame || memcmp(word, frame, sizeof frame - 1) != 0))
        return fnv_bytes(hash, word, len);
    u64 *number = fnvmap_at(names, fnv_bytes(FNV_BASIS, word, len));
    if (!*number)
        *number = names->count;
    return fnv_bytes(hash, (const char *)number, sizeof *number);
}

/* Adds the words of a text to a hash. names: numbers for the names that are replaced; NULL: every word stands for itself. */
static u64 hash_words(u64 hash, FnvMap *names, Str text)
{
    for (u32 at = 0, end; at < text.len; at = end) {
        end = skip_unsaid(text, at);
        if (end > at)
            continue;
        while (end < text.len && is_word(text.p[end]))
            end++;
        end += end == at;
        hash = names ? add_word(hash, names, text.p + at, end - at) : fnv_bytes(hash, text.p + at, end - at);
        hash = fnv_bytes(hash, " ", 1);
    }
    return hash;
}

u64 tuned_hash(const Function *fn)
{
    u32 sm = fn->module->target_sm;
    FnvMap names = {0};
    u64 hash = hash_words(fnv_bytes(FNV_BASIS, (const char *)&sm, sizeof sm), &names, span_str(fn->module, fn->text));
    fnvmap_free(&names);
    return hash;
}

u64 tuned_hash_rest(const Module *m)
{
    u64 hash = FNV_BASIS;
    u32 from = 0;
    for (u32 f = 0; f < m->functions.n; f++) {
        const Function *fn = m->functions.v[f];
        if (!fn->entry)
            continue;
        hash = hash_words(hash, NULL, span_str(m, (Span){from, fn->text.beg}));
        from = fn->text.end;
    }
    return hash_words(hash, NULL, span_str(m, (Span){from, m->text.len}));
}

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

enum { HASH_DIGITS = 16 };

typedef struct Reader {
    Options *options;
    Diag diag;
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
    tuned.words = "";
    for (u32 w = 2; w < words->n; w++)
        tuned.words = arena_append(&reader->options->arena, tuned.words, " ", "%s", words->v[w]);
    tuned.config = options_vary(reader->options, (int)words->n - 2, words->v + 2, &at, &why);
    if (tuned.config)
        vec_push(&reader->options->pipeline.tuned, tuned);
    else
        diag_at(&reader->diag, DIAG_ERROR, span_of(reader, words->v[2 + at]), "%s", why);
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
    Words words = {0};
    for (char *line = reader.text; line && reader.diag.errors == 0;) {
        vec_clear(&words);
        line = split_line(line, &words);
        if (words.n)
            take_line(&reader, &words);
    }
    vec_free(&words);
    diag_free(&reader.diag);
    return reader.diag.errors == 0;
}
