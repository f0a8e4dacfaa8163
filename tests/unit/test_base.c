#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/arena.h"
#include "base/bitset.h"
#include "base/fnvmap.h"
#include "base/fnvtable.h"
#include "base/intern.h"
#include "base/vec.h"

static void arena_keeps_addresses_and_contents(void **state)
{
    (void)state;
    Arena arena = {0};
    u8 *piece[3000];
    for (u32 i = 0; i < COUNT_OF(piece); i++) {
        piece[i] = arena_alloc(&arena, i);
        assert_non_null(piece[i]);
        assert_int_equal((uintptr_t)piece[i] % 8, 0);
        for (u32 k = 0; k < i; k++)
            if (piece[i][k] != 0)
                fail_msg("byte %u of piece %u is not zero", k, i);
        memset(piece[i], (int)(i % 251), i);
    }
    for (u32 i = 0; i < COUNT_OF(piece); i++)
        for (u32 k = 0; k < i; k++)
            if (piece[i][k] != i % 251)
                fail_msg("byte %u of piece %u was overwritten", k, i);
    assert_true(arena.reserved >= 3000u * 2999 / 2);
    arena_free(&arena);
    assert_null(arena.chunks);
    assert_int_equal(arena.reserved, 0);
}

static void arena_wastes_little(void **state)
{
    (void)state;
    Arena arena = {0};
    u64 asked = 0;
    for (u32 i = 0; i < 1000; i++) {
        u32 bytes = i % 100 ? 64 : 100000;
        arena_alloc(&arena, bytes);
        asked += bytes;
    }
    assert_true(arena.reserved < asked * 2);
    u64 reserved = arena.reserved;
    for (u32 i = 0; i < 1000; i++)
        assert_non_null(arena_alloc(&arena, 0));
    assert_true(arena.reserved < reserved * 2);
    arena_free(&arena);
}

static void arena_shrinks_what_came_last(void **state)
{
    (void)state;
    Arena arena = {0};
    for (u32 i = 0; i < 1000; i++) {
        char *large = arena_alloc(&arena, 3000), *small = arena_alloc(&arena, 20);
        memset(small, 'a', 20);
        arena_shrink(&arena, large, 3000, 0); /* not the last one: stays */
        arena_shrink(&arena, small, 20, 5);
        char *next = arena_alloc(&arena, 8);
        assert_true(next >= small + 5 || next < small);
        assert_true(next >= large + 3000 || next < large);
        assert_memory_equal(small, "aaaaa", 5);
        arena_shrink(&arena, next, 8, 0); /* all of it */
    }
    arena_free(&arena);
}

static void arena_formats_text(void **state)
{
    (void)state;
    Arena arena = {0};
    assert_string_equal(arena_copy(&arena, "abcdef", 3), "abc");
    assert_string_equal(arena_copy(&arena, NULL, 0), "");
    assert_string_equal(arena_printf(&arena, "%s_%d", "$L", 42), "$L_42");
    assert_int_equal(strlen(arena_printf(&arena, "%10000s", "")), 10000);
    arena_free(&arena);
}

static void vec_grows(void **state)
{
    (void)state;
    VecU32 vec = {0};
    for (u32 i = 0; i < 1000; i++)
        vec_push(&vec, i * i);
    assert_int_equal(vec.n, 1000);
    assert_int_equal(vec_last(&vec), 999 * 999);
    for (u32 i = 1000; i-- > 0;)
        assert_int_equal(vec_pop(&vec), i * i);
    vec_free(&vec);
    assert_null(vec.v);
}

/* Sizes around the word boundary are where set operations go wrong. */
static const u32 bitset_sizes[] = {0, 1, 63, 64, 65, 127, 128, 200};

static void bitset_fills_exactly(void **state)
{
    (void)state;
    Arena arena = {0};
    for (u32 k = 0; k < COUNT_OF(bitset_sizes); k++) {
        BitSet s = bitset_new(&arena, bitset_sizes[k]);
        assert_int_equal(bitset_count(&s), 0);
        assert_int_equal(bitset_next(&s, 0), s.bits);
        bitset_fill(&s);
        assert_int_equal(bitset_count(&s), s.bits);
        for (u32 i = 0; i < s.bits; i++)
            assert_int_equal(bitset_next(&s, i), i);
        assert_int_equal(bitset_next(&s, s.bits), s.bits);
        bitset_clear(&s);
        assert_int_equal(bitset_count(&s), 0);
    }
    arena_free(&arena);
}

static void bitset_operations_agree_with_definition(void **state)
{
    (void)state;
    Arena arena = {0};
    for (u32 k = 0; k < COUNT_OF(bitset_sizes); k++) {
        u32 bits = bitset_sizes[k];
        BitSet a = bitset_new(&arena, bits), b = bitset_new(&arena, bits), r = bitset_new(&arena, bits);
        for (u32 i = 0; i < bits; i++) {
            if (i % 3 == 0)
                bitset_add(&a, i);
            if (i % 5 == 0)
                bitset_add(&b, i);
        }
        bitset_copy(&r, &a);
        assert_true(bitset_subset(&r, &a) && bitset_subset(&a, &r));
        assert_int_equal(bitset_or(&r, &b), bits > 5);
        assert_false(bitset_or(&r, &b));
        assert_true(bitset_subset(&a, &r) && bitset_subset(&b, &r));
        for (u32 i = 0; i < bits; i++)
            assert_int_equal(bitset_has(&r, i), i % 3 == 0 || i % 5 == 0);

        bitset_copy(&r, &a);
        assert_int_equal(bitset_andnot(&r, &b), bits > 0);
        assert_false(bitset_andnot(&r, &b));
        for (u32 i = 0; i < bits; i++)
            assert_int_equal(bitset_has(&r, i), i % 3 == 0 && i % 5 != 0);
        assert_int_equal(bitset_subset(&a, &r), bits == 0);
    }
    arena_free(&arena);
}

static void bitset_visits_members_in_order(void **state)
{
    (void)state;
    Arena arena = {0};
    BitSet s = bitset_new(&arena, 300);
    static const u32 member[] = {0, 63, 64, 191, 299};
    for (u32 i = 0; i < COUNT_OF(member); i++)
        bitset_add(&s, member[i]);
    bitset_add(&s, 100);
    bitset_del(&s, 100);
    u32 n = 0;
    for (u32 i = bitset_next(&s, 0); i < s.bits; i = bitset_next(&s, i + 1))
        assert_int_equal(i, member[n++]);
    assert_int_equal(n, COUNT_OF(member));
    arena_free(&arena);
}

static void fnv1a_matches_published_vectors(void **state)
{
    (void)state;
    assert_int_equal(fnv1a("", 0), 0x811c9dc5);
    assert_int_equal(fnv1a("a", 1), 0xe40c292c);
    assert_int_equal(fnv1a("foobar", 6), 0xbf9cf968);
}

static void intern_gives_one_name_per_text(void **state)
{
    (void)state;
    Arena arena = {0};
    Intern table;
    intern_init(&table, &arena);
    Name *name[5000];
    char text[16];
    for (u32 i = 0; i < COUNT_OF(name); i++) {
        int len = snprintf(text, sizeof text, "%%r%u", i);
        assert_null(intern_find(&table, text, (u32)len));
        name[i] = intern(&table, text, (u32)len);
        assert_string_equal(name[i]->text, text);
        assert_int_equal(name[i]->len, len);
        assert_null(name[i]->user);
    }
    assert_int_equal(table.name.n, COUNT_OF(name));
    for (u32 i = 0; i < COUNT_OF(name); i++) {
        int len = snprintf(text, sizeof text, "%%r%u", i);
        assert_ptr_equal(intern_cstr(&table, text), name[i]);
        assert_ptr_equal(intern_find(&table, text, (u32)len), name[i]);
    }
    intern_free(&table);
    arena_free(&arena);
}

static void intern_compares_every_byte(void **state)
{
    (void)state;
    Arena arena = {0};
    Intern table;
    intern_init(&table, &arena);
    Name *empty = intern(&table, "", 0);
    Name *nul = intern(&table, "\0", 1);
    Name *prefix = intern(&table, "ld.global.v4", 9);
    assert_ptr_not_equal(empty, nul);
    assert_ptr_equal(prefix, intern_cstr(&table, "ld.global"));
    assert_ptr_not_equal(prefix, intern_cstr(&table, "ld.global.v4"));
    /* Pairs of texts whose 32-bit FNV-1a hashes are equal. */
    assert_int_equal(fnv1a("costarring", 10), fnv1a("liquid", 6));
    assert_ptr_not_equal(intern_cstr(&table, "costarring"), intern_cstr(&table, "liquid"));
    assert_int_equal(fnv1a("declinate", 9), fnv1a("macallums", 9));
    assert_ptr_not_equal(intern_cstr(&table, "declinate"), intern_cstr(&table, "macallums"));
    intern_free(&table);
    arena_free(&arena);
}

static void fnvmap_empty_has_nothing(void **state)
{
    (void)state;
    FnvMap map = {0};
    assert_null(fnvmap_find(&map, 0));
    fnvmap_clear(&map);
    fnvmap_free(&map);
}

static u64 next_random(u64 *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state >> 33;
}

/* Random insertions and now and then a clearance, beside an array that says what must be there. */
static void fnvmap_agrees_with_an_array(void **state)
{
    (void)state;
    enum { KEYS = 500 };
    u64 expected[KEYS] = {0}, seed = 1;
    bool present[KEYS] = {0};
    u32 count = 0;
    FnvMap map = {0};
    for (u32 step = 0; step < 200000; step++) {
        u32 k = (u32)(next_random(&seed) % KEYS);
        u64 *value = fnvmap_at(&map, (u64)k << 32 | (k * 7 % 3));
        assert_int_equal(*value, present[k] ? expected[k] : 0);
        *value = expected[k] = step + 1;
        count += !present[k];
        present[k] = true;
        assert_int_equal(map.count, count);
        k = (u32)(next_random(&seed) % KEYS);
        value = fnvmap_find(&map, (u64)k << 32 | (k * 7 % 3));
        assert_int_equal(value != NULL, present[k]);
        assert_true(!value || *value == expected[k]);
        if (step % 700 == 0) {
            fnvmap_clear(&map);
            memset(present, 0, sizeof present);
            count = 0;
        }
    }
    fnvmap_free(&map);
}

typedef struct Keyed {
    u32 key;
} Keyed;

/* Random insertions and removals over few keys: what is in the table is what `present` says. */
static void fnvtable_agrees_with_an_array(void **state)
{
    (void)state;
    enum { KEYS = 500 };
    Keyed object[KEYS];
    u64 seed = 1;
    bool present[KEYS] = {0};
    u32 count = 0;
    FnvTable table = {0};
    assert_null(fnvtable_find(&table, 0));
    for (u32 k = 0; k < KEYS; k++)
        object[k].key = k << 16 ^ k * 77;
    for (u32 step = 0; step < 200000; step++) {
        u32 k = (u32)(next_random(&seed) % KEYS);
        if (next_random(&seed) % 2) {
            void **slot = fnvtable_at(&table, object[k].key);
            assert_ptr_equal(*slot, present[k] ? &object[k] : NULL);
            *slot = &object[k];
            count += !present[k];
            present[k] = true;
        } else if (present[k]) {
            fnvtable_remove(&table, object[k].key);
            count--;
            present[k] = false;
        }
        assert_int_equal(table.count, count);
        k = (u32)(next_random(&seed) % KEYS);
        assert_ptr_equal(fnvtable_find(&table, object[k].key), present[k] ? &object[k] : NULL);
    }
    fnvtable_free(&table);
    assert_null(fnvtable_find(&table, object[0].key));
}

static void fnvtable_keeps_the_slots_that_were_reserved(void **state)
{
    (void)state;
    enum { KEYS = 1000 };
    Keyed object[KEYS];
    FnvTable table = {0};
    fnvtable_reserve(&table, KEYS);
    void **slots = table.slot;
    for (u32 k = 0; k < KEYS; k++) {
        object[k].key = k;
        *fnvtable_at(&table, k) = &object[k];
    }
    assert_ptr_equal(table.slot, slots);
    fnvtable_reserve(&table, 2 * KEYS);
    for (u32 k = 0; k < KEYS; k++)
        assert_ptr_equal(fnvtable_find(&table, k), &object[k]);
    fnvtable_free(&table);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arena_keeps_addresses_and_contents),
        cmocka_unit_test(arena_wastes_little),
        cmocka_unit_test(arena_shrinks_what_came_last),
        cmocka_unit_test(arena_formats_text),
        cmocka_unit_test(vec_grows),
        cmocka_unit_test(bitset_fills_exactly),
        cmocka_unit_test(bitset_operations_agree_with_definition),
        cmocka_unit_test(bitset_visits_members_in_order),
        cmocka_unit_test(fnv1a_matches_published_vectors),
        cmocka_unit_test(intern_gives_one_name_per_text),
        cmocka_unit_test(intern_compares_every_byte),
        cmocka_unit_test(fnvmap_empty_has_nothing),
        cmocka_unit_test(fnvmap_agrees_with_an_array),
        cmocka_unit_test(fnvtable_agrees_with_an_array),
        cmocka_unit_test(fnvtable_keeps_the_slots_that_were_reserved),
    };
    return cmocka_run_group_tests_name("base", tests, NULL, NULL);
}
