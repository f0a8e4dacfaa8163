/* One image of a module, loaded for one launch of a launch description. */
#ifndef PTXOPT_TESTS_GPU_RUN_H
#define PTXOPT_TESTS_GPU_RUN_H

#include "cuda.h"
#include "check/exec/launch.h"

/* Memory of the device that the launch may change: its buffers first, then the module's variables. */
typedef struct GpuMemory {
    const char *name;
    CudaPointer address, initial; /* of what is changed, and of its first contents */
    size_t bytes;
    bool is_buffer, output;
} GpuMemory;

/* The buffers of a launch. All images use the same: where a buffer lies can double the time of atomic operations on it. */
typedef VEC(GpuMemory) GpuBuffers;

typedef struct GpuRun {
    const Cuda *cuda;
    const Launch *launch;
    const char *image; /* its file */
    CudaModule *module;
    CudaFunction **function; /* of each of the launch's kernels */
    VEC(GpuMemory) memory;
    char why[256]; /* what went wrong */
} GpuRun;

/* Allocates the buffers. False on failure; buffers_free is due in any case. */
bool buffers_make(GpuBuffers *buffers, const Cuda *cuda, const Launch *launch);
void buffers_free(GpuBuffers *buffers, const Cuda *cuda);

/* Loads `image` (a cubin, or PTX for the driver to compile); `variables` are the names of the module's .global variables, NULL after the
 * last. False on failure, with the reason in `why`; gpu_close is due in any case. The buffers must live as long as the run. */
bool gpu_open(GpuRun *run, const Cuda *cuda, const Launch *launch, const char *image, const GpuBuffers *buffers,
              const char *const *variables);
/* Gives the memory its first contents, runs all kernels of the launch, and answers their time. */
bool gpu_run(GpuRun *run, float *milliseconds);
/* The contents of memory k, to be freed; NULL on failure. */
u8 *gpu_contents(GpuRun *run, u32 k);
void gpu_close(GpuRun *run);

#endif
