#include "phase/tail/dependence.h"

#include <string.h>

#include "base/bound.h"
#include "base/sorted.h"

/* A block that depends on more branches counts as different from every other block. */
enum { BRANCHES_MAX = 1024 };

/* Lists, sorted, the blocks whose branches are not proven uniform and on which b transitively depends. False: there are too
 * many. */
static bool divergent_control(Analyses *an, const Block *b, VecU32 *ids)
{
    BlockVec blocks = {0};
    vec_clear(ids);
    bool all = control_closure_within(an_control(an), b, BRANCHES_MAX, &blocks);
    for (u32 k = 0; k < blocks.n; k++)
        if (!uniform_has(&an_uniform(an)->branch_warp, blocks.v[k]->id))
            vec_push(ids, blocks.v[k]->id);
    vec_free(&blocks);
    sorted_make(ids, 0);
    return WITHIN(BRANCHES_MAX, all);
}

static bool equal_ids(const VecU32 *a, const VecU32 *b)
{
    return a->n == b->n && (a->n == 0 || !memcmp(a->v, b->v, a->n * sizeof(u32)));
}

/* The class of b: 1 + the id of the first block that was found to depend on the same branches. If there is none, or the
 * branches are too many, it is 1 + the id of b. */
static u32 find_class(Dependence *d, const Block *b)
{
    const VecU32 *ids = &d->of[0];
    if (!divergent_control(d->an, b, &d->of[0]))
        return b->id + 1;
    for (u64 key = fnv1a((const char *)ids->v, ids->n * (u32)sizeof(u32));; key++) {
        u64 *first = fnvmap_at(&d->classes, key);
        if (!*first) {
            *first = b->id + 1;
            return b->id + 1;
        }
        divergent_control(d->an, fn_block(d->an->fn, (u32)*first - 1), &d->of[1]);
        if (equal_ids(ids, &d->of[1]))
            return (u32)*first;
    }
}

static u32 class_of_block(Dependence *d, const Block *b)
{
    if (!d->class)
        d->class = arena_array(d->an->scratch, u32, d->an->fn->blocks.n);
    if (!d->class[b->id])
        d->class[b->id] = find_class(d, b);
    return d->class[b->id];
}

bool dependence_alike(Dependence *d, const Block *a, const Block *b)
{
    return class_of_block(d, a) == class_of_block(d, b);
}

void dependence_free(Dependence *d)
{
    vec_free(&d->of[0]);
    vec_free(&d->of[1]);
    fnvmap_free(&d->classes);
}
