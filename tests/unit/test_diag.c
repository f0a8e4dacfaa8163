#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/diag.h"

/* A Diag that prints into memory. */
typedef struct Sink {
    Diag diag;
    char *text;
    size_t size;
} Sink;

static void sink_open(Sink *sink, const char *source, size_t len)
{
    FILE *out = open_memstream(&sink->text, &sink->size);
    assert_non_null(out);
    diag_init(&sink->diag, out, "a.ptx", (Str){source, (u32)len});
}

static void sink_expect(Sink *sink, const char *expected)
{
    fclose(sink->diag.out);
    assert_string_equal(sink->text, expected);
    diag_free(&sink->diag);
    free(sink->text);
}

static void expect_at(const char *source, size_t len, Span where, const char *expected)
{
    Sink sink;
    sink_open(&sink, source, len);
    diag_at(&sink.diag, DIAG_ERROR, where, "bad");
    assert_int_equal(sink.diag.errors, 1);
    sink_expect(&sink, expected);
}

static void expect(const char *source, Span where, const char *expected)
{
    expect_at(source, strlen(source), where, expected);
}

static void carets_stand_under_their_text(void **state)
{
    (void)state;
    expect("add.u32 a, b;\nsub.u32 c, dd;\n", (Span){25, 27}, "a.ptx:2:12: error: bad\nsub.u32 c, dd;\n           ^~\n");
    expect("x", (Span){0, 1}, "a.ptx:1:1: error: bad\nx\n^\n");
    expect("abc", (Span){1, 1}, "a.ptx:1:2: error: bad\nabc\n ^\n");
}

static void held_ones_come_in_source_order(void **state)
{
    (void)state;
    Sink sink;
    sink_open(&sink, "a\nb\nc\nd", 7);
    sink.diag.error_limit = 3;
    diag_hold(&sink.diag);
    diag_at(&sink.diag, DIAG_ERROR, (Span){4, 5}, "third");
    diag_at(&sink.diag, DIAG_NOTE, (Span){0, 1}, "of the third");
    diag_at(&sink.diag, DIAG_ERROR, (Span){6, 7}, "fourth");
    diag_at(&sink.diag, DIAG_ERROR, (Span){2, 3}, "first of two");
    diag_at(&sink.diag, DIAG_ERROR, (Span){2, 3}, "second of two");
    assert_int_equal(sink.diag.errors, 4);
    diag_release(&sink.diag);
    sink_expect(&sink, "a.ptx:2:1: error: first of two\nb\n^\na.ptx:2:1: error: second of two\nb\n^\n"
                       "a.ptx:3:1: error: third\nc\n^\na.ptx:1:1: note: of the third\na\n^\n"
                       "a.ptx: and 1 more error\n");
}

static void tabs_are_kept(void **state)
{
    (void)state;
    expect("\tadd.u32\ta, b;", (Span){9, 10}, "a.ptx:1:10: error: bad\n\tadd.u32\ta, b;\n\t       \t^\n");
    expect("ab\tcd", (Span){0, 5}, "a.ptx:1:1: error: bad\nab\tcd\n^~\t~~\n");
}

static void every_line_end_ends_a_line(void **state)
{
    (void)state;
    static const char text[] = "a\nb\rc\r\nd\n\r";
    Diag diag;
    diag_init(&diag, stderr, "a.ptx", (Str){text, sizeof text - 1});
    static const u32 at[][3] = {
        {0, 1, 1}, {1, 1, 2}, {2, 2, 1}, {4, 3, 1}, {5, 3, 2}, {6, 3, 3}, {7, 4, 1}, {9, 5, 1}, {10, 6, 1},
    };
    for (u32 i = 0; i < COUNT_OF(at); i++) {
        u32 line, column;
        diag_position(&diag, at[i][0], &line, &column);
        assert_int_equal(line, at[i][1]);
        assert_int_equal(column, at[i][2]);
    }
    diag_free(&diag);
    expect("one\r\ntwo\r\n", (Span){5, 8}, "a.ptx:2:1: error: bad\ntwo\n^~~\n");
}

static void range_over_lines_is_cut_at_the_first(void **state)
{
    (void)state;
    expect("ab cd\nef", (Span){3, 8}, "a.ptx:1:4: error: bad\nab cd\n   ^~\n");
    expect("ab\ncd", (Span){2, 3}, "a.ptx:1:3: error: bad\nab\n  ^\n");
}

static void end_of_text_has_a_place(void **state)
{
    (void)state;
    expect("ab", (Span){2, 2}, "a.ptx:1:3: error: bad\nab\n  ^\n");
    expect("ab\n", (Span){3, 3}, "a.ptx:2:1: error: bad\n\n^\n");
    expect("", (Span){0, 0}, "a.ptx:1:1: error: bad\n\n^\n");
}

static void unprintable_bytes_are_escaped(void **state)
{
    (void)state;
    expect_at("a\0b\x1b[m", 6, (Span){2, 3}, "a.ptx:1:3: error: bad\na\\x00b\\x1b[m\n     ^\n");
    expect("x\xc3\xa9y", (Span){1, 4}, "a.ptx:1:2: error: bad\nx\\xc3\\xa9y\n ^~~~~~~~~\n");

    Sink sink;
    sink_open(&sink, "a", 1);
    diag_at(&sink.diag, DIAG_WARNING, (Span){0, 1}, "unexpected '%s'", "\x07\n");
    sink_expect(&sink, "a.ptx:1:1: warning: unexpected '\\x07\\x0a'\na\n^\n");
}

static void long_line_is_cut_around_the_caret(void **state)
{
    (void)state;
    char line[1001], expected[512];
    memset(line, 'x', 1000);
    line[1000] = '\0';
    line[500] = '?';
    snprintf(expected, sizeof expected, "a.ptx:1:501: error: bad\n...%.60s?%.99s...\n   %60s^~\n", line, line, "");
    expect(line, (Span){500, 502}, expected);
    snprintf(expected, sizeof expected, "a.ptx:1:1: error: bad\n%.160s...\n^\n", line);
    expect(line, (Span){0, 1}, expected);
    line[500] = 'x';
    snprintf(expected, sizeof expected, "a.ptx:1:1000: error: bad\n...%.61s\n   %60s^\n", line, "");
    expect(line, (Span){999, 1000}, expected);
}

static void long_message_is_cut(void **state)
{
    (void)state;
    Sink sink;
    sink_open(&sink, "a", 1);
    diag_at(&sink.diag, DIAG_ERROR, (Span){0, 1}, "%2000s", "");
    fclose(sink.diag.out);
    assert_true(sink.size < 1100);
    assert_non_null(strstr(sink.text, " ...\na\n^\n"));
    diag_free(&sink.diag);
    free(sink.text);
}

static void limit_silences_but_counts(void **state)
{
    (void)state;
    Sink sink;
    sink_open(&sink, "a", 1);
    sink.diag.error_limit = 1;
    for (int i = 0; i < 3; i++) {
        diag_at(&sink.diag, DIAG_ERROR, (Span){0, 1}, "e%d", i);
        diag_at(&sink.diag, DIAG_NOTE, (Span){0, 1}, "n%d", i);
    }
    diag_at(&sink.diag, DIAG_WARNING, (Span){0, 1}, "w");
    assert_int_equal(sink.diag.errors, 3);
    sink_expect(&sink, "a.ptx:1:1: error: e0\na\n^\na.ptx:1:1: note: n0\na\n^\na.ptx:1:1: warning: w\na\n^\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(carets_stand_under_their_text),
        cmocka_unit_test(held_ones_come_in_source_order),
        cmocka_unit_test(tabs_are_kept),
        cmocka_unit_test(every_line_end_ends_a_line),
        cmocka_unit_test(range_over_lines_is_cut_at_the_first),
        cmocka_unit_test(end_of_text_has_a_place),
        cmocka_unit_test(unprintable_bytes_are_escaped),
        cmocka_unit_test(long_line_is_cut_around_the_caret),
        cmocka_unit_test(long_message_is_cut),
        cmocka_unit_test(limit_silences_but_counts),
    };
    return cmocka_run_group_tests_name("diag", tests, NULL, NULL);
}
