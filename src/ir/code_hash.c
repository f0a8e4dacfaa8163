#include "ir/code_hash.h"

#include "base/fnvmap.h"
#include "base/index.h"
#include "ir/cfg.h"
#include "ir/inspect.h"

/* What is known about a block, by Block.id. */
typedef struct CodeBlock {
    const Block
        *end;     /* the block that control reaches through it: itself, or one after empty blocks; NULL: not computed yet */
    u32 in_edges; /* edges into a block that is not empty, from reached blocks */
    u32 number;   /* in the order in which the code is hashed, from 1 */
    bool reached;
    bool is_visited; /* by the walk under way */
    bool continues;  /* only one block leads to it, and leads only there */
} CodeBlock;

typedef struct CodeHash {
    const Function *fn;
    CodeBlock *block;
    VEC(const Block *) work;
    u32 numbers;
    u64 hash;
} CodeHash;

static CodeBlock *code_block(const CodeHash *h, const Block *b) { return &h->block[b->id]; }

static bool does_nothing(const Block *b) { return block_is_empty(b) && b->fall && !block_is_pinned(b); }

/* The block that control reaches from b through empty blocks. A cycle of these ends at the block where it closes. */
static const Block *end_of(const CodeHash *h, const Block *b)
{
    const Block *end = b;
    for (; !code_block(h, end)->end && does_nothing(end) && !code_block(h, end)->is_visited; end = end->fall)
        code_block(h, end)->is_visited = true;
    if (code_block(h, end)->end)
        end = code_block(h, end)->end;
    for (const Block *at = b; at != end && !code_block(h, at)->end; at = at->fall)
        code_block(h, at)->end = end;
    code_block(h, end)->end = end;
    return end;
}

static void reach(CodeHash *h, const Block *b)
{
    if (code_block(h, b)->reached)
        return;
    code_block(h, b)->reached = true;
    vec_push(&h->work, b);
}

static void find_edges(CodeHash *h)
{
    const Block *entry = end_of(h, h->fn->entry);
    code_block(h, entry)->in_edges++;
    reach(h, entry);
    for_each_block(b, h->fn)
        if (block_is_pinned(b))
            reach(h, b);
    while (h->work.n) {
        const Block *b = vec_pop(&h->work);
        for (u32 k = 0; k < block_edge_count(b); k++) {
            const Block *to = end_of(h, block_edge_target(b, k));
            code_block(h, to)->in_edges++;
            reach(h, to);
        }
    }
}

/* The block that continues b as one piece of code, or NULL. */
static const Block *continuation(const CodeHash *h, const Block *b)
{
    if (block_terminator(b) || !b->fall)
        return NULL;
    const Block *next = end_of(h, b->fall);
    bool joins = code_block(h, next)->in_edges == 1 && next != b && !block_is_pinned(next) && !block_has_pragma(next);
    return joins ? next : NULL;
}

/* Visits the blocks in the order in which they are hashed. */
static void for_each_chain(CodeHash *h, void visit(CodeHash *h, const Block *b))
{
    for_each_block(b, h->fn)
        if (code_block(h, b)->reached && !code_block(h, b)->continues)
            for (const Block *at = b; at; at = continuation(h, at))
                visit(h, at);
}

static void mark_continuation(CodeHash *h)
{
    for_each_block(b, h->fn) {
        const Block *next = code_block(h, b)->reached ? continuation(h, b) : NULL;
        if (next)
            code_block(h, next)->continues = true;
    }
}

static void number(CodeHash *h, const Block *b)
{
    if (!code_block(h, b)->continues)
        code_block(h, b)->number = ++h->numbers;
}

static void add(CodeHash *h, u64 value) { h->hash = hash_mix(h->hash, value); }

static void add_operand(CodeHash *h, const Operand *o)
{
    bool is_block = o->kind == OPND_LABEL || o->kind == OPND_TABLE; /* the edges are hashed instead */
    u64 what = (u64)(is_block ? 0 : o->id) << 32 | (u64)o->kind << 16 | (u64)o->flags << 8 | o->sub;
    add(h, what + (is_block ? 0 : (u64)o->value * FNV_PRIME));
}

static void add_instr(CodeHash *h, const Instr *i)
{
    if (i->kind == INSTR_PRAGMA) {
        Str text = span_str(h->fn->module, i->text);
        h->hash = fnv_bytes(h->hash, text.p, text.len);
    }
    if (i->kind != INSTR_OP)
        return;
    add(h, (u64)(uintptr_t)i->op);
    add(h, (u64)i->guard << 1 | i->guard_not);
    for_each_slot(o, i)
        add_operand(h, o);
}

static void add_block(CodeHash *h, const Block *b)
{
    if (!code_block(h, b)->continues)
        add(h, code_block(h, b)->number);
    for_each_instr(i, b)
        add_instr(h, i);
    if (continuation(h, b))
        return;
    for (u32 k = 0; k < block_edge_count(b); k++)
        add(h, code_block(h, end_of(h, block_edge_target(b, k)))->number);
    add(h, b->falls_off);
}

static u64 hash_of(CodeHash *h)
{
    const Tuning *tuning = &h->fn->tuning;
    mark_continuation(h);
    add(h, tuning->spills_to_shared);
    add(h, tuning->most_threads.value);
    add(h, (u64)tuning->least_ctas.value << 32 | tuning->most_registers.value);
    for_each_chain(h, number);
    for_each_chain(h, add_block);
    return h->hash;
}

/* The number of instructions in blocks that are reached. */
static u32 count_of(const CodeHash *h)
{
    u32 count = 0;
    for_each_block(b, h->fn)
        for (const Instr *i = code_block(h, b)->reached ? b->first : NULL; i; i = i->next)
            count += i->kind == INSTR_OP;
    return count;
}

static CodeHash start(const Function *fn)
{
    CodeHash h = {.fn = fn, .block = mem_zalloc(fn->blocks.n * sizeof *h.block), .hash = FNV_BASIS};
    find_edges(&h);
    return h;
}

static void end(CodeHash *h)
{
    vec_free(&h->work);
    mem_free(h->block);
}

void code_remember(Function *fn)
{
    if (fn->changed || fn->edits.parsed_code)
        return;
    CodeHash h = start(fn);
    fn->edits.parsed_count = count_of(&h);
    fn->edits.parsed_code = hash_of(&h);
    end(&h);
}

bool code_is_as_parsed(const Function *fn)
{
    CodeHash h = start(fn);
    bool same = count_of(&h) == fn->edits.parsed_count && hash_of(&h) == fn->edits.parsed_code;
    end(&h);
    return same;
}
