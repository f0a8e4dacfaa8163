#include "pipeline/advice.h"

#include <string.h>

#include "base/arena.h"

const char advice_pass[] = "ptxas";

static const Span nowhere = {0, 0};

static void advise(RemarkWriter *writer, const char *name, const Function *fn, Span at, const char *message)
{
    remarks_write(writer, (Remark){REMARK_ANALYSIS, advice_pass, name, .message = message}, fn, at);
}

/* ---- what a function says ------------------------------------------------------------------------------------------ */

/* Under such a name ptxas 13.0 assembled 7 of 19 real files otherwise, 5 of them into more instructions. */
static void advise_on_name(RemarkWriter *writer, const Function *fn)
{
    if (fn->is_entry && strstr(fn->name->text, "cutlass"))
        advise(writer, "KernelName", fn, nowhere,
               "ptxas compiles a kernel otherwise, mostly for the worse, if its name contains 'cutlass': compare "
               "its machine code "
               "under another name");
}

static bool knows_block(const Function *fn) { return fn->tuning.block_shape[0] > 0; }

static void advise_on_block(RemarkWriter *writer, const Function *fn)
{
    if (fn->is_entry && !fn->untouchable.why && !knows_block(fn))
        advise(writer, "BlockSizeUnknown", fn, nowhere,
               "the block size is unknown: declare it with __launch_bounds__(THREADS) (.maxntid)");
}

static const Instr *find_setmaxnreg(const Function *fn)
{
    for_each_block(b, fn)
        for_each_instr(i, b)
            if (i->kind == INSTR_OP && i->op->opcode == OPC_SETMAXNREG)
                return i;
    return NULL;
}

/* ptxas has to know how many registers a kernel begins with. */
static void advise_on_setmaxnreg(RemarkWriter *writer, const Function *fn)
{
    bool counts = fn->tuning.most_registers.value || (fn->tuning.least_ctas.value && knows_block(fn));
    const Instr *at = fn->is_entry && !fn->untouchable.why && !counts ? find_setmaxnreg(fn) : NULL;
    if (at)
        advise(writer, "SetmaxnregIgnored", fn, at->text,
               knows_block(fn) ? "ptxas ignores setmaxnreg (C7508) unless it knows the registers that a thread begins "
                                 "with: add .minnctapersm 1, which is __launch_bounds__(THREADS, 1), or .maxnreg"
                               : "ptxas ignores setmaxnreg (C7508) unless it knows the registers that a thread begins "
                                 "with: add .maxntid and .minnctapersm 1, which is __launch_bounds__(THREADS, 1), or "
                                 ".maxnreg");
}

/* ---- what others found out ----------------------------------------------------------------------------------------- */

void advice_note_loop(UncountedLoops *loops, const char *remark, Span at)
{
    if (strcmp(remark, "LoopTestKept") != 0 && strcmp(remark, "StrideKept") != 0)
        return;
    if (loops->count++ == 0)
        loops->first = at;
}

static void advise_on_loops(RemarkWriter *writer, Arena *arena, const Function *fn, const UncountedLoops *loops)
{
    if (loops->count)
        advise(writer, "LoopNotCounted", fn, loops->first,
               arena_printf(
                   arena,
                   "ptxas cannot tell %s: compare a counter that steps by a constant with its bound, or unroll "
                   "by #pragma unroll N",
                   loops->count == 1
                       ? "the trip count of this loop, so it does not unroll it"
                       : arena_printf(arena, "the trip counts of %u loops, so it does not unroll them", loops->count)));
}

static void advise_on_spills(RemarkWriter *writer, Arena *arena, const PipelineConfig *config, const Function *fn)
{
    for (u32 k = 0; k < config->spills.n; k++)
        if (strcmp(config->spills.v[k].function, fn->name->text) == 0)
            advise(writer, "Spilled", fn, nowhere,
                   advice_of_spill(arena, config->spills.v[k].bytes, fn->tuning.least_ctas.value > 1));
}

char *advice_of_spill(Arena *arena, u64 bytes, bool many_ctas)
{
    return arena_printf(arena, "ptxas spills %llu bytes: %s", (unsigned long long)bytes,
                        many_ctas ? "a smaller .minnctapersm leaves a thread more registers"
                                  : "try .minnctapersm 1 beside .maxntid, which is __launch_bounds__(THREADS, 1), a larger "
                                    ".maxnreg, or smaller tiles");
}

void advice_on_function(RemarkWriter *writer, const PipelineConfig *config, const Function *fn, const UncountedLoops *loops)
{
    Arena arena = {0};
    advise_on_name(writer, fn);
    advise_on_block(writer, fn);
    advise_on_setmaxnreg(writer, fn);
    advise_on_loops(writer, &arena, fn, loops);
    advise_on_spills(writer, &arena, config, fn);
    arena_free(&arena);
}

/* ---- the module ----------------------------------------------------------------------------------------------------- */

static bool has_lines(const Module *m)
{
    for (u32 f = 0; f < m->functions.n; f++)
        for_each_block(b, m->functions.v[f])
            for_each_instr(i, b)
                if (i->kind == INSTR_LOC)
                    return true;
    return false;
}

/* Without a .loc directive, ptxas writes no sources into the cubin. */
void advice_on_module(RemarkWriter *writer, const PipelineConfig *config, const Module *m)
{
    if (m->undated_files.n && !config->file_time && has_lines(m))
        advise(writer, "SourceTime", NULL, m->undated_files.v[0],
               "ptxas up to 13.0 writes into the cubin when this source was last changed: --reproducible, or "
               "SOURCE_DATE_EPOCH in a "
               "build, gives it a time, so that the same sources make the same bytes");
}
