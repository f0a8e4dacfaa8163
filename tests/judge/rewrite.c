#include "rewrite.h"

#include <string.h>

enum { ADDED = -1, LONGEST_ARM = 64, ALWAYS = 7, PLAIN = 4, NOT = 1 << 15, LINKED_BY_BYTES = 90 };

const char *const rewrite_names[REWRITES] = {"drop", "swap", "invert", "rename"};

/* An instruction of the new code. */
typedef struct Line {
    int from;     /* the old one; ADDED: a jump */
    int target;   /* old instruction that it leads to; ADDED: none */
    bool inverts; /* its guard is negated */
} Line;

typedef struct Text {
    const SassCode *code;
    const uint8_t *bytes;
    Line *lines;
    size_t count;
} Text;

static int index_of(const SassCode *code, int64_t offset)
{
    int64_t index = (offset - code->instrs[0].offset) / SASS_BYTES;
    return index < 0 || index >= (int64_t)code->count ? ADDED : (int)index;
}

bool can_rewrite(const Unit *unit)
{
    const SassCode *code = &unit->code[0];
    if (unit->count != 1 || !code->count || !sass_ends_block(&code->instrs[code->count - 1]))
        return false;
    for (size_t i = 0; i < code->count; i++) {
        const SassInstr *instr = &code->instrs[i];
        if (instr->class == SASS_BRX || (instr->has_target && index_of(code, instr->target) == ADDED))
            return false;
    }
    return true;
}

static void add(Text *text, int from)
{
    const SassInstr *instr = &text->code->instrs[from];
    text->lines[text->count++] = (Line){from, instr->has_target ? index_of(text->code, instr->target) : ADDED, false};
}

static void add_range(Text *text, int from, int end)
{
    for (int i = from; i < end; i++)
        add(text, i);
}

/* The instruction may change places: it is in the middle of a block, and directs nothing. */
static bool is_inside(const SassCode *code, size_t at)
{
    for (int b = 0; b < code->block_count; b++)
        if (code->blocks[b].first == at)
            return false;
    return at < code->count && !sass_is_control(&code->instrs[at]);
}

/* A branch over an arm that nobody else enters. */
static bool skips_arm(const SassCode *code, int at, int *end)
{
    const SassInstr *branch = &code->instrs[at];
    *end = branch->has_target ? index_of(code, branch->target) : ADDED;
    if (branch->class != SASS_BRA || !branch->conditional || branch->rare || *end <= at + 1 || *end > at + LONGEST_ARM)
        return false;
    for (size_t i = 0; i < code->count; i++) {
        int target = code->instrs[i].has_target ? index_of(code, code->instrs[i].target) : ADDED;
        if (target > at && target < *end && ((int)i <= at || (int)i >= *end))
            return false;
    }
    return true;
}

/* Its guard alone says whether the branch is taken. */
static bool has_guard_alone(const Text *text, int at)
{
    uint64_t word[2];
    memcpy(word, text->bytes + text->code->instrs[at].offset, SASS_BYTES);
    return (word[0] >> 12 & 7) != ALWAYS && (word[1] >> 23 & 15) == ALWAYS && (word[0] >> 9 & 7) == PLAIN;
}

static bool invert(Text *text, int at)
{
    int end;
    if (!skips_arm(text->code, at, &end) || !has_guard_alone(text, at))
        return false;
    add_range(text, 0, at + 1);
    text->lines[at].target = at + 1;
    text->lines[at].inverts = true;
    add_range(text, end, (int)text->code->count);
    add_range(text, at + 1, end);
    if (!sass_ends_block(&text->code->instrs[end - 1]))
        text->lines[text->count++] = (Line){ADDED, end, false};
    return true;
}

static bool put_together(Text *text, Rewrite kind, size_t at)
{
    const SassCode *code = text->code;
    int here = (int)at, all = (int)code->count;
    if (kind == INVERT)
        return invert(text, here);
    if (kind != RENAME && (!is_inside(code, at) || (kind == SWAP && !is_inside(code, at + 1))))
        return false;
    add_range(text, 0, kind == RENAME ? all : here);
    if (kind == SWAP) {
        add(text, here + 1);
        add(text, here);
    }
    if (kind != RENAME)
        add_range(text, here + (kind == SWAP ? 2 : 1), all);
    return true;
}

/* ---- bytes -------------------------------------------------------------------------------------------------------- */

static void set_field(uint64_t *word, unsigned shift, unsigned bits, uint64_t value)
{
    uint64_t mask = (((uint64_t)1 << bits) - 1) << shift;
    *word = (*word & ~mask) | (value << shift & mask);
}

static void set_distance(uint64_t *low, uint64_t *high, const SassInstr *instr, int64_t distance, unsigned sm)
{
    int64_t words = distance / 4;
    if (instr && instr->class == SASS_BSSY) {
        set_field(low, 34, 30, (uint64_t)words);
        return;
    }
    if (sm >= LINKED_BY_BYTES) {
        set_field(low, 16, 8, (uint64_t)words);
        words >>= 8;
    }
    set_field(low, 34, 30, (uint64_t)words);
    set_field(high, 0, 18, (uint64_t)(words >> 30));
}

/* Every register becomes its neighbour. */
static void rename_registers(uint64_t *low, uint64_t *high)
{
    enum { LAST = 253 };
    for (unsigned shift = 16; shift <= 24; shift += 8)
        if ((*low >> shift & 255) <= LAST)
            *low ^= (uint64_t)1 << shift;
    if ((*high & 255) <= LAST)
        *high ^= 1;
}

static void write_line(const Text *text, const CubinFunction *function, size_t number, const int *place, unsigned sm,
                       bool renames, uint8_t *out)
{
    static const uint64_t jump[2] = {0x7947, (uint64_t)ALWAYS << 23 | (uint64_t)5 << 41 | (uint64_t)077 << 46};
    const Line *line = &text->lines[number];
    const SassInstr *instr = line->from == ADDED ? NULL : &text->code->instrs[line->from];
    uint64_t word[2];
    memcpy(word, instr ? (const void *)(function->code + instr->offset) : (const void *)jump, SASS_BYTES);
    if (line->inverts)
        word[0] ^= NOT;
    if (line->target != ADDED)
        set_distance(&word[0], &word[1], instr, ((int64_t)place[line->target] - (int64_t)number - 1) * SASS_BYTES, sm);
    if (renames && instr && !sass_is_control(instr) && instr->class != SASS_FENCE)
        rename_registers(&word[0], &word[1]);
    memcpy(out, word, SASS_BYTES);
}

const CubinFunction *rewrite(Arena *arena, const Unit *unit, Rewrite kind, size_t at)
{
    Text text = {.code = &unit->code[0], .bytes = unit->function->code};
    text.lines = arena_array(arena, Line, text.code->count + 2);
    if (!put_together(&text, kind, at))
        return NULL;
    int *place = arena_array(arena, int, text.code->count + 1);
    for (size_t i = 0; i < text.code->count; i++)
        place[i] = ADDED;
    for (size_t n = 0; n < text.count; n++)
        if (text.lines[n].from != ADDED)
            place[text.lines[n].from] = (int)n;
    CubinFunction *function = arena_array(arena, CubinFunction, 1);
    uint8_t *bytes = arena_array(arena, uint8_t, text.count * SASS_BYTES);
    for (size_t n = 0; n < text.count; n++)
        write_line(&text, unit->function, n, place, unit->sm, kind == RENAME, bytes + n * SASS_BYTES);
    *function = *unit->function;
    function->code = bytes;
    function->begin = 0;
    function->end = (uint32_t)(text.count * SASS_BYTES);
    function->notes_spills = false;
    return function;
}
