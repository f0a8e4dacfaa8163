/* Stands in for the driver (and, with the text of STUB_PTX, for NVRTC): writes each text that it is given to $STUB_OUT/NAME.N.
 * It refuses what equals the file STUB_REFUSE (`all`: everything), after having written over the values of the options, as the driver does. */
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef NAME
#define NAME "driver"
#endif

enum { INVALID_PTX = 218, NOT_FOUND = 500 };

static size_t read_file(const char *path, char *text, size_t capacity)
{
    FILE *file = path ? fopen(path, "rb") : NULL;
    size_t bytes = file ? fread(text, 1, capacity - 1, file) : 0;
    text[bytes] = '\0';
    if (file)
        fclose(file);
    return bytes;
}

static int take(const char *text, size_t bytes)
{
    static atomic_int count;
    static const size_t capacity = 1 << 20;
    char path[4096], *refused = malloc(capacity);
    snprintf(path, sizeof path, "%s/" NAME ".%d", getenv("STUB_OUT"), ++count);
    FILE *file = fopen(path, "wb");
    if (!file || !refused)
        abort();
    fwrite(text, 1, bytes, file);
    fclose(file);
    const char *which = getenv("STUB_REFUSE");
    size_t refused_bytes = read_file(which, refused, capacity);
    bool same = refused_bytes > 0 && refused_bytes == bytes && memcmp(refused, text, bytes) == 0;
    free(refused);
    return same || (which && strcmp(which, "all") == 0) ? INVALID_PTX : 0;
}

/* As the driver: the values hold results afterwards. */
static void use_values(unsigned count, void **values)
{
    for (unsigned i = 0; i < count; i++) {
        if (values[i] == (void *)(uintptr_t)0xdead)
            abort(); /* not what the caller put there */
        values[i] = (void *)(uintptr_t)0xdead;
    }
}

int cuModuleLoadData(void **module, const void *image)
{
    *module = module;
    return take(image, strlen(image));
}

int cuModuleLoad(void **module, const char *path)
{
    static _Thread_local char text[1 << 20];
    *module = module;
    return take(text, read_file(path, text, sizeof text));
}

int cuModuleLoadDataEx(void **module, const void *image, unsigned count, int *options, void **values)
{
    (void)options;
    use_values(count, values);
    return cuModuleLoadData(module, image);
}

int cuLibraryLoadData(void **library, const void *code, int *options, void **values, unsigned count, int *library_options,
                      void **library_values, unsigned library_count)
{
    (void)library_options, (void)library_values, (void)library_count;
    return cuModuleLoadDataEx(library, code, count, options, values);
}

int cuLibraryLoadFromFile(void **library, const char *path, int *options, void **values, unsigned count,
                          int *library_options, void **library_values, unsigned library_count)
{
    (void)options, (void)library_options, (void)library_values, (void)library_count;
    use_values(count, values);
    return cuModuleLoad(library, path);
}

int cuLinkCreate_v2(unsigned count, int *options, void **values, void **state)
{
    (void)count, (void)options, (void)values;
    *state = state;
    return 0;
}

int cuLinkAddData_v2(void *state, int type, void *data, size_t bytes, const char *name, unsigned count, int *options,
                     void **values)
{
    (void)state, (void)type, (void)name, (void)options;
    use_values(count, values);
    return take(data, strnlen(data, bytes));
}

int cuLinkAddFile_v2(void *state, int type, const char *path, unsigned count, int *options, void **values)
{
    (void)type, (void)options;
    use_values(count, values);
    return cuModuleLoad(state, path);
}

int cuGetProcAddress(const char *symbol, void **function, int version, uint64_t flags);

int cuGetProcAddress_v2(const char *symbol, void **function, int version, uint64_t flags, int *status)
{
    static const struct {
        const char *name;
        void *function;
    } known[] = {
        {"cuModuleLoad", (void *)cuModuleLoad},
        {"cuModuleLoadData", (void *)cuModuleLoadData},
        {"cuModuleLoadDataEx", (void *)cuModuleLoadDataEx},
        {"cuLibraryLoadData", (void *)cuLibraryLoadData},
        {"cuLibraryLoadFromFile", (void *)cuLibraryLoadFromFile},
        {"cuLinkCreate", (void *)cuLinkCreate_v2},
        {"cuLinkAddData", (void *)cuLinkAddData_v2},
        {"cuLinkAddFile", (void *)cuLinkAddFile_v2},
    };
    (void)flags;
    *function = NULL;
    if (strcmp(symbol, "cuGetProcAddress") == 0)
        *function = version >= 12000 ? (void *)cuGetProcAddress_v2 : (void *)cuGetProcAddress;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(symbol, known[i].name) == 0)
            *function = known[i].function;
    if (status)
        *status = *function ? 0 : 1;
    return *function ? 0 : NOT_FOUND;
}

int cuGetProcAddress(const char *symbol, void **function, int version, uint64_t flags)
{
    return cuGetProcAddress_v2(symbol, function, version, flags, NULL);
}

#ifdef WITH_NVRTC
static char ptx[1 << 20];

int nvrtcGetPTXSize(void *program, size_t *bytes)
{
    (void)program;
    *bytes = read_file(getenv("STUB_PTX"), ptx, sizeof ptx) + 1;
    return 0;
}

int nvrtcGetPTX(void *program, char *text)
{
    size_t bytes;
    nvrtcGetPTXSize(program, &bytes);
    memcpy(text, ptx, bytes);
    return 0;
}
#endif
