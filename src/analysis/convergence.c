#include "analysis/convergence.h"

#include "base/sorted.h"

/* ---- snapshot -------------------------------------------------------------------------------------------------- */

/* Convergent instructions of the reachable blocks. */
static u32 count_convergent(Analyses *an)
{
    u32 n = 0;
    for (u32 p = 0; p < an_order(an)->count; p++)
        for_each_instr(i, an_order(an)->rpo[p])
            n += instr_is_convergent(i, an->summaries);
    return n;
}

/* Appends the branches that b depends on, and takes their number from the budget; false: there are more than that. */
static bool add_branches(Analyses *an, const Block *b, VecU32 *out, u32 *budget)
{
    BlockVec on = {0};
    u32 from = out->n;
    if (*budget > 0)
        control_closure(an_control(an), b, &on);
    bool within = *budget > on.n;
    *budget = within ? *budget - on.n : 0;
    for (u32 k = 0; within && k < on.n; k++) {
        const Instr *end = block_terminator(on.v[k]);
        if (end)
            origin_sources(an->fn, end->origin, out);
    }
    sorted_make(out, from);
    vec_free(&on);
    return within;
}

static void snapshot_uniform(Convergence *c, Analyses *an)
{
    VecU32 divergent = {0};
    for (u32 p = 0; p < an_order(an)->count; p++) {
        const Block *b = an_order(an)->rpo[p];
        const Instr *end = block_terminator(b);
        if (end)
            vec_push(bitset_has(&an_uniform(an)->branch_warp, b->id) ? &c->uniform : &divergent, end->origin);
    }
    sorted_make(&c->uniform, 0);
    sorted_make(&divergent, 0);
    u32 kept = 0; /* a branch with several copies is uniform if all of them are */
    for (u32 k = 0; k < c->uniform.n; k++)
        if (!sorted_has(divergent.v, divergent.n, c->uniform.v[k]))
            c->uniform.v[kept++] = c->uniform.v[k];
    c->uniform.n = kept;
    vec_free(&divergent);
}

static int compare_origins(const void *a, const void *b)
{
    return sorted_compare(&((const ConvergentInstr *)a)->origin, &((const ConvergentInstr *)b)->origin);
}

static u32 depth_of(Analyses *an, const Block *b)
{
    const Loop *loop = loop_of(an_loops(an), b);
    return loop ? loop->depth : 0;
}

/* Makes one entry of all copies of one instruction: it depends on the branches of any copy. */
static void merge_instances(Convergence *c)
{
    u32 kept = 0;
    qsort(c->v, c->n, sizeof *c->v, compare_origins);
    for (u32 k = 0; k < c->n; k++) {
        ConvergentInstr *last = kept ? &c->v[kept - 1] : NULL;
        if (!last || last->origin != c->v[k].origin) {
            c->v[kept++] = c->v[k];
            continue;
        }
        u32 first = c->branches.n;
        for (u32 e = 0; e < last->n + c->v[k].n; e++) {
            u32 origin = c->branches.v[e < last->n ? last->first + e : c->v[k].first + e - last->n];
            vec_push(&c->branches, origin);
        }
        sorted_make(&c->branches, first);
        *last = (ConvergentInstr){last->origin,
                                  last->instances + 1,
                                  first,
                                  c->branches.n - first,
                                  last->guarded || c->v[k].guarded,
                                  last->unchecked || c->v[k].unchecked,
                                  last->depth < c->v[k].depth ? last->depth : c->v[k].depth};
    }
    c->n = kept;
}

Convergence *convergence_snapshot(Arena *arena, Analyses *an)
{
    Convergence *c = arena_new(arena, Convergence);
    c->irreducible = an_loops(an)->irreducible;
    c->origins = an->fn->edits.origins;
    u32 convergent = count_convergent(an), budget = CONVERGENCE_LIMIT;
    if (!convergent)
        return c;
    snapshot_uniform(c, an);
    c->v = arena_array(arena, ConvergentInstr, convergent);
    const bool *tangled = an_postdom(an)->tangled;
    for (u32 p = 0; p < an_order(an)->count; p++) {
        const Block *b = an_order(an)->rpo[p];
        u32 first = c->branches.n, n = UINT32_MAX; /* where the block's branches begin, and their number once it is known */
        bool within = true;
        for_each_instr(i, b) {
            if (!instr_is_convergent(i, an->summaries))
                continue;
            if (n == UINT32_MAX) {
                within = add_branches(an, b, &c->branches, &budget) && !(tangled && tangled[b->id]);
                n = c->branches.n - first;
            }
            c->v[c->n++] = (ConvergentInstr){i->origin, 1, first, n, i->guard != 0, !within, depth_of(an, b)};
        }
    }
    merge_instances(c);
    for (u32 k = 0; k < c->n; k++)
        c->unchecked += c->v[k].unchecked;
    return c;
}

void convergence_free(Convergence *snapshot)
{
    vec_free(&snapshot->branches);
    vec_free(&snapshot->uniform);
}

/* ---- comparison ------------------------------------------------------------------------------------------------ */

typedef struct Comparison {
    const Convergence *before;
    Analyses *an;
    Arena *arena;
    u32 *instances;     /* number of copies after the phase, by entry of the snapshot */
    const Block **last; /* the block of the last copy, likewise */
    u32 budget;
    const char *wrong;
} Comparison;

static void complain(Comparison *c, const Instr *i, const char *what)
{
    c->wrong =
        arena_printf(c->arena, "block %u: the convergent instruction '%s' %s", i->block->id, i->op->text->text, what);
}

static ConvergentInstr *find_before(const Comparison *c, const Instr *i)
{
    ConvergentInstr key = {.origin = i->origin};
    return c->before->n ? bsearch(&key, c->before->v, c->before->n, sizeof key, compare_origins) : NULL;
}

static bool is_new_and_uniform(Comparison *c, const Block *branch, u32 origin)
{
    if (origin <= c->before->origins)
        return false;
    return bitset_has(&an_uniform(c->an)->branch_warp, branch->id);
}

/* The first origin of the branch that ends the block `branch` on which the instruction did not depend before; 0: none. */
static u32 forbidden_origin(Comparison *c, const ConvergentInstr *before, const Block *branch, u32 *counted)
{
    const Convergence *b = c->before;
    const Instr *end = block_terminator(branch);
    bool was_uniform = end && sorted_has(b->uniform.v, b->uniform.n, end->origin); /* as a whole, if it stands for others */
    VecU32 origins = {0};
    u32 forbidden = 0;
    if (end)
        origin_sources(c->an->fn, end->origin, &origins);
    for (u32 k = 0; k < origins.n && !forbidden; k++) {
        u32 origin = origins.v[k];
        if (sorted_has(b->branches.v + before->first, before->n, origin))
            ++*counted;
        else if (!was_uniform && !sorted_has(b->uniform.v, b->uniform.n, origin) && !is_new_and_uniform(c, branch, origin))
            forbidden = origin;
    }
    vec_free(&origins);
    return forbidden;
}

static void compare_branches(Comparison *c, const Instr *i, const ConvergentInstr *before)
{
    BlockVec on = {0};
    u32 counted = 0;
    control_closure(an_control(c->an), i->block, &on);
    c->budget = c->budget > on.n ? c->budget - on.n : 0;
    for (u32 k = 0; k < on.n && !c->wrong; k++)
        if (forbidden_origin(c, before, on.v[k], &counted))
            complain(c, i, arena_printf(c->arena, "now depends on the branch at the end of block %u", on.v[k]->id));
    if (i->guard && !before->guarded && counted >= before->n && !c->wrong)
        complain(c, i, "has got a guard");
    vec_free(&on);
}

/* Whether each thread that executes a goes on to b, and has come to b by a only. Both are executed together or not at all. */
static bool follows(Analyses *an, const Block *a, const Block *b)
{
    return a == b || (dominates(an_dom(an), a, b) && dominates(an_postdom(an), b, a) &&
                      loop_of(an_loops(an), a) == loop_of(an_loops(an), b));
}

/* Copies that follow one another on one path are iterations of a loop that was written out. No thread is at one while
 * others of its group are at another. */
static void count_instance(Comparison *c, const Instr *i)
{
    const ConvergentInstr *before = find_before(c, i);
    if (!before) {
        complain(c, i, "was not there before");
        return;
    }
    u32 k = (u32)(before - c->before->v);
    bool written_out = depth_of(c->an, i->block) < before->depth;
    if (++c->instances[k] > before->instances && !(written_out && follows(c->an, c->last[k], i->block)))
        complain(c, i, "was duplicated");
    c->last[k] = i->block;
}

static void compare_instr(Comparison *c, const Instr *i)
{
    const ConvergentInstr *before = find_before(c, i);
    if (!before->unchecked && c->budget > 0)
        compare_branches(c, i, before);
}

static void for_each_convergent(Comparison *c, void (*visit)(Comparison *, const Instr *))
{
    for (u32 p = 0; p < an_order(c->an)->count; p++)
        for_each_instr(i, an_order(c->an)->rpo[p])
            if (!c->wrong && instr_is_convergent(i, c->an->summaries))
                visit(c, i);
}

const char *convergence_compare(const Convergence *before, Analyses *an, Arena *arena)
{
    Comparison c = {.before = before, .an = an, .arena = arena, .budget = CONVERGENCE_LIMIT};
    if (an_loops(an)->irreducible > before->irreducible)
        return arena_printf(arena, "%u irreducible regions instead of %u", an_loops(an)->irreducible, before->irreducible);
    if (count_convergent(an) == 0)
        return NULL;
    c.instances = arena_array(arena, u32, before->n);
    c.last = arena_array(arena, const Block *, before->n);
    for_each_convergent(&c, count_instance)
        ;
    if (!c.wrong) {
        for_each_convergent(&c, compare_instr)
            ;
    }
    return c.wrong;
}
