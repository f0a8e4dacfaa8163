/* args_next beside getopt_long, on random command lines. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/args.h"

enum { WORDS = 6, LINES = 20000 };

static const struct option known[] = {
    {"alpha", no_argument, NULL, 1000},      {"alphabet", required_argument, NULL, 1001},
    {"beta", required_argument, NULL, 1002}, {"color", optional_argument, NULL, 1003},
    {"no-alpha", no_argument, NULL, 1004},   {0},
};

static char *words[] = {"--alpha",  "--alph", "--alphab", "--alphabet", "--alphabet=x", "--alpha=x",  "--b",
                        "--beta=",  "--beta", "--color",  "--color=y",  "--col",        "--no-alpha", "--nope",
                        "--nope=1", "--",     "-",        "-o",         "-ofile",       "-h",         "-ho",
                        "-hox",     "-Oh",    "-hV",      "-q",         "-hq",          "-q=",        "-:",
                        "in",       "out",    "",         "-h-",        "--=",          "---"};

/* What a reader says of a line, as text. */
typedef struct Said {
    char text[1024];
    size_t used;
} Said;

static void __attribute__((format(printf, 2, 3))) say(Said *said, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    said->used += (size_t)vsnprintf(said->text + said->used, sizeof said->text - said->used, format, arguments);
    va_end(arguments);
}

static void ours(Said *said, int argc, char **argv)
{
    ArgReader reader = args_start(argc, argv, "o:O:hV", known);
    for (int code; (code = args_next(&reader)) != -1;)
        say(said, "%d %s|", code, code == '?' || code == ':' || !reader.argument ? "" : reader.argument);
    for (u32 i = 0; i < reader.operands.n; i++)
        say(said, " %s", reader.operands.v[i]);
    args_free(&reader);
}

static void theirs(Said *said, int argc, char **argv)
{
    char *copy[WORDS + 2] = {NULL};
    memcpy(copy, argv, sizeof *argv * (size_t)argc);
    opterr = 0;
    optind = 0;
    for (int code; (code = getopt_long(argc, copy, ":o:O:hV", known, NULL)) != -1;)
        say(said, "%d %s|", code, code == '?' || code == ':' || !optarg ? "" : optarg);
    for (int i = optind; i < argc; i++)
        say(said, " %s", copy[i]);
}

static void agrees_with_getopt(void **state)
{
    (void)state;
    srand(1);
    for (int line = 0; line < LINES; line++) {
        char program[] = "program", *argv[WORDS + 2] = {program};
        int argc = 1 + rand() % WORDS;
        for (int i = 1; i < argc; i++)
            argv[i] = words[(size_t)rand() % COUNT_OF(words)];
        Said a = {0}, b = {0};
        ours(&a, argc, argv);
        theirs(&b, argc, argv);
        assert_string_equal(a.text, b.text);
    }
}

static void says_where_an_option_stands(void **state)
{
    (void)state;
    char program[] = "program", cluster[] = "-hx", missing[] = "--beta", *argv[] = {program, cluster, missing, NULL};
    ArgReader reader = args_start(3, argv, "h", known);
    assert_int_equal(args_next(&reader), 'h');
    assert_int_equal(args_next(&reader), '?');
    assert_int_equal(reader.letter, 'x');
    assert_string_equal(reader.word, "-hx");
    assert_int_equal(args_next(&reader), ':');
    assert_string_equal(reader.word, "--beta");
    assert_int_equal(reader.letter, '\0');
    assert_int_equal(args_next(&reader), -1);
    args_free(&reader);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(agrees_with_getopt), cmocka_unit_test(says_where_an_option_stands)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
