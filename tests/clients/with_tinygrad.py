# What tinygrad's compilers make of a kernel: usage: with_tinygrad.py OUTPUT.ptx INPUT.ptx OUTPUT.cubin
import sys

from tinygrad.runtime.support.compiler_cuda import NVPTXCompiler, NVRTCCompiler

source = """extern "C" __global__ void k(int *p, int n)
{
    if (n > 3) { p[0] = threadIdx.x; p[1] = n; p[2] = n * n; } else { p[3] = n; p[1] = n; p[2] = n * n; }
}"""
open(sys.argv[1], "wb").write(NVRTCCompiler("sm_80").compile(source).rstrip(b"\0"))
open(sys.argv[3], "wb").write(NVPTXCompiler("sm_80").compile(open(sys.argv[2]).read()))
