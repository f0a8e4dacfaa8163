/* Inside of --tune: candidates and the texts that they are assembled in (tune.c, tune_variants.c, tune_levers.c, tune_texts.c). */
#ifndef PTXOPT_JUDGE_TUNE_TUNE_H
#define PTXOPT_JUDGE_TUNE_TUNE_H

#include "judge/trial/parts.h"
#include "judge/trial/trial.h"

/* Bodies of a group of functions. */
typedef struct TuneCandidate {
    const char *words; /* the options that make it; "": the command line's */
    Str *bodies;       /* by part; only those of the group count */
    u64 hash;          /* of the bodies */
    u64 price;
    const Cubin *cubin; /* NULL: ptxas has made none, or warned */
    bool better;        /* than what the command line's options make */
} TuneCandidate;

typedef struct TuneGroup {
    VEC(TuneCandidate) tried; /* the first: what the command line's options make */
    u32 judged;               /* of them */
    u32 best;
} TuneGroup;

/* A text to assemble: of some groups one candidate each. */
typedef struct TrialText {
    Trial trial;
    u32 *candidate; /* by group; TUNE_NONE: the group is not of interest */
    u32 groups;     /* that are */
    bool warned;    /* ptxas warned of a lever */
} TrialText;
typedef VEC(TrialText *) TrialTexts;

#define TUNE_NONE UINT32_MAX

typedef struct Tune {
    Arena arena;
    Options *options;
    Assembler assembler;
    Parts original, base; /* the input, and what the command line's options make of it */
    TuneGroup *group;
    TrialTexts texts;  /* their cubins are kept to the end */
    u32 missing;       /* texts whose result is not in the folder of --tune-read */
    u32 tuned;         /* kernels that get other options */
    bool apart;        /* each candidate in a text of its own */
    bool asks;         /* under --tune-read, for texts that are not in its folder: those of all rounds but the first */
    TrialTexts asked;
    const char *said;       /* by ptxas, of what the command line's options make */
    VEC(const char *) told; /* levers that a note has been about */
} Tune;

/* Words of each group for one text; NULL: the command line's options. */
typedef struct TunePlan {
    const char **words;
} TunePlan;
typedef VEC(TunePlan) TunePlans;

/* ---- variants of the options (tune_variants.c) ---- */

void tune_plan_first_round(Tune *tune, TunePlans *plans);
/* Combinations of what was better in the round before, and levers if it pulls these; old_best: TuneGroup.best before that round. */
void tune_plan_next_round(Tune *tune, TunePlans *plans, const u32 *old_best, bool pulls_levers);
/* Makes the texts of the plans, and takes the candidates from them. */
void tune_make_candidates(Tune *tune, const TunePlans *plans);
/* A hash of the bodies that `parts` holds of a group. */
u64 tune_hash(const Parts *parts, u32 number);
/* Adds what `parts` holds of a group to what is to be tried, unless it has been, or is too dear. */
void tune_add_candidate(Tune *tune, u32 number, const Parts *parts, const char *words);
/* Decisions that make the plan's text; the caller frees the vector. */
VecTuned tune_plan_decisions(Tune *tune, const TunePlan *plan);

/* ---- what ptxas itself is told (tune_levers.c) ---- */

enum { TUNE_LEVERS = 10 /* that a group's machine code asks for */ };
#define ALL_ROLLED "--levers-rolled=2147483647"
#define ALL_UNROLLED "--levers-unrolled=2147483647"

/* Whether words of a variant pull a lever. */
bool tune_has_lever(const char *words);
/* Whether ptxas is asked about a group: it has a choice, or is large enough for levers whose values depend on the machine code. */
bool tune_asks(const Tune *tune, u32 number);
/* Levers that the machine code of a group asks for, with the words of its best candidate; answers how many. */
u32 tune_choose_levers(Tune *tune, u32 number, const char **words);
/* Keeps what ptxas said of a text of what the command line's options make. */
void tune_note_said(Tune *tune, const TrialText *text);
/* Notes whether ptxas warns of a text with levers as it did not of the command line's, or refuses it. Of a single group that is said. */
void tune_heed_warnings(Tune *tune, TrialText *text);
/* Says which levers ptxas ignored. */
void tune_say_ignored(Tune *tune);

/* ---- texts that are assembled (tune_texts.c) ---- */

TrialText *tune_new_text(Tune *tune);
void tune_set_candidate(TrialText *text, u32 group, u32 candidate);
bool tune_write_text(const Tune *tune, TrialText *text);
/* Texts of what has not been judged: the n-th one holds the n-th candidate of each group, the cheapest first. */
void tune_plan_texts(Tune *tune, TrialTexts *texts);
/* Assembles texts, or under --tune-read fetches what Ninja has made of them. */
void tune_assemble(Tune *tune, TrialText *const *texts, u32 count);
/* One body that ptxas does not take would spoil the others of its text: they are assembled once more, apart. */
void tune_assemble_apart(Tune *tune, const TrialTexts *texts);
/* The machine code of a text becomes that of its candidates. */
void tune_take_cubins(Tune *tune, const TrialText *text);
/* Whether the texts so far have results. */
bool tune_has_all(const Tune *tune);

/* ---- the program (tune.c) ---- */

/* Optimizes the file that the options name under --tune or --tune-read. With --tune-ninja nothing is optimized. */
ToolStatus tune_optimize_file(Options *options);

#endif
