#!/bin/sh
# Runs suites and adds them up. usage: tests/check.sh LOG-FOLDER SUITE...
# Each suite is a make target check-SUITE whose output ends with lines `NAME: N passed, N failed[, N skipped]`; one that
# fails without such a line counts as one failure. The last line is the sum; the status says whether none failed.
set -u
logs=$1
shift
mkdir -p "$logs"
rm -f "$logs"/*
begin=$(date +%s) number=0
for suite; do
    start=$(date +%s) number=$((number + 1))
    [ ! -t 1 ] || printf '\r\033[K[%d/%d] %s ...' "$number" "$#" "$suite"
    ${MAKE:-make} "check-$suite" >"$logs/$suite.log" 2>&1 || {
        grep -q '^[a-z-]*: [0-9]* passed, [1-9][0-9]* failed' "$logs/$suite.log" ||
            echo "$suite: 0 passed, 1 failed" >>"$logs/$suite.log"
    }
    [ ! -t 1 ] || printf '\r\033[K'
    # A clean suite shows its counts and what it skipped; any other one everything but the compiler's command lines.
    if grep -q '^[a-z-]*: [0-9]* passed, [1-9][0-9]* failed' "$logs/$suite.log"; then
        cat "$logs/$suite.log"
    else
        grep '^[a-z-]*: [0-9]* passed\|^skip ' "$logs/$suite.log"
    fi
    echo "    ($suite: $(($(date +%s) - start)) s, $number of $#)"
done
seconds=$(($(date +%s) - begin))
cat "$logs"/*.log | awk '
    /^[a-z-]+: [0-9]+ passed, [0-9]+ failed/ { passed += $2; failed += $4; skipped += $6 }
    END {
        printf "%d passed, %d failed", passed, failed
        if (skipped)
            printf ", %d skipped", skipped
        print ""
        exit failed > 0
    }' >"$logs/total"
status=$?
echo "all suites: $((seconds / 60)) min $((seconds % 60)) s"
cat "$logs/total"
exit $status
