/* The folder for what ptxas writes: it needs names. A process has one at most, in $TMPDIR or /tmp.
 * A lock on the folder says that its owner lives, in any container. Those of owners that were killed are removed when the next one
 * is made. */
#ifndef PTXOPT_JUDGE_PTXAS_FOLDER_H
#define PTXOPT_JUDGE_PTXAS_FOLDER_H

#include "base/arena.h"

/* Its path; NULL with errno set. A signal that ends the process removes it: child_end_on_signals. */
const char *folder_make(Arena *arena);
/* The path of the next file in it. */
char *folder_next_file(Arena *arena);
/* Removes it with all files that folder_next_file named. */
void folder_remove(void);

#endif
