/* The front as a program: ptxopt-ptxas, ptxopt-cicc, ptxas, ptxas-blackwell. */
#ifndef PTXOPT_USE_FRONT_FRONT_H
#define PTXOPT_USE_FRONT_FRONT_H

#include "base/types.h"

/* Whether `name`, without folders, is one of these programs. */
bool front_is_name(const char *name);
/* The program. It ends the process itself where ptxas takes its place. */
int front_main(int argc, char **argv);

#endif
