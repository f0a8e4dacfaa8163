/* A program that loads PTX. usage: use HOW WHAT FILE
 *   HOW: linked (as the program is linked), dlsym, default (RTLD_DEFAULT), proc or proc1 (cuGetProcAddress, in two versions)
 *   WHAT: module, file, ex, debug, library, preserved, link, debuglink, threads, libraryfile, preservedfile, linkfile,
 *   debuglinkfile; cubin (FILE is given as it is)
 * It ends with the status of the call. LIBCUDA names the driver for all but `linked`. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { THREADS = 200, JIT_WALL_TIME = 2, JIT_DEBUG = 11, INPUT_PTX = 1 };

typedef int ModuleLoad(void **module, const void *image);
typedef int ModuleLoadEx(void **module, const void *image, unsigned count, int *options, void **values);
typedef int LibraryLoad(void **library, const void *code, int *options, void **values, unsigned count, int *library_options,
                        void **library_values, unsigned library_count);
typedef int LinkCreate(unsigned count, int *options, void **values, void **state);
typedef int LinkAdd(void *state, int type, void *data, size_t bytes, const char *name, unsigned count, int *options,
                    void **values);
typedef int LibraryLoadFile(void **library, const char *path, int *options, void **values, unsigned count,
                            int *library_options, void **library_values, unsigned library_count);
typedef int LinkAddFile(void *state, int type, const char *path, unsigned count, int *options, void **values);
typedef int GetProc1(const char *symbol, void **function, int version, uint64_t flags);
typedef int GetProc2(const char *symbol, void **function, int version, uint64_t flags, int *status);

#ifdef LINKED
extern ModuleLoad cuModuleLoadData, cuModuleLoad;
extern ModuleLoadEx cuModuleLoadDataEx;
extern LibraryLoad cuLibraryLoadData;
extern LinkCreate cuLinkCreate_v2;
extern LinkAdd cuLinkAddData_v2;
extern LibraryLoadFile cuLibraryLoadFromFile;
extern LinkAddFile cuLinkAddFile_v2;

static void *linked(const char *name)
{
    return strcmp(name, "cuModuleLoadData") == 0        ? (void *)cuModuleLoadData
           : strcmp(name, "cuModuleLoad") == 0          ? (void *)cuModuleLoad
           : strcmp(name, "cuModuleLoadDataEx") == 0    ? (void *)cuModuleLoadDataEx
           : strcmp(name, "cuLibraryLoadData") == 0     ? (void *)cuLibraryLoadData
           : strcmp(name, "cuLibraryLoadFromFile") == 0 ? (void *)cuLibraryLoadFromFile
           : strcmp(name, "cuLinkAddFile_v2") == 0      ? (void *)cuLinkAddFile_v2
           : strcmp(name, "cuLinkCreate_v2") == 0       ? (void *)cuLinkCreate_v2
                                                        : (void *)cuLinkAddData_v2;
}
#else
static void *linked(const char *name) { return (void)name, NULL; }
#endif

static const char *how;

static void *checked(void *found, const char *name)
{
    const char *error = dlerror();
    if (!found || error) {
        fprintf(stderr, "%s: %s\n", name, error ? error : "not found");
        exit(99);
    }
    return found;
}

/* By another function, which is asked for by itself, as the runtime library does it. */
static void *by_proc(void *driver, const char *name)
{
    char plain[64];
    void *found = NULL;
    int answer = 99;
    snprintf(plain, sizeof plain, "%.*s", (int)strcspn(name, "_"), name);
    if (strcmp(how, "proc1") == 0) {
        GetProc1 *get = (GetProc1 *)checked(dlsym(driver, "cuGetProcAddress"), "cuGetProcAddress");
        get("cuGetProcAddress", (void **)&get, 11030, 0);
        return get(plain, &found, 11030, 0) == 0 ? found : NULL;
    }
    GetProc2 *get = (GetProc2 *)checked(dlsym(driver, "cuGetProcAddress_v2"), "cuGetProcAddress_v2");
    get("cuGetProcAddress", (void **)&get, 13000, 0, &answer);
    return get(plain, &found, 13000, 0, &answer) == 0 && answer == 0 ? found : NULL;
}

static void *find(const char *name)
{
    if (strcmp(how, "linked") == 0)
        return linked(name);
    dlerror();
    void *driver =
        checked(dlopen(getenv("LIBCUDA"), RTLD_NOW | (strcmp(how, "default") == 0 ? RTLD_GLOBAL : RTLD_LOCAL)), "driver");
    return checked(how[0] == 'p' ? by_proc(driver, name) : dlsym(how[1] == 'e' ? RTLD_DEFAULT : driver, name), name);
}

static int load_ex(const char *text, int option, uintptr_t value)
{
    void *module, *values[] = {NULL, (void *)value};
    int options[] = {JIT_WALL_TIME, option};
    return ((ModuleLoadEx *)find("cuModuleLoadDataEx"))(&module, text, 2, options, values);
}

static int load_library(const char *text, unsigned preserved)
{
    void *library, *values[] = {NULL}, *library_values[] = {(void *)1};
    int options[] = {JIT_WALL_TIME}, library_options[] = {1};
    return ((LibraryLoad *)find("cuLibraryLoadData"))(&library, text, options, values, 1, library_options, library_values,
                                                      preserved);
}

static int load_library_file(const char *path, unsigned preserved)
{
    void *library, *values[] = {NULL}, *library_values[] = {(void *)1};
    int options[] = {JIT_WALL_TIME}, library_options[] = {1};
    return ((LibraryLoadFile *)find("cuLibraryLoadFromFile"))(&library, path, options, values, 1, library_options,
                                                              library_values, preserved);
}

/* The text, or where that is NULL, the file. */
static int link_input(char *text, const char *path, uintptr_t debug)
{
    void *state, *values[] = {(void *)debug};
    int options[] = {JIT_DEBUG};
    int status = ((LinkCreate *)find("cuLinkCreate_v2"))(1, options, values, &state);
    values[0] = NULL;
    if (status)
        return status;
    return text ? ((LinkAdd *)find("cuLinkAddData_v2"))(state, INPUT_PTX, text, strlen(text) + 1, "t", 1, options, values)
                : ((LinkAddFile *)find("cuLinkAddFile_v2"))(state, INPUT_PTX, path, 1, options, values);
}

static void *load(void *text)
{
    void *module;
    return (void *)(intptr_t)((ModuleLoad *)find("cuModuleLoadData"))(&module, text);
}

static int in_threads(char *text)
{
    pthread_t thread[THREADS];
    int status = 0;
    for (int i = 0; i < THREADS; i++)
        if (pthread_create(&thread[i], NULL, load, text) != 0)
            return 99;
    for (int i = 0; i < THREADS; i++) {
        void *answer;
        pthread_join(thread[i], &answer);
        status |= (int)(intptr_t)answer;
    }
    return status;
}

int main(int argc, char **argv)
{
    static char text[1 << 20];
    if (argc != 4)
        return 99;
    FILE *file = fopen(argv[3], "rb");
    if (!file || fread(text, 1, sizeof text - 1, file) == 0)
        return 99;
    fclose(file);
    how = argv[1];
    const char *what = argv[2];
    void *module;
    if (strcmp(what, "module") == 0)
        return (int)(intptr_t)load(text);
    if (strcmp(what, "file") == 0)
        return ((ModuleLoad *)find("cuModuleLoad"))(&module, argv[3]);
    if (strcmp(what, "ex") == 0)
        return load_ex(text, JIT_DEBUG, 0);
    if (strcmp(what, "debug") == 0)
        return load_ex(text, JIT_DEBUG, 1);
    if (strcmp(what, "library") == 0)
        return load_library(text, 0);
    if (strcmp(what, "preserved") == 0)
        return load_library(text, 1);
    if (strcmp(what, "link") == 0)
        return link_input(text, NULL, 0);
    if (strcmp(what, "debuglink") == 0)
        return link_input(text, NULL, 1);
    if (strcmp(what, "libraryfile") == 0)
        return load_library_file(argv[3], 0);
    if (strcmp(what, "preservedfile") == 0)
        return load_library_file(argv[3], 1);
    if (strcmp(what, "linkfile") == 0)
        return link_input(NULL, argv[3], 0);
    if (strcmp(what, "debuglinkfile") == 0)
        return link_input(NULL, argv[3], 1);
    return strcmp(what, "threads") == 0 ? in_threads(text) : 99;
}
