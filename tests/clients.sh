#!/bin/sh
# ptxopt before its real users: CMake with Ninja, Meson, Bazel, ccache, sccache, clang, rustc, Triton, Numba, tinygrad, Warp, CuPy, the
# CUTLASS DSL, XLA, PyTorch, NVRTC, other versions of ptxas, and the line tables. What is missing is installed into build/clients (a
# virtual environment of Python) where pip and a network are at hand, else the case is skipped; build/work/clients/table.md says what
# became of each client's files. usage: [BUILD=build] [CLIENTS=quick] tests/clients.sh [PART-OF-A-NAME]
#   CLIENTS=quick   within BUDGET seconds (240): samples of examples and line tables, no XLA, and nothing begun after that time
set -u
cd "$(dirname "$0")/.." || exit 1
. tests/lib.sh
case $BUILD in /*) ;; *) BUILD=$(pwd)/$BUILD ;; esac
TOP=$(pwd)
HERE=$TOP/tests/clients
HOME_OF=$BUILD/clients
VENV=$HOME_OF/venv
WORK=$BUILD/work/clients
unset PTXOPT PTXOPT_GUARD PTXOPT_FLAGS PTXOPT_PTXAS PTXOPT_LOG PTXOPT_FRONTS NVCC_APPEND_FLAGS CUDA_HOME CUDA_PATH CCACHE_DIR
export PTXOPT_GUARD=off # what clients do with the front is asked here; what ptxas makes of it, tests/guard.sh asks
rm -rf "$WORK"
mkdir -p "$WORK" "$HOME_OF"
NVCC=$(cuda_tool nvcc)

start=$(date +%s)
quick() { [ "${CLIENTS:-}" = quick ]; }
remaining() { if quick; then echo $((start + ${BUDGET:-240} - $(date +%s))); else echo 1800; fi; } # seconds
late() { [ "$(remaining)" -le 0 ]; }

# case_ NAME COMMANDS: passes when all of the commands succeed, in a folder of its own.
case_number=0 part=${1:-}
case_()
{
    case $1 in *"$part"*) ;; *) return ;; esac
    if late; then
        echo "skip $1: more than ${BUDGET:-240} seconds have gone; make check-clients has no limit"
        return
    fi
    case_number=$((case_number + 1))
    mkdir "$WORK/$case_number"
    (
        cd "$WORK/$case_number" || exit 1
        export PATH="$BUILD:$PATH" PTXOPT_LOG="$WORK/$case_number/log"
        set -e
        eval "$2"
    ) >"$WORK/$case_number.log" 2>&1 </dev/null
    if [ $? = 0 ]; then
        echo "pass $1"
        tell "$1" "$WORK/$case_number/log"
    else
        echo "fail $1"
        sed 's/^/    /' "$WORK/$case_number.log" | tail -20
    fi
}
# tell NAME LOG: a row of the table. Where both times are known, those of ptxas and of the optimizer: in the same calls.
tell()
{
    [ ! -e "$2" ] || awk -v name="$1" '
        { optimized += /"result": "optimized"/; unchanged += /"result": "unchanged"/; bypassed += /"result": "bypassed"/; failed += /"result": "failed"/ }
        match($0, /"optimize_ms": [0-9.]*/) { ms = substr($0, RSTART + 15, RLENGTH - 15); all += ms; if (!/"bypassed"/) texts++ }
        match($0, /"run_ms": [0-9.]*/) { run += substr($0, RSTART + 10, RLENGTH - 10); beside += ms }
        END {
            printf "| %s | %d | %d | %d | %d | %s | %s |\n", name, optimized + unchanged, optimized, bypassed, failed,
                texts ? sprintf("%.1f", all / texts) : "", run ? sprintf("%.1f %%", 100 * beside / run) : ""
        }' "$2" >>"$WORK/table.md"
}
not() { if "$@"; then return 1; fi; }
logged() { grep -s "\"result\": \"$1\"" log | wc -l; }
went_well() { [ "$(($(logged optimized) + $(logged unchanged)))" -ge "$1" ] && not grep -q '"result": "failed"' log; } # for so many files
have() { command -v "$1" >/dev/null; }

# install PACKAGE...: into the virtual environment; false where that cannot be done.
install()
{
    have python3 || return 1
    [ -x "$VENV/bin/pip" ] || python3 -m venv "$VENV" >/dev/null 2>&1 || return 1
    [ ! -e "$WORK/offline" ] || return 1
    ! late || return 1
    timeout "$(remaining)" "$VENV/bin/pip" install -q --disable-pip-version-check --retries 1 --timeout 20 "$@" >>"$HOME_OF/pip.log" 2>&1 || { : >"$WORK/offline"; return 1; }
}
has_module() { [ -x "$VENV/bin/python" ] && "$VENV/bin/python" -c "import importlib.util as u, sys; sys.exit(not u.find_spec('$1'))" 2>/dev/null; }
missing() { if late; then echo "skip $1: more than ${BUDGET:-240} seconds have gone"; else echo "skip $1: it cannot be had"; fi; }
# with_module MODULE PACKAGE...: it is there, or can be installed; else that is said.
with_module() { module=$1; shift; has_module "$module" || install "$@" && has_module "$module" || { missing "$module"; false; }; }
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


{
echo '| client | files accepted | changed | passed by | failed | ms for a file | of ptxas |' >"$WORK/table.md"
echo '|---|---|---|---|---|---|---|' >>"$WORK/table.md"

# ---- CMake, and caches of compilations ----------------------------------------------------------------------------
if [ -z "$NVCC" ] || ! have cmake || ! have g++; then
    echo 'skip CMake: cmake, nvcc or g++ is not at hand'
else
    generator=$(have ninja && echo Ninja || echo 'Unix Makefiles')
    export CUDACXX="$NVCC"
    # A project that is built without an installed ptxopt; project FOLDER, built FOLDER OPTION...
    project() { mkdir "$1"; cp "$TOP"/examples/integration/app/* "$1"; sed -i "s|^find_package.*|include($TOP/src/use/integration/cmake/Ptxopt.cmake)|" "$1/CMakeLists.txt"; }
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
            export SCCACHE_DIR=$PWD/cache SCCACHE_IDLE_TIMEOUT=900 SCCACHE_SERVER_UDS="$(mktemp -d)/s"; cp "$TOP/examples/integration/app/kernels.cu" .
            mkdir bin; cp "$BUILD/ptxopt" bin/ptxopt; bin/ptxopt --install-shadow=cuda; trap "\"$SCCACHE\" --stop-server; rm -rf \"\${SCCACHE_SERVER_UDS%/s}\"" EXIT
            sccached one "$PWD/cuda"; [ "$(of_kind misses CUBIN)" = 1 ]; went_well 1; cp log first; sccached two "$PWD/cuda"; [ "$(of_kind hits CUBIN)" = 1 ]; cmp log first; cmp one/k.o two/k.o
            echo >>bin/ptxopt; "$SCCACHE" --stop-server; sccached three "$PWD/cuda"; [ "$(of_kind misses CUBIN)" = 1 ]; not cmp log first'
        if quick; then
            echo 'skip sccache-dist: make check-clients runs it'
        elif ! [ -x "$SCCACHE-dist" ] || ! have bwrap || ! sh "$HERE/dist.sh" possible >/dev/null 2>&1; then
            echo 'skip sccache-dist: it, bubblewrap, or the right to make name spaces is not at hand'
        else
            case_ 'sccache-dist: cicc and ptxas run on a second host' 'cp "$TOP/examples/integration/app/kernels.cu" .; ptxopt --install-shadow=cuda
                mkdir d; (cd d; sh "$HERE/dist.sh" "$SCCACHE" "$PWD/../cuda" "${NVCC%nvcc}ptxas" ../kernels.cu ../far.o); [ "$(sed -n "s/^ *198\.51\.100\.2:10501 *//p" d/stats)" -ge 2 ]
                # Nothing was optimized here; there the same was made as here.
                [ "$(logged optimized)" = 0 ]; cuda/bin/nvcc -arch=sm_80 -c kernels.cu -o near.o; [ "$(logged optimized)" = 1 ]
                for o in near far; do objcopy -O binary --only-section=.nv_fatbin $o.o $o.fatbin; done; cmp near.fatbin far.fatbin; "${NVCC}" -arch=sm_80 -c kernels.cu -o plain.o
                objcopy -O binary --only-section=.nv_fatbin plain.o plain.fatbin; not cmp -s plain.fatbin far.fatbin'
        fi
    else
        missing "sccache"
    fi
fi

# ---- Meson, Bazel -------------------------------------------------------------------------------------------------
if [ -z "$NVCC" ] || ! have ninja || ! have g++; then
    echo 'skip Meson: nvcc, Ninja or g++ is not at hand'
elif MESON=$(command -v meson || { [ -x "$VENV/bin/meson" ] || install meson; [ -x "$VENV/bin/meson" ] && echo "$VENV/bin/meson"; }); then
    case_ 'Meson: separable compilation for two architectures' 'cp -r "$TOP/examples/integration/app" p; cd p; PATH=${NVCC%/nvcc}:$PATH CCACHE_DISABLE=1 "$MESON" setup b; CCACHE_DISABLE=1 "$MESON" compile -C b; [ -x b/app ]; cd ..; went_well 4; [ "$(logged optimized)" -ge 1 ]'
else
    missing "Meson"
fi
if have bazel; then
    case_ 'Bazel: a rule, in its sandbox' ': >WORKSPACE; mkdir -p tools/ptxopt; cp "$TOP/src/use/integration/bazel/ptxopt.bzl" tools/ptxopt; cp "$BUILD/ptxopt" tools/ptxopt; cp "$TOP/tests/sample.ptx" kernel.ptx
        echo "filegroup(name = \"program\", srcs = [\"ptxopt\"], visibility = [\"//visibility:public\"])" >tools/ptxopt/BUILD
        printf "%s\n" "load(\"//tools/ptxopt:ptxopt.bzl\", \"ptxopt\")" "ptxopt(name = \"k\", src = \"kernel.ptx\", options = [\"-O1\"])" >BUILD
        bazel --batch --output_user_root="$PWD/out" build //:k; ptxopt -O1 kernel.ptx | cmp - bazel-bin/k.ptx; chmod -R u+w out'
else
    echo 'skip Bazel: it is not at hand'
fi

# ---- clang --------------------------------------------------------------------------------------------------------
CLANG=$(for c in clang++-19 clang++-20 clang++-18 clang++; do command -v "$c" && break; done)
if [ -z "$CLANG" ] || [ -z "$NVCC" ]; then
    echo 'skip clang: it, or the CUDA toolkit, is not at hand'
else
    case_ 'clang: --ptxas-path' 'mkdir bin; ln -s "$BUILD/ptxopt" bin/ptxas; ln -s "${NVCC%nvcc}ptxas" bin/ptxas.real
        "$CLANG" -nocudainc -nocudalib -Wno-unknown-cuda-version --cuda-path="${NVCC%/bin/nvcc}" --cuda-gpu-arch=sm_80 --cuda-device-only --ptxas-path="$PWD/bin/ptxas" -O2 -c "$HERE/kernel.cu" -o k.cubin
        [ -s k.cubin ]; went_well 1'
fi

# ---- Rust, Julia --------------------------------------------------------------------------------------------------
if [ -n "$PTXAS" ] && have rustc && RUSTC_BOOTSTRAP=1 rustc --target nvptx64-nvidia-cuda -C target-cpu=sm_80 -O --emit asm "$HERE/kernel.rs" -o "$WORK/rust.ptx" 2>/dev/null; then
    case_ 'rustc: the PTX of --emit asm' 'PTXOPT=strict ptxopt-ptxas "$PTXAS" -arch=sm_80 "$WORK/rust.ptx" -o o; went_well 1; [ "$(logged optimized)" = 1 ]'
else
    echo 'skip rustc: it, or ptxas, is not at hand'
fi
echo 'skip Julia: neither Debian 12 nor PyPI has it (jill, julialang and juliacall fetch it from elsewhere)'

# ---- Triton ----------------------------------------------------------------------------------------------------------
if with_module triton triton; then
    tools=$(echo "$(packages)"/triton/backends/nvidia/bin)
    case_ 'Triton: TRITON_PTXAS_PATH and TRITON_PTXAS_BLACKWELL_PATH' 'mkdir bin; ln -s "$BUILD/ptxopt" bin/ptxas; ln -s "$BUILD/ptxopt" bin/ptxas-blackwell; ln -s "$tools/ptxas" bin/ptxas.real
        if [ -e "$tools/ptxas-blackwell" ]; then ln -s "$tools/ptxas-blackwell" bin/ptxas-blackwell.real; fi
        TRITON_CACHE_DIR=$PWD/cache TRITON_PTXAS_PATH=$PWD/bin/ptxas TRITON_PTXAS_BLACKWELL_PATH=$PWD/bin/ptxas-blackwell "$VENV/bin/python" "$HERE/with_triton.py"; went_well 3'
    case_ 'Triton: ptxopt.triton.enable(), whose options are part of the key of its cache' '
        sed "1i import ptxopt\nptxopt.triton.enable([\"-O3\"])" "$HERE/with_triton.py" >hooked.py; sed "s/-O3/-O1/" hooked.py >other.py
        export TRITON_CACHE_DIR=$PWD/cache PTXOPT_LIBRARY="$BUILD"/libptxopt.so.1 PYTHONPATH="$TOP/src/use/integration/python" PYTHONDONTWRITEBYTECODE=1
        "$VENV/bin/python" "$HERE/with_triton.py"; n=$(find cache -name "*.cubin" | wc -l); "$VENV/bin/python" hooked.py; m=$(find cache -name "*.cubin" | wc -l); "$VENV/bin/python" hooked.py; [ "$(find cache -name "*.cubin" | wc -l)" = "$m" ]
        "$VENV/bin/python" other.py; [ "$n $m $(find cache -name "*.cubin" | wc -l)" = "$n $((2 * n)) $((3 * n))" ]'
else
    tools=
fi

# ---- line tables --------------------------------------------------------------------------------------------------
NVDISASM=$(cuda_tool nvdisasm)
[ -n "$NVDISASM" ] || NVDISASM=$(ls "$tools/nvdisasm" 2>/dev/null)
if [ -z "$NVDISASM" ] || [ -z "$NVCC" ]; then
    echo 'skip line tables: nvdisasm or nvcc is not at hand'
else
    lines_of() { "$NVDISASM" -g -ndf -c "$1" | awk -f "$HERE/lines.awk" | sort -u; }
    for source in $(quick && echo examples/attention.cu examples/l[ei]*.cu examples/softmax.cu || echo examples/*.cu); do
        case_ "line tables: $source" '"$NVCC" -std=c++17 -lineinfo -arch=sm_80 -cubin -o a "$TOP/$source"; "$NVCC" --ptxas-prefix=ptxopt-ptxas -std=c++17 -lineinfo -arch=sm_80 -cubin -o b "$TOP/$source"
            lines_of a >before; lines_of b >after; [ -s after ]; comm -13 before after; [ -z "$(comm -13 before after)" ]'
    done
fi

# ---- versions of ptxas --------------------------------------------------------------------------------------------
every=1
! quick || every=12
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
        missing "ptxas $version"
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

# ---- Python, other than Triton --------------------------------------------------------------------------------------
ls "$(packages)"/nvidia/*/lib/libnvrtc.so.* >/dev/null 2>&1 || install nvidia-cuda-nvrtc
if ls "$(packages)"/nvidia/*/lib/libnvrtc.so.* >/dev/null 2>&1 && [ -n "$PTXAS" ]; then
    case_ 'NVRTC: its PTX is taken, and what comes of it assembles' '"$VENV/bin/python" "$HERE/nvrtc.py" "$(packages)"; sed -i "s/^\.version.*/.version 8.0/" k.ptx; PTXOPT=strict ptxopt-ptxas "$PTXAS" -arch=sm_80 k.ptx -o k.cubin; went_well 1'
else
    missing "NVRTC"
fi

if with_module numba_cuda numba-cuda; then
    case_ 'Numba: ptxopt.numba.enable()' 'export PTXOPT_LIBRARY="$BUILD"/libptxopt.so.1 PYTHONPATH="$TOP/src/use/integration/python" PYTHONDONTWRITEBYTECODE=1; "$VENV/bin/python" "$HERE/with_numba.py"'
fi

# What calls NVRTC and nvJitLink by itself: the preloaded library.
PRELOAD=$BUILD/libptxopt-preload.so
# by_itself SCRIPT: its PTX and its cubin, with the library and without, against what ptxopt makes of them.
by_itself()
{
    export LD_LIBRARY_PATH="${NVCC%/bin/nvcc}/lib64" XDG_CACHE_HOME="$PWD/cache"
    cp "$TOP/examples/conditions.hand.ptx" in.ptx
    ptxopt in.ptx -o want.ptx
    "$VENV/bin/python" "$1" plain.ptx want.ptx want.cubin
    ptxopt plain.ptx -o want.ptx
    not cmp -s want.ptx plain.ptx
    LD_PRELOAD=$PRELOAD "$VENV/bin/python" "$1" o.ptx in.ptx o.cubin
    [ "$(cat o.ptx)" = "$(cat want.ptx)" ] # but for newlines at the end
    cmp o.cubin want.cubin
    [ "$(logged optimized)" = 2 ]
}
if [ -z "$NVCC" ]; then
    echo 'skip tinygrad, cuda-python: nvcc is not at hand'
else
    if with_module tinygrad tinygrad; then
        case_ 'tinygrad: NVRTC and nvJitLink, with the preloaded library' 'by_itself "$HERE/with_tinygrad.py"'
    fi
    if with_module cuda.bindings cuda-bindings; then
        case_ 'cuda-python: NVRTC and nvJitLink, with the preloaded library' 'by_itself "$HERE/with_cuda_python.py"'
    fi
fi
if quick; then
    echo 'skip CuPy: make check-clients runs it'
elif [ -n "$NVCC" ] && with_module cupy cupy-cuda13x; then
    case_ 'CuPy: CUPY_COMPILE_WITH_PTX, with the preloaded library' 'export LD_LIBRARY_PATH="${NVCC%/bin/nvcc}/lib64" CUPY_COMPILE_WITH_PTX=1 CUPY_CACHE_DIR="$PWD/cache"
        "$VENV/bin/python" "$HERE/with_cupy.py" plain.ptx; ptxopt plain.ptx -o want.ptx; not cmp -s want.ptx plain.ptx
        LD_PRELOAD=$PRELOAD "$VENV/bin/python" "$HERE/with_cupy.py" o.ptx; [ "$(cat o.ptx)" = "$(cat want.ptx)" ]; [ "$(logged optimized)" = 1 ]'
fi
NEWEST=$(ptxas_of newest nvidia-cuda-nvcc)
if with_module warp warp-lang && [ -n "$NEWEST" ]; then
    case_ 'Warp: the PTX of compile_aot_module' 'WARP_CACHE_PATH=$PWD/cache "$VENV/bin/python" "$HERE/with_warp.py"; tr -d "\\0" <"$(echo aot/*.ptx)" >k.ptx # it is a string of C
        PTXOPT=strict ptxopt-ptxas "$NEWEST" -arch=sm_80 k.ptx -o o; [ "$(logged optimized)" -ge 1 ]'
fi
if with_module nvidia_cutlass_dsl nvidia-cutlass-dsl && [ -n "$NEWEST" ]; then
    case_ 'CUTLASS DSL: the PTX that CUTE_DSL_KEEP=ptx keeps' 'CUTE_DSL_DISABLE_FILE_CACHING=1 CUTE_DSL_KEEP=ptx CUTE_DSL_ARCH=sm_90a CUTE_DSL_DUMP_DIR=$PWD "$VENV/bin/python" "$HERE/with_cutlass.py" k.ptx
        PTXOPT=strict ptxopt-ptxas "$NEWEST" -arch=sm_90a k.ptx -o o; went_well 1'
fi
if quick; then
    echo 'skip XLA: make check-clients runs it (250 MB)'
elif with_module jax jax && { has_module jax_plugins.xla_cuda13 || install --no-deps jax-cuda13-plugin jax-cuda13-pjrt; } && [ -n "$NVCC" ]; then
    # Without a GPU, and twice: by nvJitLink, as it comes, and by ptxas.
    with_xla() { JAX_PLATFORMS=cpu LD_LIBRARY_PATH="${NVCC%/bin/nvcc}/lib64" "$@" "$VENV/bin/python" "$HERE/with_xla.py"; }
    case_ 'XLA: nvJitLink, with the preloaded library' 'with_xla env LD_PRELOAD="$PRELOAD"; went_well 1; [ "$(grep -c nvJitLinkAddData log)" -ge 1 ]'
    case_ 'XLA: ptxas in PATH' 'ptxopt --install-shadow=cuda
        with_xla env PATH="$PWD/cuda/bin:$PATH" XLA_FLAGS="--xla_gpu_enable_libnvptxcompiler=false --xla_gpu_enable_libnvjitlink=false"; went_well 1'
else
    missing "XLA"
fi
if quick; then
    echo 'skip PyTorch extensions: make check-clients runs them (5 GB)'
elif [ -z "$NVCC" ] || ! have ninja; then
    echo 'skip PyTorch extensions: nvcc or Ninja is not at hand'
elif with_module torch torch; then
    case_ 'PyTorch extensions: the toolkit of links as CUDA_HOME' 'ptxopt --install-shadow=cuda; cp "$HERE/extension.cu" .
        CCACHE_DISABLE=1 CUDA_HOME="$PWD/cuda" TORCH_CUDA_ARCH_LIST="8.0;9.0" MAX_JOBS=2 "$VENV/bin/python" "$HERE/with_torch.py"; [ -s extension.so ]; went_well 2; [ "$(logged optimized)" = 2 ]'
fi

} >"$WORK/log"
tally "${NAME:-clients}" "$WORK/log"
