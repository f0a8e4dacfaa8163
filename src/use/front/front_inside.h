/* Inside of the front: a call of it, and what its files offer to one another. */
#ifndef PTXOPT_USE_FRONT_FRONT_INSIDE_H
#define PTXOPT_USE_FRONT_FRONT_INSIDE_H

#include <stdio.h>

#include "check/proof/proof.h"
#include "judge/ptxas/scratch.h"
#include "use/front/command.h"
#include "use/front/log.h"

typedef enum Mode { MODE_OFF, MODE_ON, MODE_STRICT } Mode;

typedef struct Front {
    Arena arena;
    const char *name;    /* its own, for messages */
    const char *invoked; /* argv[0] */
    bool launcher, cicc;
    Mode mode;
    bool again;    /* the call has come through a front already */
    Words flags;   /* options of ptxopt: of PTXOPT_FLAGS, then of the command line */
    Words command; /* the program and its arguments, and NULL */
    Options options;
    const char *real; /* path of the program */
    FrontCommand asked;
    double ptxas_limit;  /* seconds that ptxas may take for the input at the level asked for; 0: no limit */
    const char *kernels; /* names of those in the input, if there is a limit */
    const char *remarks, *remarks_folder; /* the file of --remarks and the folder of PTXOPT_REMARKS; NULL: none */
    const char *records_of;               /* the text that they are about */
    Scratch records, advice;              /* what goes there; remarks about ptxas, as FrontLog has them */
    Scratch rewrites;                     /* for the guard: GuardDelivery.rewrites */
    FunctionCounts *counts;               /* shared with the optimizer's process; functions 0: it has not ended well */
    RemarkTaker taker;
    FrontLog log;
} Front;

/* ---- asked.c: what a call is asked for ---------------------------------------------------------------------------- */

/* Says what is wrong with the call, and ends the process. */
void front_fail(const Front *front, const char *format, ...) __attribute__((format(printf, 2, 3), noreturn));
/* Reads the environment, the options and the command, and finds the program. Answers whether an option asks for a text and not to
 * optimize. Ends the process if that text is all that is asked for, or if anything makes no sense. */
bool front_ask(Front *front, int argc, char **argv);
/* Limits of time for an input: seconds of CPU time of the optimizer, and of ptxas. */
void front_take_limit(Front *front, const char *input);
void front_take_ptxas_limit(Front *front, const char *input);
/* Whoever sets SOURCE_DATE_EPOCH wants the same bytes from the same sources. */
void front_take_source_date(Front *front);

/* ---- messages.c: what a call says ---------------------------------------------------------------------------- */

/* A variable that makes no sense is said in the log, or, where there is none, to the user; the build goes on. */
void front_warn(Front *front, const char *warning);
/* Remarks go to a file without a name first: they are delivered with what they are about. */
void front_take_records(Front *front, const char *input);
/* `input` is what the text was that the remarks are about. */
void front_deliver_records(Front *front, const char *input);
/* Appends to a file without a name. */
void front_tell(Scratch *told, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Copies messages. The name of the input as the user wrote it takes the place of `input`; NULL: nothing is replaced. */
void front_copy_messages(const Front *front, const Scratch *from, const char *input, FILE *to);
/* Writes the line of the log. Of a call that failed, nothing that the optimizer said holds. */
void front_finish(Front *front);

/* ---- guarded.c: the guard ------------------------------------------------------------------------------------- */

/* Prepares the optimizer for what the guard remembers of the input. Answers whether it does. *made is as of guard_recall(). */
bool front_recall(Front *front, u64 *made);
/* Forgets that, and what the optimizer has written. False: files cannot be cleared. */
bool front_forget(Front *front, Scratch *text, Scratch *messages);
/* Asks the guard, in a process of its own, about the optimized text. With *done the output is delivered, and the call is at its end.
 * Otherwise the answer is NULL if the text is to be assembled, or says why it is not. */
const char *front_guard(Front *front, const Scratch *text, Scratch *messages, bool *done);
/* Adds to the advice what the output spills, if it is machine code of the optimized text. It is read in a process of its own. */
void front_tell_spills(Front *front);

#endif
