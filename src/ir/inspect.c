#include "ir/inspect.h"

#include <string.h>

#include "base/search.h"

u32 instr_operands(const Instr *i)
{
    u32 count = 0;
    for_each_operand(o, i)
        count++;
    return count;
}

static const Operand *operand_of_kind(const Instr *i, OperandKind kind)
{
    for_each_operand(o, i)
        if (o->kind == kind)
            return o;
    return NULL;
}

SymId call_callee(const Instr *i)
{
    if (!instr_is(i, OPF_CALL))
        return 0;
    const Operand *callee = operand_of_kind(i, OPND_SYM);
    return callee ? callee->id : 0;
}

/* Whether fn's prototype has the results and parameters of the shape (isa/runtime.def). */
static bool has_shape(const Function *fn, const char *shape)
{
    u32 address = fn->module->address_size ? fn->module->address_size / 8 : 4, n = 0;
    for (; *shape; shape++) {
        if (*shape == ':' && n != fn->return_params)
            return false;
        if (*shape == ':')
            continue;
        const Sym *param = n < fn->params.n ? &fn->module->syms.v[fn->params.v[n]] : NULL;
        if (!param || param->bytes != runtime_bytes(*shape, address))
            return false;
        n++;
    }
    return n == fn->params.n;
}

const RuntimeInfo *call_runtime(const Module *m, SymId id)
{
    const Sym *sym = &m->syms.v[id];
    const RuntimeInfo *found = id && sym->kind == SYM_FUNC && sym->name ? runtime_find(sym->name->text) : NULL;
    for (u32 k = 0; found && k < m->functions.n; k++) {
        const Function *fn = m->functions.v[k];
        Str text = span_str(m, fn->text);
        bool is_extern = str_begins(text, ".extern");
        if (fn->sym == id && (fn->is_definition || !is_extern || !has_shape(fn, found->shape)))
            return NULL;
    }
    return found;
}

Block *branch_target(const Instr *i)
{
    const Operand *label = instr_is(i, OPF_BRANCH) ? operand_of_kind(i, OPND_LABEL) : NULL;
    return label ? fn_block(i->block->fn, label->id) : NULL;
}

Table *branch_table(const Instr *i)
{
    const Operand *table = instr_is(i, OPF_BRANCH) ? operand_of_kind(i, OPND_TABLE) : NULL;
    return table ? &i->block->fn->tables.v[table->id] : NULL;
}

static void number_instrs(Block *b)
{
    u32 order = 0;
    for_each_instr(i, b)
        i->order = order++;
    b->ordered = true;
}

bool instr_precedes(const Instr *a, const Instr *b)
{
    if (!a->block->ordered)
        number_instrs(a->block);
    return a->order < b->order;
}

bool block_is_empty(const Block *b)
{
    for_each_instr(i, b)
        if (i->kind == INSTR_OP || i->kind == INSTR_PRAGMA)
            return false;
    return true;
}

const Instr *instr_loc(const Instr *i)
{
    for (const Instr *before = i->prev; before; before = before->prev)
        if (before->kind == INSTR_LOC)
            return before;
    return i->block->loc;
}

/* Appends the sources of an origin. Links lead to smaller numbers, so this ends. */
void origin_sources_since(const Function *fn, u32 origin, u32 origins, VecU32 *out)
{
    u32 done = out->n;
    vec_push(out, origin);
    while (done < out->n) {
        if (out->v[done] <= origins) {
            done++;
            continue;
        }
        u32 made = out->v[done],
            at = partition_point(k, 0, fn->edits.origin_links.n, fn->edits.origin_links.v[k].made < made);
        bool linked = false;
        for (; at < fn->edits.origin_links.n && fn->edits.origin_links.v[at].made == made; at++, linked = true)
            vec_push(out, fn->edits.origin_links.v[at].source);
        if (linked)
            out->v[done] = vec_pop(out);
        else
            done++;
    }
}

void origin_sources(const Function *fn, u32 origin, VecU32 *out) { origin_sources_since(fn, origin, 0, out); }

bool instr_loads_parameter(const Instr *i)
{
    const Function *fn = i->block->fn;
    if (i->kind != INSTR_OP || i->op->opcode != OPC_LD || i->op->space != SPACE_PARAM || i->op->strength != STRENGTH_WEAK ||
        op_has(i->op, OPF_VOLATILE) || !fn->is_entry || i->op->types != 1 || i->opnd[0].kind != OPND_REG)
        return false;
    const Operand *address = &i->opnd[1];
    if (address->kind != OPND_MEM || address->value != 1 || address[1].kind != OPND_SYM)
        return false;
    const Sym *sym = &fn->module->syms.v[address[1].id];
    i64 at = address[1].value;
    return sym->kind == SYM_PARAM && sym->owner == fn && at >= 0 && at + type_bits(i->op->type[0]) / 8 <= sym->bytes;
}

void fn_sreg_bounds(const Function *fn, const Operand *o, u64 *least, u64 *most)
{
    const SregInfo *sreg = sreg_info(o->id);
    *least = sreg->min;
    *most = sreg->max;
    if (o->sub < SUB_X || o->sub > SUB_Z)
        return;
    u64 extent = block_extent(fn, (u32)(o->sub - SUB_X));
    bool is_tid = strcmp(sreg->name, "%tid") == 0;
    if (!extent || (!is_tid && strcmp(sreg->name, "%ntid") != 0))
        return;
    if (!is_tid && fn->tuning.shape_exact)
        *least = extent;
    if (extent - is_tid < *most)
        *most = extent - is_tid;
}
