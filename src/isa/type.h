/* The types of PTX: modifiers.def. */
#ifndef PTXOPT_ISA_TYPE_H
#define PTXOPT_ISA_TYPE_H

#include "base/types.h"

typedef enum ONE_BYTE Type { /* name, bits per element and class are in modifiers.def: TYPE rows */
                             TYPE_NONE,
#define TYPE(id, ...) TYPE_##id,
#include "isa/modifiers.def"
                             TYPE_COUNT
} Type;

typedef enum TypeClass { TC_NONE, TC_PRED, TC_BITS, TC_UNSIGNED, TC_SIGNED, TC_FLOAT, TC_PACKED, TC_OPAQUE } TypeClass;

u32 type_bits(Type type); /* of one element; 1 for .pred, 0 for opaque types */
TypeClass type_class(Type type);
bool type_is_integer(Type type);                /* one number, or bits that are read as one */
const char *type_name(Type type);               /* ".u32" */
Type type_from_text(const char *text, u32 len); /* ".u32" -> TYPE_U32; TYPE_NONE when unknown */

#endif
