/* What a phase is given, and what it may report. A phase is a folder. It exports one function of type Phase, declared as
 * such (`Phase phase_x;`) above its definition, and has one row in pipeline/pipeline.def. It asks phase_may_rewrite()
 * before each rewrite, changes the function through ir/edit.h, reports with phase_passed() / phase_missed(), counts with
 * phase_count(), and answers what it did. It gets what it works on (Analyses), its options (Knobs) and whom it reports to
 * (PhaseRun). They are separate because most of its code needs only the first. The runner calls it again if it answers
 * PHASE_AGAIN, up to the bound in its row. It thaws the analyses, frees their scratch memory and cleans the graph up
 * between two calls. */
#ifndef PTXOPT_PHASE_PHASE_H
#define PTXOPT_PHASE_PHASE_H

#include "analysis/analyses.h"
#include "base/fnvmap.h"

/* CHOICE knobs are numbers; their words stand in the order of the enumeration, with "|" between them. */
#define RESERVED_WORDS "strict|volatile|off"
typedef enum ReservedChoice { RESERVED_STRICT, RESERVED_VOLATILE, RESERVED_OFF } ReservedChoice;
#define LOP3_WORDS "auto|always|never"
typedef enum Lop3Choice { LOP3_AUTO, LOP3_ALWAYS, LOP3_NEVER } Lop3Choice;
#define WIDE_WORDS "auto|always|never"
typedef enum WideChoice { WIDE_AUTO, WIDE_ALWAYS, WIDE_NEVER } WideChoice;
#define INVERT_WORDS "never|new|always"
typedef enum InvertChoice { INVERT_NEVER, INVERT_NEW, INVERT_ALWAYS } InvertChoice;
#define DFA_WORDS "never|uniform|anywhere"
typedef enum DfaChoice { DFA_NEVER, DFA_UNIFORM, DFA_ANYWHERE } DfaChoice;
#define TAIL_WORDS "never|pays|always"
typedef enum TailChoice { TAIL_NEVER, TAIL_PAYS, TAIL_ALWAYS } TailChoice;

typedef struct Knobs {
#define FLAG(field, ...) bool field;
#define NUMBER(field, ...) i64 field;
#define BOUNDED(field, ...) i64 field;
#define TEXT(field, ...) const char *field;
#define CHOICE(field, ...) u32 field;
#include "phase/knobs.def"
} Knobs;

typedef enum RemarkKind { REMARK_PASSED, REMARK_MISSED, REMARK_ANALYSIS } RemarkKind;

typedef struct PhaseRun PhaseRun;

/* The receiver of a phase's reports. The runner fills it in. */
typedef struct PhaseSink {
    void *user;
    /* at: the source text that the remark is about, empty for the whole function. message: in the run's memory. */
    void (*remark)(void *user, const PhaseRun *run, RemarkKind kind, const char *name, Span at, const char *message);
    /* Keeps a remark about what stays as it is, the first one about each instruction, until the function is done. message: NULL: it
     * did not stay, and there is nothing to report. */
    void (*keep)(void *user, const PhaseRun *run, const char *name, const Instr *at, const char *message);
    void (*count)(void *user, const PhaseRun *run, const char *what, u32 amount);
    /* Answers whether one more rewrite may happen, for --opt-bisect-limit. */
    bool (*may_rewrite)(void *user, const PhaseRun *run);
    u32 (*line_of)(void *user, u32 offset); /* the line of an offset into the source text, from 1 on */
    bool wants_remarks;                     /* false: phases need not format any */
    bool wants_reasons; /* false: nor find out why they decline, since nobody reads the counters either */
} PhaseSink;

/* A site that a phase looked at and left alone. */
typedef struct Declined {
    const char *counter, *name;
    Span at;
    const char *message; /* NULL: nobody wants remarks */
} Declined;

/* The calls of a phase over a function, in all iterations: where it reports, and what it keeps. */
struct PhaseRun {
    const char *phase;
    const Function *fn; /* the function that reports are about */
    u32 level;          /* of -O: 1, 2, 3 */
    bool chosen;        /* the phase was asked for by name, or --guard judges what it makes */
    bool aggressive;    /* rewrites that do not always pay are wanted: -O3, or the phase is chosen */
    bool risky;         /* so are kinds that made one changed kernel in twenty worse: -O3, or asked for by name */
    bool first_round;   /* of the sequence over this function; declined sites are counted in that one only */
    u32 iteration;      /* number of the call within the round */
    bool
        may_do_more; /* set by a phase that did less than it might, by what it knew at its start; another round may find more */
    bool looks_at_jumps;    /* set by a phase whose answer rests on Block.jump, which no epoch tells of */
    bool is_last;           /* it will not be called again, even if it answers PHASE_AGAIN */
    Arena *arena;           /* for messages; gone when the phase returns */
    void *state;            /* what the phase keeps in `kept` from one iteration to the next; NULL in the first */
    Arena *kept;            /* gone after the last iteration */
    VEC(Declined) declined; /* in this iteration; the runner reports these if it is the last one */
    FnvMap said;            /* by instruction and remark: what phase_missed_once() has reported */
    u32 origins;            /* the largest Instr.origin when the first iteration began */
    u32 *spent;  /* what the phase has spent of its budget for the function in all rounds, in a unit of its own */
    u32 *copied; /* machine instructions of the copies of the function's loops, of all phases in all rounds */
    PhaseSink *sink;
};

typedef enum PhaseResult {
    PHASE_UNCHANGED, /* nothing was changed */
    PHASE_CHANGED,   /* the function was changed, and there is no need to look again */
    PHASE_AGAIN      /* the function was changed, and another iteration may find more to do */
} PhaseResult;

/* Kinds of rewrites that wait, by their record. */
typedef enum RewriteKind {
#define KIND(id, ...) id,
#include "phase/kinds.def"
} RewriteKind;

/* an: the function to be rewritten, and its analyses; nothing is frozen when the phase begins, nor after it has returned.
 * knobs: the options that hold for the function. run: whom the phase asks and reports to. */
typedef PhaseResult Phase(Analyses *an, const Knobs *knobs, PhaseRun *run);

bool phase_may_rewrite(PhaseRun *run);
/* Whether rewrites of the kind are left to -O3, or to the guard. */
bool phase_waits(const PhaseRun *run, RewriteKind kind);
void phase_count(PhaseRun *run, const char *what, u32 amount);
/* The line of the source where i stands, for remarks; 0: a phase made i. */
u32 phase_line(PhaseRun *run, const Instr *i);
/* Asks phase_may_rewrite(). If it may, it reports the rewrite as phase_passed() does, and counts it once. */
bool phase_rewrite_at(PhaseRun *run, const char *name, const Instr *at, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* Does the same, with the end of a block as the place. */
bool phase_rewrite(PhaseRun *run, const char *name, const Block *at, const char *what);
/* name: CamelCase identifier of the remark ("LatchFlipped"). at: the instruction that it is about, or NULL. */
void phase_passed(PhaseRun *run, const char *name, const Instr *at, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
void phase_missed(PhaseRun *run, const char *name, const Instr *at, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* Reports the remark about `at` once in all iterations, and never about an instruction that the phase made itself. */
void phase_missed_once(PhaseRun *run, const char *name, const Instr *at, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* Reports that what `at` does stays as it is, once the function is done: unless a phase has reported of it before, in this way, or some
 * phase removes it. */
void phase_stays(PhaseRun *run, const char *name, const Instr *at, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* Says that the phase removed it. */
void phase_removed(PhaseRun *run, const Instr *at);
/* Reports the remark if no iteration follows, since the next one may rewrite what this one declines. In the first round of
 * the sequence it is counted, too, if counter is not NULL. */
void phase_declined(PhaseRun *run, const char *counter, const char *name, const Instr *at, const char *format, ...)
    __attribute__((format(printf, 5, 6)));
/* Reports the sites that were declined in an iteration, or forgets them. The runner calls it after each iteration. */
void phase_report_declined(PhaseRun *run, bool report);

#endif
