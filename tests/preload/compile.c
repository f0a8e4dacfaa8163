/* A program that compiles and links for itself. usage:
 *   compile nvrtc LIBRARY SOURCE OUTPUT [unsized]   PTX by NVRTC; unsized: into a buffer for the original, without asking
 *   compile stub LIBRARY BYTES OUTPUT [unsized]     the same from a library that has the PTX already
 *   compile link LIBRARY INPUT OUTPUT [OPTION]      a cubin by nvJitLink
 *   compile linkfile LIBRARY INPUT OUTPUT [OPTION]  the same, which reads the input by itself
 * The output is what was handed out, without the NUL. It ends with the status of the call that failed. LINKED: by nvJitLink's
 * functions as the program is linked with them. */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *library;

static void *find(const char *name)
{
    void *found = dlsym(library, name);
    if (!found) {
        fprintf(stderr, "%s\n", dlerror());
        exit(99);
    }
    return found;
}

static void try(int status, const char *what)
{
    if (status == 0)
        return;
    fprintf(stderr, "%s: status %d\n", what, status);
    exit(status < 99 ? status : 99);
}

#define CALL(name, types, ...) try(((int(*) types)find(#name))(__VA_ARGS__), #name)

static char *read_file(const char *path, size_t *bytes)
{
    FILE *file = fopen(path, "rb");
    char *text = calloc(1, 1 << 20);
    *bytes = file && text ? fread(text, 1, (1 << 20) - 1, file) : 0;
    if (*bytes == 0)
        exit(99);
    fclose(file);
    return text;
}

static void write_file(const char *path, const char *text, size_t bytes)
{
    FILE *file = fopen(path, "wb");
    if (!file || fwrite(text, 1, bytes, file) != bytes || fclose(file) != 0)
        exit(99);
}

/* `room`: of the buffer, where the size is not asked for. */
static void get_ptx(void *program, size_t room, const char *output)
{
    size_t bytes = room;
    if (!room)
        CALL(nvrtcGetPTXSize, (void *, size_t *), program, &bytes);
    char *text = malloc(bytes); /* to the byte: sanitizers and valgrind see what is written after it */
    CALL(nvrtcGetPTX, (void *, char *), program, text);
    if (strlen(text) + 1 != bytes)
        try(98, "the size is not that of the text");
    write_file(output, text, bytes - 1);
    free(text);
}

static void compile(const char *source, const char *output, const char *unsized)
{
    static const char *options[] = {"--gpu-architecture=compute_80"};
    void *program = NULL;
    size_t bytes;
    char *text = read_file(source, &bytes);
    CALL(nvrtcCreateProgram, (void **, const char *, const char *, int, void *, void *), &program, text, "k.cu", 0, NULL,
         NULL);
    CALL(nvrtcCompileProgram, (void *, int, const char **), program, 1, options);
    get_ptx(program, unsized ? (size_t)atoi(unsized) : 0, output);
    CALL(nvrtcDestroyProgram, (void **), &program);
    free(text);
}

#ifdef LINKED
int nvJitLinkCreate(void **handle, uint32_t count, const char **options);
int nvJitLinkAddData(void *handle, int type, const void *data, size_t bytes, const char *name);
int __nvJitLinkCreate_13_0(void **handle, uint32_t count, const char **options);
int __nvJitLinkAddData_13_0(void *handle, int type, const void *data, size_t bytes, const char *name);
int __nvJitLinkAddFile_13_0(void *handle, int type, const char *path);
#endif

static void link_input(const char *input, const char *output, const char *option, int as_file)
{
    const char *options[] = {"-arch=sm_80", option};
    void *handle = NULL;
    size_t bytes;
    char *text = read_file(input, &bytes);
    uint32_t count = option ? 2 : 1;
#ifdef LINKED
    try(__nvJitLinkCreate_13_0(&handle, count, options), "nvJitLinkCreate");
    try(as_file ? __nvJitLinkAddFile_13_0(handle, 2, input) : __nvJitLinkAddData_13_0(handle, 2, text, bytes + 1, "k.ptx"),
        "nvJitLinkAdd");
#else
    CALL(nvJitLinkCreate, (void **, uint32_t, const char **), &handle, count, options);
    if (as_file)
        CALL(nvJitLinkAddFile, (void *, int, const char *), handle, 2, input);
    else
        CALL(nvJitLinkAddData, (void *, int, const void *, size_t, const char *), handle, 2, text, bytes + 1, "k.ptx");
#endif
    CALL(nvJitLinkComplete, (void *), handle);
    CALL(nvJitLinkGetLinkedCubinSize, (void *, size_t *), handle, &bytes);
    char *cubin = malloc(bytes);
    CALL(nvJitLinkGetLinkedCubin, (void *, void *), handle, cubin);
    write_file(output, cubin, bytes);
    free(cubin);
    free(text);
}

int main(int argc, char **argv)
{
    if (argc < 5)
        return 99;
    library = dlopen(argv[2], RTLD_NOW | RTLD_LOCAL);
    if (!library)
        return fprintf(stderr, "%s\n", dlerror()), 99;
    if (strcmp(argv[1], "nvrtc") == 0)
        compile(argv[3], argv[4], argc > 5 ? argv[5] : NULL);
    else if (strcmp(argv[1], "stub") == 0)
        get_ptx(&library, argc > 5 ? (size_t)atoi(argv[5]) : 0, argv[4]);
    else
        link_input(argv[3], argv[4], argc > 5 ? argv[5] : NULL, strcmp(argv[1], "linkfile") == 0);
    return 0;
}
