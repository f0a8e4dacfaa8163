/* Diagnostics about the input: `file:line:col: error: message`, the source line, a caret run.
 * Columns count bytes from 1; a tab in the source line is kept so that the carets stand under their text.
 * Other control bytes and bytes beyond ASCII are shown as \xNN, in the message too; a long line is cut around the caret. */
#ifndef PTXOPT_BASE_DIAG_H
#define PTXOPT_BASE_DIAG_H

#include <stdio.h>

#include "base/types.h"

typedef enum DiagLevel { DIAG_NOTE, DIAG_WARNING, DIAG_ERROR } DiagLevel;

typedef struct Diag {
    FILE *out;        /* where they are printed; NULL: nowhere */
    const char *file; /* name shown */
    Str text;         /* the whole source, for lines and carets */
    u32 errors;
    u32 error_limit;       /* the most errors (and as many warnings) that are printed; the rest is counted (0: no limit) */
    u32 shown[3];          /* printed so far, by DiagLevel */
    bool muted;            /* the last error or warning was beyond the limit, so its notes are not printed either */
    struct DiagHeld *held; /* held back from diag_hold to diag_release; owned */
    u32 held_count;
    bool holds;
    u32 *line_start; /* built on first use; owned */
    u32 lines;
} Diag;

void diag_init(Diag *diag, FILE *out, const char *file, Str text);
/* Reports a diagnostic. A range that reaches beyond its first line is marked to that line's end; an empty one gets a single
 * caret. */
void diag_at(Diag *diag, DiagLevel level, Span where, const char *format, ...) __attribute__((format(printf, 4, 5)));
/* Diagnostics between hold and release are kept, and then printed in the order of their places in the source. A note stays
 * with the error or warning before it. At most a few thousand are kept. The last line tells how many errors the limit hid. */
void diag_hold(Diag *diag);
void diag_release(Diag *diag);
/* The line and column of a byte offset, both from 1. CR, LF and CRLF each end a line. */
void diag_position(Diag *diag, u32 offset, u32 *line, u32 *column);
void diag_free(Diag *diag);

#endif
