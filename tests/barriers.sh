#!/bin/sh
# Runs the cases of barrier-elim that have a launch description. usage: [BUILD=build] tests/barriers.sh
#
#   x.launch beside x.ptx            input and EXPECT do the same, and neither has a race
#   x_keep.launch beside x_keep.ptx  there is no race; without any one of the barriers marked `// hazard` there is: what
#                                    the phase declines is declined with reason, and the interpreter would see the harm
#   poll_x_keep.launch               a poll is a race by itself: without the barrier another result comes out
set -u
cd "$(dirname "$0")/.." || exit 1
. tests/lib.sh
WORK=$BUILD/work/barriers
mkdir -p "$WORK"

# compare BEFORE AFTER: the status of ptxrun; what it says is in $log.
compare() { "$BUILD/ptxrun" --compare --seeds=4 --limit=200000 "$1" "$2" "$launch" >"$log" 2>&1; }

# Whether the case is free of findings on its own.
clean()
{
    "$BUILD/ptxrun" --seeds=4 --limit=200000 "$1" "$launch" >"$log" 2>&1 && return
    echo "fail $1: it is not free of findings"
    grep '^finding' "$log" | sort -u
    return 1
}

removed()
{
    clean "$1" || return
    case_part EXPECT "$base.ptx" >"$WORK/$name.expect"
    if ! compare "$1" "$WORK/$name.expect"; then
        echo "fail $base.ptx: it is not the same without the barriers"
        grep '^new\|^difference' "$log" | head -5
    else
        echo "pass $1"
    fi
}

kept()
{
    case $name in poll_*) harm='^difference' ;; *) harm='^new .*race'; clean "$1" || return ;; esac
    lines=$(grep -n '// hazard' "$1" | cut -d: -f1)
    [ -n "$lines" ] || { echo "fail $1: no barrier is marked"; return; }
    for line in $lines; do
        sed "${line}d" "$1" >"$WORK/$name.without"
        if compare "$1" "$WORK/$name.without" || ! grep -q "$harm" "$log"; then
            echo "fail $1: nothing is wrong without the barrier of line $line"
        else
            echo "pass $1"
        fi
    done
}

for launch in tests/phase/barrier-elim/*.launch; do
    base=${launch%.launch} name=$(basename "$launch" .launch)
    log=$WORK/$name.log input=$WORK/$name.ptx
    case_input "$base.ptx" "$input"
    case $name in
    *_keep) kept "$input" ;;
    *) removed "$input" ;;
    esac
done >"$WORK/results"
tally barriers "$WORK/results"
