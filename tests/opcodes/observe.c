#include "observe.h"

#include <stdlib.h>

#include "base/diag.h"
#include "check/exec/run.h"
#include "parse/parse.h"

enum { BASES = 2, LIMIT = 3000, LANE = 5, OTHER_WARP = LANES + 5, PLACES = VALUES_MAX + 2 };

/* One run's memories before it, or after it. */
typedef struct State {
    u8 *memory[MEMORIES];
    bool hangs, races, message_races;
} State;

typedef struct Loaded {
    Arena arena;
    Diag diag;
    Module *module;
    Program *program;
    Kernel kernel;
} Loaded;

/* ---- memories --------------------------------------------------------------------------------------------------- */

static u32 memory_bytes(const Kernel *k, Memory m)
{
    switch (m) {
    case MEMORY_REGISTERS:
    case MEMORY_RESULTS:
    case MEMORY_AGAIN: return THREADS * value_stride(k);
    case MEMORY_FLAG:
    case MEMORY_MESSAGE: return 16;
    case MEMORY_CONST:
    case MEMORY_KERNEL_PARAM: return PIECE;
    default: return THREADS * PIECE;
    }
}

static State state_new(const Kernel *k)
{
    State s = {.hangs = false};
    for (u32 m = 0; m < MEMORIES; m++)
        s.memory[m] = mem_zalloc(memory_bytes(k, (Memory)m));
    return s;
}

static State state_copy(const Kernel *k, const State *from)
{
    State s = state_new(k);
    for (u32 m = 0; m < MEMORIES; m++)
        memcpy(s.memory[m], from->memory[m], memory_bytes(k, (Memory)m));
    return s;
}

static void state_free(State *s)
{
    for (u32 m = 0; m < MEMORIES; m++)
        mem_free(s->memory[m]);
}

static u8 *value_at(const Kernel *k, const State *s, Memory m, u32 thread, u32 place)
{
    return s->memory[m] + (size_t)thread * value_stride(k) + (size_t)place * VALUE_BYTES;
}

static void set_part(const Kernel *k, const State *s, u32 thread, Part part)
{
    *value_at(k, s, MEMORY_REGISTERS, thread, k->values + 1) = (u8)part;
}

/* ---- random inputs ---------------------------------------------------------------------------------------------- */

/* The bits that a register of this kind holds, of the first eight bytes. */
static u64 bits_of(char kind) { return kind == 'h' ? 0xffff : strchr("rnmibk", kind) ? 0xffffffff : ~(u64)0; }

/* Often small, so that two are equal or a count is in its range; of floating-point numbers some are near 1. */
static u64 random_value(Random *random)
{
    switch (random_below(random, 6)) {
    case 0:
    case 1: return random_below(random, 4);
    case 2: return random_below(random, 64);
    case 3: return 0x3f803c003c003c00u + random_next(random) % 0x00800000;
    default: return random_next(random);
    }
}

static u64 value_for(Random *random, char kind, u32 thread, bool other)
{
    switch (kind) {
    case 'p': return random_below(random, 2);
    case 'i': return random_below(random, 2);
    case 'b': return other ? 3 : 1;
    case 'k': return other ? LANES : THREADS;
    case 'n': return random_below(random, 32);
    case 'm': return !other ? 0xffffffff : thread % LANES < 16 ? 0x0000ffff : 0xffff0000;
    case 'h':
    case 'r':
    case 'd':
    case 'q': return random_value(random);
    default: return other ? HALF : 0;
    }
}

/* A value of this kind that is not the one at `at`. */
static void change_value(Random *random, u8 *at, char kind, u32 thread)
{
    u64 old, bits = bits_of(kind), fresh;
    memcpy(&old, at, 8);
    do
        fresh = value_for(random, kind, thread, true) & bits;
    while (fresh == (old & bits));
    memcpy(at, &fresh, 8);
}

static void fill_values(Random *random, const Kernel *k, State *s)
{
    for (u32 t = 0; t < THREADS; t++) {
        for (u32 i = 0; i < k->values; i++) {
            char kind = k->value[i].kind;
            u64 v[2] = {value_for(random, kind, t, false) & bits_of(kind), random_next(random)};
            memcpy(value_at(k, s, MEMORY_REGISTERS, t, i), v, kind == 'q' ? 16 : 8);
        }
        *value_at(k, s, MEMORY_REGISTERS, t, k->values) = (u8)random_below(random, 2);
    }
}

static void fill_memory(Random *random, const Kernel *k, State *s, Memory m)
{
    for (u32 at = 0; at < memory_bytes(k, m); at += 4) {
        u32 v = (u32)random_value(random);
        memcpy(s->memory[m] + at, &v, 4);
    }
}

static State random_state(Random *random, const Kernel *k, const u8 *constants)
{
    static const Memory filled[] = {MEMORY_GLOBAL, MEMORY_SHARED, MEMORY_LOCAL, MEMORY_PARAM, MEMORY_KERNEL_PARAM};
    State s = state_new(k);
    fill_values(random, k, &s);
    for (u32 i = 0; i < COUNT_OF(filled); i++)
        fill_memory(random, k, &s, filled[i]);
    memcpy(s.memory[MEMORY_CONST], constants, PIECE);
    return s;
}

/* All threads have what thread 0 has. */
static void make_uniform(const Kernel *k, const State *s)
{
    for (u32 m = 0; m < MEMORIES; m++) {
        u32 bytes = memory_bytes(k, (Memory)m), each = bytes / THREADS;
        for (u32 t = 1; t < THREADS && bytes > PIECE; t++)
            memcpy(s->memory[m] + (size_t)t * each, s->memory[m], each);
    }
}

/* ---- running ---------------------------------------------------------------------------------------------------- */

static bool load(Loaded *l, const char *instr, const u8 *constants, bool twice, char *why, size_t size)
{
    char *said = NULL;
    size_t bytes = 0;
    *l = (Loaded){.program = NULL};
    kernel_make(&l->kernel, instr, constants, twice);
    Str text = {l->kernel.text.v, l->kernel.text.n};
    FILE *messages = open_memstream(&said, &bytes);
    diag_init(&l->diag, messages, "kernel.ptx", text);
    l->module = parse_module_strict(&l->arena, "kernel.ptx", text, &l->diag);
    fclose(messages);
    snprintf(why, size, "%s", said);
    free(said);
    if (l->diag.errors)
        return false;
    l->program = program_new(&l->arena, l->module, "kernel.ptx");
    program_decode(l->program, program_function(l->program, "k"));
    for (u32 i = 0; i < l->program->unsupported.n; i++)
        snprintf(why, size, "%s", l->program->unsupported.v[i]);
    return l->program->unsupported.n == 0;
}

static void unload(Loaded *l)
{
    if (l->program)
        program_free(l->program);
    module_free(l->module);
    diag_free(&l->diag);
    arena_free(&l->arena);
    kernel_free(&l->kernel);
}

static void look_at_findings(State *after, const RunResult *r)
{
    for (u32 i = 0; i < r->findings.n; i++) {
        const Finding *f = &r->findings.v[i];
        after->message_races |= f->kind == FIND_RACE && !strcmp(f->subject, "message");
        after->races |= f->kind == FIND_RACE && strcmp(f->subject, "message") != 0;
    }
}

static State run(Loaded *l, const State *before)
{
    static const char *const names[] = {"registers", "results", "again", "global", "shared",
                                        "local",     "param",   "flag",  "message"};
    const Kernel *k = &l->kernel;
    Arena arena = {0};
    Launch launch = {.label = "k"};
    LaunchKernel kernel = {.name = "k", .grid = {1, 1, 1}, .block = {THREADS, 1, 1}};
    for (u32 m = 0; m < MEMORY_CONST; m++) {
        u32 bytes = memory_bytes(k, (Memory)m);
        LaunchBuffer b = {.name = names[m], .count = bytes, .bytes = bytes, .fill = before->memory[m], .output = true};
        LaunchArg a = {.buffer = (i32)m, .bytes = 8};
        vec_push(&launch.buffers, b);
        vec_push(&kernel.args, a);
    }
    LaunchArg last = {.buffer = -1, .value = before->memory[MEMORY_KERNEL_PARAM], .bytes = PIECE};
    vec_push(&kernel.args, last);
    vec_push(&launch.kernels, kernel);
    RunOptions options = {.seed = 1, .limit = LIMIT};
    RunResult r = run_launch(&arena, l->program, &launch, &options);
    State after = state_copy(k, before);
    for (u32 m = 0; m < MEMORY_CONST && !r.error; m++)
        memcpy(after.memory[m], r.outputs.v[m].data, memory_bytes(k, (Memory)m));
    after.hangs = run_hangs(&r) || r.error || r.unsupported;
    look_at_findings(&after, &r);
    run_result_free(&r);
    vec_free(&kernel.args);
    vec_free(&launch.buffers);
    vec_free(&launch.kernels);
    arena_free(&arena);
    return after;
}

/* ---- comparing -------------------------------------------------------------------------------------------------- */

static bool is_memory(Memory m) { return m >= MEMORY_GLOBAL && m <= MEMORY_PARAM; }

static bool same_value(const Kernel *k, const State *a, const State *b, u32 thread, u32 place)
{
    return !memcmp(value_at(k, a, MEMORY_RESULTS, thread, place), value_at(k, b, MEMORY_RESULTS, thread, place),
                   VALUE_BYTES);
}

/* Whether the thread's own value at `place` is the same before and after. */
static bool kept(const Kernel *k, const State *before, const State *after, u32 thread, u32 place)
{
    return !memcmp(value_at(k, before, MEMORY_REGISTERS, thread, place), value_at(k, after, MEMORY_RESULTS, thread, place),
                   VALUE_BYTES);
}

typedef bool Chosen(u32 thread);

typedef struct Watch {
    Loaded *l;
    Observed *o;
    Random random;
    State before, after; /* with nothing changed */
} Watch;

/* What differs in the registers of a thread but the one at `place`. PLACES: at none. */
static bool thread_differs(const Watch *w, const State *after, u32 thread, u32 place)
{
    const Kernel *k = &w->l->kernel;
    for (u32 i = 0; i <= k->values + 1; i++)
        if (i != place && !same_value(k, &w->after, after, thread, i))
            return true;
    return false;
}

static bool piece_differs(const State *a, const State *b, Memory m, u32 thread)
{
    return memcmp(a->memory[m] + thread * PIECE, b->memory[m] + thread * PIECE, PIECE) != 0;
}

static bool memories_differ(const State *a, const State *b, u32 thread)
{
    for (Memory m = MEMORY_GLOBAL; m <= MEMORY_PARAM; m++)
        if (piece_differs(a, b, m, thread))
            return true;
    return false;
}

/* ---- what was written ------------------------------------------------------------------------------------------- */

static u32 first_written(const Watch *w, Memory m, u32 thread, u32 *last)
{
    const u8 *a = w->before.memory[m] + thread * PIECE, *b = w->after.memory[m] + thread * PIECE;
    u32 first = PIECE;
    *last = 0;
    for (u32 i = 0; i < PIECE; i++)
        if (a[i] != b[i]) {
            first = first < i ? first : i;
            *last = i + 1;
        }
    return first;
}

static void see_writes(Watch *w)
{
    const Kernel *k = &w->l->kernel;
    Observed *o = w->o;
    for (u32 t = 0; t < THREADS; t++) {
        u32 where = *value_at(k, &w->after, MEMORY_RESULTS, t, k->values + 1);
        o->goes_on |= where == WENT_ON || where == WENT_ON_IN_FUNCTION;
        o->goes_to_target |= where == WENT_TO_TARGET;
        o->returns |= where == RETURNED;
        o->ends |= where == WENT_NOWHERE;
        if (where == WENT_NOWHERE)
            continue;
        for (u32 i = 0; i < k->values; i++)
            o->writes[i] |= !kept(k, &w->before, &w->after, t, i);
        o->writes_carry |= !kept(k, &w->before, &w->after, t, k->values);
        for (Memory m = MEMORY_GLOBAL; m <= MEMORY_PARAM; m++) {
            u32 last, first = first_written(w, m, t, &last);
            o->memory_written |= last ? 1u << m : 0;
            o->widest = first < last && last > o->widest ? last : o->widest;
        }
    }
}

/* ---- what was read ---------------------------------------------------------------------------------------------- */

/* Whether two lanes of a warp have different results in a register that is written. */
static bool results_differ(const Watch *w, const State *after, Chosen *left_out)
{
    const Kernel *k = &w->l->kernel;
    for (u32 i = 0; i < k->values; i++)
        for (u32 t = 0; t < THREADS; t++)
            if (w->o->writes[i] && !(left_out && left_out(t)) &&
                memcmp(value_at(k, after, MEMORY_RESULTS, t, i), value_at(k, after, MEMORY_RESULTS, t / LANES * LANES, i),
                       VALUE_BYTES) != 0)
                return true;
    return false;
}

/* All threads write the same memory, through which one may see what another did. */
static bool writes_one_place(const Observed *o)
{
    bool whole = false;
    for (u32 i = 0; i < o->values; i++)
        whole |= o->value[i].kind == 'w' || o->value[i].kind == 'v';
    return whole && o->memory_written;
}

/* The value at `place` is another one before, in one thread or in all. */
static void see_dependence(Watch *w, u32 place, bool everywhere)
{
    const Kernel *k = &w->l->kernel;
    Observed *o = w->o;
    State before = state_copy(k, &w->before);
    char kind = place < k->values ? k->value[place].kind : 'p';
    for (u32 t = 0; t < THREADS; t++)
        if (everywhere || t == LANE)
            change_value(&w->random, value_at(k, &before, MEMORY_REGISTERS, t, place), kind, t);
    State after = run(w->l, &before);
    bool read = after.hangs != w->after.hangs, shows = false;
    bool one_place = strchr("wv", kind) || writes_one_place(o);
    for (u32 t = 0; t < THREADS && !after.hangs; t++) {
        bool differs = thread_differs(w, &after, t, place) || memories_differ(&w->after, &after, t);
        read |= differs;
        shows |= !same_value(k, &w->after, &after, t, place);
        o->crosses |= !everywhere && t != LANE && !one_place && (differs || !same_value(k, &w->after, &after, t, place));
    }
    if (place < k->values) {
        o->reads[place] |= read;
        o->shows[place] |= shows;
    } else {
        o->reads_carry |= read;
        o->shows_carry |= shows;
    }
    o->masks_differ |= kind == 'm' && !after.hangs && results_differ(w, &after, NULL);
    state_free(&before);
    state_free(&after);
}

/* Of bytes that are written either way, what is written differs. */
static bool writes_differ(const Watch *w, const State *before, const State *after, Memory m)
{
    const Kernel *k = &w->l->kernel;
    for (u32 i = 0; i < memory_bytes(k, m); i++)
        if (w->before.memory[m][i] != w->after.memory[m][i] && before->memory[m][i] != after->memory[m][i] &&
            w->after.memory[m][i] != after->memory[m][i])
            return true;
    return false;
}

static void see_memory_read(Watch *w, Loaded *l, Memory m)
{
    const Kernel *k = &l->kernel;
    State before = state_copy(k, &w->before);
    if (m == MEMORY_CONST)
        for (u32 i = 0; i < PIECE; i++)
            before.memory[m][i] ^= 0x55;
    else
        fill_memory(&w->random, k, &before, m);
    State after = run(l, &before);
    bool read = after.hangs != w->after.hangs;
    for (u32 t = 0; t < THREADS && !read; t++) {
        read = thread_differs(w, &after, t, PLACES);
        for (Memory other = MEMORY_GLOBAL; other <= MEMORY_PARAM; other++)
            read |= other != m && piece_differs(&w->after, &after, other, t);
    }
    if (is_memory(m))
        read |= writes_differ(w, &before, &after, m);
    w->o->memory_read |= read ? 1u << m : 0;
    state_free(&before);
    state_free(&after);
}

/* ---- who is there ----------------------------------------------------------------------------------------------- */

static bool is_lane(u32 thread) { return thread == LANE; }
static bool is_in_other_warp(u32 thread) { return thread == OTHER_WARP; }
static bool is_odd(u32 thread) { return thread % 2 == 1; }
static bool is_second_warp(u32 thread) { return thread >= LANES; }
static bool is_first_warp(u32 thread) { return thread < LANES; }
static bool is_first_of_second(u32 thread) { return thread == LANES; }

/* Whether thread 0 comes past the instruction, and so can tell the others. */
static bool first_goes_on(const Watch *w)
{
    return *value_at(&w->l->kernel, &w->after, MEMORY_RESULTS, 0, w->l->kernel.values + 1) != WENT_NOWHERE;
}

static State run_with(Watch *w, Chosen *chosen, Part part, Chosen *chosen_too, Part part_too)
{
    const Kernel *k = &w->l->kernel;
    State before = state_copy(k, &w->before);
    before.memory[MEMORY_MESSAGE][4] = part == WRITES_STRONGLY;
    for (u32 t = 0; t < THREADS; t++)
        set_part(k, &before, t, chosen(t) ? part : chosen_too && chosen_too(t) ? part_too : DOES_IT);
    State after = run(w->l, &before);
    state_free(&before);
    return after;
}

/* Whether a thread that `chosen` leaves in the first warp has other registers or memory. */
static bool others_differ(const Watch *w, const State *after, Chosen *chosen, u32 threads)
{
    for (u32 t = 0; t < threads; t++)
        if (!(chosen && chosen(t)) && (thread_differs(w, after, t, PLACES) || memories_differ(&w->after, after, t)))
            return true;
    return false;
}

/* Whether thread `looker`, which executes the instruction too, sees what thread 0 wrote before. */
static bool is_seen_by(Watch *w, u32 looker)
{
    State before = state_copy(&w->l->kernel, &w->before);
    before.memory[MEMORY_MESSAGE][8] = (u8)looker;
    State after = run(w->l, &before);
    bool seen = !after.hangs && !after.message_races;
    state_free(&before);
    state_free(&after);
    return seen;
}

static void see_others(Watch *w)
{
    Observed *o = w->o;
    if (!first_goes_on(w))
        return;
    State away = run_with(w, is_lane, LEAVES, NULL, 0), polls = run_with(w, is_lane, POLLS, NULL, 0);
    State polls_there = run_with(w, is_in_other_warp, POLLS, NULL, 0), copies = run_with(w, is_odd, DOES_A_COPY, NULL, 0);
    bool one_place = writes_one_place(o);
    o->sees_absence |= !one_place && !away.hangs && others_differ(w, &away, is_lane, LANES);
    o->waits_lane |= polls.hangs;
    o->waits_warp |= polls_there.hangs;
    o->orders = (!polls_there.hangs && !polls_there.message_races) || is_seen_by(w, LANE);
    o->copy_differs |= !one_place && (copies.hangs || others_differ(w, &copies, NULL, THREADS));
    State with = run_with(w, is_second_warp, PASSES_BARRIER, NULL, 0);
    State without = run_with(w, is_second_warp, PASSES_BARRIER, is_first_warp, DOES_NOTHING);
    o->arrives |= !with.hangs && without.hangs;
    State strong = run_with(w, is_first_of_second, WRITES_STRONGLY, NULL, 0);
    u32 shared = 1u << MEMORY_GLOBAL | 1u << MEMORY_SHARED;
    o->is_strong = (o->memory_read | o->memory_written) & shared && !strong.races && !strong.hangs;
    State *const all[] = {&away, &polls, &polls_there, &copies, &with, &without, &strong};
    for (u32 i = 0; i < COUNT_OF(all); i++)
        state_free(all[i]);
}

/* ---- equal operands, exchanged ones ----------------------------------------------------------------------------- */

/* Also where lanes execute it at two places, and where one has left. */
static void see_uniformity(Watch *w)
{
    static const struct {
        Chosen *chosen;
        Part part;
        Chosen *left_out;
    } rows[] = {{is_lane, DOES_IT, NULL}, {is_odd, DOES_A_COPY, NULL}, {is_lane, LEAVES, is_lane}};
    State kept = w->before;
    w->before = state_copy(&w->l->kernel, &kept);
    make_uniform(&w->l->kernel, &w->before);
    for (u32 i = 0; i < COUNT_OF(rows); i++) {
        State after = run_with(w, rows[i].chosen, rows[i].part, NULL, 0);
        w->o->uniform_differs |= !after.hangs && results_differ(w, &after, rows[i].left_out);
        state_free(&after);
    }
    state_free(&w->before);
    w->before = kept;
    w->o->lanes_differ |= results_differ(w, &w->after, NULL);
}

/* Exchanges what the values 1 and 2 hold, which are the first two sources where value 0 is the result. */
static void see_exchange(Watch *w)
{
    const Kernel *k = &w->l->kernel;
    State before = state_copy(k, &w->before);
    if (k->values < 3 || k->value[1].kind != k->value[2].kind) {
        state_free(&before);
        return;
    }
    for (u32 t = 0; t < THREADS; t++) {
        u8 *a = value_at(k, &before, MEMORY_REGISTERS, t, 1), *b = value_at(k, &before, MEMORY_REGISTERS, t, 2);
        memcpy(a, value_at(k, &w->before, MEMORY_REGISTERS, t, 2), VALUE_BYTES);
        memcpy(b, value_at(k, &w->before, MEMORY_REGISTERS, t, 1), VALUE_BYTES);
    }
    State after = run(w->l, &before);
    for (u32 t = 0; t < THREADS; t++)
        w->o->swaps_differ |= !same_value(k, &w->after, &after, t, 0) || !same_value(k, &w->after, &after, t, k->values);
    state_free(&before);
    state_free(&after);
}

static void keep_operands(const Watch *w)
{
    const Kernel *k = &w->l->kernel;
    for (u32 t = 0; t < THREADS && k->values > 1; t++) {
        memcpy(&w->o->result[t], value_at(k, &w->after, MEMORY_RESULTS, t, 0), 8);
        for (u32 i = 1; i < 3 && i < k->values; i++)
            memcpy(&w->o->source[i - 1][t], value_at(k, &w->before, MEMORY_REGISTERS, t, i), 8);
    }
}

static void see_repetition(Watch *w, Loaded *twice)
{
    const Kernel *k = &w->l->kernel;
    State after = run(twice, &w->before);
    for (u32 t = 0; t < THREADS; t++)
        for (u32 i = 0; i <= k->values; i++)
            w->o->repeats_differ |= memcmp(value_at(k, &after, MEMORY_RESULTS, t, i),
                                           value_at(k, &after, MEMORY_AGAIN, t, i), VALUE_BYTES) != 0;
    state_free(&after);
}

/* ---- all of it -------------------------------------------------------------------------------------------------- */

static void watch_base(Watch *w, Loaded *other_constants, Loaded *twice)
{
    const Kernel *k = &w->l->kernel;
    w->after = run(w->l, &w->before);
    see_writes(w);
    keep_operands(w);
    for (u32 place = 0; place <= k->values; place++) {
        see_dependence(w, place, true);
        if (place == k->values || k->value[place].kind != 'm')
            see_dependence(w, place, false);
    }
    for (Memory m = MEMORY_GLOBAL; m <= MEMORY_PARAM; m++)
        see_memory_read(w, w->l, m);
    see_memory_read(w, other_constants, MEMORY_CONST);
    see_memory_read(w, w->l, MEMORY_KERNEL_PARAM);
    see_others(w);
    see_uniformity(w);
    see_exchange(w);
    if (w->o->goes_on && !w->o->goes_to_target)
        see_repetition(w, twice);
    state_free(&w->after);
}

bool observe(const char *instr, Observed *o, char *why, size_t size)
{
    u8 constants[PIECE], others[PIECE];
    Loaded l, other_constants, twice;
    *o = (Observed){.values = 0};
    for (u32 i = 0; i < PIECE; i++) {
        constants[i] = (u8)(i * 37 + 11);
        others[i] = constants[i] ^ 0x55;
    }
    bool ok = load(&l, instr, constants, false, why, size);
    ok = load(&twice, instr, constants, true, why, size) && ok;
    ok = load(&other_constants, instr, others, false, why, size) && ok;
    Watch w = {.l = &l, .o = o, .random = {3}};
    o->values = l.kernel.values;
    memcpy(o->value, l.kernel.value, sizeof o->value);
    for (u32 base = 0; base < BASES && ok; base++) {
        w.before = random_state(&w.random, &l.kernel, constants);
        watch_base(&w, &other_constants, &twice);
        state_free(&w.before);
    }
    unload(&l);
    unload(&twice);
    unload(&other_constants);
    return ok;
}
