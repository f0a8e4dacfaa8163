/* Folders for cubins that many processes make in one place: each removes what others seem to have left. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "judge/ptxas/folder.h"

enum { PROCESSES = 8, FOLDERS = 400 };

static int make_folders(void)
{
    int failed = 0;
    for (u32 i = 0; i < FOLDERS; i++) {
        Arena arena = {0};
        const char *folder = folder_make(&arena);
        failed |= !folder;
        if (folder) {
            failed |= access(folder, W_OK) != 0;
            folder_remove();
        }
        arena_free(&arena);
    }
    return failed;
}

static void folders_are_not_taken_for_left(void **state)
{
    char parent[] = "/tmp/ptxopt-test-XXXXXX";
    int failed = 0, status;
    (void)state;
    assert_non_null(mkdtemp(parent));
    setenv("TMPDIR", parent, 1);
    for (u32 i = 0; i < PROCESSES; i++)
        if (fork() == 0)
            _exit(make_folders());
    for (u32 i = 0; i < PROCESSES; i++)
        failed |= wait(&status) < 0 || status != 0;
    assert_int_equal(failed, 0);
    assert_int_equal(rmdir(parent), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(folders_are_not_taken_for_left)};
    return cmocka_run_group_tests_name("folder", tests, NULL, NULL);
}
