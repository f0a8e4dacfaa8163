/* ptxopt: reads PTX, runs the phases, writes PTX. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "front/real.h"
#include "front/shadow.h"
#include "tool/process.h"
#include "tool/tool.h"

static ToolStatus install_shadow(const Options *options)
{
    Arena arena = {0};
    const char *fault = shadow_install(&arena, options->shadow, options->cuda);
    if (fault)
        fprintf(stderr, "ptxopt: error: %s\n", fault);
    arena_free(&arena);
    return fault ? TOOL_BAD_INPUT : TOOL_OK;
}

int main(int argc, char **argv)
{
    process_begin();
    if (argc > 0 && tool_is_front(front_base_name(argv[0])))
        return tool_front(argc, argv);
    Options options;
    ToolStatus status = TOOL_BAD_INPUT;
    switch (options_parse(&options, argc, argv, stdout, stderr)) {
    case OPTIONS_RUN:
        status = options.guard_by                       ? tool_optimize_guarded(&options)
                 : options.tune_by || options.tune_read ? tool_optimize_tuned(&options)
                                                        : tool_optimize(&options);
        break;
    case OPTIONS_SHADOW: status = install_shadow(&options); break;
    case OPTIONS_DONE: status = TOOL_OK; break;
    case OPTIONS_BAD: break;
    }
    options_free(&options);
    if ((fflush(stdout) != 0 || ferror(stdout)) && status == TOOL_OK) {
        fprintf(stderr, "ptxopt: error: cannot write 'standard output': %s\n", strerror(errno));
        status = TOOL_BAD_INPUT;
    }
    return status;
}
