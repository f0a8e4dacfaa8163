#include <stdlib.h>
#include <string.h>

#include "print.h"

/* Pixels. */
enum {
    MARGIN = 24,
    ROW = 17,
    CELL = 50,
    LABEL = 250,
    COLUMNS = 2,
    GAP = 32,
    TOP = 84,
    BAR_HEIGHT = 20,
    BAR_ROW = 26,
    SHOWN = 38 /* characters of a label */
};
enum { COLUMN = LABEL + TARGETS * CELL, WIDTH = 2 * MARGIN + COLUMNS * COLUMN + (COLUMNS - 1) * GAP };

/* In the order of the bars. */
static const Verdict order[] = {VERDICT_UNROLLED, VERDICT_BETTER, VERDICT_SAME, VERDICT_LISTED, VERDICT_WORSE};
enum { ORDERED = sizeof order / sizeof *order };

static const struct {
    const char *fill, *ink, *name;
} look[] = {
    [VERDICT_NONE] = {"#ffffff", "#999999", "not assembled"},
    [VERDICT_SAME] = {"#e8eaed", "#5f6368", "same"},
    [VERDICT_BETTER] = {"#81c995", "#0d3c1c", "better"},
    [VERDICT_UNROLLED] = {"#1a73e8", "#ffffff", "loop newly unrolled"},
    [VERDICT_LISTED] = {"#fdd663", "#5a4300", "worse, listed with a reason"},
    [VERDICT_WORSE] = {"#d93025", "#ffffff", "worse"},
};

static void text(FILE *out, int x, int y, const char *anchor, const char *ink, int size, const char *words)
{
    fprintf(out, "<text x=\"%d\" y=\"%d\" text-anchor=\"%s\" fill=\"%s\" font-size=\"%d\">", x, y, anchor, ink, size);
    for (; *words; words++) {
        switch (*words) {
        case '<': fputs("&lt;", out); break;
        case '>': fputs("&gt;", out); break;
        case '&': fputs("&amp;", out); break;
        default: fputc(*words, out);
        }
    }
    fputs("</text>\n", out);
}

static void box(FILE *out, int x, int y, int width, int height, const char *fill)
{
    fprintf(out, "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" fill=\"%s\"/>\n", x, y, width, height, fill);
}

static void legend(FILE *out, int y)
{
    int x = MARGIN;
    for (int i = 0; i < ORDERED; i++) {
        box(out, x, y - 11, 14, 14, look[order[i]].fill);
        text(out, x + 20, y, "start", "#202124", 12, look[order[i]].name);
        x += 40 + 6 * (int)strlen(look[order[i]].name);
    }
    text(out, x, y, "start", "#5f6368", 12, "number: machine instructions more or fewer");
}

/* ---- one bar for each producer and target ------------------------------------------------------------------------ */

static void bar(FILE *out, const Sum *sum, int x, int y, int width)
{
    unsigned done = 0;
    for (int i = 0; i < ORDERED; i++) {
        unsigned count = sum->verdict[order[i]];
        if (!count)
            continue;
        int from = (int)((unsigned)width * done / sum->kernels),
            to = (int)((unsigned)width * (done + count) / sum->kernels);
        char words[16];
        box(out, x + from, y, to - from, BAR_HEIGHT, look[order[i]].fill);
        snprintf(words, sizeof words, "%u", count);
        if (to - from > 7 * (int)strlen(words))
            text(out, x + (from + to) / 2, y + 14, "middle", look[order[i]].ink, 11, words);
        done += count;
    }
}

static int bars(FILE *out, const Table *table, int y)
{
    for (const char *const *producer = table_producers(); *producer; producer++) {
        bool any = false;
        for (int t = 0; t < TARGETS; t++) {
            Sum sum = table_sum(table, *producer, t);
            char words[64];
            if (!sum.kernels)
                continue;
            if (!any)
                text(out, MARGIN, y + 15, "start", "#202124", 14, *producer);
            snprintf(words, sizeof words, "sm_%u", target_sm[t]);
            text(out, MARGIN + 110, y + 15, "end", "#5f6368", 12, words);
            bar(out, &sum, MARGIN + 120, y, WIDTH - 2 * MARGIN - 230);
            snprintf(words, sizeof words, "%u kernels", sum.kernels);
            text(out, WIDTH - MARGIN, y + 15, "end", "#5f6368", 12, words);
            y += BAR_ROW;
            any = true;
        }
        y += any ? 10 : 0;
    }
    return y;
}

/* ---- one row for each kernel whose text changed ------------------------------------------------------------------ */

static Verdict worst(const Kernel *k)
{
    Verdict verdict = VERDICT_NONE;
    for (int t = 0; t < TARGETS; t++)
        if (k->result[t].verdict > verdict)
            verdict = k->result[t].verdict;
    return verdict;
}

static long gain(const Kernel *k)
{
    long sum = 0;
    for (int t = 0; t < TARGETS; t++)
        sum += (long)k->result[t].before.figure[FIG_INSTR] - (long)k->result[t].after.figure[FIG_INSTR];
    return sum;
}

/* Worse ones first, then those with an unrolled loop, then the most instructions gained. */
static int by_interest(const void *a, const void *b)
{
    const Kernel *x = *(const Kernel *const *)a, *y = *(const Kernel *const *)b;
    if (worst(x) != worst(y))
        return worst(x) > worst(y) ? -1 : 1;
    if (gain(x) != gain(y))
        return gain(x) > gain(y) ? -1 : 1;
    return x < y ? -1 : x > y;
}

static void kernel_row(FILE *out, const Kernel *k, int x, int y)
{
    char label[SHOWN + 1], words[24];
    if (snprintf(label, sizeof label, "%s.%s %s", k->example, k->producer, k->name) >= (int)sizeof label)
        memcpy(label + SHOWN - 3, "...", 3);
    text(out, x + LABEL - 8, y + 12, "end", "#202124", 11, label);
    for (int t = 0; t < TARGETS; t++) {
        const Result *r = &k->result[t];
        long change = (long)r->after.figure[FIG_INSTR] - (long)r->before.figure[FIG_INSTR];
        int left = x + LABEL + t * CELL;
        box(out, left, y, CELL - 2, ROW - 2, look[r->verdict].fill);
        snprintf(words, sizeof words, change ? "%+ld" : "0", change);
        text(out, left + CELL / 2 - 1, y + 12, "middle", look[r->verdict].ink, 11, r->verdict ? words : "-");
    }
}

static void column_heads(FILE *out, int x, int y)
{
    char words[16];
    for (int t = 0; t < TARGETS; t++) {
        snprintf(words, sizeof words, "sm_%u", target_sm[t]);
        text(out, x + LABEL + t * CELL + CELL / 2 - 1, y, "middle", "#5f6368", 11, words);
    }
}

static int rows_of(size_t kernels) { return ((int)kernels + COLUMNS - 1) / COLUMNS; }

static void kernels(FILE *out, const Kernel **shown, size_t count, int y)
{
    int rows = rows_of(count);
    for (int column = 0; column < COLUMNS && (size_t)(column * rows) < count; column++) {
        int x = MARGIN + column * (COLUMN + GAP);
        column_heads(out, x, y - 6);
        for (int row = 0; row < rows && (size_t)(column * rows + row) < count; row++)
            kernel_row(out, shown[column * rows + row], x, y + row * ROW);
    }
}

void print_svg(FILE *out, const Table *table, const char *level)
{
    const Kernel **shown = grow(NULL, table->count, sizeof *shown);
    size_t count = 0;
    int height = TOP + 60, y;
    char words[160];
    for (size_t i = 0; i < table->count; i++)
        if (table->kernel[i].changed && worst(&table->kernel[i]) != VERDICT_NONE)
            shown[count++] = &table->kernel[i];
    qsort(shown, count, sizeof *shown, by_interest);
    for (const char *const *producer = table_producers(); *producer; producer++)
        for (int t = 0; t < TARGETS; t++)
            height += table_sum(table, *producer, t).kernels ? BAR_ROW + 2 : 0;
    height += rows_of(count) * ROW + MARGIN;
    fprintf(out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" viewBox=\"0 0 %d %d\""
            " font-family=\"sans-serif\">\n",
            WIDTH, height, WIDTH, height);
    box(out, 0, 0, WIDTH, height, "#ffffff");
    snprintf(words, sizeof words, "Machine code of the examples, before and after ptxopt %s", level);
    text(out, MARGIN, 34, "start", "#202124", 20, words);
    legend(out, 60);
    y = bars(out, table, TOP) + 18;
    snprintf(words, sizeof words, "The %zu kernels whose text changed, of %zu", count, table->count);
    text(out, MARGIN, y, "start", "#202124", 14, words);
    kernels(out, shown, count, y + 28);
    fputs("</svg>\n", out);
    free(shown);
}
