/* phase/knobs.def as a table: the knobs of the phases, which the command line offers as options. */
#ifndef PTXOPT_PIPELINE_KNOBS_H
#define PTXOPT_PIPELINE_KNOBS_H

#include "phase/phase.h"

typedef enum KnobKind { KNOB_FLAG, KNOB_NUMBER, KNOB_TEXT, KNOB_CHOICE } KnobKind;

typedef struct KnobInfo {
    KnobKind kind;
    bool unsafe; /* a promise that only the command line may make */
    const char *phase, *name, *help;
    const char *promise; /* the word of --assume that sets the flag, or NULL */
    const char *negation; /* the name that unsets a flag */
    size_t field;        /* offset in Knobs */
    i64 number;          /* the initial value of a flag or number */
    i64 most;            /* the largest value of a number */
    const char *text;    /* the initial value of a text or choice */
    const char *choices; /* words of a choice, with | between them */
} KnobInfo;

u32 knob_count(void);
const KnobInfo *knob_info(u32 knob); /* 0 .. knob_count()-1 */

void knobs_init(Knobs *knobs);
/* Whether no knob has been turned. */
bool knobs_are_initial(const Knobs *knobs);
bool knob_is_set(Knobs *knobs, const KnobInfo *knob); /* whether the flag is set */
void knob_set_flag(Knobs *knobs, const KnobInfo *knob, bool on);
/* Sets a number, text or choice; false: the knob does not take this value. The text must stay. */
bool knob_set(Knobs *knobs, const KnobInfo *knob, const char *value);

/* The option that makes the knob's value of `from` that of `to`, in the arena; NULL: they are equal. */
const char *knob_difference(Arena *arena, const Knobs *from, const Knobs *to, const KnobInfo *knob);

/* The least value of a number. It is 0, unless the number starts below, where that has a meaning. */
i64 knob_least(const KnobInfo *knob);
/* Why a knob of the documents, of this name, is no option; NULL: there is no such knob. */
const char *knob_left_out(const char *name, size_t len);

/* Parses a decimal number and nothing else, with least <= number <= most. */
bool knob_parse_number(const char *text, i64 least, i64 most, i64 *number);

#endif
