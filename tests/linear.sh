#!/bin/sh
# Time and memory grow no faster than the function: of every shape that ptxbig knows, ten times as many blocks take at most
# thirty times the CPU time and fifteen times the memory (caches cost some; what is quadratic takes a hundred times as
# much). usage: [BUILD=build] [SHAPES=...] tests/linear.sh
set -u
cd "$(dirname "$0")/.." || exit 1
. tests/lib.sh
WORK=$BUILD/work/linear
LOG=$WORK/log
SMALL=2000 LARGE=20000
mkdir -p "$WORK"
: >"$LOG"

# took BLOCKS RUNS: `seconds kilobytes status` for one function of the shape.
took()
{
    "$BUILD/ptxbig" function "$shape" "$1" >"$WORK/in.ptx"
    "$BUILD/measure" "$2" "$BUILD/ptxopt" -O3 "$WORK/in.ptx" -o "$WORK/out.ptx"
}

# `pass SHAPE`, or what is wrong.
judge()
{
    echo "$shape $(took $SMALL 20) $(took $LARGE 4)" | awk '
        $4 || $7 { print "fail " $1 ": exit status " $4 ", " $7; next }
        $5 > 30 * ($2 > 0.005 ? $2 : 0.005) { print "fail " $1 ": " $2 " seconds, and " $5 " for ten times as many blocks"; next }
        $6 > 15 * $3 { print "fail " $1 ": " $3 " kB, and " $6 " kB for ten times as many blocks"; next }
        { print "pass " $1 }'
}

# Who else uses the machine can take the caches away for a while: what is quadratic fails each time.
for shape in ${SHAPES:-$("$BUILD/ptxbig" shapes)}; do
    for try in 1 2 3 4; do
        verdict=$(judge)
        case $verdict in pass*) break ;; esac
        [ $try = 4 ] || sleep 1
    done
    echo "$verdict" >>"$LOG"
done

# says SHAPE BLOCKS PHASE TEXT: where a phase stops at a bound, a remark tells.
says()
{
    "$BUILD/ptxbig" function "$1" "$2" >"$WORK/in.ptx"
    "$BUILD/ptxopt" --phases="$3" "$WORK/in.ptx" -o "$WORK/out.ptx" --remarks="$WORK/remarks"
    if grep -q "$4" "$WORK/remarks"; then echo "pass $1: $4"; else echo "fail $1: no remark says '$4'"; fi
}

# goes SHAPE BLOCKS TEXT: what goes one after the other goes to the last one, however many there are.
goes()
{
    "$BUILD/ptxbig" function "$1" "$2" >"$WORK/in.ptx"
    "$BUILD/ptxopt" "$WORK/in.ptx" -o "$WORK/out.ptx"
    if grep -q "$3" "$WORK/in.ptx" && ! grep -q "$3" "$WORK/out.ptx"; then echo "pass $1: no $3"; else echo "fail $1: $3 is left"; fi
}

{
    goes guards 3000 bra
    says moves 3000 switch-lowering 'branches are more than 2048 written registers apart'
    says cases 3000 switch-lowering 'of a switch of more than 1024 blocks'
    says inward 100 dfa-jump-threading 'a loop with more than 32 loops in one another'
} >>"$LOG"

tally linear "$LOG"
