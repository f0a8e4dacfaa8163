/* Branches, calls, the ends of threads, barriers. */
#include "check/exec/decode.h"

#include <string.h>

/* ---- branches ------------------------------------------------------------------------------------------------- */

/* The lanes of s are about to diverge: they reconverge at c->flow.join, unless they do so already. */
static void push_join(Warp *w, Split *s, const Code *c)
{
    u32 join = c->flow.join[w->m->model];
    if (join == NO_PC || (s->join && s->join->pc == join && s->join->frame == s->frame))
        return;
    s->join = join_new(w, s->frame, join, s->mask, s->join);
}

static void run_branch(Warp *w, Split *s, const Code *c, u32 mask)
{
    Counters *count = w->m->count;
    if (c->guarded)
        count->branches++;
    else
        count->jumps++;
    if (mask == s->mask) {
        split_go(w, s, c->flow.target);
        return;
    }
    if (c->flow.fall_counted) {
        count->issued++;
        count->jumps++;
    }
    if (!mask) {
        split_go(w, s, c->flow.fall);
        return;
    }
    count->divergent++;
    if (c->action)
        finding_add(w->m, FIND_NONUNIFORM, "bra.uni", c, "the branch diverges");
    push_join(w, s, c);
    Split *other = split_new(w, s->mask & ~mask, c->flow.fall, s->frame, s->join);
    s->mask = mask;
    split_go(w, s, c->flow.target);
    split_go(w, other, c->flow.fall);
}

static bool decode_branch(Decoder *d)
{
    d->c->action = op_take_next(&d->op, "uni");
    d->c->flow.branches = true;
    d->c->run = run_branch;
    return d->opnds == 1;
}

/* `.uni` promises one index, not one target. */
static void check_uniform_index(Warp *w, const Code *c, const u64 *index, u32 mask)
{
    u32 first = mask ? (u32)index[__builtin_ctz(mask)] : 0;
    for_each_lane(lane, mask)
        if ((u32)index[lane] != first) {
            finding_add(w->m, FIND_NONUNIFORM, "brx.idx.uni", c, "the index differs between lanes");
            return;
        }
}

static void run_table_branch(Warp *w, Split *s, const Code *c, u32 mask)
{
    u64 buffer[LANES];
    u32 goes[LANES + 1] = {0}, pc[LANES + 1] = {0}, groups = 0, staying = s->mask & ~mask, left = mask;
    w->m->count->branches++;
    if (staying) {
        goes[groups] = staying;
        pc[groups++] = c->flow.fall;
    }
    const u64 *index = mask ? arg_fetch(w, s, c, &c->arg[0], mask, buffer) : buffer;
    if (c->action)
        check_uniform_index(w, c, index, mask);
    while (left) {
        u32 entry = (u32)index[__builtin_ctz(left)], group = 0;
        if (entry >= c->flow.entries) {
            finding_add(w->m, FIND_OUT_OF_BOUNDS, "brx.idx", c, "the index is beyond the table");
            machine_stop(w->m);
            return;
        }
        for_each_lane(lane, left)
            if ((u32)index[lane] < c->flow.entries && c->flow.table[(u32)index[lane]] == c->flow.table[entry])
                group |= 1u << lane;
        goes[groups] = group;
        pc[groups++] = c->flow.table[entry];
        left &= ~group;
    }
    if (groups == 1) {
        split_go(w, s, pc[0]);
        return;
    }
    w->m->count->divergent++;
    if (c->action && staying)
        finding_add(w->m, FIND_NONUNIFORM, "brx.idx.uni", c, "the branch diverges");
    push_join(w, s, c);
    Split *part[LANES + 1];
    s->mask = goes[0];
    part[0] = s;
    for (u32 i = 1; i < groups; i++)
        part[i] = split_new(w, goes[i], pc[i], s->frame, s->join);
    for (u32 i = 0; i < groups; i++)
        split_go(w, part[i], pc[i]);
}

static bool decode_table_branch(Decoder *d)
{
    if (!op_take_next(&d->op, "idx") || d->opnds != 2)
        return false;
    d->c->action = op_take_next(&d->op, "uni");
    decode_reserve(d, 0, 1);
    d->c->arg[0] = decode_source(d, d->opnd[0], elem_u32);
    d->c->flow.branches = true;
    d->c->run = run_table_branch;
    return true;
}

/* ---- ends ----------------------------------------------------------------------------------------------------- */

void run_return(Warp *w, Split *s, const Code *c, u32 mask)
{
    (void)c;
    split_return(w, s, mask);
}

static void run_exit(Warp *w, Split *s, const Code *c, u32 mask)
{
    (void)c;
    split_exit(w, s, mask);
}

static void run_trap(Warp *w, Split *s, const Code *c, u32 mask)
{
    (void)s;
    (void)mask;
    finding_add(w->m, FIND_TRAP, "trap", c, NULL);
    machine_stop(w->m);
}

static bool decode_ret(Decoder *d)
{
    op_take_next(&d->op, "uni");
    d->c->run = run_return;
    d->c->flow.ends = true;
    return true;
}
static bool decode_exit(Decoder *d)
{
    d->c->run = run_exit;
    d->c->flow.ends = true;
    return true;
}
static bool decode_trap(Decoder *d)
{
    d->c->run = run_trap;
    return true;
}

/* ---- calls ---------------------------------------------------------------------------------------------------- */

static void run_call(Warp *w, Split *s, const Code *c, u32 mask) { split_call(w, s, c, mask, c->callee); }

/* Runs an indirect call for the lanes that call the same function as the first one. The others execute the call again
 * when these are back. */
static void run_indirect_call(Warp *w, Split *s, const Code *c, u32 mask)
{
    u64 buffer[LANES];
    const Program *p = w->m->program;
    u32 group = 0;
    const u64 *address = arg_fetch(w, s, c, &c->arg[0], mask, buffer);
    u64 first = address[__builtin_ctz(mask)], index = (first - FUNCTION_ADDRESS(0)) / 16;
    if (first < FUNCTION_ADDRESS(0) || index >= p->functions.n || (first - FUNCTION_ADDRESS(0)) % 16 ||
        !p->functions.v[index]->decoded) {
        finding_add(w->m, FIND_BAD_CALL, "call", c, "the register holds no function");
        machine_stop(w->m);
        return;
    }
    for_each_lane(lane, mask)
        group |= (u32)(address[lane] == first) << lane;
    if (group != mask) {
        Join *after = join_new(w, s->frame, s->pc, s->mask, s->join);
        after->waiting = s->mask & ~mask;
        split_new(w, mask & ~group, s->pc - 1, s->frame, after);
        s->join = after;
        s->mask = group;
    }
    split_call(w, s, c, group, p->functions.v[index]);
}

static bool call_operands(Decoder *d, const Operand *list, Arg **args, u32 *count, bool is_result)
{
    const Operand *member[64];
    *count = decode_members(list, member, 64);
    if (*count > 64)
        return false;
    *args = arena_array(d->p->arena, Arg, *count + 1);
    for (u32 i = 0; i < *count; i++)
        (*args)[i] =
            is_result && member[i]->kind != OPND_SYM ? decode_result(d, member[i]) : decode_source(d, member[i], elem_b32);
    return true;
}

static bool decode_call(Decoder *d)
{
    Code *c = d->c;
    op_take_next(&d->op, "uni");
    if (d->opnds < 3 || d->opnds > 4)
        return false;
    CallShape *shape = arena_new(d->p->arena, CallShape);
    if (!call_operands(d, d->opnd[0], &shape->out, &shape->outs, true) ||
        !call_operands(d, d->opnd[2], &shape->in, &shape->ins, false))
        return false;
    c->call = shape;
    decode_reserve(d, 0, 1);
    SymId callee = call_callee(d->i);
    if (!callee) {
        c->arg[0] = decode_source(d, d->opnd[1], elem_b64);
        c->run = run_indirect_call;
        return true;
    }
    const char *name = d->p->module->syms.v[callee].name->text;
    c->callee = program_function(d->p, name);
    c->run = run_call;
    if (c->callee)
        return true;
    c->run = builtin_find(d->p->module, callee);
    return c->run != NULL;
}

/* ---- barriers ------------------------------------------------------------------------------------------------- */

/* bar{.cta}.sync a{, b}; .arrive a, b; .red.op d, a{, b}, {!}c; the same of barrier{.cta}, .aligned or not. */
static bool decode_barrier(Decoder *d)
{
    static const char *const actions[] = {"sync", "arrive", "red", NULL};
    static const char *const folds[] = {"popc", "and", "or", NULL};
    Code *c = d->c;
    if (op_take_next(&d->op, "warp"))
        return op_take_next(&d->op, "sync") && decode_warp_sync(d);
    op_take_next(&d->op, "cta");
    int action = op_take_any(&d->op, actions), fold = -1;
    if (action < 0)
        return false;
    c->aligned = op_take(&d->op, "aligned") || op_is(&d->op, "bar");
    u32 n = 0;
    decode_reserve(d, 1, 3);
    if (action == 2) {
        fold = op_take_any(&d->op, folds);
        if (fold < 0 || !op_take_next(&d->op, fold ? "pred" : "u32") || d->opnds < 3 || d->opnds > 4)
            return false;
        c->result[0] = decode_result(d, d->opnd[n++]);
        c->arg[2] = decode_source(d, d->opnd[d->opnds - 1], elem_pred);
        d->opnds--;
    }
    if (d->opnds <= n || d->opnds > n + 2 || (action == 1 && d->opnds != 2))
        return false;
    c->arg[0] = decode_source(d, d->opnd[n], elem_u32);
    if (d->opnds == n + 2)
        c->arg[1] = decode_source(d, d->opnd[n + 1], elem_u32);
    c->action = (u8)action;
    c->action2 = (u8)(fold < 0 ? 0 : fold);
    c->run = run_barrier;
    return true;
}

/* ---- the rest ------------------------------------------------------------------------------------------------- */

static void run_nothing(Warp *w, Split *s, const Code *c, u32 mask)
{
    (void)s;
    if (c->aligned)
        sync_check(w, c, mask, w->lanes & ~w->exited);
}

static bool decode_nothing(Decoder *d)
{
    d->c->aligned = op_take(&d->op, "aligned");
    d->op.taken = ~0u;
    d->c->run = run_nothing;
    return true;
}

const DecodeRow rows_control[] = {
    {"bra", decode_branch},
    {"brx", decode_table_branch},
    {"ret", decode_ret},
    {"exit", decode_exit},
    {"trap", decode_trap},
    {"call", decode_call},
    {"bar", decode_barrier},
    {"barrier", decode_barrier},
    {"nanosleep", decode_nothing},
    {"prefetch", decode_nothing},
    {"prefetchu", decode_nothing},
    {"applypriority", decode_nothing},
    {"discard", decode_nothing},
    {"pmevent", decode_nothing},
    {"griddepcontrol", decode_nothing},
    {"setmaxnreg", decode_nothing},
    {NULL, NULL},
};
