/* Blocks that end alike get one end, without asking who waits there for whom. */
#ifndef PTXOPT_TESTS_FUZZ_FAULTS_MERGE_H
#define PTXOPT_TESTS_FUZZ_FAULTS_MERGE_H

#include "phase/phase.h"

/* Whether a fault is about the ends of these two blocks, which are alike. */
typedef bool MergeSite(const Block *a, const Block *b);

PhaseResult merge_ends(Analyses *an, PhaseRun *run, MergeSite *site);
/* Whether the terminator leads, within a few blocks, to an instruction of that kind. */
bool leads_to(const Block *b, bool (*kind)(const Instr *i));
/* Whether two instructions are the same text, guards included. */
bool merge_same_work(const Instr *a, const Instr *b);
bool block_holds(const Block *b, bool (*kind)(const Instr *i));

#endif
