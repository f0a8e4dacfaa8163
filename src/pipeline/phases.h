/* pipeline.def as a table: the phases in running order and the order that they must keep. */
#ifndef PTXOPT_PIPELINE_PHASES_H
#define PTXOPT_PIPELINE_PHASES_H

#include <stdio.h>

#include "base/vec.h"
#include "phase/phase.h"

/* The bound of the clean-up, which ends by itself, since each of its rewrites makes the graph simpler. */
enum { CLEANUP_ITERATIONS = 64 };

typedef enum PhaseAfter { NOTHING, CLEANUP, OF_CLEANUP } PhaseAfter;

typedef struct PhaseInfo {
    Phase *run;
    bool (*runs)(const Knobs *knobs); /* whether the knobs let it run; NULL: it always runs */
    const char *name;
    u32 level;        /* the lowest -O at which it runs */
    u32 iterations;   /* the most calls within a round, including the first */
    PhaseAfter after; /* what the runner does before the next call */
    const char *purpose, *place;
    void (*switch_on)(Knobs *knobs); /* sets its knob such that it runs, or does nothing */
} PhaseInfo;

/* Wherever both run, `first` runs before `then`. */
typedef struct PhaseOrder {
    const char *first, *then, *reason;
} PhaseOrder;

/* Another name for the phases from `first` to `last`. */
typedef struct PhaseAlias {
    const char *name, *first, *last;
} PhaseAlias;

/* What phase number `change` changes gives phase number `spared` nothing to do. */
typedef struct PhaseSpares {
    u32 change, spared;
} PhaseSpares;

typedef struct PhaseTable {
    const PhaseInfo *phase;
    u32 phases;
    const PhaseOrder *order;
    u32 orders;
    const PhaseAlias *alias;
    u32 aliases;
    const PhaseSpares *spares;
    u32 spares_rows;
} PhaseTable;

enum PhaseCount {
#define PHASE(function, ...) PHASE_NUMBER_##function,
#include "pipeline/pipeline.def"
    PHASE_COUNT
};

extern const PhaseTable phase_table;

/* Phases that stand together in the table; count 0: none. */
typedef struct PhaseRange {
    u32 first, count;
} PhaseRange;

/* The phase of this name, or those whose alias it is. */
PhaseRange phase_find(const PhaseTable *table, const char *name, size_t len);
/* The name that was probably meant, or NULL. */
const char *phase_suggest(const PhaseTable *table, const char *name, size_t len);

/* The order that a sequence of phases breaks, where `then` runs before the first run of `first`; NULL: none. */
const PhaseOrder *phase_order_broken(const PhaseTable *table, const u32 *sequence, u32 count);
/* What is wrong with the table itself (a name twice or unknown, an order that its own sequence breaks), or NULL. */
const char *phase_table_fault(const PhaseTable *table, Arena *arena);

/* Prints name, level and purpose of every phase, one a line. */
void phase_list(FILE *out, const PhaseTable *table);

#endif
