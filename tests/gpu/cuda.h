/* What gpu_check needs of the CUDA driver API, looked up in libcuda.so.1 at run time: it builds where there is none. */
#ifndef PTXOPT_TESTS_GPU_CUDA_H
#define PTXOPT_TESTS_GPU_CUDA_H

#include <stdbool.h>
#include <stddef.h>

typedef int CudaStatus; /* CUresult: 0 is success */
typedef int CudaDevice;
typedef unsigned long long CudaPointer;
typedef struct CudaContext CudaContext;
typedef struct CudaModule CudaModule;
typedef struct CudaFunction CudaFunction;
typedef struct CudaStream CudaStream;
typedef struct CudaEvent CudaEvent;

enum { CUDA_MAJOR = 75, CUDA_MINOR = 76 };   /* CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_... */
enum { CUDA_DYNAMIC_SHARED = 8 };            /* CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES */
enum { CUDA_STACK_SIZE = 0 };                /* CU_LIMIT_STACK_SIZE */
enum { CUDA_SHARED_WITHOUT_ASKING = 49152 }; /* bytes of dynamic shared memory */

/* ENTRY(field, symbol, parameters) */
#define CUDA_ENTRIES(ENTRY)                                                                                                \
    ENTRY(init, "cuInit", (unsigned flags))                                                                                \
    ENTRY(error_name, "cuGetErrorName", (CudaStatus status, const char **name))                                            \
    ENTRY(device_get, "cuDeviceGet", (CudaDevice * device, int ordinal))                                                   \
    ENTRY(device_name, "cuDeviceGetName", (char *name, int bytes, CudaDevice device))                                      \
    ENTRY(device_attribute, "cuDeviceGetAttribute", (int *value, int attribute, CudaDevice device))                        \
    ENTRY(context_retain, "cuDevicePrimaryCtxRetain", (CudaContext * *context, CudaDevice device))                         \
    ENTRY(context_set, "cuCtxSetCurrent", (CudaContext * context))                                                         \
    ENTRY(context_limit, "cuCtxSetLimit", (int limit, size_t value))                                                       \
    ENTRY(synchronize, "cuCtxSynchronize", (void))                                                                         \
    ENTRY(module_load, "cuModuleLoad", (CudaModule * *module, const char *path))                                           \
    ENTRY(module_unload, "cuModuleUnload", (CudaModule * module))                                                          \
    ENTRY(module_function, "cuModuleGetFunction", (CudaFunction * *function, CudaModule * module, const char *name))       \
    ENTRY(module_global, "cuModuleGetGlobal_v2",                                                                           \
          (CudaPointer * address, size_t * bytes, CudaModule * module, const char *name))                                  \
    ENTRY(function_attribute, "cuFuncSetAttribute", (CudaFunction * function, int attribute, int value))                   \
    ENTRY(allocate, "cuMemAlloc_v2", (CudaPointer * address, size_t bytes))                                                \
    ENTRY(release, "cuMemFree_v2", (CudaPointer address))                                                                  \
    ENTRY(copy_in, "cuMemcpyHtoD_v2", (CudaPointer to, const void *from, size_t bytes))                                    \
    ENTRY(copy_out, "cuMemcpyDtoH_v2", (void *to, CudaPointer from, size_t bytes))                                         \
    ENTRY(copy, "cuMemcpyDtoD_v2", (CudaPointer to, CudaPointer from, size_t bytes))                                       \
    ENTRY(event_create, "cuEventCreate", (CudaEvent * *event, unsigned flags))                                             \
    ENTRY(event_record, "cuEventRecord", (CudaEvent * event, CudaStream * stream))                                         \
    ENTRY(event_wait, "cuEventSynchronize", (CudaEvent * event))                                                           \
    ENTRY(event_elapsed, "cuEventElapsedTime", (float *milliseconds, CudaEvent *from, CudaEvent *to))                      \
    ENTRY(launch, "cuLaunchKernel",                                                                                        \
          (CudaFunction * function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, unsigned block_y, \
           unsigned block_z, unsigned shared, CudaStream *stream, void **arguments, void **extra))

typedef struct Cuda {
#define CUDA_FIELD(field, symbol, parameters) CudaStatus(*field) parameters;
    CUDA_ENTRIES(CUDA_FIELD)
#undef CUDA_FIELD
    CudaDevice device;
    char name[128];
    int major, minor;    /* compute capability */
    CudaEvent *event[2]; /* before and after what is timed */
} Cuda;

/* Opens the driver and its first device (CUDA_VISIBLE_DEVICES chooses). On failure `why` points to the reason. */
bool cuda_open(Cuda *cuda, const char **why);
const char *cuda_error(const Cuda *cuda, CudaStatus status);

#endif
