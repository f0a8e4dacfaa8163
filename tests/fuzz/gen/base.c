#include "gen.h"

const char *const pool_stem[POOLS] = {
    [P_PRED] = "%p",  [P_16] = "%rs",      [P_32] = "%r",     [P_64] = "%rd",       [P_F32] = "%f",    [P_F64] = "%fd",
    [P_CTA32] = "%u", [P_CTAPRED] = "%up", [P_WARP32] = "%w", [P_WARPPRED] = "%wp", [P_TEMP32] = "%t", [P_TEMP64] = "%td"};
const char *const pool_type[POOLS] = {
    [P_PRED] = ".pred",  [P_16] = ".b16",        [P_32] = ".b32",     [P_64] = ".b64",
    [P_F32] = ".f32",    [P_F64] = ".f64",       [P_CTA32] = ".b32",  [P_CTAPRED] = ".pred",
    [P_WARP32] = ".b32", [P_WARPPRED] = ".pred", [P_TEMP32] = ".b32", [P_TEMP64] = ".b64"};
const u8 pool_named[POOLS] = {[P_PRED] = 6, [P_16] = 4,    [P_32] = 10,     [P_64] = 5,     [P_F32] = 5,
                              [P_F64] = 3,  [P_CTA32] = 5, [P_CTAPRED] = 2, [P_WARP32] = 4, [P_WARPPRED] = 2};

/* ---- lines ------------------------------------------------------------------------------------------------------ */

void line(Gen *g, const char *format, ...)
{
    static const char *const comment[] = {" // computed twice?", " /* ; not a statement */", " // }", " //\t$L1:"};
    if (has(g, GEN_LINES) && percent(g, 8))
        text_printf(g->text, "\t.loc\t1 %u %u\n", ++g->line, 1 + below(g, 30));
    va_list arguments;
    va_start(arguments, format);
    text_printf(g->text, "\t");
    text_vprintf(g->text, format, arguments);
    va_end(arguments);
    text_printf(g->text, "%s\n", has(g, GEN_LINES) && percent(g, 3) ? comment[below(g, COUNT_OF(comment))] : "");
}

/* ---- registers -------------------------------------------------------------------------------------------------- */

RegName reg_name(Reg r)
{
    RegName name;
    snprintf(name.text, sizeof name.text, "%s%u", pool_stem[r.pool], (unsigned)r.number);
    return name;
}

Reg fresh(Gen *g, Pool pool) { return (Reg){pool, (u16)g->next[pool]++}; }

bool any_defined(const Gen *g, Pool pool) { return g->state.pool[pool].defined != 0; }

static Reg pick_of(Gen *g, Pool pool, u32 set)
{
    u32 nth = below(g, (u32)__builtin_popcount(set));
    while (nth--)
        set &= set - 1;
    return (Reg){pool, (u16)__builtin_ctz(set)};
}

Reg pick_defined(Gen *g, Pool pool) { return pick_of(g, pool, g->state.pool[pool].defined); }

Reg pick_result(Gen *g, Pool pool)
{
    u32 set = ((1u << pool_named[pool]) - 1) & ~g->state.pool[pool].frozen;
    return set ? pick_of(g, pool, set) : fresh(g, pool);
}

void mark_defined(Gen *g, Reg r)
{
    if (r.number < pool_named[r.pool])
        g->state.pool[r.pool].defined |= 1u << r.number;
}

void freeze(Gen *g, Reg r)
{
    if (r.number < pool_named[r.pool])
        g->state.pool[r.pool].frozen |= 1u << r.number;
}

Frozen frozen_now(const Gen *g)
{
    Frozen now;
    for (u32 i = 0; i < POOLS; i++)
        now.set[i] = g->state.pool[i].frozen;
    return now;
}

void unfreeze(Gen *g, const Frozen *before)
{
    for (u32 i = 0; i < POOLS; i++)
        g->state.pool[i].frozen = before->set[i];
}

void state_meet(State *a, const State *b)
{
    for (u32 i = 0; i < POOLS; i++)
        a->pool[i].defined &= b->pool[i].defined;
    for (u32 i = 0; i < ARRAYS; i++)
        a->pending[i] |= b->pending[i];
}

/* ---- integers of two widths -------------------------------------------------------------------------------------- */

u32 number_bits(bool wide) { return wide ? 64 : 32; }

const char *number_type(bool wide, bool is_signed) { return wide ? is_signed ? "s64" : "u64" : is_signed ? "s32" : "u32"; }

Reg fresh_number(Gen *g, bool wide) { return fresh(g, wide ? P_TEMP64 : P_TEMP32); }

void set_number(Gen *g, bool wide, Reg r, i64 value)
{
    line(g, "mov.b%u %s, %lld;", number_bits(wide), NAME(r), wide ? (long long)value : (long long)(i32)value);
}

Reg added_number(Gen *g, bool wide, Reg r, i64 more)
{
    Reg sum = fresh_number(g, wide);
    line(g, "add.s%u %s, %s, %lld;", number_bits(wide), NAME(sum), NAME(r), (long long)more);
    return sum;
}

Reg low_number(Gen *g, bool wide, Reg r)
{
    if (!wide)
        return r;
    Reg low = fresh(g, P_TEMP32);
    line(g, "cvt.u32.u64 %s, %s;", NAME(low), NAME(r));
    return low;
}

Reg narrowed_number(Gen *g, Reg r)
{
    if (!percent(g, 15))
        return r;
    Reg wide = fresh(g, P_TEMP64), masked = wide;
    line(g, "cvt.%s %s, %s;", percent(g, 50) ? "s64.s32" : "u64.u32", NAME(wide), NAME(r));
    if (percent(g, 30)) {
        masked = fresh(g, P_TEMP64);
        line(g, "and.b64 %s, %s, %s;", NAME(masked), NAME(wide), percent(g, 80) ? "4294967295" : "17179869183");
    }
    return low_number(g, true, masked);
}

/* ---- labels and jumps ------------------------------------------------------------------------------------------- */

/* Inner scopes count their labels anew, so that siblings repeat one another's; the depth is in the name, so that a branch
 * out of a scope never finds a label of its own. */
Label label_fresh(Gen *g)
{
    Label label;
    if (g->scope_depth && g->dones && percent(g, 20))
        return g->done[--g->dones];
    if (g->scope_depth)
        snprintf(label.name, sizeof label.name, "$S%u_%u", g->scope_depth, ++g->scope_label[g->scope_depth]);
    else
        snprintf(label.name, sizeof label.name, "$L_%u", ++g->labels);
    return label;
}

void label_here(Gen *g, const Label *label) { text_printf(g->text, "%s:\n", label->name); }

/* Kept from the outermost scope only: there names are used once. */
void label_done(Gen *g, const Label *label)
{
    if (!g->scope_depth && g->dones < DONE_LABELS)
        g->done[g->dones++] = *label;
}

bool may_defer(const Gen *g) { return g->scope_depth == 0; }

void aside_begin(Gen *g, Aside *aside)
{
    *aside = (Aside){.outer = g->text};
    g->text = &aside->text;
}

void aside_end(Gen *g, Aside *aside)
{
    g->text = aside->outer;
    text_append(&g->deferred, aside->text.v, aside->text.n);
    vec_free(&aside->text);
}

/* A block that only jumps, somewhere else. */
static Label trampoline(Gen *g, const Label *to)
{
    Label label = label_fresh(g);
    Aside aside;
    aside_begin(g, &aside);
    label_here(g, &label);
    if (percent(g, 20)) {
        Label second = label_fresh(g);
        label_here(g, &second);
    }
    line(g, percent(g, 50) ? "bra.uni %s;" : "bra %s;", to->name);
    aside_end(g, &aside);
    return label;
}

Label via(Gen *g, const Label *to)
{
    Label label = *to;
    while (has(g, GEN_JUMPS) && may_defer(g) && percent(g, 20))
        label = trampoline(g, &label);
    return label;
}

void jump(Gen *g, const Label *to)
{
    Label label = via(g, to);
    line(g, percent(g, 50) ? "bra.uni %s;" : "bra %s;", label.name);
}
