#include "cuda.h"

#include <dlfcn.h>
#include <string.h>

/* Bytes of stack that a thread may use: for recursive kernels. */
enum { STACK = 16384 };

static bool look_up(Cuda *cuda, const char **why)
{
    void *library = dlopen("libcuda.so.1", RTLD_NOW);
    if (!library) {
        *why = "libcuda.so.1 is not at hand";
        return false;
    }
#define CUDA_LOOK_UP(field, symbol, parameters)                                                              \
    {                                                                                                        \
        void *address = dlsym(library, symbol);                                                              \
        if (!address) {                                                                                      \
            *why = "libcuda.so.1 has no " symbol;                                                            \
            return false;                                                                                    \
        }                                                                                                    \
        memcpy(&cuda->field, &address, sizeof address); /* ISO C has no cast from an object to a function */ \
    }
    CUDA_ENTRIES(CUDA_LOOK_UP)
#undef CUDA_LOOK_UP
    return true;
}

const char *cuda_error(const Cuda *cuda, CudaStatus status)
{
    const char *name = NULL;
    cuda->error_name(status, &name);
    return name ? name : "unknown error";
}

bool cuda_open(Cuda *cuda, const char **why)
{
    CudaContext *context;
    if (!look_up(cuda, why))
        return false;
    CudaStatus status = cuda->init(0);
    if (!status)
        status = cuda->device_get(&cuda->device, 0);
    if (!status)
        status = cuda->device_name(cuda->name, sizeof cuda->name, cuda->device);
    if (!status)
        status = cuda->device_attribute(&cuda->major, CUDA_MAJOR, cuda->device);
    if (!status)
        status = cuda->device_attribute(&cuda->minor, CUDA_MINOR, cuda->device);
    if (!status)
        status = cuda->context_retain(&context, cuda->device);
    if (!status)
        status = cuda->context_set(context);
    if (!status)
        status = cuda->context_limit(CUDA_STACK_SIZE, STACK);
    for (int i = 0; i < 2 && !status; i++)
        status = cuda->event_create(&cuda->event[i], 0);
    if (status)
        *why = cuda_error(cuda, status);
    return !status;
}
