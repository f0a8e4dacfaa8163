/* ptxopt: reads PTX, runs the phases, writes PTX. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "judge/ptxas/real.h"
#include "use/front/shadow.h"
#include "check/proof/proof.h"
#include "judge/guard/guard.h"
#include "judge/tune/tune.h"
#include "use/front/front.h"
#include "tool/process.h"

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
    if (argc > 0 && front_is_name(real_base_name(argv[0])))
        return front_main(argc, argv);
    Options options;
    ToolStatus status = TOOL_BAD_INPUT;
    switch (options_parse(&options, argc, argv, stdout, stderr)) {
    case OPTIONS_RUN:
        status = options.guard_by                       ? guard_optimize_file(&options)
                 : options.tune_by || options.tune_read ? tune_optimize_file(&options)
                                                        : proof_optimize_file(&options);
        break;
    case OPTIONS_SHADOW: status = install_shadow(&options); break;
    case OPTIONS_DONE: status = TOOL_OK; break;
    case OPTIONS_BAD: break;
    }
    options_free(&options);
    if ((fflush(stdout) != 0 || ferror(stdout)) && status == TOOL_OK) {
        fprintf(stderr, "ptxopt: error: cannot write standard output: %s\n", strerror(errno));
        status = TOOL_BAD_INPUT;
    }
    return status;
}
