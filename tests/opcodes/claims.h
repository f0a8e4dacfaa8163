/* What isa/ says of an instruction, as the phases ask it, and whether that covers what was observed. */
#ifndef PTXOPT_TESTS_OPCODES_CLAIMS_H
#define PTXOPT_TESTS_OPCODES_CLAIMS_H

#include "observe.h"

#include "isa/isa.h"

typedef struct Claims {
    OpInfo op;
    bool uses[VALUES_MAX], defines[VALUES_MAX], kills[VALUES_MAX]; /* by Value */
    bool reads_volatile, reads_divergent;                          /* special registers */
} Claims;

/* Reads the tables as they are now. False: the kernel does not parse. */
bool claims_read(const char *instr, Claims *c);
/* Appends what was observed and is not claimed, a line each; answers how many lines. */
u32 claims_cover(const Claims *c, const Observed *o, Text *said);

#endif
