#!/bin/sh
# Does ptxas unroll the loops of tests/ptxas/loops as LOOPS.md says? Every row of its tables is measured again; and ptxopt
# -O1 must make of each probe what its row says: the row that it is to be rewritten to, itself where that is `-`, and
# something else (no worse) where it is `not done`; where the row says `at -O2`, -O2 and -O3 must, or `at -O3`, -O3 alone. They must leave as many copies
# of the body.
# usage: [BUILD=build] tests/ptxas/loops.sh [loops] [--bless | --any-version]; see tests/ptxas/table.sh
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/lib.sh
FOLDER=loops
[ "${1:-}" = loops ] && shift
. tests/ptxas/table.sh

# measure FILE: cells are `copies of the FMA / instructions`.
measure()
{
    for to in $TARGETS; do
        figures=$(count "$1" "$to" 'fma instr' ' / ') || { echo "$figures"; return 1; }
        printf ' | %s' "$figures"
    done
}

# The last column: what the probe is to be rewritten to.
goal() { columns "$1" 8 8 | sed 's/^ | //; s/`//g'; }

# fewer CELLS CELLS: whether the first hold fewer copies of the body for some target.
fewer()
{
    printf '%s\n' "$1" "$2" | awk -F' [|] ' '
        NR == 1 { for (i = 2; i <= NF; i++) copies[i] = $i + 0; next }
        { for (i = 2; i <= NF; i++) if (copies[i] < $i + 0) less = 1 }
        END { exit !less }'
}

# optimized NAME LEVEL: the cells of what ptxopt makes of the probe.
optimized()
{
    "$BUILD/ptxopt" -O "$2" "$PROBES/$1.ptx" -o "$WORK/$1.O$2.ptx" 2>&1 && measure "$WORK/$1.O$2.ptx"
}

# judge FILE CELLS: says what is wrong with ptxopt's output.
judge()
{
    name=$(basename "$1" .ptx)
    goal=$(goal "$name")
    later=${goal% at -O?} from=${goal##* at -O}
    [ "$later" = "$goal" ] || goal=-
    to=${goal%, not done}
    if [ "$to" = - ]; then expected=$2; else expected=$(written "$to"); fi
    now=$(optimized "$name" 1) || { echo "$now"; return; }
    if [ "$goal" != "$to" ]; then
        [ "$now" != "$expected" ] || echo "ptxopt does make $to of it; $DOCUMENT says that this is not done"
        ! fewer "$now" "$2" || echo "ptxopt -O1 makes it worse: $now"
    elif [ "$now" != "$expected" ]; then
        printf 'not what ptxopt -O1 should make of it: %s\n    expected %s\n    measured %s\n' "$goal" "$expected" "$now"
    fi
    for level in 2 3; do
        then=$(optimized "$name" $level) || { echo "$then"; return; }
        [ "$goal" = "$(goal "$name")" ] || [ "$level" -lt "$from" ] || [ "$then" = "$(written "$later")" ] ||
            printf 'not what ptxopt -O%s should make of it: %s\n    measured %s\n' "$level" "$later" "$then"
        ! fewer "$then" "$now" || printf 'fewer copies at -O%s\n    at -O1 %s\n    at -O%s %s\n' $level "$now" $level "$then"
    done
}

tables tests/ptxas/loops.sh "$@"
