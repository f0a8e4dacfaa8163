/* Options of nvcc and ptxas that were given to ptxopt by mistake. */
#include "pipeline/option_parser.h"

#include <string.h>

/* Whether the long option `name`, of `len` characters, or any option that it abbreviates, takes the next word as its argument. */
static bool takes_next_word(const OptionParser *parser, const char *name, size_t len)
{
    bool takes = false;
    for (u32 i = 0; i + 1 < parser->known.n; i++) {
        const struct option *known = &parser->known.v[i];
        if (strncmp(known->name, name, len) == 0)
            takes |= known->has_arg == required_argument;
        if (strncmp(known->name, name, len) == 0 && known->name[len] == '\0')
            return known->has_arg == required_argument;
    }
    return takes;
}

static bool is_known_name(const OptionParser *parser, const char *name, size_t len)
{
    for (u32 i = 0; i + 1 < parser->known.n; i++)
        if (str_is((Str){name, (u32)len}, parser->known.v[i].name))
            return true;
    return false;
}

/* Whether a long option of this name belongs to ptxas or nvcc. The list has those that name a target, and two that would
 * be taken for `-o FILE`. */
static bool is_foreign_name(const char *name, size_t len)
{
    static const char *const names[] = {"arch",    "gpu-name",      "gpu-architecture", "gpu-code",    "code",
                                        "gencode", "generate-code", "machine",          "output-file", "opt-level"};
    for (u32 i = 0; i < COUNT_OF(names); i++)
        if (str_is((Str){name, (u32)len}, names[i]))
            return true;
    return false;
}

/* Whether the word is an option of nvcc or ptxas, like `-arch=sm_90`, which would be read as one option a letter. */
static bool is_foreign(const OptionParser *parser, const char *word)
{
    bool is_long = word[1] == '-';
    const char *name = word + 1 + is_long;
    size_t len = strcspn(name, "=");
    if (is_foreign_name(name, len))
        return !is_known_name(parser, name, len);
    if (is_long)
        return false;
    if (name[0] == 'o' || name[0] == 'O')
        return is_known_name(parser, name, len);
    return name[1] != '\0' || !strchr("hV", name[0]);
}

static void complain_about_foreign(OptionParser *parser, const char *word)
{
    const char *name = word + 1 + (word[1] == '-');
    size_t len = strcspn(name, "=");
    if (is_known_name(parser, name, len))
        option_complain(parser, "unknown option '%s'; did you mean '--%.*s'?", word, (int)len, name);
    else
        option_complain(
            parser, "unknown option '%s'; ptxopt takes no options of nvcc or ptxas, and its target from the file", word);
    parser->foreign = true;
}

void option_find_foreign(OptionParser *parser, int argc, char **argv)
{
    for (int i = 1; i < argc && !parser->foreign; i++) {
        const char *word = argv[i];
        if (word[0] != '-' || word[1] == '\0')
            continue;
        if (strcmp(word, "--") == 0)
            return;
        if (is_foreign(parser, word))
            complain_about_foreign(parser, word);
        else if (word[1] != '-')
            i += strchr("oO", word[1]) && word[2] == '\0';
        else
            i += !strchr(word, '=') && takes_next_word(parser, word + 2, strlen(word + 2));
    }
}
