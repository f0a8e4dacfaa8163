#include "gpu_run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool check(GpuRun *run, CudaStatus status, const char *what, const char *name)
{
    if (status && !run->why[0])
        snprintf(run->why, sizeof run->why, "%s %s: %s", what, name, cuda_error(run->cuda, status));
    return !status;
}

/* ---- set-up ------------------------------------------------------------------------------------------------------ */

/* Memory of the device, of at least one byte. */
static CudaStatus allocate(const Cuda *cuda, CudaPointer *address, size_t bytes)
{
    return cuda->allocate(address, bytes ? bytes : 1);
}

bool buffers_make(GpuBuffers *buffers, const Cuda *cuda, const Launch *launch)
{
    for (u32 i = 0; i < launch->buffers.n; i++) {
        const LaunchBuffer *b = &launch->buffers.v[i];
        GpuMemory m = {.name = b->name, .bytes = b->bytes, .is_buffer = true, .output = b->output};
        bool failed = allocate(cuda, &m.address, m.bytes) || allocate(cuda, &m.initial, m.bytes) ||
                      (m.bytes && cuda->copy_in(m.initial, b->fill, m.bytes));
        vec_push(buffers, m);
        if (failed)
            return false;
    }
    return true;
}

void buffers_free(GpuBuffers *buffers, const Cuda *cuda)
{
    for (u32 i = 0; i < buffers->n; i++) {
        cuda->release(buffers->v[i].address);
        cuda->release(buffers->v[i].initial);
    }
    vec_free(buffers);
}

/* A variable that the driver does not know was optimized away, or is private to the module: it cannot be compared. */
static bool find_variables(GpuRun *run, const char *const *variables)
{
    for (; *variables; variables++) {
        GpuMemory m = {.name = *variables, .output = true};
        if (run->cuda->module_global(&m.address, &m.bytes, run->module, *variables))
            continue;
        bool made = check(run, allocate(run->cuda, &m.initial, m.bytes), "allocating", m.name);
        vec_push(&run->memory, m);
        if (!made || !check(run, run->cuda->copy(m.initial, m.address, m.bytes), "reading", m.name))
            return false;
    }
    return true;
}

static bool find_functions(GpuRun *run)
{
    const Cuda *cuda = run->cuda;
    run->function = mem_zalloc(sizeof(CudaFunction *) * (run->launch->kernels.n + 1));
    for (u32 i = 0; i < run->launch->kernels.n; i++) {
        const LaunchKernel *k = &run->launch->kernels.v[i];
        if (!check(run, cuda->module_function(&run->function[i], run->module, k->name), "kernel", k->name))
            return false;
        if (k->shared > CUDA_SHARED_WITHOUT_ASKING &&
            !check(run, cuda->function_attribute(run->function[i], CUDA_DYNAMIC_SHARED, (int)k->shared), "shared memory of",
                   k->name))
            return false;
    }
    return true;
}

bool gpu_open(GpuRun *run, const Cuda *cuda, const Launch *launch, const char *image, const GpuBuffers *buffers,
              const char *const *variables)
{
    *run = (GpuRun){.cuda = cuda, .launch = launch, .image = image};
    for (u32 i = 0; i < buffers->n; i++)
        vec_push(&run->memory, buffers->v[i]);
    return check(run, cuda->module_load(&run->module, image), "loading", image) && find_variables(run, variables) &&
           find_functions(run);
}

void gpu_close(GpuRun *run)
{
    for (u32 i = 0; i < run->memory.n; i++) {
        const GpuMemory *m = &run->memory.v[i];
        if (!m->is_buffer)
            run->cuda->release(m->initial);
    }
    if (run->module)
        run->cuda->module_unload(run->module);
    free(run->function);
    vec_free(&run->memory);
}

/* ---- running ----------------------------------------------------------------------------------------------------- */

static bool fill(GpuRun *run)
{
    for (u32 i = 0; i < run->memory.n; i++) {
        const GpuMemory *m = &run->memory.v[i];
        if (m->bytes && !check(run, run->cuda->copy(m->address, m->initial, m->bytes), "filling", m->name))
            return false;
    }
    return true;
}

static bool launch_kernel(GpuRun *run, u32 index)
{
    const LaunchKernel *k = &run->launch->kernels.v[index];
    CudaPointer *pointer = mem_zalloc(sizeof *pointer * (k->args.n + 1));
    void **argument = mem_zalloc(sizeof *argument * (k->args.n + 1));
    for (u32 i = 0; i < k->args.n; i++) {
        const LaunchArg *a = &k->args.v[i];
        if (a->buffer >= 0)
            pointer[i] = run->memory.v[a->buffer].address + a->offset;
        argument[i] = a->value ? (void *)a->value : (void *)&pointer[i];
        if (a->buffer >= 0 && a->value)
            memcpy(a->value, &pointer[i], sizeof pointer[i]);
    }
    CudaStatus status = run->cuda->launch(run->function[index], k->grid[0], k->grid[1], k->grid[2], k->block[0],
                                          k->block[1], k->block[2], k->shared, NULL, argument, NULL);
    free(pointer);
    free(argument);
    return check(run, status, "launching", k->name);
}

bool gpu_run(GpuRun *run, float *milliseconds)
{
    const Cuda *cuda = run->cuda;
    if (!fill(run) || !check(run, cuda->event_record(cuda->event[0], NULL), "timing", run->launch->label))
        return false;
    for (u32 i = 0; i < run->launch->kernels.n; i++)
        if (!launch_kernel(run, i))
            return false;
    return check(run, cuda->event_record(cuda->event[1], NULL), "timing", run->launch->label) &&
           check(run, cuda->event_wait(cuda->event[1]), "running", run->launch->label) &&
           check(run, cuda->event_elapsed(milliseconds, cuda->event[0], cuda->event[1]), "timing", run->launch->label);
}

u8 *gpu_contents(GpuRun *run, u32 k)
{
    const GpuMemory *m = &run->memory.v[k];
    u8 *contents = mem_zalloc(m->bytes ? m->bytes : 1);
    if (check(run, run->cuda->copy_out(contents, m->address, m->bytes), "reading", m->name))
        return contents;
    free(contents);
    return NULL;
}
