/* The names that options had in earlier releases, as other spellings of today's. */
#include <string.h>

#include "pipeline/knobs.h"
#include "pipeline/option_parser.h"

typedef struct OldName {
    const char *name, *negation, *today;
    bool negated; /* the flag means the contrary today */
} OldName;

static const OldName old_row[] = {
#define RENAMED(old, new) {old, "no-" old, new, false},
#define NEGATED(old, new) {old, "no-" old, new, true},
#include "pipeline/old_names.def"
};

/* An option that took a number where a knob takes a word today. */
typedef struct OldNumber {
    const char *name, *today, *minus_one; /* minus_one: NULL, the number was never negative */
    const char *word[3];                  /* of 0, 1 and more */
} OldNumber;

static const OldNumber number_row[] = {
#define NUMBERED(old, new, minus_one, zero, one, more) {old, new, minus_one, {zero, one, more}},
#include "pipeline/old_names.def"
};

static u32 knob_of(const char *name)
{
    u32 knob = 0;
    while (knob < knob_count() && strcmp(knob_info(knob)->name, name) != 0)
        knob++;
    return knob;
}

/* A flag marks names that nobody is to be led to. */
static void add(OptionParser *parser, const char *name, int argument_kind, u32 code)
{
    static int older;
    vec_push(&parser->known, ((struct option){name, argument_kind, &older, (int)code}));
}

void option_collect_old(OptionParser *parser)
{
    for (const OldName *old = old_row; old < old_row + COUNT_OF(old_row); old++) {
        u32 knob = knob_of(old->today), code = KNOB_FIRST + 2 * knob;
        bool flag = knob_info(knob)->kind == KNOB_FLAG;
        add(parser, old->name, flag ? no_argument : required_argument, code + old->negated);
        if (flag)
            add(parser, old->negation, no_argument, code + !old->negated);
    }
    for (u32 i = 0; i < COUNT_OF(number_row); i++)
        add(parser, number_row[i].name, required_argument, NUMBERED_FIRST + i);
}

void option_take_numbered(OptionParser *parser, u32 row, const char *argument)
{
    const OldNumber *old = &number_row[row];
    i64 number = 0, least = old->minus_one ? -1 : 0;
    if (!knob_parse_number(argument, least, INT32_MAX, &number))
        option_complain(parser, "--%s takes a number from %lld to %d, not '%s'", old->name, (long long)least, INT32_MAX,
                        argument);
    else
        knob_set(&parser->options->pipeline.knobs, knob_info(knob_of(old->today)),
                 number < 0 ? old->minus_one : old->word[number > 2 ? 2 : number]);
}
