/* A second opinion on isa/opcodes.def, which phases and prover alike believe: the interpreter decodes by itself. Each instruction of
 * rows.def is run with inputs that differ in one thing at a time, and what was seen of it must be covered by what the tables claim.
 * Then each row, and each modifier that counts, is made wrong in every way that understates it: each must be noticed.
 *
 *     opcodes [--all]     --all: names each wrong row that was noticed, and by what */
#include <stdlib.h>
#include <string.h>

#include "claims.h"
#include "table.h"

typedef struct Example {
    u32 opcode;
    const char *instr;
    Observed *seen;
    Claims claims;
} Example;

typedef struct Test {
    VEC(Example) examples;
    bool listed[OPC_COUNT];
    u32 passed, failed, planted, skipped;
    bool show_all;
} Test;

static const struct {
    u32 opcode;
    const char *instr, *why; /* one of them */
} listed[] = {
#define RUN(id, pattern) {OPC_##id, (pattern), NULL},
#define NOT_RUN(id, why) {OPC_##id, NULL, (why)},
#include "rows.def"
};

/* How many wrong rows of this kind nobody noticed. */
static struct {
    u32 opcode;
    const char *wrong, *why;
    u32 times;
} unseen[] = {
#define UNSEEN(id, wrong, why) {OPC_##id, (wrong), (why), 0},
#include "rows.def"
};

static const char *const opcode_names[] = {
    "unknown",
#define OP(id, ...) #id,
#include "isa/opcodes.def"
};

__attribute__((format(printf, 2, 3))) static void fail(Test *t, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    printf("fail ");
    vprintf(format, arguments);
    printf("\n");
    va_end(arguments);
    t->failed++;
}

/* ---- the examples ----------------------------------------------------------------------------------------------- */

/* Each of what a pattern stands for: <a|b> for a, and for b. */
static void expand(Test *t, u32 opcode, const char *pattern)
{
    const char *open = strchr(pattern, '<'), *close = open ? strchr(open, '>') : NULL;
    if (!open) {
        Example e = {.opcode = opcode, .instr = strdup(pattern)};
        vec_push(&t->examples, e);
        return;
    }
    for (const char *word = open + 1; word <= close;) {
        size_t len = strcspn(word, "|>");
        Text text = {0};
        text_append(&text, pattern, (size_t)(open - pattern));
        text_append(&text, word, len);
        text_append(&text, close + 1, strlen(close + 1));
        expand(t, opcode, text_str(&text));
        vec_free(&text);
        word += len + 1;
    }
}

static void list_examples(Test *t)
{
    for (u32 i = 0; i < COUNT_OF(listed); i++) {
        t->listed[listed[i].opcode] = true;
        if (listed[i].instr)
            expand(t, listed[i].opcode, listed[i].instr);
    }
    for (u32 i = OPC_UNKNOWN + 1; i < OPC_COUNT; i++)
        if (!t->listed[i])
            fail(t, "%s: opcodes.def has the row, tests/opcodes/rows.def neither runs it nor says why not",
                 opcode_names[i]);
        else
            t->passed++;
}

static void look(Test *t, Example *e)
{
    char why[400];
    Text said = {0};
    e->seen = mem_zalloc(sizeof *e->seen);
    if (!observe(e->instr, e->seen, why, sizeof why)) {
        fail(t, "%s: cannot run: %s", e->instr, why);
    } else if (!claims_read(e->instr, &e->claims) || !e->claims.op.known || e->claims.op.opcode != e->opcode) {
        fail(t, "%s: not an instruction of %s", e->instr, opcode_names[e->opcode]);
    } else if (claims_cover(&e->claims, e->seen, &said)) {
        fail(t, "%s: isa/ does not say that\n%.*s", e->instr, (int)said.n - 1, said.v);
    } else {
        t->passed++;
    }
    vec_free(&said);
}

/* ---- wrong rows ------------------------------------------------------------------------------------------------- */

typedef enum Notice { EQUAL, NOTICED, OVERLOOKED } Notice;

static bool same_claims(const Claims *a, const Claims *b)
{
    const OpInfo *x = &a->op, *y = &b->op;
    return x->flags == y->flags && x->mem == y->mem && x->space == y->space && x->strength == y->strength &&
           x->uniformity == y->uniformity && x->sync == y->sync && x->vector == y->vector &&
           !memcmp(a->uses, b->uses, sizeof a->uses) && !memcmp(a->defines, b->defines, sizeof a->defines) &&
           !memcmp(a->kills, b->kills, sizeof a->kills);
}

/* Whether an example of an opcode (0: of any) that has this modifier shows that the tables, as they are now, are wrong. EQUAL:
 * they say the same of all of them. */
static Notice notice(const Test *t, u32 opcode, const char *modifier, Text *said)
{
    Notice notice = EQUAL;
    for (u32 i = 0; i < t->examples.n; i++) {
        const Example *e = &t->examples.v[i];
        Claims c;
        if ((opcode && e->opcode != opcode) || (modifier && !strstr(e->instr, modifier)))
            continue;
        vec_clear(said);
        text_printf(said, "%s:\n", e->instr);
        if (!claims_read(e->instr, &c) || claims_cover(&c, e->seen, said))
            return NOTICED;
        if (!same_claims(&c, &e->claims))
            notice = OVERLOOKED;
    }
    return notice;
}

static bool is_unseen(u32 opcode, const char *what)
{
    for (u32 i = 0; i < COUNT_OF(unseen); i++)
        if (unseen[i].opcode == opcode && !strncmp(what, unseen[i].wrong, strlen(unseen[i].wrong))) {
            unseen[i].times++;
            return true;
        }
    return false;
}

/* The tables are wrong now, in what the name and `what` say. */
static void plant(Test *t, u32 opcode, const char *modifier, const char *what)
{
    Text said = {0};
    const char *name = modifier ? modifier : opcode_names[opcode];
    Notice found = notice(t, opcode, modifier, &said);
    table_reset();
    t->planted += found != EQUAL;
    if (found == NOTICED) {
        t->passed++;
        if (t->show_all)
            printf("pass %s %s: %.*s", name, what, (int)said.n, said.v);
    } else if (found == OVERLOOKED && !is_unseen(opcode, what)) {
        fail(t, "%s %s: nobody notices", name, what);
    } else if (found == EQUAL && t->show_all) {
        printf("equal %s %s\n", name, what);
    }
    vec_free(&said);
}

static void plant_shape(Test *t, u32 opcode)
{
    const char *shape = table_row(opcode)->shape;
    for (u32 i = 0; shape[i]; i++) {
        char wrong[SHAPE_MAX], what[64];
        if (shape[i] != 'd' && shape[i] != 's')
            continue;
        snprintf(wrong, sizeof wrong, "%s", shape);
        wrong[i] = shape[i] == 'd' ? 's' : 'd';
        table_row(opcode)->shape = wrong;
        snprintf(what, sizeof what, "of shape %s", wrong);
        plant(t, opcode, NULL, what);
    }
}

static void plant_memory(Test *t, u32 opcode)
{
    static const char *const names[] = {"NONE", "READ", "WRITE", "READ_WRITE"};
    for (u8 mem = MEM_NONE; mem < table_row(opcode)->mem; mem++) {
        char what[64];
        table_row(opcode)->mem = mem;
        snprintf(what, sizeof what, "whose memory is %s", names[mem]);
        plant(t, opcode, NULL, what);
    }
    if (table_row(opcode)->mem != MEM_NONE && table_row(opcode)->space == SPACE_MODIFIER) {
        table_row(opcode)->space = SPACE_TENSOR;
        plant(t, opcode, NULL, "whose space is TENSOR");
    }
    if (table_row(opcode)->mem != MEM_NONE && table_row(opcode)->strength == STRENGTH_STRONG) {
        table_row(opcode)->strength = STRENGTH_WEAK;
        plant(t, opcode, NULL, "that is WEAK");
    }
}

/* Whether an example has two registers of one kind behind the first, which it only reads. */
static bool has_like_sources(const Test *t, u32 opcode)
{
    for (u32 i = 0; i < t->examples.n; i++) {
        const Example *e = &t->examples.v[i];
        const Claims *c = &e->claims;
        if (e->opcode == opcode && e->seen->values > 2 && e->seen->value[1].kind == e->seen->value[2].kind &&
            !c->defines[1] && !c->defines[2] && c->op.mem == MEM_NONE)
            return true;
    }
    return false;
}

static void plant_flags(Test *t, u32 opcode)
{
    static const struct {
        u64 flag;
        const char *name;
    } rows[] = {{OPF_CONVERGENT | OPF_NAMES_THREADS, "CONVERGENT"},
                {OPF_BARRIER, "BARRIER"},
                {OPF_SIDE_EFFECT, "KEEP"},
                {OPF_TERMINATOR | OPF_BRANCH, "TERMINATOR"},
                {OPF_NO_RETURN, "NO_RETURN"},
                {OPF_VOLATILE, "VOLATILE"},
                {OPF_CARRY_IN, "CARRY_IN"},
                {OPF_ENDS_THREAD, "ENDS_THREAD"},
                {ROW_SYNC, "its Sync"}};
    for (u32 i = 0; i < COUNT_OF(rows); i++) {
        char what[64];
        if (!(table_row(opcode)->flags & rows[i].flag))
            continue;
        table_row(opcode)->flags &= ~rows[i].flag;
        snprintf(what, sizeof what, "without %s", rows[i].name);
        plant(t, opcode, NULL, what);
    }
    if (!(table_row(opcode)->flags & OPF_COMMUTES) && has_like_sources(t, opcode)) {
        table_row(opcode)->flags |= OPF_COMMUTES;
        plant(t, opcode, NULL, "that COMMUTES");
    }
    if (table_row(opcode)->flags & OPF_CONVERGENT && !(table_row(opcode)->flags & OPF_NAMES_THREADS)) {
        table_row(opcode)->flags |= OPF_NAMES_THREADS;
        plant(t, opcode, NULL, "that SYNCS");
    }
}

static void plant_uniformity(Test *t, u32 opcode)
{
    u8 own = table_row(opcode)->uniformity;
    if (own == UNI_DIVERGENT) {
        table_row(opcode)->uniformity = UNI_OPERANDS;
        plant(t, opcode, NULL, "of uniformity OPERANDS");
    }
    if (own == UNI_DIVERGENT || own == UNI_MEMBERS) {
        table_row(opcode)->uniformity = UNI_WARP;
        plant(t, opcode, NULL, "of uniformity WARP");
    }
}

static void plant_modifiers(Test *t)
{
    static const char *const rows[] = {".cc", ".volatile", ".relaxed", ".acquire", ".release", ".mmio",  ".v2",
                                       ".v4", ".v8",       ".global",  ".shared",  ".local",   ".const", ".param"};
    for (u32 i = 0; i < COUNT_OF(rows); i++) {
        table_modifier(rows[i])->value = rows[i][1] == 'v' && rows[i][2] < '9' ? 1 : rows[i][1] == 'g' ? SPACE_TENSOR : 0;
        plant(t, 0, rows[i], "that says nothing");
    }
}

static void plant_all(Test *t)
{
    for (u32 opcode = OPC_UNKNOWN + 1; opcode < OPC_COUNT; opcode++) {
        bool runs = false;
        for (u32 i = 0; i < t->examples.n; i++)
            runs |= t->examples.v[i].opcode == opcode;
        t->skipped += !runs;
        if (!runs)
            continue;
        plant_shape(t, opcode);
        plant_memory(t, opcode);
        plant_flags(t, opcode);
        plant_uniformity(t, opcode);
    }
    plant_modifiers(t);
    for (u32 i = 0; i < COUNT_OF(unseen); i++)
        if (!unseen[i].times)
            fail(t, "%s %s: every such wrong row is noticed, and rows.def says the contrary",
                 opcode_names[unseen[i].opcode], unseen[i].wrong);
}

int main(int argc, char **argv)
{
    Test t = {.show_all = argc > 1 && !strcmp(argv[1], "--all")};
    table_reset();
    list_examples(&t);
    for (u32 i = 0; i < t.examples.n; i++)
        look(&t, &t.examples.v[i]);
    if (!t.failed)
        plant_all(&t);
    printf("%u instructions of %u rows; %u rows cannot run; %u wrong rows planted\n", t.examples.n,
           OPC_COUNT - 1 - t.skipped, t.skipped, t.planted);
    printf("opcodes: %u passed, %u failed\n", t.passed, t.failed);
    return t.failed > 0;
}
