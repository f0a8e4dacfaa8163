"""Optimizes PTX in memory: libptxopt by way of ctypes.

    text = ptxopt.optimize(ptx, ["-O3"])

ptxopt.triton.enable() and ptxopt.numba.enable() put it into those compilers.
"""
import ctypes
import glob
import os


class Error(Exception):
    """The text is not PTX, an option is wrong, or memory ran out: what ptxopt says of it."""


class Result(str):
    """The optimized text; `remarks` (YAML) and `messages` are what ptxopt says beside it, `changed` whether it changed anything."""

    remarks = ""
    messages = ""
    changed = False


class _Request(ctypes.Structure):
    _fields_ = [
        ("size", ctypes.c_size_t),
        ("text", ctypes.c_char_p),
        ("bytes", ctypes.c_size_t),
        ("name", ctypes.c_char_p),
        ("options", ctypes.POINTER(ctypes.c_char_p)),
        ("option_count", ctypes.c_size_t),
        ("want_remarks", ctypes.c_int),
    ]


_ABI = 1


def _load():
    named = os.environ.get("PTXOPT_LIBRARY")
    beside = glob.glob(os.path.join(os.path.dirname(__file__), "libptxopt.so.*"))
    library = ctypes.CDLL(named or (beside[0] if beside else "libptxopt.so.%d" % _ABI))
    if library.ptxopt_abi() != _ABI:
        raise ImportError("libptxopt has ABI %d, not %d" % (library.ptxopt_abi(), _ABI))
    library.ptxopt_optimize.argtypes = [ctypes.POINTER(_Request), ctypes.POINTER(ctypes.c_void_p)]
    for name in ("text", "remarks", "messages"):
        function = getattr(library, "ptxopt_" + name)
        function.argtypes = [ctypes.c_void_p, ctypes.POINTER(ctypes.c_size_t)]
        function.restype = ctypes.c_void_p
    library.ptxopt_changed.argtypes = [ctypes.c_void_p]
    library.ptxopt_free.argtypes = [ctypes.c_void_p]
    library.ptxopt_free.restype = None
    library.ptxopt_version.restype = ctypes.c_char_p
    library.ptxopt_status_text.restype = ctypes.c_char_p
    return library


_library = _load()


def version():
    """Version and commit, for keys of caches."""
    return _library.ptxopt_version().decode()


def _text(function, result):
    size = ctypes.c_size_t()
    at = function(result, ctypes.byref(size))
    return ctypes.string_at(at, size.value).decode("utf-8", "surrogateescape")


def optimize(text, options=(), name=None, remarks=False):
    """The optimized text, a Result; raises Error. `options` are those of the command line: ["-O3", "--disable=tail-merge"]."""
    data = text.encode("utf-8", "surrogateescape") if isinstance(text, str) else bytes(text)
    words = [option.encode() for option in options]
    request = _Request(
        ctypes.sizeof(_Request), data, len(data), name.encode() if name else None, (ctypes.c_char_p * len(words))(*words), len(words),
        1 if remarks else 0,
    )
    result = ctypes.c_void_p()
    status = _library.ptxopt_optimize(ctypes.byref(request), ctypes.byref(result))
    try:
        messages = _text(_library.ptxopt_messages, result) if result else ""
        if status != 0:
            raise Error(messages or _library.ptxopt_status_text(status).decode())
        made = Result(_text(_library.ptxopt_text, result))
        made.remarks = _text(_library.ptxopt_remarks, result)
        made.messages = messages
        made.changed = bool(_library.ptxopt_changed(result))
        return made
    finally:
        _library.ptxopt_free(result)


def optimize_or_keep(text, options=()):
    """The optimized text, or the text itself where ptxopt cannot take it: for compilers that must go on."""
    try:
        return str(optimize(text, options))
    except Error:
        return text


def main():
    """The program: ptxopt IN.ptx -o OUT.ptx."""
    import sys

    program = os.path.join(os.path.dirname(__file__), "bin", "ptxopt")
    os.chmod(program, 0o755) if not os.access(program, os.X_OK) else None
    os.execv(program, ["ptxopt"] + sys.argv[1:])


def __getattr__(name):
    if name in ("triton", "numba"):
        import importlib

        return importlib.import_module("ptxopt." + name)
    raise AttributeError(name)
