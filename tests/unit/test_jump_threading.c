/* What jump-threading does to functions that are too large to be written down. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "parse/parse.h"
#include "pipeline/knobs.h"
#include "pipeline/phases.h"
#include "pipeline/pipeline.h"
#include "ptx_text.h"

enum { CLONED = 4 /* a site: instructions between its two branches, of which each edge gets half */ };

/* first: the register that it reads first. */
static void write_arm(FILE *t, u32 first)
{
    fprintf(t, "\tadd.s32 %%r9, %%r9, %%r%u;\n", first);
    for (u32 k = 0; k < 12; k++)
        fprintf(t, "\tmad.lo.s32 %%r9, %%r9, %%r9, %u;\n", k);
}

/* if (p) A else B; a few instructions; if (p) C else D: p is uniform. */
static void write_site(FILE *t, u32 n)
{
    fprintf(t, "\tmul.lo.s32 %%t%u, %%r1, %u;\n\tsetp.lt.s32 %%p%u, %%t%u, 5;\n\t@%%p%u bra A%u;\n", n, n + 3, n, n, n, n);
    write_arm(t, 1);
    fprintf(t, "\tbra J%u;\nA%u:\n", n, n);
    write_arm(t, 1);
    fprintf(t, "J%u:\n", n);
    for (u32 k = 0; k < CLONED; k++) /* r3 is of r2, and r5 of r4 */
        fprintf(t, "\txor.b32 %%r%u, %%r%u, %u;\n", k + 2, k % 2 ? k + 1 : 9, k + 1);
    fprintf(t, "\t@%%p%u bra C%u;\n", n, n);
    write_arm(t, 3);
    fprintf(t, "\tbra K%u;\nC%u:\n", n, n);
    write_arm(t, 5);
    fprintf(t, "K%u:\n", n);
}

static char *write_sites(u32 sites)
{
    char *text;
    size_t size;
    FILE *t = open_memstream(&text, &size);
    fprintf(t,
            PTX_HEAD ".entry f(.param .u64 out, .param .u32 n) {\n.reg .b32 %%r<10>, %%t<%u>; .reg .b64 %%rd<2>;\n"
                     "\t.reg .pred %%p<%u>;\n\tld.param.u64 %%rd1, [out];\n\tld.param.u32 %%r1, [n];\n\tmov.u32 %%r9, 1;\n",
            sites, sites);
    for (u32 n = 0; n < sites; n++)
        write_site(t, n);
    fprintf(t, "\tst.global.u32 [%%rd1], %%r9;\n\tret;\n}\n");
    fclose(t);
    return text;
}

/* if (p) if (p) ...: a barrier at each join, and a bound that no thread exceeds at each branch. */
static char *write_nest(u32 depth)
{
    char *text;
    size_t size;
    FILE *t = open_memstream(&text, &size);
    fprintf(t, PTX_HEAD ".entry f(.param .u64 out) .reqntid 32 {\n.reg .b32 %%r<2>; .reg .b64 %%rd<2>; .reg .pred %%p<2>;\n"
                        "\tld.param.u64 %%rd1, [out];\n\tmov.u32 %%r1, %%tid.x;\n");
    for (u32 n = 0; n < depth; n++)
        fprintf(t, "\tsetp.gt.u32 %%p1, %%r1, %u;\n\t@%%p1 bra J%u;\n\tst.global.u32 [%%rd1+%u], %%r1;\n", n + 32, n, 4 * n);
    for (u32 n = depth; n-- > 0;)
        fprintf(t, "J%u:\n\tbar.sync 0;\n", n);
    fprintf(t, "\tret;\n}\n");
    fclose(t);
    return text;
}

/* The remarks of jump-threading on the source, which it frees. *calls: how often the phase was called. */
static char *remarks_of(char *source, u32 *calls)
{
    PipelineConfig config = {.table = &phase_table, .level = 2, .bisect_limit = BISECT_OFF};
    u32 phase = 0;
    while (strcmp(phase_table.phase[phase].name, "jump-threading") != 0)
        phase++;
    config.sequence = (VecU32){&phase, 1, 1};
    knobs_init(&config.knobs);

    char *remarks, *said;
    size_t remarks_size, said_size;
    FILE *remark_stream = open_memstream(&remarks, &remarks_size), *messages = open_memstream(&said, &said_size);
    Arena arena = {0};
    Stats stats = {0};
    Diag diag;
    Str text = {source, strlen(source)};
    diag_init(&diag, stderr, "in.ptx", text);
    Module *m = parse_module(&arena, "in.ptx", text, &diag);
    assert_int_equal(diag.errors, 0);
    assert_int_equal(pipeline_run(m, &config, &diag, remark_stream, messages, &stats), PIPELINE_OK);
    *calls = (u32)stats.phase[phase].calls;
    fclose(remark_stream);
    fclose(messages);
    stats_free(&stats);
    module_free(m);
    diag_free(&diag);
    arena_free(&arena);
    free(source);
    free(said);
    return remarks;
}

static u32 count(const char *text, const char *what)
{
    u32 n = 0;
    for (; (text = strstr(text, what)); text++)
        n++;
    return n;
}

/* In all its rounds together the phase clones 512 instructions at most; of the sites that are left it says why. */
static void clones_are_budgeted(void **state)
{
    (void)state;
    u32 calls;
    char *few = remarks_of(write_sites(20), &calls), *many = remarks_of(write_sites(150), &calls);
    assert_int_equal(count(few, "BranchThreaded"), 20);
    assert_int_equal(count(few, "budget of cloned instructions is used up"), 0);
    u32 left = count(many, "budget of cloned instructions is used up");
    assert_int_equal(left, 150 - 512 / (CLONED));
    assert_int_equal(count(many, "BranchThreaded"), 512 / (CLONED));
    free(few);
    free(many);
}

/* The branches of a nest are decided together, although threads wait at each join. */
static void nest_is_decided_at_once(void **state)
{
    (void)state;
    u32 calls;
    char *remarks = remarks_of(write_nest(500), &calls);
    assert_int_equal(count(remarks, "BranchDecided"), 500);
    assert_in_range(calls, 1, 3);
    free(remarks);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(clones_are_budgeted),
        cmocka_unit_test(nest_is_decided_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
