/* The hooks of libptxopt-preload.so. Each function of hooks.def is exported under its name, for programs that link it. It
 * has wrappers for what dlsym or cuGetProcAddress answers. Both call hook_NAME() with the real function. Several
 * libraries of a kind may be loaded: each real function has a wrapper of its own. */
#ifndef PTXOPT_USE_PRELOAD_HOOKS_H
#define PTXOPT_USE_PRELOAD_HOOKS_H

#include "base/types.h"

#define HOOK_REST(...) __VA_ARGS__

/* The functions that programs link. */
#define HOOK(library, name, parameters, arguments) __attribute__((visibility("default"))) int name parameters;
#define HOOK_AS(library, function, name, parameters, arguments) HOOK(library, name, parameters, arguments)
#include "use/preload/hooks.def"

/* The type of the real function, and what stands before it: driver.c, nvrtc.c, nvjitlink.c. */
#define HOOK(library, name, parameters, arguments) \
    typedef int name##Function parameters;         \
    int hook_##name(name##Function *real, HOOK_REST parameters);
#define HOOK_AS(library, function, name, parameters, arguments)
#include "use/preload/hooks.def"

enum {
#define HOOK(library, name, parameters, arguments) HOOK_##name,
#define HOOK_AS(library, function, name, parameters, arguments) HOOK_##name,
#include "use/preload/hooks.def"
    HOOK_COUNT
};

/* Number of the hook of that name; HOOK_COUNT: none. */
u32 hook_find(const char *name);
/* The wrapper of hook `h` that calls `real`; `real` itself where nothing is to stand before it. */
void *hook_wrapper(u32 h, void *real);
/* Whether `function` is what a hook exports. */
bool hook_is_exported(const void *function);

#endif
