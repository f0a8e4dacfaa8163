/* gpu_check: runs images of one module on the GPU, as a launch description says, compares their outputs and the module's
 * .global variables with those of the first image bit for bit, and times them.
 *
 *     gpu_check [--repeat=N] FILE.ptx NAME.launch IMAGE...
 *     gpu_check --values FILE.ptx NAME.launch IMAGE   the outputs, as ptxrun --brief prints them
 *     gpu_check --plan FILE.ptx NAME.launch           what would run, on which data; needs no GPU
 *     gpu_check --device                              the device: its target (sm_90) and its name
 *
 * FILE.ptx is what the images were made of before ptxopt: it says which variables there are. An image is a cubin, or PTX that the
 * driver compiles. The images' runs alternate; the time of a launch is the median of N (default 21) of all its kernels together,
 * in microseconds.
 *
 * Exit status: 0 the same; 1 differences, or the device reported an error; 2 usage, or input that cannot be read; 77 there is
 * no GPU. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gpu_run.h"
#include "parse/parse.h"
#include "base/source.h"

enum { EXIT_SAME, EXIT_DIFFERENT, EXIT_USAGE, EXIT_NO_GPU = 77 };
enum { MOST_REPEATS = 1001, MOST_IMAGES = 8 };

typedef struct Options {
    bool plan, device, values;
    u32 repeat;
    const char *module, *launch;
    const char *image[MOST_IMAGES];
    u32 images;
} Options;

/* ---- input ------------------------------------------------------------------------------------------------------- */

typedef struct Input {
    Arena arena;
    Str module_text, launch_text;
    Diag diag;
    Module *module;
    LaunchFile launches;
    const char **variables;
} Input;

static const char **global_variables(Arena *arena, const Module *module)
{
    const char **names = arena_array(arena, const char *, module->syms.n + 1);
    u32 n = 0;
    for (u32 i = 1; i < module->syms.n; i++) {
        const Sym *sym = &module->syms.v[i];
        if (sym->kind == SYM_VAR && sym->space == SPACE_GLOBAL && !sym->owner && !sym->is_extern)
            names[n++] = sym->name->text;
    }
    return names;
}

static bool read_input(Input *in, const char *module, const char *launch)
{
    if (!source_read(module, &in->module_text)) {
        perror(module);
        return false;
    }
    diag_init(&in->diag, stderr, module, in->module_text);
    in->module = parse_module_strict(&in->arena, module, in->module_text, &in->diag);
    if (in->diag.errors)
        return false;
    in->variables = global_variables(&in->arena, in->module);
    if (!source_read(launch, &in->launch_text)) {
        perror(launch);
        return false;
    }
    return launch_parse(&in->arena, launch, in->launch_text, &in->launches);
}

static void free_input(Input *in)
{
    launch_free(&in->launches);
    if (in->module)
        module_free(in->module);
    diag_free(&in->diag);
    source_free(&in->module_text);
    source_free(&in->launch_text);
    arena_free(&in->arena);
}

/* ---- the plan ---------------------------------------------------------------------------------------------------- */

static u64 hash_of(const u8 *bytes, u64 count)
{
    u64 hash = 0xcbf29ce484222325;
    for (u64 i = 0; i < count; i++)
        hash = (hash ^ bytes[i]) * 0x100000001b3;
    return hash;
}

static void print_kernel(const Launch *launch, const LaunchKernel *k)
{
    printf("    kernel %s grid %ux%ux%u block %ux%ux%u shared %u args", k->name, k->grid[0], k->grid[1], k->grid[2],
           k->block[0], k->block[1], k->block[2], k->shared);
    for (u32 i = 0; i < k->args.n; i++) {
        const LaunchArg *a = &k->args.v[i];
        if (a->buffer >= 0) {
            printf(" %s+%" PRIu64, launch->buffers.v[a->buffer].name, a->offset);
            if (a->bytes == 8)
                continue;
        }
        putchar(' ');
        for (u32 byte = a->buffer >= 0 ? 8 : 0; byte < a->bytes; byte++)
            printf("%02x", a->value[byte]);
    }
    putchar('\n');
}

static void print_plan(const Input *in)
{
    for (const char **name = in->variables; *name; name++)
        printf("variable %s\n", *name);
    for (u32 i = 0; i < in->launches.launches.n; i++) {
        const Launch *launch = &in->launches.launches.v[i];
        printf("launch %s\n", launch->label);
        for (u32 b = 0; b < launch->buffers.n; b++) {
            const LaunchBuffer *buffer = &launch->buffers.v[b];
            printf("    buffer %s bytes %" PRIu64 " hash %016" PRIx64 "%s\n", buffer->name, buffer->bytes,
                   hash_of(buffer->fill, buffer->bytes), buffer->output ? " output" : "");
        }
        for (u32 k = 0; k < launch->kernels.n; k++)
            print_kernel(launch, &launch->kernels.v[k]);
    }
}

/* ---- the images -------------------------------------------------------------------------------------------------- */

/* `a`: what the first image left in its memory i. */
static bool same_memory(GpuRun *before, u32 i, const u8 *a, GpuRun *after, u32 k)
{
    const GpuMemory *m = &before->memory.v[i];
    u8 *b = gpu_contents(after, k);
    u64 at = 0;
    while (a && b && at < m->bytes && a[at] == b[at])
        at++;
    bool same = a && b && at == m->bytes;
    if (!same)
        printf("difference launch=%s image=%s output=%s byte=%" PRIu64 "\n", before->launch->label, after->image, m->name,
               at);
    free(b);
    return same;
}

/* What a run has left in each of its memories: to be freed, as is the array. */
static u8 **all_contents(GpuRun *run)
{
    u8 **contents = mem_zalloc(sizeof *contents * (run->memory.n + 1));
    for (u32 i = 0; i < run->memory.n; i++)
        contents[i] = run->memory.v[i].output ? gpu_contents(run, i) : NULL;
    return contents;
}

static void free_contents(const GpuRun *run, u8 **contents)
{
    for (u32 i = 0; i < run->memory.n; i++)
        free(contents[i]);
    free(contents);
}

/* Compares the memory that counts; variables by name: one that only one of them has is no difference. */
static bool compare_memory(GpuRun *before, u8 *const *left, GpuRun *after)
{
    bool same = true;
    for (u32 i = 0; i < before->memory.n; i++) {
        const GpuMemory *m = &before->memory.v[i];
        u32 k = 0;
        while (k < after->memory.n &&
               (after->memory.v[k].is_buffer != m->is_buffer || strcmp(after->memory.v[k].name, m->name)))
            k++;
        if (m->output && k < after->memory.n && after->memory.v[k].bytes == m->bytes)
            same &= same_memory(before, i, left[i], after, k);
    }
    return same;
}

static int by_value(const void *a, const void *b)
{
    float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

static float median(float *times, u32 count)
{
    qsort(times, count, sizeof *times, by_value);
    return times[count / 2];
}

static bool failed(const GpuRun *run)
{
    printf("error launch=%s image=%s %s\n", run->launch->label, run->image, run->why);
    return false;
}

static void print_times(const Launch *launch, bool same, float times[][MOST_REPEATS], const Options *o)
{
    printf("gpu launch=%s kernels=%u kernel=%s result=%s us=", launch->label, launch->kernels.n, launch->kernels.v[0].name,
           same ? "same" : "different");
    for (u32 m = 0; m < o->images; m++)
        printf("%s%.2f", m ? "," : "", 1000.0 * median(times[m], o->repeat));
    putchar('\n');
}

/* Runs each image once, and compares what it leaves with what the first one did. Not timed: it also warms up. */
static bool run_and_compare(GpuRun *run, const Options *o, bool *same)
{
    float ignored;
    u8 **left = NULL;
    bool ran = true;
    for (u32 m = 0; m < o->images && ran; m++) {
        ran = gpu_run(&run[m], &ignored) || failed(&run[m]);
        if (ran && !m)
            left = all_contents(&run[0]);
        else if (ran)
            *same &= compare_memory(&run[0], left, &run[m]);
    }
    if (left)
        free_contents(&run[0], left);
    return ran;
}

static bool measure(GpuRun *run, const Options *o)
{
    static float times[MOST_IMAGES][MOST_REPEATS];
    bool same = true;
    if (!run_and_compare(run, o, &same))
        return false;
    for (u32 r = 0; r < o->repeat; r++)
        for (u32 m = 0; m < o->images; m++)
            if (!gpu_run(&run[m], &times[m][r]))
                return failed(&run[m]);
    print_times(run->launch, same, times, o);
    return same;
}

static bool print_values(GpuRun *run)
{
    float ignored;
    if (!gpu_run(run, &ignored))
        return failed(run);
    printf("launch %s\n", run->launch->label);
    for (u32 i = 0; i < run->launch->buffers.n; i++) {
        u8 *contents = run->launch->buffers.v[i].output ? gpu_contents(run, i) : NULL;
        if (contents)
            launch_print_values(&run->launch->buffers.v[i], contents);
        free(contents);
    }
    return true;
}

static bool check_launch(const Cuda *cuda, const Input *in, const Launch *launch, const Options *o)
{
    GpuRun run[MOST_IMAGES] = {0};
    GpuBuffers buffers = {0};
    bool open = buffers_make(&buffers, cuda, launch);
    if (!open)
        printf("error launch=%s: no memory for the buffers\n", launch->label);
    for (u32 m = 0; m < o->images && open; m++)
        open = gpu_open(&run[m], cuda, launch, o->image[m], &buffers, in->variables) || failed(&run[m]);
    bool same = open && (o->values ? print_values(&run[0]) : measure(run, o));
    for (u32 m = 0; m < o->images; m++)
        if (run[m].cuda)
            gpu_close(&run[m]);
    buffers_free(&buffers, cuda);
    return same;
}

static int check_all(const Input *in, const Options *o)
{
    Cuda cuda = {0};
    const char *why;
    int status = EXIT_SAME;
    if (!cuda_open(&cuda, &why)) {
        fprintf(stderr, "no GPU: %s\n", why);
        return EXIT_NO_GPU;
    }
    if (o->device) {
        printf("sm_%d%d %s\n", cuda.major, cuda.minor, cuda.name);
        return EXIT_SAME;
    }
    for (u32 i = 0; i < in->launches.launches.n; i++) /* an error of the device lets all that follow fail */
        if (!check_launch(&cuda, in, &in->launches.launches.v[i], o))
            status = EXIT_DIFFERENT;
    return status;
}

/* ---- the command line -------------------------------------------------------------------------------------------- */

static bool parse_file(Options *o, const char *file)
{
    if (!o->module)
        o->module = file;
    else if (!o->launch)
        o->launch = file;
    else if (o->images < MOST_IMAGES)
        o->image[o->images++] = file;
    else
        return false;
    return true;
}

static bool parse_options(Options *o, int argc, char **argv)
{
    o->repeat = 21;
    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "--plan"))
            o->plan = true;
        else if (!strcmp(argv[i], "--device"))
            o->device = true;
        else if (!strcmp(argv[i], "--values"))
            o->values = true;
        else if (!strncmp(argv[i], "--repeat=", 9))
            o->repeat = (u32)strtoul(argv[i] + 9, NULL, 10);
        else if (argv[i][0] == '-' || !parse_file(o, argv[i]))
            return false;
    }
    u32 least = o->plan ? 0 : o->values ? 1 : 2, most = o->plan ? 0 : o->values ? 1 : MOST_IMAGES;
    bool files = o->device ? !o->module : o->launch && o->images >= least && o->images <= most;
    return files && o->repeat > 0 && o->repeat <= MOST_REPEATS;
}

int main(int argc, char **argv)
{
    Options o = {0};
    Input in = {0};
    int status = EXIT_USAGE;
    if (!parse_options(&o, argc, argv)) {
        fputs("usage: gpu_check [--repeat=N] FILE.ptx NAME.launch IMAGE IMAGE...\n"
              "       gpu_check --values FILE.ptx NAME.launch IMAGE\n"
              "       gpu_check --plan FILE.ptx NAME.launch\n"
              "       gpu_check --device\n",
              stderr);
        return EXIT_USAGE;
    }
    if (o.device)
        return check_all(&in, &o);
    if (read_input(&in, o.module, o.launch)) {
        if (o.plan)
            print_plan(&in);
        status = o.plan ? EXIT_SAME : check_all(&in, &o);
    }
    free_input(&in);
    return status;
}
