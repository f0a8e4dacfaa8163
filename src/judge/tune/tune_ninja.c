#define _GNU_SOURCE
#include "judge/tune/tune_ninja.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/fnvmap.h"
#include "base/source.h"

const char *ninja_name(Arena *arena, const char *folder, const Scratch *text, const char *extension)
{
    size_t bytes = 0;
    char *contents = scratch_read(text, &bytes);
    u64 hash = fnv_bytes(FNV_BASIS, contents, contents ? bytes : 0);
    free(contents);
    return arena_printf(arena, "%s%s%016" PRIx64 ".%s", folder, *folder ? "/" : "", hash, extension);
}

/* Words in single quotes for the shell, with `$` as Ninja wants it. */
static void put_quoted(FILE *out, const char *word)
{
    putc('\'', out);
    for (; *word; word++)
        fputs(*word == '\'' ? "'\\''" : *word == '$' ? "$$" : (char[]){*word, '\0'}, out);
    putc('\'', out);
}

static void put_rule(FILE *out, const Assembler *assembler)
{
    fputs("# Written by ptxopt --tune-ninja; --tune-read reads what Ninja makes here.\nptxas = ", out);
    put_quoted(out, assembler->command->ptxas);
    fprintf(out,
            "\nrule assemble\n  command = timeout %u $ptxas %s%s -o $out.new $in >$out.log 2>&1 && mv $out.new $out || : "
            ">$out\n"
            "  description = ptxas $in\n",
            assembler->limit, assembler->command->argv[1], assembler->command->count > 3 ? " -c" : "");
}

static bool put_file(FILE *out, const char *path)
{
    Str text;
    if (!source_read(path, &text))
        return false;
    fwrite(text.p, 1, text.len, out);
    source_free(&text);
    return true;
}

bool ninja_open(NinjaFolder *ninja, Arena *arena, const char *path, const Assembler *assembler)
{
    const char *file = arena_printf(arena, "%s/build.ninja", path);
    *ninja = (NinjaFolder){.arena = arena};
    if (assembler && mkdir(path, 0777) != 0 && errno != EEXIST)
        return false;
    if (!output_open(&ninja->file, file))
        return false;
    ninja->path = path;
    if (assembler)
        put_rule(ninja->file.file, assembler);
    return assembler || put_file(ninja->file.file, file) || ninja_close(ninja, false);
}

bool ninja_add(NinjaFolder *ninja, const Scratch *text)
{
    size_t bytes = 0;
    char *contents = scratch_read(text, &bytes);
    Output output;
    bool good = contents && output_open(&output, ninja_name(ninja->arena, ninja->path, text, "ptx"));
    if (good) {
        fwrite(contents, 1, bytes, output.file);
        good = output_commit(&output);
    }
    free(contents);
    fprintf(ninja->file.file, "build %s: assemble %s\n", ninja_name(ninja->arena, "", text, "cubin"),
            ninja_name(ninja->arena, "", text, "ptx"));
    return good;
}

bool ninja_close(NinjaFolder *ninja, bool good)
{
    int error = errno;
    if (!ninja->path)
        return good;
    ninja->path = NULL;
    if (good)
        return output_commit(&ninja->file);
    output_discard(&ninja->file);
    errno = error;
    return false;
}
