#!/bin/sh
# Figures, each beside what is to be reached; exit status 1 when one is missed. Seconds are user CPU time, the mean of
# the middle ones of several runs, so that others who use the machine disturb little; memory is the most that a run held.
#   parse and print   ptxopt -O0 --reprint
#   parse             of a module whose last instruction is wrong, so that ptxopt and ptxas stop where they have read it all
#   optimize          ptxopt -O2, everything included, beside ptxas -O3
#   the front         ptxopt-ptxas before a program that does nothing
#   growth            what a byte or a block costs in the largest input, over what it costs in the smallest
# Modules are the functions of the examples again and again. usage: [BUILD=build] tests/bench/bench.sh
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/lib.sh
WORK=$BUILD/work/bench
REPORT=$WORK/report
mkdir -p "$WORK"
: >"$REPORT"

bytes_of() { wc -c <"$1"; }
calc() { awk "BEGIN { printf \"$1\", $2 }"; }

# figure NAME VALUE UNIT least|most TARGET
figure()
{
    awk -v name="$1" -v value="$2" -v unit="$3" -v sense="$4" -v target="$5" 'BEGIN {
        good = sense == "least" ? value >= target : value <= target
        printf "%-52s %10.2f %-5s at %-5s %7g  %s\n", name, value, unit, sense, target, good ? "reached" : "MISSED"
    }' | tee -a "$REPORT"
}

# told NAME VALUE UNIT: what has no target.
told() { printf '%-52s %10.2f %s\n' "$1" "$2" "$3" | tee -a "$REPORT"; }

# take RUNS STATUS COMMAND...: sets $seconds and $kilobytes.
take()
{
    wanted=$2 runs=$1
    shift 2
    # shellcheck disable=SC2046 # three words
    set -- "$(echo "$*")" $("$BUILD/measure" "$runs" "$@")
    seconds=$2 kilobytes=$3
    [ "$4" = "$wanted" ] || { echo "bench: exit status $4 of: $1" | tee -a "$REPORT" >&2; echo MISSED >>"$REPORT"; }
}

# optimize RUNS FILE [OPTION...]
optimize()
{
    optimize_runs=$1 optimize_file=$2
    shift 2
    take "$optimize_runs" 0 "$BUILD/ptxopt" "$@" "$optimize_file" -o "$WORK/out.ptx"
}

# Debug data cannot be there twice: the examples without.
make_modules()
{
    for megabytes in 1 10 100; do
        # shellcheck disable=SC2046 # names without blanks
        "$BUILD/ptxbig" module $megabytes $(grep -L '^[[:space:]]*\.file' examples/*.ptx) >"$WORK/$megabytes.ptx"
        { cat "$WORK/$megabytes.ptx"; echo '.func last() { add.u32 %missing, 0, 0; }'; } >"$WORK/$megabytes-bad.ptx"
    done
}

bench_parse()
{
    for megabytes in 1 10 100; do
        file=$WORK/$megabytes.ptx size=$(bytes_of "$WORK/$megabytes.ptx")
        [ $megabytes = 100 ] && runs=3 || runs=9
        optimize $runs "$file" -O0 --reprint
        figure "parse and print, $megabytes MB" "$(calc %.6f "$size / 1e6 / ($seconds + 1e-9)")" MB/s least 100
        eval "print_$megabytes=$seconds"
        take $runs 1 "$BUILD/ptxopt" -O0 "$WORK/$megabytes-bad.ptx" -o "$WORK/out.ptx"
        eval "parse_$megabytes=$seconds"
    done
    figure 'parse and print, growth from 1 to 100 MB' "$(calc %.6f "$print_100 / 100 / $print_1")" '' most 1.5
}

bench_modules()
{
    for megabytes in 1 10 100; do
        file=$WORK/$megabytes.ptx size=$(bytes_of "$WORK/$megabytes.ptx")
        [ $megabytes = 100 ] && runs=1 || runs=5
        optimize $runs "$file" -O2
        eval "optimize_$megabytes=$seconds"
        figure "memory at -O2, times the input of $megabytes MB" "$(calc %.6f "$kilobytes * 1024 / $size")" x most 8
    done
    figure 'optimize, growth from 1 to 100 MB' "$(calc %.6f "$optimize_100 / 100 / $optimize_1")" '' most 1.5
}

# What a block costs is more where the caches no longer hold the function; what is quadratic costs a hundred times as much.
# The kernels have 260 bytes of text a block, which is what compilers write; the shapes, 60 to 130, and what is held for a block
# counts more.
bench_functions()
{
    for shape in kernels $("$BUILD/ptxbig" shapes); do
        [ "$shape" = kernels ] && most=8 || most=12
        for blocks in 1000 100000; do
            large_function "$shape" $blocks >"$WORK/$blocks.ptx"
        done
        optimize 40 "$WORK/1000.ptx" -O2
        first=$seconds
        optimize 1 "$WORK/100000.ptx" -O2
        figure "$shape, growth from 1,000 to 100,000 blocks" "$(calc %.6f "$seconds / 100 / ($first > 0.001 ? $first : 0.001)")" '' most 4
        figure "$shape, memory at -O2, times the input" "$(calc %.6f "$kilobytes * 1024 / $(bytes_of "$WORK/100000.ptx")")" x most $most
    done
}

bench_ptxas_parse()
{
    take 3 255 "$PTXAS" -arch sm_90 -o "$WORK/out.cubin" "$WORK/10-bad.ptx"
    figure 'parse, times as fast as ptxas, 10 MB' "$(calc %.6f "$seconds / $parse_10")" x least 10
}

bench_ptxas_module()
{
    take 1 0 "$PTXAS" -arch sm_90 -O3 -o "$WORK/out.cubin" "$WORK/10.ptx"
    figure 'optimize, of ptxas -O3, 10 MB' "$(calc %.6f "100 * $optimize_10 / $seconds")" % most 2
}

# Files of 11 KB: what starting a process takes counts most. In a virtual machine glibc takes 1 ms for that, in any program, since it
# asks for the processor's caches by instructions that the host answers.
bench_ptxas_examples()
{
    ours=0 theirs=0
    for file in examples/*.ptx; do
        optimize 3 "$file" -O2
        ours=$(calc %.6f "$ours + $seconds")
        take 1 0 "$PTXAS" -arch "$(ptx_target "$file")" -O3 -o "$WORK/out.cubin" "$file"
        theirs=$(calc %.6f "$theirs + $seconds")
    done
    told 'optimize, of ptxas -O3, all examples' "$(calc %.6f "100 * $ours / $theirs")" %
}

# Before a program that does nothing: the front's own time.
bench_front()
{
    take 99 0 "$BUILD/ptxopt-ptxas" --guard=off -- /bin/true tests/sample.ptx -o "$WORK/out"
    figure 'the front, a small file' "$(calc %.6f "1000 * $seconds")" ms most 5
}

make_modules
bench_front
bench_parse
bench_modules
bench_functions
if [ -n "$PTXAS" ]; then
    bench_ptxas_parse
    bench_ptxas_module
    bench_ptxas_examples
else
    echo 'bench: SKIPPED, since ptxas is not at hand: parsing beside its parser, and -O2 beside its -O3'
fi

echo "bench: $(grep -c 'reached$' "$REPORT") reached, $(grep -c 'MISSED$' "$REPORT") missed"
! grep -q 'MISSED$' "$REPORT"
