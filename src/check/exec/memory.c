/* Memory: layouts, address windows, bounds and alignment. */
#include "check/exec/machine.h"

#include <stdio.h>
#include <string.h>

#include "base/search.h"

#define VARIABLE_GAP 32u  /* between variables of a layout */
#define FIRST_ADDRESS 64u /* of a layout: 0 is nothing's address */
enum {
    LAYOUT_BYTES = 16 << 20,  /* more memory of these kinds than any GPU has for a block or a thread */
    LAYOUT_NAMES = UINT16_MAX /* the most variables: Layout.owner has 16 bits */
};

u32 layout_add(Layout *l, const char *name, u64 bytes, u32 align)
{
    if (!l->names.n)
        vec_push(&l->names, "");
    u64 at = l->owner.n ? l->owner.n + VARIABLE_GAP : FIRST_ADDRESS;
    align = align ? align : 1;
    at = (at + align - 1) / align * align;
    if (bytes > LAYOUT_BYTES || at + bytes > LAYOUT_BYTES || l->names.n > LAYOUT_NAMES)
        return 0;
    vec_push(&l->names, name);
    vec_reserve(&l->owner, (u32)(at + bytes));
    while (l->owner.n < at)
        l->owner.v[l->owner.n++] = 0;
    while (l->owner.n < at + bytes)
        l->owner.v[l->owner.n++] = (u16)(l->names.n - 1);
    return (u32)at;
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

static void stray(const LaneAccess *a, const char *near)
{
    char detail[128];
    snprintf(detail, sizeof detail, "%u bytes at %s 0x%llx, thread %u of CTA %u", a->bytes, space_names[a->space],
             (unsigned long long)a->address, a->w->index * LANES + a->lane, a->w->cta->index);
    finding_add(a->w->m, FIND_OUT_OF_BOUNDS, near ? near : space_names[a->space], a->c, detail);
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
static bool local_place(const LaneAccess *a, Place *place)
{
    for (const Frame *f = a->w->running->frame; f; f = f->parent)
        if (a->address >= f->local_base && in_layout(&f->fn->local, a->address - f->local_base, a->bytes, &place->name)) {
            place->data = a->w->local + (size_t)a->lane * a->w->local_bytes + a->address;
            return true;
        }
    return false;
}

static bool shared_place(const LaneAccess *a, Place *place)
{
    Cta *cta = a->w->cta;
    const Program *p = a->w->m->program;
    place->name = "shared";
    bool dynamic = a->address >= p->dynamic_shared && a->address + a->bytes <= cta->shared_bytes;
    if (dynamic)
        place->name = "dynamic shared memory";
    else if (!in_layout(&p->shared, a->address, a->bytes, &place->name))
        return false;
    place->data = cta->shared + a->address;
    place->shadow = cta->shared_shadow + a->address;
    return true;
}

static bool find_place(const LaneAccess *a, Place *place)
{
    Machine *m = a->w->m;
    switch (a->space) {
    case MS_GLOBAL: {
        Object *o = find_object(m, a->address);
        if (!o)
            return false;
        place->name = o->name;
        if (a->address + a->bytes > o->address + o->bytes)
            return false;
        place->data = o->data + (a->address - o->address);
        place->shadow = o->shadow + (a->address - o->address);
        return true;
    }
    case MS_SHARED: return shared_place(a, place);
    case MS_LOCAL: return local_place(a, place);
    case MS_CONST:
        place->read_only = true;
        if (!in_layout(&m->program->constant_bank, a->address, a->bytes, &place->name))
            return false;
        place->data = m->program->constant_data + a->address;
        return true;
    default:
        place->read_only = true;
        if (!in_layout(&m->entry->bank, a->address, a->bytes, &place->name))
            return false;
        place->data = m->bank + a->address;
        return true;
    }
}

/* Tells the watch of an access that other threads may see; place->data is NULL where nothing lies at the address. */
static void tell_watch(const LaneAccess *a, const Place *place)
{
    const Warp *w = a->w;
    const Object *o = a->space == MS_GLOBAL && place->data ? find_object(w->m, a->address) : NULL;
    if (a->space == MS_CONST || a->space == MS_PARAM || a->space == MS_LOCAL)
        return;
    w->m->watch(w->m->watch_user, &(MemoryAccess){.code = a->c,
                                                  .cta = w->cta->index,
                                                  .thread = w->index * LANES + a->lane,
                                                  .name = place->data ? place->name : NULL,
                                                  .at = o ? a->address - o->address : a->address,
                                                  .data = a->data,
                                                  .bytes = a->bytes});
}

/* Finds the place of the access, whose space and address become those of no generic one. */
static bool resolve(LaneAccess *a, Place *place)
{
    Machine *m = a->w->m;
    *place = (Place){0};
    if (!m->program->wide_addresses)
        a->address &= mask_bits(32);
    if (a->space == MS_GENERIC)
        a->space = memory_resolve(m, &a->address);
    else if (a->space == MS_SHARED || a->space == MS_LOCAL)
        a->address &= mask_bits(32);
    if (a->address & (a->bytes - 1)) {
        char detail[96];
        snprintf(detail, sizeof detail, "%u bytes at 0x%llx", a->bytes, (unsigned long long)a->address);
        finding_add(m, FIND_MISALIGNED, space_names[a->space], a->c, detail);
        return false;
    }
    bool found = find_place(a, place);
    if (m->watch)
        tell_watch(a, place);
    if (found)
        return true;
    stray(a, place->name);
    return false;
}

const u8 *memory_read(LaneAccess a)
{
    Place place;
    if (!resolve(&a, &place))
        return NULL;
    if (place.shadow) {
        if (a.strong)
            race_acquire(a.w, a.lane, place.data);
        race_read(&a, place.shadow, place.name);
    }
    return place.data;
}

bool memory_write(LaneAccess a)
{
    Place place;
    if (!resolve(&a, &place))
        return false;
    if (place.read_only) {
        stray(&a, place.name);
        return false;
    }
    if (place.shadow) {
        race_write(&a, place.shadow, place.data, place.name);
        if (a.strong)
            race_release(a.w, a.lane, place.data, a.c->release, false);
    }
    memcpy(place.data, a.data, a.bytes);
    return true;
}

bool memory_will_write(LaneAccess a)
{
    Place place;
    if (!resolve(&a, &place) || place.read_only)
        return false;
    if (place.shadow)
        race_write(&a, place.shadow, NULL, place.name);
    return true;
}

u8 *memory_atomic(LaneAccess a)
{
    Place place;
    a.strong = true;
    if (!resolve(&a, &place) || place.read_only)
        return NULL;
    if (place.shadow) {
        race_acquire(a.w, a.lane, place.data);
        race_read(&a, place.shadow, place.name);
        race_write(&a, place.shadow, NULL, place.name);
        race_release(a.w, a.lane, place.data, a.c->release, true);
    }
    return place.data;
}
