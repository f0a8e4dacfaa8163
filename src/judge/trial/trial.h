/* Makes and assembles texts to see ptxas's machine code, for --guard, --tune and ptxopt-report. */
#ifndef PTXOPT_JUDGE_TRIAL_TRIAL_H
#define PTXOPT_JUDGE_TRIAL_TRIAL_H

#include "judge/ptxas/scratch.h"
#include "judge/machine/worse.h"
#include "pipeline/optimize.h"

/* A call of ptxas: words, of which input and output are replaced. */
typedef struct AssembleCommand {
    const char *ptxas;
    char **argv; /* ends with NULL */
    int count;
    int input, output; /* indices; output 0: none is named. The word at `output` may be `--output-file=NAME`. */
    u64 meaning; /* a hash of the other words, whatever their order; 0: it is not known what they mean */
} AssembleCommand;

/* The call for a text: `by`, a path or a name, or "" for the ptxas at hand; for the target `arch`, NULL: the text's own. NULL in
 * `ptxas` and a reason in `*why` where there is none; `option` is what the reason names. */
AssembleCommand assemble_command(Arena *arena, const char *option, const char *by, const char *arch, const char *input,
                                 const char **why);

/* The parts of it: the program, and the call of it. NULL: the text's own target. */
const char *assemble_find(Arena *arena, const char *option, const char *by, const char **why);
AssembleCommand assemble_call(Arena *arena, const char *ptxas, const char *arch, const char *input);

/* The means by which trials are assembled. */
typedef struct Assembler {
    Arena *arena;
    const AssembleCommand *command;
    u32 limit;          /* seconds that ptxas may take for one text */
    u32 jobs;           /* at a time */
    double end;         /* as of ChildCrowd */
    const char *folder; /* of our own, for cubins; NULL: it cannot be had */
    u32 runs;           /* of ptxas */
    bool asks;          /* as of ChildCrowd */
    const char *name; /* on a terminal, how many texts are assembled stands behind it in one line; NULL: nothing is shown */
    u32 done, planned; /* texts, for that */
} Assembler;

/* limit 0: the usual one. */
Assembler assembler_start(Arena *arena, const AssembleCommand *command, u32 limit);
void assembler_end(Assembler *assembler);
/* Clears that line, before something is said. */
void assembler_clear_progress(const Assembler *assembler);

/* One text, and what ptxas made of it. */
typedef struct Trial {
    Scratch text;                   /* not open when it is assembled: the command's input itself */
    const AssembleCommand *command; /* of its own; NULL: the assembler's */
    Scratch said;                   /* if it is open, takes the optimizer's messages, a line for each rewrite among them */
    Scratch out, error;             /* of ptxas; as `text`, they are written to as they are where they are open */
    char *path;                     /* of the cubin */
    int status;                     /* wait status of who made the text, then of ptxas */
    bool in_time;
    Cubin cubin;
    bool read;
} Trial;

void trial_init(Trial *trial);
void trial_end(Trial *trial);

/* Optimizes, in processes of their own: a fault of one is no fault of ours. `options` are one for each trial. Answers whether each
 * has got its text. */
bool trials_optimize(Assembler *assembler, Trial *const *trials, const Options *options, u32 count);

/* Assembles their texts. */
void trials_assemble(Assembler *assembler, Trial *const *trials, u32 count);

bool trial_assembled(const Trial *trial);

/* Reads the machine code of a trial that was assembled. NULL, or why it cannot be judged; `what` is the text's name in that. */
const char *trial_read(const Assembler *assembler, Trial *trial, const char *what);

bool text_equals_file(const Scratch *written, const char *path);

/* A copy of the input, which is read more than once and may be overwritten by the output. False with errno set. */
bool input_copy(const char *path, Scratch *copy);

/* Makes such a copy what the options read, under the input's name. A signal ends the process at once from then on. False after a
 * message. */
bool input_set_aside(Options *options, Scratch *copy);

#endif
