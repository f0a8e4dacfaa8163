#!/bin/sh
# --guard and PTXOPT_GUARD: before stand-ins for ptxas that fail in every way, and before ptxas itself, which turns rewrites of a test
# binary back that are right and slow. What is remembered is tests/cache.sh's. usage: [BUILD=build] tests/guard.sh [PART-OF-A-NAME]
set -u
cd "$(dirname "$0")/.." || exit 1
. tests/lib.sh
. tests/cases.sh
case $BUILD in /*) ;; *) BUILD=$(pwd)/$BUILD ;; esac
STRIDES=$(pwd)/examples/strides.nvcc.ptx
TAILS=$(pwd)/tests/guard/tails.ptx
RECORD=$(pwd)/src/judge/guard/record.def
THREADED=$(pwd)/tests/phase/jump-threading/always_decided.ptx
WORK=$BUILD/work/guard
unset PTXOPT PTXOPT_FLAGS PTXOPT_PTXAS PTXOPT_LOG PTXOPT_FRONTS PTXOPT_GUARD CUDA_HOME CUDA_PATH PTXOPT_LIMIT
rm -rf "$WORK"
mkdir -p "$WORK/input" "$WORK/tmp"
export TMPDIR="$WORK/tmp"
# The record lets the guard ask nothing about the sample: a kernel that it asks about comes with it.
cp tests/sample.ptx "$WORK/input/sample.ptx"
{ cat tests/sample.ptx; sed "1,/^.address_size/d" tests/guard/tails.ptx; } >"$WORK/input/in.ptx"
cp tests/guard/slow.ptx tests/guard/loads.ptx tests/guard/entries.ptx tests/guard/spills.ptx "$WORK/input"
"$BUILD/ptxopt" "$WORK/input/in.ptx" -o "$WORK/input/want.ptx"

# How the stand-in behaves: FAKE=crash, hang, refuse (what ptxopt made), refuse-all, garbage, other-original (than the text's), or, for
# what ptxopt made alone, short and other.
# With REAL, a path to ptxas, it does else what ptxas does.
cat >"$WORK/input/ptxas" <<'END'
#!/bin/sh
echo "$*" >>calls
ours= out=
for word; do
    case $word in /dev/fd/*) ours=$((${ours:-0} + 1)) ;; --output-file=*) out=${word#*=} ;; *.cubin | o) out=$word ;; esac
done
last=$(for word; do echo "$word"; done | grep '^/dev/fd/\|[.]ptx$' | tail -1)
cp "$last" "seen.$$"
made=
cmp -s "$last" in.ptx || cmp -s "$last" slow.ptx || [ "$(grep -c "%r1, 100;" "$last")" = 2 ] || made=1
case ${FAKE:-}$made in
crash*) kill -SEGV $$ ;;
hang*) exec sleep 60 ;;
refuse-all* | refuse1) echo "ptxas $last, line 3; error" >&2; exit 255 ;;
garbage*) echo 'no cubin' >"$out"; exit 0 ;;
other1 | other-original) exec "$REAL" -arch=sm_80 loads.ptx -o "$out" ;;
worse1) awk '{ print } /ld.global.u32/ { for (i = 0; i < 50; i++) print "mad.lo.s32 %r2, %r2, %r1, 7;" }' "$last" >worse.ptx; exec "$REAL" -arch=sm_80 worse.ptx -o "$out" ;;
esac
[ -n "${REAL:-}" ] || exit 0
"$REAL" "$@" || exit
case ${FAKE:-}$made in
short1) head -c 900 "$out" >"$out.short"; mv "$out.short" "$out" ;;
newer1) printf '\011' | dd of="$out" bs=1 seek=8 conv=notrunc 2>/dev/null ;;
esac
END
chmod +x "$WORK/input/ptxas"

part=${1:-}
begin_case() { rm -rf "${TMPDIR:?}"/*; export PTXOPT_LOG="$case_dir/log"; }
end_case() { [ -z "$(ls "$TMPDIR")" ]; }
ptxopt() { timeout 60 "$BUILD/ptxopt" "$@"; }
# --ignore-exits: some of the slow rewrites add barriers, and a function goes back where one is new.
faulty() { timeout 60 "$BUILD/ptxopt-faulty" --ignore-exits "$@"; }
front() { timeout 60 "$BUILD/ptxopt-ptxas" "$@"; }
runs() { [ "$(wc -l <calls)" = "$1" ]; }
# original WORDS: the original text is used, exit status 0, and the reason holds the words.
original() { exits 0 ptxopt --guard=./ptxas --guard-limit=1 in.ptx -o o; cmp o in.ptx; says "warning: in.ptx: the original is used: .*$1"; }
# turned_back PHASE: without the guard it makes the kernel worse; with it the text is what it is without the phase.
turned_back()
{
    faulty --phases="$1" slow.ptx -o alone.ptx
    "$REAL" -arch=sm_80 slow.ptx -o old.cubin
    "$REAL" -arch=sm_80 alone.ptx -o alone.cubin
    exits 1 "$BUILD/cubinjudge" --kernel=slow old.cubin alone.cubin
    faulty --guard="$REAL" --phases="$1" slow.ptx -o guarded.ptx 2>said
    says "'slow' is left alone: ptxas made it worse: ."
    cmp guarded.ptx slow.ptx
}

# with_helper BODY: slow.ptx, both of whose kernels call h.
with_helper() { sed "s/^.address_size 64/&\n.func h(.param .u64 a) { .reg .f32 %f<3>; .reg .b64 %rd<2>; ld.param.u64 %rd1, [a]; $1 ret; }/; s/^ *ret;/ { .param .u64 x; st.param.u64 [x], %rd1; call h, (x); }\n&/" slow.ptx; }

{
case_ 'a ptxas that is missing is an error' 'exits 1 ptxopt --guard=./none in.ptx -o o; says "./none.*no program that can be run"; [ ! -e o ]'
case_ 'so is ptxopt itself' 'ln -s "$BUILD/ptxopt" shadow; exits 1 ptxopt --guard=./shadow in.ptx -o o; says "ptxopt itself"'
case_ 'so is none at hand' 'PTXOPT_PTXAS=./none exits 1 ptxopt --guard in.ptx -o o; says "PTXOPT_PTXAS names"; [ ! -e o ]'
case_ 'so is a target that cannot be' 'exits 1 ptxopt --guard --guard-arch=90 in.ptx; says "takes a target from sm_75 on, like sm_90"; exits 1 ptxopt --guard --guard-arch=sm_20 in.ptx; says "not .sm_20."; exits 1 ptxopt --guard-limit=0 in.ptx; says "a number of seconds"'
case_ 'bad input is refused as ever' 'echo nonsense >bad.ptx; exits 1 ptxopt --guard=./ptxas bad.ptx -o o; says "^bad.ptx:1:1: error"; [ ! -e calls ]'
case_ 'a ptxas that crashes' 'FAKE=crash original "ended by signal 11 over the original"; runs 2'
case_ 'a ptxas that hangs' 'FAKE=hang original "did not end within 1 seconds"'
case_ 'a ptxas that refuses all' 'FAKE=refuse-all original "refuses the original"'
case_ 'a ptxas that writes something else' 'FAKE=garbage original "cannot be judged: not a cubin"'
case_ 'a ptxas that writes nothing' 'original "cannot be judged: cannot be read"'
case_ 'what does not change needs no ptxas' 'ptxopt in.ptx -o same.ptx; exits 0 ptxopt --guard=./ptxas same.ptx -o o; cmp o same.ptx; [ ! -e calls ]; [ ! -s said ]'
case_ 'standard input' 'FAKE=crash exits 0 ptxopt --guard=./ptxas <in.ptx; cmp out in.ptx; says "<stdin>: the original is used"'
case_ 'the input may be the output' 'cp in.ptx x.ptx; FAKE=crash exits 0 ptxopt --guard=./ptxas x.ptx -o x.ptx; cmp x.ptx in.ptx'
case_ 'front: on trouble ptxas gets the original' 'FAKE=garbage PTXOPT_GUARD=on exits 0 front ./ptxas in.ptx -o o; tail -1 calls | grep -q "^in.ptx -o o"; grep -q "cannot be judged" log'
case_ 'front: strict makes it an error' 'FAKE=garbage PTXOPT=strict exits 1 front --guard -- ./ptxas in.ptx -o o; says "cannot be judged.*PTXOPT=strict"'
case_ 'front: the guard takes no other ptxas' 'exits 1 front --guard=/bin/true -- ./ptxas in.ptx -o o; says "takes no ptxas here"'
case_ 'front: PTXOPT_GUARD takes on, off, search or all' 'PTXOPT_GUARD=yes exits 1 front ./ptxas in.ptx -o o; says "PTXOPT_GUARD takes on, off, search or all"'
case_ 'front: the guard is on unless it is said to be off' 'FAKE=garbage exits 0 front ./ptxas in.ptx -o o; runs 3; grep -q "cannot be judged" log; rm calls log
    PTXOPT_GUARD=off exits 0 front ./ptxas in.ptx -o o; runs 1; grep -q "result.: .optimized" log; rm calls
    exits 0 front --guard=off -- ./ptxas in.ptx -o o; runs 1; rm calls; PTXOPT_GUARD=off FAKE=garbage exits 0 front --guard -- ./ptxas in.ptx -o o; runs 3'
case_ 'ptxopt alone asks no ptxas' 'PTXOPT_GUARD=on PTXOPT_PTXAS=./ptxas exits 0 ptxopt in.ptx -o o; cmp o want.ptx; exits 0 ptxopt --guard=./ptxas --guard=off in.ptx -o o; cmp o want.ptx; [ ! -e calls ]'
case_ 'every kernel that changed is asked about, whatever changed it' 'for o in --guard "--guard=all --guard" "--guard -O3" "--guard -O1" "--guard --phases=clean-up" "--guard --jump-threading-threshold=7" "--guard --assume=1d-blocks" "--guard --disable=tail-merge"; do FAKE=crash exits 0 ptxopt $o --guard=./ptxas sample.ptx -o o; cmp o sample.ptx; runs 2; rm calls; done
    exits 0 ptxopt sample.ptx -o plain.ptx; not cmp -s plain.ptx sample.ptx; FAKE=garbage exits 0 front ./ptxas sample.ptx -o o; runs 3'
case_ 'the record names phases' 'ptxopt --list-phases >phases; sed -n "s/^RECORD(\"\\([a-z-]*\\)\", .*/\\1/p" "$RECORD" >names; [ "$(wc -l <names)" -ge 10 ]; for p in $(cat names); do grep -q "^ *$p " phases; done'
case_ 'cicc: no ptxas runs anyway, and none is asked' 'printf "#!/bin/sh\ncp in.ptx \"\$3\"\n" >cicc; chmod +x cicc; PTXOPT_PTXAS=./ptxas exits 0 timeout 60 "$BUILD/ptxopt-cicc" ./cicc x -o o; cmp o want.ptx; [ ! -e calls ]
    FAKE=crash PTXOPT_PTXAS=./ptxas PTXOPT_GUARD=on exits 0 timeout 60 "$BUILD/ptxopt-cicc" ./cicc x -o o; cmp o in.ptx; runs 2'
case_ 'front: a ptxas that hangs gets the original in the end' 'FAKE=hang exits 124 timeout 5 "$BUILD/ptxopt-ptxas" --guard-limit=1 -- ./ptxas in.ptx -o o; runs 3; grep -q "did not end within 1 seconds" log'
if [ -z "$PTXAS" ]; then
    skip_without_ptxas 'what the guard turns back'
else
    export REAL="$PTXAS"
    case_ 'what ptxas makes better stays' 'exits 0 ptxopt --guard=./ptxas in.ptx -o o; cmp o want.ptx; runs 2; [ ! -s said ]'
    case_ 'a kernel that does not change is not asked about' 'echo ".visible .entry still(.param .u64 p) { .reg .b64 %rd<2>; ld.param.u64 %rd1, [p]; st.global.u32 [%rd1], 7; ret; }" >>in.ptx; exits 0 ptxopt --guard=./ptxas in.ptx -o o; runs 2; for s in seen.*; do grep -q "entry still.*{ ret; }" $s; sed -n "/entry tails/,\$p" $s | grep -q mad.lo; done'
    case_ 'what ptxas spills of what is delivered is a remark' 'ptxopt --guard="$REAL" --explain --remarks=r spills.ptx >first 2>said; grep -q "ptxas  ptxas spills [0-9]* bytes" first; grep -A6 "^Name: *Spilled" r | grep -q "spills [0-9]* bytes: try .minnctapersm 1"
        ptxopt --explain --remarks=r spills.ptx >text; not grep -q "ptxas spills" text; not grep -q Spilled r; ptxopt --guard="$REAL" --explain in.ptx >text; not grep -q "spills [0-9]" text; sed "s/^.maxnreg 24/&\n.minnctapersm 2/" spills.ptx >many.ptx; ptxopt --guard="$REAL" --remarks=r many.ptx -o o; grep -q "smaller .minnctapersm" r
        bytes=$(sed -n "s/.*spilled bytes \([0-9]*\) to [0-9]*/\1/p" said); [ -z "$bytes" ] || grep -q "spills $bytes bytes" first'
    case_ 'refused: the original is used' 'FAKE=refuse original "refuses the optimized text"'
    case_ 'a cubin cut short' 'FAKE=short original "optimized text cannot be judged: a cubin"'
    case_ 'a cubin of an unknown version' 'FAKE=newer original "a version that is not known"'
    case_ 'another target' 'exits 0 ptxopt --guard=./ptxas --guard-arch=sm_90 in.ptx -o o; grep -q -e "-arch=sm_90" calls; not grep -q sm_80 calls'
    case_ 'a target in a comment is none' '{ echo "// one for each .target: this is the first"; cat in.ptx; } >commented.ptx
        target=$(sed -n "s/^[.]target \(sm_[0-9a-z]*\).*/\1/p" in.ptx); exits 0 ptxopt --guard=./ptxas commented.ptx -o o; [ -s calls ]; not grep -v -e "-arch=$target" calls'
    case_ 'front: the judged machine code is delivered' 'exits 0 front --guard -- ./ptxas -arch=sm_80 in.ptx -o o; runs 2
        "$REAL" -arch=sm_80 want.ptx -o plain; cmp o plain; grep -q "\"result\": \"optimized\"" log; grep -q "\"guard_ms\": [1-9]" log; [ "$(wc -l <log)" = 1 ]'
    case_ 'phases that do not always pay run where ptxas judges' 'cp "$STRIDES" s.ptx; exits 0 ptxopt s.ptx -o two.ptx; not grep -q "^	sub.s64" two.ptx; exits 0 ptxopt --guard=./ptxas s.ptx -o o; grep -q "^	sub.s64" o
        exits 0 front -- ./ptxas -arch=sm_80 s.ptx -o p; "$REAL" -arch=sm_80 o -o plain; cmp p plain; PTXOPT_GUARD=off exits 0 front -- ./ptxas -arch=sm_80 s.ptx -o p; "$REAL" -arch=sm_80 two.ptx -o plain; cmp p plain'
    case_ 'front: --output-file=, and no output named' 'exits 0 front --guard -- ./ptxas -arch=sm_80 --output-file=p in.ptx; "$REAL" -arch=sm_80 want.ptx -o plain; cmp p plain
        exits 0 front --guard -- ./ptxas -arch=sm_80 in.ptx; cmp elf.o plain'
    case_ 'front: what ptxas says is said once' 'exits 0 front --guard -- ./ptxas -v -arch=sm_80 in.ptx -o o; [ "$(grep -c "Compiling entry" said)" = "$(grep -c "\.entry" in.ptx)" ]'
    case_ 'front: a slow rewrite is not delivered' 'ln -s "$BUILD/ptxopt-faulty" ptxopt-ptxas
        timeout 60 ./ptxopt-ptxas --guard --phases=slow-root -- ./ptxas -arch=sm_80 slow.ptx -o o
        "$REAL" -arch=sm_80 slow.ptx -o plain; cmp o plain; grep -q "\"held_back\": 1" log; grep -q "\"result\": \"unchanged\"" log; runs 3; grep -q "[.]ptx.* -o o\$" calls'
    case_ 'the phase that rewrote is to blame: no search' 'timeout 60 "$BUILD/ptxopt-faulty" --guard=./ptxas --phases=jump-threading,nested-cond,slow-root --only-function=slow slow.ptx -o o 2>said; says "ptxas made it worse"; runs 2; cmp o slow.ptx'
    case_ 'the clean-up is trusted: no search' 'sed "s/bra END;/bra MIDDLE;/; s/^OTHER:/MIDDLE: bra END;\n&/" slow.ptx >f.ptx
        faulty --guard=search --guard=./ptxas --phases=clean-up,slow-root f.ptx -o o 2>said; says "slow. is optimized without slow-root"; runs 3; not grep -q MIDDLE o'
    case_ 'front: the original is not assembled once more' 'sed "/entry quick/,\$d" slow.ptx >one.ptx; ln -s "$BUILD/ptxopt-faulty" ptxopt-ptxas
        timeout 60 ./ptxopt-ptxas --guard --phases=slow-root -- ./ptxas -v -arch=sm_80 one.ptx -o o 2>said; runs 2; "$REAL" -v -arch=sm_80 one.ptx -o plain 2>plain.said; cmp o plain
        grep -q "\"result\": \"unchanged\"" log; [ "$(grep -c "Compiling entry" said)" = 1 ]'
    case_ 'nor is what the search has assembled' 'faulty --guard=./ptxas --guard=search --phases=slow-load loads.ptx -o o 2>said; says "no more than 2 rewrites"
        runs "$(for f in seen.*; do cksum <$f; done | sort -u | wc -l)"'
    case_ 'what did not change is not assembled' 'faulty --guard=./ptxas --phases=slow-root --only-function=slow slow.ptx -o o 2>said; [ "$(grep -l "^{ ret; }" seen.* | wc -l)" = 2 ]; not grep -q "{ ret; }" o'
    case_ 'long tables that no judged kernel reads are not assembled' '{ sed "/^.address_size 64/q" slow.ptx; awk "BEGIN { for (n = 0; n < 3; n++) { printf \".visible .global .align 4 .b8 table%s[2000] = {1\", n ? n : \"\"; for (i = 1; i < 2000; i++) printf \", %d\", i % 256; print \"};\" } print \".global .u64 to_it = table1;\" }"; sed "1,/^.address_size 64/d; s/^ *ret;/ ld.global.u32 %r1, [table2]; st.global.u32 [table2+4], %r1;\n&/" slow.ptx; } >f.ptx
        exits 0 faulty --guard=./ptxas --phases=slow-root --only-function=slow f.ptx -o o; says "slow. is left alone: ptxas made it worse"; for t in "" 1 2; do grep -q "table$t.2000" o; done; for s in seen.*; do not grep -q "table.2000" $s; grep -q "table1.2000" $s; grep -q "^.visible .global .align 4 .b8 table2.2000" $s; done; runs 2'
    case_ 'front: but it is delivered' 'exits 0 front --guard --only-function=slow -- ./ptxas -arch=sm_80 slow.ptx -o o; "$BUILD/ptxopt" --only-function=slow slow.ptx -o two.ptx; "$REAL" -arch=sm_80 two.ptx -o plain; cmp o plain'
    case_ 'rewrites before the one to blame stay' 'faulty --guard=search --guard="$REAL" --phases=slow-load loads.ptx -o o 2>said; says "loads. is optimized with no more than 2 rewrites of slow-load: ptxas made it worse"
        [ "$(grep -c ld.volatile o)" = 2 ]; "$REAL" -arch=sm_80 loads.ptx -o old.cubin; "$REAL" -arch=sm_80 o -o new.cubin; "$BUILD/cubinjudge" old.cubin new.cubin'
    case_ 'the other kernel keeps its phases' 'faulty --guard="$REAL" --guard=search --phases=tail-merge,barrier-elim,slow-division,slow-load slow.ptx -o o 2>said
        says "slow. is optimized without slow-division"; faulty --phases=barrier-elim slow.ptx --only-function=quick -o quick.ptx
        sed -n "/entry quick/,\$p" o >quick; sed -n "/entry quick/,\$p" quick.ptx | cmp quick; [ "$(grep -c bar.sync quick)" -lt 2 ]'
    case_ 'device functions are judged through the kernel that calls them' '
        sed "/^.version/,\$!d" slow.ptx | sed "s/^.visible .entry slow(.param .u64 p, .param .u32 n)/.func slow(.param .u64 p, .param .u32 n)/; /^.visible .entry quick/,\$d" >f.ptx
        printf "%s\n" ".visible .entry calls(.param .u64 q)" "{" " .reg .b64 %rd<2>;" " ld.param.u64 %rd1, [q];" " { .param .u64 a; .param .u32 b;" " st.param.u64 [a], %rd1;" " st.param.u32 [b], 5;" " call.uni slow, (a, b); }" " ret;" "}" >>f.ptx
        faulty --guard="$REAL" --phases=slow-root f.ptx -o o 2>said; says "calls. is left alone"; cmp o f.ptx'
    case_ 'kernels that share a function are left alone one by one' 'with_helper "st.global.f32 [%rd1], 0f00000000;" >f.ptx; exits 0 faulty --guard=./ptxas --phases=barrier-elim,slow-division f.ptx -o o; says "slow. is left alone: ptxas made it worse"; [ "$(wc -l <said)" = 1 ]
        faulty --phases=barrier-elim --skip-function=slow f.ptx | cmp - o; not cmp -s o f.ptx; ln -s "$BUILD/ptxopt-faulty" ptxopt-ptxas; rm calls; PTXOPT_CACHE=off exits 0 timeout 60 ./ptxopt-ptxas --phases=barrier-elim,slow-division -- ./ptxas -arch=sm_80 f.ptx -o p; runs 3; "$REAL" -arch=sm_80 o -o plain; cmp p plain; grep -q "held_back.: 1" log'
    case_ 'without what they share with kernels that gain by it' 'with_helper "bra A; A: st.global.f32 [%rd1], 0f00000000;" >f.ptx; exits 0 faulty --guard=./ptxas --phases=clean-up,barrier-elim,slow-division f.ptx -o o; says "slow. is left alone: ptxas made it worse"; [ "$(wc -l <said)" = 1 ]
        faulty --phases=clean-up,barrier-elim --skip-function=slow f.ptx | cmp - o; not cmp -s o f.ptx; not grep -q "bra A" o; runs 3'
    case_ 'and with it where that is not enough: no kernel stays worse' 'with_helper "ld.global.f32 %f1, [%rd1]; div.approx.f32 %f2, %f1, %f1; st.global.f32 [%rd1], %f2;" >f.ptx; exits 0 faulty --guard=./ptxas --phases=barrier-elim,slow-division f.ptx -o o; says ".slow. is left alone: ptxas made it worse"; says ".h. is left alone with .slow.: ptxas made it worse"; [ "$(wc -l <said)" = 2 ]; runs 4
        faulty --phases=barrier-elim --skip-function=slow f.ptx | cmp - o; "$REAL" -arch=sm_80 f.ptx -o old.cubin; "$REAL" -arch=sm_80 o -o new.cubin; "$BUILD/cubinjudge" old.cubin new.cubin; faulty --phases=barrier-elim,slow-division --skip-function=slow f.ptx -o n; "$REAL" -arch=sm_80 n -o new.cubin; exits 1 "$BUILD/cubinjudge" old.cubin new.cubin'
    case_ 'a shared function that is worse takes all of its callers along, by name' 'with_helper "ld.global.f32 %f1, [%rd1]; div.approx.f32 %f2, %f1, %f1; st.global.f32 [%rd1], %f2;" >f.ptx; exits 0 faulty --guard=./ptxas --phases=slow-division f.ptx -o o; for n in slow quick; do says ".$n. is left alone: ptxas made it worse: ."; done; says ".h. is left alone with"; [ "$(wc -l <said)" = 3 ]; cmp o f.ptx'
    case_ 'machine code of another module is said to be that' 'FAKE=other original "made of the optimized text is of another module"; FAKE=other-original original "made of the original is of another module"; FAKE=other exits 0 front --guard -- ./ptxas -arch=sm_80 in.ptx -o o; "$REAL" -arch=sm_80 in.ptx -o plain; cmp o plain; grep -q "is of another module" log'
    case_ 'one uniform counter for lanes of two entries is wrong' 'sed "s/^\t@!%p bra BODY;/\t@%p bra LATCH;/; /^\tbra LATCH;/d" entries.ptx >f.ptx; not cmp -s f.ptx entries.ptx
        "$REAL" -arch=sm_100 entries.ptx -o old.cubin; "$REAL" -arch=sm_100 f.ptx -o new.cubin; exits 1 "$BUILD/cubinjudge" old.cubin new.cubin; cp out said; says "worse by wrong.*wrong uniform counters 0 to 1"
        exits 0 "$BUILD/cubinjudge" --all new.cubin new.cubin; cp out said; says "k: same"'
    case_ 'fewer warps are worse' 'faulty --phases=slow-number slow.ptx -o o; "$REAL" -arch=sm_80 slow.ptx -o old.cubin; "$REAL" -arch=sm_80 o -o new.cubin; exits 1 "$BUILD/cubinjudge" --kernel=slow old.cubin new.cubin; cp out said; says "worse by warps.*warps 64 to 16"'
    case_ 'without a search a kernel that is worse is left alone as a whole, and the other one keeps its phases' '
        exits 0 ptxopt slow.ptx -o all.ptx; exits 0 faulty --guard=./ptxas --phases=barrier-elim,slow-division slow.ptx -o o; says "note: .slow. is left alone: ptxas made it worse: ."; runs 2
        sed -n "/entry slow/,/^}/p" o >slow; sed -n "/entry slow/,/^}/p" slow.ptx | cmp slow; faulty --phases=barrier-elim slow.ptx --skip-function=slow | cmp - o; not cmp -s o slow.ptx'
    case_ 'front: then the text is assembled once more' 'ln -s "$BUILD/ptxopt-faulty" ptxopt-ptxas; exits 0 timeout 60 ./ptxopt-ptxas --phases=barrier-elim,slow-division -- ./ptxas -arch=sm_80 slow.ptx -o o; runs 3
        faulty --phases=barrier-elim --skip-function=slow slow.ptx -o two.ptx; "$REAL" -arch=sm_80 two.ptx -o plain; cmp o plain; [ "$(wc -l <log)" = 1 ]
        grep -q "\"result\": \"optimized\", .*\"reverted\": \[{\"function\": \"slow\", \"how\": \"left alone\", \"why\": \"[^\"]*instructions" log'
    case_ 'front: reports are of what is done in the end' 'ln -s "$BUILD/ptxopt-faulty" ptxopt-ptxas; exits 0 timeout 60 ./ptxopt-ptxas --stats --remarks=r --phases=slow-division -- ./ptxas -arch=sm_80 slow.ptx -o o
        [ "$(grep -c "ptxopt - functions changed" said)" = 1 ]; says "0 ptxopt - functions changed"; not grep -q "Pass: *slow-division" r'
    case_ 'front: the search' 'ln -s "$BUILD/ptxopt-faulty" ptxopt-ptxas; PTXOPT_GUARD=search exits 0 timeout 60 ./ptxopt-ptxas --phases=tail-merge,barrier-elim,slow-division -- ./ptxas -arch=sm_80 slow.ptx -o o
        faulty --guard=search --guard="$REAL" --guard-arch=sm_80 --phases=tail-merge,barrier-elim,slow-division slow.ptx -o two.ptx; "$REAL" -arch=sm_80 two.ptx -o plain; cmp o plain; grep -q "optimized without slow-division" log'
    case_ 'a large kernel is left alone that gains little' 'large() { awk -v n="$1" "{ print } /ld.global.u32/ { for (i = 0; i < n; i++) printf \"\\tmad.lo.s32 %%r2, %%r2, %%r1, %d;\\n\", 1000 + i }" "$TAILS"; }; large 3000 >l.ptx; large 2800 >m.ptx; kernel() { front "$@" -- ./ptxas -arch=sm_80 "$f" -o o; runs "$n"; rm calls; }
        f=l.ptx n=1 kernel; tail -1 log | grep -q "result.: .unchanged., .functions.: 1, .changed.: 0"; "$REAL" -arch=sm_80 l.ptx -o plain; cmp o plain; for o in --guard=all -O3 --phases=tail-merge; do f=l.ptx n=2 kernel $o; tail -1 log | grep -q "changed.: 1"; done; f=m.ptx n=2 kernel; tail -1 log | grep -q "changed.: 1"
        ptxopt l.ptx >o; not cmp -s o l.ptx; ptxopt --guard=./ptxas l.ptx >o; cmp o l.ptx; [ ! -e calls ]; ptxopt --guard=./ptxas l.ptx -o o --remarks=r; grep -q "^Name: *LittleToGain" r; sed "s/ld.global.u32.*/&\nbar.sync 0; bar.sync 0;/" l.ptx >b.ptx; f=b.ptx n=2 kernel; tail -1 log | grep -q "changed.: 1"
        { cat l.ptx; sed "s/tails/other/; 1,/^.address_size/d" "$TAILS"; } >two.ptx; PTXOPT_CACHE=./c f=two.ptx n=2 kernel; cat c/*/* >team.tuned; ptxopt --tuned=team.tuned two.ptx >q; "$REAL" -arch=sm_80 q -o plain; cmp o plain; ptxopt two.ptx | cmp -s - q && exit 1; :'
    case_ 'front: what is likely to be worse is judged before a large text is assembled' '{ cat "$TAILS"; awk -v n=12000 "/^.visible .entry/ { print \".visible .entry large(.param .u64 out)\"; next } /^[.]/ { next } /bra|^[$]|setp/ { next } { print } /ld.global.u32/ { for (i = 0; i < n; i++) printf \"\\tmad.lo.s32 %%r2, %%r2, %%r1, %d;\\n\", 1000 + i }" "$TAILS"; } >in.ptx; of_all() { for s in seen.*; do [ "$(wc -l <$s)" -lt 12000 ] || echo $s; done | wc -l; }
        exits 0 front ./ptxas -arch=sm_80 in.ptx -o o; runs 3; [ "$(of_all)" = 1 ]; ptxopt in.ptx >two.ptx; not cmp -s in.ptx two.ptx; "$REAL" -arch=sm_80 two.ptx -o plain; cmp o plain; rm calls seen.*; FAKE=worse exits 0 front ./ptxas -arch=sm_80 in.ptx -o p; runs 3; [ "$(of_all)" = 1 ]; "$REAL" -arch=sm_80 in.ptx -o plain; cmp p plain; tail -1 log | grep -q "changed.: 0, .reverted.: .{.function.: .tails."
        rm calls seen.*; exits 0 front --guard=all -- ./ptxas -arch=sm_80 in.ptx -o p; runs 2; cmp o p; rm calls; cp "$TAILS" in.ptx; exits 0 front ./ptxas -arch=sm_80 in.ptx -o p; runs 2'
    case_ 'kernels that call the same function of another module are judged one by one' '
        sed "s/^.address_size 64/&\n.extern .func ext();/; s/^ *ret;/ call ext, ();\n&/" slow.ptx >f.ptx; exits 0 faulty --guard=./ptxas --phases=slow-root --only-function=slow f.ptx -o o; says "slow. is left alone"
        [ "$(grep -l "^{ ret; }" seen.* | wc -l)" = 2 ]'
    case_ 'what calls other modules is not linked' 'sed "s/^.visible .entry slow/.extern .func (.param .b32 r) other\n(\n.param .b32 a\n)\n;\n&/" slow.ptx >f.ptx; exits 255 "$REAL" -arch=sm_80 f.ptx -o plain || :
        faulty --guard=./ptxas --phases=slow-root f.ptx -o o 2>said; says "slow. is left alone: ptxas made it worse"; grep -q -e "-c" calls
        sed "s/ other\$/ vprintf/" f.ptx >g.ptx; not cmp -s f.ptx g.ptx; rm calls; faulty --guard=./ptxas --phases=slow-root g.ptx -o o 2>said; says "is left alone"; not grep -q -e " -c" calls'
    if command -v script >/dev/null; then
        case_ 'a terminal is shown how far it is, and nothing else is, nor by the front' 'script -qec "$BUILD/ptxopt --guard=$REAL in.ptx -o o" /dev/null >said </dev/null; says "guard: 2 of 2 texts assembled"; exits 0 ptxopt --guard="$REAL" in.ptx -o p; not says "texts assembled"; cmp o p
            script -qec "$BUILD/ptxopt-ptxas --guard=all -- $REAL -arch=sm_80 in.ptx -o c" /dev/null >said </dev/null; [ ! -s said ]; [ -s c ]'
    else
        echo 'skip the progress of the guard on a terminal: script is not available'
    fi
    for phase in $("$BUILD/ptxopt-faulty" --list-phases | grep -o '^slow-[a-z]*'); do
        case_ "$phase is turned back" "turned_back $phase"
    done
    [ "$("$BUILD/ptxopt-faulty" --list-phases | grep -c '^slow-')" -ge 10 ] || echo 'fail fewer than ten slow rewrites'
fi
} >"$WORK/verdicts"
tally guard "$WORK/verdicts"
