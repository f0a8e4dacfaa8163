#!/bin/sh
# Data tests. usage: [BUILD=build] tests/run.sh [--bless] [FILE.ptx | FOLDER]...
#
# The first line of a case, `// RUN: FLAGS`, gives ptxopt's flags; the files beside it say what is expected:
#   x_keep.ptx   the output is x_keep.ptx, byte for byte
#   x.out        the output
#   x.err        the input is refused: exit status 1, these diagnostics, no output file
#   x.stderr     what an accepted input prints to standard error (without it: nothing)
#   x.remarks    what --remarks=FILE writes
# A refused input may do without the RUN line (an empty one must). Where ptxas is at hand, an output must assemble for its
# target; `// PTXAS: no, REASON` on the second line exempts a case.
# --bless writes the expectations instead, and gives a case without any the one that suits its exit status.
set -u
cd "$(dirname "$0")/.." || exit 1
. tests/lib.sh
ROOT=$(pwd)
case $BUILD in /*) ;; *) BUILD=$ROOT/$BUILD ;; esac
WORK=$BUILD/work/data

# same EXPECTED ACTUAL: compares, or blesses.
same()
{
    cmp -s "$1" "$2" && return
    if [ -n "${BLESS:-}" ]; then
        cp "$2" "$1"
    else
        problem "$(basename "$1") differs"
        diff -u "$1" "$2" | head -60
    fi
}

unblessed() { BLESS='' "$@"; }

problem() { [ -n "$failed" ] && failed="$failed; $1" || failed=$1; }

check_status()
{
    [ "$status" = "$1" ] && return
    problem "exit status $status, not $1"
    head -20 "$err"
}

check_assembles()
{
    [ -n "$PTXAS" ] || return
    sed 2q "$1" | grep -q '^// PTXAS: no, ' && return
    said=$(assemble "$1" "$(ptx_target "$1")") && return
    problem "ptxas refuses $(basename "$1")"
    head -10 "$said"
}

# The details go to standard output, the problems into $failed.
check()
{
    first=$(head -c 400 "$name.ptx" | tr '\r\0' '\n ' | sed 1q)
    out=$WORK/$key.out err=$WORK/$key.err remarks=$WORK/$key.remarks
    rm -f "$out" "$err" "$remarks"
    case $first in
    '// RUN:'*) flags=${first#// RUN:} ;;
    *)
        flags=''
        [ -e "$name.err" ] || [ -n "${BLESS:-}" ] || problem 'no // RUN: on the first line' ;;
    esac
    [ -e "$name.remarks" ] && flags="$flags --remarks=$remarks"
    # shellcheck disable=SC2086 # flags are words
    (cd "$dir" && exec timeout 60 "$BUILD/ptxopt" $flags "${name##*/}.ptx" -o "$out") >"$err" 2>&1 </dev/null
    status=$?

    if [ -n "${BLESS:-}" ] && [ ! -e "$name.out" ] && [ ! -e "$name.err" ] && [ "$name" = "${name%_keep}" ]; then
        if [ "$status" = 1 ]; then : >"$name.err"; else : >"$name.out"; fi
    fi
    if [ -e "$name.err" ]; then
        check_status 1
        same "$name.err" "$err"
        [ -e "$out" ] && problem 'an output file was left'
        return
    fi
    if [ "$name" != "${name%_keep}" ]; then expected=$name.ptx; else expected=$name.out; fi
    [ -e "$expected" ] || { problem 'no expectation beside it'; return; }
    check_status 0
    [ "$status" = 0 ] || return
    if [ "$expected" = "$name.ptx" ]; then unblessed same "$expected" "$out"; else same "$expected" "$out"; fi
    if [ -e "$name.stderr" ]; then same "$name.stderr" "$err"; else unblessed same /dev/null "$err"; fi
    [ -e "$name.remarks" ] && same "$name.remarks" "$remarks"
    check_assembles "$out"
}

one_case()
{
    name=${1%.ptx} dir=$(dirname "$1") failed=
    key=$(echo "$name" | tr / _)
    check >"$WORK/$key.details"
    if [ -n "$failed" ]; then
        { echo "fail $1: $failed"; cat "$WORK/$key.details"; } >"$WORK/$key.report"
        cat "$WORK/$key.report"
    else
        echo "pass $1"
    fi
}

case ${1:-} in
--case)
    shift
    for file; do one_case "$file"; done
    exit ;;
--bless)
    export BLESS=1
    shift ;;
esac
mkdir -p "$WORK"
[ $# -gt 0 ] || set -- tests/phase tests/diag tests/pipeline tests/options
find "$@" -name '*.ptx' 2>/dev/null | sort | each tests/run.sh >"$WORK/log"
skip_without_ptxas 'assembling outputs' >>"$WORK/log"
tally "${NAME:-data}" "$WORK/log"
