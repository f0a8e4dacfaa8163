/* Bitwise functions and choices, for numbers and conditions alike: a truth table over at most six leaves. */
#include <string.h>

#include "check/prove/number.h"
#include "check/prove/term.h"
#include "check/prove/term_division.h"

enum { LEAVES = 6 };

/* A term as a function of leaves. */
typedef struct Input {
    u64 table;
    u32 n;
    Term leaf[LEAVES];
} Input;

static bool is_not(const Terms *t, const TermNode *node, u64 mask)
{
    return node->op == TERM_LINEAR && node->n == 1 && node->value == mask && t->coef.v[node->kids] == mask;
}

static Input input_of(const Terms *t, Term x, bool look_inside)
{
    const TermNode *node = prove_node(t, x);
    u64 mask = prove_mask(node->bits);
    Input in = {.table = 2, .n = 1, .leaf = {x}};
    if (node->op == TERM_CONST && (node->value == 0 || node->value == mask))
        return (Input){.table = node->value != 0};
    if (node->op == TERM_LOGIC && look_inside) {
        in.table = node->value;
        in.n = node->n;
        memcpy(in.leaf, t->kid.v + node->kids, node->n * sizeof *in.leaf);
    } else if (node->bits > 1 && node->bits <= 64 && is_not(t, node, mask)) {
        in.table = 1;
        in.leaf[0] = prove_kid(t, x, 0);
    }
    return in;
}

/* The union of the inputs' leaves, ascending; LEAVES + 1 if there are more. */
static u32 unite_leaves(const Input *in, u32 count, Term *leaf)
{
    u32 n = 0;
    for (u32 i = 0; i < count; i++)
        for (u32 k = 0; k < in[i].n; k++) {
            u32 at = 0;
            while (at < n && leaf[at] < in[i].leaf[k])
                at++;
            if (at < n && leaf[at] == in[i].leaf[k])
                continue;
            if (n == LEAVES)
                return LEAVES + 1;
            memmove(leaf + at + 1, leaf + at, (n - at) * sizeof *leaf);
            leaf[at] = in[i].leaf[k];
            n++;
        }
    return n;
}

/* The truth table of each leaf by itself. */
static const u64 table_of[LEAVES] = {0xaaaaaaaaaaaaaaaau, 0xccccccccccccccccu, 0xf0f0f0f0f0f0f0f0u,
                                     0xff00ff00ff00ff00u, 0xffff0000ffff0000u, 0xffffffff00000000u};

static u64 rows_of(u32 n) { return n == LEAVES ? UINT64_MAX : ((u64)1 << (1u << n)) - 1; }

/* The truth table of a function whose n arguments have these tables. */
static u64 compose(u64 table, const u64 *argument, u32 n)
{
    u64 made = 0;
    for (u32 row = 0; row < 1u << n; row++) {
        u64 all = table >> row & 1 ? UINT64_MAX : 0;
        for (u32 k = 0; k < n && all; k++)
            all &= row >> k & 1 ? argument[k] : ~argument[k];
        made |= all;
    }
    return made;
}

/* The input's truth table over the n leaves, which its own are among. */
static u64 table_over(const Input *in, const Term *leaf, u32 n)
{
    u64 argument[LEAVES];
    for (u32 k = 0; k < in->n; k++)
        for (u32 at = 0; at < n; at++)
            if (leaf[at] == in->leaf[k])
                argument[k] = table_of[at];
    return compose(in->table, argument, in->n) & rows_of(n);
}

/* Takes leaf k out of the table if the function does not depend on it. */
static bool drop_leaf(u64 *table, Term *leaf, u32 *n, u32 k)
{
    u64 low = 0;
    u32 half = 1u << (*n - 1), below = (1u << k) - 1;
    for (u32 a = 0; a < half; a++) {
        u32 without = (a & below) | (a & ~below) << 1;
        u64 no = *table >> without & 1, yes = *table >> (without | 1u << k) & 1;
        if (no != yes)
            return false;
        low |= no << a;
    }
    *table = low;
    (*n)--;
    memmove(leaf + k, leaf + k + 1, (*n - k) * sizeof *leaf);
    return true;
}

static Term make_logic(Terms *t, u64 table, const Term *leaf, u32 n, u32 bits)
{
    return prove_make(t, (TermNode){.op = TERM_LOGIC, .bits = (u8)bits, .n = (u16)n, .value = table}, leaf, NULL);
}

/* How many of the lowest bits are zero, whatever the symbols are. */
static u32 zero_bits(const Terms *t, Term x, u32 depth)
{
    const TermNode *node = prove_node(t, x);
    u32 least = node->bits;
    if (node->op == TERM_ZEXT || node->op == TERM_SEXT) {
        least = prove_bits(t, prove_kid(t, x, 0));
        u32 inner = depth ? zero_bits(t, prove_kid(t, x, 0), depth - 1) : 0;
        return inner < least ? inner : least;
    }
    if (node->op != TERM_LINEAR)
        return 0;
    if (node->value)
        least = (u32)__builtin_ctzll(node->value);
    for (u32 k = 0; k < node->n; k++) {
        u32 zeros =
            (u32)__builtin_ctzll(t->coef.v[node->kids + k]) + (depth ? zero_bits(t, prove_kid(t, x, k), depth - 1) : 0);
        least = zeros < least ? zeros : least;
    }
    return least;
}

/* The function of one leaf that is no constant and some that are: (x & m) ^ k. */
static Term make_masked(Terms *t, u64 table, const Term *leaf, u32 n, u32 at, u32 bits)
{
    u64 m = 0, k = 0, mask = prove_mask(bits);
    for (u32 b = 0; b < bits; b++) {
        u32 index = 0;
        for (u32 i = 0; i < n; i++)
            if (i != at)
                index |= (u32)(prove_node(t, leaf[i])->value >> b & 1) << i;
        u64 no = table >> index & 1, yes = table >> (index | 1u << at) & 1;
        k |= no << b;
        m |= (no ^ yes) << b;
    }
    Term x = leaf[at];
    u64 low = prove_mask(zero_bits(t, x, 4)); /* what is zero in x need not be masked, and setting it is adding */
    if (zero_bits(t, x, 4) && (m | low) == mask && (k & ~low) == 0)
        return prove_plus(t, x, k);
    if (m == 0)
        return prove_const(t, k, bits);
    if (m == mask && k == 0)
        return x;
    if (m == mask && k == mask)
        return prove_not(t, x);
    if (m == mask && k == (u64)1 << (bits - 1))
        return prove_plus(t, x, k);
    Term both[3] = {x};
    u32 count = 1, and_at = 0, xor_at = 0;
    if (m != mask)
        both[and_at = count++] = prove_const(t, m, bits);
    if (k != 0)
        both[xor_at = count++] = prove_const(t, k, bits);
    if (and_at && xor_at && m == k) { /* the constants are one leaf: ~x & m */
        count = 2;
        xor_at = and_at;
    }
    u64 made = 0;
    for (u32 a = 0; a < 1u << count; a++)
        made |= (u64)(((a & 1) & (and_at ? a >> and_at & 1 : 1)) ^ (xor_at ? a >> xor_at & 1 : 0)) << a;
    Input in = {.table = made, .n = count};
    memcpy(in.leaf, both, sizeof both);
    Term sorted[LEAVES];
    unite_leaves(&in, 1, sorted);
    return make_logic(t, table_over(&in, sorted, count), sorted, count, bits);
}

static Term fold(Terms *t, u64 table, const Term *leaf, u32 n, u32 bits)
{
    u64 value = 0;
    for (u32 b = 0; b < bits; b++) {
        u32 index = 0;
        for (u32 k = 0; k < n; k++)
            index |= (u32)(prove_node(t, leaf[k])->value >> b & 1) << k;
        value |= (table >> index & 1) << b;
    }
    return prove_const(t, value, bits);
}

static Term from_table(Terms *t, u64 table, Term *leaf, u32 n, u32 bits)
{
    u32 variables = 0, variable = 0;
    for (u32 k = n; k-- > 0;)
        drop_leaf(&table, leaf, &n, k);
    for (u32 k = 0; k < n; k++)
        if (!prove_is_const(t, leaf[k])) {
            variables++;
            variable = k;
        }
    if (n == 0)
        return prove_const(t, table & 1 ? UINT64_MAX : 0, bits);
    if (n == 1 && variables == 1)
        return table == 2 ? leaf[0] : bits == 1 ? make_logic(t, 1, leaf, 1, 1) : prove_not(t, leaf[0]);
    if (variables == 0)
        return fold(t, table, leaf, n, bits);
    if (bits <= 64 && variables == 1)
        return make_masked(t, table, leaf, n, variable, bits);
    return make_logic(t, table, leaf, n, bits);
}

Term prove_logic(Terms *t, u32 lut, Term a, Term b, Term c, u32 count)
{
    Term arg[3] = {a, b, c}, leaf[LEAVES + 1];
    Input in[3];
    u32 n = LEAVES + 1, bits = prove_bits(t, a);
    for (u32 deep = 2; deep-- > 0 && n > LEAVES;) {
        for (u32 k = 0; k < count; k++)
            in[k] = input_of(t, arg[k], deep);
        n = unite_leaves(in, count, leaf);
    }
    u64 argument[3];
    for (u32 k = 0; k < count; k++)
        argument[k] = table_over(&in[k], leaf, n);
    return from_table(t, compose(lut, argument, count) & rows_of(n), leaf, n, bits);
}

Term prove_and(Terms *t, Term a, Term b) { return prove_logic(t, 0x8, a, b, 0, 2); }
Term prove_or(Terms *t, Term a, Term b) { return prove_logic(t, 0xe, a, b, 0, 2); }
Term prove_xor(Terms *t, Term a, Term b) { return prove_logic(t, 0x6, a, b, 0, 2); }

Term prove_not(Terms *t, Term a)
{
    u32 bits = prove_bits(t, a);
    if (bits == 1)
        return prove_logic(t, 0x1, a, 0, 0, 1);
    if (bits > 64)
        return prove_apply(t, prove_name(t, "not"), bits, &a, 1);
    return prove_sub(t, prove_const(t, UINT64_MAX, bits), a);
}

/* A choice. Of a condition and its opposite, the older one stands in choices. */
Term prove_choice(Terms *t, Term cond, Term a, Term b)
{
    Term opposite = prove_not(t, cond);
    if (opposite < cond) {
        Term swap = a;
        a = b;
        b = swap;
        cond = opposite;
    }
    if (t->divides) {
        a = prove_chosen(t, a, cond, true);
        b = prove_chosen(t, b, cond, false);
    }
    Term kids[] = {cond, a, b};
    return a == b ? a : prove_make(t, (TermNode){.op = TERM_ITE, .bits = (u8)prove_bits(t, a), .n = 3}, kids, NULL);
}

Term prove_ite(Terms *t, Term cond, Term a, Term b)
{
    if (prove_is_const(t, cond))
        return prove_node(t, cond)->value ? a : b;
    if (a == b)
        return a;
    if (prove_bits(t, a) == 1)
        return prove_logic(t, 0xca, b, a, cond, 3);
    Term exact = prove_corrected(t, cond, a, b);
    return exact ? exact : prove_choice(t, cond, a, b);
}

/* ---- atoms ------------------------------------------------------------------------------------------------------ */

static Term make_in(Terms *t, Term x, SetId set)
{
    u64 most = prove_most(t, x);
    if (prove_set_is_empty(&t->sets, set))
        return prove_bool(t, false);
    if (set == prove_set_range(&t->sets, 0, most))
        return prove_bool(t, true);
    bool negated = prove_set_has(&t->sets, set, 0);
    if (negated)
        set = prove_set_not(&t->sets, set, most);
    Term atom = prove_make(t, (TermNode){.op = TERM_IN, .bits = 1, .n = 1, .aux = set}, &x, NULL);
    return negated ? prove_not(t, atom) : atom;
}

static u32 relations_in(const Terms *t, SetId set, u32 count)
{
    u32 mask = 0;
    for (u32 k = 0; k < count; k++)
        mask |= (u32)prove_set_has(&t->sets, set, k) << k;
    return mask;
}

static SetId set_of_relations(Terms *t, u32 mask, u32 count)
{
    SetId set = prove_set_empty(&t->sets);
    for (u32 k = 0; k < count; k++)
        if (mask >> k & 1)
            set = prove_set_or(&t->sets, set, prove_set_range(&t->sets, k, k));
    return set;
}

/* x in set, where x is narrower than the sum's set: those of its values that extend into the set. */
static Term in_extended(Terms *t, Term x, SetId set, u32 bits)
{
    Term inner = prove_kid(t, x, 0);
    u32 narrow = prove_bits(t, inner);
    u64 most = prove_mask(narrow), half = most >> 1;
    if (prove_node(t, x)->op == TERM_ZEXT)
        return prove_in(t, inner, prove_set_and(&t->sets, set, prove_set_range(&t->sets, 0, most)));
    SetId low = prove_set_and(&t->sets, set, prove_set_range(&t->sets, 0, half));
    SetId moved = prove_set_shift(&t->sets, set, most + 1, prove_mask(bits)); /* -1 of `bits` becomes -1 of `narrow` */
    SetId high = prove_set_and(&t->sets, moved, prove_set_range(&t->sets, half + 1, most));
    return prove_in(t, inner, prove_set_or(&t->sets, low, high));
}

/* A sum of one term and a constant: the constant moves into the set. So does the sign of a lone term. */
static Term in_sum(Terms *t, Term x, SetId set)
{
    TermNode node = *prove_node(t, x);
    u64 mask = prove_mask(node.bits);
    Term rest = prove_plus(t, x, 0 - node.value);
    set = prove_set_shift(&t->sets, set, 0 - node.value, mask);
    if (node.n == 1 && t->coef.v[node.kids] == mask) {
        rest = prove_kid(t, x, 0);
        set = prove_set_negate(&t->sets, set, mask);
    }
    return prove_in(t, rest, set);
}

/* Finds which leaves of a bitwise function must be 1, and which 0, for one of its bits to be 0. False: that cannot be said
 * of each leaf by itself. */
static bool zeros_of_bit(Terms *t, const TermNode *node, u32 bit, u32 *ones, u32 *zeros)
{
    u32 all = (1u << node->n) - 1, numbers = 0, values = 0, count = 0, any = 0, least = all;
    for (u32 k = 0; k < node->n; k++) {
        const TermNode *leaf = prove_node(t, t->kid.v[node->kids + k]);
        numbers |= (u32)(leaf->op == TERM_CONST) << k;
        values |= (u32)(leaf->op == TERM_CONST && (leaf->value >> bit & 1)) << k;
    }
    for (u32 row = 0; row <= all; row++) {
        if ((row & numbers) != values || (node->value >> row & 1))
            continue;
        count++;
        any |= row;
        least &= row;
    }
    *ones = least & ~numbers;
    *zeros = all & ~any & ~numbers;
    return count == 1u << __builtin_popcount(all & ~numbers & ~*ones & ~*zeros);
}

/* A bitwise function of two or more terms is 0 where each of its bits is. Each bit may ask for certain bits of each of
 * the terms, whatever the others are. Then the function is 0 exactly if all terms have these bits. 0: it is no such
 * function. */
static Term is_zero(Terms *t, Term x)
{
    TermNode node = *prove_node(t, x);
    u64 ones[6] = {0}, zeros[6] = {0};
    u32 terms = 0;
    for (u32 k = 0; k < node.n && node.n <= COUNT_OF(ones); k++)
        terms += !prove_is_const(t, prove_kid(t, x, k));
    if (node.op != TERM_LOGIC || node.bits > 64 || terms < 2)
        return 0;
    for (u32 bit = 0; bit < node.bits; bit++) {
        u32 one, zero;
        if (!zeros_of_bit(t, &node, bit, &one, &zero))
            return 0;
        for (u32 k = 0; k < node.n; k++) {
            ones[k] |= (u64)(one >> k & 1) << bit;
            zeros[k] |= (u64)(zero >> k & 1) << bit;
        }
    }
    Term all = prove_bool(t, true);
    for (u32 k = 0; k < node.n; k++) {
        Term leaf = prove_kid(t, x, k), bits = prove_and(t, leaf, prove_const(t, ones[k] | zeros[k], node.bits));
        if (!prove_is_const(t, leaf))
            all = prove_and(t, all, prove_in(t, bits, prove_set_range(&t->sets, ones[k], ones[k])));
    }
    return all;
}

Term prove_in(Terms *t, Term x, SetId set)
{
    TermNode node = *prove_node(t, x);
    if (node.op == TERM_CONST)
        return prove_bool(t, prove_set_has(&t->sets, set, node.value));
    if (node.op == TERM_REL)
        return prove_rel(t, prove_kid(t, x, 0), prove_kid(t, x, 1), relations_in(t, set, PROVE_RELS));
    if (node.op == TERM_FREL)
        return prove_frel(t, node.aux, prove_kid(t, x, 0), prove_kid(t, x, 1), relations_in(t, set, PROVE_FRELS));
    if (node.bits == 1) {
        bool no = prove_set_has(&t->sets, set, 0), yes = prove_set_has(&t->sets, set, 1);
        return no == yes ? prove_bool(t, yes) : yes ? x : prove_not(t, x);
    }
    if (node.op == TERM_ZEXT || (node.op == TERM_SEXT && prove_bits(t, prove_kid(t, x, 0)) < 64))
        return in_extended(t, x, set, node.bits);
    if (node.op == TERM_LINEAR && (node.value || (node.n == 1 && t->coef.v[node.kids] == prove_mask(node.bits))))
        return in_sum(t, x, set);
    if (node.op == TERM_ITE) {
        Term yes = prove_in(t, prove_kid(t, x, 1), set), no = prove_in(t, prove_kid(t, x, 2), set);
        return prove_ite(t, prove_kid(t, x, 0), yes, no);
    }
    SetId zero = prove_set_range(&t->sets, 0, 0);
    bool is = set == zero, is_not = !is && set == prove_set_not(&t->sets, zero, prove_mask(node.bits));
    Term cond = is || is_not ? is_zero(t, x) : 0;
    return !cond ? make_in(t, x, set) : is ? cond : prove_not(t, cond);
}

/* The numbers that stand in one of these relations to `number`. */
static SetId set_of_rel(Terms *t, u64 number, u32 bits, u32 relations)
{
    u64 mask = prove_mask(bits), half = mask >> 1;
    Sets *s = &t->sets;
    SetId all = prove_set_range(s, 0, mask), set = prove_set_empty(s), equal = prove_set_range(s, number, number);
    SetId below = number ? prove_set_range(s, 0, number - 1) : set,
          above = number < mask ? prove_set_range(s, number + 1, mask) : set;
    u64 moved = (number + half + 1) & mask; /* signed order is the unsigned one, half of the circle on */
    SetId less = moved ? prove_set_shift(s, prove_set_range(s, 0, moved - 1), half + 1, mask) : set;
    SetId more = prove_set_not(s, prove_set_or(s, less, equal), mask);
    SetId part[PROVE_RELS] = {equal, prove_set_and(s, less, below), prove_set_and(s, less, above),
                              prove_set_and(s, more, below), prove_set_and(s, more, above)};
    for (u32 k = 0; k < PROVE_RELS; k++)
        if (relations >> k & 1)
            set = prove_set_or(s, set, part[k]);
    return prove_set_and(s, set, all);
}

static u32 swap_relations(u32 m)
{
    return (m & 1) | (m >> PROVE_SGT_UGT & 1) << PROVE_SLT_ULT | (m >> PROVE_SGT_ULT & 1) << PROVE_SLT_UGT |
           (m >> PROVE_SLT_UGT & 1) << PROVE_SGT_ULT | (m >> PROVE_SLT_ULT & 1) << PROVE_SGT_UGT;
}

Term prove_rel(Terms *t, Term a, Term b, u32 relations)
{
    u32 bits = prove_bits(t, a);
    if (a == b)
        return prove_bool(t, relations & 1);
    if (bits <= 64 && prove_is_const(t, b))
        return prove_in(t, a, set_of_rel(t, prove_node(t, b)->value, bits, relations));
    if (bits <= 64 && prove_is_const(t, a))
        return prove_in(t, b, set_of_rel(t, prove_node(t, a)->value, bits, swap_relations(relations)));
    bool swapped = a > b;
    Term kids[] = {swapped ? b : a, swapped ? a : b};
    Term rel = prove_make(t, (TermNode){.op = TERM_REL, .bits = 3, .n = 2}, kids, NULL);
    return make_in(t, rel, set_of_relations(t, swapped ? swap_relations(relations) : relations, PROVE_RELS));
}

Term prove_frel(Terms *t, u32 name, Term a, Term b, u32 relations)
{
    if (t->seed && prove_is_const(t, a) && prove_is_const(t, b))
        return prove_bool(t, relations >> prove_float_relation(t, name, a, b) & 1);
    if (a > b) {
        Term swap = a;
        a = b;
        b = swap;
        relations = (relations & (1u << PROVE_FEQ | 1u << PROVE_FUN)) | (relations >> PROVE_FLT & 1) << PROVE_FGT |
                    (relations >> PROVE_FGT & 1) << PROVE_FLT;
    }
    Term kids[] = {a, b};
    Term rel = prove_make(t, (TermNode){.op = TERM_FREL, .bits = 2, .n = 2, .aux = name}, kids, NULL);
    return make_in(t, rel, set_of_relations(t, relations, PROVE_FRELS));
}
