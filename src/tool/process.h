/* How the programs begin. */
#ifndef PTXOPT_TOOL_PROCESS_H
#define PTXOPT_TOOL_PROCESS_H

/* Programs call this first. If memory runs out, the program then ends with a message; what is freed goes back to the
 * system. */
void process_begin(void);

#endif
