#include "table.h"

#include <inttypes.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_FIELDS = 80, MOST_LINE = 16384 };

const unsigned target_sm[TARGETS] = {75, 80, 90, 100, 120};

static const char *const titles[FIG_COUNT] = {
#define FIGURE_TITLE(id, title, columns) [FIG_##id] = title,
    FIGURES(FIGURE_TITLE)
#undef FIGURE_TITLE
};

static const char *const columns_of[FIG_COUNT] = {
#define FIGURE_COLUMNS(id, title, columns) [FIG_##id] = columns,
    FIGURES(FIGURE_COLUMNS)
#undef FIGURE_COLUMNS
};

const char *figure_title(Figure figure) { return titles[figure]; }

void *grow(void *memory, size_t count, size_t size)
{
    memory = realloc(memory, (count ? count : 1) * size);
    if (!memory) {
        fputs("codereport: out of memory\n", stderr);
        exit(1);
    }
    return memory;
}

static char *copy(const char *text)
{
    size_t bytes = strlen(text) + 1;
    return memcpy(grow(NULL, bytes, 1), text, bytes);
}

/* ---- one file ---------------------------------------------------------------------------------------------------- */

typedef struct Reader {
    Table *table;
    char *column[MOST_FIELDS]; /* names of the figures' columns */
    size_t columns;
    char **changed; /* "example.producer" */
    size_t changed_count;
    char *field[MOST_FIELDS];
    size_t fields;
} Reader;

/* Rows of one kernel stand close together: the search starts at the last. */
static Kernel *kernel_of(Reader *r, const char *example, const char *producer, const char *name)
{
    Table *t = r->table;
    for (size_t i = t->count; i-- > 0;)
        if (!strcmp(t->kernel[i].name, name) && !strcmp(t->kernel[i].example, example) &&
            !strcmp(t->kernel[i].producer, producer))
            return &t->kernel[i];
    t->kernel = grow(t->kernel, t->count + 1, sizeof *t->kernel);
    Kernel *k = &t->kernel[t->count++];
    *k = (Kernel){.example = copy(example), .producer = copy(producer), .name = copy(name)};
    return k;
}

static const char *value_of(const Reader *r, const char *column, size_t length)
{
    for (size_t c = 0; c < r->columns; c++)
        if (strlen(r->column[c]) == length && !strncmp(r->column[c], column, length))
            return r->field[4 + c];
    return "0";
}

static unsigned long sum_of(const Reader *r, const char *columns)
{
    unsigned long sum = 0;
    for (size_t length; *columns; columns += length + (columns[length] == ' ')) {
        length = strcspn(columns, " ");
        sum += strtoul(value_of(r, columns, length), NULL, 10);
    }
    return sum;
}

/* ptxas keeps a called function that it did not inline as `$KERNEL$FUNCTION` behind the kernel: they count as one. Its
 * own functions, for divisions and the like, are numbered through the module: all of these count as one. */
static void owner_of(const char *function, char *owner, size_t bytes)
{
    const char *end = function[0] == '$' ? strchr(function + 1, '$') : NULL;
    if (end && !strncmp(function, "$__internal_", 12))
        snprintf(owner, bytes, "__internal");
    else if (end)
        snprintf(owner, bytes, "%.*s", (int)(end - function - 1), function + 1);
    else
        snprintf(owner, bytes, "%s", function);
}

/* NULL for a target that the report does not look at. */
static Code *code_of(Kernel *k, unsigned long sm, const char *when)
{
    for (int t = 0; t < TARGETS; t++)
        if (target_sm[t] == sm)
            return strcmp(when, "after") ? &k->result[t].before : &k->result[t].after;
    return NULL;
}

static bool read_figures(Reader *r)
{
    char owner[MOST_LINE];
    if (r->fields < 4 + r->columns)
        return false;
    owner_of(value_of(r, "kernel", 6), owner, sizeof owner);
    Kernel *k = kernel_of(r, r->field[1], r->field[2], owner);
    Code *code = code_of(k, strtoul(value_of(r, "sm", 2), NULL, 10), r->field[3]);
    if (!code)
        return true;
    code->known = true;
    for (int f = 0; f < FIG_COUNT; f++) {
        unsigned long value = sum_of(r, columns_of[f]);
        if (f != FIG_REGS)
            code->figure[f] += value;
        else if (value > code->figure[f])
            code->figure[f] = value;
    }
    return true;
}

/* Fields of a `judged` line, from cubinjudge's on. */
enum {
    JUDGED_SM = 3,
    JUDGED_KERNEL,
    JUDGED_VERDICT,
    JUDGED_RULES,
    JUDGED_INSTRUCTIONS,
    JUDGED_CYCLES = 9,
    JUDGED_SPILLS = 11,
    JUDGED_WARPS = 15,
    JUDGED_UNROLLED = 17,
    JUDGED_FIELDS
};

static void add_moved(const Reader *r, char *text, size_t bytes, const char *rule, int field)
{
    size_t used = strlen(text);
    if (strstr(r->field[JUDGED_RULES], rule))
        snprintf(text + used, bytes - used, "%s%s %s to %s", used ? ", " : "", rule, r->field[field], r->field[field + 1]);
}

static void read_judged(Reader *r)
{
    char owner[MOST_LINE], moved[MOST_LINE] = "";
    owner_of(r->field[JUDGED_KERNEL], owner, sizeof owner);
    Kernel *k = kernel_of(r, r->field[1], r->field[2], owner);
    for (int t = 0; t < TARGETS; t++) {
        Result *result = &k->result[t];
        if (target_sm[t] != strtoul(r->field[JUDGED_SM], NULL, 10))
            continue;
        result->better = !strcmp(r->field[JUDGED_VERDICT], "better");
        result->unrolled = (unsigned)strtoul(r->field[JUDGED_UNROLLED], NULL, 10);
        if (strcmp(r->field[JUDGED_VERDICT], "worse") != 0)
            continue;
        add_moved(r, moved, sizeof moved, "spills", JUDGED_SPILLS);
        add_moved(r, moved, sizeof moved, "warps", JUDGED_WARPS);
        add_moved(r, moved, sizeof moved, "cycles", JUDGED_CYCLES);
        add_moved(r, moved, sizeof moved, "instructions", JUDGED_INSTRUCTIONS);
        result->rules = copy(r->field[JUDGED_RULES]);
        result->moved = copy(moved);
    }
}

static void read_fired(Reader *r)
{
    Kernel *k = kernel_of(r, r->field[1], r->field[2], r->field[3]);
    k->fired = grow(k->fired, k->fired_count + 1, sizeof *k->fired);
    k->fired[k->fired_count++] = (Fired){copy(r->field[4]), copy(r->field[5]), (unsigned)strtoul(r->field[6], NULL, 10)};
    k->changed = true;
}

static void read_cost(Reader *r)
{
    Kernel *k = kernel_of(r, r->field[1], r->field[2], r->field[3]);
    k->ran = true;
    for (int when = 0; when < 2; when++) {
        k->issued[when] += strtoul(r->field[4 + when], NULL, 10);
        k->jumps[when] += strtoul(r->field[6 + when], NULL, 10);
    }
}

static bool read_line(Reader *r, char *line)
{
    r->fields = 0;
    for (char *part = line; part && r->fields < MOST_FIELDS;) {
        r->field[r->fields++] = part;
        part = strchr(part, '\t');
        if (part)
            *part++ = 0;
    }
    if (!strcmp(r->field[0], "columns")) {
        for (r->columns = 0; r->columns + 1 < r->fields; r->columns++)
            r->column[r->columns] = copy(r->field[r->columns + 1]);
    } else if (!strcmp(r->field[0], "figures")) {
        return read_figures(r);
    } else if (!strcmp(r->field[0], "judged") && r->fields == JUDGED_FIELDS) {
        read_judged(r);
    } else if (!strcmp(r->field[0], "changed") && r->fields == 3) {
        char name[MOST_LINE];
        snprintf(name, sizeof name, "%s.%s", r->field[1], r->field[2]);
        r->changed = grow(r->changed, r->changed_count + 1, sizeof *r->changed);
        r->changed[r->changed_count++] = copy(name);
    } else if (!strcmp(r->field[0], "fired") && r->fields == 7) {
        read_fired(r);
    } else if (!strcmp(r->field[0], "cost") && r->fields == 8) {
        read_cost(r);
    } else {
        return false;
    }
    return true;
}

/* ---- the whole --------------------------------------------------------------------------------------------------- */

static int by_name(const void *a, const void *b)
{
    const Kernel *x = a, *y = b;
    int order = strcmp(x->example, y->example);
    order = order ? order : strcmp(x->producer, y->producer);
    return order ? order : strcmp(x->name, y->name);
}

static void finish(Reader *r)
{
    Table *t = r->table;
    for (size_t i = 0; i < t->count; i++) {
        Kernel *k = &t->kernel[i];
        char name[MOST_LINE];
        bool changed = false;
        snprintf(name, sizeof name, "%s.%s", k->example, k->producer);
        for (size_t c = 0; c < r->changed_count; c++)
            changed |= !strcmp(r->changed[c], name);
        for (int target = 0; target < TARGETS && !changed; target++)
            k->result[target].after = k->result[target].before;
    }
    qsort(t->kernel, t->count, sizeof *t->kernel, by_name);
}

bool table_read(Table *table, const char *path)
{
    Reader r = {.table = table};
    static char line[MOST_LINE];
    FILE *in = fopen(path, "r");
    if (!in) {
        perror(path);
        return false;
    }
    for (size_t number = 1; fgets(line, sizeof line, in); number++) {
        line[strcspn(line, "\n")] = 0;
        if (!read_line(&r, line)) {
            fprintf(stderr, "%s:%zu: not a line of a report\n", path, number);
            fclose(in);
            return false;
        }
    }
    fclose(in);
    finish(&r);
    return true;
}
