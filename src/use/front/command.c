#include "use/front/command.h"

#include <stdlib.h>
#include <string.h>

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

/* `-O3` and `-m64`: a letter and its number in one word. */
static bool take_joined(FrontCommand *command, const char *name, int at)
{
    if ((name[0] != 'O' && name[0] != 'm') || name[1] < '0' || name[1] > '9')
        return false;
    if (name[0] == 'O') {
        take_effect(command, EFFECT_LEVEL, name + 1);
        take_level(command, name + 1, at, at + 1);
    }
    return true;
}

/* Takes the option argv[at] and, if that is its argument, the next word. Answers the index after them. */
static int take_option(FrontCommand *command, int argc, char **argv, int at, bool *known)
{
    const char *name = argv[at] + 1 + (argv[at][1] == '-');
    size_t len = strcspn(name, "=");
    const char *value = name[len] ? name + len + 1 : NULL;
    const PtxasOption *option = find_option(name, len);
    int from = at;
    *known = option || value;
    if (!option) {
        *known |= take_joined(command, name, at);
        return at + 1;
    }
    bool next = option->argument == ARGUMENT_VALUE && !value && !str_is((Str){name, (u32)len}, "O");
    if (next && at + 1 < argc)
        value = argv[++at];
    take_effect(command, option->effect, value);
    if (option->effect == EFFECT_OUTPUT && value)
        command->output_at = at;
    if (option->effect == EFFECT_LEVEL)
        take_level(command, value, from, at + 1);
    return at + 1;
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
            at = take_option(&command, argc, argv, at, &known);
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
