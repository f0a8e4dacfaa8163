/* Memory: layouts, address windows, bounds and alignment. */
#include "check/exec/machine.h"

#include <stdio.h>
#include <string.h>

#include "base/search.h"

#define VARIABLE_GAP 32u  /* between variables of a layout */
#define FIRST_ADDRESS 64u /* of a layout: 0 is nothing's address */

u32 layout_add(Layout *l, const char *name, u64 bytes, u32 align)
{
    if (!l->names.n)
        vec_push(&l->names, "");
    u32 at = l->owner.n ? l->owner.n + VARIABLE_GAP : FIRST_ADDRESS;
    align = align ? align : 1;
    at = (at + align - 1) / align * align;
    vec_push(&l->names, name);
    vec_reserve(&l->owner, at + (u32)bytes);
    while (l->owner.n < at)
        l->owner.v[l->owner.n++] = 0;
    while (l->owner.n < at + bytes)
        l->owner.v[l->owner.n++] = (u16)(l->names.n - 1);
    return at;
}

void layout_free(Layout *l)
{
    vec_free(&l->owner);
    vec_free(&l->names);
}

static u32 window_shift(const Machine *m) { return m->program->wide_addresses ? 40 : 27; }

/* Everything outside the windows is global. */
MemSpace memory_resolve(const Machine *m, u64 *address)
{
    u64 window = *address >> window_shift(m);
    if (window < MS_SHARED || window > MS_PARAM)
        return MS_GLOBAL;
    *address &= mask_bits(window_shift(m));
    return (MemSpace)window;
}

void memory_add_object(Machine *m, const GlobalVar *v)
{
    Object o = {.name = v->name, .address = v->address, .bytes = v->bytes, .data = mem_zalloc(v->bytes ? v->bytes : 1)};
    if (v->initial)
        memcpy(o.data, v->initial, v->bytes);
    o.shadow = mem_zalloc(sizeof(Shadow) * (v->bytes ? v->bytes : 1));
    vec_push(&m->objects, o);
    for (u32 k = m->objects.n - 1; k > 0 && m->objects.v[k - 1].address > o.address; k--) {
        m->objects.v[k] = m->objects.v[k - 1];
        m->objects.v[k - 1] = o;
    }
}

static Object *find_object(Machine *m, u64 address)
{
    if (!m->objects.n)
        return NULL;
    Object *o = &m->objects.v[m->last_object];
    if (address - o->address < o->bytes)
        return o;
    u32 at = partition_point(k, 1, m->objects.n, m->objects.v[k].address <= address) - 1;
    o = &m->objects.v[at];
    if (address - o->address >= o->bytes)
        return NULL;
    m->last_object = at;
    return o;
}

static const char *const space_names[] = {"global", "shared", "local", "const", "param", "generic"};

static void stray(Warp *w, u32 lane, const Code *c, MemSpace space, u64 address, u32 bytes, const char *near)
{
    char detail[128];
    snprintf(detail, sizeof detail, "%u bytes at %s 0x%llx, thread %u of CTA %u", bytes, space_names[space],
             (unsigned long long)address, w->index * LANES + lane, w->cta->index);
    finding_add(w->m, FIND_OUT_OF_BOUNDS, near ? near : space_names[space], c, detail);
}

/* A place: its bytes, their shadow (NULL: not watched) and the variable's name. */
typedef struct Place {
    u8 *data;
    Shadow *shadow;
    const char *name;
    bool read_only;
} Place;

static bool in_layout(const Layout *l, u64 address, u32 bytes, const char **name)
{
    if (address >= l->owner.n || !l->owner.v[address])
        return false;
    *name = l->names.v[l->owner.v[address]];
    return address + bytes <= l->owner.n && l->owner.v[address + bytes - 1] == l->owner.v[address];
}

/* Finds the place of a local address, which lies in a frame of the split that runs. */
static bool local_place(Warp *w, u32 lane, u64 address, u32 bytes, Place *place)
{
    for (const Frame *f = w->running->frame; f; f = f->parent)
        if (address >= f->local_base && in_layout(&f->fn->local, address - f->local_base, bytes, &place->name)) {
            place->data = w->local + (size_t)lane * w->local_bytes + address;
            return true;
        }
    return false;
}

static bool shared_place(Warp *w, u64 address, u32 bytes, Place *place)
{
    Cta *cta = w->cta;
    const Program *p = w->m->program;
    place->name = "shared";
    bool dynamic = address >= p->dynamic_shared && address + bytes <= cta->shared_bytes;
    if (dynamic)
        place->name = "dynamic shared memory";
    else if (!in_layout(&p->shared, address, bytes, &place->name))
        return false;
    place->data = cta->shared + address;
    place->shadow = cta->shared_shadow + address;
    return true;
}

static bool find_place(Warp *w, u32 lane, MemSpace space, u64 address, u32 bytes, Place *place)
{
    Machine *m = w->m;
    switch (space) {
    case MS_GLOBAL: {
        Object *o = find_object(m, address);
        if (!o)
            return false;
        place->name = o->name;
        if (address + bytes > o->address + o->bytes)
            return false;
        place->data = o->data + (address - o->address);
        place->shadow = o->shadow + (address - o->address);
        return true;
    }
    case MS_SHARED: return shared_place(w, address, bytes, place);
    case MS_LOCAL: return local_place(w, lane, address, bytes, place);
    case MS_CONST:
        place->read_only = true;
        place->data = m->program->constant_data + address;
        return in_layout(&m->program->constant_bank, address, bytes, &place->name);
    default:
        place->read_only = true;
        place->data = m->bank + address;
        return in_layout(&m->entry->bank, address, bytes, &place->name);
    }
}

/* Tells the watch of an access; place->data is NULL where nothing lies at the address. */
static void tell_watch(Warp *w, u32 lane, const Code *c, MemSpace space, u64 address, u32 bytes, const u8 *data,
                       const Place *place)
{
    const Object *o = space == MS_GLOBAL && place->data ? find_object(w->m, address) : NULL;
    if (space == MS_CONST || space == MS_PARAM)
        return;
    w->m->watch(w->m->watch_user, &(MemoryAccess){.code = c,
                                                  .cta = w->cta->index,
                                                  .thread = w->index * LANES + lane,
                                                  .name = place->data ? place->name : NULL,
                                                  .at = o ? address - o->address : address,
                                                  .data = data,
                                                  .bytes = bytes});
}

static bool resolve(Warp *w, u32 lane, const Code *c, MemSpace space, u64 address, u32 bytes, const u8 *data, Place *place)
{
    *place = (Place){0};
    if (!w->m->program->wide_addresses)
        address &= mask_bits(32);
    if (space == MS_GENERIC)
        space = memory_resolve(w->m, &address);
    else if (space == MS_SHARED || space == MS_LOCAL)
        address &= mask_bits(32);
    if (address & (bytes - 1)) {
        char detail[96];
        snprintf(detail, sizeof detail, "%u bytes at 0x%llx", bytes, (unsigned long long)address);
        finding_add(w->m, FIND_MISALIGNED, space_names[space], c, detail);
        return false;
    }
    bool found = find_place(w, lane, space, address, bytes, place);
    if (w->m->watch)
        tell_watch(w, lane, c, space, address, bytes, data, place);
    if (found)
        return true;
    stray(w, lane, c, space, address, bytes, place->name);
    return false;
}

const u8 *memory_read(Warp *w, u32 lane, const Code *c, MemSpace space, u64 address, u32 bytes, bool strong)
{
    Place place;
    if (!resolve(w, lane, c, space, address, bytes, NULL, &place))
        return NULL;
    if (place.shadow) {
        if (strong)
            race_acquire(w, lane, place.data);
        race_read(w, lane, c, place.shadow, bytes, strong, place.name);
    }
    return place.data;
}

bool memory_write(Warp *w, u32 lane, const Code *c, MemSpace space, u64 address, const u8 *data, u32 bytes, bool strong)
{
    Place place;
    if (!resolve(w, lane, c, space, address, bytes, data, &place))
        return false;
    if (place.read_only) {
        stray(w, lane, c, space, address, bytes, place.name);
        return false;
    }
    if (place.shadow) {
        race_write(w, lane, c, place.shadow, bytes, strong, place.data, data, place.name);
        if (strong)
            race_release(w, lane, place.data, c->release, false);
    }
    memcpy(place.data, data, bytes);
    return true;
}

bool memory_will_write(Warp *w, u32 lane, const Code *c, MemSpace space, u64 address, u32 bytes)
{
    Place place;
    if (!resolve(w, lane, c, space, address, bytes, NULL, &place) || place.read_only)
        return false;
    if (place.shadow)
        race_write(w, lane, c, place.shadow, bytes, false, NULL, NULL, place.name);
    return true;
}

u8 *memory_atomic(Warp *w, u32 lane, const Code *c, MemSpace space, u64 address, u32 bytes)
{
    Place place;
    if (!resolve(w, lane, c, space, address, bytes, NULL, &place) || place.read_only)
        return NULL;
    if (place.shadow) {
        race_acquire(w, lane, place.data);
        race_read(w, lane, c, place.shadow, bytes, true, place.name);
        race_write(w, lane, c, place.shadow, bytes, true, NULL, NULL, place.name);
        race_release(w, lane, place.data, c->release, true);
    }
    return place.data;
}
