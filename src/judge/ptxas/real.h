/* Finding the program that the front stands for. */
#ifndef PTXOPT_JUDGE_PTXAS_REAL_H
#define PTXOPT_JUDGE_PTXAS_REAL_H

#include "base/arena.h"

/* Puts this program among those that a call has come through; every front below in the chain of calls passes them over.
 * Answers whether there was one already: the call is to be passed on as it is. */
bool real_enter(void);

/* Whether the file is this program, or one that the call has come through, by device and inode. */
bool real_has_visited(const char *path);

/* The file to run for `word`, a program's name or path. The front itself was called as `invoked` (argv[0]). It looks at
 * these, in this order: PTXOPT_PTXAS (if the word is a ptxas), the word itself if it is a path, WORD.real beside the front,
 * the next one in PATH, the CUDA toolkit's. From then on the file counts as one that the call has come through. NULL: there
 * is none, for the reason in `*why`. Both are in `arena`. */
const char *real_find(Arena *arena, const char *word, const char *invoked, const char **why);

/* The first program of that name in PATH; NULL. */
const char *real_search_path(Arena *arena, const char *name);

/* ptxas, ptxas-blackwell: the programs that a front stands for, by name. */
bool real_is_ptxas_name(const char *name);

/* The part of a path after its last slash. */
const char *real_base_name(const char *path);

#endif
