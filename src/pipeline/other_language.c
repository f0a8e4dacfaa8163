#define _GNU_SOURCE
#include "pipeline/other_language.h"

#include <string.h>

#define PRINT_PTX "`cuobjdump -ptx FILE` prints the PTX in it, if there is any"
#define LLC "`llc -mcpu=sm_90 FILE -o out.ptx` makes PTX of it"
#define NVCC "`nvcc -ptx FILE -o out.ptx` makes PTX of it"

static const struct {
    u32 len;
    const char *begins, *hint;
} binary_row[] = {
    {4, "\177ELF", "this is an ELF file: " PRINT_PTX},
    {4, "\x50\xed\x55\xba", "this is a fat binary: " PRINT_PTX},
    {8, "!<arch>\n", "this is a library: " PRINT_PTX},
    {4, "BC\xc0\xde", "this is LLVM bitcode: " LLC},
};

static const struct {
    const char *word, *hint;
} language_row[] = {
    {"target triple", "this looks like LLVM IR: " LLC}, {"; ModuleID", "this looks like LLVM IR: " LLC},
    {"\ndefine ", "this looks like LLVM IR: " LLC},     {"__global__", "this looks like CUDA C++: " NVCC},
    {"__device__", "this looks like CUDA C++: " NVCC},  {"#include", "this looks like CUDA C++: " NVCC},
};

static bool contains(Str text, const char *word) { return memmem(text.p, text.len, word, strlen(word)) != NULL; }

const char *other_binary(Str text)
{
    for (u32 i = 0; i < COUNT_OF(binary_row); i++)
        if (text.len >= binary_row[i].len && memcmp(text.p, binary_row[i].begins, binary_row[i].len) == 0)
            return binary_row[i].hint;
    return NULL;
}

const char *other_language(Str text)
{
    if (contains(text, ".version"))
        return NULL;
    for (u32 i = 0; i < COUNT_OF(language_row); i++)
        if (contains(text, language_row[i].word))
            return language_row[i].hint;
    return NULL;
}
