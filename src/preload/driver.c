/* The driver's functions. Where it refuses the optimized text, it is given the original. */
#include <stdlib.h>
#include <string.h>

#include "preload/hooks.h"
#include "preload/real.h"
#include "preload/text.h"

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

/* The driver writes results into the values. Owned by the caller; *ok: not out of memory. */
static void **copy_values(unsigned count, void *const *values, bool *ok)
{
    void **copy = values && count ? malloc(count * sizeof *copy) : NULL;
    *ok = copy || !values || count == 0;
    if (copy)
        memcpy(copy, values, count * sizeof *copy);
    return copy;
}

static void restore_values(unsigned count, void **values, void *const *copy)
{
    if (copy)
        memcpy(values, copy, count * sizeof *copy);
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
    ptxopt_result *made = text_enter() ? text_optimize("cuModuleLoadData", image, SIZE_MAX) : NULL;
    int status = made ? real(module, ptxopt_text(made, NULL)) : 0;
    if (!made || status != 0)
        status = real(module, image);
    ptxopt_free(made);
    text_leave();
    return status;
}

int hook_cuModuleLoadDataEx(cuModuleLoadDataExFunction *real, void **module, const void *image, unsigned count,
                            int *options, void **values)
{
    bool ok = false;
    void **copy = copy_values(count, values, &ok);
    bool wanted = text_enter() && ok && are_plain(count, options, values);
    ptxopt_result *made = wanted ? text_optimize("cuModuleLoadDataEx", image, SIZE_MAX) : NULL;
    int status = made ? real(module, ptxopt_text(made, NULL), count, options, values) : 0;
    if (made && status != 0)
        restore_values(count, values, copy);
    if (!made || status != 0)
        status = real(module, image, count, options, values);
    ptxopt_free(made);
    free(copy);
    text_leave();
    return status;
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
    bool ok = false;
    void **copy = copy_values(count, values, &ok);
    bool wanted = text_enter() && ok && !is_preserved(library_count, library_options) && are_plain(count, options, values);
    ptxopt_result *made = wanted ? text_optimize("cuLibraryLoadData", code, SIZE_MAX) : NULL;
    const char *text = made ? ptxopt_text(made, NULL) : NULL;
    int status = made ? real(library, text, options, values, count, library_options, library_values, library_count) : 0;
    if (made && status != 0)
        restore_values(count, values, copy);
    if (!made || status != 0)
        status = real(library, code, options, values, count, library_options, library_values, library_count);
    ptxopt_free(made);
    free(copy);
    text_leave();
    return status;
}

int hook_cuModuleLoad(cuModuleLoadFunction *real, void **module, const char *path)
{
    cuModuleLoadDataFunction *load = NULL;
    if (text_enter())
        load = (cuModuleLoadDataFunction *)real_beside((const void *)real, "cuModuleLoadData");
    ptxopt_result *made = load ? text_optimize_file("cuModuleLoad", path) : NULL;
    int status = made ? load(module, ptxopt_text(made, NULL)) : 0;
    if (!made || status != 0)
        status = real(module, path);
    ptxopt_free(made);
    text_leave();
    return status;
}

int hook_cuLibraryLoadFromFile(cuLibraryLoadFromFileFunction *real, void **library, const char *path, int *options,
                               void **values, unsigned count, int *library_options, void **library_values,
                               unsigned library_count)
{
    cuLibraryLoadDataFunction *load = NULL;
    bool ok = false;
    void **copy = copy_values(count, values, &ok);
    if (text_enter() && ok && !is_preserved(library_count, library_options) && are_plain(count, options, values))
        load = (cuLibraryLoadDataFunction *)real_beside((const void *)real, "cuLibraryLoadData");
    ptxopt_result *made = load ? text_optimize_file("cuLibraryLoadFromFile", path) : NULL;
    const char *text = made ? ptxopt_text(made, NULL) : NULL;
    int status = made ? load(library, text, options, values, count, library_options, library_values, library_count) : 0;
    if (made && status != 0)
        restore_values(count, values, copy);
    if (!made || status != 0)
        status = real(library, path, options, values, count, library_options, library_values, library_count);
    ptxopt_free(made);
    free(copy);
    text_leave();
    return status;
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
    bool ok = false;
    void **copy = copy_values(count, values, &ok);
    bool wanted = text_enter() && ok && type == INPUT_PTX && !text_recall(state) && are_plain(count, options, values);
    ptxopt_result *made = wanted ? text_optimize("cuLinkAddData", data, bytes) : NULL;
    size_t length = 0;
    char *text = made ? (char *)(uintptr_t)ptxopt_text(made, &length) : NULL; /* the driver writes nothing there */
    int status = made ? real(state, type, text, length + 1, name, count, options, values) : 0;
    if (made && status != 0)
        restore_values(count, values, copy);
    if (!made || status != 0)
        status = real(state, type, data, bytes, name, count, options, values);
    ptxopt_free(made);
    free(copy);
    text_leave();
    return status;
}

int hook_cuLinkAddFile(cuLinkAddFileFunction *real, void *state, int type, const char *path, unsigned count, int *options,
                       void **values)
{
    cuLinkAddDataFunction *add = NULL;
    bool ok = false;
    void **copy = copy_values(count, values, &ok);
    if (text_enter() && ok && type == INPUT_PTX && !text_recall(state) && are_plain(count, options, values))
        add = (cuLinkAddDataFunction *)real_beside((const void *)real, "cuLinkAddData_v2");
    ptxopt_result *made = add ? text_optimize_file("cuLinkAddFile", path) : NULL;
    size_t length = 0;
    char *text = made ? (char *)(uintptr_t)ptxopt_text(made, &length) : NULL; /* the driver writes nothing there */
    int status = made ? add(state, type, text, length + 1, path, count, options, values) : 0;
    if (made && status != 0)
        restore_values(count, values, copy);
    if (!made || status != 0)
        status = real(state, type, path, count, options, values);
    ptxopt_free(made);
    free(copy);
    text_leave();
    return status;
}
