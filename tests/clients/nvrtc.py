import ctypes, glob, sys
nvrtc = ctypes.CDLL(sorted(glob.glob(sys.argv[1] + "/nvidia/*/lib/libnvrtc.so.*"))[0])
program, size = ctypes.c_void_p(), ctypes.c_size_t()
source = b'extern "C" __global__ void k(int *p, int n) { if (n > 3) { p[0] = threadIdx.x; p[1] = n; } else { p[3] = n; p[1] = n; } }'
assert nvrtc.nvrtcCreateProgram(ctypes.byref(program), source, b"k.cu", 0, None, None) == 0
assert nvrtc.nvrtcCompileProgram(program, 1, (ctypes.c_char_p * 1)(b"--gpu-architecture=compute_80")) == 0
assert nvrtc.nvrtcGetPTXSize(program, ctypes.byref(size)) == 0
text = ctypes.create_string_buffer(size.value)
assert nvrtc.nvrtcGetPTX(program, text) == 0
open("k.ptx", "wb").write(text.value)
