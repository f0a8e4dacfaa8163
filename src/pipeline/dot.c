#include "pipeline/dot.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "pipeline/output.h"

enum {
    LINE_LEN = 96,    /* the most bytes of an instruction that are shown */
    BLOCK_LINES = 60, /* the most instructions of a block that are shown */
    FILE_STEM = 200,  /* the most bytes of a file name before its hash */
    LOOP_SHADES = 5
};

/* ---- text ------------------------------------------------------------------------------------------------------ */

void dot_put_text(FILE *out, const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        char c = text[i];
        if (c == '"' || c == '\\')
            putc('\\', out);
        putc((unsigned char)c < 0x20 ? ' ' : c, out);
    }
}

static void put_cut(FILE *out, const char *text, size_t len)
{
    bool cut = len > LINE_LEN;
    dot_put_text(out, text, cut ? LINE_LEN - 3 : len);
    fputs(cut ? "...\\l" : "\\l", out);
}

/* The printed text of one instruction. */
typedef struct DotScratch {
    FILE *file;
    char *text;
    size_t len;
} DotScratch;

static void put_instr(FILE *out, DotScratch *scratch, const Function *fn, const Instr *i)
{
    fseek(scratch->file, 0, SEEK_SET);
    print_instr(scratch->file, fn, i);
    fflush(scratch->file); /* sets text and len */
    fputs("  ", out);
    put_cut(out, scratch->text, scratch->len);
}

static void put_block_text(FILE *out, DotScratch *scratch, const Function *fn, const Block *b)
{
    fprintf(out, "B%u:", b->id);
    for (const Label *label = b->labels; label; label = label->next) {
        putc(' ', out);
        dot_put_text(out, label->name->text, label->name->len);
    }
    fputs("\\l", out);
    u32 lines = 0, left_out = 0;
    for_each_instr(i, b) {
        if (lines == BLOCK_LINES && i != b->last) {
            left_out++;
            continue;
        }
        if (left_out)
            fprintf(out, "  ... %u more\\l", left_out);
        left_out = 0;
        put_instr(out, scratch, fn, i);
        lines += lines < BLOCK_LINES;
    }
}

/* ---- nodes and loops ------------------------------------------------------------------------------------------- */

static const char *block_style(const Block *b, Analyses *an)
{
    const Instr *end = block_terminator(b);
    if (!order_reachable(an_order(an), b))
        return "style=\"filled,dashed\", fillcolor=\"gray92\"";
    if (!end || !instr_is(end, OPF_BRANCH))
        return "fillcolor=\"white\"";
    return bitset_has(&an_uniform(an)->branch_warp, b->id) ? "fillcolor=\"honeydew\""
                                                           : "fillcolor=\"mistyrose\", color=\"red\"";
}

static void put_node(FILE *out, DotScratch *scratch, const Function *fn, const Block *b, Analyses *an)
{
    fprintf(out, "  b%u [%s, label=\"", b->id, block_style(b, an));
    put_block_text(out, scratch, fn, b);
    fputs("\"];\n", out);
}

/* Loops as a forest, by the id of their header. */
typedef struct LoopTree {
    const Loop **outermost, **child, **sibling; /* child and sibling by header id */
    Block **first, **next;                      /* blocks with this innermost loop: first by header id, next by block id */
} LoopTree;

static LoopTree loop_tree(Arena *arena, const Function *fn, const Loops *loops)
{
    LoopTree tree = {
        arena_new(arena, const Loop *),
        arena_array(arena, const Loop *, fn->blocks.n),
        arena_array(arena, const Loop *, fn->blocks.n),
        arena_array(arena, Block *, fn->blocks.n),
        arena_array(arena, Block *, fn->blocks.n),
    };
    for (u32 i = loops->n; i-- > 0;) { /* backwards, since each goes in front of its siblings */
        const Loop *loop = loops->v[i];
        const Loop **list = loop->parent ? &tree.child[loop->parent->header->id] : tree.outermost;
        tree.sibling[loop->header->id] = *list;
        *list = loop;
    }
    for (Block *b = fn->layout_last; b; b = b->prev) {
        const Loop *loop = loop_of(loops, b);
        if (!loop)
            continue;
        tree.next[b->id] = tree.first[loop->header->id];
        tree.first[loop->header->id] = b;
    }
    return tree;
}

static void open_loop(FILE *out, DotScratch *scratch, const Function *fn, const Loop *loop, const LoopTree *tree,
                      Analyses *an)
{
    static const char *const shade[LOOP_SHADES] = {"#eef4fb", "#dce9f7", "#cadef3", "#b8d3ef", "#a6c8eb"};
    u32 header = loop->header->id;
    fprintf(out,
            "  subgraph cluster_%u {\n  label=\"loop of B%u, depth %u, %u latch%s%s\"; style=filled; fillcolor=\"%s\";\n",
            header, header, loop->depth, loop->latch_count, loop->latch_count == 1 ? "" : "es",
            loop->nounroll ? ", nounroll" : "", shade[loop->depth < LOOP_SHADES ? loop->depth - 1 : LOOP_SHADES - 1]);
    for (const Block *b = tree->first[header]; b; b = tree->next[b->id])
        put_node(out, scratch, fn, b, an);
}

/* Writes every loop as a box inside its parent's. It does not recurse, because input may nest loops to any depth. */
static void put_loops(FILE *out, DotScratch *scratch, const Function *fn, const LoopTree *tree, Analyses *an)
{
    for (const Loop *loop = *tree->outermost; loop;) {
        open_loop(out, scratch, fn, loop, tree, an);
        const Loop *inner = tree->child[loop->header->id];
        if (inner) {
            loop = inner;
            continue;
        }
        fputs("  }\n", out);
        while (loop && !tree->sibling[loop->header->id]) {
            loop = loop->parent;
            if (loop)
                fputs("  }\n", out);
        }
        loop = loop ? tree->sibling[loop->header->id] : NULL;
    }
}

/* ---- edges ----------------------------------------------------------------------------------------------------- */

static void put_edge(FILE *out, const Block *from, const Block *to, const char *label, const char *style)
{
    fprintf(out, "  b%u -> b%u [label=\"%s\"%s%s];\n", from->id, to->id, label, *style ? ", " : "", style);
}

/* Writes one edge for each target, however many entries lead there, labelled with the first of them. */
static void put_table_edges(FILE *out, const Function *fn, const Block *b, const Table *table, u32 *seen_from)
{
    for (u32 i = 0; i < table->targets.n; i++) {
        const Block *to = fn_block(fn, table->targets.v[i]);
        if (seen_from[to->id] == b->id + 1)
            continue;
        seen_from[to->id] = b->id + 1;
        char label[24];
        snprintf(label, sizeof label, "%u", i);
        put_edge(out, b, to, label, "color=\"purple\"");
    }
}

/* seen_from: zeroed, by block id. */
static void put_edges(FILE *out, const Function *fn, const Block *b, u32 *seen_from)
{
    const Instr *end = block_terminator(b);
    const Table *table = end && instr_is(end, OPF_BRANCH) ? branch_table(end) : NULL;
    const Block *target = end && instr_is(end, OPF_BRANCH) && !table ? branch_target(end) : NULL;
    if (table)
        put_table_edges(out, fn, b, table, seen_from);
    if (target)
        put_edge(out, b, target, "T", "color=\"blue\"");
    if (b->fall)
        put_edge(out, b, b->fall, end ? "F" : "", end ? "color=\"gray40\"" : "");
}

static void print_graph(FILE *out, const Function *fn, Analyses *an)
{
    Arena arena = {0};
    DotScratch scratch = {0};
    scratch.file = open_memstream(&scratch.text, &scratch.len);
    if (!scratch.file)
        return;
    LoopTree tree = loop_tree(&arena, fn, an_loops(an));
    fputs("digraph \"", out);
    dot_put_text(out, fn->name->text, fn->name->len);
    fputs("\" {\n  label=\"", out);
    dot_put_text(out, fn->name->text, fn->name->len);
    fprintf(out,
            "\\nblocks: red, their branch may diverge within a warp; green, it is uniform; dashed, unreachable%s\\nedges: "
            "blue, taken (T); grey, not taken (F); purple, case of a jump table\"; labelloc=t;\n",
            an_loops(an)->irreducible ? "   (irreducible)" : "");
    fputs("  fontname=\"monospace\";\n"
          "  ordering=out;\n"
          "  node [shape=box, style=filled, fontname=\"monospace\", fontsize=10];\n"
          "  edge [fontname=\"monospace\", fontsize=10];\n",
          out);
    put_loops(out, &scratch, fn, &tree, an);
    for_each_block(b, fn) {
        if (!loop_of(an_loops(an), b))
            put_node(out, &scratch, fn, b, an);
    }
    u32 *seen_from = arena_array(&arena, u32, fn->blocks.n);
    for_each_block(b, fn)
        put_edges(out, fn, b, seen_from);
    fputs("}\n", out);
    fclose(scratch.file);
    free(scratch.text);
    arena_free(&arena);
}

/* ---- files ----------------------------------------------------------------------------------------------------- */

static bool is_file_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-' || c == '.';
}

char *dot_file_name(Arena *arena, const Name *function)
{
    char stem[FILE_STEM + 4];
    u32 len = 0, i = 0;
    for (; i < function->len && len < FILE_STEM; i++) {
        char c = function->text[i];
        if (is_file_char(c))
            stem[len++] = c;
        else
            len += (u32)snprintf(stem + len, 4, "%%%02X", (unsigned)(unsigned char)c);
    }
    stem[len] = '\0';
    if (i == function->len)
        return arena_printf(arena, "%s.dot", stem);
    return arena_printf(arena, "%s-%08x.dot", stem, function->hash);
}

bool dot_write(const char *dir, const Function *fn, Analyses *an)
{
    Arena arena = {0};
    Output output;
    bool ok = output_open(&output, arena_printf(&arena, "%s/%s", dir, dot_file_name(&arena, fn->name)));
    if (ok) {
        print_graph(output.file, fn, an);
        ok = output_commit(&output);
    }
    int error = errno;
    arena_free(&arena);
    errno = error;
    return ok;
}
