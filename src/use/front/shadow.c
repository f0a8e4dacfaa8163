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

/* The path without symbolic links; NULL with errno set: there is no such file. */
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

/* ---- an earlier shadow ------------------------------------------------------------------------------------------- */

/* The path that the symbolic link holds; NULL: it is none, or is not there. */
static const char *link_target(Arena *arena, const char *path)
{
    char target[PATH_MAX];
    ssize_t len = readlink(path, target, sizeof target);
    return len > 0 && len < (ssize_t)sizeof target ? arena_copy(arena, target, (size_t)len) : NULL;
}

static bool is_folder(const char *path)
{
    struct stat st;
    return lstat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* The toolkit that `folder` is a shadow of, as bin/ptxas.real says; NULL: it is none. It need not be there any more. */
static const char *shadowed_toolkit(Arena *arena, const char *folder)
{
    static const char ptxas[] = "/bin/ptxas";
    const char *target =
        is_folder(join(arena, folder, "bin")) ? link_target(arena, join(arena, folder, "bin/ptxas.real")) : NULL;
    size_t len = target ? strlen(target) : 0, end = sizeof ptxas - 1;
    return len > end && strcmp(target + len - end, ptxas) == 0 ? arena_copy(arena, target, len - end) : NULL;
}

/* Whether shadow_install makes `name` in a folder that stands for `from`. */
static bool is_own(Arena *arena, const char *path, const char *from, const char *name, bool is_bin)
{
    const char *target = link_target(arena, join(arena, path, name));
    if (!target)
        return false;
    if (is_bin && strcmp(name, "ptxas") == 0)
        return strncmp(real_base_name(target), "ptxopt", 6) == 0 || real_has_visited(target);
    if (is_bin && strcmp(name, "ptxas.real") == 0)
        name = "ptxas";
    return strcmp(target, join(arena, from, name)) == 0;
}

/* A folder of an earlier shadow, or one to be: nothing but what shadow_install made may be in it. With `removes` that goes.
 * `from`: what it stands for; NULL: it is to be empty. */
static const char *look_at(Arena *arena, const char *path, const char *from, bool is_bin, bool removes)
{
    DIR *folder = opendir(path);
    if (!folder)
        return errno == ENOENT ? NULL : failed(arena, "read", path);
    const char *fault = NULL;
    for (struct dirent *entry; !fault && (entry = readdir(folder));) {
        const char *name = entry->d_name, *file = join(arena, path, name);
        if (is_dots(name) || (!is_bin && strcmp(name, "bin") == 0 && is_folder(file)))
            continue;
        if (!from || !is_own(arena, path, from, name, is_bin))
            fault = arena_printf(arena, "'%s' is neither empty nor a shadow: it contains '%s'", path, name);
        else if (removes && unlink(file) != 0)
            fault = failed(arena, "remove", file);
    }
    closedir(folder);
    return fault;
}

/* Looks at all of it before anything is removed. ptxas.real goes last, which says whose the others are. */
static const char *clear(Arena *arena, const char *folder)
{
    const char *bin = join(arena, folder, "bin"), *from = shadowed_toolkit(arena, folder);
    const char *from_bin = from ? join(arena, from, "bin") : NULL, *fault = NULL;
    for (int removes = 0; removes < 2 && !fault; removes++) {
        fault = look_at(arena, folder, from, false, removes);
        if (!fault)
            fault = look_at(arena, bin, from_bin, true, removes);
    }
    return fault;
}

static const char *make_folder(Arena *arena, const char *folder)
{
    return mkdir(folder, 0777) == 0 || errno == EEXIST ? NULL : failed(arena, "make", folder);
}

/* Whether a folder that is to be made would lie in the toolkit, and in a link to itself. */
static bool is_inside(Arena *arena, const char *folder, const char *toolkit)
{
    size_t len = strlen(folder), toolkit_len = strlen(toolkit);
    while (len > 1 && folder[len - 1] == '/')
        len--;
    const char *path = arena_copy(arena, folder, len), *name = real_base_name(path), *real = real_path(arena, path);
    if (!real)
        real = real_path(arena, name == path ? "." : arena_printf(arena, "%.*s.", (int)(name - path), path));
    return real && strncmp(real, toolkit, toolkit_len) == 0 && (real[toolkit_len] == '/' || real[toolkit_len] == '\0');
}

static const char *link_front(Arena *arena, const char *bin)
{
    const char *self = real_path(arena, "/proc/self/exe");
    return self ? make_link(arena, self, join(arena, bin, "ptxas")) : failed(arena, "find", "ptxopt");
}

/* ptxas.real comes first: by that a shadow is known, also one that was not finished. */
static const char *make(Arena *arena, const char *from, const char *folder)
{
    const char *bin = join(arena, folder, "bin"), *fault = make_folder(arena, folder);
    if (!fault)
        fault = make_folder(arena, bin);
    if (!fault)
        fault = make_link(arena, join(arena, from, "bin/ptxas"), join(arena, bin, "ptxas.real"));
    if (!fault)
        fault = link_all(arena, from, folder);
    if (!fault)
        fault = link_all(arena, join(arena, from, "bin"), bin);
    return fault ? fault : link_front(arena, bin);
}

const char *shadow_install(Arena *arena, const char *folder, const char *cuda)
{
    real_enter();
    const char *found = find_toolkit(arena, cuda);
    const char *from = found ? real_path(arena, found) : NULL;
    if (!from)
        return cuda ? arena_printf(arena,
                                   "'%s' is no CUDA toolkit: it has no bin/ptxas, or no bin/nvcc.profile beside its nvcc",
                                   cuda)
                    : "there is no CUDA toolkit in $CUDA_HOME, $CUDA_PATH, PATH or /usr/local/cuda; --cuda=DIR names one";
    if (shadowed_toolkit(arena, from))
        return arena_printf(arena, "'%s' is a shadow itself; --cuda=DIR names the toolkit", from);
    if (is_inside(arena, folder, from))
        return arena_printf(arena, "'%s' lies in the toolkit '%s'", folder, from);
    const char *fault = clear(arena, folder);
    return fault ? fault : make(arena, from, folder);
}
