#include "base/cxx_name.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

enum { DEEPEST = 64 /* how deep types may nest */ };

typedef struct Mangled {
    const char *at;
    char *name; /* the qualified name so far */
    size_t size, len;
    const char *last; /* the last part of the name, for constructors */
    size_t last_len;
    u32 depth;
} Mangled;

static bool skip_type(Mangled *m);

static bool take(Mangled *m, char c)
{
    bool is = *m->at == c;
    m->at += is;
    return is;
}

static bool append(Mangled *m, const char *text, size_t len)
{
    if (m->len + len + 3 > m->size)
        return false;
    m->len += (size_t)sprintf(m->name + m->len, "%s%.*s", m->len ? "::" : "", (int)len, text);
    return true;
}

/* Reads a length and as many characters. */
static bool read_source_name(Mangled *m, const char **text, size_t *len)
{
    size_t n = 0;
    while (isdigit((unsigned char)*m->at) && n < 10000)
        n = 10 * n + (size_t)(*m->at++ - '0');
    if (n == 0 || strnlen(m->at, n) < n)
        return false;
    *text = m->at;
    *len = n;
    m->at += n;
    return true;
}

static bool skip_source_name(Mangled *m)
{
    const char *text;
    size_t len;
    return read_source_name(m, &text, &len);
}

/* `S_`, `S0_`, `T_`, `T0_`, after its letter. */
static bool skip_number(Mangled *m)
{
    while (isdigit((unsigned char)*m->at) || isupper((unsigned char)*m->at))
        m->at++;
    return take(m, '_');
}

static bool skip_types_to_end(Mangled *m)
{
    while (*m->at && *m->at != 'E')
        if (!skip_type(m))
            return false;
    return take(m, 'E');
}

/* Template arguments, after their `I`. Expressions are not read. */
static bool skip_arguments(Mangled *m)
{
    while (*m->at && *m->at != 'E') {
        if (take(m, 'L')) {
            if (!skip_type(m))
                return false;
            m->at += strcspn(m->at, "E");
            if (!take(m, 'E'))
                return false;
        } else if (take(m, 'J') ? !skip_types_to_end(m) : !skip_type(m)) {
            return false;
        }
    }
    return take(m, 'E');
}

static bool skip_optional_arguments(Mangled *m) { return take(m, 'I') ? skip_arguments(m) : true; }

static bool skip_nested(Mangled *m)
{
    m->at += strspn(m->at, "rVKRO");
    while (*m->at && *m->at != 'E') {
        if (take(m, 'I') ? !skip_arguments(m) : !skip_type(m))
            return false;
    }
    return take(m, 'E');
}

static bool skip_type_of_d(Mangled *m)
{
    if (*m->at && strchr("nahfdeisu", *m->at)) {
        m->at++;
        return true;
    }
    if (take(m, 'F'))
        return skip_number(m);
    return take(m, 'p') && skip_type(m);
}

/* The type of a lambda or another type without a name, after its `U`; or a qualifier of a vendor before another type. */
static bool skip_unnamed(Mangled *m)
{
    if (take(m, 't'))
        return skip_number(m);
    if (take(m, 'l'))
        return skip_types_to_end(m) && skip_number(m);
    return skip_source_name(m) && skip_optional_arguments(m) && skip_type(m);
}

/* A type in a function, after its `Z`: the function with its parameters, then the type. */
static bool skip_local(Mangled *m) { return skip_type(m) && skip_types_to_end(m) && skip_type(m); }

static bool skip_one_type(Mangled *m)
{
    m->at += strspn(m->at, "rVKPROCG");
    if (isdigit((unsigned char)*m->at))
        return skip_source_name(m) && skip_optional_arguments(m);
    char kind = *m->at;
    m->at += kind != '\0';
    switch (kind) {
    case 'N': return skip_nested(m);
    case 'T': return skip_number(m) && skip_optional_arguments(m);
    case 'F': return skip_types_to_end(m);
    case 'D': return skip_type_of_d(m);
    case 'U': return skip_unnamed(m);
    case 'Z': return skip_local(m);
    case 'u': return skip_source_name(m);
    case 'M': /* of a class, a member's type */
        if (!skip_type(m))
            return false;
        return skip_type(m);
    case 'A': m->at += strspn(m->at, "0123456789"); return take(m, '_') && skip_type(m);
    case 'S':
        if (take(m, 't'))
            return skip_source_name(m) && skip_optional_arguments(m);
        if (islower((unsigned char)*m->at))
            return m->at++ && skip_optional_arguments(m);
        return skip_number(m) && skip_optional_arguments(m);
    }
    return islower((unsigned char)kind);
}

static bool skip_type(Mangled *m)
{
    if (m->depth == DEEPEST)
        return false;
    m->depth++;
    bool good = skip_one_type(m);
    m->depth--;
    return good;
}

/* The hash that rustc appends is no part of the name. */
static bool is_hash(const char *text, size_t len)
{
    return len == 17 && text[0] == 'h' && strspn(text + 1, "0123456789abcdef") >= 16;
}

static bool read_part(Mangled *m)
{
    static const char anonymous[] = "_GLOBAL__N_";
    if (take(m, 'I'))
        return skip_arguments(m);
    if (*m->at == 'C' && m->last)
        return (m->at += 2) && append(m, m->last, m->last_len);
    if (strncmp(m->at, "cl", 2) == 0)
        return (m->at += 2) && append(m, "operator()", 10);
    if (strncmp(m->at, "St", 2) == 0)
        return (m->at += 2) && append(m, "std", 3);
    take(m, 'L');
    const char *text;
    size_t len;
    if (!read_source_name(m, &text, &len))
        return false;
    m->last = text;
    m->last_len = len;
    if (strncmp(text, anonymous, sizeof anonymous - 1) == 0)
        return append(m, "(anonymous namespace)", 21);
    return is_hash(text, len) || append(m, text, len);
}

bool cxx_qualified_name(const char *mangled, char *name, size_t size)
{
    Mangled m = {.at = mangled + 2, .name = name, .size = size};
    if (strncmp(mangled, "_Z", 2) != 0)
        return false;
    if (!take(&m, 'N'))
        return (strncmp(m.at, "St", 2) != 0 || read_part(&m)) && read_part(&m);
    m.at += strspn(m.at, "rVKRO");
    while (*m.at && *m.at != 'E')
        if (!read_part(&m))
            return false;
    return take(&m, 'E') && m.len > 0;
}
