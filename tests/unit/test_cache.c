/* The cache on a file system that fails as NFS does: each of its calls in turn, with each error that such a server answers. What is read is
 * what was put there, or nothing; and once the server is well again, all is as before. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/types.h"

/* ---- calls that fail ---------------------------------------------------------------------------------------------- */

typedef enum Fault { FAULT_NONE, FAULT_ERROR, FAULT_ERROR_BUT_DONE, FAULT_ZEROS, FAULT_SHORT, FAULTS } Fault;

static struct {
    Fault fault;
    int error;
    unsigned long at, calls; /* the call that fails: one number for all of them; `lasting`: those after it, too */
    int lasting;
    bool leaves; /* a file without its final name may be left: nobody could know of it, or remove it */
} server;

static int fails(void)
{
    unsigned long call = server.calls++;
    errno = server.error;
    return server.fault != FAULT_NONE && (call == server.at || (server.lasting && call > server.at));
}

/* The call, unless it is to fail; it may be done all the same, as where the answer was lost and the client asked again. */
#define CALL(type, expression)                                                  \
    if (!fails())                                                               \
        return expression;                                                      \
    type done = server.fault == FAULT_ERROR_BUT_DONE ? (expression) : (type)-1; \
    (void)done;                                                                 \
    errno = server.error;                                                       \
    return (type)-1

static int failing_openat(int in, const char *name, int flags, ...)
{
    int fd;
    if (!fails())
        return openat(in, name, flags, 0666);
    fd = server.fault == FAULT_ERROR_BUT_DONE ? openat(in, name, flags, 0666) : -1;
    if (fd >= 0)
        close(fd);
    server.leaves |= fd >= 0;
    errno = server.error;
    return -1;
}

static int failing_mkdirat(int in, const char *name, mode_t mode) { CALL(int, mkdirat(in, name, mode)); }

static int failing_renameat(int from, const char *old, int to, const char *new) { CALL(int, renameat(from, old, to, new)); }

static int failing_unlinkat(int in, const char *name, int flags)
{
    if (!fails())
        return unlinkat(in, name, flags);
    server.leaves = true;
    errno = server.error;
    return -1;
}

static int failing_fstat(int fd, struct stat *st) { CALL(int, fstat(fd, st)); }

static int failing_futimens(int fd, const struct timespec times[2]) { CALL(int, futimens(fd, times)); }

/* Writes of a file may be refused as late as here; the descriptor is closed in any case. */
static int failing_close(int fd)
{
    int fault = fails(), status = close(fd);
    errno = fault ? server.error : errno;
    return fault ? -1 : status;
}

static ssize_t failing_write(int fd, const void *bytes, size_t count)
{
    if (!fails())
        return write(fd, bytes, count);
    if (server.fault == FAULT_SHORT)
        return write(fd, bytes, count / 2);
    errno = server.error;
    return -1;
}

static ssize_t failing_read(int fd, void *bytes, size_t count)
{
    if (!fails())
        return read(fd, bytes, count);
    if (server.fault == FAULT_SHORT)
        return read(fd, bytes, count / 2);
    if (server.fault == FAULT_ZEROS) {
        memset(bytes, 0, count);
        return (ssize_t)count;
    }
    errno = server.error;
    return -1;
}

#define openat failing_openat
#define mkdirat failing_mkdirat
#define renameat failing_renameat
#define unlinkat failing_unlinkat
#define fstat failing_fstat
#define futimens failing_futimens
#define close failing_close
#define write failing_write
#define read failing_read
#include "judge/guard/cache.c"
#undef openat
#undef mkdirat
#undef renameat
#undef unlinkat
#undef fstat
#undef futimens
#undef close
#undef write
#undef read

/* ---- tests -------------------------------------------------------------------------------------------------------- */

static const char first[] = "kernel 0123456789abcdef: -O2 # not worse\n",
                  second[] = "kernel 0123456789abcdef: --disable=all\n";
enum { KEY = 0x1234567 };

static const char *make_folder(char *folder)
{
    assert_non_null(mkdtemp(folder));
    assert_int_equal(setenv("PTXOPT_CACHE", folder, 1), 0);
    return folder;
}

/* Removes the folder; how many files were in its shelves. */
static u32 remove_folder(const char *folder)
{
    u32 files = 0;
    DIR *all = opendir(folder);
    assert_non_null(all);
    for (struct dirent *shelf; (shelf = readdir(all));) {
        if (shelf->d_name[0] == '.')
            continue;
        int in = openat(dirfd(all), shelf->d_name, O_RDONLY | O_DIRECTORY);
        DIR *dir = fdopendir(in);
        for (struct dirent *entry; (entry = readdir(dir));)
            files += entry->d_type == DT_REG && unlinkat(in, entry->d_name, 0) == 0;
        closedir(dir);
        assert_int_equal(unlinkat(dirfd(all), shelf->d_name, AT_REMOVEDIR), 0);
    }
    closedir(all);
    assert_int_equal(rmdir(folder), 0);
    return files;
}

/* Whether the text is one of those, or none. */
static bool is_known(const char *text, const char *one, const char *other)
{
    return !text || strcmp(text, one) == 0 || strcmp(text, other) == 0;
}

/* Something is known already; a build puts it anew and reads it, while call number `at` fails. Answers how many calls that took. */
static unsigned long build_with_fault(Fault fault, int error, unsigned long at, int lasting)
{
    char folder[] = "/tmp/ptxopt-test-XXXXXX";
    Arena arena = {0};
    make_folder(folder);
    Cache cache = cache_open(&arena);
    server.fault = FAULT_NONE;
    cache_put(&cache, KEY, first);
    server.fault = fault;
    server.error = error;
    server.at = at;
    server.lasting = lasting;
    server.leaves = false;
    server.calls = 0;
    char *before = cache_get(&cache, &arena, KEY);
    assert_true(is_known(before, first, first));
    cache_put(&cache, KEY, second);
    assert_true(is_known(cache_get(&cache, &arena, KEY), first, second));
    assert_null(cache_get(&cache, &arena, KEY + SHELVES));
    unsigned long calls = server.calls;
    server.fault = FAULT_NONE;
    assert_true(is_known(cache_get(&cache, &arena, KEY), first, second));
    cache_put(&cache, KEY, second);
    const char *now = cache_get(&cache, &arena, KEY);
    assert_non_null(now);
    assert_string_equal(now, second);
    arena_free(&arena);
    assert_in_range(remove_folder(folder), 1, 1 + server.leaves);
    return calls;
}

static void each_call_fails(void **state)
{
    static const int errors[] = {ESTALE, EIO, EACCES, ENOLCK, EDQUOT, ENOENT, EBUSY, EEXIST};
    (void)state;
    for (Fault fault = FAULT_ERROR; fault < FAULTS; fault++)
        for (u32 e = 0; e < COUNT_OF(errors); e++)
            for (int lasting = 0; lasting < 2; lasting++)
                for (unsigned long at = 0, calls = 1; at < calls; at++) {
                    if (lasting && fault == FAULT_SHORT)
                        continue; /* each write of a byte or none would be tried again for ever: no server answers so */
                    calls = build_with_fault(fault, errors[e], at, lasting);
                    assert_in_range(calls, 1, 200);
                }
}

static void nothing_fails(void **state)
{
    (void)state;
    assert_true(build_with_fault(FAULT_NONE, 0, 0, 0) > 20);
}

/* A server may know the owner by another number: what it holds counts where PTXOPT_CACHE names it, and nowhere else. Its clock may be ahead. */
static void clock_of_the_server(void **state)
{
    char folder[] = "/tmp/ptxopt-test-XXXXXX", path[128];
    const struct timespec future[2] = {{4000000000, 0}, {4000000000, 0}};
    Arena arena = {0};
    (void)state;
    make_folder(folder);
    Cache cache = cache_open(&arena);
    cache_put(&cache, KEY, first);
    snprintf(path, sizeof path, "%s/%02x/%016x", folder, KEY % SHELVES, KEY);
    assert_int_equal(utimensat(AT_FDCWD, path, future, 0), 0);
    const char *text = cache_get(&cache, &arena, KEY);
    assert_non_null(text);
    assert_string_equal(text, first);
    arena_free(&arena);
    assert_int_equal(remove_folder(folder), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_fails),
        cmocka_unit_test(each_call_fails),
        cmocka_unit_test(clock_of_the_server),
    };
    return cmocka_run_group_tests_name("cache", tests, NULL, NULL);
}
