#include "judge/machine/uniform_counter.h"

#include <string.h>

#include "base/graph.h"

enum {
    REGISTERS = 256,
    WORDS = REGISTERS / 64,
    ZERO = 255,     /* URZ since sm_100, */
    ZERO_OLD = 63,  /* and before */
    ALWAYS = 7,     /* predicate PT */
    FORM_RRR = 1,   /* all sources are registers */
    FORM_RRU = 6,   /* the second source of an instruction of the vector unit is a uniform register, */
    FORM_RUR = 7,   /* or the third */
    SEARCHES = 4096 /* branches whose ways are searched */
};

/* Bits 0-8 of instructions of the uniform unit that write one of its registers; measured against nvdisasm. */
typedef enum UniformOp {
    UOP_MOV = 0x082,
    UOP_P2UR = 0x083,
    UOP_VOTE = 0x086,
    UOP_SEL = 0x087,
    UOP_IADD3 = 0x090,
    UOP_LEA = 0x091,
    UOP_LOP3 = 0x092,
    UOP_PRMT = 0x096,
    UOP_SHF = 0x099,
    UOP_SGXT = 0x09a,
    UOP_BMSK = 0x09b,
    UOP_IMAD = 0x0a4,
    UOP_IMAD_WIDE = 0x0a5,
    UOP_LDC = 0x0b9,
    UOP_FLO = 0x0bd,
    UOP_POPC = 0x0bf,
    UOP_LDCU = 0x1ac,
    UOP_R2UR = 0x1c2,
    UOP_S2UR = 0x1c3,
    UOP_REDUX = 0x1c4,
    UOP_SETP = 0x08c /* writes predicates */
} UniformOp;

typedef struct Registers {
    u64 word[WORDS];
} Registers;

static bool registers_have(const Registers *s, unsigned reg) { return s->word[reg / 64] >> reg % 64 & 1; }
static void registers_add(Registers *s, unsigned reg) { s->word[reg / 64] |= (u64)1 << reg % 64; }

/* The effect of one instruction on uniform registers. */
typedef struct Effect {
    Registers reads;
    unsigned writes; /* ZERO: none */
    bool kills;      /* nothing is left of what the register held */
    bool steps;      /* what it writes it reads */
} Effect;

typedef struct CounterBlock {
    Registers exposed, killed, live; /* read before a write; written for sure; live at its start */
    Registers stepped;
} CounterBlock;

typedef struct CounterSearch {
    const SassCode *code;
    Arena arena;
    CounterBlock *blocks;
    unsigned zero;
} CounterSearch;

static u64 word_at(const uint8_t *bytes)
{
    u64 value;
    memcpy(&value, bytes, sizeof value);
    return value;
}

static unsigned bits_of(u64 value, unsigned shift, unsigned count)
{
    return (unsigned)(value >> shift & ((1u << count) - 1));
}

static bool computes(unsigned op)
{
    return op == UOP_MOV || op == UOP_SEL || op == UOP_IADD3 || op == UOP_LEA || op == UOP_LOP3 || op == UOP_PRMT ||
           op == UOP_SHF || op == UOP_SGXT || op == UOP_BMSK || op == UOP_IMAD || op == UOP_IMAD_WIDE || op == UOP_FLO ||
           op == UOP_POPC;
}

static bool only_writes(unsigned op)
{
    return op == UOP_P2UR || op == UOP_VOTE || op == UOP_LDC || op == UOP_LDCU || op == UOP_R2UR || op == UOP_S2UR ||
           op == UOP_REDUX;
}

static void add_read(const CounterSearch *s, Effect *e, unsigned reg)
{
    if (reg != s->zero)
        registers_add(&e->reads, reg);
}

static Effect effect_of(const CounterSearch *s, const uint8_t *code)
{
    u64 low = word_at(code), high = word_at(code + 8);
    unsigned op = bits_of(low, 0, 9), form = bits_of(low, 9, 3);
    Effect e = {.writes = ZERO, .kills = bits_of(low, 12, 4) == ALWAYS};
    if (computes(op) || op == UOP_SETP) {
        if (op != UOP_MOV && op != UOP_FLO && op != UOP_POPC)
            add_read(s, &e, bits_of(low, 24, 8));
        if (form == FORM_RRR || form == FORM_RRU)
            add_read(s, &e, bits_of(low, 32, 8));
        if (op != UOP_SETP && op != UOP_MOV)
            add_read(s, &e, bits_of(high, 0, 8));
    } else if ((form == FORM_RRU || form == FORM_RUR) && !only_writes(op)) {
        add_read(s, &e, bits_of(low, 32, 8));
    }
    if ((computes(op) || only_writes(op)) && bits_of(low, 16, 8) != s->zero) {
        e.writes = bits_of(low, 16, 8);
        e.steps = computes(op) && registers_have(&e.reads, e.writes);
    }
    return e;
}

static void summarize(CounterSearch *s, const CubinFunction *function, int index)
{
    const SassBlock *block = &s->code->blocks[index];
    CounterBlock *of = &s->blocks[index];
    for (size_t i = block->first; i <= block->last; i++) {
        if (s->code->instrs[i].class == SASS_NOP)
            continue;
        Effect e = effect_of(s, function->code + s->code->instrs[i].offset);
        for (unsigned w = 0; w < WORDS; w++)
            of->exposed.word[w] |= e.reads.word[w] & ~of->killed.word[w];
        if (e.writes == ZERO)
            continue;
        if (e.kills)
            registers_add(&of->killed, e.writes);
        if (e.steps)
            registers_add(&of->stepped, e.writes);
    }
}

static void find_live(CounterSearch *s)
{
    for (bool changed = true; changed;) {
        changed = false;
        for (int i = s->code->reachable; i-- > 0;) {
            const SassBlock *block = &s->code->blocks[s->code->by_order[i]];
            CounterBlock *of = &s->blocks[s->code->by_order[i]];
            for (unsigned w = 0; w < WORDS; w++) {
                u64 live = 0;
                for (u32 e = 0; e < block->out.n; e++)
                    live |= s->blocks[block->out.v[e]].live.word[w];
                live = of->exposed.word[w] | (live & ~of->killed.word[w]);
                changed |= live != of->live.word[w];
                of->live.word[w] = live;
            }
        }
    }
}

/* ---- loops with several entries ---------------------------------------------------------------------------------- */

/* The strongly connected components that are left without the edges to a dominator: those of several blocks are loops with several
 * entries. Answers how many components there are. */
static u32 find_regions(CounterSearch *s, u32 *component)
{
    const SassCode *code = s->code;
    VecU32 from = {0}, to = {0};
    for (int i = 0; i < code->reachable; i++) {
        int b = code->by_order[i];
        const SassEdges *out = &code->blocks[b].out;
        for (u32 e = 0; e < out->n; e++)
            if (!sass_is_dominated(code, b, out->v[e])) {
                vec_push(&from, (u32)b);
                vec_push(&to, (u32)out->v[e]);
            }
    }
    Graph forward = graph_from_edges(&s->arena, (u32)code->block_count, from.v, to.v, from.n);
    vec_free(&from);
    vec_free(&to);
    return graph_components(&forward, component);
}

static int nearest_common_dominator(const SassCode *code, int a, int b)
{
    while (a != b)
        if (code->blocks[a].order > code->blocks[b].order)
            a = code->blocks[a].dominator;
        else
            b = code->blocks[b].dominator;
    return a;
}

/* Whether lanes may leave the block different ways: it ends in a branch by a predicate of each lane, or by an address. */
static bool divides(const CounterSearch *s, const CubinFunction *function, int block)
{
    const SassInstr *end = &s->code->instrs[s->code->blocks[block].last];
    if (end->class == SASS_BRX)
        return true;
    return end->class == SASS_BRA && !end->rare && bits_of(word_at(function->code + end->offset), 12, 3) != ALWAYS;
}

/* A loop with several entries. */
typedef struct Region {
    u32 blocks;
    int top;                    /* where its entries are decided */
    Registers stepped, entered; /* in it; live where it is entered */
} Region;

static void add_to_region(const CounterSearch *s, const u32 *component, Region *region, int b)
{
    const SassEdges *in = &s->code->blocks[b].in;
    bool is_entry = false;
    for (u32 e = 0; e < in->n; e++)
        is_entry |= component[in->v[e]] != component[b];
    region->top = region->blocks++ ? nearest_common_dominator(s->code, region->top, b) : b;
    for (unsigned w = 0; w < WORDS; w++) {
        region->stepped.word[w] |= s->blocks[b].stepped.word[w];
        if (is_entry)
            region->entered.word[w] |= s->blocks[b].live.word[w];
    }
}

static unsigned count_shared(CounterSearch *s, const CubinFunction *function)
{
    u32 *component = arena_array(&s->arena, u32, s->code->block_count), count = find_regions(s, component);
    Region *regions = arena_array(&s->arena, Region, count);
    unsigned shared = 0;
    for (int i = 0; i < s->code->reachable; i++)
        add_to_region(s, component, &regions[component[s->code->by_order[i]]], s->code->by_order[i]);
    for (u32 r = 0; r < count; r++) {
        const Region *region = &regions[r];
        for (unsigned w = 0; w < WORDS && region->blocks > 1 && divides(s, function, region->top); w++)
            shared += (unsigned)__builtin_popcountll(region->stepped.word[w] & region->entered.word[w]);
    }
    return shared;
}

unsigned sass_uniform_counters(const SassCode *code, const CubinFunction *function, unsigned sm)
{
    CounterSearch s = {.code = code, .zero = sm >= 100 ? ZERO : ZERO_OLD};
    unsigned count = 0;
    u64 any = 0;
    if (!code->irreducible)
        return 0;
    s.blocks = arena_array(&s.arena, CounterBlock, code->block_count);
    for (int b = 0; b < code->block_count; b++) {
        summarize(&s, function, b);
        for (unsigned w = 0; w < WORDS; w++)
            any |= s.blocks[b].stepped.word[w];
    }
    if (any) {
        find_live(&s);
        count = count_shared(&s, function);
    }
    arena_free(&s.arena);
    return count;
}
