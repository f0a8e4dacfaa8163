#!/bin/sh
# The front, ptxopt-ptxas, from end to end, before a stand-in for ptxas that is a script (its "cubin" is the text that it was
# given), and before ptxas itself where it is at hand. usage: [BUILD=build] tests/front.sh [PART-OF-A-NAME]
# Each case runs in a folder of its own that holds in.ptx, which ptxopt changes, want.ptx, what it makes of it, same.ptx, which
# it does not change, bad.ptx, which is no PTX, and bin/ with the stand-ins. The stand-in writes each call to `calls`.
set -u
cd "$(dirname "$0")/.." || exit 1
. tests/lib.sh
. tests/cases.sh
case $BUILD in /*) ;; *) BUILD=$(pwd)/$BUILD ;; esac
WORK=$BUILD/work/front
unset SOURCE_DATE_EPOCH PTXOPT PTXOPT_GUARD PTXOPT_FLAGS PTXOPT_PTXAS PTXOPT_LOG PTXOPT_FRONTS CUDA_HOME CUDA_PATH PTXOPT_LIMIT PTXOPT_PTXAS_LIMIT PTXOPT_REMARKS
export PTXOPT_GUARD=off # the stand-in makes no machine code: the guard is tests/guard.sh's
rm -rf "$WORK"
mkdir -p "$WORK/input/bin" "$WORK/tmp"

cp tests/sample.ptx "$WORK/input/in.ptx"
"$BUILD/ptxopt" "$WORK/input/in.ptx" -o "$WORK/input/want.ptx"
cp "$WORK/input/want.ptx" "$WORK/input/same.ptx"
echo 'this is no PTX' >"$WORK/input/bad.ptx"

# How the stand-in behaves: FAKE_REFUSE=1 refuses what the front made, FAKE_REFUSE=all everything, FAKE_CRASH=1 crashes over what
# the front made, FAKE_SLEEP=N takes so long.
cat >"$WORK/input/bin/ptxas" <<'END'
#!/bin/sh
echo "$*" >>"${FAKE_CALLS:-calls}"
in= out=elf.o
while [ $# -gt 0 ]; do
    case $1 in
    --version) echo 'stand-in for ptxas'; echo 'Build 1'; exit 0 ;;
    -o | --output-file) out=$2; shift ;;
    --output-file=*) out=${1#*=} ;;
    --gpu-name | -arch | --entry | -split-compile | --options-file | --input-as-string | --opt-level) shift ;;
    -) in=/dev/stdin ;;
    -*) ;;
    *) in=$1 ;;
    esac
    shift
done
case $in in /dev/fd/*) ours=1 ;; *) ours= ;; esac
echo "ptxas info: $in" >&2
echo "to standard output: $in, not ${in}0"
if [ -n "${FAKE_SLEEP:-}" ]; then echo $$ >pid; exec sleep "$FAKE_SLEEP"; fi
if [ "${FAKE_REFUSE:-}" = all ] || [ "$ours${FAKE_REFUSE:-}" = 11 ]; then echo "ptxas $in, line 3; error" >&2; exit 255; fi
if [ "$ours${FAKE_CRASH:-}" = 11 ]; then kill -SEGV $$; fi
if [ -z "$in" ]; then exit 1; fi
cat "$in" >"$out" || exit 1
END
cat >"$WORK/input/bin/cicc" <<'END'
#!/bin/sh
echo "$*" >>calls
echo 'cicc says'
cp "$FAKE_PTX" made.ptx || exit 1
[ -z "${FAKE_REFUSE:-}" ] || exit 3
while [ $# -gt 1 ]; do [ "$1" != -o ] || cp "$FAKE_PTX" "$2"; shift; done
END
chmod +x "$WORK/input/bin"/*

part=${1:-}
begin_case() { export PATH="$case_dir/bin:$PATH" PTXOPT_LOG="$case_dir/log"; }
front() { timeout 30 "$BUILD/ptxopt-ptxas" "$@"; }
cicc() { timeout 30 "$BUILD/ptxopt-cicc" "$@"; }
logged() { grep -q "\"result\": \"$1\"" log; }
because() { grep -q "\"reason\": \"$1" log; }
calls() { [ "$(wc -l <calls)" = "$1" ]; } # the stand-in ran so many times
shadow() { mkdir -p shadow; ln -s "$BUILD/ptxopt" "shadow/${1:-ptxas}"; PATH=$PWD/shadow:$PATH; }
# bypassed REASON ARGUMENT...: ptxas gets exactly these arguments, and no optimized text.
bypassed()
{
    reason=$1
    shift
    front ptxas "$@" || true
    [ "$(cat calls)" = "$*" ]
    logged bypassed
    because "$reason"
}
without_names() { PTXOPT_NO_MEMFD=1 TMPDIR=$PWD/tmp "$@"; } # where there are no files in memory
gone() { [ ! -e "/proc/$1" ] || grep -q "^State:.*zombie" "/proc/$1/status"; }
wait_for() { for tries in $(seq 100); do [ ! -s "$1" ] || return 0; sleep 0.1; done; return 1; }

{
# ---- as launcher --------------------------------------------------------------------------------------------------
case_ 'a launcher: ptxas gets the optimized text' 'front ptxas -arch=sm_80 in.ptx -o o; cmp o want.ptx; calls 1; logged optimized'
case_ 'the input stays, nothing is left behind' 'cp in.ptx x; front ptxas in.ptx -o o; cmp x in.ptx
    [ "$(ls | tr "\n" " ")" = "bad.ptx bin calls in.ptx log o same.ptx want.ptx x " ]'
case_ 'nothing is said but what ptxas says, with the name of the file as written' '
    exits 0 front ptxas ./in.ptx -o o; [ "$(cat said)" = "ptxas info: ./in.ptx" ]
    [ "$(sed "s/fd.[0-9]*/fd/" out)" = "to standard output: ./in.ptx, not /dev/fd" ]'
case_ 'what does not change is assembled from the file itself' 'front ptxas same.ptx -o o; grep -q "^same.ptx -o o" calls; logged unchanged'
case_ 'options before --' 'front -O0 -- ptxas in.ptx -o o; cmp o in.ptx; logged unchanged'
case_ 'a path to ptxas' 'front "$PWD/bin/ptxas" in.ptx -o o; cmp o want.ptx'
case_ 'blanks, quotes and line ends in names' 'mkdir "a b"; n="a b/i \"n
        x\\.ptx"; cp in.ptx "$n"; exits 0 front ptxas "$n" -o "a b/o p"; cmp "a b/o p" want.ptx; [ "$(head -1 said)" = "ptxas info: a b/i \"n" ]
    if command -v python3 >/dev/null; then python3 -c "
import json
line = json.loads(open(\"log\").read())
assert line[\"input\"] == \"\"\"$(printf "%s" "$n" | sed "s/[\"\\\\]/\\\\&/g")\"\"\", line"; fi'
case_ 'names that are no UTF-8 in the log' 'n=$(printf "\\351.ptx"); cp in.ptx "$n"; front ptxas "$n" -o o; cmp o want.ptx
    if command -v python3 >/dev/null; then python3 -c "import json; json.loads(open(\"log\", encoding=\"utf-8\").read())"; fi'
case_ 'a report that an option asks for' 'exits 0 front --stats --remarks=r.yaml -- ptxas in.ptx -o o; says "functions changed"; [ -s r.yaml ]'
case_ 'a proof that an option asks for' 'exits 0 front --prove=strict --stats -- ptxas in.ptx -o o; says "functions proved"; cmp o want.ptx'
case_ 'every spelling of what is asked for' '
    cp in.ptx in.s; front ptxas in.s --output-file o1 --gpu-name sm_80; front ptxas --output-file=o2 --gpu-name=sm_80 -O3 -m64 in.ptx
    front ptxas -lineinfo -v --opt-level 3 -arch sm_80 --entry fold in.ptx -split-compile 2 -maxrregcount=32 -o o3
    for o in o1 o2 o3; do cmp $o want.ptx; done'
case_ 'an option that nobody knows' 'front ptxas --new in.ptx -o o; cmp o want.ptx; front ptxas --new=3 in.ptx -o o2; cmp o2 want.ptx'
case_ 'an option that nobody knows with an argument' 'mkdir other; cat >other/ptxas <<END
#!/bin/sh
[ "\$1 \$2" = "--new 3" ]; cat "\$3" >o
END
    chmod +x other/ptxas; front other/ptxas --new 3 in.ptx -o o; cmp o want.ptx'

# ---- what is passed on as it is -----------------------------------------------------------------------------------
case_ 'no input' 'bypassed "no input" -arch=sm_80 -o o'
case_ 'several inputs' 'bypassed "several inputs" in.ptx same.ptx -o o'
case_ 'standard input' 'bypassed "standard input" - -o o'
case_ 'PTX on the command line' 'bypassed "PTX on the" --input-as-string .version -o o; rm calls log; bypassed "PTX on" -ias=x -o o'
case_ 'a file of options' 'bypassed "a file of options" --options-file f in.ptx; rm calls log; bypassed "a file" -optf=f in.ptx'
case_ 'for a debugger' 'for o in -g --device-debug --dont-merge-basicblocks; do rm -f calls log; bypassed "code for a debugger" $o in.ptx -o o; done'
case_ 'level 0' 'for o in -O0 -O=0 --opt-level=0 "--opt-level 0"; do rm -f calls log; bypassed "optimization level 0" $o in.ptx -o o; done'
case_ 'virtual targets' 'for o in -arch=compute_90 --gpu-name=lto_80 "--gpu-name compute_90"; do rm -f calls log; bypassed "a virtual target" $o in.ptx; done'
case_ 'options that override directives' 'bypassed "an option that overrides" --override-directive-values --maxntid=64 in.ptx -o o'
case_ 'a named pipe as input is read once, by ptxas' 'mkfifo p; cat in.ptx >p & front ptxas p -o o; wait $!; cmp o in.ptx; because "the input is no file"'
case_ 'an input that is missing' 'exits 1 front ptxas missing.ptx -o o; [ "$(cat calls)" = "missing.ptx -o o" ]; says "missing.ptx"'
case_ '--version has a line more' 'front ptxas --version >v; [ "$(wc -l <v)" = 3 ]; tail -1 v | grep -q "^ptxopt [0-9.]* (commit "
    front -O3 -- ptxas --version | tail -1 | grep -q " -O3$"; [ "$(PTXOPT=off front ptxas --version | wc -l)" = 2 ]'
case_ '--version that fails' 'printf "#!/bin/sh\nexit 4\n" >bin/ptxas; exits 4 front ptxas --version; [ ! -s out ]'

# ---- the environment ----------------------------------------------------------------------------------------------
case_ 'PTXOPT=off' 'PTXOPT=off front ptxas in.ptx -o o; cmp o in.ptx; because PTXOPT=off'
case_ 'PTXOPT=on and empty' 'PTXOPT=on front ptxas in.ptx -o o; cmp o want.ptx; PTXOPT= front ptxas in.ptx -o p; cmp p want.ptx'
case_ 'PTXOPT that is none' 'exits 1 env PTXOPT=yes "$BUILD/ptxopt-ptxas" ptxas in.ptx -o o; says "off, on or strict, not .yes."; [ ! -e calls ]'
case_ 'PTXOPT_FLAGS' 'PTXOPT_FLAGS="-O1  -O0" front ptxas in.ptx -o o; cmp o in.ptx'
case_ 'the command line counts more than PTXOPT_FLAGS' 'PTXOPT_FLAGS=-O0 front -O2 -- ptxas in.ptx -o o; cmp o want.ptx'
case_ 'PTXOPT_FLAGS that are none' 'exits 1 env PTXOPT_FLAGS=--nope "$BUILD/ptxopt-ptxas" ptxas in.ptx -o o; says "unknown option .--nope"; [ ! -e calls ]'
case_ 'PTXOPT_FLAGS that print something end no build' 'echo "-O3 --version" >f; for f in --help -h --version -V --list-phases "-O3 --list-phases" @f; do rm -f calls log o; PTXOPT_FLAGS=$f exits 0 front ptxas in.ptx -o o
        cmp o in.ptx; calls 1; logged bypassed; because "an option asks for a text"; [ "$(cat said)" = "ptxas info: in.ptx" ]; [ "$(wc -l <out)" = 1 ]; done
    rm o; exits 0 front --help -- ptxas in.ptx -o o; cmp o in.ptx; exits 0 front --help; grep -q "^usage: ptxopt" out; PTXOPT_FLAGS=--help PTXOPT=strict exits 1 front ptxas in.ptx -o o; says "asks for a text"
    PTXOPT_FLAGS=--help exits 0 front ptxas --version; tail -1 out | grep -q "^ptxopt"'
case_ 'PTXOPT_FLAGS in a launcher of cicc that print something' 'export FAKE_PTX=in.ptx; PTXOPT_FLAGS=--help exits 0 cicc cicc x -o o; cmp o in.ptx; not grep -q usage out'
case_ 'no message names a file that nobody gave' 'for f in foo "foo bar" --install-shadow=d --disable --tuned "-o x"; do PTXOPT_FLAGS=$f exits 1 front ptxas in.ptx -o o; not says "input[^ a-z]"; not says "to .-- *input"; done; PTXOPT_FLAGS=foo exits 1 front ptxas in.ptx; says "error: .foo. is no option"
    PTXOPT_FLAGS=--disable exits 1 front ptxas in.ptx; says "option .--disable. needs an argument"'
# what hangs stands for what takes long
overdue() { long_function 40000 >long.ptx; PTXOPT_LIMIT=0.01 exits "$@"; }
case_ 'PTXOPT_LIMIT: the original goes on' 'overdue 0 front ptxas long.ptx -o o; cmp o long.ptx; logged failed; because "out of time: the optimizer took more than 0.01 seconds"; [ "$(cat said)" = "ptxas info: long.ptx" ]; [ "$(wc -l <log)" = 1 ]'
case_ 'PTXOPT_LIMIT under strict' 'export PTXOPT=strict; overdue 1 front ptxas long.ptx -o o; says "out of time.*PTXOPT=strict"; [ ! -e calls ]'
case_ 'PTXOPT_LIMIT of cicc' 'long_function 40000 >made; export FAKE_PTX=made; PTXOPT_LIMIT=0.01 exits 0 cicc cicc x -o o; cmp o made; because "out of time"; [ -z "$(ls -A | grep "^[.]ptxopt")" ]'
case_ 'PTXOPT_LIMIT and the guard' 'long_function 40000 >long.ptx; PTXOPT_LIMIT=0.01 exits 0 front --guard -- ptxas long.ptx -o o; cmp o long.ptx; logged failed'
case_ 'PTXOPT_LIMIT that is long enough, and none' 'for l in 100 60.5 0 off ""; do PTXOPT_LIMIT=$l exits 0 front ptxas in.ptx -o o; cmp o want.ptx; not says PTXOPT_LIMIT; done; not grep -q warning log; unset PTXOPT_LIMIT; front ptxas in.ptx -o o; cmp o want.ptx'
case_ 'PTXOPT_LIMIT that makes no sense breaks nothing, and is said once' 'for l in x -1 1s 1e3 1.2.3 . 99999999999 " 1" on; do rm -f log; PTXOPT_LIMIT=$l exits 0 front ptxas in.ptx -o o; cmp o want.ptx; not says PTXOPT_LIMIT; grep -q "\"warning\": \"PTXOPT_LIMIT takes" log
        PTXOPT_LOG= PTXOPT_LIMIT=$l exits 0 front ptxas in.ptx -o o; cmp o want.ptx; [ "$(grep -c "warning: PTXOPT_LIMIT takes" said)" = 1 ]; done'
case_ 'SOURCE_DATE_EPOCH: what is assembled says no other time' 'printf "%s\n" ".file 1 \"a.cu\"" >>same.ptx; front ptxas same.ptx -o o; cmp o same.ptx; SOURCE_DATE_EPOCH=77 front ptxas same.ptx -o o; sed "s/a.cu\"/&, 77, 0/" same.ptx | cmp - o
    SOURCE_DATE_EPOCH=77 front --reproducible -- ptxas same.ptx -o p; cmp o p; front --reproducible -- ptxas same.ptx -o p; sed "s/77/1/" o | cmp - p; export FAKE_PTX=same.ptx; SOURCE_DATE_EPOCH=77 cicc cicc x -o p; cmp o p'
case_ 'SOURCE_DATE_EPOCH that makes no sense breaks nothing' 'for e in x 1.5 -3; do rm -f log; SOURCE_DATE_EPOCH=$e exits 0 front ptxas in.ptx -o o; cmp o want.ptx; not says SOURCE_DATE; grep -q "\"warning\": \"SOURCE_DATE_EPOCH is no number" log; done
    SOURCE_DATE_EPOCH=x PTXOPT_LIMIT=x front ptxas in.ptx -o o; tail -1 log | grep -q "SOURCE_DATE.*; PTXOPT_LIMIT takes"; export SOURCE_DATE_EPOCH=x; exits 1 front --reproducible -- ptxas in.ptx -o p; says "is a number of seconds"; PTXOPT_LOG= exits 0 front ptxas in.ptx -o o; [ "$(grep -c "warning: SOURCE_DATE" said)" = 1 ]'

# ---- remarks of a build -------------------------------------------------------------------------------------------
# name_of N: the name that nvcc gives the temporary PTX of kernel.cu in its Nth process.
name_of() { echo "tmpxft_00$1a1b2_00000000-6_kernel.cu.ptx"; }
case_ '--remarks: each call appends its own' 'front --remarks=r -- ptxas in.ptx -o o; n=$(grep -c "^--- " r); [ "$n" -gt 2 ]; cp r one; front --remarks=r -- ptxas in.ptx -o o; cat one one | cmp - r; front --remarks=r -- ptxas bad.ptx -o o; cat one one | cmp - r
    rm r; seq 30 | PTXOPT_LOG= FAKE_CALLS=/dev/null xargs -P 30 -I{} "$BUILD/ptxopt-ptxas" --remarks=r -- ptxas in.ptx -o o.{} >o 2>&1; for i in $(seq 30); do cat one; done | cmp - r'
case_ 'remarks name the source, or what nvcc would keep, and no temporary file' '{ cat in.ptx; printf "%s\n" ".entry k() {" ".loc 1 7 2" "bra X; X: bra Y; ret; Y: ret; }" ".file 1 \"d/fold.cu\""; } >"$(name_of 1)"; exits 0 front --remarks=r -- ptxas "$PWD/$(name_of 1)" -o o; not grep -q tmpxft r; grep -q "^DebugLoc: .*File: .d/fold.cu., Line: 7, Column: 2" r; grep -A3 "^Name: *BlockSizeUnknown" r | grep -q d/fold.cu; grep -q "^DebugLoc: .*File: .kernel.cu.ptx., Line: " r; grep -q "^  - Ptx: .kernel.cu.ptx." r
    grep -q "\"source\": \"kernel.cu.ptx\"" log; grep -q "\"input\": \"[^\"]*/tmpxft" log; for n in tmpxft_1 tmpxft_00-6_ tmpxft_0g-6_k.ptx tmpxft_00-_k.ptx; do cp in.ptx $n; front --remarks=$n.r -- ptxas $n -o o; grep -q "File: .$n" $n.r; done'
case_ 'PTXOPT_REMARKS: a file for each text' 'sed "s/fold/other/" in.ptx >b.ptx; cp in.ptx "$(name_of 1)"; cp in.ptx "$(name_of 2)"; cp b.ptx "$(name_of 3)"; export PTXOPT_REMARKS=d; for i in 1 2 3; do front --remarks=all -- ptxas "$(name_of $i)" -o o; done; [ "$(ls d | wc -l)" = 2 ]; ls d | grep -q "^kernel.cu.[0-9a-f]*.opt.yaml$"
    cat d/* | sort >in_d; cat all | sort -u >in_all; sort -u in_d | cmp - in_all; export FAKE_PTX=in.ptx; cicc cicc x -o made.ptx; ls d | grep -q "^made.[0-9a-f]*.opt.yaml"; cmp made.ptx want.ptx'
case_ 'remarks that cannot be written break nothing' 'for d in in.ptx no/d /proc/d; do rm -f log; PTXOPT_REMARKS=$d exits 0 front ptxas in.ptx -o o; cmp o want.ptx; grep -q "warning.*remarks cannot be written to .$d.: " log; done; for r in no/r /dev/full .; do rm -f log; exits 0 front --remarks=$r -- ptxas in.ptx -o o; cmp o want.ptx; grep -q "remarks cannot be written to .$r.: " log; done
    PTXOPT_LOG= PTXOPT_REMARKS=in.ptx exits 0 front ptxas in.ptx -o o; [ "$(grep -c "warning: the remarks cannot" said)" = 1 ]; PTXOPT_REMARKS= front ptxas in.ptx -o o'
case_ 'the log counts functions, and says what makes it hard for ptxas' 'front ptxas in.ptx -o o; grep -q "\"functions\": [1-9][0-9]*, \"changed\": 1," log; grep -q "\"advice\": \[{\"name\": \"[A-Za-z]*\", \"function\": \"[a-z]*\", \"what\": \"" log; rm log; front ptxas same.ptx -o o; grep -q "\"changed\": 0" log; rm log; front ptxas bad.ptx -o o; not grep -q "functions\|advice" log'
case_ '--explain in a build goes to standard error' 'exits 0 front --explain -- ptxas in.ptx -o o; cmp o want.ptx; says "^fold$"; says "^in.ptx: 1 function, 1 changed"; not grep -q changed out; cp in.ptx "$(name_of 1)"; exits 0 front --explain -- ptxas "$(name_of 1)" -o o; says "^kernel.cu.ptx: 1 function"'

# ---- a ptxas that takes long ---------------------------------------------------------------------------------------
slow_ptxas() { mv bin/ptxas bin/real; printf "#!/bin/sh\ncase \"\$*\" in $1) exec sleep 60 ;; esac\nexec \"$PWD/bin/real\" \"\$@\"\n" >bin/ptxas; chmod +x bin/ptxas; }
case_ 'PTXOPT_PTXAS_LIMIT: the next lower level' 'slow_ptxas "*-O[12]*) ;; *"; PTXOPT_PTXAS_LIMIT=0.2 exits 0 front ptxas in.ptx -o o; cmp o want.ptx; [ "$(cat said)" = "ptxas info: in.ptx" ]; grep -q "\"slow_kernels\": \[\"fold\"[^]]*\], \"ptxas_level\": 2" log; grep -q "did not end within 0.[0-9]* seconds over fold.*: it is assembled at -O2" log; logged optimized
    tail -1 calls | grep -q -e "-o o -O2$"; PTXOPT_LOG= PTXOPT_PTXAS_LIMIT=0.2 exits 0 front ptxas in.ptx -o o; says "warning: ptxas did not end within"'
case_ 'PTXOPT_PTXAS_LIMIT: of what does not change, and of what is asked for' 'slow_ptxas "*-O1*) ;; *"; export PTXOPT_PTXAS_LIMIT=0.2; for o in -O2 --opt-level=2 "--opt-level 2" -O=2 --opt-level=3; do rm -f o log; exits 0 front ptxas $o same.ptx -o o; cmp o same.ptx; grep -q "\"ptxas_level\": 1" log; tail -1 calls | grep -q "^same.ptx -o o -O1"; logged unchanged; done'
case_ 'PTXOPT_PTXAS_LIMIT: the last level has no limit, and what ptxas says and its status stay' 'printf "#!/bin/sh\ncase \"\$*\" in *-O0*) sleep 1; echo last >&2; exit 7 ;; *) exec sleep 60 ;; esac\n" >bin/ptxas; PTXOPT_PTXAS_LIMIT=0.1 exits 7 front ptxas same.ptx -o o; [ "$(cat said)" = last ]; grep -q "\"ptxas_level\": 0, \"status\": 7" log'
case_ 'PTXOPT_PTXAS_LIMIT that is long enough, or none' 'for l in 100 0 off ""; do PTXOPT_PTXAS_LIMIT=$l exits 0 front ptxas in.ptx -o o; cmp o want.ptx; PTXOPT_PTXAS_LIMIT=$l exits 0 front ptxas same.ptx -o o; done; not grep -q "slow_kernels\|warning" log'
case_ 'PTXOPT_PTXAS_LIMIT that makes no sense breaks nothing' 'for l in x -1 5s; do rm -f log; PTXOPT_PTXAS_LIMIT=$l exits 0 front ptxas in.ptx -o o; cmp o want.ptx; grep -q "\"warning\": \"PTXOPT_PTXAS_LIMIT takes a number" log; done'
case_ 'PTXOPT_PTXAS_LIMIT and signals' 'export FAKE_SLEEP=20 PTXOPT_PTXAS_LIMIT=30; "$BUILD/ptxopt-ptxas" ptxas in.ptx -o o & f=$!; wait_for pid; kill -TERM $f; s=0; wait $f || s=$?; [ $s = 143 ]; gone "$(cat pid)"; calls 1'
case_ 'PTXOPT_LOG that cannot be written' 'PTXOPT_LOG=/dev/full exits 0 front ptxas in.ptx -o o; PTXOPT_LOG=$PWD/no/log exits 0 front ptxas in.ptx -o o
    cmp o want.ptx; not says ptxopt'
case_ 'PTXOPT_PTXAS' 'mv bin/ptxas other; PTXOPT_PTXAS=$PWD/other front ptxas in.ptx -o o; cmp o want.ptx'
case_ 'PTXOPT_PTXAS that is missing' 'PTXOPT_PTXAS=$PWD/none exits 127 front ptxas in.ptx -o o; says "PTXOPT_PTXAS names .*none., which is no program"'
case_ 'PTXOPT_PTXAS that is ptxopt' 'PTXOPT_PTXAS=$BUILD/ptxopt exits 127 front ptxas in.ptx -o o; says "which is ptxopt itself"'

# ---- under the name of ptxas --------------------------------------------------------------------------------------
case_ 'as ptxas in PATH: the next one is the real one' 'shadow; ptxas in.ptx -o o; cmp o want.ptx; calls 1'
case_ 'as ptxas by its path' 'mkdir d; ln -s "$BUILD/ptxopt" d/ptxas; d/ptxas in.ptx -o o; cmp o want.ptx'
case_ 'ptxas.real beside it counts more than PATH' 'shadow; printf "#!/bin/sh\necho real\n" >shadow/ptxas.real; chmod +x shadow/ptxas.real
    [ "$(ptxas in.ptx -o o)" = real ]'
case_ 'as ptxas-blackwell' 'shadow ptxas-blackwell; ptxas-blackwell in.ptx -o o; cmp o want.ptx; rm o
    printf "#!/bin/sh\necho real\n" >shadow/ptxas-blackwell.real; chmod +x shadow/ptxas-blackwell.real; [ "$(ptxas-blackwell in.ptx -o o)" = real ]'
case_ 'an option of ptxopt is none here' 'shadow; exits 0 ptxas --skip-function=x in.ptx -o o; grep -q skip-function calls'
case_ 'a copy of the program, not a link' 'mkdir shadow; cp "$BUILD/ptxopt" shadow/ptxas; PATH=$PWD/shadow:$PATH; ptxas in.ptx -o o; cmp o want.ptx; calls 1'

# ---- the shadow toolkit -------------------------------------------------------------------------------------------
mkdir -p "$WORK/cuda/bin/crt" "$WORK/cuda/nvvm" "$WORK/cuda/lib64"
echo x >"$WORK/cuda/bin/nvcc.profile"
cp "$WORK/input/bin/ptxas" "$WORK/cuda/bin"
install_shadow() { "$BUILD/ptxopt" --install-shadow "$@" --cuda="$WORK/cuda"; }
case_ '--install-shadow' 'exits 0 install_shadow "a b"; not says .; [ "$(ls "a b" | tr "\n" " ")" = "bin lib64 nvvm " ]; cmp "a b/bin/nvcc.profile" "$WORK/cuda/bin/nvcc.profile"
    [ "$(ls "a b/bin" | tr "\n" " ")" = "crt nvcc.profile ptxas ptxas.real " ]; "a b/bin/ptxas" in.ptx -o o; cmp o want.ptx; calls 1'
case_ '--install-shadow once more' 'install_shadow d; install_shadow d; d/bin/ptxas in.ptx -o o; cmp o want.ptx'
case_ '--install-shadow of CUDA_HOME' 'CUDA_HOME=$WORK/cuda "$BUILD/ptxopt" --install-shadow=d; d/bin/ptxas in.ptx -o o; cmp o want.ptx'
case_ '--install-shadow where there is something' 'mkdir d; echo mine >d/file; exits 1 install_shadow d; says "neither empty nor a shadow: it contains .file"; [ "$(cat d/file)" = mine ]; [ ! -e d/bin ]'
case_ '--install-shadow that cannot be made' 'exits 1 install_shadow no/d; says "cannot make .no/d.: No such file"; exits 1 install_shadow in.ptx; says "Not a directory"'
case_ '--install-shadow of no toolkit' 'exits 1 "$BUILD/ptxopt" --install-shadow=d --cuda="$WORK/tmp"; says "is no CUDA toolkit"; [ ! -e d ]'
case_ '--install-shadow of scripts that call nvcc and ptxas' 'mkdir -p w/bin; cp bin/ptxas w/bin; cp bin/ptxas w/bin/nvcc; exits 1 "$BUILD/ptxopt" --install-shadow=d --cuda=w; says "no bin/nvcc.profile"; [ ! -e d ]
    CUDA_HOME=$PWD/w CUDA_PATH=$WORK/cuda PATH=$PWD/w/bin:$PATH "$BUILD/ptxopt" --install-shadow=d; d/bin/ptxas in.ptx -o o; cmp o want.ptx'
case_ '--install-shadow of a shadow' 'install_shadow d; exits 1 "$BUILD/ptxopt" --install-shadow=e --cuda=d; says "is a shadow itself"'
# kept: refuses, and leaves all as it is.
kept() { find d w -printf "%p %y %l\n" 2>/dev/null | sort >was; exits 1 install_shadow "$@"; says "${SAYS:-neither empty nor a shadow}"; find d w -printf "%p %y %l\n" 2>/dev/null | sort | cmp - was; }
case_ '--install-shadow over links that are not its own' 'mkdir d; ln -s /etc d/etc; kept d; mkdir d/bin; kept d; rm d/etc; ln -s /bin/true d/bin/true; kept d; rm d/bin/true; ln -s "$BUILD/ptxopt" d/bin/ptxas; kept d
    rm -r d; mkdir -p d/bin; ln -s "$WORK/cuda/bin/ptxas" d/bin/ptxas.real; ln -s "$WORK/cuda/bin/ptxas" d/bin/ptxas; kept d; rm d/bin/ptxas; ln -s "$WORK/cuda/bin/ptxas" d/nvvm; kept d'
case_ '--install-shadow over one with a link more' 'install_shadow d; ln -s /opt/mine d/mine; kept d; says "contains .mine."; rm d/mine; ln -s "$WORK/cuda/bin/nvcc" d/bin/mine; kept d; says "contains .mine."; rm d/bin/mine; echo mine >d/bin/mine; kept d; rm d/bin/mine
    rm d/nvvm; ln -s /opt/mine d/nvvm; kept d; rm d/nvvm; install_shadow d; d/bin/ptxas in.ptx -o o; cmp o want.ptx'
case_ '--install-shadow over a toolkit, and links to one' 'mkdir -p w/bin w/lib; cp bin/ptxas w/bin; ln -s bin/ptxas w/ptxas; kept w; ln -s w d; kept d; rm d; mkdir d; ln -s "$PWD/w/bin" d/bin; rm w/bin/ptxas; ln -s /bin/true w/bin/ptxas; kept d; says "contains .bin."'
case_ '--install-shadow and links that lead nowhere' 'ln -s d d; SAYS="Too many levels" kept d; rm d; ln -s nowhere d; SAYS="cannot make .d/bin." kept d; [ ! -e nowhere ]'
case_ '--install-shadow of a toolkit that has gone, with another one' 'cp -r "$WORK/cuda" w; "$BUILD/ptxopt" --install-shadow=d --cuda=w; touch w/more; "$BUILD/ptxopt" --install-shadow=d --cuda=w; [ -L d/more ]; rm -r w; install_shadow d; [ ! -L d/more ]; d/bin/ptxas in.ptx -o o; cmp o want.ptx; mkdir -p e/bin; install_shadow e; e/bin/ptxas in.ptx -o o'
case_ '--install-shadow that was not finished' 'install_shadow d; rm d/bin/ptxas d/nvvm; install_shadow d; [ -L d/nvvm ]; d/bin/ptxas in.ptx -o o; cmp o want.ptx'
case_ '--install-shadow inside of the toolkit' 'cp -r "$WORK/cuda" w; for d in w/d w ./w/../w/d/ w/bin/; do exits 1 "$BUILD/ptxopt" --install-shadow=$d --cuda=w; says "lies in the toolkit"; done; [ ! -e w/d ]; diff -r w "$WORK/cuda"'
case_ '--install-shadow and an input' 'exits 1 install_shadow d in.ptx; says "takes no input file"; exits 1 "$BUILD/ptxopt" --cuda=d in.ptx; says "needs --install-shadow"
    exits 1 front --install-shadow=d -- ptxas in.ptx; says "takes no input file"'

# ---- never a loop -------------------------------------------------------------------------------------------------
case_ 'a launcher in front of a launcher' 'front "$BUILD/ptxopt-ptxas" -O2 -- "$BUILD/ptxopt-ptxas" ptxas in.ptx -o o; cmp o want.ptx; calls 1'
case_ 'a launcher in front of the name in PATH' 'shadow; front ptxas in.ptx -o o; cmp o want.ptx; calls 1; [ "$(wc -l <log)" = 1 ]'
case_ 'a launcher in front of a path to it' 'shadow; front "$PWD/shadow/ptxas" in.ptx -o o; cmp o want.ptx; calls 1'
case_ 'two copies, each before the other' 'mkdir a b; cp "$BUILD/ptxopt" a/ptxas; cp "$BUILD/ptxopt" b/ptxas; PATH=$PWD/a:$PWD/b:$PATH
    ptxas in.ptx -o o; cmp o want.ptx; calls 1'
case_ 'a script that calls ptxas again' 'shadow; printf "#!/bin/sh\nexec ptxas \"\$@\"\n" >again; chmod +x again
    PTXOPT_PTXAS=$PWD/again exits 0 ptxas in.ptx -o o; cmp o want.ptx; calls 1
    mv again shadow/ptxas.real; exits 0 ptxas in.ptx -o o; cmp o want.ptx; calls 2'
case_ 'no other program of that name' '
    exits 127 "$BUILD/ptxopt-cicc" cicc-nosuch in.ptx -o o; says "there is no other cicc-nosuch"'
case_ 'a program that is missing' 'exits 127 front ./none/ptxas in.ptx -o o; says "cannot run .\./none/ptxas.: No such file"'
case_ 'a program that cannot be run' 'echo x >ptxas; exits 126 front ./ptxas in.ptx -o o; says "cannot run .\./ptxas.: Permission denied"'

# ---- usage --------------------------------------------------------------------------------------------------------
case_ 'no program' 'exits 1 front; says "no program to run"; exits 1 front -O2 --; says "no program to run"'
case_ 'options without --' 'exits 1 front -O3 ptxas in.ptx -o o; says "end with .--."; says "the program comes before its options: ptxopt-ptxas ptxas -O3"; [ ! -e calls ]'
case_ 'an unknown option' 'exits 1 front --skip-fnction=x -- ptxas in.ptx -o o; says "unknown option"; [ ! -e calls ]'
case_ 'an output of our own' 'exits 1 front -o x -- ptxas in.ptx -o o; says "none of ptxopt.s here"; [ ! -e calls ]'
case_ 'an input of our own' 'exits 1 front x.ptx y -- ptxas in.ptx -o o || exits 127 front x.ptx y -- ptxas in.ptx -o o; [ ! -e o ]'
case_ '--version and --help of its own' 'front --version | grep -q "^ptxopt "; front --help >help; grep -q "^usage: ptxopt-ptxas " help; for v in PTXOPT_LOG PTXOPT_GUARD PTXOPT_LIMIT; do grep -q "^  $v=" help; done; not grep -q ".\{81\}" help; front --help-hidden | grep -q "^usage: ptxopt "'

# ---- fail open ----------------------------------------------------------------------------------------------------
case_ 'bad PTX: what ptxas says of it' 'FAKE_REFUSE=all exits 255 front ptxas bad.ptx -o o; [ "$(grep -c error said)" = 1 ]; says "ptxas bad.ptx, line 3; error"
    not says ptxopt; logged failed; because "the text was not taken"; calls 1'
case_ 'bad PTX, strict' 'PTXOPT=strict exits 1 front ptxas bad.ptx -o o; says "^bad.ptx:1:1: error:"; says "PTXOPT=strict"; [ ! -e o ]; [ ! -e calls ]'
case_ 'ptxas refuses what ptxopt made' 'FAKE_REFUSE=1 exits 0 front ptxas in.ptx -o o; cmp o in.ptx; calls 2; not says error; [ "$(cat said)" = "ptxas info: in.ptx" ]
    [ "$(wc -l <out)" = 1 ]; because "the optimized text was not assembled"'
case_ 'ptxas refuses it, strict' 'FAKE_REFUSE=1 PTXOPT=strict exits 255 front ptxas in.ptx -o o; says "ptxas in.ptx, line 3; error"; says "PTXOPT=strict"; [ ! -e o ]; calls 1'
case_ 'ptxas refuses both' 'FAKE_REFUSE=all exits 255 front ptxas in.ptx -o o; [ "$(grep -c error said)" = 1 ]; says "ptxas in.ptx, line 3"; [ ! -e o ]'
case_ 'ptxas crashes over what ptxopt made' 'FAKE_CRASH=1 exits 0 front ptxas in.ptx -o o; cmp o in.ptx; calls 2'
case_ 'the optimizer runs out of memory' '(ulimit -v 20000; exits 0 front ptxas in.ptx -o o); cmp o in.ptx || cmp o want.ptx'
case_ 'an output that cannot be written' 'exits 1 front ptxas in.ptx -o no/o; [ "$(grep -c "no/o" said)" = 1 ]; exits 1 front ptxas in.ptx -o /dev/full'
case_ 'without files in memory' 'mkdir tmp; without_names front ptxas in.ptx -o o; cmp o want.ptx; [ -z "$(ls -A tmp)" ]'
case_ 'without files in memory, TMPDIR missing' 'without_names front ptxas in.ptx -o o; cmp o want.ptx'
case_ 'closed standard streams' 'front ptxas in.ptx -o o <&- >&- 2>&-; cmp o want.ptx'
case_ 'a descriptor that make passes on' 'printf "#!/bin/sh\ncat <&9 >got\n" >bin/ptxas; echo token >t; front ptxas in.ptx -o o 9<t; [ "$(cat got)" = token ]'

# ---- disks that are full or cannot be written on: in a name space of mounts -----------------------------------------
# mounted FOLDER OPTIONS COMMAND...
mounted() { unshare -rm sh -c 'mount -t tmpfs -o "$2" none "$1" && shift 2 && exec "$@"' sh "$@"; }
mkdir "$WORK/mount"
if mounted "$WORK/mount" size=4k true 2>/dev/null; then
    # 8 KB of comments, which stay in the text.
    case_ 'a full disk under TMPDIR: the original' 'mkdir tmp; for i in $(seq 200); do echo "// a comment that is as long as others"; done >>in.ptx; export PTXOPT_NO_MEMFD=1 TMPDIR=$PWD/tmp
        mounted tmp size=4k timeout 30 "$BUILD/ptxopt-ptxas" ptxas in.ptx -o o; cmp o in.ptx; logged failed; calls 1'
    case_ 'a full disk under TMPDIR, strict' 'mkdir tmp; for i in $(seq 200); do echo "// a comment that is as long as others"; done >>in.ptx; export PTXOPT_NO_MEMFD=1 TMPDIR=$PWD/tmp PTXOPT=strict
        exits 1 mounted tmp size=4k timeout 30 "$BUILD/ptxopt-ptxas" ptxas in.ptx -o o; says "PTXOPT=strict"; [ ! -e o ]; [ ! -e calls ]'
    case_ 'a TMPDIR that cannot be written on: another folder' 'mkdir tmp; export PTXOPT_NO_MEMFD=1 TMPDIR=$PWD/tmp; mounted tmp ro timeout 30 "$BUILD/ptxopt-ptxas" ptxas in.ptx -o o; cmp o want.ptx'
    case $WORK in
    /tmp/*) echo 'skip no folder for temporary files at all: the tests are in /tmp themselves' ;;
    *) case_ 'no folder for temporary files at all: the original' 'export PTXOPT_NO_MEMFD=1 TMPDIR=/tmp; exits 0 mounted /tmp ro timeout 30 "$BUILD/ptxopt-ptxas" ptxas in.ptx -o o; cmp o in.ptx; not says ptxopt; logged failed' ;;
    esac
    case_ 'a full disk under the output: as without us' 'mkdir tmp; for i in $(seq 200); do echo "// a comment that is as long as others"; done >>in.ptx
        s=0; mounted tmp size=4k ptxas in.ptx -o tmp/o || s=$?; [ $s -gt 0 ]; exits $s mounted tmp size=4k timeout 30 "$BUILD/ptxopt-ptxas" ptxas in.ptx -o tmp/o; [ "$(grep -c "cat: write\|No space" said)" = 1 ]'
else
    echo 'skip full disks: there are no name spaces of mounts'
fi

# ---- signals ------------------------------------------------------------------------------------------------------
case_ 'SIGTERM goes to ptxas, and ends the front too' 'mkdir tmp; export FAKE_SLEEP=20
    PTXOPT_NO_MEMFD=1 TMPDIR=$PWD/tmp "$BUILD/ptxopt-ptxas" ptxas in.ptx -o o & f=$!; wait_for pid; kill -TERM $f; s=0; wait $f || s=$?; [ $s = 143 ]
    gone "$(cat pid)"; [ -z "$(ls -A tmp)" ]; calls 1; [ ! -e o ]'
case_ 'a front that is killed takes ptxas with it' 'mkdir tmp; export FAKE_SLEEP=20
    PTXOPT_NO_MEMFD=1 TMPDIR=$PWD/tmp "$BUILD/ptxopt-ptxas" ptxas in.ptx -o o & f=$!; wait_for pid; kill -KILL $f; wait $f || true; sleep 0.3
    gone "$(cat pid)"; [ -z "$(ls -A tmp)" ]'
case_ 'a ptxas that is killed' 'mkdir tmp; export FAKE_SLEEP=20
    PTXOPT_NO_MEMFD=1 TMPDIR=$PWD/tmp "$BUILD/ptxopt-ptxas" ptxas in.ptx -o o & f=$!; wait_for pid; kill -KILL "$(cat pid)"; s=0; wait $f || s=$?; [ $s = 137 ]
    [ -z "$(ls -A tmp)" ]; calls 1'

# ---- many at once -------------------------------------------------------------------------------------------------
case_ '200 calls at once' 'seq 200 | FAKE_CALLS=/dev/null xargs -P 200 -I{} "$BUILD/ptxopt-ptxas" ptxas in.ptx -o o.{} >/dev/null 2>&1
    for i in $(seq 200); do cmp o.$i want.ptx; done; [ "$(grep -c "^{\"program\".*}$" log)" = 200 ]'
case_ 'the same bytes whatever the locale, the folder, the name and the time' 'mkdir d; cp in.ptx d/other.ptx; (cd d; LC_ALL=tr_TR.UTF-8 TZ=Asia/Tokyo front ptxas "$PWD/other.ptx" -o o); cmp d/o want.ptx'

# ---- cicc ---------------------------------------------------------------------------------------------------------
case_ 'cicc: its output is optimized' 'FAKE_PTX=in.ptx exits 0 cicc "$PWD/bin/cicc" -arch compute_80 x.ii -o o.ptx; cmp o.ptx want.ptx; [ "$(cat out)" = "cicc says" ]; logged optimized; not says .
    FAKE_PTX=same.ptx exits 0 cicc cicc x.ii -o o.ptx; logged unchanged'
case_ 'cicc that fails' 'FAKE_REFUSE=1 FAKE_PTX=in.ptx exits 3 cicc cicc x.ii -o o.ptx; [ ! -e o.ptx ]; logged failed'
case_ 'cicc: bit code stays' 'printf "BC\\300\\336\\000" >code; FAKE_PTX=code exits 0 cicc cicc x.ii -o o; cmp o code; because "the output is no PTX"'
case_ 'cicc: bad PTX stays' 'FAKE_PTX=bad.ptx exits 0 cicc cicc x.ii -o o.ptx; cmp o.ptx bad.ptx; not says .; logged failed'
case_ 'cicc: bad PTX, strict' 'PTXOPT=strict FAKE_PTX=bad.ptx exits 1 cicc cicc x.ii -o o.ptx; says "o.ptx:1:1: error"'
case_ 'cicc for a debugger' 'FAKE_PTX=in.ptx exits 0 cicc cicc -g x.ii -o o.ptx; cmp o.ptx in.ptx; logged bypassed'
case_ 'cicc with options' 'FAKE_PTX=in.ptx exits 0 cicc -O0 -- cicc x.ii -o o.ptx; cmp o.ptx in.ptx; PTXOPT=off FAKE_PTX=in.ptx cicc cicc x.ii -o o.ptx; cmp o.ptx in.ptx'

# ---- ptxas itself -------------------------------------------------------------------------------------------------
skip_without_ptxas 'the front before ptxas itself'
if [ -n "$PTXAS" ]; then
    case_ 'ptxas: the same cubin as by hand' '"$PTXAS" -arch=sm_90 want.ptx -o o.cubin; mv o.cubin hand; front "$PTXAS" -arch=sm_90 in.ptx -o o.cubin; cmp o.cubin hand'
    case_ 'ptxas: -v names no other file' 'exits 0 front "$PTXAS" -v -arch=sm_80 in.ptx -o o; says "Compiling entry function .fold."; not says /dev/fd'
    case_ 'ptxas: bad PTX as ptxas alone' 'exits 255 "$PTXAS" bad.ptx -o o; mv said alone; exits 255 front "$PTXAS" bad.ptx -o o; cmp said alone'
    case_ 'ptxas: a virtual target without -o' 'exits 0 front "$PTXAS" -arch=compute_80 in.ptx; [ ! -e elf.o ]'
    case_ 'ptxas: the same cubin whenever the source was written' 'echo x >a.cu; { sed "/^{/a .loc 1 1 1" same.ptx; echo ".file 1 \"$PWD/a.cu\""; } >a.ptx
        build() { touch -d "@$1" a.cu; front "$PTXAS" -lineinfo -arch=sm_80 a.ptx -o $2; }; build 1000000 a; build 2000000 b; unset PTXOPT_GUARD; SOURCE_DATE_EPOCH=77 build 1000000 c; echo xx >a.cu; SOURCE_DATE_EPOCH=77 build 2000000 d; cmp c d
        touch -d @77 a.cu; "$PTXAS" -lineinfo -arch=sm_80 a.ptx -o e; cmp -s a b || not cmp -s a c; SOURCE_DATE_EPOCH=78 build 2000000 f; cmp -s a b || not cmp -s c f'
    case_ 'ptxas: several threads' 'exits 0 front "$PTXAS" -arch=sm_80 -split-compile 2 in.ptx -o o; [ -s o ]'
fi

# ---- nvcc ---------------------------------------------------------------------------------------------------------
nvcc=$(cuda_tool nvcc)
cat >"$WORK/input/app.cu" <<'END'
__device__ __noinline__ int twice(int x) { return x * 2; }
__global__ void k(int *p, int n)
{
    if (n > 3) { p[0] = threadIdx.x; p[1] = n; p[2] = twice(n); } else { p[3] = n; p[1] = n; p[2] = twice(n); }
}
int main() { return 0; }
END
logged_files() { grep -c "\"result\": \"\(optimized\|unchanged\)\"" log; }
nvcc() { PATH=$BUILD:$PATH timeout 300 "$nvcc" "$@"; }
if [ -z "$nvcc" ] || ! command -v g++ >/dev/null; then
    echo 'skip the front in nvcc: nvcc or g++ is not at hand'
else
    rm -f "$WORK/input/bin/ptxas" "$WORK/input/bin/cicc"
    case_ 'nvcc: one word' 'nvcc --ptxas-prefix=ptxopt-ptxas -arch=sm_80 -o app app.cu; [ -x app ]; [ "$(logged_files)" = 1 ]; not grep -q failed log'
    case_ 'nvcc: options, in one word with blanks' 'nvcc "--ptxas-prefix=ptxopt-ptxas -O0 --" -arch=sm_80 -cubin -o a app.cu; nvcc -arch=sm_80 -cubin -o b app.cu; cmp a b; logged unchanged'
    case_ 'nvcc: NVCC_APPEND_FLAGS, -MD, -lineinfo, blanks in all names' 'mkdir "a b"; cp app.cu "a b/x y.cu"
        NVCC_APPEND_FLAGS=--ptxas-prefix=ptxopt-ptxas nvcc -arch=sm_80 -MD -lineinfo -c -o "a b/o p.o" "a b/x y.cu"; [ -s "a b/o p.o" ]; grep -q "x.* y.cu" "a b/o p.d"; [ "$(logged_files)" = 1 ]'
    case_ 'nvcc: -keep, the PTX stays' 'nvcc -keep -arch=sm_80 -c app.cu; mv app.ptx kept; nvcc --ptxas-prefix=ptxopt-ptxas -keep -arch=sm_80 -c app.cu; cmp kept app.ptx'
    case_ 'nvcc: several targets at once, -t 2 and -split-compile' 'nvcc --ptxas-prefix=ptxopt-ptxas -t 2 -split-compile 2 -gencode arch=compute_80,code=sm_80 -gencode arch=compute_80,code=sm_86 -gencode arch=compute_90,code=[sm_90,compute_90] -c app.cu
        [ -s app.o ]; [ "$(logged_files)" = 3 ]; not grep -q failed log'
    case_ 'nvcc: separable compilation' 'nvcc --ptxas-prefix=ptxopt-ptxas -rdc=true -arch=sm_80 -o app app.cu; [ -x app ]; [ "$(logged_files)" = 1 ]'
    case_ 'nvcc: -G is for the debugger' 'nvcc --ptxas-prefix=ptxopt-ptxas -G -arch=sm_80 -c app.cu; because "code for a debugger"'
    case_ 'nvcc: -ptx through cicc' 'nvcc --cicc-prefix=ptxopt-cicc -ptx -arch=sm_80 app.cu -o a.ptx; nvcc -ptx -arch=sm_80 app.cu -o b.ptx; "$BUILD/ptxopt" b.ptx -o c.ptx; cmp a.ptx c.ptx'
    case_ 'nvcc: -dlto, where there is no PTX yet' 'nvcc --cicc-prefix=ptxopt-cicc --ptxas-prefix=ptxopt-ptxas -dlto -rdc=true -arch=sm_80 -c app.cu; [ -s app.o ]'
    case_ 'nvcc: an error in the source is said once' 'echo "int x = ;" >bad.cu; exits 2 nvcc --ptxas-prefix=ptxopt-ptxas -c bad.cu || exits 1 nvcc --ptxas-prefix=ptxopt-ptxas -c bad.cu; not says ptxopt; [ ! -e bad.o ]'
    case_ 'nvcc: a comment that inline assembly carries' 'sed "s/if (n > 3)/asm volatile(\"\/\/ ptxopt: off;\"); if (n > 3)/" app.cu >off.cu; nvcc -ptx -arch=sm_80 off.cu; grep -q "// ptxopt: off" off.ptx
        "$BUILD/ptxopt" off.ptx | cmp - off.ptx; nvcc --ptxas-prefix=ptxopt-ptxas -arch=sm_80 -cubin -o a off.cu; logged unchanged'
    case_ 'nvcc: the toolkit of links' '"$BUILD/ptxopt" --install-shadow="cu da"; "cu da/bin/nvcc" -arch=sm_80 -c app.cu; [ -s app.o ]; [ "$(logged_files)" = 1 ]'
fi
} >"$WORK/log"
tally "${NAME:-front}" "$WORK/log"
