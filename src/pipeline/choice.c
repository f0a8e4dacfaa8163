#include "pipeline/choice.h"

#include <string.h>

#include "base/cxx_name.h"

enum { HIGHEST_LEVEL = 3, LONGEST_NAME = 1024 };
#define ANY_LEVEL UINT32_MAX /* no limit, even for phases that run only if they are named */

static const char keyword[] = "ptxopt:";

/* Whether the pattern describes the whole text: `*` is any text, `?` any character. */
static bool glob_matches(const char *pattern, const char *text)
{
    const char *star = NULL, *resume = NULL; /* the last `*`, and where the text continues if it takes one more character */
    while (*text) {
        if (*pattern == '*') {
            star = pattern++;
            resume = text;
        } else if (*pattern == '?' || *pattern == *text) {
            pattern++;
            text++;
        } else if (star) {
            pattern = star + 1;
            text = ++resume;
        } else {
            return false;
        }
    }
    while (*pattern == '*')
        pattern++;
    return *pattern == '\0';
}

/* Whether the pattern describes the function's name in PTX, or its qualified name in C++. */
static bool glob_matches_function(const char *pattern, const char *name)
{
    char qualified[LONGEST_NAME];
    return glob_matches(pattern, name) ||
           (cxx_qualified_name(name, qualified, sizeof qualified) && glob_matches(pattern, qualified));
}

static bool matches_any(const VecGlob *globs, const char *name)
{
    for (u32 i = 0; i < globs->n; i++)
        if (glob_matches_function(globs->v[i], name))
            return true;
    return false;
}

bool choice_matches_some(const char *pattern, const Module *m)
{
    for (u32 f = 0; f < m->functions.n; f++)
        if (glob_matches_function(pattern, m->functions.v[f]->name->text))
            return true;
    return false;
}

/* ---- comments --------------------------------------------------------------------------------------------------- */

static bool is_blank(char c) { return c == ' ' || c == '\t' || c == ','; }

static bool ends_line(char c) { return c == '\n' || c == '\r'; }

/* The end of the keyword in the next comment, at `at` or after it, that begins with it; NULL: there is none. */
static const char *next_keyword(const char *at, const char *end)
{
    enum { LENGTH = sizeof keyword - 1 };
    while ((at = memchr(at, '/', (size_t)(end - at)))) {
        const char *slashes = at;
        while (at < end && *at == '/')
            at++;
        bool is_comment = at - slashes >= 2;
        while (is_comment && at < end && (*at == ' ' || *at == '\t'))
            at++;
        if (is_comment && end - at >= LENGTH && memcmp(at, keyword, LENGTH) == 0)
            return at + LENGTH;
    }
    return NULL;
}

/* Takes one word of a directive; false: it means nothing. */
static bool take_word(const PipelineConfig *config, Directives *asked, Str word)
{
    if (str_is(word, "off")) {
        asked->off = true;
        return true;
    }
    if (word.len == 3 && memcmp(word.p, "-O", 2) == 0 && word.p[2] >= '0' && word.p[2] <= '0' + HIGHEST_LEVEL) {
        asked->level = (u32)(word.p[2] - '0');
        return true;
    }
    if (word.len <= 3 || memcmp(word.p, "no-", 3) != 0)
        return false;
    PhaseRange named = phase_find(config->table, word.p + 3, word.len - 3);
    for (u32 k = 0; k < named.count; k++)
        asked->without[named.first + k] = true;
    return named.count > 0;
}

/* Reads the words from `at` to the line's end. A `;` that ends them belongs to inline assembly. */
static Directives read_directives(const PipelineConfig *config, Str text, u32 at, Diag *diag)
{
    Directives asked = {.offset = at, .level = ANY_LEVEL};
    for (u32 end; at < text.len && !ends_line(text.p[at]); at = end) {
        end = at + 1;
        if (is_blank(text.p[at]) || text.p[at] == ';')
            continue;
        while (end < text.len && !is_blank(text.p[end]) && !ends_line(text.p[end]) && text.p[end] != ';')
            end++;
        Str word = {text.p + at, end - at};
        if (!take_word(config, &asked, word))
            diag_at(diag, DIAG_WARNING, (Span){at, end}, "'%.*s' after '%s' is neither off, -O0 to -O3, nor no-PHASE",
                    (int)word.len, word.p, keyword);
    }
    return asked;
}

/* ---- withheld phases --------------------------------------------------------------------------------------------- */

/* A module's functions by their symbols, and those that have yet to be visited. */
typedef struct Reached {
    const Module *m;
    const Function **of; /* by SymId: the definition; NULL: it is not in this module */
    bool *seen;          /* by SymId */
    VecU32 work;         /* SymIds */
} Reached;

static void reach(Reached *reached, SymId sym)
{
    if (!sym || reached->seen[sym])
        return;
    reached->seen[sym] = true;
    vec_push(&reached->work, sym);
}

static void reach_all(Reached *reached)
{
    for (u32 f = 0; f < reached->m->functions.n; f++)
        reach(reached, reached->m->functions.v[f]->sym);
}

/* Visits the functions that fn may call. An indirect call may call any function. */
static void reach_callees(Reached *reached, const Function *fn)
{
    if (fn->untouchable.why) {
        reach_all(reached);
        return;
    }
    for_each_block(b, fn)
        for_each_instr(i, b) {
            if (!instr_is(i, OPF_CALL))
                continue;
            SymId callee = call_callee(i);
            reach(reached, callee);
            if (!callee)
                reach_all(reached);
        }
}

static void withhold_from(Choices *choices, Reached *reached, const Withheld *withheld)
{
    const Module *m = reached->m;
    memset(reached->seen, 0, m->syms.n * sizeof *reached->seen);
    for (u32 f = 0; f < m->functions.n; f++)
        if (!withheld->function || strcmp(m->functions.v[f]->name->text, withheld->function) == 0)
            reach(reached, m->functions.v[f]->sym);
    while (reached->work.n) {
        SymId sym = reached->work.v[--reached->work.n];
        for (u32 phase = 0; phase < PHASE_COUNT; phase++)
            choices->withheld[sym * PHASE_COUNT + phase] |= withheld->phase[phase];
        if (reached->of[sym] && !withheld->itself)
            reach_callees(reached, reached->of[sym]);
    }
}

static void find_withheld(Choices *choices, const Module *m)
{
    const VecWithheld *withheld = &choices->config->withheld;
    if (!withheld->n)
        return;
    Reached reached = {.m = m};
    reached.of = mem_zalloc(sizeof *reached.of * m->syms.n);
    reached.seen = mem_zalloc(sizeof *reached.seen * m->syms.n);
    choices->withheld = mem_zalloc(sizeof *choices->withheld * m->syms.n * PHASE_COUNT);
    for (u32 f = 0; f < m->functions.n; f++)
        if (m->functions.v[f]->entry)
            reached.of[m->functions.v[f]->sym] = m->functions.v[f];
    for (u32 i = 0; i < withheld->n; i++)
        if (withheld->v[i].limit == 0)
            withhold_from(choices, &reached, &withheld->v[i]);
    vec_free(&reached.work);
    mem_free(reached.of);
    mem_free(reached.seen);
}

void choices_init(Choices *choices, const PipelineConfig *config, const Module *m, Diag *diag)
{
    *choices = (Choices){.config = config};
    const char *end = m->text.p + m->text.len;
    for (const char *at = m->text.p; (at = next_keyword(at, end));)
        vec_push(&choices->directives, read_directives(config, m->text, (u32)(at - m->text.p), diag));
    find_withheld(choices, m);
}

void choices_free(Choices *choices)
{
    vec_free(&choices->directives);
    mem_free(choices->withheld);
}

/* ---- a function ------------------------------------------------------------------------------------------------- */

/* Whether the comment stands in the body of fn, or in no function's body. */
static bool holds_for(const Directives *asked, const Function *fn)
{
    if (asked->offset >= fn->open.beg && asked->offset < fn->close.end)
        return true;
    const Module *m = fn->module;
    for (u32 i = 0; i < m->functions.n; i++) {
        const Function *other = m->functions.v[i];
        if (asked->offset >= other->open.beg && asked->offset < other->close.end)
            return false;
    }
    return true;
}

static Directives directives_for(const Choices *choices, const Function *fn)
{
    const PipelineConfig *config = choices->config;
    Directives all = {.level = ANY_LEVEL};
    all.off =
        (config->only.n > 0 && !matches_any(&config->only, fn->name->text)) || matches_any(&config->skip, fn->name->text);
    for (u32 phase = 0; phase < PHASE_COUNT && choices->withheld; phase++)
        all.without[phase] = choices->withheld[fn->sym * PHASE_COUNT + phase];
    for (u32 i = 0; i < choices->directives.n; i++) {
        const Directives *asked = &choices->directives.v[i];
        if (!holds_for(asked, fn))
            continue;
        all.off |= asked->off;
        all.level = asked->level < all.level ? asked->level : all.level;
        for (u32 phase = 0; phase < PHASE_COUNT; phase++)
            all.without[phase] |= asked->without[phase];
    }
    return all;
}

u32 choices_of(const Choices *choices, const PipelineConfig *config, const Function *fn, VecU32 *sequence, VecU32 *cleanup)
{
    Directives asked = directives_for(choices, fn);
    for (u32 i = 0; i < config->sequence.n && !asked.off; i++) {
        u32 phase = config->sequence.v[i];
        if (config->table->phase[phase].level <= asked.level && !asked.without[phase])
            vec_push(sequence, phase);
    }
    for (u32 phase = 0; phase < config->table->phases && !asked.off; phase++)
        if (config->table->phase[phase].after == OF_CLEANUP && !config->disabled[phase] && !asked.without[phase])
            vec_push(cleanup, phase);
    return asked.level < config->level ? asked.level : config->level;
}
