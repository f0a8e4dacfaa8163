# What CuPy's compiler makes of a kernel, as PTX: usage: with_cupy.py OUTPUT.ptx
import sys

from cupy.cuda import compiler

# It remembers the answer by the device, of which there may be none.
choose = compiler._get_arch_for_options_for_nvrtc
compiler._get_arch_for_options_for_nvrtc = getattr(choose, "__wrapped__", choose)
source = """extern "C" __global__ void k(int *p, int n)
{
    if (n > 3) { p[0] = threadIdx.x; p[1] = n; p[2] = n * n; } else { p[3] = n; p[1] = n; p[2] = n * n; }
}"""
text = compiler.compile_using_nvrtc(source, (), "80")[0]
open(sys.argv[1], "wb").write(text.rstrip(b"\0"))
