#!/bin/sh
# libptxopt-preload.so: before a stand-in for the driver, and before NVRTC and nvJitLink, which need no GPU.
# usage: [BUILD=build] tests/preload.sh [PART-OF-A-NAME]
# Each case runs in a folder of its own, with in.ptx, which ptxopt changes, want.ptx, what it makes of it, and bad.ptx, no PTX.
set -u
cd "$(dirname "$0")/.." || exit 1
. tests/lib.sh
. tests/cases.sh
case $BUILD in /*) ;; *) BUILD=$(pwd)/$BUILD ;; esac
TOP=$(pwd)
WORK=$BUILD/work/preload
PROGRAMS=$WORK/programs
SAID=$WORK/said
LIBRARY=${PRELOAD:-$BUILD/libptxopt-preload.so} # with sanitizers: theirs in front of it, after a colon
unset PTXOPT PTXOPT_GUARD PTXOPT_FLAGS PTXOPT_LOG LD_PRELOAD LD_LIBRARY_PATH PTXOPT_LIMIT
export MALLOC_PERTURB_=165 # memory that is freed is written over
rm -rf "$WORK"
mkdir -p "$PROGRAMS" "$WORK/input"
cp tests/sample.ptx "$WORK/input/in.ptx"
"$BUILD/ptxopt" tests/sample.ptx -o "$WORK/input/want.ptx"
echo '  this is no PTX' >"$WORK/input/bad.ptx"
printf '\177ELF and so on' >"$WORK/input/cubin"

# case_ NAME COMMANDS: passes when all of the commands succeed.
part=${1:-}
begin_case() { export STUB_OUT="$case_dir" LIBCUDA="$PROGRAMS/libcuda.so.1"; }
# hooked COMMAND...: with the library before it; says nothing that the command does not say, and ends as it does.
hooked() { (export LD_PRELOAD=$LIBRARY${BEHIND:+:$BEHIND}; "$@" >"$case_dir/out" 2>"$case_dir/err"); }
silent() { [ ! -s out ] && [ ! -s err ]; }
# gets HOW WHAT FILE [NAME.N]: what the driver gets of in.ptx is the file.
load() { rm -f driver.*; hooked "$PROGRAMS/use-$([ "$1" = linked ] && echo linked || echo found)" "$1" "$2" in.ptx; }
gets() { load "$@"; cmp "${4:-driver.1}" "$3"; silent; }

(
    set -e
    cd tests/preload
    compile() { ${CC:-cc} -std=gnu11 -Wall -Wextra -O1 -g "$@"; }
    library() { compile -fPIC -shared -o "$@"; }
    library "$PROGRAMS/libcuda.so.1" -Wl,-soname,libcuda.so.1 stub.c
    library "$PROGRAMS/libother.so" -DNAME='"other"' -DWITH_NVRTC stub.c
    library "$PROGRAMS/plugin-driver.so" plugin.c "$PROGRAMS/libcuda.so.1" -Wl,-rpath,"$PROGRAMS"
    library "$PROGRAMS/plugin-other.so" plugin.c "$PROGRAMS/libother.so" -Wl,-rpath,"$PROGRAMS"
    library "$PROGRAMS/plugin-jump.so" -O2 plugin.c "$PROGRAMS/libcuda.so.1" -Wl,-rpath,"$PROGRAMS"
    library "$PROGRAMS/next.so" -DNEXT plugin.c -ldl
    compile -DLINKED use.c "$PROGRAMS/libcuda.so.1" -Wl,-rpath,"$PROGRAMS" -pthread -ldl -o "$PROGRAMS/use-linked"
    compile use.c -pthread -ldl -o "$PROGRAMS/use-found"
    compile plugins.c -ldl -o "$PROGRAMS/plugins"
    compile compile.c -ldl -o "$PROGRAMS/compile"
) || { echo "preload: 0 passed, 1 failed"; exit 1; }

{
# ---- what is visible ----------------------------------------------------------------------------------------------
case_ 'only hooks are exported, and the C library alone is needed' '
    [ -z "$(nm -D --defined-only "$BUILD/libptxopt-preload.so" | awk "{ print \$3 }" | grep -v "^cu[A-Z]\|^nvrtc[A-Z]\|^_*nvJitLink[A-Z]\|^dlsym$")" ]
    [ "$(readelf -d "$BUILD/libptxopt-preload.so" | grep NEEDED | grep -vc "libc\.so\|libdl\|libpthread\|ld-linux")" = 0 ]'
case_ 'programs that load no PTX' 'hooked sh -c "echo said; exit 3" || [ $? = 3 ]; [ "$(cat out)" = said ]; [ ! -s err ]'

# ---- the driver ---------------------------------------------------------------------------------------------------
for how in linked dlsym default proc proc1; do
    for what in module file ex library libraryfile link linkfile; do
        case_ "driver: $what, $how" "gets $how $what want.ptx"
    done
    case_ "driver: options for a debugger, and a text that the driver keeps, $how" "for what in debug preserved preservedfile debuglink debuglinkfile; do gets $how \$what in.ptx; done"
    case_ "driver: it refuses the optimized text, $how" "export STUB_REFUSE=want.ptx; for what in module file ex library libraryfile link linkfile; do gets $how \$what in.ptx driver.2; cmp driver.1 want.ptx; done"
    case_ "driver: it refuses both, $how" "export STUB_REFUSE=all; exits 218 load $how ex; cmp driver.1 want.ptx; cmp driver.2 in.ptx; silent"
done
case_ 'driver: bad PTX as it is' 'cp bad.ptx in.ptx; gets linked module bad.ptx; gets dlsym link bad.ptx; [ ! -e driver.2 ]'
case_ 'driver: machine code as it is' 'cp cubin in.ptx; gets linked module cubin; gets proc library cubin; gets proc libraryfile cubin; gets dlsym linkfile cubin; [ ! -e driver.2 ]'
case_ 'driver: PTXOPT=off' 'export PTXOPT=off; gets linked module in.ptx; gets dlsym link in.ptx; gets proc ex in.ptx; gets default file in.ptx; gets proc libraryfile in.ptx; gets linked linkfile in.ptx'
case_ 'driver: PTXOPT_FLAGS' 'export PTXOPT_FLAGS=" -O1  -O0"; gets linked module in.ptx; PTXOPT_FLAGS=-O2 gets linked module want.ptx'
case_ 'driver: PTXOPT_FLAGS that are none' 'PTXOPT_FLAGS=--nope PTXOPT_LOG=log gets linked module in.ptx; grep -q "\"failed\", \"reason\": \"an option is wrong\"" log'
case_ 'driver: PTXOPT_LOG' 'export PTXOPT_LOG=log; gets linked link want.ptx; cp want.ptx in.ptx; gets dlsym module want.ptx
    sed "s/: [0-9.]*}/: N}/" log >said; printf "%s\n" "{\"program\": \"use-linked\", \"input\": \"cuLinkAddData\", \"result\": \"optimized\", \"optimize_ms\": N}" \
        "{\"program\": \"use-found\", \"input\": \"cuModuleLoadData\", \"result\": \"unchanged\", \"optimize_ms\": N}" | cmp - said'
# what hangs stands for what takes long
case_ 'driver: PTXOPT_LIMIT' 'long_function 8000 >in.ptx; export PTXOPT_LOG=log PTXOPT_LIMIT=0.002; for how in linked proc; do for what in module file link libraryfile; do gets $how $what in.ptx; done; done; [ "$(grep -c "\"failed\", \"reason\": \"out of time\"" log)" = 8 ]; cp "$TOP/tests/sample.ptx" in.ptx; PTXOPT_LIMIT=100 gets linked module want.ptx'
case_ 'driver: PTXOPT_LIMIT and threads' 'long_function 4000 >in.ptx; export PTXOPT_LOG=log PTXOPT_LIMIT=0.001; load linked threads; for f in driver.*; do cmp $f in.ptx; done; silent'
case_ 'driver: PTXOPT_LIMIT that makes no sense is said once' 'export PTXOPT_LIMIT=x; PTXOPT_LOG=log load linked threads; for f in driver.*; do cmp $f want.ptx; done; silent; [ "$(grep -c warning log)" = 1 ]
    load linked threads; for f in driver.*; do cmp $f want.ptx; done; [ ! -s out ]; [ "$(cat err)" = "use-linked: warning: ptxopt: PTXOPT_LIMIT takes a number of seconds, 0 or off for no limit: it is not obeyed" ]'
case_ 'driver: a log that cannot be written' 'PTXOPT_LOG=/dev/full gets linked module want.ptx; PTXOPT_LOG=no/log gets linked module want.ptx'
case_ 'driver: 200 threads' 'for how in linked dlsym proc; do gets $how threads want.ptx; [ "$(ls driver.* | wc -l)" = 200 ]; for f in driver.*; do cmp $f want.ptx; done; done'
case_ 'driver: memory that runs out' '(ulimit -v 12000; hooked "$PROGRAMS/use-linked" linked module in.ptx); cmp driver.1 in.ptx || cmp driver.1 want.ptx; silent'

# ---- who calls whom -----------------------------------------------------------------------------------------------
case_ 'two libraries of a kind: each gets what its users load' 'hooked "$PROGRAMS/plugins" in.ptx "$PROGRAMS/plugin-driver.so" "$PROGRAMS/plugin-other.so"; cmp driver.1 want.ptx; cmp other.1 want.ptx; silent'
case_ 'a call that is passed on by a jump' 'hooked "$PROGRAMS/plugins" in.ptx "$PROGRAMS/plugin-jump.so"; cmp driver.1 want.ptx; silent'
case_ 'another library that stands before the driver' 'for how in linked dlsym; do rm -f driver.*; BEHIND=$PROGRAMS/next.so hooked "$PROGRAMS/use-linked" linked module in.ptx; cmp driver.1 want.ptx; [ "$(cat out)" = "passed on" ]; done
    rm driver.1; LIBRARY=$PROGRAMS/next.so:$LIBRARY; hooked "$PROGRAMS/use-linked" linked module in.ptx; cmp driver.1 want.ptx; [ "$(cat out)" = "passed on" ]'

# ---- NVRTC: a stand-in --------------------------------------------------------------------------------------------
STUB=$PROGRAMS/libother.so
# What is handed out of a text: not shorter than it, but for newlines at its end what ptxopt makes of it.
same_but_newlines() { [ "$(cat "$1")" = "$(cat "$2")" ]; }
case_ 'PTX that gets shorter' '[ "$(wc -c <want.ptx)" -lt "$(wc -c <in.ptx)" ]; STUB_PTX=in.ptx hooked "$PROGRAMS/compile" stub "$STUB" - o; [ "$(wc -c <o)" = "$(wc -c <in.ptx)" ]; same_but_newlines o want.ptx; silent
    STUB_PTX=in.ptx hooked "$PROGRAMS/compile" stub "$STUB" - p $(($(wc -c <in.ptx) + 1)); cmp o p'
case_ 'PTX that gets longer: whole to who has asked for its size, else the original' '
    cp "$TOP/examples/chain_sparse.hand.ptx" .; "$BUILD/ptxopt" chain_sparse.hand.ptx -o longer; [ "$(wc -c <longer)" -gt "$(wc -c <chain_sparse.hand.ptx)" ]; export STUB_PTX=chain_sparse.hand.ptx
    hooked "$PROGRAMS/compile" stub "$STUB" - o; cmp o longer; silent; hooked "$PROGRAMS/compile" stub "$STUB" - o $(($(wc -c <chain_sparse.hand.ptx) + 1)); cmp o chain_sparse.hand.ptx; silent'
case_ 'PTX that is none, and PTXOPT=off' 'STUB_PTX=bad.ptx hooked "$PROGRAMS/compile" stub "$STUB" - o; cmp o bad.ptx; PTXOPT=off STUB_PTX=in.ptx hooked "$PROGRAMS/compile" stub "$STUB" - o; cmp o in.ptx'

# ---- NVRTC and nvJitLink themselves -------------------------------------------------------------------------------
# library_of NAME: of the toolkit, or of NVIDIA's packages for Python.
library_of() { ls "$(dirname "$(cuda_tool nvcc)")"/../lib64/"$1".so.1[0-9] /usr/local/cuda/lib64/"$1".so.1[0-9] "$BUILD"/clients/venv/lib/python3*/site-packages/nvidia/*/lib/"$1".so.1[0-9] 2>/dev/null | head -1; }
cat >"$WORK/input/k.cu" <<'CU'
extern "C" __global__ void k(int *p, int n)
{
    if (n > 3) { p[0] = threadIdx.x; p[1] = n; p[2] = n * n; } else { p[3] = n; p[1] = n; p[2] = n * n; }
}
CU
NVRTC=$(library_of libnvrtc)
if [ -n "$NVRTC" ]; then
    case_ 'NVRTC' '"$PROGRAMS/compile" nvrtc "$NVRTC" k.cu plain; "$BUILD/ptxopt" plain -o want; not cmp -s plain want; hooked "$PROGRAMS/compile" nvrtc "$NVRTC" k.cu o; same_but_newlines o want; silent
        PTXOPT=off hooked "$PROGRAMS/compile" nvrtc "$NVRTC" k.cu o; cmp o plain'
else
    echo 'skip NVRTC: it is not at hand'
fi
NVJITLINK=$(library_of libnvJitLink)
if [ -n "$NVJITLINK" ]; then
    # A kernel of which ptxas makes something else.
    cp examples/conditions.hand.ptx "$WORK/input/in.ptx"
    "$BUILD/ptxopt" "$WORK/input/in.ptx" -o "$WORK/input/want.ptx"
    linked() { "$PROGRAMS/compile" link "$NVJITLINK" "$@"; }
    case_ 'nvJitLink: the cubin of the optimized text' 'linked want.ptx want; linked in.ptx plain; not cmp -s plain want
        hooked linked in.ptx o; cmp o want; silent; PTXOPT=off hooked linked in.ptx o; cmp o plain
        hooked "$PROGRAMS/compile" linkfile "$NVJITLINK" in.ptx o; cmp o want; silent; hooked "$PROGRAMS/compile" linkfile "$NVJITLINK" in.ptx o -g; not cmp -s o want'
    case_ 'nvJitLink: for a debugger' 'linked in.ptx plain -O0; linked want.ptx other -O0; not cmp -s plain other; hooked linked in.ptx o -O0; cmp o plain'
    case_ 'nvJitLink: bad PTX as without us' 's=0; linked bad.ptx plain 2>want || s=$?; [ $s -gt 0 ]; exits $s hooked linked bad.ptx o; cmp err want'
    if nm -D "$NVJITLINK" | grep -q __nvJitLinkAddData_13_0; then
        case_ 'nvJitLink: what its header calls' '${CC:-cc} -DLINKED "$TOP/tests/preload/compile.c" "$NVJITLINK" -Wl,-rpath,"${NVJITLINK%/*}" -ldl -o linked
            linked want.ptx want; for how in link linkfile; do hooked ./linked $how "$NVJITLINK" in.ptx o; cmp o want; silent; done'
    fi
else
    echo 'skip nvJitLink: it is not at hand'
fi
} >"$WORK/log"
tally "${NAME:-preload}" "$WORK/log"
