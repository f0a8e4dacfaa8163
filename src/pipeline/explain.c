#include "pipeline/explain.h"

#include <stdlib.h>
#include <string.h>

#include "base/fnvmap.h"
#include "pipeline/help.h"
#include "pipeline/story.h"

enum { MOST_FUNCTIONS = 20, MOST_LEFT = 4, LABEL = 4, TEXT = 11, WIDTH = 80 };

/* What is said of a function, or of the module. */
typedef struct Explained {
    const Function *fn; /* NULL: the module */
    u32 at;             /* in the text's order */
    VecStoryRemark remarks;
    const char *source; /* of the first remark that has one; NULL */
    bool is_left_out;   /* no phase was to run over it */
    u32 done;           /* how many rewrites */
} Explained;

struct Explanation {
    Arena *arena;
    RemarkTaker taker;
    const RemarkTaker *next;
    FnvMap of; /* name of the function -> its place in `all`, from 1 on */
    VEC(Explained) all;
};

static u64 hash_name(const char *name) { return fnv_bytes(FNV_BASIS, name, strlen(name)); }

static Explained *explained_of(Explanation *explanation, const char *name)
{
    u64 *at = fnvmap_at(&explanation->of, hash_name(name));
    if (!*at) {
        vec_push(&explanation->all, ((Explained){.fn = NULL}));
        *at = explanation->all.n;
    }
    return &explanation->all.v[*at - 1];
}

static void take(void *user, const Remark *remark)
{
    Explanation *explanation = user;
    Explained *of = explained_of(explanation, remark->function);
    if (strcmp(remark->name, "NotChosen") == 0)
        of->is_left_out = true;
    else
        vec_push(&of->remarks, story_keep(explanation->arena, remark));
    if (explanation->next)
        explanation->next->take(explanation->next->user, remark);
}

Explanation *explain_begin(Arena *arena, const RemarkTaker *next)
{
    Explanation *explanation = arena_array(arena, Explanation, 1);
    *explanation = (Explanation){.arena = arena, .next = next, .taker = {take, explanation}};
    return explanation;
}

const RemarkTaker *explain_taker(const Explanation *explanation) { return &explanation->taker; }

/* ---- order -------------------------------------------------------------------------------------------------------- */

/* Rewrites of a function that went back in the end were not done. */
static void forget_done(Explained *of)
{
    u32 kept = 0;
    for (u32 i = 0; i < of->remarks.n; i++)
        if (of->remarks.v[i].kind != REMARK_PASSED)
            of->remarks.v[kept++] = of->remarks.v[i];
    of->remarks.n = kept;
}

static void look_at(Explanation *explanation, const Function *fn, u32 at)
{
    Explained *of = explained_of(explanation, fn->name->text);
    of->fn = fn;
    of->at = at;
    if (!fn->changed)
        forget_done(of);
    for (u32 i = 0; i < of->remarks.n; i++) {
        of->done += of->remarks.v[i].kind == REMARK_PASSED;
        of->source = of->source ? of->source : of->remarks.v[i].source;
    }
}

static int by_worth(const void *left, const void *right)
{
    const Explained *a = left, *b = right;
    if (a->done != b->done)
        return a->done > b->done ? -1 : 1;
    if (a->remarks.n != b->remarks.n)
        return a->remarks.n > b->remarks.n ? -1 : 1;
    return a->at < b->at ? -1 : a->at > b->at;
}

/* ---- text --------------------------------------------------------------------------------------------------------- */

static void put_line(FILE *out, const char *label, char *text)
{
    if (!*text)
        return;
    help_put_wrapped(out, fprintf(out, "%*s%s", LABEL, "", label), TEXT, WIDTH, text);
}

static void put_story(FILE *out, Arena *arena, const Explained *of)
{
    put_line(out, "done", story_done(arena, &of->remarks));
    put_line(out, "left", story_left(arena, &of->remarks, MOST_LEFT));
    put_line(out, "ptxas", story_advice(arena, &of->remarks));
}

static void put_function(FILE *out, Arena *arena, const Explained *of)
{
    const char *name = of->fn->name->text, *source = of->source;
    fprintf(out, "\n%s", name);
    if (source)
        fprintf(out, " (%.*s)", (int)strcspn(source, ":"), source);
    putc('\n', out);
    put_story(out, arena, of);
}

static void put_rest(FILE *out, u32 more, u32 silent)
{
    if (more)
        fprintf(out, "\n%u more functions; --only-function=GLOB explains those that it names\n", more);
    if (silent)
        fprintf(out, "\n%u %s of which there is nothing to say\n", silent, silent == 1 ? "function" : "functions");
}

static void put_all(FILE *out, Explanation *explanation, const char *file, u32 functions, u32 changed)
{
    Arena *arena = explanation->arena;
    u32 shown = 0, more = 0, silent = 0;
    fprintf(out, "%s: %u %s, %u changed\n", file, functions, functions == 1 ? "function" : "functions", changed);
    for (u32 i = 0; i < explanation->all.n; i++)
        if (!explanation->all.v[i].fn)
            put_story(out, arena, &explanation->all.v[i]);
    for (u32 i = 0; i < explanation->all.n; i++) {
        const Explained *of = &explanation->all.v[i];
        if (!of->fn)
            continue;
        if (!of->remarks.n)
            silent += !of->is_left_out;
        else if (shown == MOST_FUNCTIONS)
            more++;
        else {
            put_function(out, arena, of);
            shown++;
        }
    }
    put_rest(out, more, silent);
}

void explain_print(FILE *out, Explanation *explanation, const Module *m, const char *file)
{
    u32 functions = 0, changed = 0;
    for (u32 f = 0; f < m->functions.n; f++) {
        if (!m->functions.v[f]->entry)
            continue;
        look_at(explanation, m->functions.v[f], functions++);
        changed += m->functions.v[f]->changed;
    }
    if (explanation->all.n)
        qsort(explanation->all.v, explanation->all.n, sizeof *explanation->all.v, by_worth);
    put_all(out, explanation, file, functions, changed);
}

void explain_end(Explanation *explanation)
{
    for (u32 i = 0; i < explanation->all.n; i++)
        vec_free(&explanation->all.v[i].remarks);
    vec_free(&explanation->all);
    fnvmap_free(&explanation->of);
}
