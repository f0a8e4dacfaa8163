#include "transform/groups.h"

#include "analysis/reconverge.h"
#include "ir/cfg.h"
#include "ir/inspect.h"

static bool ends_in_table(const Block *b)
{
    const Instr *end = block_terminator(b);
    return end && branch_table(end);
}

bool groups_matter(Arena *arena, Analyses *an)
{
    const Block *table = NULL;
    for_each_block(b, an->fn)
        if (ends_in_table(b))
            table = b;
    if (!table)
        return false;
    ReconvergeGate *gate = reconverge_new(arena, an);
    bool matter = reconverge_matters(gate);
    reconverge_free(gate);
    if (matter)
        an_compute(an, AN_UNIFORM);
    return matter;
}

bool groups_divided_by(Analyses *an, const Block *b)
{
    return ends_in_table(b) && !uniform_has(&an_uniform(an)->branch_warp, b->id);
}

bool groups_come_to(Analyses *an, const Block *b)
{
    CfgList preds = cfg_preds(an->fn, b);
    for (u32 k = 0; k < preds.n; k++)
        if (groups_divided_by(an, preds.v[k].block))
            return true;
    return false;
}
