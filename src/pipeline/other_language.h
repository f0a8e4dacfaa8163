/* Files that are not PTX. */
#ifndef PTXOPT_PIPELINE_OTHER_LANGUAGE_H
#define PTXOPT_PIPELINE_OTHER_LANGUAGE_H

#include "base/types.h"

/* What a binary file is, and the command that makes PTX of it; NULL: the file is not known to be binary. */
const char *other_binary(Str text);
/* The same for a text that could not be read as PTX. */
const char *other_language(Str text);

#endif
