#include "base/intern.h"

void intern_init(Intern *table, Arena *arena) { *table = (Intern){.arena = arena}; }

void intern_free(Intern *table)
{
    vec_free(&table->name);
    index_free(&table->index);
}

/* Takes eight bytes at a time, since names of C++ are long. The 0 at the end is the word after the last one: see hash_mix(). */
static u32 hash_words(const char *text, u32 len)
{
    u64 hash = len;
    for (; len > 8; text += 8, len -= 8)
        hash = hash_mix(hash, eight_bytes(text, 8));
    return (u32)hash_mix(hash_mix(hash, eight_bytes(text, len)), 0);
}

/* The name of the text, or NULL. Then the walk, which begins here, is at the end. */
static Name *find(Intern *table, const char *text, u32 len, HashWalk *walk)
{
    *walk = index_walk(&table->index, hash_words(text, len));
    for (u32 id; (id = index_next(walk)) != 0;) {
        Name *name = table->name.v[id - 1];
        if (name->len == len && same_bytes(name->text, text, len))
            return name;
    }
    return NULL;
}

Name *intern(Intern *table, const char *text, u32 len)
{
    HashWalk walk;
    Name *name = find(table, text, len, &walk);
    if (name)
        return name;
    name = arena_alloc_raw(table->arena, sizeof *name + (len < NAME_BYTES ? NAME_BYTES : (size_t)len + 1));
    *name = (Name){.len = len, .hash = fnv1a(text, len)};
    if (len < NAME_BYTES)
        memset(name->text, 0, NAME_BYTES);
    memcpy(name->text, text, len);
    name->text[len] = '\0';
    vec_push(&table->name, name);
    index_put(&walk, table->name.n);
    return name;
}

Name *intern_cstr(Intern *table, const char *text) { return intern(table, text, (u32)strlen(text)); }

Name *intern_find(Intern *table, const char *text, u32 len)
{
    HashWalk walk;
    return find(table, text, len, &walk);
}
