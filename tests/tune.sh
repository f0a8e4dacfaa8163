#!/bin/sh
# --tune, --tuned, --tune-ninja and --tune-read: before stand-ins for ptxas that fail in every way, and before ptxas itself.
# usage: [BUILD=build] tests/tune.sh [PART-OF-A-NAME]
# Each case runs in a folder of its own that holds in.ptx, an example of two kernels, and want.ptx, what
# -O2 makes of it.
set -u
cd "$(dirname "$0")/.." || exit 1
. tests/lib.sh
. tests/cases.sh
case $BUILD in /*) ;; *) BUILD=$(pwd)/$BUILD ;; esac
WORK=$BUILD/work/tune
unset PTXOPT PTXOPT_FLAGS PTXOPT_PTXAS PTXOPT_LOG PTXOPT_FRONTS PTXOPT_GUARD CUDA_HOME CUDA_PATH
rm -rf "$WORK"
mkdir -p "$WORK/input" "$WORK/tmp"
export TMPDIR="$WORK/tmp"
cp examples/merge_sort.clang.ptx "$WORK/input/in.ptx"
cp examples/gemm_int8.nvcc.ptx "$WORK/input/int8.ptx"
cp examples/bytecode.nvcc.ptx "$WORK/input/calls.ptx"
cp examples/bfs.nvcc.ptx "$WORK/input/rounds.ptx" # some kernel is better with two variants together
"$BUILD/ptxopt" "$WORK/input/in.ptx" -o "$WORK/input/want.ptx"

# ptxas ignores setmaxnreg here (C7508) unless .minnctapersm stands beside .reqntid.
cat >"$WORK/input/resize.ptx" <<'END'
.version 8.0
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 out)
.reqntid 384
{
    .reg .pred %p<3>;
    .reg .b32 %r<6>;
    .reg .b64 %rd<2>;
    ld.param.u64 %rd1, [out];
    mov.u32 %r1, %tid.x;
    setp.lt.u32 %p1, %r1, 128;
    @%p1 bra PRODUCER;
    setmaxnreg.inc.sync.aligned.u32 232;
    st.global.u32 [%rd1], %r1;
    bra END;
PRODUCER:
    setmaxnreg.dec.sync.aligned.u32 40;
    st.global.u32 [%rd1+4], %r1;
END:
    ret;
}
END
# spilling VERSION: a kernel that keeps 90 loaded numbers at a time, of which a block of 1024 threads spills some.
spilling()
{
    printf '.version %s\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 out)\n.maxntid 1024\n{\n' "$1"
    printf '.reg .f32 %%f<200>;\n.reg .b64 %%rd<2>;\nld.param.u64 %%rd1, [out];\n'
    awk 'BEGIN { for (i = 0; i < 90; i++) print "ld.volatile.global.f32 %f" i ", [%rd1+" 4 * i "];"
        for (i = 0; i < 90; i++) print "fma.rn.f32 %f" 100 + i % 50 ", %f" i ", %f" (i * 7 + 3) % 90 ", %f" (i * 11 + 5) % 90 ";\nst.volatile.global.f32 [%rd1+" 4 * i "], %f" 100 + i % 50 ";" }'
    echo 'ret; }'
}
spilling 9.0 >"$WORK/input/spilling.ptx"
# specialised DIRECTIVE: a kernel in the style of CUTLASS and FlashInfer. One warpgroup of three gives its registers away, the others keep
# 200 numbers at a time, which fit into the 232 registers that they ask for and not into the 168 that they begin with.
specialised()
{
    printf '.version 8.0\n.target sm_90a\n.address_size 64\n.visible .entry k(.param .u64 in, .param .u64 out)\n%s\n{\n' "$1"
    printf '.reg .f32 %%f<260>;\n.reg .b64 %%rd<4>;\n.reg .b32 %%r<4>;\n.reg .pred %%p<2>;\nld.param.u64 %%rd1, [in];\nld.param.u64 %%rd2, [out];\n'
    printf 'mov.u32 %%r1, %%tid.x;\nsetp.lt.u32 %%p1, %%r1, 128;\n@%%p1 bra PRODUCER;\nsetmaxnreg.inc.sync.aligned.u32 232;\n'
    awk 'BEGIN { for (i = 0; i < 200; i++) print "ld.volatile.global.f32 %f" i ", [%rd1+" 4 * i "];"
        for (i = 0; i < 200; i++) print "fma.rn.f32 %f" 200 + i % 50 ", %f" i ", %f" (i * 7 + 3) % 200 ", %f" (i * 11 + 5) % 200 ";\nst.volatile.global.f32 [%rd2+" 4 * i "], %f" 200 + i % 50 ";" }'
    printf 'bra END;\nPRODUCER:\nsetmaxnreg.dec.sync.aligned.u32 40;\nst.global.u32 [%%rd2+800], %%r1;\nEND:\nret;\n}\n'
}
# waiting: a kernel that spills some of 68 loaded numbers while it follows a chain. With fewer registers more warps fit, and it spills more.
waiting()
{
    printf '.version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 out)\n.maxntid 128\n.maxnreg 64\n{\n'
    printf '.reg .f32 %%f<70>;\n.reg .b64 %%rd<4>;\n.reg .pred %%p<2>;\nld.param.u64 %%rd1, [out];\n'
    awk 'BEGIN { for (i = 0; i < 68; i++) print "ld.volatile.global.f32 %f" i ", [%rd1+" 4 * i "];"
        print "mov.u64 %rd2, %rd1;\nNEXT:\nld.global.u64 %rd2, [%rd2];\nsetp.ne.u64 %p1, %rd2, 0;\n@%p1 bra NEXT;"
        for (i = 0; i < 68; i++) print "st.volatile.global.f32 [%rd1+" 4 * i "], %f" i ";" }'
    echo 'ret; }'
}
waiting >"$WORK/input/waiting.ptx"
specialised '.reqntid 384' >"$WORK/input/specialised.ptx"
specialised '.maxntid 384, 1, 1' >"$WORK/input/bounded.ptx"
# A loop that ptxas may not unroll, and one that it may.
cat >"$WORK/input/rolled.ptx" <<'END'
.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 in, .param .u64 out, .param .u32 n)
{
    .reg .pred %p<3>;
    .reg .b32 %r<6>;
    .reg .f32 %f<6>;
    .reg .b64 %rd<6>;
    ld.param.u64 %rd1, [in];
    ld.param.u64 %rd2, [out];
    ld.param.u32 %r2, [n];
    mov.u32 %r1, 0;
    mov.f32 %f1, 0f00000000;
LOOP:
    .pragma "nounroll";
    ld.global.nc.f32 %f2, [%rd1];
    fma.rn.f32 %f1, %f2, %f2, %f1;
    add.s64 %rd1, %rd1, 4;
    add.s32 %r1, %r1, 1;
    setp.ne.s32 %p1, %r1, %r2;
    @%p1 bra LOOP;
    st.global.f32 [%rd2], %f1;
    ret;
}
END

# How the stand-in behaves: FAKE=crash, hang, refuse, garbage, short; with `some`, only over texts but the first one. FAKE=warn-lever
# and refuse-lever: over texts with .minnctapersm.
cat >"$WORK/input/ptxas" <<'END'
#!/bin/sh
out=
for word; do case $word in --output-file=*) out=${word#*=} ;; esac; done
echo "$*" >>calls
case ${FAKE:-} in some-*) [ "$(wc -l <calls)" -gt 1 ] && FAKE=${FAKE#some-} ;; esac
echo begin >>times
trap 'echo end >>times' EXIT
for word; do case $word in /dev/fd/* | /proc/*/fd/*) grep -q minnctapersm "$word" && lever=1 ;; esac; done
case ${FAKE:-}${lever:-} in
warn-lever1) echo "ptxas FILE, line 3; warning : a lever" >&2 ;;
refuse-lever1) echo "ptxas fatal   : no lever" >&2; exit 255 ;;
esac
case ${FAKE:-} in
sleep) sleep 0.3; exit 255 ;;
crash) kill -SEGV $$ ;;
hang) exec sleep 60 ;;
refuse) echo "ptxas, line 3; error" >&2; exit 255 ;;
garbage) echo 'no cubin' >"$out"; exit 0 ;;
esac
[ -n "${REAL:-}" ] || exit 0
"$REAL" "$@" || exit
if [ "${FAKE:-}" = short ]; then head -c 900 "$out" >"$out.short"; mv "$out.short" "$out"; fi
END
chmod +x "$WORK/input/ptxas"

part=${1:-}
begin_case() { rm -rf "${TMPDIR:?}"/*; }
end_case() { [ -z "$(ls "$TMPDIR")" ]; }
ptxopt() { timeout 100 "$BUILD/ptxopt" "$@"; }
# untuned WORDS: the output is what -O2 makes, exit status 0, and the reason holds the words.
untuned() { exits 0 ptxopt --tune=./ptxas --guard-limit=1 in.ptx -o o; cmp o want.ptx; says "warning: in.ptx: nothing is tuned: .*$1"; }
# bad_line LINE PLACE MESSAGE: a file of decisions with that line is refused there.
bad_line() { { echo '# decisions'; printf '%s\n' "$1"; } >d; exits 1 ptxopt --tuned=d in.ptx -o o; says "^d:2:$2: error: $3"; says '\^'; [ ! -e o ]; }
# most_at_once: how many stand-ins ran at a time.
most_at_once() { awk '/begin/ { now++ } /end/ { now-- } now > most { most = now } END { print most + 0 }' times; }
# not_worse OLD NEW [OPTION]: of kernels of two texts, by the definition.
not_worse() { "$REAL" -arch=sm_75 "$1" -o old.cubin; "$REAL" -arch=sm_75 "$2" -o new.cubin; "$BUILD/cubinjudge" old.cubin new.cubin; }

{
case_ 'a ptxas that is missing is an error' 'exits 1 ptxopt --tune=./none in.ptx -o o; says "--tune names .\./none.*no program that can be run"; [ ! -e o ]'
case_ 'so is ptxopt itself' 'ln -s "$BUILD/ptxopt" shadow; exits 1 ptxopt --tune=./shadow in.ptx -o o; says "ptxopt itself"'
case_ 'levers take numbers within their limits' 'for o in max-registers=256 max-registers=x max-registers= min-ctas=33 min-ctas=-1 rolled=x unrolled=1.5 unrolled=; do exits 1 ptxopt --levers-$o in.ptx -o o; says "error: --levers-${o%%=*} takes a number"; [ ! -e o ]; done; exits 1 ptxopt --block-size=1025 in.ptx -o o; says "block-size takes a number from 0 to 1024"
    for o in max-registers=0 min-ctas=0 rolled=0 unrolled=0; do exits 0 ptxopt --levers-$o in.ptx -o o; cmp o want.ptx; done'
case_ 'a decision sets nothing unsafe' 'for o in --assume-in-bounds --ignore-call-safety --assume-in-b "-O3 --ignore-call-safety"; do bad_line "k 0123456789abcdef: $o" "[0-9]*" "--[a-z-]* is unsafe"; done
    bad_line "k 0123456789abcdef: --ignore-exits" 21 ".--ignore-exits. is neither"; bad_line "k 0123456789abcdef: --assume=in-bounds" 21 ".--assume=in-bounds. is neither"; echo "k 0123456789abcdef: -O1 --enable=stride-unroll" >d; exits 0 ptxopt --tuned=d in.ptx -o o; echo "k 0123456789abcdef: --no-assume-in-bounds --assume-1d-blocks" >d; exits 0 ptxopt --tuned=d in.ptx -o o; echo "k 0123456789abcdef: --assume-in-bounds" >d; exits 0 ptxopt --assume-in-bounds --tuned=d in.ptx -o o'
case_ 'nor does it promise a block size, even a smaller one' 'bad_line "k 0123456789abcdef: --block-size=64" 21 "--block-size is unsafe"; exits 1 ptxopt --block-size=128 --tuned=d in.ptx -o o; says "is unsafe"
    exits 1 ptxopt --block-size=1025 in.ptx; says "from 0 to 1024"; exits 1 ptxopt --block-size=x in.ptx; says "takes a number"'
case_ 'options that contradict' 'exits 1 ptxopt --tune --guard in.ptx; says "--guard is for other runs"; exits 1 ptxopt --tune --tuned=d in.ptx; says "one of them is enough"
    exits 1 ptxopt --tune-out=d in.ptx; says "needs --tune or --tune-read"; exits 1 ptxopt --tune-ninja=d in.ptx; says "needs --tune"
    exits 1 ptxopt --tune --tune-read=d in.ptx; says "asks no ptxas"; exits 1 ptxopt --tune --tune-jobs=0 in.ptx; says "--tune-jobs takes a number of processes"
    exits 1 ptxopt --tune --tune-budget=x in.ptx; says "--tune-budget takes a number of seconds"'
case_ 'bad input is refused as ever' 'echo nonsense >bad.ptx; exits 1 ptxopt --tune=./ptxas bad.ptx -o o; says "^bad.ptx:1:1: error"; [ ! -e calls ]'
case_ 'a ptxas that crashes' 'FAKE=crash untuned "ended by signal 11"'
case_ 'a ptxas that hangs' 'FAKE=hang untuned "did not end within 1 seconds"'
case_ 'a ptxas that refuses all' 'FAKE=refuse untuned "refuses the text"'
case_ 'a ptxas that writes something else' 'FAKE=garbage untuned "cannot be judged: not a cubin"'
case_ 'a ptxas that writes nothing' 'untuned "cannot be judged: cannot be read"'
case_ 'what has no variants needs no ptxas' 'printf ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k() { ret; }\n" >k.ptx
    exits 0 ptxopt --tune=./ptxas k.ptx -o o; cmp o k.ptx; [ ! -e calls ]; says "0 of 1 kernels tuned, 0 runs"'
case_ 'a file of decisions that is missing' 'exits 1 ptxopt --tuned=none in.ptx -o o; says "cannot read .none.: No such file"; [ ! -e o ]'
case_ 'a line without a hash' 'bad_line "kernel: -O3" 9 "a decision is NAME HASH: OPTIONS"; not says usage'
case_ 'a line of one word' 'bad_line "kernel" 1 "a decision is NAME HASH: OPTIONS"'
case_ 'a hash that is none' 'bad_line "kernel 123456789abcdefg: -O3" 8 "a decision is"; bad_line "kernel 123456789abcdef01: -O3" 8 "a decision is"'
case_ 'a level that is none' 'bad_line "kernel 0123456789abcdef: --tail-merge-size=2 -O4" 46 "-O takes 0, 1, 2 or 3, not .4."'
case_ 'an option that is none' 'bad_line "kernel 0123456789abcdef: --tail-merge-sice=2" 26 "unknown option .--tail-merge-sice.; did you mean"'
case_ 'a value that is none' 'bad_line "kernel 0123456789abcdef: --tail-merge-size=two" 26 "--tail-merge-size takes a number"'
case_ 'a guard with a word, which asks' 'bad_line "kernel 0123456789abcdef: --guard=off" 26 ".--guard=off. is neither"; bad_line "kernel 0123456789abcdef: -O2 --guard=./ptxas" 30 ".--guard=./ptxas. is neither"; echo "kernel 0123456789abcdef: -O2 --guard" >d; exits 0 ptxopt --tuned=d in.ptx -o o; [ ! -s said ]'
case_ 'two decisions that differ: the last one counts, with a warning' 'ptxopt --list-phases >/dev/null; h=0123456789abcdef; printf "k $h: -O1\nk $h: -O1 --layout-invert=always # more\nj $h: -O2\nk fedcba9876543210: -O3\n" >d; exits 0 ptxopt --tuned=d in.ptx -o o; says "^d:2:1: warning: .k. has another decision before this one, .-O1., which does not count"; [ "$(grep -c warning said)" = 1 ]
    printf "k $h: -O1 --disable=layout\nk $h: --disable=layout -O2 -O1 # the same\n" >d; exits 0 ptxopt --tuned=d in.ptx -o o; [ ! -s said ]; printf "k $h: -O2\nk $h: -O2 --guard\n" >d; exits 0 ptxopt --tuned=d in.ptx -o o; says "^d:2:1: warning"; echo "k $h: -O2" >d; echo "k $h: -O3" >e; exits 0 ptxopt --tuned=d --tuned=e in.ptx -o o; [ ! -s said ]'
case_ 'a function that one of two decisions leaves alone is left alone' 'h=0123456789abcdef; printf "k $h: --disable=all\nk $h: -O2 --guard\n" >d; exits 0 ptxopt --tuned=d in.ptx -o o; says "^d:2:1: warning: .k. is left alone, as another decision before this one says"'
case_ 'a phase that is none' 'bad_line "kernel 0123456789abcdef: --disable=tail" 26 "--disable: unknown phase .tail."'
case_ 'options that are not about phases' 'bad_line "kernel 0123456789abcdef: -O3 --remarks=x" 30 ".--remarks=x. is neither -O, --disable, --enable, --guard nor a knob"; bad_line "kernel 0123456789abcdef: -O3 word" 30 "unknown option .word."'
case_ 'decisions of other texts are passed over, with a remark' 'echo "scan_step 0123456789abcdef: -O0" >d; ptxopt --tuned=d --remarks=r in.ptx -o o; cmp o want.ptx; grep -q "Name: *NotTuned" r
    ptxopt --remarks=r in.ptx -o o; not grep -q NotTuned r'
case_ 'blank lines, comments and CR LF' 'printf "\r\n# nothing\r\n   \r\nk 0123456789abcdef: -O1 # why\r\n" >d; ptxopt --tuned=d in.ptx -o o; cmp o want.ptx'
case_ 'front: --tuned applies, --tune is for ptxopt' 'exits 1 "$BUILD/ptxopt-ptxas" --tune -- ./ptxas -arch=sm_80 in.ptx -o o; says "are for ptxopt"; FAKE= exits 0 "$BUILD/ptxopt-ptxas" --tuned=/dev/null -- ./ptxas -arch=sm_80 in.ptx -o o; grep -q /dev/fd calls'
if [ -z "$PTXAS" ]; then
    skip_without_ptxas 'what --tune chooses'
else
    export REAL="$PTXAS"
    (cd "$WORK/input" && "$BUILD/ptxopt" --tune="$PTXAS" --tune-jobs="$JOBS" --tune-out=best.tuned in.ptx -o best.ptx 2>best.said)
    case_ 'it is left alone whichever decision stands first' 'sed "s/: .*/: --disable=all/" best.tuned >no; cat no best.tuned >a; cat best.tuned no >b; for d in a b; do exits 0 ptxopt --tuned=$d in.ptx -o o; cmp o in.ptx; done; ptxopt --tuned=best.tuned in.ptx -o o; not cmp -s o in.ptx'
    case_ 'setmaxnreg that ptxas ignores gets the line that makes it count' 'exits 0 ptxopt --tune=./ptxas --tune-out=d resize.ptx -o o; says ".k. is tuned with --levers-min-ctas=1: .*setmaxnreg obeyed 0 to 2"; grep -qx ".minnctapersm 1" o; grep -q "^k [0-9a-f]*: -O2 --levers-min-ctas=1 #" d
        export PATH=/nonexistent; "$BUILD/ptxopt" --tuned=d resize.ptx -o p; /usr/bin/cmp o p'
    case_ 'a front applies that, unless the command line decides about registers' 'exits 0 ptxopt --tune=./ptxas --tune-out=d resize.ptx -o best.ptx
        for option in -O3 -maxrregcount=64 -minnctapersm=1 -c; do "$REAL" -arch=sm_90a $option best.ptx -o best; "$REAL" -arch=sm_90a $option resize.ptx -o plain
            exits 0 "$BUILD/ptxopt-ptxas" --tuned=d -- "$REAL" -arch=sm_90a $option resize.ptx -o o; if [ $option = -O3 ]; then cmp o best; not cmp -s o plain; else cmp o plain; fi; done'
    case_ 'kernels with a warpgroup that fetches and others that compute get it, and spill no more' 'spills() { "$REAL" -v -arch=sm_90a "$1" -o o.cubin >said 2>&1; }
        for f in specialised bounded; do spills $f.ptx; says "C7508.*setmaxnreg. ignored"; not says " 0 bytes spill stores"; exits 0 ptxopt --remarks=r $f.ptx -o o; [ "$(grep -c "ptxas ignores setmaxnreg (C7508) unless .*: add .minnctapersm 1" r)" = 1 ]
            exits 0 ptxopt --tune=./ptxas --assume=full-blocks --tune-out=d $f.ptx -o o; says "is tuned with --levers-min-ctas=1: .*spilled bytes [0-9]* to 0, setmaxnreg obeyed 0 to 2"; grep -qx ".minnctapersm 1" o
            spills o; says " 0 bytes spill stores"; not says C7508; exits 0 ptxopt --remarks=r o -o p; not grep -q "ignores setmaxnreg" r; done'
    case_ '.maxntid says only how many threads there are at most, unless more is promised' 'exits 0 ptxopt --tune=./ptxas --tune-out=d bounded.ptx -o o; not grep -q minnctapersm o; exits 0 ptxopt --levers-min-ctas=1 --remarks=r bounded.ptx -o o; not grep -q minnctapersm o; grep -q "a launch may have fewer warps than .maxntid says (--assume=full-blocks: none has)" r
        exits 0 ptxopt --tune=./ptxas --assume=full-blocks --tune-out=d bounded.ptx -o o; ptxopt --tuned=d bounded.ptx -o p; not grep -q minnctapersm p; ptxopt --tuned=d --assume=full-blocks bounded.ptx | cmp - o; rm o; bad_line "k 0123456789abcdef: --assume-full-blocks" "[0-9]*" "--assume-full-blocks is unsafe"'
    case_ 'where the registers do not suffice, it stays ignored' 'sed s/232/240/ resize.ptx >x.ptx; exits 0 ptxopt --tune=./ptxas x.ptx -o o; not grep -q minnctapersm o; says "0 of 1 kernels tuned"'
    case_ 'a lever that ptxas warns of is not used, and said once' 'FAKE=warn-lever exits 0 ptxopt --tune=./ptxas resize.ptx -o o; not grep -q minnctapersm o; says "note: --levers-min-ctas=1 is not used: ptxas says: warning : a lever"; [ "$(grep -c "is not used" said)" = 1 ]'
    case_ 'so is one that it refuses' 'FAKE=refuse-lever exits 0 ptxopt --tune=./ptxas resize.ptx -o o; not grep -q minnctapersm o; says "note: --levers-min-ctas=1 is not used: ptxas says: fatal   : no lever"; [ "$(grep -c "is not used" said)" = 1 ]'
    case_ 'so is one that it ignores' 'sed /setmaxnreg/d resize.ptx >x.ptx; exits 0 ptxopt --tune=./ptxas x.ptx -o o; not grep -q minnctapersm o; says "note: --levers-min-ctas=1 had no effect on any kernel"; [ "$(grep -c "had no effect" said)" = 1 ]'
    case_ 'a loop that should be unrolled loses its pragma' 'exits 0 ptxopt --tune=./ptxas --tune-out=d rolled.ptx -o o; says "is tuned with .*--levers-unrolled"; not grep -q pragma o; ptxopt --tuned=d rolled.ptx | cmp - o'
    if "$REAL" -arch=sm_80 "$WORK/input/spilling.ptx" -o "$WORK/spilling.cubin" 2>"$WORK/spilling.said"; then
        case_ 'spills go to shared memory, where that is allowed' 'exits 0 ptxopt --tune=./ptxas --tune-out=d spilling.ptx -o o; says "is tuned with .*--levers-shared-spills"; grep -q "pragma .enable_smem_spilling.;" o; "$REAL" -arch=sm_80 o -o o.cubin; ptxopt --tuned=d spilling.ptx | cmp - o
            sed "s/^.visible/.extern .shared .align 16 .b8 room[];\n&/" spilling.ptx >x.ptx; exits 0 ptxopt --tune=./ptxas x.ptx -o o; not grep -q smem_spilling o'
    else
        echo 'skip spills to shared memory: this ptxas does not know .version 9.0'
    fi
    case_ 'a decision to write .maxntid writes what the command line promises, or nothing' 'sed /reqntid/d resize.ptx >x.ptx; exits 0 ptxopt --tune=./ptxas --tune-out=d x.ptx -o o; sed "s/: -O2.*/: --levers-max-threads/" d >e; grep -q max-threads e
        ptxopt --tuned=e x.ptx -o o; cmp o x.ptx; ptxopt --tuned=e --block-size=96 x.ptx -o o; grep -qx ".maxntid 96" o'
    case_ 'a kernel that spills gets no lever with which it spills more' 'exits 0 ptxopt --tune=./ptxas waiting.ptx -o o; not grep -q "maxnreg [0-5]" o; ptxopt --levers-max-registers=56 waiting.ptx -o p; for t in o p; do "$REAL" -v -arch=sm_80 $t -o $t.cubin 2>$t.said; sed -n "s/.* \([0-9]*\) bytes spill stores.*/\1/p" $t.said; done >spilled; [ "$(sed -n 1p spilled)" -gt 0 ]; [ "$(sed -n 2p spilled)" -gt "$(sed -n 1p spilled)" ]'
    case_ 'registers are bounded in steps of eight where that gains' 'exits 0 ptxopt --tune=./ptxas --tune-out=d int8.ptx -o o; says "is tuned with .*--levers-max-registers=[0-9]*"; grep -qx ".maxnreg [0-9]*" o; ptxopt --tuned=d int8.ptx | cmp - o'
    case_ 'some kernel is tuned, and none is worse than with -O2, nor than the input' 'cat best.said; grep -q "is tuned with" best.said; not cmp -s best.ptx want.ptx; not_worse want.ptx best.ptx; not_worse in.ptx best.ptx'
    case_ 'the decisions give the same bytes without ptxas' 'export PATH=/nonexistent; "$BUILD/ptxopt" --tuned=best.tuned in.ptx -o o; /usr/bin/cmp o best.ptx' 
    case_ 'other jobs, the same decisions' 'ptxopt --tune=./ptxas --tune-jobs=3 --tune-out=d in.ptx -o o; cmp d best.tuned; cmp o best.ptx'
    case_ 'they hold for a function whose file changes around it' '
        sed "s/\\\$L__BB\\([0-9]*\\)_/\$L__BB7\\1_/g; s/^\\.address_size 64/&\n.visible .entry first() { ret; } \\/\\/ more/; s/^\\([[:space:]]*\\)ret;/\\1ret; \\/\\/ so/" in.ptx >moved.ptx
        not cmp -s moved.ptx in.ptx; ptxopt --tuned=best.tuned --remarks=r moved.ptx -o o; grep -A9 NotTuned r | grep -q "Function: *.first"; [ "$(grep -c NotTuned r)" = 1 ]'
    case_ 'and not for one that changes itself' 'sed "0,/mov.u32/s//mov.b32/" in.ptx >other.ptx; not cmp -s other.ptx in.ptx; ptxopt --tuned=best.tuned --remarks=r other.ptx -o o; grep -q NotTuned r'
    case_ 'nor for another target' 'sed "s/sm_75/sm_80/" in.ptx >other.ptx; not cmp -s other.ptx in.ptx; ptxopt --tuned=best.tuned --remarks=r other.ptx -o o; [ "$(grep -c NotTuned r)" = "$(grep -c "^[^#]" best.tuned)" ]'
    case_ 'candidates that crash ptxas are no choice' 'FAKE=some-crash exits 0 ptxopt --tune=./ptxas --tune-jobs=1 in.ptx -o o; cmp o want.ptx; says "0 of . kernels tuned"'
    case_ 'nor those that it hangs on, refuses, or writes nonsense for' 'for FAKE in some-hang some-refuse some-garbage some-short; do export FAKE; rm -f calls; exits 0 ptxopt --tune=./ptxas --tune-jobs=1 --guard-limit=1 --tune-budget=4 in.ptx -o o; cmp o want.ptx; says "0 of . kernels tuned"; done'
    case_ 'a cubin cut short' 'FAKE=short untuned "cannot be judged: a cubin"'
    case_ 'the budget' 'FAKE=hang exits 0 ptxopt --tune=./ptxas --tune-budget=1 in.ptx -o o; cmp o want.ptx; says "the time of --tune-budget was over"'
    case_ '--tune-jobs is how many of ptxas run at a time' 'FAKE=some-sleep exits 0 ptxopt --tune=./ptxas --tune-jobs=1 in.ptx -o o; [ "$(most_at_once)" = 1 ]; rm times calls
        FAKE=some-sleep exits 0 ptxopt --tune=./ptxas --tune-jobs=2 rounds.ptx -o o; [ "$(most_at_once)" = 2 ]'
    if command -v script >/dev/null; then
        case_ 'a terminal is shown how far it is, and nothing else is' 'script -qec "$BUILD/ptxopt --tune=$REAL --tune-jobs=2 in.ptx -o o" /dev/null >said </dev/null; says "tuning: 2 of [0-9]* texts assembled"; cmp o best.ptx
            exits 0 ptxopt --tune="$REAL" in.ptx -o o; not says "texts assembled"'
    else
        echo 'skip the progress on a terminal: script is not at hand'
    fi
    case_ 'the input may be the output' 'cp in.ptx x.ptx; exits 0 ptxopt --tune=./ptxas x.ptx -o x.ptx; cmp x.ptx best.ptx; exits 0 ptxopt --tune=./ptxas <in.ptx; cmp out best.ptx; says "<stdin>: "'
    case_ 'a decisions file that cannot be written' 'exits 1 ptxopt --tune=./ptxas --tune-out=none/d in.ptx -o o; says "cannot write .none/d.: No such file"; [ ! -e o ]'
    case_ 'device functions are decided with the kernels that call them' 'ptxopt -O1 --tune=./ptxas --tune-out=d calls.ptx -o o; ptxopt -O1 calls.ptx -o one.ptx; not_worse one.ptx o
        sed -n "s/^_Z6divide[^:]*: //p" d >callee; sed -n "s/^bytecode [^:]*: \([^#]*[^ #]\).*/\1/p" d | cmp - callee; not grep -qx -- -O1 callee; ptxopt -O1 --tuned=d calls.ptx | cmp - o'
    if command -v ninja >/dev/null; then
        case_ 'Ninja makes what --tune-read reads' 'exits 0 ptxopt --tune="$REAL" --tune-ninja=n in.ptx; [ ! -s out ]; ninja --quiet -C n; ninja -C n | grep -q "no work to do"
            exits 0 ptxopt --tune-read=n --tune-out=d in.ptx -o o; says "is tuned with"; not_worse want.ptx o; ptxopt --tuned=d in.ptx | cmp - o'
        case_ 'Ninja is asked round by round, and what is decided in the end is what --tune decides' 'ptxopt --tune="$REAL" --tune-out=want rounds.ptx -o want.ptx
            exits 0 ptxopt --tune="$REAL" --tune-ninja=n rounds.ptx; rounds=0
            until ninja -C n | grep -q "no work to do"; do rounds=$((rounds + 1)); exits 0 ptxopt --tune-read=n --tune-out=d rounds.ptx -o o; cat said >>all; done
            [ "$rounds" -ge 2 ]; grep -q "[1-9][0-9]* more texts to assemble: ninja -C n" all; not says "more texts"; cmp d want; cmp o want.ptx'
        case_ 'while a result is missing, no further round is asked for' 'exits 0 ptxopt --tune="$REAL" --tune-ninja=n rounds.ptx; ninja --quiet -C n; rm "$(ls n/*.cubin | head -1)"
            cp n/build.ninja .; exits 0 ptxopt --tune-read=n rounds.ptx -o o; says "1 texts have no result"; not says "more texts"; cmp n/build.ninja build.ninja'
        case_ 'a folder without its build.ninja is asked for nothing more' 'exits 0 ptxopt --tune="$REAL" --tune-ninja=n rounds.ptx; ninja --quiet -C n; rm n/build.ninja
            exits 0 ptxopt --tune-read=n --tune-out=d rounds.ptx -o o; says "is tuned with"; says "warning: cannot ask for [0-9]* more texts in .n.: No such file"; [ ! -e n/build.ninja ]; ptxopt --tuned=d rounds.ptx | cmp - o'
        case_ 'what ptxas does not take of it is no choice' 'exits 0 ptxopt --tune="$PWD/ptxas" --tune-ninja=n in.ptx; FAKE=refuse ninja --quiet -C n; exits 0 ptxopt --tune-read=n in.ptx -o o; cmp o want.ptx; says "0 of . kernels tuned"'
        case_ 'results that are missing are said' 'exits 0 ptxopt --tune="$REAL" --tune-ninja=n in.ptx; ninja --quiet -C n; rm "$(ls n/*.cubin | head -1)"; exits 0 ptxopt --tune-read=n in.ptx -o o; says "1 texts have no result in .n."'
    else
        echo 'skip --tune-ninja: ninja is not at hand'
    fi
    case_ 'a folder in which Ninja has made nothing' 'exits 0 ptxopt --tune="$REAL" --tune-ninja=n in.ptx; exits 0 ptxopt --tune-read=n in.ptx -o o; cmp o want.ptx; says "Ninja has made nothing of this text"'
fi
} >"$WORK/verdicts"
tally tune "$WORK/verdicts"
