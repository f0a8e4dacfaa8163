/* --explain: what was done, what was left and why, and what is hard for ptxas, as text for a terminal. */
#ifndef PTXOPT_PIPELINE_EXPLAIN_H
#define PTXOPT_PIPELINE_EXPLAIN_H

#include "pipeline/config.h"

/* Takes the remarks of a run. */
typedef struct Explanation Explanation;

/* `next` also gets every remark, unless it is NULL. */
Explanation *explain_begin(Arena *arena, const RemarkTaker *next);
const RemarkTaker *explain_taker(const Explanation *explanation);
/* Is called after the run over m. Functions that changed come first, those with the most rewrites before others. Of many, the first
 * ones are shown. */
void explain_print(FILE *out, Explanation *explanation, const Module *m, const char *file);
void explain_end(Explanation *explanation);

#endif
