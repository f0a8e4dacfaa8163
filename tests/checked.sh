#!/bin/sh
# The kernels of examples/checked, each with its checks and without. usage: [BUILD=build] tests/checked.sh
#
#   NAME.launch   no check fails: checked and raw do the same, and so does what ptxopt makes of the checked one
#   NAME.fails    checks fail in the first, the last, or another iteration: the same traps, the same memory; some do trap
#   EXPECTED      so many checks must leave their loops at -O2, by file
set -u
cd "$(dirname "$0")/.." || exit 1
. tests/lib.sh
WORK=$BUILD/work/checked
LOG=$WORK/log
mkdir -p "$WORK"
: >"$LOG"

# with_variables RAW CHECKED: RAW with the module variables of CHECKED, the strings of its assertions. They count as outputs.
with_variables()
{
    awk '/^\.global / { if (FNR == NR) text = text $0 "\n"; next }
         FNR != NR
         FNR != NR && /^\.address_size/ { printf "%s", text }' "$2" "$1"
}

# compare WHAT BEFORE AFTER LAUNCHES
compare()
{
    if "$BUILD/ptxrun" --compare --seeds=3 --limit=200000 "$2" "$3" "$4" >"$WORK/said" 2>&1; then
        echo "pass $1"
    else
        echo "fail $1"
        grep '^new\|^difference\|result=' "$WORK/said" | grep -v 'result=same' | head -5
    fi
}

# expected FILE COUNT: the checks that leave their loops.
expected()
{
    "$BUILD/ptxopt" -O2 --stats=json "examples/checked/$1" -o "$WORK/out.ptx" 2>"$WORK/stats"
    count=$(sed -n '/"loop-version": {/,/}/s/.*"checks": \([0-9]*\).*/\1/p' "$WORK/stats")
    if [ "${count:-0}" -ge "$2" ]; then echo "pass $1: ${count:-0} checks"; else echo "fail $1: ${count:-0} checks leave their loops, not $2"; fi
}

for file in examples/checked/*.checked.*.ptx; do
    name=$(basename "$file" .ptx)
    base=examples/checked/${name%%.*}
    with_variables "$(echo "$file" | sed 's/\.checked\./.raw./')" "$file" >"$WORK/raw.ptx"
    compare "$name: raw" "$file" "$WORK/raw.ptx" "$base.launch" >>"$LOG"
    traps=$("$BUILD/ptxrun" --seeds=1 "$file" "$base.fails" 2>&1 | grep -c 'kind=trap')
    if [ "$traps" -ge 15 ]; then echo "pass $name: $traps traps"; else echo "fail $name: $traps traps"; fi >>"$LOG"
    for level in 1 2 3; do
        "$BUILD/ptxopt" -O$level "$file" -o "$WORK/after.ptx" || echo "fail $name: ptxopt -O$level" >>"$LOG"
        compare "$name: -O$level" "$file" "$WORK/after.ptx" "$base.launch" >>"$LOG"
        compare "$name: -O$level, checks fail" "$file" "$WORK/after.ptx" "$base.fails" >>"$LOG"
    done
done
{
    expected forms.checked.clang.ptx 9
    expected forms.checked.nvcc.ptx 44
    expected grids.checked.clang.ptx 15
    expected grids.checked.nvcc.ptx 28
    expected passes.checked.clang.ptx 19
    expected passes.checked.nvcc.ptx 73
    expected products.checked.clang.ptx 12
    expected products.checked.nvcc.ptx 60
    expected searches.checked.clang.ptx 4
    expected searches.checked.nvcc.ptx 17
    expected shared.checked.clang-O2.ptx 7
    expected shared.checked.clang.ptx 5
    expected shared.checked.nvcc.ptx 10
    expected slices.checked.slang.ptx 30
    expected sparse.checked.clang.ptx 7
    expected sparse.checked.nvcc.ptx 27
} >>"$LOG"
tally checked "$LOG"
