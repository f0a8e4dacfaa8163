#include "analysis/analyses.h"

#include <assert.h>
#include <string.h>

#include "base/bound.h"
#include "base/limit.h"

#define ANALYSIS(NAME, name, Type, rests, epoch, compute, release, ...)         \
    static void *compute_##name(Analyses *an, Arena *arena) { return compute; } \
    static void release_##name(void *result) { release(result); }
#include "analysis/analysis.def"

static const struct {
    u32 rests;
    Epoch epoch;
    void *(*compute)(Analyses *an, Arena *arena);
    void (*release)(void *result);
} row[ANALYSES] = {
#define ANALYSIS(NAME, name, Type, rests, epoch, ...) {rests, epoch, compute_##name, release_##name},
#include "analysis/analysis.def"
};

_Static_assert(ANALYSES < 32, "a bit each of a u32");
#define ANALYSIS(NAME, name, Type, rests, ...) \
    _Static_assert((rests) < AN_##NAME, "what an analysis rests on stands before it: " #name);
#include "analysis/analysis.def"

/* The analyses of `bits` with those that they are computed from, directly or not. */
static u32 with_bases(u32 bits)
{
    for (u32 k = ANALYSES; k-- > 0;)
        if (bits >> k & 1)
            bits |= row[k].rests;
    return bits;
}

void analyses_init(Analyses *an, Function *fn)
{
    memset(an, 0, sizeof *an);
    an->fn = fn;
}

static void forget(Analyses *an, u32 bits)
{
    for (u32 k = ANALYSES; k-- > 0;) {
        AnalysisSlot *slot = &an->slot[k];
        if (!(bits >> k & 1) || !slot->result)
            continue;
        row[k].release(slot->result);
        arena_free(&slot->arena);
        slot->result = NULL;
    }
}

u32 an_valid(const Analyses *an)
{
    u32 valid = 0;
    for (u32 k = 0; k < ANALYSES; k++)
        valid |= (u32)analysis_is_up_to_date(an, k, row[k].epoch) << k;
    return valid;
}

void an_freeze(Analyses *an, u32 bits)
{
    enum { LARGE = 1 << 20 };
    u64 reserved = 0;
    forget(an, ~(an_valid(an) | an->frozen));
    an->frozen |= with_bases(bits);
    for (u32 k = 0; k < ANALYSES; k++)
        reserved += an->slot[k].arena.reserved;
    if (BEYOND(LARGE, reserved > LARGE))
        forget(an, ~an->frozen);
}

void an_thaw(Analyses *an, u32 bits)
{
    an->frozen = with_bases(an->frozen & ~bits);
    forget(an, ~(an_valid(an) | an->frozen));
}

void an_compute(Analyses *an, u32 bits)
{
    for (u32 k = 0; k < ANALYSES; k++)
        if (bits >> k & 1)
            analysis_result(an, k, row[k].epoch);
}

void an_compute_frozen(Analyses *an) { an_compute(an, an->frozen); }

/* The computed analyses that answer for an earlier function, as bits. */
static u32 outdated(const Analyses *an)
{
    u32 computed = 0;
    for (u32 k = 0; k < ANALYSES; k++)
        computed |= (u32)(an->slot[k].result != NULL) << k;
    return computed & ~an_valid(an);
}

void *analysis_compute(Analyses *an, AnalysisIndex k)
{
    AnalysisSlot *slot = &an->slot[k];
    bool timed = an->clock && !an->computing;
    double start = timed ? an->clock() : 0;
    limit_poll();
    /* A frozen base that is out of date must not be mixed with the function as it is now. */
    assert(!(an->frozen & with_bases(row[k].rests) & outdated(an)));
    forget(an, 1u << k);
    an->computing |= timed;
    cfg_build(an->fn);
    slot->result = row[k].compute(an, &slot->arena);
    slot->epoch = an->fn->epoch[row[k].epoch];
    if (timed) {
        an->seconds += an->clock() - start;
        an->computing = false;
    }
    return slot->result;
}

bool an_is_only_reader(Analyses *an, const Instr *def, const Instr *end, const Instr *reader, RegId reg)
{
    for (const Instr *i = def->next; i != end; i = i->next)
        if (i != reader && i->kind == INSTR_OP && instr_reads(i, reg))
            return false;
    return !live_out(an_live(an), def->block, reg);
}

void analyses_free(Analyses *an) { forget(an, AN_ALL); }
