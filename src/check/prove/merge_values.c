/* Merging values: what all arrivals bring, or how a slot's values in them relate to those of earlier slots. */
#include "check/prove/merge.h"
#include "check/prove/term_division.h"

Term prove_merge_sole(const Merge *m, u32 slot)
{
    Term was = m->n->value ? m->n->value[slot] : 0, sole = 0;
    bool was_joined = m->p->plan.restores && was && !prove_merge_is_clean(m, was);
    for (u32 k = 0; k < m->count; k++) {
        Term value = m->a[k].value[slot];
        if (was_joined && value == was)
            continue;
        if (sole && value != sole)
            return 0;
        sole = value;
    }
    return sole && prove_merge_is_clean(m, sole) ? sole : 0;
}

static bool has_equal_values(const Merge *m, u32 a, u32 b)
{
    for (u32 k = 0; k < m->count; k++)
        if (m->a[k].value[a] != m->a[k].value[b])
            return false;
    return prove_merge_bits(m, a) == prove_merge_bits(m, b);
}

/* A slot before this one that has the same values in all arrivals, or this one itself. */
static u32 leader_by_values(Merge *m, u32 slot)
{
    u64 key = prove_merge_bits(m, slot);
    for (u32 k = 0; k < m->count; k++)
        key = (key ^ m->a[k].value[slot]) * 0x9e3779b97f4a7c15u;
    for (u64 *found;; key++) {
        found = fnvmap_at(&m->by_values, key);
        if (!*found)
            *found = slot + 1;
        if (has_equal_values(m, (u32)*found - 1, slot))
            return (u32)*found - 1;
    }
}

/* The difference of the slot's lower bits since the first arrival. */
static Term step_of(Merge *m, u32 slot, u32 arrival, u32 bits)
{
    return prove_trunc(m->t, prove_sub(m->t, m->a[arrival].value[slot], m->a[0].value[slot]), bits);
}

static u64 *leader_by_steps(Merge *m, u32 slot, u32 bits)
{
    u64 key = bits;
    for (u32 k = 1; k < m->count; k++)
        key = (key ^ step_of(m, slot, k, bits)) * 0x9e3779b97f4a7c15u;
    return fnvmap_at(&m->by_steps, key);
}

static bool has_equal_steps(Merge *m, u32 slot, u32 leader)
{
    u32 bits = prove_merge_bits(m, slot);
    for (u32 k = 1; k < m->count; k++)
        if (step_of(m, slot, k, bits) != step_of(m, leader, k, bits))
            return false;
    return true;
}

/* The value that the slot had in the first arrival plus what the leader has moved on since. A leader of 64 bits also leads slots of
 * 32. */
static Term value_by_step(Merge *m, u32 slot)
{
    u32 bits = prove_merge_bits(m, slot);
    if (bits < 16 || bits > 64 || m->count < 2 || m->count > 8 || !prove_merge_is_clean(m, m->a[0].value[slot]))
        return 0;
    u64 *found = leader_by_steps(m, slot, bits);
    if (!*found) {
        *found = slot + 1;
        u64 *lower = bits == 64 ? leader_by_steps(m, slot, 32) : found;
        if (!*lower)
            *lower = slot + 1;
        return 0;
    }
    u32 leader = (u32)*found - 1;
    if (prove_bits(m->t, m->value[leader]) < bits || !has_equal_steps(m, slot, leader))
        return 0;
    return prove_add(m->t, prove_trunc(m->t, m->value[leader], bits),
                     prove_sub(m->t, m->a[0].value[slot], prove_trunc(m->t, m->a[0].value[leader], bits)));
}

/* The sum of both leaders, or the first less the second. The slot must be that in all arrivals, up to a number that is
 * the same in all of them. */
static Term value_of_two(Merge *m, u32 slot, u32 a, u32 b, bool is_sum)
{
    Terms *t = m->t;
    Term rest = 0;
    for (u32 k = 0; k < m->count; k++) {
        const Term *v = m->a[k].value;
        Term differ = prove_sub(t, v[slot], is_sum ? prove_add(t, v[a], v[b]) : prove_sub(t, v[a], v[b]));
        if (k > 0 && differ != rest)
            return 0;
        rest = differ;
    }
    return prove_merge_is_clean(m, rest)
               ? prove_add(t, rest,
                           is_sum ? prove_add(t, m->value[a], m->value[b]) : prove_sub(t, m->value[a], m->value[b]))
               : 0;
}

/* The slot's value as a + b or a - b plus a constant, where a and b are the values of two earlier slots. They are found by
 * what each slot has gained since the first arrival. 0: there are none. */
static Term value_by_two_steps(Merge *m, u32 slot)
{
    Terms *t = m->t;
    u32 bits = prove_merge_bits(m, slot);
    if (!m->p->plan.follows || bits < 32 || bits > 64 || m->count < 2 || m->count > 4)
        return 0;
    for (u32 a = 0; a < slot; a++) {
        if (prove_merge_bits(m, a) != bits || m->value[a] != prove_merge_symbol(m, a))
            continue;
        for (u32 is_sum = 0; is_sum < 2; is_sum++) {
            u64 key = bits;
            for (u32 k = 1; k < m->count; k++) {
                Term x = step_of(m, slot, k, bits), y = step_of(m, a, k, bits);
                key = (key ^ (is_sum ? prove_sub(t, x, y) : prove_add(t, x, y))) * 0x9e3779b97f4a7c15u;
            }
            const u64 *found = fnvmap_find(&m->by_steps, key);
            u32 b = found ? (u32)*found - 1 : slot;
            Term made = b < slot && prove_merge_bits(m, b) == bits ? value_of_two(m, slot, b, a, is_sum) : 0;
            if (made)
                return made;
        }
    }
    return 0;
}

/* Whether the slot is that part of the divisor in slot `of` in all arrivals. */
static bool is_divisor_part(Merge *m, u32 slot, DivisorPart part, u32 of)
{
    for (u32 k = 0; k < m->count; k++)
        if (m->a[k].value[slot] != prove_divisor_part(m->t, part, m->a[k].value[of]))
            return false;
    return true;
}

/* A slot before this one that holds x in the first arrival, and of which this one is that part in all. The answer is its
 * place plus 1; 0: none. */
static u32 divisor_of(Merge *m, u32 slot, DivisorPart part, Term x)
{
    for (u32 k = 0; k < slot; k++)
        if (m->a[0].value[k] == x && is_divisor_part(m, slot, part, k))
            return k + 1;
    return 0;
}

/* What is computed of a divisor that has a slot before this one. */
static Term value_by_divisor(Merge *m, u32 slot)
{
    u32 bits = prove_merge_bits(m, slot), of = 0;
    DivisorPart part;
    if (!m->t->divides || (bits != 32 && bits != 1))
        return 0;
    Term x = prove_part_of(m->t, m->a[0].value[slot], &part);
    if (x) {
        of = divisor_of(m, slot, part, x);
        m->divisor = part == PROVE_RECIPROCAL ? of : m->divisor;
    } else if (m->divisor) {
        part = bits == 1 ? PROVE_IS_ZERO : PROVE_OPPOSITE;
        of = is_divisor_part(m, slot, part, m->divisor - 1) ? m->divisor : 0;
    }
    return of ? prove_divisor_part(m->t, part, m->value[of - 1]) : 0;
}

Term prove_merge_related(Merge *m, u32 slot)
{
    u32 leader = leader_by_values(m, slot);
    Term moved = leader == slot ? value_by_step(m, slot) : m->value[leader];
    moved = moved ? moved : value_by_two_steps(m, slot);
    moved = moved ? moved : value_by_divisor(m, slot);
    return moved ? moved : prove_merge_symbol(m, slot);
}
