"""ptxopt in Numba: the PTX of every CUDA kernel is optimized before it is linked or shown."""
from numba.cuda import codegen

from . import optimize_or_keep

_original = codegen.CUDACodeLibrary.get_asm_strs


def enable(options=()):
    """Every kernel that is compiled from here on. Files that Numba's own cache holds stay as they are: their key does not change."""
    options = tuple(options)

    def get_asm_strs(library, cc=None):
        cc = library._ensure_cc(cc)
        if not library._ptx_cache.get(cc):
            library._ptx_cache[cc] = [optimize_or_keep(text, options) for text in _original(library, cc)]
        return library._ptx_cache[cc]

    codegen.CUDACodeLibrary.get_asm_strs = get_asm_strs


def disable():
    codegen.CUDACodeLibrary.get_asm_strs = _original
