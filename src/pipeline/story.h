/* Remarks about a function as sentences: what was done, what was left and why, and what makes it hard for ptxas. */
#ifndef PTXOPT_PIPELINE_STORY_H
#define PTXOPT_PIPELINE_STORY_H

#include "pipeline/remarks.h"

/* A remark that is kept. */
typedef struct StoryRemark {
    RemarkKind kind;
    const char *pass, *name, *message;
    const char *source; /* "file.cu:12:3", the file without its folders; NULL: no .loc gives it */
    u32 line;           /* of the PTX */
} StoryRemark;
typedef VEC(StoryRemark) VecStoryRemark;

/* A copy of the remark in the arena. */
StoryRemark story_keep(Arena *arena, const Remark *remark);

/* "switch of 21 cases at bytecode.cu:163: longest path 6 branches to 2; 9 tails merged (...)"; empty: nothing was done. */
char *story_done(Arena *arena, const VecStoryRemark *remarks);
/* "3 barriers (a.cu:12, ...: WHY)", of at most so many kinds of remarks; empty: nothing was left. */
char *story_left(Arena *arena, const VecStoryRemark *remarks, u32 most);
/* What the pass `ptxas` advises; empty: nothing. */
char *story_advice(Arena *arena, const VecStoryRemark *remarks);

#endif
