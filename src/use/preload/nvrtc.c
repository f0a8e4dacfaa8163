/* nvrtcGetPTX, and nvrtcGetPTXSize, which is asked first. The size that is answered is never less than that of the
 * original, and a shorter text gets newlines at its end. So a buffer that somebody made for the original holds it too. A
 * longer one is handed out only to who has asked for the size of it. */
#include <stdlib.h>
#include <string.h>

#include "use/preload/hooks.h"
#include "use/preload/real.h"
#include "use/preload/text.h"

/* The optimized text of a program whose original is `bytes` long, with its NUL; NULL: the original stays. */
static ptxopt_result *optimized(nvrtcGetPTXFunction *get, void *program, size_t bytes)
{
    char *text = get ? malloc(bytes) : NULL;
    ptxopt_result *made = text && get(program, text) == 0 ? text_optimize(NULL, text, bytes) : NULL;
    free(text);
    return made;
}

static size_t larger(size_t a, size_t b) { return a > b ? a : b; }

static size_t size_of(const ptxopt_result *made)
{
    size_t length = 0;
    ptxopt_text(made, &length);
    return length + 1;
}

int hook_nvrtcGetPTXSize(nvrtcGetPTXSizeFunction *real, void *program, size_t *bytes)
{
    bool wanted = text_enter();
    int status = real(program, bytes);
    if (status == 0 && bytes && wanted) {
        ptxopt_result *made =
            optimized((nvrtcGetPTXFunction *)real_beside((const void *)real, "nvrtcGetPTX"), program, *bytes);
        if (made)
            *bytes = larger(*bytes, size_of(made));
        ptxopt_free(made);
        text_remember(program, *bytes);
    }
    text_leave();
    return status;
}

/* Over the original of `bytes`, which the buffer holds. */
static void replace(void *program, char *text, size_t bytes)
{
    ptxopt_result *made = text_optimize("nvrtcGetPTX", text, bytes);
    size_t length = 0;
    const char *new_text = ptxopt_text(made, &length);
    if (made && length + 1 <= larger(bytes, text_recall(program))) {
        memcpy(text, new_text, length);
        if (length + 1 < bytes)
            memset(text + length, '\n', bytes - 1 - length);
        text[larger(bytes, length + 1) - 1] = '\0';
    }
    ptxopt_free(made);
}

int hook_nvrtcGetPTX(nvrtcGetPTXFunction *real, void *program, char *text)
{
    nvrtcGetPTXSizeFunction *size = NULL;
    size_t bytes = 0;
    bool wanted = text_enter();
    int status = real(program, text);
    if (status == 0 && text && wanted)
        size = (nvrtcGetPTXSizeFunction *)real_beside((const void *)real, "nvrtcGetPTXSize");
    if (size && size(program, &bytes) == 0 && bytes > 0)
        replace(program, text, bytes);
    text_leave();
    return status;
}

int hook_nvrtcDestroyProgram(nvrtcDestroyProgramFunction *real, void **program)
{
    if (program)
        text_remember(*program, 0);
    return real(program);
}
