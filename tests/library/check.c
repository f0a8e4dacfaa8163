/* The library as a program uses it: compares what it makes of files with what the command line makes of them, in one thread and
 * in several at once. usage: check PTXOPT FILE.ptx... */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <ptxopt.h>

enum { THREADS = 4 };

static int failures, passes;

static void expect(int good, const char *what, const char *detail)
{
    printf("%s %s%s%s\n", good ? "pass" : "fail", what, *detail ? ": " : "", detail);
    failures += !good;
    passes += good;
}

/* What a file, or the output of a command, holds; owned by the caller. */
static char *read_stream(FILE *file, size_t *bytes)
{
    size_t capacity = 1 << 16;
    char *text = malloc(capacity);
    *bytes = 0;
    for (size_t got; text && (got = fread(text + *bytes, 1, capacity - *bytes, file)) > 0;)
        if ((*bytes += got) == capacity)
            text = realloc(text, capacity *= 2);
    return text;
}

static char *read_file(const char *path, size_t *bytes)
{
    FILE *file = fopen(path, "rb");
    char *text = file ? read_stream(file, bytes) : NULL;
    if (file)
        fclose(file);
    return text;
}

static char *run_program(const char *command, size_t *bytes)
{
    FILE *pipe = popen(command, "r");
    char *text = pipe ? read_stream(pipe, bytes) : NULL;
    if (pipe)
        pclose(pipe);
    return text;
}

static int same(const char *a, size_t a_bytes, const char *b, size_t b_bytes)
{
    return a && b && a_bytes == b_bytes && memcmp(a, b, a_bytes) == 0;
}

static ptxopt_request request_for(const char *text, size_t bytes, const char *const *options, size_t count)
{
    ptxopt_request request = {
        .size = sizeof request, .text = text, .bytes = bytes, .options = options, .option_count = count};
    return request;
}

/* With one option, and remarks, as `ptxopt OPTION --remarks=FILE PATH` would. */
static int like_the_program(const char *program, const char *path, const char *option)
{
    char command[4096];
    size_t bytes, text_bytes, want_bytes, want_remark_bytes, remark_bytes;
    char *input = read_file(path, &bytes);
    snprintf(command, sizeof command, "'%s' '%s' --remarks=library.yaml '%s' 2>&1", program, option, path);
    char *want = run_program(command, &want_bytes);
    char *want_remarks = read_file("library.yaml", &want_remark_bytes);
    ptxopt_request request = request_for(input, bytes, &option, 1);
    ptxopt_result *result;
    request.name = path;
    request.want_remarks = 1;
    ptxopt_status status = ptxopt_optimize(&request, &result);
    const char *text = ptxopt_text(result, &text_bytes), *remarks = ptxopt_remarks(result, &remark_bytes);
    if (status != PTXOPT_OK)
        text = ptxopt_messages(result, &text_bytes);
    int good = same(text, text_bytes, want, want_bytes);
    if (status == PTXOPT_OK)
        good = good && same(remarks, remark_bytes, want_remarks, want_remark_bytes) &&
               ptxopt_changed(result) == !same(text, text_bytes, input, bytes);
    ptxopt_free(result);
    free(input);
    free(want);
    free(want_remarks);
    return good;
}

static ptxopt_status status_of(ptxopt_request request, char *said, size_t size)
{
    ptxopt_result *result;
    ptxopt_status status = ptxopt_optimize(&request, &result);
    snprintf(said, size, "%s", ptxopt_messages(result, NULL));
    ptxopt_free(result);
    return status;
}

static void check_refusals(const char *text, size_t bytes)
{
    static const char *const command_line[] = {"-ox",
                                               "--remarks=x",
                                               "--dump-cfg=x",
                                               "--help",
                                               "--version",
                                               "--list-phases",
                                               "--install-shadow=x",
                                               "in.ptx",
                                               "@file",
                                               "--nope",
                                               "-O9",
                                               "--disable=nope",
                                               "-o-",
                                               "--guard",
                                               "--guard=p",
                                               "--guard-arch=sm_90",
                                               "--guard-limit=1",
                                               "--tune",
                                               "--tune-out=x",
                                               "--tune-jobs=1",
                                               "--tune-budget=1",
                                               "--tune-ninja=x",
                                               "--tune-read=x",
                                               "--remarks=-",
                                               "--prove=report",
                                               "--prove=revert",
                                               "--prove-each",
                                               "--solver=z3",
                                               "--cuda=x",
                                               "-h",
                                               "-V",
                                               "",
                                               "-",
                                               "--disable",
                                               "--tuned=none",
                                               "--switch-density=x",
                                               "--switch-density",
                                               "@"};
    static char said[1 << 16];
    for (size_t i = 0; i < sizeof command_line / sizeof *command_line; i++) {
        ptxopt_status status = status_of(request_for(text, bytes, &command_line[i], 1), said, sizeof said);
        expect(status == PTXOPT_BAD_OPTION && strstr(said, "ptxopt: error: "), "an option of the command line is refused",
               command_line[i]);
    }
    static const char *const none[] = {"-O2", NULL};
    expect(status_of(request_for(text, bytes, none, 2), said, sizeof said) == PTXOPT_BAD_OPTION, "an option that is NULL",
           "");
    expect(status_of(request_for(text, bytes, NULL, 1), said, sizeof said) == PTXOPT_BAD_OPTION, "options that are NULL",
           "");
    expect(status_of(request_for(NULL, bytes, NULL, 0), said, sizeof said) == PTXOPT_BAD_OPTION && *said,
           "a text that is NULL and has bytes", "");
    ptxopt_result *result = (ptxopt_result *)&failures;
    expect(ptxopt_optimize(NULL, &result) == PTXOPT_BAD_OPTION && !result, "a request that is NULL", "");
    ptxopt_request request = request_for(text, bytes, NULL, 0);
    expect(ptxopt_optimize(&request, NULL) == PTXOPT_BAD_OPTION, "nowhere to put the result", "");
    static const char *const taken[] = {"-O3",
                                        "--strict",
                                        "--reprint",
                                        "--phases=layout",
                                        "--disable=layout",
                                        "--stop-after=clean-up",
                                        "--only-function=x",
                                        "--skip-function=x",
                                        "--time",
                                        "--verify-each",
                                        "--print-after=all",
                                        "--opt-bisect-limit=1",
                                        "--ignore-exits",
                                        "--optimize-debug",
                                        "--switch-density=5",
                                        "--no-cbe-enable",
                                        "--"};
    for (size_t i = 0; i < sizeof taken / sizeof *taken; i++)
        expect(status_of(request_for(text, bytes, &taken[i], 1), said, sizeof said) == PTXOPT_OK, "an option of the text",
               taken[i]);
    static const char unknown[] =
        ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k()\n{\n.pragmatic x;\nret;\n}\n";
    static const char *const strict[] = {"--strict"};
    expect(status_of(request_for(unknown, sizeof unknown - 1, NULL, 0), said, sizeof said) == PTXOPT_OK &&
               status_of(request_for(unknown, sizeof unknown - 1, strict, 1), said, sizeof said) == PTXOPT_BAD_INPUT,
           "--strict", "");
    ptxopt_request limited = request_for(text, bytes, NULL, 0);
    limited.limit = 1e-9;
    expect(status_of(limited, said, sizeof said) == PTXOPT_OUT_OF_TIME && strstr(said, "seconds of CPU time"), "a limit",
           "");
    limited.limit = 1000;
    expect(status_of(limited, said, sizeof said) == PTXOPT_OK, "a limit that is long enough", "");
    static const char bad[] = "this is no PTX";
    ptxopt_status status = status_of(request_for(bad, sizeof bad - 1, NULL, 0), said, sizeof said);
    expect(status == PTXOPT_BAD_INPUT && strncmp(said, "<memory>:1:1: error: ", 21) == 0, "bad input", "");
    status = status_of(request_for(NULL, 0, NULL, 0), said, sizeof said);
    expect(status == PTXOPT_BAD_INPUT && *said, "no text", "");
    ptxopt_request old = request_for(text, bytes, NULL, 0);
    old.size = offsetof(ptxopt_request, name);
    old.name = (const char *)1;
    expect(status_of(old, said, sizeof said) == PTXOPT_OK, "a request of an older header", "");
    expect(*ptxopt_text(NULL, NULL) == '\0' && ptxopt_changed(NULL) == 0, "no result", "");
    ptxopt_free(NULL);
    expect(ptxopt_abi() == PTXOPT_ABI && strstr(ptxopt_version(), "commit "), "versions", "");
    const char *stats = "--stats=json";
    expect(status_of(request_for(text, bytes, &stats, 1), said, sizeof said) == PTXOPT_OK && strstr(said, "\"functions\":"),
           "what an option asks for is a message", "");
}

/* The text need not end with a NUL, and nothing is read beyond its end. */
static void check_bounds(const char *text, size_t bytes)
{
    char *exact = malloc(bytes);
    memcpy(exact, text, bytes);
    ptxopt_request request = request_for(exact, bytes, NULL, 0);
    ptxopt_result *result;
    expect(ptxopt_optimize(&request, &result) == PTXOPT_OK, "a text without a NUL", "");
    free(exact);
    expect(strlen(ptxopt_text(result, NULL)) > 0, "the result shares nothing with the request", "");
    ptxopt_free(result);
}

/* What each thread does: all files, in an order of its own. */
typedef struct Job {
    char **file;
    int files, first, wrong;
    char **text; /* what one thread alone made of each */
} Job;

static char *optimized(const char *path)
{
    size_t bytes;
    char *input = read_file(path, &bytes);
    ptxopt_request request = request_for(input, bytes, NULL, 0);
    ptxopt_result *result;
    ptxopt_status status = ptxopt_optimize(&request, &result);
    char *text = strdup(status == PTXOPT_OK ? ptxopt_text(result, NULL) : ptxopt_messages(result, NULL));
    ptxopt_free(result);
    free(input);
    return text;
}

static void *work(void *data)
{
    Job *job = data;
    for (int i = 0; i < job->files; i++) {
        int at = (i + job->first) % job->files;
        char *text = optimized(job->file[at]);
        job->wrong += strcmp(text, job->text[at]) != 0;
        free(text);
    }
    return NULL;
}

static void check_threads(char **file, int files)
{
    char **text = calloc((size_t)files, sizeof *text);
    pthread_t thread[THREADS];
    Job job[THREADS];
    int wrong = 0;
    for (int i = 0; i < files; i++)
        text[i] = optimized(file[i]);
    for (int t = 0; t < THREADS; t++) {
        job[t] = (Job){file, files, t * files / THREADS, 0, text};
        pthread_create(&thread[t], NULL, work, &job[t]);
    }
    for (int t = 0; t < THREADS; t++) {
        pthread_join(thread[t], NULL);
        wrong += job[t].wrong;
    }
    expect(wrong == 0, "several threads make the same as one", "");
    for (int i = 0; i < files; i++)
        free(text[i]);
    free(text);
}

int main(int argc, char **argv)
{
    static const char *const options[] = {"-O1", "-O2", "-O3", "--reprint"};
    size_t bytes;
    char *text = argc > 2 ? read_file(argv[2], &bytes) : NULL;
    if (!text) {
        fputs("usage: check PTXOPT FILE.ptx...\n", stderr);
        return 2;
    }
    check_threads(argv + 2, argc - 2);
    if (strcmp(argv[1], "-") != 0) { /* else nothing but the threads */
        for (int i = 2; i < argc; i++)
            expect(like_the_program(argv[1], argv[i], options[i % 4]), "as the program", argv[i]);
        check_refusals(text, bytes);
        check_bounds(text, bytes);
    }
    free(text);
    return failures > 0;
}
