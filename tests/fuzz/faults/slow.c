/* Rewrites that keep what a kernel computes and make its machine code worse: what --guard has to turn back. */
#include <string.h>

#include "ir/builder.h"
#include "ir/inspect.h"
#include "phase/phase.h"

enum { NO_OPERAND = -1 };

/* Of each opcode that begins with `from`: either `to` takes the place of that beginning, or `to` is put before it, with a number as
 * its operand. */
typedef struct Slow {
    const char *from, *to;
    bool inserts;
    i64 operand;
} Slow;

static const OpInfo *decode(const Analyses *an, const char *text)
{
    return isa_decode(an->fn->module->isa, text, (u32)strlen(text));
}

static void insert(const Analyses *an, Instr *before, const Slow *slow)
{
    Builder at = build_before(before);
    Operand number = build_integer((u64)slow->operand, 32, false);
    Instr *new = build(&at, OPC_RET, (OpParts){0}, &number, slow->operand != NO_OPERAND);
    instr_set_op(new, decode(an, slow->to));
}

static PhaseResult rewrite(Analyses *an, PhaseRun *run, const Slow *slow)
{
    bool changed = false;
    size_t len = strlen(slow->from);
    for_each_block(b, an->fn)
        for_each_instr(i, b) {
            if (i->kind != INSTR_OP || strncmp(i->op->text->text, slow->from, len) != 0 || run->iteration > 0 ||
                !run->first_round || !phase_may_rewrite(run))
                continue;
            if (slow->inserts)
                insert(an, i, slow);
            else
                instr_set_op(i, decode(an, arena_printf(an->scratch, "%s%s", slow->to, i->op->text->text + len)));
            changed = true;
        }
    return changed ? PHASE_CHANGED : PHASE_UNCHANGED;
}

#define REPLACE(name, from, to)                                              \
    Phase slow_##name;                                                       \
    PhaseResult slow_##name(Analyses *an, const Knobs *knobs, PhaseRun *run) \
    {                                                                        \
        return rewrite(an, run, &(Slow){from, to, false, NO_OPERAND});       \
    }
#define INSERT(name, before, what, operand)                                  \
    Phase slow_##name;                                                       \
    PhaseResult slow_##name(Analyses *an, const Knobs *knobs, PhaseRun *run) \
    {                                                                        \
        return rewrite(an, run, &(Slow){before, what, true, operand});       \
    }

REPLACE(load, "ld.global.", "ld.volatile.global.")
REPLACE(shared, "ld.shared.", "ld.volatile.shared.")
REPLACE(division, "div.approx.", "div.rn.")
REPLACE(root, "sqrt.approx.", "sqrt.rn.")
REPLACE(contraction, "add.f32", "add.rn.f32")
REPLACE(denormals, "ex2.approx.ftz.", "ex2.approx.")
INSERT(fence, "st.global.", "membar.gl", NO_OPERAND)
INSERT(order, "st.global.", "fence.sc.cta", NO_OPERAND)
INSERT(sleep, "st.global.", "nanosleep.u32", 20)
INSERT(barrier, "bar.sync", "bar.sync", 0)
INSERT(number, "bar.sync", "bar.sync", 15)
