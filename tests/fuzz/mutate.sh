#!/bin/sh
# The texts of the tests and examples, and random kernels, changed at random (mutate.c): nothing crashes, hangs or trips a check,
# what is printed is taken and left alone by a second run, and what can run does the same as before.
# usage: [BUILD=build] [JOBS=2] [N=1000] [FIRST=1] [CORPUS=FOLDER] tests/fuzz/mutate.sh
#   CORPUS   more texts to begin with
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/lib.sh
WORK=$BUILD/work/mutate
rm -rf "$WORK"
mkdir -p "$WORK/inputs" "$BUILD/fuzz-mutate"

# launch_of FILE: the launch description that tests/exec.sh would run it with; empty: none.
launch_of()
{
    for launch in "${1%.ptx}.launch" "${1%.*.ptx}.launch" "${1%/*}/cases.launch"; do
        if [ -e "$launch" ]; then
            echo "$launch"
            return
        fi
    done
}

{
    for file in $(find tests examples -name '*.ptx' -size -24k ! -path 'tests/exec/cases/refused/*' | LC_ALL=C sort); do
        text=$WORK/inputs/$(echo "$file" | tr / _)
        case $file in
        tests/prove/cases/*) sed '/^\/\/ AFTER$/,$d' "$file" >"$text" ;;
        *) case_input "$file" "$text" ;;
        esac
        echo "$text $(launch_of "$file")"
    done
    [ -z "${CORPUS:-}" ] || find "$CORPUS" -name '*.ptx' -size -24k | LC_ALL=C sort
} >"$WORK/list"
"$BUILD/fuzz-exec" --mutate="$WORK/list" --folder="$BUILD/fuzz-mutate" --prover=wrong --configs='-O1;-O2;-O3' \
    -n "${N:-1000}" --first="${FIRST:-1}" -j "$JOBS" >"$WORK/log"
status=$?
sed 's/^fuzz-exec:/fuzz-mutate:/' "$WORK/log"
exit $status
