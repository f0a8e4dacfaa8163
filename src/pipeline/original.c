#include "pipeline/original.h"

#include <assert.h>

#include "analysis/convergence.h"
#include "analysis/exits.h"
#include "analysis/joins.h"

const char original_why_open[] =
    "left alone: a thread may wait here, and where its warp reconverges depends on which exit ptxas picks";

Original original_begin(Analyses *an)
{
    bool is_open = exits_hide_convergent(an);
    return (Original){.epoch = an->fn->epoch[EPOCH_CODE], .is_taken = is_open, .is_open = is_open};
}

static void take(Original *o, Analyses *an)
{
    o->is_taken = true;
    o->exits = exits_snapshot(&o->arena, an);
    o->is_open = exits_unknown(o->exits);
    if (o->is_open)
        return;
    o->joins = joins_hash(an);
    o->convergence = convergence_snapshot(&o->arena, an);
}

/* The time counts as that of analyses, also where a phase is running. */
void original_take(Original *o, Analyses *an)
{
    bool timed = an->clock && !an->computing;
    double start = timed ? an->clock() : 0;
    assert(an->fn->epoch[EPOCH_CODE] == o->epoch);
    an->computing |= timed;
    take(o, an);
    if (timed) {
        an->seconds += an->clock() - start;
        an->computing = false;
    }
}

/* Whether it depends on the exit, because of the phases, which threads wait for which. */
static bool moves_exits(const Original *o, Analyses *an)
{
    Arena scratch = {0};
    ExitsSnapshot *now = exits_snapshot(&scratch, an);
    bool kept = exits_kept(o->exits, now, an->fn);
    exits_free(now);
    arena_free(&scratch);
    return !kept;
}

const char *original_fault(Original *o, Analyses *an, const char **name)
{
    *name = "JoinsDecide";
    if (joins_hash(an) != o->joins)
        return "some threads wait for others at one of several joins, and ptxas might choose another one: it stays as it was";
    *name = "ExitsDecide";
    if (moves_exits(o, an))
        return "a thread may wait here, and ptxas might pick another exit, where its warp reconverges elsewhere: it stays as "
               "it was";
    *name = "ConvergenceChanged";
    const char *fault = convergence_compare(o->convergence, an, &o->arena);
    return fault ? arena_printf(&o->arena, "%s: it stays as it was", fault) : NULL;
}

void original_free(Original *o)
{
    if (o->convergence)
        convergence_free(o->convergence);
    if (o->exits)
        exits_free(o->exits);
    arena_free(&o->arena);
}
