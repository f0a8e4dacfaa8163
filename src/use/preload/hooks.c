#include "use/preload/hooks.h"

#include <stdatomic.h>

#include "use/preload/real.h"
#include "use/preload/text.h"

enum { SLOTS = 8 };

/* The functions that the wrappers call. A slot is taken once, and never given back. */
static _Atomic(void *) real_of[HOOK_COUNT][SLOTS];

/* The errors that are answered if there is no real function: CUDA_ERROR_NOT_FOUND, NVRTC_ERROR_INTERNAL_ERROR,
 * NVJITLINK_ERROR_INTERNAL. */
static const int error_of[] = {[REAL_DRIVER] = 500, [REAL_NVRTC] = 11, [REAL_NVJITLINK] = 6};

#define SLOT(slot, function, name, parameters, arguments)                                              \
    static int name##_at_##slot parameters                                                             \
    {                                                                                                  \
        return hook_##function((function##Function *)real_of[HOOK_##name][slot], HOOK_REST arguments); \
    }
#define HOOK_AS(library, function, name, parameters, arguments)                                                        \
    int name parameters                                                                                                \
    {                                                                                                                  \
        function##Function *real = (function##Function *)real_for(#name, REAL_##library, __builtin_return_address(0)); \
        return real ? hook_##function(real, HOOK_REST arguments) : error_of[REAL_##library];                           \
    }                                                                                                                  \
    SLOT(0, function, name, parameters, arguments)                                                                     \
    SLOT(1, function, name, parameters, arguments)                                                                     \
    SLOT(2, function, name, parameters, arguments)                                                                     \
    SLOT(3, function, name, parameters, arguments)                                                                     \
    SLOT(4, function, name, parameters, arguments)                                                                     \
    SLOT(5, function, name, parameters, arguments)                                                                     \
    SLOT(6, function, name, parameters, arguments)                                                                     \
    SLOT(7, function, name, parameters, arguments)
#define HOOK(library, name, parameters, arguments) HOOK_AS(library, name, name, parameters, arguments)
#include "use/preload/hooks.def"

typedef int AnyFunction(void);

typedef struct Hook {
    const char *name;
    AnyFunction *exported, *wrapper[SLOTS];
} Hook;

static const Hook hook[HOOK_COUNT] = {
#define FUNCTION(name) (AnyFunction *)(void *)name
#define HOOK_AS(library, function, name, parameters, arguments)                                                          \
    {#name,                                                                                                              \
     FUNCTION(name),                                                                                                     \
     {FUNCTION(name##_at_0), FUNCTION(name##_at_1), FUNCTION(name##_at_2), FUNCTION(name##_at_3), FUNCTION(name##_at_4), \
      FUNCTION(name##_at_5), FUNCTION(name##_at_6), FUNCTION(name##_at_7)}},
#define HOOK(library, name, parameters, arguments) HOOK_AS(library, name, name, parameters, arguments)
#include "use/preload/hooks.def"
};

/* Compares without strcmp(): libraries that replace it ask dlsym for it. */
static bool is_equal(const char *a, const char *b)
{
    while (*a && *a == *b)
        a++, b++;
    return *a == *b;
}

u32 hook_find(const char *name)
{
    u32 h = 0;
    while (h < HOOK_COUNT && !is_equal(hook[h].name, name))
        h++;
    return h;
}

bool hook_is_exported(const void *function)
{
    for (u32 h = 0; h < HOOK_COUNT; h++)
        if (function == (const void *)hook[h].exported)
            return true;
    return false;
}

void *hook_wrapper(u32 h, void *real)
{
    if (!text_wanted() || hook_is_exported(real))
        return real;
    for (u32 i = 0; i < SLOTS; i++) {
        void *there = NULL;
        if (atomic_compare_exchange_strong(&real_of[h][i], &there, real) || there == real)
            return (void *)hook[h].wrapper[i];
    }
    return real;
}
