#define _GNU_SOURCE
#include "use/front/records.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fnvmap.h"
#include "base/source.h"
#include "judge/ptxas/real.h"

/* After `tmpxft_0000a1b2_00000000-6_`, whose numbers are of the process and of the file. */
static const char *after_prefix(const char *name)
{
    static const char prefix[] = "tmpxft_";
    const char *at = name + sizeof prefix - 1;
    if (strncmp(name, prefix, sizeof prefix - 1) != 0)
        return NULL;
    at += strspn(at, "0123456789abcdef_");
    if (*at != '-')
        return NULL;
    size_t digits = strspn(at + 1, "0123456789");
    at += 1 + digits;
    return digits && *at == '_' && at[1] ? at + 1 : NULL;
}

const char *records_name(Arena *arena, const char *path)
{
    const char *kept = after_prefix(real_base_name(path));
    return kept ? arena_copy(arena, kept, strlen(kept)) : path;
}

static bool write_all(const char *path, int flags, const Scratch *records)
{
    size_t bytes = 0;
    char *text = scratch_read(records, &bytes);
    int fd = text ? open(path, flags | O_WRONLY | O_CREAT | O_CLOEXEC, 0666) : -1;
    ssize_t done = fd >= 0 ? write(fd, text, bytes) : -1;
    int error = done >= 0 && (size_t)done < bytes ? ENOSPC : errno;
    bool good = done >= 0 && (size_t)done == bytes;
    if (fd >= 0)
        good = close(fd) == 0 && good;
    free(text);
    errno = error;
    return good;
}

bool records_append(const char *path, const Scratch *records) { return write_all(path, O_APPEND, records); }

bool records_write(Arena *arena, const char *folder, const char *name, const char *input, const Scratch *records)
{
    Str text;
    if (!source_read(input, &text))
        return false;
    u64 hash = fnv_bytes(FNV_BASIS, text.p, text.len);
    source_free(&text);
    const char *base = real_base_name(name), *end = strrchr(base, '.');
    int len = end && end > base ? (int)(end - base) : (int)strlen(base);
    if (mkdir(folder, 0777) != 0 && errno != EEXIST)
        return false;
    return write_all(arena_printf(arena, "%s/%.*s.%016" PRIx64 ".opt.yaml", folder, len, base, hash), O_TRUNC, records);
}
