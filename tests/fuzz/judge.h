/* Whether one kernel survives ptxopt: it is run before and after. The memory, what each thread accesses and in which order, and what
 * the interpreter's watches found are compared. */
#ifndef PTXOPT_TESTS_FUZZ_JUDGE_H
#define PTXOPT_TESTS_FUZZ_JUDGE_H

#include "check/exec/run.h"
#include "base/diag.h"
#include "base/fnvmap.h"
#include "text.h"

/* Also the exit status of `fuzz-exec --check`. */
typedef enum Verdict {
    CLEAN = 0,
    USAGE = 2,
    BAD_INPUT = 20, /* the kernel itself: does not parse, does not run, is not clean, depends on the schedule */
    CRASHED,        /* ptxopt or the interpreter, by a signal */
    HANGS,
    INTERNAL,       /* ptxopt reports an internal error: --verify-each */
    BROKEN,         /* the output does not parse */
    REFUSED,        /* ptxas takes the input and refuses the output */
    MEMORY,         /* other outputs */
    FINDING,        /* a watch finds what it did not find before */
    UNSTABLE,       /* a second run changes something */
    WRONGLY_PROVED, /* the prover calls an output right that is not */
    REFUTED,        /* the prover refutes an output in which the interpreter sees nothing wrong */
    ACCESSES,       /* a thread accesses memory another number of times, or in another order */
    VERDICTS
} Verdict;
const char *verdict_name(Verdict v);

/* When the prover is asked about an output; or, by --verify-each, about the threads of each step alone. */
typedef enum AskProver { ASK_ALWAYS, ASK_IF_WRONG, ASK_NEVER, ASK_STEPS } AskProver;

typedef struct JudgeOptions {
    u32 seeds;      /* schedules per launch */
    bool no_verify; /* leave --verify-each out: what does the interpreter see alone? */
    bool once;      /* leave the second run out */
    bool ptxas;     /* assemble, too */
    bool traps;     /* the kernel may trap: then so must what it became */
    AskProver ask;
    u64 limit;        /* warp instructions of a launch, 0: 3 million */
    u32 doubts;       /* so many more schedules of the kernel before, where something differs after */
    const char *work; /* prefix of temporary files for ptxas */
} JudgeOptions;

/* What threads do to memory, in their own order: the sum of a hash for each thread. */
typedef struct Trace {
    u64 accesses, order;
    bool polls;           /* a thread reads one place again and again by one instruction, as often as others let it */
    FnvMap threads, last; /* by thread: hashes of all its accesses, and of the last one with its instruction */
} Trace;

typedef struct Judge {
    JudgeOptions options;
    Arena arena;
    Diag diag;
    Text ptx; /* the kernel; owned */
    LaunchFile launches;
    Program *program;
    VEC(RunResult) before; /* launch by launch, seed by seed */
    VEC(Trace) traces;     /* of these */
    VEC(u64) seen;         /* hashes of outputs that were run already */
    Text message;          /* about the last verdict that was not CLEAN */
    bool assembles;        /* ptxas takes it */
    bool only_garbage;     /* of FINDING: registers are read that were not written, and nothing else is new */
    u32 runs, rewritten;   /* executions; outputs that differed from the input */
    bool went_back;        /* ptxopt restored a function of the last output */
    u32 proved;            /* of those, by the prover */
} Judge;

/* Runs the kernel as it is. Answers CLEAN or BAD_INPUT. The launches' text must stay. */
Verdict judge_open(Judge *j, const JudgeOptions *options, const char *ptx, u32 ptx_len, const char *launch, u32 launch_len);
/* Optimizes with these flags of ptxopt's command line, and compares. `after` gets the output, if there is one. */
Verdict judge_check(Judge *j, const char *flags, Text *after);
/* Optimizes what cannot run, and does not compare: whether the output is accepted, and a second run leaves it alone. A text that
 * is refused is CLEAN. Needs no judge_open(), but the text. */
Verdict judge_text(Judge *j, const char *flags, Text *after);
/* Compares with this output, whoever made it: CLEAN, BROKEN, MEMORY or FINDING. */
Verdict judge_compare(Judge *j, Text *after);
void judge_close(Judge *j);

#endif
