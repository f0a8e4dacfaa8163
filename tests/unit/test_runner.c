/* The runner with phases made for it: what it computes, allows, reports and refuses. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "ir/edit.h"
#include "parse/parse.h"
#include "pipeline/pipeline.h"

static const char source[] = ".version 8.0\n.target sm_80\n.address_size 64\n"
                             ".func proto();\n"
                             ".entry one() {\n.reg .pred %p;\n.reg .b32 %r;\nmov.u32 %r, %tid.x;\nsetp.eq.u32 %p, %r, 0;\n"
                             "@%p bra L;\nmov.u32 %r, 1;\nL: ret;\n}\n"
                             ".entry unknown() {\nfrobnicate.b99;\nret;\n}\n"
                             ".entry two() { ret; }\n"
                             ".entry meets() { bar.sync 0; ret; }\n";

/* ---- phases ----------------------------------------------------------------------------------------------------- */

static PhaseResult counts_functions(Analyses *an, const Knobs *knobs, PhaseRun *run)
{
    assert_string_not_equal(an->fn->name->text, "unknown");
    assert_string_not_equal(an->fn->name->text, "proto");
    phase_count(run, "functions", 1);
    phase_count(run, "level", run->level);
    return PHASE_UNCHANGED;
}

/* Takes every instruction but terminators and barriers out, one rewrite each. */
static PhaseResult removes_instructions(Analyses *an, const Knobs *knobs, PhaseRun *run)
{
    bool changed = false;
    for_each_block(b, an->fn)
        for (Instr *i = b->first, *next; i; i = next) {
            next = i->next;
            if (instr_is(i, OPF_TERMINATOR | OPF_BARRIER))
                continue;
            if (!phase_may_rewrite(run)) {
                phase_missed(run, "Kept", i, "instruction of %s", an->fn->name->text);
                continue;
            }
            phase_passed(run, "Removed", i, "instruction of %s", an->fn->name->text);
            instr_remove(i);
            changed = true;
        }
    return changed ? PHASE_CHANGED : PHASE_UNCHANGED;
}

/* Takes the first instruction out of a block that has no other one in front of its terminator. */
static PhaseResult removes_alone(Analyses *an, const Knobs *knobs, PhaseRun *run)
{
    bool changed = false;
    for_each_block(b, an->fn) {
        Instr *i = b->first;
        if (!i || instr_is(i, OPF_TERMINATOR | OPF_BARRIER) || (i->next && !instr_is(i->next, OPF_TERMINATOR)) ||
            !phase_may_rewrite(run))
            continue;
        instr_remove(i);
        changed = true;
    }
    phase_missed(run, "Always", NULL, "said at every visit");
    return changed ? PHASE_CHANGED : PHASE_UNCHANGED;
}

/* Takes the second instruction out, if it is no terminator. */
static PhaseResult removes_second(Analyses *an, const Knobs *knobs, PhaseRun *run)
{
    bool changed = false;
    for_each_block(b, an->fn) {
        Instr *i = b->first ? b->first->next : NULL;
        if (!i || instr_is(i, OPF_TERMINATOR) || !phase_may_rewrite(run))
            continue;
        instr_remove(i);
        changed = true;
    }
    return changed ? PHASE_CHANGED : PHASE_UNCHANGED;
}

/* No block comes to be empty by it: what the others write is still read. */
static PhaseResult asks_and_removes_first(Analyses *an, const Knobs *knobs, PhaseRun *run)
{
    an_freeze(an, AN_LOOPS | AN_LIVE);
    an_compute(an, AN_LOOPS | AN_LIVE);
    Instr *i = an->fn->entry->first;
    if (instr_is(i, OPF_TERMINATOR | OPF_BARRIER) || instr_is(i->next, OPF_TERMINATOR) || !phase_may_rewrite(run))
        return PHASE_UNCHANGED;
    instr_remove(i);
    return PHASE_CHANGED;
}

static PhaseResult sees_what_was_kept(Analyses *an, const Knobs *knobs, PhaseRun *run)
{
    (void)run;
    u32 graph = AN_ORDER | AN_DOM | AN_LOOPS;
    assert_int_equal(an->frozen, AN_NONE);
    assert_int_equal(an_valid(an) & (graph | AN_LIVE), an->fn->changed ? graph : graph | AN_LIVE);
    return PHASE_UNCHANGED;
}

/* Takes one instruction out at each call. */
static PhaseResult removes_one(Analyses *an, const Knobs *knobs, PhaseRun *run)
{
    u32 *calls = run->state;
    assert_int_equal(run->iteration == 0, calls == NULL);
    if (!calls)
        calls = run->state = arena_new(run->kept, u32);
    assert_int_equal(run->iteration, (*calls)++);
    assert_int_equal(run->is_last, run->iteration == 2);
    assert_int_equal(an->frozen, AN_NONE);
    an_freeze(an, AN_LOOPS);
    Instr *i = an->fn->entry->first;
    phase_count(run, "calls", 1);
    if (!i || instr_is(i, OPF_TERMINATOR) || !phase_may_rewrite(run))
        return PHASE_UNCHANGED;
    instr_remove(i);
    phase_count(run, "spent", ++*run->spent);
    return PHASE_AGAIN;
}

/* Declines the first and the last instruction of each block, and takes the first one out, one block at each call. */
static PhaseResult declines_again_and_again(Analyses *an, const Knobs *knobs, PhaseRun *run)
{
    PhaseResult result = PHASE_UNCHANGED;
    for_each_block(b, an->fn) {
        if (!b->first)
            continue;
        phase_declined(run, "Declined", "FirstKept", b->first, "first of block %u", b->id);
        phase_missed_once(run, "LastKept", b->last, "last of block %u", b->id);
        if (b->first != b->last && result == PHASE_UNCHANGED && phase_may_rewrite(run)) {
            instr_remove(b->first);
            result = PHASE_AGAIN;
        }
    }
    return result;
}

static PhaseResult denies_its_changes(Analyses *an, const Knobs *knobs, PhaseRun *run)
{
    removes_instructions(an, knobs, run);
    return PHASE_UNCHANGED;
}

/* Changes the function without asking, so that nothing was kept to compare it with. */
static PhaseResult does_not_ask(Analyses *an, const Knobs *knobs, PhaseRun *run)
{
    (void)run;
    instr_remove(an->fn->entry->first);
    return PHASE_CHANGED;
}

/* Lets control run to a block past the edge maps. */
static PhaseResult breaks_edges(Analyses *an, const Knobs *knobs, PhaseRun *run)
{
    if (!an->fn->entry->next || !phase_may_rewrite(run))
        return PHASE_UNCHANGED;
    an->fn->entry->fall = an->fn->entry;
    an->fn->changed = true;
    return PHASE_CHANGED;
}

static PhaseResult doubles_barriers(Analyses *an, const Knobs *knobs, PhaseRun *run)
{
    bool changed = false;
    for_each_block(b, an->fn)
        for (Instr *i = b->first, *next; i; i = next) {
            next = i->next;
            if (!instr_is(i, OPF_BARRIER) || !phase_may_rewrite(run))
                continue;
            instr_insert_after(i, instr_clone(an->fn, i));
            changed = true;
        }
    return changed ? PHASE_CHANGED : PHASE_UNCHANGED;
}

/* ---- running them ----------------------------------------------------------------------------------------------- */

/* Sends the branch that leaves at once to the block that stores first: two edges lead there now, and some threads vote. */
static PhaseResult leads_to_another_exit(Analyses *an, const Knobs *knobs, PhaseRun *run)
{
    (void)knobs;
    Block *stores = NULL, *leaves = NULL;
    for_each_block(b, an->fn) {
        stores = b->labels && strcmp(b->labels->name->text, "STORES") == 0 ? b : stores;
        leaves = b->labels && strcmp(b->labels->name->text, "LEAVES") == 0 ? b : leaves;
    }
    for_each_block(b, an->fn)
        if (leaves && block_terminator(b) && branch_target(block_terminator(b)) == leaves && phase_may_rewrite(run)) {
            block_redirect(b, leaves, stores);
            return PHASE_CHANGED;
        }
    return PHASE_UNCHANGED;
}

/* Takes the store out where the call below it does not write. */
static PhaseResult removes_store(Analyses *an, const Knobs *knobs, PhaseRun *run)
{
    Instr *store = an->fn->entry->first;
    if (!instr_effects(store, an->summaries).writes || instr_effects(store->next, an->summaries).writes ||
        !phase_may_rewrite(run))
        return PHASE_UNCHANGED;
    instr_remove(store);
    return PHASE_CHANGED;
}

static const char exits[] = ".version 8.0\n.target sm_80\n.address_size 64\n"
                            ".entry one(.param .u64 out) {\n.reg .pred %p<4>;\n.reg .b32 %r<4>;\n.reg .b64 %rd<4>;\n"
                            "ld.param.u64 %rd1, [out];\nmov.u32 %r1, %tid.x;\nsetp.eq.u32 %p1, %r1, 0;\n@%p1 bra STORES;\n"
                            "setp.eq.u32 %p2, %r1, 1;\n@%p2 bra LEAVES;\nvote.sync.ballot.b32 %r2, %p2, -1;\n"
                            "st.global.u32 [%rd1], %r2;\nret;\nSTORES:\nst.global.u32 [%rd1+4], %r1;\nret;\n"
                            "LEAVES:\nret;\n}\n";
static Str text = {source, sizeof source - 1}; /* of the module */
static bool spares;                            /* the first phase what the second one changes */

typedef struct Run {
    PipelineResult result;
    Stats stats;
    char said[8192], remarks[8192], printed[8192];
} Run;

/* second may be NULL. */
static void run_phases(Run *run, Phase *first, Phase *second, PipelineConfig config)
{
    *run = (Run){0};
    PhaseInfo row[2] = {{.run = first, .name = "tested", .iterations = 3},
                        {.run = second, .name = "other", .iterations = 1}};
    u32 phases = second ? 2 : 1;
    PhaseTable table = {.phase = row, .phases = phases, .spares = &(PhaseSpares){1, 0}, .spares_rows = spares};
    config.table = &table;
    config.sequence = (VecU32){(u32[]){0, 1}, phases, phases};

    Arena arena = {0};
    Diag diag;
    diag_init(&diag, stderr, "in.ptx", text);
    Module *m = parse_module(&arena, "in.ptx", text, &diag);
    assert_int_equal(diag.errors, 0);

    FILE *messages = fmemopen(run->said, sizeof run->said, "w");
    FILE *remarks = fmemopen(run->remarks, sizeof run->remarks, "w");
    run->result = pipeline_run(m, &config, &diag, remarks, messages, &run->stats);
    fclose(messages);
    fclose(remarks);
    if (run->result == PIPELINE_OK) {
        FILE *out = fmemopen(run->printed, sizeof run->printed, "w");
        print_module(out, m, &(PrintOptions){0});
        fclose(out);
    }
    module_free(m);
    diag_free(&diag);
    arena_free(&arena);
}

static void run_phase(Run *run, Phase *phase, PipelineConfig config) { run_phases(run, phase, NULL, config); }

static void run_free(Run *run) { stats_free(&run->stats); }

static u64 counted(const Run *run, const char *what)
{
    for (u32 i = 0; i < run->stats.phase[0].counters.n; i++)
        if (strcmp(run->stats.phase[0].counters.v[i].what, what) == 0)
            return run->stats.phase[0].counters.v[i].amount;
    return 0;
}

static void the_sequence_goes_to_a_fixed_point(void **state)
{
    (void)state;
    Run run;
    run_phases(&run, removes_alone, removes_second, (PipelineConfig){.level = 1, .bisect_limit = BISECT_OFF});
    assert_int_equal(run.result, PIPELINE_OK);
    assert_null(strstr(run.printed, "setp"));
    assert_null(strstr(run.printed, "mov")); /* alone in its block when the second phase has run */
    assert_int_equal(run.stats.phase[0].functions, 3);
    assert_int_equal(run.stats.phase[0].changed, 1);
    assert_int_equal(run.stats.phase[1].changed, 1);
    u32 missed = 0;
    for (const char *at = run.remarks; (at = strstr(at, "said at every visit")); at++)
        missed++;
    assert_int_equal(missed, 3); /* once a function, however often it is visited */
    run_free(&run);
}

/* The second phase changes one function after the first one has seen all three. */
static void a_phase_is_not_asked_again_for_changes_that_spare_it(void **state)
{
    (void)state;
    Run run;
    spares = true;
    run_phases(&run, counts_functions, removes_second, (PipelineConfig){.level = 1, .bisect_limit = BISECT_OFF});
    spares = false;
    assert_int_equal(run.result, PIPELINE_OK);
    assert_null(strstr(run.printed, "setp"));
    assert_int_equal(counted(&run, "functions"), 3);
    run_free(&run);
    run_phases(&run, counts_functions, removes_second, (PipelineConfig){.level = 1, .bisect_limit = BISECT_OFF});
    assert_int_equal(counted(&run, "functions"), 4);
    run_free(&run);
}

static void a_phase_finds_what_the_one_before_it_kept(void **state)
{
    (void)state;
    Run run;
    run_phases(&run, asks_and_removes_first, sees_what_was_kept, (PipelineConfig){.level = 1, .bisect_limit = BISECT_OFF});
    assert_int_equal(run.result, PIPELINE_OK);
    assert_int_equal(run.stats.phase[0].changed, 1);
    run_free(&run);
}

static void every_touchable_function_is_visited_once(void **state)
{
    (void)state;
    Run run;
    run_phase(&run, counts_functions, (PipelineConfig){.level = 3, .bisect_limit = BISECT_OFF});
    assert_int_equal(run.result, PIPELINE_OK);
    assert_int_equal(run.stats.functions, 4);
    assert_int_equal(run.stats.untouchable, 1);
    assert_int_equal(run.stats.changed, 0);
    assert_int_equal(counted(&run, "functions"), 3);
    assert_int_equal(counted(&run, "level"), 9);
    assert_string_equal(run.said, "");
    assert_string_equal(run.printed, source);
    assert_non_null(strstr(run.remarks,
                           "--- !Missed\nPass:            ptxopt\nName:            Untouchable\n"
                           "DebugLoc:        { File: 'in.ptx', Line: 15, Column: 1 }\nFunction:        'unknown'\n"));
    run_free(&run);
}

/* `one` has two instructions that go, `meets` one, `two` none; the sequence is run again where something was changed, and in
 * one of them with what only a removed instruction read. */
static void a_phase_is_called_again_up_to_its_bound(void **state)
{
    (void)state;
    Run run;
    run_phase(&run, removes_one, (PipelineConfig){.bisect_limit = BISECT_OFF});
    assert_int_equal(run.result, PIPELINE_OK);
    assert_int_equal(counted(&run, "calls"), 3 + 2 + 1 + 1);
    assert_int_equal(counted(&run, "spent"), 1 + 2 + 1);
    assert_int_equal(run.stats.phase[0].changed, 2);
    run_free(&run);
}

static u32 times_said(const Run *run, const char *what)
{
    u32 times = 0;
    for (const char *at = run->remarks; (at = strstr(at, what)); at++)
        times++;
    return times;
}

/* The entry block of `one` loses its first instruction in two iterations, and has nothing to lose in the third. */
static void what_is_declined_is_said_of_the_last_iteration(void **state)
{
    (void)state;
    Run run;
    run_phase(&run, declines_again_and_again, (PipelineConfig){.bisect_limit = BISECT_OFF});
    assert_int_equal(run.result, PIPELINE_OK);
    assert_int_equal(times_said(&run, "Name:            LastKept"), 5);
    assert_int_equal(times_said(&run, "Name:            FirstKept"), 5);
    assert_int_equal(counted(&run, "Declined"), 5);
    run_free(&run);
}

static void level_0_is_1_to_a_phase(void **state)
{
    (void)state;
    Run run;
    run_phase(&run, counts_functions, (PipelineConfig){.level = 0, .bisect_limit = BISECT_OFF});
    assert_int_equal(counted(&run, "level"), 3);
    run_free(&run);
}

static void changes_are_counted_and_printed(void **state)
{
    (void)state;
    Run run;
    run_phase(&run, removes_instructions, (PipelineConfig){.bisect_limit = BISECT_OFF, .verify_each = true});
    assert_int_equal(run.result, PIPELINE_OK);
    assert_int_equal(run.stats.changed, 1);
    assert_int_equal(run.stats.phase[0].changed, 1);
    assert_null(strstr(run.printed, "mov.u32"));
    assert_non_null(strstr(run.printed, ".entry two() { ret; }\n.entry meets() { bar.sync 0; ret; }\n"));
    assert_non_null(strstr(run.printed, "frobnicate.b99;"));
    assert_string_equal(run.said, "");
    run_free(&run);
}

static void bisection_stops_rewriting(void **state)
{
    (void)state;
    Run run;
    run_phase(&run, removes_instructions, (PipelineConfig){.bisect_limit = 1});
    assert_string_equal(run.said, "BISECT: running rewrite (1) tested on function (one)\n"
                                  "BISECT: NOT running rewrite (2) tested on function (one)\n"
                                  "BISECT: NOT running rewrite (3) tested on function (one)\n");
    assert_null(strstr(run.printed, "%tid.x"));
    assert_non_null(strstr(run.printed, "setp.eq.u32"));
    assert_non_null(strstr(run.remarks, "--- !Passed\nPass:            tested\nName:            Removed\n"));
    assert_non_null(strstr(run.remarks, "--- !Missed\nPass:            tested\nName:            Kept\n"));
    run_free(&run);

    run_phase(&run, removes_instructions, (PipelineConfig){.bisect_limit = 0});
    assert_string_equal(run.printed, source);
    assert_int_equal(run.stats.changed, 0);
    run_free(&run);

    run_phase(&run, removes_instructions, (PipelineConfig){.bisect_limit = BISECT_ALL});
    assert_null(strstr(run.said, "NOT"));
    assert_non_null(strstr(run.said, "running rewrite (3)"));
    run_free(&run);
}

static void functions_are_printed_around_a_phase(void **state)
{
    (void)state;
    Run run;
    run_phase(&run, removes_instructions,
              (PipelineConfig){.bisect_limit = BISECT_OFF, .print_before = {true}, .print_after = {true}});
    const char *before = strstr(run.said, "// *** before tested: one ***\n.entry one()");
    const char *after = strstr(run.said, "// *** after tested: one ***\n.entry one()");
    assert_non_null(before);
    assert_non_null(after);
    assert_true(before < strstr(run.said, "%tid.x") && strstr(run.said, "%tid.x") < after);
    assert_null(strstr(after, "%tid.x"));
    run_free(&run);
}

static void a_function_goes_back_where_exits_came_to_decide(void **state)
{
    (void)state;
    Run run;
    text = (Str){exits, sizeof exits - 1};
    run_phase(&run, leads_to_another_exit, (PipelineConfig){.bisect_limit = BISECT_OFF});
    assert_int_equal(run.result, PIPELINE_OK);
    assert_non_null(strstr(run.remarks, "ExitsDecide"));
    assert_non_null(strstr(run.remarks, "ptxas might pick another exit"));
    assert_string_equal(run.printed, exits);
    run_free(&run);

    run_phase(&run, leads_to_another_exit, (PipelineConfig){.bisect_limit = BISECT_OFF, .ignore_exits = true});
    assert_int_equal(run.result, PIPELINE_OK);
    assert_null(strstr(run.remarks, "ExitsDecide"));
    assert_string_not_equal(run.printed, exits);
    run_free(&run);
    text = (Str){source, sizeof source - 1};
}

/* Each function of a chain of calls learns in the next pass what its callee no longer does. */
static void passes_end_at_their_bound(void **state)
{
    (void)state;
    enum { CHAIN = 12, PASSES = 8 };
    static char chain[2048];
    FILE *out = fmemopen(chain, sizeof chain, "w");
    fputs(".version 8.0\n.target sm_80\n.address_size 64\n.func f0() {\nst.global.u32 [0], 1;\nret;\n}\n", out);
    for (u32 k = 1; k < CHAIN; k++)
        fprintf(out, ".func f%u() {\nst.global.u32 [0], 1;\ncall f%u;\nret;\n}\n", k, k - 1);
    fclose(out);
    Run run;
    text = (Str){chain, strlen(chain)};
    run_phase(&run, removes_store, (PipelineConfig){.bisect_limit = BISECT_OFF});
    assert_int_equal(run.result, PIPELINE_OK);
    u32 stores = 0;
    for (const char *at = run.printed; (at = strstr(at, "st.global")); at++)
        stores++;
    assert_int_equal(stores, CHAIN - PASSES);
    run_free(&run);
    text = (Str){source, sizeof source - 1};
}

static void faults_of_a_phase_are_internal_errors(void **state)
{
    (void)state;
    Run run;
    run_phase(&run, denies_its_changes, (PipelineConfig){.bisect_limit = BISECT_OFF});
    assert_int_equal(run.result, PIPELINE_INTERNAL);
    assert_string_equal(run.said, "ptxopt: internal error: tested changed function 'one' and denies it\n");
    run_free(&run);

    run_phase(&run, does_not_ask, (PipelineConfig){.bisect_limit = BISECT_OFF});
    assert_int_equal(run.result, PIPELINE_INTERNAL);
    assert_string_equal(run.said, "ptxopt: internal error: tested changed function 'one' and did not ask\n");
    run_free(&run);

    run_phase(&run, breaks_edges, (PipelineConfig){.bisect_limit = BISECT_OFF, .verify_each = true});
    assert_int_equal(run.result, PIPELINE_INTERNAL);
    assert_non_null(strstr(run.said, "ptxopt: internal error: function 'one' is broken after tested: "));
    run_free(&run);

    run_phase(&run, doubles_barriers, (PipelineConfig){.bisect_limit = BISECT_OFF, .verify_each = true});
    assert_int_equal(run.result, PIPELINE_INTERNAL);
    assert_non_null(
        strstr(run.said, "function 'meets' is broken after tested: block 0: the convergent instruction 'bar.sync'"));
    run_free(&run);
}

static void note_begin(void *user) { ((u32 *)user)[0]++; }
static const char *say_fault(void *user, const Function *fn)
{
    ((u32 *)user)[1]++;
    return strcmp(fn->name->text, "one") == 0 ? "waiting: for ever" : NULL;
}

/* A prover that was handed over is asked of each function, after the steps that change it. */
static void verify_each_asks_a_prover(void **state)
{
    (void)state;
    Run run;
    u32 asked[2] = {0, 0};
    PipelineConfig config = {.bisect_limit = BISECT_OFF, .verify_each = true, .threads = {note_begin, say_fault, asked}};
    run_phase(&run, counts_functions, config);
    assert_int_equal(run.result, PIPELINE_OK);
    assert_int_equal(asked[0], 3);
    assert_int_equal(asked[1], 0);
    run_free(&run);

    run_phase(&run, removes_instructions, config);
    assert_int_equal(run.result, PIPELINE_INTERNAL);
    assert_string_equal(run.said, "ptxopt: internal error: function 'one' is broken after tested: waiting: for ever\n");
    run_free(&run);
}

static void a_directory_that_cannot_be_made_is_an_error(void **state)
{
    (void)state;
    Run run;
    run_phase(&run, counts_functions, (PipelineConfig){.bisect_limit = BISECT_OFF, .dump_cfg = "/dev/null/graphs"});
    assert_int_equal(run.result, PIPELINE_FAILED);
    assert_non_null(strstr(run.said, "cannot make directory '/dev/null/graphs': Not a directory"));
    assert_int_equal(run.stats.functions, 0);
    run_free(&run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_sequence_goes_to_a_fixed_point),
        cmocka_unit_test(a_phase_is_not_asked_again_for_changes_that_spare_it),
        cmocka_unit_test(a_phase_finds_what_the_one_before_it_kept),
        cmocka_unit_test(every_touchable_function_is_visited_once),
        cmocka_unit_test(what_is_declined_is_said_of_the_last_iteration),
        cmocka_unit_test(a_phase_is_called_again_up_to_its_bound),
        cmocka_unit_test(level_0_is_1_to_a_phase),
        cmocka_unit_test(changes_are_counted_and_printed),
        cmocka_unit_test(bisection_stops_rewriting),
        cmocka_unit_test(functions_are_printed_around_a_phase),
        cmocka_unit_test(a_function_goes_back_where_exits_came_to_decide),
        cmocka_unit_test(passes_end_at_their_bound),
        cmocka_unit_test(faults_of_a_phase_are_internal_errors),
        cmocka_unit_test(verify_each_asks_a_prover),
        cmocka_unit_test(a_directory_that_cannot_be_made_is_an_error),
    };
    return cmocka_run_group_tests_name("runner", tests, NULL, NULL);
}
