#!/bin/sh
# Data tests. usage: [BUILD=build] tests/run.sh [--bless] [FILE.ptx | FOLDER]...
#
# A case is one file: comment lines, the first of them `// RUN: FLAGS` with ptxopt's flags; the input; then sections, each
# under a line of its own, that say what is expected:
#   // EXPECT     the output (without the comment lines on top of the file); without this section it is the input
#   // REMARKS    what --remarks=FILE writes; where none of them is of the pass `ptxas`, those are left out
#   // STDERR     what an accepted input prints to standard error; without this section nothing
#   // ERROR      the input is refused: exit status 1, these diagnostics, no output file
# `// PROLOGUE` among the comment lines on top asks for the folder's prologue.inc in front of the input, and a `}` after it;
# both are left out of EXPECT too, unless the output differs there.
# Where the bytes of the input or of the end of the file matter, x.err stands beside x.ptx in place of the section ERROR; such
# an input may do without the RUN line. Where ptxas is at hand, an output must assemble for its target; `// PTXAS: no, REASON`
# on the second line exempts a case.
# --bless writes the sections instead. x_keep.ptx never gets EXPECT.
set -u
cd "$(dirname "$0")/.." || exit 1
. tests/lib.sh
ROOT=$(pwd)
case $BUILD in /*) ;; *) BUILD=$ROOT/$BUILD ;; esac
WORK=$BUILD/work/data

# A case that must stay as it is is never blessed.
blessing() { [ -n "${BLESS:-}" ] && [ "$name" = "${name%_keep}" ]; }

# same WHAT EXPECTED ACTUAL: compares; blessing, it is left to bless().
same()
{
    cmp -s "$2" "$3" && return
    differs=1
    blessing && return
    problem "$1 differs"
    diff -u "$2" "$3" | head -60
}

# section NAME FILE: the section of the case that is looked at; status 1 where it has none.
section() { case_part "$1" "$name.ptx" >"$2"; }

# Writes the case anew, with what came out in place of what was expected.
bless()
{
    {
        sed '/^\/\/ \(EXPECT\|REMARKS\|STDERR\|ERROR\)$/,$d' "$name.ptx"
        if [ "$status" = 1 ]; then
            echo '// ERROR'; cat "$err"
        else
            if ! cmp -s "$input" "$out"; then echo '// EXPECT'; without_prefix; fi
            if section REMARKS "$expected"; then echo '// REMARKS'; cat "$remarks"; fi
            if [ -s "$err" ]; then echo '// STDERR'; cat "$err"; fi
        fi
    } >"$WORK/$key.blessed"
    cp "$WORK/$key.blessed" "$name.ptx"
}

# The output as the section EXPECT has it: without the prologue, or, where that differs, without the header alone.
without_prefix()
{
    case_part prefix "$name.ptx" >"$expected"
    lines=$(wc -l <"$expected")
    if grep -q '^// PROLOGUE$' "$name.ptx"; then
        if head -n "$lines" "$out" | cmp -s - "$expected" && [ "$(tail -n 1 "$out")" = '}' ]; then
            sed "1,${lines}d" "$out" | sed '$d'
            return
        fi
        lines=$(grep -c '^//' "$expected")
    fi
    sed "1,${lines}d" "$out"
}

problem() { [ -n "$failed" ] && failed="$failed; $1" || failed=$1; }

check_status()
{
    [ "$status" = "$1" ] && return
    differs=1
    blessing && return
    problem "exit status $status, not $1"
    head -20 "$err"
}

check_assembles()
{
    [ -n "$PTXAS" ] || return
    sed 2q "$1" | grep -q '^// PTXAS: no, ' && return
    said=$(assemble "$1" "$(ptx_target "$1")") && return
    problem 'ptxas refuses the output'
    head -10 "$said"
}

# The details go to standard output, the problems into $failed.
check()
{
    first=$(head -c 400 "$name.ptx" | tr '\r\0' '\n ' | sed 1q)
    case $first in
    '// RUN:'*) flags=${first#// RUN:} ;;
    *)
        flags=''
        [ -e "$name.err" ] || problem 'no // RUN: on the first line' ;;
    esac
    run_case
    if [ -e "$name.err" ]; then
        check_refused "$name.err"
        if [ -n "$differs" ] && blessing; then cp "$err" "$name.err"; fi
        return
    fi
    if section ERROR "$expected"; then check_refused "$expected"; else check_accepted; fi
    if [ -n "$differs" ] && blessing; then bless; fi
}

# Sets status; the input lies in a folder of its own, under its own name.
run_case()
{
    mkdir -p "$WORK/$key"
    input=$WORK/$key/${name##*/}.ptx out=$WORK/$key.out err=$WORK/$key.errors remarks=$WORK/$key.remarks
    expected=$WORK/$key.expected
    rm -f "$out" "$err" "$remarks"
    case_input "$name.ptx" "$input"
    if section REMARKS "$expected"; then flags="$flags --remarks=$remarks"; fi
    # shellcheck disable=SC2086 # flags are words
    (cd "$WORK/$key" && exec timeout 60 "$BUILD/ptxopt" $flags "${name##*/}.ptx" -o "$out") >"$err" 2>&1 </dev/null
    status=$?
}

check_refused()
{
    check_status 1
    same ERROR "$1" "$err"
    [ -e "$out" ] && problem 'an output file was left'
}

# Leaves out what ptxas is said to make of every other kernel, unless the case is about it.
without_advice()
{
    section REMARKS "$expected"
    grep -q "^Pass: *ptxas$" "$expected" && return
    awk '
        /^--- / { head = $0; next }
        head != "" { leaves = $2 == "ptxas"; if (!leaves) print head; head = "" }
        !leaves { print }' "$remarks" >"$remarks.some"
    cp "$remarks.some" "$remarks"
}

check_accepted()
{
    check_status 0
    [ "$status" = 0 ] || return
    if section EXPECT "$expected"; then
        same EXPECT "$expected" "$out"
        cmp -s "$input" "$expected" && problem 'EXPECT is the input'
    else
        same input "$input" "$out"
    fi
    section STDERR "$expected"
    same STDERR "$expected" "$err"
    if section REMARKS "$expected"; then without_advice; same REMARKS "$expected" "$remarks"; fi
    check_assembles "$out"
}

one_case()
{
    name=${1%.ptx} failed= differs=
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
[ $# -gt 0 ] || set -- tests/phase tests/diag tests/pipeline
find "$@" -name '*.ptx' 2>/dev/null | sort | each tests/run.sh >"$WORK/log"
skip_without_ptxas 'assembling outputs' >>"$WORK/log"
tally "${NAME:-data}" "$WORK/log"
