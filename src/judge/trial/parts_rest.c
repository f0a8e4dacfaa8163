/* The text outside of functions, as some of them see it. Each file of a project declares other variables beside the same
 * templates. A variable that neither a kernel nor any other text that stays names does not change the kernel's machine code,
 * except for slot numbers: addresses of variables are filled in at the final layout. That holds only for .global: .shared,
 * .const and .local are laid out per function or per bank, and textures are numbered. And it holds up to 8191 variables
 * (ptxas 13.0): with more, ptxas takes their addresses otherwise, as it says. */
#define _GNU_SOURCE
#include "judge/trial/parts.h"

#include <string.h>

#include "pipeline/tuned.h"

/* A `%` may begin a name or stand between two: names are taken without it, which finds some more. */
static Str without_percent(const char *name)
{
    name += name[0] == '%';
    return (Str){name, (u32)strlen(name)};
}

/* Takes the next word off the text; its length is 0 at the end. */
static Str take_word(Str *text)
{
    const char *at = text->p, *end = text->p + text->len;
    while (at < end && !is_in_name(*at))
        at++;
    Str word = {at, 0};
    while (at < end && is_in_name(*at))
        at++;
    word.len = (u32)(at - word.p);
    *text = (Str){at, (u32)(end - at)};
    return word;
}

static bool is_word(Str text)
{
    Str rest = text;
    return take_word(&rest).len == text.len && text.len;
}

/* ---- variables that may be left out ------------------------------------------------------------------------------- */

/* Whether the declaration names nothing: a table of functions makes them functions that are called indirectly. */
static bool names_nothing(Str declaration)
{
    const char *value = memchr(declaration.p, '=', declaration.len), *end = declaration.p + declaration.len;
    Str rest = value ? (Str){value, (u32)(end - value)} : (Str){end, 0};
    for (Str word = take_word(&rest); word.len; word = take_word(&rest))
        if (word.p[0] < '0' || word.p[0] > '9')
            return false;
    return !memmem(declaration.p, declaration.len, ".attribute", 10);
}

/* The variable of that name; NULL. */
static PartVariable *find_variable(const Parts *parts, Str name)
{
    if (!parts->begins[(u8)name.p[0]])
        return NULL;
    const u64 *number = fnvmap_find(&parts->names, fnv_bytes(FNV_BASIS, name.p, name.len));
    return number ? &parts->variables.v[*number - 1] : NULL;
}

/* A variable whose name another one has is not its own. */
static void add_name(Parts *parts, u32 variable)
{
    PartVariable *added = &parts->variables.v[variable];
    Str name = without_percent(added->name);
    if (!is_word(name))
        return;
    u64 *number = fnvmap_at(&parts->names, fnv_bytes(FNV_BASIS, name.p, name.len));
    added->is_own = !*number && names_nothing(added->text);
    if (*number)
        parts->variables.v[*number - 1].is_own = false;
    else
        *number = variable + 1;
    parts->begins[(u8)name.p[0]] = true;
}

/* Nor is one that stands a second time in text outside of functions. */
static void count_names(Parts *parts)
{
    bool *seen = mem_zalloc(parts->variables.n + 1);
    for (u32 i = 0; i <= parts->part.n; i++) {
        Str rest = parts_text_before(parts, i);
        for (Str word = take_word(&rest); word.len; word = take_word(&rest)) {
            PartVariable *named = find_variable(parts, word);
            bool *before = named ? &seen[named - parts->variables.v] : NULL;
            if (named && *before)
                named->is_own = false;
            if (named)
                *before = true;
        }
    }
    mem_free(seen);
}

/* Whether the module surely has fewer variables and functions than make ptxas address them otherwise: a declaration takes
 * 13 characters or more, and a range of names is one declaration. */
static bool has_few_variables(const Parts *parts)
{
    enum { CHARACTERS = 64 << 10, FUNCTIONS = 2048 };
    u32 left = CHARACTERS;
    bool few = parts->part.n <= FUNCTIONS;
    for (u32 i = 0; few && i <= parts->part.n; i++) {
        Str rest = parts_text_before(parts, i);
        few = rest.len <= left && !memchr(rest.p, '<', rest.len);
        left -= few ? rest.len : 0;
    }
    return few;
}

static void find_own_variables(Parts *parts)
{
    if (parts->names.count || !has_few_variables(parts))
        return;
    for (u32 i = 0; i < parts->variables.n; i++)
        add_name(parts, i);
    if (parts->names.count)
        count_names(parts);
}

void parts_mark_named(Parts *parts, Str body, bool *named)
{
    find_own_variables(parts);
    for (Str word = take_word(&body); word.len && parts->names.count; word = take_word(&body)) {
        const PartVariable *variable = find_variable(parts, word);
        if (variable)
            named[variable - parts->variables.v] = true;
    }
}

/* ---- the hash ----------------------------------------------------------------------------------------------------- */

/* Continues the hash with a piece of the rest. Variables stand in it in the order of their numbers. */
static u64 hash_piece(Parts *parts, Str piece, u32 *next, u64 hash)
{
    const char *from = piece.p, *end = piece.p + piece.len;
    for (; *next < parts->variables.n && parts->variables.v[*next].text.p < end; ++*next) {
        PartVariable *variable = &parts->variables.v[*next];
        if (!variable->is_own)
            continue;
        hash = tuned_hash_rest(hash, (Str){from, (u32)(variable->text.p - from)});
        variable->hash = tuned_hash_rest(hash, variable->text);
        from = variable->text.p + variable->text.len;
    }
    return tuned_hash_rest(hash, (Str){from, (u32)(end - from)});
}

static void hash_pieces(Parts *parts)
{
    u64 hash = FNV_BASIS;
    u32 next = 0;
    find_own_variables(parts);
    for (u32 i = 0; i <= parts->part.n; i++)
        hash = hash_piece(parts, parts_text_before(parts, i), &next, hash);
    parts->rest = hash;
}

u64 parts_hash_rest(Parts *parts, const bool *named)
{
    if (!parts->rest)
        hash_pieces(parts);
    u64 hash = parts->rest;
    for (u32 i = 0; i < parts->variables.n; i++)
        if (named[i] && parts->variables.v[i].is_own)
            hash = fnv_bytes(hash, (const char *)&parts->variables.v[i].hash, sizeof hash);
    return hash;
}
