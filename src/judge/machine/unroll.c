#include "judge/machine/unroll.h"

#include <string.h>

enum { NONE = SASS_NONE, ALONE = -2, MOST_COPIES = 1024 };

/* The classes that unrolling multiplies, and that other changes seldom touch. */
static const SassClass work_classes[] = {SASS_FMA, SASS_MMA, SASS_LD,  SASS_ST,     SASS_LDG, SASS_STG,
                                         SASS_LDS, SASS_STS, SASS_BAR, SASS_LDGSTS, SASS_ATOM};
enum { WORK_CLASSES = sizeof work_classes / sizeof *work_classes, LOOP_OVERHEAD = 3 };

/* The work of a loop, or of a whole part, without the loops inside. */
typedef struct Work {
    unsigned of[WORK_CLASSES], all, instructions;
    unsigned inner;       /* loops directly inside */
    uint64_t code;        /* of all keys together */
    unsigned size;        /* instructions that do more than direct control */
    uint16_t *operations; /* how many of each */
    uint16_t *kept;       /* those of them that every copy of the work has */
} Work;

typedef struct Side {
    const SassCode *code;
    double *iterations, *rounds;
    Work *work; /* by loop; then what stands in no loop */
    int *mate; /* by loop: the one that does the same in the other version, NONE; ALONE: it waits for lanes, and has none */
    unsigned *copies; /* by loop: how often it was unrolled beside the other version; 0: it was not */
    bool *gone;       /* by loop: no loop of the other version was made of it, or it of one */
} Side;

static void add_work(Work *work, const SassLoop *loop, int sign)
{
    for (int c = 0; c < WORK_CLASSES; c++) {
        unsigned count = loop->classes[work_classes[c]];
        work->of[c] += sign * (int)count;
        work->all += sign * (int)count;
    }
    work->instructions += sign * (int)loop->instructions;
}

static bool is_work(const SassInstr *instr)
{
    for (int c = 0; c < WORK_CLASSES; c++)
        if (instr->class == work_classes[c])
            return true;
    return false;
}

/* Whether each copy of a loop's iteration keeps it: work, and what a slow unit does. Counters are folded into constants. */
static bool is_kept(const SassInstr *instr)
{
    LatencyKind latency = instr->latency;
    return is_work(instr) || latency == LATENCY_SPECIAL || latency == LATENCY_REDUCTION || latency == LATENCY_TEXTURE ||
           latency == LATENCY_FP64;
}

static void add_operations(Work *work, const SassCode *code, const SassBlock *block)
{
    for (size_t i = block->first; i <= block->last; i++) {
        const SassInstr *instr = &code->instrs[i];
        if (sass_is_control(instr) || work->operations[instr->operation] == UINT16_MAX)
            continue;
        work->operations[instr->operation]++;
        work->kept[instr->operation] += is_kept(instr);
        work->size++;
        work->code += instr->key;
    }
}

static Side make_side(Arena *arena, const SassCode *code, Iterations *iterations, size_t part)
{
    size_t count = code->loop_count;
    Side side = {code,
                 iterations->of[part],
                 iterations->rounds[part],
                 arena_array(arena, Work, count + 1),
                 arena_array(arena, int, count),
                 arena_array(arena, unsigned, count),
                 arena_array(arena, bool, count)};
    for (size_t l = 0; l <= count; l++) {
        side.work[l].operations = arena_array(arena, uint16_t, SASS_OPERATIONS);
        side.work[l].kept = arena_array(arena, uint16_t, SASS_OPERATIONS);
    }
    for (size_t l = 0; l < count; l++) {
        side.mate[l] = code->loops[l].gathers ? ALONE : NONE;
        add_work(&side.work[l], &code->loops[l], 1);
        if (code->loops[l].parent != NONE) {
            add_work(&side.work[code->loops[l].parent], &code->loops[l], -1);
            side.work[code->loops[l].parent].inner++;
        }
    }
    for (size_t i = 0; i < code->count; i++)
        side.work[count].all += is_work(&code->instrs[i]);
    for (size_t l = 0; l < count; l++)
        side.work[count].all -= side.work[l].all;
    for (int b = 0; b < code->block_count; b++) {
        int loop = code->blocks[b].loop;
        add_operations(&side.work[loop == NONE ? (int)count : loop], code, &code->blocks[b]);
    }
    return side;
}

/* Per cent of the larger loop's operations that the other has, too. */
static unsigned common(const Work *a, const Work *b)
{
    unsigned larger = a->size > b->size ? a->size : b->size, shared = 0;
    if (!larger || 2 * a->size < larger || 2 * b->size < larger)
        return 0;
    for (int o = 0; o < SASS_OPERATIONS; o++)
        shared += a->operations[o] < b->operations[o] ? a->operations[o] : b->operations[o];
    return 100 * shared / larger;
}

static bool same_code(const Work *a, const Work *b) { return a->size > 0 && a->size == b->size && a->code == b->code; }
static bool nearly_same(const Work *a, const Work *b) { return common(a, b) >= 95; }
static bool mostly_same(const Work *a, const Work *b) { return common(a, b) >= 75; }

static bool same_work(const Work *a, const Work *b) { return a->all > 0 && memcmp(a->of, b->of, sizeof a->of) == 0; }

static bool alike(const Work *a, const Work *b)
{
    unsigned more = a->instructions > b->instructions ? a->instructions : b->instructions;
    unsigned less = a->instructions + b->instructions - more, slack = more / 10 > 3 ? more / 10 : 3;
    return more - less <= slack;
}

static bool same_work_alike(const Work *a, const Work *b) { return same_work(a, b) && alike(a, b); }

/* How many loops of `among` without a mate are the same as one; the first of them. */
static unsigned count_same(const Side *among, const Work *one, bool (*same)(const Work *a, const Work *b), int *first)
{
    unsigned count = 0;
    *first = NONE;
    for (size_t l = among->code->loop_count; l-- > 0;)
        if (among->mate[l] == NONE && same(one, &among->work[l])) {
            count++;
            *first = (int)l;
        }
    return count;
}

/* Loops of which both versions have as many go together in order, at whatever depth. A loop around them comes or goes where two loops
 * share a header or no longer do. Where one around them was unrolled one version has more. */
static void pair_as_many(Side *old, Side *new, bool (*same)(const Work *a, const Work *b))
{
    for (size_t i = 0; i < old->code->loop_count; i++) {
        int self, other;
        if (old->mate[i] != NONE)
            continue;
        unsigned was = count_same(old, &old->work[i], same, &self), is = count_same(new, &old->work[i], same, &other);
        if (was == is && is > 0) {
            old->mate[i] = other;
            new->mate[other] = (int)i;
        }
    }
}

static void pair_loops(Side *old, Side *new, bool (*same)(const Work *a, const Work *b))
{
    for (size_t i = 0; i < old->code->loop_count; i++)
        for (size_t k = 0; k < new->code->loop_count && old->mate[i] == NONE; k++)
            if (new->mate[k] == NONE &&
                old->code->loops[i].depth == new->code->loops[k].depth &&same(&old->work[i], &new->work[k])) {
                old->mate[i] = (int)k;
                new->mate[k] = (int)i;
            }
}

/* Whether the classes show that `many` is no multiple: one of them has less than half or more than twice its share of the
 * copies. In a loop that is not even half as long again, which may only have lost a part, less than three quarters shows it. */
static bool denies_copies(const Work *one, const Work *many, unsigned copies)
{
    bool is_short = 2 * many->instructions < 3 * one->instructions;
    for (int c = 0; c < WORK_CLASSES; c++) {
        unsigned share = copies * one->of[c];
        if (2 * many->of[c] < share || many->of[c] > 2 * share || (is_short && 4 * many->of[c] < 3 * share))
            return true;
    }
    return false;
}

/* Whether less than half of what `many` does is what so many copies do. */
static bool does_else(const Work *one, const Work *many, unsigned copies)
{
    unsigned shared = 0;
    for (int o = 0; o < SASS_OPERATIONS; o++) {
        unsigned share = copies * one->operations[o];
        shared += share < many->operations[o] ? share : many->operations[o];
    }
    return 2 * shared < many->size;
}

/* Whether `many` holds loops, but fewer than the copies would. */
static bool lacks_loops(const Work *one, const Work *many, unsigned copies)
{
    return many->inner > 0 && (!one->inner || many->inner < copies * one->inner);
}

/* How many copies of `one` make `many`; 0 where it is no multiple. */
static unsigned multiple(const Work *one, const Work *many)
{
    if (one->all == 0) {
        unsigned body = one->instructions > LOOP_OVERHEAD ? one->instructions - LOOP_OVERHEAD : 1;
        unsigned copies =
            many->all || many->instructions < LOOP_OVERHEAD ? 0 : (many->instructions - LOOP_OVERHEAD + body / 2) / body;
        return copies >= 2 && !lacks_loops(one, many, copies) && !does_else(one, many, copies) ? copies : 0;
    }
    unsigned copies = (many->all + one->all / 2) / one->all;
    return copies >= 2 && !lacks_loops(one, many, copies) && !denies_copies(one, many, copies) ? copies : 0;
}

/* Whether `many` holds each class a whole number of times as often, or nearly. */
static bool is_exact_multiple(const Work *one, const Work *many)
{
    unsigned copies = multiple(one, many);
    for (int c = 0; c < WORK_CLASSES && copies && one->all; c++) {
        unsigned share = copies * one->of[c], more = many->of[c] > share ? many->of[c] - share : share - many->of[c];
        if (10 * more > share)
            copies = 0;
    }
    return copies;
}

/* A loop that holds the work of another several times is no twin of it, however short both are. */
static bool alike_once(const Work *a, const Work *b)
{
    return alike(a, b) && (!a->all || !b->all || (!is_exact_multiple(a, b) && !is_exact_multiple(b, a)));
}

/* Pairs each loop with the one in its place, if the loops of both versions are nested alike, in the same order. A loop that
 * is a multiple of the other is not paired. What a loop does changes more often than another loop comes there. */
static void pair_places(Side *old, Side *new)
{
    size_t count = old->code->loop_count;
    bool nested_alike = count == new->code->loop_count;
    for (size_t i = 0; i < count && nested_alike; i++)
        nested_alike = old->code->loops[i].depth == new->code->loops[i].depth &&
                       (old->mate[i] == ALONE) == (new->mate[i] == ALONE) && (old->mate[i] < 0 || old->mate[i] == (int)i) &&
                       (new->mate[i] < 0 || new->mate[i] == (int)i);
    for (size_t i = 0; i < count && nested_alike; i++)
        if (old->mate[i] != ALONE && !is_exact_multiple(&old->work[i], &new->work[i]) &&
            !is_exact_multiple(&new->work[i], &old->work[i]))
            old->mate[i] = new->mate[i] = (int)i;
}

/* The loops around two that go together do so too, in the same depth: what stands in one beside the inner loop may have changed. */
static void pair_parents(Side *old, Side *new)
{
    for (size_t i = old->code->loop_count; i-- > 0;) {
        int k = old->mate[i];
        int around = old->code->loops[i].parent;
        int other = k < 0 || new->mate[k] != (int)i ? NONE : new->code->loops[k].parent;
        if (around == NONE || other == NONE || old->mate[around] != NONE || new->mate[other] != NONE ||
            old->code->loops[around].depth != new->code->loops[other].depth)
            continue;
        old->mate[around] = other;
        new->mate[other] = around;
    }
}

/* Loops of `side` without a mate that are multiples of a loop of the other version, which is not unrolled itself. */
static void find_unrolled(Side *side, Side *other)
{
    for (size_t i = 0; i < side->code->loop_count; i++) {
        for (size_t k = 0; k < other->code->loop_count && side->mate[i] == NONE && !side->copies[i]; k++) {
            unsigned copies = multiple(&other->work[k], &side->work[i]);
            if (!copies || other->code->loops[k].depth != side->code->loops[i].depth || other->copies[k] ||
                other->mate[k] == ALONE)
                continue;
            side->copies[i] = copies;
            side->mate[i] = (int)k;
        }
    }
}

/* Finds loops of `side` without a mate that do the work of a loop of the other version, whose mate leaves it to them. ptxas leaves a
 * loop for what remains of an unrolled one, and a loop may have been copied. `beside`: only those beside that mate. These
 * are asked about first. A copy of a loop that was unrolled in both versions is a multiple of the loops for what
 * remains. */
static void find_rests(Side *side, const Side *other, bool beside)
{
    const SassLoop *loops = side->code->loops;
    for (size_t i = 0; i < side->code->loop_count; i++)
        for (size_t k = 0; k < side->code->loop_count && side->mate[i] == NONE; k++) {
            int from = side->mate[k];
            bool near = beside ? loops[k].parent == loops[i].parent : loops[k].depth == loops[i].depth;
            if (from >= 0 && near && same_work(&other->work[from], &side->work[i]))
                side->mate[i] = from;
        }
}

/* Work around a loop: of its parent, or what stands in no loop. */
static double work_around(const Side *side, int loop)
{
    int parent = side->code->loops[loop].parent;
    return side->work[parent == NONE ? (int)side->code->loop_count : parent].all;
}

/* How many iterations of loop `from`, from which only `loop` was made, were peeled off. */
static double peeled(const Side *side, int loop, const Side *other, int from)
{
    double more = work_around(side, loop) - work_around(other, from);
    return other->work[from].all && more > 0 ? more / other->work[from].all : 0;
}

/* Shares the iterations of loop `from` of the other version among the loops made from it. The one that was unrolled most
 * does its work, except for half of what one of its iterations does. That half is done by those beside it, and by
 * those that were peeled off. If none was unrolled, they share it evenly. */
static void share_iterations(Side *side, const Side *other, int from)
{
    unsigned most = 0, loops = 0;
    int last = NONE;
    for (size_t i = 0; i < side->code->loop_count; i++) {
        if (side->mate[i] == from && side->copies[i] > most)
            most = side->copies[i];
        loops += side->mate[i] == from;
        last = side->mate[i] == from ? (int)i : last;
    }
    if (last == NONE)
        return;
    double all = other->iterations[from], rest = loops > 1 ? (most - 1) / 2.0 : peeled(side, last, other, from);
    rest = rest < all / 2 ? rest : all / 2;
    for (size_t i = 0; i < side->code->loop_count && !most && loops > 1; i++)
        if (side->mate[i] == from)
            side->iterations[i] = all / loops;
    for (size_t i = 0; i < side->code->loop_count && most; i++) {
        unsigned copies = side->copies[i] ? side->copies[i] : 1;
        if (side->mate[i] == from)
            side->iterations[i] = copies == most ? (all - rest) / most : rest / copies / (loops - 1);
    }
}

/* Whether a loop of `side` was made of this one of the other version. */
static bool is_original(const Side *side, size_t loop)
{
    bool is = false;
    for (size_t i = 0; i < side->code->loop_count; i++)
        is |= side->mate[i] == (int)loop;
    return is;
}

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
    unsigned kept[SASS_OPERATIONS], instructions;
} Gone;

static void add_gone(Gone *gone, const Work *work)
{
    for (int o = 0; o < SASS_OPERATIONS; o++)
        gone->kept[o] += work->kept[o];
    gone->instructions += work->instructions > LOOP_OVERHEAD ? work->instructions - LOOP_OVERHEAD : 1;
}

/* How many copies of the loop the other version has, if all that are gone at its place have as many. What every copy keeps is counted
 * or, if there is nothing of the kind, all instructions. */
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
        body = gone->instructions;
    }
    return more / (times * body);
}

/* By place: what is gone there, NULL where nothing is. */
static Gone **list_gone(Arena *arena, Side *side, const Side *other)
{
    size_t count = side->code->loop_count;
    Gone **gone = arena_array(arena, Gone *, count + 1);
    for (size_t i = 0; i < count; i++)
        side->gone[i] = side->mate[i] == NONE && !is_original(other, i);
    for (size_t i = 0; i < count; i++) {
        size_t place = place_of(side, i);
        if (!side->gone[i])
            continue;
        gone[place] = gone[place] ? gone[place] : arena_array(arena, Gone, 1);
        add_gone(gone[place], &side->work[i]);
    }
    return gone;
}

/* Sets the iterations of a loop that is gone in `other`, where its work stands in a row. Those of loops around it, which are gone
 * too, are known. */
static void count_copies(Side *side, const Side *other, size_t loop, const Gone *gone)
{
    double copies = copies_of(side, other, loop, gone);
    int around = side->code->loops[loop].parent;
    if (copies < 2)
        return;
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

static int count_unrolled(const Side *old, const Side *new)
{
    int count = 0;
    for (size_t i = 0; i < new->code->loop_count; i++)
        count += new->copies[i] > 0;
    for (size_t i = 0; i < old->code->loop_count; i++)
        count += old->iterations[i] != LOOP_ITERATIONS && !old->copies[i] && old->mate[i] == NONE;
    return count;
}

/* Twins do the same and run as often; what is neither one nor new was remade, with all that is inside of it. */
static void note_twins(const Side *side, const Side *other, int *twin, bool *remade)
{
    const SassLoop *loops = side->code->loops;
    for (size_t i = side->code->loop_count; i-- > 0;) {
        int mate = side->mate[i];
        double usual = loops[i].gathers ? 1 : LOOP_ITERATIONS;
        bool is_twin = mate >= 0 && other->mate[mate] == (int)i && !side->copies[i] && !other->copies[mate] &&
                       side->iterations[i] == usual && other->iterations[mate] == usual;
        twin[i] = is_twin ? mate : NONE;
        remade[i] = !is_twin && (mate >= 0 || is_original(other, i) || side->iterations[i] != usual);
    }
    for (size_t i = 0; i < side->code->loop_count; i++)
        for (int around = loops[i].parent; around != NONE; around = loops[around].parent)
            remade[i] |= remade[around];
}

static int match_parts(const SassCode *before, const SassCode *after, Iterations *old_loops, size_t p,
                       Iterations *new_loops, size_t q)
{
    Arena arena = {0};
    Side old = make_side(&arena, before, old_loops, p), new = make_side(&arena, after, new_loops, q);
    pair_loops(&old, &new, same_code);
    pair_loops(&old, &new, nearly_same);
    pair_as_many(&old, &new, same_code);
    pair_as_many(&old, &new, nearly_same);
    pair_loops(&old, &new, same_work_alike);
    pair_loops(&old, &new, mostly_same);
    pair_as_many(&old, &new, mostly_same);
    pair_loops(&old, &new, same_work);
    pair_loops(&old, &new, alike_once);
    pair_places(&old, &new);
    find_rests(&new, &old, true);
    find_rests(&old, &new, true);
    find_unrolled(&new, &old);
    find_unrolled(&old, &new);
    pair_parents(&old, &new);
    find_rests(&new, &old, false);
    find_rests(&old, &new, false);
    for (size_t i = 0; i < before->loop_count; i++)
        share_iterations(&new, &old, (int)i);
    for (size_t i = 0; i < after->loop_count; i++)
        share_iterations(&old, &new, (int)i);
    count_all_copies(&arena, &old, &new);
    count_all_copies(&arena, &new, &old);
    note_twins(&old, &new, old_loops->twin[p], old_loops->remade[p]);
    note_twins(&new, &old, new_loops->twin[q], new_loops->remade[q]);
    int count = count_unrolled(&old, &new);
    arena_free(&arena);
    return count;
}

int unroll_match(const Unit *before, const Unit *after, Iterations *old, Iterations *new)
{
    int count = 0;
    for (size_t p = 0; p < before->count; p++) {
        size_t k = unit_same_part(before, after, p);
        count += k < after->count ? match_parts(&before->code[p], &after->code[k], old, p, new, k) : 0;
    }
    return count;
}
