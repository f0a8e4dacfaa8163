#include <string.h>

#include "judge/machine/unroll_inside.h"

/* The classes that unrolling multiplies, and that other changes seldom touch. */
static const SassClass work_classes[] = {SASS_FMA, SASS_MMA, SASS_LD,  SASS_ST,     SASS_LDG, SASS_STG,
                                         SASS_LDS, SASS_STS, SASS_BAR, SASS_LDGSTS, SASS_ATOM};

enum { FIRST_ACCESS = 1 };
_Static_assert(sizeof work_classes / sizeof *work_classes == WORK_CLASSES, "one count a class");

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

static Side make_side(Arena *arena, const SassCode *code, Iterations *iterations, size_t part, int first)
{
    size_t count = code->loop_count;
    Side side = {code,
                 iterations->of[part],
                 iterations->rounds[part],
                 arena_array(arena, Work, count + 1),
                 arena_array(arena, int, count),
                 arena_array(arena, unsigned, count),
                 arena_array(arena, bool, count),
                 first,
                 arena_array(arena, int, count),
                 arena_array(arena, double, count),
                 arena_array(arena, int, count),
                 arena_array(arena, double, count)};
    for (size_t l = 0; l <= count; l++) {
        side.work[l].operations = arena_array(arena, uint16_t, SASS_OPERATIONS);
        side.work[l].kept = arena_array(arena, uint16_t, SASS_OPERATIONS);
    }
    for (size_t l = 0; l < count; l++) {
        side.beside[l] = NONE;
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

/* How many per cent of the larger loop's operations the other loop has as well. */
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

/* In another depth, what holds loops does not become what holds none. */
static bool mostly_same_nest(const Work *a, const Work *b) { return mostly_same(a, b) && !a->inner == !b->inner; }

static bool same_work(const Work *a, const Work *b) { return a->all > 0 && memcmp(a->of, b->of, sizeof a->of) == 0; }

/* The same accesses, barriers and matrix products. Without a test inside, a product and a sum may have become one operation. */
static bool same_accesses(const Work *a, const Work *b)
{
    unsigned all = 0;
    for (int c = FIRST_ACCESS; c < WORK_CLASSES; c++) {
        if (a->of[c] != b->of[c])
            return false;
        all += a->of[c];
    }
    return all > 0;
}

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

/* How many copies of the accesses of `one` make those of `many`, exactly; 0 where it is no multiple. */
static unsigned multiple_of_accesses(const Work *one, const Work *many)
{
    unsigned copies = 0;
    for (int c = FIRST_ACCESS; c < WORK_CLASSES && !copies; c++)
        copies = one->of[c] ? many->of[c] / one->of[c] : 0;
    for (int c = FIRST_ACCESS; c < WORK_CLASSES; c++)
        if (many->of[c] != copies * one->of[c])
            return 0;
    return copies >= 2 && !many->inner ? copies : 0;
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

static unsigned copies_in(const Work *one, const Work *many)
{
    unsigned copies = multiple(one, many);
    return copies ? copies : multiple_of_accesses(one, many);
}

/* One of the two is the other one without its tests: it does nothing else, and at least half of it, but not as copies. */
static bool same_without_tests(const Work *a, const Work *b)
{
    const Work *less = a->size < b->size ? a : b, *more = a->size < b->size ? b : a;
    unsigned shared = 0;
    if (a->inner || b->inner || 2 * less->size < more->size || !a->all != !b->all)
        return false;
    for (int c = FIRST_ACCESS; c < WORK_CLASSES; c++)
        if (less->of[c] > more->of[c] || 2 * less->of[c] < more->of[c])
            return false;
    for (int o = 0; o < SASS_OPERATIONS; o++)
        shared += less->operations[o] < more->operations[o] ? less->operations[o] : more->operations[o];
    return 4 * shared >= 3 * less->size && !copies_in(less, more);
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

/* Whether a loop has a mate, or was made of one, or one of it. */
static bool is_known(const Side *side, const Side *other, size_t loop)
{
    return side->mate[loop] != NONE || side->beside[loop] != NONE || unroll_is_original(other, loop);
}

/* The only loop in a place that has no mate, and of which none was made; NONE: there is none, or more than one. */
static int only_one_left(const Side *side, const Side *other, int place)
{
    int only = NONE;
    for (size_t i = 0; i < side->code->loop_count; i++)
        if (side->code->loops[i].parent == place && !is_known(side, other, i)) {
            if (only != NONE)
                return NONE;
            only = (int)i;
        }
    return only;
}

/* The only loops that are left in the same place of both versions go together, unless one is a multiple of the other. */
static void pair_last(Side *old, Side *new)
{
    for (int place = NONE; place < (int)old->code->loop_count; place++) {
        int same = place == NONE ? NONE : old->mate[place];
        if (place != NONE && (same < 0 || new->mate[same] != place))
            continue;
        int was = only_one_left(old, new, place), is = only_one_left(new, old, same);
        if (was != NONE && is != NONE && !multiple(&old->work[was], &new->work[is]) &&
            !multiple(&new->work[is], &old->work[was])) {
            old->mate[was] = is;
            new->mate[is] = was;
        }
    }
}

/* How many loops directly inside `loop` go together with one directly inside `twin`. */
static unsigned count_pairs_inside(const Side *side, int loop, const Side *other, int twin)
{
    unsigned count = 0;
    for (size_t i = 0; i < side->code->loop_count; i++)
        if (side->code->loops[i].parent == loop && side->mate[i] >= 0 && other->mate[side->mate[i]] == (int)i)
            count += other->code->loops[side->mate[i]].parent == twin;
    return count;
}

/* The loop of the same depth without a mate that has most in common with this one in what stands inside; NONE: nothing has. */
static int most_pairs_inside(const Side *side, int loop, const Side *other)
{
    int best = NONE;
    unsigned most = 0;
    for (size_t k = 0; k < other->code->loop_count; k++) {
        bool may =
            other->mate[k] == NONE && other->work[k].inner && other->code->loops[k].depth == side->code->loops[loop].depth;
        unsigned count = may ? count_pairs_inside(side, loop, other, (int)k) : 0;
        if (count > most) {
            most = count;
            best = (int)k;
        }
    }
    return best;
}

/* The loops around those that go together do so too: what stands in one beside the inner loops may have changed. */
static void pair_parents(Side *old, Side *new)
{
    for (size_t i = old->code->loop_count; i-- > 0;) {
        int best = old->mate[i] == NONE && old->work[i].inner ? most_pairs_inside(old, (int)i, new) : NONE;
        if (best != NONE && most_pairs_inside(new, best, old) == (int)i) {
            old->mate[i] = best;
            new->mate[best] = (int)i;
        }
    }
}

/* Loops of `side` without a mate that are multiples of a loop of the other version. */
static void find_unrolled(Side *side, Side *other, unsigned (*times)(const Work *one, const Work *many))
{
    for (size_t i = 0; i < side->code->loop_count; i++) {
        for (size_t k = 0; k < other->code->loop_count && side->mate[i] == NONE && !side->copies[i]; k++) {
            unsigned copies = times(&other->work[k], &side->work[i]);
            if (!copies || other->code->loops[k].depth != side->code->loops[i].depth || other->mate[k] == ALONE)
                continue;
            side->copies[i] = copies;
            side->mate[i] = (int)k;
        }
    }
}

/* Whether a loop was made of `inner` of the other version, in one made of the loop around that. */
static bool is_in_place(const Side *side, const Side *other, size_t loop, int inner)
{
    int around = side->code->loops[loop].parent, from = other->code->loops[inner].parent;
    return side->mate[loop] == inner && around != NONE && from != NONE && side->mate[around] == from;
}

/* Loops that are not known, around a copy of a loop of which there is another copy in its place: the whole nest was copied. */
static void find_copies_around(Side *side, const Side *other)
{
    const SassLoop *loops = side->code->loops;
    for (size_t i = side->code->loop_count; i-- > 0;) {
        int around = loops[i].parent, from = side->mate[i] < 0 ? NONE : other->code->loops[side->mate[i]].parent;
        if (around == NONE || from == NONE || is_known(side, other, around) ||
            loops[around].depth != other->code->loops[from].depth)
            continue;
        for (size_t k = 0; k < side->code->loop_count && side->mate[around] == NONE; k++)
            if (is_in_place(side, other, k, side->mate[i]))
                side->mate[around] = from;
    }
}

/* How often `other` does the work of `one`: once, several times or a part of one time; 0: it does something else. */
static double parts_of(const Work *one, const Work *other)
{
    unsigned copies = copies_in(one, other), inverse = copies_in(other, one);
    return copies ? copies : inverse ? 1.0 / inverse : same_work(one, other) || same_accesses(one, other);
}

/* Loops that are not known, beside one that is and that does the same, several times or a part of it. */
static void find_copies_beside(Side *side, const Side *other)
{
    const SassLoop *loops = side->code->loops;
    for (size_t i = 0; i < side->code->loop_count; i++) {
        bool known = is_known(side, other, i);
        for (size_t k = 0; k < side->code->loop_count && !known; k++) {
            if (loops[k].parent != loops[i].parent || side->work[i].inner || side->work[k].inner ||
                side->mate[k] == ALONE || !is_known(side, other, k))
                continue;
            side->part[i] = parts_of(&side->work[k], &side->work[i]);
            known = side->part[i] > 0;
            side->beside[i] = known ? (int)k : NONE;
        }
    }
}

/* Whether a loop beside this one was made of loop `from` of the other version. */
static bool is_beside_mate(const Side *side, size_t loop, int from)
{
    bool is = false;
    for (size_t i = 0; i < side->code->loop_count; i++)
        is |= side->mate[i] == from && side->code->loops[i].parent == side->code->loops[loop].parent;
    return is;
}

/* Finds loops of `side` without a mate that do the work of a loop of the other version, whose mate leaves it to them. ptxas leaves a
 * loop for what remains of an unrolled one, and a loop may have been copied. `beside`: only those beside that mate. These
 * are asked about first. Of several that may be meant elsewhere, it is the one that has none of its own there. */
static void find_rests(Side *side, const Side *other, bool beside, bool (*same)(const Work *a, const Work *b))
{
    const SassLoop *loops = side->code->loops;
    for (size_t i = 0; i < side->code->loop_count; i++)
        for (size_t step = 0; step < 2 * side->code->loop_count && side->mate[i] == NONE; step++) {
            size_t k = step % side->code->loop_count;
            int from = side->mate[k];
            bool near = beside ? loops[k].parent == loops[i].parent : loops[k].depth == loops[i].depth;
            if (from >= 0 && near && same(&other->work[from], &side->work[i]) &&
                (beside || step >= side->code->loop_count || !is_beside_mate(side, i, from)))
                side->mate[i] = from;
        }
}

static double most_units(const Side *side, int family)
{
    double most = 1;
    for (size_t i = 0; i < side->code->loop_count; i++)
        if (side->family[i] == family && side->units[i] > most)
            most = side->units[i];
    return most;
}

static int count_unrolled(const Side *old, const Side *new)
{
    int count = 0;
    for (size_t i = 0; i < new->code->loop_count; i++)
        count += new->units[i] > most_units(old, new->family[i]);
    for (size_t i = 0; i < old->code->loop_count; i++)
        count += old->gone[i] && old->rounds[i] > 1;
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
        remade[i] =
            !is_twin && (mate >= 0 || side->beside[i] != NONE || unroll_is_original(other, i) || side->rounds[i] > 1);
    }
    for (size_t i = 0; i < side->code->loop_count; i++)
        for (int around = loops[i].parent; around != NONE; around = loops[around].parent)
            remade[i] |= remade[around];
}

static void find_rests_in_both(Side *old, Side *new, bool beside, bool (*same)(const Work *a, const Work *b))
{
    find_rests(new, old, beside, same);
    find_rests(old, new, beside, same);
}

static void find_unrolled_in_both(Side *old, Side *new, unsigned (*times)(const Work *one, const Work *many))
{
    find_unrolled(new, old, times);
    find_unrolled(old, new, times);
}

/* Matches the loops of one part of the code, the surest pairs first: what an earlier rule has paired, later ones pass over. */
static int match_parts(const SassCode *before, const SassCode *after, Iterations *old_loops, size_t p,
                       Iterations *new_loops, size_t q)
{
    Arena arena = {0};
    Side old = make_side(&arena, before, old_loops, p, 0);
    Side new = make_side(&arena, after, new_loops, q, (int)before->loop_count);
    pair_loops(&old, &new, same_code);
    pair_loops(&old, &new, nearly_same);
    pair_as_many(&old, &new, same_code);
    pair_as_many(&old, &new, nearly_same);
    pair_loops(&old, &new, same_work_alike);
    pair_loops(&old, &new, mostly_same);
    pair_as_many(&old, &new, mostly_same_nest);
    pair_loops(&old, &new, same_work);
    pair_loops(&old, &new, alike_once);
    pair_places(&old, &new);
    find_rests_in_both(&old, &new, true, same_work);
    find_rests_in_both(&old, &new, false, same_work_alike);
    find_unrolled_in_both(&old, &new, multiple);
    pair_parents(&old, &new);
    find_rests_in_both(&old, &new, false, same_work);
    find_rests_in_both(&old, &new, true, same_accesses);
    find_unrolled_in_both(&old, &new, multiple_of_accesses);
    find_rests_in_both(&old, &new, true, same_without_tests);
    find_copies_around(&new, &old);
    find_copies_around(&old, &new);
    find_copies_beside(&new, &old);
    find_copies_beside(&old, &new);
    pair_last(&old, &new);
    unroll_share(&arena, &old, &new);
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
