/* How the programs begin. */
#ifndef PTXOPT_TOOL_PROCESS_H
#define PTXOPT_TOOL_PROCESS_H

/* To be called first: memory that runs out ends the program with a message, and what is freed goes back to the system. */
void process_begin(void);

#endif
