#!/bin/sh
# Time and memory grow no faster than the function: of every shape that ptxbig knows, ten times as many blocks take at most
# thirty times the CPU time and fifteen times the memory (caches cost some; what is quadratic takes a hundred times as
# much). Modules of tests/bench/modules.awk likewise, by ptxopt and ptxopt-prove. None is dear: a megabyte of it takes at most
# DEAR times the CPU time of a megabyte of plain code, measured in the same run. usage: [BUILD=build] [SHAPES=...] tests/linear.sh
set -u
cd "$(dirname "$0")/.." || exit 1
. tests/lib.sh
WORK=$BUILD/work/linear
LOG=$WORK/log
SMALL=2000 LARGE=20000 DEAR=200
mkdir -p "$WORK"
: >"$LOG"

# a_megabyte RUNS FILE: CPU seconds that -O2 takes for a megabyte of it.
a_megabyte()
{
    "$BUILD/measure" "$1" "$BUILD/ptxopt" -O2 "$2" -o "$WORK/out.ptx" | awk -v bytes="$(wc -c <"$2")" '{ print $1 * 1e6 / bytes }'
}

# cheap NAME FILE: `pass NAME`, or what is wrong. What others take away hits the plain code, too.
cheap()
{
    echo "$1 $(a_megabyte 1 "$2") $(a_megabyte 1 "$WORK/plain.ptx")" | awk -v dear=$DEAR '
        $2 > dear * $3 { print "fail " $1 ": " $2 " seconds a megabyte, and " $3 " of plain code"; next }
        { print "pass " $1 }'
}
# Ten megabytes, since one takes few ticks of the clock.
awk -v kind=straight -v n=500000 -v change=0 -f tests/bench/modules.awk >"$WORK/plain.ptx"

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
    cheap "$shape,cheap" "$WORK/in.ptx" >>"$LOG"
done

# module TOOL RUNS N: `seconds kilobytes status` for a module of N parts.
module()
{
    for change in 0 1; do awk -v kind="$shape" -v n="$3" -v change=$change -f tests/bench/modules.awk >"$WORK/in$change.ptx"; done
    # The one loop of checks_of_loop is larger than the default allows.
    if [ "$shape" = checks_of_loop ]; then size=1000000; else size=1024; fi
    case $1 in
    ptxopt) "$BUILD/measure" "$2" "$BUILD/ptxopt" -O3 --loop-version-size=$size "$WORK/in0.ptx" -o "$WORK/out.ptx" ;;
    ptxopt-prove) "$BUILD/measure" "$2" "$BUILD/ptxopt-prove" "$WORK/in0.ptx" "$WORK/in1.ptx" ;;
    esac
}

# `pass TOOL,SHAPE`, or what is wrong. MOST: what the larger one may hold beside the 2 MB of any process, in times its text, or
# both texts of a proof. How much of a program is in memory differs by 0.2 MB, so short texts have more parts.
judge_module()
{
    echo "$1,$shape $(module "$1" 9 "$3") $(module "$1" 3 $((10 * $3))) $(cat "$WORK/in0.ptx" "$([ "$1" = ptxopt ] && echo /dev/null || echo "$WORK/in1.ptx")" | wc -c)" | awk -v most="$2" '
        $4 || $7 { print "fail " $1 ": exit status " $4 ", " $7; next }
        $5 > 30 * ($2 > 0.005 ? $2 : 0.005) { print "fail " $1 ": " $2 " seconds, and " $5 " for ten times as many parts"; next }
        ($6 - 2000) * 1024 > most * $8 { print "fail " $1 ": " $6 " kB for a text of " $8 " bytes"; next }
        { print "pass " $1 }'
}

# try TOOL MOST N SHAPE...
try()
{
    tool=$1 most=$2 parts=$3
    shift 3
    for shape; do
        for again in 1 2 3; do
            verdict=$(judge_module "$tool" "$most" "$parts")
            case $verdict in pass*) break ;; esac
        done
        echo "$verdict" >>"$LOG"
        [ "$tool" = ptxopt-prove ] || cheap "$shape,cheap" "$WORK/in0.ptx" >>"$LOG"
    done
}

if [ -z "${SHAPES:-}" ]; then
    try ptxopt 12 1000 vectors straight guarded stores loads fences atomics asm comments pragmas locals shared divisions calls_here \
        calls_padded calls_indirect externals strings addresses initializer initializer_floats initializer_rows initializer_addresses \
        comment line files debug debug_of_labels registers_of_range parameters_of_call scopes_beside registers variables locations
    try ptxopt 14 1000 calls_deep calls_wide calls_around calls_twice kernels labels_apart parameters returns
    try ptxopt 20 1000 scopes_deep labels spaghetti barriers loops_of_barrier parameters_of_kernel aliases search
    try ptxopt 20 2000 functions_of_table
    try ptxopt 24 1000 table tables prototypes scopes_of_register checks_of_trap
    try ptxopt 25 1000 exits_between
    try ptxopt 35 1000 checks_of_loop
    try ptxopt 35 10000 loops_ended_in_order
    DEAR=400 # jump-threading is called nine times, and from most branches walks as far as it may
    try ptxopt 38 3000 branches_crossed
    DEAR=200
    try ptxopt 50 3000 compares_apart
    try ptxopt 28 3000 table_of_four
    try ptxopt 25 3000 registers_of_list labels_short
    try ptxopt 42 1000 functions table_short
    try ptxopt 6 3000 scopes_empty
    try ptxopt-prove 20 300 calls_wide calls_twice calls_here calls_indirect search table_of_four straight guarded stores loads barriers \
        atomics asm locals shared vectors locations scopes_beside scopes_deep labels labels_apart parameters prototypes aliases \
        functions_of_table kernels
    try ptxopt-prove 20 1000 calls_deep calls_around calls_padded parameters_of_call
    try ptxopt-prove 40 300 returns table functions
    try ptxopt-prove 65 300 tables table_short divisions
fi

# gives_up SHAPE PARTS TEXT: where the prover stops at a bound, it says so. A bound is reached in the time that -O2 takes for
# 1,000 MB of plain code, or sooner, and with 600 MB of memory.
gives_up()
{
    shape=$1
    result=$(module ptxopt-prove 1 "$2")
    said=$("$BUILD/ptxopt-prove" "$WORK/in0.ptx" "$WORK/in1.ptx")
    echo "$result $(a_megabyte 1 "$WORK/plain.ptx") $said" | awk -v name="ptxopt-prove,$1" -v text="$3" '
        !index($0, "unknown: limit: " text) { print "fail " name ": it does not say " text; next }
        $1 > 1000 * $4 || $2 > 600000 { print "fail " name ": " $1 " seconds, where a megabyte of plain code takes " $4 ", and " $2 " kB"; next }
        { print "pass " name ": " text }'
}

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
    gives_up returns 8000 'too many branches on one path'
    gives_up spaghetti 8000 'the function has too many blocks that its branches lead to'
    gives_up irreducible 1300 'too much work'
    gives_up conditions 2000 'too much work'
    gives_up leaving 2500 'too much memory'
    says inward 100 dfa-jump-threading 'a loop with more than 32 loops in one another'
} >>"$LOG"

tally linear "$LOG"
