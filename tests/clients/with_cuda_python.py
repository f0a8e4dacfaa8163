# PTX by NVRTC and a cubin by nvJitLink, as cuda-python calls them: usage: with_cuda_python.py OUTPUT.ptx INPUT.ptx OUTPUT.cubin
import sys

from cuda.bindings import nvjitlink, nvrtc

source = b"""extern "C" __global__ void k(int *p, int n)
{
    if (n > 3) { p[0] = threadIdx.x; p[1] = n; p[2] = n * n; } else { p[3] = n; p[1] = n; p[2] = n * n; }
}"""


def checked(answer):
    assert answer[0] == nvrtc.nvrtcResult.NVRTC_SUCCESS, answer
    return answer[-1]


program = checked(nvrtc.nvrtcCreateProgram(source, b"k.cu", 0, [], []))
checked(nvrtc.nvrtcCompileProgram(program, 1, [b"--gpu-architecture=compute_80"]))
text = b" " * checked(nvrtc.nvrtcGetPTXSize(program))
checked(nvrtc.nvrtcGetPTX(program, text))
open(sys.argv[1], "wb").write(text.rstrip(b"\0"))

linker = nvjitlink.create(1, ["-arch=sm_80"])
text = open(sys.argv[2], "rb").read()
nvjitlink.add_data(linker, nvjitlink.InputType.PTX, text, len(text), "k.ptx")
nvjitlink.complete(linker)
cubin = bytearray(nvjitlink.get_linked_cubin_size(linker))
nvjitlink.get_linked_cubin(linker, cubin)
open(sys.argv[3], "wb").write(cubin)
