/* A library that calls the one it is linked with: the driver, or another that takes its name. With NEXT it stands before the
 * driver itself, and passes calls on to the next one. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>

int cuModuleLoadData(void **module, const void *image);

#ifdef NEXT
int cuModuleLoadData(void **module, const void *image)
{
    int (*next)(void **, const void *) = (int (*)(void **, const void *))dlsym(RTLD_NEXT, "cuModuleLoadData");
    int status = next ? next(module, image) : 98;
    puts("passed on");
    return status;
}
#else
int plugin_load(const char *text);
int plugin_load(const char *text)
{
    void *module;
    return cuModuleLoadData(&module, text);
}
#endif
