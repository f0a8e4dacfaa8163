/* ptxopt-core: the optimizer alone. It has no prover, asks no ptxas, and stands before no other program. */
#include <stdio.h>

#include "pipeline/optimize.h"
#include "tool/process.h"

static ToolStatus run(const Options *options)
{
    if (!options->guard_by && !options->tune_by && !options->tune_read)
        return optimize_file(options, NULL);
    fputs("ptxopt-core: error: --guard and --tune are options of ptxopt\n", stderr);
    return TOOL_BAD_INPUT;
}

int main(int argc, char **argv)
{
    process_begin();
    Options options;
    ToolStatus status = TOOL_BAD_INPUT;
    switch (options_parse(&options, argc, argv, stdout, stderr)) {
    case OPTIONS_RUN: status = run(&options); break;
    case OPTIONS_SHADOW: fputs("ptxopt-core: error: --install-shadow is an option of ptxopt\n", stderr); break;
    case OPTIONS_DONE: status = TOOL_OK; break;
    case OPTIONS_BAD: break;
    }
    options_free(&options);
    return status;
}
