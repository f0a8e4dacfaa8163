/* --tune: levers of ptxas, which are knobs of the phase `levers`. Those that ask nothing are variants like others; the values of the rest
 * follow from the machine code that ptxas has made of a kernel. One that ptxas refuses, warns of or ignores is no candidate. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "judge/tune/tune.h"

enum {
    REGISTERS = 65536,
    STEP = 8,
    WARP = 32,
    LEAST_REGISTERS = 24,
    MOST_REGISTERS = 255,
    MOST_THREADS = 2048,
    LOOPS = 4,
    FEW_REGISTERS = 32,
    LEAST_PRICE = 64
};

static const char lever[] = "--levers-", rolled[] = ALL_ROLLED;

bool tune_has_lever(const char *words) { return strstr(words, lever) != NULL; }

bool tune_asks(const Tune *tune, u32 number)
{
    u64 price = 0;
    for (u32 i = 0; i < tune->base.part.n; i++)
        if (tune->base.part.v[i].group == number && tune->base.part.v[i].is_entry)
            price += tune->base.part.v[i].price;
    return tune->group[number].tried.n > 1 || price >= LEAST_PRICE;
}

/* ---- values ------------------------------------------------------------------------------------------------------- */

/* What ptxas made of the kernels of a group: the most of each. */
typedef struct Made {
    u64 registers, spilled, threads;
    bool any;
} Made;

static const CubinFunction *find_kernel(const Cubin *cubin, const char *name)
{
    for (size_t i = 0; i < cubin->count; i++)
        if (cubin->functions[i].kernel && strcmp(cubin->functions[i].name, name) == 0)
            return &cubin->functions[i];
    return NULL;
}

static u64 larger(u64 a, u64 b) { return a > b ? a : b; }

static Made find_made(const Tune *tune, u32 number, const Cubin *cubin)
{
    Made made = {0};
    for (u32 i = 0; i < tune->base.part.n; i++) {
        const Part *part = &tune->base.part.v[i];
        const CubinFunction *kernel = part->group == number && part->is_entry ? find_kernel(cubin, part->name) : NULL;
        Judgement same;
        if (!kernel || !worse_judge_function(&same, cubin, cubin, part->name))
            continue;
        made.registers = larger(made.registers, kernel->registers);
        made.threads = larger(made.threads, (kernel->threads + WARP - 1) / WARP * WARP);
        made.spilled = larger(made.spilled, same.moved.spilled[0]);
        made.any = true;
    }
    return made;
}

typedef struct Choice {
    Tune *tune;
    const char *best, **words;
    u32 count;
} Choice;

/* Adds the best candidate's words with one more lever, unless it is among them. */
static void add_words(Choice *choice, const char *name, u64 value)
{
    Arena *arena = &choice->tune->arena;
    const char *number = value ? arena_printf(arena, "=%llu", (unsigned long long)value) : "";
    if (choice->count < TUNE_LEVERS && !strstr(choice->best, name))
        choice->words[choice->count++] =
            arena_printf(arena, "%s%s%s%s", choice->best, *choice->best ? " " : "", name, number);
}

static void add_registers(Choice *choice, const Made *made, i64 steps)
{
    i64 value = ((i64)made->registers + STEP - 1) / STEP * STEP + steps * STEP;
    if (value >= LEAST_REGISTERS && value <= MOST_REGISTERS)
        add_words(choice, "--levers-max-registers", (u64)value);
}

/* The least number of blocks for which ptxas has to save registers. */
static void add_ctas(Choice *choice, const Made *made)
{
    u64 each = (made->registers + STEP - 1) / STEP * STEP * made->threads, ctas = each ? REGISTERS / each + 1 : 0;
    if (ctas > 1 && ctas * made->threads <= MOST_THREADS)
        add_words(choice, "--levers-min-ctas", ctas);
}

/* Whether ptxas makes other code where it may unroll no loop at all. */
static bool unrolls(const Tune *tune, u32 number)
{
    const TuneGroup *group = &tune->group[number];
    const Cubin *base = group->tried.v[0].cubin;
    bool any = false;
    for (u32 i = 1; i < group->tried.n; i++) {
        const TuneCandidate *candidate = &group->tried.v[i];
        for (u32 k = 0; k < tune->base.part.n && candidate->cubin && strcmp(candidate->words, rolled) == 0; k++) {
            Judgement j;
            const Part *part = &tune->base.part.v[k];
            any |= part->group == number && worse_judge_function(&j, base, candidate->cubin, part->name) && j.changed;
        }
    }
    return any;
}

u32 tune_choose_levers(Tune *tune, u32 number, const char **words)
{
    const TuneGroup *group = &tune->group[number];
    const TuneCandidate *best = &group->tried.v[group->best];
    Choice choice = {tune, strcmp(best->words, "-O0") == 0 ? "" : best->words, words, 0};
    Made made = group->tried.v[0].cubin && best->cubin ? find_made(tune, number, best->cubin) : (Made){0};
    if (!made.any)
        return 0;
    if (made.registers > FEW_REGISTERS) {
        add_registers(&choice, &made, -1);
        add_registers(&choice, &made, -2);
    }
    if (made.spilled) {
        add_words(&choice, "--levers-shared-spills", 0);
        add_registers(&choice, &made, 1);
        add_registers(&choice, &made, 2);
    }
    add_ctas(&choice, &made);
    u32 loops = unrolls(tune, number) ? LOOPS : 0;
    for (u32 loop = 0; loop < loops; loop++)
        add_words(&choice, "--levers-rolled", (u64)1 << loop);
    return choice.count;
}

/* ---- what ptxas says ---------------------------------------------------------------------------------------------- */

void tune_note_said(Tune *tune, const TrialText *text)
{
    size_t bytes;
    char *said = text->trial.error.fd >= 0 ? scratch_read(&text->trial.error, &bytes) : NULL;
    tune->said = arena_printf(&tune->arena, "%s%s", tune->said ? tune->said : "", said ? said : "");
    free(said);
}

/* The first warning or error that the command line's text did not get, down to its line's end; NULL. Places in the text do not count. */
static const char *find_warning(Tune *tune, const char *said)
{
    for (const char *line = said; *line; line += strcspn(line, "\n"), line += *line == '\n') {
        char *copy = arena_copy(&tune->arena, line, strcspn(line, "\n"));
        const char *words[] = {"warning ", "error ", "fatal "};
        for (u32 i = 0; i < COUNT_OF(words); i++) {
            const char *at = strstr(copy, words[i]);
            if (at && !(tune->said && strstr(tune->said, at)))
                return at;
        }
    }
    return NULL;
}

/* The words that pull a lever in a text of one group; NULL: it has more groups, or none pulls one. */
static const char *only_words(const Tune *tune, const TrialText *text)
{
    const char *words = NULL;
    for (u32 g = 0; g < tune->original.groups && text->groups == 1; g++)
        if (text->candidate[g] != TUNE_NONE)
            words = tune->group[g].tried.v[text->candidate[g]].words;
    return words && tune_has_lever(words) ? words : NULL;
}

static bool has_levers(const Tune *tune, const TrialText *text)
{
    bool any = false;
    for (u32 g = 0; g < tune->original.groups; g++)
        any |= text->candidate[g] != TUNE_NONE && tune_has_lever(tune->group[g].tried.v[text->candidate[g]].words);
    return any;
}

/* Whether nothing has been told of the lever yet: its name, without the value. */
static bool is_news(Tune *tune, const char *words)
{
    const char *name = strstr(words, lever);
    size_t len = strcspn(name, "= ");
    for (u32 i = 0; i < tune->told.n; i++)
        if (strlen(tune->told.v[i]) == len && memcmp(tune->told.v[i], name, len) == 0)
            return false;
    vec_push(&tune->told, arena_copy(&tune->arena, name, (u32)len));
    return true;
}

void tune_heed_warnings(Tune *tune, TrialText *text)
{
    size_t bytes;
    if (!has_levers(tune, text) || text->trial.error.fd < 0)
        return;
    char *said = scratch_read(&text->trial.error, &bytes);
    const char *warning = said ? find_warning(tune, said) : NULL, *words = only_words(tune, text);
    text->warned = warning != NULL;
    if (warning && words && is_news(tune, words))
        fprintf(stderr, "ptxopt: note: %s is not used: ptxas says: %s\n", strstr(words, lever), warning);
    free(said);
}

/* ---- what it ignores ---------------------------------------------------------------------------------------------- */

/* Whether all that ptxas made with a lever alone is what it made without. */
static bool is_ignored(const Tune *tune, const char *words)
{
    u32 tried = 0;
    for (u32 i = 0; i < tune->base.part.n; i++) {
        const TuneGroup *group = &tune->group[tune->base.part.v[i].group];
        for (u32 c = 1; c < group->tried.n; c++) {
            const TuneCandidate *candidate = &group->tried.v[c];
            Judgement j;
            if (!candidate->cubin || !group->tried.v[0].cubin || strcmp(candidate->words, words) != 0 ||
                !worse_judge_function(&j, group->tried.v[0].cubin, candidate->cubin, tune->base.part.v[i].name))
                continue;
            tried++;
            if (j.changed || j.moved.registers[0] != j.moved.registers[1])
                return false;
        }
    }
    return tried > 0;
}

void tune_say_ignored(Tune *tune)
{
    static const char *const alone[] = {"--levers-min-ctas=1", "--levers-max-threads", rolled, ALL_UNROLLED};
    for (u32 i = 0; i < COUNT_OF(alone); i++)
        if (is_ignored(tune, alone[i]) && is_news(tune, alone[i]))
            fprintf(stderr, "ptxopt: note: %s had no effect on any kernel\n", alone[i]);
}
