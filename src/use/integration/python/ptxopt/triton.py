"""ptxopt in Triton: a step after the one that makes PTX, by Triton's own hook, whose answer is part of its cache's key."""
import hashlib

from triton import knobs

from . import optimize_or_keep, version


def enable(options=()):
    """Every kernel that is compiled from here on; a hook that was there before keeps its place."""
    options = tuple(options)
    before = knobs.runtime.add_stages_inspection_hook
    key = "ptxopt %s %s" % (version(), " ".join(options))

    def hook(backend=None, stages=None, compile_options=None, language=None, capability=None):
        if stages is None:
            earlier = before()[0] if before else ""
            whole = earlier + key
            return whole, hashlib.sha256(whole.encode()).hexdigest()
        if before:
            before(backend, stages, compile_options, language, capability)
        make_ptx = stages.get("ptx")
        if make_ptx:
            stages["ptx"] = lambda source, metadata: optimize_or_keep(make_ptx(source, metadata), options)
        return None

    hook.ptxopt_before = before
    knobs.runtime.add_stages_inspection_hook = hook


def disable():
    hook = knobs.runtime.add_stages_inspection_hook
    if hasattr(hook, "ptxopt_before"):
        knobs.runtime.add_stages_inspection_hook = hook.ptxopt_before
