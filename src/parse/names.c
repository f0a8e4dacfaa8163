/* Names, scopes and labels. Every interned name points to its innermost meaning, so a look-up is one hash probe whatever
 * the depth of scopes. Closing a scope restores the outer meanings of its names. */
#include "parse/lower.h"

#include <string.h>

/* The object that Name.user points to until the module is parsed. */
typedef struct NameInfo {
    Binding *whole;    /* the meaning of the name as written */
    Binding *stem;     /* ranges with this stem */
    LabelRef *pending; /* the youngest unresolved reference to a label of this name */
    u32 function : 30; /* number, from 1, of the last function that declared it, or a range of it, in any scope */
    bool singles : 1;  /* some name `stem + digits` was bound as a whole besides a range, so ranges alone do not decide */
    bool mentioned : 1; /* debug data or an initialiser holds it */
} NameInfo;

/* Members of ranges up to this size are found without hashing. So are those of larger ranges, until as many have been
 * cleared as the text has bytes. A text that declares more cannot name them all. */
enum { DENSE_MEMBERS = 64 };

static NameInfo *info_of(Lower *p, Name *name)
{
    if (!name->user)
        name->user = arena_new(&p->names, NameInfo);
    return name->user;
}

static NameInfo *info_find(Lower *p, const char *text, u32 len)
{
    Name *name = intern_find(&p->module->names, text, len);
    return name ? name->user : NULL;
}

/* A name that ends in a number that a range can have, like `%r` and 12. */
typedef struct Numbered {
    u64 bytes; /* of the stem, the first byte lowest, if it has up to eight */
    u32 stem_len, number;
} Numbered;

static NameInfo *stem_fill(Lower *p, StemSlot *slot, const char *text, const Numbered *name)
{
    NameInfo *info = info_find(p, text, name->stem_len);
    if (info)
        *slot = (StemSlot){name->bytes, name->stem_len, info};
    return info;
}

/* Names of variables and parameters, which may be very long, end in numbers too, but are not members of a range. */
static inline NameInfo *stem_find(Lower *p, const char *text, const Numbered *name)
{
    if (name->stem_len > p->longest_stem)
        return NULL;
    if (name->stem_len > 8)
        return info_find(p, text, name->stem_len);
    StemSlot *slot = &p->stems[(name->bytes + name->stem_len) * 0x9e3779b97f4a7c15u >> (64 - STEM_BITS)];
    return slot->bytes == name->bytes && slot->len == name->stem_len ? slot->info : stem_fill(p, slot, text, name);
}

/* Up to eight bytes as a number, the first byte lowest on every machine. */
static inline u64 low_bytes(const char *p, u32 len)
{
    u32 first, last;
    if (len < 4)
        return len ? (u64)(u8)p[0] | (u64)(u8)p[len / 2] << len / 2 * 8 | (u64)(u8)p[len - 1] << (len - 1) * 8 : 0;
    memcpy(&first, p, 4);
    memcpy(&last, p + len - 4, 4);
#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
    first = __builtin_bswap32(first);
    last = __builtin_bswap32(last);
#endif
    return (u64)last << (len - 4) * 8 | first;
}

static inline bool is_digit(char c) { return (u32)(c - '0') <= 9; }

/* Splits a name; false when the text does not end in a number that a range can have. Leading zeros do not count: ptxas
 * takes %r01 for %r1. */
static inline bool split_number(const char *text, u32 len, Numbered *name)
{
    enum { DIGITS = 10 }; /* digits whose value is added up; a nonzero one before them makes the number too large */
    u32 first = len > DIGITS ? len - DIGITS : 0, stem = len;
    u64 value = 0, scale = 1;
    for (; stem > first && is_digit(text[stem - 1]); stem--, scale *= 10)
        value += (u64)(text[stem - 1] - '0') * scale;
    for (; stem > 0 && is_digit(text[stem - 1]); stem--)
        value |= text[stem - 1] == '0' ? 0 : (u64)1 << 32;
    if (stem == 0 || stem == len || value > INT32_MAX)
        return false;
    *name = (Numbered){stem <= 8 ? low_bytes(text, stem) : 0, stem, (u32)value};
    return true;
}

static void push_binding(Lower *p, Binding **top, Binding *b)
{
    b->outer = *top;
    b->depth = p->scopes.n;
    *top = b;
    if (p->scopes.n)
        vec_push(&p->undo, b);
}

/* The range of a binding among those of a stem. */
static inline RegRange *range_of(Binding *b) { return (RegRange *)b; }

/* Those of a scope serve again when it is closed, and those of a function end with it. */
static Binding *new_binding(Lower *p, Binding b)
{
    Binding *made = p->scopes.n ? p->spare : NULL;
    if (made)
        p->spare = made->outer;
    else
        made = arena_alloc_raw(p->scopes.n ? &p->uses : &p->names, sizeof *made);
    *made = b;
    return made;
}

static void free_binding(Lower *p, Binding *b)
{
    b->outer = p->spare;
    p->spare = b;
}

static Binding *bind_text(Lower *p, const char *text, u32 len, Span at, BindingKind kind, u32 id)
{
    Name *name = intern(&p->module->names, text, len);
    NameInfo *info = info_of(p, name);
    info->function = p->functions;
    Numbered numbered;
    bool is_numbered = split_number(text, len, &numbered);
    const Binding *clash = info->whole && info->whole->depth == p->scopes.n ? info->whole : NULL;
    NameInfo *stem = !clash && is_numbered ? stem_find(p, text, &numbered) : NULL;
    Binding *range = stem ? stem->stem : NULL;
    if (range) {
        stem->singles = true;
        if (range->depth == p->scopes.n && numbered.number < range_of(range)->count)
            clash = range;
    }
    if (clash) {
        lower_error(p, at, "'%.*s' is already declared in this scope", (int)len, text);
        lower_note(p, clash->at, "it was declared here");
        return NULL;
    }
    Binding *b = new_binding(p, (Binding){.name = name, .kind = kind, .id = id, .at = at});
    push_binding(p, &info->whole, b);
    return b;
}

Binding *names_bind(Lower *p, Span at, BindingKind kind, u32 id)
{
    return bind_text(p, p->module->text.p + at.beg, at.end - at.beg, at, kind, id);
}

Binding *names_bind_numbered(Lower *p, Span stem, u32 number, Span at, BindingKind kind, u32 id)
{
    char *text = arena_printf(&p->names, "%.*s%u", (int)(stem.end - stem.beg), p->module->text.p + stem.beg, number);
    return bind_text(p, text, (u32)strlen(text), at, kind, id);
}

static void make_dense(Lower *p, RegRange *range)
{
    vec_reserve(&p->range_ids, p->range_ids.n + range->count);
    range->first = p->range_ids.n;
    p->range_ids.n += range->count;
    memset(&p->range_ids.v[range->first], 0, range->count * sizeof *p->range_ids.v);
}

/* The innermost range that has the member, from b outwards, or NULL. Logarithmic in the number of ranges that shadow one
 * another. */
static Binding *range_with(Binding *b, u32 number)
{
    while (b && number >= range_of(b)->count) {
        Binding *jump = range_of(b)->jump;
        b = jump && number >= range_of(jump)->count ? jump : range_of(b)->wider;
    }
    return b;
}

/* Sets wider, jump and level. Jumps lead as far as those of scopes do: see scope_set_parent. */
static void link_wider(RegRange *range, Binding *outer)
{
    Binding *wider = range_with(outer, range->count);
    Binding *jump = wider ? range_of(wider)->jump : NULL, *beyond = jump ? range_of(jump)->jump : NULL;
    u32 level = wider ? range_of(wider)->level : 0, at_jump = jump ? range_of(jump)->level : 0;
    u32 at_beyond = beyond ? range_of(beyond)->level : 0;
    range->wider = wider;
    range->jump = jump && level - at_jump == at_jump - at_beyond ? beyond : wider;
    range->level = level + 1;
}

void names_bind_range(Lower *p, Span stem, RegRange *range)
{
    Str text = span_str(p->module, stem);
    Name *name = intern(&p->module->names, text.p, text.len);
    NameInfo *info = info_of(p, name);
    info->function = p->functions;
    p->longest_stem = text.len > p->longest_stem ? text.len : p->longest_stem;
    if (range->count > DENSE_MEMBERS && range->count > p->module->text.len - p->dense_members) {
        range->sparse = arena_new(&p->names, FnvMap);
    } else {
        make_dense(p, range);
        p->dense_members += range->count > DENSE_MEMBERS ? range->count : 0;
    }
    range->binding = (Binding){.name = name, .kind = BIND_RANGE, .at = stem};
    link_wider(range, info->stem);
    push_binding(p, &info->stem, &range->binding);
}

static RegId new_member(Lower *p, const RegRange *range, u32 number)
{
    Reg reg = {.name = range->binding.name,
               .number = (i32)number,
               .type = (u8)range->type,
               .vector = (u8)range->vector,
               .scope = range->scope,
               .decl = range->decl};
    vec_push(&p->fn->regs, reg);
    return p->fn->regs.n - 1;
}

static RegId range_member(Lower *p, RegRange *range, u32 number)
{
    if (range->sparse) {
        u64 *id = fnvmap_at(range->sparse, number);
        return (RegId)(*id ? *id : (*id = new_member(p, range, number)));
    }
    RegId *id = &p->range_ids.v[range->first + number];
    return *id ? *id : (*id = new_member(p, range, number));
}

Binding *names_find(Lower *p, Span at, RegId *reg)
{
    const char *text = p->module->text.p + at.beg;
    u32 len = at.end - at.beg;
    Numbered numbered;
    Binding *range = NULL;
    *reg = 0;
    if (split_number(text, len, &numbered)) {
        const NameInfo *stem = stem_find(p, text, &numbered);
        if (stem) {
            range = range_with(stem->stem, numbered.number);
            if (range && !stem->singles) {
                *reg = range_member(p, range_of(range), numbered.number);
                return range;
            }
        }
    }
    NameInfo *info = info_find(p, text, len);
    Binding *whole = info ? info->whole : NULL;
    if (range && (!whole || whole->depth < range->depth)) {
        *reg = range_member(p, range_of(range), numbered.number);
        return range;
    }
    if (whole && whole->kind == BIND_REG)
        *reg = whole->id;
    return whole;
}

bool names_declared_in_function(Lower *p, Span at)
{
    const char *text = p->module->text.p + at.beg;
    u32 len = at.end - at.beg;
    Numbered numbered;
    const NameInfo *info = info_find(p, text, len);
    if (info && info->function == p->functions)
        return true;
    info = split_number(text, len, &numbered) ? info_find(p, text, numbered.stem_len) : NULL;
    return info && info->function == p->functions;
}

/* ---- scopes and labels ---- */

void names_open_scope(Lower *p, ScopeId id)
{
    OpenScope scope = {.id = id, .undo_mark = p->undo.n, .sequence = ++p->sequence};
    vec_push(&p->scopes, scope);
}

/* The place of a label among those of the block, from 1; 0: beyond the first few. */
static u32 label_place(const Block *b, const Name *name)
{
    u32 place = 1;
    for (const Label *l = b->labels; l && place <= 8; l = l->next, place++)
        if (l->name == name)
            return place;
    return 0;
}

static void resolve(Lower *p, LabelRef *ref, Block *block)
{
    ref->done = true;
    if (ref->operand) {
        ref->operand->id = block->id;
        ref->operand->value = label_place(block, ref->name);
    } else {
        u32 *targets = p->fn->tables.v[ref->table].targets.v;
        for (u32 entry = ref->entry + 1; entry;) {
            u32 *target = &targets[entry - 1];
            entry = *target;
            *target = block->id;
        }
    }
    if (ref->from)
        ref->from->fall = block;
}

void names_close_scope(Lower *p)
{
    OpenScope scope = vec_pop(&p->scopes);
    while (p->undo.n > scope.undo_mark) {
        Binding *b = vec_pop(&p->undo);
        NameInfo *info = b->name->user;
        if (b->kind == BIND_RANGE) {
            info->stem = b->outer;
            if (range_of(b)->sparse)
                fnvmap_free(range_of(b)->sparse);
            else
                p->range_ids.n = range_of(b)->first;
            continue;
        }
        info->whole = b->outer;
        for (; b->kind == BIND_LABEL && info->pending && info->pending->sequence >= scope.sequence;
             info->pending = info->pending->same_name)
            resolve(p, info->pending, fn_block(p->fn, b->id));
        free_binding(p, b);
    }
}

/* Whether the label is an entry of the table that the youngest reference to its name is of: one reference serves for both. */
static bool joins_entries(const LabelRef *youngest, const LabelRef *ref)
{
    return youngest && !ref->operand && !youngest->operand && youngest->table == ref->table;
}

static void refer(Lower *p, Name *name, Span at, LabelRef ref)
{
    NameInfo *info = info_of(p, name);
    if (joins_entries(info->pending, &ref)) {
        p->fn->tables.v[ref.table].targets.v[ref.entry] = info->pending->entry + 1;
        info->pending->entry = ref.entry;
        return;
    }
    LabelRef *r = arena_new(&p->uses, LabelRef);
    *r = ref;
    r->name = name;
    r->at = at;
    r->sequence = ++p->sequence;
    r->same_name = info->pending;
    info->pending = r;
    vec_push(&p->refs, r);
}

void names_refer(Lower *p, Span at, LabelRef ref)
{
    Str text = span_str(p->module, at);
    refer(p, intern(&p->module->names, text.p, text.len), at, ref);
}

void names_refer_numbered(Lower *p, Span stem, u32 number, LabelRef ref)
{
    Str text = span_str(p->module, stem);
    const char *full = arena_printf(&p->names, "%.*s%u", (int)text.len, text.p, number);
    refer(p, intern_cstr(&p->module->names, full), stem, ref);
}

static bool is_label_of_function(const Lower *p, const Name *name)
{
    for_each_block(b, p->fn)
        for (const Label *l = b->labels; l; l = l->next)
            if (l->name == name)
                return true;
    return false;
}

static void report_unresolved(Lower *p, const LabelRef *ref)
{
    if (is_label_of_function(p, ref->name))
        lower_error(p, ref->at, "label '%s' is inside a scope that this branch is not in", ref->name->text);
    else
        lower_error(p, ref->at, "label '%s' is not defined in this function", ref->name->text);
}

/* Frees the references. No name may lead to one afterwards, since a later function may have labels of the same names. */
static void forget_references(Lower *p)
{
    for (u32 i = 0; i < p->refs.n; i++)
        ((NameInfo *)p->refs.v[i]->name->user)->pending = NULL;
    vec_clear(&p->refs);
    arena_free(&p->uses);
    p->spare = NULL;
}

static bool beyond_limit(const Diag *diag) { return diag->error_limit && diag->errors > diag->error_limit; }

void names_report_unresolved(Lower *p)
{
    for (u32 i = 0; i < p->refs.n && !beyond_limit(p->diag); i++)
        if (!p->refs.v[i]->done)
            report_unresolved(p, p->refs.v[i]);
    forget_references(p);
}

/* ---- names that must stay ---- */

void names_mention(Lower *p, Span at)
{
    Str text = span_str(p->module, at);
    info_of(p, intern(&p->module->names, text.p, text.len))->mentioned = true;
    p->has_mentions = true;
}

void names_pin_mentioned(Lower *p)
{
    if (!p->has_mentions)
        return;
    for (u32 f = 0; f < p->module->functions.n; f++)
        for_each_block(b, p->module->functions.v[f])
            for (Label *l = b->labels; l; l = l->next)
                l->pinned |= l->name->user && ((NameInfo *)l->name->user)->mentioned;
    for (SymId id = 1; id < p->module->syms.n; id++) {
        Sym *s = &p->module->syms.v[id];
        s->escapes |= s->owner && s->name->user && ((NameInfo *)s->name->user)->mentioned;
    }
}
