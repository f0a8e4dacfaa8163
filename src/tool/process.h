/* How the programs begin and end. */
#ifndef PTXOPT_TOOL_PROCESS_H
#define PTXOPT_TOOL_PROCESS_H

/* To be called first: memory that runs out ends the program with a message, and what is freed goes back to the system. */
void process_begin(void);

/* Ends this process as the child has ended: with its exit status, or by the signal `ending`, if not 0. */
void process_end_as(int status, int ending) __attribute__((noreturn));

#endif
