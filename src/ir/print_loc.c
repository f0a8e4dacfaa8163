/* `.loc 1 7 3, function_name f, inlined_at 1 55 17` needs a `.loc 1 55 17` somewhere before it, or ptxas refuses the file.
 * Where a phase moved or removed that one, the printer repeats it. */
#define _GNU_SOURCE /* memmem */
#include "ir/printer.h"

static const char INLINED_AT[] = "inlined_at";

static bool is_blank(char c) { return c == ' ' || c == '\t'; }

/* File, line and column from `at` on, as one number; 0: they are not there. */
static u64 position_key(const char *at, const char *end)
{
    u64 key = 0;
    for (u32 field = 0; field < 3; field++) {
        u64 number = 0;
        while (at < end && is_blank(*at))
            at++;
        if (at >= end || *at < '0' || *at > '9')
            return 0;
        for (; at < end && *at >= '0' && *at <= '9'; at++)
            number = number * 10 + (u64)(*at - '0');
        key = key << 21 ^ number;
    }
    return key;
}

static u64 loc_key(Str text, Span loc) { return position_key(text.p + loc.beg + sizeof ".loc" - 1, text.p + loc.end); }

/* The directive that starts at `beg`, up to the end of its line or a comment. */
static Span loc_at(Str text, u32 beg)
{
    u32 end = beg;
    while (end < text.len && text.p[end] != '\n' && text.p[end] != '\r' && text.p[end] != '/' && text.p[end] != ';')
        end++;
    while (end > beg && is_blank(text.p[end - 1]))
        end--;
    return (Span){beg, end};
}

/* Whether some .loc may be printed. */
static bool has_locs(const Function *fn)
{
    for_each_block(b, fn) {
        if (b->loc)
            return true;
        for_each_instr(i, b)
            if (i->kind == INSTR_LOC)
                return true;
    }
    return false;
}

void locs_begin(LocsPrinted *locs, const Function *fn)
{
    Str text = fn->module->text;
    const char *at = text.p + fn->open.end, *end = text.p + fn->close.beg;
    *locs = (LocsPrinted){0};
    if (!fn->changed || !has_locs(fn) || !memmem(at, (size_t)(end - at), INLINED_AT, sizeof INLINED_AT - 1))
        return;
    for (; (at = memmem(at, (size_t)(end - at), ".loc", 4)) != NULL; at += 4) {
        u32 beg = (u32)(at - text.p);
        u64 key = loc_key(text, loc_at(text, beg)), *place = key ? fnvmap_at(&locs->place, key) : NULL;
        if (place && !*place)
            *place = beg;
    }
}

void locs_end(LocsPrinted *locs) { fnvmap_free(&locs->place); }

bool locs_parent_missing(LocsPrinted *locs, Str text, Span loc, Span *parent)
{
    u64 *own = locs->place.count ? fnvmap_find(&locs->place, loc_key(text, loc)) : NULL;
    if (own)
        *own = LOC_PRINTED;
    const char *end = text.p + loc.end;
    const char *at = own ? memmem(text.p + loc.beg, loc.end - loc.beg, INLINED_AT, sizeof INLINED_AT - 1) : NULL;
    if (!at)
        return false;
    const u64 *place = fnvmap_find(&locs->place, position_key(at + sizeof INLINED_AT - 1, end));
    if (!place || *place == LOC_PRINTED)
        return false;
    *parent = loc_at(text, (u32)*place);
    return true;
}
