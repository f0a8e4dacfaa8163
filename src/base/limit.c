#include "base/limit.h"

#include "base/clock.h"

enum { POLLS = 256 };

_Thread_local u32 limit_polls;

static _Thread_local struct {
    double end;
    void (*over)(void *user);
    void *user;
} limit;

void limit_start(double seconds, void (*over)(void *user), void *user)
{
    limit.end = clock_of_thread() + seconds;
    limit.over = over;
    limit.user = user;
    limit_polls = POLLS;
}

void limit_stop(void) { limit_polls = 0; }

void limit_read_clock(void)
{
    if (clock_of_thread() >= limit.end)
        limit.over(limit.user);
    limit_polls = POLLS;
}
