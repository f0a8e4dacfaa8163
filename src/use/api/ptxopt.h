/* ptxopt as a library: optimizes PTX in memory.
 *
 *     ptxopt_request request = {.size = sizeof request, .text = ptx, .bytes = strlen(ptx)};
 *     ptxopt_result *result;
 *     if (ptxopt_optimize(&request, &result) == PTXOPT_OK)
 *         use(ptxopt_text(result, NULL));
 *     else
 *         fputs(ptxopt_messages(result, NULL), stderr);
 *     ptxopt_free(result);
 *
 * Every function may be called by several threads at once, and from within a callback of another library: there is no
 * state between calls. Nothing is read except the request and what --tuned names, and nothing is written except the
 * result. The library never ends the process; where memory runs out, everything that the call allocated is freed, and
 * PTXOPT_NO_MEMORY is answered.
 * Equal requests without a limit have equal results, in every process, on every machine. */
#ifndef PTXOPT_H
#define PTXOPT_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define PTXOPT_API __attribute__((visibility("default")))
#else
#define PTXOPT_API
#endif

/* Counts changes after which programs must be compiled again; the library's file name ends with it. */
#define PTXOPT_ABI 1

typedef enum ptxopt_status {
    PTXOPT_OK = 0,
    PTXOPT_BAD_INPUT = 1,  /* the text is not PTX */
    PTXOPT_BAD_OPTION = 2, /* also: one that only the command line has, like -o; text NULL with bytes; an argument NULL */
    PTXOPT_NO_MEMORY = 3,
    PTXOPT_INTERNAL = 4,    /* a phase broke a function: a defect of ptxopt, and the text is of no use */
    PTXOPT_OUT_OF_TIME = 5, /* the request's limit is over */
} ptxopt_status;

/* A request. Members that are 0 ask for nothing; later versions of the library may add some at the end. */
typedef struct ptxopt_request {
    size_t size;      /* sizeof(ptxopt_request) */
    const char *text; /* the module; needs no NUL at its end */
    size_t bytes;
    const char *name;           /* of the text in messages and remarks; NULL: "<memory>" */
    const char *const *options; /* as on the command line of ptxopt: "-O3", "--disable=tail-merge" */
    size_t option_count;
    int want_remarks; /* not 0: keep them; --remarks is an option of the command line */
    double limit;     /* seconds of the thread's CPU time, after which PTXOPT_OUT_OF_TIME is answered; 0: none */
} ptxopt_request;

typedef struct ptxopt_result ptxopt_result;

/* *result is set to what there is to say, also where the status is not PTXOPT_OK; NULL with PTXOPT_NO_MEMORY, and
 * where request is NULL. It belongs to the caller (ptxopt_free) and shares nothing with the request. */
PTXOPT_API ptxopt_status ptxopt_optimize(const ptxopt_request *request, ptxopt_result **result);

/* These end with a NUL, which *bytes does not count; `bytes` may be NULL. Empty where there is nothing; they live as long as the
 * result. `result` may be NULL. */
PTXOPT_API const char *ptxopt_text(const ptxopt_result *result, size_t *bytes);    /* the optimized module */
PTXOPT_API const char *ptxopt_remarks(const ptxopt_result *result, size_t *bytes); /* YAML, as --remarks writes it */
PTXOPT_API const char *ptxopt_messages(const ptxopt_result *result,
                                       size_t *bytes); /* errors, and what options ask for: --stats */
/* 1: the text is not that of the request. */
PTXOPT_API int ptxopt_changed(const ptxopt_result *result);
PTXOPT_API void ptxopt_free(ptxopt_result *result);

/* "0.2.0" and the commit, as `ptxopt --version` has them: for keys of caches. */
PTXOPT_API const char *ptxopt_version(void);
/* PTXOPT_ABI of the library that is loaded. */
PTXOPT_API int ptxopt_abi(void);
/* The meaning of a status, in words. */
PTXOPT_API const char *ptxopt_status_text(ptxopt_status status);

#ifdef __cplusplus
}
#endif

#endif
