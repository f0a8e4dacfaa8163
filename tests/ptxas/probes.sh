#!/bin/sh
# What ptxas makes of the probes of a suite (tests/ptxas/suites), before and after its phases, is what the suite's document
# says. Cells are `a, b: c, d`, before and after the phases; `a, b` where these change nothing.
# usage: [BUILD=build] tests/ptxas/probes.sh SUITE [--bless | --any-version]; see tests/ptxas/table.sh
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/lib.sh
if [ "$1" != --case ]; then
    export FOLDER=$1
    shift
fi
. tests/ptxas/table.sh
# shellcheck disable=SC2046 # the columns of the suite's row
set_row() { PHASES=$3 COUNTED=$(echo "$4" | tr , ' ') GROWTH=$5; }
set_row $(grep "^$FOLDER " tests/ptxas/suites)

# may_grow FILE: where ptxas unrolls a loop, there are more instructions, and better ones.
may_grow() { [ "$GROWTH" = any ] || sed 1q "$1" | grep -q unrolls; }

measure()
{
    after=$WORK/$(basename "$1") row=
    "$BUILD/ptxopt" --passes="$PHASES" "$1" -o "$after" 2>&1 || return
    for to in $TARGETS; do
        old=$(count "$1" "$to" "$COUNTED" ', ') || { echo "$old"; return 1; }
        new=$(count "$after" "$to" "$COUNTED" ', ') || { echo "$new"; return 1; }
        if [ "${new%%,*}" -gt "${old%%,*}" ] && ! may_grow "$1"; then
            echo "grows for $to: $old: $new"
            return 1
        fi
        cmp -s "$1" "$after" || old="$old: $new"
        row="$row | $old"
    done
    echo "$row"
}

tables tests/ptxas/probes.sh "$@"
