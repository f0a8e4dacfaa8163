#!/bin/sh
# What the guard remembers, and the job server: before a stand-in that counts its calls, and ptxas behind it.
# usage: [BUILD=build] tests/cache.sh [PART-OF-A-NAME]
# Each case runs in a folder of its own that holds slow.ptx, whose kernels `slow` and `quick` the faulty binary changes, the first one for
# the worse; good.ptx, whose kernels get better; and the stand-in. It remembers in ./c.
set -u
cd "$(dirname "$0")/.." || exit 1
. tests/lib.sh
. tests/cases.sh
case $BUILD in /*) ;; *) BUILD=$(pwd)/$BUILD ;; esac
STRIDES=$(pwd)/examples/strides.nvcc.ptx SPILLS=$(pwd)/tests/guard/spills.ptx
WORK=$BUILD/work/cache
unset PTXOPT PTXOPT_FLAGS PTXOPT_PTXAS PTXOPT_LOG PTXOPT_FRONTS PTXOPT_GUARD PTXOPT_CACHE PTXOPT_CACHE_SIZE XDG_CACHE_HOME CUDA_HOME CUDA_PATH MAKEFLAGS
rm -rf "$WORK"
mkdir -p "$WORK/input" "$WORK/tmp"
export TMPDIR="$WORK/tmp"
cp tests/guard/slow.ptx "$WORK/input"
{ cat tests/sample.ptx; sed "1,/^.address_size/d" tests/guard/tails.ptx; } >"$WORK/input/good.ptx"
ln -s "$BUILD/ptxopt-faulty" "$WORK/input/ptxopt-ptxas"
cat >"$WORK/input/ptxas" <<'END'
#!/bin/sh
echo "$*" >>calls
echo begin >>times
trap 'echo end >>times' EXIT
[ -z "${SLEEP:-}" ] || sleep "$SLEEP"
case ${FAKE:-} in
crash) kill -SEGV $$ ;;
refuse) echo "ptxas, line 3; error" >&2; exit 255 ;;
lie) for word; do case $word in *.cubin | o) out=$word ;; esac; done; exec "$REAL" -arch=sm_80 good.ptx -o "$out" ;;
esac
"$REAL" "$@"
END
chmod +x "$WORK/input/ptxas"

part=${1:-}
begin_case() { rm -rf "${TMPDIR:?}"/*; export PTXOPT_LOG="$case_dir/log" PTXOPT_CACHE="$case_dir/c" HOME="$case_dir/home"; mkdir home; }
end_case() { [ -z "$(ls "$TMPDIR")" ]; }
# build FILE OUTPUT [OPTION...]: one kernel gets worse, one keeps its phases.
build() { build_file=$1 build_output=$2; shift 2; timeout 100 ./ptxopt-ptxas --phases=barrier-elim,slow-division "$@" -- ./ptxas -arch=sm_80 "$build_file" -o "$build_output"; }
better() { timeout 100 "$BUILD/ptxopt-ptxas" ./ptxas -arch=sm_80 good.ptx -o "$1"; }
runs() { touch calls; [ "$(wc -l <calls)" = "$1" ]; rm -f calls; }
# cold [OUTPUT]: asks, and delivers what `plain` is.
cold() { build slow.ptx "${1:-o}"; runs 3; cmp "${1:-o}" plain; grep -q '"functions": 2, "changed": 1,' log; grep -q '"reverted": \[{"function": "slow"' log; rm log; }
warm() { build slow.ptx "${1:-o}"; runs 1; cmp "${1:-o}" plain; grep -q '"functions": 2, "changed": 1,' log; grep -q '"reverted": \[{"function": "slow", "how": "left alone", "why": "[^"]*instructions' log; rm log; }
entries() { find "${1:-c}" -type f ! -name '.new.*'; }
of_slow() { grep -l '^slow ' $(entries); }
of_text() { grep -l '^# left alone: slow' $(entries); }
of_kernels() { grep -L '^# of an input' $(entries); }
forget_texts() { rm -f $(grep -l '^# of an input' $(entries)); }
# damaged COMMAND [COMMAND]: what it makes of the file of a verdict is none, and is mended. The second one is for verdicts about texts.
damaged() { [ -e c ] || cold; forget_texts; f=$(of_slow); eval "$1"; cold; warm; rm "$(of_slow)"; f=$(of_text); eval "${2:-$1}"; cold; warm; }
most_at_once() { awk '/begin/ { now++ } /end/ { now-- } now > most { most = now } END { print most + 0 }' times; }

{
if [ -z "$PTXAS" ]; then
    skip_without_ptxas 'what the guard remembers'
else
    export REAL="$PTXAS"
    "$BUILD/ptxopt-faulty" --phases=barrier-elim --skip-function=slow tests/guard/slow.ptx -o "$WORK/two.ptx"
    "$REAL" -arch=sm_80 "$WORK/two.ptx" -o "$WORK/input/plain"
    case_ 'a second build asks nothing more, and gives the same bytes' 'cold a; warm b; warm d; PTXOPT_CACHE=off build slow.ptx e; runs 3; cmp e plain'
    case_ 'it makes at once what the first one has delivered, and reports that' 'cold; warm; build slow.ptx o --stats --remarks=r 2>said; runs 1; build slow.ptx p --stats --remarks=s 2>said; runs 1; cmp o plain; cmp p plain; [ "$(wc -l <log)" = 2 ]; head -1 log | grep -q guard_ms; not sed 1d log | grep guard_ms; grep -q "1 ptxopt - functions changed" said; cmp r s; not grep -q "Pass: *slow-division" s
        sed "/entry slow/,/^}/ s/ret;/ret; /" slow.ptx >other.ptx; not cmp -s slow.ptx other.ptx; rm log; build other.ptx q; runs 1; cmp q plain; grep -q guard_ms log'
    case_ 'so does one where nothing is worse' 'better a; runs 2; better b; runs 1; cmp a b; PTXOPT_CACHE=off better e; cmp e a; not grep -q reverted log'
    case_ 'ptxopt --guard as well, with the same notes' 'exits 0 "$BUILD/ptxopt-faulty" --guard=./ptxas --phases=barrier-elim,slow-division slow.ptx -o a; mv said first; runs 2
        exits 0 "$BUILD/ptxopt-faulty" --guard=./ptxas --phases=barrier-elim,slow-division slow.ptx -o b; cmp said first; says "slow. is left alone"; runs 0; cmp a b'
    case_ '--guard=search asks each time' 'build slow.ptx a --guard=search; [ -s calls ]; rm calls; build slow.ptx b --guard=search; [ "$(wc -l <calls)" -gt 1 ]; cmp a b; [ ! -e c ]'

    case_ 'what the log says of ptxas is of what is delivered, whatever is remembered' 'sed "/entry slow/,/^}/ s/^    setp.lt.u32 %p1/    mov.u32 %r6, 0;\nNEXT:\n    .pragma \"nounroll\";\n    ld.global.f32 %f2, [%rd3];\n    add.f32 %f1, %f1, %f2;\n    add.s32 %r6, %r6, %r1;\n    setp.lt.s32 %p2, %r6, %r2;\n    @%p2 bra NEXT;\n&/" slow.ptx >a.ptx; sed "1,/^.address_size/d" "$SPILLS" >>a.ptx
        ask() { rm -f log calls; timeout 100 ./ptxopt-ptxas --phases=$1 -- ./ptxas -arch=sm_80 a.ptx -o o; sed "s/.*\"advice\": \(.[^]]*\).*/\1/" log; }; alike() { ask $1 >first; runs 3; ask $1 >b; runs 1; cmp first b; forget_texts; ask $1 >b; runs 1; cmp first b; forget_texts; rm "$(of_slow)"; ask $1 >b; cmp first b; PTXOPT_CACHE=off ask $1 >b; runs 3; cmp first b; }
        alike barrier-elim,stride-unroll,slow-division; grep -q "reverted.: ..\"function\": \"slow\"" log; grep -q "Spilled\", \"function\": \"spilly" first; grep -q "BlockSizeUnknown\", \"function\": \"slow" first; not grep LoopNotCounted first; [ "$(grep -o Spilled first | wc -l)" = 1 ]
        ask stride-unroll >first; grep -q "LoopNotCounted\", \"function\": \"slow" first; rm -r c; ask stride-unroll,slow-division >first; grep -q "result\": \"unchanged\".*reverted" log; ask stride-unroll,slow-division >b; cmp first b; runs 1'
    case_ 'and so are remarks and explanations' 'cat "$SPILLS" >a.ptx; sed "1,/^.address_size/d" slow.ptx >>a.ptx; for n in 1 2 3; do timeout 100 "$BUILD/ptxopt-faulty" --guard=./ptxas --phases=barrier-elim,slow-division --explain --remarks=r$n a.ptx >e$n; cmp e1 e$n; cmp r1 r$n; [ $n = 1 ] || forget_texts; done; grep -q "Name: *Spilled" r1; grep -q "ptxas spills" e1'
    case_ 'without a folder for temporary files nothing is remembered' 'cold; better good; for t in /nowhere "$PWD/slow.ptx"; do TMPDIR=$t build slow.ptx a; PTXOPT_CACHE=off TMPDIR=$t build slow.ptx b; cmp a b; grep -q "no temporary folder" log; rm calls; (export TMPDIR=$t; better a); (export TMPDIR=$t PTXOPT_CACHE=off; better b); cmp a b; not cmp -s a good; rm log calls
        not env TMPDIR=$t PTXOPT=strict timeout 60 ./ptxopt-ptxas --phases=barrier-elim,slow-division -- ./ptxas -arch=sm_80 slow.ptx -o x; rm -f log; done; rm -f calls log; warm'

    # ---- what a verdict depends on --------------------------------------------------------------------------------
    case_ 'blanks, comments, line numbers, labels and other files' 'cold; sed "s/^END:/END: \\/\\/ more/; s/    mov/\tmov/" slow.ptx >other.ptx; not cmp -s slow.ptx other.ptx; build other.ptx a; runs 1
        sed "s/OTHER/\\\$L1/; s/END/\\\$L2/" slow.ptx >l1.ptx; build l1.ptx a; rm calls; sed "s/OTHER/\\\$L7/; s/END/\\\$L9/" slow.ptx >l7.ptx; build l7.ptx a; runs 1'
    case_ 'a kernel that changes is asked about, and no other one' 'cold; sed "s/add.f32 %f8, %f7, %f2/sub.f32 %f8, %f7, %f2/" slow.ptx >other.ptx; not cmp -s slow.ptx other.ptx; build other.ptx a; runs 3; [ "$(of_kernels | wc -l)" = 3 ]'
    case_ 'so is one whose code changes behind a position on its line' 'sed "s/^    add.f32 %f8/.loc 1 2 3 add.f32 %f8/; s/^.address_size 64/&\n.file 1 \"a.cu\"/" slow.ptx >a.ptx; not cmp -s slow.ptx a.ptx; build a.ptx a; rm -f calls; build a.ptx a; runs 1; sed "/^.loc/s/ add.f32/ sub.f32/" a.ptx >b.ptx; not cmp -s a.ptx b.ptx; build b.ptx b; runs 3; sed "/^.loc/s/1 2 3/1 5 3/" a.ptx >d.ptx; build d.ptx d; runs 1'
    case_ 'so is one whose callee, or a variable of the module, changes' 'sed "s/^.address_size 64/&\n.global .align 4 .u32 v = 1;\n.func f() { .reg .b32 %r<3>; mov.u32 %r1, 1; add.u32 %r2, %r1, 1; st.global.u32 [v], %r2; ret; }/; s/^ *bar.sync 0;/ call f;\n&/" slow.ptx >f.ptx
        build f.ptx a; rm calls; build f.ptx a; runs 1; sed "s/add.u32 %r2, %r1, 1/sub.u32 %r2, %r1, 1/" f.ptx >g.ptx; not cmp -s f.ptx g.ptx; build g.ptx a; [ "$(wc -l <calls)" -ge 2 ]; rm calls
        sed "s/u32 v = 1/u32 v = 2/" f.ptx >g.ptx; not cmp -s f.ptx g.ptx; build g.ptx a; [ "$(wc -l <calls)" -ge 2 ]'
    case_ 'a kernel that several modules hold is asked about once, whatever variables the others declare' 'cold; with() { sed "s/^.address_size 64/&\n$1/" slow.ptx >m.ptx; not cmp -s slow.ptx m.ptx; build m.ptx o; [ -s o ]; }
        for v in ".global .align 4 .u32 one = 1;" ".visible .global .align 1 .b8 two[3] = {1, 0x2, 3};" ".extern .global .f32 three; .global .f32 four = 0f3f800000;" ".weak .global .u64 %five;"; do with "$v"; runs 1; done
        rm -r c; with ".global .b8 _INTERNAL_a_cu[4];"; runs 3; with ".global .b8 _INTERNAL_b_cu[8];\n.global .b8 _INTERNAL_c_cu;"; runs 1; PTXOPT_CACHE=off build m.ptx p; cmp o p; for e in $(of_kernels); do not grep INTERNAL "$e"; done'
    case_ 'again if it names one that is another one there' 'sed "/entry slow/,/^}/ s/^    ld.param.u64 %rd1, .p.;/&\n    mov.u64 %rd4, v; ld.global.u32 %r6, [%rd4+4]; st.global.u32 [%rd4], %r6;/" slow.ptx >names.ptx; not cmp -s slow.ptx names.ptx; with() { sed "s/^.address_size 64/&\n$1/" names.ptx >m.ptx; build m.ptx o; [ -s o ]; }
        with ".global .align 4 .b8 v[8];"; runs 3; with ".global .u32 w;\n.global .align 4 .b8 v[8];"; runs 1; for v in ".global .align 8 .b8 v[8];" ".global .align 4 .b8 v[16];" ".global .u32 v[2] = {1, 2};" ".visible .global .align 4 .b8 v[8];" ".weak .global .align 4 .b8 v[8];"; do with "$v"; runs 3; done
        sed -i "s/mov.u64 %rd4, v;/& mov.u64 %rd5, w; st.global.u32 [%rd5], %r6;/" names.ptx; with ".global .u32 v[2];\n.global .u32 w;"; runs 3; with ".global .u32 v[2];\n.global .u32 other;\n.global .u32 w;"; runs 1; with ".global .u32 w;\n.global .u32 v[2];"; runs 3'
    case_ 'or in a module of so many variables that ptxas takes their addresses otherwise' 'sed "s/^.address_size 64/&\n.global .align 4 .b8 v[8];/; /entry slow/,/^}/ s/^    ld.param.u64 %rd1, .p.;/&\n    mov.u64 %rd4, v; ld.global.u32 %r6, [%rd4+4]; st.global.u32 [%rd4], %r6;/" slow.ptx >one.ptx; build one.ptx o; runs 3
        more() { seq "$1" | sed "s/.*/.global .u32 w&;/" >w; sed "/^.address_size 64/r w" one.ptx >m.ptx; build m.ptx o; [ -s o ]; }; more 100; runs 1; more 9000; runs 3; more 9001; runs 3'
    case_ 'or if what it calls, or a variable that it names, does' 'sed "s/^.address_size 64/&\n.global .u32 w = 1;\n.global .u64 v = w;\n.func f() { .reg .b64 %rd<3>; mov.u64 %rd1, v; ld.global.u64 %rd2, [%rd1]; st.global.u64 [%rd2], %rd1; ret; }/; s/^ *bar.sync 0;/ call f;\n&/" slow.ptx >f.ptx
        build f.ptx a; [ "$(wc -l <calls)" -ge 2 ]; rm calls; sed "s/^.global .u32 w/.global .u32 other;\n&/" f.ptx >g.ptx; build g.ptx a; runs 1; for d in "s/u32 w = 1/u32 w = 2/" "s/u64 v = w/u64 v[2] = {w}/" "s/u64 v = w/u64 v/"; do sed "$d" f.ptx >g.ptx; not cmp -s f.ptx g.ptx; build g.ptx a; [ "$(wc -l <calls)" -ge 2 ]; rm calls; done'
    case_ 'or if the module declares anything else: other spaces, tables of functions, textures, what has attributes' 'cold; with() { sed "s/^.version 7.8/.version 8.3/; s/^.address_size 64/&\n$1/" slow.ptx >m.ptx; build m.ptx o; [ -s o ]; }
        with ""; runs 3; for v in ".const .u32 v = 1;" ".shared .u32 v;" ".extern .shared .b8 v[];" ".global .texref v;" ".global .surfref v;" ".global .attribute(.managed) .u32 v;" ".func f() { ret; }\n.global .u64 v = f;" ".extern .func f();" ".global .u32 v, w;" ".global .u32 v<2>;" ".global .u32 v;\n.global .u64 w = v;"; do with "$v"; [ "$(wc -l <calls)" -ge 2 ]; rm calls; done; with "\/\/ nothing else"; runs 1'
    case_ 'another target, other options of ptxas, other options of ptxopt' 'cold; timeout 100 ./ptxopt-ptxas --phases=barrier-elim,slow-division -- ./ptxas -arch=sm_90 slow.ptx -o a; runs 3
        timeout 100 ./ptxopt-ptxas --phases=barrier-elim,slow-division -- ./ptxas -maxrregcount=32 -arch=sm_80 slow.ptx -o a; runs 3; timeout 100 ./ptxopt-ptxas --phases=slow-division,slow-root -- ./ptxas -arch=sm_80 slow.ptx -o a; runs 3; warm'
    case_ 'the same options of ptxas in another order, or spelt in another way' 'ask() { timeout 100 ./ptxopt-ptxas --phases=barrier-elim,slow-division -- ./ptxas "$@" || return; }; ask -arch=sm_80 -v -O3 -m64 slow.ptx -o o --fmad true; runs 3
        ask -v slow.ptx --fmad=true --output-file o -m64 --gpu-name sm_80 --opt-level=3; runs 1; ask -o o -O3 -fmad true --machine 64 --verbose slow.ptx -arch sm_80; runs 1; ask -arch=sm_80 -v -O3 -m64 slow.ptx -o o --fmad false; runs 3; ask -arch=sm_80 -O3 -m64 slow.ptx -o o --fmad true; runs 3
        ask -arch=sm_80 -O2 -O3 slow.ptx -o o; runs 3; ask -O2 -arch=sm_80 -O3 slow.ptx -o o; runs 1; ask -arch=sm_80 -O3 -O2 slow.ptx -o o; runs 3; for w in -arch=sm_80 -v; do not ask $w --no-such=1 slow.ptx -o o; done; rm -f calls; ask --entry=slow --entry=quick -arch=sm_80 slow.ptx -o o; ask --entry=quick --entry=slow -arch=sm_80 slow.ptx -o o; runs 6'
    case_ 'another ptxas under the same name' 'cold; sleep 0.01; echo "# newer" >>ptxas; cold; touch ptxas; cold; warm'
    case_ 'ptxas is known by its bytes, wherever it is' 'for p in real1 real2; do cp "$REAL" $p; touch -d "2 days ago" $p; ./ptxopt-ptxas --phases=slow-division -- ./$p -arch=sm_80 slow.ptx -o o; of_kernels | wc -l >n.$p; done
        [ "$(cat n.real1)" = 2 ]; [ "$(cat n.real2)" = 3 ]; [ "$(grep -h "^# .*real" $(entries) | grep -o "[0-9a-f]*$" | sort -u | wc -l)" = 1 ]'
    case_ 'a ptxas that fails is not remembered' 'FAKE=refuse build slow.ptx o || :; FAKE=crash build slow.ptx o || :; [ ! -e c ]; rm -f calls log; cold; warm'
    case_ 'nor what a ptxas says that lies: machine code of other kernels' 'FAKE=lie build slow.ptx o; rm -f calls log; cold; warm'
    case_ 'nor of kernels that --entry leaves out' 'timeout 60 ./ptxopt-ptxas --phases=slow-division -- ./ptxas --entry quick -arch=sm_80 slow.ptx -o o; [ -s o ]; [ -z "$(entries)" ] || not of_slow; rm -f calls log; cold'

    # ---- where it is ----------------------------------------------------------------------------------------------
    case_ 'in XDG_CACHE_HOME, or in .cache at home' 'unset PTXOPT_CACHE; cold; [ -n "$(entries home/.cache/ptxopt)" ]; warm; XDG_CACHE_HOME=$PWD/x cold; [ -n "$(entries x/ptxopt)" ]; rm -r home; XDG_CACHE_HOME=$PWD/x warm; XDG_CACHE_HOME=relative HOME= cold; [ ! -e relative ]; [ ! -e home ]'
    case_ 'PTXOPT_CACHE=off' 'for o in off OFF Off; do PTXOPT_CACHE=$o build slow.ptx o; not grep -q warning log; rm calls log; PTXOPT_CACHE=$o cold; [ ! -e $o ]; done; [ -z "$(ls -A home)" ]'
    case_ 'a word that is no path makes no folder' 'for o in on 0 no none; do PTXOPT_CACHE=$o build slow.ptx o; cmp o plain; grep -q "warning.: .PTXOPT_CACHE takes a path with a slash, or off, not .$o.: nothing is remembered" log; [ ! -e $o ]; rm calls log; PTXOPT_CACHE=$o cold; done; PTXOPT_CACHE=./d cold; [ -n "$(entries d)" ]; PTXOPT_CACHE=x PTXOPT_CACHE_SIZE=y build slow.ptx o; grep -q "nothing is remembered; PTXOPT_CACHE_SIZE takes" log'
    case_ 'decisions of --tune are of the same form' 'cold; cat c/*/* >team.tuned; cat team.tuned; timeout 60 "$BUILD/ptxopt-faulty" --phases=barrier-elim,slow-division --tuned=team.tuned slow.ptx -o o.ptx; cmp o.ptx "$WORK/two.ptx"; runs 0
        rm -r c; better a; cat c/*/* >team.tuned; "$BUILD/ptxopt" --tuned=team.tuned good.ptx -o b.ptx; "$BUILD/ptxopt" good.ptx | cmp - b.ptx'
    case_ 'of which those count that are as they were written' 'cold; better o; cat c/*/* >team.tuned; faulty() { timeout 60 "$BUILD/ptxopt-faulty" --phases=barrier-elim,slow-division --tuned="$1" slow.ptx -o o.ptx 2>said; }; faulty team.tuned; [ ! -s said ]; cmp o.ptx "$WORK/two.ptx"; "$BUILD/ptxopt-faulty" --phases=barrier-elim,slow-division slow.ptx -o all.ptx; not cmp -s all.ptx o.ptx
        for d in "s/^quick \(.*\): .*/quick \\1: --disable=all/" "s/^slow \(.*\): .*/slow \\1: -O2 --guard/" "/^slow .*disable/d" "s/^slow /&/;/^slow /s/worse/better/"; do sed "$d" team.tuned >t; not cmp -s t team.tuned; faulty t; says "t:[0-9]*:1: warning: what follows is not what was remembered: it does not count"; [ "$(grep -c warning said)" = 1 ]; done
        f=$(of_slow); head -c $(($(wc -c <$f) - 3)) $f >t; faulty t; says "does not count"; cmp o.ptx all.ptx; cat t team.tuned >u; faulty u; says "does not count"; cat $f $f >t; faulty t; [ ! -s said ]; cmp o.ptx "$WORK/two.ptx"; { cat $f; echo "# ptxopt remembers x"; } >t; faulty t; says "does not count"
        sed -n "s/^slow \(.*\): .*/slow \\1: --disable=all/p" $f >t; faulty t; [ ! -s said ]; cmp o.ptx "$WORK/two.ptx"; { sed 1d $f; cat $f; } >t; faulty t; [ ! -s said ]; cmp o.ptx "$WORK/two.ptx"
        { cat team.tuned; echo "# a note"; } >t; faulty t; [ ! -s said ]; cmp o.ptx "$WORK/two.ptx"'
    case_ 'decisions that pull levers are remembered with them' 'better a; cat c/*/* | sed -n "s/: -O2 --guard.*/: -O2 --levers-max-registers=32/p" >d; [ -s d ]; rm -r c calls; tuned() { timeout 100 "$BUILD/ptxopt-ptxas" --guard=all --tuned=d -- ./ptxas -arch=sm_80 good.ptx -o "$1"; }
        tuned a; runs 2; grep -q ": -O2 --levers-max-registers=32 --guard # not worse" c/*/*; tuned b; runs 1; cmp a b; cat c/*/* >team.tuned; ptxopt() { "$BUILD/ptxopt" "$@" good.ptx; }; ptxopt --tuned=d >want; ptxopt --tuned=team.tuned | cmp - want; grep -q "maxnreg 32" want; ptxopt >plain.ptx; not cmp -s plain.ptx want
        sed s/=32/=40/ d >e; mv e d; tuned a; runs 2; grep -q ": -O2 --levers-max-registers=40 --guard # not worse" c/*/*'
    case_ 'the same options in another order, or spelt in another way, are the same decision' 'better a; cat c/*/* | sed -n "s/: -O2 --guard.*/: -O2 --levers-max-registers=32 --disable=layout --disable=switch-lowering/p" >d; [ -s d ]; rm -r c calls; tuned() { timeout 100 "$BUILD/ptxopt-ptxas" --guard=all --tuned=d -- ./ptxas -arch=sm_80 good.ptx -o "$1"; }
        tuned a; runs 2; sed "s/: .*/: --disable=switch-lowering,layout --levers-max-registers=32 -O2/" d >e; mv e d; tuned b; runs 1; cmp a b; sed "s/: .*/: --levers-max-registers=4 -O3 -O2 --enable=layout --levers-max-registers 32 --disable=layout,switch-lowering/" d >e; mv e d; tuned b; runs 1; cmp a b
        sed s/=32/=33/ d >e; sed "s/ 32/ 33/" e >d; tuned b; runs 2'
    case_ 'decisions bring back what only a guard allows' 'cp "$STRIDES" s.ptx; timeout 100 "$BUILD/ptxopt-ptxas" ./ptxas -arch=sm_80 s.ptx -o a; cat c/*/* >team.tuned; grep -q ": -O2 --guard # not worse" team.tuned; timeout 60 "$BUILD/ptxopt" --tuned=team.tuned s.ptx -o two.ptx; "$BUILD/ptxopt" s.ptx -o without.ptx; not cmp -s two.ptx without.ptx
        "$REAL" -arch=sm_80 two.ptx -o b; cmp a b; PTXOPT_GUARD=off timeout 60 "$BUILD/ptxopt-ptxas" --tuned=team.tuned -- ./ptxas -arch=sm_80 s.ptx -o b; cmp a b'
    case_ 'so do those about kernels that share a function, of which one is left alone' 'sed "s/^.address_size 64/&\n.func h(.param .u64 a) { .reg .b64 %rd<2>; ld.param.u64 %rd1, [a]; bra A; A: st.global.f32 [%rd1], 0f00000000; ret; }/; s/^ *ret;/ { .param .u64 x; st.param.u64 [x], %rd1; call h, (x); }\n&/" slow.ptx >f.ptx
        shared() { timeout 100 ./ptxopt-ptxas --phases=clean-up,barrier-elim,slow-division -- ./ptxas -arch=sm_80 f.ptx -o $1; }; faulty() { timeout 60 "$BUILD/ptxopt-faulty" --phases=clean-up,barrier-elim,slow-division "$@"; }
        shared a; runs 3; grep -q "reverted.: .{.function.: .slow., .how.: .left alone., " log; grep -q "held_back.: 1" log; grep -q "^h .*: -*guard # not worse" $(entries); shared b; runs 1; cmp a b; PTXOPT_CACHE=off shared b; runs 3; cmp a b
        cat c/*/* >team.tuned; faulty --tuned=team.tuned f.ptx -o o.ptx 2>said; [ ! -s said ]; "$REAL" -arch=sm_80 o.ptx -o b; cmp a b; not cmp -s o.ptx f.ptx; for v in "^slow .*made it worse" "^quick .*not worse"; do forget_texts; f=$(grep -l "$v" $(entries)); rm "$f"; shared b; cmp a b; done
        rm calls; for f in $(grep -l "^# of an input" $(entries)); do rm "$f"; shared b; runs 1; cmp a b; [ -e "$f" ]; done'
    case_ 'a text of which all is known need not be taken apart' 'cold; rm $(grep -l "^slow " $(entries)); warm; better a; rm -f calls; rm $(grep -l "^tails " $(entries)); better b; runs 1; cmp a b; timeout 100 "$BUILD/ptxopt-ptxas" --guard=all -- ./ptxas -arch=sm_80 good.ptx -o b; runs 2; cmp a b
        rm -r c; timeout 60 ./ptxopt-ptxas --phases=slow-division -- ./ptxas --entry quick -arch=sm_80 slow.ptx -o o; not grep "^# of an input" $(entries)'
    case_ 'a copy that cannot be written, as a team ships it' 'cold; mkdir ship; cp -r c ship; chmod -R a-w ship; PTXOPT_CACHE=$PWD/ship/c; warm; chmod -R u+w ship'

    # ---- damage ---------------------------------------------------------------------------------------------------
    case_ 'a file cut short' 'damaged "for n in 0 1 20 60 90; do head -c \$n \$f >x; cp x \$f; done"; for n in 10 60 100 130; do forget_texts; f=$(of_slow); head -c $n "$f" >x; cp x "$f"; cold; done; warm'
    case_ 'garbage' 'damaged "head -c 300 /dev/urandom >\$f"; damaged "tr s x <\$f >x; cp x \$f"'
    case_ 'a verdict turned round' 'damaged "sed -i s/--disable=all/-O2/ \$f" "sed -i s/alone:.slow/alone:\ quick/ \$f"; damaged "sed -i /disable/d \$f" "sed -i /alone/d \$f"; damaged "sed -i s/worse:.*/worse:/ \$f" "sed -i s/since:.*/since:/ \$f"'
    case_ 'of another version' 'damaged "sed -i \"1s/remembers/recalls/\" \$f"'
    case_ 'under a name that is not its own' 'damaged "for e in \$(entries); do [ \$e = \$f ] || cp \$e \$f; done"'
    case_ 'a link, a pipe or a folder in its place' 'cold; forget_texts; f=$(of_slow); mv "$f" kept; ln -s "$PWD/kept" "$f"; cold; [ ! -L "$f" ]; warm; forget_texts; rm "$f"; mkfifo "$f"; cold; warm; forget_texts; rm "$f"; mkdir "$f"; cold; forget_texts; cold; rmdir "$f"; forget_texts; ln -s /dev/zero "$f"; cold; warm
        rm "$(of_slow)"; f=$(of_text); rm "$f"; mkdir "$f"; cold; rm "$(of_slow)"; rmdir "$f"; ln -s nowhere "$f"; cold; warm'
    case_ 'a shelf that is a link, and a cache that is a file or a link to nothing' 'cold; forget_texts; d=$(dirname "$(of_slow)"); mv "$d" shelf; ln -s "$PWD/shelf" "$d"; cold; rm -r c; echo x >c; cold; cold; [ "$(cat c)" = x ]; rm c; ln -s nowhere c; cold; cold'
    case_ 'a cache that is a link to a folder' 'mkdir d; ln -s d c; cold; warm; [ -n "$(entries d)" ]'
    if [ "$(id -u)" = 0 ]; then
        case_ 'of another user: only where PTXOPT_CACHE names it' 'unset PTXOPT_CACHE; cold; chown -R 12345 home/.cache/ptxopt; cold; cold; PTXOPT_CACHE=home/.cache/ptxopt warm; chown 0 home/.cache/ptxopt home/.cache/ptxopt/*; cold; warm
            rm -r home/.cache; chown 12345 home; cold; cold; [ -z "$(ls -A home)" ]'
    else
        echo 'skip a cache of another user: the tests do not run as root'
    fi
    mounted() { unshare -rm sh -c 'mount -t tmpfs -o "$2" none "$1" && shift 2 && exec "$@"' sh "$@"; }
    mkdir "$WORK/mount"
    if mounted "$WORK/mount" size=4k true 2>/dev/null; then
        case_ 'a full disk, and one that cannot be written on' 'mkdir c; echo x >x; for o in size=4k,nr_inodes=2 ro size=4k; do mounted c $o ./ptxopt-ptxas --phases=barrier-elim,slow-division -- ./ptxas -arch=sm_80 slow.ptx -o o; cmp o plain; runs 3; done'
    else
        echo 'skip full disks: there are no name spaces of mounts'
    fi

    # ---- many, and time -------------------------------------------------------------------------------------------
    case_ 'ten builds at once' 'for i in 1 2 3 4 5 6 7 8 9 10; do build slow.ptx o$i & done; wait; for i in 1 2 3 4 5 6 7 8 9 10; do cmp o$i plain; done; rm calls log; warm; [ -z "$(find c -name ".new.*")" ]'
    case_ 'a cache that is deleted in the middle' '(while [ ! -e stop ]; do rm -rf c || :; done) & for i in 1 2 3 4 5; do build slow.ptx o$i; cmp o$i plain; done; touch stop; wait; rm -rf c calls log; cold; warm'
    case_ 'a clock that goes back' 'cold; find c -exec touch -d "2100-01-01" {} +; forget_texts; warm; [ -z "$(find c -type f -newermt 2090-01-01)" ]'
    case_ 'the oldest go first, and those from the future before them' 'cold; for e in $(entries); do d=$(dirname $e); for age in 1 2 3; do echo x >$d/old$age; touch -d "-$age days" $d/old$age; done; echo x >$d/future; touch -d 2100-01-01 $d/future; done
        forget_texts; d=$(dirname "$(of_slow)"); rm "$(of_slow)"; PTXOPT_CACHE_SIZE=4 build slow.ptx o; [ -e $d/old1 ]; [ -e $d/old2 ]; [ -e $d/old3 ]; [ ! -e $d/future ]; forget_texts; rm "$(of_slow)"; PTXOPT_CACHE_SIZE=3 build slow.ptx o; [ -e $d/old1 ]; [ -e $d/old2 ]; [ ! -e $d/old3 ]
        forget_texts; rm "$(of_slow)"; PTXOPT_CACHE_SIZE=1 build slow.ptx o; [ "$(ls $d | wc -l)" = 1 ]; rm calls log; warm'
    case_ 'a size of nothing, and one that makes no sense, of which a warning tells' 'PTXOPT_CACHE_SIZE=0 cold; PTXOPT_CACHE_SIZE=0 cold; [ ! -e c ]; PTXOPT_CACHE_SIZE=-3x cold; PTXOPT_CACHE_SIZE=1e9 warm; for s in -3x 1e9 256M " 4" 99999999999999999999 1048577; do PTXOPT_CACHE_SIZE=$s build slow.ptx o; grep -q "warning.: .PTXOPT_CACHE_SIZE takes megabytes, 0 to 1048576, not .$s.: it is 256" log; rm log; done
        for s in 0 4 1048576 ""; do PTXOPT_CACHE_SIZE=$s build slow.ptx o; not grep -q warning log; done; unset PTXOPT_LOG; PTXOPT_CACHE_SIZE=x build slow.ptx o 2>said; grep -q "ptxas: warning: PTXOPT_CACHE_SIZE" said; PTXOPT_CACHE_SIZE=x "$BUILD/ptxopt" --guard="$REAL" slow.ptx -o o 2>said; grep -q "ptxopt: warning: PTXOPT_CACHE_SIZE" said; PTXOPT_CACHE_SIZE=x PTXOPT_GUARD=off build slow.ptx o 2>said; [ ! -s said ]'

    # ---- the job server -------------------------------------------------------------------------------------------
    export SLEEP=0.3
    case_ 'two jobs where there is no job server' 'cold; [ "$(most_at_once)" = 2 ]'
    case_ 'one where there is no token, none is taken for longer, and nothing hangs' 'mkfifo p; exec 8<>p; for flags in "--jobserver-auth=fifo:$PWD/p" "--jobserver-auth=8,8" "-j2 --jobserver-fds=8,8"; do export MAKEFLAGS=" -j4 $flags"; cold; [ "$(most_at_once)" = 1 ]; rm -r c times; done'
    case_ 'a token is a job, and goes back as it was' 'mkfifo p; exec 8<>p; for flags in "--jobserver-auth=fifo:$PWD/p" "--jobserver-auth=8,8" "--jobserver-fds=8,8" "--jobserver-auth=8,9 --jobserver-auth=8,8"; do printf t >&8; export MAKEFLAGS=" -j2 $flags -- x=1"; cold; [ "$(most_at_once)" = 2 ]
        [ "$(timeout 2 head -c 1 <&8)" = t ]; rm -r c times; done'
    case_ 'a job server that cannot be reached has no tokens' 'echo x >file; exec 8<file; for flags in fifo:/nowhere "fifo:$PWD/file" 77,78 8,8 -2,-2 nonsense "fifo:"; do MAKEFLAGS=" -j2 --jobserver-auth=$flags"; export MAKEFLAGS; cold; [ "$(most_at_once)" = 1 ]; rm -r c times; done'
    if make --version 2>/dev/null | grep -q '^GNU'; then
        case_ 'make -j1 to -j3' 'printf "all: a b\na b:\n\t+PTXOPT_CACHE=\$\$PWD/c\$@ ./ptxopt-ptxas --phases=barrier-elim,slow-division -- ./ptxas -arch=sm_80 slow.ptx -o \$@\n" >Makefile
            for j in 1 2 3 "1 -k" "1 x=-j2"; do timeout 60 make -j$j all; cmp a plain; cmp b plain; [ "$(most_at_once)" = "${j%% *}" ]; rm -r a b ca cb times; done; rm calls log; MAKEFLAGS=" -j -- x= -j1" cold; [ "$(most_at_once)" = 2 ]; rm -r c times; sed -i "s/+//" Makefile; timeout 60 make -j2 all; cmp a plain; cmp b plain; [ "$(most_at_once)" -le 2 ]'
    else
        echo 'skip make: GNU make is not at hand'
    fi
    case_ 'a front that is ended gives its token back' 'mkfifo p; exec 8<>p; printf t >&8; export MAKEFLAGS="--jobserver-auth=8,8" SLEEP=20; ./ptxopt-ptxas --phases=slow-division -- ./ptxas -arch=sm_80 slow.ptx -o o & sleep 1; kill -TERM $!; wait $! || :; [ "$(timeout 5 head -c 1 <&8)" = t ]'
fi
} >"$WORK/verdicts"
tally cache "$WORK/verdicts"
