/* The driver's functions. Where it refuses the optimized text, it is given the original. */
#include <stdlib.h>
#include <string.h>

#include "use/preload/hooks.h"
#include "use/preload/real.h"
#include "use/preload/text.h"

enum {
    JIT_OPTIMIZATION_LEVEL = 7,
    JIT_GENERATE_DEBUG_INFO = 11,
    JIT_OVERRIDE_DIRECTIVE_VALUES = 33, /* the text no longer says how many threads there are */
    LIBRARY_BINARY_IS_PRESERVED = 1,    /* the driver reads the text later */
    INPUT_PTX = 1,
    PROC_ADDRESS_V2_SINCE = 12000,
};

static bool is_plain_option(int option, const void *value)
{
    bool is_set = (u32)(uintptr_t)value != 0;
    return option == JIT_OPTIMIZATION_LEVEL
               ? is_set
               : (option != JIT_GENERATE_DEBUG_INFO && option != JIT_OVERRIDE_DIRECTIVE_VALUES) || !is_set;
}

/* Whether the options leave it to us what the code looks like. */
static bool are_plain(unsigned count, const int *options, void *const *values)
{
    if (!options || !values)
        return true;
    for (unsigned i = 0; i < count; i++)
        if (!is_plain_option(options[i], values[i]))
            return false;
    return true;
}

/* A call that may get the optimized text. */
typedef struct Attempt {
    bool wanted;
    unsigned count;
    void **values, **copy; /* of its options: the driver writes results into them */
    ptxopt_result *made;   /* NULL: it gets the original */
    char *text;            /* of that; the driver writes nothing there */
    size_t bytes;          /* with the NUL */
} Attempt;

static Attempt attempt_begin(bool may, unsigned count, const int *options, void **values)
{
    Attempt a = {.count = count, .values = values, .copy = values && count ? malloc(count * sizeof *a.copy) : NULL};
    if (a.copy)
        memcpy(a.copy, values, count * sizeof *a.copy);
    bool has_memory = a.copy || !values || count == 0;
    a.wanted = text_enter() && may && has_memory && are_plain(count, options, values);
    return a;
}

static void attempt_take(Attempt *a, ptxopt_result *made)
{
    size_t length = 0;
    a->made = made;
    a->text = made ? (char *)(uintptr_t)ptxopt_text(made, &length) : NULL;
    a->bytes = length + 1;
}

static void attempt_text(Attempt *a, const char *name, const void *text, size_t bytes)
{
    if (a->wanted)
        attempt_take(a, text_optimize(name, text, bytes));
}

/* The file is read, for `load`, the driver's function of that name beside `real`, where there is one. */
static void *attempt_file(Attempt *a, const char *name, const char *path, const void *real, const char *load)
{
    void *beside = a->wanted ? real_beside(real, load) : NULL;
    if (beside)
        attempt_take(a, text_optimize_file(name, path));
    return beside;
}

/* Whether the original is to be loaded, after the optimized text, if there is one, was answered with `status`. */
static bool attempt_goes_on(const Attempt *a, int status)
{
    if (a->made && status != 0 && a->copy)
        memcpy(a->values, a->copy, a->count * sizeof *a->copy);
    return !a->made || status != 0;
}

static int attempt_end(const Attempt *a, int status)
{
    ptxopt_free(a->made);
    free(a->copy);
    text_leave();
    return status;
}

/* ---- where programs find the others ----------------------------------------------------------------------------- */

static int wrap(const char *symbol, void **function, int version, int status)
{
    if (status != 0 || !symbol || !function || !*function)
        return status;
    bool second = version >= PROC_ADDRESS_V2_SINCE && strcmp(symbol, "cuGetProcAddress") == 0;
    u32 h = second ? (u32)HOOK_cuGetProcAddress_v2 : hook_find(symbol);
    if (h < HOOK_COUNT)
        *function = hook_wrapper(h, *function);
    return status;
}

int hook_cuGetProcAddress(cuGetProcAddressFunction *real, const char *symbol, void **function, int version, uint64_t flags)
{
    return wrap(symbol, function, version, real(symbol, function, version, flags));
}

int hook_cuGetProcAddress_v2(cuGetProcAddress_v2Function *real, const char *symbol, void **function, int version,
                             uint64_t flags, int *status)
{
    return wrap(symbol, function, version, real(symbol, function, version, flags, status));
}

/* ---- modules and libraries -------------------------------------------------------------------------------------- */

int hook_cuModuleLoadData(cuModuleLoadDataFunction *real, void **module, const void *image)
{
    Attempt a = attempt_begin(true, 0, NULL, NULL);
    attempt_text(&a, "cuModuleLoadData", image, SIZE_MAX);
    int status = a.made ? real(module, a.text) : 0;
    if (attempt_goes_on(&a, status))
        status = real(module, image);
    return attempt_end(&a, status);
}

int hook_cuModuleLoadDataEx(cuModuleLoadDataExFunction *real, void **module, const void *image, unsigned count,
                            int *options, void **values)
{
    Attempt a = attempt_begin(true, count, options, values);
    attempt_text(&a, "cuModuleLoadDataEx", image, SIZE_MAX);
    int status = a.made ? real(module, a.text, count, options, values) : 0;
    if (attempt_goes_on(&a, status))
        status = real(module, image, count, options, values);
    return attempt_end(&a, status);
}

static bool is_preserved(unsigned count, const int *options)
{
    for (unsigned i = 0; options && i < count; i++)
        if (options[i] == LIBRARY_BINARY_IS_PRESERVED)
            return true;
    return false;
}

int hook_cuLibraryLoadData(cuLibraryLoadDataFunction *real, void **library, const void *code, int *options, void **values,
                           unsigned count, int *library_options, void **library_values, unsigned library_count)
{
    Attempt a = attempt_begin(!is_preserved(library_count, library_options), count, options, values);
    attempt_text(&a, "cuLibraryLoadData", code, SIZE_MAX);
    int status = a.made ? real(library, a.text, options, values, count, library_options, library_values, library_count) : 0;
    if (attempt_goes_on(&a, status))
        status = real(library, code, options, values, count, library_options, library_values, library_count);
    return attempt_end(&a, status);
}

int hook_cuModuleLoad(cuModuleLoadFunction *real, void **module, const char *path)
{
    Attempt a = attempt_begin(true, 0, NULL, NULL);
    cuModuleLoadDataFunction *load =
        (cuModuleLoadDataFunction *)attempt_file(&a, "cuModuleLoad", path, (const void *)real, "cuModuleLoadData");
    int status = a.made ? load(module, a.text) : 0;
    if (attempt_goes_on(&a, status))
        status = real(module, path);
    return attempt_end(&a, status);
}

int hook_cuLibraryLoadFromFile(cuLibraryLoadFromFileFunction *real, void **library, const char *path, int *options,
                               void **values, unsigned count, int *library_options, void **library_values,
                               unsigned library_count)
{
    Attempt a = attempt_begin(!is_preserved(library_count, library_options), count, options, values);
    cuLibraryLoadDataFunction *load = (cuLibraryLoadDataFunction *)attempt_file(&a, "cuLibraryLoadFromFile", path,
                                                                                (const void *)real, "cuLibraryLoadData");
    int status = a.made ? load(library, a.text, options, values, count, library_options, library_values, library_count) : 0;
    if (attempt_goes_on(&a, status))
        status = real(library, path, options, values, count, library_options, library_values, library_count);
    return attempt_end(&a, status);
}

/* ---- the linker ------------------------------------------------------------------------------------------------- */

/* A linker with such options gets its texts as they are. */
int hook_cuLinkCreate(cuLinkCreateFunction *real, unsigned count, int *options, void **values, void **state)
{
    bool plain = are_plain(count, options, values);
    int status = real(count, options, values, state);
    if (status == 0 && state)
        text_remember(*state, !plain);
    return status;
}

int hook_cuLinkAddData(cuLinkAddDataFunction *real, void *state, int type, void *data, size_t bytes, const char *name,
                       unsigned count, int *options, void **values)
{
    Attempt a = attempt_begin(type == INPUT_PTX && !text_recall(state), count, options, values);
    attempt_text(&a, "cuLinkAddData", data, bytes);
    int status = a.made ? real(state, type, a.text, a.bytes, name, count, options, values) : 0;
    if (attempt_goes_on(&a, status))
        status = real(state, type, data, bytes, name, count, options, values);
    return attempt_end(&a, status);
}

int hook_cuLinkAddFile(cuLinkAddFileFunction *real, void *state, int type, const char *path, unsigned count, int *options,
                       void **values)
{
    Attempt a = attempt_begin(type == INPUT_PTX && !text_recall(state), count, options, values);
    cuLinkAddDataFunction *add =
        (cuLinkAddDataFunction *)attempt_file(&a, "cuLinkAddFile", path, (const void *)real, "cuLinkAddData_v2");
    int status = a.made ? add(state, type, a.text, a.bytes, path, count, options, values) : 0;
    if (attempt_goes_on(&a, status))
        status = real(state, type, path, count, options, values);
    return attempt_end(&a, status);
}
