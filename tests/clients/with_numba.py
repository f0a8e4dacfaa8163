import ptxopt
from numba import cuda, int32

def kernel(p, n):
    if n > 3:
        p[0] = cuda.grid(1); p[1] = n; p[2] = n * n
    else:
        p[3] = n; p[1] = n; p[2] = n * n

# What Numba gives ptxopt, and what it gets of it.
seen = []
original = ptxopt.numba.optimize_or_keep
ptxopt.numba.optimize_or_keep = lambda text, options: seen.append((text, original(text, options))) or seen[-1][1]
ptxopt.numba.enable()
made = cuda.compile_ptx(kernel, (int32[:], int32), cc=(8, 0))[0]
ptxopt.numba.disable()
assert len(seen) == 1 and ".entry" in made, seen
assert seen[0][1] == str(ptxopt.optimize(seen[0][0])) and seen[0][1] in made, "not what ptxopt makes of it"
