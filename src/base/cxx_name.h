/* Names of C++ functions, as the Itanium ABI mangles them. */
#ifndef PTXOPT_BASE_CXX_NAME_H
#define PTXOPT_BASE_CXX_NAME_H

#include "base/types.h"

/* Writes the qualified name of the function into `name`, without template arguments and parameters: `ns::Type::run` for
 * `_ZN2ns4TypeIfE3runEv`. False: the name is not mangled, is too long, or names something that has no such name. */
bool cxx_qualified_name(const char *mangled, char *name, size_t size);

#endif
