#include "check/prove/term.h"

#include "ir/inspect.h"
#include "check/prove/number.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* ---- the pool --------------------------------------------------------------------------------------------------- */

void prove_terms_init(Terms *t, Arena *arena, Intern *names)
{
    *t = (Terms){.arena = arena, .names = names};
    prove_sets_init(&t->sets, arena);
    vec_push(&t->node, ((TermNode){0}));
    vec_push(&t->syms, ((TermSym){0}));
    vec_push(&t->name, ((const Name *)NULL));
}

void prove_terms_free(Terms *t)
{
    prove_sets_free(&t->sets);
    vec_free(&t->node);
    vec_free(&t->kid);
    vec_free(&t->coef);
    vec_free(&t->syms);
    index_free(&t->index);
    vec_free(&t->name);
    vec_free(&t->inputs);
    fnvmap_free(&t->sym_of);
    fnvmap_free(&t->name_of);
    fnvmap_free(&t->truncated);
}

static u32 hash_of(const TermNode *head, const Term *kids, const u64 *coefs)
{
    u64 h = FNV_BASIS ^ head->op ^ (u64)head->bits << 8 ^ (u64)head->aux << 16;
    h = (h ^ head->value) * 0x9e3779b97f4a7c15u;
    for (u32 k = 0; k < head->n; k++) {
        h = (h ^ kids[k]) * FNV_PRIME;
        if (coefs)
            h = (h ^ (coefs[k] + 0x9e3779b9u)) * 0x9e3779b97f4a7c15u;
        h ^= h >> 29;
    }
    return hash_fold(h);
}

static bool is_same(const Terms *t, const TermNode *node, const TermNode *head, const Term *kids, const u64 *coefs)
{
    if (node->op != head->op || node->bits != head->bits || node->n != head->n || node->aux != head->aux ||
        node->value != head->value)
        return false;
    for (u32 k = 0; k < head->n; k++)
        if (t->kid.v[node->kids + k] != kids[k] || (coefs && t->coef.v[node->kids + k] != coefs[k]))
            return false;
    return true;
}

static void sum_up(const Terms *t, TermNode *head, const Term *kids)
{
    u64 size = 1;
    head->choices = head->op == TERM_ITE;
    for (u32 k = 0; k < head->n; k++) {
        const TermNode *kid = &t->node.v[kids[k]];
        head->owners |= kid->owners;
        head->choices |= kid->choices;
        size += kid->size;
    }
    head->size = size > UINT32_MAX ? UINT32_MAX : (u32)size;
}

Term prove_make(Terms *t, TermNode head, const Term *kids, const u64 *coefs)
{
    HashWalk w = index_walk(&t->index, hash_of(&head, kids, coefs));
    t->work++;
    for (Term x; (x = index_next(&w)) != 0;)
        if (is_same(t, &t->node.v[x], &head, kids, coefs))
            return x;
    Term copy[16], *from = copy; /* the vector that kids may point into moves when it grows */
    if (head.n > COUNT_OF(copy))
        from = arena_alloc_raw(t->arena, head.n * sizeof *from);
    if (head.n)
        memcpy(from, kids, head.n * sizeof *from);
    sum_up(t, &head, from);
    head.kids = t->kid.n;
    for (u32 k = 0; k < head.n; k++) {
        vec_push(&t->kid, from[k]);
        vec_push(&t->coef, coefs ? coefs[k] : 0);
    }
    index_put(&w, t->node.n);
    vec_push(&t->node, head);
    return t->node.n - 1;
}

u64 prove_most(const Terms *t, Term x)
{
    const TermNode *node = &t->node.v[x];
    return node->op == TERM_REL ? PROVE_RELS - 1 : node->op == TERM_FREL ? PROVE_FRELS - 1 : prove_mask(node->bits);
}

/* ---- leaves ----------------------------------------------------------------------------------------------------- */

Term prove_const(Terms *t, u64 value, u32 bits)
{
    return prove_make(t, (TermNode){.op = TERM_CONST, .bits = (u8)bits, .value = value & prove_mask(bits)}, NULL, NULL);
}

Term prove_sym(Terms *t, SymKindOf kind, u32 owner, u32 detail, u32 part, u32 bits)
{
    if (t->seed && bits <= 64)
        return prove_number_of(t, kind, detail, part, bits);
    u64 key = (u64)kind << 60 ^ (u64)owner << 36 ^ (u64)detail << 8 ^ part ^ (u64)bits << 52;
    u64 *place = fnvmap_at(&t->sym_of, key);
    for (u32 id = (u32)*place; id; id = 0) {
        const TermSym *s = &t->syms.v[id];
        if (s->kind == kind && s->owner == owner && s->detail == detail && s->part == part &&
            prove_bits(t, s->term) == bits)
            return s->term;
    }
    u32 id = t->syms.n; /* of two that share a key the younger is found; the older one is not asked for again as such */
    TermNode head = {.op = TERM_SYM, .bits = (u8)bits, .aux = id, .owners = owner ? (u64)1 << (owner & 63) : 0};
    vec_push(&t->syms, ((TermSym){.kind = kind, .owner = owner, .detail = detail, .part = part}));
    Term x = prove_make(t, head, NULL, NULL);
    t->syms.v[id].term = x;
    *fnvmap_at(&t->sym_of, key) = id;
    return x;
}

const TermSym *prove_sym_of(const Terms *t, Term x) { return &t->syms.v[t->node.v[x].aux]; }

void prove_sreg_bounds(const Terms *t, u32 sreg, u32 part, u64 *least, u64 *most)
{
    *least = sreg_info(sreg)->min;
    *most = sreg_info(sreg)->max;
    if (t->fn)
        fn_sreg_bounds(t->fn, &(Operand){.kind = OPND_SREG, .id = sreg, .sub = (u8)part}, least, most);
}

u32 prove_name(Terms *t, const char *text)
{
    const Name *name = intern_cstr(t->names, text);
    u64 *id = fnvmap_at(&t->name_of, (u64)(uintptr_t)name);
    if (!*id) {
        *id = t->name.n;
        vec_push(&t->name, name);
    }
    return (u32)*id;
}

Term prove_apply(Terms *t, u32 name, u32 bits, const Term *kids, u32 n)
{
    if (t->seed && bits <= 64) {
        Term number = prove_number_from(t, name, bits, kids, n);
        if (number)
            return number;
    }
    return prove_make(t, (TermNode){.op = TERM_APPLY, .bits = (u8)bits, .aux = name, .n = (u16)n}, kids, NULL);
}

Term prove_undone_window(const Terms *t, const char *space, Term x)
{
    const TermNode *node = prove_node(t, x);
    if (node->op != TERM_APPLY || node->n != 1)
        return 0;
    const char *name = t->name.v[node->aux]->text;
    return strncmp(name, "cvta.", 5) == 0 && strcmp(name + 5, space) == 0 ? prove_kid(t, x, 0) : 0;
}

/* ---- looking into terms ------------------------------------------------------------------------------------------ */

static bool mentions(Terms *t, FnvMap *seen, Term x, u32 owner)
{
    const TermNode *node = &t->node.v[x];
    if (!(node->owners >> (owner & 63) & 1))
        return false;
    if (node->op == TERM_SYM)
        return t->syms.v[node->aux].owner == owner;
    u64 *was_seen = fnvmap_at(seen, x);
    if (*was_seen)
        return false;
    *was_seen = 1;
    for (u32 k = 0; k < node->n; k++)
        if (mentions(t, seen, prove_kid(t, x, k), owner))
            return true;
    return false;
}

bool prove_mentions(Terms *t, Term x, u32 owner)
{
    FnvMap seen = {0};
    bool found = mentions(t, &seen, x, owner);
    fnvmap_free(&seen);
    return found;
}

Term prove_subst(Terms *t, Subst *s, Term x)
{
    TermNode node = t->node.v[x];
    if (s->owner && !(node.owners >> (s->owner & 63) & 1))
        return x;
    u64 *known = fnvmap_find(&s->map, x);
    if (known)
        return (Term)*known;
    if (node.n == 0)
        return x;
    Term few[16], *kids = node.n <= COUNT_OF(few) ? few : arena_alloc_raw(t->arena, node.n * sizeof *kids);
    bool changed = false;
    for (u32 k = 0; k < node.n; k++) {
        Term kid = prove_kid(t, x, k);
        kids[k] = prove_subst(t, s, kid);
        changed |= kids[k] != kid;
    }
    Term made = changed ? prove_rebuild(t, x, kids) : x;
    *fnvmap_at(&s->map, x) = made;
    return made;
}

static Term rebuild_linear(Terms *t, Term x, const Term *kids)
{
    TermNode node = t->node.v[x];
    Term sum = prove_const(t, node.value, node.bits);
    for (u32 k = 0; k < node.n; k++)
        sum = prove_add(t, sum, prove_scale(t, kids[k], t->coef.v[node.kids + k]));
    return sum;
}

Term prove_logic_of(Terms *t, u64 table, const Term *kids, u32 n, u32 bits)
{
    u64 used = n >= 6 ? table : table & (((u64)1 << (1u << n)) - 1);
    if (used == 0)
        return prove_const(t, 0, bits);
    if (n == 0)
        return prove_const(t, UINT64_MAX, bits);
    u32 half = 1u << (n - 1);
    Term no = prove_logic_of(t, used, kids, n - 1, bits);
    Term yes = prove_logic_of(t, used >> half, kids, n - 1, bits);
    return prove_logic(t, 0xca /* c ? b : a */, no, yes, kids[n - 1], 3);
}

Term prove_rebuild(Terms *t, Term x, const Term *kids)
{
    TermNode node = t->node.v[x];
    Term product;
    switch ((TermOp)node.op) {
    case TERM_LINEAR: return rebuild_linear(t, x, kids);
    case TERM_LOGIC: return prove_logic_of(t, node.value, kids, node.n, node.bits);
    case TERM_MUL:
        product = kids[0];
        for (u32 k = 1; k < node.n; k++)
            product = prove_mul(t, product, kids[k]);
        return product;
    case TERM_ITE: return prove_ite(t, kids[0], kids[1], kids[2]);
    case TERM_ZEXT: return prove_zext(t, kids[0], node.bits);
    case TERM_SEXT: return prove_sext(t, kids[0], node.bits);
    case TERM_TRUNC: return prove_trunc(t, kids[0], node.bits);
    case TERM_SHL:
    case TERM_SHR:
    case TERM_SAR: return prove_shift(t, (TermOp)node.op, kids[0], kids[1]);
    case TERM_IN: return prove_in(t, kids[0], node.aux);
    case TERM_REL:
    case TERM_FREL: /* only below an IN, which makes it anew: see prove_in */
        return prove_make(t, (TermNode){.op = node.op, .bits = node.bits, .n = 2, .aux = node.aux}, kids, NULL);
    case TERM_APPLY: return prove_apply(t, node.aux, node.bits, kids, node.n);
    default: return x;
    }
}

/* ---- printing --------------------------------------------------------------------------------------------------- */

typedef struct TermWriter {
    char *at, *end;
} TermWriter;

__attribute__((format(printf, 2, 3))) static void put(TermWriter *w, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int n = vsnprintf(w->at, (size_t)(w->end - w->at), format, arguments);
    va_end(arguments);
    w->at += n < w->end - w->at ? n : w->end - w->at - 1;
}

static void print_sym(const Terms *t, TermWriter *w, Term x)
{
    const TermSym *s = prove_sym_of(t, x);
    switch ((SymKindOf)s->kind) {
    case PROVE_SYM_SREG: put(w, "sreg%u.%u", s->detail, s->part); break;
    case PROVE_SYM_EVENT: put(w, "event%u.%u@%u", s->detail, s->part, s->owner); break;
    case PROVE_SYM_JOIN: put(w, "join%u@%u", s->detail, s->owner); break;
    default: put(w, "%s", t->name.v[s->detail]->text); break;
    }
}

static void print_term(const Terms *t, TermWriter *w, Term x, u32 depth)
{
    static const char *const word[] = {
        [TERM_LINEAR] = "+",  [TERM_LOGIC] = "logic", [TERM_MUL] = "*",     [TERM_ITE] = "ite",    [TERM_ZEXT] = "zext",
        [TERM_SEXT] = "sext", [TERM_TRUNC] = "trunc", [TERM_SHL] = "shl",   [TERM_SHR] = "shr",    [TERM_SAR] = "sar",
        [TERM_IN] = "in",     [TERM_REL] = "rel",     [TERM_FREL] = "frel", [TERM_APPLY] = "apply"};
    const TermNode *node = &t->node.v[x];
    if (node->op == TERM_CONST)
        put(w, "%lld", (long long)prove_signed(node->value, node->bits));
    if (node->op == TERM_SYM)
        print_sym(t, w, x);
    if (!node->n)
        return;
    if (depth == 0) {
        put(w, "...");
        return;
    }
    put(w, "(%s", node->op == TERM_APPLY ? t->name.v[node->aux]->text : word[node->op]);
    if (node->op == TERM_LINEAR && node->value)
        put(w, " %lld", (long long)prove_signed(node->value, node->bits));
    if (node->op == TERM_LOGIC)
        put(w, ":%llx", (unsigned long long)node->value);
    for (u32 k = 0; k < node->n; k++) {
        put(w, " ");
        if (node->op == TERM_LINEAR && t->coef.v[node->kids + k] != 1)
            put(w, "%lld*", (long long)prove_signed(t->coef.v[node->kids + k], node->bits));
        print_term(t, w, prove_kid(t, x, k), depth - 1);
    }
    const Set *set = prove_set(&t->sets, node->op == TERM_IN ? node->aux : 0);
    for (u32 k = 0; k < set->n && k < 4; k++)
        put(w, " [%lld,%lld]", (long long)set->v[k].lo, (long long)set->v[k].hi);
    put(w, ")");
}

void prove_print(const Terms *t, Term x, char *text, u32 size)
{
    TermWriter w = {text, text + size};
    text[0] = '\0';
    print_term(t, &w, x, 6);
}
