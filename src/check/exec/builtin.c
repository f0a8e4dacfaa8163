/* Functions of the run-time system (isa/runtime.def) that run here. Each thread has a heap of its own, so that an address does not depend
 * on the order in which threads call. */
#include "check/exec/decode.h"

#include <string.h>

#include "ir/inspect.h"

enum { HEAP_EACH = 1 << 16, FORMAT_MAX = 4096 };
#define HEAP 0x7f8000000000u

static u64 first_argument(Warp *w, Split *s, const Code *c, u32 lane)
{
    u64 value = 0, all[LANES];
    const Arg *in = &c->call->in[0];
    u32 bytes = w->m->program->wide_addresses ? 8 : 4;
    if (in->kind != ARG_FRAME)
        return arg_fetch(w, s, c, in, 1u << lane, all)[lane];
    memcpy(&value, w->local + (size_t)lane * w->local_bytes + s->frame->local_base + in->add, bytes);
    return value;
}

static void answer(Warp *w, Split *s, const Code *c, const u64 *value, u32 bytes, u32 mask)
{
    const Arg *out = c->call->outs ? &c->call->out[0] : NULL;
    if (out && out->kind == ARG_FRAME) {
        for_each_lane(lane, mask)
            memcpy(w->local + (size_t)lane * w->local_bytes + s->frame->local_base + out->add, &value[lane], bytes);
    } else if (out) {
        arg_store(s, out, bytes == 4 ? elem_b32 : elem_b64, value, mask);
    }
}

/* How many arguments the format asks for: it ends at a zero byte. */
static u32 count_arguments(Warp *w, u32 lane, const Code *c, u64 format)
{
    u32 count = 0, percent = 0;
    for (u32 k = 0; k < FORMAT_MAX; k++) {
        u64 address = format + k;
        MemSpace space = memory_resolve(w->m, &address);
        const u8 *at = memory_read((LaneAccess){w, c, lane, 1, space, address, NULL, false});
        if (!at || !*at)
            break;
        percent = *at == '%' ? percent + 1 : 0;
        count += percent == 1;
        count -= percent == 2;
        percent &= 1;
    }
    return count;
}

/* Prints nothing, and returns as many as it would have printed. */
static void run_vprintf(Warp *w, Split *s, const Code *c, u32 mask)
{
    u64 count[LANES] = {0};
    for_each_lane(lane, mask)
        count[lane] = count_arguments(w, lane, c, first_argument(w, s, c, lane));
    answer(w, s, c, count, 4, mask);
}

static void run_assertfail(Warp *w, Split *s, const Code *c, u32 mask)
{
    (void)s;
    (void)mask;
    finding_add(w->m, FIND_TRAP, "assertion", c, NULL);
    machine_stop(w->m);
}

/* The address of the bytes that this thread gets; 0: its heap is full, or addresses have 32 bits. */
static u64 allocate(Machine *m, u64 thread, u64 bytes)
{
    u64 *used = fnvmap_at(&m->heap, thread + 1), rounded = (bytes + 63) & ~(u64)63;
    if (!m->program->wide_addresses || bytes > HEAP_EACH || *used + rounded + 64 > HEAP_EACH)
        return 0;
    GlobalVar v = {.name = "heap", .address = HEAP + thread * HEAP_EACH + *used, .bytes = bytes ? bytes : 1};
    *used += rounded + 64;
    memory_add_object(m, &v);
    return v.address;
}

static void run_malloc(Warp *w, Split *s, const Code *c, u32 mask)
{
    u64 address[LANES] = {0};
    for_each_lane(lane, mask)
        address[lane] =
            allocate(w->m, (u64)w->cta->index * w->cta->threads + w->index * LANES + lane, first_argument(w, s, c, lane));
    answer(w, s, c, address, w->m->program->wide_addresses ? 8 : 4, mask);
}

/* Frees nothing: addresses are not given out again. */
static void run_free(Warp *w, Split *s, const Code *c, u32 mask)
{
    (void)w;
    (void)s;
    (void)c;
    (void)mask;
}

Handler *builtin_find(const Module *m, SymId callee)
{
    static const struct {
        const char *name;
        Handler *run;
    } rows[] = {{"vprintf", run_vprintf}, {"__assertfail", run_assertfail}, {"malloc", run_malloc}, {"free", run_free}};
    const RuntimeInfo *runtime = call_runtime(m, callee);
    for (u32 k = 0; runtime && k < COUNT_OF(rows); k++)
        if (!strcmp(rows[k].name, runtime->name))
            return rows[k].run;
    return NULL;
}
