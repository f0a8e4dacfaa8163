#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "pipeline/dot.h"
#include "pipeline/knobs.h"
#include "pipeline/options.h"
#include "pipeline/phases.h"
#include "pipeline/remarks.h"
#include "pipeline/suggest.h"

/* ---- the table of phases ---------------------------------------------------------------------------------------- */

static const PhaseInfo three_phases[] = {{.name = "fold"}, {.name = "merge"}, {.name = "thread"}};
static const PhaseOrder fold_then_merge[] = {{"fold", "merge", "merging wants blocks"}};
static const PhaseAlias later[] = {{"later", "merge", "thread"}};
static const PhaseTable table = {three_phases, COUNT_OF(three_phases), fold_then_merge, 1, later, 1, NULL, 0};

enum { FOLD, MERGE, THREAD };

static void phases_are_found_by_their_whole_name(void **state)
{
    (void)state;
    assert_int_equal(phase_find(&table, "merge", 5).first, MERGE);
    assert_int_equal(phase_find(&table, "merge,thread", 5).first, MERGE);
    assert_int_equal(phase_find(&table, "merge", 5).count, 1);
    assert_int_equal(phase_find(&table, "merg", 4).count, 0);
    assert_int_equal(phase_find(&table, "merger", 6).count, 0);
    assert_int_equal(phase_find(&table, "", 0).count, 0);
}

static void an_alias_is_the_name_of_several(void **state)
{
    (void)state;
    assert_int_equal(phase_find(&table, "later", 5).first, MERGE);
    assert_int_equal(phase_find(&table, "later", 5).count, 2);
}

static void assert_order(const PhaseOrder *broken, const u32 *sequence, u32 count)
{
    assert_ptr_equal(phase_order_broken(&table, sequence, count), broken);
}

static void order_is_that_of_the_first_runs(void **state)
{
    (void)state;
    assert_order(NULL, (u32[]){FOLD, MERGE, THREAD}, 3);
    assert_order(NULL, (u32[]){THREAD, FOLD, MERGE}, 3);
    assert_order(NULL, (u32[]){MERGE}, 1);
    assert_order(NULL, (u32[]){FOLD, MERGE, FOLD}, 3);
    assert_order(NULL, NULL, 0);
    assert_order(fold_then_merge, (u32[]){MERGE, FOLD}, 2);
    assert_order(fold_then_merge, (u32[]){MERGE, THREAD, FOLD, MERGE}, 4);
}

static void faults_of_a_table_are_seen(void **state)
{
    (void)state;
    Arena arena = {0};
    assert_null(phase_table_fault(&table, &arena));
    assert_null(phase_table_fault(&phase_table, &arena));

    const PhaseOrder backwards[] = {{"thread", "fold", "no reason"}};
    PhaseTable bad = {three_phases, 3, backwards, 1, NULL, 0, NULL, 0};
    assert_string_equal(phase_table_fault(&bad, &arena), "'thread' must stand before 'fold': no reason");

    const PhaseOrder unknown[] = {{"fold", "nothing", ""}};
    bad.order = unknown;
    assert_non_null(strstr(phase_table_fault(&bad, &arena), "names an unknown phase"));

    const PhaseAlias nobody[] = {{"a", "fold", "nothing"}};
    bad = (PhaseTable){three_phases, 3, NULL, 0, nobody, 1, NULL, 0};
    assert_string_equal(phase_table_fault(&bad, &arena), "'a' is the name of an unknown phase");

    const PhaseInfo twice[] = {{.name = "fold"}, {.name = "fold"}};
    bad = (PhaseTable){twice, 2, NULL, 0, NULL, 0, NULL, 0};
    assert_string_equal(phase_table_fault(&bad, &arena), "phase 'fold' stands twice in the table");
    arena_free(&arena);
}

static const char *nearest(const char *word, const char *const *names)
{
    Suggestion s = suggestion_for(word, strlen(word));
    for (; *names; names++)
        suggestion_offer(&s, *names);
    return s.name;
}

static void nearest_name_is_suggested(void **state)
{
    (void)state;
    static const char *const names[] = {"branch-folding", "tail-merge", "jump-threading", "O", NULL};
    assert_string_equal(nearest("branch-foldng", names), "branch-folding");
    assert_string_equal(nearest("brnach-folding", names), "branch-folding");
    assert_string_equal(nearest("branch", names), "branch-folding");
    assert_string_equal(nearest("tailmerge", names), "tail-merge");
    assert_null(nearest("licm", names));
    assert_null(nearest("xy", names));
    assert_null(nearest("", names));
    assert_null(nearest("a-word-that-is-longer-than-any-name-and-that-nobody-would-type-by-error", names));
}

/* ---- numbers and the command line ------------------------------------------------------------------------------- */

static void numbers_are_whole_and_in_range(void **state)
{
    (void)state;
    i64 n = -7;
    static const char *const bad[] = {
        "", "-", "x", "3x", " 3", "3 ", "+3", "0x10", "1e3", "3.0", "--3", "9223372036854775808", "-2"};
    for (u32 i = 0; i < COUNT_OF(bad); i++) {
        if (knob_parse_number(bad[i], -1, INT64_MAX, &n))
            fail_msg("'%s' is taken", bad[i]);
        assert_int_equal(n, -7);
    }
    assert_true(knob_parse_number("9223372036854775807", -1, INT64_MAX, &n));
    assert_true(n == INT64_MAX);
    assert_true(knob_parse_number("-1", -1, 5, &n));
    assert_int_equal(n, -1);
    assert_false(knob_parse_number("6", -1, 5, &n));
}

/* Parses a line of words; messages end in `said`. */
static OptionsResult parse_line(Options *options, const char *line, char *said, size_t size)
{
    static char words[256];
    char *argv[16] = {"ptxopt"};
    int argc = 1;
    snprintf(words, sizeof words, "%s", line);
    for (char *word = strtok(words, " "); word; word = strtok(NULL, " "))
        argv[argc++] = word;
    FILE *messages = fmemopen(said, size, "w");
    OptionsResult result = options_parse(options, argc, argv, messages, messages);
    fclose(messages);
    return result;
}

static void options_have_their_defaults(void **state)
{
    (void)state;
    Options options;
    char said[4096];
    assert_int_equal(parse_line(&options, "in.ptx", said, sizeof said), OPTIONS_RUN);
    assert_string_equal(options.input, "in.ptx");
    assert_string_equal(options.output, "-");
    assert_null(options.remarks);
    assert_int_equal(options.stats, STATS_NONE);
    assert_int_equal(options.pipeline.level, 2);
    assert_true(options.pipeline.bisect_limit == BISECT_OFF);
    assert_false(options.pipeline.verify_each);
    assert_false(options.pipeline.judged);
    for (u32 i = 0; i < options.pipeline.sequence.n; i++)
        assert_true(phase_table.phase[options.pipeline.sequence.v[i]].level <= 2);
    options_free(&options);
}

/* The last --guard decides. */
static void a_guard_judges(void **state)
{
    static const char *const lines[] = {"--guard in.ptx", "--guard=search in.ptx", "--guard=off --guard=on in.ptx",
                                        "--guard --guard=off in.ptx"};
    (void)state;
    for (u32 k = 0; k < COUNT_OF(lines); k++) {
        Options options;
        char said[4096];
        assert_int_equal(parse_line(&options, lines[k], said, sizeof said), OPTIONS_RUN);
        assert_int_equal(options.pipeline.judged, k < 3);
        options_free(&options);
    }
}

/* Reports of faults print it, long after the caller has freed its own. */
static void the_command_line_is_kept(void **state)
{
    (void)state;
    Options options;
    Words words = {0};
    vec_push(&words, (char *)(uintptr_t) "-O3");
    assert_int_equal(options_parse_words(&options, &words, stdout, stderr), OPTIONS_RUN);
    vec_free(&words);
    assert_int_equal(options.argc, 2); /* no input that nobody gave */
    assert_string_equal(options.argv[0], "ptxopt");
    assert_string_equal(options.argv[1], "-O3");
    assert_int_equal(options.pipeline.level, 3);
    options_free(&options);

    char *argv[] = {"ptxopt", "in.ptx"};
    assert_int_equal(options_parse(&options, 2, argv, stdout, stderr), OPTIONS_RUN);
    argv[1] = NULL;
    assert_string_equal(options.argv[1], "in.ptx");
    options_free(&options);
}

static void options_choose_phases(void **state)
{
    (void)state;
    Options options;
    char said[4096];
    assert_int_equal(parse_line(&options, "-O0 in.ptx", said, sizeof said), OPTIONS_RUN);
    assert_int_equal(options.pipeline.sequence.n, 0);
    options_free(&options);

    assert_int_equal(parse_line(&options, "in.ptx -O0 --passes=branch-folding,branch-folding", said, sizeof said),
                     OPTIONS_RUN);
    assert_int_equal(options.pipeline.sequence.n, 6);
    assert_string_equal(options.pipeline.table->phase[options.pipeline.sequence.v[0]].name, "clean-up");
    assert_string_equal(options.pipeline.table->phase[options.pipeline.sequence.v[5]].name, "layout");
    options_free(&options);

    assert_int_equal(parse_line(&options, "in.ptx -O3 --stop-after=clean-up", said, sizeof said), OPTIONS_RUN);
    assert_int_equal(options.pipeline.sequence.n, 2); /* levers, clean-up */
    options_free(&options);

    assert_int_equal(parse_line(&options, "in.ptx --passes=branch-folding --disable=branch-folding", said, sizeof said),
                     OPTIONS_RUN);
    assert_int_equal(options.pipeline.sequence.n, 0);
    options_free(&options);
}

static void knobs_are_options(void **state)
{
    (void)state;
    Options options;
    char said[4096];
    assert_int_equal(
        parse_line(&options, "in.ptx --disable-branch-fold --branch-fold-max-iterations=12", said, sizeof said),
        OPTIONS_RUN);
    assert_true(options.pipeline.knobs.disable_branch_fold);
    assert_int_equal(options.pipeline.knobs.branch_fold_max_iterations, 12);
    options_free(&options);

    assert_int_equal(parse_line(&options, "in.ptx --disable-branch-fold --no-disable-branch-fold", said, sizeof said),
                     OPTIONS_RUN);
    assert_false(options.pipeline.knobs.disable_branch_fold);
    options_free(&options);
}

static void words_of_choices_are_in_the_order_of_their_enums(void **state)
{
    (void)state;
    Options options;
    char said[4096];
    static const struct {
        const char *line;
        u32 reserved, lop3;
    } row[] = {
        {"in.ptx", RESERVED_VOLATILE, LOP3_AUTO},
        {"in.ptx --tail-merge-reserved=strict --lop3=always", RESERVED_STRICT, LOP3_ALWAYS},
        {"in.ptx --tail-merge-reserved=off --lop3=never", RESERVED_OFF, LOP3_NEVER},
    };
    for (u32 k = 0; k < COUNT_OF(row); k++) {
        assert_int_equal(parse_line(&options, row[k].line, said, sizeof said), OPTIONS_RUN);
        assert_int_equal(options.pipeline.knobs.tail_merge_reserved, row[k].reserved);
        assert_int_equal(options.pipeline.knobs.lop3, row[k].lop3);
        options_free(&options);
    }
}

static void wrong_options_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *line, *says;
    } bad[] = {
        {"", "no input file"},
        {"a b", "more than one input file: 'a' and 'b'"},
        {"a -O", "option '-O' needs an argument"},
        {"a -Os", "-O takes 0, 1, 2 or 3, not 's'"},
        {"a -O22", "not '22'"},
        {"a -q", "unknown option '-q'"},
        {"a --output=b", "unknown option '--output'"},
        {"a --list-phase=b", "option '--list-phases' takes no argument"},
        {"a --disable=tail-mrge", "--disable: unknown phase 'tail-mrge'"},
        {"a --passes=branch-folding,", "--passes: unknown phase ''"},
        {"a --passes=branchfolding", "did you mean 'branch-folding'?"},
        {"a --passes=all", "unknown phase 'all'"},
        {"a --stop-after=all", "unknown phase 'all'"},
        {"a -O0 --stop-after=branch-folding", "'branch-folding' is not among the phases that run"},
        {"a --opt-bisect-limit=-2", "--opt-bisect-limit takes a number of rewrites or -1, not '-2'"},
        {"a --tail-merge-reserved=vol", "--tail-merge-reserved takes one of strict|volatile|off, not 'vol'"},
        {"a --branch-fold-max-iterations=-1", "--branch-fold-max-iterations takes a number from 0 to 2147483647, not '-1'"},
        {"a --lop3=sometimes", "--lop3 takes one of auto|always|never, not 'sometimes'"},
        {"a --no-branch-fold-max-iterations", "unknown option '--no-branch-fold-max-iterations'"},
        {"a --no-stats", "unknown option '--no-stats'"},
        {"a --stats=text", "--stats takes 'json' or nothing, not 'text'"},
        {"a --remarks=-", "cannot both go to standard output"},
        {"a --print", "option '--print' is ambiguous"},
    };
    for (u32 i = 0; i < COUNT_OF(bad); i++) {
        Options options;
        char said[4096];
        if (parse_line(&options, bad[i].line, said, sizeof said) != OPTIONS_BAD)
            fail_msg("`%s` is taken", bad[i].line);
        if (!strstr(said, bad[i].says))
            fail_msg("`%s` gives: %s", bad[i].line, said);
        options_free(&options);
    }
}

/* ---- reports ---------------------------------------------------------------------------------------------------- */

static void counters_add_up_per_phase(void **state)
{
    (void)state;
    Stats stats = {.functions = 3};
    char shown[4096] = "";
    stats.phase[0].functions = 2;
    stats_count(&stats, 0, "jumps", 2);
    stats_count(&stats, 0, "quote \" and \\", 1);
    char again[] = "jumps"; /* equal text at another address */
    stats_count(&stats, 0, again, 40);
    FILE *out = fmemopen(shown, sizeof shown, "w");
    stats_print_json(out, &stats);
    fclose(out);
    assert_non_null(strstr(shown, "\"functions\": 3,"));
    assert_non_null(strstr(shown, "\"jumps\": 42,"));
    assert_non_null(strstr(shown, "\"quote \\\" and \\\\\": 1\n"));
    stats_free(&stats);
}

static void graph_files_have_safe_names(void **state)
{
    (void)state;
    Arena arena = {0};
    Intern names;
    intern_init(&names, &arena);
    assert_string_equal(dot_file_name(&arena, intern_cstr(&names, "_Z3addPf")), "_Z3addPf.dot");
    assert_string_equal(dot_file_name(&arena, intern_cstr(&names, "$f%1/..")), "%24f%251%2F...dot");
    char longer[2][1001];
    for (u32 i = 0; i < 2; i++) {
        memset(longer[i], '$', 1000);
        longer[i][999] = (char)('a' + i);
        longer[i][1000] = '\0';
    }
    char *first = dot_file_name(&arena, intern_cstr(&names, longer[0]));
    assert_true(strlen(first) < 255);
    assert_string_not_equal(first, dot_file_name(&arena, intern_cstr(&names, longer[1])));
    intern_free(&names);
    arena_free(&arena);
}

/* The remark about `at` in `text`, whose function begins at its first `{`. */
static void assert_remark(const char *text, const char *at, const char *message, const char *yaml)
{
    Arena arena = {0};
    Intern names;
    intern_init(&names, &arena);
    char shown[2048] = "";
    FILE *out = fmemopen(shown, sizeof shown, "w");
    Diag diag;
    diag_init(&diag, stderr, "it's.ptx", (Str){text, (u32)strlen(text)});
    RemarkWriter writer;
    remarks_init(&writer, out, &diag);
    u32 open = (u32)(strchr(text, '{') - text);
    Function fn = {.name = intern_cstr(&names, "$k"), .text = {2, (u32)strlen(text)}, .open = {open, open + 1}};
    Span where = {0, 0};
    if (at) {
        where.beg = (u32)(strstr(text, at) - text);
        where.end = where.beg + (u32)strlen(at);
    }
    remarks_write(&writer, (Remark){REMARK_MISSED, "some-phase", "SomeName", .message = message}, &fn, where);
    fclose(out);
    assert_string_equal(shown, yaml);
    remarks_free(&writer);
    diag_free(&diag);
    intern_free(&names);
    arena_free(&arena);
}

#define HEAD(line, column)                                                  \
    "--- !Missed\nPass:            some-phase\nName:            SomeName\n" \
    "DebugLoc:        { File: 'it''s.ptx', Line: " #line ", Column: " #column " }\nFunction:        '$k'\nArgs:\n"

static void remarks_are_yaml(void **state)
{
    (void)state;
    assert_remark("\n\n.func k { ret; }", "ret", "it's: {a}, \"b\" # c",
                  HEAD(3, 11) "  - String: 'it''s: {a}, \"b\" # c'\n...\n");
    assert_remark("\n\n.func k { ret; }", NULL, "whole", HEAD(3, 1) "  - String: 'whole'\n...\n");
    assert_remark("\n\n.func k { ret; }", NULL, "a\n\"\\b", HEAD(3, 1) "  - String: \"a\\x0A\\\"\\\\b\"\n...\n");
}

static void remarks_name_the_source(void **state)
{
    (void)state;
    static const char text[] = "\n\n.file 2 \"C:\\\\it's.cu\", 1, 2\r\n.func k\r{\n.loc 2 5 1\nadd;\r\n\t.loc\t2 7 3, "
                               "function_name $x\nbra;\n.loc 9 9 9\nret; }";
    assert_remark(text, "bra", "m",
                  HEAD(9, 1) "  - String: 'm'\n  - String: ' (from '\n  - Source: 'C:\\it''s.cu:7:3'\n"
                             "    DebugLoc:        { File: 'C:\\it''s.cu', Line: 7, Column: 3 }\n  - String: ')'\n...\n");
    /* a number without a file; a .loc of an earlier function; a line that only looks like one */
    assert_remark(text, "ret", "m", HEAD(11, 1) "  - String: 'm'\n...\n");
    assert_remark("\n\n.file 1 \"a\"\n.loc 1 2 3\n{\nret; }", "ret", "m", HEAD(6, 1) "  - String: 'm'\n...\n");
    assert_remark("\n\n.file 1 \"a\"\n{\n.local 1 2 3\n.loc\nret; }", "ret", "m", HEAD(7, 1) "  - String: 'm'\n...\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(phases_are_found_by_their_whole_name),
        cmocka_unit_test(an_alias_is_the_name_of_several),
        cmocka_unit_test(order_is_that_of_the_first_runs),
        cmocka_unit_test(faults_of_a_table_are_seen),
        cmocka_unit_test(nearest_name_is_suggested),
        cmocka_unit_test(numbers_are_whole_and_in_range),
        cmocka_unit_test(options_have_their_defaults),
        cmocka_unit_test(a_guard_judges),
        cmocka_unit_test(the_command_line_is_kept),
        cmocka_unit_test(options_choose_phases),
        cmocka_unit_test(knobs_are_options),
        cmocka_unit_test(words_of_choices_are_in_the_order_of_their_enums),
        cmocka_unit_test(wrong_options_are_refused),
        cmocka_unit_test(counters_add_up_per_phase),
        cmocka_unit_test(graph_files_have_safe_names),
        cmocka_unit_test(remarks_are_yaml),
        cmocka_unit_test(remarks_name_the_source),
    };
    return cmocka_run_group_tests_name("pipeline", tests, NULL, NULL);
}
