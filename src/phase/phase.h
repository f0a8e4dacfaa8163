/* What a phase gets and what it may report. A phase is one file with one exported function of type Phase, and one row in
 * pipeline/pipeline.def. It asks phase_may_rewrite() before each rewrite, changes the function through ir/edit.h, reports
 * with phase_passed() / phase_missed(), counts with phase_count(), and answers whether it changed anything. */
#ifndef PTXOPT_PHASE_PHASE_H
#define PTXOPT_PHASE_PHASE_H

#include "analysis/analyses.h"

typedef struct Knobs {
#define FLAG(field, ...) bool field;
#define NUMBER(field, ...) i64 field;
#define TEXT(field, ...) const char *field;
#define CHOICE(field, ...) const char *field;
#include "phase/knobs.def"
#undef FLAG
#undef NUMBER
#undef TEXT
#undef CHOICE
} Knobs;

typedef enum RemarkKind { REMARK_PASSED, REMARK_MISSED, REMARK_ANALYSIS } RemarkKind;

typedef struct PhaseRun PhaseRun;

/* Where the runner takes reports; the runner fills it in. */
typedef struct PhaseSink {
    void *user;
    /* at: source text the remark is about (empty: the function). message is in the run's arena. */
    void (*remark)(void *user, const PhaseRun *run, RemarkKind kind, const char *name, Span at, const char *message);
    void (*count)(void *user, const PhaseRun *run, const char *what, u32 amount);
    /* --opt-bisect-limit: whether one more rewrite may happen */
    bool (*may_rewrite)(void *user, const PhaseRun *run);
    u32 (*line_of)(void *user, u32 offset); /* of the source text, from 1 on */
    bool wants_remarks; /* false: phases need not format any */
} PhaseSink;

struct PhaseRun {
    const char *phase;
    Function *fn;
    Analyses *an;       /* holds what the phase's row needs; ask analyses_require() for them again after a change */
    const Knobs *knobs;
    u32 level;          /* 1, 2, 3: of -O */
    u32 round;          /* of the sequence over this function; what is declined is counted in round 0 only */
    Arena *arena;       /* scratch: gone when the phase returns */
    PhaseSink *sink;
};

typedef bool Phase(PhaseRun *run);

bool phase_may_rewrite(PhaseRun *run);
void phase_count(PhaseRun *run, const char *what, u32 amount);
/* Line of the source where i stands, for remarks; 0: a phase made it. */
u32 phase_line(PhaseRun *run, const Instr *i);
/* name: CamelCase identifier of the remark ("LatchFlipped"); at: the instruction it is about, or NULL. */
void phase_passed(PhaseRun *run, const char *name, const Instr *at, const char *format, ...) __attribute__((format(printf, 4, 5)));
void phase_missed(PhaseRun *run, const char *name, const Instr *at, const char *format, ...) __attribute__((format(printf, 4, 5)));

#endif
