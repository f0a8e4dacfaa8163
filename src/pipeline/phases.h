/* pipeline.def as a table: the phases in running order and the order that they must keep. */
#ifndef PTXOPT_PIPELINE_PHASES_H
#define PTXOPT_PIPELINE_PHASES_H

#include <stdio.h>

#include "base/vec.h"
#include "phase/phase.h"

typedef struct PhaseInfo {
    Phase *run;
    const char *name;
    u32 level;        /* lowest -O at which it runs */
    u32 iterations;   /* that it may ask for with PHASE_AGAIN, the first included */
    u32 after;        /* PhaseAfter bits: what the runner does before the next one */
    const char *purpose, *place;
} PhaseInfo;

enum PhaseAfter {
    NOTHING = 0,
    LAYOUT = 1 << 0, /* jumps and labels (ir/edit.h); what it dissolves no longer keeps blocks apart when they are cleaned up */
    CLEANUP = 1 << 1 /* branch-folding, in the name of the phase */
};

/* Wherever both run, `first` runs before `then`. */
typedef struct PhaseOrder {
    const char *first, *then, *reason;
} PhaseOrder;

typedef struct PhaseTable {
    const PhaseInfo *phase;
    u32 phases;
    const PhaseOrder *order;
    u32 orders;
} PhaseTable;

enum PhaseCount {
#define PHASE(function, ...) PHASE_NUMBER_##function,
#define BEFORE(...)
#include "pipeline/pipeline.def"
#undef PHASE
#undef BEFORE
    PHASE_COUNT
};

extern const PhaseTable phase_table;

#define PHASE_NONE UINT32_MAX

/* Index of the phase of this name, PHASE_NONE if there is none. */
u32 phase_find(const PhaseTable *table, const char *name, size_t len);
/* The name that was probably meant, or NULL. */
const char *phase_suggest(const PhaseTable *table, const char *name, size_t len);

/* The order that a sequence of phases breaks: the first run of `then` comes before the first one of `first`. NULL: none. */
const PhaseOrder *phase_order_broken(const PhaseTable *table, const u32 *sequence, u32 count);
/* NULL, or what is wrong with the table itself: a name twice or unknown, an order that its own sequence breaks. */
const char *phase_table_fault(const PhaseTable *table, Arena *arena);

/* Name, level and purpose of every phase, one a line. */
void phase_list(FILE *out, const PhaseTable *table);

#endif
