#!/bin/sh
# Three kernels that a person understands, before and after: their PTX, and what ptxas makes of it, or, without ptxas, how many
# instructions a warp executes in the interpreter. With a FILE: that one only. usage: [BUILD=build] examples/demo.sh [FILE.ptx]
set -eu
case ${1:-/} in
/*) ;;
*) set -- "$PWD/$1" ;; # the folder is about to change
esac
cd "$(dirname "$0")/.."
. tests/lib.sh
work=$BUILD/demo
rm -rf "$work"
mkdir -p "$work"
ARCH=sm_90

if [ $# -gt 0 ]; then
    "$BUILD/ptxopt" "$1" -o "$work/after.ptx"
    diff -u "$1" "$work/after.ptx" || true
    [ -z "$PTXAS" ] || "$BUILD/ptxopt-report" --ptxas="$PTXAS" "$1"
    exit
fi

# part FILE FUNCTION LINES PATTERN: so many lines of the function, from the first that matches on.
part()
{
    awk -v function_="$2" -v lines="$3" -v pattern="$4" '
        /\.entry/ { inside = index($0, ".entry " function_ "(") > 0 }
        inside && !/^[ \t]*$/ && !/^\t*\.reg/ && (shown || $0 ~ pattern) && shown++ < lines { sub(/^(    |\t)/, ""); print "    " $0 }' "$1"
}

# In the report: `name was now` of instructions and cycles, and how many loops ptxas newly unrolls.
judged()
{
    awk -v name="\"$2\"" '
        $1 == "{\"name\":" { inside = index($2, name) > 0 }
        inside && /"run": 0/ {
            gsub(/[][,]/, " ")
            for (i = 1; i <= NF; i++) {
                if ($i == "\"instructions\":") { a = $(i + 1); b = $(i + 2) }
                if ($i == "\"cycles\":") { c = $(i + 1); d = $(i + 2) }
                if ($i == "\"unrolled\":") u = $(i + 1) + 0
            }
            print a, b, c, d, u
            exit
        }' "$1"
}

# Instructions that the warps of a kernel execute in all launches.
executed()
{
    "$BUILD/ptxrun" "$1" "$2" 2>/dev/null | awk -v kernel="kernel=$3" '$1 == "count" && $2 == kernel { n += substr($3, 8) } END { print n + 0 }'
}

number=0
# kernel TITLE NAME FUNCTION LINES FROM-BEFORE LINES FROM-AFTER WHY
kernel()
{
    number=$((number + 1))
    before=examples/$2.ptx after=$work/$2.ptx
    "$BUILD/ptxopt" "$before" -o "$after"
    printf '\n%d. %s\n\n  before (%s):\n' "$number" "$1" "$before"
    part "$before" "$3" "$4" "$5"
    printf '\n  after:\n'
    part "$after" "$3" "$6" "$7"
    if [ -n "$PTXAS" ]; then
        # shellcheck disable=SC2046 # five numbers
        set -- "$1" "$2" "$3" "$8" $("$BUILD/ptxopt-report" --ptxas="$PTXAS" --arch=$ARCH --format=json "$before" 2>/dev/null >"$work/$2.json"; judged "$work/$2.json" "$3")
        printf '\n  ptxas: %s machine instructions before, %s after; estimated cycles %.0f before, %.0f after\n' "$5" "$6" "$7" "$8"
        printf '%s|%s|%s|%s|%s|%s\n' "$1" "$5" "$6" "$7" "$8" "$4" >>"$work/table"
    else
        launch=examples/${2%.*}.launch
        was=$(executed "$before" "$launch" "$3") now=$(executed "$after" "$launch" "$3")
        printf '\n  interpreter: a run executes %s warp instructions before, %s after\n' "$was" "$now"
        printf '%s|%s|%s|||%s\n' "$1" "$was" "$now" "$8" >>"$work/table"
    fi
}

kernel 'A switch becomes a jump' chain_dense.hand chain_u64 10 'setp.eq.u64 .*1000;' 6 'add.s64 .*-1000;' 'one jump table for seven tests'
kernel 'A reduction loses a barrier' reduction.nvcc reduce_partial 8 'max.s32.*%r105, %r56' 7 'max.s32.*%r105, %r56' 'two of three barriers order nothing'
kernel 'A loop runs without its bounds checks' bounds_rust.hand row 12 '^.L__BB5_3:' 9 '^.L__po' 'no test in the loop, so ptxas unrolls it: longer code, run faster'

echo
if [ -n "$PTXAS" ]; then
    echo "$("$PTXAS" --version | sed -n 's/.*release \([0-9.]*\).*/ptxas \1/p'), $ARCH; cycles are estimated from ptxas's schedule, not measured on a GPU:"
    echo
    awk -F '|' 'BEGIN { printf "  %-38s %13s %17s  %s\n", "", "instructions", "cycles", "why" }
        { printf "  %-38s %5d to %4d %7.0f to %6.0f  %s\n", $1, $2, $3, $4, $5, $6 }' "$work/table"
    "$BUILD/ptxopt-report" --ptxas="$PTXAS" --arch=$ARCH --format=html -o "$BUILD/demo.html" examples/chain_dense.hand.ptx examples/reduction.nvcc.ptx \
        examples/bounds_rust.hand.ptx 2>/dev/null
    printf '\n%s has the control-flow graphs, and every decision with its reason.\n' "$BUILD/demo.html"
else
    echo 'There is no ptxas here. The interpreter counts what a run of the kernels executes:'
    echo
    awk -F '|' 'BEGIN { printf "  %-38s %22s  %s\n", "", "warp instructions", "why" }
        { printf "  %-38s %10d to %8d  %s\n", $1, $2, $3, $6 }' "$work/table"
fi
echo 'Your own kernel: examples/demo.sh FILE.ptx. All examples, for five targets (minutes): make report.'
