/* cubinstat: counts what ptxas made of each kernel. Reads a cubin, prints one row a function. */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "judge/machine/cubin.h"
#include "judge/machine/flow.h"
#include "judge/machine/sass.h"
#include "judge/machine/unit.h"

/* COLUMN(id, name, text): the figures that are not a class of instructions; those follow COL_CLASSES. */
#define COLUMNS_BEFORE(COLUMN)                                                                                        \
    COLUMN(INSTR, "instr", "instructions that can run: without the padding after the last one")                       \
    COLUMN(PAD, "pad", "padding: `BRA .` and NOPs after the last instruction")                                        \
    COLUMN(REGS, "regs", "registers a thread")                                                                        \
    COLUMN(STACK, "stack", "bytes of stack frame, spills included")                                                   \
    COLUMN(SPILL_ST, "spill_st", "bytes stored by spills, as ptxas -v counts them; of ptxas before 12.9, by all STL") \
    COLUMN(SPILL_LD, "spill_ld", "bytes loaded by refills, or by all LDL")                                            \
    COLUMN(SHARED, "smem", "bytes of static shared memory")                                                           \
    COLUMN(BARRIERS, "barriers", "named barriers")                                                                    \
    COLUMN(BYTES, "bytes", "code bytes, padding included")                                                            \
    COLUMN(LOOPS, "loops", "natural loops")                                                                           \
    COLUMN(LOOP_INSTR, "loop_instr", "instructions inside innermost loops")                                           \
    COLUMN(IRREDUCIBLE, "irreducible", "back edges that enter no natural loop")

typedef enum Column {
#define COLUMN_ID(id, name, text) COL_##id,
    COLUMNS_BEFORE(COLUMN_ID) COL_CLASSES,
    COL_COUNT = COL_CLASSES + SASS_CLASS_COUNT
} Column;

static const char *const column_names[COL_COUNT] = {
#define COLUMN_NAME(id, name, text) [COL_##id] = name,
    COLUMNS_BEFORE(COLUMN_NAME)
#define SASS_CLASS(id, column, text) [COL_CLASSES + SASS_##id] = column,
#include "judge/machine/sass_classes.def"
};

static const char *const column_texts[COL_COUNT] = {
#define COLUMN_TEXT(id, name, text) [COL_##id] = text,
    COLUMNS_BEFORE(COLUMN_TEXT)
#define SASS_CLASS(id, column, text) [COL_CLASSES + SASS_##id] = text,
#include "judge/machine/sass_classes.def"
};

typedef struct Row {
    const CubinFunction *function;
    unsigned sm;
    SassCode code;
    unsigned long values[COL_COUNT]; /* see shared_column */
} Row;

typedef enum StatFormat {
    FORMAT_TABLE,
    FORMAT_TSV,
    FORMAT_LOOPS,
    FORMAT_BLOCKS,
    FORMAT_TARGETS,
    FORMAT_SCHEDULE
} StatFormat;

typedef struct StatOptions {
    StatFormat format;
    const char *kernel;
} StatOptions;

/* The first column of that name: classes that share one are counted in it. */
static int shared_column(int column)
{
    for (int i = 0; i < column && column_names[column]; i++)
        if (column_names[i] && !strcmp(column_names[i], column_names[column]))
            return i;
    return column;
}

static bool own_column(int column) { return column_names[column] && shared_column(column) == column; }

static bool read_row(Row *row, const CubinFunction *function, unsigned sm)
{
    *row = (Row){.function = function, .sm = sm};
    if (!sass_read(&row->code, function, sm))
        return false;
    unsigned long *values = row->values;
    values[COL_INSTR] = row->code.count;
    values[COL_PAD] = row->code.padding;
    values[COL_REGS] = function->registers;
    values[COL_STACK] = function->stack;
    values[COL_SHARED] = function->shared;
    values[COL_BARRIERS] = function->barriers;
    values[COL_BYTES] = function->end - function->begin;
    values[COL_LOOPS] = row->code.loop_count;
    values[COL_IRREDUCIBLE] = row->code.irreducible;
    for (size_t i = 0; i < row->code.loop_count; i++)
        if (row->code.loops[i].innermost)
            values[COL_LOOP_INSTR] += row->code.loops[i].instructions;
    for (size_t i = 0; i < row->code.count; i++)
        values[shared_column(COL_CLASSES + (int)row->code.instrs[i].class)]++;
    sass_add_spills(&row->code, function, sm, &values[COL_SPILL_ST], &values[COL_SPILL_LD]);
    return true;
}

static void print_loop_sizes(const Row *row)
{
    for (size_t i = 0; i < row->code.loop_count; i++)
        printf("%s%u", i ? "/" : "", row->code.loops[i].instructions);
    if (!row->code.loop_count)
        putchar('-');
}

static void print_tsv(const Row *rows, size_t count)
{
    fputs("kernel\tkind\tsm\tloop_sizes", stdout);
    for (int c = 0; c < COL_COUNT; c++)
        if (own_column(c))
            printf("\t%s", column_names[c]);
    putchar('\n');
    for (size_t i = 0; i < count; i++) {
        const Row *row = &rows[i];
        printf("%s\t%s\t%u\t", row->function->name, row->function->kernel ? "kernel" : "function", row->sm);
        print_loop_sizes(row);
        for (int c = 0; c < COL_COUNT; c++)
            if (own_column(c))
                printf("\t%lu", row->values[c]);
        putchar('\n');
    }
}

/* One function a paragraph; figures that are zero are left out. */
static void print_table(const Row *rows, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const Row *row = &rows[i];
        printf("%s (%s, sm_%u)\n", row->function->name, row->function->kernel ? "kernel" : "function", row->sm);
        int on_line = 0;
        for (int c = 0; c < COL_COUNT; c++) {
            if (!own_column(c) || (!row->values[c] && c != COL_LOOPS))
                continue;
            printf("%s%-10s %6lu", on_line++ % 5 ? "    " : on_line > 1 ? "\n  " : "  ", column_names[c], row->values[c]);
        }
        printf("\n  loop sizes ");
        print_loop_sizes(row);
        putchar('\n');
    }
}

static void print_loops(const Row *rows, size_t count)
{
    puts("kernel\theader\tdepth\tinnermost\tlatches\tinstr\tbra\tfma\tmma\tldg\tstg\tlds\tsts\tcycles\twaits");
    for (size_t i = 0; i < count; i++) {
        for (size_t k = 0; k < rows[i].code.loop_count; k++) {
            const SassLoop *loop = &rows[i].code.loops[k];
            printf("%s\t%#x\t%u\t%s\t%u\t%u", rows[i].function->name, loop->header, loop->depth,
                   loop->innermost ? "yes" : "no", loop->latches, loop->instructions);
            static const SassClass shown[] = {SASS_BRA, SASS_FMA, SASS_MMA, SASS_LDG, SASS_STG, SASS_LDS, SASS_STS};
            for (size_t s = 0; s < sizeof shown / sizeof *shown; s++)
                printf("\t%u", loop->classes[shown[s]]);
            printf("\t%u\t%u\n", loop->cycles, loop->waits);
        }
    }
}

static void print_blocks(const Row *rows, size_t count)
{
    puts("kernel\toffset\tdepth\tinstr\tcycles\twaits");
    for (size_t i = 0; i < count; i++) {
        const SassCode *code = &rows[i].code;
        for (int b = 0; b < code->block_count; b++) {
            const SassBlock *block = &code->blocks[b];
            unsigned waits = 0;
            for (size_t k = block->first; k <= block->last; k++)
                waits += code->instrs[k].schedule.waits != 0;
            printf("%s\t%u\t%u\t%zu\t%u\t%u\n", rows[i].function->name, code->instrs[block->first].offset,
                   block->loop == SASS_NONE ? 0 : code->loops[block->loop].depth, block->last - block->first + 1,
                   block->cycles, waits);
        }
    }
}

static void print_schedule(const Row *rows, size_t count)
{
    puts("kernel\toffset\tstall\tyield\tresult\toperands\twaits");
    for (size_t i = 0; i < count; i++) {
        for (size_t k = 0; k < rows[i].code.count; k++) {
            const SassInstr *instr = &rows[i].code.instrs[k];
            printf("%s\t%u\t%u\t%u\t%u\t%u\t%u\n", rows[i].function->name, instr->offset, instr->schedule.stall,
                   instr->schedule.yield, instr->schedule.result, instr->schedule.operands, instr->schedule.waits);
        }
    }
}

static void print_targets(const Row *rows, size_t count)
{
    puts("kernel\toffset\tto");
    for (size_t i = 0; i < count; i++) {
        for (size_t k = 0; k < rows[i].code.count; k++) {
            const SassInstr *instr = &rows[i].code.instrs[k];
            if (instr->has_target)
                printf("%s\t%u\t%lld\n", rows[i].function->name, instr->offset, (long long)instr->target);
        }
    }
}

static void print_help(void)
{
    puts("usage: cubinstat [options] FILE.cubin\n"
         "Counts the machine instructions of each kernel and function of a cubin, sm_75 to sm_120.\n\n"
         "  --tsv            one line a function under a header, tab separated; every column, always the same\n"
         "  --loops          one line a loop, tab separated; cycles are those of issuing an iteration\n"
         "  --blocks         one line a block\n"
         "  --targets        one line a BRA, BSSY or CALL.REL: where it stands and where it leads\n"
         "  --schedule       one line an instruction: cycles to stall, yield, scoreboards that are set (7: none) and "
         "waited for\n"
         "  --kernel=NAME    that function only\n"
         "  --help           this text\n\n"
         "columns (loop_sizes: instructions of each loop in the order of their headers):");
    for (int c = 0; c < COL_COUNT; c++)
        if (column_names[c])
            printf("  %-12s %s\n", own_column(c) ? column_names[c] : "", column_texts[c]);
}

static void (*const printers[])(const Row *rows, size_t count) = {
    [FORMAT_TABLE] = print_table,   [FORMAT_TSV] = print_tsv,         [FORMAT_LOOPS] = print_loops,
    [FORMAT_BLOCKS] = print_blocks, [FORMAT_TARGETS] = print_targets, [FORMAT_SCHEDULE] = print_schedule};

static int report(const char *path, const StatOptions *options)
{
    Cubin cubin;
    const char *fault = cubin_open(&cubin, path);
    if (fault) {
        fprintf(stderr, "cubinstat: %s: %s\n", path, fault);
        return 1;
    }
    Row *rows = mem_zalloc((cubin.count + 1) * sizeof *rows);
    size_t count = 0;
    bool good = true;
    for (size_t i = 0; i < cubin.count && good; i++)
        if (!options->kernel || !strcmp(options->kernel, cubin.functions[i].name))
            good = read_row(&rows[count++], &cubin.functions[i], cubin.sm);
    if (!good)
        fprintf(stderr, "cubinstat: %s: a function is too large\n", path);
    else if (options->kernel && !count)
        fprintf(stderr, "cubinstat: %s: no function %s\n", path, options->kernel);
    else
        printers[options->format](rows, count);
    good = good && (count || !options->kernel);
    for (size_t i = 0; i < count; i++)
        sass_free(&rows[i].code);
    mem_free(rows);
    cubin_close(&cubin);
    return good ? 0 : 1;
}

int main(int argc, char **argv)
{
    enum { KERNEL = 'k', HELP = 'h' };
    static const struct option known[] = {
        {"tsv", no_argument, NULL, FORMAT_TSV},
        {"loops", no_argument, NULL, FORMAT_LOOPS},
        {"blocks", no_argument, NULL, FORMAT_BLOCKS},
        {"targets", no_argument, NULL, FORMAT_TARGETS},
        {"schedule", no_argument, NULL, FORMAT_SCHEDULE},
        {"kernel", required_argument, NULL, KERNEL},
        {"help", no_argument, NULL, HELP},
        {NULL, 0, NULL, 0},
    };
    StatOptions options = {.format = FORMAT_TABLE};
    for (int option; (option = getopt_long(argc, argv, "", known, NULL)) != -1;) {
        switch (option) {
        case KERNEL: options.kernel = optarg; break;
        case HELP: print_help(); return 0;
        case '?': return 2;
        default: options.format = (StatFormat)option;
        }
    }
    if (optind + 1 != argc) {
        fprintf(stderr, "usage: cubinstat [options] FILE.cubin (see --help)\n");
        return 2;
    }
    return report(argv[optind], &options);
}
