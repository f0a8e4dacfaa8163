/* Options that only concern phases, and change an existing configuration: those of a decision of --tune. */
#include "pipeline/option_parser.h"

#include <string.h>

#include "pipeline/knobs.h"

const PipelineConfig *options_vary(Options *options, int count, char **words, int *at, const char **why)
{
    static char program[] = "ptxopt";
    Options varied = *options; /* nothing is allocated in the copy's arena */
    OptionParser parser = {.options = &varied, .varies = true};
    Words argv = {0};
    varied.pipeline.sequence = (VecU32){0};
    vec_push(&argv, program);
    for (int i = 0; i < count; i++)
        vec_push(&argv, words[i]);
    vec_push(&argv, NULL);
    option_collect_old(&parser);
    option_collect_known(&parser);
    parser.args = args_start(count + 1, argv.v, "O:", parser.known.v);
    int code;
    while (!parser.failed && (code = args_next(&parser.args)) != -1) {
        *at = parser.args.at - 2;
        const char *argument = parser.args.argument;
        if (option_take_error(&parser, code))
            continue;
        u32 id = code < KNOB_FIRST ? option_of(code) : OPTION_COUNT;
        if (code >= NUMBERED_FIRST)
            option_take_numbered(&parser, (u32)(code - NUMBERED_FIRST), argument);
        else if (code >= KNOB_FIRST)
            option_take_knob(&parser, code, argument);
        else if (id == OPTION_LEVEL)
            option_take_level(&parser, argument);
        else if (id == OPTION_DISABLE)
            option_take_disable(&parser, argument);
        else if (id == OPTION_ENABLE)
            option_take_enable(&parser, argument);
        else if (id == OPTION_GUARD && !argument)
            varied.pipeline.judged = true;
        else
            option_complain(&parser, "'%s' is neither -O, --disable, --enable, --guard nor a knob of a phase", parser.args.word);
    }
    if (!parser.failed && parser.args.operands.n) {
        for (*at = 0; words[*at] != parser.args.operands.v[0];)
            ++*at;
        option_complain(&parser, "unknown option '%s'", words[*at]);
    }
    if (!parser.failed)
        option_choose_phases(&parser);
    PipelineConfig *config = arena_new(&options->arena, PipelineConfig);
    *config = varied.pipeline;
    u32 *sequence = arena_array(&options->arena, u32, config->sequence.n);
    for (u32 i = 0; i < config->sequence.n; i++)
        sequence[i] = config->sequence.v[i];
    config->sequence.v = sequence;
    if (parser.failed)
        *why = arena_copy(&options->arena, parser.fault, strlen(parser.fault));
    vec_free(&varied.pipeline.sequence);
    vec_free(&argv);
    option_parser_free(&parser);
    return parser.failed ? NULL : config;
}

static const char *add_phases(Options *options, const char *words, const char *option, const bool *before, const bool *after)
{
    const PhaseTable *table = options->pipeline.table;
    const char *names = NULL;
    for (u32 i = 0; i < table->phases; i++)
        if (after[i] && !before[i])
            names = names ? arena_printf(&options->arena, "%s,%s", names, table->phase[i].name) : table->phase[i].name;
    return names ? arena_printf(&options->arena, "%s %s=%s", words, option, names) : words;
}

const char *options_words(Options *options, const PipelineConfig *varied)
{
    const PipelineConfig *base = &options->pipeline;
    const char *words = arena_printf(&options->arena, "-O%u%s", varied->level, varied->judged && !base->judged ? " --guard" : "");
    words = add_phases(options, words, "--disable", base->disabled, varied->disabled);
    words = add_phases(options, words, "--enable", base->enabled, varied->enabled);
    for (u32 i = 0; i < knob_count(); i++) {
        const char *word = knob_difference(&options->arena, &base->knobs, &varied->knobs, knob_info(i));
        words = word ? arena_printf(&options->arena, "%s %s", words, word) : words;
    }
    return words;
}
