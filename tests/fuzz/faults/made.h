/* Wrong rewrites that spoil what a phase of the product made: it runs, and then its instructions are changed. */
#ifndef PTXOPT_FAULTS_MADE_H
#define PTXOPT_FAULTS_MADE_H

#include "ir/builder.h"
#include "ir/inspect.h"
#include "phase/phase.h"

/* Whether a phase made i, with this opcode. */
bool made_is(const Instr *i, Opcode opcode);
/* Calls the phase, and then `spoil` for each instruction of what it changed. */
PhaseResult made_wrongly(Phase *phase, Analyses *an, const Knobs *knobs, PhaseRun *run, void (*spoil)(Instr *i));

/* A copy of the first source takes the place of i. */
void made_copies(Instr *i);

#endif
