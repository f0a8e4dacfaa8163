/* Rows of the tables of isa/ that may be changed; see table.c. */
#ifndef PTXOPT_TESTS_OPCODES_TABLE_H
#define PTXOPT_TESTS_OPCODES_TABLE_H

#include "isa/tables.h"

void table_reset(void); /* to be called first */
OpRow *table_row(u32 opcode);
ModRow *table_modifier(const char *text);

#endif
