#include "transform/groups.h"

#include "analysis/reconverge.h"
#include "ir/inspect.h"

static bool ends_in_table(const Block *b)
{
    const Instr *end = block_terminator(b);
    return end && branch_table(end);
}

BitSet groups_find(Analyses *an)
{
    BitSet tables = {0};
    ReconvergeGate *gate = NULL;
    for_each_block(b, an->fn) {
        if (!ends_in_table(b))
            continue;
        gate = gate ? gate : reconverge_new(an->scratch, an);
        if (!reconverge_matters(gate))
            break;
        if (uniform_has(&an_uniform(an)->branch_warp, b->id) || reconverge_joins(gate, b) == RECONVERGE_SAFE)
            continue;
        if (!tables.bits)
            tables = bitset_new(an->scratch, an->fn->edits.origins + 1);
        bitset_add(&tables, block_terminator(b)->origin);
    }
    if (gate)
        reconverge_free(gate);
    return tables;
}

bool groups_divided_by(const BitSet *tables, const Block *b)
{
    return tables->bits && ends_in_table(b) && bitset_has(tables, block_terminator(b)->origin);
}
