/* Optimizes what passes through the hooks, as the environment asks for: PTXOPT, PTXOPT_FLAGS, PTXOPT_LOG. */
#ifndef PTXOPT_USE_PRELOAD_TEXT_H
#define PTXOPT_USE_PRELOAD_TEXT_H

#include "use/api/ptxopt.h"
#include "base/types.h"

/* Whether texts are optimized: not with PTXOPT=off. */
bool text_wanted(void);

/* A call of a hook. Within one, other hooks of the thread do nothing: libraries call each other, and themselves. */
bool text_enter(void); /* false: do nothing */
void text_leave(void);

/* The optimized text, to be freed with ptxopt_free(); NULL: the original stays. It ends with a NUL, or after `limit` bytes;
 * what does not begin as PTX does is no PTX. `function` is who asks, for the log; NULL: no log. */
ptxopt_result *text_optimize(const char *function, const void *text, size_t limit);

/* Does the same for a file; NULL also if it cannot be read. */
ptxopt_result *text_optimize_file(const char *function, const char *path);

/* A number for each of some pointers; 0 where none was put. */
void text_remember(const void *key, size_t number);
size_t text_recall(const void *key);

#endif
