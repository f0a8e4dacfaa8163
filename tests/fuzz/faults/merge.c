#include "merge.h"

#include <string.h>

#include "ir/cfg.h"
#include "ir/edit.h"

bool block_holds(const Block *b, bool (*kind)(const Instr *i))
{
    for_each_instr(i, b)
        if (i->kind == INSTR_OP && kind(i))
            return true;
    return false;
}

static bool search(const Block *b, bool (*kind)(const Instr *i), u32 steps)
{
    for (u32 edge = 0; edge < block_edge_count(b); edge++) {
        const Block *next = block_edge_target(b, edge);
        if (block_holds(next, kind) || (steps > 1 && search(next, kind, steps - 1)))
            return true;
    }
    return false;
}

bool leads_to(const Block *b, bool (*kind)(const Instr *i)) { return search(b, kind, 4); }

static bool same_guard(const Instr *a, const Instr *b) { return a->guard == b->guard && a->guard_not == b->guard_not; }

bool merge_same_work(const Instr *a, const Instr *b)
{
    return a->op == b->op && a->slots == b->slots && same_guard(a, b) &&
           memcmp(a->opnd, b->opnd, a->slots * sizeof *a->opnd) == 0;
}

/* Conditional ends that lead to the same blocks in the same order. */
static bool same_end(const Block *a, const Block *b)
{
    const Instr *x = block_terminator(a), *y = block_terminator(b);
    if (!x || !y || x->op != y->op || !same_guard(x, y) || !a->fall != !b->fall ||
        block_edge_count(a) != block_edge_count(b))
        return false;
    if (branch_table(x) && (x->opnd[0].kind != OPND_REG || x->opnd[0].id != y->opnd[0].id))
        return false;
    for (u32 edge = 0; edge < block_edge_count(a); edge++)
        if (block_edge_target(a, edge) != block_edge_target(b, edge))
            return false;
    return true;
}

/* The first instruction of the longest end that a has in common with b; its terminator at the latest. */
static Instr *common_end(Block *a, Block *b)
{
    Instr *x = block_terminator(a), *y = block_terminator(b);
    while (x->prev && y->prev && x->prev->kind == INSTR_OP && merge_same_work(x->prev, y->prev)) {
        x = x->prev;
        y = y->prev;
    }
    return x;
}

static void merge(Block *a, Block *b)
{
    u32 n = 0;
    Instr *first = common_end(a, b);
    for (const Instr *i = first; i; i = i->next)
        n++;
    Block *end = first == a->first && !a->first->prev ? a : block_split_before(first);
    while (n--)
        instr_remove(b->last);
    block_set_fall(b, end);
}

PhaseResult merge_ends(Analyses *an, PhaseRun *run, MergeSite *site)
{
    Function *fn = an->fn;
    Block *last = fn->layout_last;
    bool changed = false;
    for (Block *a = fn->entry; a; a = a == last ? NULL : a->next)
        for (Block *b = a == last ? NULL : a->next; b; b = b == last ? NULL : b->next) {
            if (a->scope != b->scope || !same_end(a, b) || !site(a, b) || !phase_may_rewrite(run))
                continue;
            merge(b, a);
            changed = true;
            break;
        }
    return changed ? PHASE_CHANGED : PHASE_UNCHANGED;
}
