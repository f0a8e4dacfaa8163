# PTX of a kernel for sm_80, in the folder aot.
import sys

import warp as wp


@wp.kernel
def k(a: wp.array(dtype=wp.float32), b: wp.array(dtype=wp.float32), n: int):
    i = wp.tid()
    s = float(0.0)
    for j in range(n):
        if a[j] > 0.5:
            s += a[j]
        else:
            s -= a[j] * 2.0
    if i < n:
        b[i] = s


wp.compile_aot_module(sys.modules[__name__], arch=80, module_dir="aot", use_ptx=True)
