#include "base/args.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { MAX_DEPTH = 8 }; /* how deep files of options may name others */

ArgReader args_start(int argc, char **argv, const char *letters, const struct option *known)
{
    return (ArgReader){.letters = letters, .known = known, .argc = argc, .at = 1, .argv = argv};
}

void args_free(ArgReader *reader) { vec_free(&reader->operands); }

/* The option of that name, or the only one that begins with it; otherwise NULL. */
static const struct option *find_long(const ArgReader *reader, const char *name, size_t len)
{
    const struct option *found = NULL;
    u32 begin_so = 0;
    for (const struct option *option = reader->known; option->name; option++) {
        if (strncmp(option->name, name, len) != 0)
            continue;
        if (option->name[len] == '\0')
            return option;
        found = option;
        begin_so++;
    }
    return begin_so == 1 ? found : NULL;
}

static int take_next_word(ArgReader *reader, int code)
{
    if (reader->at == reader->argc)
        return ':';
    reader->argument = reader->argv[reader->at++];
    return code;
}

static int next_long(ArgReader *reader)
{
    const char *name = reader->word + 2;
    size_t len = strcspn(name, "=");
    const struct option *option = find_long(reader, name, len);
    reader->letter = '\0';
    reader->argument = name[len] ? name + len + 1 : NULL;
    if (!option || (option->has_arg == no_argument && reader->argument))
        return '?';
    return option->has_arg == required_argument && !reader->argument ? take_next_word(reader, option->val) : option->val;
}

static int next_letter(ArgReader *reader)
{
    char letter = *reader->cluster++;
    const char *known = letter == ':' ? NULL : strchr(reader->letters, letter), *rest = reader->cluster;
    bool takes = known && known[1] == ':';
    reader->letter = letter;
    reader->argument = takes && *rest ? rest : NULL;
    if (takes || !*rest)
        reader->cluster = NULL;
    if (!known)
        return '?';
    return takes && !reader->argument ? take_next_word(reader, letter) : letter;
}

int args_next(ArgReader *reader)
{
    if (reader->cluster)
        return next_letter(reader);
    while (reader->at < reader->argc) {
        char *word = reader->argv[reader->at++];
        if (reader->ended || word[0] != '-' || word[1] == '\0') {
            vec_push(&reader->operands, word);
            continue;
        }
        if (strcmp(word, "--") == 0) {
            reader->ended = true;
            continue;
        }
        reader->word = word;
        if (word[1] == '-')
            return next_long(reader);
        reader->cluster = word + 1;
        return next_letter(reader);
    }
    return -1;
}

/* ---- files of options ------------------------------------------------------------------------------------------- */

typedef struct Expansion {
    Arena *arena;
    Words words;
    const char *fault;
    bool ended; /* `--` came before */
} Expansion;

char *args_read_file(Arena *arena, const char *path)
{
    FILE *file = fopen(path, "re");
    if (!file)
        return NULL;
    VEC(char) text = {0};
    for (int c; (c = getc(file)) != EOF && c != '\0';)
        vec_push(&text, (char)c);
    int error = ferror(file) ? errno : 0;
    fclose(file);
    char *copy = error ? NULL : arena_copy(arena, text.v ? text.v : "", text.n);
    vec_free(&text);
    errno = error;
    return copy;
}

static bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

/* Takes the next word off the text, in place; NULL at its end. */
static char *take_word(char **text)
{
    char *from = *text;
    while (is_space(*from) || *from == '#')
        from += *from == '#' ? strcspn(from, "\n") : 1;
    if (*from == '\0')
        return NULL;
    char *word = from, *to = from, quote = '\0';
    for (; *from && (quote || !is_space(*from)); from++) {
        if (*from == quote)
            quote = '\0';
        else if (!quote && (*from == '\'' || *from == '"'))
            quote = *from;
        else if (*from == '\\' && quote != '\'' && from[1])
            *to++ = *++from;
        else
            *to++ = *from;
    }
    *text = *from ? from + 1 : from;
    *to = '\0';
    return word;
}

static void expand_word(Expansion *expansion, char *word, u32 depth);

static void expand_file(Expansion *expansion, const char *path, u32 depth)
{
    if (depth == MAX_DEPTH)
        expansion->fault = arena_printf(expansion->arena, "'@%s': files of options name one another too deep", path);
    char *text = depth < MAX_DEPTH ? args_read_file(expansion->arena, path) : NULL;
    if (!text && !expansion->fault)
        expansion->fault = arena_printf(expansion->arena, "cannot read '%s': %s", path, strerror(errno));
    for (char *word; text && !expansion->fault && (word = take_word(&text));)
        expand_word(expansion, word, depth + 1);
}

static void expand_word(Expansion *expansion, char *word, u32 depth)
{
    expansion->ended |= strcmp(word, "--") == 0;
    if (word[0] == '@' && word[1] != '\0' && !expansion->ended)
        expand_file(expansion, word + 1, depth);
    else
        vec_push(&expansion->words, word);
}

const char *args_expand(Arena *arena, int *argc, char ***argv)
{
    Expansion expansion = {.arena = arena};
    if (*argc > 0)
        vec_push(&expansion.words, (*argv)[0]);
    for (int i = 1; i < *argc && !expansion.fault; i++)
        expand_word(&expansion, (*argv)[i], 0);
    *argc = (int)expansion.words.n;
    vec_push(&expansion.words, NULL);
    size_t bytes = sizeof(char *) * expansion.words.n;
    *argv = memcpy(arena_alloc(arena, bytes), expansion.words.v, bytes);
    vec_free(&expansion.words);
    return expansion.fault;
}
