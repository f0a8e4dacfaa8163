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

enum { LONG_DECLARATION = 4096 /* bytes of text, which ptxas reads in less than a millisecond */ };

/* ---- which functions belong together ------------------------------------------------------------------------------ */

/* A module's functions with bodies, joined into sets. */
typedef struct Sets {
    const Module *m;
    u32 *leader; /* by SymId */
    u32 *part;   /* by SymId: the number of the part from 1; 0: the module does not hold its body */
    Parts *parts;
} Sets;

static u32 find_leader(const Sets *sets, u32 sym)
{
    while (sets->leader[sym] != sym)
        sym = sets->leader[sym] = sets->leader[sets->leader[sym]];
    return sym;
}

static void join(const Sets *sets, u32 a, u32 b) { sets->leader[find_leader(sets, a)] = find_leader(sets, b); }

static void add_call(const Sets *sets, u32 caller, u32 callee)
{
    PartCall call = {sets->part[caller] - 1, callee};
    if (!sets->parts->calls.n || memcmp(&vec_last(&sets->parts->calls), &call, sizeof call) != 0)
        vec_push(&sets->parts->calls, call);
}

static void join_one(const Sets *sets, u32 caller, u32 callee)
{
    join(sets, caller, callee);
    add_call(sets, caller, sets->part[callee] - 1);
}

static void join_all(const Sets *sets, u32 sym)
{
    add_call(sets, sym, PART_ANY);
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
            if (callee && sets->part[callee])
                join_one(sets, fn->sym, callee);
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

static bool numbers_symbol(const Sym *sym) { return tuned_numbers((Str){sym->name->text, sym->name->len}); }

/* A hash of the module's symbols that tuned_hash_text() would number; of all of the text if the IR does not hold it. */
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
                if (o->kind == OPND_SYM && !m->syms.v[o->id].owner && numbers_symbol(&m->syms.v[o->id]))
                    hash = fnv_bytes(hash, m->syms.v[o->id].name->text, m->syms.v[o->id].name->len + 1);
    return hash;
}

static void add_part(Parts *parts, const Module *m, const Function *fn)
{
    vec_push(&parts->part, ((Part){
                               .name = arena_copy(&parts->arena, fn->name->text, fn->name->len),
                               .body = span_str(m, fn->text),
                               .brace = fn->open.beg - fn->text.beg,
                               .named = hash_named(m, fn),
                               .price = price_of(fn),
                               .is_entry = fn->is_entry,
                           }));
}

static bool shares_declaration(const Module *m, u32 sym)
{
    u32 at = m->syms.v[sym].text.beg;
    return m->syms.v[sym - 1].text.beg == at || (sym + 1 < m->syms.n && m->syms.v[sym + 1].text.beg == at);
}

static void find_variables(Parts *parts, const Module *m)
{
    for (u32 i = 1; i < m->syms.n; i++) {
        const Sym *sym = &m->syms.v[i];
        if (sym->kind != SYM_VAR || sym->owner || sym->space != SPACE_GLOBAL || sym->escapes || !type_bits(sym->type) ||
            shares_declaration(m, i))
            continue;
        const char *name = arena_copy(&parts->arena, sym->name->text, sym->name->len);
        vec_push(&parts->variables, ((PartVariable){.name = name, .text = span_str(m, sym->text)}));
    }
}

static void split(Parts *parts, const Module *m)
{
    Sets sets = {m, mem_alloc(sizeof(u32) * m->syms.n), mem_zalloc(sizeof(u32) * m->syms.n), parts};
    u32 *group = mem_zalloc(sizeof *group * m->syms.n), count = 0;
    for (u32 sym = 0; sym < m->syms.n; sym++)
        sets.leader[sym] = sym;
    for (u32 f = 0; f < m->functions.n; f++)
        if (m->functions.v[f]->entry) {
            add_part(parts, m, m->functions.v[f]);
            sets.part[m->functions.v[f]->sym] = parts->part.n;
        }
    for (u32 f = 0; f < m->functions.n; f++)
        if (m->functions.v[f]->entry)
            join_callees(&sets, m->functions.v[f]);
    for (u32 f = 0; f < m->functions.n; f++) {
        const Function *fn = m->functions.v[f];
        u32 *number = &group[find_leader(&sets, fn->sym)];
        if (!fn->entry)
            continue;
        *number = *number ? *number : ++count;
        parts->part.v[sets.part[fn->sym] - 1].group = *number - 1;
    }
    parts->groups = count;
    parts->sm = m->target_sm;
    find_variables(parts, m);
    mem_free(group);
    mem_free(sets.leader);
    mem_free(sets.part);
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
    reading_free(&reading);
    return good;
}

void parts_free(Parts *parts)
{
    vec_free(&parts->part);
    vec_free(&parts->variables);
    vec_free(&parts->calls);
    fnvmap_free(&parts->names);
    arena_free(&parts->arena);
    source_free(&parts->text);
}

/* ---- what is asked of some ----------------------------------------------------------------------------------------- */

u64 parts_hash(Parts *parts, u32 part)
{
    Part *asked = &parts->part.v[part];
    if (!asked->hash)
        asked->hash = tuned_hash_text(parts->sm, asked->body);
    return asked->hash;
}

bool parts_are_whole(const Parts *parts) { return memmem(parts->text.p, parts->text.len, ".section", 8); }

/* Whether it was not marked. */
static bool mark(bool *marked, u32 part)
{
    bool new = !marked[part];
    marked[part] = true;
    return new;
}

static bool mark_all(const Parts *parts, bool *marked)
{
    bool any = false;
    for (u32 k = 0; k < parts->part.n; k++)
        any |= !parts->part.v[k].is_entry && mark(marked, k);
    return any;
}

void parts_mark_called(const Parts *parts, u32 part, bool *marked)
{
    marked[part] = true;
    for (bool again = true; again;) {
        again = false;
        for (u32 i = 0; i < parts->calls.n; i++) {
            PartCall call = parts->calls.v[i];
            if (marked[call.caller])
                again |= call.callee == PART_ANY ? mark_all(parts, marked) : mark(marked, call.callee);
        }
    }
}

/* ---- texts -------------------------------------------------------------------------------------------------------- */

/* How often the name stands in the text. */
static u32 count_name(Str text, const char *name)
{
    u32 count = 0;
    size_t len = strlen(name);
    const char *end = text.p + text.len;
    for (const char *at = text.p; (at = memmem(at, (size_t)(end - at), name, len)) != NULL; at += len)
        count += (at == text.p || !is_in_name(at[-1])) && (at + len == end || !is_in_name(at[len]));
    return count;
}

Str parts_text_before(const Parts *parts, u32 i)
{
    const char *from = i ? parts->part.v[i - 1].body.p + parts->part.v[i - 1].body.len : parts->text.p;
    const char *end = i < parts->part.n ? parts->part.v[i].body.p : parts->text.p + parts->text.len;
    return (Str){from, (u32)(end - from)};
}

/* Whether anything but its own declaration names the variable. */
static bool is_named(const Parts *parts, const Str *bodies, const PartVariable *variable)
{
    u32 count = 0;
    for (u32 i = 0; i <= parts->part.n && count < 2; i++) {
        count += count_name(parts_text_before(parts, i), variable->name);
        count += i < parts->part.n && bodies[i].p && count_name(bodies[i], variable->name) ? 2 : 0;
    }
    return count > 1;
}

/* By variable: whether it is left out, which pays for a long one: a library may bring megabytes of tables that few kernels read. */
static bool *find_unnamed(const Parts *parts, const Str *bodies)
{
    bool *unnamed = mem_zalloc(parts->variables.n + 1), trimmed = false;
    for (u32 i = 0; i < parts->part.n; i++)
        trimmed |= !bodies[i].p;
    for (u32 i = 0; i < parts->variables.n && trimmed; i++)
        unnamed[i] = parts->variables.v[i].text.len >= LONG_DECLARATION && !is_named(parts, bodies, &parts->variables.v[i]);
    return unnamed;
}

/* Writes text from between bodies. Variables stand there in the order of their numbers, the first one from here on is `*next`. */
static bool write_rest(const Parts *parts, const bool *unnamed, Str rest, u32 *next, Scratch *to)
{
    const char *from = rest.p, *end = rest.p + rest.len;
    bool good = true;
    for (; *next < parts->variables.n && parts->variables.v[*next].text.p < end && good; ++*next) {
        Str text = parts->variables.v[*next].text;
        if (!unnamed[*next])
            continue;
        good = scratch_write(to, from, (size_t)(text.p - from));
        from = text.p + text.len;
    }
    return good && scratch_write(to, from, (size_t)(end - from));
}

static bool write_nothing(const Part *part, Scratch *to)
{
    static const char nothing[] = "{ ret; }";
    return scratch_write(to, part->body.p, part->brace) && scratch_write(to, nothing, sizeof nothing - 1);
}

bool parts_write(const Parts *parts, const Str *bodies, Scratch *to)
{
    bool *unnamed = find_unnamed(parts, bodies), good = scratch_open(to);
    u32 next = 0;
    for (u32 i = 0; i <= parts->part.n && good; i++) {
        good = write_rest(parts, unnamed, parts_text_before(parts, i), &next, to);
        if (i == parts->part.n)
            break;
        good = good && (bodies[i].p ? scratch_write(to, bodies[i].p, bodies[i].len) : write_nothing(&parts->part.v[i], to));
    }
    mem_free(unnamed);
    return good;
}
