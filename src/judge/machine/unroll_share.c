#include "judge/machine/unroll_inside.h"

enum { MOST_COPIES = 1024, STEP_AND_TEST = 2 };

static unsigned count_made_of(const Side *side, int loop)
{
    unsigned count = 0;
    for (size_t i = 0; i < side->code->loop_count; i++)
        count += side->mate[i] == loop;
    return count;
}

bool unroll_is_original(const Side *side, size_t loop) { return count_made_of(side, (int)loop) > 0; }

/* ---- loops that only one version has ----------------------------------------------------------------------------- */

/* Where the copies of a loop that is gone stand. That is the closest loop around it that is not gone, or none (the number
 * of loops). */
static size_t place_of(const Side *side, size_t loop)
{
    int around = side->code->loops[loop].parent;
    while (around != NONE && side->gone[around])
        around = side->code->loops[around].parent;
    return around == NONE ? side->code->loop_count : (size_t)around;
}

/* The same place in the other version; `times`: how many iterations of this one it does at once. */
static const Work *same_place(const Side *side, const Side *other, size_t place, double *times)
{
    size_t same = other->code->loop_count;
    unsigned most = 1;
    *times = 1;
    if (place == side->code->loop_count)
        return &other->work[same];
    if (side->mate[place] >= 0) {
        *times = side->copies[place] ? 1.0 / side->copies[place] : 1;
        return &other->work[side->mate[place]];
    }
    for (size_t i = other->code->loop_count; i-- > 0;)
        if (other->mate[i] == (int)place && (same == other->code->loop_count || other->copies[i] >= most)) {
            same = i;
            most = other->copies[i] ? other->copies[i] : 1;
        }
    *times = most;
    return &other->work[same];
}

/* What all loops that are gone at one place do in an iteration. */
typedef struct Gone {
    unsigned kept[SASS_OPERATIONS], size; /* size: without the step and the test of the loops themselves */
} Gone;

static void add_gone(Gone *gone, const Work *work)
{
    for (int o = 0; o < SASS_OPERATIONS; o++)
        gone->kept[o] += work->kept[o];
    gone->size += work->size > STEP_AND_TEST ? work->size - STEP_AND_TEST : 1;
}

/* How many copies of the loop the other version has, if all that are gone at its place have as many. What every copy keeps is counted
 * or, if there is nothing of the kind, all instructions that do more than direct control. */
static double copies_of(const Side *side, const Side *other, size_t loop, const Gone *gone)
{
    double times, more = 0, body = 0;
    size_t place = place_of(side, loop);
    const Work *here = &side->work[place], *there = same_place(side, other, place, &times);
    for (int o = 0; o < SASS_OPERATIONS; o++)
        if (side->work[loop].kept[o]) {
            more += there->kept[o] - times * here->kept[o];
            body += gone->kept[o];
        }
    if (body == 0) {
        more = there->size - times * here->size;
        body = gone->size;
    }
    return more / (times * body);
}

/* By place: what is gone there, NULL where nothing is. */
static Gone **list_gone(Arena *arena, Side *side, const Side *other)
{
    size_t count = side->code->loop_count;
    Gone **gone = arena_array(arena, Gone *, count + 1);
    for (size_t i = 0; i < count; i++)
        side->gone[i] = side->mate[i] == NONE && side->beside[i] == NONE && !unroll_is_original(other, i);
    for (size_t i = 0; i < count; i++) {
        size_t place = place_of(side, i);
        if (!side->gone[i])
            continue;
        gone[place] = gone[place] ? gone[place] : arena_array(arena, Gone, 1);
        add_gone(gone[place], &side->work[i]);
    }
    return gone;
}

/* How often a loop's header is thought to run, or the whole for NONE, as long as nothing is shared. */
static double runs_of(const Side *side, int loop)
{
    double runs = 1;
    for (; loop != NONE; loop = side->code->loops[loop].parent)
        runs *= side->iterations[loop];
    return runs;
}

/* So many iterations let a loop inside, of which the other version has one, run as often as there; 0: there is no such loop. */
static double iterations_by_mates(const Side *side, const Side *other, size_t loop)
{
    for (size_t i = 0; i < side->code->loop_count; i++)
        if (side->code->loops[i].parent == (int)loop && side->mate[i] >= 0 && count_made_of(other, (int)i) < 2)
            return runs_of(other, other->code->loops[side->mate[i]].parent) / runs_of(side, side->code->loops[loop].parent);
    return 0;
}

/* Whether what the loop does stands in the same place of the other version, too. */
static bool is_part(const Work *loop, const Work *there)
{
    unsigned shared = 0;
    for (int o = 0; o < SASS_OPERATIONS; o++)
        shared += loop->operations[o] < there->operations[o] ? loop->operations[o] : there->operations[o];
    return 4 * shared >= 3 * loop->size;
}

/* Sets the iterations of a loop that is gone in `other`, where its work stands in a row. Those of loops around it, which are gone
 * too, are known. */
static void count_copies(Side *side, const Side *other, size_t loop, const Gone *gone)
{
    double times, copies = copies_of(side, other, loop, gone), by_mates = iterations_by_mates(side, other, loop);
    int around = side->code->loops[loop].parent;
    if (by_mates > 0 || copies < 2) {
        if (by_mates > 0 || is_part(&side->work[loop], same_place(side, other, place_of(side, loop), &times)))
            side->iterations[loop] = by_mates > 1 ? by_mates : 1;
        return;
    }
    for (; around != NONE && side->gone[around]; around = side->code->loops[around].parent)
        copies /= side->iterations[around];
    side->iterations[loop] = copies < 1 ? 1 : copies > MOST_COPIES ? MOST_COPIES : copies;
    side->rounds[loop] = side->iterations[loop];
}

static void count_all_copies(Arena *arena, Side *side, const Side *other)
{
    size_t count = side->code->loop_count, left = count;
    Gone **gone = list_gone(arena, side, other);
    for (unsigned depth = 1; left; depth++)
        for (size_t i = 0; i < count; i++) {
            if (side->code->loops[i].depth != depth)
                continue;
            left--;
            if (side->gone[i])
                count_copies(side, other, i, gone[place_of(side, i)]);
        }
}

/* ---- families ----------------------------------------------------------------------------------------------------- */

/* Finds the loop that this one goes back to, from mate to mate: one that has a twin, or no mate. All loops that go back to the same
 * one are a family, and each of their iterations does that loop's work so many times. */
static void find_origin(Side *side, const Side *other, int loop)
{
    const Side *at = side, *across = other;
    size_t most_steps = side->code->loop_count + other->code->loop_count;
    int origin = loop;
    double units = 1;
    for (size_t step = 0; step < most_steps; step++) {
        int mate = at->mate[origin], beside = at->beside[origin];
        const Side *swap = at;
        if (beside == NONE && (mate < 0 || across->mate[mate] == origin))
            break;
        units *= beside != NONE ? at->part[origin] : at->copies[origin] ? at->copies[origin] : 1;
        origin = beside != NONE ? beside : mate;
        if (beside != NONE)
            continue;
        at = across;
        across = swap;
    }
    int number = at->first + origin, twin = at->mate[origin] >= 0 ? across->first + at->mate[origin] : number;
    side->family[loop] = number < twin ? number : twin;
    side->units[loop] = units;
}

/* Work around a loop: of its parent, or what stands in no loop. */
static double work_around(const Side *side, int loop)
{
    int parent = side->code->loops[loop].parent;
    return side->work[parent == NONE ? (int)side->code->loop_count : parent].all;
}

/* How many iterations the loops around this one run that only its version has: the other one has copies of it instead. */
static double rounds_around(const Side *side, int loop)
{
    double rounds = 1;
    int around = side->code->loops[loop].parent;
    for (; around != NONE && side->gone[around]; around = side->code->loops[around].parent)
        rounds *= side->rounds[around];
    return rounds;
}

static double most_rounds_around(const Side *side, int family, double most)
{
    for (size_t i = 0; i < side->code->loop_count; i++)
        if (side->family[i] == family && rounds_around(side, (int)i) > most)
            most = rounds_around(side, (int)i);
    return most;
}

/* The fewest units of the loops of family `around` in which those of `family` stand. */
static double fewest_around(const Side *side, int family, int around, double fewest)
{
    for (size_t i = 0; i < side->code->loop_count; i++) {
        int parent = side->code->loops[i].parent;
        if (side->family[i] == family && parent != NONE && side->family[parent] == around && side->units[parent] < fewest)
            fewest = side->units[parent];
    }
    return fewest;
}

/* How often an iteration of the loops around this one does what those around others of its family do, at most. */
static double times_around(const Side *side, const Side *other, int loop)
{
    int parent = side->code->loops[loop].parent, family = side->family[loop];
    double own = rounds_around(side, loop), times = most_rounds_around(other, family, own) / own;
    if (parent == NONE)
        return times;
    double units = side->units[parent], fewest = fewest_around(side, family, side->family[parent], units);
    return times * units / fewest_around(other, family, side->family[parent], fewest);
}

/* How many iterations of the loop, which is unrolled and alone in its place, were peeled off. */
static double peeled(const Side *side, int loop, const Side *other, double times)
{
    int from = side->mate[loop];
    if (from < 0)
        return 0;
    double more = work_around(side, loop) - times * work_around(other, from);
    return other->work[from].all && more > 0 ? more / other->work[from].all : 0;
}

/* The loops of one family in one place. */
typedef struct Place {
    unsigned loops, mains; /* mains: unrolled most */
    double most, least;    /* units */
} Place;

static bool is_beside(const Side *side, size_t a, size_t b)
{
    return side->family[a] == side->family[b] && side->code->loops[a].parent == side->code->loops[b].parent;
}

/* `first` is the first one there. */
static Place read_place(const Side *side, size_t first)
{
    Place place = {0, 0, 0, side->units[first]};
    for (size_t i = first; i < side->code->loop_count; i++) {
        if (!is_beside(side, first, i))
            continue;
        if (side->units[i] > place.most) {
            place.most = side->units[i];
            place.mains = 0;
        }
        if (side->units[i] < place.least)
            place.least = side->units[i];
        place.loops++;
        place.mains += side->units[i] == place.most;
    }
    return place;
}

/* Shares the iterations that a family has in a place. Those unrolled most do its work, except for half of what one of their iterations
 * does. That half is done by the others, or by those iterations that were peeled off. */
static void share_iterations(Side *side, const Side *other, size_t first)
{
    for (size_t i = 0; i < first; i++)
        if (is_beside(side, first, i))
            return;
    if (side->mate[first] == ALONE || side->gone[first])
        return;
    Place place = read_place(side, first);
    double times = times_around(side, other, (int)first), all = LOOP_ITERATIONS * times, rest = 0;
    unsigned others = place.loops - place.mains;
    if (others)
        rest = place.mains * (place.most - place.least) / 2;
    else if (place.loops == 1 && place.most > 1)
        rest = peeled(side, (int)first, other, times);
    rest = rest < all / 2 ? rest : all / 2;
    for (size_t i = first; i < side->code->loop_count; i++)
        if (is_beside(side, first, i))
            side->iterations[i] =
                (side->units[i] == place.most ? (all - rest) / place.mains : rest / others) / side->units[i];
}

void unroll_share(Arena *arena, Side *old, Side *new)
{
    count_all_copies(arena, old, new);
    count_all_copies(arena, new, old);
    Side *sides[2] = {old, new};
    for (int s = 0; s < 2; s++)
        for (size_t i = 0; i < sides[s]->code->loop_count; i++)
            find_origin(sides[s], sides[!s], (int)i);
    for (int s = 0; s < 2; s++)
        for (size_t i = 0; i < sides[s]->code->loop_count; i++)
            share_iterations(sides[s], sides[!s], i);
}
