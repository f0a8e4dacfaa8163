#include "check/exec/run.h"

#include "check/exec/variables.h"

#include <stdlib.h>
#include <string.h>

/* ---- setting up ----------------------------------------------------------------------------------------------- */

static void place_memory(Machine *m, const Launch *launch, u64 *address)
{
    Program *p = m->program;
    GlobalVar last;
    for (u32 i = 0; i < p->globals.n; i++)
        memory_add_object(m, &p->globals.v[i]);
    for (u32 i = 0; i < launch->buffers.n; i++) {
        const LaunchBuffer *b = &launch->buffers.v[i];
        GlobalVar v = {.name = b->name, .bytes = b->bytes, .initial = b->fill};
        const GlobalVar *before = i ? &last : p->globals.n ? &vec_last(&p->globals) : NULL;
        address[i] = v.address = global_next_address(p, before);
        memory_add_object(m, &v);
        last = v;
    }
}

/* The entry's parameter bank, or what is wrong with the arguments. */
static const char *fill_bank(Machine *m, const LaunchKernel *k, const u64 *address)
{
    FnCode *f = m->entry;
    if (k->args.n != f->params)
        return arena_printf(m->arena, "kernel %s has %u parameters, not %u", k->name, f->params, k->args.n);
    m->bank = arena_alloc(m->arena, f->bank.owner.n + 64);
    for (u32 i = 0; i < k->args.n; i++) {
        const LaunchArg *a = &k->args.v[i];
        u32 bytes = a->buffer >= 0 && a->bytes == 8 && !m->program->wide_addresses ? 4 : a->bytes;
        if (bytes != f->param[i].bytes)
            return arena_printf(m->arena, "parameter %u of kernel %s has %u bytes, not %u", i, k->name, f->param[i].bytes,
                                bytes);
        u64 pointer = a->buffer >= 0 ? address[a->buffer] + a->offset : 0;
        if (a->value)
            memcpy(m->bank + f->param[i].place.add, a->value, bytes);
        if (a->buffer >= 0)
            memcpy(m->bank + f->param[i].place.add, &pointer, bytes < 8 ? bytes : 8);
    }
    return NULL;
}

static Counters *counters_of(Machine *m, const char *kernel)
{
    for (u32 i = 0; i < m->counters.n; i++)
        if (!strcmp(m->counters.v[i].kernel, kernel))
            return &m->counters.v[i];
    Counters fresh = {.kernel = kernel};
    vec_push(&m->counters, fresh);
    return &vec_last(&m->counters);
}

static const char *run_one(Machine *m, const LaunchKernel *k, const u64 *address)
{
    m->entry = program_function(m->program, k->name);
    if (!m->entry || !m->entry->fn->is_entry)
        return arena_printf(m->arena, "no kernel %s", k->name);
    program_decode(m->program, m->entry);
    if (m->program->no_room) {
        m->unsupported = m->program->no_room;
        m->stopped = true;
        return NULL;
    }
    const char *error = fill_bank(m, k, address);
    if (error)
        return error;
    m->count = counters_of(m, k->name);
    machine_run_kernel(m, k);
    return NULL;
}

static void collect(Machine *m, const Launch *launch, RunResult *r)
{
    u32 globals = m->program->globals.n;
    for (u32 pass = 0; pass < 2; pass++)
        for (u32 i = 0; i < m->objects.n; i++) {
            Object *o = &m->objects.v[i];
            bool is_buffer = i >= globals;
            bool is_heap = i >= globals + launch->buffers.n;
            if (is_heap || is_buffer != !pass || (is_buffer && !launch->buffers.v[i - globals].output))
                continue;
            Object output = *o;
            output.shadow = NULL;
            o->data = NULL;
            vec_push(&r->outputs, output);
        }
}

RunResult run_launch(Arena *arena, Program *p, const Launch *launch, const RunOptions *options)
{
    Machine *m = mem_zalloc(sizeof *m);
    RunResult r = {0};
    u64 seed = options->seed;
    m->arena = arena;
    m->program = p;
    m->random = splitmix64(&seed);
    m->garbage = splitmix64(&seed);
    m->budget = options->limit;
    m->model = (u8)options->model;
    m->watch = options->watch;
    m->watch_user = options->watch_user;
    m->free_frames = mem_zalloc(sizeof(Frame *) * (p->functions.n + 1));
    u64 *address = mem_zalloc(sizeof(u64) * (launch->buffers.n + 1));
    place_memory(m, launch, address);
    for (u32 i = 0; i < launch->kernels.n && !r.error && !m->stopped; i++)
        r.error = run_one(m, &launch->kernels.v[i], address);
    collect(m, launch, &r);
    memcpy(&r.findings, &m->findings, sizeof r.findings);
    memcpy(&r.counters, &m->counters, sizeof r.counters);
    r.unsupported = m->unsupported;
    r.stopped = m->stopped;
    for (u32 i = 0; i < m->objects.n; i++) {
        mem_free(m->objects.v[i].data);
        mem_free(m->objects.v[i].shadow);
    }
    for (u32 i = 0; i < m->race.sync.n; i++)
        vec_free(&m->race.sync.v[i].releases);
    vec_free(&m->race.sync);
    vec_free(&m->objects);
    vec_free(&m->resident);
    vec_free(&m->free_joins);
    fnvmap_free(&m->race.sync_vars);
    fnvmap_free(&m->heap);
    fnvmap_free(&m->race.cta_known);
    mem_free(m->free_frames);
    mem_free(address);
    mem_free(m);
    return r;
}

void run_result_free(RunResult *r)
{
    for (u32 i = 0; i < r->outputs.n; i++)
        mem_free(r->outputs.v[i].data);
    vec_free(&r->outputs);
    vec_free(&r->findings);
    vec_free(&r->counters);
}

u64 run_hash(const RunResult *r)
{
    u64 hash = FNV_BASIS;
    for (u32 i = 0; i < r->outputs.n; i++)
        hash = fnv_bytes(hash, (const char *)r->outputs.v[i].data, r->outputs.v[i].bytes);
    return hash;
}

static FindingKind kind_to_compare(FindingKind kind) { return kind == FIND_EXITED_LANE ? FIND_PARTIAL_SYNC : kind; }

bool run_found(const RunResult *r, const Finding *f)
{
    for (u32 i = 0; i < r->findings.n; i++) {
        const Finding *g = &r->findings.v[i];
        if (kind_to_compare(g->kind) == kind_to_compare(f->kind) && !strcmp(g->kernel, f->kernel) &&
            !strcmp(g->subject, f->subject))
            return true;
    }
    return false;
}

bool run_hangs(const RunResult *r)
{
    for (u32 i = 0; i < r->findings.n; i++)
        if (r->findings.v[i].kind == FIND_DEADLOCK || r->findings.v[i].kind == FIND_TIMEOUT)
            return true;
    return false;
}

u64 run_limit_after(const RunResult *before) { return 20 * run_total(before).issued + 50000; }

Counters run_total(const RunResult *r)
{
    Counters total = {.kernel = "total"};
    for (u32 i = 0; i < r->counters.n; i++) {
        const Counters *c = &r->counters.v[i];
        total.issued += c->issued;
        total.threads += c->threads;
        total.branches += c->branches;
        total.divergent += c->divergent;
        total.jumps += c->jumps;
        total.barriers += c->barriers;
    }
    return total;
}
