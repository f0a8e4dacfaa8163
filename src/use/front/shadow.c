#define _GNU_SOURCE
#include "use/front/shadow.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "judge/ptxas/real.h"

static const char *failed(Arena *arena, const char *what, const char *path)
{
    return arena_printf(arena, "cannot %s '%s': %s", what, path, strerror(errno));
}

static const char *join(Arena *arena, const char *folder, const char *name)
{
    return arena_printf(arena, "%s/%s", folder, name);
}

/* Without symbolic links; NULL with errno set where there is no such file. */
static const char *real_path(Arena *arena, const char *path)
{
    char *real = realpath(path, NULL), *copy = real ? arena_copy(arena, real, strlen(real)) : NULL;
    free(real);
    return copy;
}

/* An nvcc without its profile is a script that calls the nvcc, and so the ptxas, of another folder. */
static bool is_toolkit(Arena *arena, const char *folder)
{
    if (!folder || !*folder || access(join(arena, folder, "bin/ptxas"), X_OK) != 0)
        return false;
    return access(join(arena, folder, "bin/nvcc"), F_OK) != 0 || access(join(arena, folder, "bin/nvcc.profile"), F_OK) == 0;
}

/* The folder above that of the nvcc in PATH; NULL if there is none. */
static const char *toolkit_of_nvcc(Arena *arena)
{
    const char *nvcc = real_search_path(arena, "nvcc");
    const char *real = nvcc ? real_path(arena, nvcc) : NULL;
    return real ? real_path(arena, arena_printf(arena, "%.*s..", (int)(real_base_name(real) - real), real)) : NULL;
}

static const char *find_toolkit(Arena *arena, const char *cuda)
{
    if (cuda)
        return is_toolkit(arena, cuda) ? cuda : NULL;
    const char *const folder[] = {getenv("CUDA_HOME"), getenv("CUDA_PATH"), toolkit_of_nvcc(arena), "/usr/local/cuda"};
    for (u32 i = 0; i < COUNT_OF(folder); i++)
        if (is_toolkit(arena, folder[i]))
            return folder[i];
    return NULL;
}

static bool is_dots(const char *name) { return strcmp(name, ".") == 0 || strcmp(name, "..") == 0; }

static const char *make_link(Arena *arena, const char *target, const char *link)
{
    return symlink(target, link) == 0 ? NULL : failed(arena, "make the link", link);
}

/* Links to all that is in `from` in `to`, but for bin, and ptxas, which the front stands for. */
static const char *link_all(Arena *arena, const char *from, const char *to)
{
    DIR *folder = opendir(from);
    if (!folder)
        return failed(arena, "read", from);
    const char *fault = NULL;
    for (struct dirent *entry; !fault && (entry = readdir(folder));)
        if (!is_dots(entry->d_name) && strcmp(entry->d_name, "bin") != 0 && !real_is_ptxas_name(entry->d_name))
            fault = make_link(arena, join(arena, from, entry->d_name), join(arena, to, entry->d_name));
    closedir(folder);
    return fault;
}

static bool is_link(const char *path)
{
    struct stat st;
    return lstat(path, &st) == 0 && S_ISLNK(st.st_mode);
}

/* Removes the links of an earlier shadow; anything else but its bin is not ours to touch. */
static const char *clear_links(Arena *arena, const char *path)
{
    DIR *folder = opendir(path);
    if (!folder)
        return failed(arena, "read", path);
    const char *fault = NULL;
    for (struct dirent *entry; !fault && (entry = readdir(folder));) {
        const char *file = join(arena, path, entry->d_name);
        if (is_dots(entry->d_name) || strcmp(entry->d_name, "bin") == 0)
            continue;
        if (!is_link(file))
            fault = arena_printf(arena, "'%s' is neither empty nor a shadow: it contains '%s'", path, entry->d_name);
        else if (unlink(file) != 0)
            fault = failed(arena, "remove", file);
    }
    closedir(folder);
    return fault;
}

static const char *prepare(Arena *arena, const char *folder)
{
    if (mkdir(folder, 0777) == 0)
        return NULL;
    return errno == EEXIST ? clear_links(arena, folder) : failed(arena, "make", folder);
}

static const char *link_fronts(Arena *arena, const char *cuda, const char *bin)
{
    const char *self = real_path(arena, "/proc/self/exe");
    if (!self)
        return failed(arena, "find", "/proc/self/exe");
    const char *fault = make_link(arena, self, join(arena, bin, "ptxas"));
    return fault ? fault : make_link(arena, join(arena, cuda, "bin/ptxas"), join(arena, bin, "ptxas.real"));
}

const char *shadow_install(Arena *arena, const char *folder, const char *cuda)
{
    const char *found = find_toolkit(arena, cuda);
    const char *from = found ? real_path(arena, found) : NULL;
    if (!from)
        return cuda ? arena_printf(arena,
                                   "'%s' is no CUDA toolkit: it has no bin/ptxas, or no bin/nvcc.profile beside its nvcc",
                                   cuda)
                    : "there is no CUDA toolkit in $CUDA_HOME, $CUDA_PATH, PATH or /usr/local/cuda; --cuda=DIR names one";
    if (access(join(arena, from, "bin/ptxas.real"), F_OK) == 0)
        return arena_printf(arena, "'%s' is a shadow itself; --cuda=DIR names the toolkit", from);
    const char *bin = join(arena, folder, "bin"), *fault = prepare(arena, folder);
    if (!fault)
        fault = prepare(arena, bin);
    if (!fault)
        fault = link_all(arena, from, folder);
    if (!fault)
        fault = link_all(arena, join(arena, from, "bin"), bin);
    return fault ? fault : link_fronts(arena, from, bin);
}
