#define _GNU_SOURCE
#include "judge/trial/parts.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "parse/reading.h"
#include "base/fnvmap.h"
#include "base/source.h"
#include "pipeline/tuned.h"
#include "target/ptxas.h"

/* ---- which functions belong together ------------------------------------------------------------------------------ */

/* A module's functions with bodies, joined into sets. */
typedef struct Sets {
    const Module *m;
    u32 *leader;   /* by SymId */
    bool *defined; /* by SymId: the module holds its body */
} Sets;

static u32 find_leader(const Sets *sets, u32 sym)
{
    while (sets->leader[sym] != sym)
        sym = sets->leader[sym] = sets->leader[sets->leader[sym]];
    return sym;
}

static void join(const Sets *sets, u32 a, u32 b) { sets->leader[find_leader(sets, a)] = find_leader(sets, b); }

static void join_all(const Sets *sets, u32 sym)
{
    for (u32 f = 0; f < sets->m->functions.n; f++)
        if (!sets->m->functions.v[f]->is_entry)
            join(sets, sym, sets->m->functions.v[f]->sym);
}

/* An indirect call may call any function, and so may what has no body here and is of this module: an alias. */
static void join_callees(const Sets *sets, const Function *fn)
{
    if (fn->verbatim)
        join_all(sets, fn->sym);
    for_each_block(b, fn)
        for_each_instr(i, b) {
            if (!instr_is(i, OPF_CALL))
                continue;
            SymId callee = call_callee(i);
            if (callee && sets->defined[callee])
                join(sets, fn->sym, callee);
            else if (!callee || !sets->m->syms.v[callee].is_extern)
                join_all(sets, fn->sym);
        }
}

static u64 price_of(const Function *fn)
{
    u64 price = 0;
    for_each_block(b, fn)
        for_each_instr(i, b)
            price += ptxas_cost(i);
    return price;
}

/* A hash of the module's symbols whose names begin as labels do; of all of the text if the IR does not hold it. */
static u64 hash_named(const Module *m, const Function *fn)
{
    u64 hash = FNV_BASIS;
    if (fn->verbatim) {
        Str text = span_str(m, fn->text);
        return fnv_bytes(hash, text.p, text.len);
    }
    for_each_block(b, fn)
        for_each_instr(i, b)
            for_each_slot(o, i)
                if (o->kind == OPND_SYM && !m->syms.v[o->id].owner && m->syms.v[o->id].name->text[0] == '$')
                    hash = fnv_bytes(hash, m->syms.v[o->id].name->text, m->syms.v[o->id].name->len + 1);
    return hash;
}

static void add_part(Parts *parts, const Module *m, const Function *fn)
{
    Str body = span_str(m, (Span){fn->open.beg, fn->close.end});
    vec_push(&parts->part, ((Part){
                               .name = arena_copy(&parts->arena, fn->name->text, fn->name->len),
                               .body = body,
                               .hash = tuned_hash(fn),
                               .named = hash_named(m, fn),
                               .price = price_of(fn),
                               .is_entry = fn->is_entry,
                           }));
}

static void split(Parts *parts, const Module *m)
{
    Sets sets = {m, mem_alloc(sizeof(u32) * m->syms.n), mem_zalloc(m->syms.n)};
    u32 *group = mem_zalloc(sizeof *group * m->syms.n), count = 0;
    for (u32 sym = 0; sym < m->syms.n; sym++)
        sets.leader[sym] = sym;
    for (u32 f = 0; f < m->functions.n; f++)
        sets.defined[m->functions.v[f]->sym] |= m->functions.v[f]->entry != NULL;
    for (u32 f = 0; f < m->functions.n; f++)
        if (m->functions.v[f]->entry)
            join_callees(&sets, m->functions.v[f]);
    for (u32 f = 0; f < m->functions.n; f++) {
        const Function *fn = m->functions.v[f];
        if (!fn->entry)
            continue;
        add_part(parts, m, fn);
        u32 *number = &group[find_leader(&sets, fn->sym)];
        *number = *number ? *number : ++count;
        vec_last(&parts->part).group = *number - 1;
    }
    parts->groups = count;
    parts->rest = tuned_hash_rest(m);
    mem_free(group);
    mem_free(sets.leader);
    mem_free(sets.defined);
}

bool parts_read(Parts *parts, const char *path)
{
    *parts = (Parts){0};
    if (!source_read(path, &parts->text))
        return false;
    Reading reading;
    bool good = reading_init(&reading, path, parts->text, parse_module, NULL) && !reading.module->untouchable.why;
    if (good)
        split(parts, reading.module);
    parts->whole = memmem(parts->text.p, parts->text.len, ".section", 8);
    reading_free(&reading);
    return good;
}

void parts_free(Parts *parts)
{
    vec_free(&parts->part);
    arena_free(&parts->arena);
    source_free(&parts->text);
}

/* ---- texts -------------------------------------------------------------------------------------------------------- */

bool parts_write(const Parts *parts, const Str *bodies, Scratch *to)
{
    static const char nothing[] = "{ ret; }";
    const char *from = parts->text.p;
    bool good = scratch_open(to);
    for (u32 i = 0; i < parts->part.n && good; i++) {
        Str body = bodies[i].p ? bodies[i] : (Str){nothing, sizeof nothing - 1}, old = parts->part.v[i].body;
        good = scratch_write(to, from, (size_t)(old.p - from)) && scratch_write(to, body.p, body.len);
        from = old.p + old.len;
    }
    return good && scratch_write(to, from, (size_t)(parts->text.p + parts->text.len - from));
}
