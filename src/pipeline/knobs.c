#include "pipeline/knobs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const KnobInfo knob_row[] = {
#define ROW(member, owner, option, words, ...) \
    {.phase = owner, .name = option, .help = words, .field = offsetof(Knobs, member), __VA_ARGS__},
#define FLAG(member, owner, option, initial, words) \
    ROW(member, owner, option, words, .kind = KNOB_FLAG, .negation = "no-" option, .number = initial)
#define ONLY_USER true
#define ANYBODY false
#define PROMISE(member, owner, option, word, who, words) \
    ROW(member, owner, option, words, .kind = KNOB_FLAG, .negation = "no-" option, .unsafe = who, .promise = word)
#define NUMBER(member, owner, option, initial, words) BOUNDED(member, owner, option, initial, INT32_MAX, words)
#define BOUNDED(member, owner, option, initial, largest, words) \
    ROW(member, owner, option, words, .kind = KNOB_NUMBER, .number = initial, .most = largest)
#define PROMISED(member, owner, option, initial, largest, words) \
    ROW(member, owner, option, words, .kind = KNOB_NUMBER, .unsafe = true, .number = initial, .most = largest)
#define TEXT(member, owner, option, initial, words) ROW(member, owner, option, words, .kind = KNOB_TEXT, .text = initial)
#define CHOICE(member, owner, option, initial, choice_words, words) \
    ROW(member, owner, option, words, .kind = KNOB_CHOICE, .text = initial, .choices = choice_words)
#include "phase/knobs.def"
};

static const struct {
    const char *name, *why;
} left_out_row[] = {
#define LEFT_OUT(option, reason) {option, reason},
#include "phase/knobs.def"
};

u32 knob_count(void) { return COUNT_OF(knob_row); }

const KnobInfo *knob_info(u32 knob) { return &knob_row[knob]; }

const char *knob_left_out(const char *name, size_t len)
{
    for (u32 k = 0; k < COUNT_OF(left_out_row); k++)
        if (str_is((Str){name, (u32)len}, left_out_row[k].name))
            return left_out_row[k].why;
    return NULL;
}

static void *knob_place(Knobs *knobs, const KnobInfo *knob) { return (char *)knobs + knob->field; }

bool knob_is_set(Knobs *knobs, const KnobInfo *knob) { return *(bool *)knob_place(knobs, knob); }

void knob_set_flag(Knobs *knobs, const KnobInfo *knob, bool on) { *(bool *)knob_place(knobs, knob) = on; }

/* The place of the value among the words; -1: it is none of them. */
static i32 find_choice(const char *choices, const char *value)
{
    size_t len = strlen(value);
    i32 place = 0;
    for (const char *word = choices; word; word = strchr(word, '|') ? strchr(word, '|') + 1 : NULL, place++)
        if (len && !strncmp(word, value, len) && (word[len] == '|' || !word[len]))
            return place;
    return -1;
}

static bool set_choice(Knobs *knobs, const KnobInfo *knob, const char *value)
{
    i32 place = find_choice(knob->choices, value);
    if (place >= 0)
        *(u32 *)knob_place(knobs, knob) = (u32)place;
    return place >= 0;
}

static const char *choice_at(Arena *arena, const char *choices, u32 place)
{
    while (place-- > 0)
        choices = strchr(choices, '|') + 1;
    return arena_copy(arena, choices, strcspn(choices, "|"));
}

const char *knob_difference(Arena *arena, const Knobs *from, const Knobs *to, const KnobInfo *knob)
{
    const void *a = (const char *)from + knob->field, *b = (const char *)to + knob->field;
    switch (knob->kind) {
    case KNOB_FLAG:
        return *(const bool *)a == *(const bool *)b
                   ? NULL
                   : arena_printf(arena, "--%s", *(const bool *)b ? knob->name : knob->negation);
    case KNOB_NUMBER:
        return *(const i64 *)a == *(const i64 *)b
                   ? NULL
                   : arena_printf(arena, "--%s=%lld", knob->name, (long long)*(const i64 *)b);
    case KNOB_TEXT:
        return strcmp(*(const char *const *)a, *(const char *const *)b) == 0
                   ? NULL
                   : arena_printf(arena, "--%s=%s", knob->name, *(const char *const *)b);
    case KNOB_CHOICE:
        return *(const u32 *)a == *(const u32 *)b
                   ? NULL
                   : arena_printf(arena, "--%s=%s", knob->name, choice_at(arena, knob->choices, *(const u32 *)b));
    }
    return NULL;
}

i64 knob_least(const KnobInfo *knob) { return knob->number < 0 ? knob->number : 0; }

bool knob_set(Knobs *knobs, const KnobInfo *knob, const char *value)
{
    if (knob->kind == KNOB_CHOICE)
        return set_choice(knobs, knob, value);
    if (knob->kind == KNOB_TEXT) {
        *(const char **)knob_place(knobs, knob) = value;
        return true;
    }
    return knob_parse_number(value, knob_least(knob), knob->most, knob_place(knobs, knob));
}

void knobs_init(Knobs *knobs)
{
    for (const KnobInfo *knob = knob_row; knob < knob_row + COUNT_OF(knob_row); knob++) {
        if (knob->kind == KNOB_FLAG)
            knob_set_flag(knobs, knob, knob->number != 0);
        else if (knob->kind == KNOB_NUMBER)
            *(i64 *)knob_place(knobs, knob) = knob->number;
        else
            knob_set(knobs, knob, knob->text);
    }
}

bool knob_parse_number(const char *text, i64 least, i64 most, i64 *number)
{
    const char *digits = *text == '-' ? text + 1 : text;
    if (*digits < '0' || *digits > '9') /* strtoll would skip blanks and take a `+` */
        return false;
    char *end;
    errno = 0;
    long long value = strtoll(text, &end, 10);
    if (*end != '\0' || errno != 0 || value < least || value > most)
        return false;
    *number = value;
    return true;
}

static bool is_initial(Knobs *knobs, const KnobInfo *knob)
{
    const void *at = knob_place(knobs, knob);
    switch (knob->kind) {
    case KNOB_FLAG: return *(const bool *)at == (knob->number != 0);
    case KNOB_NUMBER: return *(const i64 *)at == knob->number;
    case KNOB_TEXT: return *(const char *const *)at == knob->text;
    case KNOB_CHOICE: return *(const u32 *)at == (u32)find_choice(knob->choices, knob->text);
    }
    return false;
}

bool knobs_are_initial(const Knobs *knobs)
{
    Knobs copy = *knobs;
    for (const KnobInfo *knob = knob_row; knob < knob_row + COUNT_OF(knob_row); knob++)
        if (!is_initial(&copy, knob))
            return false;
    return true;
}
