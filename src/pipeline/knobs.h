/* phase/knobs.def as a table: the knobs of the phases, which the command line offers as options. */
#ifndef PTXOPT_PIPELINE_KNOBS_H
#define PTXOPT_PIPELINE_KNOBS_H

#include "phase/phase.h"

typedef enum KnobKind { KNOB_FLAG, KNOB_NUMBER, KNOB_TEXT, KNOB_CHOICE } KnobKind;

typedef struct KnobInfo {
    KnobKind kind;
    bool unsafe; /* a flag under which ptxopt may change what a program does */
    const char *phase, *name, *help;
    const char *negation; /* of a flag: the name that unsets it */
    size_t field;        /* offset in Knobs */
    i64 number;          /* initial value of a flag or number */
    i64 most;            /* of a number: the largest */
    const char *text;    /* of a text or choice */
    const char *choices; /* of a choice: the words, with | between them */
} KnobInfo;

u32 knob_count(void);
const KnobInfo *knob_info(u32 knob); /* 0 .. knob_count()-1 */

void knobs_init(Knobs *knobs);
bool knob_is_set(Knobs *knobs, const KnobInfo *knob); /* of a flag */
void knob_set_flag(Knobs *knobs, const KnobInfo *knob, bool on);
/* Of a number, text or choice; answers whether value is one that the knob takes. The text must stay. */
bool knob_set(Knobs *knobs, const KnobInfo *knob, const char *value);

/* Of a number: a count or limit; one that starts below zero has a meaning there. */
i64 knob_least(const KnobInfo *knob);
/* Why a knob of the documents, of this name, is no option; NULL: there is none. */
const char *knob_left_out(const char *name, size_t len);

/* A decimal number and nothing else, least <= number <= most. */
bool knob_parse_number(const char *text, i64 least, i64 most, i64 *number);

#endif
