#include "phase/loops/worth.h"

#include <string.h>

#include "base/fnvmap.h"
#include "ir/inspect.h"
#include "target/ptxas.h"

/* An iteration, in numbers. */
typedef struct Iteration {
    u32 body, stores;
    u32 loads;  /* of addresses that no other load of the iteration brings */
    u32 ahead;  /* loads that ptxas may move in front of the stores: no store writes to their state space */
    u32 loaded; /* 32-bit registers that the loads write */
    bool is_long, stores_apart;
    FnvMap loaded_by; /* by register: whether a load of the iteration decides its value */
} Iteration;

static u8 written_spaces(Analyses *an, const LoopBody *c)
{
    u8 spaces = 0;
    for (u32 k = 0; k < c->blocks; k++)
        for_each_instr(i, c->block[k])
            if (i->kind == INSTR_OP)
                spaces |= instr_effects(i, an->summaries).writes;
    return spaces;
}

static void count_access(Analyses *an, const Loop *loop, Iteration *it, const Instr *i, u8 written, bool follows)
{
    bool writes = i->op->mem != MEM_READ, reads = i->op->mem != MEM_WRITE;
    it->stores += writes;
    it->stores_apart |= writes && !dominates(an_dom(an), i->block, loop->latches[0]);
    it->loads += reads && !follows;
    it->ahead +=
        reads && !follows && (!(instr_effects(i, an->summaries).reads & written) || strstr(i->op->text->text, ".nc"));
    for (RegWalk w = reg_walk(i); next_write(&w);)
        it->loaded += ptxas_registers(an->fn, w.reg);
}

/* Whether a load of the iteration decides what i reads; notes what follows of that for what it writes. */
static bool follows_load(Iteration *it, const Instr *i)
{
    bool follows = false;
    for (RegWalk w = reg_walk(i); next_read(&w);)
        follows |= fnvmap_find(&it->loaded_by, w.reg) != NULL;
    for (RegWalk w = reg_walk(i); next_write(&w);)
        if (follows || i->op->mem == MEM_READ)
            *fnvmap_at(&it->loaded_by, w.reg) = 1;
    return follows;
}

static Iteration iteration_of(Analyses *an, const Loop *loop, const LoopBody *c)
{
    Iteration it = {0};
    u8 written = written_spaces(an, c);
    for (u32 k = 0; k < c->blocks; k++)
        for_each_instr(i, c->block[k]) {
            if (i->kind != INSTR_OP || op_has(i->op, OPF_TERMINATOR))
                continue;
            u32 cost = ptxas_cost(i);
            it.body += cost;
            it.is_long |= cost >= PTXAS_UNROLLED_LONG;
            bool follows = follows_load(&it, i);
            if (i->op->mem != MEM_NONE)
                count_access(an, loop, &it, i, written, follows);
        }
    fnvmap_free(&it.loaded_by);
    return it;
}

/* Whether the copies may take warps. That takes two things. An iteration alone needs more registers than those that cost
 * none, and the loads of the others take a step of them. */
static bool crowds(Analyses *an, const LoopBody *c, const Iteration *it, u32 times)
{
    u32 words = 0;
    for (u32 k = 0; k < c->blocks; k++) {
        u32 own = live_words(an_live(an), c->block[k], PTXAS_FREE_REGISTERS);
        words = own > words ? own : words;
    }
    return words + it->loaded > PTXAS_FREE_REGISTERS && (times - 1) * it->loaded >= PTXAS_REGISTER_STEP;
}

const char *loop_copies_cost(Analyses *an, const Loop *loop, const LoopBody *c, u32 times)
{
    Iteration it = iteration_of(an, loop, c);
    if (it.loads * PTXAS_UNROLLED_LOADED < it.body)
        return "it computes more than it loads";
    if (!it.ahead && it.loads <= it.stores)
        return "its stores keep the loads of the next iteration waiting";
    if (it.is_long)
        return "it holds an instruction that takes as long as a load";
    if (it.stores_apart)
        return "it stores in a branch";
    return crowds(an, c, &it, times) ? "the copies would keep too many registers" : NULL;
}
