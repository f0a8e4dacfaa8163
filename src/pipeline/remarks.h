/* Remarks as YAML, in LLVM's optimization-record format, so that opt-viewer, llvm-opt-report and similar tools read them.
 * DebugLoc is the place in the PTX. Where a .loc is in force there, the last arguments tell the place in the source
 * program. The one named Source has a DebugLoc of its own. */
#ifndef PTXOPT_PIPELINE_REMARKS_H
#define PTXOPT_PIPELINE_REMARKS_H

#include <stdio.h>

#include "base/diag.h"
#include "base/vec.h"
#include "phase/phase.h"

/* A `.file` directive: the number and the name in its quotes. */
typedef struct DebugFile {
    u64 number;
    Str name;
} DebugFile;

/* A `.loc` directive. */
typedef struct DebugLoc {
    u32 offset; /* its place in the PTX */
    u64 file, line, column;
} DebugLoc;

/* A remark as a RemarkTaker gets it, which must copy the strings that it keeps. */
typedef struct Remark {
    RemarkKind kind;
    const char *pass, *name, *function, *message;
    const char *source; /* "folders/file.cu:12:3"; NULL: no .loc gives it */
    u32 line;           /* of the PTX */
} Remark;

typedef struct RemarkTaker {
    void (*take)(void *user, const Remark *remark);
    void *user;
} RemarkTaker;

typedef struct RemarkWriter {
    FILE *out;                /* NULL: none is written */
    const RemarkTaker *taker; /* gets each remark; NULL: nobody does */
    Diag *diag;               /* knows lines and columns of the PTX */
    const char *build_name;   /* in a build, where the PTX is temporary: its name for people; NULL: it is a file to name */
    bool scanned;
    VEC(DebugFile) files;
    VEC(DebugLoc) locs; /* in text order */
} RemarkWriter;

void remarks_init(RemarkWriter *writer, FILE *out, Diag *diag);
/* Writes a remark of which kind, pass, name and message are given. at: empty for the function as a whole. */
void remarks_write(RemarkWriter *writer, Remark remark, const Function *fn, Span at);
void remarks_free(RemarkWriter *writer);

#endif
