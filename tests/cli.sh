#!/bin/sh
# The command line from end to end. usage: [BUILD=build] tests/cli.sh
# Each case runs in a folder of its own that holds in.ptx, where branch-folding finds something in the function `fold`,
# nothing in `plain`, and may not touch `unknown`; bad.ptx, which is no PTX; and want.ptx, what -O1 makes of in.ptx.
set -u
cd "$(dirname "$0")/.." || exit 1
. tests/lib.sh
. tests/cases.sh
case $BUILD in /*) ;; *) BUILD=$(pwd)/$BUILD ;; esac
WORK=$BUILD/work/cli
CASES=$(pwd)/tests
rm -rf "$WORK"
mkdir -p "$WORK/input"

cat >"$WORK/input/in.ptx" <<'END'
.version 8.0
.target sm_80
.address_size 64
.file 1 "fold.cu"

.visible .entry fold(.param .u64 out)
{
	.reg .pred %p<2>;
	.reg .b32 %r<3>;
	.reg .b64 %rd<2>;
	.loc 1 3 1
	ld.param.u64 %rd1, [out];
	mov.u32 %r1, %tid.x;
	setp.eq.u32 %p1, %r1, 0;
	.loc 1 4 2
	@%p1 bra $zero;
	st.global.u32 [%rd1], %r1;
	bra $hop;
$zero:
	.loc 1 5 2
	st.global.u32 [%rd1+4], %r1;
	bra $hop;
$hop:
	@%p1 bra $end;
$end:
	ret;
}

.visible .entry plain(.param .u64 out)
{
	ret; // as it stands
}

.visible .entry unknown(.param .u64 out)
{
	frobnicate.u32;
	bra $next;
$next:
	ret;
}
END
echo 'this is no PTX' >"$WORK/input/bad.ptx"

ptxopt() { timeout 30 "$BUILD/ptxopt" "$@"; }


# As in cases.sh, but for standard output, which the cases read.
exits()
{
    wanted=$1
    shift
    status=0
    "$@" 2>said || status=$?
    cat said >&2
    [ "$status" = "$wanted" ]
}
silent() { [ ! -s said ]; }
only() { [ "$(ls -A | sort | tr '\n' ' ')" = "$* " ]; } # the folder holds these files and no others
refused() { exits 1 ptxopt "$@" -o out.ptx && [ ! -e out.ptx ]; } # no output is left
differ() { not cmp -s "$1" "$2"; }

ptxopt -O1 "$WORK/input/in.ptx" -o "$WORK/input/want.ptx" || echo 'fail -O1'

{
# ---- files --------------------------------------------------------------------------------------------------------
case_ 'the output has what branch-folding made of it' 'grep -q "bra \$end" in.ptx; not grep -q "bra \$end" want.ptx'
case_ 'what no phase changed keeps its bytes' '
    sed -n "/entry plain/,\$p" in.ptx >a; sed -n "/entry plain/,\$p" want.ptx >b; cmp a b'
case_ 'a file to a file' 'exits 0 ptxopt -O1 in.ptx -o out.ptx; silent; cmp out.ptx want.ptx
    only bad.ptx in.ptx out.ptx said want.ptx'
case_ 'options may follow the files' 'ptxopt in.ptx -o out.ptx -O1; cmp out.ptx want.ptx'
case_ 'standard input and output' 'ptxopt -O1 - -o - <in.ptx >out.ptx; cmp out.ptx want.ptx'
case_ 'without -o to standard output' 'ptxopt -O1 in.ptx | cmp - want.ptx'
case_ 'output may be the input' 'ptxopt -O1 in.ptx -o in.ptx; cmp in.ptx want.ptx'
case_ 'a second run changes nothing' 'ptxopt -O1 want.ptx | cmp - want.ptx'
case_ 'an empty name before -- is no option' 'cp in.ptx ./-x.ptx; ptxopt -O1 -o out.ptx -- -x.ptx; cmp out.ptx want.ptx'
case_ 'permissions of a new file' 'umask 026; ptxopt in.ptx -o out.ptx; [ "$(stat -c %a out.ptx)" = 640 ]'
[ "$(id -u)" != 0 ] || case_ 'the owner of a replaced file' 'touch out.ptx; chown 65534:65534 out.ptx; chmod 2640 out.ptx; ptxopt -O1 in.ptx -o out.ptx; [ "$(stat -c %u:%g:%a out.ptx)" = 65534:65534:2640 ]'
case_ 'permissions of a replaced file' 'touch out.ptx; chmod 604 out.ptx; ptxopt -O1 in.ptx -o out.ptx
    [ "$(stat -c %a out.ptx)" = 604 ]; cmp out.ptx want.ptx'
case_ 'a link stays, its target is replaced' 'mkdir d; ln -s d/real.ptx link.ptx; ptxopt -O1 in.ptx -o link.ptx
    [ -L link.ptx ]; cmp d/real.ptx want.ptx; [ "$(ls -A d)" = real.ptx ]'
case_ '/dev/stdout to a pipe' 'ptxopt -O1 in.ptx -o /dev/stdout | cmp - want.ptx'
case_ '/dev/stdout keeps what a log holds' 'echo before >log; ptxopt -O1 in.ptx -o /dev/stdout >>log
    { echo before; cat want.ptx; } | cmp - log'
case_ '/dev/stderr and /dev/fd/3 keep what a log holds' 'for to in /dev/stderr /dev/fd/3; do
        echo before >log; ptxopt -O1 in.ptx -o $to 2>>log 3>>log; { echo before; cat want.ptx; } | cmp - log; done'
case_ 'a named pipe' 'mkfifo pipe; cat pipe >out.ptx & ptxopt -O1 in.ptx -o pipe; wait $!; [ -p pipe ]; cmp out.ptx want.ptx'
case_ 'a named pipe as input' 'mkfifo pipe; cat in.ptx >pipe & ptxopt -O1 pipe -o out.ptx; wait $!; cmp out.ptx want.ptx'
case_ 'a device' 'ptxopt in.ptx -o /dev/null; [ -c /dev/null ]'

case_ 'no such input' 'refused missing.ptx; says "ptxopt: error: cannot read .missing.ptx.: No such file or directory"'
case_ 'an ELF file' 'refused "$BUILD/ptxopt"; says "is not PTX: this is an ELF file: .cuobjdump -ptx"; [ "$(wc -l <said)" = 1 ]'
case_ 'a fat binary, a library, bitcode' 'printf "\120\355\125\272\1\0" >x; refused x; says "fat binary: .cuobjdump"; printf "!<arch>\nx" >x; refused x; says "library: .cuobjdump"; printf "BC\300\336" >x; refused x; says "bitcode: .llc"'
case_ 'CUDA C++' 'printf "#include <x>\n__global__ void k() {}\n" >x.cu; refused x.cu; says "^x.cu:2:1: error"; says "looks like CUDA C++: .nvcc -ptx"'
case_ 'LLVM IR' 'printf "source_filename = \"a\"\ntarget triple = \"nvptx64\"\n" >x.ll; refused x.ll; says "looks like LLVM IR: .llc"'
case_ 'PTX with an error is PTX' 'sed "s/ret;/ret; #include __global__ (/" in.ptx >x; refused x; not says "looks like"; refused bad.ptx; not says "looks like"'
case_ 'a directory as input' 'mkdir d; refused d; says "cannot read .d.: Is a directory"'
case_ 'a directory as output' 'mkdir d; exits 1 ptxopt in.ptx -o d; says "cannot write .d.: Is a directory"; [ -z "$(ls -A d)" ]'
case_ 'no such directory for the output' 'exits 1 ptxopt in.ptx -o d/out.ptx; says "cannot write .d/out.ptx.: No such file"'
case_ 'a link to itself as output' 'ln -s loop loop; exits 1 ptxopt in.ptx -o loop; says "cannot write .loop."'
case_ 'a full device' 'exits 1 ptxopt in.ptx -o /dev/full; says "cannot write ./dev/full.: No space left on device"'
case_ 'a full standard output' 'exits 1 ptxopt in.ptx >/dev/full; says "cannot write standard output: No space left"'
case_ 'a full standard output for --help' 'exits 1 ptxopt --help >/dev/full; says "cannot write"'
case_ 'a closed standard output' 'exits 1 ptxopt in.ptx >&-; says "cannot write"'
case_ 'no room for the output: the old one stays, no temporary file' '
    { cat in.ptx; yes "// filler" | head -2000; } >big.ptx; echo old >out.ptx
    (ulimit -f 1; exits 1 ptxopt big.ptx -o out.ptx); says "cannot write .out.ptx.: File too large"; [ "$(cat out.ptx)" = old ]
    only bad.ptx big.ptx in.ptx out.ptx said want.ptx'
case_ 'bad input: no output' 'refused bad.ptx; says "^bad.ptx:1:1: error: "; says "^this is no PTX"; says "^ *^"'
case_ 'bad input: the old output stays' 'echo old >out.ptx; exits 1 ptxopt bad.ptx -o out.ptx; [ "$(cat out.ptx)" = old ]
    only bad.ptx in.ptx out.ptx said want.ptx'
case_ 'bad input on standard input' 'exits 1 ptxopt - <bad.ptx >out.ptx; says "^<stdin>:1:1: error: "; [ ! -s out.ptx ]'
as_nobody=
if [ "$(id -u)" = 0 ]; then
    cp "$BUILD/ptxopt" "$WORK/ptxopt"
    as_nobody='setpriv --reuid=65534 --regid=65534 --clear-groups'
    BUILD=$WORK $as_nobody test -x "$WORK/ptxopt" 2>/dev/null || as_nobody=no
fi
if [ "$as_nobody" = no ]; then
    echo 'skip permissions that are refused: root may everything, and nobody cannot run ptxopt here'
else
    unprivileged() { $as_nobody "$BUILD/ptxopt" "$@"; }
    case_ 'an unreadable input' 'chmod 000 in.ptx; exits 1 unprivileged in.ptx; says "cannot read .in.ptx.: Permission denied"'
    case_ 'an output that is not writable' 'chmod 777 .; cp in.ptx out.ptx; chmod 444 out.ptx
        exits 1 unprivileged in.ptx -o out.ptx; says "cannot write .out.ptx.: Permission denied"; cmp in.ptx out.ptx'
    case_ 'a directory that is not writable' 'mkdir d; chmod 555 d; exits 1 unprivileged in.ptx -o d/out.ptx
        says "cannot write .d/out.ptx.: Permission denied"'
fi

# ---- usage --------------------------------------------------------------------------------------------------------
case_ 'no input named: a pipe is read' 'cat in.ptx | ptxopt -O1 >out.ptx; cmp out.ptx want.ptx'
case_ 'no input named: a file on standard input is read' 'ptxopt -O1 -o out.ptx <in.ptx; cmp out.ptx want.ptx'
case_ 'no input named: what is read is called <stdin>' 'exits 1 ptxopt <bad.ptx; says "^<stdin>:1:1: error: "'
case_ 'no arguments' 'exits 1 ptxopt; says "no input file"; says "^usage: ptxopt"'
case_ 'an unknown option' 'refused in.ptx --remark-file=x; says "unknown option .--remark-file.$"; says "ptxopt --help"'
case_ 'a misspelt option' 'refused in.ptx --sats; says "unknown option .--sats.; did you mean .--stats.?"'
# said once: one error, and the line about usage
once() { [ "$(grep -c error: said)" = 1 ] && [ "$(wc -l <said)" = 2 ]; }
for foreign in -arch=sm_90 '-arch sm_90' --gpu-name=sm_90 '--gpu-name sm_90' -gencode=arch=compute_90,code=sm_90 -lineinfo -v -m64 \
    '-maxrregcount 32' -rdc=true '--opt-level 3' '-output-file x' '--arch=sm_90 -v -g' '-Werror -c'; do
    case_ "an option of nvcc or ptxas: $foreign" "refused $foreign in.ptx; once; says 'unknown option .${foreign%% *}.; ptxopt takes no options of nvcc or ptxas, and its target from the file'
        only bad.ptx in.ptx said want.ptx"
    case_ "an option of nvcc or ptxas behind the file: $foreign" "refused in.ptx $foreign; once"
done
case_ 'a long option with one dash' 'refused -verify-each in.ptx; once; says "did you mean .--verify-each.?"
    refused -opt-bisect-limit=1 in.ptx; once; says "did you mean .--opt-bisect-limit.?"; only bad.ptx in.ptx said want.ptx'
case_ 'an argument that looks like an option is none' 'exits 0 ptxopt -O1 --opt-bisect-limit -1 in.ptx -o -arch; cmp ./-arch want.ptx
    rm ./-arch; cp in.ptx ./-arch; exits 0 ptxopt -O1 -o out.ptx -- -arch; cmp out.ptx want.ptx'
case_ 'an ambiguous option' 'refused in.ptx --print; says "ambiguous"'
case_ 'an unknown phase' 'refused in.ptx --phases=licm; says "error: --phases: unknown phase .licm.; --list-phases"'
case_ 'a misspelt phase' 'refused in.ptx --disable=branch-foldin; says "did you mean .branch-folding.?"'
case_ 'two inputs' 'refused in.ptx want.ptx; says "more than one input file"'
case_ 'a level that is none' 'refused -O4 in.ptx; says "not .4."'
case_ 'a number that is none' 'refused --opt-bisect-limit=many in.ptx; says "not .many."'
case_ 'a knob that is no number' 'refused --branch-fold-max-iterations=1k in.ptx; says "takes a number from 0 to 2147483647, not .1k."'
case_ 'a knob beyond its bound' 'refused --switch-max-table=2147483647 in.ptx; says "takes a number from 0 to 65536"'
case_ 'a knob of the documents that is left out' 'refused --dump-branch-dist in.ptx; says "unknown option .--dump-branch-dist.: --remarks says"'
case_ '--help fits a screen, and names only options that there are' 'ptxopt --help >help; grep -q "^usage: ptxopt" help; not grep -q ".\{81\}" help; [ "$(wc -l <help)" -le 25 ]
    ptxopt --help-hidden >all; for o in $(grep -o -- "--[a-z-]*" help | sort -u); do [ "$o" = --ptxas-prefix ] || grep -q -- "$o" all; done'
case_ '--help-hidden has all' 'ptxopt --help-hidden >help; grep -q "^usage: ptxopt" help; not grep -q ".\{81\}" help
    for o in "Knobs of tail-merge:" "Promises, " "  1d-blocks " "  --tail-merge-size=N " "  --\[no-\]tail-merge-hoist" "  --assume=LIST "; do grep -q -- "$o" help; done
    for o in disable-switch no-cbe-enable ignore-exits lop3 switch-density; do not grep -q -- "--$o" help; done'
case_ '--version' '[ "$(ptxopt --version | wc -l)" = 1 ]
    ptxopt --version | grep -q "^ptxopt [0-9]*\.[0-9]*\.[0-9]* (commit [0-9a-z-]*, PTX ISA [0-9]*\.[0-9]*)$"'
case_ '-h and -V' 'ptxopt --help >a; ptxopt -h | cmp - a; ptxopt --version >a; ptxopt -V | cmp - a'
here=$(pwd)
if [ "$(git rev-parse --show-toplevel 2>/dev/null)" != "$(pwd -P)" ]; then
    echo 'skip the commit in --version: this is no work tree of git'
else
    commit=$(git rev-parse HEAD)
    case_ '--version names the commit' "ptxopt --version | grep -q 'commit $(echo "$commit" | cut -c1-12)'"
    case_ 'an archive knows its commit, a copy does not' "mkdir a; (cd '$here' && git archive HEAD src/version.sh .gitattributes) | tar x -C a
        (cd a && sh src/version.sh) | grep -q 'COMMIT \"$(echo "$commit" | cut -c1-12)\"'
        cp '$here/src/version.sh' a/src; (cd a && sh src/version.sh) | grep -q 'COMMIT \"unknown\"'"
fi
case_ '--list-phases' 'ptxopt --list-phases | grep -q "^clean-up  *-O1  [a-z]"'

# ---- phases -------------------------------------------------------------------------------------------------------
case_ '-O0 gives the input' 'ptxopt -O0 in.ptx | cmp - in.ptx'
case_ '-O2 is the default' 'ptxopt -O2 in.ptx >a; ptxopt in.ptx | cmp - a'
case_ 'the last -O counts' 'ptxopt -O3 -O0 in.ptx | cmp - in.ptx'
case_ '--phases runs whatever the level' 'ptxopt -O0 --phases=branch-folding in.ptx | cmp - want.ptx'
case_ '--passes is an alias' 'ptxopt -O0 --passes=branch-folding in.ptx | cmp - want.ptx; refused in.ptx --passes=licm; says "error: --passes: unknown"'
case_ '--phases may repeat' 'ptxopt --phases=branch-folding,branch-folding in.ptx | cmp - want.ptx'
case_ '--disable' 'ptxopt -O1 --disable=branch-folding in.ptx | cmp - in.ptx'
case_ '--enable runs a phase whatever the level' 'ptxopt -O0 --enable=branch-folding in.ptx | cmp - want.ptx; refused --enable=licm in.ptx; says "error: --enable: unknown phase"'
case_ 'the last of --enable and --disable counts' 'ptxopt -O1 --disable=branch-folding --enable=branch-folding in.ptx | cmp - want.ptx; ptxopt -O1 --enable=branch-folding --disable=branch-folding in.ptx | cmp - in.ptx
    ptxopt -O1 --disable=branch-folding --enable=layout,latches in.ptx | cmp - in.ptx'
case_ '--enable undoes what an older switch says' 'ptxopt -O1 --disable-branch-fold --enable=branch-folding in.ptx | cmp - want.ptx'
case_ '--enable does not add to --phases' 'ptxopt --phases=switch-lowering --enable=branch-folding --disable=branch-folding in.ptx | cmp - in.ptx'
case_ '--stop-after the first' 'ptxopt -O3 --stop-after=branch-folding in.ptx | cmp - want.ptx'
case_ '--stop-after what does not run' 'refused -O0 --stop-after=branch-folding in.ptx; says "is not among the phases that run"'
case_ 'a knob' 'ptxopt -O1 --disable-branch-fold in.ptx | cmp - in.ptx'
case_ 'the negation of a knob' 'ptxopt -O1 --disable-branch-fold --no-disable-branch-fold in.ptx | cmp - want.ptx'
# Every name of an earlier release, and what it is today. Both must be taken, and do the same to the examples.
same_option() { for x in "$here"/tests/sample.ptx "$here"/examples/sparse_switch.nvcc.ptx "$here"/examples/tape.nvcc.ptx "$here"/examples/tails.hand.ptx; do
    # shellcheck disable=SC2086 # a word or several
    ptxopt -O3 $1 "$x" >a && ptxopt -O3 $2 "$x" >b && cmp a b; done; }
here=$(pwd)
sed -n 's/^RENAMED("\(.*\)", "\(.*\)")$/\1 \2/p' src/pipeline/old_names.def >"$WORK/renamed"
case_ 'every knob that was renamed' "while read -r old new; do if ptxopt --help-hidden | grep -q -- \"--\[no-\]\$new\\b\"; then same_option --no-\$old --no-\$new; same_option --\$old --\$new
        elif ptxopt --help-hidden | grep -q -- \"--\$new=WORD\"; then for w in always never; do same_option --\$old=\$w --\$new=\$w; done
        elif ptxopt --help-hidden | grep -q -- \"--\$new=TEXT\"; then same_option --\$old=bfs,tape --\$new=bfs,tape
        else for n in 0 1 7; do same_option --\$old=\$n --\$new=\$n; done; fi; done <'$WORK/renamed'; [ \$(wc -l <'$WORK/renamed') -ge 20 ]"
for pair in '--branch-fold-reverse=0 --layout-invert=never' '--branch-fold-reverse=1 --layout-invert=new' '--branch-fold-reverse=9 --layout-invert=always' \
    '--enable-dfa-jump-thread=-1 --dfa-jump-threading-where=uniform' '--enable-dfa-jump-thread=0 --disable=dfa-jump-threading' '--enable-dfa-jump-thread=1 --dfa-jump-threading-where=anywhere' \
    '--enable-tail-merge=-1 --tail-merge-when=pays' '--enable-tail-merge=0 --tail-merge-when=never' '--enable-tail-merge=1 --tail-merge-when=always' \
    '--jump-threading-disable-select-unfolding --no-jump-threading-select-unfolding' '--no-jump-threading-disable-select-unfolding --jump-threading-select-unfolding' \
    '--disable-complex-branch-dist --no-barrier-elim-across-blocks' '--disable-switch --disable=switch-lowering' '--disable-nested-cond --disable=nested-cond' \
    '--disable-jump-threading-pass --disable=jump-threading' '--no-cbe-enable --disable=common-base-elim' '--no-loop-split --disable=loop-split' '--enable-stride-unroll --enable=stride-unroll' \
    '--assume-in-bounds --assume=in-bounds' '--assume-1d-blocks --assume=1d-blocks' '--ignore-call-safety --assume=pure-calls' '--ignore-variance-cond --assume=uniform-barriers' '--ignore-exits --assume=exits'; do
    case_ "an older spelling: $pair" "same_option ${pair% *} ${pair#* }"
done
case_ 'an older number that is none' 'refused --enable-tail-merge=-2 in.ptx; says "takes a number from -1 to"; refused --branch-fold-reverse=-1 in.ptx; says "takes a number from 0 to"; refused --layout-invert=1 in.ptx; says "takes one of never|new|always, not .1."'
case_ '--assume' 'exits 0 ptxopt --assume=in-bounds,1d-blocks in.ptx -o out.ptx; silent; rm out.ptx; refused --assume=luck in.ptx; says "unknown promise .luck."; refused --assume= in.ptx; says "unknown promise"'
case_ 'a misspelt knob: the name of today is suggested' 'refused --tail-merge-sise=2 in.ptx; says "did you mean .--tail-merge-size.?"'
case_ '--verify-each finds nothing' 'exits 0 ptxopt -O1 --verify-each in.ptx -o out.ptx; silent; cmp out.ptx want.ptx'
case_ '--reprint settles' 'ptxopt -O0 --reprint in.ptx -o a; ptxopt -O0 --reprint a | cmp - a'

# ---- choice by function --------------------------------------------------------------------------------------------
case_ '--skip-function' 'ptxopt -O1 --skip-function=fold in.ptx | cmp - in.ptx; ptxopt -O1 --skip-function="f*" in.ptx | cmp - in.ptx
    ptxopt -O1 --skip-function="f?" --skip-function=plain in.ptx | cmp - want.ptx'
case_ '--only-function' 'ptxopt -O1 --only-function="*ol?" in.ptx | cmp - want.ptx; ptxopt -O1 --only-function=plain in.ptx | cmp - in.ptx
    ptxopt -O1 --only-function=plain --only-function=fold in.ptx | cmp - want.ptx'
case_ '--only-function and --skip-function' 'ptxopt -O1 --only-function=fold --skip-function="*" in.ptx | cmp - in.ptx'
case_ '--skip-function says so' 'ptxopt -O1 --skip-function=fold --remarks=r.yaml in.ptx -o out.ptx; grep -A2 "^Name: *NotChosen" r.yaml | grep -q fold'
case_ 'a pattern that matches no function' 'exits 0 ptxopt -O1 --skip-function=fould --only-function="*" in.ptx -o out.ptx; cmp out.ptx want.ptx; says "warning: --skip-function=fould matches no function"; [ "$(wc -l <said)" = 1 ]
    exits 0 ptxopt -O1 --only-function=none in.ptx -o out.ptx; cmp in.ptx out.ptx; says "warning: --only-function=none matches"'
case_ 'names of C++ match as well' 'sed "s/entry fold/entry _ZN2my4ScanIfLi4EE4foldIiEEvPT_/" in.ptx >c.ptx; for g in "my::Scan::fold" "my::*" "*::fold" "_ZN2my*"; do exits 0 ptxopt -O1 --skip-function="$g" c.ptx -o out.ptx; silent; cmp c.ptx out.ptx; done
    for g in "my::Scan" "Scan::fold" fold; do exits 0 ptxopt -O1 --skip-function="$g" c.ptx -o out.ptx; says warning; differ c.ptx out.ptx; done'
case_ '--skip-function without a name' 'refused --skip-function= in.ptx; says "needs a name"'
# commented TEXT LINE...: in.ptx with the comment in these lines.
commented() { awk -v text="$1" -v lines=" $2 " 'index(lines, " " NR " ") { print text } { print }' in.ptx; }
case_ 'a comment in the body: off' 'commented "	// ptxopt: off;" 8 >c.ptx; exits 0 ptxopt -O1 c.ptx -o out.ptx; silent; cmp c.ptx out.ptx'
case_ 'a comment in another body' 'commented "	// ptxopt: off" 31 >c.ptx; commented "	// ptxopt: off" 31 | ptxopt -O1 - -o out.ptx; differ c.ptx out.ptx'
case_ 'a comment outside of all bodies' 'commented "//ptxopt: off" 1 >c.ptx; ptxopt -O1 c.ptx | cmp - c.ptx'
case_ 'a comment with a level' 'commented "// ptxopt: -O0" 8 >c.ptx; ptxopt c.ptx | cmp - c.ptx; commented "// ptxopt: -O3" 8 >c.ptx; ptxopt -O1 c.ptx >out.ptx; differ c.ptx out.ptx'
case_ 'a comment without a phase' 'commented "// ptxopt: no-branch-folding, no-tail-merge" 8 >c.ptx; ptxopt -O1 c.ptx | cmp - c.ptx'
case_ 'a comment that means nothing' 'commented "// ptxopt: of no-licm -O4" 8 >c.ptx; exits 0 ptxopt -O1 c.ptx -o out.ptx; differ c.ptx out.ptx
    says "^c.ptx:8:12: warning: .of. after .ptxopt:. is neither"; says "no-licm"; says "O4"'
case_ 'a comment with Windows line ends' 'commented "// ptxopt: off" 8 | sed "s/\$/\r/" >c.ptx; exits 0 ptxopt -O1 c.ptx -o out.ptx; silent; cmp c.ptx out.ptx'
case_ 'no comment' 'for c in "/* ptxopt: off */" "// see ptxopt: off" "// ptxopt off" "// noptxopt: off"; do commented "$c" 8 >c.ptx; ptxopt -O1 c.ptx >out.ptx; differ c.ptx out.ptx; done'
case_ 'a file of options' 'printf "%s\n" "# how" "-O3 --disable=tail-merge,\"branch-folding\" # and why" "-O\\1 @more" >opts; echo "--opt-bisect-limit='"'0'"'" >more
    exits 0 ptxopt @opts in.ptx -o out.ptx; cmp in.ptx out.ptx; silent'
case_ 'a file of options that is missing' 'refused @missing in.ptx; says "cannot read .missing.: No such file"'
case_ 'files of options that name one another' 'echo "@b" >a; echo "@a" >b; refused @a in.ptx; says "too deep"'
case_ 'a file of options with a wrong one' 'echo "--nope" >opts; refused @opts in.ptx; says "unknown option .--nope"'
case_ 'no file of options after --' 'cp in.ptx @x; ptxopt -O1 -- @x | cmp - want.ptx'

# ---- reports ------------------------------------------------------------------------------------------------------
case_ '--opt-bisect-limit=0 gives the input' 'exits 0 ptxopt -O1 --opt-bisect-limit=0 in.ptx -o out.ptx; cmp in.ptx out.ptx
    says "^BISECT: NOT running rewrite (1) clean-up on function (fold)$"; not says "BISECT: running"; not says plain'
case_ '--opt-bisect-limit=1 does one rewrite' 'exits 0 ptxopt -O1 --opt-bisect-limit=1 in.ptx -o out.ptx
    differ in.ptx out.ptx; [ "$(grep -c "BISECT: running" said)" = 1 ]; says "NOT running rewrite (2)"'
case_ '--opt-bisect-limit=-1 does all' 'exits 0 ptxopt -O1 --opt-bisect-limit=-1 in.ptx -o out.ptx; cmp out.ptx want.ptx
    says "BISECT: running rewrite (1) "; not says NOT'
case_ '--print-before and --print-after' 'exits 0 ptxopt -O1 --print-before=branch-folding --print-after=all in.ptx -o out.ptx
    says "^// \*\*\* before clean-up: fold \*\*\*$"; says "^// \*\*\* after clean-up: plain \*\*\*$"
    sed -n "/after clean-up: fold/,/^}/p" said | sed "1d; /^}/q" >a; sed -n "/entry fold/,/^}/p" want.ptx | cmp - a'
case_ '--stats' 'exits 0 ptxopt -O1 --stats in.ptx -o out.ptx; cmp out.ptx want.ptx; says "^ *3 ptxopt - functions$"
    says "^ *1 ptxopt - functions changed"; says "^ *1 ptxopt - functions that no phase may touch"; says "^ *2 clean-up - functions seen"'
case_ '--stats=json' 'exits 0 ptxopt -O1 --stats=json in.ptx -o out.ptx; says "^  \"functions\": 3,$"; says "^    \"clean-up\": {"
    if command -v python3 >/dev/null; then python3 -m json.tool said >/dev/null; fi'
case_ '--stats=json of nothing' 'exits 0 ptxopt -O0 --stats=json in.ptx -o out.ptx; says "\"phases\": {}"
    if command -v python3 >/dev/null; then python3 -m json.tool said >/dev/null; fi'
case_ 'what is told changes nothing' 'for f in "$CASES"/pipeline/*.ptx "$CASES"/phase/latches/*remark*.ptx; do
        sed "/^\/\/ EXPECT/,\$d" "$f" >told.ptx
        for level in -O2 -O3; do
            ptxopt $level told.ptx -o plain.ptx 2>/dev/null || continue
            for told in --remarks=r.yaml --stats --opt-bisect-limit=-1 --verify-each; do
                ptxopt $level $told told.ptx -o out.ptx 2>/dev/null; cmp plain.ptx out.ptx; done; done; done; [ -s plain.ptx ]'
case_ 'nor does it where a bound is reached' 'for arms in "120 4" "140 1" "140 3" "160 3"; do
        awk -v n="${arms% *}" -v seed="${arms#* }" -f "$CASES/limits/arms.awk" >told.ptx
        ptxopt -O2 told.ptx -o plain.ptx; ptxopt -O2 --remarks=r.yaml told.ptx -o out.ptx; not cmp -s told.ptx out.ptx; cmp plain.ptx out.ptx; done'
case_ '--time' 'exits 0 ptxopt -O1 --time in.ptx -o out.ptx; cmp out.ptx want.ptx; says "timing report"; says "Unchanged"
    for row in "(read)" "(parse)" "(print)" clean-up Total; do says "^ *[0-9.]* ( *[0-9.]*%)[ 0-9]*  $row\$"; done'

# Every record: a tag, then Pass, Name, DebugLoc, Function, Args and at least one argument, then dots.
records='function bad(why) { print FILENAME ":" NR ": " why; exit 1 }
    /^--- !(Passed|Missed|Analysis)$/ { if (want) bad("inside a record"); want = "Pass"; records++; next }
    want == "" { bad("outside a record") }
    /^Pass: +[a-z0-9-]+$/ && want == "Pass" { want = "Name"; next }
    /^Name: +[A-Z][A-Za-z0-9]*$/ && want == "Name" { want = "DebugLoc"; next }
    /^DebugLoc: +{ File: .+, Line: [0-9]+, Column: [0-9]+ }$/ && want == "DebugLoc" { want = "Function"; next }
    /^Function: +\047.*\047$/ && want == "Function" { want = "Args"; next }
    /^Args:$/ && want == "Args" { want = "argument"; next }
    /^  - [A-Z][a-z]*: [\047"].*[\047"]$/ && want ~ /argument|end/ { want = "end"; next }
    /^    DebugLoc: +{ File: .+, Line: [0-9]+, Column: [0-9]+ }$/ && want == "end" { next }
    /^\.\.\.$/ && want == "end" { want = ""; next }
    { bad("not " want) }
    END { if (want != "" || records == 0) exit 1 }'
case_ '--remarks writes records' 'exits 0 ptxopt -O1 --remarks=r.yaml in.ptx -o out.ptx; silent; cmp out.ptx want.ptx
    awk "$records" r.yaml; grep -q "^--- !Passed" r.yaml; grep -q "^Pass: *clean-up$" r.yaml; grep -q "  - Source: .fold.cu:" r.yaml'
case_ '--remarks says what no phase may touch' 'ptxopt -O1 --remarks=r.yaml in.ptx -o out.ptx
    grep -A2 "^Name: *Untouchable" r.yaml | grep -q "Line: 36, Column: 2 }"; grep -A2 "^Name: *Untouchable" r.yaml | grep -q unknown'
case_ '--remarks of nothing' 'ptxopt -O0 --remarks=r.yaml in.ptx -o out.ptx; [ -e r.yaml ]; [ ! -s r.yaml ]'
case_ '--remarks to standard output' 'ptxopt -O1 --remarks=- in.ptx -o out.ptx >r.yaml; awk "$records" r.yaml; cmp out.ptx want.ptx'
case_ '--remarks beside a module on standard output' 'exits 1 ptxopt --remarks=- in.ptx; says "cannot both"'
case_ '--remarks=/dev/stdout beside a module on standard output' 'exits 1 ptxopt --remarks=/dev/stdout in.ptx; says "cannot both"'
case_ '--remarks=/dev/stdout keeps what a log holds' 'echo before >log; ptxopt -O1 --remarks=/dev/stdout in.ptx -o out.ptx >>log
    [ "$(sed q log)" = before ]; sed 1d log >r.yaml; awk "$records" r.yaml; cmp out.ptx want.ptx'
for descriptor in /dev/stderr /dev/fd/2 /proc/self/fd/2 log; do
    case_ "--remarks=$descriptor keeps what standard error holds" "echo before >log; ptxopt -O1 --stats --remarks=$descriptor in.ptx -o out.ptx 2>>log
        [ \"\$(sed q log)\" = before ]; grep -q '^--- !Passed' log; grep -q 'ptxopt - functions\$' log; cmp out.ptx want.ptx"
done
case_ '--remarks=/dev/fd/3 keeps what is there' 'echo before >log; ptxopt -O1 --remarks=/dev/fd/3 in.ptx -o out.ptx 3>>log
    [ "$(sed q log)" = before ]; sed 1d log >r.yaml; awk "$records" r.yaml'
case_ '--remarks to a named pipe' 'mkfifo pipe; cat pipe >r.yaml & ptxopt -O1 --remarks=pipe in.ptx -o out.ptx; wait $!
    [ -p pipe ]; awk "$records" r.yaml'
case_ '--remarks that cannot be written' 'refused --remarks=d/r.yaml in.ptx; says "cannot write .d/r.yaml.: No such file"'
case_ '--remarks to a full device' 'refused -O1 --remarks=/dev/full in.ptx; says "cannot write ./dev/full.: No space left"'
case_ '--explain tells reasons apart' 'printf ".version 7.8\n.target sm_75\n.address_size 64\n.shared .b32 s[64];\n.visible .entry k()\n{\n.reg .b32 %%r<4>;\nmov.u32 %%r1, %%tid.x;\nshl.b32 %%r2, %%r1, 2;\nmov.u32 %%r3, s;\nadd.u32 %%r2, %%r2, %%r3;\nst.shared.u32 [%%r2], %%r1;\nbar.sync 0;\nld.shared.u32 %%r1, [s];\nbar.sync 0;\nst.shared.u32 [%%r2], %%r1;\nret;\n}\n" >two.ptx; ptxopt --explain two.ptx -o o | tr "\n" " " | grep -q "2 barriers (line 13: .* below *it; for other *reasons: line 15)"'
case_ '--explain' 'ptxopt -O1 --explain in.ptx >out; [ "$(head -1 out)" = "in.ptx: 3 functions, 1 changed" ]; grep -q "^fold (fold.cu)$" out; grep -q "^    done   1 branch removed (fold.cu:" out; grep -q "^    left   1 function (line 36: " out
    grep -q "^    ptxas  the block size is unknown: declare it" out; not grep -q "^[.]version" out; [ "$(awk "{ print (length > 80) }" out | sort -u)" = 0 ]; ptxopt --explain -O1 in.ptx -o o >out; cmp o want.ptx; grep -q "^fold" out'
case_ '--explain tells of strided loops that are too large to be copied' 'awk "BEGIN { print \".version 8.0\\n.target sm_80\\n.address_size 64\\n.entry k(.param .u32 n, .param .u32 s) { .reg .pred p; .reg .b32 i, m, t, v; ld.param.u32 m, [n]; ld.param.u32 t, [s]; mov.u32 i, 0;\\nL:\"; for (k = 0; k < 600; k++) print \"xor.b32 v, v, i;\"; print \"st.global.u32 [0], v; add.s32 i, i, t; setp.lt.s32 p, i, m; @p bra L; ret; }\" }" >large.ptx
    ptxopt --explain --only-function=k large.ptx -o o >out; tr -s " \n" " " <out | grep -q "is not unrolled: it is large"'
case_ '--loop-version-size says which loops are copied; each check of one that is too large says so' 'for n in 80 400; do awk -v n=$n "BEGIN { print \".version 8.0\\n.target sm_80\\n.address_size 64\\n.entry k(.param .u64 a, .param .u32 n, .param .u32 l) { .reg .pred p; .reg .b32 i, j, m, c, v; .reg .b64 b, d; ld.param.u64 b, [a]; ld.param.u32 m, [n]; ld.param.u32 c, [l]; mov.u32 i, 0;\\nL:\"; for (k = 0; k < n; k++) print \"add.s32 j, i, \" k \"; setp.ge.u32 p, j, c; @p bra T; mul.wide.u32 d, j, 4; add.s64 d, b, d; ld.global.u32 v, [d]; st.global.u32 [b], v;\"; print \"add.s32 i, i, 1; setp.lt.u32 p, i, m; @p bra L; ret;\\nT: trap; }\" }" >$n.ptx; done
    ptxopt -O2 --remarks=r.yaml 80.ptx -o o; grep -q "80 of 80 checks left the loop" r.yaml; ptxopt -O2 --remarks=r.yaml 400.ptx -o o; [ "$(grep -c "stays in its loop: the loop is larger than --loop-version-size allows" r.yaml)" = 400 ]
    ptxopt -O2 --loop-version-size=10000 --remarks=r.yaml 400.ptx -o o; grep -q "400 of 400 checks left the loop" r.yaml; ptxopt -O2 --loop-version-size=100 --remarks=r.yaml 80.ptx -o o; [ "$(grep -c "than --loop-version-size allows" r.yaml)" = 80 ]'
case_ '--explain needs standard output, or another place for the module' 'for o in -o- "-o /dev/stdout" --remarks=-; do exits 1 ptxopt --explain $o in.ptx; says "cannot both go to standard output"; done; ptxopt --explain --remarks=r.yaml in.ptx >out; [ -s r.yaml ]
    ptxopt --explain <in.ptx >out; grep -q "^<stdin>: 3 functions" out; ptxopt -O0 --explain in.ptx >out; [ "$(head -1 out)" = "in.ptx: 3 functions, 0 changed" ]; exits 1 ptxopt --explain none.ptx >out; [ ! -s out ]; exits 1 ptxopt --explain in.ptx >/dev/full'
case_ '--explain shows twenty functions, those that changed first, and those that are asked for' '{ head -4 in.ptx | grep "^[.]"; for i in $(seq 10 40); do echo ".entry k$i() { .reg .b32 a; ld.volatile.global.u32 a, [0]; $( [ $i != 33 ] || echo "bra X; X: bra Y; mov.u32 a, 1; Y: st.global.u32 [0], a;" ) ret; }"; done; } >many.ptx
    ptxopt --explain many.ptx >out; [ "$(grep -c "^k" out)" = 20 ]; [ "$(grep "^k" out | head -1)" = k33 ]; tail -1 out | grep -q "^11 more functions; --only-function=GLOB"; ptxopt --explain --only-function="k2?" many.ptx >out; [ "$(grep -c "^k" out)" = 10 ]; not grep -q "more functions" out'
case_ '--explain does not tell what went back' 'printf "%s\n" ".version 8.0" ".target sm_80" ".entry k()" "{" "bra X;" "X: ret;" "}" >a.ptx; ptxopt --explain a.ptx >out; grep -q "0 changed" out; not grep -q "^    done" out; grep -q "left as it was written" out'
# dated: the module with a .file of each kind: without a time, with one that ptxas takes for none, and with one
dated() { printf '%s\n' ".version ${1:-8.0}" '.target sm_80' '.address_size 64' '// .file 3 "c.cu"' ".file 1 \"a.cu\"$2 // first" '.visible .entry k() { ret; }' ".file 2 \"b .file 1 x.cu\" , $3, 7" ".file 4 \"d.cu\"$2"; }
case_ '--reproducible gives files without a time one' 'dated 8.0 "" 0 >a.ptx; dated 8.0 ", 77, 0" 0 | sed "s/ , 0, 7/, 77, 0/" >b.ptx; SOURCE_DATE_EPOCH=77 ptxopt --reproducible a.ptx -o c.ptx; cmp b.ptx c.ptx; SOURCE_DATE_EPOCH=77 ptxopt a.ptx -o d.ptx; cmp a.ptx d.ptx
    SOURCE_DATE_EPOCH=77 ptxopt --reproducible b.ptx -o d.ptx; cmp b.ptx d.ptx; dated 8.0 "" 9 >a.ptx; SOURCE_DATE_EPOCH=8 ptxopt --reproducible a.ptx -o d.ptx; dated 8.0 ", 8, 0" 9 | cmp d.ptx -'
case_ '--reproducible without SOURCE_DATE_EPOCH, and of the first second' 'dated 8.0 "" 9 >a.ptx; dated 8.0 ", 1, 0" 9 >b.ptx; for e in "" 0 1; do SOURCE_DATE_EPOCH=$e ptxopt --reproducible a.ptx -o c.ptx; cmp b.ptx c.ptx; done; unset SOURCE_DATE_EPOCH; ptxopt --reproducible a.ptx -o c.ptx; cmp b.ptx c.ptx'
case_ '--reproducible before PTX ISA 3.2, which knows no times' 'for v in 2.3 3.1; do dated $v "" 9 >a.ptx; ptxopt --reproducible a.ptx -o b.ptx; cmp a.ptx b.ptx; done; dated 3.2 "" 9 >a.ptx; ptxopt --reproducible a.ptx -o b.ptx; not cmp a.ptx b.ptx'
case_ '--reproducible and a function that changes' 'echo ".file 9 \"z\"" >>in.ptx; ptxopt in.ptx -o a.ptx; ptxopt --reproducible in.ptx -o b.ptx; sed "s/^\(.*[.]file.*\"\)\$/\1, 1, 0/" a.ptx | cmp - b.ptx; not cmp a.ptx b.ptx'
case_ '--reproducible and a time that is none' 'for e in x -1 1.5 1e3 " 1" 9223372036854775808; do export SOURCE_DATE_EPOCH=$e; refused --reproducible in.ptx; says "SOURCE_DATE_EPOCH is a number of seconds, not"; ptxopt in.ptx -o o; done; SOURCE_DATE_EPOCH=9223372036854775807 ptxopt --reproducible in.ptx -o o'
case_ '--dump-cfg' 'ptxopt -O1 --dump-cfg=graphs in.ptx -o out.ptx; cmp out.ptx want.ptx
    [ "$(ls graphs | tr "\n" " ")" = "fold.dot plain.dot unknown.dot " ]; grep -q "label=\"T\"" graphs/fold.dot
    if command -v dot >/dev/null; then for graph in graphs/*; do dot -Tsvg "$graph" -o /dev/null; done; fi'
case_ '--dump-cfg of the input, loops as boxes' '
    printf "%s\n" ".version 8.0" ".target sm_80" ".func f() {" ".reg .pred p;" "A: @p bra B;" "bra A;" "B: ret; }" >loop.ptx
    ptxopt -O0 --dump-cfg=graphs loop.ptx -o out.ptx; grep -q "subgraph cluster_" graphs/f.dot'
case_ '--dump-cfg leaves out what is not known' '
    printf "%s\n" ".version 8.0" ".target sm_80" ".func f() {" "bra A;" ".frobnicate 1" "A: ret; }" ".func g() { ret; }" >x.ptx
    ptxopt --dump-cfg=graphs x.ptx -o out.ptx; cmp x.ptx out.ptx; [ "$(ls graphs)" = g.dot ]'
case_ '--dump-cfg where there is a file' 'refused --dump-cfg=in.ptx in.ptx; says "cannot write the graph of .fold. to .in.ptx.: Not a directory"'
case_ '--dump-cfg in a folder that is missing' 'refused --dump-cfg=a/b in.ptx; says "cannot make directory .a/b.: No such file"'
# ---- the scripts' cache ---------------------------------------------------------------------------------------------
# fake_ptxas NAME: a ptxas whose version, and whose every cubin, is NAME. assembled_by NAME: the cubin, through the cache.
fake_ptxas()
{
    printf '#!/bin/sh\nif [ "$1" = --version ]; then echo %s; else echo %s >"$4"; fi\n' "$1" "$1" >"$1"
    chmod +x "$1"
}
assembled_by()
{
    (folder=$(pwd); cd "$here"; BUILD=$folder PTXAS=$folder/$1; export BUILD PTXAS; . tests/lib.sh
     cat "$(assemble "$WORK/input/in.ptx" sm_80)")
}
case_ 'what two versions of ptxas said is kept apart' 'fake_ptxas one; fake_ptxas two
    [ "$(assembled_by one)" = one ]; [ "$(assembled_by two)" = two ]; [ "$(assembled_by one)" = one ]'
} >"$WORK/log"
tally "${NAME:-cli}" "$WORK/log"
