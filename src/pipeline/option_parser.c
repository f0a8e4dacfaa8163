/* What all readers of options share: the known options, complaints, phases by their names, and knobs. */
#include "pipeline/option_parser.h"

#include <stdarg.h>
#include <string.h>

#include "pipeline/knobs.h"
#include "pipeline/suggest.h"

typedef struct OptionInfo {
    char letter;
    const char *name;
    int argument_kind;
} OptionInfo;

static const OptionInfo option_row[] = {
#define OPTION(id, letter, name, kind, ...) {letter, name, kind},
#include "pipeline/options.def"
};

void option_complain(OptionParser *parser, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    if (!parser->varies) {
        fputs("ptxopt: error: ", parser->messages);
        vfprintf(parser->messages, format, arguments);
        putc('\n', parser->messages);
    } else if (!parser->failed) {
        vsnprintf(parser->fault, sizeof parser->fault, format, arguments);
    }
    va_end(arguments);
    parser->failed = true;
}

/* The phases of that name; none, after a complaint about the option that names it. */
static PhaseRange known_phases(OptionParser *parser, const char *option, const char *name, size_t len)
{
    PhaseRange named = phase_find(&phase_table, name, len);
    if (named.count)
        return named;
    const char *meant = phase_suggest(&phase_table, name, len);
    if (meant)
        option_complain(parser, "%s: unknown phase '%.*s'; did you mean '%s'?", option, (int)len, name, meant);
    else
        option_complain(parser, "%s: unknown phase '%.*s'; --list-phases prints the known ones", option, (int)len, name);
    return named;
}

/* Takes the first name off a list; the list becomes NULL after its last one. */
static Str next_name(const char **list)
{
    const char *name = *list;
    size_t len = strcspn(name, ",");
    *list = name[len] ? name + len + 1 : NULL;
    return (Str){name, (u32)len};
}

void option_mark_phases(OptionParser *parser, const char *option, const char *list, bool all_allowed, bool *marked)
{
    if (all_allowed && strcmp(list, "all") == 0) {
        memset(marked, true, PHASE_COUNT * sizeof *marked);
        return;
    }
    while (list) {
        Str name = next_name(&list);
        PhaseRange named = known_phases(parser, option, name.p, name.len);
        for (u32 k = 0; k < named.count; k++)
            marked[named.first + k] = true;
    }
}

void option_take_disable(OptionParser *parser, const char *list)
{
    PipelineConfig *config = &parser->options->pipeline;
    bool named[PHASE_COUNT] = {false};
    option_mark_phases(parser, "--disable", list, parser->varies, named);
    for (u32 i = 0; i < PHASE_COUNT; i++) {
        config->disabled[i] |= named[i];
        config->enabled[i] &= !named[i];
    }
}

void option_take_enable(OptionParser *parser, const char *list)
{
    PipelineConfig *config = &parser->options->pipeline;
    bool named[PHASE_COUNT] = {false};
    option_mark_phases(parser, "--enable", list, false, named);
    for (u32 i = 0; i < PHASE_COUNT; i++) {
        config->disabled[i] &= !named[i];
        config->enabled[i] |= named[i];
        if (named[i])
            phase_table.phase[i].switch_on(&config->knobs);
    }
}

static void sequence_of_level(OptionParser *parser, VecU32 *sequence)
{
    const PipelineConfig *config = &parser->options->pipeline;
    for (u32 i = 0; i < PHASE_COUNT; i++)
        if ((phase_table.phase[i].level <= config->level || config->enabled[i]) && !config->disabled[i])
            vec_push(sequence, i);
}

static void sequence_of_list(OptionParser *parser, VecU32 *sequence)
{
    const bool *disabled = parser->options->pipeline.disabled;
    for (const char *list = parser->options->phases; list;) {
        Str name = next_name(&list);
        PhaseRange named = known_phases(parser, parser->options->phases_option, name.p, name.len);
        for (u32 k = 0; k < named.count; k++)
            if (!disabled[named.first + k])
                vec_push(sequence, named.first + k);
    }
    const PhaseOrder *broken = phase_order_broken(&phase_table, sequence->v, sequence->n);
    if (broken)
        option_complain(parser, "%s: '%s' must run before '%s': %s", parser->options->phases_option, broken->first,
                        broken->then, broken->reason);
}

static void cut_sequence(OptionParser *parser, VecU32 *sequence)
{
    PhaseRange named =
        known_phases(parser, "--stop-after", parser->options->stop_after, strlen(parser->options->stop_after));
    if (!named.count)
        return;
    u32 n = 0, last = named.first + named.count - 1;
    while (n < sequence->n && sequence->v[n] != last)
        n++;
    if (n == sequence->n)
        option_complain(parser, "--stop-after: '%s' is not among the phases that run", parser->options->stop_after);
    else
        sequence->n = n + 1;
}

void option_choose_phases(OptionParser *parser)
{
    VecU32 *sequence = &parser->options->pipeline.sequence;
    parser->options->pipeline.named_phases = parser->options->phases != NULL;
    if (parser->options->phases)
        sequence_of_list(parser, sequence);
    else
        sequence_of_level(parser, sequence);
    if (parser->options->stop_after && !(parser->varies && sequence->n == 0))
        cut_sequence(parser, sequence);
}

void option_take_level(OptionParser *parser, const char *text)
{
    if (text[0] >= '0' && text[0] <= '3' && text[1] == '\0')
        parser->options->pipeline.level = (u32)(text[0] - '0');
    else
        option_complain(parser, "-O takes 0, 1, 2 or 3, not '%s'", text);
}

void option_take_knob(OptionParser *parser, int code, const char *argument)
{
    bool on = (code - KNOB_FIRST) % 2 == 0;
    const KnobInfo *knob = knob_info((u32)(code - KNOB_FIRST) / 2);
    Knobs *knobs = &parser->options->pipeline.knobs;
    const char *word = parser->args.word;
    int len = (int)strcspn(word, "=");
    if (parser->varies && knob->unsafe && on && !(knob->kind == KNOB_FLAG && knob_is_set(knobs, knob)))
        option_complain(parser, "%.*s is unsafe: the command line alone may switch it on", len, word);
    else if (knob->kind == KNOB_FLAG)
        knob_set_flag(knobs, knob, on);
    else if (!knob_set(knobs, knob, argument) && knob->kind == KNOB_CHOICE)
        option_complain(parser, "%.*s takes one of %s, not '%s'", len, word, knob->choices, argument);
    else if (!knob_set(knobs, knob, argument))
        option_complain(parser, "%.*s takes a number from %lld to %lld, not '%s'", len, word, (long long)knob_least(knob),
                        (long long)knob->most, argument);
}

static void add_known(OptionParser *parser, const char *name, int argument_kind, u32 code)
{
    vec_push(&parser->known, ((struct option){name, argument_kind, NULL, (int)code}));
}

void option_collect_known(OptionParser *parser)
{
    vec_reserve(&parser->known, COUNT_OF(option_row) + 2 * knob_count() + 1);
    for (u32 i = 0; i < COUNT_OF(option_row); i++)
        if (*option_row[i].name)
            add_known(parser, option_row[i].name, option_row[i].argument_kind, OPTION_FIRST + i);
    for (u32 i = 0; i < knob_count(); i++) {
        const KnobInfo *knob = knob_info(i);
        add_known(parser, knob->name, knob->kind == KNOB_FLAG ? no_argument : required_argument, KNOB_FIRST + 2 * i);
        if (knob->negation)
            add_known(parser, knob->negation, no_argument, KNOB_FIRST + 2 * i + 1);
    }
    vec_push(&parser->known, ((struct option){0}));
}

/* Reports why the long option `text` is refused. */
static void complain_about_long(OptionParser *parser, const char *text)
{
    const char *name = text + 2;
    size_t len = strcspn(name, "=");
    Suggestion nearest = suggestion_for(name, len);
    u32 begin_so = 0;
    for (u32 i = 0; i + 1 < parser->known.n; i++) {
        const char *known = parser->known.v[i].name;
        if (strncmp(known, name, len) == 0) {
            begin_so++;
            if (known[len] == '\0' || (name[len] == '=' && parser->known.v[i].has_arg == no_argument)) {
                option_complain(parser, "option '--%s' takes no argument", known);
                return;
            }
        }
        if (!parser->known.v[i].flag)
            suggestion_offer(&nearest, known);
    }
    const char *left_out = knob_left_out(name, len);
    if (left_out)
        option_complain(parser, "unknown option '%.*s': %s", (int)len + 2, text, left_out);
    else if (begin_so > 1)
        option_complain(parser, "option '%.*s' is ambiguous", (int)len + 2, text);
    else if (nearest.name)
        option_complain(parser, "unknown option '%.*s'; did you mean '--%s'?", (int)len + 2, text, nearest.name);
    else
        option_complain(parser, "unknown option '%.*s'", (int)len + 2, text);
}

void option_parser_free(OptionParser *parser)
{
    vec_free(&parser->known);
    vec_free(&parser->tuned);
    args_free(&parser->args);
}

bool option_take_error(OptionParser *parser, int code)
{
    const ArgReader *args = &parser->args;
    if (code == ':')
        option_complain(parser, "option '%s' needs an argument", args->word);
    else if (code == '?' && args->letter)
        option_complain(parser, "unknown option '-%c'", args->letter);
    else if (code == '?')
        complain_about_long(parser, args->word);
    return code == ':' || code == '?';
}

u32 option_of(int code)
{
    u32 id = 0;
    if (code >= OPTION_FIRST)
        return (u32)(code - OPTION_FIRST);
    while (id < OPTION_COUNT && option_row[id].letter != code)
        id++;
    return id;
}
