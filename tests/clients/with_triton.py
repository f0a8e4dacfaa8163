import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource


@triton.jit
def kernel(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n)
    if n > 100:
        v = v / tl.sum(v, axis=0)
    tl.store(y + i, v, mask=i < n)


for capability in (80, 90, 100):
    source = ASTSource(fn=kernel, signature={"x": "*fp32", "y": "*fp32", "n": "i32", "BLOCK": "constexpr"}, constexprs={"BLOCK": 1024})
    assert triton.compile(source, target=GPUTarget("cuda", capability, 32)).asm["cubin"]
