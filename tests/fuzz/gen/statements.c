#include "gen.h"

typedef struct StatementRow {
    Statement *write;
    u32 weight;
    u32 feature; /* GEN_FEATURES: none */
    bool flow;   /* has statements or branches inside */
} StatementRow;

static const StatementRow statement_row[] = {
    {statement_if, 14, GEN_FEATURES, true},
    {statement_short_circuit, 8, GEN_SHORT, true},
    {statement_correlated, 9, GEN_CORRELATED, true},
    {statement_switch, 9, GEN_SWITCH, true},
    {statement_nested_switch, 3, GEN_SWITCH, true},
    {statement_state, 4, GEN_STATE, true},
    {statement_select, 4, GEN_STATE, true},
    {statement_loop, 10, GEN_LOOP, true},
    {statement_loop_exit, 8, GEN_LOOP, true},
    {statement_checked_loop, 7, GEN_LOOP, true},
    {statement_checked_barrier, 4, GEN_BARRIER, true},
    {statement_strided_loop, 3, GEN_LOOP, true},
    {statement_divided_loop, 8, GEN_DIVISION, true},
    {statement_wrapping_stride, 4, GEN_LOOP, false},
    {statement_shifted_loop, 3, GEN_LOOP, false},
    {statement_version, 10, GEN_VERSION, true},
    {statement_ranged, 10, GEN_RANGE, true},
    {statement_adjoining, 10, GEN_ADJOINING, true},
    {statement_barrier, 4, GEN_BARRIER, false},
    {statement_shared, 12, GEN_BARRIER, false},
    {statement_guarded_accesses, 3, GEN_BARRIER, false},
    {statement_split_barrier, 2, GEN_SPLIT_BARRIER, true},
    {statement_warp, 7, GEN_WARP, true},
    {statement_sub_warp, 3, GEN_WARP, true},
    {statement_warp_exchange, 4, GEN_WARP, false},
    {statement_scope, 6, GEN_SCOPE, true},
    {statement_call, 4, GEN_CALL, false},
    {statement_bounds_check, 4, GEN_MEMORY, true},
    {statement_unreachable, 3, GEN_UNREACHABLE, true},
    {statement_jump_cycle, 2, GEN_JUMPS, true},
    {statement_irreducible, 1, GEN_IRREDUCIBLE, true},
    {statement_carry_blocks, 2, GEN_CARRY, true},
    {statement_local, 10, GEN_LOCAL, false},
    {statement_return, 2, GEN_RETURN, true},
    {statement_spin, 6, GEN_SPIN, true},
    {statement_leave, 4, GEN_LEAVE, true},
    {statement_partner, 4, GEN_PARTNER, true},
    {statement_observe, 4, GEN_SEEN, false},
    {statement_seen, 6, GEN_SEEN, true},
    {statement_seen_switch, 4, GEN_SEEN, true},
    {statement_uniform_chain, 4, GEN_UNIFORM_CHAIN, true},
    {statement_warp_call, 3, GEN_WARP_CALL, false},
    {statement_wait_call, 5, GEN_WAIT_CALL, true},
    {statement_masks, 4, GEN_MASKS, true},
    {carry_chain, 4, GEN_CARRY, false},
    {address_group, 4, GEN_ADDRESS, false},
    {uniform_update, 5, GEN_FEATURES, false},
};

enum { DEPTH_MAX = 5 };

static Statement *pick_statement(Gen *g)
{
    for (u32 tries = 0; tries < 20; tries++) {
        const StatementRow *row = &statement_row[below(g, COUNT_OF(statement_row))];
        if (row->feature < GEN_FEATURES && !has(g, row->feature))
            continue;
        if (row->flow && (g->depth >= DEPTH_MAX || g->budget <= 0))
            continue;
        if (below(g, 14) < row->weight)
            return row->write;
    }
    return NULL;
}

void statements(Gen *g, u32 n)
{
    for (u32 i = 0; i < n; i++) {
        g->budget--;
        Statement *write = percent(g, 25) ? NULL : pick_statement(g);
        if (write)
            write(g);
        else
            straight_line(g, 1 + below(g, 4));
    }
}
