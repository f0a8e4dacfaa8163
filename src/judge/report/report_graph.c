/* Control-flow graphs as SVG. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "judge/ptxas/child.h"
#include "judge/ptxas/real.h"
#include "judge/report/report_page.h"
#include "pipeline/dot.h"

enum { DOT_SECONDS = 20, DOT_MOST_BLOCKS = 400, MOST_BLOCKS = 2000 };

/* Pixels of the column. */
enum { WIDTH = 250, HEIGHT = 32, STEP = 44, LINE = 13, MARGIN = 8, LANE = 7, LANES = 24 };

bool report_has_dot(Report *report) { return real_search_path(&report->arena, "dot") != NULL; }

enum { LAST_SHOWN = 40 /* characters of a block's last instruction */ };

static void put_label(FILE *out, const ReportGraph *graph, u32 b)
{
    const ReportBlock *block = &graph->block.v[b];
    fprintf(out, "%s%s%u instruction%s", block->label ? block->label : "", block->label ? ": " : "", block->instructions,
            block->instructions == 1 ? "" : "s");
    if (block->line)
        fprintf(out, ", line %u", block->line);
}

/* The beginning of a block's last instruction. */
static char *last_of(Arena *arena, const ReportBlock *block)
{
    bool is_long = block->last.len > LAST_SHOWN;
    return arena_printf(arena, "%.*s%s", is_long ? LAST_SHOWN : (int)block->last.len, block->last.p, is_long ? "..." : "");
}

/* ---- by dot ------------------------------------------------------------------------------------------------------- */

static void put_dot(FILE *out, Arena *arena, const ReportGraph *graph)
{
    fputs("digraph { bgcolor=transparent; node [shape=box, fontname=\"sans-serif\", fontsize=10, height=0.3];\n"
          "edge [arrowsize=0.6]; ranksep=0.25; nodesep=0.2;\n",
          out);
    for (u32 b = 0; b < graph->block.n; b++) {
        fprintf(out, "b%u [label=\"", b);
        put_label(out, graph, b);
        fputs("\\n", out);
        char *last = last_of(arena, &graph->block.v[b]);
        dot_put_text(out, last, strlen(last));
        fprintf(out, "\", class=\"%s\"];\n", graph->block.v[b].is_new ? "fresh" : "kept");
    }
    for (u32 b = 0; b < graph->block.n; b++)
        for (u32 i = 0; i < graph->block.v[b].to.n; i++)
            fprintf(out, "b%u -> b%u [class=\"%s\"];\n", b, graph->block.v[b].to.v[i],
                    graph->block.v[b].to.v[i] <= b ? "back" : "on");
    fputs("}\n", out);
}

/* A child that runs dot: from one file to another. */
typedef struct DotCall {
    const char *path;
    char **argv;
    int out, status;
} DotCall;

static int start_dot(void *user, u32 index)
{
    const DotCall *call = user;
    (void)index;
    return child_start(call->path, call->argv, call->out, -1);
}

static void end_dot(void *user, u32 index, int status, bool in_time)
{
    DotCall *call = user;
    (void)index;
    call->status = in_time ? status : -1;
}

/* The SVG element that dot makes; NULL. To be freed. */
static char *run_dot(Report *report, const ReportGraph *graph)
{
    static char name[] = "dot", format[] = "-Tsvg";
    Scratch in = {.fd = -1}, out = {.fd = -1};
    const char *path = graph->block.n <= DOT_MOST_BLOCKS ? real_search_path(&report->arena, "dot") : NULL;
    char *svg = NULL;
    if (path && scratch_open(&in) && scratch_open(&out)) {
        FILE *text = fopen(in.path, "we");
        if (text) {
            put_dot(text, &report->arena, graph);
            fclose(text);
        }
        DotCall call = {path, (char *[]){name, format, in.path, NULL}, out.fd, -1};
        const ChildCrowd crowd = {start_dot, end_dot, &call, 1, DOT_SECONDS, 0, false};
        child_run_all(&crowd, 1);
        size_t bytes;
        svg = call.status == 0 ? scratch_read(&out, &bytes) : NULL;
    }
    scratch_close(&in);
    scratch_close(&out);
    return svg;
}

/* Writes the graph without the ids of dot's, which would stand several times in a page. The title of a block, "b12", becomes its text,
 * which a pointer shows. */
static void put_page_graph(FILE *out, const ReportGraph *graph, const char *from, const char *end)
{
    static const char id[] = " id=\"", title[] = "<title>b";
    while (from < end) {
        char *rest;
        unsigned long block = strncmp(from, title, sizeof title - 1) == 0 ? strtoul(from + sizeof title - 1, &rest, 10) : 0;
        if (strncmp(from, id, sizeof id - 1) == 0) {
            from += sizeof id - 1;
            from += strcspn(from, "\"") + 1;
        } else if (strncmp(from, title, sizeof title - 1) == 0 && *rest == '<' && block < graph->block.n) {
            fputs("<title>", out);
            report_page_text(out, graph->block.v[block].text);
            from = rest;
        } else {
            putc(*from++, out);
        }
    }
}

/* The element begins as the page wants it: a picture is made as small as half its size to fit. */
static void put_start(FILE *out, int width, int height)
{
    fprintf(out,
            "<svg class=\"cfg\" role=\"img\" style=\"min-width:%dpx\" width=\"%d\" height=\"%d\" viewBox=\"0 0 %d %d\">\n",
            width / 2, width, height, width, height);
}

static bool put_by_dot(FILE *out, Report *report, const ReportGraph *graph)
{
    char *svg = run_dot(report, graph), *start = svg ? strstr(svg, "<svg") : NULL;
    char *box = start ? strstr(start, "viewBox=") : NULL, *body = box ? strchr(box, '>') : NULL;
    double width = 0, height = 0;
    bool good = body && sscanf(box, "viewBox=\"%*f %*f %lf %lf\"", &width, &height) == 2 && width > 0;
    if (good) {
        put_start(out, (int)width, (int)height);
        put_page_graph(out, graph, body + 1, body + strlen(body));
    }
    free(svg);
    return good;
}

/* ---- blocks in a column ------------------------------------------------------------------------------------------- */

static u32 lane_of(u32 from, u32 to) { return (from > to ? from - to : to - from) % LANES; }

/* Edges on run to the right of the blocks, edges back to the left. */
static void put_arc(FILE *out, u32 from, u32 to)
{
    bool back = to <= from;
    int left = MARGIN + LANES * LANE, x = back ? left : left + WIDTH;
    int reach = LANE * (int)(1 + lane_of(from, to)) * (back ? -1 : 1);
    int y1 = MARGIN + (int)from * STEP + HEIGHT / 2 + 3, y2 = MARGIN + (int)to * STEP + HEIGHT / 2 - 3;
    fprintf(out, "<g class=\"%s edge\"><path fill=\"none\" d=\"M%d %dC%d %d %d %d %d %d\"/>", back ? "back" : "on", x, y1,
            x + reach, y1, x + reach, y2, x, y2);
    fprintf(out, "<polygon points=\"%d,%d %d,%d %d,%d\"/></g>\n", x, y2, x + (back ? -5 : 5), y2 - 3, x + (back ? -5 : 5),
            y2 + 3);
}

static void put_box(FILE *out, Arena *arena, const ReportGraph *graph, u32 b, int left, int y)
{
    static const char text[] = "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\" font-size=\"10\">";
    const ReportBlock *block = &graph->block.v[b];
    fprintf(out, "<g class=\"node %s\"><title>", block->is_new ? "fresh" : "kept");
    report_page_text(out, block->text);
    fprintf(out, "</title><polygon points=\"%d,%d %d,%d %d,%d %d,%d\"/>", left, y, left + WIDTH, y, left + WIDTH,
            y + HEIGHT, left, y + HEIGHT);
    fprintf(out, text, left + WIDTH / 2, y + LINE);
    put_label(out, graph, b);
    fputs("</text>", out);
    fprintf(out, text, left + WIDTH / 2, y + 2 * LINE);
    report_page_text(out, last_of(arena, block));
    fputs("</text></g>\n", out);
}

static void put_column(FILE *out, Arena *arena, const ReportGraph *graph)
{
    int width = 2 * (MARGIN + LANES * LANE) + WIDTH, height = 2 * MARGIN + (int)graph->block.n * STEP;
    int left = MARGIN + LANES * LANE;
    put_start(out, width, height);
    for (u32 b = 0; b < graph->block.n; b++) {
        const ReportBlock *block = &graph->block.v[b];
        int y = MARGIN + (int)b * STEP;
        put_box(out, arena, graph, b, left, y);
        for (u32 i = 0; i < block->to.n; i++) {
            if (block->falls && i + 1 == block->to.n && block->to.v[i] == b + 1)
                fprintf(out, "<g class=\"on edge\"><path d=\"M%d %dV%d\"/></g>\n", left + WIDTH / 2, y + HEIGHT, y + STEP);
            else
                put_arc(out, b, block->to.v[i]);
        }
    }
    fputs("</svg>\n", out);
}

void report_put_graph(FILE *out, Report *report, const ReportGraph *graph)
{
    if (graph->block.n == 0 || graph->block.n > MOST_BLOCKS)
        fprintf(out, "<p>%u blocks: no picture</p>\n", graph->block.n);
    else if (!put_by_dot(out, report, graph))
        put_column(out, &report->arena, graph);
}
