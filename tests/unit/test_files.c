/* Reading input and replacing output, in a directory of its own below the temporary one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/source.h"
#include "pipeline/output.h"

static int enter(void **state)
{
    static char dir[] = "/tmp/ptxopt-test-XXXXXX";
    *state = dir;
    return mkdtemp(dir) && chdir(dir) == 0 ? 0 : -1;
}

static int leave(void **state) { return chdir("/") == 0 && rmdir(*state) == 0 ? 0 : -1; }

static void put_file(const char *name, const char *text)
{
    FILE *file = fopen(name, "w");
    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
}

static void assert_file(const char *name, const char *text)
{
    Str found;
    assert_true(source_read(name, &found));
    assert_string_equal(found.p, text);
    source_free(&found);
}

static u32 files_here(void)
{
    u32 files = 0;
    DIR *dir = opendir(".");
    for (struct dirent *entry; (entry = readdir(dir));)
        files += entry->d_name[0] != '.' || strlen(entry->d_name) > 2;
    closedir(dir);
    return files;
}

static void files_are_read_whole(void **state)
{
    (void)state;
    Str text;
    static const u32 sizes[] = {0, 1, 4095, 4096, 4097, 65535, 65536, 65537, 300000};
    for (u32 i = 0; i < COUNT_OF(sizes); i++) {
        FILE *file = fopen("in", "w");
        for (u32 k = 0; k < sizes[i]; k++)
            putc((int)(k % 251), file);
        fclose(file);
        assert_true(source_read("in", &text));
        assert_int_equal(text.len, sizes[i]);
        for (u32 k = 0; k < sizes[i]; k++)
            assert_int_equal((u8)text.p[k], k % 251);
        assert_int_equal(text.p[text.len], 0);
        source_free(&text);
    }
    unlink("in");
}

static void what_cannot_be_read_says_why(void **state)
{
    (void)state;
    Str text;
    assert_false(source_read("missing", &text));
    assert_int_equal(errno, ENOENT);
    assert_false(source_read(".", &text));
    assert_int_equal(errno, EISDIR);
    int fd = open("huge", O_WRONLY | O_CREAT, 0600);
    assert_true(fd >= 0);
    if (ftruncate(fd, (off_t)1 << 32) == 0) { /* a hole: takes no room */
        assert_false(source_read("huge", &text));
        assert_int_equal(errno, EFBIG);
    }
    close(fd);
    unlink("huge");
}

static void output_appears_when_committed(void **state)
{
    (void)state;
    Output output;
    mode_t old = umask(027);
    assert_true(output_open(&output, "out"));
    umask(old);
    fputs("new", output.file);
    assert_int_equal(access("out", F_OK), -1);
    assert_true(output_commit(&output));
    assert_file("out", "new");
    struct stat st;
    stat("out", &st);
    assert_int_equal(st.st_mode & 07777, 0640);
    assert_int_equal(files_here(), 1);
    unlink("out");
}

static void output_replaces_and_keeps_permissions(void **state)
{
    (void)state;
    Output output;
    put_file("out", "old");
    chmod("out", 0604);
    assert_true(output_open(&output, "./out"));
    fputs("new", output.file);
    assert_file("out", "old");
    assert_true(output_commit(&output));
    assert_file("out", "new");
    struct stat st;
    stat("out", &st);
    assert_int_equal(st.st_mode & 07777, 0604);
    assert_int_equal(files_here(), 1);
    unlink("out");
}

static void discarded_output_leaves_nothing(void **state)
{
    (void)state;
    Output output;
    put_file("out", "old");
    assert_true(output_open(&output, "out"));
    fputs("half", output.file);
    output_discard(&output);
    assert_file("out", "old");
    assert_int_equal(files_here(), 1);
    unlink("out");
    sigset_t now;
    sigprocmask(SIG_BLOCK, NULL, &now);
    assert_false(sigismember(&now, SIGINT));
}

static void links_are_followed(void **state)
{
    (void)state;
    Output output;
    struct stat st;
    assert_int_equal(mkdir("sub", 0700), 0);
    assert_int_equal(symlink("second", "sub/first"), 0);
    assert_int_equal(symlink("target", "sub/second"), 0);
    for (u32 i = 0; i < 2; i++) { /* the target is made, then replaced */
        assert_true(output_open(&output, "sub/first"));
        fputs("text", output.file);
        assert_true(output_commit(&output));
        assert_file("sub/target", "text");
        lstat("sub/first", &st);
        assert_true(S_ISLNK(st.st_mode));
    }
    assert_int_equal(symlink("loop", "loop"), 0);
    assert_false(output_open(&output, "loop"));
    assert_int_equal(errno, ELOOP);
    unlink("loop");
    unlink("sub/first");
    unlink("sub/second");
    unlink("sub/target");
    assert_int_equal(rmdir("sub"), 0);
}

static void what_cannot_be_written_says_why(void **state)
{
    (void)state;
    Output output;
    assert_false(output_open(&output, "."));
    assert_int_equal(errno, EISDIR);
    assert_false(output_open(&output, "missing/out"));
    assert_int_equal(errno, ENOENT);
    assert_true(output_open(&output, "/dev/full"));
    fputs("text", output.file);
    assert_false(output_commit(&output));
    assert_int_equal(errno, ENOSPC);
    assert_true(output_open(&output, "/dev/full"));
    for (u32 i = 0; i < 100000; i++) /* fails long before the commit */
        fputs("text", output.file);
    assert_false(output_commit(&output));
    assert_int_not_equal(errno, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_are_read_whole),
        cmocka_unit_test(what_cannot_be_read_says_why),
        cmocka_unit_test(output_appears_when_committed),
        cmocka_unit_test(output_replaces_and_keeps_permissions),
        cmocka_unit_test(discarded_output_leaves_nothing),
        cmocka_unit_test(links_are_followed),
        cmocka_unit_test(what_cannot_be_written_says_why),
    };
    return cmocka_run_group_tests_name("files", tests, enter, leave);
}
