"""ptxopt for Bazel: PTX that an action makes of other PTX, with the program among its inputs, so that it runs anywhere.

    # tools/ptxopt holds this file, the program, and BUILD.bazel: filegroup(name = "program", srcs = ["ptxopt"])
    load("//tools/ptxopt:ptxopt.bzl", "ptxopt")

    ptxopt(name = "kernel_opt", src = "kernel.ptx", options = ["-O3"])    # makes kernel_opt.ptx

nvcc is called by other rules. With those of rules_cuda, .bazelrc says, for builds on machines that have ptxopt:

    build --@rules_cuda//cuda:copts=--ptxas-prefix=/usr/local/bin/ptxopt-ptxas

No kernel is delivered that ptxas made worse. What it said is remembered where actions may write: --sandbox_writable_path=/var/cache/ptxopt
and --action_env=PTXOPT_CACHE=/var/cache/ptxopt. The rule below runs no ptxas, and asks none.
"""

def _ptxopt(ctx):
    output = ctx.actions.declare_file(ctx.label.name + ".ptx")
    ctx.actions.run(
        outputs = [output],
        inputs = [ctx.file.src],
        executable = ctx.executable.program,
        arguments = ctx.attr.options + [ctx.file.src.path, "-o", output.path],
        mnemonic = "Ptxopt",
        progress_message = "Optimizing %s" % ctx.file.src.short_path,
    )
    return [DefaultInfo(files = depset([output]))]

ptxopt = rule(
    implementation = _ptxopt,
    doc = "Optimizes one PTX file.",
    attrs = {
        "src": attr.label(mandatory = True, allow_single_file = [".ptx"]),
        "options": attr.string_list(doc = "as on the command line"),
        "program": attr.label(
            default = ":program",
            executable = True,
            allow_single_file = True,
            cfg = "exec",
            doc = "ptxopt itself, which is a static program",
        ),
    },
)
