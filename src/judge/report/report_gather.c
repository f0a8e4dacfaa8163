#define _GNU_SOURCE
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "parse/reading.h"
#include "base/fnvmap.h"
#include "base/source.h"
#include "pipeline/advice.h"
#include "pipeline/remarks.h"
#include "judge/report/report.h"
#include "judge/trial/parts.h"

/* ---- graphs ------------------------------------------------------------------------------------------------------- */

static u32 number_of(const Function *fn, const Block *block)
{
    u32 number = 0;
    for_each_block(b, fn) {
        if (b == block)
            return number;
        number++;
    }
    return number;
}

static void add_edge(ReportBlock *block, u32 to)
{
    for (u32 i = 0; i < block->to.n; i++)
        if (block->to.v[i] == to)
            return;
    vec_push(&block->to, to);
}

/* The line of the source: the second number of the .loc in force where the block starts; 0: there is none. */
static u32 line_of(const Function *fn, const Block *b)
{
    char text[64];
    unsigned line = 0;
    Str loc = b->loc ? span_str(fn->module, b->loc->text) : (Str){"", 0};
    snprintf(text, sizeof text, "%.*s", (int)loc.len, loc.p);
    return sscanf(text, ".loc %*u %u", &line) == 1 ? line : 0;
}

enum { MOST_LINES = 30 /* of a block, in the text that a pointer shows */ };

static void add_text(Report *report, ReportBlock *block, const Function *fn, const Instr *i, u32 *lines)
{
    Str text = span_str(fn->module, i->text);
    block->hash = fnv_bytes(fnv_bytes(block->hash, text.p, text.len), "\n", 1);
    block->last = text;
    if (++*lines <= MOST_LINES)
        block->text = arena_append(&report->arena, block->text, "\n", "%.*s", (int)text.len, text.p);
    else if (*lines == MOST_LINES + 1)
        block->text = arena_append(&report->arena, block->text, "\n", "...");
}

static ReportBlock describe_block(Report *report, const Function *fn, const Block *b)
{
    ReportBlock block = {.line = line_of(fn, b), .text = "", .hash = FNV_BASIS};
    u32 lines = 0;
    if (b->labels)
        block.label = arena_copy(&report->arena, b->labels->name->text, b->labels->name->len);
    for_each_instr(i, b) {
        block.instructions += i->kind == INSTR_OP;
        if (i->kind == INSTR_OP || i->kind == INSTR_PRAGMA)
            add_text(report, &block, fn, i, &lines);
    }
    if (b->jump)
        add_text(report, &block, fn, b->jump, &lines);
    block.last.p = arena_copy(&report->arena, block.last.p, block.last.len);
    const Instr *end = block_terminator(b);
    const Table *table = end && instr_is(end, OPF_BRANCH) ? branch_table(end) : NULL;
    for (u32 t = 0; table && t < table->targets.n; t++)
        add_edge(&block, number_of(fn, fn_block(fn, table->targets.v[t])));
    if (end && instr_is(end, OPF_BRANCH) && !table)
        add_edge(&block, number_of(fn, branch_target(end)));
    if (b->fall) {
        u32 to = number_of(fn, b->fall), before = block.to.n;
        add_edge(&block, to);
        block.falls = block.to.n > before;
    }
    return block;
}

static ReportGraph describe_graph(Report *report, const Function *fn)
{
    ReportGraph graph = {0};
    if (!fn->verbatim)
        for_each_block(b, fn)
            vec_push(&graph.block, describe_block(report, fn, b));
    return graph;
}

/* Marks the blocks of each version of which the other one has none. */
static void mark_new(ReportGraph graph[2])
{
    for (int side = 0; side < 2; side++) {
        FnvMap other = {0};
        for (u32 b = 0; b < graph[!side].block.n; b++)
            *fnvmap_at(&other, graph[!side].block.v[b].hash) = 1;
        for (u32 b = 0; b < graph[side].block.n; b++)
            graph[side].block.v[b].is_new = !*fnvmap_at(&other, graph[side].block.v[b].hash);
        fnvmap_free(&other);
    }
}

/* ---- optimizing --------------------------------------------------------------------------------------------------- */

/* Notes where a function begins in the source as a remark of its own, so that one piece of code reads .loc directives. */
static void remark_start(RemarkWriter *writer, const Module *m, const Function *fn)
{
    const char *loc = m->text.p + fn->open.beg, *end = m->text.p + fn->close.end;
    while ((loc = memmem(loc, (size_t)(end - loc), ".loc", 4)) && loc[4] != ' ' && loc[4] != '\t') /* .local */
        loc += 4;
    u32 at = loc ? (u32)(loc - m->text.p) + 4 : fn->open.beg;
    remarks_write(writer, (Remark){REMARK_ANALYSIS, report_pass, "Function", .message = ""}, fn, (Span){at, at + 1});
}

/* The optimized text goes to `out`. False after a message. */
static bool optimize(Report *report, ReportFile *file, Reading *text, FILE *out)
{
    Stats stats = {0};
    RemarkWriter writer;
    ReportTaker taker = {report, file};
    PipelineConfig config = report->options.pipeline;
    config.remark_taker = &(RemarkTaker){report_take_remark, &taker};
    remarks_init(&writer, NULL, &text->diag);
    writer.taker = config.remark_taker;
    for (u32 f = 0; f < text->module->functions.n; f++)
        if (text->module->functions.v[f]->entry)
            remark_start(&writer, text->module, text->module->functions.v[f]);
    remarks_free(&writer);
    PipelineResult result = pipeline_run(text->module, &config, &text->diag, NULL, stderr, &stats);
    stats_free(&stats);
    if (result != PIPELINE_OK)
        return false;
    PrintOptions print = {.reprint = report->options.pipeline.reprint, .file_time = report->options.pipeline.file_time};
    print_module(out, text->module, &print);
    return true;
}

/* The functions of the text as it came in; what became of them is not known yet. */
static void list_functions(Report *report, ReportFile *file, const Module *m)
{
    for (u32 f = 0; f < m->functions.n; f++) {
        const Function *fn = m->functions.v[f];
        if (fn->entry)
            vec_push(&file->kernels, ((ReportKernel){
                                         .name = arena_copy(&report->arena, fn->name->text, fn->name->len),
                                         .is_entry = fn->is_entry,
                                         .results = arena_array(&report->arena, ReportResult, report->runs.n),
                                     }));
    }
}

/* made: the module that the optimized text is read as; its functions have all of their text. */
static void compare_functions(Report *report, ReportFile *file, const Module *before, const Module *after,
                              const Module *made)
{
    for (u32 f = 0, k = 0; f < before->functions.n; f++) {
        const Function *old = before->functions.v[f], *new = after->functions.v[f];
        if (!old->entry)
            continue;
        ReportKernel *kernel = &file->kernels.v[k++];
        kernel->changed = new->changed;
        if (!new->changed || f >= made->functions.n)
            continue;
        kernel->graph[0] = describe_graph(report, old);
        kernel->graph[1] = describe_graph(report, made->functions.v[f]);
        mark_new(kernel->graph);
    }
}

/* Sets the file's functions and remarks, and writes the optimized text. */
static bool optimize_contents(Report *report, ReportFile *file, Str contents, Scratch *made)
{
    Reading before = {.module = NULL}, after = {.module = NULL}, again = {.module = NULL};
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    bool good = out && reading_init(&before, file->path, contents, parse_module, stderr) &&
                reading_init(&after, file->path, contents, parse_module, stderr);
    if (good)
        list_functions(report, file, before.module);
    good = good && optimize(report, file, &after, out);
    bool whole = out && !ferror(out);
    if (!out || fclose(out) != 0 || !whole) {
        fprintf(stderr, "ptxopt-report: error: out of memory over '%s'\n", file->path);
        good = false;
    }
    good = good && reading_init(&again, file->path, (Str){text, (u32)bytes}, parse_module, stderr);
    if (good) {
        compare_functions(report, file, before.module, after.module, again.module);
        good = scratch_open(made) && scratch_write(made, text, bytes);
    }
    reading_free(&before);
    reading_free(&after);
    reading_free(&again);
    free(text);
    return good;
}

/* ---- judging ------------------------------------------------------------------------------------------------------ */

/* Takes the times that `ptxas -v` tells: "Compiling entry function 'NAME' for 'sm_80'", and later "Compile time = 12.3 ms". */
static void take_times(ReportFile *file, u32 run, int side, const Trial *trial)
{
    static const char begins[] = "Compiling entry function '", took[] = "Compile time = ";
    size_t bytes = 0;
    char *said = trial->error.fd >= 0 ? scratch_read(&trial->error, &bytes) : NULL, *rest = said, *line;
    ReportKernel *kernel = NULL;
    while (rest && (line = strsep(&rest, "\n"))) {
        char *name = strstr(line, begins), *time = strstr(line, took);
        if (name) {
            name += sizeof begins - 1;
            name[strcspn(name, "'")] = '\0';
            kernel = report_kernel_named(file, name);
        } else if (time && kernel) {
            kernel->results[run].compile_ms[side] = strtod(time + sizeof took - 1, NULL);
        }
    }
    free(said);
}

/* Why there is no machine code, and the first line that ptxas said about it. */
static const char *with_message(Report *report, const Trial *trial, const char *trouble)
{
    static const char info[] = "ptxas info ";
    size_t bytes = 0;
    char *said = trial->error.fd >= 0 ? scratch_read(&trial->error, &bytes) : NULL, *line = said;
    while (line && strncmp(line, info, sizeof info - 1) == 0) {
        line = strchr(line, '\n');
        line += line != NULL;
    }
    if (line && *line)
        trouble = arena_printf(&report->arena, "%s: %.*s", trouble, (int)strcspn(line, "\n"), line);
    free(said);
    return trouble;
}

/* A remark, once, with what the first run spills. */
static void remark_spills(Report *report, ReportKernel *kernel, u64 bytes)
{
    static const char name[] = "Spilled";
    if (!bytes || (kernel->remarks.n && vec_last(&kernel->remarks).name == name))
        return;
    vec_push(&kernel->remarks,
             ((StoryRemark){REMARK_ANALYSIS, advice_pass, name, advice_of_spill(&report->arena, bytes, false), NULL, 0}));
}

static void judge_run(Report *report, ReportFile *file, u32 run, const Cubin *before, const Cubin *after)
{
    for (u32 k = 0; k < file->kernels.n; k++) {
        ReportResult *result = &file->kernels.v[k].results[run];
        Judgement *j = &result->judgement;
        result->known = worse_judge_function(j, before, after, file->kernels.v[k].name);
        result->verdict = !result->known      ? REPORT_SAME
                          : j->worse          ? REPORT_WORSE
                          : j->moved.unrolled ? REPORT_UNROLLED
                          : j->better         ? REPORT_BETTER
                                              : REPORT_SAME;
        if (result->known)
            remark_spills(report, &file->kernels.v[k], j->moved.spilled[1]);
    }
}

static bool group_is_worse(const ReportFile *file, u32 run, const Parts *parts, u32 group)
{
    bool worse = false;
    for (u32 i = 0; i < parts->part.n; i++) {
        const ReportKernel *kernel = report_kernel_named(file, parts->part.v[i].name);
        worse |= parts->part.v[i].group == group && kernel && kernel->results[run].verdict >= REPORT_WORSE;
    }
    return worse;
}

/* Takes back what the guard would leave alone: what is worse, with the functions that may call it or that it may call. */
static void revert_worse(const ReportFile *file, u32 run)
{
    Parts parts;
    bool good = parts_read(&parts, file->path);
    for (u32 i = 0; i < parts.part.n && good; i++) {
        ReportKernel *kernel = report_kernel_named(file, parts.part.v[i].name);
        if (kernel && kernel->changed && group_is_worse(file, run, &parts, parts.part.v[i].group))
            kernel->results[run].verdict = REPORT_REVERTED;
    }
    parts_free(&parts);
}

static void read_run(Report *report, ReportFile *file, u32 run, const Assembler *assembler, Trial *before, Trial *after)
{
    const char *trouble = trial_read(assembler, before, "original");
    if (trouble) {
        file->trouble[run] = with_message(report, before, trouble);
        return;
    }
    trouble = after ? trial_read(assembler, after, "optimized text") : NULL;
    if (trouble)
        file->trouble[run] = with_message(report, after, trouble);
    else
        judge_run(report, file, run, &before->cubin, after ? &after->cubin : &before->cubin);
    take_times(file, run, 0, before);
    take_times(file, run, 1, after ? after : before);
    if (!trouble && report->guards)
        revert_worse(file, run);
}

static void ask_for_times(Arena *arena, AssembleCommand *command)
{
    char **argv = arena_array(arena, char *, (u32)command->count + 2);
    memcpy(argv, command->argv, sizeof *argv * (u32)command->count);
    argv[command->count++] = arena_printf(arena, "-v");
    command->argv = argv;
}

/* A text that did not change is assembled once. */
static void assemble_file(Report *report, ReportFile *file, Scratch *made)
{
    u32 runs = report->runs.n, sides = 2, count = 0;
    Trial *trial = arena_array(&report->arena, Trial, 2 * runs), **trials = arena_array(&report->arena, Trial *, 2 * runs);
    if (text_equals_file(made, file->path))
        sides = 1;
    AssembleCommand *command = arena_array(&report->arena, AssembleCommand, runs);
    Assembler assembler = assembler_start(&report->arena, NULL, report->limit);
    assembler.jobs = report->jobs;
    assembler.name = arena_printf(&report->arena, "ptxopt-report: %s", file->path);
    for (u32 r = 0; r < runs; r++) {
        command[r] = assemble_call(&report->arena, report->runs.v[r].ptxas, report->runs.v[r].arch, file->path);
        file->arch[r] = command[r].argv[1] + strlen("-arch=");
        ask_for_times(&report->arena, &command[r]);
        for (u32 side = 0; side < sides; side++) {
            Trial *one = trials[count++] = &trial[2 * r + side];
            trial_init(one);
            one->command = &command[r];
            if (side)
                one->text = *made; /* all of them read the same file */
        }
    }
    if (assembler.folder)
        trials_assemble(&assembler, trials, count);
    for (u32 r = 0; r < runs; r++)
        read_run(report, file, r, &assembler, &trial[2 * r], sides == 2 ? &trial[2 * r + 1] : NULL);
    for (u32 i = 0; i < count; i++) {
        trials[i]->text.fd = -1;
        trial_end(trials[i]);
    }
    assembler_end(&assembler);
}

bool report_gather(Report *report, const char *path)
{
    Str contents;
    Scratch made = {.fd = -1};
    ReportFile file = {.path = path};
    if (!source_read(path, &contents)) {
        fprintf(stderr, "ptxopt-report: error: cannot read '%s': %s\n", path, strerror(errno));
        return false;
    }
    file.arch = arena_array(&report->arena, const char *, report->runs.n);
    file.trouble = arena_array(&report->arena, const char *, report->runs.n);
    bool good = optimize_contents(report, &file, contents, &made);
    if (good)
        assemble_file(report, &file, &made);
    vec_push(&report->files, file);
    scratch_close(&made);
    source_free(&contents);
    return good;
}

/* ---- what is asked of a report ------------------------------------------------------------------------------------- */

bool report_shows(const Report *report, const ReportKernel *kernel) { return report->all || kernel->changed; }

const char *report_verdict_name(ReportVerdict verdict)
{
    static const char *const names[] = {"same", "better", "unrolled", "allowed", "worse", "reverted"};
    return names[verdict];
}

char *report_run_name(Report *report, const ReportFile *file, u32 run)
{
    const ReportRun *r = &report->runs.v[run];
    const char *arch = r->arch ? r->arch : file ? file->arch[run] : "for the target of each file";
    return arena_printf(&report->arena, "ptxas %s %s", r->release, arch);
}

char *report_change(Report *report, unsigned long before, unsigned long after)
{
    return before == after ? arena_printf(&report->arena, "%lu", before)
                           : arena_printf(&report->arena, "%lu to %lu", before, after);
}

static void add_result(ReportSum *sum, const ReportResult *result, u32 *counted)
{
    const Moved *moved = &result->judgement.moved;
    bool reverted = result->verdict == REPORT_REVERTED, changed = result->judgement.changed && !reverted;
    sum->functions++;
    sum->changed += changed;
    sum->verdict[result->verdict]++;
    for (int side = 0; side < 2 && (reverted || !moved->unrolled); side++)
        sum->instructions[side] += moved->instructions[reverted ? 0 : side];
    if (changed && moved->cycles[0] > 0 && moved->cycles[1] > 0) {
        sum->cycles += log(moved->cycles[1] / moved->cycles[0]);
        ++*counted;
    }
}

ReportSum report_sum(const Report *report, u32 run)
{
    ReportSum sum = {0};
    u32 counted = 0;
    for (u32 f = 0; f < report->files.n; f++)
        for (u32 k = 0; k < report->files.v[f].kernels.n; k++)
            if (report->files.v[f].kernels.v[k].results[run].known)
                add_result(&sum, &report->files.v[f].kernels.v[k].results[run], &counted);
    sum.cycles = counted ? exp(sum.cycles / counted) : 1;
    return sum;
}
