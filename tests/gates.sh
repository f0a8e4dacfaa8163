#!/bin/sh
# The gates of src/analysis against the prover, in both directions. usage: [BUILD=build] tests/gates.sh [FILE.ptx | FOLDER]...
#
# Each case of tests/phase and tests/pipeline is optimized as its first line says, and once more by a debug build with --no-gates:
# phases are told there that nobody waits, and nobody sees who is there. Neither asks which exit ptxas takes for the end.
#   - What comes out otherwise without the gates the prover must refuse, by its verdict on convergence, waiting or barriers.
#   - What comes out with them --verify-each must not refuse, for which the prover is asked about convergence and waiting alone.
# Where it is otherwise a row of tests/gates/rows says which of the two is wrong, and why. A row that nothing needs is a failure.
set -u
cd "$(dirname "$0")/.." || exit 1
# shellcheck source=tests/lib.sh
. tests/lib.sh
ROOT=$(pwd)
case $BUILD in /*) ;; *) BUILD=$ROOT/$BUILD ;; esac
WORK=$BUILD/work/gates
ROWS=$ROOT/tests/gates/rows

# What the prover says of in.ptx and without.ptx: refused, proved, or values, where it cannot follow what each thread computes.
verdict()
{
    timeout 120 "$BUILD/ptxopt-prove" in.ptx without.ptx >said 2>&1
    if grep -q ': unknown: \(convergence\|waiting\|barrier\): ' said; then
        echo refused
    elif grep -q ': \(unknown\|refuted\): ' said; then
        echo values
    else
        echo proved
    fi
}

# Prints what rows the case needs: `strict`, and `proved` or `values`.
needs()
{
    # shellcheck disable=SC2086 # flags are words
    timeout 60 "$BUILD/ptxopt" $flags --verify-each in.ptx -o checked.ptx 2>errors
    case $? in 0) ;; 70) echo strict ;; *) echo failed ;; esac
    # shellcheck disable=SC2086
    timeout 60 "$BUILD/debug/ptxopt" $flags --ignore-exits in.ptx -o with.ptx 2>errors || echo failed
    # shellcheck disable=SC2086
    timeout 60 "$BUILD/debug/ptxopt" $flags --no-gates in.ptx -o without.ptx 2>errors || echo failed
    cmp -s with.ptx without.ptx || verdict
}

# The rows that the case has; one of a gate is about what is proved without it.
has() { sed -n "s|^\([a-z]*\) $1: .*|\1|p" "$ROWS" | sed 's/gate/proved/' | sort | tr '\n' ' '; }

one_case()
{
    dir=$WORK/$(echo "$1" | tr / _)
    mkdir -p "$dir"
    case_input "$1" "$dir/in.ptx"
    flags=$(sed -n '1s,^// RUN:,,p' "$1" | sed 's/--verify-each//')
    found=$(cd "$dir" && needs | grep -v '^refused$' | sort | tr '\n' ' ')
    rows=$(has "$1")
    if [ "$found" = "$rows" ]; then
        echo "pass $1"
    else
        echo "fail $1: needs ${found:-nothing }and has ${rows:-nothing }in tests/gates/rows: $(sed 1q "$dir/said" 2>/dev/null | cut -c1-200)"
    fi
}

case ${1:-} in
--case)
    shift
    for file; do one_case "$file"; done
    exit ;;
esac
rm -rf "$WORK"
mkdir -p "$WORK"
[ $# -gt 0 ] || set -- tests/phase tests/pipeline
find "$@" -name '*.ptx' | sort | xargs grep -L '^// ERROR$' | each tests/gates.sh >"$WORK/log"
sed -n 's,^[a-z]* \([^:]*\): .*,\1,p' "$ROWS" | sort -u | while read -r file; do
    [ -e "$file" ] || echo "fail $file: tests/gates/rows names a case that is not there"
done >>"$WORK/log"
tally gates "$WORK/log"
