# PTX of a kernel of the CUTLASS DSL: usage: with_cutlass.py OUTPUT.ptx
import sys

import cutlass
from cutlass import cute
from cutlass.cute.runtime import make_fake_compact_tensor


@cute.kernel
def kernel(g: cute.Tensor, n: cutlass.Int32):
    thread, _, _ = cute.arch.thread_idx()
    s = cutlass.Float32(0.0)
    for i in range(n):
        if g[i] > 0.5:
            s = s + g[i]
    cute.arch.sync_threads()
    if thread < n:
        g[thread] = s
        g[0] = cutlass.Float32(2.0)
    else:
        g[1] = s
        g[0] = cutlass.Float32(2.0)


@cute.jit
def host(g: cute.Tensor, n: cutlass.Int32):
    kernel(g, n).launch(grid=[1, 1, 1], block=[64, 1, 1])


text = cute.compile(host, make_fake_compact_tensor(cutlass.Float32, (64,)), cutlass.Int32(5)).__ptx__
open(sys.argv[1], "wb").write((text.encode() if isinstance(text, str) else text).rstrip(b"\0"))
