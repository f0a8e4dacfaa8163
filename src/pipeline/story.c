#include "pipeline/story.h"

#include <string.h>

StoryRemark story_keep(Arena *arena, const Remark *remark)
{
    const char *slash = remark->source ? strrchr(remark->source, '/') : NULL, *source = slash ? slash + 1 : remark->source;
    return (StoryRemark){.kind = remark->kind,
                         .pass = arena_copy(arena, remark->pass, strlen(remark->pass)),
                         .name = arena_copy(arena, remark->name, strlen(remark->name)),
                         .message = arena_copy(arena, remark->message, strlen(remark->message)),
                         .source = source ? arena_copy(arena, source, strlen(source)) : NULL,
                         .line = remark->line};
}

typedef struct RemarkWords {
    const char *name, *one, *many;
} RemarkWords;

static const RemarkWords words[] = {
#define WORDS(name, one, many) {name, one, many},
#include "pipeline/story_words.def"
};

static const RemarkWords *words_of(const char *name)
{
    for (u32 i = 0; i < COUNT_OF(words); i++)
        if (strcmp(words[i].name, name) == 0)
            return &words[i];
    return NULL;
}

/* Parts with semicolons between them. */
typedef struct Story {
    Arena *arena;
    const VecStoryRemark *remarks;
    char *text;
} Story;

static Story begin(Arena *arena, const VecStoryRemark *remarks)
{
    return (Story){arena, remarks, arena_printf(arena, "%s", "")};
}

#define tell(story, ...) ((story)->text = arena_append((story)->arena, (story)->text, "; ", __VA_ARGS__))

/* Where it is: in the source, else in the PTX. Columns are left out. */
static const char *place_of(Arena *arena, const StoryRemark *remark)
{
    if (!remark->source)
        return arena_printf(arena, "line %u", remark->line);
    const char *colon = strchr(remark->source, ':');
    size_t len = colon ? (size_t)(colon - remark->source) + 1 + strcspn(colon + 1, ":") : strlen(remark->source);
    return arena_copy(arena, remark->source, len);
}

enum { PLACES = 3 /* the most places that are told one by one */ };

static bool is_switch(const StoryRemark *remark)
{
    return remark->kind == REMARK_PASSED && strncmp(remark->name, "Switch", 6) == 0;
}

static void tell_switch(Story *story, const StoryRemark *remark)
{
    unsigned cases, branches, before, tables, entries, after;
    const char *place = place_of(story->arena, remark);
    if (sscanf(remark->message,
               "%u cases in %u branches, %u on the longest path: now %u jump %*[a-z] of %u entries in all, %u", &cases,
               &branches, &before, &tables, &entries, &after) == 6)
        tell(story, "switch of %u cases at %s: longest path %u branches to %u, %s", cases, place, before, after,
             tables ? "by a jump table" : "by a binary search");
    else
        tell(story, "switch at %s: %s", place, remark->message);
}

/* Whether the remark tells of a loop that runs without bounds checks where a test in front of it decides them. */
static bool is_version(const StoryRemark *remark)
{
    return remark->kind == REMARK_PASSED && strcmp(remark->name, "LoopVersioned") == 0;
}

/* Tells of the first loops one by one, and of the others together. */
static void tell_versions(Story *story)
{
    unsigned gone, all, gone_later = 0, all_later = 0;
    u32 loops = 0;
    for (u32 i = 0; i < story->remarks->n; i++) {
        const StoryRemark *remark = &story->remarks->v[i];
        if (!is_version(remark) || sscanf(remark->message, "%u of %u checks", &gone, &all) != 2)
            continue;
        if (++loops <= PLACES)
            tell(story, "%u of %u bounds check%s left the loop at %s", gone, all, all == 1 ? "" : "s",
                 place_of(story->arena, remark));
        else {
            gone_later += gone;
            all_later += all;
        }
    }
    if (loops > PLACES)
        tell(story, "%u of %u bounds checks left %u more loop%s", gone_later, all_later, loops - PLACES,
             loops == PLACES + 1 ? "" : "s");
}

/* ---- remarks of one name ------------------------------------------------------------------------------------------ */

typedef struct ToldPlaces {
    u32 n; /* of which the first few are told */
    const char *told, *last;
} ToldPlaces;

typedef struct NamedRemarks {
    const StoryRemark *first;
    u32 count;          /* things that they are about */
    ToldPlaces same, other; /* of the remarks with the first one's reason, or of what was done; of those with another reason */
} NamedRemarks;
typedef VEC(NamedRemarks) VecNamedRemarks;

/* How many things a remark is about: "3 blocks end with the same 4 instructions" is two tails less. */
static u32 things_of(const StoryRemark *remark)
{
    unsigned blocks = 0;
    bool tails = strcmp(remark->name, "TailMerged") == 0 && sscanf(remark->message, "%u blocks end", &blocks) == 1;
    return tails && blocks > 1 ? blocks : 1;
}

/* The reason without what the sentence says anyway: "Barrier kept: WHY". */
static const char *reason_of(const StoryRemark *remark)
{
    static const char kept[] = "Barrier kept: ";
    return remark->message + (strncmp(remark->message, kept, sizeof kept - 1) == 0 ? sizeof kept - 1 : 0);
}

static NamedRemarks *find_named(VecNamedRemarks *named, const StoryRemark *remark)
{
    for (u32 i = 0; i < named->n; i++)
        if (strcmp(named->v[i].first->name, remark->name) == 0)
            return &named->v[i];
    vec_push(named, ((NamedRemarks){.first = remark, .same = {0, "", ""}, .other = {0, "", ""}}));
    return &vec_last(named);
}

static void add_place(Arena *arena, ToldPlaces *places, const char *place)
{
    if (strcmp(place, places->last) == 0 || ++places->n > PLACES)
        return;
    places->told = arena_append(arena, places->told, ", ", "%s", place);
    places->last = place;
}

/* The remarks of a kind by their names, in the order in which these appear. */
static VecNamedRemarks name_remarks(Story *story, RemarkKind kind)
{
    VecNamedRemarks all = {0};
    for (u32 i = 0; i < story->remarks->n; i++) {
        const StoryRemark *remark = &story->remarks->v[i];
        if (remark->kind != kind || is_switch(remark) || is_version(remark))
            continue;
        NamedRemarks *named = find_named(&all, remark);
        bool same = kind == REMARK_PASSED || strcmp(reason_of(remark), reason_of(named->first)) == 0;
        named->count += things_of(remark);
        add_place(story->arena, same ? &named->same : &named->other, place_of(story->arena, remark));
    }
    return all;
}

static const char *more_places(const ToldPlaces *places) { return places->n > PLACES ? ", ..." : ""; }

/* "9 tails merged (a.cu:12, a.cu:40, ...)", or, of what was left, with the first reason and the places that have another one. */
static void tell_named(Story *story, const NamedRemarks *named)
{
    const RemarkWords *known = words_of(named->first->name);
    const char *what = !known ? named->first->name : named->count == 1 ? known->one : known->many, *why = "";
    if (named->first->kind != REMARK_PASSED)
        why = arena_printf(story->arena, ": %s%s%s%s", reason_of(named->first), named->other.n ? "; for other reasons: " : "",
                           named->other.told, more_places(&named->other));
    tell(story, "%u %s (%s%s%s)", named->count, what, named->same.told, more_places(&named->same), why);
}

/* ---- stories ------------------------------------------------------------------------------------------------------ */

char *story_done(Arena *arena, const VecStoryRemark *remarks)
{
    Story story = begin(arena, remarks);
    for (u32 i = 0; i < remarks->n; i++)
        if (is_switch(&remarks->v[i]))
            tell_switch(&story, &remarks->v[i]);
    tell_versions(&story);
    VecNamedRemarks named = name_remarks(&story, REMARK_PASSED);
    for (u32 i = 0; i < named.n; i++)
        tell_named(&story, &named.v[i]);
    vec_free(&named);
    return story.text;
}

char *story_left(Arena *arena, const VecStoryRemark *remarks, u32 most)
{
    Story story = begin(arena, remarks);
    VecNamedRemarks named = name_remarks(&story, REMARK_MISSED);
    for (u32 i = 0; i < named.n && (i < most || named.n == most + 1); i++)
        tell_named(&story, &named.v[i]);
    if (named.n > most + 1)
        tell(&story, "%u more kinds of things", named.n - most);
    vec_free(&named);
    return story.text;
}

char *story_advice(Arena *arena, const VecStoryRemark *remarks)
{
    Story story = begin(arena, remarks);
    for (u32 i = 0; i < remarks->n; i++)
        if (remarks->v[i].kind == REMARK_ANALYSIS)
            tell(&story, "%s", remarks->v[i].message);
    return story.text;
}
