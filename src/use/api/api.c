#include "use/api/ptxopt.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/diag.h"
#include "base/limit.h"
#include "parse/parse.h"
#include "pipeline/options.h"
#include "pipeline/output.h"
#include "pipeline/pipeline.h"
#include "version.h"

enum { ERRORS_SHOWN = 20 };

/* A text that is written as a file. */
typedef struct Stream {
    FILE *file;
    char *text; /* valid when the file is closed; from malloc */
    size_t bytes;
} Stream;

struct ptxopt_result {
    Stream text, remarks, messages;
    int changed;
};

/* One call. All that it allocates is its scope's, but for the result. */
typedef struct Call {
    const ptxopt_request *request;
    ptxopt_result *result;
    ptxopt_status status;
} Call;

static ptxopt_status bad_option(Call *call, const char *message)
{
    fprintf(call->result->messages.file, "ptxopt: error: %s\n", message);
    return PTXOPT_BAD_OPTION;
}

/* A command line declares its words writable, and writes none. */
static ptxopt_status read_options(Call *call, Options *options)
{
    const ptxopt_request *request = call->request;
    Words words = {0};
    for (size_t i = 0; i < request->option_count; i++) {
        const char *option = request->options ? request->options[i] : NULL;
        if (!option)
            return bad_option(call, "an option is NULL");
        if (option[0] == '@')
            return bad_option(call, "a file of options is for the command line");
        vec_push(&words, (char *)(uintptr_t)option);
    }
    if (options_parse_library(options, &words, call->result->messages.file) != OPTIONS_RUN)
        return PTXOPT_BAD_OPTION;
    if (!request->text && request->bytes)
        return bad_option(call, "the text is NULL");
    options->input = request->name ? request->name : "<memory>";
    return PTXOPT_OK;
}

/* The parser wants a NUL after the text. */
static bool copy_text(Call *call, Str *text)
{
    const ptxopt_request *request = call->request;
    if (request->bytes > UINT32_MAX - 1) {
        fputs("ptxopt: error: the text is longer than 4 GiB\n", call->result->messages.file);
        return false;
    }
    char *copy = mem_alloc_large(request->bytes + 1);
    if (request->bytes)
        memcpy(copy, request->text, request->bytes);
    copy[request->bytes] = '\0';
    *text = (Str){copy, (u32)request->bytes};
    return true;
}

static ptxopt_status run(Call *call, const Options *options, Str text)
{
    Arena arena = {0};
    Diag diag;
    Stats stats = {.timed = options->time, .is_unread = options->stats == STATS_NONE};
    FILE *remarks = call->request->want_remarks ? call->result->remarks.file : NULL;
    diag_init(&diag, call->result->messages.file, options->input, text);
    diag.error_limit = ERRORS_SHOWN;
    Module *m = (options->strict ? parse_module_strict : parse_module)(&arena, options->input, text, &diag);
    if (diag.errors > 0)
        return PTXOPT_BAD_INPUT;
    if (pipeline_run(m, &options->pipeline, &diag, remarks, call->result->messages.file, &stats) != PIPELINE_OK)
        return PTXOPT_INTERNAL;
    PrintOptions print = {.reprint = options->pipeline.reprint, .file_time = options->pipeline.file_time};
    print_module(call->result->text.file, m, &print);
    options_print_stats(options, &stats, call->result->messages.file);
    return PTXOPT_OK;
}

static void out_of_time(void *data)
{
    Call *call = data;
    call->status = PTXOPT_OUT_OF_TIME;
    limit_stop();
    mem_leave_scope();
}

/* Frees nothing: the scope does. */
static void optimize(void *data)
{
    Call *call = data;
    Options options;
    Str text;
    call->status = read_options(call, &options);
    if (call->status != PTXOPT_OK)
        return;
    if (call->request->limit > 0)
        limit_start(call->request->limit, out_of_time, call);
    call->status = copy_text(call, &text) ? run(call, &options, text) : PTXOPT_BAD_INPUT;
}

static bool stream_open(Stream *stream)
{
    stream->file = open_memstream(&stream->text, &stream->bytes);
    return stream->file;
}

static bool stream_close(Stream *stream)
{
    bool whole = stream->file && !ferror(stream->file);
    if (stream->file && fclose(stream->file) != 0)
        whole = false;
    stream->file = NULL;
    return whole && stream->text;
}

static ptxopt_status fill(Call *call)
{
    ptxopt_result *result = call->result;
    bool enough = stream_open(&result->text) && stream_open(&result->remarks) && stream_open(&result->messages) &&
                  (mem_in_scope(optimize, call) || call->status == PTXOPT_OUT_OF_TIME);
    limit_stop();
    if (call->status == PTXOPT_OUT_OF_TIME && enough)
        fprintf(result->messages.file, "ptxopt: error: it took more than %g seconds of CPU time\n", call->request->limit);
    enough &= stream_close(&result->text); /* each is closed, whatever became of the others */
    enough &= stream_close(&result->remarks);
    enough &= stream_close(&result->messages);
    return enough ? call->status : PTXOPT_NO_MEMORY;
}

/* The request of a caller that may know fewer members: those are 0. */
static ptxopt_request complete(const ptxopt_request *request)
{
    ptxopt_request whole = {0};
    memcpy(&whole, request, request->size < sizeof whole ? request->size : sizeof whole);
    return whole;
}

ptxopt_status ptxopt_optimize(const ptxopt_request *request, ptxopt_result **result)
{
    if (result)
        *result = NULL;
    if (!request || !result)
        return PTXOPT_BAD_OPTION;
    ptxopt_request whole = complete(request);
    Call call = {.request = &whole, .result = calloc(1, sizeof **result), .status = PTXOPT_NO_MEMORY};
    ptxopt_status status = call.result ? fill(&call) : PTXOPT_NO_MEMORY;
    if (status == PTXOPT_NO_MEMORY) {
        ptxopt_free(call.result);
        return status;
    }
    if (status == PTXOPT_OK)
        call.result->changed =
            call.result->text.bytes != whole.bytes || memcmp(call.result->text.text, whole.text, whole.bytes) != 0;
    *result = call.result;
    return status;
}

static const char *stream_text(const Stream *stream, size_t *bytes)
{
    if (bytes)
        *bytes = stream ? stream->bytes : 0;
    return stream ? stream->text : "";
}

const char *ptxopt_text(const ptxopt_result *result, size_t *bytes)
{
    return stream_text(result ? &result->text : NULL, bytes);
}

const char *ptxopt_remarks(const ptxopt_result *result, size_t *bytes)
{
    return stream_text(result ? &result->remarks : NULL, bytes);
}

const char *ptxopt_messages(const ptxopt_result *result, size_t *bytes)
{
    return stream_text(result ? &result->messages : NULL, bytes);
}

int ptxopt_changed(const ptxopt_result *result) { return result ? result->changed : 0; }

void ptxopt_free(ptxopt_result *result)
{
    if (!result)
        return;
    free(result->text.text);
    free(result->remarks.text);
    free(result->messages.text);
    free(result);
}

const char *ptxopt_version(void) { return PTXOPT_VERSION " (commit " PTXOPT_COMMIT ")"; }

int ptxopt_abi(void) { return PTXOPT_ABI; }

const char *ptxopt_status_text(ptxopt_status status)
{
    switch (status) {
    case PTXOPT_OK: return "done";
    case PTXOPT_BAD_INPUT: return "the text is not PTX";
    case PTXOPT_BAD_OPTION: return "an option is wrong";
    case PTXOPT_NO_MEMORY: return "out of memory";
    case PTXOPT_INTERNAL: return "internal error";
    case PTXOPT_OUT_OF_TIME: return "out of time";
    }
    return "unknown status";
}
