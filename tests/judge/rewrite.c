#include "rewrite.h"

#include <string.h>

enum { ADDED = -1, LONGEST_ARM = 64, ALWAYS = 7, PLAIN = 4, NOT = 1 << 15, LINKED_BY_BYTES = 90 };

const char *const rewrite_names[REWRITES] = {"drop", "swap", "invert", "arms", "split", "move", "rename", "boards"};

/* An instruction of the new code. */
typedef struct Line {
    int from;     /* the old one; ADDED: a jump */
    int target;   /* old instruction that it leads to; ADDED: none, or a function behind this one */
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

/* Functions inside the section stand behind the kernel. */
static bool leads_behind(const Unit *unit, const SassInstr *instr)
{
    return unit->count > 1 && instr->class == SASS_CALL && instr->target >= (int64_t)unit->function->end;
}

/* The cubin lists where tables lead, by offsets that a rewrite changes. */
static bool has_table(const SassCode *code)
{
    for (size_t i = 0; i < code->count; i++)
        if (code->instrs[i].class == SASS_BRX)
            return true;
    return false;
}

bool can_rewrite(const Unit *unit)
{
    const SassCode *code = &unit->code[0];
    if (!code->count || !sass_ends_block(&code->instrs[code->count - 1]))
        return false;
    for (size_t p = 0; p < unit->count; p++)
        if (has_table(&unit->code[p]) || (p && unit->parts[p]->begin < unit->function->end))
            return false;
    for (size_t i = 0; i < code->count; i++) {
        const SassInstr *instr = &code->instrs[i];
        if (instr->has_target && index_of(code, instr->target) == ADDED && !leads_behind(unit, instr))
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

static bool is_target(const SassCode *code, int at)
{
    for (size_t i = 0; i < code->count; i++)
        if (code->instrs[i].has_target && index_of(code, code->instrs[i].target) == at)
            return true;
    return false;
}

/* The first arm ends with a jump over the second one. Nobody falls into that but from itself. */
static bool swap_arms(Text *text, int at)
{
    const SassCode *code = text->code;
    int end, join;
    if (!skips_arm(code, at, &end) || !has_guard_alone(text, at))
        return false;
    const SassInstr *jump = &code->instrs[end - 1];
    join = jump->has_target ? index_of(code, jump->target) : ADDED;
    if (jump->class != SASS_BRA || jump->conditional || join <= end || join > end + LONGEST_ARM || is_target(code, end - 1))
        return false;
    add_range(text, 0, at + 1);
    text->lines[at].target = at + 1;
    text->lines[at].inverts = true;
    add_range(text, end, join);
    if (!sass_ends_block(&code->instrs[join - 1]))
        text->lines[text->count++] = (Line){ADDED, join, false};
    add_range(text, at + 1, end - 1);
    add_range(text, join, (int)code->count);
    return true;
}

/* Code that control neither falls into nor out of: from `from`, where it does not fall into, to what is returned. */
static int stretch_end(const SassCode *code, int from)
{
    while (from < (int)code->count && !sass_ends_block(&code->instrs[from]))
        from++;
    return from + 1;
}

static bool swap_stretches(Text *text, int at)
{
    const SassCode *code = text->code;
    int all = (int)code->count, middle = stretch_end(code, at);
    if (!at || !sass_ends_block(&code->instrs[at - 1]) || middle >= all)
        return false;
    int end = stretch_end(code, middle);
    add_range(text, 0, at);
    add_range(text, middle, end);
    add_range(text, at, middle);
    add_range(text, end, all);
    return true;
}

/* The last instruction ends a block, so that nobody reaches a jump behind it. */
static bool split(Text *text, int at)
{
    if (!is_inside(text->code, (size_t)at))
        return false;
    add_range(text, 0, (int)text->code->count);
    text->lines[text->count++] = (Line){ADDED, at, false};
    return true;
}

static bool drop(Text *text, int at)
{
    if (!is_inside(text->code, (size_t)at))
        return false;
    add_range(text, 0, at);
    add_range(text, at + 1, (int)text->code->count);
    return true;
}

static bool swap(Text *text, int at)
{
    if (!is_inside(text->code, (size_t)at) || !is_inside(text->code, (size_t)at + 1))
        return false;
    add_range(text, 0, at);
    add(text, at + 1);
    add(text, at);
    add_range(text, at + 2, (int)text->code->count);
    return true;
}

static bool put_together(Text *text, Rewrite kind, int at)
{
    switch (kind) {
    case DROP: return drop(text, at);
    case SWAP: return swap(text, at);
    case INVERT: return invert(text, at);
    case ARMS: return swap_arms(text, at);
    case SPLIT: return split(text, at);
    case MOVE: return swap_stretches(text, at);
    default: add_range(text, 0, (int)text->code->count); return true;
    }
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

/* Scoreboard b becomes the one that is as far from the last as it was from the first. */
static void rename_boards(uint64_t *high)
{
    enum { SCOREBOARDS = 6, RESULT = 46, OPERANDS = 49, WAITS = 52, BITS = 3 };
    uint64_t waits = 0;
    for (unsigned shift = RESULT; shift <= OPERANDS; shift += BITS)
        if ((*high >> shift & 7) < SCOREBOARDS)
            set_field(high, shift, BITS, SCOREBOARDS - 1 - (*high >> shift & 7));
    for (unsigned b = 0; b < SCOREBOARDS; b++)
        waits |= (*high >> (WAITS + b) & 1) << (SCOREBOARDS - 1 - b);
    set_field(high, WAITS, SCOREBOARDS, waits);
}

/* What is being written, and where each old instruction comes to stand. */
typedef struct Output {
    const Text *text;
    const Unit *unit;
    const int *place;
    Rewrite kind;
    int64_t longer; /* bytes by which functions behind this one move */
} Output;

/* Bytes from the end of new instruction `number` to where its line leads; false: nowhere. */
static bool distance_of(const Output *out, const Line *line, size_t number, int64_t *distance)
{
    const SassInstr *instr = line->from == ADDED ? NULL : &out->text->code->instrs[line->from];
    int64_t here = ((int64_t)number + 1) * SASS_BYTES;
    if (line->target != ADDED)
        *distance = (int64_t)out->place[line->target] * SASS_BYTES - here;
    else if (instr && instr->has_target)
        *distance = instr->target - out->unit->function->begin + out->longer - here;
    return line->target != ADDED || (instr && instr->has_target);
}

static void write_line(const Output *out, size_t number, uint8_t *to)
{
    static const uint64_t jump[2] = {0x7947, (uint64_t)ALWAYS << 23 | (uint64_t)5 << 41 | (uint64_t)077 << 46};
    const Line *line = &out->text->lines[number];
    const SassInstr *instr = line->from == ADDED ? NULL : &out->text->code->instrs[line->from];
    uint64_t word[2];
    int64_t distance;
    memcpy(word, instr ? (const void *)(out->text->bytes + instr->offset) : (const void *)jump, SASS_BYTES);
    if (line->inverts)
        word[0] ^= NOT;
    if (distance_of(out, line, number, &distance))
        set_distance(&word[0], &word[1], instr, distance, out->unit->sm);
    if (out->kind == RENAME && instr && !sass_is_control(instr) && instr->class != SASS_FENCE)
        rename_registers(&word[0], &word[1]);
    if (out->kind == BOARDS)
        rename_boards(&word[1]);
    memcpy(to, word, SASS_BYTES);
}

/* Copies the unit's functions, which have `bytes` for their section's code from the first one's begin on. */
static CubinFunction *copy_functions(Arena *arena, const Unit *unit, const uint8_t *bytes, int64_t longer)
{
    CubinFunction *functions = arena_array(arena, CubinFunction, unit->count);
    for (size_t p = 0; p < unit->count; p++) {
        functions[p] = *unit->parts[p];
        functions[p].code = bytes;
        functions[p].notes_spills = false;
        functions[p].begin = p ? (uint32_t)(unit->parts[p]->begin - unit->function->begin + longer) : 0;
        functions[p].end = (uint32_t)(unit->parts[p]->end - unit->function->begin + longer);
    }
    return functions;
}

CubinFunction *rewrite(Arena *arena, const Unit *unit, Rewrite kind, size_t at)
{
    const CubinFunction *function = unit->function;
    Text text = {.code = &unit->code[0], .bytes = function->code};
    uint32_t end = function->end;
    text.lines = arena_array(arena, Line, text.code->count + 2);
    if (!put_together(&text, kind, (int)at))
        return NULL;
    int *place = arena_array(arena, int, text.code->count + 1);
    for (size_t i = 0; i < text.code->count; i++)
        place[i] = ADDED;
    for (size_t n = 0; n < text.count; n++)
        if (text.lines[n].from != ADDED)
            place[text.lines[n].from] = (int)n;
    for (size_t p = 1; p < unit->count; p++)
        end = unit->parts[p]->end > end ? unit->parts[p]->end : end;
    size_t own = text.count * SASS_BYTES, behind = end - function->end;
    Output out = {&text, unit, place, kind, (int64_t)own - (function->end - function->begin)};
    uint8_t *bytes = arena_array(arena, uint8_t, own + behind);
    for (size_t n = 0; n < text.count; n++)
        write_line(&out, n, bytes + n * SASS_BYTES);
    memcpy(bytes + own, function->code + function->end, behind);
    return copy_functions(arena, unit, bytes, out.longer);
}
