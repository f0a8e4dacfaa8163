/* How many registers the slots of a variable take at once. A slot takes none between its last load and the next store of
 * all of it. */
#ifndef PTXOPT_PHASE_LOCAL_TO_REGISTERS_LIFETIMES_H
#define PTXOPT_PHASE_LOCAL_TO_REGISTERS_LIFETIMES_H

#include "phase/local_to_registers/slots.h"

/* The most 32-bit registers, by variable, that its slots take together at a program point; *together becomes the most that those of all
 * variables take. This takes a bounded number of steps. Beyond it, all slots that some load reads count, and *together is UINT32_MAX. */
u32 *local_lifetimes_words(const LocalVariables *l, const LocalSlots *s, u32 *together);

#endif
