/* A file is written under another name and renamed: readers find a whole one or none, without a lock. Its first line holds the
 * key and a checksum: a damaged or misplaced file counts as missing. Clocks only decide which files are removed first. */
#define _GNU_SOURCE
#include "judge/guard/cache.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/fnvmap.h"
#include "base/vec.h"
#include "pipeline/tuned.h"

enum {
    SHELVES = 256,
    FILE_NAME_BYTES = 17,
    MOST_BYTES = 1 << 20, /* of a file */
    BLOCK_BYTES = 4096,   /* a file takes at least that */
    DEFAULT_MEGABYTES = 256,
    MOST_MEGABYTES = 1 << 20,
    FRESH_SECONDS = 3600 /* a file is not marked as used more often */
};

/* ---- the folder --------------------------------------------------------------------------------------------------- */

/* Under sudo the home may be another user's, who could not use there what we make. */
static bool may_be_ours(const char *folder)
{
    struct stat st;
    return stat(folder, &st) != 0 || st.st_uid == geteuid();
}

static const char *default_folder(Arena *arena)
{
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    if (cache && cache[0] == '/')
        return may_be_ours(cache) ? arena_printf(arena, "%s/ptxopt", cache) : NULL;
    return home && home[0] == '/' && may_be_ours(home) ? arena_printf(arena, "%s/.cache/ptxopt", home) : NULL;
}

/* A word without a slash is none: a misspelt `off` would make a folder wherever a compiler runs. */
Cache cache_open(Arena *arena)
{
    const char *named = getenv("PTXOPT_CACHE");
    if (!named || !*named)
        return (Cache){default_folder(arena), false};
    return (Cache){strchr(named, '/') ? arena_copy(arena, named, strlen(named)) : NULL, true};
}

static bool is_trusted(const Cache *cache, int fd, struct stat *st)
{
    return fstat(fd, st) == 0 && (cache->shared || st->st_uid == geteuid());
}

static int open_trusted_folder(const Cache *cache, int in, const char *name, int flags)
{
    struct stat st;
    int fd = openat(in, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | flags);
    if (fd < 0 || is_trusted(cache, fd, &st))
        return fd;
    close(fd);
    return -1;
}

static void make_folders(const char *folder)
{
    Arena arena = {0};
    char *path = arena_copy(&arena, folder, strlen(folder));
    for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        (void)mkdir(path, 0777);
        *slash = '/';
    }
    (void)mkdir(path, 0777);
    arena_free(&arena);
}

/* The folder of a key's file; -1. The folder of all may be a link, one in it may not. */
static int open_shelf(const Cache *cache, u64 key, bool make)
{
    char name[3];
    if (!cache->folder)
        return -1;
    snprintf(name, sizeof name, "%02x", (unsigned)(key % SHELVES));
    int all = open_trusted_folder(cache, AT_FDCWD, cache->folder, 0);
    if (all < 0 && make && errno == ENOENT) {
        make_folders(cache->folder);
        all = open_trusted_folder(cache, AT_FDCWD, cache->folder, 0);
    }
    if (all < 0)
        return -1;
    if (make)
        (void)mkdirat(all, name, 0777);
    int shelf = open_trusted_folder(cache, all, name, O_NOFOLLOW);
    close(all);
    return shelf;
}

/* ---- files -------------------------------------------------------------------------------------------------------- */

static void name_file(char name[FILE_NAME_BYTES], u64 key) { snprintf(name, FILE_NAME_BYTES, "%016" PRIx64, key); }

/* Reads so many bytes, or none. */
static char *read_whole(Arena *arena, int fd, size_t bytes)
{
    char *text = arena_alloc(arena, bytes + 1);
    size_t done = 0;
    while (done < bytes) {
        ssize_t got = read(fd, text + done, bytes - done);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return NULL;
        done += (size_t)got;
    }
    return text;
}

static void mark_used(int fd, const struct stat *st)
{
    time_t now = time(NULL);
    if (st->st_mtime > now || now - st->st_mtime > FRESH_SECONDS)
        (void)futimens(fd, NULL);
}

/* Reads what follows the header, if the header is right. */
static char *read_file(const Cache *cache, Arena *arena, int fd, u64 key)
{
    struct stat st;
    if (!is_trusted(cache, fd, &st) || !S_ISREG(st.st_mode) || st.st_size > MOST_BYTES)
        return NULL;
    char *all = read_whole(arena, fd, (size_t)st.st_size), *end = all ? strchr(all, '\n') : NULL;
    if (!end || strlen(all) != (size_t)st.st_size)
        return NULL;
    const char *right = tuned_seal(arena, key, (Str){end + 1, (u32)strlen(end + 1)});
    if (strncmp(all, right, strlen(right)) != 0)
        return NULL;
    mark_used(fd, &st);
    return end + 1;
}

char *cache_get(const Cache *cache, Arena *arena, u64 key)
{
    char name[FILE_NAME_BYTES], *text = NULL;
    int shelf = open_shelf(cache, key, false);
    if (shelf < 0)
        return NULL;
    name_file(name, key);
    int fd = openat(shelf, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd >= 0) {
        text = read_file(cache, arena, fd, key);
        close(fd);
    }
    close(shelf);
    return text;
}

static bool write_whole(int fd, const char *bytes, size_t count)
{
    while (count) {
        ssize_t done = write(fd, bytes, count);
        if (done < 0 && errno != EINTR)
            return false;
        bytes += done > 0 ? done : 0;
        count -= done > 0 ? (size_t)done : 0;
    }
    return true;
}

/* ---- the limit ---------------------------------------------------------------------------------------------------- */

typedef struct Kept {
    const char *name;
    bool from_future; /* the clock has been set back since: nobody knows how old it is, and it goes first */
    struct timespec used;
    u64 bytes;
} Kept;
typedef VEC(Kept) VecKept;

/* False: what PTXOPT_CACHE_SIZE says makes no sense. */
static bool read_megabytes(unsigned long *megabytes)
{
    const char *text = getenv("PTXOPT_CACHE_SIZE");
    char *end = NULL;
    *megabytes = DEFAULT_MEGABYTES;
    if (!text || !*text)
        return true;
    unsigned long number = strtoul(text, &end, 10);
    if (*text < '0' || *text > '9' || *end || number > MOST_MEGABYTES)
        return false;
    *megabytes = number;
    return true;
}

static u64 shelf_limit(void)
{
    unsigned long megabytes;
    (void)read_megabytes(&megabytes);
    return ((u64)megabytes << 20) / SHELVES;
}

const char *cache_complain(Arena *arena)
{
    const char *named = getenv("PTXOPT_CACHE"), *fault = NULL;
    unsigned long megabytes;
    if (named && *named && !strchr(named, '/') && strcasecmp(named, "off") != 0)
        fault = arena_printf(arena, "PTXOPT_CACHE takes a path with a slash, or off, not '%s': nothing is remembered", named);
    if (!read_megabytes(&megabytes))
        fault = arena_printf(arena, "%s%sPTXOPT_CACHE_SIZE takes megabytes, 0 to %d, not '%s': it is %d", fault ? fault : "",
                             fault ? "; " : "", MOST_MEGABYTES, getenv("PTXOPT_CACHE_SIZE"), DEFAULT_MEGABYTES);
    return fault;
}

static int oldest_first(const void *a, const void *b)
{
    const Kept *x = a, *y = b;
    if (x->from_future != y->from_future)
        return x->from_future ? -1 : 1;
    if (x->used.tv_sec != y->used.tv_sec)
        return x->used.tv_sec < y->used.tv_sec ? -1 : 1;
    return x->used.tv_nsec < y->used.tv_nsec ? -1 : x->used.tv_nsec > y->used.tv_nsec;
}

/* How the name of a file begins that is not yet whole: patterns of a shell pass it over. */
#define TEMPORARY ".new."

static u64 list_shelf(Arena *arena, DIR *shelf, const char *new, VecKept *kept)
{
    u64 sum = 0;
    time_t now = time(NULL);
    for (struct dirent *entry; (entry = readdir(shelf));) {
        struct stat st;
        bool hidden = entry->d_name[0] == '.' && strncmp(entry->d_name, TEMPORARY, sizeof TEMPORARY - 1) != 0;
        if (hidden || fstatat(dirfd(shelf), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0)
            continue;
        u64 bytes = ((u64)st.st_size / BLOCK_BYTES + 1) * BLOCK_BYTES;
        sum += bytes;
        if (strcmp(entry->d_name, new) != 0)
            vec_push(kept, ((Kept){arena_copy(arena, entry->d_name, strlen(entry->d_name)),
                                   st.st_mtime > now + FRESH_SECONDS, st.st_mtim, bytes}));
    }
    return sum;
}

/* Removes the oldest files but `new` until the shelf is within its limit. */
static void trim_shelf(int fd, const char *new)
{
    Arena arena = {0};
    VecKept kept = {0};
    int again = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *shelf = again >= 0 ? fdopendir(again) : NULL;
    u64 sum = shelf ? list_shelf(&arena, shelf, new, &kept) : 0, most = shelf_limit();
    if (sum > most && kept.n)
        qsort(kept.v, kept.n, sizeof *kept.v, oldest_first);
    for (u32 i = 0; i < kept.n && sum > most; i++)
        if (unlinkat(fd, kept.v[i].name, 0) == 0 || errno == ENOENT)
            sum -= kept.v[i].bytes;
    if (shelf)
        closedir(shelf);
    else if (again >= 0)
        close(again);
    vec_free(&kept);
    arena_free(&arena);
}

void cache_put(const Cache *cache, u64 key, const char *text)
{
    Arena arena = {0};
    struct timespec now = {0};
    char name[FILE_NAME_BYTES];
    int shelf = shelf_limit() ? open_shelf(cache, key, true) : -1;
    if (shelf < 0)
        return;
    clock_gettime(CLOCK_MONOTONIC, &now);
    name_file(name, key);
    const char *first = tuned_seal(&arena, key, (Str){text, (u32)strlen(text)});
    const char *temporary = arena_printf(&arena, TEMPORARY "%ld.%ld.%s", (long)getpid(), now.tv_nsec, name);
    int fd = openat(shelf, temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    bool good = fd >= 0 && strlen(first) + strlen(text) <= MOST_BYTES && write_whole(fd, first, strlen(first)) &&
                write_whole(fd, text, strlen(text));
    good = fd >= 0 && close(fd) == 0 && good;
    if (good && renameat(shelf, temporary, shelf, name) == 0)
        trim_shelf(shelf, name);
    else if (fd >= 0)
        unlinkat(shelf, temporary, 0);
    close(shelf);
    arena_free(&arena);
}
