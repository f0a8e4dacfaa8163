/* nvJitLink. Where it refuses the optimized text, it is given the original. */
#include <string.h>

#include "use/preload/hooks.h"
#include "use/preload/real.h"
#include "use/preload/text.h"

enum { INPUT_PTX = 2, INPUT_ANY = 10 };

/* Code for a debugger, and options by which the text no longer says how many threads there are. */
static bool is_plain_option(const char *option)
{
    static const char *const not_plain[] = {"-g", "-G", "--debug", "--device-debug", "-O0"};
    const char *word = strncmp(option, "-Xptxas=", 8) == 0 ? option + 8 : option;
    for (u32 i = 0; i < COUNT_OF(not_plain); i++)
        if (strcmp(word, not_plain[i]) == 0)
            return false;
    return !strstr(option, "override-directive-values");
}

int hook_nvJitLinkCreate(nvJitLinkCreateFunction *real, void **handle, uint32_t count, const char **options)
{
    bool plain = true;
    for (uint32_t i = 0; options && i < count; i++)
        plain &= !options[i] || is_plain_option(options[i]);
    int status = real(handle, count, options);
    if (status == 0 && handle)
        text_remember(*handle, !plain);
    return status;
}

int hook_nvJitLinkAddData(nvJitLinkAddDataFunction *real, void *handle, int type, const void *data, size_t bytes,
                          const char *name)
{
    bool wanted = text_enter() && (type == INPUT_PTX || type == INPUT_ANY) && !text_recall(handle);
    ptxopt_result *made = wanted ? text_optimize("nvJitLinkAddData", data, bytes) : NULL;
    size_t length = 0;
    const char *text = made ? ptxopt_text(made, &length) : NULL;
    int status = made ? real(handle, type, text, length + 1, name) : 0;
    if (!made || status != 0)
        status = real(handle, type, data, bytes, name);
    ptxopt_free(made);
    text_leave();
    return status;
}

int hook_nvJitLinkAddFile(nvJitLinkAddFileFunction *real, void *handle, int type, const char *path)
{
    nvJitLinkAddDataFunction *add = NULL;
    if (text_enter() && (type == INPUT_PTX || type == INPUT_ANY) && !text_recall(handle))
        add = (nvJitLinkAddDataFunction *)real_beside((const void *)real, "nvJitLinkAddData");
    ptxopt_result *made = add ? text_optimize_file("nvJitLinkAddFile", path) : NULL;
    size_t length = 0;
    const char *text = made ? ptxopt_text(made, &length) : NULL;
    int status = made ? add(handle, type, text, length + 1, path) : 0;
    if (!made || status != 0)
        status = real(handle, type, path);
    ptxopt_free(made);
    text_leave();
    return status;
}
