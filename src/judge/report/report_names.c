/* Names of functions as their authors wrote them, and the ids by which a page's boxes are linked to. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "judge/report/report.h"

typedef char *Demangle(const char *name, char *buffer, size_t *length, int *status);

/* The demangler of the C++ run-time library, if one is installed. */
static Demangle *find_demangler(void)
{
    static const char *const libraries[] = {"libstdc++.so.6", "libc++abi.so.1"};
    Demangle *demangle = NULL;
    for (u32 i = 0; i < COUNT_OF(libraries) && !demangle; i++) {
        void *library = dlopen(libraries[i], RTLD_LAZY);
        void *found = library ? dlsym(library, "__cxa_demangle") : NULL;
        memcpy(&demangle, &found, sizeof demangle);
    }
    return demangle;
}

const char *report_plain_name(Report *report, const char *name)
{
    if (strncmp(name, "_Z", 2) == 0 && !report->looked_for_demangler) {
        report->demangle = find_demangler();
        report->looked_for_demangler = true;
    }
    int status = 0;
    char *plain = strncmp(name, "_Z", 2) == 0 && report->demangle ? report->demangle(name, NULL, NULL, &status) : NULL;
    const char *copy = plain ? arena_copy(&report->arena, plain, strlen(plain)) : name;
    free(plain);
    return copy;
}

const char *report_id(Report *report, const ReportFile *file, const ReportKernel *kernel)
{
    char *id = arena_printf(&report->arena, "%s:%s", file->path, kernel->name);
    for (char *at = id; *at; at++)
        if ((unsigned char)*at <= ' ' || strchr("\"'<>&%#", *at))
            *at = '_';
    return id;
}
