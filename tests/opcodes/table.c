/* The tables of isa/ in memory that can be written, in their place: a wrong row can be planted while the program runs. */
#include <string.h>

#define isa_ops original_ops
#define isa_mods original_mods
#include "isa/tables.c"
#undef isa_ops
#undef isa_mods

#include "table.h"

OpRow isa_ops[OPC_COUNT];
ModRow isa_mods[COUNT_OF(original_mods)];

void table_reset(void)
{
    memcpy(isa_ops, original_ops, sizeof isa_ops);
    memcpy(isa_mods, original_mods, sizeof isa_mods);
}

OpRow *table_row(u32 opcode) { return &isa_ops[opcode]; }

ModRow *table_modifier(const char *text)
{
    for (u32 i = 0; i < COUNT_OF(original_mods); i++)
        if (!strcmp(isa_mods[i].text, text))
            return &isa_mods[i];
    return NULL;
}
