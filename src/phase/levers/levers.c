/* levers: writes the directives and pragmas for ptxas that options ask for. --tune finds out which of them pay.
 *
 *     .visible .entry k(.param .u64 p)    .visible .entry k(.param .u64 p)
 *     .reqntid 128                        .reqntid 128
 *     {                                   .minnctapersm 1
 *     LOOP: ...                           {
 *                                         LOOP: .pragma "nounroll"; ...
 *
 * Sound: no instruction changes. The directives say how many registers ptxas may take, which loops it may unroll and where it
 * spills. A launch that was possible still is. A block of known size gets no more registers than a multiprocessor has. Existing
 * .maxnreg and .minnctapersm only become stricter. Only .maxntid forbids launches, and --block-size promises that there are none
 * of these.
 *
 * Pays: the judge of --tune decides for each kernel; docs/levers.md has results.
 *
 * Declines: whatever ptxas rejects or ignores: .minnctapersm if the block size is not known; shared memory for spills if there is
 * dynamic shared memory or a call. With setmaxnreg, a block must get the registers that its warps ask for. */
#define _GNU_SOURCE /* memmem */
#include <string.h>

#include "analysis/loop.h"
#include "ir/builder.h"
#include "ir/edit.h"
#include "ir/inspect.h"
#include "phase/phase.h"
#include "target/ptxas.h"

enum { WARP = 32, WARPGROUP = 128, REGISTERS = 65536, REGISTER_STEP = 8, SPILLS_SINCE_MAJOR = 8, SPILLS_SINCE_MINOR = 7 };

/* The threads of a block at most, in whole warps; 0: not known. */
static u64 threads_of(const Function *fn)
{
    u64 threads = block_extent(fn, 0);
    for (u32 d = 1; d < 3 && fn->tuning.shape_exact; d++)
        threads *= block_extent(fn, d);
    threads = threads ? threads : fn->tuning.most_threads.value;
    return (threads + WARP - 1) / WARP * WARP;
}

static bool decline(PhaseRun *run, const char *lever, const char *why)
{
    phase_missed(run, "LeverDeclined", NULL, "%s is left out: %s", lever, why);
    return false;
}

static bool set(Function *fn, PhaseRun *run, Directive *d, const char *name, u32 value)
{
    if (d->value == value || !phase_rewrite_at(run, "DirectiveSet", NULL, "%s is now %u", name, value))
        return false;
    edit_set_directive(fn, d, value);
    return true;
}

/* ---- setmaxnreg --------------------------------------------------------------------------------------------------- */

/* The largest numbers that setmaxnreg asks for. */
typedef struct Asked {
    bool any;
    u64 more, less; /* of .inc, of .dec */
} Asked;

static Asked find_setmaxnreg(const Function *fn)
{
    Asked asked = {0};
    for_each_block(b, fn)
        for_each_instr(i, b) {
            if (i->kind != INSTR_OP || i->op->opcode != OPC_SETMAXNREG)
                continue;
            const Operand *count = instr_operand(i, 0);
            u64 number = count && count->kind == OPND_IMM ? (u64)count->value : REGISTERS;
            u64 *most = strstr(i->op->text->text, ".inc") ? &asked.more : &asked.less;
            *most = number > *most ? number : *most;
            asked.any = true;
        }
    return asked;
}

/* Whether a block of its own on a multiprocessor has the registers for one warpgroup that gives some away and others that take more. Else
 * a warp would wait for ever once ptxas no longer ignores setmaxnreg. */
static bool has_room(const Function *fn, const Asked *asked)
{
    u64 threads = threads_of(fn), groups = threads / WARPGROUP;
    u64 each = threads ? REGISTERS / threads / REGISTER_STEP * REGISTER_STEP : 0;
    u64 least = asked->less ? asked->less : asked->more;
    return groups && threads % WARPGROUP == 0 && least + (groups - 1) * asked->more <= groups * each;
}

/* ---- registers ---------------------------------------------------------------------------------------------------- */

static bool limit_threads(Function *fn, const Knobs *knobs, PhaseRun *run)
{
    if (!knobs->max_threads || !knobs->block_size || fn->tuning.block_shape[0])
        return false;
    return set(fn, run, &fn->tuning.most_threads, ".maxntid", (u32)knobs->block_size);
}

static bool raise_ctas(Function *fn, const Knobs *knobs, PhaseRun *run)
{
    u64 ctas = (u64)knobs->min_ctas, threads = threads_of(fn);
    Asked asked = find_setmaxnreg(fn);
    if (!ctas || ctas <= fn->tuning.least_ctas.value)
        return false;
    if (!threads)
        return decline(run, ".minnctapersm", "ptxas ignores it unless .maxntid or .reqntid stands beside it");
    if (asked.any && !fn->tuning.shape_exact && !knobs->full_blocks)
        return decline(run, ".minnctapersm",
                       "setmaxnreg would count, and a launch may have fewer warps than .maxntid says "
                       "(--assume=full-blocks: none has)");
    if (asked.any && (ctas > 1 || !has_room(fn, &asked)))
        return decline(run, ".minnctapersm", "setmaxnreg would ask for more registers than there are");
    return set(fn, run, &fn->tuning.least_ctas, ".minnctapersm", (u32)ctas);
}

static bool limit_registers(Function *fn, const Knobs *knobs, PhaseRun *run)
{
    u64 most = (u64)knobs->max_registers, old = fn->tuning.most_registers.value, threads = threads_of(fn);
    if (!most || most == old)
        return false;
    if (find_setmaxnreg(fn).any)
        return decline(run, ".maxnreg", "setmaxnreg counts on the registers that the text names");
    if ((old && most > old) || most * threads > REGISTERS)
        return decline(run, ".maxnreg", "a block might not get so many registers");
    return set(fn, run, &fn->tuning.most_registers, ".maxnreg", (u32)most);
}

/* ---- spills ------------------------------------------------------------------------------------------------------- */

/* Whether the text shows that a launch may give the kernel shared memory beside its static one. */
static bool has_dynamic_shared(const Module *m)
{
    for (u32 s = 1; s < m->syms.n; s++)
        if (m->syms.v[s].space == SPACE_SHARED && m->syms.v[s].is_extern)
            return true;
    return memmem(m->text.p, m->text.len, "_smem_size", 10) != NULL;
}

static bool spill_to_shared(Function *fn, const Knobs *knobs, PhaseRun *run)
{
    const Module *m = fn->module;
    bool is_known = m->version_major > SPILLS_SINCE_MAJOR ||
                    (m->version_major == SPILLS_SINCE_MAJOR && m->version_minor >= SPILLS_SINCE_MINOR);
    if (!knobs->shared_spills || fn->tuning.spills_to_shared)
        return false;
    if (!is_known || m->target_sm < 75)
        return decline(run, "enable_smem_spilling", "ptxas knows it from .version 8.7 and sm_75 on");
    if (fn->has_calls || has_dynamic_shared(m) || find_setmaxnreg(fn).any)
        return decline(run, "enable_smem_spilling", "ptxas refuses it beside calls, dynamic shared memory and setmaxnreg");
    if (!phase_rewrite_at(run, "SpillsShared", NULL, "what ptxas spills goes to shared memory"))
        return false;
    edit_spill_to_shared(fn);
    return true;
}

/* ---- loops -------------------------------------------------------------------------------------------------------- */

static bool is_nounroll_alone(const Module *m, const Instr *i)
{
    static const char quoted[] = "\"nounroll\"";
    Str text = span_str(m, i->text);
    return i->kind == INSTR_PRAGMA && memchr(text.p, ',', text.len) == NULL &&
           memmem(text.p, text.len, quoted, sizeof quoted - 1) != NULL;
}

static bool unroll(PhaseRun *run, Block *header)
{
    bool changed = false;
    for (Instr *i = header->first, *next; i; i = next) {
        next = i->next;
        if (!is_nounroll_alone(header->fn->module, i) ||
            !phase_rewrite_at(run, "PragmaRemoved", i, "ptxas may unroll the loop"))
            continue;
        instr_remove(i);
        changed = true;
    }
    return changed;
}

static bool roll(PhaseRun *run, Block *header)
{
    if (!phase_rewrite(run, "PragmaAdded", header, "ptxas may not unroll the loop"))
        return false;
    build_nounroll(header);
    return true;
}

static bool is_among(i64 loops, u32 number) { return number < 31 && (loops >> number & 1) != 0; }

/* Numbers count in a text that no phase has changed. */
static bool set_pragmas(Analyses *an, const Knobs *knobs, PhaseRun *run)
{
    bool changed = false;
    u32 number = 0;
    if ((!knobs->rolled_loops && !knobs->unrolled_loops) || an->fn->changed)
        return false;
    an_freeze(an, AN_LOOPS);
    for_each_block(b, an->fn) {
        const Loop *loop = loop_headed_by(an_loops(an), b);
        if (!loop)
            continue;
        if (loop->nounroll && is_among(knobs->unrolled_loops, number))
            changed |= unroll(run, b);
        else if (!loop->nounroll && is_among(knobs->rolled_loops, number))
            changed |= roll(run, b);
        number++;
    }
    return changed;
}

Phase phase_levers;
PhaseResult phase_levers(Analyses *an, const Knobs *knobs, PhaseRun *run)
{
    Function *fn = an->fn;
    bool changed = set_pragmas(an, knobs, run);
    if (fn->is_entry) {
        changed |= limit_threads(fn, knobs, run);
        changed |= raise_ctas(fn, knobs, run);
        changed |= limit_registers(fn, knobs, run);
        changed |= spill_to_shared(fn, knobs, run);
    }
    return changed ? PHASE_CHANGED : PHASE_UNCHANGED;
}
