/* The places of a module's variables, and what they hold at the start. */
#ifndef PTXRUN_VARIABLES_H
#define PTXRUN_VARIABLES_H

#include "check/exec/program.h"

void variables_place(Program *p);      /* first: addresses of all module variables and shared variables */
void variables_initialise(Program *p); /* after the functions are numbered: initialisers may hold their addresses */
/* Address of a variable in its own space, or as a generic one; of a function. False when it has none. */
bool variable_address(const Program *p, SymId id, bool generic, i64 *address);
u64 window_base(const Program *p, MemSpace space);                /* of the space in the generic address space */
u64 global_next_address(const Program *p, const GlobalVar *last); /* where the next object goes; last: NULL for the first */

#endif
