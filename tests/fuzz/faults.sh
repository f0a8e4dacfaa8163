#!/bin/sh
# Plants faults, and sees whether they are found. Each phase of tests/fuzz/faults/ is run alone on generated kernels until
# one fails: once with the checker behind it (--verify-each), once without, so that the interpreter has to see it. The
# kernel that failed must pass with the product's own phases, and the product must hold no fault.
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/lib.sh
PTXAS=''
CASES=3000
LOG=$BUILD/work/faults.log
mkdir -p "$BUILD/work"
: >"$LOG"

# first FLAGS...: the first failure of the faulty driver: `NUMBER VERDICT`, nothing if there is none.
first()
{
    "$BUILD/fuzz-exec-faulty" --folder="$BUILD/faults" --quick --stop --once -n $CASES -j "$JOBS" "$@" 2>&1 |
        sed -n 's/^fail case \([0-9]*\): \([a-z-]*\) .*/\1 \2/p' | sort -n | head -1
}

judge()
{
    fault=$1
    with=$(first "--configs=--passes=$fault")
    without=$(first --no-verify "--configs=--passes=$fault")
    for found in "$with" "$without"; do
        case $found in
        '') echo "fail $fault: missed in $CASES cases (with the checker: ${with:-nothing}, without: ${without:-nothing})"; return ;;
        *bad-input*) echo "fail $fault: case ${found% *} is no judge: it fails as it is"; return ;;
        esac
    done
    "$BUILD/fuzz-exec" --folder="$BUILD/faults" --quick -n 1 --first="${without% *}" >/dev/null ||
        { echo "fail $fault: case ${without% *} fails without the fault, too"; return; }
    echo "pass $fault: case ${with% *}: ${with#* }; without the checker case ${without% *}: ${without#* }"
}

# A failure's report: the guilty rewrite is named, the kernel gets small, and the command that is printed shows the failure.
judge_report()
{
    found=$(first --configs=--passes=fault-split-carry)
    case_folder=$BUILD/faults/${found% *}
    "$BUILD/fuzz-exec-faulty" --folder="$BUILD/faults" --once -n 1 --first="${found% *}" --configs=--passes=fault-split-carry >"$LOG.report"
    grep -q 'guilty: rewrite ([0-9]*) fault-split-carry on function' "$LOG.report" ||
        { echo 'fail report: the guilty rewrite is not named'; return; }
    [ "$(wc -c <"$case_folder/small.ptx")" -lt $(($(wc -c <"$case_folder/case.ptx") / 4)) ] ||
        { echo 'fail report: the kernel is not reduced'; return; }
    sh -c "$(sed -n 's/^ *show it: //p' "$LOG.report")" >"$LOG.shown"
    status=$?
    [ $status = 26 ] || { echo "fail report: the command exits with $status, not 26"; return; }
    echo 'pass report'
}

for fault in $("$BUILD/ptxopt-faulty" --list-phases | grep -o '^fault-[a-z-]*'); do
    judge "$fault" >>"$LOG"
done
judge_report >>"$LOG"
if "$BUILD/ptxopt" --list-phases | grep -q fault- || grep -q fault-barrier "$BUILD/ptxopt"; then
    echo 'fail ptxopt: the product holds planted faults' >>"$LOG"
fi
[ -z "${VERBOSE:-}" ] || cat "$LOG"
echo "faults: $(grep -c '^pass fault-' "$LOG") caught, $(grep -c '^fail fault-' "$LOG") missed"
tally faults "$LOG"
