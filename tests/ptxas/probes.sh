#!/bin/sh
# What ptxas makes of the probes in a folder here, as they are and behind a phase, is what the folder's document says:
# THREADING.md for `threading`. Cells are `a, b: c, d`, before and behind the phase; `a, b` where it changes nothing.
# usage: [BUILD=build] [COUNTED=...] [NEVER_MORE=1] tests/ptxas/probes.sh FOLDER PHASE [--bless | --any-version]
#   COUNTED         what a cell counts, by cubinstat's names: `instr bra bssy`
#   NEVER_MORE=1    the first of these must not grow, but where the probe's first line says that ptxas `unrolls`
#   --bless, --any-version    see tests/ptxas/table.sh
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/lib.sh
if [ "$1" != --case ]; then
    export FOLDER=$1 PHASE=$2
    shift 2
fi
. tests/ptxas/table.sh
export COUNTED="${COUNTED:-instr bra bssy}" NEVER_MORE="${NEVER_MORE:-}"

# may_grow FILE: where ptxas unrolls a loop, there are more instructions, and better ones.
may_grow() { [ -z "$NEVER_MORE" ] || sed 1q "$1" | grep -q unrolls; }

measure()
{
    after=$WORK/$(basename "$1") row=
    "$BUILD/ptxopt" --passes="$PHASE" "$1" -o "$after" 2>&1 || return
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
