#include "judge/ptxas/real.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

/* `DEVICE:INODE` of each program that the call has come through, fronts and what they ran, with commas between them. A front never runs
 * one of these, so every chain of calls ends. */
#define VISITED "PTXOPT_FRONTS"

const char *real_base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static const char *identity(Arena *arena, const struct stat *st)
{
    return arena_printf(arena, "%llx:%llx", (unsigned long long)st->st_dev, (unsigned long long)st->st_ino);
}

static bool is_listed(const char *list, const char *item)
{
    size_t len = strlen(item);
    for (const char *at = list; at && (at = strstr(at, item)); at++)
        if ((at == list || at[-1] == ',') && (at[len] == ',' || at[len] == '\0'))
            return true;
    return false;
}

static bool stat_self(struct stat *self)
{
    return stat("/proc/self/exe", self) == 0 || stat((const char *)getauxval(AT_EXECFN), self) == 0;
}

static bool has_come_through_one(void)
{
    const char *visited = getenv(VISITED);
    return visited && *visited;
}

static void add_visited(const struct stat *st)
{
    Arena arena = {0};
    const char *own = identity(&arena, st), *visited = getenv(VISITED);
    if (!has_come_through_one())
        setenv(VISITED, own, 1);
    else if (!is_listed(visited, own))
        setenv(VISITED, arena_printf(&arena, "%s,%s", visited, own), 1);
    arena_free(&arena);
}

bool real_enter(void)
{
    struct stat self;
    bool again = has_come_through_one();
    if (stat_self(&self))
        add_visited(&self);
    return again;
}

bool real_has_visited(const char *path)
{
    Arena arena = {0};
    struct stat st;
    bool is = stat(path, &st) == 0 && is_listed(getenv(VISITED), identity(&arena, &st));
    arena_free(&arena);
    return is;
}

static bool is_self(const char *path)
{
    struct stat self, st;
    return stat_self(&self) && stat(path, &st) == 0 && st.st_dev == self.st_dev && st.st_ino == self.st_ino;
}

static bool is_program(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0;
}

static bool is_real(const char *path) { return is_program(path) && !real_has_visited(path); }

/* The next program of that name in PATH that `accept` accepts; an empty folder is the current one, as for the shell. */
static const char *search_path(Arena *arena, const char *name, bool (*accept)(const char *path))
{
    const char *path = getenv("PATH");
    for (const char *folder = path ? path : "/usr/local/bin:/usr/bin:/bin"; folder;) {
        size_t len = strcspn(folder, ":");
        const char *file = len ? arena_printf(arena, "%.*s/%s", (int)len, folder, name) : arena_printf(arena, "./%s", name);
        if (accept(file))
            return file;
        folder = folder[len] ? folder + len + 1 : NULL;
    }
    return NULL;
}

const char *real_search_path(Arena *arena, const char *name) { return search_path(arena, name, is_program); }

static const char *search_toolkits(Arena *arena, const char *name)
{
    const char *const home[] = {getenv("CUDA_HOME"), getenv("CUDA_PATH"), "/usr/local/cuda"};
    for (u32 i = 0; i < COUNT_OF(home); i++) {
        const char *file = home[i] ? arena_printf(arena, "%s/bin/%s", home[i], name) : NULL;
        if (file && is_real(file))
            return file;
    }
    return NULL;
}

/* NAME.real in the folder of `path`; NULL if there is none. */
static const char *real_beside(Arena *arena, const char *path, const char *name)
{
    const char *file = arena_printf(arena, "%.*s%s.real", (int)(real_base_name(path) - path), path, name);
    return is_real(file) ? file : NULL;
}

/* The program's file; its name, where the system does not tell. */
static const char *own_file(Arena *arena)
{
    char path[4096];
    ssize_t len = readlink("/proc/self/exe", path, sizeof path);
    return len > 0 && (size_t)len < sizeof path ? arena_copy(arena, path, (size_t)len) : "ptxopt";
}

/* A path to the front as it was called: argv[0], looked up in PATH where it is a name. */
static const char *own_path(Arena *arena, const char *invoked)
{
    if (strchr(invoked, '/'))
        return invoked;
    const char *found = search_path(arena, invoked, is_self);
    return found ? found : own_file(arena);
}

bool real_is_ptxas_name(const char *name) { return strncmp(name, "ptxas", 5) == 0; }

static const char *find_named(Arena *arena, const char *name, const char *beside)
{
    const char *found = real_beside(arena, beside, name);
    if (!found)
        found = search_path(arena, name, is_real);
    return found ? found : search_toolkits(arena, name);
}

static const char *check_chosen(Arena *arena, const char *chosen, const char **why)
{
    if (is_real(chosen))
        return chosen;
    *why = arena_printf(arena, "PTXOPT_PTXAS names '%s', which is %s", chosen,
                        is_program(chosen) ? "ptxopt itself" : "no program that can be run");
    return NULL;
}

/* PTXOPT_PTXAS, unless it has run already: what it names has called a front in its turn. */
static const char *chosen_program(const char *name)
{
    const char *chosen = getenv("PTXOPT_PTXAS");
    bool counts = chosen && *chosen && real_is_ptxas_name(name);
    return counts && (is_self(chosen) || !real_has_visited(chosen)) ? chosen : NULL;
}

static const char *find_real(Arena *arena, const char *word, const char *invoked, const char **why)
{
    const char *name = real_base_name(word), *chosen = chosen_program(name);
    if (chosen)
        return check_chosen(arena, chosen, why);
    bool is_path = strchr(word, '/') != NULL;
    if (is_path && !real_has_visited(word))
        return word; /* what cannot be run is for the system to say */
    const char *beside = is_path ? word : own_path(arena, invoked);
    const char *found = find_named(arena, name, beside);
    if (!found && real_is_ptxas_name(name) && strcmp(name, "ptxas") != 0) /* ptxas-blackwell */
        found = find_named(arena, "ptxas", beside);
    if (!found)
        *why = arena_printf(arena, "there is no other %s: none beside '%s', in PATH or in a CUDA toolkit%s", name, beside,
                            real_is_ptxas_name(name) ? "; PTXOPT_PTXAS=FILE names one" : "");
    return found;
}

const char *real_find(Arena *arena, const char *word, const char *invoked, const char **why)
{
    const char *found = find_real(arena, word, invoked, why);
    struct stat st;
    if (found && stat(found, &st) == 0)
        add_visited(&st);
    return found;
}
