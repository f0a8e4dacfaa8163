#!/bin/sh
# Round trips of every example, the larger ones that make compiled among them, and of every case of tests/roundtrip.
# usage: [BUILD=build] tests/roundtrip.sh [FILE.ptx | FOLDER]...
#   -O0              gives the input's bytes
#   -O0 --reprint    gives text of which ptxas makes the same cubin, byte for byte, at the input's own target
#   -O1, -O2, -O3    give text that ptxas assembles for every target for which it assembles the input, and that a second
#                    run does not change
set -u
cd "$(dirname "$0")/.." || exit 1
. tests/lib.sh
WORK=$BUILD/work/roundtrip

# optimize FLAGS FROM TO
optimize()
{
    # shellcheck disable=SC2086 # flags are words
    timeout 120 "$BUILD/ptxopt" $1 "$2" -o "$3" >"$3.err" 2>&1 </dev/null && [ ! -s "$3.err" ] && return
    problem "ptxopt $1 fails or complains"
    head -20 "$3.err"
    return 1
}

problem() { [ -n "$failed" ] && failed="$failed; $1" || failed=$1; }

check_reprint()
{
    optimize '-O0 --reprint' "$1" "$base.reprint.ptx" || return
    before=$(assemble "$1" "$target") || { problem "ptxas refuses the input"; head -5 "$before"; return; }
    after=$(assemble "$base.reprint.ptx" "$target") || { problem "ptxas refuses the reprint"; head -5 "$after"; return; }
    cmp -s "$before" "$after" && return
    "$BUILD/cubincmp" "$before" "$after" && return # with line information the cubin holds the PTX itself
    problem 'the reprint gives another cubin'
    diff "$1" "$base.reprint.ptx" | head -40
}

check_level()
{
    optimize "$2" "$1" "$base$2.ptx" || return
    optimize "$2" "$base$2.ptx" "$base$2.twice.ptx" || return
    if ! cmp -s "$base$2.ptx" "$base$2.twice.ptx"; then
        problem "a second $2 changes the text again"
        diff -u "$base$2.ptx" "$base$2.twice.ptx" | head -40
    fi
    [ -n "$PTXAS" ] || return
    cmp -s "$1" "$base$2.ptx" && return
    for to in $(printf '%s\n' "$target" sm_75 sm_80 sm_90 sm_100 sm_120 | sort -u); do
        assemble "$1" "$to" >/dev/null || continue
        said=$(assemble "$base$2.ptx" "$to") && continue
        problem "ptxas refuses the output of $2 for $to"
        head -5 "$said"
    done
}

one_case()
{
    base=$WORK/$(echo "${1%.ptx}" | tr / _) failed=
    target=$(ptx_target "$1")
    {
        optimize -O0 "$1" "$base.same.ptx" && { cmp "$1" "$base.same.ptx" || problem '-O0 changes the text'; }
        if [ -n "$PTXAS" ]; then check_reprint "$1"; fi
        for level in -O1 -O2 -O3; do check_level "$1" "$level"; done
    } >"$base.details" 2>&1
    if [ -n "$failed" ]; then
        { echo "fail $1: $failed"; cat "$base.details"; } >"$base.report"
        cat "$base.report"
    else
        echo "pass $1"
    fi
}

if [ "${1:-}" = --case ]; then
    shift
    for file; do one_case "$file"; done
    exit
fi
mkdir -p "$WORK"
[ $# -gt 0 ] || set -- examples "$BUILD/large" tests/roundtrip
find "$@" -name '*.ptx' 2>/dev/null | sort | each tests/roundtrip.sh >"$WORK/log"
[ -d "$BUILD/large" ] || echo 'skip examples/large: nvcc is not at hand' >>"$WORK/log"
skip_without_ptxas 'comparing and assembling' >>"$WORK/log"
tally roundtrip "$WORK/log"
