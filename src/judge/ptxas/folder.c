#define _GNU_SOURCE
#include "judge/ptxas/folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "judge/ptxas/child.h"

enum {
    ATTEMPTS = 8,
    RANDOM_LETTERS = 6,
    SECONDS_TO_LOCK = 60 /* the longest that a busy machine is expected to take from making a folder to locking it */
};

static const char prefix[] = "ptxopt-", extension[] = ".cubin";

static int folder = -1; /* open, with the lock */
static pid_t owner;
static char folder_path[PATH_MAX];
static volatile u32 files;

static const char *parent_path(void)
{
    const char *parent = getenv("TMPDIR");
    return parent && *parent ? parent : "/tmp";
}

/* ---- what owners that were killed have left --------------------------------------------------------------------- */

/* Digits and the extension. */
static bool is_our_file(const char *name)
{
    size_t digits = strspn(name, "0123456789");
    return digits > 0 && strcmp(name + digits, extension) == 0;
}

static bool is_our_folder(int parent, const char *name)
{
    struct stat st;
    return strncmp(name, prefix, sizeof prefix - 1) == 0 && strlen(name) == sizeof prefix - 1 + RANDOM_LETTERS &&
           fstatat(parent, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode) && st.st_uid == geteuid();
}

/* Whether the folder holds cubins of ours, which are removed on request. */
static bool find_files(int fd, bool remove)
{
    int again = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *list = again >= 0 ? fdopendir(again) : NULL;
    bool found = false;
    for (struct dirent *entry; list && (entry = readdir(list));)
        if (is_our_file(entry->d_name)) {
            found = true;
            if (remove)
                unlinkat(fd, entry->d_name, 0);
        }
    if (list)
        closedir(list);
    else if (again >= 0)
        close(again);
    return found;
}

/* Whether the folder is so new and empty that its owner may be about to lock it. */
static bool may_be_in_the_making(int fd)
{
    struct stat st;
    time_t now = time(NULL);
    return fstat(fd, &st) == 0 && st.st_mtime <= now && now - st.st_mtime < SECONDS_TO_LOCK && !find_files(fd, false);
}

/* A folder that holds anything else stays. */
static void remove_if_left(int parent, const char *name)
{
    int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return;
    if (!may_be_in_the_making(fd) && flock(fd, LOCK_EX | LOCK_NB) == 0) {
        find_files(fd, true);
        unlinkat(parent, name, AT_REMOVEDIR);
    }
    close(fd);
}

static void remove_left(void)
{
    DIR *list = opendir(parent_path());
    for (struct dirent *entry; list && (entry = readdir(list));)
        if (is_our_folder(dirfd(list), entry->d_name))
            remove_if_left(dirfd(list), entry->d_name);
    if (list)
        closedir(list);
}

/* ---- the own one ------------------------------------------------------------------------------------------------ */

/* A signal handler may call this, because it makes only system calls. */
static void clean_up(void)
{
    char name[16 + sizeof extension];
    for (u32 file = 0; file < files; file++) {
        char *at = name + sizeof name - sizeof extension;
        memcpy(at, extension, sizeof extension);
        u32 rest = file;
        do
            *--at = (char)('0' + rest % 10);
        while ((rest /= 10) != 0);
        unlinkat(folder, at, 0);
    }
    if (folder >= 0)
        rmdir(folder_path);
}

/* Whether the folder is there still, and will be. One without a lock looks as if it were left, and who holds its lock is
 * removing it. Where there are no locks nothing is taken for left. */
static bool lock(void)
{
    struct stat st, there;
    bool taken = flock(folder, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
    return !taken && fstat(folder, &st) == 0 && stat(folder_path, &there) == 0 && st.st_dev == there.st_dev &&
           st.st_ino == there.st_ino;
}

static bool make(void)
{
    int len = snprintf(folder_path, sizeof folder_path, "%s/%sXXXXXX", parent_path(), prefix);
    if (len >= (int)sizeof folder_path) {
        errno = ENAMETOOLONG;
        return false;
    }
    if (!mkdtemp(folder_path))
        return false;
    folder = open(folder_path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder >= 0)
        return true;
    rmdir(folder_path);
    return false;
}

static void forget(void)
{
    close(folder);
    folder = -1;
    files = 0;
}

/* Memory that runs out ends the process without folder_remove. */
static void remove_at_exit(void)
{
    if (folder >= 0 && owner == getpid())
        folder_remove();
}

const char *folder_make(Arena *arena)
{
    sigset_t old;
    bool good = false, again = true;
    remove_left();
    child_hold_signals(&old);
    for (u32 attempt = 0; attempt < ATTEMPTS && again && !good; attempt++) {
        again = make() || errno == ENOENT; /* another process has taken it for left before it was open */
        good = folder >= 0 && lock();
        if (folder >= 0 && !good)
            forget();
    }
    if (good)
        child_on_end(clean_up);
    if (good && !owner)
        atexit(remove_at_exit);
    owner = getpid();
    sigprocmask(SIG_SETMASK, &old, NULL);
    return good ? arena_copy(arena, folder_path, strlen(folder_path)) : NULL;
}

char *folder_next_file(Arena *arena)
{
    files++; /* first: a signal may come */
    return arena_printf(arena, "%s/%u%s", folder_path, files - 1, extension);
}

void folder_remove(void)
{
    sigset_t old;
    child_hold_signals(&old);
    child_on_end(NULL);
    clean_up();
    forget();
    sigprocmask(SIG_SETMASK, &old, NULL);
}
