/* The inside of the printer (print.c, print_operand.c, print_loc.c): a buffered writer that copies runs of source text whole. */
#ifndef PTXOPT_IR_PRINTER_H
#define PTXOPT_IR_PRINTER_H

#include <string.h>

#include "base/fnvmap.h"
#include "ir/ir.h"

enum { PRINTER_BYTES = 1 << 15 };

typedef struct Printer {
    FILE *out;
    Str text;                             /* of the module */
    Span run;                             /* source bytes that come next and are not copied yet; empty: none */
    u32 len;                              /* bytes in buf */
    char last;                            /* the last byte before buf */
    char buf[PRINTER_BYTES + NAME_BYTES]; /* names are copied NAME_BYTES at a time */
} Printer;

void printer_init(Printer *p, FILE *out, Str text);
void printer_flush(Printer *p);
/* Copies source bytes. A run that continues where the last one ended only becomes longer. */
void printer_source(Printer *p, u32 beg, u32 end);
void printer_text(Printer *p, const char *text, u32 len);
bool printer_at_line_start(const Printer *p);

static inline void emit_name(Printer *p, const Name *name) { printer_text(p, name->text, name->len); }
static inline void emit_cstr(Printer *p, const char *text) { printer_text(p, text, (u32)strlen(text)); }
void printer_unsigned(Printer *p, u64 value);

/* Prints guard, opcode, operands and `;` from the IR. */
void printer_instr(Printer *p, const Function *fn, const Instr *i);
/* The label by which a branch in `scope` can name the block. */
const Label *block_label_for(const Block *b, ScopeId scope);

/* The .loc positions that a changed function has printed (print_loc.c). */
typedef struct LocsPrinted {
    FnvMap place; /* file, line and column -> their place in the source, or LOC_PRINTED; empty: there is nothing to watch */
} LocsPrinted;
enum { LOC_PRINTED = 1 };

void locs_begin(LocsPrinted *locs, const Function *fn);
void locs_end(LocsPrinted *locs);
/* Whether the .loc that the inlined_at of `loc` names has not been printed yet, and so must be printed first. It notes
 * `loc` as printed, and is to be asked right before that. */
bool locs_parent_missing(LocsPrinted *locs, Str text, Span loc, Span *parent);

#endif
