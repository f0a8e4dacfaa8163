/* The job server of make, of which every process but the first takes a token: MAKEFLAGS names it. `make -j1` has none, and is
 * one without tokens. */
#ifndef PTXOPT_JUDGE_PTXAS_JOBS_H
#define PTXOPT_JUDGE_PTXAS_JOBS_H

#include "base/types.h"

enum { JOBS_MOST = 128 };

typedef struct JobServer {
    bool is_there; /* MAKEFLAGS names one, or says that there is one job */
    int from, to;  /* -1: it cannot be reached, and has no tokens for us */
    u32 held;
    char token[JOBS_MOST];
} JobServer;

JobServer jobs_open(void);

/* Whether there is a token at once; without a job server there always is. Never waits. */
bool jobs_take(JobServer *server);
void jobs_give_back(JobServer *server, u32 keep); /* all but so many */

/* Gives all back. */
void jobs_close(JobServer *server);

#endif
