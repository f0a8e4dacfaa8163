#define _GNU_SOURCE
#include "use/preload/real.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>

#include "use/preload/hooks.h"

typedef void *Dlsym(void *handle, const char *name);

/* The C library's: by its version, which ours has not. */
static Dlsym *libc_dlsym(void)
{
    static const char *const version[] = {"GLIBC_2.34", "GLIBC_2.2.5", "GLIBC_2.17"};
    static _Atomic(void *) known;
    void *found = known;
    for (u32 i = 0; !found && i < COUNT_OF(version); i++)
        found = dlvsym(RTLD_NEXT, "dlsym", version[i]);
    known = found;
    return (Dlsym *)found;
}

/* Looks the name up in the library of that path, if it is loaded, and in those that it needs. */
static void *in_library(const char *path, const char *name)
{
    void *handle = path && *path ? dlopen(path, RTLD_LAZY | RTLD_NOLOAD) : NULL;
    if (!handle)
        return NULL;
    void *found = libc_dlsym()(handle, name);
    dlclose(handle); /* not the last one */
    return hook_is_exported(found) ? NULL : found;
}

static const char *path_of(const void *address)
{
    Dl_info info;
    return dladdr(address, &info) ? info.dli_fname : NULL;
}

/* Libraries that were not there on the way are no error of the program. */
static void forget_errors(const void *found)
{
    if (found)
        dlerror();
}

void *real_beside(const void *function, const char *name) { return in_library(path_of(function), name); }

/* The caller's own libraries come first, since others of that kind may be loaded for others; then those that all see. */
static void *seen_by(const void *caller, const char *name)
{
    void *found = in_library(path_of(caller), name);
    return found ? found : libc_dlsym()(RTLD_NEXT, name);
}

void *real_for(const char *name, RealLibrary library, const void *caller)
{
    /* These are asked for calls that a library passes on by a jump, so that the caller is another one. */
    static const char *const usual[][4] = {
        [REAL_DRIVER] = {"libcuda.so.1", "libcuda.so"},
        [REAL_NVRTC] = {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2"},
        [REAL_NVJITLINK] = {"libnvJitLink.so.13", "libnvJitLink.so.12"},
    };
    void *found = seen_by(caller, name);
    for (u32 i = 0; !found && i < COUNT_OF(usual[library]); i++)
        found = in_library(usual[library][i], name);
    forget_errors(found);
    return found;
}

/* The function that `handle` has under the name of a hook. */
static void *look_up(u32 h, void *handle, const char *name, const void *caller)
{
    void *found = handle == RTLD_DEFAULT ? NULL : libc_dlsym()(handle, name);
    if (handle == RTLD_DEFAULT || hook_is_exported(found))
        found = seen_by(caller, name);
    forget_errors(found);
    return found ? hook_wrapper(h, found) : NULL;
}

#if defined(__has_attribute) && __has_attribute(musttail)
#define JUMP __attribute__((musttail)) return
#else
#define JUMP return /* at -O2, as which this file is compiled */
#endif

/* The C library's dlsym looks at who calls it where it is asked for the default or for the next one: it is jumped to. */
__attribute__((visibility("default"))) void *dlsym(void *restrict handle, const char *restrict name)
{
    u32 h = handle == RTLD_NEXT ? HOOK_COUNT : hook_find(name);
    if (h < HOOK_COUNT)
        return look_up(h, handle, name, __builtin_return_address(0));
    JUMP libc_dlsym()(handle, name);
}
