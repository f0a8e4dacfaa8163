#include "phase/barrier/alias.h"

#include "base/bound.h"

enum { NEAR = 1 << 30 }; /* offsets below this cannot wrap round to one another */

AccessClasses *alias_classes_new(Arena *arena, ThreadValues *values, bool assume_in_bounds)
{
    AccessClasses *c = arena_new(arena, AccessClasses);
    c->values = values;
    c->in_bounds = assume_in_bounds;
    c->n = CLASS_PROVEN;
    c->v[CLASS_STRONG].spaces = c->v[CLASS_GENERIC].spaces = EFFECT_ALL;
    c->v[CLASS_SHARED].spaces = EFFECT_SHARED;
    c->v[CLASS_GLOBAL].spaces = EFFECT_GLOBAL;
    return c;
}

u32 alias_class_anywhere(u8 spaces)
{
    return spaces == EFFECT_SHARED ? CLASS_SHARED : spaces == EFFECT_GLOBAL ? CLASS_GLOBAL : CLASS_GENERIC;
}

u64 alias_classes_in(const AccessClasses *c, u8 spaces)
{
    u64 set = 0;
    for (u32 k = 0; k < c->n; k++)
        set |= c->v[k].spaces & spaces ? (u64)1 << k : 0;
    return set;
}

/* ---- one access -------------------------------------------------------------------------------------------------- */

const Operand *alias_address(const Instr *i)
{
    if (i->kind != INSTR_OP || !i->op->access_bytes || op_has(i->op, OPF_CONVERGENT))
        return NULL;
    if (i->op->space != SPACE_SHARED && i->op->space != SPACE_GLOBAL && i->op->space != SPACE_GENERIC)
        return NULL;
    for_each_operand(o, i)
        if (o->kind == OPND_MEM)
            return o->value == 1 ? o + 1 : NULL;
    return NULL;
}

static void describe_symbol(AccessClass *a, const Function *fn, const ThreadValue *v, u32 bytes)
{
    const Sym *s = &fn->module->syms.v[v->symbol];
    if (!v->symbol || !v->ranged || s->space != a->space || v->lo <= -NEAR || v->hi >= NEAR)
        return;
    a->symbol = v->symbol;
    a->ranged = true;
    a->lo = v->lo;
    a->hi = v->hi + bytes;
    bool final = !s->is_extern && !effects_is_replaceable(span_str(fn->module, s->text));
    a->inside = final && a->lo >= 0 && a->hi <= s->bytes;
}

/* Sets the .shared variable from which the address counts, where the user says that none goes beyond its own. */
static void describe_variable(AccessClass *a, const AccessClasses *c, const ThreadValue *v)
{
    bool known = v->through && v->through != THROUGH_MANY;
    if (c->in_bounds && known && a->space == SPACE_SHARED &&
        c->values->fn->module->syms.v[v->through].space == SPACE_SHARED)
        a->through = v->through;
}

/* Whether the accesses belong to two variables that do not overlap. All extern variables share one place. */
static bool are_two_variables(const AccessClasses *c, const AccessClass *a, const AccessClass *b)
{
    const Sym *syms = c->values->fn->module->syms.v;
    return a->through && b->through && a->through != b->through &&
           !(syms[a->through].is_extern && syms[b->through].is_extern);
}

static void describe_function(AccessClass *a, const ThreadValues *values, const ThreadValue *v, u32 bytes)
{
    u8 all = thread_dims(values);
    bool uniform = v->dims == 0, injective = v->spread >= bytes && (v->dims & all) == all;
    if (!v->function || (!uniform && !injective) || v->offset <= -NEAR || v->offset >= NEAR)
        return;
    a->function = v->function;
    a->uniform = uniform;
    a->from = v->offset;
    a->to = v->offset + bytes;
    a->spread = uniform ? 0 : v->spread;
    a->extent = uniform ? 0 : v->extent;
}

static AccessClass describe(AccessClasses *c, const Instr *i, u8 spaces)
{
    AccessClass a = {.spaces = spaces, .space = i->op->space};
    const Function *fn = c->values->fn;
    const Operand *address = alias_address(i);
    if (!address)
        return a;
    bool narrow = address->kind == OPND_REG && type_bits(fn_reg(fn, address->id)->type) == 32;
    a.bits = narrow || a.space == SPACE_SHARED ? 32 : 64;
    ThreadValue v =
        a.bits == 32 ? thread_value_low(c->values, i->block, i, address) : thread_value(c->values, i->block, i, address);
    describe_symbol(&a, fn, &v, i->op->access_bytes);
    describe_function(&a, c->values, &v, i->op->access_bytes);
    describe_variable(&a, c, &v);
    return a;
}

/* ---- two accesses ------------------------------------------------------------------------------------------------ */

static bool same_function(const AccessClass *a, const AccessClass *b)
{
    return a->function && a->function == b->function && a->space == b->space && a->bits == b->bits;
}

static i64 least(i64 a, i64 b) { return a < b ? a : b; }
static i64 most(i64 a, i64 b) { return a > b ? a : b; }

/* Whether the bytes around the function's value that either access touches fit between the values of two threads. */
static bool fit_between_threads(const AccessClass *a, const AccessClass *b)
{
    u64 bytes = (u64)(most(a->to, b->to) - least(a->from, b->from));
    return !a->uniform && bytes <= a->spread && (a->bits == 64 || a->extent + bytes <= (u64)1 << 32);
}

static bool may_conflict(const AccessClasses *c, const AccessClass *a, const AccessClass *b)
{
    if (!(a->spaces & b->spaces) || are_two_variables(c, a, b))
        return false;
    if (a->symbol && b->symbol && a->space == b->space) {
        if (a->symbol != b->symbol && a->inside && b->inside)
            return false;
        if (a->symbol == b->symbol && (a->hi <= b->lo || b->hi <= a->lo))
            return false;
    }
    if (!same_function(a, b))
        return true;
    if (a->uniform)
        return a->to > b->from && b->to > a->from;
    return !fit_between_threads(a, b);
}

/* ---- classes ----------------------------------------------------------------------------------------------------- */

static bool same_class(const AccessClass *a, const AccessClass *b)
{
    return a->spaces == b->spaces && a->space == b->space && a->bits == b->bits && a->symbol == b->symbol &&
           a->through == b->through && a->lo == b->lo && a->hi == b->hi && a->function == b->function &&
           a->from == b->from && a->to == b->to;
}

/* Adds an access to a class of the same function if no other thread touches the bytes of either. Unrolled code has many
 * such accesses. */
static bool join_class(AccessClass *to, const AccessClass *a)
{
    if (!same_function(to, a) || to->spaces != a->spaces || to->symbol != a->symbol || to->through != a->through ||
        !fit_between_threads(to, a))
        return false;
    to->from = least(to->from, a->from);
    to->to = most(to->to, a->to);
    to->lo = least(to->lo, a->lo);
    to->hi = most(to->hi, a->hi);
    to->inside &= a->inside;
    return true;
}

u32 alias_class_of(AccessClasses *c, const Instr *i, u8 spaces)
{
    AccessClass a = describe(c, i, spaces);
    if (!a.symbol && !a.function && !a.through)
        return alias_class_anywhere(spaces);
    for (u32 k = CLASS_PROVEN; k < c->n; k++)
        if (same_class(&c->v[k], &a) || join_class(&c->v[k], &a))
            return k;
    if (BEYOND(CLASS_LIMIT, c->n == CLASS_LIMIT))
        return alias_class_anywhere(spaces);
    c->v[c->n] = a;
    return c->n++;
}

void alias_classes_compare(AccessClasses *c)
{
    bool alone = function_has_one_thread(c->values->fn);
    for (u32 a = 0; a < c->n; a++) {
        c->conflicts[a] = 0;
        for (u32 b = 0; b < c->n; b++)
            if (!alone && may_conflict(c, &c->v[a], &c->v[b]))
                c->conflicts[a] |= (u64)1 << b;
    }
}
