#include "use/front/command.h"

#include <stdlib.h>
#include <string.h>

#include "base/fnvmap.h"

enum { USUAL_LEVEL = 3 }; /* of ptxas */

typedef enum Argument { ARGUMENT_NONE, ARGUMENT_VALUE } Argument;

typedef enum Effect {
    EFFECT_NOTHING,
    EFFECT_AS_STRING,
    EFFECT_OPTIONS_FILE,
    EFFECT_DEBUG,
    EFFECT_LEVEL,
    EFFECT_TARGET,
    EFFECT_OUTPUT,
    EFFECT_VERSION,
    EFFECT_INFORMATION,
    EFFECT_OTHER_MEANING,
    EFFECT_REGISTERS,
} Effect;

typedef struct PtxasOption {
    const char *name, *short_name;
    Argument argument;
    Effect effect;
} PtxasOption;

static const PtxasOption ptxas_option[] = {
#define OPTION(name, short_name, argument, effect) {name, short_name, ARGUMENT_##argument, EFFECT_##effect},
#include "use/front/ptxas_options.def"
};

/* Words that are no options. One that follows an option that nobody knows may be its argument. */
typedef struct Operands {
    int count, last; /* last: index in argv */
} Operands;

static const PtxasOption *find_option(const char *name, size_t len)
{
    for (const PtxasOption *option = ptxas_option; option < ptxas_option + COUNT_OF(ptxas_option); option++)
        if (str_is((Str){name, (u32)len}, option->name) || str_is((Str){name, (u32)len}, option->short_name))
            return option;
    return NULL;
}

static const char *bypass_of(Effect effect, const char *value)
{
    switch (effect) {
    case EFFECT_AS_STRING: return "PTX on the command line";
    case EFFECT_OPTIONS_FILE: return "a file of options";
    case EFFECT_DEBUG: return "code for a debugger";
    case EFFECT_VERSION:
    case EFFECT_INFORMATION: return "nothing to assemble";
    case EFFECT_OTHER_MEANING: return "an option that overrides what the text says";
    case EFFECT_LEVEL: return value && strcmp(value, "0") == 0 ? "optimization level 0" : NULL;
    case EFFECT_TARGET:
        return value && (strncmp(value, "compute_", 8) == 0 || strncmp(value, "lto_", 4) == 0) ? "a virtual target" : NULL;
    case EFFECT_NOTHING:
    case EFFECT_REGISTERS:
    case EFFECT_OUTPUT: break;
    }
    return NULL;
}

static void take_effect(FrontCommand *command, Effect effect, const char *value)
{
    if (!command->bypass)
        command->bypass = bypass_of(effect, value);
    command->asks_version |= effect == EFFECT_VERSION;
    command->decides_registers |= effect == EFFECT_REGISTERS;
    if (effect == EFFECT_OUTPUT)
        command->output = value;
}

static void take_level(FrontCommand *command, const char *value, int from, int to)
{
    if (!value || value[0] < '0' || value[0] > '9' || value[1])
        return;
    command->level = value[0] - '0';
    command->level_from = from;
    command->level_to = to;
}

/* An option as it was given. */
typedef struct GivenOption {
    const PtxasOption *option; /* NULL: nobody knows it */
    Str name;                  /* as it was written */
    const char *value;         /* NULL: none */
    int value_at, end;         /* indices: of the word that ends with the value, and of the word after all */
} GivenOption;

/* `-O3` and `-m64`: a letter and its number in one word. */
static bool is_joined(Str name)
{
    return name.len > 1 && (name.p[0] == 'O' || name.p[0] == 'm') && name.p[1] >= '0' && name.p[1] <= '9';
}

/* Reads the option argv[at] and, if that is its argument, the next word. */
static GivenOption read_option(int argc, char **argv, int at)
{
    const char *name = argv[at] + 1 + (argv[at][1] == '-');
    u32 len = (u32)strcspn(name, "=");
    GivenOption given = {find_option(name, len), {name, len}, name[len] ? name + len + 1 : NULL, at, at + 1};
    if (!given.option && !given.value && is_joined(given.name)) {
        given.option = find_option(name, 1);
        given.value = name + 1;
    } else if (given.option && given.option->argument == ARGUMENT_VALUE && !given.value && !str_is(given.name, "O") && at + 1 < argc) {
        given.value = argv[at + 1];
        given.value_at = at + 1;
        given.end = at + 2;
    }
    return given;
}

static void take_option(FrontCommand *command, const GivenOption *given, int at)
{
    if (!given->option)
        return;
    take_effect(command, given->option->effect, given->value);
    if (given->option->effect == EFFECT_OUTPUT && given->value)
        command->output_at = given->value_at;
    if (given->option->effect == EFFECT_LEVEL)
        take_level(command, given->value, at, given->end);
}

static void choose_input(FrontCommand *command, const Operands *certain, const Operands *doubtful)
{
    if (certain->count == 1)
        command->input = certain->last;
    else if (certain->count == 0 && doubtful->count == 1)
        command->input = doubtful->last;
    else if (!command->bypass)
        command->bypass = certain->count + doubtful->count == 0 ? "no input" : "several inputs";
}

FrontCommand front_ptxas_command(int argc, char **argv)
{
    FrontCommand command = {.level = USUAL_LEVEL};
    Operands certain = {0}, doubtful = {0};
    bool known = true;
    for (int at = 1; at < argc;) {
        const char *word = argv[at];
        if (word[0] == '-' && word[1] != '\0') {
            GivenOption given = read_option(argc, argv, at);
            take_option(&command, &given, at);
            known = given.option || given.value;
            at = given.end;
        } else {
            Operands *operands = known ? &certain : &doubtful;
            if (word[0] == '-' && !command.bypass)
                command.bypass = "standard input";
            *operands = (Operands){operands->count + 1, at++};
            known = true;
        }
    }
    choose_input(&command, &certain, &doubtful);
    return command;
}

/* ---- what the options mean, in whatever order ------------------------------------------------------------------- */

static u64 hash_word(u64 hash, const char *word) { return fnv_bytes(hash, word, strlen(word) + 1); }

static int by_name_then_place(const void *a, const void *b)
{
    const GivenOption *x = a, *y = b;
    int order = strcmp(x->option->name, y->option->name);
    return order ? order : x->end < y->end ? -1 : x->end > y->end;
}

u64 front_ptxas_meaning(Arena *arena, int argc, char **argv, int input)
{
    GivenOption *given = arena_array(arena, GivenOption, (u32)argc);
    size_t count = 0;
    u64 meaning = FNV_BASIS;
    for (int at = 1; at < argc; at = at == input ? at + 1 : given[count++].end) {
        if (at == input)
            continue;
        given[count] = read_option(argc, argv, at);
        if (argv[at][0] != '-' || !given[count].option)
            return 0;
    }
    qsort(given, count, sizeof *given, by_name_then_place);
    for (size_t i = 0; i < count; i++)
        if (given[i].option->effect != EFFECT_OUTPUT)
            meaning = hash_word(hash_word(meaning, given[i].option->name), given[i].value ? given[i].value : "");
    return meaning;
}

FrontCommand front_cicc_command(int argc, char **argv)
{
    FrontCommand command = {0};
    for (int at = 1; at < argc; at++) {
        if (strcmp(argv[at], "-o") == 0 && at + 1 < argc)
            command.output = argv[++at];
        else if (strcmp(argv[at], "-g") == 0 || strcmp(argv[at], "-O0") == 0)
            command.bypass = "code for a debugger";
    }
    if (!command.output && !command.bypass)
        command.bypass = "no output file";
    return command;
}
